"""Every toy in both engines: known facts about its states, and equal findings of the engines."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import pytest
from conftest import ENGINES, Explore

from kafka_spec.model_check.budget import Budget
from kafka_spec.model_check.exploration import Exploration
from kafka_spec.model_check.interpreter.interpreter import Interpreter
from kafka_spec.model_check.oracle import oracle
from kafka_spec.model_check.search import embedded
from kafka_spec.model_check.traces.counterexample import trace_of
from kafka_spec.spec.language.domain import Flag, Queue, append, field
from kafka_spec.spec.vocabulary.table import DEADLOCK, TYPE_INVARIANT, Spec, SpecError, invariant
from tests import sample_specs


@dataclass
class Waits:
    """What waits for somebody."""

    waiting: list[int] = field(Queue(Flag(), 2))


def send(s: Waits) -> None:
    """Send one more."""
    append(s.waiting, 1)


def nothing_waits(s: Waits) -> bool:
    """Nothing waits."""
    return len(s.waiting) == 0


def below_four(s: sample_specs.Count) -> bool:
    """The value is below 4."""
    return s.value < 4


def run(explore: Explore, spec: Spec, **other: Any) -> Exploration:
    """Explore a toy at its first bounds."""
    return explore(spec, sample_specs.bounds_of(spec), **other)


def essence(result: Exploration) -> dict[str, Any]:
    """Return everything that must be the same in all engines."""
    return {
        "levels": result.levels,
        "fired": +result.fired,
        "new": +result.new,
        "bounded": +result.bounded,
        "tested": {name: result.tested_of(name) for name, _ in result.claims},
        "findings": result.findings,
        "digest": result.digest,
        "complete": result.complete,
        "stopped": result.stopped,
        "verdicts": {name: result.verdict_of(name) for name, _ in result.claims},
        "dead": result.dead_rules,
    }


@pytest.mark.parametrize("deadlock", [False, True], ids=["", "deadlock"])
@pytest.mark.parametrize("everything", [False, True], ids=["to the first", "everything"])
@pytest.mark.parametrize(
    "spec",
    sample_specs.EXPLORABLE,
    ids=lambda spec: spec.name,
)
def test_engines_find_the_same(spec: Spec, everything: bool, deadlock: bool) -> None:
    """The compiled engine, with one thread and with two, agrees with the oracle on every toy."""
    found = [essence(run(explore, spec, everything=everything, deadlock=deadlock)) for explore in ENGINES.values()]
    assert found[0] == found[1] == found[2]


@pytest.mark.parametrize("spec", sample_specs.EXPLORABLE, ids=lambda spec: spec.name)
def test_findings_can_be_replayed(spec: Spec) -> None:
    """The actions of a finding, executed by the oracle's world, lead through legal steps to where the claim is decided."""
    world = Interpreter(spec, sample_specs.bounds_of(spec))
    result = run(embedded.explore, spec, everything=True, deadlock=True)
    for claim, finding in result.findings.items():
        state, before = world.initial()[finding.start], None
        for position, number in enumerate(finding.actions):
            rule, binding = world.actions.decode(number)
            assert world.allows(rule, state, binding)
            if claim == TYPE_INVARIANT and position == len(finding.actions) - 1:
                with pytest.raises(SpecError):
                    world.apply(rule, state, binding)
                break
            before, state = state, world.apply(rule, state, binding)
        if claim == DEADLOCK:
            assert not any(True for rule in spec.rules for _ in world.enabled(rule, state))
        elif claim != TYPE_INVARIANT:
            stated = spec.property(claim)
            if stated.kind == "step invariant":
                assert not world.judge_step(stated, before, state)
            elif stated.kind == "recoverable":
                assert not world.recovers(stated, state, 1_000)
            elif stated.kind == "leads-to":
                assert not world.meets(stated, state)
            else:
                assert world.judge(stated, state) == (stated.kind == "reachable")


def test_counter_counts(explore: Explore) -> None:
    """The counter has one state in each of its six levels, its invariant holds and its goal is met at the end."""
    result = run(explore, sample_specs.COUNTER)
    assert result.levels == [1] * 6
    assert (result.distinct, result.generated, result.depth) == (6, 5, 6)
    assert result.verdict == "holds" and result.complete and not result.stopped
    assert result.findings["Arrives"].actions == (0,) * 5
    assert result.dead_rules == []


