"""Random walks: their steps and verdicts are those of a search, equal seeds give equal walks, and nothing ever *holds*."""

from __future__ import annotations

import dataclasses
import json

import numpy as np
import pytest
import sample_specs
from conftest import Command
from sample_specs import bounds_of

from benchmarks.walks import bounds_for
from kafka_spec import MODELS
from kafka_spec.command import run as kafka_spec
from kafka_spec.model_check.budget import Budget
from kafka_spec.model_check.check import simulate
from kafka_spec.model_check.interpreter.interpreter import Interpreter
from kafka_spec.model_check.random_walks.batches import LENGTH, POLICIES, Met, Walks
from kafka_spec.model_check.random_walks.shorten import Shortener
from kafka_spec.model_check.random_walks.simulation import SAMPLE, Sample, Simulation, Walked, walk
from kafka_spec.model_check.search import embedded
from kafka_spec.model_check.traces.counterexample import trace_of
from kafka_spec.spec.language.domain import OutOfBound, OutOfDomain
from kafka_spec.spec.vocabulary.table import Spec, SpecError
from kafka_spec.spec.zookeeper.eras import SUITE

KIP_279, KIP_320 = MODELS["replication/kip_279"], MODELS["replication/kip_320"]
TRIED = (
    sample_specs.DOORS,
    sample_specs.CHANNEL,
    sample_specs.CUT_OFF,
    sample_specs.LEAVES_BOUND,
    sample_specs.LEAVES_DOMAIN,
    sample_specs.PICKS,
    sample_specs.PAIRS,
    sample_specs.SEVERAL_STARTS,
)
SMALL = dict(zip(("replicas", "log_size", "max_records", "max_leader_epoch"), (2, 2, 2, 2), strict=True))

THREE = KIP_279.bound_values({s.name: s for s in KIP_279.bound_sets}["three_replicas"].values)

CONTROL = MODELS["zookeeper/fixed"].bound_values({"crashes": 1, "bounces": 1, "records": 1, "reassignments": 1, "replicas": 1})


def essence(walked: Walked) -> object:
    """Return everything that must not depend on the number of threads."""
    counts = walked.found.fired, walked.found.bounded, walked.found.tested, walked.found.findings
    return counts, walked.count, walked.steps, walked.judged, walked.curve, walked.met, walked.rows


@pytest.mark.parametrize("spec", sample_specs.EXPLORABLE, ids=lambda spec: spec.name)
def test_walks_find_in_toys_what_a_search_finds(spec: Spec) -> None:
    """In a toy, walks see all of its states and fire its rules; they meet each violation, goal and deadlock, and no others."""
    search = embedded.explore(spec, bounds_of(spec), everything=True, deadlock=True)
    walked = simulate(spec, bounds_of(spec), Walks(most=2000, length=LENGTH), everything=True, deadlock=True)
    judged = {claim for claim in search.findings if claim not in [claim.name for claim in walked.not_judged]}
    assert walked.found.findings.keys() == judged
    assert walked.exact and search.distinct >= walked.different > min(150, 0.99 * search.distinct)
    assert {rule for rule, count in walked.found.fired.items() if count} == {rule for rule, count in search.fired.items() if count}
    for claim in walked.violated if search.levels[0] == 1 else ():
        trace = trace_of(walked.found, claim)
        assert trace is not None and not trace.shortest
        assert trace.states == search.findings[claim].states
    assert walked.found.verdict != "holds"


@pytest.mark.parametrize("policy", POLICIES)
def test_steps_are_those_of_the_oracle(policy: str) -> None:
    """Each step of a walk is one that the oracle allows, and leads to its state; a walk ends where the oracle allows none."""
    spec = MODELS["zookeeper/fixed"]
    bounds = CONTROL
    simulation = Simulation(spec, bounds, spec.properties, Walks(policy, seed=7, most=1), deadlock=False)
    walker, world, size = simulation.walker(), Interpreter(spec, bounds), simulation.layout.size
    for number in (POLICIES.index(policy),):
        walker.run(number, number + 1)
        steps, start = walker.reported[:2].tolist()
        state = world.initial()[start]
        for at, action in enumerate(walker.trail[:steps].tolist()):
            rule, binding = world.actions.decode(action)
            assert world.allows(rule, state, binding)
            state = world.apply(rule, state, binding)
            assert simulation.layout.pack(state) == bytes(walker.states[(at + 1) * size :][:size])
        assert steps == LENGTH or not list(allowed(world, state))


