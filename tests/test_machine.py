"""The machines that run: `transitions` with its traps closed, names bound to methods, and Kafka's words for illegal changes."""

from __future__ import annotations

import enum
import re
from dataclasses import dataclass, field, replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_spec.impl.fire_log import FireResult
from kafka_spec.impl.machine import Running, build
from kafka_spec.impl.protocol.controller_requests import Leadership
from kafka_spec.impl.protocol.state_change_log import LogLevel, StateChangeLog
from kafka_spec.impl.protocol.topic_partition import TopicPartition
from kafka_spec.impl.row_functions import effect, guard
from kafka_spec.impl.zookeeper.controller.state_change_lines import ControllerLines, state_name
from kafka_spec.spec.machines.partition import PARTITION, PartitionState
from kafka_spec.spec.machines.replica import REPLICA, REPLICA_0_10, ReplicaState
from kafka_spec.spec.vocabulary.table import Machine, Overlap, Row, SpecError, name_of


class Door(enum.IntEnum):
    OPEN = 0
    SHUT = 1
    LOCKED = 2


OPEN, SHUT, LOCKED = Door
DOOR = Machine(
    "Door",
    Door,
    OPEN,
    (
        Row("shut", (OPEN,), SHUT, effects=("push", "note")),
        Row("open", (SHUT,), OPEN, guards=("nobody_leans",)),
        Row("lock", (SHUT,), LOCKED, guards=("key_fits",), effects=("note",)),
        Row("lock", (SHUT,), SHUT, guards=("key_is_wrong",)),
        Row("open", (LOCKED,), OPEN, waits_for="a locksmith", effects=("pick",)),
        Row("hang", (OPEN,), SHUT, guards=("nobody_leans",), kind="initialisation"),
    ),
    entity=("door",),
)


@dataclass
class House:
    """An actor, and the log of its machines."""

    leaning: int = 0
    keys: int = 1
    wrong: bool = False
    stuck: bool = False
    noted: list[str] = field(default_factory=list)
    attempts: list[FireResult] = field(default_factory=list)
    again: Any = None

    def attempted(self, attempt: FireResult) -> None:
        self.attempts.append(attempt)

    @effect
    def push(self) -> None:
        if self.stuck:
            raise OSError("the door is stuck")
        if self.again:
            self.again()

    @effect
    def note(self, door: str) -> None:
        self.noted.append(door)

    @guard
    def nobody_leans(self) -> bool:
        return self.leaning == 0

    @guard
    def key_fits(self) -> int:
        return self.keys & 6

    @guard
    def key_is_wrong(self) -> bool:
        return self.wrong or not self.keys & 6


def door_of(house: House, machine: Machine = DOOR) -> Running[None]:
    """Return the running machine of a house."""
    return build(house, {machine: ("door",)}, house, every_era=(DOOR,))[machine.name]


def test_rows_run() -> None:
    """A row runs its effects in order with the parts of the entity that they name, then enters the target; entities are apart."""
    house = House()
    door = door_of(house)

    assert door.fire("shut", "front")
    assert (door.state_of("front"), door.state_of("back"), house.noted) == (SHUT, OPEN, ["front"])
    assert door.entities() == (("front",),)
    assert house.attempts[-1].target == SHUT


def test_false_guard_is_told() -> None:
    """A false guard leaves the state and is named to the log, where `transitions` would only answer False."""
    house = House(leaning=1)
    door = door_of(house)
    door.fire("shut", "front")

    assert not door.fire("open", "front")
    assert (door.state_of("front"), house.attempts[-1].false, house.attempts[-1].illegal) == (SHUT, ("nobody_leans",), False)


def test_illegal_is_told() -> None:
    """A trigger without a row from the state leaves the state and raises nothing; the log receives the allowed states."""
    house = House()
    door = door_of(house)

    assert not door.fire("lock", "front")
    attempt = house.attempts[-1]
    assert (door.state_of("front"), attempt.illegal, attempt.wanted, attempt.allowed) == (OPEN, True, LOCKED, (SHUT,))


LATCH = replace(
    DOOR,
    rows=(
        *(row for row in DOOR.rows if "key_is_wrong" not in row.guards),
        Row("lock", (SHUT,), SHUT, guards=("nobody_leans",), unless=("key_fits",)),
    ),
)


