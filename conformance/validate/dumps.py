"""Leadership as the requests and states in log lines print it, in the forms of 0.10 to 3.9.

Depends on text, not on the rules. Dumps are cached: the lines of the sender and of all receivers contain the same one.
"""

from __future__ import annotations

import re

from kafka_spec.conformance.validate.events import LeaderAndIsr

NAMED = re.compile(
    rb"\w+\((?:topicName='([^']*)', partitionIndex=(\d+), )?(?:controllerEpoch=\d+, )?leader=(-?\d+), leaderEpoch=(-?\d+), "
    rb"isr(?:WithBrokerEpoch)?=(.*?), (?:leaderRecoveryState=\w+, )?(?:zkVersion|partitionEpoch)=(-?\d+)"
    rb"(?:, replicas=(\[[\d, ]*\]|[\d,]*))?(?:, addingReplicas=\[([\d, ]*)\], removingReplicas=\[([\d, ]*)\])?"
)
COLONS = re.compile(
    rb"Leader:(-?\d+),ISR:([\d,]*),(?:LeaderRecoveryState:\w+,)?LeaderEpoch:(-?\d+),(?:ZkVersion:(-?\d+),)?ControllerEpoch:-?\d+"
    rb"(?:.*AllReplicas:([\d,]*))?"
)
NUMBER = re.compile(rb"\d+")
BROKER_ID = re.compile(rb"brokerId=(\d+)")
MOST = 20_000
"""Number of cached dumps."""

Read = tuple[LeaderAndIsr | None, bytes | None]
NOTHING: Read = (None, None)


_lists: dict[bytes, tuple[int, ...]] = {}


def brokers_in(text: bytes) -> tuple[int, ...]:
    """Return the numbers in a list, or the brokers of an ISR with broker epochs, in their order; cached, since lists repeat."""
    known = _lists.get(text)
    if known is None:
        if len(_lists) >= MOST:
            _lists.clear()
        found = BROKER_ID.findall(text) if b"brokerId" in text else NUMBER.findall(text)
        known = _lists[text] = tuple(map(int, found))
    return known


class Dumps:
    """Reads dumps, and caches the most recent ones."""

    def __init__(self) -> None:
        self._known: dict[bytes, Read] = {}

    def read(self, dump: bytes) -> Read:
        """Return the leadership, and the partition if the dump names it; None for what it does not contain.

        0.10 printed some requests by their Java identity only, without any content.
        """
        known = self._known.get(dump)
        if known is None:
            if len(self._known) >= MOST:
                self._known.clear()
            known = self._known[dump] = _read(dump)
        return known


def _read(dump: bytes) -> Read:
    match = NAMED.match(dump)
    if match is not None:
        topic, number, leader, epoch, isr, version, replicas, adding, removing = match.groups()
        name = None if topic is None else topic + b"-" + number
        moving = bool(adding or removing)
        return LeaderAndIsr(int(leader), int(epoch), brokers_in(isr), int(version), brokers_in(replicas or b""), moving), name
    match = COLONS.search(dump)
    if match is None:
        return NOTHING
    leader, isr, epoch, version, replicas = match.groups()
    return LeaderAndIsr(int(leader), int(epoch), brokers_in(isr), int(version or -1), brokers_in(replicas or b"")), None
