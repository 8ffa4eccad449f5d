"""Settings of brokers and topics that decide about a partition, as an option gives them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from kafka_spec.impl.protocol.settings import MIN_ISR, UNCLEAN
from kafka_spec.spec.vocabulary.table import SpecError


@dataclass
class StaticSettings:
    """What a log does not say: settings of the brokers' files, with Kafka's defaults."""

    min_isr: int = 1
    unclean: bool = False

    @classmethod
    def of(cls, given: Mapping[str, str]) -> StaticSettings:
        """Return the settings of which some are given, as `settings_given` returns them."""
        return cls(int(given.get(MIN_ISR, cls.min_isr)), given.get(UNCLEAN) == "true")


def settings_given(option: str, given: Sequence[str]) -> dict[str, str]:
    """Return the settings that an option gives as NAME=VALUE.

    Raises:
        SpecError: a name is unknown, or its value does not fit.
    """
    found = {}
    for one in given:
        name, _, value = one.partition("=")
        fits = (value.isdigit() and int(value) > 0) if name == MIN_ISR else name == UNCLEAN and value in ("true", "false")
        if not fits:
            raise SpecError(f"{option} {one}: it is {MIN_ISR}=NUMBER or {UNCLEAN}=true|false")
        found[name] = value
    return found
