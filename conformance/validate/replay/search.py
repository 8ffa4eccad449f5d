"""The search for a run of the model that a partition's log can be the log of.

A place in the log is how many of the controllers' lines and of the arrivals are explained. A step of the model either shows
nothing, or shows exactly the next lines. So the states that agree with a beginning of the log are found window by window, the
furthest first; when none gets further, everything that agrees with the beginning has been tried. Evidence (evidence.py) says what
may be filled in.
"""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from kafka_spec.conformance.validate.replay.evidence import Evidence
from kafka_spec.conformance.validate.replay.model_steps import BoundRule, Line, Model, ModelLeadership, Record, Shown
from kafka_spec.conformance.validate.replay.observations import IGNORED, TAKEN, Arrival
from kafka_spec.conformance.validate.replay.script import Script, agree

DEPTH = 16
"""Unseen steps between two observations."""
MOST_STATES = 30_000
"""States after which a search gives up."""
TAKES = ("BecomeLeader", "BecomeFollower", "StopReplica", "DeleteReplica")
IGNORES = ("IgnoreLeaderAndIsr", "IgnoreStopReplica")
NEVER_SHOWN = ("UpdateMetadata", "RefuseRequest")
ENDS = ("Crash", "ExpireSession", "ShutDown")
"""How a broker goes away, of its own or not: once between two observations."""
WHILE_DUE = ("Restart", "NoticeExpiry")
"""What a broker may have to do before a request reaches it that has been sent."""


@dataclass(frozen=True)
class Node:
    """A state of the model that agrees with the beginning of the log, and how it was reached."""

    record: Record
    lines: int = 0
    arrivals: int = 0
    unseen: int = 0
    """Steps since the last observation."""
    cost: int = 0
    parent: Node | None = None
    action: BoundRule | None = None

    @property
    def progress(self) -> int:
        """Observations explained."""
        return self.lines + self.arrivals

    @property
    def key(self) -> tuple[object, ...]:
        """What makes two nodes the same."""
        return self.record, self.lines, self.arrivals


@dataclass
class Explanation:
    """The result of a search: the node that got furthest, and why it got no further."""

    script: Script
    furthest: Node
    states: int
    complete: bool = False
    """All observations are explained."""
    exhausted: bool = False
    """Everything that the evidence allows was tried."""
    possible: tuple[tuple[str, tuple[Line, ...]], ...] = ()
    """What the model could have shown next, at the furthest place: rule, and lines."""

    def steps(self) -> list[Node]:
        """Return the nodes of the run, from the first step on."""
        found, node = [], self.furthest
        while node.parent is not None:
            found.append(node)
            node = node.parent
        return found[::-1]


