"""Kafka's two tables: legal pairs written out a second time, rows that wait, refusals, and the methods bound to their names."""

from __future__ import annotations

import inspect
import itertools
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from kafka_spec.model_check.exploration import Exploration
from kafka_spec.model_check.interpreter.interpreter import Interpreter
from kafka_spec.model_check.oracle import oracle
from kafka_spec.model_check.report.traces import trace_text
from kafka_spec.model_check.search import embedded
from kafka_spec.model_check.traces.counterexample import trace_of
from kafka_spec.spec.language import source_of
from kafka_spec.spec.language.domain import NONE, Bound, Range, append, assign, excluding, show_path, truncate
from kafka_spec.spec.machines.partition import PARTITION, PartitionState
from kafka_spec.spec.machines.reassignment import REASSIGNMENT
from kafka_spec.spec.machines.replica import REPLICA, REPLICA_0_10, ReplicaState
from kafka_spec.spec.vocabulary import table
from kafka_spec.spec.vocabulary.table import Constants, Machine, Row, Rule, Spec, SpecError, fire, name_of, reachable
from kafka_spec.spec.zookeeper.bounds import NO_EPOCH
from kafka_spec.spec.zookeeper.controller import partition_rows, replica_rows
from kafka_spec.spec.zookeeper.eras import ERA_0_10
from kafka_spec.spec.zookeeper.fixed import FIXED
from kafka_spec.spec.zookeeper.rows import EFFECTS, FUNCTIONS, GUARDS, bound_to
from kafka_spec.spec.zookeeper.state import ControllerStep
from kafka_spec.spec.zookeeper.state import World as State

Explore = Callable[..., Exploration]
ENGINES = [oracle.explore, embedded.explore]

TABLES = [PARTITION, REPLICA, REPLICA_0_10]
WAITING = [(machine, row) for machine in (PARTITION, REPLICA) for row in machine.rows if row.waits_for]

# ---------------------------------------------------------------------------------------------------------------------
# The legal pairs, as facts about Kafka have them: state -> legal previous states

PARTITION_PAIRS = """
    NEW          <- NON_EXISTENT
    ONLINE       <- NEW ONLINE OFFLINE
    OFFLINE      <- NEW ONLINE OFFLINE
    NON_EXISTENT <- OFFLINE
"""
REPLICA_PAIRS = """
    NEW                 <- NON_EXISTENT
    ONLINE              <- NEW ONLINE OFFLINE DELETION_INELIGIBLE
    OFFLINE             <- NEW ONLINE OFFLINE DELETION_INELIGIBLE
    DELETION_STARTED    <- OFFLINE
    DELETION_SUCCESSFUL <- DELETION_STARTED
    DELETION_INELIGIBLE <- OFFLINE DELETION_STARTED
    NON_EXISTENT        <- DELETION_SUCCESSFUL
"""
REPLICA_0_10_PAIRS = REPLICA_PAIRS.replace("<- OFFLINE DELETION_STARTED", "<- DELETION_STARTED")

TRIGGERS = {
    "new_partition": PartitionState.NEW,
    "online_partition": PartitionState.ONLINE,
    "offline_partition": PartitionState.OFFLINE,
    "non_existent_partition": PartitionState.NON_EXISTENT,
    "new_replica": ReplicaState.NEW,
    "online_replica": ReplicaState.ONLINE,
    "offline_replica": ReplicaState.OFFLINE,
    "replica_deletion_started": ReplicaState.DELETION_STARTED,
    "replica_deletion_successful": ReplicaState.DELETION_SUCCESSFUL,
    "replica_deletion_ineligible": ReplicaState.DELETION_INELIGIBLE,
    "non_existent_replica": ReplicaState.NON_EXISTENT,
}
"""The requests of a controller, and the state that each means."""


def pairs(text: str) -> set[tuple[str, str]]:
    """Return the (source, target) names of a table of legal previous states."""
    lines = [line.split("<-") for line in text.strip().splitlines()]
    return {(source, target.strip()) for target, sources in lines for source in sources.split()}


