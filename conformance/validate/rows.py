"""Determines which row of a table a logged transition was, and what that row must have sent.

A row's guards and effects are names in the tables. This module maps each name to its evidence in a log: a guard holds, does not
hold, or is unknown; an effect requires requests, or a change of the leadership. The table says which row has which names. If a name
is missing here, the import of this module fails.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

from kafka_spec.conformance.validate.events import LeaderAndIsr
from kafka_spec.conformance.validate.states import TABLES, Known
from kafka_spec.spec.decisions.election import first_leader_and_isr
from kafka_spec.spec.language.domain import BrokerSet
from kafka_spec.spec.machines.replica import ReplicaState
from kafka_spec.spec.vocabulary.table import Row, name_of


@dataclass(frozen=True, slots=True, eq=False)
class LoggedRow:
    """A row of a table, with the evidence of its guards and effects in a log."""

    key: tuple[str, tuple[int, ...]]
    """The key for counts: the machine, and the row's number in the table."""
    row: Row
    must: tuple[Guard, ...]
    must_not: tuple[Guard, ...]
    asks: tuple[Asks, ...]
    tells: bool
    """It sends a LeaderAndIsr."""


@dataclass(slots=True)
class Change:
    """A transition of the partition (replica -1) or of one replica, with its known context."""

    replica: int
    source: int
    target: int
    rows: tuple[LoggedRow, ...]
    place: int
    when: bytes
    known: bool | None
    """Leadership was known before."""
    before: LeaderAndIsr | None
    """The leadership before, as far as the log shows it."""
    now: LeaderAndIsr | None
    """The leadership that the change has written or read."""
    assigned: tuple[int, ...] = ()


@dataclass(slots=True)
class Batch:
    """The requests sent for one partition in one batch."""

    changes: list[Change] = field(default_factory=list)
    reported: dict[int, LeaderAndIsr] = field(default_factory=dict)
    stopped: dict[int, tuple[int, bool]] = field(default_factory=dict)
    alive: frozenset[int] | None = None
    """The brokers that are registered, as far as the controller's last requests show."""
    removed: dict[int, LeaderAndIsr] = field(default_factory=dict)
    """What was left after each removal of a replica from the ISR."""
    excused: bool = False
    """A LeaderAndIsr was sent for a reassignment, without a row."""


Guard: TypeAlias = Callable[[Change], bool | None]
Asks: TypeAlias = Callable[[Change, Batch, frozenset[int] | None], str]
"""Returns what is missing or wrong, or an empty string."""


def _open(change: Change) -> bool | None:
    """Return that the log does not show it."""
    return None


def _was_in_isr(change: Change) -> bool | None:
    """A removal that wrote raised the leader epoch; one that only read did not."""
    if change.now is None or change.before is None:
        return None
    return change.now.epoch > change.before.epoch


GUARDS: Mapping[str, Guard] = {
    "leadership_is_known": lambda change: change.known,
    "leaderless_replicas_go_offline": _open,
    "isr_contains_replica": _was_in_isr,
    "an_assigned_replica_is_live": _open,
    "state_znode_is_absent": _open,
    "no_newer_controller_wrote": _open,
    "a_leader_can_be_elected": _open,
    "replica_is_cached_leader": lambda change: None if change.before is None else change.before.leader == change.replica,
    "replica_is_assigned": lambda change: True if change.replica in change.assigned else None,
    "replica_is_live": _open,
    "cached_leader_is_live": _open,
}


def _told(batch: Batch, wanted: set[int], registered: frozenset[int] | None) -> str:
    """Return which of the registered brokers were sent no LeaderAndIsr; unregistered ones get none."""
    if registered is None:
        return ""
    missing = sorted((wanted & registered) - set(batch.reported))
    return f"no LeaderAndIsr to broker {', '.join(map(str, missing))}" if missing else ""


def _first_isr(change: Change, batch: Batch, registered: frozenset[int] | None) -> str:
    return _told(batch, set(change.now.isr), registered) if change.now else ""


def _recipients(change: Change, batch: Batch, registered: frozenset[int] | None) -> str:
    """Every strategy sends to the new leader and the new ISR; a reassignment keeps the ISR and sends to its targets only."""
    now = change.now
    if now is None:
        return ""
    dump = next(iter(batch.reported.values()), None)
    wanted = {now.leader, *(set(now.isr) & set(dump.replicas) if dump and dump.replicas else now.isr)}
    return _told(batch, wanted, registered)


def _to_replica(change: Change, batch: Batch, registered: frozenset[int] | None) -> str:
    return _told(batch, {change.replica}, registered)


