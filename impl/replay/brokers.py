"""What a broker's process and its disk hold, field by field: in the model, and here.

A leader's ISR, version and controller epoch mean nothing in a follower, which keeps its last ones here. What a leader knows of its
followers' logs the model reads where they are: a leader that was loaded has heard of no fetch.
"""

from __future__ import annotations

import os
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from impl.broker import Broker
from impl.controller_context import mask, unmask
from impl.log import batches
from impl.log.log import PartitionLog
from impl.replay.requests import P
from impl.replay.same import Part, Same, attribute
from impl.replica_manager import Fetcher, Partition
from spec.control import state
from spec.control.state import NO_EPOCH, Life, Role
from spec.domain import NONE

if TYPE_CHECKING:
    from impl.replay.projection import Projection


class Process:
    """A broker as its correspondence looks at it; `broker` is None while its process does not run."""

    def __init__(self, projection: Projection, number: int, broker: Broker | None) -> None:
        self.projection = projection
        self.number = number
        self.broker = broker

    @property
    def life(self) -> int:
        """Whether the process runs."""
        if self.broker is None:
            return int(Life.DOWN)
        return int(Life.STOPPING if self.broker.is_stopping else Life.UP)

    def put_life(self, record: state.BrokerNode) -> None:
        """Say that the process is stopping, or is not; whether it runs was seen to before."""
        if self.broker is not None:
            self.broker.is_stopping = record.life == Life.STOPPING

    @property
    def has_session(self) -> int:
        """Whether its session lives, whatever it thinks."""
        return int(self.broker is not None and not self.projection.ensemble.is_over(self.broker.session.id))

    def put_session(self, record: state.BrokerNode) -> None:
        """Let its session live, or be over."""
        if self.broker is None:
            return
        if record.has_session:
            self.projection.ensemble.revive(self.broker.session)
        else:
            self.projection.ensemble.end(self.broker.session.id)

    @property
    def broker_epoch(self) -> int:
        """The creation id of its registration, as it knows it."""
        return 0 if self.broker is None else self.projection.epoch_of(self.number, self.broker.replicas.broker_epoch)

    def put_broker_epoch(self, record: state.BrokerNode) -> None:
        """Tell it the creation id of its registration."""
        if self.broker is not None:
            self.broker.replicas.broker_epoch = self.projection.creation_of(self.number, record.broker_epoch)

    @property
    def controller_epoch(self) -> int:
        """The newest controller epoch it has seen."""
        return 0 if self.broker is None else self.broker.replicas.controller_epoch

    @controller_epoch.setter
    def controller_epoch(self, epoch: int) -> None:
        if self.broker is not None:
            self.broker.replicas.controller_epoch = epoch

    @property
    def alive(self) -> int:
        """Whom its metadata cache holds for alive."""
        return 0 if self.broker is None else mask(self.broker.replicas.alive)

    @alive.setter
    def alive(self, brokers: int) -> None:
        if self.broker is not None:
            self.broker.replicas.alive = frozenset(unmask(brokers))

    @property
    def replica(self):
        return state.Replica(0, -1, -1, 0, 0, 0, 0, 0, 0, [])

    @property
    def stale(self) -> int:
        """The first request that took effect though its generation was over: noted by who delivers."""
        return self.projection.stale[self.number]

    @stale.setter
    def stale(self, noted: int) -> None:
        self.projection.stale[self.number] = noted


PROCESS = Part(
    state.BrokerNode,
    Same("life", lambda process: process.life, Process.put_life),
    Same("has_session", lambda process: process.has_session, Process.put_session),
    Same("broker_epoch", lambda process: process.broker_epoch, Process.put_broker_epoch),
    attribute("controller_epoch"),
    attribute("alive"),
    Same("replica", lambda process: process.replica, lambda process, record: None),
    attribute("stale"),
)


def read_process(process: Process) -> state.BrokerNode:
    """Return a broker in the model's words."""
    found: state.BrokerNode = PROCESS.read(process)
    return found


def put_process(process: Process, record: state.BrokerNode) -> None:
    """Put a broker into a state of the model."""
    PROCESS.put(process, record)
