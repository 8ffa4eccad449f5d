"""This project's controller of KRaft on Kafka's wire protocol, a quorum of one: brokers of Kafka fetch its log and obey it.

It runs in this process, on the event loop. To kill it is to close its connections and to forget its memory; the next one begins
another epoch on the same log.

Source: Kafka 4.4 QuorumController.java, ControllerServer.scala, BootstrapMetadata.java.
"""

from __future__ import annotations

import asyncio
import socket
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from random import Random
from typing import Any
from uuid import UUID

from kafka_spec.conformance.kafka_clusters.kafka_processes import HOST
from kafka_spec.conformance.kafka_clusters.kraft_processes import CLUSTER_ID, CONTROLLER
from kafka_spec.impl.kafka_wire.kraft_apis import KRAFT_CONTROLLER
from kafka_spec.impl.kafka_wire.listener import KafkaListener
from kafka_spec.impl.kraft.controller import KRaftController
from kafka_spec.impl.kraft.controller_apis import ControllerApis
from kafka_spec.impl.kraft.image import ClusterImage
from kafka_spec.impl.kraft.metadata_log import MetadataLog
from kafka_spec.impl.kraft.quorum_of_one import QuorumOfOne
from kafka_spec.impl.kraft.records import (
    BROKER_CONFIG,
    ConfigRecord,
    ControllerEndpoint,
    ControllerFeature,
    FeatureLevelRecord,
    MetadataRecord,
    RegisterControllerRecord,
)
from kafka_spec.impl.protocol.quorum_requests import QuorumLeader, SnapshotId
from kafka_spec.impl.protocol.settings import MIN_ISR
from kafka_spec.spec.vocabulary.table import Spec

LOOK = 0.05
"""The seconds between two looks at sessions and at waiting fetches."""
SESSION_TIMEOUT_MS = 6_000
"""broker.session.timeout.ms; shorter than Kafka's, so that a killed broker is fenced sooner."""
LISTENER = "CONTROLLER"


class OurController:
    """The controller, while it runs and after; `apis` is that of the running process. Use it on the event loop."""

    def __init__(self, folder: Path, era: Spec, port: int, random: Random, features: Mapping[str, int], min_isr: int) -> None:
        """`folder` gets the metadata log; `features` and `min_isr` are the levels and min.insync.replicas of the new cluster."""
        self.folder = folder
        self.failure: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        """Receives the first unexpected error."""
        self.leaders: list[QuorumLeader] = []
        """The epochs that it has led."""
        self._era = era
        self._port = port
        self._random = random
        self._features = features
        self._min_isr = min_isr
        self.apis: ControllerApis | None = None
        """What the running process serves."""
        self._log: MetadataLog | None = None
        self._listener: KafkaListener | None = None
        self._looking: asyncio.Task[None] | None = None

    @property
    def image(self) -> ClusterImage:
        """The metadata at the end of its log."""
        assert self._log is not None, "it has not been started"
        return self._log.newest

    async def start(self) -> None:
        """Begin an epoch on the log, and serve."""
        log = MetadataLog(self.folder, clock=time.time)
        is_new = log.end == 0
        log.begin_epoch(CONTROLLER)
        leader = QuorumLeader(CONTROLLER, log.epoch, HOST, self._port)
        controller = KRaftController(self._era, log)
        controller.heartbeats.timeout_ms = SESSION_TIMEOUT_MS
        controller.begin([*(self._of_new_cluster() if is_new else []), self._registration()], _now())
        self._log, self.apis = log, ControllerApis(controller, QuorumOfOne(log, leader, CLUSTER_ID), self._random)
        self.leaders.append(leader)
        listening = socket.create_server((HOST, self._port))
        self._listener = KafkaListener(self._serve, _at_once, apis_served=KRAFT_CONTROLLER)
        await self._listener.begin(listening)
        self._looking = asyncio.create_task(self._look())

    def _of_new_cluster(self) -> list[MetadataRecord]:
        levels = [FeatureLevelRecord(name, level) for name, level in self._features.items()]
        return [*levels, ConfigRecord(BROKER_CONFIG, "", MIN_ISR, str(self._min_isr))]

    def _registration(self) -> MetadataRecord:
        """Return the record of the controller's process: its addresses, and the features that it supports."""
        incarnation = UUID(int=self._random.getrandbits(128), version=4)
        supported = tuple(ControllerFeature(name, 1, level) for name, level in self._features.items())
        return RegisterControllerRecord(CONTROLLER, incarnation, (ControllerEndpoint(LISTENER, HOST, self._port),), supported)

    def take_snapshot(self) -> SnapshotId:
        """Write a snapshot, with which the log begins from then on."""
        assert self._log is not None, "it has not been started"
        return self._log.take_snapshot()

    async def kill(self) -> None:
        """End it where it is: its connections break, and what it knows beside the log is forgotten."""
        assert self._listener is not None
        assert self._looking is not None
        assert self._log is not None
        self.apis = None
        self._looking.cancel()
        await asyncio.gather(self._looking, return_exceptions=True)
        await self._listener.end()
        self._log.close()

    async def end(self) -> None:
        """End it, if it runs."""
        if self.apis is not None:
            await self.kill()
        self.failure.cancel()

    async def _serve(self, message: Any, reply: Callable[[object], object]) -> bool:
        if self.apis is None:
            return False
        try:
            self.apis.serve(message, _now(), reply)
        except Exception as error:  # a defect of ours must end the run, not one connection
            self._fail(error)
            return False
        return True

    async def _look(self) -> None:
        while self.apis is not None:
            try:
                self.apis.look(_now())
            except Exception as error:  # as in `_serve`
                self._fail(error)
                return
            await asyncio.sleep(LOOK)

    def _fail(self, error: Exception) -> None:
        if not self.failure.done():
            self.failure.set_exception(error)


def _now() -> int:
    return int(time.time() * 1000)


def _at_once(act: Callable[..., object], *arguments: object) -> None:
    """Deliver an answer: it is on the event loop already."""
    act(*arguments)