def test_a_guard_may_be_negated() -> None:
    """A row with `unless` fits where that guard does not hold, also one that returns a set; the log receives `not NAME`."""
    assert LATCH.unproved_pairs == ()
    for keys, target in ((4, LOCKED), (1, SHUT)):
        house = House(keys=keys)
        door = build(house, {LATCH: ("door",)}, house, every_era=(DOOR,))["Door"]
        door.fire("shut", "front")
        assert door.fire("lock", "front") and door.state_of("front") == target
    lone = replace(LATCH, rows=(*(row for row in LATCH.rows if "key_fits" not in row.guards), Row("bar", (SHUT,), LOCKED)))
    house = House(keys=4)
    door = build(house, {lone: ("door",)}, house, every_era=(DOOR,))["Door"]
    door.fire("shut", "front")
    assert not door.fire("lock", "front")
    assert (door.state_of("front"), house.attempts[-1].false) == (SHUT, ("not key_fits",))


def test_a_guard_may_return_a_set() -> None:
    """A guard that returns a number that is not 0 or 1, such as a set of brokers, holds: `transitions` compares with True."""
    house = House(keys=4)
    door = door_of(house)
    door.fire("shut", "front")

    assert door.fire("lock", "front")
    assert door.state_of("front") == LOCKED


def test_overlap_is_an_error() -> None:
    """Two rows that could both fire are an error and leave the state, whichever comes first."""
    house = House(keys=2, wrong=True)
    door = door_of(house)
    door.fire("shut", "front")

    with pytest.raises(Overlap, match="make their guards exclude each other"):
        door.fire("lock", "front")
    assert (door.state_of("front"), house.noted) == (SHUT, ["front"])


def test_exception_in_an_effect_leaves_the_old_state() -> None:
    """An exception in an effect reaches the caller, and the old state stays; the entity can be fired again."""
    house = House(stuck=True)
    door = door_of(house)

    with pytest.raises(OSError, match="stuck"):
        door.fire("shut", "front")
    assert (door.state_of("front"), house.noted) == (OPEN, [])

    house.stuck = False
    assert door.fire("shut", "front")


def test_no_way_around_the_rows() -> None:
    """There are no triggers but those of the table: none that enters a state by its name."""
    door = door_of(House())

    assert set(door._engine.events) == {"shut", "open", "lock", "hang"}
    for trigger in ("to_LOCKED", "to_SHUT", "opne"):
        with pytest.raises(SpecError, match="has no trigger"):
            door.fire(trigger, "front")


def test_waiting_row_raises() -> None:
    """A row that waits for something raises, says for what, and leaves the state; its effects need no method."""
    door = door_of(House())
    door.load(("front",), LOCKED)

    with pytest.raises(SpecError, match="waits for a locksmith"):
        door.fire("open", "front")
    assert door.state_of("front") == LOCKED


def test_initialisation_cannot_be_refused() -> None:
    """An initialisation that is refused is a mistake of the actor: Kafka has no words for it."""
    house = House(leaning=1)
    door = door_of(house)

    with pytest.raises(SpecError, match="nobody_leans did not hold"):
        door.fire("hang", "front")
    door.fire("shut", "front")
    with pytest.raises(SpecError, match="shut the machine down first"):
        door.fire("hang", "front")


def test_no_row_within_a_row() -> None:
    """An effect that fires the same entity is refused, since the outer row would overwrite its state; another entity is fine."""
    house = House()
    door = door_of(house)
    house.again = lambda: door.fire("open", "front")
    with pytest.raises(SpecError, match="as the next step"):
        door.fire("shut", "front")
    assert door.state_of("front") == OPEN

    house.again = lambda: door.fire("open", "back")
    assert door.fire("shut", "front")


@dataclass(frozen=True)
class Ring:
    """The inputs of the rows in one attempt: a key ring."""

    keys: int


class Keyed(House):
    """An actor whose guards read the keys of the attempt, and no state of its own."""

    @guard
    def key_fits(self, inputs: Ring) -> int:  # type: ignore[override]
        return inputs.keys & 6

    @guard
    def key_is_wrong(self, inputs: Ring) -> bool:  # type: ignore[override]
        return not inputs.keys & 6


