"""What this checker is to do at least, as one table: each line is measured against its target and says by which command.

    python -m benchmarks.at_least                     all lines, some ten minutes
    python -m benchmarks.at_least symmetry walks      these lines only
    python -m benchmarks.at_least --list

A comparison is made in pairs, one run after the other, so that a busy machine slows both; least and largest of each are shown, and
the ratio is of the least ones, which noise disturbs least. The exit code is 1 if a line misses its target. What needs other
programs or hours is measured by other scripts, which are listed at the end.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from benchmarks.normal_forms import families, measured, together  # noqa: E402 - the project's folder comes first
from kafka_spec.model_check.budget import Budget  # noqa: E402
from kafka_spec.model_check.check import check, simulate  # noqa: E402 - the project's folder comes first
from kafka_spec.model_check.manifest import judged_without  # noqa: E402
from kafka_spec.model_check.search.embedded import explore  # noqa: E402
from kafka_spec.spec.catalogue.models import MODELS  # noqa: E402


@dataclass(frozen=True)
class Line:
    """A line of the table: what is measured, in which unit, and the target."""

    what: str
    target: float
    unit: str
    measure: Callable[[argparse.Namespace], tuple[float, str]]
    most: bool = False
    """Whether the target is the most that it may be."""
    by_name: bool = False
    """Whether it is measured only where it is named, since it takes half an hour."""


def bounds_of(model: str, name: str) -> Mapping[str, int]:
    """Return a bound set of a model."""
    return next(bounds.values for bounds in MODELS[model].bound_sets if bounds.name == name)


def span(values: list[float]) -> str:
    """Return the least and the largest of some values."""
    return f"{min(values):.2f} to {max(values):.2f}"


def reduced(model: str, bounds: str, options: argparse.Namespace) -> tuple[float, str]:
    """Return by how much a search by the normal form is faster, and the figures."""
    times: dict[bool, list[float]] = {False: [], True: []}
    counts: dict[bool, int] = {}
    for _ in range(options.pairs):
        for normal_form in (False, True):
            spec = MODELS[model].in_normal_form() if normal_form else MODELS[model]
            result = explore(spec, bounds_of(model, bounds), threads=options.threads, fast_from=0)
            times[normal_form].append(result.search_seconds)
            counts[normal_form] = result.distinct
    said = f"{bounds}: {counts[False]:,} states in {span(times[False])} s, {counts[True]:,} in {span(times[True])} s"
    return min(times[False]) / min(times[True]), said


def symmetry(options: argparse.Namespace) -> tuple[float, str]:
    """Measure kip_320 with its replicas interchangeable."""
    return reduced("replication/kip_320", "large", options)


def normal_forms(options: argparse.Namespace) -> tuple[float, str]:
    """Measure all families of the control plane that the manifest reduces; the ratio of the sums counts."""
    found = {name: measured(named, options.pairs, options.threads) for name, named in families()}
    every = together(found.values())
    below = [f"{name} {one.faster:.2f} of {one.fewer:.2f}" for name, one in found.items() if one.faster < 2.5]
    said = f"{len(found)} families, {every.states[False]:,} states in {span(every.times[False])} s of the processor"
    said += f", {every.states[True]:,} in {span(every.times[True])} s"
    return every.faster, f"{said}; below 2.5, with the factor of states: {', '.join(below) or 'none'}"


def control(options: argparse.Namespace) -> tuple[float, str]:
    """Measure states a second of the control plane with three brokers, everything on, on one thread, with the faster code.

    The time is that of the search alone, which begins when the spec has been read and its code is loaded.
    """
    reported, best = [], []
    for family in ("three_bounce", "three_zombie"):
        speeds = []
        for _ in range(2 * options.pairs + 1):
            began: list[float] = []

            def begin(_: object, began: list[float] = began) -> None:
                if not began:
                    began.append(time.process_time())

            search = explore(MODELS["zookeeper/fixed"], bounds_of("zookeeper/fixed", family), fast_from=0, on_level=begin)
            speeds.append(search.distinct / (time.process_time() - began[0]))
        reported.append(f"{family}: {min(speeds[1:]):,.0f} to {max(speeds[1:]):,.0f} a second of the processor")
        best.append(max(speeds[1:]))
    return min(best), "; ".join(reported)


def walks(options: argparse.Namespace) -> tuple[float, str]:
    """Measure random walks of the control plane on two threads."""
    walked = simulate(MODELS["zookeeper/fixed"], bounds_of("zookeeper/fixed", "large"), threads=2, budget=Budget(seconds=10))
    speed = walked.steps / walked.seconds
    return speed, f"{walked.steps:,} steps in {walked.seconds:.1f} s"


def shell(arguments: tuple[str, ...], options: argparse.Namespace) -> tuple[float, str]:
    """Measure the command line, warm: seconds from start to end, with compiled code and Python's own cache in place."""
    seconds, busy = [], []
    with tempfile.TemporaryDirectory(prefix="kafka-spec-at-least-") as folder:
        environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
        environment["PYTHONPYCACHEPREFIX"] = folder
        for _ in range(3 * options.pairs + 1):
            began, before = time.perf_counter(), os.times()
            command = [sys.executable, "-m", "kafka_spec", *arguments]
            subprocess.run(command, cwd=ROOT, capture_output=True, check=True, env=environment)
            after = os.times()
            seconds.append(time.perf_counter() - began)
            busy.append(after.children_user + after.children_system - before.children_user - before.children_system)
    return min(seconds[1:]), f"{span(seconds[1:])}; of the processor {span(busy[1:])}"


