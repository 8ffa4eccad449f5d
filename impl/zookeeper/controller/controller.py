"""The controller: a queue of events, an agenda of tasks, and the machines of both tables.

An event becomes tasks on the agenda. `step` does one piece of one task, which reads and writes at most one state znode. Other
actors may act between two steps, and the process may crash: remaining work is data, not on a Python stack. A task that changes
states gathers requests and sends them when its last entity is done, as Kafka's handleStateChanges does. Three things end a step
early: a write that is refused since /controller_epoch has moved and an expired session, which both end the controller, and a lost
connection, after which the same step is repeated. An unexpected error ends the controller too, and another takes over.

The modules beside this one define events and tasks, one subject each. The tables PARTITION and REPLICA choose the row of a change,
spec/decisions/election.py elects leaders, and spec/zookeeper/eras.py holds the decisions of each era.

Source: Kafka 2.8 KafkaController.scala, ControllerEventManager.scala.
"""

from __future__ import annotations

import traceback
from collections.abc import Callable

from kafka_spec.impl.protocol.state_change_log import LogLevel
from kafka_spec.impl.zookeeper.controller.broker_changes import BrokerChange, LogDirEventNotification
from kafka_spec.impl.zookeeper.controller.controller_election import ControllerChange, ControllerEpochChange, GiveUp
from kafka_spec.impl.zookeeper.controller.core import ControllerCore, ControllerEvent, ControllerTask
from kafka_spec.impl.zookeeper.controller.deletion import TopicDeletion
from kafka_spec.impl.zookeeper.controller.preferred_election import AutoRebalance, PreferredElectionZnodeChange
from kafka_spec.impl.zookeeper.controller.reassignment import PartitionIsrChange, ReassignmentZnodeChange
from kafka_spec.impl.zookeeper.controller.topic_changes import IsrChangeNotification, PartitionModifications, TopicChange
from kafka_spec.impl.zookeeper.controller.zk_client import ControllerMoved
from kafka_spec.impl.zookeeper.coordination import znodes
from kafka_spec.impl.zookeeper.coordination.interface import (
    ConnectionLost,
    CoordinationError,
    Session,
    SessionEvent,
    SessionEventType,
    SessionExpired,
)
from kafka_spec.spec.zookeeper.machines import ControllerState

WATCHED: dict[str, ControllerEvent] = {
    znodes.CONTROLLER: ControllerChange(),
    znodes.CONTROLLER_EPOCH: ControllerEpochChange(),
    znodes.BROKER_IDS: BrokerChange(),
    znodes.TOPICS: TopicChange(),
    znodes.ISR_CHANGE_NOTIFICATION: IsrChangeNotification(),
    znodes.LOG_DIR_EVENT_NOTIFICATION: LogDirEventNotification(),
    znodes.DELETE_TOPICS: TopicDeletion(),
    znodes.REASSIGN_PARTITIONS: ReassignmentZnodeChange(),
    znodes.PREFERRED_REPLICA_ELECTION: PreferredElectionZnodeChange(),
}
"""The event of each watched znode; the znode of each topic is watched too."""

FIRST_REBALANCE = 5.0
"""The seconds between a fail-over and the first rebalance of leaders."""
UNEXPECTED = "Unexpected error"
"""The words in the state-change log for an unexpected error."""


