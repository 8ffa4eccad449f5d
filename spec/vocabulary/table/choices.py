"""Choices: a decision that takes the first that is possible, in an order for each kind, which is found by asking it."""

from __future__ import annotations

import enum
from dataclasses import dataclass
from itertools import product

from kafka_spec.spec.language import Function
from kafka_spec.spec.language.domain import SpecError
from kafka_spec.spec.vocabulary.table.former_names import accepts_former_names
from kafka_spec.spec.vocabulary.table.functions import Name


@accepts_former_names
@dataclass(frozen=True)
class ChoiceTable:
    """A pure function of a kind and of a flag for each choice but the last, 1 where it is possible; it returns the choice.

    The last choice is always possible. `kinds` and `choices` are enumerations numbered from 0.
    """

    name: Name
    decide: Function
    kinds: type[enum.IntEnum]
    choices: type[enum.IntEnum]
    reference: str

    def order(self, kind: enum.IntEnum) -> tuple[enum.IntEnum, ...]:
        """Return the choices of a kind in the order in which they are tried; one that is never taken is left out.

        Raises:
            SpecError: the function does not always take the first that is possible, so that no order decides what it does.
        """
        flags = [1] * (len(self.choices) - 1)
        tried: list[enum.IntEnum] = []
        last = max(self.choices)
        while not tried or tried[-1] != last:
            tried.append(self.choices(int(self.decide(kind, *flags))))
            if tried[-1] != last:
                if not flags[tried[-1]]:
                    raise SpecError(f"{self.name}: {kind.name} takes {tried[-1].name}, which is not possible")
                flags[tried[-1]] = 0
        for possible in product((0, 1), repeat=len(flags)):
            wanted = next(choice for choice in tried if choice == last or possible[choice])
            if self.decide(kind, *possible) != wanted:
                raise SpecError(f"{self.name}: {kind.name} does not take the first possible choice where {possible} are possible")
        return tuple(tried)