@pytest.mark.parametrize(
    ("machine", "text", "count"),
    [(PARTITION, PARTITION_PAIRS, 8), (REPLICA, REPLICA_PAIRS, 14), (REPLICA_0_10, REPLICA_0_10_PAIRS, 13)],
    ids=["partition", "replica", "replica 0.10"],
)
def test_legal_pairs(machine: Machine, text: str, count: int) -> None:
    """The pairs that transition rows make legal are Kafka's, all of them and no other."""
    assert len(pairs(text)) == count
    assert {(source.name, target.name) for source, target in machine.legal_pairs} == pairs(text)


@pytest.mark.parametrize("machine", TABLES, ids=["partition", "replica", "replica 0.10"])
def test_initialisation_makes_no_pair_legal(machine: Machine) -> None:
    """Without its initialisation rows a table has the same legal pairs; with them alone it would have none."""
    seeds = [row for row in machine.rows if row.kind == "initialisation"]
    rest = replace(machine, rows=tuple(row for row in machine.rows if row.kind == "transition"))

    assert {row.trigger for row in seeds} == {"startup", "shutdown"}
    assert rest.legal_pairs == machine.legal_pairs
    assert {(s, row.target) for row in seeds for s in row.sources} - set(machine.legal_pairs)


@pytest.mark.parametrize("machine", TABLES, ids=["partition", "replica", "replica 0.10"])
def test_a_trigger_is_the_state_it_asks_for(machine: Machine) -> None:
    """Every transition row has the one target that its trigger names, and cites a source; so does the table."""
    for row in machine.rows:
        assert row.reference.startswith(("Kafka 2.8 PartitionStateMachine", "Kafka 2.8 ReplicaStateMachine"))
        assert row.kind == "initialisation" or row.target is TRIGGERS[row.trigger]
    assert machine.reference.startswith("Kafka")


def test_0_10_lacks_one_row() -> None:
    """The table of 0.10 is that of 2.8 without the one row that makes an offline replica ineligible for deletion."""
    (gone,) = [row for row in REPLICA.rows if row not in REPLICA_0_10.rows]

    assert (gone.sources, gone.target) == ((ReplicaState.OFFLINE,), ReplicaState.DELETION_INELIGIBLE)
    assert [row for row in REPLICA.rows if row is not gone] == list(REPLICA_0_10.rows)


# ---------------------------------------------------------------------------------------------------------------------
# A small model in which the tables can be put into any state


def with_seeds(machine: Machine) -> Machine:
    """Return the bound table with an extra row for each state, which moves the machine there from any state."""
    seeds = tuple(
        Row(f"seed_{state.name.lower()}", tuple(machine.states), state, reference="a test", kind="initialisation")
        for state in machine.states
    )
    return replace(bound_to(machine), rows=(*bound_to(machine).rows, *seeds))


SEEDED_PARTITION, SEEDED_REPLICA = with_seeds(PARTITION), with_seeds(REPLICA)
ASKED = list(TRIGGERS)
SITUATIONS = ("settled", "leader and ISR are unknown", "replica 1 is outside the ISR", "replica 1 is not assigned")
ANY = -1
CHOICES = (
    Bound("seed", ANY, 6, "the state that partition and replica 1 are put into, or any"),
    Bound("situation", ANY, 3, "the number of the situation, or any"),
    Bound("asked", ANY, 10, "the number of the trigger, or any"),
)


def is_chosen(k: Constants, seed: int, situation: int) -> bool:
    """The bounds ask for this seed and this situation, or for any."""
    return (k.seed == seed or k.seed < 0) and (k.situation == situation or k.situation < 0)


def nothing_was_asked(s: State) -> bool:
    """No request has been made: the holder of /controller, which no row reads, decides."""
    return s.zookeeper.controller == NONE


