"""The Spark engine: the search of the embedded engine, spread over machines. The only import of pyspark.

Knows Spark, the state-dir and results; what is done with states is the workers' business (model_check/worker.py), and no
state comes here but those of a trace.

Theory of operation. The narrow levels run in the embedded engine, for a level costs Spark some tenths of a second whatever its
size. From the level on that has `handover` states, a job reads the last committed level, expands it, shuffles the candidates to the
parts they belong to, and commits what is new; several small levels are unrolled in one job. What the driver collects is one
report for each task. Counts, findings and digest are added up from the reports of the tasks whose output counts, never from
accumulators, so that a repeated task counts once.
"""

from __future__ import annotations

import atexit
import contextlib
import dataclasses
import hashlib
import json
import logging
import os
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import time
import zipfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
from pyspark import SparkConf, SparkContext
from pyspark.errors import PySparkException
from pyspark.java_gateway import launch_gateway
from pyspark.sql import DataFrame, SparkSession

import model_check
import spec as spec_package
from model_check import state_dir as store
from model_check.columns import columns_of
from model_check.compile import Program
from model_check.embedded import Search, explain
from model_check.exploration import Budget, Distribution, Exploration, Finding, Progress, quiet
from model_check.fingerprint import DEFAULT_SEED
from model_check.layout import Layout
from model_check.oracle import World
from model_check.state_dir import Damaged, Lock, Rows, Storage
from model_check.worker import DDL, Task
from spec.table import DEADLOCK, TYPE_INVARIANT, Property, Spec, SpecError

NEEDS = {"llvmlite": "0.44", "numpy": "2.0", "pyarrow": "17", "pandas": "2.2"}
"""What the workers need, and from which version on."""
JAVA = 17
"""The oldest Java that Spark runs on."""
KINDS = ("invariant", "step invariant", "reachable")
"""The kinds of properties that this engine judges."""
PART = 2_000_000
"""States of the frontier that one task expands: more tasks find fewer equal candidates, fewer take more memory each."""
SMALL_PART = 16_384
"""Below this a task of its own does not pay."""
UNROLL = ((100_000, 4), (400_000, 2))
"""So many levels run in one job while the frontier is at most so wide."""
POLL = 0.1
"""Seconds between two looks at the budget while a job runs."""
GARBAGE = 1 << 30
"""Bytes of shuffled data after which Java is asked to forget what is not needed any more."""


SCRATCH = "kafka-spec-scratch-"
"""How folders begin in which a driver keeps what it needs while it runs."""


class JobFailed(Exception):  # noqa: N818 - says what happened
    """Spark gave a job up; the finished levels are as they were."""


class Stopped(Exception):  # noqa: N818 - no error
    """The budget is spent."""


def explore(
    spec: Spec,
    bounds: Mapping[str, int],
    distribution: Distribution,
    *,
    properties: Sequence[Property] | None = None,
    threads: int = 1,
    everything: bool = False,
    deadlock: bool = False,
    budget: Budget | None = None,
    progress: Progress = quiet,
    seed: int | None = None,
) -> Exploration:
    """Explore a spec on Spark; `distribution` says where, `model_check.embedded.explore` what the other arguments mean.

    Raises:
        SpecError: the request, the state-dir, Java or a worker is not as needed, or the spec cannot be executed in some state.
    """
    claims = tuple(spec.properties if properties is None else properties)
    result = Exploration(spec, dict(bounds), "spark", threads, claims, deadlock)
    if strange := [f"{claim.name} ({claim.kind})" for claim in claims if claim.kind not in KINDS]:
        result.stopped = (
            f"the Spark engine cannot judge {', '.join(strange)}; --engine embedded can, or name others with --property"
        )
        return result
    if distribution.session is None and "PYSPARK_GATEWAY_PORT" not in os.environ:
        check_java()
    run = Run(result, distribution, everything, budget or Budget(), progress, seed)
    began = time.perf_counter()
    try:
        run.search()
    except Stopped as reason:
        result.stopped = str(reason)
    except JobFailed as error:
        result.stopped = f"{error}; the {result.depth} finished levels are kept, --resume goes on"
    except Damaged as error:
        raise SpecError(f"{error}; remove the folder and begin anew, or mend it from a copy") from None
    except OSError as error:
        result.stopped = f"{distribution.state_dir}: {error.strerror or error}; make room or name another folder, --resume goes on"
    finally:
        run.close()
    result.search_seconds = time.perf_counter() - began
    return result


