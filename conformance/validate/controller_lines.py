"""Parses the lines of controller.log that matter to the checks: elections, start-ups, deletions.

Depends on Kafka's texts, not on rules.

Source: Kafka 0.10.2, 2.8.2 and 3.9.1: KafkaController, TopicDeletionManager, the two machines.
"""

from __future__ import annotations

import re

from kafka_spec.conformance.validate.actors import Actors
from kafka_spec.conformance.validate.controller_log import ControllerLog
from kafka_spec.conformance.validate.states import PARTITION_NUMBERS, REPLICA_NUMBERS

ELECTED = re.compile(rb"\[Controller id=(\d+)\] (\d+) successfully elected as the controller. Epoch incremented to (\d+) ")
ELECTED_0_10 = re.compile(rb"\[Controller (\d+)\]: Controller (\d+) incremented epoch to (\d+) ")
STARTED = re.compile(rb"Started (?:partition|replica) state machine with initial state -> \w*\((.*)\) \(")
OF_REPLICA = re.compile(rb"\[Topic=([^,\]]*),Partition=(\d+),Replica=(\d+)\] -> (\w+)")
OF_PARTITION = re.compile(rb"(?:\[([^,\]]*),(\d+)\]|([^\s,(\[]+)) -> (\w+Partition)\b")
WRITER = re.compile(rb"\[\w+(?: \w+)*[ =](\d+)\]")
"""The writer of a line."""
DELETION = re.compile(rb"Deletion of topic (\S+) (\(re\)started|successfully completed) \(")


class ControllerLogLines:
    """Reads controller.log of one broker, in order."""

    def __init__(self, actors: Actors) -> None:
        self._actors = actors
        self._elected: ControllerLog | None = None
        """The controller; another broker may have written this source."""

    def read(self, line: bytes) -> bool:
        """Read a line; return False if it should be readable and is not."""
        if b" with initial state -> " in line:
            return self._started(line)
        if b"Deletion of topic " in line:
            return self._deletion(line)
        if b" incremented " not in line:
            return True
        new = ELECTED.search(line, 26)
        match = new or ELECTED_0_10.search(line, 26)
        if match is not None:
            controller, epoch = int(match[1]), int(match[3])
            if int(match[2]) != controller:
                return False  # it contradicts itself
            self._elected = ControllerLog(controller, epoch, new is None, self._actors)
            self._actors.claims.elections[epoch] = (controller, self._actors.cursor.when)
            self._actors.name(controller, epoch, f"controller {controller}")
        return True

    def _deletion(self, line: bytes) -> bool:
        match = DELETION.search(line, 26)
        if match is not None:
            topic = match[1].decode("utf-8", "replace")
            cursor = self._actors.cursor
            self._actors.claims.deletions[topic] = (match[2].startswith(b"succ"), cursor.when, cursor.place)
        return True

    def _started(self, line: bytes) -> bool:
        match = STARTED.search(line, 26)
        if match is None:
            return False
        if self._elected is None:
            return True
        log = self._elected
        writer = WRITER.search(line, 26)
        if writer is not None and int(writer[1]) != log.number:
            return False
        self._actors.claims.started.add((log.epoch, "replica" if b"Started replica" in line else "partition"))
        for topic, partition, replica, state in OF_REPLICA.findall(match[1]):
            number = REPLICA_NUMBERS.get(state)
            if number is not None:
                log.view(topic + b"-" + partition).started(int(replica), number)
        if b"Topic=" not in match[1]:
            for topic, partition, name, state in OF_PARTITION.findall(match[1]):
                number = PARTITION_NUMBERS.get(state)
                if number is not None:
                    log.view(name or topic + b"-" + partition).started(-1, number)
        return True
