"""The bounds of spec/replication: how many replicas, records and epochs."""

from __future__ import annotations

from kafka_spec.spec.vocabulary.table import BoundSet


def _replication(name: str, replicas: int, log_size: int, max_records: int, max_leader_epoch: int, why: str) -> BoundSet:
    values = {
        "replicas": replicas,
        "log_size": log_size,
        "max_records": max_records,
        "max_leader_epoch": max_leader_epoch,
    }
    return BoundSet(name, values, why)


REPLICATION = (
    _replication("small", 2, 2, 2, 2, "rejects high_watermark and kip_101 within ten thousand states"),
    _replication("tiny", 2, 1, 1, 1, "rejects high_watermark within a few hundred states; for a first look"),
    _replication("three_replicas", 3, 1, 1, 1, "the smallest that rejects kip_279: its flaw needs a third replica"),
    _replication("three_epochs", 3, 1, 1, 2, "the smallest that rejects kip_320_first_try, in the hundred thousands"),
    _replication("medium", 3, 2, 2, 2, "logs that can diverge in the middle; seven hundred thousand states"),
    _replication("large", 3, 3, 3, 2, "four million states: what a proof of kip_320 should rest on in CI"),
    _replication("huge", 3, 3, 3, 3, "some 65 million states: a quarter of an hour on a desk"),
)
"""The bounds of spec/replication."""
