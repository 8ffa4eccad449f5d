"""Parses the messages of brokers in state-change.log.

Depends on Kafka's texts, not on the rules. A message is recognised by its first bytes after the first letter, which is lower case
in 0.10. A line that contradicts itself cannot be read.

Source: Kafka 0.10.2, 2.8.2 and 3.9.1, the callers of `state.change.logger`: ReplicaManager, Partition, MetadataCache.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from kafka_spec.conformance.validate.broker_log import BrokerLog
from kafka_spec.conformance.validate.dumps import Dumps, brokers_in
from kafka_spec.conformance.validate.line_ends import LineEnds

CURRENT_LEADER = re.compile(rb" Current leader is (-?\d+)\.")
RECEIVED = re.compile(rb" correlation id (\d+) from controller (\d+) epoch (\d+)(?: for partition (\S+))? \(")
CACHED = re.compile(rb" in response to UpdateMetadata request sent by controller (\d+) epoch (\d+) with correlation id (\d+) \(")
UNCACHED = re.compile(
    rb".eleted partition (\S+) from metadata cache in response to UpdateMetadata request sent by controller (\d+) epoch "
    rb"(\d+) with correlation id (\d+)"
)
ADDED = re.compile(
    rb"Add (\d+) partitions and deleted (\d+) partitions from metadata cache in response to UpdateMetadata request sent "
    rb"by controller (\d+) epoch (\d+) with correlation id (\d+)"
)
BEGINS = re.compile(
    rb"(Leader|Follower) (\S+) (?:with topic id \S+ )?starts at leader epoch (\d+) from offset \d+(?: with partition epoch (\d+))?"
    rb".*revious leader epoch was (-?\d+)\."
)
ISR = re.compile(rb" ISR \[([\d,]*)\]")
HANDLED = re.compile(
    rb".andling LeaderAndIsr request correlationId (\d+) from controller (\d+)(?: epoch (\d+))? "
    rb"(?:for (\d+) partitions \(|starting the become-(leader|follower) transition for partition (\S+)(?: with leader (-?\d+))? \()"
)
COMPLETED = re.compile(
    rb".ompleted LeaderAndIsr request correlationId (\d+) from controller (\d+) epoch (\d+) for the become-(leader|follower) "
    rb"transition for partition (\S+?)(?: with leader (-?\d+))? \("
)
OLD_COMPLETED = re.compile(rb".ompleted (?:LeaderAndIsr|StopReplica) ")
FINISHED = re.compile(rb".inished LeaderAndIsr request in \d+ms correlationId (\d+) from controller (\d+) for (\d+) partitions \(")
HANDLED_STOPS = re.compile(rb".andling StopReplica request correlationId (\d+) from controller (\d+) for (\d+) partitions \(")
UNAVAILABLE = re.compile(
    rb".eceived LeaderAndIsrRequest with correlation id (\d+) from controller (\d+) epoch (\d+) for partition (\S+) "
    rb".*new leader (-?\d+)"
)
FETCHERS = re.compile(
    rb".topped fetchers as part of (?:LeaderAndIsr request correlationId (\d+) from controller (\d+) epoch (\d+) as part of the "
    rb"become-leader transition|become-follower request from controller (\d+) epoch (\d+) with correlation id (\d+)) for (\d+) "
)
SKIPPED = re.compile(
    rb".kipped the .*become-(leader|follower) state change .*with correlation id (\d+) from controller (\d+) epoch (\d+) for "
    rb"partition (\S+)"
)
OLD = re.compile(
    rb".gnoring (?:LeaderAndIsr|StopReplica) request from controller (\d+) with correlation id (\d+) since its controller "
    rb"epoch (\d+) is old. Latest known controller epoch is (\d+)"
)
OLD_METADATA = re.compile(
    rb".eceived update metadata request with correlation id (\d+) from an old controller (\d+) with epoch (\d+). Latest "
    rb"known controller epoch is (\d+)"
)
IGNORED = re.compile(
    rb".gnoring (LeaderAndIsr|StopReplica) request (?:\(delete=(\w+)\) )?from controller (\d+) with correlation id (\d+) "
    rb"epoch (\d+) for partition (\S+) "
    rb"(?:since its associated leader epoch (-?\d+) "
    rb"(?:(?:is smaller than|is not higher than) the current leader epoch (-?\d+)|(matches)))?"
)
STOP_RECEIVED = re.compile(
    rb".eceived StopReplica request \w+(\(.*leaderEpoch=(-?\d+), deletePartition=(\w+)\)) correlation id (\d+) from "
    rb"controller (\d+) epoch (\d+) for partition (\S+) \("
)

BrokerHandler = Callable[[bytes, int, BrokerLog], bool]
"""Reads a line from an offset on; returns whether that succeeded."""


class BrokerMessages:
    """Reads the messages of brokers."""

    def __init__(self, dumps: Dumps) -> None:
        self._dumps = dumps
        self._received_from = LineEnds(RECEIVED, numbers=3)
        self._cached_from = LineEnds(CACHED, numbers=3)
        self.handlers: Mapping[bytes, BrokerHandler | None] = {
            b"eceived L": self._received,
            b"ached lea": self._cached,
            b"eleted pa": self._uncached,
            b"andling L": self._handled,
            b"eceived S": self._stop_received,
            b"eceived u": self._old_metadata,
            b"gnoring L": self._ignored,
            b"gnoring S": self._ignored,
            b"ompleted ": self._completed,
            b"inished L": self._finished,
            b"topped fe": self._fetchers,
            b"kipped th": self._skipped,
            b"andling S": self._stops_announced,
        }

    def _received(self, line: bytes, start: int, log: BrokerLog) -> bool:
        if line.startswith(b"eceived LeaderAndIsrR", start + 1):
            match = UNAVAILABLE.match(line, start)
            if match is not None:
                log.requests.excuses((int(match[2]), int(match[1])), int(match[3]), match[4], int(match[5]))
            return match is not None
        cut = line.rfind(b" correlation id ")
        end = self._received_from.read(line[cut:]) if line.startswith(b"eceived LeaderAndIsr request ", start + 1) else None
        if end is None:
            return False
        correlation, controller, epoch, name = end
        now, named = self._dumps.read(line[start + 30 : cut])
        sender = log.arrives(controller, epoch, correlation)
        name = name or named
        if name is None or (named is not None and named != name and not name.startswith(b"[")):
            return False
        if now is not None:
            log.requests.received((controller, correlation), epoch, name, now)
            log.view(name).received(sender, now)
        return True

    def _cached(self, line: bytes, start: int, log: BrokerLog) -> bool:
        cut = line.rfind(b" in response to ")
        named = line.rfind(b" for partition ", start, cut)
        end = self._cached_from.read(line[cut:]) if named > 0 and line.startswith(b"ached leader info ", start + 1) else None
        if end is None:
            return False
        name = line[named + 15 : cut]
        if b" " in name or not name:
            return False
        now, own = self._dumps.read(line[start + 19 : named])
        if own is not None and own != name:
            return False  # it contradicts itself
        controller, epoch, correlation = end
        sender = log.takes(controller, epoch, correlation, 0)
        if now is not None:
            log.view(name).cached(sender, now)
        return True

    def _uncached(self, line: bytes, start: int, log: BrokerLog) -> bool:
        match = UNCACHED.match(line, start)
        if match is None:
            return False
        name, controller, epoch, correlation = match.groups()
        sender = log.takes(int(controller), int(epoch), int(correlation), 1)
        log.view(name).uncached(sender)
        return True

    def _handled(self, line: bytes, start: int, log: BrokerLog) -> bool:
        match = HANDLED.match(line, start)
        if match is None:
            return False
        correlation, controller, epoch, count, role, name, leader = match.groups()
        key = (int(controller), int(correlation))
        if count is not None:
            log.requests.handles(key, int(count))
        elif role is not None:
            if log.stale:
                log.acts(*key)
            log.requests.starts(key, int(epoch or -1), name, role.decode(), None if leader is None else int(leader))
        return True

    def _completed(self, line: bytes, start: int, log: BrokerLog) -> bool:
        match = COMPLETED.match(line, start)
        if match is not None:
            leader = None if match[6] is None else int(match[6])
            log.requests.completes((int(match[2]), int(match[1])), int(match[3]), match[5], match[4].decode(), leader)
        return match is not None or OLD_COMPLETED.match(line, start) is not None

    def _finished(self, line: bytes, start: int, log: BrokerLog) -> bool:
        match = FINISHED.match(line, start)
        if match is not None:
            log.requests.finishes((int(match[2]), int(match[1])), int(match[3]))
        return match is not None

    def _fetchers(self, line: bytes, start: int, log: BrokerLog) -> bool:
        match = FETCHERS.match(line, start)
        if match is not None:
            leads = match[1] is not None
            correlation, controller, epoch = match.group(1, 2, 3) if leads else match.group(6, 4, 5)
            role = "leader" if leads else "follower"
            log.requests.mentions((int(controller), int(correlation)), int(epoch), None, role, int(match[7]))
        return True

    def _skipped(self, line: bytes, start: int, log: BrokerLog) -> bool:
        match = SKIPPED.match(line, start)
        if match is not None:
            log.requests.mentions((int(match[3]), int(match[2])), int(match[4]), match[5], match[1].decode(), -1)
        return True

    def _stops_announced(self, line: bytes, start: int, log: BrokerLog) -> bool:
        match = HANDLED_STOPS.match(line, start)
        if match is not None:
            log.announces_stops(int(match[2]), int(match[1]), int(match[3]))
        return match is not None or b" StopReplica " in line

    def _stop_received(self, line: bytes, start: int, log: BrokerLog) -> bool:
        match = STOP_RECEIVED.match(line, start)
        if match is None:
            return False
        dump, leader_epoch, delete, correlation, controller, epoch, name = match.groups()
        sender = log.arrives(int(controller), int(epoch), int(correlation))
        log.stops(int(controller), int(correlation), name)
        log.view(name).stop_received(sender, int(leader_epoch), delete == b"true", self._dumps.stop(dump))
        return True

    def _old_metadata(self, line: bytes, start: int, log: BrokerLog) -> bool:
        match = OLD_METADATA.match(line, start)
        if match is None:
            return False
        correlation, controller, epoch, latest = map(int, match.groups())
        log.refuses(controller, epoch, correlation, latest)
        return True

    def _ignored(self, line: bytes, start: int, log: BrokerLog) -> bool:
        match = OLD.match(line, start)
        if match is not None:
            controller, correlation, epoch, latest = map(int, match.groups())
            log.refuses(controller, epoch, correlation, latest)
            return True
        match = IGNORED.match(line, start)
        if match is None:
            return False
        request, deletes, sender, number, of, name, leader_epoch, current, _ = match.groups()
        view = log.view(name)
        if request == b"StopReplica":
            log.refuses_stop(int(sender), int(of), int(number), name)
            if leader_epoch is None:
                view.stop_skipped()
            else:
                now = None if current is None else int(current)
                view.stop_ignored(int(leader_epoch), now, None if deletes is None else deletes == b"true")
        elif leader_epoch is not None:
            log.requests.refuses((int(sender), int(number)), int(of), name, int(leader_epoch))
            view.ignored(int(leader_epoch), None if current is None else int(current))
        return True

    def rarer(self, line: bytes, start: int) -> BrokerHandler | None:
        """Return the reader of a line that begins with a word of its own."""
        if line.startswith(b"Add ", start):
            return self._added
        if line.startswith((b"Leader ", b"Follower "), start):
            return self._begins
        return None

    def _added(self, line: bytes, start: int, log: BrokerLog) -> bool:
        match = ADDED.match(line, start)
        if match is None:
            return False
        added, deleted, controller, epoch, correlation = map(int, match.groups())
        log.takes_all(log.takes(controller, epoch, correlation), added, deleted)
        return True

    def _begins(self, line: bytes, start: int, log: BrokerLog) -> bool:
        match = BEGINS.match(line, start)
        if match is None:
            return False
        kind, name, epoch, version, previous = match.groups()
        untrue = kind == b"Follower" and line.find(b"Previous leader ", start) >= 0 and b"Previous leader epoch" not in line
        isr = ISR.search(line, start)
        leader = CURRENT_LEADER.search(line, start)
        if leader is not None:
            log.requests.follows(name, int(leader[1]))
        log.requests.begins(
            name, kind.lower().decode(), int(epoch), brokers_in(isr[1]) if isr else None, int(version) if version else None
        )
        log.view(name).begins(int(epoch), None if untrue else int(previous))
        return True
