"""Holds the oracle, the embedded engine and the independent search to each other, on one spec.

`disagreement` returns what is not the same, as a sentence, or "". What a spec may do to all of them alike (a guard that reads what
is not there) is no disagreement; that only some of them notice it is one.
"""

from __future__ import annotations

import importlib.util
import sys
import tempfile
import traceback
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Any
from unittest import mock

from kafka_spec.model_check.agreement import agreed
from kafka_spec.model_check.budget import Budget
from kafka_spec.model_check.exploration import Exploration, Finding
from kafka_spec.model_check.interpreter.interpreter import Interpreter
from kafka_spec.model_check.oracle import oracle
from kafka_spec.model_check.record import layout as records
from kafka_spec.model_check.record.fingerprint import VERIFY_SEED
from kafka_spec.model_check.search import embedded, frontier, initial_states
from kafka_spec.model_check.traces.counterexample import trace_of
from kafka_spec.spec.vocabulary.table import Spec, SpecError
from tests import translated
from tests.fuzz import inductive
from tests.fuzz.search import Independent

EACH = 5
"""Of so many searches one is made on Spark, too, which takes the time of some twenty others."""
MOST = 200
"""States from which on no further level is searched."""


@dataclass
class Tally:
    """What was compared."""

    seeds: int = 0
    specs: int = 0
    searches: int = 0
    complete: int = 0
    faulty: int = 0
    states: int = 0
    verdicts: Counter[str] = field(default_factory=Counter)
    spark: Callable[..., Exploration] | None = None
    """What explores on Spark, if it takes part."""
    on_spark: int = 0
    """The searches that Spark made too."""
    translated: int = 0
    """The steps on which the translation to formulas (`kafka-spec prove`) agrees with the interpreter."""

    inductive: int = 0
    """The inductive checks that were compared with their definition."""

    def reported(self) -> str:
        """Return what was compared, in a sentence."""
        verdicts = ", ".join(f"{count:,} {verdict}" for verdict, count in sorted(self.verdicts.items()))
        return (
            f"{self.specs:,} specs of {self.seeds:,} seeds, {self.searches:,} searches by six readings, "
            f"{self.complete:,} of them complete, {self.faulty:,} of what cannot be executed; "
            f"{self.states:,} states; {self.on_spark:,} searches on Spark, too; {self.translated:,} steps of formulas; "
            f"{self.inductive:,} inductive checks; "
            f"verdicts: {verdicts}"
        )


def load(text: str, folder: Path, name: str) -> ModuleType:
    """Return the text as a module; the compiler reads the file."""
    path = folder / f"{name}.py"
    path.write_text(text, encoding="utf-8")
    found = importlib.util.spec_from_file_location(name, path)
    assert found is not None and found.loader is not None
    module = importlib.util.module_from_spec(found)
    sys.modules[name] = module
    try:
        found.loader.exec_module(module)
    finally:
        del sys.modules[name]
    return module


def disagreement(text: str, folder: Path, name: str, tally: Tally | None = None) -> str:
    """Return in what the readings of the text of a module differ, or ""."""
    tally = tally or Tally()
    try:
        module = load(text, folder, name)
        spec: Spec = module.SPEC
        faster = spec.replacing("faster", "another decision", decisions={"mode": module.Mode.FAST})
        first, second, *_ = (one.values for one in spec.bound_sets)
    except Exception:
        return f"the spec is refused:\n{traceback.format_exc(limit=-3)}"
    for version, bounds, everything in (
        (spec, first, True),
        (spec, second, False),
        (faster, first, True),
    ):
        try:
            if found := differs(version, version.bound_values(bounds), everything, tally):
                return f"{version.name} at {dict(bounds)}, {'everything' if everything else 'to the first'}: {found}"
            if everything:
                tried, found = inductive.differs(version, version.bound_values(bounds))
                tally.inductive += tried
                if found:
                    return f"{version.name} at {dict(bounds)}: {found}"
        except Exception:
            return f"{version.name} at {dict(bounds)}: {traceback.format_exc(limit=-4)}"
    return ""


