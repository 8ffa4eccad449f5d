"""Controller election: /controller, /controller_epoch, standing for election, and giving up.

Source: Kafka 2.8 KafkaController.scala (elect, maybeResign, triggerControllerMove), KafkaZkClient.scala
(registerControllerAndIncrementControllerEpoch).
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass

from kafka_spec.impl.zookeeper.controller.core import ControllerCore, ControllerEvent, ControllerTask
from kafka_spec.impl.zookeeper.controller.failover import FAIL_OVER
from kafka_spec.impl.zookeeper.controller.zk_client import ControllerMoved
from kafka_spec.impl.zookeeper.coordination import znodes
from kafka_spec.impl.zookeeper.coordination.interface import (
    BadVersion,
    Check,
    Create,
    Delete,
    MultiRefused,
    NodeExists,
    NoNode,
    Set,
    Stat,
)
from kafka_spec.spec.decisions.fencing import epoch_after_change
from kafka_spec.spec.decisions.variants import ControllerElection, EpochWatch, GivingUp
from kafka_spec.spec.zookeeper.machines import ControllerState


@dataclass(frozen=True)
class ControllerChange(ControllerEvent):
    """/controller may have changed: resign if another broker holds it, and read it again; stand for election if it is missing."""

    def handle(self, core: ControllerCore) -> Sequence[ControllerTask]:
        while True:
            stat = core.session.exists(znodes.CONTROLLER, watch=True)
            mine = stat is not None and stat.owner == core.session.id
            if not mine and core.life != ControllerState.STANDBY:
                core.resign()
                core.events.append(ControllerChange())
                return []
            if stat is not None and not (mine and core.life == ControllerState.STANDBY):
                return []
            tasks = _elect(core, already=mine)
            if tasks is not None:
                return tasks


@dataclass(frozen=True)
class ControllerEpochChange(ControllerEvent):
    """/controller_epoch may have changed: in some eras a controller adopts the newest epoch (KAFKA-1096).

    A broker that could not read it stands for election again.
    """

    def handle(self, core: ControllerCore) -> Sequence[ControllerTask]:
        if core.awaits_epoch:
            return ControllerChange().handle(core)
        if core.k.epoch_watch == EpochWatch.ADOPTED:
            data, stat = core.session.get(znodes.CONTROLLER_EPOCH, watch=True)
            newest = znodes.decode_controller_epoch(data)
            core.context.epoch = epoch_after_change(core.context.epoch, newest, core.k.epoch_watch)
            core.context.epoch_version = stat.version
        return []


@dataclass(frozen=True)
class IncrementEpoch(ControllerTask):
    """Read /controller_epoch and write the next one: the second step of 0.10's election, which takes any current epoch."""

    def run(self, core: ControllerCore) -> Sequence[ControllerTask]:
        """Write the next controller epoch.

        Raises:
            ControllerMoved: another controller has written it between the read and the write.
        """
        session = core.session
        data, stat = session.get(znodes.CONTROLLER_EPOCH)
        epoch = znodes.decode_controller_epoch(data) + 1
        try:
            stat = session.set(znodes.CONTROLLER_EPOCH, znodes.encode_controller_epoch(epoch), stat.version)
        except BadVersion:
            raise ControllerMoved(znodes.CONTROLLER_EPOCH) from None
        return _take_over(core, epoch, stat.version, "increment_epoch")


@dataclass(frozen=True)
class GiveUp(ControllerTask):
    """Delete /controller, so that another is elected: the last step of a fail-over that failed (triggerControllerMove).

    `epoch_version` is the version of /controller_epoch under which it was elected.
    """

    epoch_version: int

    def run(self, core: ControllerCore) -> Sequence[ControllerTask]:
        session = core.session
        if core.k.giving_up == GivingUp.UNCONDITIONAL:  # even if another broker owns it by now
            with suppress(NoNode):
                session.delete(znodes.CONTROLLER)
        elif (stat := session.exists(znodes.CONTROLLER)) is not None and stat.owner == session.id:
            with suppress(MultiRefused):
                session.multi([Check(znodes.CONTROLLER_EPOCH, self.epoch_version), Delete(znodes.CONTROLLER)])
        core.events.append(ControllerChange())
        return []


def _elect(core: ControllerCore, already: bool) -> Sequence[ControllerTask] | None:
    """Become the controller; return the next tasks, None if another was faster.

    `already` says that this session owns /controller: the reply to its creation was lost.
    """
    session = core.session
    epoch, stat = _read_epoch(core)
    own = znodes.ControllerRegistration(core.controller_id, int(core.clock() * 1000)).encode()
    if core.k.controller_election == ControllerElection.TWO_STEPS:
        if not already:
            try:
                session.create(znodes.CONTROLLER, own, ephemeral=True)
            except NodeExists:
                return None
        core.lives.fire("create_controller_znode", core.controller_id)
        return [IncrementEpoch()]
    if already:
        return _take_over(core, epoch, stat.version)
    try:
        _, set_stat = session.multi(
            [
                Create(znodes.CONTROLLER, own, ephemeral=True),
                Set(znodes.CONTROLLER_EPOCH, znodes.encode_controller_epoch(epoch + 1), stat.version),
            ]
        )
    except MultiRefused as refused:
        if not isinstance(refused.reason, (NodeExists, BadVersion)):  # as in Kafka: such as that it may not write the epoch
            raise refused.reason from None
        return None
    assert isinstance(set_stat, Stat)
    return _take_over(core, epoch + 1, set_stat.version)


def _read_epoch(core: ControllerCore) -> tuple[int, Stat]:
    """Return /controller_epoch, which is created if it is missing.

    Raises:
        Undecodable: nobody is elected until the znode is repaired; a guessed epoch could readmit an old controller.
    """
    session = core.session
    try:
        data, stat = session.get(znodes.CONTROLLER_EPOCH)
    except NoNode:
        with suppress(NodeExists):
            session.create(znodes.CONTROLLER_EPOCH, znodes.encode_controller_epoch(0))
        data, stat = session.get(znodes.CONTROLLER_EPOCH)
    try:
        epoch = znodes.decode_controller_epoch(data)
    except znodes.Undecodable:
        core.awaits_epoch = session.exists(znodes.CONTROLLER_EPOCH, watch=True) is not None
        raise
    core.awaits_epoch = False
    return epoch, stat


def _take_over(core: ControllerCore, epoch: int, version: int, trigger: str = "elect") -> Sequence[ControllerTask]:
    """Begin the fail-over under an epoch."""
    core.context.epoch, core.context.epoch_version = epoch, version
    if core.k.epoch_watch == EpochWatch.ADOPTED:
        core.session.exists(znodes.CONTROLLER_EPOCH, watch=True)
    core.lives.fire(trigger, core.controller_id)
    return FAIL_OVER
