"""The outcome of a run, as data: records produced, acknowledged, read and lost, and elections."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from kafka_spec.impl.protocol.topic_partition import TopicPartition
from kafka_spec.impl.run.history import ALL, History
from kafka_spec.impl.run.observer import Observer
from kafka_spec.impl.run.options import Options
from kafka_spec.impl.run.verdict import Verdict

ACKS = {ALL: "all", 1: "1", 0: "0"}


@dataclass(frozen=True)
class PartitionOutcome:
    """A partition at the end of a run; leader -1 means none."""

    partition: TopicPartition
    leader: int
    leader_epoch: int
    isr: tuple[int, ...]
    end_offset: int


@dataclass(frozen=True)
class RunOutcome:
    """The outcome of a run. Counts of records are by acks."""

    options: Options
    verdict: Verdict
    rested: bool
    """Whether the cluster became quiet in time."""
    resting: float
    """The seconds that it took, or had."""
    produced: Mapping[str, int]
    acknowledged: Mapping[str, int]
    stored: int
    twice: int
    """The number of additional copies among them."""
    read: int
    elections: Mapping[str, int]
    unclean: int
    controllers: int
    snapshots: Mapping[str, int]
    """How many snapshots of the metadata log controllers have written, and loaded; nothing of a controller without others."""
    faults: Mapping[str, int]
    operations: Mapping[str, int]
    partitions: tuple[PartitionOutcome, ...]
    stopped: str = ""
    """Why the run was stopped before its end, else empty; then nothing is judged, and partitions are as brokers know them."""
    errors: tuple[str, ...] = ()
    """Unexpected errors after which controllers resigned: defects of the implementation."""

    @property
    def kept(self) -> bool:
        """Whether no property was violated, and every partition has a leader, as far as judged."""
        return not self.stopped and not self.verdict.broken and not self.verdict.leaderless


def outcome_of_run(
    options: Options,
    observer: Observer,
    history: History,
    verdict: Verdict,
    partitions: Iterable[PartitionOutcome],
    *,
    rested: bool,
    resting: float,
    elections: Mapping[str, int],
    unclean: int,
    controllers: int,
    snapshots: Mapping[str, int] | None = None,
    operations: Mapping[str, int],
    stopped: str = "",
    errors: Iterable[str] = (),
) -> RunOutcome:
    """Return the outcome of a run: what its world knows, and the counts of the clients' history and of the observer."""
    counts = {name: history.count(acks) for acks, name in ACKS.items()}
    return RunOutcome(
        options=options,
        verdict=verdict,
        rested=rested,
        resting=resting,
        produced={name: sent for name, (sent, _) in counts.items()},
        acknowledged={name: acknowledged for name, (_, acknowledged) in counts.items()},
        stored=verdict.stored,
        twice=verdict.twice,
        read=sum(len(values) for values in history.read.values()),
        elections=elections,
        unclean=unclean,
        controllers=controllers,
        snapshots=snapshots or {},
        faults={name: observer.faults[name] for name in options.faults if observer.faults[name]},
        operations=operations,
        partitions=tuple(partitions),
        stopped=stopped,
        errors=tuple(errors),
    )