@pytest.mark.parametrize("limit", [1, 2, 254, 255, 256, 300])
def test_counter_crosses_bytes(explore: Explore, limit: int) -> None:
    """Counting goes to any limit, over the edge from one byte to two as well."""
    result = explore(sample_specs.COUNTER, {"limit": limit})
    assert result.levels == [1] * (limit + 1) and result.verdict == "holds"


def test_invariant_breaks_after_three_steps(explore: Explore) -> None:
    """The search stops at the end of the level with the first violation, and the trace to it is a shortest one."""
    result = run(explore, sample_specs.BREAKS_AT_THREE)
    assert result.violated == ["BelowThree"] and result.findings["BelowThree"].actions == (0, 0, 0)
    assert result.levels == [1, 1, 1, 1] and not result.complete
    assert result.verdict_of("Within") == "inconclusive"


def test_everything_goes_on_after_a_violation(explore: Explore) -> None:
    """With `everything` the search continues to the end, and the first violation is the reported one."""
    result = run(explore, sample_specs.BREAKS_AT_THREE, everything=True)
    assert result.levels == [1] * 6 and result.complete
    assert result.findings["BelowThree"].actions == (0, 0, 0)
    assert result.verdict_of("Within") == "holds"


def test_a_trace_tells_its_start(explore: Explore) -> None:
    """The first line of a trace says with which values the rule that starts makes this initial state."""
    spec = replace(sample_specs.SEVERAL_STARTS, properties=(invariant("Below", below_four, "it is below 4"),))
    trace = trace_of(run(explore, spec), "Below")

    assert trace is not None and trace.steps == ()
    assert (trace.start.summary, trace.start.action.binding) == ("starts at 4", (("at", 4),))


def test_a_rule_may_receive_nothing(explore: Explore) -> None:
    """A rule says that it receives from a sequence, and fires where that is empty: its trace shows no message."""
    talks = replace(sample_specs.rule("Talk", send), receives="waiting")
    spec = Spec("talk", "", Waits, (talks,), (invariant("Silent", nothing_waits, "nothing waits"),))
    trace = trace_of(explore(spec, {}), "Silent")

    assert trace is not None
    assert [step.received for step in trace.steps] == [()]


def test_step_invariant_breaks_on_an_edge_to_a_known_state(explore: Explore) -> None:
    """A step invariant is checked on edges to known states too."""
    result = run(explore, sample_specs.GOES_BACK)
    assert result.violated == ["NeverDown"]
    assert result.findings["NeverDown"].actions == (0, 0, 0, 0, 0, 1)
    assert result.fired["StartOver"] == 1 and result.new["StartOver"] == 0


@pytest.mark.parametrize("spec", [sample_specs.COMMANDED, sample_specs.FAULTY], ids=lambda spec: spec.name)
def test_step_invariant_binds_operators_and_faults(explore: Explore, spec: Spec) -> None:
    """A step invariant is checked on the steps of operators and faults too."""
    assert run(explore, spec).findings["NeverDown"].actions == (0,) * 5 + (1,)


@pytest.mark.parametrize("spec", sample_specs.FULL_BYTES, ids=lambda spec: spec.name)
def test_a_domain_that_fills_its_bytes_is_left(explore: Explore, spec: Spec) -> None:
    """A step out of a domain is noticed where its numbers just fill one byte, or two, with a sign and without."""
    result = run(explore, spec)
    steps = 3 if spec.name.endswith("raise_byte") else 2
    assert (result.levels, result.violated) == ([1] * steps, [TYPE_INVARIANT])
    assert result.findings[TYPE_INVARIANT].actions == (0,) * steps


@pytest.mark.parametrize("limit", [254, 255, 256])
def test_a_bound_that_fills_a_byte_is_left(explore: Explore, limit: int) -> None:
    """A step beyond a bound is dropped and counted, where the bound just fills a byte too."""
    result = explore(sample_specs.LEAVES_BOUND, {"limit": limit})
    assert (result.levels, result.bounded) == ([1] * (limit + 1), {"CountUp": 1})


def test_all_values_of_all_parameters_are_tried(explore: Explore) -> None:
    """Every pair of values is chosen in every state, the last of each parameter too."""
    result = run(explore, sample_specs.PAIRS)
    assert (result.levels, result.fired["Choose"], result.violated) == ([1, 17], 18 * 18, [])


def test_every_item_is_tried(explore: Explore) -> None:
    """A parameter over a sequence takes the index of each existing item, and no other value."""
    result = run(explore, sample_specs.PICKS)
    assert (result.levels, result.fired["Pick"], result.violated) == ([1, 2], 6, [])


