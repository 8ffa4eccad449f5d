"""Checks each partition separately: its controllers' and brokers' views, the requests between them, and the order of epochs.

Independent of log texts. A `PartitionCheck` depends on the lines of its partition only, and not on how the sources interleave, so
partitions can be checked in one process or in many.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Any, NamedTuple

from kafka_spec.conformance.outcome.violations import Unfinished, Violation
from kafka_spec.conformance.validate.broker_check import BrokerView
from kafka_spec.conformance.validate.events import Cursor, LeaderAndIsr
from kafka_spec.conformance.validate.exchange import Exchange, Fates
from kafka_spec.conformance.validate.findings import BEGUN, READ, TRACE, UNTIL, Refusal
from kafka_spec.conformance.validate.partition_check import ControllerView
from kafka_spec.conformance.validate.partition_record import RowCounts
from kafka_spec.conformance.validate.states import TABLES, Tables

MOST_CLAIMS = 64
"""Maximum number of pairs of controller epoch and leader epoch of one partition for which it is known who names the leader."""
EPOCH_BITS = 32
OFTEN = 1 << 30
"""How often a leader was named whose lines are not known any more: the other one is the odd one."""


class Moment(NamedTuple):
    """A point on the timeline of a partition."""

    when: str
    place: int
    controller: int
    epoch: int
    summary: str
    now: LeaderAndIsr | None


class Followed(NamedTuple):
    """What became of the requests on one channel, and when the last one was sent."""

    epoch: int
    broker: int
    fates: Fates
    last_sent: str


@dataclass
class PartitionResult:
    """The results of one partition."""

    name: str
    rows: RowCounts
    refusals: Counter[Refusal]
    refused_at: dict[Refusal, int]
    """The place of the first of each."""
    violations: list[Violation]
    missing: list[tuple[int, str]]
    followed: list[Followed]
    unfinished: list[Unfinished]
    moments: list[Moment]
    moments_left_out: int
    epochs: int
    """Controller epochs in which it occurs."""
    last: LeaderAndIsr | None
    """The last leadership that a controller has written or sent; None if the partition was deleted then."""


class PartitionCheck:
    """Listens to all events of one partition."""

    def __init__(self, name: str, cursor: Cursor, era: str | None, keeps_moments: bool) -> None:
        self.name = name
        self.keeps_moments = keeps_moments
        self.rows: RowCounts = Counter()
        self.refusals: Counter[Refusal] = Counter()
        self.refused_at: dict[Refusal, int] = {}
        self.violations: list[Violation] = []
        self.missing: list[tuple[int, str]] = []
        self.uncached: set[int] = set()
        """Controller epochs in which the partition was deleted, according to brokers."""
        self.cursor = cursor
        self._era = era
        self._views: dict[tuple[int, int], ControllerView] = {}
        self._brokers: dict[int, BrokerView] = {}
        self._exchanges: dict[tuple[str, int, int], Exchange] = {}
        self._torn_epochs: set[int] = set()
        self._torn_brokers: set[int] = set()
        self._leaders: dict[tuple[int, int], dict[int, list[Any]]] = {}
        """By controller epoch and leader epoch: the reported leaders, how often, and where and when first."""
        self._contents: dict[tuple[int, int], dict[tuple[int, int, tuple[int, ...]], list[Any]]] = {}
        """By controller epoch and version of the state znode: what lines show of it, how often, and where and when first."""
        self._settled: dict[int, int] = {}
        """The one leader of each older pair of them."""

    def of_controller(self, controller: int, epoch: int, plain: bool) -> ControllerView:
        """Return the view of a controller in an epoch."""
        view = self._views.get((epoch, controller))
        if view is None:
            view = self._views[epoch, controller] = ControllerView(controller, epoch, self._tables(plain), self)
        return view

    def _tables(self, plain: bool) -> Tables:
        return TABLES[self._era or ("0.10" if plain else "2.8")]

    def of_broker(self, broker: int) -> BrokerView:
        """Return the view of a broker."""
        view = self._brokers.get(broker)
        if view is None:
            view = self._brokers[broker] = BrokerView(broker, self)
        return view

    def exchange(self, request: str, epoch: int, broker: int) -> Exchange:
        """Return the requests of one kind for this partition on one channel."""
        found = self._exchanges.get((request, epoch, broker))
        if found is None:
            found = self._exchanges[request, epoch, broker] = Exchange(_Teller(self, request, epoch, broker))
            if epoch in self._torn_epochs:
                found.sender_gap()
            if broker in self._torn_brokers:
                found.receiver_gap()
        return found

    def sender_gap(self, epoch: int) -> None:
        """Lines of the controller of an epoch are missing here, which may have sent anything to any broker."""
        self._torn_epochs.add(epoch)
        for (_, sent_in, _), exchange in self._exchanges.items():
            if sent_in == epoch:
                exchange.sender_gap()

    def receiver_gap(self, broker: int) -> None:
        """Lines of a broker are missing here, which may have received anything."""
        self._torn_brokers.add(broker)
        for (_, _, receiver), exchange in self._exchanges.items():
            if receiver == broker:
                exchange.receiver_gap()

    def shows(self, epoch: int, now: LeaderAndIsr) -> None:
        """Record what a line shows, under a controller epoch: the leader of a leader epoch, the content of a version."""
        self.leads(epoch, now.epoch, now.leader)
        if now.version < 0:
            return
        self._has((epoch, now.version), (now.leader, now.epoch, tuple(sorted(now.isr))))

    def _has(self, key: tuple[int, int], content: tuple[int, int, tuple[int, ...]]) -> None:
        """Record what a line shows of a version of the state znode."""
        known = self._contents.get(key)
        if known is None:
            self._contents[key] = {content: [1, self.cursor.place, self.cursor.when]}
            if len(self._contents) > MOST_CLAIMS:
                oldest = next(iter(self._contents))
                if len(self._contents[oldest]) == 1:
                    del self._contents[oldest]
        elif (seen := known.get(content)) is None:
            known[content] = [1, self.cursor.place, self.cursor.when]
        else:
            seen[0] += 1
            if self.cursor.place < seen[1]:
                seen[1:] = self.cursor.place, self.cursor.when

    def leads(self, epoch: int, leader_epoch: int, leader: int) -> None:
        """Record that a line reports, under a controller epoch, the leader of a leader epoch."""
        leaders = self._leaders.get((epoch, leader_epoch))
        if leaders is None:
            settled = self._settled.get((epoch << EPOCH_BITS) + leader_epoch)
            if settled == leader:
                return
            leaders = self._leaders[epoch, leader_epoch] = {} if settled is None else {settled: [OFTEN, self.cursor.place, ""]}
            if len(self._leaders) > MOST_CLAIMS:
                self._settle()
        claim = leaders.get(leader)
        if claim is None:
            leaders[leader] = [1, self.cursor.place, self.cursor.when]
        else:
            claim[0] += 1
            if self.cursor.place < claim[1]:
                claim[1:] = self.cursor.place, self.cursor.when

    def _settle(self) -> None:
        """Keep the leader alone of the oldest pair of epochs, so that a long log does not fill the memory; not if there are two."""
        (epoch, leader_epoch), leaders = next(iter(self._leaders.items()))
        del self._leaders[epoch, leader_epoch]
        if len(leaders) == 1:
            (self._settled[(epoch << EPOCH_BITS) + leader_epoch],) = leaders
        else:
            self._leaders[epoch, leader_epoch] = leaders

    def finish(self) -> PartitionResult:
        """Do the checks that need all lines, and return the results."""
        for view in self._views.values():
            view.finish()
        for broker in self._brokers.values():
            broker.finish()
        followed = [Followed(*key[1:], one.finish(), one.last_sent.decode()) for key, one in sorted(self._exchanges.items())]
        self._judge_leaders()
        self._judge_order_of_epochs()
        views = [self._views[key] for key in sorted(self._views)]
        return PartitionResult(
            self.name,
            self.rows,
            self.refusals,
            self.refused_at,
            sorted(self.violations),
            sorted(self.missing),
            followed,
            views[-1].unfinished() if views else [],
            [
                Moment(when, place, view.controller, view.epoch, summary, now)
                for view in views
                for when, place, summary, now in view.moments
            ],
            sum(view.moments_left_out for view in views),
            len(views),
            next((view.last for view in reversed(views) if view.last is not None or view.deleted), None),
        )

    def _judge_leaders(self) -> None:
        again = {epoch for (epoch, _), view in self._views.items() if view.deleted or view.torn} | self.uncached
        for (epoch, leader_epoch), leaders in sorted(self._leaders.items()):
            if len(leaders) > 1 and epoch not in again:
                _, place, when = min(leaders.values())
                summary = f"brokers {', '.join(map(str, sorted(leaders)))} lead in leader epoch {leader_epoch}"
                self._tell(place, "two-leaders", when, f"controller epoch {epoch}", summary, epoch)
        for (epoch, version), contents in sorted(self._contents.items()):
            if len(contents) > 1 and epoch not in again:
                _, place, when = min(contents.values())
                shown = " and as ".join(str(LeaderAndIsr(*content)) for content in sorted(contents))
                summary = f"version {version} of the state znode is shown as {shown}"
                self._tell(place, "two-contents", when, f"controller epoch {epoch}", summary, epoch)

    def _judge_order_of_epochs(self) -> None:
        """Check that each controller continues where its predecessor stopped, unless the partition was deleted in between."""
        before: ControllerView | None = None
        for _, view in sorted(self._views.items()):
            again = before is not None and (before.deleted or before.torn or view.created or view.torn)
            if before is not None and before.last is not None and view.first is not None and not again:
                old, new = before.last, view.first
                place, when = view.first_at
                summary = f"the first leadership is {new}, and {before!r} had left {old}"
                if new.epoch < old.epoch:
                    self._tell(place, "leader-epoch-back", when, repr(view), summary, view.epoch)
                elif 0 <= new.version < old.version:
                    self._tell(place, "version-back", when, repr(view), summary, view.epoch)
            if view.last is not None or view.deleted or view.created:
                before = view

    def _tell(self, place: int, kind: str, when: str, actor: str, summary: str, epoch: int) -> None:
        self.violations.append(Violation(place, kind, when, self.name, actor, summary, "", epoch))


class _Teller:
    """Turns the findings of an exchange into violations."""

    def __init__(self, of: PartitionCheck, request: str, epoch: int, broker: int) -> None:
        self._of, self._request, self._epoch, self._broker = of, request, epoch, broker

    def __call__(self, place: int, when: str, request: Any, lost: bool) -> None:
        actor = f"broker {self._broker}"
        kind, summary, needs = told_of_request(f"{self._request} with {request}", self._epoch, self._broker, lost, whole=False)
        self._of.violations.append(Violation(place, kind, when, self._of.name, actor, summary, "", self._epoch, needs))


def told_of_request(what: str, epoch: int, broker: int, lost: bool, whole: bool) -> tuple[str, str, tuple[str, ...]]:
    """Return kind, message and needs for a request that was lost or never sent; a whole one may be in any line that is missing."""
    if lost:
        summary = f"{what} was sent in epoch {epoch} and did not arrive at broker {broker}, and later ones did"
        return "request-lost", summary, (TRACE, BEGUN)
    summary = f"{what} of epoch {epoch} arrived at broker {broker} and was not sent"
    return "request-never-sent", summary, (TRACE, BEGUN, UNTIL, *((READ,) if whole else ()))
