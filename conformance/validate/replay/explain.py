"""Explains what logs show of partitions: chooses what can be tried, finds a run for each, or the longest beginning that has one.

What is beyond the model's reach is stated as not tried, and never counts as explained.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import cache, partial
from typing import Literal, TypeAlias

from kafka_spec.conformance.outcome.violations import Violation
from kafka_spec.conformance.validate.embedded import run
from kafka_spec.conformance.validate.files import Source
from kafka_spec.conformance.validate.findings import UNTIL
from kafka_spec.conformance.validate.outcome import put_together
from kafka_spec.conformance.validate.replay.model_steps import Line, Model
from kafka_spec.conformance.validate.replay.observations import Observations, PartitionStory, SeenLine, observe
from kafka_spec.conformance.validate.replay.script import Script
from kafka_spec.conformance.validate.replay.search import MOST_STATES, Explanation, RunSearch
from kafka_spec.spec.machines.partition import PartitionState
from kafka_spec.spec.vocabulary.table import SpecError
from kafka_spec.spec.zookeeper.bounds import BROKERS

MOST_PARTITIONS = 32
"""Partitions that are tried if none are named."""

LARGEST = 31
"""The last leader epoch and the last version of the model (spec/zookeeper/bounds.py)."""
EVENT = timedelta(seconds=2)
"""Lines of one event are not further apart."""

Verdict: TypeAlias = Literal["explained", "not explained", "gave up", "not tried"]


@dataclass
class ReplayedPartition:
    """What was found about one partition."""

    whole: PartitionStory
    verdict: Verdict
    explained: int = 0
    """How many of the first observations a run explains."""
    brokers: tuple[int, ...] = ()
    run: Explanation | None = None
    at: int | None = None
    """The place of the line that nothing explains."""
    why: str = ""
    left_out: str = ""
    """What was not tried of it, and why."""
    states: int = 0
    """States of the model searched, in all searches."""
    possible: tuple[tuple[str, tuple[Line, ...]], ...] = ()

    @property
    def name(self) -> str:
        """The partition."""
        return self.whole.name

    @property
    def observations(self) -> int:
        """How many observations there are."""
        return self.whole.count


@dataclass
class Replayed:
    """What was found about all partitions."""

    model: str
    files: list[str]
    partitions: list[ReplayedPartition] = field(default_factory=list)
    violations: list[Violation] = field(default_factory=list)
    """What the tables find, also in lines that the model has not: what brokers do, and all fields of requests."""
    unread: list[str] = field(default_factory=list)
    """What the logs lack, so that the tables could not be judged in full."""

    @property
    def verdict(self) -> Literal["holds", "violated", "inconclusive"]:
        """`violated` if a log is not explained or the tables find something; `holds` if all is explained; else inconclusive."""
        if self.violations or any(one.verdict == "not explained" for one in self.partitions):
            return "violated"
        if self.unread:
            return "inconclusive"
        whole = self.partitions and all(one.verdict == "explained" and not one.left_out for one in self.partitions)
        return "holds" if whole else "inconclusive"


def replay(
    sources: Sequence[Source],
    files: Sequence[str],
    era: str | None,
    wanted: Sequence[str],
    progress: Callable[[str], object] = lambda _: None,
    most: int = MOST_STATES,
) -> Replayed:
    """Explain the logs of these partitions, or of the first ones; `progress` receives each before it begins.

    The logs are held to the tables first: the model has neither all fields of requests nor all lines of brokers.

    Raises:
        SpecError: a named partition is in none of the logs.
    """
    seen = observe(sources, frozenset(wanted))
    if missing := [name for name in wanted if name not in seen.logs]:
        raise SpecError(f"no line is about partition {missing[0]}; name it as the logs do: TOPIC-NUMBER")
    plain = seen.plain and all(seen.plain)
    chosen = era or ("0.10" if plain else "2.8")
    found = Replayed(f"zookeeper/era_{chosen.replace('.', '_')}", list(files))
    checked = put_together(run(sources, era, False, lambda _: None), files, era, "auto")
    others = {one.name for one in checked.partitions} - set(wanted) if wanted else set()
    found.violations = [one for one in checked.violations if one.subject not in others]
    silent = {hole.summary for hole in checked.holes if hole.need == UNTIL and not checked.followed}  # no broker logs what arrives
    found.unread = [reason for reason in checked.open_reasons if reason not in silent]
    model = cache(partial(Model, chosen))
    for number, name in enumerate(sorted(seen.logs)):
        if not wanted and number >= MOST_PARTITIONS:
            why = f"more than {MOST_PARTITIONS} partitions; name it with --partition"
            found.partitions.append(ReplayedPartition(seen.logs[name], "not tried", why=why))
            continue
        progress(name)
        found.partitions.append(_told(seen, seen.logs[name], model, most))
    return found


def _told(seen: Observations, whole: PartitionStory, model: Callable[..., Model], most: int) -> ReplayedPartition:
    """Explain one partition; an unclean election is permitted only if nothing else explains the log."""
    if terse := sorted({line.epoch for line in whole.lines} & seen.terse):
        why = f"controller epoch {terse[0]} is logged at INFO, where most lines are missing; set state.change.logger to TRACE"
        return ReplayedPartition(whole, "not tried", why=why)
    if whole.gaps:
        why = f"lines are missing before {whole.gaps[0]}, which may be about it"
        return ReplayedPartition(whole, "not tried", why=why)
    log, left_out = _within_reach(whole)
    if log.count == 0:
        return ReplayedPartition(whole, "not tried", why=left_out or "no line of a controller is about it at TRACE")
    brokers = _brokers(log)
    if len(brokers) > BROKERS.high:
        why = f"it has {len(brokers)} brokers with their controllers, and the model at most {BROKERS.high}"
        return ReplayedPartition(whole, "not tried", why=why)
    deleted = any(line.kind == "partition" and line.target == PartitionState.NON_EXISTENT for line in log.lines)
    size = len(brokers), len(log.assigned), int(deleted)
    strict = model(*size, 0)
    run = _search(strict, seen, log, brokers, most)
    if run.exhausted:
        permissive = _search(model(*size, 1), seen, log, brokers, most)
        run = run if permissive.exhausted else permissive
    reported = ReplayedPartition(whole, "explained", log.count, brokers, run, left_out=left_out, states=run.states)
    if run.complete:
        return reported
    if not run.exhausted:
        reported.verdict, reported.why = "gave up", f"{run.states:,} states were searched; there may be a run"
        reported.explained = run.furthest.progress
        reported.at = _place_of(log, reported.explained)
        return reported
    reported.verdict = "not explained"
    _find_longest(reported, strict, seen, log, brokers, most)
    return reported


def _find_longest(
    reported: ReplayedPartition, model: Model, seen: Observations, log: PartitionStory, brokers: tuple[int, ...], most: int
) -> None:
    """Find the longest beginning of the log that a run explains; the search for all of it may have been misled by what follows."""
    assert reported.run is not None
    explained, too_many = reported.run.furthest.progress, log.count
    step = 1
    while explained + 1 < too_many:
        tried = min(explained + step, too_many - 1)
        run = _search(model, seen, log.first(tried), brokers, most)
        reported.states += run.states
        if run.complete:
            reported.run, explained, step = run, tried, 2 * step
        elif run.exhausted:
            too_many, step = tried, 1
            explained = max(explained, run.furthest.progress)
            reported.possible = run.possible
        else:
            reported.why = "a longer beginning may have a run: the search for it gave up"
            break
    if not reported.possible:
        reported.possible = reported.run.possible
    reported.explained = explained
    reported.at = _place_of(log, explained)


def _place_of(log: PartitionStory, number: int) -> int:
    """Return the place of the observation with this number, from 0 on."""
    before, after = log.first(number), log.first(number + 1)
    return after.lines[-1].place if len(after.lines) > len(before.lines) else after.arrivals[-1].place


def _search(model: Model, seen: Observations, log: PartitionStory, brokers: tuple[int, ...], most: int) -> Explanation:
    epochs = tuple(sorted({line.epoch for line in log.lines}))
    deaf = frozenset(place for place, broker in enumerate(brokers) if broker not in seen.brokers)
    return RunSearch(model, Script(log, brokers, epochs, deaf), most).run()


def _brokers(log: PartitionStory) -> tuple[int, ...]:
    """Return the brokers that the model needs: the replicas in their order, then the controllers that hold none."""
    others = {log.controllers[line.epoch] for line in log.lines} | {one.broker for one in log.arrivals}
    return (*log.assigned, *sorted(others - set(log.assigned)))


def _within_reach(log: PartitionStory) -> tuple[PartitionStory, str]:
    """Return the beginning of a log that the model can explain, and why the rest is not tried."""
    first = log.lines[0] if log.lines else None
    if first is None or first.kind != "partition" or first.source != PartitionState.NON_EXISTENT:
        return log.first(0), "its creation is not in the logs"
    for number, line in enumerate(log.lines):
        if reason := _beyond(log, line) or _order_beyond(log, number):
            begin = number
            while begin and _same_event(log.lines[begin - 1], line):
                begin -= 1
            return log.first(begin + sum(one.after <= begin for one in log.arrivals)), f"{reason} from {line.when} on"
    return log, ""


def _beyond(log: PartitionStory, line: SeenLine) -> str:
    """Return why a line is beyond the model's reach, or ""."""
    if line.now is not None and max(line.now.epoch, line.now.version) > LARGEST:
        return f"the model's leader epochs and versions end at {LARGEST}; they are larger"
    if log.moves >= 0 and line.now is not None and line.now.moving:
        return "it is reassigned"
    if line.kind == "partition" and line.source == PartitionState.NON_EXISTENT and line != log.lines[0]:
        return "it is created again"
    return ""


def _order_beyond(log: PartitionStory, number: int) -> str:
    """Return why a removal is beyond the model's reach: in one event the model removes replicas in the order of the assignment."""
    line = log.lines[number]
    before = next((one for one in log.lines[number - 1 :: -1] if one.kind != "replica"), None) if number else None
    if before is None or before.kind != line.kind or line.kind != "removed" or not _same_event(before, line):
        return ""
    if line.now is None or before.now is None or line.now.epoch == before.now.epoch or line.about not in log.assigned:
        return ""
    if before.about in log.assigned and log.assigned.index(before.about) < log.assigned.index(line.about):
        return ""
    return "several replicas leave the ISR in one event, in an order that the model has not,"


def _same_event(before: SeenLine, line: SeenLine) -> bool:
    """Whether a line can be of the event that a later line shows: the same controller wrote it within two seconds."""
    return before.epoch == line.epoch and datetime.fromisoformat(line.when) - datetime.fromisoformat(before.when) < EVENT