def allowed(world: Interpreter, state: object) -> list[int]:
    """Return the numbers of the actions that the oracle can take in a state, in order."""
    found = []
    for index, rule in enumerate(world.spec.rules):
        for binding in world.enabled(rule, state):
            try:
                if world.within(rule, state, binding):
                    world.apply(rule, state, binding)
                    found.append(world.actions.number(index, binding))
            except (OutOfBound, OutOfDomain):
                continue
    return found


@pytest.mark.parametrize("spec", [KIP_279, *TRIED], ids=lambda spec: spec.name)
def test_exactly_the_actions_that_the_oracle_allows_can_be_taken(spec: Spec) -> None:
    """Along a walk, each number of an action is tried: it is taken where the oracle allows it, and nowhere else."""
    bounds = SMALL if spec is KIP_279 else bounds_of(spec)
    simulation = Simulation(spec, bounds, [], Walks(most=1, length=12), deadlock=False)
    walker, world = simulation.walker(), Interpreter(spec, bounds)
    walker.run(3, 4)
    steps, start = walker.reported[:2].tolist()
    shortener = Shortener(simulation, "TypeInvariant", start)
    state, path = world.initial()[start], list(walker.trail[:steps].tolist())
    for at in range(0, len(path) + 1, 3):
        taken = [n for n in range(world.actions.count) if len(shortener.follow([*path[:at], n])[0]) == at + 2]
        assert taken == allowed(world, state)
        for action in path[at : at + 3]:
            rule, binding = world.actions.decode(action)
            state = world.apply(rule, state, binding)


@pytest.mark.parametrize("policy", [*POLICIES, "mixed"])
def test_equal_seeds_give_equal_walks_on_any_number_of_threads(policy: str) -> None:
    """Counts, curve, coverage and findings of three threads are those of one; another seed walks otherwise."""
    asked = Walks(policy, seed=5, most=3 * Walks().batch + 17)
    results = []
    for walks, threads in ((asked, 1), (asked, 3), (dataclasses.replace(asked, seed=6), 1)):
        simulation = Simulation(
            KIP_279, KIP_279.bound_values({"max_leader_epoch": 1}), KIP_279.properties, walks, False, everything=True
        )
        results.append(essence(walk(simulation, threads=threads)))
    assert results[0] == results[1] != results[2]


def test_the_first_walk_with_a_violation_is_told_whatever_the_threads() -> None:
    """The walks end with a violation; it is the one of the smallest walk, and the counts are those up to its batch."""
    reported = []
    for threads in (1, 3):
        simulation = Simulation(KIP_279, KIP_279.bound_values({}), KIP_279.properties, Walks(seed=3, most=50_000), False)
        reported.append(essence(walk(simulation, threads=threads)))
    assert reported[0] == reported[1]


def test_walks_without_a_violation_are_no_proof(capsys: pytest.CaptureFixture[str]) -> None:
    """The verdict says how many walks found nothing; the exit code is that of an incomplete check, and nothing holds."""
    assert kafka_spec(["check", "replication/kip_320", "--simulate", "--walks", "300", "-q"]) == 3
    out = capsys.readouterr().out
    assert "no violation found in 300 walks" in out
    assert "holds" not in out.split("property", 1)[1]
    assert kafka_spec(["check", "replication/kip_320", "--simulate", "--walks", "300", "-q", "--format", "json"]) == 3
    reported = json.loads(capsys.readouterr().out)
    assert (reported["verdict"], reported["complete"], reported["walks"]) == ("none found", False, 300)
    assert sum(reported["rules"].values()) == reported["steps"]


def test_a_violation_is_shortened_replayed_and_told(capsys: pytest.CaptureFixture[str]) -> None:
    """A walk that violates a property ends with exit code 1 and a trace, as short as that of the search on this model."""
    assert kafka_spec(["check", "replication/kip_279", "--bounds", "three_replicas", "--simulate", "--walks", "50000", "-q"]) == 1
    out = capsys.readouterr().out
    search = embedded.explore(KIP_279, THREE)
    states = search.findings["StrongIsr"].states
    assert "VIOLATED:" in out
    assert f"StrongIsr is violated: a trace has {states} states" in out