class Run:
    """A search in progress."""

    def __init__(
        self,
        result: Exploration,
        distribution: Distribution,
        everything: bool,
        budget: Budget,
        progress: Progress,
        seed: int | None,
    ) -> None:
        self.result, self.distribution, self.everything = result, distribution, everything
        self.budget, self.progress, self.seed = budget, progress, seed
        self.began = time.perf_counter()
        self.world = World(result.spec, result.bounds)
        self.layout = Layout(self.world.space, seed)
        result.record_bytes = self.layout.size
        self.lock: Lock | None = None
        self.cluster: Cluster | None = None
        self.last: dict[str, Any] = {}
        """The summary of the last finished level, or what is known of the run."""
        self.before = np.empty(0, np.uint64)

    def close(self) -> None:
        """Let go of Spark and of the state-dir."""
        if self.cluster is not None:
            self.cluster.close()
        if self.lock is not None:
            self.lock.release()

    def search(self) -> None:
        """Search to the end, or to where the budget or a violation ends it."""
        world, result = self.world, self.result
        self.program = Program(world.spec, self.layout, world.actions, result.properties, world.k)
        result.compile_seconds = self.program.seconds
        finished = self.open_state_dir()
        if finished:
            self.last = finished[-1]
        if not finished or (self.last["by"] == "embedded" and 0 < self.last["states"] < self.distribution.handover):
            self.search_embedded(finished)
        else:
            self.recall(self.last["result"])
        while self.goes_on():
            self.check_budget()
            self.search_levels()
        result.complete = not self.last["states"]
        self.remove_unfinished(self.last["level"])

    def goes_on(self) -> bool:
        """Whether there is a frontier to expand, and a reason to."""
        return bool(self.last["states"]) and (self.everything or not self.result.violated)

    def check_budget(self) -> None:
        """Raise Stopped if the budget is spent."""
        if reason := self.budget.exhausted(self.result.distinct):
            raise Stopped(reason)

    # the state-dir

    def open_state_dir(self) -> list[dict[str, Any]]:
        """Take the state-dir, see that it is this run's or empty, and return the summaries of its finished levels."""
        place = self.distribution.state_dir
        self.storage = Storage(place)
        if self.storage.local is not None:
            self.storage.local.mkdir(parents=True, exist_ok=True)
        told = store.unsealed(self.storage, "run.json")
        there = [name for name in self.storage.names() if name not in ("lock", "owner", "scratch")]
        if told is None and there:
            raise SpecError(f"--state-dir {place}: the folder holds {there[0]} and no run; name an empty one")
        if told is not None and not self.distribution.resume:
            raise SpecError(f"--state-dir {place} holds a run already; --resume goes on with it, or name another folder")
        if told is None and self.distribution.resume:
            raise SpecError(f"--resume: --state-dir {place} holds no run to go on with")
        try:
            self.lock = Lock(self.storage)
        except BlockingIOError:
            raise SpecError(f"--state-dir {place}: another run is at work there; wait for it, or name another folder") from None
        if store.unsealed(self.storage, "run.json") != told:
            raise SpecError(f"--state-dir {place}: another run has just begun there; name another folder")
        if (left := self.storage.read("scratch")) is not None and self.storage.local is not None:
            # a driver that was killed could not remove its tables
            folder = Path(left.decode())
            if folder.name.startswith(SCRATCH):
                shutil.rmtree(folder, ignore_errors=True)
        about = self.about()
        if told is None:
            self.storage.write("program.ll", self.program.text.encode())
            self.storage.write("run.json", store.sealed(about))
            self.last = store.unsealed(self.storage, "run.json") or {}
            return []
        if other := [name for name in about if about[name] != told.get(name)]:
            shown = (
                f": {told.get(other[0])!r}, now {about[other[0]]!r}" if other[0] not in ("code", "columns", "first_actions") else ""
            )
            raise SpecError(f"--state-dir {place} is of another run: its {other[0]} differs{shown}; name another folder")
        self.last = told
        return self.verified(store.finished_levels(self.storage))

    def verified(self, finished: list[dict[str, Any]]) -> list[dict[str, Any]]:
        """Return the summaries of finished levels; what is on storage of others is removed."""
        text = self.storage.read("program.ll") or b""
        if hashlib.sha256(text).hexdigest() != self.code_digest:
            raise Damaged(f"{self.storage.place}: program.ll is damaged")
        for level, content in enumerate(finished):
            named = {told["name"] for told in content["files"]}
            there = {name for name, _, _ in store.parts_of(self.storage, level)}
            for name in sorted(there - named):
                self.storage.files.delete_file(name)
            for told in content["files"]:
                store.verify_part(self.storage, told)
        self.remove_unfinished(len(finished) - 1)
        return finished

    def remove_unfinished(self, level: int) -> None:
        """Remove what is on storage of levels beyond the last finished one."""
        for folder in self.storage.names("levels"):
            if int(folder.rpartition("=")[2]) > level:
                self.storage.remove_folder(folder)

    @property
    def code_digest(self) -> str:
        """The digest of the code that the workers run."""
        return hashlib.sha256(self.program.text.encode()).hexdigest()

    def about(self) -> dict[str, Any]:
        """Return what makes two runs the same."""
        return {
            "format": store.FORMAT,
            "model": self.result.spec.name,
            "bounds": self.result.bounds,
            "properties": [claim.name for claim in self.result.properties],
            "deadlock": self.result.deadlock,
            "seed": DEFAULT_SEED if self.seed is None else self.seed,
            "decisions": vars(self.world.k),
            "code": self.code_digest,
            "record_bytes": self.layout.size,
            "rules": [rule.name for rule in self.result.spec.rules],
            "columns": columns_of(self.layout.root),
            "first_actions": self.world.actions.first,
        }

    def commit(self, level: int, files: Sequence[Mapping[str, Any]], by: str, cost: Sequence[Mapping[str, Any]] = ()) -> None:
        """Say that a level is finished; from now on it counts. `cost` is what its tasks say about deduplication."""
        files = sorted((told for told in files if told["rows"]), key=lambda told: told["name"])
        content = {
            "level": level,
            "states": sum(told["rows"] for told in files),
            "files": files,
            "by": by,
            "candidates": sum(told["candidates"] for told in cost),
            "dedup_seconds": round(sum(told["seconds"] for told in cost), 4),
            "previous": self.last["digest"],
            "result": self.remembered(),
        }
        self.storage.write(store.summary(level), sealed := store.sealed(content))
        self.storage.remove_temporary(store.folder_of(level))
        self.last = json.loads(sealed)

    def remembered(self) -> dict[str, Any]:
        """Return the result so far as plain values."""
        result = self.result
        findings = {name: [found.start, list(found.actions)] for name, found in result.findings.items()}
        counters = {name: dict(getattr(result, name)) for name in ("fired", "new", "bounded")}
        numbers = {"levels": result.levels, "edges": f"{result.digest:016x}", "shuffled": result.shuffled_bytes}
        return {**counters, **numbers, "findings": findings}

    def recall(self, plain: Mapping[str, Any]) -> None:
        """Take up the result that was remembered."""
        result = self.result
        for name in ("fired", "new", "bounded"):
            getattr(result, name).update(plain[name])
        result.levels, result.digest, result.shuffled_bytes = list(plain["levels"]), int(plain["edges"], 16), plain["shuffled"]
        result.findings = {name: Finding(start, tuple(actions)) for name, (start, actions) in plain["findings"].items()}

    # the narrow levels

    def search_embedded(self, finished: Sequence[Mapping[str, Any]]) -> None:
        """Search in the embedded engine until a level is wide enough, and commit each level.

        Levels that stand already are searched again, which is quick, and must come out the same.
        """
        result = self.result
        search = Search(self.world, result, self.seed, self.budget)
        self.last = store.unsealed(self.storage, "run.json") or {}
        try:
            search.begin()
            self.commit_embedded(search, finished)
            while self.goes_on() and search.width < self.distribution.handover:
                self.check_budget()
                level = len(search.history) - 1
                if reason := search.expand_level():
                    raise Stopped(reason)
                search.count_level(level)
                search.end_level()
                self.commit_embedded(search, finished)
                self.progress(result, time.perf_counter() - self.began)
        finally:
            search.close()

    def commit_embedded(self, search: Search, finished: Sequence[Mapping[str, Any]]) -> None:
        """Commit the frontier of the embedded engine."""
        level = len(search.history) - 1
        files: list[dict[str, Any]] = []
        if search.width:
            marks = search.marks[: search.width]
            how = search.history[-1]
            parents = self.before[how.parents] if level else how.parents.astype(np.uint64)
            rows = Rows(marks, parents, how.actions, search.states[: search.width])
            name = store.part_name(level, 0, 1)
            told = finished[level]["files"] if level < len(finished) else None
            files = told or [store.write_part(self.storage, name, rows)]
            if (files[0]["rows"], files[0]["sum"]) != (len(marks), f"{int(marks.sum(dtype=np.uint64)):016x}"):
                raise Damaged(f"{self.storage.place}: {name} has other states than the search")
            self.before = marks.copy()
        else:
            level += 1
        if level < len(finished):
            self.last = dict(finished[level])
        else:
            self.commit(level, files, "embedded")

    # the wide levels

    def search_levels(self) -> None:
        """Search one or more levels in one Spark job, and commit them."""
        if self.cluster is None:
            self.cluster = Cluster(self.distribution.master, self.distribution.session)
            self.cluster.start(self.task())
            self.storage.write("scratch", str(self.cluster.folder).encode())
        base, width = self.last["level"], self.last["states"]
        levels = next((count for most, count in UNROLL if width <= most), 1)
        before = self.result.levels[-2] if len(self.result.levels) > 1 else width
        growth = min(8.0, max(0.125, width / before))
        parts = [self.parts(width * growth**number) for number in range(levels + 1)]
        known = [0 if claim.name in self.result.findings else -1 for claim in self.program.states]
        reports = self.cluster.run(base, parts, known, self.job_budget)
        for level in range(base, base + levels):
            self.count_edges(level, [r for r in reports if r["kind"] == "expanded" and r["level"] == level])
            self.end_level(level + 1, [r for r in reports if r["kind"] == "level" and r["level"] == level + 1])
            self.progress(self.result, time.perf_counter() - self.began)
            if not self.goes_on() or self.budget.exhausted(self.result.distinct):
                break

    def job_budget(self) -> str:
        """Return why a running job should be given up, or ""."""
        return self.budget.exhausted()

    def parts(self, width: float) -> int:
        """Return into how many parts a level is split: a power of two."""
        assert self.cluster is not None and self.cluster.task is not None
        wanted = max(min(self.cluster.cores, width / SMALL_PART), width / PART, 1)
        return min(self.cluster.task.shards, 1 << (int(np.ceil(wanted)) - 1).bit_length())

    def task(self) -> Task:
        """Return what the tasks are told."""
        assert self.lock is not None
        place = str(self.storage.local) if self.storage.local is not None else self.storage.place
        return Task(self.lock.owner, self.lock.owner, place, None, 0, self.program.shape, self.code_digest)

    def count_edges(self, level: int, reports: Sequence[Mapping[str, Any]]) -> None:
        """Add up what was counted on the edges out of a level, and note what was found there."""
        result, program = self.result, self.program
        faults = sorted((int(r["fault"][0], 16), *r["fault"][1:]) for r in reports if r["fault"])
        for mark, code, action in faults:
            fault, (rule, _) = program.fault_of(code), self.world.actions.decode(action)
            self.explain(fault.message, fault.place, f"rule {rule.name}", level, mark)
        result.digest = (result.digest + sum(r["digest"] for r in reports)) & store.TOP
        result.shuffled_bytes += sum(r["sent"] for r in reports)
        for index, rule in enumerate(self.world.spec.rules):
            result.fired[rule.name] += sum(r["fired"][index] for r in reports)
            result.bounded[rule.name] += sum(r["bounded"][index] for r in reports)
        result.bounded = +result.bounded
        places: list[tuple[str, Callable[[Mapping[str, Any]], Any]]] = [(TYPE_INVARIANT, lambda r: r["untyped"])]
        if result.deadlock:
            places.insert(0, (DEADLOCK, lambda r: r["stuck"]))
        places += [(claim.name, lambda r, n=n: r["steps"][n]) for n, claim in enumerate(program.steps)]  # type: ignore[misc]
        for name, place in places:
            hits = [(int(hit[0], 16), hit[1]) for r in reports if (hit := place(r)) is not None]
            if hits and name not in result.findings:
                mark, action = min(hits)
                self.found(name, level, mark, *([] if name == DEADLOCK else [action]))

    def end_level(self, level: int, reports: Sequence[Mapping[str, Any]]) -> None:
        """Commit a level that the tasks have written, judge it by what they say."""
        result = self.result
        files = [r["file"] for r in reports]
        total = sum(told["rows"] for told in files)
        if total:
            result.levels.append(total)
            counts = np.sum([r["actions"] for r in reports], axis=0)
            first = self.world.actions.first
            for index, rule in enumerate(self.world.spec.rules):
                result.new[rule.name] += int(counts[first[index] : first[index + 1]].sum())
            for mark, code in sorted((int(r["fault"][0], 16), r["fault"][1]) for r in reports if r["fault"]):
                fault = self.program.fault_of(code)
                self.explain(fault.message, fault.place, "a property", level, mark)
            for number, claim in enumerate(self.program.states):
                hits = [int(r["firsts"][number], 16) for r in reports if r["firsts"][number]]
                if hits and claim.name not in result.findings:
                    self.found(claim.name, level, min(hits))
        self.commit(level, files, "spark", [r["cost"] for r in reports])

    # findings

    def found(self, claim: str, level: int, mark: int, *last: int) -> None:
        """Note the shortest way to a state, and on by the last action."""
        start, actions = store.way_to(self.storage, level, mark)
        self.result.findings[claim] = Finding(start, (*actions, *last))

    def explain(self, message: str, place: str, what: str, level: int, mark: int) -> None:
        """Raise what the oracle says about the state at which compiled code met a fault."""
        explain(self.world, self.program, f"{place}: {what}: {message}", place, *store.way_to(self.storage, level, mark))