class Locksmith(House):
    """An actor whose guard takes inputs of another type than the machine is built for."""

    @guard
    def key_fits(self, inputs: House) -> int:  # type: ignore[override]
        return inputs.keys


def test_row_functions_see_the_inputs_of_their_attempt() -> None:
    """The `inputs` of `fire` reach the guards and effects that take them, in that attempt alone."""
    door = build(Keyed(), {DOOR: ("door",)}, House(), inputs=Ring)["Door"]
    door.fire("shut", "front")

    assert door.fire("lock", "front", inputs=Ring(1))
    assert door.state_of("front") == SHUT
    assert door.fire("lock", "front", inputs=Ring(2))
    assert door.state_of("front") == LOCKED
    door.fire("shut", "back")
    with pytest.raises(SpecError, match=r"takes inputs, and lock was fired without inputs; pass them to fire"):
        door.fire("lock", "back")
    assert door.state_of("back") == SHUT


def test_inputs_have_their_type() -> None:
    """A row function that takes inputs of another type, or a machine that is built for none, is refused when it is built."""
    with pytest.raises(SpecError, match=r"Locksmith.key_fits takes inputs \(House\); the machine is built for Ring"):
        build(Locksmith(), {DOOR: ("door",)}, House(), inputs=Ring)
    with pytest.raises(SpecError, match=r"Keyed.key_fits takes inputs \(Ring\); the machine is built for none"):
        build(Keyed(), {DOOR: ("door",)}, House())


def test_entity_has_its_length() -> None:
    """An entity with a part too many is refused."""
    with pytest.raises(SpecError, match="name door"):
        door_of(House()).fire("shut", "front", "left")


class Bare:
    @effect
    def push(self) -> None: ...


class Unmarked(House):
    def nobody_leans(self) -> bool:
        return True


class Swapped(House):
    @effect
    def nobody_leans(self) -> bool:
        return True


class Greedy(House):
    @effect
    def note(self, window: str) -> None: ...


class Idle(House):
    @guard
    def window_is_open(self) -> bool:
        return True


@pytest.mark.parametrize(
    ("actor", "summary"),
    [
        (Bare(), "Bare has no effect note; write it, and mark it @effect"),
        (Unmarked(), "Unmarked has no guard nobody_leans; mark it @guard"),
        (Swapped(), "Swapped.nobody_leans is marked as effect, and used as guard"),
        (Greedy(), "Greedy.note takes window, which is not a part of the entity (door)"),
        (Idle(), "Idle.window_is_open is marked as guard, and no row of any era uses it"),
    ],
)
def test_names_and_methods_meet(actor: Any, summary: str) -> None:
    """A name without its method, and a method that no row uses, are errors when the machine is built."""
    with pytest.raises(SpecError, match=re.escape(summary)):
        build(actor, {DOOR: ("door",)}, House())


def test_a_method_may_belong_to_another_era() -> None:
    """A method that only another era's rows use is accepted, if that era is named."""
    today = replace(DOOR, rows=tuple(row for row in DOOR.rows if "key_is_wrong" not in row.guards))

    assert door_of(House(), today).fire("shut", "front")
    with pytest.raises(SpecError, match="key_is_wrong"):
        build(House(), {today: ("door",)}, House())


def test_misspelt_target_is_refused() -> None:
    """A row to a state that the machine has not, which `transitions` accepts until it fires, is refused by the table itself."""

    class Window(enum.IntEnum):
        AJAR = 1

    with pytest.raises(SpecError, match="is not a Door"):
        replace(DOOR, rows=(*DOOR.rows, Row("tilt", (OPEN,), Window.AJAR)))


def test_duplicate_rows_are_refused() -> None:
    """Two rows with one trigger, source and guards, of which `transitions` takes the first, are refused by the table itself."""
    with pytest.raises(SpecError, match="both leave OPEN on shut"):
        replace(DOOR, rows=(*DOOR.rows, Row("shut", (OPEN,), LOCKED)))


