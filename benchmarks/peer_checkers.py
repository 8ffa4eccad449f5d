"""Other checkers on the model of replication.py: how each gets its model, is built, is run, and what it reports.

Depends on programs that may be missing; their names are in `Peer.tools`.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, TypeAlias

MODELS = Path(__file__).resolve().parent / "peers"

Bounds: TypeAlias = dict[str, int]
Search: TypeAlias = dict[str, Any]
"""The costs of a search: search_seconds, whole_seconds (of the process), others, peak_bytes; for ours, compile_seconds too."""


class Failed(Exception):  # noqa: N818 - the benchmark has failed, which need not be an error of its own
    """A run had an unexpected result."""


@dataclass(frozen=True)
class Run:
    """The costs and the output of a process."""

    seconds: float
    others: float
    """Number of cores that other programs used in that time."""
    peak_bytes: int
    code: int
    output: str
    errors: str


def run(command: Sequence[str | Path], folder: Path, environment: dict[str, str] | None = None) -> Run:
    """Run a command until it ends."""
    with tempfile.TemporaryFile("w+") as output, tempfile.TemporaryFile("w+") as errors:
        busy, began = busy_seconds(), time.perf_counter()
        process = subprocess.Popen(
            [str(word) for word in command], cwd=folder, stdout=output, stderr=errors, env={**os.environ, **(environment or {})}
        )
        _, status, usage = os.wait4(process.pid, 0)
        seconds = time.perf_counter() - began
        busy_after = busy_seconds()
        process.returncode = os.waitstatus_to_exitcode(status)
        output.seek(0)
        errors.seek(0)
        peak = usage.ru_maxrss * (1 if sys.platform == "darwin" else 1024)
        others = max(0.0, busy_after - busy - usage.ru_utime - usage.ru_stime) / seconds
        return Run(seconds, others, peak, process.returncode, output.read(), errors.read())


def busy_seconds() -> float:
    """Return the busy time of all cores since the system started; 0 where the system does not report it."""
    try:
        total = Path("/proc/stat").read_text(encoding="ascii").splitlines()[0]
    except OSError:
        return 0.0
    user, nice, system, _, _, interrupts, more = map(int, total.split()[1:8])
    return (user + nice + system + interrupts + more) / os.sysconf("SC_CLK_TCK")


def must(result: Run, what: str) -> Run:
    """Return a run that succeeded.

    Raises:
        Failed: it did not succeed.
    """
    if result.code:
        raise Failed(f"{what} ended with code {result.code}: {(result.errors or result.output)[-2000:]}")
    return result


@dataclass(frozen=True)
class Peer:
    """Another checker: how to build and run the model, and how to parse its output."""

    name: str
    tools: tuple[str, ...]
    write: Callable[[Bounds, Path], None]
    """Writes the model at the bounds to a file that `build` reads."""
    build: tuple[str, ...]
    command: str
    clean: str
    """Its output if it finds no error."""
    states: str
    """Pattern of the number of states."""
    seconds: str
    """Pattern of the seconds of the search by its own clock; if empty, the whole process counts."""
    more_states: int
    rounds: int
    at_least: float | None
    threads: int = 1
    fetch: str = ""
    """Fetches what the build needs from the network; if it fails, the peer is left out."""
    environment: Mapping[str, str] = field(default_factory=dict)
    """What the build needs in its environment."""

    @property
    def missing(self) -> list[str]:
        """Required programs that are not installed."""
        return [tool for tool in self.tools if shutil.which(tool) is None]

    def make(self, bounds: Bounds, folder: Path) -> float | None:
        """Write the model and compile it; return the seconds of compiling, or None if what it needs could not be fetched."""
        folder.mkdir()
        self.write(bounds, folder)
        if self.fetch and run(self.fetch.split(), folder).code:
            return None
        return sum(must(run(step.split(), folder, dict(self.environment)), step).seconds for step in self.build)

    def search(self, folder: Path, expected: int) -> Search:
        """Run the compiled model; return its costs.

        Raises:
            Failed: its number of states differs, or it found an error in the model.
        """
        result = must(run(self.command.split(), folder), self.name)
        found = re.search(self.states, result.output)
        states = int(found[1]) if found else 0
        if self.clean not in result.output or states != expected + self.more_states:
            raise Failed(f"{self.name} found {states:,} states, not {expected + self.more_states:,}:\n{result.output[-2000:]}")
        clock = re.search(self.seconds, result.output) if self.seconds else None
        search = float(clock[1]) if clock else result.seconds
        return {"search_seconds": search, "whole_seconds": result.seconds, "others": result.others, "peak_bytes": result.peak_bytes}


def write_promela(bounds: Bounds, folder: Path) -> None:
    """Write the model for Spin."""
    options = [word for name, value in bounds.items() for word in (f"--{name.replace('_', '-')}", str(value))]
    generator = MODELS / "kip_320_promela.py"
    must(run([sys.executable, generator, *options, "--output", "k.pml"], folder), generator.name)


def write_murphi(bounds: Bounds, folder: Path) -> None:
    """Write the model for Rumur: the existing file with these bounds."""
    text = (MODELS / "kip_320.m").read_text(encoding="utf-8")
    (folder / "kip_320.m").write_text(with_bounds(text, r"(?m)^(  {}: )\d+;$", bounds), encoding="utf-8")


def write_rust(bounds: Bounds, folder: Path) -> None:
    """Write the model for Stateright: the existing crate with these bounds."""
    shutil.copytree(MODELS / "kip_320_stateright", folder, dirs_exist_ok=True, ignore=shutil.ignore_patterns("target"))
    file = folder / "src/main.rs"
    text = with_bounds(file.read_text(encoding="utf-8"), r"(?m)^(const {}: \w+ = )\d+;$", bounds)
    file.write_text(text, encoding="utf-8")


def with_bounds(text: str, line: str, bounds: Bounds) -> str:
    """Return the text of a model with these bounds; `line` is the pattern of the line of a bound.

    Raises:
        Failed: the text does not have one line for each bound.
    """
    for name, value in bounds.items():
        text, count = re.subn(line.format(name.upper()), rf"\g<1>{value};", text)
        if count != 1:
            raise Failed(f"the model has {count} lines for the bound {name}")
    return text


SPIN = Peer(
    "Spin",
    tools=("spin", "gcc"),
    write=write_promela,
    build=("spin -a k.pml", "gcc -O3 -march=native -DSAFETY -DNOREDUCE -DMEMLIM=16000 -o pan pan.c"),
    command="./pan -m1000000 -w27",
    clean="errors: 0",
    states=r"(\d+) states, stored",
    seconds=r"elapsed time ([\d.]+) seconds",
    more_states=1,
    rounds=5,
    at_least=6,
)
RUMUR = Peer(
    "Rumur",
    tools=("rumur", "gcc"),
    write=write_murphi,
    build=(
        "rumur --deadlock-detection off --threads 1 --output k.c kip_320.m",
        "gcc -O3 -march=native -std=c11 k.c -o k -lpthread -mcx16",
    ),
    command="./k",
    clean="No error found",
    states=r"(\d+) states, \d+ rules fired",
    seconds="",
    more_states=0,
    rounds=1,
    at_least=12,
)
STATERIGHT = Peer(
    "Stateright breadth first",
    tools=("cargo",),
    write=write_rust,
    build=("cargo build --release --offline",),
    command="target/release/kip_320 breadth 1",
    clean="StrongIsr holds",
    states=r"(\d+) states, \d+ steps",
    seconds=r"bytes, ([\d.]+) s",
    more_states=0,
    rounds=5,
    at_least=4,
    fetch="cargo fetch",
    environment={"RUSTFLAGS": "-C target-cpu=native", "CARGO_TARGET_DIR": "target"},
)
PEERS: Mapping[str, tuple[Peer, ...]] = {
    "Spin": (SPIN,),
    "Rumur": (RUMUR,),
    "Stateright": (
        STATERIGHT,
        replace(
            STATERIGHT,
            name="Stateright breadth first, two threads",
            command="target/release/kip_320 breadth 2",
            threads=2,
            at_least=5,
        ),
        replace(STATERIGHT, name="Stateright depth first", command="target/release/kip_320 depth 1", at_least=2),
    ),
}
"""All other checkers; one can be measured in several ways."""