# ---------------------------------------------------------------------------------------------------------------------
# Spark


class Cluster:
    """A Spark session, and how jobs of this package are run in it."""

    def __init__(self, master: str, given: SparkSession | None = None) -> None:
        self.own = given is None and "PYSPARK_GATEWAY_PORT" not in os.environ
        self.folder = Path(tempfile.mkdtemp(prefix=SCRATCH))
        self.task: Task | None = None
        self.garbage = 0
        try:
            self.spark = given or session(master, self.folder)
            try:
                self.context = self.spark.sparkContext
            except PySparkException:
                raise SpecError("this engine needs a session of its own Java process; Spark Connect has none") from None
            self.settings = {
                "spark.sql.adaptive.enabled": "false",  # parts are counted, not guessed
                "spark.sql.execution.arrow.maxRecordsPerBatch": "64",  # rows are blobs
                "spark.sql.shuffle.orderIndependentChecksum.enabled": "false",  # a task that is repeated sends the same
            }
            self.before = {name: self.spark.conf.get(name, None) for name in self.settings}
            self.cores = int(self.context.defaultParallelism)
            self.local = str(self.context.master).startswith("local")
            send_package(self.context)
            self.expected = expected()
            self.everywhere("")
        except BaseException:
            self.close()
            raise

    def everywhere(self, name: str, *arguments: Any) -> None:
        """Run a function of model_check.worker in as many tasks as are likely to meet every executor."""
        tasks = self.spark.range(0, 4 * self.cores, 1, 4 * self.cores)
        self.collect(tasks.mapInArrow(guarded(self.expected, name, arguments), DDL), lambda: "")

    def start(self, task: Task) -> None:
        """Begin with the jobs of a search."""
        shards = max(8, 1 << (4 * self.cores - 1).bit_length())
        self.task = dataclasses.replace(task, shards=min(1024, shards), scratch=str(self.folder) if self.local else None)

    def close(self) -> None:
        """Remove the tables, stop the session if it is ours, leave it as it was if not."""
        with contextlib.suppress(Exception):
            if self.task is not None and not self.local:
                self.everywhere("forget", dataclasses.asdict(self.task))
        with contextlib.suppress(Exception):
            if self.own:
                self.spark.stop()
            for name, value in self.before.items() if not self.own else ():
                self.spark.conf.set(name, value) if value is not None else self.spark.conf.unset(name)
        shutil.rmtree(self.folder, ignore_errors=True)

    def run(self, base: int, parts: Sequence[int], known: Sequence[int], stop: Callable[[], str]) -> list[dict[str, Any]]:
        """Run a job that expands the level `base` and those after it; return the reports of its tasks."""
        assert self.task is not None
        plain = dataclasses.asdict(self.task)
        for name, value in self.settings.items():
            self.spark.conf.set(name, value)
        frame = self.spark.range(0, parts[0], 1, parts[0])
        frame = frame.mapInArrow(guarded(self.expected, "source", (plain, base, parts[0], parts[1])), DDL)
        for number, count in enumerate(parts[1:], 1):
            following = parts[number + 1] if number + 1 < len(parts) else 0
            arguments = (plain, base + number, count, following, list(known))
            frame = frame.repartitionById(count, "target").mapInArrow(guarded(self.expected, "stage", arguments), DDL)
        reports = self.collect(frame.select("report"), stop)
        self.garbage += sum(report.get("sent", 0) for report in reports)
        if self.garbage > GARBAGE:
            # shuffled data is removed when Java collects what stood for it, and a small heap does that too rarely
            self.context._jvm.System.gc()  # type: ignore[union-attr]
            self.garbage = 0
        return reports

    def collect(self, frame: DataFrame, stop: Callable[[], str]) -> list[dict[str, Any]]:
        """Return the reports of a job; cancel it when there is a reason to stop.

        Raises:
            Stopped: there was.
            JobFailed: Spark gave up.
            SpecError: a worker is not as needed.
        """
        outcome: list[Any] = []
        tag = f"kafka-spec-{id(self)}"

        def job() -> None:
            self.spark.addTag(tag)
            try:
                outcome.append([json.loads(row["report"]) for row in frame.collect()])
            except BaseException as error:
                outcome.append(error)

        thread = threading.Thread(target=job, daemon=True)
        thread.start()
        reason = ""
        while thread.is_alive():
            thread.join(POLL)
            if not reason and (reason := stop()):
                self.spark.interruptTag(tag)
        if isinstance(outcome[0], list):
            return outcome[0]
        if reason:
            raise Stopped(reason)
        if not isinstance(outcome[0], Exception):
            raise outcome[0]
        raise told(outcome[0]) from outcome[0]