def test_goal_that_is_never_reached_is_violated(explore: Explore) -> None:
    """A goal that no state meets is violated once the search is complete."""
    result = run(explore, sample_specs.NEVER_PASSES)
    assert result.complete and result.violated == ["Passes"] and not result.findings


def test_goal_is_inconclusive_before_the_end(explore: Explore) -> None:
    """A goal that was not reached is inconclusive while the search is not complete."""
    result = run(explore, sample_specs.NEVER_PASSES, budget=Budget(max_states=3))
    assert result.verdict == "inconclusive" and "3 states" in result.stopped and result.levels == [1, 1, 1]


def test_dead_rule_is_named(explore: Explore) -> None:
    """A rule that never fires is named."""
    assert run(explore, sample_specs.DEAD_RULE).dead_rules == ["Jump"]


def test_leaving_a_bound_is_counted(explore: Explore) -> None:
    """A store beyond a bound drops the step and counts it, and is no violation."""
    result = run(explore, sample_specs.LEAVES_BOUND)
    assert result.bounded == {"CountUp": 1} and result.verdict == "holds" and result.fired["CountUp"] == 5


def test_within_is_counted_as_bound(explore: Explore) -> None:
    """A step that only a predicate of `within` forbids is counted as bounded."""
    result = run(explore, sample_specs.CUT_OFF)
    assert result.bounded == {"CountUp": 1} and result.levels == [1, 1, 1, 1]


def test_bound_is_no_deadlock(explore: Explore) -> None:
    """A state whose only steps a bound forbids is not stuck, one without any step is."""
    assert run(explore, sample_specs.CUT_OFF, deadlock=True).verdict == "holds"
    stuck = run(explore, sample_specs.COUNTER, deadlock=True)
    assert stuck.violated == [DEADLOCK] and stuck.findings[DEADLOCK].actions == (0,) * 5


def test_leaving_a_domain_violates_the_type_invariant(explore: Explore) -> None:
    """A store outside a literal domain violates the type invariant, by the step that does it."""
    result = run(explore, sample_specs.LEAVES_DOMAIN)
    assert result.violated == [TYPE_INVARIANT] and result.findings[TYPE_INVARIANT].actions == (0,) * 4
    assert result.levels == [1] * 4 and not result.bounded


def test_meaningless_field_violates_the_type_invariant(explore: Explore) -> None:
    """A field that a kind of message does not have must not be set in it."""
    result = run(explore, sample_specs.MEANINGLESS)
    assert result.violated == [TYPE_INVARIANT] and result.findings[TYPE_INVARIANT].actions == (0,)


def test_assignment_orders_distinct_brokers(explore: Explore) -> None:
    """Three brokers can be assigned in 1 + 3 + 6 + 6 ways, and none of them twice."""
    assert run(explore, sample_specs.ASSIGNS).levels == [1, 3, 6, 6]
    twice = run(explore, sample_specs.ASSIGNS_TWICE)
    assert twice.violated == [TYPE_INVARIANT] and len(twice.findings[TYPE_INVARIANT].actions) == 2


def test_several_initial_states(explore: Explore) -> None:
    """A start rule with a parameter and a guard makes one initial state for each binding that it allows."""
    assert run(explore, sample_specs.SEVERAL_STARTS, everything=True).levels == [3, 3]
    first = run(explore, sample_specs.SEVERAL_STARTS)
    assert first.findings["BelowThree"].start == 2 and first.findings["BelowThree"].actions == ()


def test_decision_is_read_as_constant(explore: Explore) -> None:
    """A version that decides otherwise behaves otherwise, and the rules are the same."""
    assert run(explore, sample_specs.PACED).levels == [1] * 6
    fast = run(explore, sample_specs.FAST_PACED)
    assert fast.levels == [1] * 3 and fast.violated == ["Arrives"]


def test_refused_fire_changes_nothing_but_is_seen(explore: Explore) -> None:
    """Where the table refuses, `fire` says so and the rule can go on; 153 states of two doors are found."""
    result = run(explore, sample_specs.DOORS)
    assert result.distinct == 153 and result.verdict == "holds"
    assert result.findings["BothLocked"].actions == (6, 4, 5)
    assert result.fired == {"Open": 306, "Shut": 306, "Lock": 306, "FindKey": 45}


def test_channel_is_first_in_first_out(explore: Explore) -> None:
    """What went through the channel was taken in order: 31 states, and 45 steps lead through them."""
    result = run(explore, sample_specs.CHANNEL, deadlock=True)
    assert (result.distinct, result.generated) == (31, 45)
    assert result.violated == [DEADLOCK], "once three pings are answered nothing is left to do"


