"""A named check: what a manifest says of it, and its run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kafka_spec.model_check.budget import Budget
from kafka_spec.model_check.check import Expectation, check, judged_by_spec
from kafka_spec.model_check.engines import Engine
from kafka_spec.model_check.exploration import Distribution, Exploration, Progress, quiet
from kafka_spec.model_check.home import at_home
from kafka_spec.model_check.proof.statements import PROVED, invariants_of, lifted_bounds, outcome_of_induction
from kafka_spec.model_check.room import refuse_open
from kafka_spec.spec.vocabulary.table import Property, Spec, SpecError


@dataclass(frozen=True)
class NamedCheck:
    """A check of the manifest."""

    name: str
    spec: Spec
    bounds: Mapping[str, int]
    expected: Expectation
    properties: tuple[str, ...] | None
    engine: Engine
    everything: bool
    deadlock: bool | None
    """Whether to check for deadlocks; None: as `check` decides."""
    seconds: float | None
    memory_mib: int | None
    normal_form: bool = False
    why: str = ""
    bound_set: str = ""
    """The name of the bound set, if the check names one."""
    took: float | None = None
    """The seconds that the check took when its counts were accepted."""
    home: Path | None = None
    """The folder of the manifest, in which its modules are."""
    proves: tuple[Property, ...] = ()
    """What is to be proved by induction, once the search finds no violation."""
    lifted: frozenset[str] = frozenset()
    """The bounds that the proof lifts."""

    def run(
        self,
        *,
        engine: Engine | None = None,
        threads: int = 1,
        everything: bool = False,
        deadlock: bool | None = None,
        verify: bool = False,
        normal_form: bool = False,
        verify_normal_form: bool = False,
        budget: Budget | None = None,
        progress: Progress = quiet,
        distribution: Distribution | None = None,
        traces: bool = True,
    ) -> Exploration:
        """Run the check. The arguments add to the options of the manifest; `budget` and `engine` replace them."""
        budget = budget or Budget(self.seconds, self.memory_mib << 20 if self.memory_mib is not None else None)
        with at_home(self.home):
            result = check(
                self.spec,
                self.bounds,
                properties=self.properties,
                engine=engine or self.engine,
                threads=threads,
                everything=everything or self.everything,
                deadlock=self.deadlock if deadlock is None else deadlock,
                verify=verify,
                normal_form=normal_form or self.normal_form,
                verify_normal_form=verify_normal_form and bool(self.spec.normal_form),
                budget=budget,
                progress=progress,
                distribution=distribution,
                traces=traces,
            )
            if self.proves and result.verdict == "holds":
                result.induction = outcome_of_induction(self.spec, self.proves, self.bounds, self.lifted, threads, budget)
                if reason := budget.exhausted():
                    result.complete, result.stopped = False, reason
            return result


def to_prove(
    spec: Spec, bounds: Mapping[str, int], table: Mapping[str, Any], given: Mapping[str, int], properties: Sequence[str] | None
) -> tuple[tuple[Property, ...], frozenset[str]]:
    """Return the invariants that a check expects to be proved, and the bounds that the proof lifts; `given` are its own bounds.

    Raises:
        SpecError: there is nothing to prove, or a bound cannot be lifted.
    """
    if table["verdict"] != PROVED:
        return (), frozenset()
    unbounded = table.get("unbounded", [])
    refuse_open(spec, {*given, *unbounded}, ', or lift it, unbounded = ["{}"]')
    names = [name for name in judged_by_spec(properties or ()) if spec.property(name).kind == "invariant"]
    if properties is not None and not names:
        raise SpecError('none of its properties is an invariant, which is what can be proved; expect "holds"')
    return invariants_of(spec, names), lifted_bounds(spec, bounds, unbounded, "unbounded: ")
