"""A partition's log on both sides: ours in a folder, and Kafka's."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from kafka_spec.conformance.kafka_classes.java import Kafka
from kafka_spec.impl.log.log import PartitionLog
from kafka_spec.impl.log.log_config import LogConfig

NAME = "t-0"
MOST_READS = 200


class OurLog:
    """Our log in a folder."""

    def __init__(self, folder: Path, config: LogConfig, recovery_point: int) -> None:
        self._log = PartitionLog(folder, config, recovery_point)

    def append(self, data: bytes, epoch: int) -> None:
        """Append a batch as the leader of an epoch."""
        self._log.append_as_leader(data, epoch)

    def truncate(self, offset: int) -> None:
        """Truncate to an offset."""
        self._log.truncate_to(offset)

    def close(self) -> None:
        """Close the files."""
        self._log.close()

    @property
    def end(self) -> int:
        """The offset of the next record."""
        return self._log.end_offset

    def seen(self, times: Sequence[int]) -> dict[str, Any]:
        """Return what a reader sees, and the offsets at these times."""
        log = self._log
        return {
            "end": log.end_offset,
            "segments": log.segment_bases,
            "epochs": log.epochs,
            "reads": [log.read(offset, 1 << 20) for offset in range(min(log.end_offset, MOST_READS))],
            "by time": [log.offset_for_timestamp(time) for time in times],
        }


class KafkasLog:
    """Kafka's log in a folder."""

    def __init__(self, kafka: Kafka, folder: Path, config: LogConfig, recovery_point: int, is_clean: bool) -> None:
        self._kafka = kafka
        settings = kafka.named("java.util.Properties")()
        for name, value in (
            ("segment.bytes", config.segment_bytes),
            ("segment.ms", config.segment_ms),
            ("segment.index.bytes", config.segment_index_bytes),
            ("index.interval.bytes", config.index_interval_bytes),
            ("retention.ms", -1),
        ):
            settings.put(name, str(value))
        folder.mkdir(exist_ok=True)
        mockito = kafka.named("org.mockito.Mockito")
        self._log = kafka.singleton("kafka.log.Log").apply(
            kafka.named("java.io.File")(str(folder)),
            kafka.named("kafka.log.LogConfig").fromProps(kafka.named("java.util.HashMap")(), settings),
            0,
            recovery_point,
            mockito.mock(kafka.named("kafka.utils.Scheduler").class_, mockito.RETURNS_MOCKS),
            kafka.named("kafka.server.BrokerTopicStats")(),
            kafka.named("org.apache.kafka.common.utils.Time").SYSTEM,
            3_600_000,
            3_600_000,
            kafka.named("kafka.server.LogDirFailureChannel")(1),
            is_clean,
            False,
        )

    def append(self, data: bytes, epoch: int) -> None:
        """Append a batch as the leader of an epoch."""
        kafka = self._kafka
        buffer = kafka.named("java.nio.ByteBuffer").wrap(kafka.bytes(data))
        records = kafka.named("org.apache.kafka.common.record.MemoryRecords").readableRecords(buffer)
        default = kafka.named("kafka.api.ApiVersion").latestVersion()
        self._log.appendAsLeader(records, epoch, getattr(self._log, "appendAsLeader$default$3")(), default)

    def truncate(self, offset: int) -> None:
        """Truncate to an offset."""
        self._log.truncateTo(offset)

    def close(self) -> None:
        """Close the files."""
        self._log.close()

    @property
    def end(self) -> int:
        """The offset of the next record."""
        return int(self._log.logEndOffset())

    def seen(self, times: Sequence[int]) -> dict[str, Any]:
        """Return what a reader sees, and the offsets at these times."""
        kafka, log = self._kafka, self._log
        cache = kafka.optional(log.leaderEpochCache())
        return {
            "end": self.end,
            "segments": tuple(int(segment.baseOffset()) for segment in kafka.listed(log.logSegments())),
            "epochs": tuple((int(e.epoch()), int(e.startOffset())) for e in kafka.listed(cache.epochEntries())),
            "reads": [self._read(offset) for offset in range(min(self.end, MOST_READS))],
            "by time": [self._by_time(time) for time in times],
        }

    def _read(self, offset: int) -> bytes:
        kafka = self._kafka
        records = self._log.read(offset, 1 << 20, kafka.singleton("kafka.server.FetchLogEnd"), True).records()
        if int(records.sizeInBytes()) == 0:
            return b""
        buffer = kafka.named("java.nio.ByteBuffer").allocate(int(records.sizeInBytes()))
        records.readInto(buffer, 0)
        return bytes(buffer.array())

    def _by_time(self, time: int) -> int | None:
        found = self._kafka.optional(self._log.fetchOffsetByTimestamp(time))
        return None if found is None else int(found.offset)
