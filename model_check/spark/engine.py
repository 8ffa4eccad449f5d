"""The Spark engine: the search of the embedded engine, spread over machines.

This is the driver. It searches the narrow levels, plans the jobs for the wide ones, and adds up what their tasks report. Workers
expand and deduplicate states (worker.py), cluster.py runs the jobs, folder.py has the levels. The driver holds only the
states of narrow levels and of a trace.

Theory of operation. The narrow levels run in the embedded engine, since a level of any size costs Spark some tenths of a second.
Shortly before a level has `handover` states, a session starts in parallel to the search. Spark takes over when the session is up,
or at the latest when the driver would have to hold too many states. A job keeps the new states among the candidates for a level,
each part in one task, which then expands them and writes candidates for the next level (exchange.py); a first job expands the last
level of the driver. The driver sums counts, findings and digest over the reports of the tasks whose output is used, never with
accumulators, so that a repeated task counts once. What a level's expansion reports counts with the next level.
"""

from __future__ import annotations

import dataclasses
import os
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from kafka_spec.model_check.budget import Budget, Stopped
from kafka_spec.model_check.code.columns import columns_of
from kafka_spec.model_check.code.program import Program
from kafka_spec.model_check.exploration import Distribution, Exploration, Finding, Progress, check_sums, quiet
from kafka_spec.model_check.interpreter.interpreter import Interpreter
from kafka_spec.model_check.interpreter.symmetry_check import refuse_properties
from kafka_spec.model_check.llvm.machine_code import Tier, digest_of
from kafka_spec.model_check.lowering.packing import codec_text, packed_bytes
from kafka_spec.model_check.record.layout import Layout
from kafka_spec.model_check.search.embedded import Search
from kafka_spec.model_check.search.path_properties import PathProperties
from kafka_spec.model_check.search.renamings import SOME, Renamings
from kafka_spec.model_check.search.tally import add_up, judge_steps
from kafka_spec.model_check.spark import exchange, worker
from kafka_spec.model_check.spark import paths as paths_on_spark
from kafka_spec.model_check.spark import state_dir as store
from kafka_spec.model_check.spark.cluster import SparkCluster, check_java
from kafka_spec.model_check.spark.failures import JobFailed
from kafka_spec.model_check.spark.folder import RunFolder
from kafka_spec.model_check.spark.order import Files
from kafka_spec.model_check.spark.state_dir import Rows, Storage
from kafka_spec.model_check.spark.task import Task
from kafka_spec.model_check.store.digest_json import Damaged
from kafka_spec.model_check.store.found import recall
from kafka_spec.model_check.store.search_identity import described
from kafka_spec.model_check.traces.faults import explain
from kafka_spec.model_check.within import limited
from kafka_spec.spec.vocabulary.table import DEADLOCK, TYPE_INVARIANT, Property, Question, Spec, SpecError

PART_BYTES = 256 << 20
"""Bytes of the states that one task expands: smaller tasks find fewer equal candidates, larger ones take more memory each."""
STEEP = 4.0
"""The largest expected ratio of the widths of a level and the one before it."""


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
    """Explore a spec on Spark, as `distribution` says; `model_check.embedded.explore` documents the other arguments.

    Raises:
        SpecError: the request, the state-dir, Java or a worker is unfit, or the spec cannot be executed in some state.
    """
    if spec.view:
        raise SpecError(f"{spec.name}: the Spark engine keeps no particular state of those with one view; use --engine embedded")
    refuse_properties(spec, claims := spec.claims_at(bounds, properties))
    result = Exploration(spec, dict(bounds), "spark", threads, claims, deadlock)
    if distribution.session is None and "PYSPARK_GATEWAY_PORT" not in os.environ:
        check_java()
    run = Run(result, distribution, everything, budget or Budget(), progress, seed)
    began = time.perf_counter()
    try:
        with limited(run.budget):
            run.search()
    except Stopped as reason:
        result.stopped = str(reason)
    except JobFailed as error:
        result.stopped = f"{error}; the {result.depth} finished levels are kept; --resume continues"
    except Damaged as error:
        raise SpecError(f"{error}; remove the folder and start again, or restore it from a copy") from None
    except OSError as error:
        result.stopped = f"{distribution.state_dir}: {error.strerror or error}; free space or name another; --resume continues"
    finally:
        run.close()
    result.search_seconds = time.perf_counter() - began
    check_sums(result)
    return result