class KafkaController(ControllerCore):
    """A broker's controller, active or on standby. It sends through `channels`, and acts only in `step`."""

    _rebalance_due: float | None = None
    hears: Callable[[SessionEvent], object] = staticmethod(lambda _: None)
    """Is called with each event of the session, for those of the broker."""
    has_session = True
    """False once it has noticed that its session has expired; then it waits for another."""

    # The queue

    def start(self) -> None:
        """Watch /controller, and stand for election."""
        self.events.append(ControllerChange())

    def handle(self, event: ControllerEvent) -> None:
        """Put an event at the end of the queue."""
        self.events.append(event)

    def step(self) -> bool:
        """Do the next piece of work; return whether there was any."""
        self._hear()
        try:
            if self.agenda:
                left = self.agenda[0].run(self)
                self.agenda.popleft()
                self.agenda.extendleft(reversed(left))
            elif self.events:
                self._begin(self.events[0])
                self.events.popleft()
            else:
                return False
        except ConnectionLost:
            pass  # the outcome is unknown: the step is repeated, and reads first
        except ControllerMoved:
            self.resign()
            self.events.append(ControllerChange())
        except SessionExpired:
            self._expire()
            self.has_session = False
        except (CoordinationError, znodes.Undecodable) as error:
            self._fail(error)
        except Exception as error:
            self._move(error)
        return True

    def _begin(self, event: ControllerEvent) -> None:
        """Turn an event into tasks; a standby controller handles only changes of the controller."""
        stands = isinstance(event, ControllerChange) or (self.awaits_epoch and isinstance(event, ControllerEpochChange))
        if stands or self.life == ControllerState.ACTIVE:
            self.agenda.extend(event.handle(self))
        else:
            event.refuse()

    def _hear(self) -> None:
        """Turn the session's events into controller events."""
        for heard in self.session.events():
            self.hears(heard)
            if heard.kind == SessionEventType.EXPIRED:
                self._expire()
                self.has_session = False
            elif heard.kind == SessionEventType.DISCONNECTED:  # all watches are lost: everything is read again
                self.events.extend(WATCHED.values())
                self.events.extend(PartitionModifications(topic) for topic in sorted(self.context.topics))
                self.events.extend(PartitionIsrChange(partition) for partition in self.context.targets)
            elif heard.path in WATCHED:
                self.events.append(WATCHED[heard.path])
            elif (partition := znodes.partition_of_state(heard.path)) is not None:
                self.events.append(PartitionIsrChange(partition))
            elif heard.path.startswith(f"{znodes.TOPICS}/"):
                self.events.append(PartitionModifications(heard.path.rpartition("/")[2]))

    def tick(self) -> None:
        """Have leaders rebalanced if it is time: first some seconds after the fail-over, then at the interval of the settings."""
        if self.life != ControllerState.ACTIVE or not self.settings.auto_leader_rebalance_enable:
            self._rebalance_due = None
            return
        now = self.clock()
        if self._rebalance_due is None:
            self._rebalance_due = now + FIRST_REBALANCE
        elif now >= self._rebalance_due:
            self._rebalance_due = now + self.settings.leader_imbalance_check_interval_seconds
            self.handle(AutoRebalance())

    # Ends

    def session_opened(self, session: Session) -> None:
        """Continue under a new session, after the old one expired and the broker registered again."""
        self._expire()
        self.zk.session, self.has_session = session, True
        self.start()

    def _expire(self) -> None:
        """Drop all events and tasks; waiting callers are answered that this is not the controller."""
        events = list(self.events)
        self.events.clear()
        if self.life != ControllerState.STANDBY:
            self.resign()
        for event in events:
            event.refuse()

    def _fail(self, error: Exception) -> None:
        """End an event after an error and drop its remaining tasks; after an error in fail-over, resign, so that another tries."""
        self.note(LogLevel.ERROR, f"Error processing event: {error!r}")
        if self.life == ControllerState.LOADING:
            epoch_version = self.context.epoch_version
            self.resign()
            self.agenda.append(GiveUp(epoch_version))
            return
        if not self.agenda:
            self.events.popleft().refuse()
        self.drop_agenda()
        self.batch.clear()

    def _move(self, error: Exception) -> None:
        """End this controller after an unexpected error, and let another take over (triggerControllerMove).

        Kafka does so where requests of a batch were never sent (handleIllegalState), and in a fail-over.
        """
        place = traceback.extract_tb(error.__traceback__)[-1]
        where = f"{place.filename.rpartition('/')[2]}:{place.lineno}"
        self.note(LogLevel.ERROR, f"{UNEXPECTED}: {error!r} at {where}; this controller resigns")
        left: list[ControllerEvent | ControllerTask] = list(self.agenda) or [self.events.popleft()]
        self.agenda.clear()
        epoch_version = self.context.epoch_version
        if self.life != ControllerState.STANDBY:
            self.resign()
            self.agenda.append(GiveUp(epoch_version))
        for waiting in left:
            try:
                waiting.refuse()
            except Exception as refused:
                self.note(LogLevel.ERROR, f"{UNEXPECTED} of who waited for an answer: {refused!r}")