def is_asked(k: Constants, trigger: int) -> bool:
    """The bounds ask for this trigger, or for any."""
    return k.asked == trigger or k.asked < 0


def note_question(s: State) -> None:
    """Ask once only."""
    s.zookeeper.controller = 0


def settle_by_hand(s: State) -> None:
    """Let broker 0 lead, broker 1 follow, and controller 0 know it."""
    append(s.zookeeper.partitions[0].assignment.replicas, 0)
    append(s.zookeeper.partitions[0].assignment.replicas, 1)
    s.zookeeper.registered = 3
    s.zookeeper.controller_epoch = 1
    s.zookeeper.partitions[0].state.leader = 0
    s.zookeeper.partitions[0].state.leader_epoch = 0
    s.zookeeper.partitions[0].state.isr = 3
    s.zookeeper.partitions[0].state.controller_epoch = 1
    s.controllers[0].epoch = 1
    s.controllers[0].context.live = 3
    assign(s.controllers[0].context.partitions[0].assignment, s.zookeeper.partitions[0].assignment)
    assign(s.controllers[0].context.partitions[0].leadership, s.zookeeper.partitions[0].state)


def bring_about(s: State, situation: int) -> None:
    """Bring about the situation."""
    if situation == 1:
        s.controllers[0].context.partitions[0].leadership.leader_epoch = NO_EPOCH
        s.zookeeper.partitions[0].state.leader_epoch = NO_EPOCH
    elif situation == 2:
        s.zookeeper.partitions[0].state.isr = excluding(s.zookeeper.partitions[0].state.isr, 1)
    elif situation == 3:
        truncate(s.controllers[0].context.partitions[0].assignment.replicas, 1)


def seed_machines(s: State, k: Constants, seed: int) -> None:
    """Put the partition (if it has such a state) and replica 1 of controller 0 into a state."""
    if seed == 0:
        fire(s, k, SEEDED_PARTITION, (0, 0), "seed_non_existent")
        fire(s, k, SEEDED_REPLICA, (0, 0, 1), "seed_non_existent")
    elif seed == 1:
        fire(s, k, SEEDED_PARTITION, (0, 0), "seed_new")
        fire(s, k, SEEDED_REPLICA, (0, 0, 1), "seed_new")
    elif seed == 2:
        fire(s, k, SEEDED_PARTITION, (0, 0), "seed_online")
        fire(s, k, SEEDED_REPLICA, (0, 0, 1), "seed_online")
    elif seed == 3:
        fire(s, k, SEEDED_PARTITION, (0, 0), "seed_offline")
        fire(s, k, SEEDED_REPLICA, (0, 0, 1), "seed_offline")
    elif seed == 4:
        fire(s, k, SEEDED_REPLICA, (0, 0, 1), "seed_deletion_started")
    elif seed == 5:
        fire(s, k, SEEDED_REPLICA, (0, 0, 1), "seed_deletion_successful")
    else:
        fire(s, k, SEEDED_REPLICA, (0, 0, 1), "seed_deletion_ineligible")


def ask(s: State, k: Constants, trigger: int) -> None:
    """Ask the tables for one thing."""
    if trigger == 0:
        fire(s, k, SEEDED_PARTITION, (0, 0), "new_partition")
    elif trigger == 1:
        fire(s, k, SEEDED_PARTITION, (0, 0), "online_partition")
    elif trigger == 2:
        fire(s, k, SEEDED_PARTITION, (0, 0), "offline_partition")
    elif trigger == 3:
        fire(s, k, SEEDED_PARTITION, (0, 0), "non_existent_partition")
    elif trigger == 4:
        fire(s, k, SEEDED_REPLICA, (0, 0, 1), "new_replica")
    elif trigger == 5:
        fire(s, k, SEEDED_REPLICA, (0, 0, 1), "online_replica")
    elif trigger == 6:
        fire(s, k, SEEDED_REPLICA, (0, 0, 1), "offline_replica")
    elif trigger == 7:
        fire(s, k, SEEDED_REPLICA, (0, 0, 1), "replica_deletion_started")
    elif trigger == 8:
        fire(s, k, SEEDED_REPLICA, (0, 0, 1), "replica_deletion_successful")
    elif trigger == 9:
        fire(s, k, SEEDED_REPLICA, (0, 0, 1), "replica_deletion_ineligible")
    else:
        fire(s, k, SEEDED_REPLICA, (0, 0, 1), "non_existent_replica")