def test_wide_levels_are_shared_by_threads() -> None:
    """With levels wide enough for threads to share, two and three threads find what one finds, and it is what is known."""
    bounds, found = {"limit": 12}, []
    for threads in (1, 2, 3):
        found.append(essence(embedded.explore(sample_specs.GRID, bounds, threads=threads, everything=True, deadlock=True)))
    assert found[0] == found[1] == found[2]
    assert sum(found[0]["levels"]) == 13**4 and max(found[0]["levels"]) >= embedded.SMALL_LEVEL
    assert len(found[0]["findings"]["NotAllSix"].actions) == 24


def test_seed_changes_order_and_nothing_else(explore: Explore) -> None:
    """Another seed of the fingerprints gives another digest and other shortest traces, but the same counts and verdicts."""
    one, other = (run(explore, sample_specs.GRID, everything=True, seed=seed) for seed in (None, 7))
    assert one.digest != other.digest and one.levels == other.levels
    assert (one.fired, one.violated) == (other.fired, other.violated)
    assert len(one.findings["NotAllSix"].actions) == len(other.findings["NotAllSix"].actions)


@pytest.mark.parametrize("name", sample_specs.BROKEN)
def test_what_cannot_be_executed_is_named(explore: Explore, name: str) -> None:
    """A guard, an effect, a property or a table that cannot be executed ends the search, and the message names it."""
    spec = sample_specs.BROKEN[name]
    with pytest.raises(SpecError, match=rf"^{name}(\(\d\))?: \w+ cannot be executed: "):
        run(explore, spec)


def test_step_property_that_cannot_be_executed_ends_the_search(explore: Explore) -> None:
    """A step invariant that cannot be judged ends the search, and the message names rule or property."""
    with pytest.raises(SpecError, match=r"StepReadsNothing|rule CountUp"):
        run(explore, sample_specs.STEP_PROPERTY_RAISES)


@pytest.mark.parametrize("name", sample_specs.BROKEN)
def test_compiled_message_is_the_oracles(name: str) -> None:
    """The compiled engine says what the oracle says, and adds after how many steps, and where."""
    spec, messages = sample_specs.BROKEN[name], []
    for explore in (oracle.explore, embedded.explore):
        with pytest.raises(SpecError) as raised:
            run(explore, spec)
        messages.append(str(raised.value))
    said, compiled = messages
    assert compiled.startswith(f"{said} (after ") and (" steps; " in compiled)


def test_overlap_names_both_rows(explore: Explore) -> None:
    """Rows that both fit are named, and no state is passed off as their result."""
    with pytest.raises(SpecError, match=r"machine Door: open in SHUT fits 'open \[is_first_door\]' and 'open \[is_any_door\]'"):
        run(explore, sample_specs.OVERLAPPING)


def test_row_that_waits_says_for_what(explore: Explore) -> None:
    """The error for firing a row that waits for a feature names the feature."""
    with pytest.raises(SpecError, match="row 'lock' waits for keys"):
        run(explore, sample_specs.WAITS)


def test_no_threads_are_refused() -> None:
    """A search with no threads is refused."""
    with pytest.raises(SpecError, match="1 or more"):
        run(embedded.explore, sample_specs.COUNTER, threads=0)


@pytest.mark.parametrize("seed", [None, 1])
def test_levels_hold_the_states_that_the_oracle_finds(seed: int | None) -> None:
    """Level by level the compiled engine's records are, in order, those of the states that the oracle finds."""
    seen: list[list[bytes]] = []

    def keep(search: embedded.Search) -> None:
        seen.append([record.tobytes() for record in search.frontier.read(0, search.width)[0]])

    result = run(embedded.explore, sample_specs.CHANNEL, seed=seed, on_level=keep)
    world = Interpreter(sample_specs.CHANNEL, {})
    layout = embedded.Layout(world.space, seed)
    level, known = world.initial(), {world.key(state) for state in world.initial()}
    for records in seen:
        assert records == [layout.pack(state) for state in level]
        after: dict[Any, Any] = {}
        for state in level:
            for rule in sample_specs.CHANNEL.rules:
                for binding in world.enabled(rule, state):
                    successor = world.apply(rule, state, binding)
                    after.setdefault(world.key(successor), successor)
        level = [state for key, state in after.items() if key not in known]
        known |= set(after)
    assert not level and len(seen) == len(result.levels)
