"""What is known of a metadata log as Prometheus' text format, for the textfile collector of the node exporter.

A file is replaced at once, so a collector never reads half of it. While a log is followed it is written every `EVERY` seconds, and
when following ends.

Source: https://prometheus.io/docs/instrumenting/exposition_formats/; Kafka's gauges of ReplicaManager and ControllerMetrics.
"""

from __future__ import annotations

import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

from prometheus_client import CollectorRegistry, generate_latest, write_to_textfile
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from kafka_spec.conformance.metadata.bugs import MEANINGS
from kafka_spec.conformance.metadata.explaining import Explaining
from kafka_spec.conformance.metadata.judge import LogJudge
from kafka_spec.conformance.metadata.kinds import KINDS
from kafka_spec.conformance.metadata.shapes import FoldedPartition
from kafka_spec.spec.decisions.partition_change import effective_min_isr
from kafka_spec.spec.kraft.machines import BrokerState
from kafka_spec.spec.vocabulary.table import SpecError

EVERY = 5.0
"""The seconds between two writes while a log is followed."""
PREFIX = "kafka_spec_metadata"
PARTITION_STATES = ("all", "leaderless", "under_replicated", "at_min_isr", "below_min_isr", "with_elr", "reassigning")
"""What partitions are counted as; one may be counted as several."""


class LogMetrics(Collector):
    """Collects the metrics of a judge; `following` is whether the log is being followed."""

    def __init__(self, judge: LogJudge, explaining: Explaining | None, files: Sequence[Path]) -> None:
        """`files` are replaced by each write."""
        self.following = False
        self._files = files
        self._judge = judge
        self._explaining = explaining
        self._written = 0.0
        self._registry = CollectorRegistry()
        self._registry.register(self)

    def text(self) -> str:
        """Return all metrics."""
        return generate_latest(self._registry).decode()

    def write(self) -> None:
        """Replace the files.

        Raises:
            SpecError: one cannot be written.
        """
        for file in self._files:
            try:
                write_to_textfile(str(file), self._registry)
            except OSError as error:
                raise SpecError(f"{file}: {error.strerror}") from None
        self._written = time.monotonic()

    def write_if_due(self) -> None:
        """Replace the files if the last time was long enough ago; what cannot be written is reported, and tried again."""
        if time.monotonic() - self._written >= EVERY:
            try:
                self.write()
            except SpecError as error:
                self._written = time.monotonic()
                print(f"kafka-spec: {error}", file=sys.stderr, flush=True)

    def collect(self) -> Iterator[Metric]:
        """Yield the metrics."""
        judge, image = self._judge, self._judge.image
        yield _counter("records", "Records of the metadata log that were judged", judge.records)
        yield _counter("partition_changes", "Changes of partitions in the log", judge.changes)
        if self._explaining is not None:
            text = "Changes of partitions that are events of the model"
            yield _counter("partition_changes_explained", text, self._explaining.changes_explained)
            bugs = Counter(dict.fromkeys(MEANINGS, 0))
            bugs.update(one.bug for one in self._explaining.acting)
            yield _counters("bug_events", "Events on which a known bug acts", "bug", bugs)
        found = Counter(dict.fromkeys(KINDS, 0))
        found.update(one.kind for one in judge.violations)
        yield _counters("violations", "Violations of each property", "property", found)
        yield _gauges("partitions", "Partitions in each state", "state", self._partitions())
        brokers = Counter(dict.fromkeys((state.name.lower() for state in BrokerState if state != BrokerState.UNREGISTERED), 0))
        brokers.update(image.state_of(number).name.lower() for number in image.brokers)
        yield _gauges("brokers", "Registered brokers in each state", "state", brokers)
        yield GaugeMetricFamily(f"{PREFIX}_next_offset", "The offset behind the last record that was judged", judge.next or 0)
        last = "The time of the last batch, in seconds since 1970"
        yield GaugeMetricFamily(f"{PREFIX}_last_record_timestamp_seconds", last, judge.last_time / 1000)
        if judge.reigns:
            newest = judge.reigns[-1]
            yield GaugeMetricFamily(f"{PREFIX}_quorum_epoch", "The newest epoch of the quorum", newest.epoch)
            yield GaugeMetricFamily(f"{PREFIX}_quorum_leader", "The controller of that epoch, -1 if unknown", newest.controller)
        yield GaugeMetricFamily(f"{PREFIX}_following", "1 while the log is followed", int(self.following))

    def _partitions(self) -> Counter[str]:
        """Return how many partitions are in each state."""
        counted = Counter(dict.fromkeys(PARTITION_STATES, 0))
        for partition in self._judge.image.all_partitions():
            counted.update(self._states(partition))
        return counted

    def _states(self, partition: FoldedPartition) -> Iterator[str]:
        """Yield the states that a partition counts as; min.insync.replicas is the effective one, as the broker's gauges have it."""
        shape = partition.shape
        least = effective_min_isr(self._judge.min_isr(partition.topic_id), len(shape.replicas))
        kept = set(shape.replicas) - set(shape.adding)  # a broker that is being added is not missing yet (isUnderReplicated)
        applies = {
            "all": True,
            "leaderless": shape.leader < 0,
            "under_replicated": len(shape.isr) < len(kept),
            "at_min_isr": len(shape.isr) == least,
            "below_min_isr": len(shape.isr) < least,
            "with_elr": bool(shape.elr),
            "reassigning": bool(shape.adding or shape.removing),
        }
        return (state for state, holds in applies.items() if holds)


def _counter(name: str, text: str, value: int) -> Metric:
    return CounterMetricFamily(f"{PREFIX}_{name}", text, value)


def _counters(name: str, text: str, label: str, values: Counter[str]) -> Metric:
    return _labelled(CounterMetricFamily(f"{PREFIX}_{name}", text, labels=[label]), values)


def _gauges(name: str, text: str, label: str, values: Counter[str]) -> Metric:
    return _labelled(GaugeMetricFamily(f"{PREFIX}_{name}", text, labels=[label]), values)


def _labelled(family: CounterMetricFamily | GaugeMetricFamily, values: Counter[str]) -> Metric:
    for key, value in values.items():
        family.add_metric([key], value)
    return family
