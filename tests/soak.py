"""The Spark engine under kills, for minutes: `make soak`. It prints a table, and ends with 1 if anything differs.

Drivers, executors and Python workers are killed at random points of wide levels, and runs race for one folder. Each ends with the
result of the embedded engine, digest and all, or with a refusal that names the reason; nothing else is right. The seed is printed.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import os
import re
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from random import Random
from typing import Any

import pyspark

from kafka_spec.model_check.exploration import Exploration
from kafka_spec.model_check.search import embedded
from kafka_spec.spec.catalogue.models import MODELS

ROOT = Path(__file__).parent.parent
MODEL = MODELS["replication/kip_320"]
BEYOND = 10
"""Levels after this one are wide."""
NEVER = 1 << 40
"""A hand-over that never comes: Spark is not started."""
LOOK = 0.005
REFUSALS = (
    "another run is using it",
    "another run has just started there",
    "already contains a run",
    "contains no run to continue",
)


@dataclasses.dataclass
class Row:
    """A line of the table."""

    what: str
    levels: str
    killed: int = 0
    resumed: int = 0
    refused: int = 0
    same: bool = False
    seconds: float = 0.0

    def __str__(self) -> str:
        result = "same digest" if self.same else "DIFFERS"
        return _line(self.what, self.levels, self.killed, self.resumed, self.refused, result, f"{self.seconds:.0f}")


def _line(*cells: object) -> str:
    return "| " + " | ".join(str(cell).ljust(width) for cell, width in zip(cells, WIDTHS, strict=True)) + " |"


WIDTHS = (26, 17, 6, 7, 7, 11, 7)
HEAD = _line("killed, or racing", "at levels", "kills", "resumed", "refused", "result", "seconds")
HEAD += "\n|" + "|".join("-" * (width + 2) for width in WIDTHS) + "|"


def say(what: str) -> None:
    """Report progress on stderr."""
    sys.stderr.write(f"{time.strftime('%H:%M:%S')} {what}\n")


class Differs(Exception):  # noqa: N818 - says what happened
    """A run ended otherwise than it may."""


# ---------------------------------------------------------------------------------------------------------------------
# Runs and processes


def bounds_of(name: str) -> dict[str, int]:
    """Return the bounds of a name."""
    return next(dict(bounds.values) for bounds in MODEL.bound_sets if bounds.name == name)


def start(
    place: Path, bounds: str, *more: str, master: str = "local[2]", handover: int = 3000, env: dict[str, str] | None = None
) -> Any:
    """Start a check on Spark."""
    command = [sys.executable, "-m", "kafka_spec", "check", MODEL.name, "--bounds", bounds, "--engine", "spark", "--master", master]
    command += ["--handover", str(handover), "--state-dir", str(place), "--format", "json", *more]
    environment = {**os.environ, "PYTHONPATH": str(ROOT), **(env or {})}
    return subprocess.Popen(command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def check(output: str, errors: str, code: int, truth: Exploration) -> None:
    """Raise unless a run has the correct result."""
    if code != 0:
        raise Differs(f"a run ended with {code}: {errors.strip() or output[-500:]}")
    reported = json.loads(output)
    expected = {
        "verdict": "holds",
        "levels": truth.levels,
        "rules": {r.name: {"fired": truth.fired[r.name], "new": truth.new[r.name]} for r in truth.spec.rules},
        "bounded": dict(truth.bounded),
        "graph_digest": f"{truth.digest:016x}",
    }
    for name, value in expected.items():
        if reported[name] != value:
            raise Differs(f"{name} is {reported[name]}, and the embedded engine has {value}")


def processes() -> dict[int, tuple[int, str]]:
    """Return parent and command line of all processes."""
    found = {}
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            parent = int(re.sub(r"^.*\) \S ", "", (folder / "stat").read_text()).split()[0])
            found[int(folder.name)] = parent, (folder / "cmdline").read_text().replace("\0", " ")
        except OSError:
            continue
    return found


def below(roots: list[int], text: str) -> list[int]:
    """Return the descendants of some processes whose command lines contain a text."""
    known = processes()

    def is_below(number: int) -> bool:
        while number in known and number not in roots:
            number = known[number][0]
        return number in roots

    return [number for number, (_, command) in known.items() if text in command and number not in roots and is_below(number)]


def reached(place: Path, level: int) -> bool:
    """Whether anything of a level has been written."""
    return (place / f"levels/level={level:05d}").exists() or (place / f"level-{level:05d}.json").exists()


def summaries(place: Path) -> dict[str, bytes]:
    """Return the summaries of the finished levels."""
    return {path.name: path.read_bytes() for path in place.glob("level-*.json")}


def wait(process: subprocess.Popen[str], done: Callable[[], bool], seconds: float = 300.0) -> bool:
    """Wait until a condition holds or a process ends; return whether the condition held."""
    end = time.monotonic() + seconds
    while process.poll() is None:
        if done():
            return True
        if time.monotonic() > end:
            process.kill()
            raise Differs("a run does not go on")
        time.sleep(LOOK)
    return False


# ---------------------------------------------------------------------------------------------------------------------
# Faults of runs


def kill_drivers(folder: Path, random: Random, truth: Exploration, bounds: str, levels: list[int], handover: int) -> Row:
    """Kill the driver at a random point of each of some levels, and resume; the summaries that stood stay as they were."""
    row, place, resume = Row("driver, kill -9", f"{levels[0]} to {levels[-1]}"), folder / "drivers", []
    began = time.monotonic()
    for level in levels:
        process = start(place, bounds, *resume, handover=handover)
        if wait(process, lambda level=level: reached(place, level)):  # type: ignore[misc]
            time.sleep(random.uniform(0.0, 0.5))
            before = summaries(place)
            process.kill()
            row.killed += 1
            say(f"driver killed at level {level}")
            process.communicate()
            if any(summaries(place)[name] != content for name, content in before.items()):
                raise Differs("a summary changed")
        else:  # it ended before
            check(*process.communicate(), process.returncode, truth)
        resume = ["--resume"]
        row.resumed += 1
    process = start(place, bounds, *resume, handover=handover)
    output, errors = process.communicate(timeout=600)
    check(output, errors, process.returncode, truth)
    row.same, row.seconds = True, time.monotonic() - began
    return row


def kill_workers(
    folder: Path, random: Random, truth: Exploration, bounds: str, levels: list[int], handover: int, master: str, executors: bool
) -> Row:
    """Kill an executor, or a Python worker, at a random point of each level; where Spark gives the run up, it is resumed."""
    what = "executor, kill -9" if executors else "Python worker, kill -9"
    row, place, resume = Row(what, f"{levels[0]} to {levels[-1]}"), folder / f"workers-{executors}", []
    configuration = folder / "spark"
    configuration.mkdir(exist_ok=True)
    # by default Spark asks a lost executor three times for its data, five seconds apart
    (configuration / "spark-defaults.conf").write_text("spark.shuffle.io.retryWait 500ms\nspark.shuffle.io.maxRetries 2\n")
    began, left = time.monotonic(), list(levels)
    for _ in range(10):
        process = start(place, bounds, *resume, master=master, handover=handover, env={"SPARK_CONF_DIR": str(configuration)})
        while left and wait(process, lambda: reached(place, left[0])):
            time.sleep(random.uniform(0.0, 0.2))
            victims = executors_of(master) if executors else python_workers(master, process.pid)
            if victims:
                os.kill(random.choice(victims), signal.SIGKILL)
                row.killed += 1
                say(f"{what}: one of {len(victims)} at level {left.pop(0)}")
            elif (place / f"level-{left[0]:05d}.json").exists():
                left.pop(0)
        output, errors = process.communicate(timeout=600)
        if process.returncode == 0:
            break
        if process.returncode != 3 or "--resume goes on" not in output + errors:
            raise Differs(f"a run ended with {process.returncode}: {errors.strip() or output[-500:]}")
        say(f"{what}: Spark gave up; resuming")
        resume = ["--resume"]
        row.resumed += 1
    check(output, errors, process.returncode, truth)
    row.same, row.seconds = True, time.monotonic() - began
    return row


def executors_of(master: str) -> list[int]:
    """Return the executors of a cluster on this machine."""
    return below(_workers(master), "CoarseGrainedExecutorBackend")


def python_workers(master: str, driver: int) -> list[int]:
    """Return the Python workers of a run: children of a daemon of PySpark."""
    known = processes()
    found = below([driver] if master.startswith("local") else _workers(master), "pyspark.daemon")
    return [number for number in found if number in known and "pyspark.daemon" in known.get(known[number][0], (0, ""))[1]]


def _workers(master: str) -> list[int]:
    port = master.rpartition(":")[2]
    return [n for n, (_, command) in processes().items() if "worker.Worker" in command and command.rstrip().endswith(port)]


def race(folder: Path, random: Random, truth: Exploration, bounds: str, races: int, with_spark: int) -> Row:
    """Let two runs begin, or resume, in one folder at almost the same time: one comes to the truth, the other too or is refused."""
    row = Row("two runs race for a folder", "from the first on")
    began = time.monotonic()
    for number in range(races):
        place, handover = folder / f"race-{number}", with_spark if number % 2 else NEVER
        if number % 2:  # both resume the killed run
            first = start(place, bounds, handover=handover)
            wait(first, lambda place=place: (place / "run.json").exists())  # type: ignore[misc]
            time.sleep(random.uniform(0.0, 0.3))
            first.kill()
            first.communicate()
            row.killed += 1
            row.resumed += 1
        more = ("--resume",) if number % 2 else ()
        runs = [start(place, bounds, *more, handover=handover)]
        time.sleep(random.choice((0.0, 0.0, 0.02, 0.1)))
        runs.append(start(place, bounds, *more, handover=handover))
        ends = [(*run.communicate(timeout=300), run.returncode) for run in runs]
        good = [end for end in ends if end[2] == 0]
        if not good:
            raise Differs(f"both were refused: {[errors.strip() for _, errors, _ in ends]}")
        for end in good:
            check(*end, truth)
        for _, errors, code in [end for end in ends if end[2] != 0]:
            if code != 2 or not any(text in errors for text in REFUSALS) or len(errors.strip().splitlines()) != 1:
                raise Differs(f"a run was refused with {code} and {errors.strip()!r}")
            row.refused += 1
        say(f"race {number + 1} of {races}: {len(good)} of two came to the end")
    row.same, row.seconds = True, time.monotonic() - began
    return row


@contextmanager
def cluster(folder: Path) -> Iterator[str]:
    """Yield the URL of a standalone cluster on this machine: a master and two workers of one core each."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    home, master = Path(pyspark.__file__).parent, f"spark://127.0.0.1:{port}"
    environment = {
        **os.environ,
        "SPARK_HOME": str(home),
        "SPARK_LOCAL_IP": "127.0.0.1",
        "SPARK_WORKER_DIR": str(folder / "work"),
        "PYSPARK_PYTHON": sys.executable,
    }
    with ExitStack() as stack:
        log = stack.enter_context((folder / "cluster.log").open("w"))

        def daemon(*words: str) -> None:
            command = [str(home / "bin" / "spark-class"), *words]
            process = subprocess.Popen(command, env=environment, stdout=log, stderr=log, cwd=folder)
            stack.callback(process.wait)
            stack.callback(process.terminate)

        name = "org.apache.spark.deploy"
        daemon(f"{name}.master.Master", "--host", "127.0.0.1", "--port", str(port), "--webui-port", "0")
        options = ["--host", "127.0.0.1", "--cores", "1", "--memory", "1g", "--webui-port", "0"]
        for _ in range(2):
            daemon(f"{name}.worker.Worker", *options, master)
        end = time.monotonic() + 120
        while (folder / "cluster.log").read_text().count("Successfully registered with master") < 2:
            if time.monotonic() > end:
                raise Differs("the cluster does not start")
            time.sleep(0.1)
        yield master


