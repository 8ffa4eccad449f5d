"""Measure the Spark engine on replication/kip_320 against the embedded engine, in one run; print a Markdown table.

Every search runs in its own process (spark_search.py). `README.md` explains the table. Takes about ten minutes on two cores.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyspark

HERE = Path(__file__).resolve().parent
NAMES = ("replicas", "log_size", "max_records", "max_leader_epoch")
LARGE = dict(zip(NAMES, (3, 3, 3, 2), strict=True))
HUGE = dict(zip(NAMES, (3, 3, 3, 3), strict=True))


def search(script: str, bounds: dict[str, int], *more: str) -> dict[str, Any]:
    """Run a search in its own process; return its measurements."""
    command = [sys.executable, str(HERE / script), "replication/kip_320", "--bounds", json.dumps(bounds), *more]
    run = subprocess.run(
        command, cwd=HERE.parent, capture_output=True, text=True, env={**os.environ, "PYTHONPATH": str(HERE.parent)}
    )
    if run.returncode:
        raise SystemExit(f"{' '.join(command)} ended with {run.returncode}: {run.stderr[-3000:]}")
    measured: dict[str, Any] = json.loads(run.stdout.splitlines()[-1])
    return measured


def on_spark(bounds: dict[str, int], *more: str) -> dict[str, Any]:
    """Search on Spark in a temporary state-dir."""
    with tempfile.TemporaryDirectory(prefix="kafka-spec-bench-") as folder:
        return search("spark_search.py", bounds, "--state-dir", f"{folder}/states", *more)


@contextmanager
def standalone(workers: int) -> Iterator[str]:
    """Run a standalone cluster on this machine, with one core for each worker."""
    home = Path(pyspark.__file__).parent
    with socket.socket() as free, tempfile.TemporaryDirectory(prefix="kafka-spec-cluster-") as folder:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
        free.close()
        master = f"spark://127.0.0.1:{port}"
        more = {"SPARK_HOME": str(home), "SPARK_LOCAL_IP": "127.0.0.1", "SPARK_WORKER_DIR": f"{folder}/work"}
        with Path(folder, "log").open("w") as log:

            def daemon(*words: str) -> subprocess.Popen[bytes]:
                command = [str(home / "bin" / "spark-class"), *words, "--host", "127.0.0.1", "--webui-port", "0"]
                return subprocess.Popen(command, env={**os.environ, **more}, stdout=log, stderr=log, cwd=folder)

            running = [daemon("org.apache.spark.deploy.master.Master", "--port", str(port))]
            name = "org.apache.spark.deploy.worker.Worker"
            running += [daemon(name, master, "--cores", "1", "--memory", "3g") for _ in range(workers)]
            while Path(folder, "log").read_text().count("Successfully registered with master") < workers:
                time.sleep(0.2)
            try:
                yield master
            finally:
                for process in reversed(running):
                    process.terminate()
                    process.wait()


KINDS = (
    ("pyspark.daemon", "Python workers"),
    ("CoarseGrainedExecutorBackend", "Java of executors"),
    ("deploy.worker", "daemons"),
    ("deploy.master", "daemons"),
    ("/java", "Java of the driver"),
    ("spark_search.py", "driver"),
)
"""Kinds of processes, by a part of their command lines."""


class ProcessorTime:
    """Measures the processor time of all descendant processes, by kind, while the context lasts."""

    def __enter__(self) -> ProcessorTime:
        self.looks: list[tuple[float, dict[tuple[str, str], float]]] = []
        """When, and the seconds until then by kind and process, also of processes that have ended."""
        self.over = threading.Event()
        self.look()
        self.thread = threading.Thread(target=self.watch)
        self.thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.over.set()
        self.thread.join()

    def watch(self) -> None:
        """Look periodically; at most the last half second of a process that ends is missed."""
        while not self.over.wait(0.5):
            self.look()

    def look(self) -> None:
        """Record the processor time of every process."""
        parents: dict[str, str] = {}
        taken: dict[tuple[str, str], float] = {}
        for folder in Path("/proc").glob("[0-9]*"):
            try:
                numbers = (folder / "stat").read_text().rpartition(") ")[2].split()
                command = (folder / "cmdline").read_text().replace("\0", " ")
            except OSError:
                continue
            parents[folder.name] = numbers[1]
            kind = next((kind for text, kind in KINDS if text in command), "")
            taken[kind, folder.name] = (int(numbers[11]) + int(numbers[12])) / os.sysconf("SC_CLK_TCK")
        seen = dict(self.looks[-1][1]) if self.looks else {}
        for (kind, number), seconds in taken.items():
            above = number
            while above in parents and above != str(os.getpid()):
                above = parents[above]
            if kind and above == str(os.getpid()):
                seen[kind, number] = seconds
        self.looks.append((time.perf_counter(), seen))

    def seconds(self, run: dict[str, Any]) -> Counter[str]:
        """Return the processor time in seconds, by kind, from the end of a search's first job to the end of its last."""
        began, ended = run["spark_began"], run["spark_began"] + run["spark_seconds"]
        before = next(seen for when, seen in reversed(self.looks) if when <= began)
        after = next((seen for when, seen in self.looks if when >= ended), self.looks[-1][1])
        total: Counter[str] = Counter()
        for (kind, number), seconds in after.items():
            total[kind] += seconds - before.get((kind, number), 0.0)  # type: ignore[assignment]
        return total

    def cores(self, run: dict[str, Any]) -> str:
        """Return the number of busy cores in that time, by kind."""
        total, wall = self.seconds(run), run["spark_seconds"]
        shares = ", ".join(f"{kind} {seconds / wall:.2f}" for kind, seconds in total.most_common())
        return f"{sum(total.values()):.0f} s of processors, {sum(total.values()) / wall:.2f} cores at work: {shares}"