@dataclass(frozen=True)
class Expanded:
    """A level whose candidates for the next one wait on storage."""

    level: int
    firsts: Sequence[int]
    """For each task that found some, the row (order.py) in the level of the first state that it expanded."""
    next_parts: int
    reports: Sequence[Mapping[str, Any]]
    """What its tasks reported of the edges out of it."""


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
        self.world = Interpreter(result.spec, result.bounds)
        self.layout = Layout(self.world.space, seed)
        result.record_bytes = self.layout.size
        self.folder = RunFolder(distribution.state_dir, distribution.resume)
        self.cluster: SparkCluster | None = None
        self.before = np.empty(0, np.uint64)
        self.expanded: Expanded | None = None

    def close(self) -> None:
        """Stop Spark and release the state-dir."""
        if self.cluster is not None:
            self.cluster.close()
        self.folder.close()

    @property
    def storage(self) -> Storage:
        """The storage of the levels."""
        return self.folder.storage

    @property
    def last(self) -> Mapping[str, Any]:
        """The summary of the last finished level, or the description of the run before the first."""
        return self.folder.last

    def search(self) -> None:
        """Search to the end, or until the budget or a violation ends the search."""
        world, result = self.world, self.result
        self.program = Program(world.spec, self.layout, world.actions, result.properties, world.k, tier=Tier.QUICK)
        self.renamings = Renamings.of(world, self.program, self.layout)
        result.compile_seconds = self.program.seconds
        texts = {"program.ll": self.program.text, "codec.ll": codec_text(self.layout)}
        finished = self.folder.open(self.about(), texts, self.check_budget)
        if not finished or (self.last["by"] == "embedded" and 0 < self.last["states"] < self.distribution.handover):
            self.search_embedded(finished)
        else:
            recall(result, self.last["result"])
            result.exchanged_bytes = self.last["exchanged"]
        while self.goes_on():
            self.check_budget()
            self.search_level()
        self.folder.remove_unfinished(self.last["level"])
        check_sums(result, sum(content["states"] for content in store.finished_levels(self.storage)))
        if not self.last["states"]:
            self.judge_paths()
        result.ended(not self.last["states"])

    def judge_paths(self) -> None:
        """Judge the properties about paths on the finished levels."""
        paths = PathProperties(self.program, self.world.actions)
        if not paths.claims:
            return
        self.storage.remove_folder(paths_on_spark.FOLDER)
        pieces = paths_on_spark.pieces(self.storage)
        kept = [True] * len(paths.protocol) if paths.leading else paths.protocol.tolist()
        arguments = [dataclasses.astuple(piece) for piece in pieces], kept
        if self.cluster is None:
            reports = list(worker.paths(dataclasses.asdict(self.task()), *arguments, range(len(pieces))))
        else:
            self.cluster.wait(self.job_budget)
            reports = self.cluster.parallel("paths", arguments, len(pieces), self.job_budget)
        reported = [(pieces[report["number"]], report["digest"]) for report in sorted(reports, key=lambda report: report["number"])]
        actions = self.program.shape.actions
        paths_on_spark.record(paths, self.storage, reported, actions, self.check_budget)

        def exhausted(planned: int) -> str:
            return self.budget.exhausted(planned_bytes=planned)

        def found(claim: str, level: int, index: int) -> None:
            self.found(claim, level, paths_on_spark.mark_at(self.storage, level, index, actions))

        if reason := paths.judge(self.result, exhausted, found):
            raise Stopped(reason)
        self.storage.remove_folder(paths_on_spark.FOLDER)

    def goes_on(self) -> bool:
        """Whether there is a frontier, and the search should expand it."""
        return bool(self.last["states"]) and (self.everything or not self.result.violated)

    def check_budget(self) -> None:
        """Raise Stopped if the budget is spent."""
        if reason := self.budget.exhausted(self.result.distinct):
            raise Stopped(reason)

    @property
    def code_digest(self) -> str:
        """The digest of the code that the workers run."""
        return self.program.module.digest.hex()

    def about(self) -> dict[str, Any]:
        """Return the description of the run; two runs with equal descriptions are the same."""
        code_of_records = digest_of(codec_text(self.layout))
        return {
            "format": store.FORMAT,
            **described(self.world, self.result, self.layout, self.program.module.digest, code_of_records),
            "record_bytes": self.layout.size,
            "columns": columns_of(self.layout.root),
        }

    # the narrow levels

    def search_embedded(self, finished: Sequence[Mapping[str, Any]]) -> None:
        """Search in the embedded engine until a level is wide enough for Spark, and commit each level.

        Levels that are already finished are searched again, which is quick, and must give the same result.
        """
        result = self.result
        search = Search(self.world, result, self.seed, self.budget)
        self.folder.begin_again()
        try:
            search.begin()
            self.commit_embedded(search, finished)
            while self.goes_on() and not self.taken_over(search.width, len(search.history) < len(finished)):
                self.check_budget()
                if reason := search.expand_level():
                    raise Stopped(reason)
                judge_steps(search, len(search.history) - 1)
                search.end_level()
                add_up(search)
                search.switch_tier()
                self.commit_embedded(search, finished)
                self.progress(result, time.perf_counter() - self.began)
        finally:
            search.close()

    def taken_over(self, width: int, again: bool) -> bool:
        """Whether Spark takes over at a level; start Spark if it soon will. `again`: the next level is already finished."""
        reported = self.distribution
        before = self.result.levels[-2] if len(self.result.levels) > 1 else width
        soon = width * min(STEEP, max(1.0, width / before)) ** 2
        if self.cluster is None and soon >= reported.handover:
            self.start_cluster()
        if again or width < reported.handover:
            return False
        assert self.cluster is not None
        if self.cluster.up or width >= reported.latest or width * self.layout.size >= PART_BYTES:
            self.cluster.wait(self.job_budget)
            return True
        return False

    def commit_embedded(self, search: Search, finished: Sequence[Mapping[str, Any]]) -> None:
        """Commit the frontier of the embedded engine."""
        level = len(search.history) - 1
        files: list[dict[str, Any]] = []
        if search.width:
            states, marks = search.frontier.read(0, search.width)
            how = search.history[-1]
            assert how is not None
            parents = self.before[how.parents] if level else how.parents.astype(np.uint64)
            rows = Rows(marks, how.parents.astype(np.int64), parents, how.actions, states)
            name = store.part_name(level, 0, 1)
            reported = finished[level]["files"] if level < len(finished) else None
            files = reported or [store.write_part(self.storage, name, rows)]
            if (files[0]["rows"], files[0]["sum"]) != (len(marks), f"{int(marks.sum(dtype=np.uint64)):016x}"):
                raise Damaged(f"{self.storage.place}: {name} has other states than the search")
            self.before = marks.copy()
        else:
            level += 1
        if level < len(finished):
            self.folder.last = dict(finished[level])
        else:
            self.folder.commit(level, files, "embedded", self.result)

    def search_level(self) -> None:
        """Search the next level in a Spark job, and commit it. The job also expands it."""
        if self.cluster is None:
            self.start_cluster()
        assert self.cluster is not None
        self.cluster.wait(self.job_budget)
        self.before = np.empty(0, np.uint64)
        base, width = self.last["level"], self.last["states"]
        growth = min(8.0, max(0.125, width / (self.result.levels[-2] if len(self.result.levels) > 1 else width)))
        before = [(reported["name"], reported["rows"]) for reported in self.last["files"]]
        if self.expanded is None:
            pieces, next_parts = pieces_of(before, self.parts(width)), self.parts(width * growth)
            reports = self.cluster.run("source", len(pieces), (base, pieces, next_parts), self.job_budget)
            firsts = np.cumsum([0, *(end - begin for _, begin, end in pieces)])[:-1].tolist()
            self.expanded = Expanded(base, firsts, next_parts, reports)
        level, firsts, parts = base + 1, self.expanded.firsts, self.expanded.next_parts
        next_parts = self.parts(width * growth**2)
        decided = [claim.name in self.result.findings for claim in self.program.plan.states]
        known = decided if self.world.spec.checks_stored_states else None
        compared = -(-SOME // parts) if self.renamings is not None else 0
        reports = self.cluster.run("stage", parts, (level, firsts, before, parts, next_parts, known, compared), self.job_budget)
        self.count_edges(base, self.expanded.reports)
        self.end_level(level, [report for report in reports if report["kind"] == "level"])
        self.storage.remove_folder(exchange.folder_of(level))
        rows = {reported["name"]: reported["rows"] for reported in self.last["files"]}
        counts = [rows.get(store.part_name(level, part, parts), 0) for part in range(parts)]
        firsts = np.cumsum([0, *counts])[:-1].tolist()
        self.expanded = Expanded(level, firsts, next_parts, [report for report in reports if report["kind"] == "expanded"])
        self.progress(self.result, time.perf_counter() - self.began)

    def start_cluster(self) -> None:
        """Start Spark in the background; generate the code of its tasks first, so that those on this machine find it."""
        if self.program.loaded.tier < Tier.FAST:
            began = time.perf_counter()
            self.program.load()
            self.result.compile_seconds += time.perf_counter() - began
        self.cluster = SparkCluster(self.distribution.master, self.distribution.session, self.task())
        self.storage.write("scratch", str(self.cluster.folder).encode())

    def job_budget(self) -> str:
        """Return the reason to cancel a running job, or ""."""
        return self.budget.exhausted()

    def parts(self, width: float) -> int:
        """Return the number of parts of a level: a power of two; one for each core also if it is narrow, where the tables are."""
        assert self.cluster is not None and self.cluster.task is not None
        wanted = max(self.cluster.cores, width * self.layout.size / PART_BYTES)
        return min(self.cluster.task.shards, 1 << (int(np.ceil(wanted)) - 1).bit_length())

    def task(self) -> Task:
        """Return the description of the run for its tasks."""
        owner = self.folder.owner
        place = str(self.storage.local) if self.storage.local is not None else self.storage.place
        packed, tier = packed_bytes(self.layout), self.program.loaded.tier
        return Task(owner, owner, place, None, 0, self.program.shape, packed, self.code_digest, tier)

    def count_edges(self, level: int, reports: Sequence[Mapping[str, Any]]) -> None:
        """Add up the counts of the edges out of a level, and record the findings on them."""
        result, program = self.result, self.program
        for _, mark, code, action in sorted(r["fault"] for r in reports if r["fault"]):
            fault, (rule, _) = program.fault_of(code), self.world.actions.decode(action)
            self.explain(fault.message, fault.place, f"rule {rule.name}", level, mark)
        result.digest = (result.digest + sum(r["digest"] for r in reports)) & store.TOP
        result.exchanged_bytes += sum(r["sent"] for r in reports)
        for index, rule in enumerate(self.world.spec.rules):
            result.fired[rule.name] += sum(r["fired"][index] for r in reports)
        cuts = np.sum([r["cut"] for r in reports], axis=0).reshape(len(program.plan.rules), len(program.plan.bound_names))
        for index, cut in zip(*(places.tolist() for places in np.nonzero(cuts)), strict=True):
            result.cut_by[program.plan.rules[index].name, program.plan.bound_names[cut]] += int(cuts[index, cut])
        self.count_tests(program.plan.steps, program.plan.step_tests, reports)
        places: list[tuple[str, Callable[[Mapping[str, Any]], Any]]] = [(TYPE_INVARIANT, lambda r: r["untyped"])]
        if result.deadlock:
            places.insert(0, (DEADLOCK, lambda r: r["stuck"]))
        places += [(claim.name, lambda r, n=n: r["steps"][n]) for n, claim in enumerate(program.plan.steps)]  # type: ignore[misc]
        for name, place in places:
            hits = [hit for r in reports if (hit := place(r)) is not None]
            if hits and name not in result.findings:
                _, mark, action = min(hits)
                self.found(name, level, mark, *([] if name == DEADLOCK else [action]))

    def count_tests(
        self, claims: Sequence[Property], antecedents: Sequence[tuple[Question, ...]], reports: Sequence[Mapping[str, Any]]
    ) -> None:
        """Add up how often the antecedents of properties held in the tasks."""
        for claim in claims:
            if claim.when is not None:
                place = antecedents.index(claim.antecedents)
                self.result.tested[claim.name] += sum(r["met"][place] for r in reports)

    def end_level(self, level: int, reports: Sequence[Mapping[str, Any]]) -> None:
        """Commit a level that the tasks have written, and record the findings that they report."""
        result = self.result
        files = [r["file"] for r in reports]
        if total := sum(reported["rows"] for reported in files):
            result.levels.append(total)
            counts = np.sum([r["actions"] for r in reports], axis=0)
            first = self.world.actions.first
            for index, rule in enumerate(self.world.spec.rules):
                result.new[rule.name] += int(counts[first[index] : first[index + 1]].sum())
            for _, mark, code in sorted(r["fault"] for r in reports if r["fault"]):
                fault = self.program.fault_of(code)
                self.explain(fault.message, fault.place, "a property", level, mark)
            for number, claim in enumerate(self.program.plan.states):
                hits = [r["firsts"][number] for r in reports if r["firsts"][number]]
                if hits and claim.name not in result.findings:
                    _, mark = min(hits)
                    self.found(claim.name, level, mark)
            for number, claim in enumerate(self.program.plan.on_graph):
                if level == 0 or claim.kind != "eventually":
                    result.tested[claim.name] += sum(r["owed"][number] for r in reports)
            if not self.world.spec.checks_successors:
                self.count_tests(self.program.plan.states, self.program.plan.state_tests, reports)
            self.compare(level, [r["sample"] for r in reports])
        self.folder.commit(level, files, "spark", result, [r["cost"] for r in reports])

    def compare(self, level: int, samples: Sequence[tuple[bytes, bytes]]) -> None:
        """Compare states of a level, fingerprints and records, with their renamings.

        Raises:
            SpecError: the members are not interchangeable.
        """
        if self.renamings is not None:
            marks, records = (np.frombuffer(b"".join(column), np.uint8) for column in zip(*samples, strict=True))
            self.renamings.compare(level, records.reshape(-1, self.layout.size), marks.view(np.uint64))

    # findings

    def found(self, claim: str, level: int, mark: int, *last: int) -> None:
        """Record the first of the shortest paths to a state as a finding; `last` are further actions at its end."""
        start, actions = store.path_to(self.storage, level, mark)
        self.result.findings[claim] = Finding(start, (*actions, *last))

    def explain(self, message: str, place: str, what: str, level: int, mark: int) -> None:
        """Raise the oracle's error for the state in which compiled code faulted."""
        explain(self.world, self.program, f"{place}: {what}: {message}", place, *store.path_to(self.storage, level, mark))


def pieces_of(files: Files, parts: int) -> list[tuple[str, int, int]]:
    """Return the files of a level in pieces, for some `parts` tasks: the name, the first row, and the one after the last."""
    most = -(-sum(count for _, count in files) // parts)
    return [(name, begin, min(count, begin + most)) for name, count in files for begin in range(0, count, most)]
