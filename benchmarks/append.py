"""Measure the small records per second that a log and a broker's partition append: `python -m benchmarks.append`."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from kafka_spec.impl.broker.record_requests import Produces
from kafka_spec.impl.log import batches
from kafka_spec.impl.log.log import PartitionLog
from kafka_spec.impl.protocol.controller_requests import (
    LeaderAndIsrRequest,
    LeaderAndIsrState,
    Leadership,
    UpdateMetadataRequest,
    UpdateMetadataState,
)
from kafka_spec.impl.protocol.data_requests import ProduceRequest
from kafka_spec.impl.protocol.errors import ErrorCode
from kafka_spec.impl.protocol.registration import BrokerRegistration
from kafka_spec.impl.protocol.state_change_log import StateChangeLog
from kafka_spec.impl.protocol.topic_partition import TopicPartition
from kafka_spec.impl.zookeeper.broker.data_plane import DataPlane
from kafka_spec.impl.zookeeper.broker.replica_manager import ReplicaManager
from kafka_spec.spec.zookeeper.fixed import FIXED

RECORDS = 200_000
PARTITION = TopicPartition("orders", 0)


def leader(folder: Path) -> DataPlane:
    """Return a broker that leads the partition and is its only replica."""
    replicas = ReplicaManager(1, FIXED, folder, StateChangeLog(lambda _: None, lambda: 0.0))
    leadership = Leadership(1, 0, (1,), 0, 1)
    replicas.handle(LeaderAndIsrRequest(1, 1, -1, {PARTITION: LeaderAndIsrState(leadership, (1,), True)}, ()), 0)
    live = (BrokerRegistration(1, ()),)
    replicas.handle(UpdateMetadataRequest(1, 1, -1, {PARTITION: UpdateMetadataState(leadership, (1,), ())}, live), 0)
    return DataPlane(replicas)


def measure(name: str, size: int, append: Callable[[bytes], object]) -> None:
    """Append records of 21 bytes in batches of a size, each batch built, checked, stamped and written."""
    start = time.perf_counter()
    for _ in range(RECORDS // size):
        append(bytes(batches.build([(0, None, b"twenty bytes of value")] * size)))
    print(f"{name}, {size:4} records a batch: {RECORDS / (time.perf_counter() - start):9,.0f} records a second")


def main() -> None:
    """Append to a log, and produce with acks=all to a broker that is the only member of the ISR."""
    for size in (1, 10, 100):
        with tempfile.TemporaryDirectory() as folder:
            log = PartitionLog(Path(folder) / str(PARTITION))
            measure("log   ", size, lambda records, log=log: log.append_as_leader(records, 0))  # type: ignore[misc]
            log.close()
        with tempfile.TemporaryDirectory() as folder:
            plane = leader(Path(folder))
            done: list[Produces] = []

            def produce(records: bytes, plane: DataPlane = plane, done: list[Produces] = done) -> None:
                plane.handle_produce(ProduceRequest(-1, {PARTITION: records}), 0, done.append)

            measure("broker", size, produce)
            assert len(done) == RECORDS // size and {answer[PARTITION].error for answer in done} == {ErrorCode.NONE}
            plane.replicas.close()


if __name__ == "__main__":
    main()
