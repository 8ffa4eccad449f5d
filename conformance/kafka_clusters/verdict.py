"""The verdict on a run with real brokers: what clients lost, and the properties of the tables, judged on ZooKeeper and on the logs.

The names of the properties are those of the model, as in other runs. `StateChangeLogs` is broken by each violation that
`kafka-spec validate` finds in the state-change logs of all brokers, Kafka's and ours.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from kafka_spec.conformance.kafka_clusters.zookeeper_state import ZooKeeperState
from kafka_spec.conformance.validate.judged import judged
from kafka_spec.impl.protocol.topic_partition import TopicPartition
from kafka_spec.impl.run.history import ALL, History
from kafka_spec.impl.run.verdict import Broken
from kafka_spec.impl.run.zookeeper.assignment_verdict import work_left

LOGS = "StateChangeLogs"


@dataclass
class LogsChecked:
    """What `validate` saw in the state-change logs."""

    transitions: int = 0
    followed: int = 0
    broken: list[Broken] = field(default_factory=list)

    @property
    def text(self) -> str:
        """What was seen, in words."""
        return f"{self.transitions} transitions, {self.followed} requests followed from controller to broker"

    def plain(self) -> dict[str, object]:
        """Return what was seen, for JSON."""
        return {"transitions": self.transitions, "requests_followed": self.followed}


def broken_in_zookeeper(state: ZooKeeperState) -> list[Broken]:
    """Return the violated properties that ZooKeeper shows, once the cluster is quiet and all brokers run."""
    registered, broken = state.registered(), [Broken(*one) for one in work_left(state.session)]
    for partition, replicas in sorted(state.assignments().items()):
        held = state.leadership(partition)
        if held is None or held.leader not in registered:
            broken.append(Broken("QuietLeaderIsRegistered", f"no broker that is registered leads {partition}"))
            continue
        if not held.isr:
            broken.append(Broken("IsrNeverEmpty", f"the ISR of {partition} is empty"))
        elif held.leader not in held.isr:
            broken.append(Broken("LeaderInIsr", f"broker {held.leader} leads {partition}, and the ISR is {held.isr}"))
        if outside := [broker for broker in held.isr if broker not in replicas]:
            broken.append(Broken("IsrAssigned", f"the ISR of {partition} holds broker {outside[0]}, not of {list(replicas)}"))
    return broken


def broken_for_clients(history: History, left: Iterable[TopicPartition], judged: Iterable[TopicPartition]) -> list[Broken]:
    """Return the violated properties that clients saw: acknowledged records that are lost, and offsets that have changed.

    `history.read` holds what was read at the end, from the beginning on; `left` are partitions that could not be read to their end,
    `judged` those that exist.
    """
    broken = [Broken("QuietLeaderIsRegistered", f"no client could read {partition} to its end") for partition in left]
    for changed, offset, before, after in history.changed:
        reported = f"consumers have read {before} and then {after} at offset {offset} of {changed}"
        broken.append(Broken("Committed", reported))
    exist = set(judged)
    for value, sent in history.sent.items():
        if sent.acks != ALL or sent.offset is None or sent.partition not in exist:
            continue
        if (found := history.read.get(sent.partition, {}).get(sent.offset)) != value:
            reported = f"{value} was acknowledged with acks=all at offset {sent.offset} of {sent.partition}, where {found} is now"
            broken.append(Broken("Committed", reported))
    return broken


def broken_on_disk(assigned: Mapping[TopicPartition, Iterable[int]], data: Callable[[int], Path]) -> list[Broken]:
    """Compare the replicas of each partition byte for byte, once their brokers have ended; `data` is a broker's folder.

    One may have less than another, but all were in the ISR when nothing was written any more.
    """
    broken = []
    for partition, replicas in sorted(assigned.items()):
        logs = {broker: log_of(data(broker) / str(partition)) for broker in replicas}
        longest = max(logs, key=lambda broker: len(logs[broker]))
        for broker, log in logs.items():
            if not logs[longest].startswith(log):
                reported = (
                    f"the logs of {partition} on brokers {broker} and {longest} differ below their common length of {len(log)}"
                )
                broken.append(Broken("LogMatch", reported))
    return broken


def log_of(folder: Path) -> bytes:
    """Return the record batches of a replica: its segments, in the order of their base offsets; none without a folder."""
    return b"".join(segment.read_bytes() for segment in sorted(folder.glob("*.log")))


def broken_in_logs(folder: Path) -> LogsChecked:
    """Check the state-change logs below a folder as `kafka-spec validate` does."""
    outcome = judged([folder])
    found = [
        Broken(LOGS, f"{one.when} {one.subject}, {one.actor}: {one.summary}; `kafka-spec validate` reports more")
        for one in outcome.violations
    ]
    return LogsChecked(outcome.transitions, outcome.followed, found)


def merged(later: History, earlier: Mapping[TopicPartition, Mapping[int, str]]) -> None:
    """Enter what consumers had read during the run, so that the last reading is compared with it."""
    last = {partition: dict(values) for partition, values in later.read.items()}
    later.read = {partition: dict(values) for partition, values in earlier.items()}
    for partition, values in last.items():
        for offset, value in values.items():
            later.saw(partition, offset, value)
