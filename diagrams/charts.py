"""The charts and formats of a trace by name; what writes one is imported when it is written."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from kafka_spec.spec.vocabulary.table import Spec
from kafka_spec.spec.vocabulary.trace import Trace


def _mermaid(trace: Trace, spec: Spec) -> str:
    from kafka_spec.diagrams.chart import chart_of, claim_of
    from kafka_spec.diagrams.mermaid import chart_mermaid

    return chart_mermaid(chart_of(trace, claim_of(trace, spec)))


def _svg(trace: Trace, spec: Spec) -> str:
    from kafka_spec.diagrams.chart import chart_of, claim_of
    from kafka_spec.diagrams.sequence import chart_svg

    return chart_svg(chart_of(trace, claim_of(trace, spec)))


def _html(trace: Trace, spec: Spec) -> str:
    from kafka_spec.diagrams.page import page_html

    return page_html(trace, spec)


def _itf(trace: Trace, spec: Spec) -> str:
    from kafka_spec.model_check.traces.itf import itf_text

    return itf_text(trace, spec)


CHARTS: Mapping[str, Callable[[Trace, Spec], str]] = {"mermaid": _mermaid, "svg": _svg, "html": _html, "itf": _itf}
