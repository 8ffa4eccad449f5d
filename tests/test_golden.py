"""The texts that people read, held to the letter; `make golden` rewrites them."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from kafka_spec import MODELS, check, trace_of
from kafka_spec.model_check.report.plain import model_plain, result_plain
from kafka_spec.model_check.report.text import model_text, result_text
from kafka_spec.model_check.report.traces import trace_text
from kafka_spec.spec.vocabulary import trace as traces
from kafka_spec.spec.zookeeper.cases import CASE
from kafka_spec.spec.zookeeper.eras import SUITE

GOLDEN = Path(__file__).parent / "golden"
Golden = Callable[[str, str], None]

COUNTEREXAMPLES = [
    ("high_watermark", "tiny", "StrongIsr"),
    ("kip_101", "small", "StrongIsr"),
    ("kip_279", "three_replicas", "StrongIsr"),
    ("kip_320_first_try", "three_epochs", "StrongIsr"),
    ("kafka_7164", "medium", "StrongIsr"),
    ("kafka_7128", "three_replicas", "StrongIsr"),
    ("kafka_7395", "three_epochs", "StrongIsr"),
]


CONTROL = [
    *(case.name for case in SUITE.expressed if not case.breaks_nothing),
    "old-leader-without-successor",
    "reads-before-KIP-207",
    "KAFKA-14140-in-zookeeper",
]


def _bounds(model: str, name: str) -> dict[str, int]:
    return dict(next(bounds.values for bounds in MODELS[model].bound_sets if bounds.name == name))


@pytest.mark.parametrize(("version", "bounds", "claim"), COUNTEREXAMPLES)
def test_counterexample(version: str, bounds: str, claim: str, golden: Golden) -> None:
    """The shortest counterexample of each rejected version reads as it did."""
    spec = MODELS[f"replication/{version}"]
    result = check(spec, _bounds(spec.name, bounds), everything=True)
    trace = trace_of(result, claim)

    assert trace is not None
    golden(f"{version}.txt", trace_text(trace, spec) + "\n")
    assert traces.from_json(trace.to_json()) == trace


@pytest.mark.share(20)
@pytest.mark.parametrize("name", CONTROL)
def test_control_story(name: str, golden: Golden) -> None:
    """The shortest counterexample of each bug of the control plane, at the bounds that show it, reads as it did."""
    spec = MODELS[f"zookeeper/{name}"]
    result = check(spec)
    claims = [claim.name for claim in CASE[name].claims] if name in CASE else []
    claim = [*claims, *result.violated][0]
    trace = trace_of(result, claim)

    assert trace is not None
    golden(f"zookeeper/{name}.txt", trace_text(trace, spec) + "\n")
    assert traces.from_json(trace.to_json()) == trace


@pytest.mark.parametrize("name", [case.name for case in SUITE.expressed if case.breaks_nothing])
def test_switch_that_breaks_nothing(name: str) -> None:
    """A switch of an era that breaks no property by itself is listed as such."""
    assert check(MODELS[f"zookeeper/{name}"]).verdict == "holds"


def test_full_trace(golden: Golden) -> None:
    """--full shows the whole state after each step."""
    spec = MODELS["replication/high_watermark"]
    trace = trace_of(check(spec, _bounds(spec.name, "tiny"), everything=True), "WeakIsr")

    assert trace is not None
    golden("high_watermark-full.txt", trace_text(trace, spec, full=True) + "\n")


def test_result(golden: Golden) -> None:
    """The report of a result equals the golden text, without the parts that vary between runs."""
    spec = MODELS["replication/kip_320"]
    result = check(spec, _bounds(spec.name, "small"))

    golden("kip_320-result.txt", result_text(result, {}, timing=False) + "\n")


def test_result_as_json(golden: Golden) -> None:
    """The JSON form of a result with a counterexample equals the golden text, without the parts that vary between runs."""
    spec = MODELS["replication/kip_279"]
    result = check(spec, _bounds(spec.name, "three_replicas"))
    trace = trace_of(result, "StrongIsr")
    assert trace is not None
    plain = result_plain(result, {"StrongIsr": trace})
    for name in ("seconds", "peak_rss_bytes"):
        plain[name] = None

    golden("kip_279-result.json", json.dumps(plain, indent=1) + "\n")


def test_model(golden: Golden) -> None:
    """The output of `kafka-spec models` for a model equals the golden text, as text and as JSON."""
    spec = MODELS["replication/kip_320"]

    golden("kip_320-model.txt", model_text(spec) + "\n")
    golden("kip_320-model.json", json.dumps(model_plain(spec), indent=1) + "\n")