def no_traces(options: argparse.Namespace) -> tuple[float, str]:
    """Measure the memory of counts and verdicts without traces, all in, of 65 million states."""
    found = large_search(["--epochs", "3", "--threads", str(options.threads)])
    return found["memory, bytes a state"], f"{found['distinct']:,} states in {found['seconds']} s, digest {found['digest']}"


def large_search(arguments: list[str]) -> dict[str, Any]:
    """Return the figures of billion.py, run in its own process."""
    with tempfile.TemporaryDirectory(prefix="kafka-spec-at-least-") as folder:
        command = [sys.executable, "-m", "benchmarks.billion", folder, *arguments]
        text = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, check=True).stdout
    found: dict[str, Any] = json.JSONDecoder().raw_decode(text)[0]
    return found


def all_faults(options: argparse.Namespace) -> tuple[float, str]:
    """Measure how many levels of three brokers with all faults are finished within the time and the memory, by normal form."""
    spec = MODELS["zookeeper/fixed"]
    bounds = bounds_of("zookeeper/fixed", "large")
    claims = judged_without(spec, ("recoverable", "leads-to"))
    budget = Budget(seconds=60 * options.minutes, memory_bytes=int(options.gib * (1 << 30)))
    result = check(spec, bounds, properties=claims, normal_form=True, threads=2, budget=budget, traces=False)
    growth = result.levels[-1] / result.levels[-2]
    said = (
        f"{result.distinct:,} normal forms in {result.search_seconds:,.0f} s; the last level is {growth:.2f} times the one before"
    )
    return float(result.depth), f"{said}; {result.stopped or 'complete'}"


def kills(options: argparse.Namespace) -> tuple[float, str]:
    """Kill a search at random points; the figure is 1 if its end equals that of a whole search."""
    with tempfile.TemporaryDirectory(prefix="kafka-spec-kills-") as folder:
        ended = subprocess.run(
            [sys.executable, "-m", "benchmarks.kills", folder], cwd=ROOT, stdout=subprocess.PIPE, text=True, check=False
        )
    return float(ended.returncode == 0), ended.stdout.strip().rpartition("\n")[2]


LINES: Mapping[str, Line] = {
    "symmetry": Line("kip_320 large, replicas interchangeable, against all states", 3, "times faster", symmetry),
    "normal-forms": Line("control families by normal form, against all states, together", 2.5, "times faster", normal_forms),
    "control": Line("control plane, three brokers, everything on, one thread", 600_000, "states a second", control),
    "walks": Line("random walks of the control plane, two threads", 1_000_000, "steps a second", walks),
    "help": Line("`kafka-spec --help`, warm", 0.25, "seconds", lambda o: shell(("--help",), o), most=True),
    "small": Line(
        "a check of 957 states from the shell, warm", 0.4, "seconds",
        lambda o: shell(("check", "replication/kip_320", "--bound", "max_leader_epoch=1"), o), most=True,
    ),
    "no-traces": Line("kip_320, 65 million states, counts and verdicts only", 12, "bytes a state", no_traces, most=True),
    "kills": Line("kill -9 at 20 random points, continued: equal digest, no reported level repeated", 1, "of 1", kills),
    "all-faults": Line(
        "control plane, three brokers, all faults, `large`: levels within 30 minutes", 15, "levels", all_faults, by_name=True
    ),
}  # fmt: skip

ELSEWHERE: Mapping[str, str] = {
    "a search of more than 10^9 states, at most 18 bytes a state; a second seed": "`python -m benchmarks.billion DIR --records 6`: "
    "hours on a machine with nothing else to do; README.md has its run",
    "kip_320 large against Spin, Rumur and Stateright": "`python -m benchmarks.replication`: it needs these and cargo",
    "two Spark workers against one": "`python benchmarks/spark.py`: it needs Java and ten minutes",
}
"""Measures of other scripts, with the reason."""


def main() -> int:
    """Print the table; return 1 if a line misses its target."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("lines", nargs="*", metavar="LINE", help=", ".join(LINES))
    parser.add_argument("--list", action="store_true", help="print the names of the lines")
    parser.add_argument("--pairs", type=int, default=3)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--minutes", type=float, default=30, help="of the line all-faults (default: %(default)s)")
    parser.add_argument("--gib", type=float, default=23, help="of the line all-faults (default: %(default)s)")
    options = parser.parse_args()
    if unknown := [name for name in options.lines if name not in LINES]:
        parser.error(f"{unknown[0]} is no line; there is {', '.join(LINES)}")
    if options.list:
        print("\n".join(f"{name:<14}{line.what}" for name, line in LINES.items()))
        return 0
    print(f"{os.cpu_count()} processors, load {os.getloadavg()[0]:.1f} at the beginning\n")
    print("| line | measure | target | measured | met | details |\n|---|---|---|---|---|---|")
    missed = False
    for name in options.lines or [name for name, line in LINES.items() if not line.by_name]:
        line = LINES[name]
        value, details = line.measure(options)
        met = value <= line.target if line.most else value >= line.target
        missed |= not met
        target = f"{'at most ' if line.most else ''}{line.target:,g} {line.unit}"
        shown = f"{value:,.0f}" if value >= 1000 else f"{value:.2f}"
        print(f"| {name} | {line.what} | {target} | {shown} | {'yes' if met else 'no'} | {details} |", flush=True)
    print("\nMeasured elsewhere:")
    for what, where in ELSEWHERE.items():
        print(f"- {what}: {where}")
    if not options.lines:
        print(f"- {LINES['all-faults'].what}: `python -m benchmarks.at_least all-faults`, half an hour")
    return int(missed)


if __name__ == "__main__":
    sys.exit(main())
