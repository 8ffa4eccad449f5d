"""Samples of what a model does, as text."""

from __future__ import annotations

from kafka_spec.model_check.report.traces import step_lines
from kafka_spec.model_check.traces.samples import Sampled


def sample_text(number: int, count: int, sample: Sampled, full: bool = False) -> str:
    """Return a sample as numbered steps, each with what it changed, or with the whole state after it."""
    steps = len(sample.trace.steps)
    lines = [f"sample {number} of {count}: {steps} step{'s' * (steps != 1)}"]
    if sample.first:
        lines.append(f"  takes for the first time: {', '.join(sample.first)}")
    if sample.reached:
        lines.append(f"  reaches {', '.join(sample.reached)}")
    lines += ["", *step_lines(sample.trace, full)]
    if sample.violated:
        broken = ", ".join(sample.violated)
        lines += ["", f"  It ends where {broken} is violated; without --samples a shortest path there is shown."]
    elif sample.stuck:
        lines += ["", "  It ends where nothing can happen within the bounds."]
    return "\n".join(lines)
