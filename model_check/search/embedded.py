"""The fast engine: breadth-first search on compiled code, one process, one or more threads.

Works on packed records and fingerprints. Its results equal the oracle's, level by level and edge by edge.

Theory of operation. A level is an array of records in the order in which they were found. The successor function expands slices
of the level, in order, into candidates. Each shard of the set of fingerprints then says which of its candidates are new; the first
of equal ones is. The new ones of all shards are appended to the next level in the order of the candidates. So a state has the
smallest parent, rule and binding, parents and order are the same for any number of threads, and nothing is compared or sorted. At
the end of a level the next one is judged and becomes the frontier; the old records are dropped. Of each state only its fingerprint
(in the set) and the index of its parent with the number of the action (in the history) are kept. If a property needs the graph, its
steps are recorded, and the property is checked at the end: backward reachability (recovery.py) and leads-to (liveness.py).
"""

from __future__ import annotations

import functools
import itertools
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from kafka_spec.model_check.budget import Budget, Stopped
from kafka_spec.model_check.code.arrays import Bytes, Numbers, memory
from kafka_spec.model_check.code.program import Program
from kafka_spec.model_check.code.row_codec import Codec
from kafka_spec.model_check.exploration import EngineError, Exploration, Finding, Progress, check_sums, quiet
from kafka_spec.model_check.interpreter.interpreter import Interpreter
from kafka_spec.model_check.interpreter.symmetry_check import refuse_properties
from kafka_spec.model_check.level_order import orders_by_fingerprint
from kafka_spec.model_check.llvm.machine_code import Tier, note_searched, searched
from kafka_spec.model_check.record import counted
from kafka_spec.model_check.record.layout import Layout
from kafka_spec.model_check.search.frontier import Frontier, InMemory, Level, LightInMemory, PackedInMemory, path_to
from kafka_spec.model_check.search.initial_states import initial_states
from kafka_spec.model_check.search.level_judge import LevelJudge, judge_again
from kafka_spec.model_check.search.path_properties import PathProperties
from kafka_spec.model_check.search.renamings import Renamings
from kafka_spec.model_check.search.resume import commit, on_disk
from kafka_spec.model_check.search.shards import Shard
from kafka_spec.model_check.search.slices import Slice, room_for
from kafka_spec.model_check.search.stored_states import Records
from kafka_spec.model_check.search.tally import add_up, judge_steps
from kafka_spec.model_check.search.threads import Job, Threads, Together, both
from kafka_spec.model_check.store.checkpoints import Checkpoints
from kafka_spec.model_check.store.digest_json import Damaged
from kafka_spec.model_check.traces.faults import explain_state
from kafka_spec.model_check.within import limited
from kafka_spec.spec.vocabulary.table import Property, Spec, SpecError

SLICE = 16384
"""States of the frontier that a thread expands at a time."""
SLICE_BYTES = 512 << 20
"""The most bytes of the candidates of a slice, if they are those of more than one state."""
LARGE_SEARCH = 1_500_000
"""States from which searches of the same code take longer, all together, than to generate faster code for them: 1 to 10 s, for
kip_320 and for a control plane, whose searches by quick code take three times as long as by faster code."""
SMALL_LEVEL = 1024
"""States of a level below which threads cost more time than they save."""


