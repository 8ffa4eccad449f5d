"""Writes examples/NAME.svg: the chart of each example's counterexample: `make reference`. A test compares the files."""

from __future__ import annotations

import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT))

from kafka_spec.diagrams.chart import chart_of, claim_of  # noqa: E402
from kafka_spec.diagrams.sequence import chart_svg  # noqa: E402
from kafka_spec.model_check.check import check as checked  # noqa: E402
from kafka_spec.model_check.command.find import Models  # noqa: E402
from kafka_spec.model_check.traces.counterexample import trace_of  # noqa: E402
from kafka_spec.spec.catalogue.models import MODELS  # noqa: E402

BROKEN = {
    "two_phase_commit": ("HASTY", "Consistent"),
    "raft_election": ("FORGETFUL", "OneLeaderInEachTerm"),
    "bounded_queue": ("QUEUE", "SomebodyRuns"),
    "philosophers": ("TABLE", "SomebodyEats"),
    "lease": ("UNFENCED", "NoOldWrite"),
}
"""What each example's chart shows: the spec that breaks, and the property."""


def example_chart(name: str) -> str:
    """Return the chart of an example's counterexample."""
    broken, violated = BROKEN[name]
    spec = Models(MODELS).find(f"examples.{name}:{broken}")
    trace = trace_of(checked(spec, threads=1), violated)
    if trace is None:
        raise ValueError(f"{broken} does not violate {violated}")
    return chart_svg(chart_of(trace, claim_of(trace, spec)))


if __name__ == "__main__":
    for example in BROKEN:
        (Path(__file__).parent / "examples" / f"{example}.svg").write_text(example_chart(example), encoding="utf-8")
