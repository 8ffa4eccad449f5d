"""A cluster as the end of its metadata log leaves it: the image, the release that rules, and the model of that release."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from kafka_spec.conformance.metadata.batches import LogBatch
from kafka_spec.conformance.metadata.explaining import Explaining, possible_releases
from kafka_spec.conformance.metadata.judge import LogJudge, time_of
from kafka_spec.conformance.metadata.rulings import NO_BUMP_FROM, Release
from kafka_spec.conformance.metadata.settings import StaticSettings
from kafka_spec.conformance.metadata.shapes import FoldedPartition
from kafka_spec.conformance.metadata.sources import find_sources
from kafka_spec.conformance.metadata.validation import NO_SNAPSHOT, Validation
from kafka_spec.spec.case import Era
from kafka_spec.spec.decisions.kraft_variants import BumpOnShrink
from kafka_spec.spec.decisions.partition_change import effective_min_isr
from kafka_spec.spec.decisions.variants import Checked
from kafka_spec.spec.kraft.eras import SUITE
from kafka_spec.spec.language.domain import BrokerSet
from kafka_spec.spec.vocabulary.table import Spec, SpecError


@dataclass
class ClusterAtEnd:
    """A cluster at the end of its log; `notes` say what its image lacks."""

    judge: LogJudge
    release: Release
    notes: list[str]

    @property
    def text(self) -> str:
        """When it was so, and what it runs, in a line."""
        image = self.judge.image
        when = f", at {time_of(self.judge.last_time)} UTC" if self.judge.last_time else ""
        features = f"Kafka {self.release.name}, {'with' if image.has_elr else 'without'} eligible leader replicas"
        return f"the metadata before offset {self.judge.next or 0:,}{when}: {features}"

    @cached_property
    def _explaining(self) -> Explaining:
        return Explaining(self.judge, self.release)

    def allows_unclean(self, topic_id: bytes) -> bool:
        """Whether a topic allows unclean elections."""
        return self._explaining.allows_unclean(topic_id)

    def not_modelled(self, partition: FoldedPartition) -> str:
        """Return what decides about a partition and is not in the model, or ""."""
        explainer, replicas = self._explaining.explainer, partition.shape.replicas
        usable = explainer.acceptable(partition, BrokerSet.of(replicas))
        if offline := [broker for broker in replicas if broker not in usable]:
            return f"its log directory on broker {offline[0]} is offline, and the model has no log directories"
        own = effective_min_isr(self.judge.min_isr(partition.topic_id), len(replicas))
        if self.judge.image.has_elr and explainer.least(partition) != own:
            return "the controller limits its min.insync.replicas by the replicas of partition 0, and the model has one partition"
        return ""

    @cached_property
    def model(self) -> Spec:
        """The model of KRaft with the known bugs of the release, and the features that are on."""
        image = self.judge.image
        era = SUITE.spec_of(Era(self.release.name, f"Kafka {self.release.name}", self.release.name, ()))
        bumps = 0 < image.metadata_version < NO_BUMP_FROM
        decisions = {"elr": Checked(int(image.has_elr)), "bump_on_shrink": self.release.bump if bumps else BumpOnShrink.NONE}
        return era.replacing(era.name, era.summary, decisions=decisions)


def cluster_of(
    paths: Sequence[Path], settings: StaticSettings, release: Release | None = None, until: Callable[[LogBatch], bool] | None = None
) -> ClusterAtEnd:
    """Read metadata logs to their end, or up to the first batch of which `until` holds.

    `release` is that of the controller, None to find it in the log.

    Raises:
        SpecError: there is no metadata log, or no partition in it.
    """
    judge = LogJudge(settings)
    with find_sources(paths) as sources:
        outcome = Validation(sources, judge).run(until or (lambda _: False))
    if not judge.image.partitions:
        raise SpecError(f"{', '.join(map(str, paths))}: this metadata has no partition; name the log of a cluster with topics")
    notes = [one for one in outcome.unseen if one.endswith(NO_SNAPSHOT)]
    return ClusterAtEnd(judge, possible_releases(judge, release)[0], notes)
