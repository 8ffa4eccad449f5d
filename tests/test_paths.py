"""`kafka-spec paths`: paths that take every step of a model, each a behaviour of it, with what is refused on the way."""

from __future__ import annotations

import json
import subprocess
import sys
from itertools import pairwise
from pathlib import Path

import pytest
import sample_specs
from conftest import ROOT, Command

from examples import bounded_queue, lease, philosophers, tutorial, two_phase_commit
from examples.lease_paths import difference
from kafka_spec.model_check.check import check
from kafka_spec.model_check.interpreter.interpreter import Interpreter
from kafka_spec.model_check.paths_of_model import covering_paths
from kafka_spec.model_check.state_graph import GraphStep, StateGraph, graph_of
from kafka_spec.model_check.traces.behaviour import LogSearch
from kafka_spec.model_check.traces.observed import observations
from kafka_spec.spec.catalogue.models import MODELS
from kafka_spec.spec.vocabulary.table import Spec

MODEL = "examples.lease:FENCED"
SPECS = [
    tutorial.LOCK,
    lease.FENCED,
    bounded_queue.QUEUE,
    two_phase_commit.TWO_PHASE_COMMIT,
    philosophers.TABLE,
    MODELS["replication/kip_320"],
]
SMALL = {"replication/kip_320": {"replicas": 2, "log_size": 1, "max_records": 1, "max_leader_epoch": 1}}


def graph(spec: Spec) -> tuple[Interpreter, StateGraph]:
    """Return the graph of a spec at small bounds."""
    world = Interpreter(spec, spec.bound_values(SMALL.get(spec.name, {})))
    return world, graph_of(world, 5_000)


def steps_of(found: StateGraph) -> list[GraphStep]:
    """Return all steps of a graph."""
    return [step for out in found.steps for step in out]


@pytest.mark.parametrize("spec", SPECS, ids=lambda spec: spec.name)
def test_the_paths_take_every_step_of_the_search(spec: Spec) -> None:
    """The graph has the states and steps that a search counts; the paths take each step, and continue where the one before ends."""
    world, found = graph(spec)
    result = check(spec, world.bounds, everything=True)
    assert (len(found.states), len(steps_of(found))) == (result.distinct, result.generated)
    paths = list(covering_paths(found, "steps", 10))
    assert {(step.source, step.place) for path in paths for step in path} == {(step.source, step.place) for step in steps_of(found)}
    for path in paths:
        assert path[0].source in found.starts
        assert all(before.target == after.source for before, after in pairwise(path))
        assert len(path) <= max(10, result.depth)


@pytest.mark.parametrize("spec", SPECS, ids=lambda spec: spec.name)
def test_pairs_of_rules(spec: Spec) -> None:
    """The paths for pairs have every two rules that follow each other anywhere, with far fewer steps."""
    _, found = graph(spec)
    wanted = {(step.rule.name, following.rule.name) for step in steps_of(found) for following in found.steps[step.target]}
    paths = list(covering_paths(found, "pairs", 10))
    assert all(before.target == after.source for path in paths for before, after in pairwise(path))
    assert {(before.rule.name, after.rule.name) for path in paths for before, after in pairwise(path)} == wanted
    assert sum(map(len, paths)) < sum(map(len, covering_paths(found, "steps", 10)))


def test_each_path_is_a_log_that_the_model_explains(inside: Command, tmp_path: Path) -> None:
    """The lines of each path, as a log of events with the states after them, are explained without an unseen step."""
    file = tmp_path / "paths.json"
    assert inside("paths", MODEL, "--output", f"json:{file}").returncode == 0
    world = Interpreter(lease.FENCED, lease.FENCED.bound_values({}))
    paths = json.loads(file.read_text(encoding="utf-8"))["paths"]
    assert len(paths) > 100
    for path in paths:
        lines = observations([json.dumps(step) for step in path["steps"]], "path", world, ())
        explained = LogSearch(world, lines, 1, 1000).run()
        assert explained.failed is None


def test_the_worked_example(tmp_path: Path, inside: Command) -> None:
    """An implementation takes all paths; the one with a defect does what a guard refuses, and the report names the guard."""
    file = tmp_path / "paths.json"
    assert inside("paths", MODEL, "--refused", "--output", f"json:{file}").returncode == 0
    paths = json.loads(file.read_text(encoding="utf-8"))["paths"]
    assert not any(difference(path, careless=False) for path in paths)
    command = [sys.executable, "-m", "examples.lease_paths", str(file), "--careless"]
    ended = subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT)
    assert ended.returncode == 1
    assert ended.stderr == "path 2, after step 7 Write of client 1 happens; token_is_not_old refuses it\n"


def test_a_graph_that_is_cut_is_inconclusive(inside: Command) -> None:
    """With more states than are explored, the paths are those of a part, and the exit code is 3."""
    cut = inside("paths", MODEL, "--most-states", "20", "--longest", "5")
    assert cut.returncode == 3 and "NOT ALL: only " in cut.stdout
    whole = inside("paths", MODEL)
    assert whole.returncode == 0 and whole.stdout.startswith("lease: 145 paths take every step: 152 states, 440 steps, ")
    assert "the bound tokens prevents 88 steps" in whole.stdout


def test_a_step_out_of_its_domain_is_an_error_of_the_model() -> None:
    """A model whose step leaves a domain has no paths: its check says more."""
    spec = next(one for one in vars(sample_specs).values() if isinstance(one, Spec) and check(one).verdict == "violated" and
                "TypeInvariant" in check(one).violated)  # fmt: skip
    assert graph_of(Interpreter(spec, spec.bound_values({})), 1000).outside