ASKING = Spec(
    "asking",
    "the real tables, asked for anything in any state",
    State,
    rules=(
        Rule(
            "Ask",
            "a test",
            "the table is asked",
            "a test",
            (note_question, ask),
            {"trigger": Range(0, 10)},
            (nothing_was_asked, is_asked),
        ),
    ),
    start=Rule(
        "Start",
        "world",
        "a settled cluster",
        "a test",
        (settle_by_hand, bring_about, seed_machines),
        {"seed": Range(0, 6), "situation": Range(0, 3)},
        (is_chosen,),
    ),
    more_bounds=(*FIXED.more_bounds, *CHOICES),
    decisions=FIXED.decisions,
    machines=(SEEDED_PARTITION, SEEDED_REPLICA, *FIXED.machines[2:]),
)


def at(seed: int, trigger: str, situation: int) -> dict[str, int]:
    """Return bounds at which `ASKING` asks for a trigger in a state and a situation."""
    return {**SETTLED, "seed": seed, "situation": situation, "asked": ASKED.index(trigger)}


def asked(seed: int, trigger: str, situation: int) -> tuple[Any, set[str], table.Attempt]:
    """Return the next state, the changed paths, and the attempt."""
    world = Interpreter(ASKING, at(seed, trigger, situation))
    (before,) = world.initial()
    after = world.apply(ASKING.rules[0], before, (ASKED.index(trigger),))
    (attempt,) = world.attempts
    changed = {show_path(change.path) for change in world.space.changes(before, after)}
    return after, changed - {"zookeeper.controller"}, attempt


SETTLED = next(bounds.values for bounds in FIXED.bound_sets if bounds.name == "expiry")


# ---------------------------------------------------------------------------------------------------------------------
# Waiting rows, and refusals


def test_what_waits() -> None:
    """No row waits, and each legal pair has a row."""
    in_use = {
        (s.name, row.target.name) for row in REPLICA.rows if not row.waits_for and row.kind == "transition" for s in row.sources
    }
    partitions = {
        (s.name, row.target.name) for row in PARTITION.rows if not row.waits_for and row.trigger in TRIGGERS for s in row.sources
    }

    assert not WAITING
    assert pairs(PARTITION_PAIRS) == partitions
    assert pairs(REPLICA_PAIRS) == in_use


def illegal() -> list[tuple[str, int]]:
    """Return trigger and source of every pair that is not legal."""
    tables = {PartitionState: PARTITION, ReplicaState: REPLICA}
    return [
        (trigger, int(source))
        for trigger, target in TRIGGERS.items()
        for source in type(target)
        if (source, target) not in tables[type(target)].legal_pairs
    ]


def test_an_illegal_pair_is_refused_and_recorded() -> None:
    """In every situation, an attempt at an illegal pair changes nothing, and is recorded as refused."""
    assert len(illegal()) == 16 - 8 + 49 - 14
    for (trigger, source), situation in itertools.product(illegal(), range(len(SITUATIONS))):
        _, changed, attempt = asked(source, trigger, situation)

        assert changed == set()
        assert (attempt.trigger, attempt.source, attempt.target) == (trigger, source, None)


def test_a_legal_pair_is_entered_and_recorded() -> None:
    """An attempt that some row in use allows enters the trigger's target; one that no row allows changes nothing."""
    entered = 0
    for trigger, situation in itertools.product(TRIGGERS, range(len(SITUATIONS))):
        for source in type(TRIGGERS[trigger]):
            try:
                after, changed, attempt = asked(int(source), trigger, situation)
            except SpecError:
                continue
            if attempt.target is not None:
                entered += 1
                assert attempt.target is TRIGGERS[trigger]
                machines = after.controllers[0].partitions[0]
                assert attempt.target == (machines.state if attempt.machine == "Partition" else machines.replicas[1])
            else:
                assert changed == set()
    assert entered > 20