def test_shortening_never_ends_elsewhere() -> None:
    """What is left of a path violates the same property in its last state and not before, and no single action can be left out."""
    simulation = Simulation(KIP_279, THREE, KIP_279.properties, Walks(most=50_000), False)
    walked = walk(simulation)
    met: Met = walked.met["StrongIsr"]
    shortener = Shortener(simulation, met.claim, met.start)
    shorter = shortener.leave_out(met.actions)
    claim, world = KIP_279.property("StrongIsr"), simulation.world
    state, verdicts = world.initial()[met.start], []
    for action in shorter:
        rule, binding = world.actions.decode(action)
        assert world.allows(rule, state, binding)
        state = world.apply(rule, state, binding)
        verdicts.append(world.judge(claim, state))
    assert verdicts == [True] * (len(shorter) - 1) + [False]
    for at in range(len(shorter)):
        _, path = shortener.follow(shorter[:at] + shorter[at + 1 :])
        assert path is None or len(path) == len(shorter)


@pytest.mark.parametrize("spec", [s for n, s in sample_specs.BROKEN.items() if n != "ReadsBack"], ids=lambda spec: spec.name)
def test_errors_of_a_spec_are_those_of_the_search(spec: Spec) -> None:
    """Where a guard, an effect or a property cannot be executed, walks raise the oracle's error, and report no verdict."""
    with pytest.raises(SpecError) as searched:
        embedded.explore(spec, bounds_of(spec))
    with pytest.raises(SpecError) as walked:
        simulate(spec, bounds_of(spec), Walks(most=500))
    assert str(walked.value).split("(after")[0] == str(searched.value).split("(after")[0]


def test_antecedents_are_counted_as_the_judge_counts_them() -> None:
    """The states that meet an antecedent, on one walk of a spec whose states form a line, are those of the search."""
    spec = sample_specs.COUNTER
    searched = embedded.explore(spec, bounds_of(spec))
    walked = simulate(spec, bounds_of(spec), Walks(most=1))
    assert walked.judged == searched.distinct
    assert walked.steps == searched.generated


def test_the_number_of_different_states_is_exact_while_it_is_small_and_close_when_it_is_large() -> None:
    """The sample holds all fingerprints up to its size; beyond, the estimate of a million is right to two percent."""
    chance = np.random.default_rng(1)
    marks = np.unique(chance.integers(1, 1 << 63, 1_000_000, np.uint64))
    sample = Sample()
    for part in np.array_split(marks[:SAMPLE], 7):
        sample.add(part)
        sample.add(part)
    assert (sample.count, sample.bits) == (SAMPLE, 0)
    for part in np.array_split(marks, 31):
        sample.add(part)
    assert sample.bits > 0
    assert abs(sample.count / len(marks) - 1) < 0.02


def test_faults_come_late_under_that_policy() -> None:
    """Under the policy `late`, faults and operators come later in a walk, on average, than under `rule`."""
    spec, first = MODELS["zookeeper/fixed"], {}
    for policy in ("rule", "late"):
        simulation = Simulation(spec, CONTROL, spec.properties, Walks(policy, most=200, length=60), False)
        walker, world = simulation.walker(), simulation.world
        places = []
        for number in range(60):
            walker.run(number, number + 1)
            kinds = [world.actions.decode(action)[0].kind for action in walker.trail[: walker.reported[0]].tolist()]
            places += [at for at, kind in enumerate(kinds) if kind != "protocol"]
        first[policy] = sum(places) / len(places)
    assert first["late"] > 1.3 * first["rule"]


def test_rare_rules_fire_more_often_under_that_policy() -> None:
    """Of the rules that fire, the rarest has a larger share of the steps under `rare` than under `successor`."""
    shares = {}
    for policy in ("successor", "rare"):
        walked = simulate(KIP_320, SMALL, Walks(policy, most=2000))
        shares[policy] = min(walked.found.fired.values()) / walked.steps
    assert shares["rare"] > shares["successor"]