def told(error: Exception) -> Exception:
    """Return what an error of a job means to a reader."""
    text = str(error)
    if match := re.search(r"NoRoom: (.*)", text):
        return JobFailed(match[1].strip())
    if match := re.search(r"(?:Refused|RuntimeError: refused): (.*)", text):
        return SpecError(match[1].strip())
    if match := re.search(r"Damaged: (.*)", text):
        return Damaged(match[1].strip())
    if match := re.search(r"(?:OS|Permission|FileNotFound|NotADirectory)Error: (?:\[Errno (\d+)\])?(.*)", text):
        return OSError(int(match[1] or 0), match[2].strip())
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return JobFailed(f"Spark gave the job up: {lines[0] if lines else type(error).__name__}")


def guarded(expected: Mapping[str, Any], name: str, arguments: tuple[Any, ...]) -> Callable[[Iterator[Any]], Iterator[Any]]:
    """Return a function of model_check.worker for the workers, which runs only where everything is as here.

    It travels by value and takes plain values, so that a worker with another version of the package can say so.
    """
    digest = digest_function()

    def run(batches: Any) -> Any:
        import importlib
        import importlib.metadata
        import sys

        if sys.__dict__.get("_kafka_spec") != expected["package"]:
            for module, least in expected["versions"].items():
                try:
                    there = importlib.metadata.version(module)
                except ImportError:
                    raise RuntimeError(f"refused: a worker has no {module}; install {module}>={least} there") from None
                if [int(n) for n in there.split(".")[:2] if n.isdigit()] < [int(n) for n in least.split(".")]:
                    raise RuntimeError(f"refused: a worker has {module} {there}; install {module}>={least} there")
            if digest() != expected["package"]:
                place = importlib.import_module("model_check").__file__
                raise RuntimeError(
                    f"refused: a worker has another version of kafka-spec at {place}; "
                    f"it must be {expected['kafka-spec']} as here, or none"
                )
            sys.__dict__["_kafka_spec"] = expected["package"]
        if not name:
            return iter([batch for batch in batches if batch is None])  # a worker that leaves its input is not used again
        return getattr(importlib.import_module("model_check.worker"), name)(*arguments, batches)

    return run


