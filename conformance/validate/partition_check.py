"""Checks a controller's log of one partition in one epoch: transitions, leadership, and the requests of each batch.

Independent of log texts. The rows come from the tables (states.py, rows.py). A violation that counts only with TRACE lines, or only
if the log shows the beginning of the epoch, is recorded with this need; outcome.py decides when all logs are known.
"""

from __future__ import annotations

from kafka_spec.conformance.outcome.violations import Unfinished, Violation
from kafka_spec.conformance.validate.events import LeaderAndIsr, Message
from kafka_spec.conformance.validate.exchange import Exchange
from kafka_spec.conformance.validate.findings import BEGUN, TRACE, Refusal
from kafka_spec.conformance.validate.partition_record import PartitionRecord
from kafka_spec.conformance.validate.rows import ROWS, Batch, Change, LoggedRow, fitting, unsent, wrong_creation
from kafka_spec.conformance.validate.states import Known, Tables
from kafka_spec.spec.machines.partition import PartitionState
from kafka_spec.spec.machines.replica import ReplicaState

MOST_MOMENTS = 2_000
"""Maximum number of moments kept for the timeline of one partition in one controller epoch."""
DELETING = (ReplicaState.DELETION_STARTED, ReplicaState.DELETION_SUCCESSFUL)


class ControllerView:
    """One partition in one controller epoch."""

    def __init__(self, controller: int, epoch: int, tables: Tables, of: PartitionRecord) -> None:
        self.controller, self.epoch = controller, epoch
        self.first: LeaderAndIsr | None = None
        self.last: LeaderAndIsr | None = None
        self.first_at = (0, "")
        self.created = self.deleted = False
        self.moments: list[tuple[str, int, str, LeaderAndIsr | None]] = []
        self.moments_left_out = 0
        self._tables = tables
        self._of = of
        self._cursor = of.cursor
        self._shown: LeaderAndIsr | None = None
        self._partition: int | None = None
        self._replicas: dict[int, int] = {}
        self._visited: dict[int, int] = {}
        """The states shown by transitions, as bits."""
        self._started: list[tuple[int, int, int, str]] = []
        self.torn = False
        """Lines are missing, so an entity that is met for the first time may have been elsewhere before."""
        self._born = False
        """A replica was created before a line said so of the partition."""
        self._unknown = False
        """Lines are missing, and no leadership was seen since."""
        self._assigned: tuple[int, ...] = ()
        self._replicas_seen: set[int] = set()
        """All replicas so far: a reassignment takes its former ones out of the ISR after it has changed the assignment."""
        self._removed: dict[int, tuple[LeaderAndIsr, LeaderAndIsr | None]] = {}
        self._moving = False
        self._unwritten: tuple[int, str] | None = None
        """A request shows a leader epoch that no line has written: the place, and what."""
        self._of_brackets = tables.era != "0.10"
        """The lines are those of a version that logs each write."""
        self._batch = Batch()
        self._exchanges: dict[int, Exchange] = {}
        self._at = 0
        self._stopped_at = (0, b"")
        self._told_when = b""

    def __repr__(self) -> str:
        return f"controller {self.controller} in epoch {self.epoch}"

    # -----------------------------------------------------------------------------------------------------------------
    # Transitions

    def partition_changed(self, source: int, target: int, now: LeaderAndIsr | None, assigned: tuple[int, ...]) -> None:
        """Check the pair against the table, and the leadership against the previous one."""
        if source == PartitionState.NEW and self._partition is None and self._born:
            self._of.missing.append((self._cursor.place, "the creation of the partition"))
        before, known = self.last, self._knows()
        rows = self._step(self._tables.partition, -1, self._partition, source, target)
        self._partition = target
        if assigned:
            self._assigned = assigned
        if source == PartitionState.NON_EXISTENT:
            self.created, before, known = True, None, False
            self.last, self._unknown = None, False
        if target == PartitionState.NON_EXISTENT:
            self.deleted, self.last = True, None
        if now is not None:
            self._written(now, before, created=source == PartitionState.NEW)
        self._moment(self._tables.partition.names[target], now)
        self._keep(
            Change(-1, source, target, rows, self._cursor.place, self._cursor.line[1:24], known, before, now, self._assigned)
        )

    def replica_changed(self, replica: int, source: int, target: int) -> None:
        """Check the pair against the table."""
        if source == ReplicaState.NON_EXISTENT and target == ReplicaState.NEW and self._partition is None:
            self._born = not self.torn
        rows = self._step(self._tables.replica, replica, self._replicas.get(replica), source, target)
        self._replicas[replica] = target
        now, before = (self._removed.pop(replica, None) if self._removed else None) or (None, self.last)
        cursor = self._cursor
        self._at = cursor.place
        when = cursor.line[1:24]
        self._keep(Change(replica, source, target, rows, cursor.place, when, self._knows(), before, now, self._assigned))

    def _step(self, known: Known, replica: int, current: int | None, source: int, target: int) -> tuple[LoggedRow, ...]:
        rows = ROWS[id(known)].get((source, target), ())
        if rows and source == current:
            self._visited[replica] = self._visited.get(replica, 0) | 1 << target
            return rows
        self._visited[replica] = self._visited.get(replica, 0) | 1 << source | 1 << target
        entity = "the partition" if replica < 0 else f"replica {replica}"
        names = known.names
        if not rows:
            legal = f"{names[target]} may be entered from {known.predecessors(target)}"
            self._tell("illegal-transition", f"{entity} goes from {names[source]} to {names[target]}; {legal}")
        if current is None:
            if source not in known.seeds and not self.torn:
                self._tell("impossible-seed", f"{entity} is first seen in {names[source]}", (TRACE, BEGUN))
        elif source != current:
            summary = f"{entity} goes from {names[source]} to {names[target]}, and was in {names[current]}"
            self._tell("discontinuity", summary, (TRACE,) if source in known.unseen[current] else ())
        return rows

    def _keep(self, change: Change) -> None:
        self._batch.changes.append(change)

    def _knows(self) -> bool | None:
        """Whether the controller knows a leadership; None if the log does not show it."""
        if self._unknown:
            return None
        if self.last is not None:
            return True
        return False if self.created else None

    # -----------------------------------------------------------------------------------------------------------------
    # Leadership

    def _written(self, now: LeaderAndIsr, before: LeaderAndIsr | None, created: bool) -> None:
        """Check a leadership that a row has just written."""
        self._sound(now)
        if created:
            if wrong := wrong_creation(now, self._assigned):
                self._tell("wrong-creation", wrong)
        elif before is not None:
            if now.epoch <= before.epoch:
                self._tell("leader-epoch-back", f"an election leads from {before} to {now}")
            if 0 <= now.version <= before.version:
                self._tell("version-back", f"an election leads from {before} to {now}")
        self._learn(now)

    def _sound(self, now: LeaderAndIsr) -> None:
        if not now.isr:
            self._tell("empty-isr", f"{now}")
        elif now.leader < -1 or (now.leader >= 0 and now.leader not in now.isr):
            self._tell("leader-outside-isr", f"{now}")
        if len(set(now.isr)) < len(now.isr):
            self._tell("isr-outside-replicas", f"a broker is in it twice: {now}")
        if now.replicas:
            if not self._replicas_seen and not self.created:
                self._replicas_seen.update(now.isr)  # a reassignment before may have left others in the ISR
            self._replicas_seen.update(now.replicas)
            if not {now.leader, *now.isr} - {-1} <= self._replicas_seen:
                self._tell("isr-outside-replicas", f"{now}, of replicas {','.join(map(str, now.replicas))}")

    def _learn(self, now: LeaderAndIsr) -> None:
        if self.first is None and not self.created:
            self.first, self.first_at = now, (self._cursor.place, self._cursor.when)
        self.last, self._unknown = now, False
        if now is not self._shown:
            self._shown = now
            self._of.shows(self.epoch, now)

    def removed(self, replica: int, now: LeaderAndIsr) -> None:
        """Check the result of a removal against the previous leadership."""
        before = self.last
        if self._batch.removed.get(replica) == now:
            self._of.missing.append((self._cursor.place, f"the removal of replica {replica} stands twice"))
        self._sound(now)
        if replica in now.isr and len(now.isr) > 1:
            self._tell("wrong-removal", f"replica {replica} is still in the ISR: {now}")
        if now.leader == replica:
            self._tell("wrong-removal", f"replica {replica} still leads: {now}")
        if before is not None:
            if now.epoch < before.epoch or (now.version >= 0 and now.version < before.version):
                kind = "leader-epoch-back" if now.epoch < before.epoch else "version-back"
                self._tell(kind, f"the removal of replica {replica} leads from {before} to {now}")
            elif now.epoch > before.epoch and 0 <= now.version <= before.version:
                self._tell("version-back", f"the removal of replica {replica} leads from {before} to {now}")
        self._removed[replica] = (now, before)
        self._batch.removed[replica] = now
        self._learn(now)
        self._moment(f"without replica {replica}", now)

    def moves(self, now: LeaderAndIsr) -> None:
        """Record the leadership that a reassignment has written."""
        self._batch.excused = True
        self._sound(now)
        self._not_back(now, "a reassignment")
        for broker, sent in self._batch.reported.items():
            others = now.replicas and sent.replicas and now.replicas != sent.replicas
            if others or (sent.leader, sent.epoch, sent.isr) != (now.leader, now.epoch, now.isr):
                self._tell("two-contents", f"a reassignment has {now}, and broker {broker} was sent {sent}")
        self._learn(now)
        self._moment("is being reassigned", now)

    def _not_back(self, now: LeaderAndIsr, what: str) -> None:
        before = self.last
        if before is not None and now.epoch < before.epoch:
            self._tell("leader-epoch-back", f"{what} has {now} after {before}")
        elif before is not None and 0 <= now.version < before.version:
            self._tell("version-back", f"{what} has {now} after {before}")

    # -----------------------------------------------------------------------------------------------------------------
    # Requests

    def reported(self, broker: int, now: LeaderAndIsr) -> None:
        """Record a sent request for the batch and for the comparison with the receiver's log."""
        if now is not self.last:
            if self.last is not None and now.epoch > self.last.epoch and not self._unwritten:
                self._unwritten = (self._cursor.place, f"a write of {now}")
            self._sound(now)
            self._not_back(now, f"the LeaderAndIsr to broker {broker}")
            self._learn(now)
            self._assigned = now.replicas or self._assigned
        first = next(iter(self._batch.reported.values()), now)
        if first.replicas != now.replicas and first[:4] == now[:4]:
            replicas = " and of ".join(",".join(map(str, one.replicas)) for one in (first, now))
            self._tell("two-contents", f"one batch reports to brokers the replicas {replicas}")
        self._moving = now.moving
        self._batch.reported[broker] = now
        cursor = self._cursor
        self._at = cursor.place
        self._told_when = when = cursor.line[1:24]
        exchange = self._exchanges.get(broker)
        if exchange is None:
            exchange = self._exchanges[broker] = self._of.exchange("LeaderAndIsr", self.epoch, broker)
        exchange.send(now.message, self._at, when)

    def stopped(self, broker: int, epoch: int, delete: bool, message: Message) -> None:
        """Record a sent request for the batch and for the comparison with the receiver's log."""
        self._batch.stopped[broker] = (epoch, delete)
        self._stopped_at = (self._cursor.place, self._cursor.line[1:24])
        self._of.exchange("StopReplica", self.epoch, broker).send(message, self._cursor.place, self._cursor.line[1:24])

    def refused(self, replica: int, source: int, target: int) -> None:
        """Count a failed change, and check its source against the state."""
        known = self._tables.partition if replica < 0 else self._tables.replica
        current = self._partition if replica < 0 else self._replicas.get(replica)
        if current is not None and current != source:
            summary = f"a change from {known.names[source]} failed, and the state was {known.names[current]}"
            self._tell("discontinuity", summary, (TRACE,))
        refusal = Refusal(known.machine.name, source, target, (source, target) in known.rows)
        self._of.refusals[refusal] += 1
        first = self._of.refused_at.setdefault(refusal, self._cursor.place)
        self._of.refused_at[refusal] = min(first, self._cursor.place)

    def started(self, replica: int, state: int) -> None:
        """Record the state that a machine reports after its start-up."""
        self._started.append((replica, state, self._cursor.place, self._cursor.when))

    def gap(self) -> None:
        """Forget what lines that are missing may have changed."""
        self.torn = self._unknown = True
        self.last = None
        self._partition = None
        self._replicas.clear()
        self._removed.clear()
        self._moving = False
        self._of.sender_gap(self.epoch)

    def flushed(self, registered: frozenset[int] | None, alive: frozenset[int] | None, whole: bool) -> None:
        """Check the batch: each row that it fired must have sent its requests."""
        batch, self._batch = self._batch, Batch()
        unwritten, self._unwritten = self._unwritten, None
        if unwritten is not None and whole and not batch.excused and self._of_brackets:
            self._of.missing.append(unwritten)
        batch.alive = alive
        counts = self._of.rows
        may = batch.excused
        for change in batch.changes:
            if change.known is None and batch.reported:
                change.known = True
            rows = fitting(change)
            counts[_key(rows, change)] += 1
            missing = []
            for row in rows:
                may = may or row.tells
                missing.append(unsent(row, change, batch, registered))
            if whole and missing and all(missing):
                entity = "the partition" if change.replica < 0 else f"replica {change.replica}"
                names = (self._tables.partition if change.replica < 0 else self._tables.replica).names
                summary = f"{entity} goes from {names[change.source]} to {names[change.target]}: {missing[0]}"
                self._tell("missing-request", summary, (TRACE,), change.place, change.when.decode(), rows[0].row.label)
        deleting = {one.replica for one in batch.changes if one.target == ReplicaState.DELETION_STARTED and one.replica >= 0}
        if whole and (surplus := sorted(to for to, (_, delete) in batch.stopped.items() if delete and to not in deleting)):
            brokers = ", ".join(map(str, surplus))
            summary = f"a StopReplica that deletes goes to broker {brokers}"
            self._tell("request-without-row", summary, (TRACE,), self._stopped_at[0], self._stopped_at[1].decode())
        if whole and batch.reported and not may and registered is not None:
            brokers = ", ".join(map(str, sorted(batch.reported)))
            self._tell(
                "request-without-row", f"a LeaderAndIsr goes to broker {brokers}", (TRACE,), self._at, self._told_when.decode()
            )

    # -----------------------------------------------------------------------------------------------------------------
    # The end

    def finish(self) -> None:
        """Compare the states that the machines report at start-up with those that the transitions show."""
        for replica, state, place, when in self._started:
            visited = self._visited.get(replica)
            if visited is not None and not visited >> state & 1 and not self.torn:
                known = self._tables.partition if replica < 0 else self._tables.replica
                entity = "the partition" if replica < 0 else f"replica {replica}"
                summary = f"{entity} is said to have started in {known.names[state]}, where no transition has seen it"
                self._tell("snapshot-differs", summary, (TRACE, BEGUN), place, when)

    def unfinished(self) -> list[Unfinished]:
        """Return what this epoch leaves unfinished, if it is the last one of the partition."""
        found = []
        names = self._tables.replica.names
        for replica, state in sorted(self._replicas.items()):
            if state in DELETING:
                found.append(Unfinished(self._of.name, f"replica {replica} is left in {names[state]}", self._at))
        states = set(self._replicas.values())
        if states == {int(ReplicaState.NON_EXISTENT)} and self._partition not in (None, int(PartitionState.NON_EXISTENT)):
            found.append(Unfinished(self._of.name, "its replicas are deleted, and the partition is not", self._at))
        if self._moving:
            found.append(Unfinished(self._of.name, "it is being reassigned", self._at))
        return found

    def _moment(self, summary: str, now: LeaderAndIsr | None) -> None:
        if not self._of.keeps_moments:
            return
        if len(self.moments) < MOST_MOMENTS:
            self.moments.append((self._cursor.when, self._cursor.place, summary, now))
        else:
            self.moments_left_out += 1

    def _tell(self, kind: str, summary: str, needs: tuple[str, ...] = (), place: int = -1, when: str = "", row: str = "") -> None:
        of = self._of
        place = of.cursor.place if place < 0 else place
        of.violations.append(Violation(place, kind, when or of.cursor.when, of.name, repr(self), summary, row, self.epoch, needs))


def _key(rows: tuple[LoggedRow, ...], change: Change) -> tuple[str, tuple[int, ...]]:
    """Return the key under which a transition is counted: the rows that it may have been, none if it is illegal."""
    if len(rows) == 1:
        return rows[0].key
    return "Partition" if change.replica < 0 else "Replica", tuple(row.key[1][0] for row in rows)