def test_rows_that_walks_take_are_told() -> None:
    """A row counts as taken if the oracle takes it on the same walks; a row of another trigger does not."""
    spec = sample_specs.DOORS
    simulation = Simulation(spec, bounds_of(spec), [], Walks(most=40, length=6, seed=2), False)
    walker, world, taken = simulation.walker(), simulation.world, set()
    for number in range(40):
        walker.run(number, number + 1)
        state = world.initial()[int(walker.reported[1])]
        for action in walker.trail[: walker.reported[0]].tolist():
            rule, binding = world.actions.decode(action)
            state = world.apply(rule, state, binding)
            taken |= {(a.machine, a.trigger, a.source, a.target) for a in world.attempts if a.target is not None}
    walked = walk(Simulation(spec, bounds_of(spec), [], Walks(most=40, length=6, seed=2), False))
    (machine,) = spec.machines
    expected = [(row.label, any(key == (machine.name, row.trigger, s, row.target) for s in row.sources for key in taken))
                for row in machine.rows]  # fmt: skip
    assert list(walked.rows[machine.name]) == expected
    assert sum(there for _, there in expected) > 0


def test_a_budget_of_time_ends_the_walks() -> None:
    """Without a number of walks they end with the time; without either they are refused."""
    with pytest.raises(SpecError, match="do not end by themselves"):
        simulate(KIP_320, SMALL)
    walked = simulate(KIP_320, SMALL, budget=Budget(seconds=0.2))
    assert walked.count and walked.seconds < 5


@pytest.mark.parametrize(
    ("arguments", "reported"),
    [
        (["--walks", "5"], "--walks is for --simulate"),
        (["--simulate", "--grow"], "take one of them"),
        (["--simulate", "--policy", "best"], "the policy 'best' is unknown"),
        (["--simulate", "--engine", "oracle"], "take embedded or spark"),
        (["--simulate", "--format", "junit"], "text or json"),
        (["--simulate", "--seed", "-1"], "is not a number of 0"),
    ],
)
def test_what_does_not_fit_is_refused(arguments: list[str], reported: str, inside: Command) -> None:
    """Options of walks without --simulate, and options of a search with it, are refused with what to do."""
    ran = inside("check", "replication/kip_320", *arguments)
    assert ran.returncode == 2
    assert reported in ran.stderr


@pytest.mark.long
def test_a_cluster_walks_as_one_process_does() -> None:
    """With the same seed and number of walks, tasks of Spark come to the same counts, curve, coverage and findings."""
    asked = Walks(seed=4, most=2 * Walks().batch + 5)
    alone = simulate(KIP_279, SMALL, asked, everything=True)
    spread = simulate(KIP_279, SMALL, asked, everything=True, master="local[2]")
    assert essence(spread) == essence(alone)


FOUND = (
    "KAFKA-532",
    "KAFKA-1096",
    "KAFKA-6082-unfenced-writes",
    "KAFKA-6082-two-step-election",
    "KAFKA-6082-unconditional-delete",
    "KAFKA-1188",
    "KAFKA-7235-unseen-bounce",
    "KAFKA-7235-former-incarnation",
    "KAFKA-708",
    "KAFKA-5083",
    "KAFKA-1382",
    "unanswered-expansion-forgotten",
    "KAFKA-7482",
    "last-replica-standing",
    "tail-lost-in-isr",
    "KAFKA-13972",
    "KAFKA-1097",
    "KAFKA-9212",
    "last-copy-deleted",
    "cancelled-replica-rejoins",
    "stray-replica",
    "KAFKA-9946",
    "created-during-deletion",
    "KAFKA-1738",
)
"""The bugs that walks of seed 1 find at `large` with the faults of their families, in at most 1,500 walks: benchmarks/README.md."""


@pytest.mark.long
@pytest.mark.parametrize("name", FOUND)
def test_walks_find_bugs_at_bounds_that_no_search_completes(name: str) -> None:
    """A walk meets the bug; what is left of it after shortening is replayed by the oracle."""
    (bug,) = [bug for bug in SUITE.expressed if bug.name == name]
    spec = MODELS[f"zookeeper/{name}"]
    walked = simulate(spec, bounds_for(bug.bounds), Walks(most=1500), deadlock=False)
    assert walked.violated
    for claim in walked.violated:
        trace = trace_of(walked.found, claim)
        assert trace is not None and trace.states <= len(walked.met[claim].actions) + 1
