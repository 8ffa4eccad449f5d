"""What was asked of the logs, and what was seen for it: each property is violated, judged, not judged, or not asked for.

A property names what must have been seen before it can be judged (`Kind.needs`). A *hole* is something of that sort that is not in
the logs, with its place. The verdict follows from the judgements of all properties, and from nothing else: it is `holds` only if
every property that was asked for is judged in full. Independent of log texts and of output.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Literal, NamedTuple, TypeAlias

from kafka_spec.conformance.outcome.violations import Unfinished, Violation
from kafka_spec.conformance.validate.claims import Claims
from kafka_spec.conformance.validate.findings import BEGUN, BROKER, CONTROLLER, ELECTION, ENDED, KINDS, READ, SEEN, TRACE, UNTIL
from kafka_spec.conformance.validate.partitions import Followed

Verdict: TypeAlias = Literal["holds", "violated", "inconclusive"]
State: TypeAlias = Literal["violated", "judged", "not judged", "not asked"]


class EpochOutcome(NamedTuple):
    """One controller epoch: the controllers that property it, and how complete their log is."""

    epoch: int
    controllers: tuple[int, ...]
    seen: bool
    trace: bool
    begun: bool
    began: str
    until: str
    torn: bool
    """Lines are missing in between."""
    elected: bool
    """A controller.log shows the election."""


class Hole(NamedTuple):
    """Something that was needed and not seen."""

    need: str
    summary: str


class Judgement(NamedTuple):
    """What the logs say about one property."""

    kind: str
    state: State
    violations: int
    why: tuple[str, ...]
    """Why it could not be judged, or not in full."""


def judgements(violations: Sequence[Violation], holes: Sequence[Hole], not_asked: frozenset[str]) -> list[Judgement]:
    """Return the judgement of each property, in the order of `KINDS`.

    A property that needs something of `not_asked` was not asked for; its violations count all the same.
    """
    found = []
    for name, kind in KINDS.items():
        count = sum(one.kind == name for one in violations)
        why = tuple(hole.summary for hole in holes if hole.need in kind.needs and hole.need not in not_asked)
        state: State = "violated" if count else "not asked" if not_asked & set(kind.needs) else "not judged" if why else "judged"
        found.append(Judgement(name, state, count, why))
    return found


def verdict_of(judged: Iterable[Judgement]) -> Verdict:
    """Return the verdict over all properties that were asked for."""
    states = {one.state for one in judged}
    if "violated" in states:
        return "violated"
    return "holds" if "judged" in states and "not judged" not in states else "inconclusive"


# ---------------------------------------------------------------------------------------------------------------------
# Holes


def holes_of(
    epochs: Sequence[EpochOutcome], followed: Sequence[Followed], claims: Sequence[Claims], unfinished: Sequence[Unfinished],
    transitions: int, unread: Sequence[str],
) -> list[Hole]:  # fmt: skip
    """Return what the logs lack; `unread` says which lines could not be read."""
    found = [Hole(READ, summary) for summary in unread]
    found += _of_epochs(epochs)
    if not transitions:
        found.append(Hole(SEEN, "no transition of a partition or replica is in the logs"))
    written = {number for one in claims for number in one.brokers}
    if absent := sorted({number for one in claims for number in one.receivers} - written):
        found.append(Hole(BROKER, f"{_numbered('broker', absent)}: its log is not here: what was sent to it could not be followed"))
    found += _of_answers(claims, epochs)
    found += _of_requests(epochs, followed, claims, written)
    found += [Hole(ENDED, f"{summary} where the log ends") for one in claims for summary in one.unfinished]
    found += [Hole(ENDED, f"{one.subject}: {one.summary} where the log ends") for one in unfinished]
    return found


def _of_epochs(epochs: Sequence[EpochOutcome]) -> Iterator[Hole]:
    seen = [one for one in epochs if one.seen]
    if not seen:
        yield Hole(CONTROLLER, "no controller's state-change log is among the files")
    if absent := [one.epoch for one in epochs if not one.seen]:
        yield Hole(CONTROLLER, f"{_numbered('controller epoch', absent)}: its controller's log is not here")
    numbers = {one.epoch for one in epochs}
    if skipped := [number for number in range(min(numbers, default=1), max(numbers, default=0)) if number not in numbers]:
        yield Hole(CONTROLLER, f"{_numbered('controller epoch', skipped)}: no line names it")
    if info := [one.epoch for one in seen if not one.trace]:
        yield Hole(
            TRACE,
            f"{_numbered('controller epoch', info)}: some logs are at INFO, where there are no transitions of replicas, none of "
            "partitions to offline or non-existent, and no requests by partition; --level info judges what can be seen there",
        )
    if late := [one.epoch for one in seen if not one.begun]:
        yield Hole(BEGUN, f"{_numbered('controller epoch', late)}: its beginning is not in the log: seeds are not checked")
    if unelected := [one.epoch for one in seen if not one.elected]:
        yield Hole(
            ELECTION,
            f"{_numbered('controller epoch', unelected)}: no controller.log shows its election and the states at its start",
        )


def _of_requests(
    epochs: Sequence[EpochOutcome], followed: Sequence[Followed], claims: Sequence[Claims], written: set[int]
) -> Iterator[Hole]:
    """Yield where requests could not be followed to a broker whose log is here, though their channel did not close."""
    last = max((one.epoch for one in epochs), default=0)
    alive: dict[int, frozenset[int]] = {}
    for claim in claims:
        alive.update(claim.alive)
    early, late, across = set[int](), set[int](), set[int]()
    for one in followed:
        if one.broker not in written:
            continue
        if one.fates.early:
            early.add(one.broker)
        if one.fates.late and one.epoch == last and one.broker in alive.get(one.epoch, frozenset((one.broker,))):
            late.add(one.broker)
        if one.fates.across_gaps:
            across.add(one.broker)
    if early:
        yield Hole(UNTIL, f"{_numbered('broker', sorted(early))}: requests were sent to it before the first one that its log shows")
    if late:
        yield Hole(UNTIL, f"{_numbered('broker', sorted(late))}: requests were sent to it after the last one that its log shows")
    if across:
        yield Hole(READ, f"{_numbered('broker', sorted(across))}: requests to it were sent or arrived where lines are missing")


def _of_answers(claims: Sequence[Claims], epochs: Sequence[EpochOutcome]) -> Iterator[Hole]:
    """Yield where a request was answered that its broker's log does not show, or arrived, was followed and never answered."""
    at_trace = {one.epoch for one in epochs if one.seen and one.trace}
    arrived, followed, answered, logged = ({} for _ in range(4))  # type: ignore[var-annotated]
    for claim in claims:
        for found, given in (
            (arrived, claim.all_arrived), (followed, claim.arrived), (answered, claim.answered), (logged, claim.answered_logged),
        ):  # fmt: skip
            for key, counts in given.items():
                found[key] = found.get(key, Counter()) + counts
    for key in sorted(set(arrived) & set(answered)):
        epoch, broker = key
        if epoch not in at_trace:
            continue
        for correlation in sorted(logged.get(key, Counter()) - arrived[key]):
            request = f"request {correlation} of controller epoch {epoch}"
            yield Hole(READ, f"{request} was answered by broker {broker}, whose log does not show it so often")
            break
        for correlation in sorted(followed.get(key, Counter()) - answered[key]):
            request = f"request {correlation} of controller epoch {epoch}"
            yield Hole(UNTIL, f"{request} arrived at broker {broker}, and its answer is not in the log")
            break


def _numbered(what: str, numbers: Iterable[int]) -> str:
    return f"{what} {', '.join(map(str, numbers))}"
