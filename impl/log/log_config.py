"""The settings of a partition's log."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class LogConfig:
    """Limits of a segment and density of indexes; Kafka's names and defaults. Sizes in bytes, `segment_ms` in milliseconds."""

    segment_bytes: int = 1 << 30
    segment_ms: int = 7 * 24 * 3600 * 1000
    segment_index_bytes: int = 10 << 20
    index_interval_bytes: int = 4096