def resumed(spec: Spec, bounds: Mapping[str, int], budget: Budget, **options: Any) -> Exploration:
    """Search on disk, stop half-way, and continue in another search."""
    with tempfile.TemporaryDirectory() as place:
        embedded.explore(spec, bounds, budget=Budget(max_states=MOST // 4), state_dir=place, **options)
        return embedded.explore(spec, bounds, budget=budget, state_dir=place, resume=True, **options)


def moves(text: str, folder: Path, name: str) -> bool:
    """Whether the spec of a module has more than a few states, says the independent search."""
    try:
        spec: Spec = load(text, folder, name).SPEC
        return sum(Independent(spec, spec.bound_values({}), True, 20).levels) >= 12
    except Exception:
        return True


def differs(spec: Spec, bounds: Mapping[str, int], everything: bool, tally: Tally) -> str:
    """Return in what the searches of a spec differ, or ""."""
    options: Any = {"everything": everything, "deadlock": True}
    engines = {
        "oracle": oracle.explore,
        "embedded": embedded.explore,
        "two threads": partial(embedded.explore, threads=2),  # and with packed states
        "another seed": partial(embedded.explore, seed=VERIFY_SEED),  # and with light rows, as all that stop early
        "resumed": resumed,
    }
    if spec.view:  # with a seed, another of the states with one view is explored, and none is kept on disk
        del engines["another seed"], engines["resumed"]
    if tally.spark is not None and not spec.view and tally.searches % EACH == 0:
        engines["spark"] = partial(tally.spark, handover=1 + 30 * (tally.on_spark % 2))
        tally.on_spark += 1
    results: dict[str, Exploration | str] = {}
    for name, explore in engines.items():
        small = {"SLICE": 7, "SLICE_BYTES": 0, "SMALL_LEVEL": 2} if name == "two threads" else {"SLICE": embedded.SLICE}
        packed = {"PACK_FROM": -1, "PACK_ROWS_FROM": -1} if name == "two threads" else {"PACK_FROM": frontier.PACK_FROM}
        light = name == "another seed" or not everything
        wide = {"WIDE": 1, "ROOM": 1} if light else {"WIDE": records.WIDE}
        with (
            mock.patch.multiple(embedded, **small),
            mock.patch.multiple(frontier, **packed),
            mock.patch.multiple(records, **wide),
            mock.patch.object(initial_states, "MANY", 1),
        ):
            try:
                results[name] = explore(spec, bounds, budget=Budget(max_states=MOST), **options)
            except SpecError as error:
                results[name] = str(error)
    world = Interpreter(spec, bounds)
    plain = Independent(spec, bounds, everything, MOST)
    tally.searches += 1
    first = results["oracle"]
    if isinstance(first, str) or plain.faults:
        tally.faulty += 1
        return faults_differ(results, plain)
    tally.complete += plain.complete
    tally.states += sum(plain.levels)
    tally.verdicts.update(first.verdict_of(name) for name, _ in first.claims)
    for name, other in results.items():
        if isinstance(other, str):
            return f"{name} says that {other}, and the oracle does not"
        mine, theirs = essence(first, name), essence(other, name)
        for part in mine:
            if mine[part] != theirs[part]:
                return f"{part} of the oracle: {mine[part]}, of {name}: {theirs[part]}"
    for part, ours, other in compared(world, first, plain):
        if ours != other:
            return f"{part} of the oracle: {ours}, of the independent search: {other}"
    for name in first.findings:
        trace_of(first, name)
    if everything and tally.searches % EACH == 1:
        tally.translated += translated.compared(spec, bounds, most=40, states=4)
    return ""


def way(finding: Finding) -> tuple[int, ...]:
    """Return the actions of a shortest way; of a leads-to up to the owing state, after which there are several."""
    return finding.actions[: finding.met if finding.met >= 0 else None]


def essence(result: Exploration, compared: str) -> dict[str, Any]:
    """Return all that the compared search must find the same: with another seed, not the digest."""
    verdicts = {name: result.verdict_of(name) for name, _ in result.claims}
    stopped = result.stopped if compared != "spark" else ""
    return {**agreed(result, ("digest",) if compared == "another seed" else ()), "verdicts": verdicts, "stopped": stopped}


def compared(world: Interpreter, result: Exploration, plain: Independent) -> list[tuple[str, Any, Any]]:
    """Return what the independent search finds too: its name, and what both say."""
    ways = {}
    for name, finding in result.findings.items():
        steps = [world.actions.decode(number) for number in way(finding)]
        ways[name] = (("Start", (finding.start,)), *((rule.name, binding) for rule, binding in steps))
    return [
        ("levels", result.levels, plain.levels),
        ("fired", +result.fired, +plain.fired),
        ("bounded", +result.bounded, +plain.bounded),
        ("tested", +result.tested, +plain.tested),
        ("new", +result.new, +plain.new),
        ("ways", ways, plain.ways),
        ("complete", result.complete, plain.complete),
    ]


def faults_differ(results: Mapping[str, Exploration | str], plain: Independent) -> str:
    """Return in what the searches differ of a spec that cannot be executed somewhere, or ""."""
    raised = {name: isinstance(result, str) for name, result in results.items()}
    if len(set(raised.values())) > 1:
        return f"only some find that something cannot be executed: {results}"
    if raised["oracle"]:
        return "" if plain.faults else f"the independent search can execute what the oracle cannot: {results['oracle']}"
    # an engine does not judge a claim any more once it has found it
    unseen = [name for name, level in plain.faults.items() if name not in plain.ways or level < len(plain.ways[name]) - 1]
    return f"the engines execute what the independent search cannot: {plain.faults}" if unseen else ""
