"""What a running machine reports to its log: each trigger that was fired on an entity, and what became of it."""

from __future__ import annotations

import enum
from collections.abc import Hashable
from dataclasses import dataclass
from typing import Protocol, TypeAlias

from kafka_spec.spec.vocabulary.table import Machine, SpecError

Entity: TypeAlias = tuple[Hashable, ...]


@dataclass(frozen=True)
class FireResult:
    """The result of one `fire`.

    `target` is the state that was entered, None if the state stayed. Then `wanted` is the state that the trigger requests,
    `allowed` the states from which the table allows it, and `false` the conditions that were not met, none if the attempt was
    illegal.
    """

    machine: Machine
    entity: Entity
    trigger: str
    source: enum.IntEnum
    target: enum.IntEnum | None
    wanted: enum.IntEnum
    allowed: tuple[enum.IntEnum, ...] = ()
    false: tuple[str, ...] = ()

    @property
    def illegal(self) -> bool:
        """Whether the table has no row of that trigger from that state, whatever the guards say."""
        return self.target is None and not self.false


class FireLog(Protocol):
    """The receiver of every attempt."""

    def attempted(self, attempt: FireResult) -> None:
        """Record the result of one `fire`."""


class OnlyTheTable:
    """A `FireLog` for actors that never attempt what their table does not have: such an attempt is an error of the actor."""

    def attempted(self, attempt: FireResult) -> None:
        """Refuse an attempt that changed nothing.

        Raises:
            SpecError: the table has no such change, or its guards did not hold.
        """
        if attempt.target is None:
            raise SpecError(f"{attempt.machine.name}: {attempt.entity} in {attempt.source.name} cannot {attempt.trigger}")
