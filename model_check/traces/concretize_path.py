"""Tells a path of normal forms as a behaviour of real states.

A search of a reduced spec finds a path in which each state is a normal form. The real behaviour passes through states with these
normal forms. It takes the same steps where they are possible. Where they are not, a breadth-first search among the states of the
same normal form finds what comes before, such as the refusal of a request that the normal form had dropped; and after the last step
what comes behind it. Where members are interchangeable, the same step may be one of the same rule by another member.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from kafka_spec.model_check.exploration import EngineError, Finding
from kafka_spec.model_check.interpreter.interpreter import Interpreter
from kafka_spec.spec.language.domain import OutOfBound, OutOfDomain
from kafka_spec.spec.vocabulary.table import ABOUT_PATHS, DEADLOCK, TYPE_INVARIANT, Property, Rule

MOST = 20_000
"""The most states of one normal form that are searched for the next step."""

Accepts = Callable[[Any, Any], bool]
"""Whether a step, given by the states before and after it, shows what the finding reports."""


def in_real_states(world: Interpreter, claim: str, stated: Property | None, finding: Finding) -> Finding:
    """Return a finding on real states that passes through the normal forms of a given one.

    Raises:
        EngineError: there is none, so the normal form is not right.
    """
    run = _Run(world, claim, stated, world.initial()[finding.start])
    places = [0]
    for index, number in enumerate(finding.actions):
        run.take(number, last=index == len(finding.actions) - 1)
        places.append(len(run.actions))
    if claim == DEADLOCK:
        run.rest()
    met, back = (places[place] if place >= 0 else -1 for place in (finding.met, finding.back))
    return Finding(finding.start, tuple(run.actions), met, back)


class _Run:
    """A behaviour of real states, with the normal form of its last state."""

    def __init__(self, world: Interpreter, claim: str, stated: Property | None, state: Any) -> None:
        self.world, self.claim, self.stated = world, claim, stated
        self.state, self.form = state, world.formed(state)
        self.actions: list[int] = []

    def take(self, number: int, last: bool) -> None:
        """Go on to a state with the normal form to which an action leads from the present one."""
        world, (rule, binding) = self.world, self.world.actions.decode(number)
        try:
            after = world.formed(world.apply(rule, self.form, binding))
        except OutOfDomain as error:
            if not last or self.claim != TYPE_INVARIANT:
                raise EngineError(f"{self.claim}: {rule.name}{binding} does not replay: {error}") from error
            self.actions.append(self.leaving(number))
            return
        accepts: Accepts = self.shows if last else lambda before, now: True
        for steps, state in self.ways(number, world.key(after), accepts):
            self.actions += steps
            self.state, self.form = state, after
            return
        raise EngineError(
            f"{self.claim}: no path of real states continues with {rule.name}{binding} after {len(self.actions)} steps, as its "
            "normal form does; the normal form is not right here: compare it with --verify normal_form"
        )

    def shows(self, before: Any, after: Any) -> bool:
        """Whether the last step shows what the finding reports of a step or of a state."""
        stated = self.stated
        if stated is None or stated.kind in ABOUT_PATHS:
            return True
        if stated.kind == "step invariant":
            return not self.world.judge_step(stated, before, after)
        return self.world.judge(stated, after) == (stated.kind == "reachable")

    def ways(self, wanted: int, target: Any, accepts: Accepts) -> Iterator[tuple[list[int], Any]]:
        """Yield, shortest first, the ways through states of the present normal form to one whose normal form is the target.

        What the finding reports may be met only later within the target's normal form, such as once a request is received that
        changes nothing; so a path may continue there.
        """
        world = self.world
        inside = world.key(self.form)
        known, left = {world.key(self.state)}, [(self.state, list[int](), False)]
        for state, path, arrived in left:
            for number, after in self.steps(state, wanted):
                form = world.key(world.formed(after))
                if form == target and accepts(state, after):
                    yield [*path, number], after
                if (form == target or (form == inside and not arrived)) and len(known) < MOST and world.key(after) not in known:
                    known.add(world.key(after))
                    left.append((after, [*path, number], form == target))

    def leaving(self, wanted: int) -> int:
        """Return the action by which the present state leaves its domains: the wanted one, or one of its rule for other members."""
        world, state = self.world, self.state
        for number, rule, binding in self.enabled(state, wanted):
            try:
                if world.within(rule, state, binding):
                    world.apply(rule, state, binding)
            except OutOfBound:
                continue
            except OutOfDomain:
                return number
        return wanted

    def enabled(self, state: Any, wanted: int) -> list[tuple[int, Rule, tuple[int, ...]]]:
        """Return the actions whose guards hold in a state: the wanted one, those of its rule, others."""
        world = self.world
        every = [
            (world.actions.number(number, binding), rule, binding)
            for number, rule in enumerate(world.spec.rules)
            for binding in world.enabled(rule, state)
        ]
        of = world.actions.decode(wanted)[0] if wanted >= 0 else None
        return sorted(every, key=lambda step: (step[0] != wanted, step[1] is not of, step[0]))

    def steps(self, state: Any, wanted: int) -> Iterator[tuple[int, Any]]:
        """Yield the steps out of a state, that of the wanted action first."""
        world = self.world
        for number, rule, binding in self.enabled(state, wanted):
            try:
                if world.within(rule, state, binding):
                    yield number, world.apply(rule, state, binding)
            except (OutOfBound, OutOfDomain):
                continue

    def rest(self) -> None:
        """Take the steps that are left within the normal form, for a deadlock."""
        world = self.world
        while True:
            inside = [step for step in self.steps(self.state, -1) if world.key(world.formed(step[1])) == world.key(self.form)]
            fresh = [step for step in inside if world.key(step[1]) != world.key(self.state)]
            if not fresh:
                return
            self.actions.append(fresh[0][0])
            self.state = fresh[0][1]
