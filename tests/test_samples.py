"""`kafka-spec trace --samples`: varied behaviours of a model, of which each is one of its behaviours."""

from __future__ import annotations

import json

import pytest
import sample_specs

from examples.lease import FENCED, UNFENCED
from kafka_spec.__main__ import main
from kafka_spec.model_check.traces.samples import samples_of
from kafka_spec.model_check.traces.walk import Walk
from kafka_spec.spec.vocabulary.table import Spec

LEASE = FENCED.bound_values({})
TOYS = [FENCED, sample_specs.SEVERAL_STARTS, sample_specs.CHANNEL, sample_specs.RING]


@pytest.mark.parametrize("spec", TOYS, ids=lambda spec: spec.name)
def test_each_is_a_behaviour(spec: Spec) -> None:
    """Each step can be taken in its place, also from several initial states; equal seeds give equal samples."""
    bounds = spec.bound_values({})
    samples = samples_of(spec, bounds, 5, 8)

    assert [Walk.along(sample.trace, spec).trace() for sample in samples] == [sample.trace for sample in samples]
    assert samples == samples_of(spec, bounds, 5, 8)


def test_they_vary() -> None:
    """A rule that was taken least is taken next: a few samples take every rule, and a first time is noted once."""
    samples = samples_of(FENCED, LEASE, 3, 10)
    first = [rule for sample in samples for rule in sample.first]

    assert sorted(first) == sorted(rule.name for rule in FENCED.rules)
    assert len({sample.trace.actions for sample in samples}) == 3
    assert "SecondClientWrites" in samples[0].reached
    assert samples != samples_of(FENCED, LEASE, 3, 10, seed=2)


def test_the_text_says_what_is_new(capsys: pytest.CaptureFixture[str]) -> None:
    """The text has each step with what it changes, and columns that are asked for."""
    arguments = ["trace", "examples.lease:FENCED", "--samples", "2", "--steps", "3", "--show", "newest = s.token"]

    assert main(arguments) == 0
    said = capsys.readouterr().out
    assert said.startswith("sample 1 of 2: 3 steps\n  takes for the first time: Grant, ")
    assert "  2. client 0 gets the lease\n     Grant(client=0)\n       newest is 1\n       holder: none -> client 0\n" in said
    assert "\n\nsample 2 of 2: 3 steps\n" in said


def test_a_sample_ends_at_a_violation(capsys: pytest.CaptureFixture[str]) -> None:
    """A sample that violates an invariant ends there, and the exit code is that of a violation."""
    found = [one for one in samples_of(UNFENCED, LEASE, 100, 30) if one.violated]

    assert found[0].violated == ("NoOldWrite",) and found[0].trace.steps[-1].action.rule == "Write"
    assert main(["trace", "examples.lease:UNFENCED", "--samples", "100", "--steps", "30"]) == 1
    assert "It ends where NoOldWrite is violated; without --samples a shortest path" in capsys.readouterr().out


def test_json(capsys: pytest.CaptureFixture[str]) -> None:
    """As JSON, the samples are traces, which other commands read."""
    assert main(["trace", "examples.lease:FENCED", "--samples", "2", "--format", "json"]) == 0
    one, other = json.loads(capsys.readouterr().out)

    assert one["format"] == other["format"] and len(one["steps"]) > 5


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--steps", "3"], "--steps is for --samples"),
        (["--seed", "3"], "--seed is for --samples"),
        (["--samples", "2", "--format", "mermaid"], "--samples prints text or json, not mermaid"),
        (["--samples", "2", "--html", "it.html"], "--html is of a search, and --samples makes none"),
        (["--samples", "2", "--engine", "oracle"], "--engine is of a search, and --samples makes none"),
        (["--samples", "2", "--property", "NoOldWrite"], "--property and --without say what a search judges"),
        (["--samples", "0"], "argument --samples"),
    ],
)
def test_what_does_not_fit_is_refused(options: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Options of samples without samples, and charts of several, are refused with exit code 2."""
    try:
        code = main(["trace", "examples.lease:FENCED", *options])
    except SystemExit as ended:
        code = int(str(ended.code))

    assert code == 2 and message in capsys.readouterr().err
