"""Messages and leadership as the requests and states in log lines print them, in the forms of 0.10 to 3.9.

Depends on text, not on the rules. Dumps are cached: the lines of the sender and of all receivers contain the same one.
"""

from __future__ import annotations

import re

from kafka_spec.conformance.validate.events import LeaderAndIsr, Message

NAMED = re.compile(
    rb"\w+\((?:topicName='([^']*)', partitionIndex=(\d+), )?(?:controllerEpoch=\d+, )?leader=(-?\d+), leaderEpoch=(-?\d+), "
    rb"isr(?:WithBrokerEpoch)?=(.*?), (?:leaderRecoveryState=\w+, )?(?:zkVersion|partitionEpoch)=(-?\d+)"
    rb"(?:, replicas=(\[[\d, ]*\]|[\d,]*))?(?:, addingReplicas=\[([\d, ]*)\], removingReplicas=\[([\d, ]*)\])?"
)
COLONS = re.compile(
    rb"Leader:(-?\d+),ISR:([\d,]*),(?:LeaderRecoveryState:\w+,)?LeaderEpoch:(-?\d+),(?:ZkVersion:(-?\d+),)?ControllerEpoch:-?\d+"
    rb"(?:.*AllReplicas:([\d,]*))?"
)
FIELD = re.compile(rb"(\w+)=('[^']*'|\[(?:[^\[\]]|\[[^\]]*\])*\]|[^,()]*)")
"""A field of a message, as the generated classes of Kafka's messages print it."""
RENAMED = {"zkVersion": "partitionEpoch"}
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
        self._stops: dict[bytes, Message] = {}

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

    def stop(self, dump: bytes) -> Message:
        """Return a StopReplica of one partition."""
        known = self._stops.get(dump)
        if known is None:
            if len(self._stops) >= MOST:
                self._stops.clear()
            known = self._stops[dump] = Message(dump, fields_of)
        return known


def fields_of(dump: bytes) -> dict[str, str]:
    """Return all fields of a message that is printed as NAME(field=value, ...)."""
    fields: dict[str, str] = {}
    for name, value in FIELD.findall(dump):
        text = name.decode("ascii", "replace")
        fields[RENAMED.get(text, text)] = value.decode("utf-8", "replace").replace(", ", ",")
    return fields


def fields_of_colons(dump: bytes) -> dict[str, str]:
    """Return the fields of a leadership that is printed as in 0.10, by the names of today; none if it is not one."""
    match = COLONS.search(dump)
    if match is None:
        return {}
    leader, isr, epoch, version, replicas = match.groups()
    fields = {"leader": leader.decode(), "isr": _listed(isr), "leaderEpoch": epoch.decode()}
    if version is not None:
        fields["partitionEpoch"] = version.decode()
    if replicas is not None:
        fields["replicas"] = _listed(replicas)
    return fields


def _read(dump: bytes) -> Read:
    match = NAMED.match(dump)
    if match is not None:
        topic, number, leader, epoch, isr, version, replicas, adding, removing = match.groups()
        name = None if topic is None else topic + b"-" + number
        moving = bool(adding or removing)
        all_replicas, message = brokers_in(replicas or b""), Message(dump, fields_of)
        return LeaderAndIsr(int(leader), int(epoch), brokers_in(isr), int(version), all_replicas, moving, message), name
    match = COLONS.search(dump)
    if match is None:
        return NOTHING
    leader, isr, epoch, version, replicas = match.groups()
    all_replicas, message = brokers_in(replicas or b""), Message(dump, fields_of_colons)
    return LeaderAndIsr(int(leader), int(epoch), brokers_in(isr), int(version or -1), all_replicas, False, message), None


def _listed(brokers: bytes) -> str:
    return f"[{','.join(map(str, brokers_in(brokers)))}]"
