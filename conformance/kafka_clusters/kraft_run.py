"""A run of real brokers of KRaft under our controller, from its first epoch to the verdict.

The verdict is that of clients, of the disks, of the metadata at rest, and of the metadata log: every record that our controller has
written is held to the model as `kafka-spec validate` does it, and the copies of all brokers must be prefixes of it.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

from kafka_spec.conformance.kafka_classes.jars import checked_jars
from kafka_spec.conformance.kafka_classes.java import EXCEPTION, Kafka
from kafka_spec.conformance.kafka_clusters.java_clients import Clients
from kafka_spec.conformance.kafka_clusters.kafka_processes import NotSeen
from kafka_spec.conformance.kafka_clusters.kraft_course import KRaftCourse
from kafka_spec.conformance.kafka_clusters.kraft_processes import CONTROLLER, ERAS, KRaftProcesses
from kafka_spec.conformance.kafka_clusters.our_controller import OurController
from kafka_spec.conformance.kafka_clusters.outcome import RealOutcome, read_at_rest
from kafka_spec.conformance.kafka_clusters.verdict import broken_on_disk
from kafka_spec.conformance.metadata.image import ELR_FEATURE, METADATA_VERSION
from kafka_spec.conformance.metadata.judged import judged
from kafka_spec.conformance.metadata.rulings import BY_NAME
from kafka_spec.impl.kraft.image import ClusterImage
from kafka_spec.impl.protocol.quorum_requests import TOPIC
from kafka_spec.impl.run.eras import find_era
from kafka_spec.impl.run.verdict import Broken
from kafka_spec.spec.decisions.variants import Checked
from kafka_spec.spec.vocabulary.table import Spec

SETTINGS: Mapping[str, object] = {"broker.heartbeat.interval.ms": 1_000}
MIN_ISR = 2
LOG = "MetadataLog"
"""The property that each violation in the metadata log breaks."""


@dataclass(frozen=True)
class KRaftOptions:
    """The cluster: Kafka's brokers in number, the partitions of the topic that clients use, and the era of our controller."""

    version: str
    jars: Path
    brokers: int
    partitions: int
    era: Spec
    seed: int

    @property
    def metadata_version(self) -> int:
        """The level of metadata.version: the newest that the brokers know."""
        return BY_NAME[self.version].newest

    @property
    def features(self) -> dict[str, int]:
        """The levels of the new cluster's features, as the era decides."""
        elr = {ELR_FEATURE: 1} if self.era.constants({}).elr == Checked.YES else {}
        return {METADATA_VERSION: self.metadata_version, **elr}

    @property
    def decides_as_kafka(self) -> bool:
        """Whether the era is that of the brokers, so that the metadata log must read as one of their own controllers."""
        return self.era is find_era(ERAS[self.version])

    @property
    def title(self) -> str:
        """The cluster in words."""
        led = f"our controller of {self.era.name}: {self.brokers} real brokers"
        return f"Kafka {self.version}, metadata.version {self.metadata_version}, {led}"

    def plain(self) -> dict[str, object]:
        """Return what only clusters of KRaft have, for JSON."""
        return {"features": self.features}


@dataclass
class MetadataLogChecked:
    """What was seen in the metadata log and its copies."""

    records: int = 0
    changes: int = 0
    explained: int = 0
    nodes: int = 0
    snapshots: int = 0
    """The snapshots that were compared with the metadata."""
    broken: list[Broken] = field(default_factory=list)

    @property
    def text(self) -> str:
        """What was seen, in words."""
        explained = f"{self.explained} of {self.changes} changes of partitions explained"
        return f"{self.records} records of the metadata log on {self.nodes} nodes, {explained}, {self.snapshots} snapshots compared"

    def plain(self) -> dict[str, object]:
        """Return what was seen, for JSON."""
        return {
            "records": self.records,
            "nodes": self.nodes,
            "changes": self.changes,
            "changes_explained": self.explained,
            "snapshots_compared": self.snapshots,
        }


def run_with_kraft(options: KRaftOptions, folder: Path, say: Callable[[str], object]) -> RealOutcome:
    """Run, and return the outcome; the files are in a folder. `say` receives what happens.

    Raises:
        SpecError: Kafka's jars are missing, or Java.
    """
    jars = checked_jars(options.version, options.jars)
    kafka = KRaftProcesses(folder, jars, SETTINGS)
    try:
        return asyncio.run(_run(options, folder, kafka, Clients(Kafka(options.version, jars)), say))
    finally:
        kafka.end()


async def _run(
    options: KRaftOptions, folder: Path, kafka: KRaftProcesses, clients: Clients, say: Callable[[str], object]
) -> RealOutcome:
    began = time.monotonic()
    controller = OurController(
        kafka.data(CONTROLLER), options.era, kafka.ports[CONTROLLER], Random(options.seed), options.features, MIN_ISR
    )
    course = KRaftCourse(options.brokers, options.partitions, kafka, controller, clients, say)
    stopped, broken, log = "", list[Broken](), MetadataLogChecked()
    try:
        await course.conduct()
        broken = [*await read_at_rest(course, kafka), *broken_at_rest(controller.image)]
    except (NotSeen, EXCEPTION, OSError) as error:
        stopped = str(error)
    finally:
        await course.end()
        await controller.end()
    kafka.end()
    if not stopped:
        broken += broken_on_disk(course.assigned, kafka.data)
        log = checked_log(options, [kafka.data(node) for node in (CONTROLLER, *course.kafkas)])
    leaders = sum(held.leader_epoch for held in controller.image.partitions.values())
    controllers = {one.epoch: one.node for one in controller.leaders}
    return RealOutcome.of(options, course, began, leaders, controllers, log, [*broken, *log.broken], stopped)


def broken_at_rest(image: ClusterImage) -> list[Broken]:
    """Return the violated properties that the metadata show, once the cluster is quiet and all brokers run."""
    broken = [Broken("LeaderIsActive", f"broker {one} is fenced at rest") for one, known in image.brokers.items() if known.fenced]
    for partition, held in sorted(image.partitions.items()):
        if held.leader not in image.active:
            broken.append(Broken("LeaderIsActive", f"no broker that is active leads {partition}"))
        elif held.leader not in held.isr:
            broken.append(Broken("LeaderInIsr", f"broker {held.leader} leads {partition}, and the ISR is {held.isr}"))
        if set(held.isr) != set(held.replicas):
            broken.append(Broken("IsrGrowsBack", f"the ISR of {partition} is {held.isr}, and its replicas are {held.replicas}"))
        if held.adding or held.removing:
            broken.append(Broken("ReassignmentEnds", f"{partition} is still being reassigned"))
    return broken


def checked_log(options: KRaftOptions, folders: Sequence[Path]) -> MetadataLogChecked:
    """Check the metadata log in these data folders, the controller's and the brokers', as `kafka-spec validate` does."""
    paths = [folder / str(TOPIC) for folder in folders]
    outcome = judged(paths, release=BY_NAME[options.version], explains=options.decides_as_kafka)
    judge, explaining = outcome.judge, outcome.explaining
    explained = 0 if explaining is None else explaining.changes_explained
    broken = [Broken(LOG, f"{outcome.at(one.place)}: {one.subject}: {one.summary}") for one in outcome.violations]
    broken += [Broken(LOG, reason) for reason in outcome.open_reasons]
    return MetadataLogChecked(judge.records, judge.changes, explained, len(outcome.nodes), len(outcome.compared), broken)