@given(st.lists(st.tuples(st.sampled_from(["shut", "open", "lock"]), st.sampled_from("ab"), st.integers(0, 1), st.integers(0, 7))))
def test_only_legal_pairs(steps: list[tuple[str, str, int, int]]) -> None:
    """Whatever is fired, every change is a legal pair, every refusal changes nothing, and each attempt is logged once."""
    house = House()
    door = door_of(house)
    for trigger, entity, house.leaning, house.keys in steps:
        before = door.state_of(entity)
        if (trigger, before) == ("open", LOCKED):
            continue
        count = len(house.attempts)
        found = door.fire(trigger, entity)
        assert len(house.attempts) == count + 1
        assert house.attempts[-1].target == (door.state_of(entity) if found else None)
        assert ((before, door.state_of(entity)) in DOOR.legal_pairs) if found else door.state_of(entity) == before


# Kafka's tables, on an actor whose guards are facts and whose effects are noted


class Facts:
    """Says of every guard of Kafka's two tables whether it holds, and notes every effect."""

    def __init__(self) -> None:
        self.true: set[str] = set()
        self.done: list[str] = []


def _guard(name: str) -> Any:
    def method(self: Facts) -> bool:
        return name in self.true

    return guard(method)


def _effect(name: str) -> Any:
    def method(self: Facts) -> None:
        self.done.append(name)

    return effect(method)


for _row in (*PARTITION.rows, *REPLICA.rows):
    for _name in map(name_of, _row.looks):
        setattr(Facts, _name, _guard(_name))
    for _name in map(name_of, _row.effects):
        setattr(Facts, _name, _effect(_name))

ORDERS = TopicPartition("orders", 3)


class FifthController:
    controller_id = 5
    controller_epoch = 7

    def assigned_replicas(self, partition: TopicPartition) -> tuple[int, ...]:
        return (1, 2, 3)

    def leadership(self, partition: TopicPartition) -> Leadership:
        return Leadership(1, 4, (1, 2), 9, 7)


def kafka(
    lines: list[str], level: LogLevel = LogLevel.TRACE, replicas: Machine = REPLICA
) -> tuple[Facts, Running[Any], Running[Any]]:
    """Return an actor with Kafka's two machines, which log into `lines`."""
    log = StateChangeLog(lines.append, lambda: 1610000000.0426, level)
    facts = Facts()
    machines = build(
        facts,
        {PARTITION: ("partition",), replicas: ("partition", "replica")},
        ControllerLines(log, FifthController()),
        every_era=(REPLICA, REPLICA_0_10),
    )
    return facts, machines["Partition"], machines["Replica"]


def test_kafkas_words() -> None:
    """Changes, an illegal change and a failed one are logged in Kafka's words, in its frame."""
    lines: list[str] = []
    facts, partitions, replicas = kafka(lines)
    partitions.fire("offline_partition", ORDERS)
    partitions.fire("new_partition", ORDERS)
    partitions.fire("online_partition", ORDERS)
    facts.true |= {"an_assigned_replica_is_live", "state_znode_is_absent", "replica_is_assigned"}
    partitions.fire("online_partition", ORDERS)
    partitions.fire("offline_partition", ORDERS)
    replicas.fire("offline_replica", ORDERS, 2)
    replicas.fire("new_replica", ORDERS, 2)
    replicas.fire("online_replica", ORDERS, 2)
    frame = "[2021-01-07 06:13:20,042] {} [Controller id=5 epoch=7] {} (state.change.logger)\n"

    assert lines == [
        frame.format(
            "ERROR",
            "Controller 5 epoch 7 failed to change state for partition orders-3 from NonExistentPartition to OfflinePartition",
        )
        + "java.lang.IllegalStateException: Partition orders-3 should be in one of NewPartition,OnlinePartition,OfflinePartition "
        "states before moving to OfflinePartition state. Instead it is in NonExistentPartition state\n",
        frame.format(
            "INFO", "Changed partition orders-3 state from NonExistentPartition to NewPartition with assigned replicas 1,2,3"
        ),
        frame.format(
            "ERROR", "Controller 5 epoch 7 failed to change state for partition orders-3 from NewPartition to OnlinePartition"
        )
        + "kafka.common.StateChangeFailedException: an_assigned_replica_is_live did not hold\n",
        frame.format(
            "INFO",
            "Changed partition orders-3 from NewPartition to OnlinePartition with state "
            "LeaderAndIsr(leader=1, leaderEpoch=4, isr=List(1, 2), zkVersion=9)",
        ),
        frame.format("TRACE", "Changed partition orders-3 state from OnlinePartition to OfflinePartition"),
        frame.format(
            "ERROR",
            "Controller 5 epoch 7 initiated state change of replica 2 for partition orders-3 "
            "from NonExistentReplica to OfflineReplica failed",
        )
        + "java.lang.IllegalStateException: Replica [Topic=orders,Partition=3,Replica=2] should be in the "
        "NewReplica,OnlineReplica,OfflineReplica,ReplicaDeletionIneligible states before moving to OfflineReplica state. "
        "Instead it is in NonExistentReplica state\n",
        frame.format("TRACE", "Changed state of replica 2 for partition orders-3 from NonExistentReplica to NewReplica"),
        frame.format("TRACE", "Changed state of replica 2 for partition orders-3 from NewReplica to OnlineReplica"),
    ]
    assert facts.done == ["create_state_znode", "send_leader_and_isr_to_first_isr"]


