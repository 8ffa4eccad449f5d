"""Our decisions about partitions of KRaft are those that Kafka's own classes made, as recorded, with or without Java."""

from __future__ import annotations

import json

import pytest

from kafka_spec.conformance.kafka_classes import kraft_changes, kraft_ours
from kafka_spec.spec.decisions.kraft_variants import BumpOnShrink
from tests.recorded_answers import FILE, VERSIONS, changes, our_answers

RECORDED = json.loads(FILE.read_text(encoding="utf-8"))


@pytest.mark.share(20)
@pytest.mark.parametrize("version", VERSIONS)
def test_we_decide_as_kafka_did(version: str) -> None:
    """Each recorded change, reassignment, proposal of a leader, and sequence of events on a broker ends as it did in Kafka."""
    mine, its = our_answers(version), RECORDED[version]
    assert len(its["changes"]) == len(changes()) > 500
    differing = [
        (change, one, other) for change, one, other in zip(changes(), mine["changes"], its["changes"], strict=True) if one != other
    ]
    assert differing == []
    assert mine["reassignments"] == its["reassignments"]
    assert mine["proposals"] == its["proposals"]
    assert mine["partitions"] == its["partitions"]
    assert len(set(its["proposals"])) > 7, "errors of all kinds"


@pytest.mark.parametrize("decision", ["bump_on_shrink", "last_known_acceptable", "elr"])
def test_another_decision_is_noticed(decision: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A decision that is made otherwise than in Kafka differs from what was recorded."""
    executable = kraft_ours.executable

    def otherwise(version: str, settings: tuple[tuple[str, int], ...]) -> object:
        other = BumpOnShrink.WANTED if decision == "bump_on_shrink" and dict(settings)[decision] else 0
        return executable(version, (*((name, value) for name, value in settings if name != decision), (decision, int(other))))

    monkeypatch.setattr(kraft_changes, "executable", otherwise)
    assert our_answers("4.4.0")["changes"] != RECORDED["4.4.0"]["changes"]