class RunSearch:
    """A search in progress."""

    def __init__(self, model: Model, script: Script, most: int = MOST_STATES) -> None:
        self.model, self.script, self.most = model, script, most
        self.evidence = Evidence(script)
        self.possible: Counter[tuple[str, tuple[Line, ...]]] = Counter()
        self.furthest = Node(model.start())

    def run(self) -> Explanation:
        """Search until the log is explained, nothing is left, or there are too many states."""
        start, total = self.furthest, len(self.script.lines) + len(self.script.arrivals)
        seen = {start.key: 0}
        queue: list[tuple[int, int, int, Node]] = [(0, 0, 0, start)]
        count = 0
        while queue:
            node = heapq.heappop(queue)[3]
            if node.progress > self.furthest.progress:
                self.furthest = node
                self.possible.clear()
            if node.progress == total:
                return Explanation(self.script, node, len(seen), complete=True)
            if len(seen) >= self.most:
                return Explanation(self.script, self.furthest, len(seen), possible=tuple(self.possible))
            for after in self.following(node):
                if after.cost < seen.get(after.key, 1 << 30):
                    seen[after.key] = after.cost
                    count += 1
                    heapq.heappush(queue, (-after.progress, after.cost, count, after))
        return Explanation(self.script, self.furthest, len(seen), exhausted=True, possible=tuple(self.possible))

    # what can follow

    def following(self, node: Node) -> Iterator[Node]:
        """Yield the nodes that a step leads to; a delivery that need not wait comes alone."""
        alone = self.model.active(node.record) <= 1
        due = self.due(node)
        others: list[tuple[BoundRule, Record]] = []
        for action, record in self.model.successors(node.record):
            if not action.delivers:
                others.append((action, record))
            elif action.name in NEVER_SHOWN:
                others.append((action, record))
                if alone:
                    yield self.unseen(node, action, record, free=True)
                    return
            elif (after := self.delivered(node, action, record, due)) is not None:
                yield after
                return
        for action, record in others:
            after = self.step(node, action, record, due)
            if after is not None and self.can_go_on(after):
                yield after

    def delivered(self, node: Node, action: BoundRule, record: Record, due: Arrival | None) -> Node | None:
        """Return the node after a request was handled where the log shows it, or where it cannot; None if it must wait."""
        if action.values["broker"] in self.script.deaf:
            return self.unseen(node, action, record, free=True)
        request = self.model.request(node.record, action)
        content = ModelLeadership(int(request.leader), request.leader_epoch, int(request.isr), request.version)
        reported = request.controller_epoch, action.values["broker"], content
        if due is not None and self.is_arrival(action, reported, due):
            return Node(record, node.lines, node.arrivals + 1, 0, 0, node, action)
        return None

    def step(self, node: Node, action: BoundRule, record: Record, due: Arrival | None) -> Node | None:
        """Return the node after a step that delivers nothing, or None if the log or its evidence does not admit it."""
        if due is not None and action.name not in WHILE_DUE and action.name not in NEVER_SHOWN:
            return None
        if not self.asked_for(node, action, record):
            return None
        if action.by_controller:
            shown = self.model.shown(node.record, action)
            if shown.lines or shown.perhaps:
                after = self.matched(node, action, record, shown) or self.batch(node, action, record, shown)
                if after is None:
                    self.note(node, action, shown)
                if after is None or after.lines > node.lines:
                    return after
        if node.unseen >= DEPTH:
            return None
        return self.unseen(node, action, record)

    def unseen(self, node: Node, action: BoundRule, record: Record, free: bool = False) -> Node:
        """Return the node after a step that shows nothing."""
        price = 0 if free else 1 if action.rule.kind == "protocol" else 3
        unseen = node.unseen + (0 if free else 1)
        return Node(record, node.lines, node.arrivals, unseen, node.cost + price, node, action)

    def due(self, node: Node) -> Arrival | None:
        """Return the arrival that must come before the next line."""
        arrivals = self.script.arrivals
        if node.arrivals < len(arrivals) and arrivals[node.arrivals].after <= node.lines:
            return arrivals[node.arrivals]
        return None

    def is_arrival(self, action: BoundRule, reported: tuple[int, int, ModelLeadership], due: Arrival) -> bool:
        """Whether a step handles the request that the log shows next, as the log says."""
        epoch, broker, content = reported
        if broker != self.script.place(due.broker) or epoch != self.script.epochs.index(due.epoch) + 1:
            return False
        if (due.outcome == TAKEN and action.name not in TAKES) or (due.outcome == IGNORED and action.name not in IGNORES):
            return False
        stops = action.name in ("StopReplica", "DeleteReplica", "IgnoreStopReplica")
        if due.now is None:
            return stops and content.epoch == due.leader_epoch
        return not stops and agree(self.script.leadership(due.now), content)

    def matched(self, node: Node, action: BoundRule, record: Record, shown: Shown) -> Node | None:
        """Return the node after the lines of a step; None if the next lines are others. The log may end among them."""
        left, perhaps = list(shown.lines), list(shown.perhaps)
        place = node.lines
        while place < len(self.script.lines):
            epoch, line = self.script.lines[place]
            if epoch != shown.epoch or not (_take(left, line) or _take(perhaps, line)):
                break
            place += 1
        if left and (place == node.lines or place < len(self.script.lines)):
            return None
        return Node(record, place, node.arrivals, 0, 0, node, action)

    def batch(self, node: Node, action: BoundRule, record: Record, shown: Shown) -> Node | None:
        """Return the node after the removals of one batch, whose lines may be in another order."""
        controller = action.values["controller"]
        if action.name != "TakeReplicaOffline" or not self.model.removes_more(record, controller):
            return None
        last, lines, perhaps = node, shown.lines, shown.perhaps
        while self.model.removes_more(record, controller):
            last = Node(record, node.lines, node.arrivals, last.unseen + 1, last.cost, last, action)
            again = [one for one in self.model.successors(record) if one[0].number == action.number]
            if not again:
                return None
            following = self.model.shown(record, action)
            lines += following.lines
            perhaps += following.perhaps
            record = again[0][1]
        return self.matched(last, action, record, Shown(shown.epoch, lines, perhaps))

    def note(self, node: Node, action: BoundRule, shown: Shown) -> None:
        """Remember what was possible instead, at the furthest place."""
        if node.progress == self.furthest.progress and shown.lines:
            self.possible[action.name, shown.lines] += 1

    # what the log gives reason for

    def can_go_on(self, node: Node) -> bool:
        """Whether every controller whose lines are still to come is there, and the znode can still come to what the log shows."""
        model, evidence, record = self.model, self.evidence, node.record
        epoch = model.controller_epoch(record)
        for number in evidence.to_come(node.lines):
            if number <= epoch and model.epoch_of(record, evidence.controllers[number]) != number:
                return False
        left = evidence.most_version(node.lines) - model.version(record)
        return left >= (evidence.isr_to_come(node.lines) & ~model.isr(record)).bit_count()

    def asked_for(self, node: Node, action: BoundRule, record: Record) -> bool:
        """Whether the log gives reason for something that nobody logs."""
        evidence, place, values = self.evidence, node.lines, action.values
        if action.name in ENDS and _has_ended(node, values["broker"]):
            return False
        match action.name:
            case "ElectController":
                return evidence.elects_controller(place, self.model.controller_epoch(record), values["controller"])
            case "CreateTopic":
                return evidence.creates(place)
            case "DeleteTopic":
                return evidence.deletes(place)
            case "Crash":
                is_stopping = self.model.is_stopping(node.record, values["broker"])
                return not is_stopping and evidence.goes_down(place, values["broker"], lives_on=False)
            case "ExpireSession":
                return evidence.goes_down(place, values["broker"], lives_on=True)
            case "ShutDown":
                return evidence.shuts_down(place, values["broker"])
            case "Exit":
                goes_down = evidence.goes_down(place, values["broker"], lives_on=False)
                return goes_down or evidence.comes_up(place, node.arrivals, values["broker"])
            case "Restart":
                return evidence.comes_up(place, node.arrivals, values["broker"])
            case "PreferredElection" | "UncleanElection":
                return evidence.elects_leader(place, self.model.epoch_of(node.record, values["controller"]))
            case "NoticeIsrChange":
                return evidence.tells_version(place) == self.model.version(node.record)
        return True


def _has_ended(node: Node | None, broker: int) -> bool:
    """Whether a broker has gone away since the last observation."""
    while node is not None and node.unseen and node.action is not None:
        if node.action.name in ENDS and node.action.values["broker"] == broker:
            return True
        node = node.parent
    return False


def _take(left: list[Line], line: Line) -> bool:
    """Take a line that agrees out of a list; return whether there was one."""
    for index, one in enumerate(left):
        if one[:4] == line[:4] and one.deletes == line.deletes and agree(line.now, one.now):
            del left[index]
            return True
    return False
