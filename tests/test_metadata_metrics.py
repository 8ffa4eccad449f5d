"""The metrics of a metadata log are those of its image and of its report, in the format that Prometheus reads."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from conftest import ROOT, Command
from prometheus_client.parser import text_string_to_metric_families

LOGS = ROOT / "tests" / "logs" / "kraft"
FINDING = LOGS / "f440-elr-outside-replicas"


def samples(text: str) -> dict[tuple[str, str], float]:
    """Return the samples of a text by name and the value of their label, as Prometheus' own parser reads them."""
    families = list(text_string_to_metric_families(text))
    assert all(family.documentation for family in families)
    return {(one.name, *one.labels.values(), "")[:2]: one.value for family in families for one in family.samples}  # type: ignore[misc]


def of(known: dict[tuple[str, str], float], name: str) -> dict[str, int]:
    """Return the samples of one metric that are not 0."""
    return {label: int(value) for (one, label), value in known.items() if one == f"kafka_spec_metadata_{name}" and value}


@pytest.mark.parametrize("log", sorted(path.name for path in LOGS.iterdir() if path.is_dir()))
def test_metrics_say_what_the_report_says(log: str, inside: Command, tmp_path: Path) -> None:
    """Records, changes, violations and bugs are those of the JSON report, and brokers and partitions those of the image."""
    folder = str(LOGS / log)
    metrics = tmp_path / "metrics.prom"
    run = inside("validate", folder, "-q", "--format", "json", "--output", f"prometheus:{metrics}")
    report, known = json.loads(run.stdout), samples(metrics.read_text(encoding="utf-8"))
    assert of(known, "records_total") == {"": report["records"]}
    assert of(known, "partition_changes_total").get("", 0) == report["changes"]
    violations = [one["kind"] for one in report["violations"]]
    assert of(known, "violations_total") == {kind: violations.count(kind) for kind in violations}
    image = json.loads(inside("validate", folder, "-q", "--format", "json", "--at", "999999999").stdout)
    partitions = list(image["partitions"].values())
    counted = of(known, "partitions")
    assert counted.get("all", 0) == len(partitions)
    assert counted.get("leaderless", 0) == sum(one["leader"] < 0 for one in partitions)
    assert counted.get("with_elr", 0) == sum(bool(one["elr"]) for one in partitions)
    assert sum(of(known, "brokers").values()) == len(image["brokers"])


def test_a_finding_is_in_the_metrics(inside: Command) -> None:
    """A known bug that acts is counted by its name; each property is there, with 0 where nothing is wrong."""
    known = samples(inside("validate", str(FINDING), "-q", "--format", "prometheus").stdout)
    assert of(known, "bug_events_total") == {"elr-outside-replicas": 2, "reassignment-waits-after-election": 1, "KAFKA-19975": 1}
    assert known["kafka_spec_metadata_violations_total", "LeaderInIsr"] == 0


def test_where_metrics_make_no_sense(inside: Command, tmp_path: Path) -> None:
    """Logs of clusters with ZooKeeper have none; a file that cannot be written is misuse; `--follow` needs a file."""
    for arguments, cure in (
        ((str(ROOT / "tests" / "logs" / "2.8.2"), "--format", "prometheus"), "text, json, junit or html"),
        ((str(FINDING), "--output", f"prometheus:{tmp_path}/none/file"), "No such file or directory"),
        ((str(FINDING), "--follow", "--format", "prometheus"), "write prometheus:FILE"),
        ((str(FINDING), "--why", "p-0", "--format", "prometheus"), "leave --at, --why"),
    ):
        refused = inside("validate", *arguments, "-q")
        assert refused.returncode == 2 and cure in refused.stderr, refused.stderr
