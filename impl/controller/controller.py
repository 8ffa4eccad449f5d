"""The controller: one queue of events, work that is data, and Kafka's two tables that decide what becomes of everything.

An event becomes tasks on the agenda; `step` does one piece of one task, which reads and writes at most one state znode. Between
steps others have their turn, and the process may die: nothing of what is left stands on a Python stack. A task that changes states
gathers requests and sends them when its last entity is done, as Kafka's handleStateChanges does. Three things end a step early:
a write that is refused since /controller_epoch has moved, or a session that is over (both end the controller), and a lost
connection, after which the same step is done again. An error that no step may have ends the controller too: another takes over.

What events and tasks do stands in the modules beside this one, one story each. Which row a change takes is PARTITION's and
REPLICA's to say; who leads is decided by spec/election.py, and the decisions of an era are those of spec/control/eras.py.

Source: Kafka 2.8 KafkaController.scala, ControllerEventManager.scala.
"""

from __future__ import annotations

import traceback

from kafka_spec.impl.controller.broker_changes import BrokerChange, LogDirEventNotification
from kafka_spec.impl.controller.controller_election import ControllerChange, ControllerEpochChange, GiveUp
from kafka_spec.impl.controller.core import ControllerCore, ControllerEvent, ControllerTask
from kafka_spec.impl.controller.preferred_election import PreferredElectionZnodeChange
from kafka_spec.impl.controller.topic_changes import IsrChangeNotification, PartitionModifications, TopicChange
from kafka_spec.impl.controller.zk_client import ControllerMoved
from kafka_spec.impl.coordination import znodes
from kafka_spec.impl.coordination.interface import ConnectionLost, CoordinationError, Session, SessionEventType, SessionExpired
from kafka_spec.impl.protocol.state_change_log import LogLevel
from kafka_spec.spec.control.state import ControllerState

WATCHED: dict[str, ControllerEvent] = {
    znodes.CONTROLLER: ControllerChange(),
    znodes.CONTROLLER_EPOCH: ControllerEpochChange(),
    znodes.BROKER_IDS: BrokerChange(),
    znodes.TOPICS: TopicChange(),
    znodes.ISR_CHANGE_NOTIFICATION: IsrChangeNotification(),
    znodes.LOG_DIR_EVENT_NOTIFICATION: LogDirEventNotification(),
    znodes.PREFERRED_REPLICA_ELECTION: PreferredElectionZnodeChange(),
}
"""The event of each znode that is watched; beside them the znode of each topic is."""

UNEXPECTED = "Unexpected error"
"""What stands in the state-change log where a step met an error that no step may have."""


class KafkaController(ControllerCore):
    """A broker's controller: active, or standing by. It sends through `channels`, and does nothing but in `step`."""

    has_session = True
    """False once it has noticed that its session is over; then it waits for another."""

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
            pass  # whether it was done is unknown: the step is done again, and reads first
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
        """Turn an event into tasks; who is not active looks at nothing but who is the controller."""
        stands = isinstance(event, ControllerChange) or (self.awaits_epoch and isinstance(event, ControllerEpochChange))
        if stands or self.life == ControllerState.ACTIVE:
            self.agenda.extend(event.handle(self))
        else:
            event.refuse()

    def _hear(self) -> None:
        """Turn what the session has heard into events."""
        for heard in self.session.events():
            if heard.kind == SessionEventType.EXPIRED:
                self._expire()
                self.has_session = False
            elif heard.kind == SessionEventType.DISCONNECTED:  # no watch is left: everything is read again
                self.events.extend(WATCHED.values())
                self.events.extend(PartitionModifications(topic) for topic in sorted(self.context.topics))
            elif heard.path in WATCHED:
                self.events.append(WATCHED[heard.path])
            elif heard.path.startswith(f"{znodes.TOPICS}/"):
                self.events.append(PartitionModifications(heard.path.rpartition("/")[2]))

    # Ends

    def session_opened(self, session: Session) -> None:
        """Go on under a new session: the old one is over; the broker has registered again."""
        self._expire()
        self.zk.session, self.has_session = session, True
        self.start()

    def _expire(self) -> None:
        """Drop everything that waits; who asked for something hears that this is no controller."""
        events = list(self.events)
        self.events.clear()
        if self.life != ControllerState.STANDBY:
            self.resign()
        for event in events:
            event.refuse()

    def _fail(self, error: Exception) -> None:
        """End an event that met an error: the rest of it is dropped; a fail-over ends with it, so that another tries."""
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
        """End this controller for an error that no step may have, and let another take over (triggerControllerMove).

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
