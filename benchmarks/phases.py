"""Where the processor time of checks goes: reading the spec, making code, searching.

Runs named checks of the manifest one after another in this process, and prints the processor seconds of each phase, of all checks
and of those that took the longest. The cache of compiled code is that of KAFKA_SPEC_CACHE: an empty folder shows the first run, a
second run what is left when the code is there.
"""

from __future__ import annotations

import argparse
import functools
import importlib
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

from kafka_spec.model_check.exploration import Exploration
from kafka_spec.model_check.manifest import read_manifest
from kafka_spec.model_check.named_check import NamedCheck
from kafka_spec.spec.catalogue.models import MODELS

PHASES = {
    "inputs as text": [("code.cache_key", "_Telling.all")],
    "front end": [("code.memo", "_new")],
    "LLVM": [("llvm.machine_code", "_generate")],
    "link": [("llvm.machine_code", "_link")],
    "search": [
        ("search.embedded", "Search.begin"),
        ("search.embedded", "Search.expand_level"),
        ("search.embedded", "Search.end_level"),
    ],
    "graph": [("search.embedded", "Search.judge_graph")],
    "traces": [("traces.counterexample", "trace_of")],
}
"""The functions of each phase; a phase does not contain the time of phases inside it."""


class Clock:
    """Processor seconds by phase. A phase that begins inside another interrupts it."""

    def __init__(self) -> None:
        self.seconds: Counter[str] = Counter()
        self.running = ["rest"]
        self.since = time.process_time()

    def turn(self) -> None:
        """Count the time since the last turn for the innermost running phase."""
        now = time.process_time()
        self.seconds[self.running[-1]] += now - self.since
        self.since = now

    def timed(self, phase: str, function: Callable[..., Any]) -> Callable[..., Any]:
        """Return a function whose time is that of a phase."""

        @functools.wraps(function, updated=())
        def inside(*given: Any, **named: Any) -> Any:
            self.turn()
            self.running.append(phase)
            try:
                return function(*given, **named)
            finally:
                self.turn()
                self.running.pop()

        return inside

    def watch(self) -> None:
        """Time the functions of all phases from now on."""
        for phase, places in PHASES.items():
            for module, path in places:
                holder: Any = importlib.import_module(f"kafka_spec.model_check.{module}")
                *outer, name = path.split(".")
                for part in outer:
                    holder = getattr(holder, part)
                setattr(holder, name, self.timed(phase, getattr(holder, name)))


def main() -> None:
    """Run checks and print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", help="named checks, or beginnings of names; by default all")
    parser.add_argument("--most", type=int, default=10, metavar="N", help="show so many checks by themselves")
    parser.add_argument("--skip", type=int, default=1, metavar="N", help="of the checks that remain, run every Nth")
    options = parser.parse_args()
    checks = read_manifest(Path("pyproject.toml"), MODELS.__getitem__)
    if options.names:
        checks = [check for check in checks if check.name.startswith(tuple(options.names))]
    clock = Clock()
    clock.watch()
    each: list[tuple[float, NamedCheck, Counter[str], Exploration]] = []
    for check in checks[:: options.skip]:
        before = clock.seconds.copy()
        result = check.run()
        clock.turn()
        spent = clock.seconds - before
        each.append((spent.total(), check, spent, result))
    phases = [*PHASES, "rest"]
    print("| check | states | " + " | ".join(phases) + " | all |")
    print("|---|" + "--:|" * (len(phases) + 2))

    def show(name: str, states: int, spent: Counter[str]) -> None:
        print(f"| {name} | {states:,} | " + " | ".join(f"{spent[phase]:.2f}" for phase in phases) + f" | {spent.total():.2f} |")

    for _, check, spent, result in sorted(each, key=lambda one: -one[0])[: options.most]:
        show(check.name, result.distinct, spent)
    show(f"all {len(each)}", sum(result.distinct for *_, result in each), clock.seconds)


if __name__ == "__main__":
    main()
