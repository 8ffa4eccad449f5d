"""Measure the checker on replication/kip_320, and other checkers on the same model in the same run; print a Markdown table.

Everything is on in our runs: all properties, the type invariant, the digest, how each state was reached. Every run has its own
process. Compared programs run alternately, and the figure is the median of the ratios of neighbouring runs: on a machine with other
load, such a ratio is meaningful, and a time alone is not. README.md explains the table.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import re
import shutil
import statistics
import sys
import tempfile
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmarks.peer_checkers import PEERS, Bounds, Failed, Peer, Search, must, run

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
MODEL = "replication/kip_320"

NAMES = ("replicas", "log_size", "max_records", "max_leader_epoch")
BOUNDS: dict[str, Bounds] = {
    "medium": dict(zip(NAMES, (3, 2, 2, 2), strict=True)),
    "large": dict(zip(NAMES, (3, 3, 3, 2), strict=True)),
    "huge": dict(zip(NAMES, (3, 3, 3, 3), strict=True)),
}
"""Names of bound sets in spec/replication/families.py."""
STATES = {"medium": 737_794, "large": 4_093_531, "huge": 64_739_578}
SMALL = dict(zip(NAMES, (2, 2, 2, 1), strict=True))
"""A model of 957 states, for the time of a first check."""
PARTS = {"digest": "the digest", "checks": "the checks of indices and stores"}
"""Parts of the checker that can be turned off, with their descriptions."""
DISTURBED = 0.2
"""If other programs use more cores than this, a run of two threads does not have two cores."""
PATIENCE = 6
"""How many times as many pairs as wanted may run in order to find undisturbed ones."""
MISUSE = 2
"""The exit code if the command line asks for a missing program."""

# ---------------------------------------------------------------------------------------------------------------------
# Figures


@dataclass(frozen=True)
class Figure:
    """One line of the table."""

    what: str
    value: float
    unit: str
    at_least: float | None = None
    at_most: float | None = None
    spread: tuple[float, float] | None = None

    @property
    def met(self) -> bool | None:
        """Whether the target is met; None if there is no target."""
        if self.at_least is not None:
            return self.value >= self.at_least
        return None if self.at_most is None else self.value <= self.at_most

    def show(self, value: float) -> str:
        """Return a value as text."""
        return f"{value:,.0f}{self.unit}" if abs(value) >= 1000 else f"{value:.3g}{self.unit}"

    def row(self) -> str:
        """Return the line in Markdown."""
        spread = f" ({self.spread[0]:.3g} to {self.spread[1]:.3g})" if self.spread else ""
        target, word = (self.at_least, "at least") if self.at_least is not None else (self.at_most, "at most")
        targeted = f"{word} {self.show(target)}" if target is not None else "-"
        met = {True: "yes", False: "**no**", None: "-"}[self.met]
        return f"| {self.what} | {self.show(self.value)}{spread} | {targeted} | {met} |"

    def plain(self) -> dict[str, Any]:
        """Return the line for JSON."""
        return {**vars(self), "met": self.met}


def ratio(what: str, ratios: Sequence[float], at_least: float | None = None) -> Figure:
    """Return the median of some ratios as a figure."""
    spread = (min(ratios), max(ratios)) if len(ratios) > 1 else None
    return Figure(what, statistics.median(ratios), "x", at_least=at_least, spread=spread)


@dataclass
class Report:
    """The measurements so far."""

    figures: list[Figure] = field(default_factory=list)
    checkers: list[str] = field(default_factory=list)
    """The lines of the table of checkers."""
    notes: list[str] = field(default_factory=list)
    runs: list[dict[str, Any]] = field(default_factory=list)
    failed: bool = False

    def add_run(self, what: str, **measured: Any) -> None:
        """Record and report a run."""
        self.runs.append({"what": what, **measured})
        print(f"{what}: {measured.get('search_seconds', measured.get('seconds')):.2f} s", file=sys.stderr)

    def add_checker(self, name: str, states: int, compiling: float, runs: Sequence[Search]) -> None:
        """Add a line to the table of checkers: medians of its runs, and the largest peak."""
        search = statistics.median(run["search_seconds"] for run in runs)
        whole = statistics.median(run["whole_seconds"] for run in runs)
        peak = max(run["peak_bytes"] for run in runs)
        times = f"{compiling:.2f} | {search:.2f} | {whole:.2f}"
        self.checkers.append(f"| {name} | {times} | {states / search:,.0f} | {peak / states:.0f} |")

    def markdown(self) -> str:
        """Return all tables and notes."""
        lines = ["| what | figure | target | met |", "|---|---|---|---|", *(figure.row() for figure in self.figures), ""]
        lines += ["| checker | compile, s | search, s | whole process, s | distinct states/s | peak bytes/state |"]
        lines += ["|---|---|---|---|---|---|", *self.checkers, ""]
        return "\n".join([*lines, *(f"- {note}" for note in self.notes)])


# ---------------------------------------------------------------------------------------------------------------------
# Measurements


class Benchmark:
    """All measurements of one run, in a work folder."""

    def __init__(self, bounds: str, pairs: int, peer_rounds: int | None, folder: Path) -> None:
        self.bounds, self.pairs, self.peer_rounds, self.folder = bounds, pairs, peer_rounds, folder
        self.report = Report()

    def ours(self, bounds: str, threads: int = 1, leave_out: str = "") -> Search:
        """Search our model in its own process.

        Raises:
            Failed: the number of states is not the expected one.
        """
        options = ["--leave-out", leave_out] if leave_out else []
        script = str(HERE / "one_search.py")
        command = [sys.executable, script, MODEL, "--bounds", json.dumps(BOUNDS[bounds]), "--threads", str(threads)]
        environment = {"KAFKA_SPEC_CACHE": str(self.folder / "cache"), "PYTHONPATH": str(ROOT)}
        result = must(run([*command, *options], ROOT, environment), "our search")
        measured: Search = json.loads(result.output)
        if measured["distinct"] != STATES[bounds] or measured["verdict"] != "holds":
            raise Failed(f"our search found {measured['distinct']:,} states, not {STATES[bounds]:,}: {measured['verdict']}")
        peak = max(result.peak_bytes, measured["peak_bytes"])
        measured |= {"whole_seconds": result.seconds, "others": result.others, "peak_bytes": peak}
        what = f"ours, {bounds}, threads {threads}" + (f", without {leave_out}" if leave_out else "")
        self.report.add_run(what, **measured)
        return measured

    def measure_peers(self, names: Sequence[str]) -> None:
        """Compare with some of the other checkers."""
        first = self.ours(self.bounds)
        ours: list[Search] = []
        for name in names:
            peers = [peer for peer in PEERS[name] if peer.threads <= (os.cpu_count() or 1)]
            if missing := peers[0].missing:
                self.report.notes.append(f"{name} is left out, for want of {' and '.join(missing)}; README.md says how to get it")
                continue
            folder = self.folder / name
            if (compiling := peers[0].make(BOUNDS[self.bounds], folder)) is None:
                self.report.notes.append(f"{name} is left out, for `{peers[0].fetch}` failed")
                continue
            for peer in peers:
                ours += self.measure_peer(peer, folder, compiling)
        ours = ours or [self.ours(self.bounds)]
        states = STATES[self.bounds]
        self.report.add_checker("ours", states, first["compile_seconds"], ours)
        self.report.checkers.insert(0, self.report.checkers.pop())
        rate = states / statistics.median(one["search_seconds"] for one in ours)
        self.report.figures.insert(0, Figure("distinct states a second, one thread", rate, ""))

    def measure_peer(self, peer: Peer, folder: Path, compiling: float) -> list[Search]:
        """Compare with one checker, in pairs of the same number of threads; return our runs with one thread."""
        ours, theirs = [], []
        for _ in range(self.peer_rounds or peer.rounds):
            ours.append(self.ours(self.bounds, peer.threads))
            theirs.append(peer.search(folder, STATES[self.bounds]))
            self.report.add_run(peer.name, **theirs[-1])
        search, whole = (
            [their[clock] / our[clock] for their, our in zip(theirs, ours, strict=True)]
            for clock in ("search_seconds", "whole_seconds")
        )
        self.report.figures += [
            ratio(f"speed against {peer.name}, search alone", search, peer.at_least),
            ratio(f"speed against {peer.name}, whole process, compiled before", whole),
        ]
        self.report.add_checker(peer.name, STATES[self.bounds], compiling, theirs)
        return ours if peer.threads == 1 else []

    def measure_ourselves(self, memory: bool) -> None:
        """Measure what needs no other checker."""
        self.measure_threads()
        self.measure_parts()
        if memory:
            self.measure_memory()
        self.measure_shell()
        self.measure_manifest()

    def measure_threads(self) -> None:
        """Compare two threads with one."""
        if (os.cpu_count() or 1) < 2:
            self.report.notes.append("two threads are left out: there is one core")
            return
        free: list[float] = []
        shared: list[float] = []
        while len(free) < self.pairs and len(free) + len(shared) < PATIENCE * self.pairs:
            one, two = self.ours(self.bounds, 1), self.ours(self.bounds, 2)
            fits = max(one["others"], two["others"]) <= DISTURBED
            (free if fits else shared).append(one["search_seconds"] / two["search_seconds"])
        ratios = free if len(free) == self.pairs else free + shared
        self.report.figures.append(ratio("speed of two threads against one", ratios, 1.6))
        if shared:
            counted = "are left out" if ratios is free else "count, for want of better ones"
            pairs = f"{len(shared)} of {len(free) + len(shared)} pairs of one and two threads"
            median = statistics.median(shared)
            self.report.notes.append(f"{pairs} {counted}: other programs took a core or part of it (median {median:.3g}x)")

    def measure_parts(self) -> None:
        """Measure the cost of the digest and of the checks."""
        for part, what in PARTS.items():
            ratios = []
            for _ in range(self.pairs):
                everything, without = self.ours(self.bounds), self.ours(self.bounds, leave_out=part)
                ratios.append(everything["search_seconds"] / without["search_seconds"])
            self.report.figures.append(ratio(f"time with {what} against without", ratios))

    def measure_memory(self) -> None:
        """Measure the memory of a search of a large model."""
        measured = self.ours("huge")
        figure = Figure(
            f"peak memory a state, {STATES['huge']:,} states", measured["peak_bytes"] / STATES["huge"], " bytes", at_most=45
        )
        self.report.figures.append(figure)

    def measure_shell(self) -> None:
        """Measure a first check of a small model from the shell."""
        options = [word for name, value in SMALL.items() for word in ("--bound", f"{name}={value}")]
        seconds = [self.shell(["check", MODEL, *options], self.folder / f"empty-{number}") for number in range(3)]
        if found := [value for value in seconds if value is not None]:
            spread = (min(found), max(found))
            what = "a model of 957 states from the shell, empty cache"
            self.report.figures.append(Figure(what, statistics.median(found), " s", at_most=2.5, spread=spread))

    def measure_manifest(self) -> None:
        """Measure all checks of the project, with an empty cache and again."""
        manifest = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
        if "kafka-spec" not in manifest["tool"]:
            self.report.notes.append("the manifest is left out: pyproject.toml has none")
            return
        for cache, most in (("cold", 60), ("warm", 8)):
            seconds = self.shell(["check"], self.folder / "manifest")
            if seconds is not None:
                self.report.figures.append(Figure(f"the manifest, {cache} cache", seconds, " s", at_most=most))

    def shell(self, arguments: Sequence[str], cache: Path) -> float | None:
        """Run our command line; return the seconds of the whole process, or None, with a note, if it failed."""
        command = [sys.executable, "-m", "kafka_spec", *arguments]
        result = run(command, ROOT, {"KAFKA_SPEC_CACHE": str(cache)})
        what = f"kafka_spec {' '.join(arguments)}"
        self.report.add_run(what, seconds=result.seconds, others=result.others, code=result.code)
        if result.code:
            self.report.failed |= result.code != MISUSE
            self.report.notes.append(f"`{what}` ended with code {result.code}: {(result.errors or result.output).strip()[-300:]}")
            return None
        return result.seconds


# ---------------------------------------------------------------------------------------------------------------------
# The script


def version(command: str, pattern: str) -> str:
    """Return the version that a program reports; "" if it is missing."""
    if shutil.which(command.split()[0]) is None:
        return ""
    result = run(command.split(), HERE)
    found = re.search(pattern, result.output + result.errors)
    return found[1] if found else "?"


def surroundings(bounds: str) -> dict[str, Any]:
    """Return the environment that the figures depend on."""
    return {
        "model": MODEL,
        "bounds": BOUNDS[bounds],
        "states": STATES[bounds],
        "cores": os.cpu_count(),
        "load": round(os.getloadavg()[0], 2),
        "python": platform.python_version(),
        "spin": version("spin -V", r"Version ([\d.]+)"),
        "rumur": version("rumur --version", r"version v?([\d.]+)"),
        "gcc": version("gcc -dumpfullversion", r"([\d.]+)"),
        "cargo": version("cargo --version", r"cargo ([\d.]+)"),
    }


def heading(about: dict[str, Any]) -> str:
    """Return the subject of the tables, as a sentence."""
    bounds = ", ".join(f"{name} {value}" for name, value in about["bounds"].items())
    programs = ", ".join(f"{name} {about[name]}" for name in ("python", "spin", "rumur", "gcc", "cargo") if about[name])
    machine = f"{about['cores']} cores, load {about['load']} at the start"
    return f"{MODEL} at {bounds}: {about['states']:,} states; {machine}; {programs}.\n"


def parse() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bounds", choices=["medium", "large"], default="large", help="how large (default: %(default)s)")
    parser.add_argument("--pairs", type=int, help="pairs of runs for a ratio of our own (default: 5)")
    parser.add_argument("--memory", action=argparse.BooleanOptionalAction, default=None, help="measure memory (20 s; default: yes)")
    parser.add_argument("--quick", action="store_true", help="no memory, 3 pairs, one round of each other checker")
    parser.add_argument("--against", nargs="+", choices=list(PEERS), help="compare with these checkers, and measure nothing else")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write all runs and figures there")
    return parser.parse_args()


def main() -> int:
    """Measure everything and print the tables; return 1 if a result is wrong; missed targets do not count."""
    args = parse()
    about = surroundings(args.bounds)
    with tempfile.TemporaryDirectory(prefix="kafka-spec-benchmark-") as folder:
        benchmark = Benchmark(args.bounds, args.pairs or (3 if args.quick else 5), 1 if args.quick else None, Path(folder))
        try:
            benchmark.measure_peers(args.against or list(PEERS))
            if not args.against:
                benchmark.measure_ourselves(memory=not args.quick if args.memory is None else args.memory)
        except Failed as failure:
            print(f"benchmarks/replication.py: {failure}", file=sys.stderr)
            return 1
    report = benchmark.report
    others = statistics.median(one["others"] for one in report.runs)
    report.notes.append(f"other programs took {others:.2f} cores in the median of all runs")
    print(heading(about))
    print(report.markdown())
    if args.json:
        figures = [figure.plain() for figure in report.figures]
        plain = {"about": about, "figures": figures, "runs": report.runs, "notes": report.notes}
        args.json.write_text(json.dumps(plain, indent=2) + "\n", encoding="utf-8")
    return 1 if report.failed else 0


if __name__ == "__main__":
    sys.exit(main())