def wide(truth: Exploration, least: int) -> list[int]:
    """Return the levels beyond the tenth that Spark searches."""
    return [level for level, states in enumerate(truth.levels) if level > BEYOND and states >= least]


def main() -> int:
    """Run everything, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=int(time.time()), help="what chance is drawn from (default: the time)")
    parser.add_argument("--races", type=int, default=10, help="how often two runs race (default: 10)")
    parser.add_argument("--kills", type=int, default=100, help="kills in each part at most (default: one at each wide level)")
    parser.add_argument("--only", choices=("drivers", "later-drivers", "workers", "executors", "races"), help="one part alone")
    asked = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # its child processes end with it
    large, medium, small = (embedded.explore(MODEL, bounds_of(name)) for name in ("large", "medium", "small"))
    print(f"seed {asked.seed}; {MODEL.name} at large ({large.distinct:,} states) for drivers, medium ({medium.distinct:,}) for "
          f"workers, small ({small.distinct:,}) for races\n\n{HEAD}", flush=True)  # fmt: skip
    code = 0
    with tempfile.TemporaryDirectory(prefix="kafka-spec-soak-") as name:
        folder = Path(name)

        def executors() -> Row:
            (folder / "cluster").mkdir()
            with cluster(folder / "cluster") as master:
                return kill_workers(folder, random("executors"), medium, "medium", some(wide(medium, 1)), 3000, master, True)

        def some(levels: list[int]) -> list[int]:
            return levels[:: -(-len(levels) // asked.kills)]

        def random(part: str) -> Random:
            return Random(f"{asked.seed} {part}")

        parts: dict[str, Callable[[], Row]] = {
            "drivers": lambda: kill_drivers(folder / "a", random("drivers"), large, "large", some(wide(large, 1)[:10]), 3000),
            "later-drivers": lambda: kill_drivers(folder / "b", random("later"), large, "large", some(wide(large, 1)[10:]), 3000),
            "workers": lambda: kill_workers(
                folder, random("workers"), medium, "medium", some(wide(medium, 3000)), 3000, "local[2,4]", False
            ),
            "executors": executors,
            "races": lambda: race(folder, random("races"), small, "small", asked.races, 300),
        }
        for part, run in parts.items():
            if asked.only in (None, part):
                try:
                    print(run(), flush=True)
                except Differs as error:
                    print(f"| {part}: {error}", flush=True)
                    code = 1
    return code


if __name__ == "__main__":
    sys.exit(main())