def job_seconds(measured: dict[str, Any], low: int, high: int) -> list[float]:
    """Return the seconds of each level that Spark searched and whose frontier had low..high states."""
    return [level["seconds"] for level in measured["timed"] if low <= level["frontier"] <= high]


def table(rows: Sequence[tuple[str, str, str, str]]) -> str:
    """Return a Markdown table."""
    head = ("what", "figure", "target", "met")
    return "\n".join("| " + " | ".join(row) + " |" for row in (head, ("---",) * 4, *rows))


def row(what: str, value: float, unit: str, least: float | None = None, most: float | None = None) -> tuple[str, str, str, str]:
    """Return a line of the table."""
    met = "-" if least is None and most is None else "yes" if value >= (least or 0) and value <= (most or value) else "no"
    target = f"at least {least:g}" if least is not None else f"at most {most:g}" if most is not None else "-"
    return what, f"{value:.3g} {unit}".strip(), target, met


LINE = tuple[str, str, str, str]


def two_workers(bounds: dict[str, int], handover: Sequence[str], digest: str) -> tuple[list[LINE], list[str]]:
    """Search on a standalone cluster with one worker and with two; return lines of the table, and what both did."""
    runs: list[dict[str, Any]] = []
    taken: list[ProcessorTime] = []
    for workers in (1, 2):
        with standalone(workers) as master, ProcessorTime() as used:
            runs.append(on_spark(bounds, "--master", master, *handover))
        taken.append(used)
        if runs[-1]["digest"] != digest:
            raise SystemExit(f"not the same result: {runs[-1]}, {digest}")
    times = [run["spark_seconds"] for run in runs]
    seconds = [used.seconds(run) for run, used in zip(runs, taken, strict=True)]
    shared = [some["Python workers"] + some["Java of executors"] for some in seconds]
    rows = [
        row("standalone, two workers of one core against one", times[0] / times[1], "x", least=1.5),
        row("processors' seconds that workers share, of two against one", shared[1] / shared[0], "x"),
        row(
            "the same, if each had a core to itself",
            2 * shared[0] / shared[1],
            "x",
        ),
    ]
    reported = []
    for workers, run, used in zip((1, 2), runs, taken, strict=True):
        spent = f"{run['spark_seconds']:.1f} s, of these {run['catch_up_seconds']:.1f} s of catching up"
        reported.append(f"standalone, {workers} of one core: {spent}; {used.cores(run)}")
    return rows, reported


def main() -> None:
    """Run everything and print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--bounds", choices=["large", "huge"], default="huge", help="large: a look that takes two minutes")
    singleton = parser.add_mutually_exclusive_group()
    singleton.add_argument("--no-cluster", action="store_true", help="leave out the standalone clusters")
    singleton.add_argument("--only-cluster", action="store_true", help="only the standalone clusters; some five minutes")
    args = parser.parse_args()
    bounds = HUGE if args.bounds == "huge" else LARGE
    # the smaller search would end in the driver before Spark has started
    handover = ("--handover", "100000") if bounds is LARGE else ()
    load = os.getloadavg()[0]
    two = search("one_search.py", bounds, "--threads", "2")
    rows: list[LINE] = []
    reported: list[str] = []
    if not args.only_cluster:
        rows, reported = local_mode(bounds, handover, two)
    if not args.no_cluster:
        more, lines = two_workers(bounds, handover, two["digest"])
        rows, reported = rows + more, reported + lines
    print(f"{two['distinct']:,} states; {os.cpu_count()} cores, load {load:.1f} at the start; python {platform.python_version()}, ")
    print(f"pyspark {pyspark.__version__}\n\n{table(rows)}\n")
    for line in reported:
        print(f"- {line}")


def local_mode(bounds: dict[str, int], handover: Sequence[str], two: dict[str, Any]) -> tuple[list[LINE], list[str]]:
    """Compare Spark on this machine with the embedded engine; return lines of the table, and what each did."""
    one = search("one_search.py", bounds, "--threads", "1")
    with ProcessorTime() as local:
        spark = on_spark(bounds, "--master", "local[2,4]", *handover)
    small = on_spark(LARGE, "--master", "local[2,4]", "--handover", "20000")
    if spark["digest"] != one["digest"] or spark["distinct"] != two["distinct"]:
        raise SystemExit(f"not the same result: {spark}, {one}")
    rate = spark["distinct"] / spark["search_seconds"]
    warm = spark["spark_states"] / spark["spark_seconds"]
    narrow = job_seconds(small, 0, 100_000)
    rows = [
        ("states a second, local[2,4], session start included", f"{rate:,.0f}", "-", "-"),
        row("the same against the embedded engine, one thread", rate * one["search_seconds"] / one["distinct"], "x", least=0.35),
        row("session up, against one thread", warm * one["search_seconds"] / one["distinct"], "x"),
        row("against two threads", rate * two["search_seconds"] / two["distinct"], "x"),
        row("a narrow level, session up", sum(narrow) / len(narrow), "s", most=0.5),
        row("deduplication a candidate, at 45 to 60 million visited states against 3 to 10", spark["dedup_growth"], "x", most=1.3),
        row("driver's peak memory, larger search", spark["peak_bytes"] / 2**20, "MiB"),
        row("driver's peak memory, 4,093,531 states", small["peak_bytes"] / 2**20, "MiB"),
        row("exchanged a state", spark["exchanged_bytes"] / spark["distinct"], "bytes"),
    ]
    runs = (("one thread", one), ("two threads", two), ("Spark", spark))
    return rows, [*(f"{name}: {run['search_seconds']:.1f} s" for name, run in runs), f"local[2,4]: {local.cores(spark)}"]


if __name__ == "__main__":
    main()
