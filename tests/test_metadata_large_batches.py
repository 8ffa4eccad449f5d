"""A batch of many partitions is explained in linear time, whatever is wrong with it."""

from __future__ import annotations

from typing import Any

import pytest

from kafka_spec.conformance.metadata import image as keys
from kafka_spec.conformance.metadata.batches import MetadataEntry
from kafka_spec.conformance.metadata.explaining import Explaining
from kafka_spec.conformance.metadata.judge import LogJudge
from kafka_spec.conformance.metadata.predictions import Predicted
from kafka_spec.conformance.metadata.rulings import BY_NAME
from kafka_spec.impl.kraft.record_schemas import SCHEMAS

PARTITIONS = 5_000
TOPIC = b"t" * 16


def record(key: int, **fields: Any) -> tuple[int, Any]:
    """Return a record in its newest version."""
    return key, SCHEMAS[key].plain(**fields)


def cluster() -> Explaining:
    """Return explanations of a cluster of three brokers, each with all partitions of one topic in its ISRs."""
    explaining = Explaining(LogJudge(), BY_NAME["4.1.2"])
    image = explaining.judge.image
    image.apply(*record(keys.FEATURE, name=keys.METADATA_VERSION, feature_level=27))
    for broker in range(3):
        fields = {"broker_id": broker, "incarnation_id": bytes([broker] * 16), "broker_epoch": broker, "fenced": False}
        image.apply(*record(keys.REGISTER_BROKER, **fields))
    image.apply(*record(keys.TOPIC, name="t", topic_id=TOPIC))
    for number in range(PARTITIONS):
        state = {"replicas": (0, 1, 2), "isr": (0, 1, 2), "leader": 0, "leader_epoch": 0, "partition_epoch": 0}
        lists = {"removing_replicas": (), "adding_replicas": ()}
        image.apply(*record(keys.PARTITION, partition_id=number, topic_id=TOPIC, **state, **lists))
    return explaining


def fence(explaining: Explaining) -> list[tuple[int, Any]]:
    """Return the records of the fence of broker 2, which follows everywhere."""
    changes = [record(keys.PARTITION_CHANGE, partition_id=one, topic_id=TOPIC, isr=(0, 1)) for one in range(PARTITIONS)]
    epoch = explaining.judge.image.brokers[2].epoch
    return [*changes, record(keys.REGISTRATION_CHANGE, broker_id=2, broker_epoch=epoch, fenced=1)]


@pytest.mark.parametrize("fault", ["none", "first", "last", "dropped", "doubled"])
def test_a_large_fence_with_one_fault_is_predicted_a_few_times(fault: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A fence of 5,000 partitions that one record spoils is predicted a few times, not once for each of its records."""
    explaining = cluster()
    records = fence(explaining)
    spoilt = record(
        keys.PARTITION_CHANGE, partition_id=0 if fault == "first" else PARTITIONS - 1, topic_id=TOPIC, isr=(0, 1), leader=1
    )
    if fault in ("first", "last"):
        records[0 if fault == "first" else -2] = spoilt
    elif fault == "dropped":
        del records[-2]
    elif fault == "doubled":
        records.insert(-1, records[-2])
    predicted = 0
    removal = explaining.explainer.removal

    def counted(broker: int) -> Predicted:
        nonlocal predicted
        predicted += 1
        return removal(broker)

    monkeypatch.setattr(explaining.explainer, "removal", counted)
    explaining.batch([MetadataEntry(offset, *one) for offset, one in enumerate(records)])
    assert predicted <= (1 if fault == "none" else 50)
    assert explaining.unexplained == (fault != "none")