def digest_function() -> Callable[[], str]:
    """Return the function that makes the digest of the package's sources, as one that travels by value."""

    def digest() -> str:
        import hashlib
        import importlib
        import importlib.resources

        found = hashlib.sha256()
        for package in ("model_check", "spec"):
            importlib.import_module(package)
            files = [file for file in importlib.resources.files(package).iterdir() if file.name.endswith(".py")]
            for file in sorted(files, key=lambda file: file.name):
                found.update(f"{package}/{file.name}\n".encode() + file.read_bytes())
        return found.hexdigest()

    return digest


def package_digest() -> str:
    """Return the digest of this package's sources."""
    return digest_function()()


def expected() -> dict[str, Any]:
    """Return what every worker must have."""
    return {"package": package_digest(), "versions": NEEDS, "kafka-spec": version("kafka-spec")}


def send_package(context: SparkContext) -> None:
    """Send this package to the executors of a session, those that come later included: the file stays till this process ends."""
    application = str(context.applicationId)
    if application in _sent:
        return
    folder = Path(tempfile.mkdtemp(prefix="kafka-spec-package-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    file = folder / f"kafka_spec_{package_digest()[:16]}.zip"
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for package in (spec_package, model_check):
            root = Path(str(package.__file__)).parent
            for path in sorted(root.rglob("*.py")):
                archive.write(path, f"{root.name}/{path.relative_to(root)}")
    context.addPyFile(str(file))
    _sent.add(application)


_sent: set[str] = set()
"""The applications whose executors have this package."""


def session(master: str, folder: Path) -> SparkSession:
    """Return a new session whose log goes to a file; or under spark-submit the one that is there.

    Raises:
        SpecError: Java is missing or too old, or the master cannot be reached.
    """
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    if "PYSPARK_GATEWAY_PORT" in os.environ:
        submitted = SparkSession.builder.appName("kafka-spec").getOrCreate()
        submitted.sparkContext.setLogLevel("WARN")
        return submitted
    check_java()
    for name in ("SQLQueryContextLogger", "DataFrameQueryContextLogger"):
        logging.getLogger(name).setLevel(logging.CRITICAL + 1)  # what goes wrong is told once, and shorter
    if match := re.fullmatch(r"local\[(\d+|\*)\]", master):
        master = f"local[{match[1]},4]"  # plain local[N] never repeats a task
    settings = folder / "log4j2.properties"
    settings.write_text(
        "rootLogger.level = warn\nrootLogger.appenderRef.file.ref = file\nappender.file.type = File\nappender.file.name = file\n"
        f"appender.file.fileName = {folder}/spark.log\nappender.file.layout.type = PatternLayout\n"
        "appender.file.layout.pattern = %d{HH:mm:ss} %p %c{1}: %m%n%ex\n"
    )
    conf = SparkConf().setAppName("kafka-spec").setMaster(master)
    conf.set("spark.ui.enabled", "false").set("spark.ui.showConsoleProgress", "false")
    conf.set("spark.driver.extraJavaOptions", f"-Dlog4j2.configurationFile={settings} -XX:+UseParallelGC")
    conf.set("spark.executor.extraJavaOptions", "-XX:+UseParallelGC").set("spark.shuffle.checksum.enabled", "false")
    conf.set("spark.driver.memory", os.environ.get("KAFKA_SPEC_DRIVER_MEMORY", "2g"))
    conf.set("spark.shuffle.compress", "false")
    if master.startswith("local") or re.match(r"spark://(127\.0\.0\.1|localhost)\b", master):
        conf.set("spark.driver.host", "127.0.0.1").set("spark.driver.bindAddress", "127.0.0.1")
    errors = (folder / "spark.err").open("w+")
    try:
        gateway = launch_gateway(conf, {"stdout": errors, "stderr": errors})  # type: ignore[no-untyped-call]
        return SparkSession(SparkContext(gateway=gateway, conf=conf))
    except Exception as error:
        errors.seek(0)
        lines = [line.strip() for line in [*errors.read().splitlines(), *str(error).splitlines()] if line.strip()]
        why = next((line for line in lines if "rror" in line or "xception" in line), lines[-1] if lines else str(error))
        raise SpecError(f"--master {master}: Spark cannot be started: {why}") from None
    finally:
        errors.close()


def check_java() -> None:
    """Raise SpecError with the cure if there is no Java that Spark runs on."""
    home = os.environ.get("JAVA_HOME")
    java = str(Path(home) / "bin" / "java") if home else shutil.which("java")
    cure = f"install Java {JAVA} or newer (on Debian: apt-get install openjdk-{JAVA}-jre-headless) and set JAVA_HOME to it"
    if java is None or not Path(java).exists():
        raise SpecError(f"--engine spark needs Java, and there is none{f' at {java}' if java else ''}; {cure}")
    told = subprocess.run([java, "-version"], capture_output=True, text=True, check=False).stderr
    match = re.search(r'version "(?:1\.)?(\d+)', told)
    if match is None or int(match[1]) < JAVA:
        raise SpecError(
            f"--engine spark needs Java {JAVA} or newer, and {java} is {match[1] if match else 'none that answers'}; {cure}"
        )


# ---------------------------------------------------------------------------------------------------------------------
# The states as a table


def states_of(spark: SparkSession, place: str) -> DataFrame:
    """Return the states of the finished levels in a state-dir as a table with named columns, one row each.

    `level`, `fingerprint` and `parent` (as traces print them; null for an initial state), the `rule` that first led there, then a
    column for each number of the state, `replicas_0_hw` for replicas[0].hw. Items beyond the length of a sequence are null.

    Raises:
        SpecError: there is no run.
        Damaged: the state-dir is.
    """
    storage = Storage(place)
    about = store.run_of(storage)
    send_package(spark.sparkContext)
    base = str(storage.local) if storage.local is not None else place
    files = [f"{base}/{told['name']}" for content in store.finished_levels(storage) for told in content["files"]]
    if not files:
        raise SpecError(f"{place} holds no finished level yet")
    frame = spark.read.option("basePath", f"{base}/levels").parquet(*files)
    plan = {"columns": about["columns"], "rules": about["rules"], "first": about["first_actions"]}
    named = ", ".join(f"`{c['name']}` {'string' if c['texts'] else 'bigint'}" for c in about["columns"])
    ddl = f"level int, fingerprint string, parent string, rule string, {named}"
    frame = frame.select("level", "fingerprint", "parent", "action", "record")
    return frame.mapInArrow(guarded(expected(), "named", (plan,)), ddl)


def query(
    place: str, where: str | None, limit: int, master: str, given: SparkSession | None = None
) -> tuple[int, list[dict[str, Any]]]:
    """Return how many states of a state-dir meet a condition, and the first of them by level and fingerprint.

    Raises:
        SpecError: the condition cannot be read, or there is no run.
    """
    cluster = Cluster(master, given)
    try:
        frame = states_of(cluster.spark, place)
        frame = frame.where(where) if where else frame
        return frame.count(), [row.asDict() for row in frame.orderBy("level", "fingerprint").limit(limit).collect()]
    except Damaged as error:
        raise SpecError(str(error)) from None
    except PySparkException as error:
        lines = str(error).strip().splitlines()
        raise SpecError(f"--where {where}: {lines[0] if lines else type(error).__name__}") from None
    finally:
        cluster.close()