def _to_others(change: Change, batch: Batch, registered: frozenset[int] | None) -> str:
    """The other replicas get a request, unless the topic is being deleted.

    A StopReplica without leader epoch shows a deletion, or that the replica was ineligible; then no replica gets one.
    """
    if change.now is None or any(epoch < 0 for epoch, _ in batch.stopped.values()):
        return ""
    if change.source == ReplicaState.DELETION_INELIGIBLE and not batch.reported:
        return ""
    dump = next(iter(batch.reported.values()), None)
    replicas = set(dump.replicas if dump and dump.replicas else change.assigned or change.now.isr)
    removed = {one.replica for one in batch.changes if one.replica >= 0 and one.target == change.target}
    if len(removed) > 1:  # each gets the removal of all others, or of none
        return ""
    return _told(batch, replicas - {change.replica}, registered)


def _stop(change: Change, batch: Batch, registered: frozenset[int] | None) -> str:
    if registered is None or change.replica not in registered or change.replica in batch.stopped:
        return ""
    return f"no StopReplica to broker {change.replica}"


def _stop_with_delete(change: Change, batch: Batch, registered: frozenset[int] | None) -> str:
    """The broker that deletes is alive, so it counts even if the batch sends no metadata."""
    if missing := _stop(change, batch, registered or batch.alive):
        return missing
    sent = batch.stopped.get(change.replica)
    return f"the StopReplica to broker {change.replica} does not delete" if sent is not None and not sent[1] else ""


def _nothing(change: Change, batch: Batch, registered: frozenset[int] | None) -> str:
    return ""


EFFECTS: Mapping[str, Asks] = {
    "send_leader_and_isr_to_first_isr": _first_isr,
    "send_leader_and_isr_to_recipients": _recipients,
    "send_leader_and_isr_to_new_replica": _to_replica,
    "send_leader_and_isr_to_replica": _to_replica,
    "send_leader_and_isr_to_other_replicas": _to_others,
    "send_stop_replica": _stop,
    "send_update_metadata": _nothing,
    "send_stop_replica_with_delete": _stop_with_delete,
    "create_state_znode": _nothing,
    "write_elected_leader_and_isr": _nothing,
    "write_isr_without_replica": _nothing,
    "refresh_leadership": _nothing,
    "append_replica_to_assignment": _nothing,
    "remove_replica_from_assignment": _nothing,
}
"""Requests only; writes are checked where they are logged (`judge_write`)."""


def logged_rows(known: Known) -> Mapping[tuple[int, int], tuple[LoggedRow, ...]]:
    """Return the rows of each legal pair.

    Raises:
        KeyError: a guard or an effect of the table is missing above.
    """
    return {pair: tuple(_logged(known, number, row) for number, row in rows) for pair, rows in known.rows.items()}


def _logged(known: Known, number: int, row: Row) -> LoggedRow:
    effects = [name_of(effect) for effect in row.effects]
    return LoggedRow(
        (known.machine.name, (number,)),
        row,
        tuple(GUARDS[name_of(guard)] for guard in row.guards),
        tuple(GUARDS[name_of(guard)] for guard in row.unless),
        tuple(EFFECTS[name] for name in effects if EFFECTS[name] is not _nothing),
        any(name.startswith("send_leader_and_isr") for name in effects),
    )


ROWS = {id(known): logged_rows(known) for tables in TABLES.values() for known in (tables.partition, tables.replica)}
"""The rows of each table, by the table's identity; cached, since every line needs them."""


def fitting(change: Change) -> tuple[LoggedRow, ...]:
    """Return the rows of the pair that the known context does not rule out."""
    rows = change.rows
    if len(rows) < 2:
        return rows
    return tuple(row for row in rows if _fits(row, change)) or rows


def _fits(row: LoggedRow, change: Change) -> bool:
    for guard in row.must:
        if guard(change) is False:
            return False
    for guard in row.must_not:
        if guard(change) is True:
            return False
    return True


def unsent(row: LoggedRow, change: Change, batch: Batch, registered: frozenset[int] | None) -> str:
    """Return what the row must have sent and the batch did not send, or an empty string."""
    missing = ""
    for asks in row.asks:
        if wrong := asks(change, batch, registered):
            missing = f"{missing}; {wrong}" if missing else wrong
    return missing


def wrong_creation(now: LeaderAndIsr, assigned: tuple[int, ...]) -> str:
    """Return what is wrong with the first leadership of a partition, or an empty string."""
    if now.epoch != 0 or now.version > 0:
        return f"it starts at leader epoch {now.epoch} and version {now.version}"
    if not assigned:
        return ""
    live = BrokerSet(sum(1 << broker for broker in now.isr))
    leader, _, _ = first_leader_and_isr(assigned, live)
    if not set(now.isr) <= set(assigned):
        return f"its ISR {','.join(map(str, now.isr))} is not among its replicas {','.join(map(str, assigned))}"
    return "" if leader == now.leader else f"broker {now.leader} leads, the first live replica is {leader}"
