"""Leadership as the requests and states in log lines print it, in the forms of 0.10 to 3.9.

Knows text, no rule. A dump that was read before is looked up: the same one stands in the lines of its sender and of all receivers.
"""

from __future__ import annotations

import re

from kafka_spec.conformance.validate.events import LeaderAndIsr

NAMED = re.compile(
    rb"leader=(-?\d+), leaderEpoch=(-?\d+), isr(?:WithBrokerEpoch)?=(.*?), (?:leaderRecoveryState=\w+, )?"
    rb"(?:zkVersion|partitionEpoch)=(-?\d+)(?:, replicas=(\[[\d, ]*\]|[\d,]*))?"
    rb"(?:, addingReplicas=\[([\d, ]*)\], removingReplicas=\[([\d, ]*)\])?"
)
COLONS = re.compile(
    rb"Leader:(-?\d+),ISR:([\d,]*),(?:LeaderRecoveryState:\w+,)?LeaderEpoch:(-?\d+),(?:ZkVersion:(-?\d+),)?ControllerEpoch:-?\d+"
    rb"(?:.*AllReplicas:([\d,]*))?"
)
TOPIC = re.compile(rb"topicName='([^']*)', partitionIndex=(\d+)")
NUMBER = re.compile(rb"\d+")
BROKER_ID = re.compile(rb"brokerId=(\d+)")
MOST = 20_000
"""Dumps that are kept."""

Read = tuple[LeaderAndIsr | None, bytes | None]
NOTHING: Read = (None, None)


def brokers_in(text: bytes) -> tuple[int, ...]:
    """Return the numbers in a text, in their order."""
    return tuple(map(int, NUMBER.findall(text)))


class Dumps:
    """Reads dumps, and remembers the last ones."""

    def __init__(self) -> None:
        self._known: dict[bytes, Read] = {}

    def read(self, dump: bytes) -> Read:
        """Return the leadership, and the partition where the dump names it; None for what it does not tell.

        0.10 printed some requests by their Java identity only, which tells nothing.
        """
        known = self._known.get(dump)
        if known is None:
            if len(self._known) >= MOST:
                self._known.clear()
            known = self._known[dump] = _read(dump)
        return known


def _read(dump: bytes) -> Read:
    topic = TOPIC.search(dump)
    name = None if topic is None else topic[1] + b"-" + topic[2]
    match = NAMED.search(dump)
    if match is not None:
        leader, epoch, isr, version, replicas, adding, removing = match.groups()
        members = BROKER_ID.findall(isr) if b"brokerId" in isr else NUMBER.findall(isr)
        state = LeaderAndIsr(
            int(leader),
            int(epoch),
            tuple(map(int, members)),
            int(version),
            brokers_in(replicas or b""),
            bool(adding or removing),
        )
        return state, name
    match = COLONS.search(dump)
    if match is None:
        return None, name
    leader, isr, epoch, version, replicas = match.groups()
    state = LeaderAndIsr(int(leader), int(epoch), brokers_in(isr), int(version or -1), brokers_in(replicas or b""))
    return state, name