def test_a_new_replica_that_leads_is_logged_with_kafkas_wrong_target() -> None:
    """Where a new replica is the cached leader, Kafka's error names OfflineReplica as the target; the state stays."""
    lines: list[str] = []
    facts, _, replicas = kafka(lines)
    facts.true |= {"leadership_is_known", "replica_is_cached_leader"}

    assert not replicas.fire("new_replica", ORDERS, 2)
    assert "from NonExistentReplica to OfflineReplica failed" in lines[0]
    assert replicas.state_of(ORDERS, 2) == ReplicaState.NON_EXISTENT


def test_default_level_since_2_6() -> None:
    """At level INFO replicas leave no line, as in the logs of 2.6 and later; initialisations never do."""
    lines: list[str] = []
    facts, partitions, replicas = kafka(lines, LogLevel.INFO)
    facts.true |= {"replica_is_live"}
    replicas.fire("startup", ORDERS, 1)
    replicas.fire("online_replica", ORDERS, 1)
    partitions.fire("startup", ORDERS)
    partitions.fire("shutdown", ORDERS)

    assert (lines, replicas.state_of(ORDERS, 1)) == ([], ReplicaState.ONLINE)


@pytest.mark.parametrize("machine", [PARTITION, REPLICA, REPLICA_0_10], ids=["partition", "replica", "replica_0_10"])
def test_legality_matrix(machine: Machine) -> None:
    """Of all pairs of states exactly the table's can be entered; every other is logged as illegal and leaves the state."""
    lines: list[str] = []
    replicas = REPLICA_0_10 if machine is REPLICA_0_10 else REPLICA
    facts, *running = kafka(lines, replicas=replicas)
    (table,) = [r for r in running if r.machine is machine]
    entity = (ORDERS,) if machine is PARTITION else (ORDERS, 2)
    for trigger in machine.triggers:
        if machine.rows_of(trigger)[0].kind == "initialisation":
            continue
        wanted = machine.rows_of(trigger)[0].target
        for source in machine.states:
            rows = [row for row in machine.rows_of(trigger) if source in row.sources]
            for row in rows:
                facts.true = set(map(name_of, row.guards))
                table.load(entity, source)
                if row.waits_for:
                    with pytest.raises(SpecError, match="waits for"):
                        table.fire(trigger, *entity)
                else:
                    assert table.fire(trigger, *entity)
                    assert table.state_of(*entity) == wanted
            if not rows:
                table.load(entity, source)
                del lines[:]
                assert not table.fire(trigger, *entity)
                assert table.state_of(*entity) == source
                assert "IllegalStateException" in lines[0]
            assert bool(rows) == ((source, wanted) in machine.legal_pairs)


def test_names_of_states() -> None:
    """States have the names that Kafka gives them."""
    assert [state_name(s) for s in PartitionState] == [
        "NonExistentPartition",
        "NewPartition",
        "OnlinePartition",
        "OfflinePartition",
    ]
    assert [state_name(s) for s in ReplicaState] == [
        "NonExistentReplica",
        "NewReplica",
        "OnlineReplica",
        "OfflineReplica",
        "ReplicaDeletionStarted",
        "ReplicaDeletionSuccessful",
        "ReplicaDeletionIneligible",
    ]