class Search:
    """A search in progress."""

    def __init__(
        self,
        world: Interpreter,
        result: Exploration,
        seed: int | None,
        budget: Budget,
        leave_out: frozenset[str] = frozenset(),
        fresh: bool = False,
        covering: bool = False,
        traced: bool = True,
        fast_from: int = LARGE_SEARCH,
    ) -> None:
        self.world, self.result, self.budget, self.fresh, self.traced = world, result, budget, fresh, traced
        self.layout = Layout(world.space, seed)
        result.record_bytes = self.layout.size
        tier = Tier.QUICK if covering or fast_from > 0 else Tier.FIXED
        self.fast_from = fast_from
        self.program = Program(world.spec, self.layout, world.actions, result.properties, world.k, leave_out, fresh, covering, tier)
        self.waits = self.program.loaded.tier == Tier.QUICK and not covering
        """Whether quick code is in use until the search is large. The counters of coverage are in the code, which is kept."""
        self.searched_before = searched(self.program.module, self.program.shape.k) if self.waits and not fresh else 0
        """The states that earlier searches with these bounds have found with quick code."""
        result.compile_seconds = self.program.seconds
        shards = 1 << (result.threads - 1).bit_length()
        self.shards = [Shard(self.program, number, shards.bit_length() - 1) for number in range(shards)]
        self.slices = [Slice(self.program, slice_room(self.program)) for _ in range(result.threads)]
        self.tested_at_start = Counter[str]()
        """How many initial states met each antecedent."""
        self.width = self.distinct = 0
        """The states of the frontier, and of all finished levels."""
        self.by_fingerprint = orders_by_fingerprint(world.spec, seed)
        light = self.program.shape.light and not world.spec.view  # levels that are sorted are whole records
        self.frontier: Frontier = (LightInMemory if light else InMemory)(self.program, world.actions.bits, traced)
        self.history: list[Level | None] = []
        """How the states of each level were reached; None where that is not kept."""
        self.firsts = np.zeros((result.threads, len(world.spec.rules)), np.int64)
        """How many states of the next level each rule reached first, by the slices that they were found in."""
        self.new = np.zeros(len(world.spec.rules), np.int64)
        """How many states of finished levels each rule reached first, since the last count."""
        self.paths = PathProperties(self.program, world.actions)
        self.renamings = Renamings.of(world, self.program, self.layout)
        self.threads = Threads(result.threads)

    def close(self) -> None:
        """End the threads; with quick code, keep how many states were searched with it."""
        if self.waits and not self.fresh:
            note_searched(self.program.module, self.program.shape.k, self.searched_before + self.result.distinct)
        self.threads.close()

    def begin(self) -> None:
        """Make the initial states the frontier."""
        records, marks = initial_states(self.world, self.layout)
        part = self.slices[0]
        self.start_level()
        for begin in range(0, len(records), len(part.marks)):
            some = records[begin : begin + len(part.marks)]
            part.put(some)
            part.marks[: len(some)] = marks[begin : begin + len(some)]
            part.parents[: len(some)] = np.arange(begin, begin + len(some))
            part.actions[: len(some)] = 0
            self.take([part])
        self.end_level()
        self.tested_at_start = self.result.tested.copy()

    judged_before: bool
    """Whether the states of the level that is being found are judged where steps lead to them."""

    def start_level(self) -> None:
        """Forget what was found of the level before."""
        for part in self.slices:
            part.start_level()
        self.firsts.fill(0)
        self.judged_before = self.world.spec.checks_successors and bool(self.history)
        self.judging = LevelJudge(self.program, self.decided, len(self.slices))

    def expand_level(self) -> str:
        """Find the successors of the frontier; return "", or why the budget does not allow it."""
        self.start_level()
        total, taking = self.width, list[Job]()
        together = functools.partial(self.threads.together, parallel=total >= SMALL_LEVEL)
        threads = len(self.slices) if total >= SMALL_LEVEL else 1
        chunk = min(SLICE, -(-total // threads))
        for begin in range(0, total, chunk * threads):
            likely = 4 * chunk * threads
            planned = max(shard.growth(likely) for shard in self.shards) + likely * (self.layout.size + 16)
            if reason := self.budget.exhausted(self.distinct, planned):
                return reason
            starts = range(begin, min(total, begin + chunk * threads), chunk)
            slices = self.slices[: len(starts)]
            ends = [min(total, at + chunk) for at in starts]
            expanding = [self.expansion(*each) for each in zip(slices, starts, ends, strict=True)]
            together([both(*jobs) for jobs in itertools.zip_longest(taking, expanding)])
            self.frontier.new.taken()
            taking = self.deduplicate_in_order(slices, ends, together)
        together(taking)
        self.frontier.new.taken()
        return ""

    def deduplicate_in_order(self, slices: Sequence[Slice], ends: Sequence[int], together: Together) -> list[Job]:
        """Deduplicate what slices found that are to reach these ends; where one ran out of room, expand its rest before the next.

        Return the jobs that are left, one for each slice, or none.
        """
        all_at_once = True
        while slices:
            short = next((n for n, (part, end) in enumerate(zip(slices, ends, strict=True)) if part.reached < end), len(slices))
            for part in slices[: short + 1]:
                self.raise_fault(part)
            taking = self.deduplicate(slices[: short + 1], together)
            slices, ends = slices[short:], ends[short:]
            if all_at_once and not slices:
                return taking
            all_at_once = False
            together(taking)
            self.frontier.new.taken()
            if slices:
                self.expansion(slices[0], slices[0].reached, ends[0])()
        return []

    def deduplicate(self, slices: Sequence[Slice], together: Together) -> list[Job]:
        """Add the candidates of some slices to the seen states; return the jobs that take new ones to the next level."""
        fresh: list[list[Numbers]] = [[] for _ in self.shards]

        def deduplicating(shard: Shard, into: list[Numbers]) -> Job:
            return lambda: into.extend(shard.deduplicate(part.marks[: part.count]).copy() for part in slices)

        together([deduplicating(shard, into) for shard, into in zip(self.shards, fresh, strict=True)])
        return self.frontier.new.take(self.program, slices, list(zip(*fresh, strict=True)), self.look)

    def take(self, slices: Sequence[Slice]) -> None:
        """Append the new states among the candidates of some slices to the next level."""
        self.threads.together(self.deduplicate(slices, self.threads.together))
        self.frontier.new.taken()

    def look(self, number: int, begin: int, rows: Bytes, actions: npt.NDArray[Any]) -> None:
        """Count and judge new states of a slice."""
        self.firsts[number] += np.bincount(self.world.actions.rules_of(actions), minlength=self.firsts.shape[1])
        self.judging.look(number, begin, rows, len(actions))

    def switch_tier(self) -> float:
        """Load faster code if searches with the quick code have become large together; return the seconds that this took."""
        if not self.waits or self.searched_before + self.distinct < self.fast_from:
            return 0.0
        self.waits, began = False, time.perf_counter()
        self.program.load(self.fresh, Tier.FIXED)
        self.result.compile_seconds += (spent := time.perf_counter() - began)
        return spent

    def expansion(self, part: Slice, begin: int, end: int) -> Job:
        """Return a job that expands a slice of the frontier."""

        def job() -> None:
            part.expand_rows(*self.frontier.rows(begin, end, part.sources), begin, every=False)
            if self.program.plan.on_graph and part.count >= 0:
                self.paths.add_steps(begin, part.cuts[: part.reached - begin].view(np.bool_), *part.steps)

        return job

    def end_level(self) -> None:
        """Make the new states the frontier, record how they were reached, and judge them."""
        new = self.frontier.new
        self.width = new.count
        if not self.width:
            return
        if self.by_fingerprint:
            assert isinstance(new, Records), "a search by a view keeps whole states in memory"
            new.sort()
        self.history.append(self.frontier.advance(len(self.history)))
        self.result.levels.append(self.width)
        self.distinct += self.width
        if len(self.history) > 1:
            self.new += self.firsts.sum(axis=0)
        if self.frontier.large and not self.world.spec.view:
            self.pack(self.frontier)
        self.judge()
        if self.renamings is not None:
            self.renamings.judge(len(self.history) - 1, self.frontier, self.width)

    def pack(self, level: Frontier) -> None:
        """Keep packed states from now on."""
        assert isinstance(level, InMemory | LightInMemory)
        self.frontier = PackedInMemory(self.program, Codec.of(self.layout, self.program.seed, self.fresh), level)

    @property
    def decided(self) -> list[bool] | None:
        """For each property that the judge decides, whether it is decided; None if they need no judge."""
        if self.judged_before and not self.world.spec.checks_stored_states:
            return None
        return [claim.name in self.result.findings for claim in self.program.plan.states]

    def judge(self) -> None:
        """Check the properties in the states of the frontier."""
        claims, on_graph = self.program.plan.states, self.program.plan.on_graph
        if not claims and not on_graph:
            return
        judged = self.judging.said
        if judged.fault is not None or self.by_fingerprint:
            # which faults threads meet may depend on their findings: tell the one that a single thread meets
            judged = judge_again(self.program, self.decided, self.frontier, self.width)
        if judged.fault is not None:
            index, code = judged.fault
            met = self.program.fault_of(code)
            self.explain(met.message, met.place, "a property", index)
        tests = dict(zip(self.program.plan.state_tests, judged.met, strict=True))
        for claim, index in zip(claims, judged.firsts, strict=True):
            if index >= 0 and claim.name not in self.result.findings:
                self.found(claim.name, len(self.history) - 1, index)
            if claim.when is not None and not self.judged_before:
                self.result.tested[claim.name] += tests[claim.antecedents]
        if on_graph:
            for claim, owing in zip(on_graph, self.paths.add_level(self.frontier.marks(self.width), judged.ways), strict=True):
                self.result.tested[claim.name] += owing

    def judge_graph(self) -> str:
        """Check the properties that need the graph; return "", or why the budget does not allow it."""
        return self.paths.judge(self.result, lambda planned: self.budget.exhausted(planned_bytes=planned), self.found)

    def held(self) -> int | None:
        """Return the size of the set of seen fingerprints; None if the search was stopped inside a level."""
        for shard in self.shards:
            if (held := int(np.count_nonzero(shard.table))) != shard.seen:
                raise EngineError(f"{self.world.spec.name}: a set took {shard.seen:,} states, and holds {held:,}")
        return None if self.result.stopped else sum(shard.seen for shard in self.shards)

    def found(self, claim: str, level: int, index: int, *last: int) -> None:
        """Record the shortest path to a state as a finding; `last` are further actions at its end."""
        if not self.traced:
            self.result.findings[claim] = Finding(-1, (), unreported=level + len(last))
            return
        start, actions = path_to(self.history[: level + 1], index)
        self.result.findings[claim] = Finding(start, (*actions, *last))

    def raise_fault(self, part: Slice) -> None:
        """Raise SpecError if the successor function faulted in the slice."""
        if part.count >= 0:
            return
        fault = self.program.fault_of(int(part.counters[counted.FAULT]))
        rule, _ = self.world.actions.decode(int(part.counters[counted.FAULT_ACTION]))
        index = int(part.counters[counted.FAULT_STATE])
        self.explain(fault.message, fault.place, f"rule {rule.name}", index)

    def explain(self, message: str, place: str, what: str, index: int) -> None:
        """Raise the oracle's error for the state of the frontier in which compiled code faulted."""
        states, _ = self.frontier.read(index, index + 1)
        state = self.layout.unpack(states.tobytes())
        explain_state(self.world, self.program, f"{place}: {what}: {message}", place, state, len(self.history) - 1)


def slice_room(program: Program) -> int:
    """Return how many candidates each slice of a search has room for."""
    return room_for(program.shape, SLICE, min(SLICE_BYTES, memory() // 2))


def explore(
    spec: Spec,
    bounds: Mapping[str, int],
    *,
    properties: Sequence[Property] | None = None,
    threads: int = 1,
    everything: bool = False,
    deadlock: bool = False,
    budget: Budget | None = None,
    progress: Progress = quiet,
    seed: int | None = None,
    on_level: Callable[[Search], None] | None = None,
    leave_out: frozenset[str] = frozenset(),
    fresh: bool = False,
    covering: bool = False,
    traces: bool = True,
    state_dir: str | None = None,
    resume: bool = False,
    fast_from: int = LARGE_SEARCH,
) -> Exploration:
    """Explore a spec breadth first with compiled code.

    Args:
        spec: the spec to explore.
        bounds: a value for every bound of the spec.
        properties: the properties to check; by default all of the spec's.
        threads: the number of threads; any number gives the same result.
        everything: continue to the end; by default the search stops at the end of the level with the first violation.
        deadlock: also check for deadlocks, that is, states without any step.
        budget: limits of time, memory and states; a search that reaches one is inconclusive.
        progress: called after each level.
        seed: the seed of the fingerprints; repeating a search with another seed exposes collisions.
        on_level: called with the search after each level, for tests and tools that read the states.
        leave_out: "digest" or "checks", to skip, to measure their cost; the result is then not a verdict.
        fresh: compile even if this process or the cache holds the code.
        covering: count what the code runs, for coverage; on one thread.
        traces: keep how each state was reached, 5 to 8 bytes a state; without, findings are counts and verdicts.
        state_dir: a folder in which every level is a checkpoint; the frontier and the traces are there and not in memory.
        resume: continue the search in that folder.
        fast_from: the number of states from which faster code is worth its generation; 0: from the beginning.

    Raises:
        SpecError: a guard, an effect or a property cannot be executed in some state, or the folder is not fit for the search.
    """
    if threads < 1:
        raise SpecError(f"{threads} threads cannot search; ask for 1 or more")
    if covering and threads > 1:
        raise SpecError("coverage is counted on one thread")
    claims = spec.claims_at(bounds, properties)
    refuse_properties(spec, claims)
    result = Exploration(spec, dict(bounds), "embedded", threads, claims, deadlock)
    budget = budget or Budget()
    world = Interpreter(spec, bounds)
    try:
        with limited(budget):
            search = Search(world, result, seed, budget, leave_out, fresh, covering, traces, fast_from)
    except Stopped as stop:
        result.stopped = str(stop)
        return result
    with limited(budget):
        return _explored(search, everything, on_level, progress, state_dir, resume)


def _explored(
    search: Search,
    everything: bool,
    on_level: Callable[[Search], None] | None,
    progress: Progress,
    state_dir: str | None,
    resume: bool,
) -> Exploration:
    """Search to the end, or as long as the budget allows."""
    result = search.result
    began = time.perf_counter()
    folder: Checkpoints | None = None
    try:
        if state_dir is not None:
            folder = on_disk(search, state_dir, resume)
        if not search.history:
            search.begin()
            if folder is not None:
                commit(search, folder, 0)
        began = _levels(search, everything, on_level, progress, folder, began)
        add_up(search)
        if not search.width:
            result.stopped = search.judge_graph()
        result.ended(not search.width)
        check_sums(result, search.held())
    except Stopped as stop:
        result.stopped = str(stop)
    except MemoryError:
        result.stopped = "no memory is left"
    except Damaged as error:
        raise SpecError(f"{error}; remove the folder and start again, or restore it from a copy") from None
    except OSError as error:
        if state_dir is None:
            raise
        result.stopped = f"{state_dir}: {error.strerror or error}; free space there, and continue with --resume"
    finally:
        add_up(search)
        search.close()
        if folder is not None:
            folder.close()
    result.tallies = search.program.tallies()
    result.search_seconds = time.perf_counter() - began
    return result


def _levels(
    search: Search,
    everything: bool,
    on_level: Callable[[Search], None] | None,
    progress: Progress,
    folder: Checkpoints | None,
    began: float,
) -> float:
    """Search level by level; return when the search began, put off by the time that faster code took."""
    result, budget = search.result, search.budget
    while search.width and (everything or not result.violated) and not result.stopped:
        if on_level is not None:
            on_level(search)
        began += search.switch_tier()
        level = len(search.history) - 1
        result.stopped = budget.exhausted(search.distinct) or search.expand_level()
        judge_steps(search, level)
        if not result.stopped:
            search.end_level()
            if folder is not None:
                commit(search, folder, level + 1)
        result.search_seconds = time.perf_counter() - began
        progress(result, result.search_seconds)
    return began
