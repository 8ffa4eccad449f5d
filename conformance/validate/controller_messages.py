"""Parses the messages of controllers in state-change.log.

Depends on Kafka's texts, not on the rules. A message is recognised by its first bytes after the first letter, which is lower case
in 0.10. A line that contradicts itself cannot be read.

Source: Kafka 0.10.2, 2.8.2 and 3.9.1, the callers of `state.change.logger`: StateChangeLogger, (Zk)PartitionStateMachine,
(Zk)ReplicaStateMachine, ControllerChannelManager.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from kafka_spec.conformance.validate.controller_log import ControllerLog
from kafka_spec.conformance.validate.dumps import Dumps, brokers_in
from kafka_spec.conformance.validate.line_ends import LineEnds
from kafka_spec.conformance.validate.states import PARTITION_NUMBERS, REPLICA_NUMBERS

REPLICA_CHANGED = re.compile(rb".hanged state of replica (\d+) for partition (\S+) from (\w+) to (\w+) \(")
PARTITION_CHANGED = re.compile(rb".hanged partition (\S+) state from (\w+) to (\w+)(?: with assigned replicas ([\d,]*))? \(")
PARTITION_ONLINE = re.compile(rb".hanged partition (\S+) from (\w+) to (\w+) with (?:state (.*)|leader -?\d+) \(")
REMOVED = re.compile(rb"Partition (\S+) state changed to (\(.*\)) after removing replica (\d+) from the ISR")
BECOMING = (b"ending become-leader", b"ending become-follower")
TOLD = re.compile(rb" to broker (\d+) for partition (\S+) \(")
STOPPED = re.compile(
    rb".ending StopReplica request \w+(\(.*leaderEpoch=(-?\d+), deletePartition=(\w+)\)) to broker (\d+) for partition "
    rb"(\S+) \("
)
ANSWERED = re.compile(rb" for request (\w+) with correlation id (\d+) sent to broker [^ ]+ \(id: (\d+) rack: ")
ANNOUNCED = re.compile(
    rb"Sending LeaderAndIsr request to broker (\d+) with (\d+) become-leader and (\d+) become-follower partitions \("
)
ANNOUNCED_STOPS = re.compile(rb"Sending StopReplica request for (\d+) replicas to broker (\d+) \(")
FLUSHED = re.compile(rb".ending UpdateMetadata request to brokers \w+\(([\d, ]*)\) for (\d+) partitions")
FLUSHED_ONE = re.compile(rb".ending UpdateMetadata request .* to brokers \w+\(([\d, ]*)\) for partition ")
MOVES = re.compile(
    rb"Sent LeaderAndIsr request (\(.*?\)) with new replica assignment (.*) to leader (-?\d+) for partition being "
    rb"reassigned (\S+) \("
)
REPLICAS = re.compile(rb"replicas=([\d,]*)")
REFUSED = re.compile(
    rb"(?:Controller (\d+) epoch (\d+) )?(?:failed to change state|initiated state change of replica (\d+)) for partition "
    rb"(\S+) from (\w+) to (\w+)"
)
ControllerHandler = Callable[[bytes, int, ControllerLog], bool]


class ControllerMessages:
    """Reads the messages of controllers."""

    def __init__(self, dumps: Dumps) -> None:
        self._dumps = dumps
        self._told_to = LineEnds(TOLD, numbers=1)
        self.handlers: Mapping[bytes, ControllerHandler | None] = {
            b"hanged st": self._replica_changed,
            b"hanged pa": self._partition_changed,
            b"artition ": self._removed,
            b"ending be": self._told,
            b"ending St": self._stopped,
            b"ending Up": self._flushed,
            b"ent Leade": self._moves,
            b"ontroller": self._refused,
            b"nitiated ": self._refused,
            b"ending Le": self._announced,
            b"eceived r": self._answered,
        }

    def _replica_changed(self, line: bytes, start: int, log: ControllerLog) -> bool:
        match = REPLICA_CHANGED.match(line, start)
        if match is None:
            return False
        replica, name, source, target = match.groups()
        before, after = REPLICA_NUMBERS.get(source), REPLICA_NUMBERS.get(target)
        if before is None or after is None:
            return False
        log.changing(name).replica_changed(int(replica), before, after)
        return True

    def _partition_changed(self, line: bytes, start: int, log: ControllerLog) -> bool:
        now, assigned = None, b""
        if (match := PARTITION_CHANGED.match(line, start)) is not None:
            name, source, target, assigned = match.groups()
        elif (match := PARTITION_ONLINE.match(line, start)) is not None:
            name, source, target, dump = match.groups()
            if dump is not None and (now := self._dumps.read(dump)[0]) is None:
                return False
        else:
            return False
        before, after = PARTITION_NUMBERS.get(source), PARTITION_NUMBERS.get(target)
        if before is None or after is None:
            return False
        log.changing(name).partition_changed(before, after, now, brokers_in(assigned or b""))
        return True

    def _removed(self, line: bytes, start: int, log: ControllerLog) -> bool:
        match = REMOVED.match(line, start)
        if match is None or (now := self._dumps.read(match[2])[0]) is None:
            return False
        log.changing(match[1]).removed(int(match[3]), now)
        return True

    def _told(self, line: bytes, start: int, log: ControllerLog) -> bool:
        dump = line.find(b" LeaderAndIsr request ", start + 14)
        cut = line.rfind(b" to broker ")
        end = self._told_to.read(line[cut:]) if dump < cut and line[start + 1 : dump] in BECOMING else None
        if end is None:
            return False
        now, own = self._dumps.read(line[dump + 22 : cut])
        broker, name = end
        if now is None or (own is not None and own != name):
            return False
        view = log.sending(name)
        log.counts(broker, line[start + 15 : start + 16] == b"l")
        view.reported(broker, now)
        return True

    def _answered(self, line: bytes, start: int, log: ControllerLog) -> bool:
        at = line.rfind(b" for request ")
        match = ANSWERED.match(line, at) if at > 0 else None
        if match is not None:
            log.answered(int(match[3]), int(match[2]), match[1] != b"UPDATE_METADATA")
        return True

    def _announced(self, line: bytes, start: int, log: ControllerLog) -> bool:
        match = ANNOUNCED.match(line, start)
        if match is None:
            return False
        log.announces(*map(int, match.groups()))
        return True

    def _stopped(self, line: bytes, start: int, log: ControllerLog) -> bool:
        match = STOPPED.match(line, start)
        if match is None:
            announced = ANNOUNCED_STOPS.match(line, start)
            if announced is not None:
                log.announces_stops(int(announced[2]), int(announced[1]))
            return announced is not None or line.startswith(b"Sending StopReplica request (delete", start)
        dump, epoch, delete, broker, name = match.groups()
        view = log.stopping(name)
        log.counts_stop(int(broker))
        view.stopped(int(broker), int(epoch), delete == b"true", self._dumps.stop(dump))
        return True

    def _flushed(self, line: bytes, start: int, log: ControllerLog) -> bool:
        match = FLUSHED.match(line, start)
        if match is not None:
            log.flush(brokers_in(match[1]), int(match[2]))
            return True
        match = FLUSHED_ONE.match(line, start)
        if match is None:
            return False
        log.flush_one(brokers_in(match[1]))
        return True

    def _moves(self, line: bytes, start: int, log: ControllerLog) -> bool:
        match = MOVES.match(line, start)
        if match is None or (now := self._dumps.read(match[1])[0]) is None:
            return False
        if int(match[3]) != now.leader:
            return False
        replicas = REPLICAS.search(match[2])
        log.telling(match[4]).moves(now if replicas is None else now._replace(replicas=brokers_in(replicas[1])))
        return True

    def _refused(self, line: bytes, start: int, log: ControllerLog) -> bool:
        match = REFUSED.match(line, start)
        if match is None:
            return True
        controller, epoch, replica, name, source, target = match.groups()
        if controller is not None and (int(controller), int(epoch)) != (log.number, log.epoch):
            return False  # it contradicts itself
        numbers = PARTITION_NUMBERS if replica is None else REPLICA_NUMBERS
        before, after = numbers.get(source), numbers.get(target)
        if before is None or after is None:
            return False
        log.telling(name).refused(-1 if replica is None else int(replica), before, after)
        return True
