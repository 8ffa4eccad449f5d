"""The numbering of actions, that is, of rules with a value for each parameter.

Depends on the spec and on its state space alone.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from collections.abc import Sequence as Sequence_
from typing import Any

import numpy as np
import numpy.typing as npt

from kafka_spec.model_check.record.layout import Packed, packed
from kafka_spec.spec.language.domain import Sequence, Space, type_at
from kafka_spec.spec.vocabulary.table import ElementOf, ItemOf, Rule, Spec, SpecError, numbers_type, whole_types

TABLE = 1 << 20
"""So many actions have their rules in a table; it takes a twentieth of the time of a search for the rule."""


class ActionNumbers:
    """The numbering of actions: by rule, and within a rule by binding, by the lowest and highest value of each parameter.

    A parameter that ranges over a sequence, a set or a bag counts up to its capacity, so a number means the same in every state.
    `wholes` are, for each rule, the parameters that are records or containers, and how these are packed.
    """

    def __init__(self, ranges: Sequence_[Sequence_[tuple[int, int]]], wholes: Sequence_[Mapping[str, Packed]]) -> None:
        self.ranges, self.wholes = ranges, wholes
        self.first = [0]
        for of_rule in ranges:
            count = 1
            for low, high in of_rule:
                count *= high - low + 1
            self.first.append(self.first[-1] + count)

    @property
    def count(self) -> int:
        """The number of actions."""
        return self.first[-1]

    @property
    def bits(self) -> int:
        """The bits of the smallest unsigned integer that holds every number."""
        return next(bits for bits in (8, 16, 32) if self.count <= 1 << bits)

    @functools.cached_property
    def rule_numbers(self) -> npt.NDArray[np.intp]:
        """The number of the rule of each of the first actions, up to TABLE. Initial states have action 0, even if there is none."""
        rules = np.searchsorted(self.first[1:], np.arange(max(1, min(self.count, TABLE))), side="right")
        return np.minimum(rules, len(self.ranges) - 1)

    def rules_of(self, actions: npt.NDArray[Any]) -> npt.NDArray[np.intp]:
        """Return the number of the rule of each of some actions."""
        if self.count > TABLE:
            return np.searchsorted(self.first[1:], actions, side="right")
        numbers: npt.NDArray[np.intp] = self.rule_numbers[actions]
        return numbers


class Actions(ActionNumbers):
    """The numbering of all actions of a spec at given bounds."""

    def __init__(self, spec: Spec, space: Space, bounds: Mapping[str, int]) -> None:
        self.spec = spec
        ranges = [self._ranges(rule, space, bounds) for rule in spec.rules]
        super().__init__(ranges, [self._wholes(rule, bounds) for rule in spec.rules])
        if self.count > 1 << 32:
            raise SpecError(
                f"{spec.name}: {self.count:,} actions, counting every binding of every rule; narrow the parameters to 2^32"
            )

    @staticmethod
    def _ranges(rule: Rule, space: Space, bounds: Mapping[str, int]) -> list[tuple[int, int]]:
        ranges = []
        for name, parameter in rule.params.items():
            if isinstance(parameter, ItemOf | ElementOf):
                path = (parameter.field,) if isinstance(parameter, ItemOf) else parameter.at(dict.fromkeys(rule.params, 0))
                sequence = type_at(space.root, path)
                assert isinstance(sequence, Sequence)
                ranges.append((0, sequence.capacity - 1))
            else:
                scalar = numbers_type(parameter, bounds, f"{rule.name}, parameter {name}")
                ranges.append((scalar.low, scalar.high))
        return ranges

    @staticmethod
    def _wholes(rule: Rule, bounds: Mapping[str, int]) -> dict[str, Packed]:
        return {name: packed(type_) for name, type_ in whole_types(rule.params, bounds, rule.name).items()}

    @property
    def fairness(self) -> tuple[list[int], list[str]]:
        """For each action the group with which it shares fairness, and for each group its kind: weak, strong or none.

        The group of a rule as a whole has the number of its first action; where each binding is fair, an action is its own.
        """
        groups, kinds = list[int](), list[str]()
        for rule, first, end in zip(self.spec.rules, self.first, self.first[1:], strict=False):
            kind, _, each = self.spec.fairness_of(rule).partition(" ")
            groups += range(first, end) if each else [first] * (end - first)
            kinds += [kind] * (end - first)
        return groups, kinds

    @property
    def rules(self) -> list[Rule]:
        """The rule of each action."""
        return [
            rule for rule, low, high in zip(self.spec.rules, self.first, self.first[1:], strict=False) for _ in range(high - low)
        ]

    def number(self, rule: int, binding: tuple[int, ...]) -> int:
        """Return the number of a rule with a binding."""
        ordinal = 0
        for value, (low, high) in zip(binding, self.ranges[rule], strict=True):
            ordinal = ordinal * (high - low + 1) + value - low
        return self.first[rule] + ordinal

    def decode(self, number: int) -> tuple[Rule, tuple[int, ...]]:
        """Return the rule and the binding of a number."""
        rule = max(index for index, first in enumerate(self.first[:-1]) if first <= number and self.first[index + 1] > first)
        ordinal, binding = number - self.first[rule], []
        for low, high in reversed(self.ranges[rule]):
            ordinal, digit = divmod(ordinal, high - low + 1)
            binding.append(digit + low)
        return self.spec.rules[rule], tuple(reversed(binding))
