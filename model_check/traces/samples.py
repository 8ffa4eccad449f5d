"""Varied behaviours of a spec: what it does where nothing goes wrong, to read, to show, and to try an implementation with."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from kafka_spec.model_check.traces.walk import Walk
from kafka_spec.spec.vocabulary.table import Spec
from kafka_spec.spec.vocabulary.trace import Trace


@dataclass(frozen=True)
class Sampled:
    """A behaviour, and what is known of it."""

    trace: Trace
    first: tuple[str, ...]
    """The rules that no sample before it took."""
    reached: tuple[str, ...]
    """The goals that it reaches on the way."""
    violated: tuple[str, ...]
    """The invariants that its last state, or the step to it, violates; it ends there."""
    stuck: bool
    """Whether it ends where nothing can happen within the bounds."""


def samples_of(
    spec: Spec, bounds: Mapping[str, int], count: int, steps: int, seed: int = 1, shows: Sequence[str] = ()
) -> list[Sampled]:
    """Return varied behaviours. Each step takes a rule that none has taken yet; else rules taken less often are more likely.

    Equal seeds give equal behaviours. `shows` are expressions whose values each step shows.

    Raises:
        SpecError: the spec has no initial state, or a guard or an effect cannot be executed.
    """
    chance, taken, walk = random.Random(seed), Counter[str](), Walk(spec, bounds, shows=shows)
    return [_sample(walk, steps, chance, taken) for _ in range(count)]


def _sample(walk: Walk, steps: int, chance: random.Random, taken: Counter[str]) -> Sampled:
    """Walk from any initial state."""
    walk.restart(chance.randrange(len(walk.beginnings)))
    first, reached = dict[str, None](), dict.fromkeys(walk.reached)
    choices = walk.choices()
    while choices and walk.place < steps and not walk.violated:
        rules = list(dict.fromkeys(choice.action.rule for choice in choices))
        rules = [rule for rule in rules if not taken[rule]] or rules
        (rule,) = chance.choices(rules, [1 / (1 + taken[rule]) for rule in rules])
        first |= {} if taken[rule] else {rule: None}
        taken[rule] += 1
        walk.take(chance.choice([choice.number for choice in choices if choice.action.rule == rule]))
        reached.update(dict.fromkeys(walk.reached))
        choices = walk.choices()
    return Sampled(walk.trace(), tuple(first), tuple(reached), tuple(walk.violated), not choices)
