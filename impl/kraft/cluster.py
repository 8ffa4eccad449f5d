"""A cluster of KRaft: the metadata log, its controller, and brokers by number; those that are listed run."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from random import Random
from uuid import UUID

from kafka_spec.impl.kraft.broker import KRaftProcess
from kafka_spec.impl.kraft.controller import KRaftController
from kafka_spec.impl.kraft.metadata_log import MetadataImages, MetadataLog
from kafka_spec.impl.kraft.metadata_requests import FetchMetadataRequest, FetchMetadataResponse
from kafka_spec.impl.log.log_config import LogConfig
from kafka_spec.impl.protocol.settings import Settings
from kafka_spec.spec.vocabulary.table import Spec


class KRaftNodes:
    """The controller and the brokers, each with a folder below `folder`."""

    def __init__(
        self,
        folder: Path,
        era: Spec,
        log: MetadataLog,
        clock: Callable[[], float] = lambda: 0.0,
        seed: int = 0,
        settings: Settings | None = None,
        config: LogConfig | None = None,
    ) -> None:
        """`clock` returns seconds since 1970; `seed` is for incarnation ids; `config` is that of the brokers' logs."""
        self.folder = folder
        self.era = era
        self.settings = settings or Settings()
        self.controller = KRaftController(era, log, self.settings)
        self.brokers: dict[int, KRaftProcess] = {}
        self._clock = clock
        self._config = config
        self._random = Random(seed)

    @property
    def log(self) -> MetadataImages:
        """The metadata log."""
        return self.controller.log

    def new_id(self) -> UUID:
        """Return an id that no other topic or process has."""
        return UUID(int=self._random.getrandbits(128), version=4)

    def folder_of(self, number: int) -> Path:
        """Return a broker's data folder."""
        return self.folder / str(number)

    def start(self, number: int) -> KRaftProcess:
        """Start a broker's process, which has not registered yet."""
        folder = self.folder_of(number)
        folder.mkdir(parents=True, exist_ok=True)
        incarnation = self.new_id()
        broker = KRaftProcess(number, self.era, folder, incarnation, self._clock, self.settings, self._config)
        self.brokers[number] = broker
        return broker

    def crash(self, number: int) -> None:
        """End a broker's process without order."""
        self.brokers.pop(number).crash()

    def close(self, number: int) -> None:
        """End a broker's process in order."""
        self.brokers.pop(number).close()

    def committed(self, request: FetchMetadataRequest, most: int | None = None) -> FetchMetadataResponse:
        """Return the batches of the metadata log that a broker does not have, at most so many."""
        return self.log.after(request.end, most=most)

    def end(self) -> None:
        """End all processes, and close all files."""
        for number in list(self.brokers):
            self.crash(number)
        self.log.close()