def test_both_engines_enter_and_refuse_alike() -> None:
    """For every state, situation and trigger the compiled tables do what `fire` does in Python, rows that wait included."""

    def in_use(row: Row) -> Row:
        return replace(row, waits_for="", effects=tuple(effect for effect in row.effects if callable(effect)))

    machines = tuple(replace(m, rows=tuple(map(in_use, m.rows))) for m in (SEEDED_PARTITION, SEEDED_REPLICA))
    spec = ASKING.replacing("asking/in-use", "no row waits", machines=machines)
    everything = {**SETTLED, "seed": ANY, "situation": ANY, "asked": ANY}
    one, other = (explore(spec, everything) for explore in ENGINES)

    assert one.levels[0] == 7 * len(SITUATIONS)
    assert (one.levels, one.fired, one.digest) == (other.levels, other.fired, other.digest)


def no_leader_was_found(s: State) -> bool:
    """Controller 1 has done with an election of an offline partition, without success."""
    return s.controllers[1].partitions[0].state == PartitionState.OFFLINE and s.controllers[1].step == ControllerStep.REMOVE


def test_a_trace_shows_what_was_refused() -> None:
    """The text of a trace of the real model names the trigger that the table refused, beside those it took."""
    goal = reachable("NoLeaderWasFound", no_leader_was_found, "an election finds nobody", "a test")
    lone = next(bounds.values for bounds in FIXED.bound_sets if bounds.name == "lone_replica")
    spec = replace(FIXED, properties=(goal,))
    trace = trace_of(oracle.explore(spec, lone), goal.name)

    assert trace is not None
    text = trace_text(trace, spec)
    assert "Partition[1, 0] offline_partition: ONLINE -> OFFLINE" in text
    assert "Partition[1, 0] online_partition: OFFLINE -> refused" in text


# ---------------------------------------------------------------------------------------------------------------------
# Names and functions


def test_every_name_in_use_is_bound() -> None:
    """Every guard, and every effect of a row in use, is bound to a documented function of that name, in every era."""
    for name, function in FUNCTIONS.items():
        assert function.__name__ == name and function.__doc__
    for spec in (FIXED, ERA_0_10):
        for machine in spec.machines[:3]:
            for row in machine.rows:
                assert all(callable(function) for function in (*row.looks, *(() if row.waits_for else row.effects)))


def test_every_row_function_is_used() -> None:
    """Each function that is bound is named by a row of some era; each of the rows' modules is bound, or called by one that is."""
    rows = [row for machine in (*TABLES, REASSIGNMENT) for row in machine.rows]
    modules = partition_rows, replica_rows
    stated = {f for m in modules for f in vars(m).values() if inspect.isfunction(f) and f.__module__ == m.__name__}
    bound = set(FUNCTIONS.values())

    assert stated - bound <= {call for function in bound & stated for call in source_of(function).calls}
    assert {function.__name__ for function in GUARDS} == {name_of(guard) for row in rows for guard in row.looks}
    assert {function.__name__ for function in EFFECTS} == {
        name_of(effect) for row in rows if not row.waits_for for effect in row.effects
    }


def test_guards_look_and_effects_write() -> None:
    """Every bound guard is pure; every bound effect writes, except the one whose request repeats what brokers know."""
    idle = set()
    for machine in FIXED.machines[:2]:
        for row in machine.rows:
            assert not any(source_of(guard).writes for guard in row.looks if not isinstance(guard, str))
            idle |= {e.__name__ for e in row.effects if not isinstance(e, str) and not source_of(e).writes}
    assert idle == {"send_update_metadata"}
