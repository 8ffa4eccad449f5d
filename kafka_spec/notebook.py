"""Notebooks: after `%load_ext kafka_spec` results and traces are shown with charts.

Needs IPython only where it is loaded. What is shown is escaped text, and charts as pictures: no script runs.
"""

from __future__ import annotations

import base64
import html
from typing import TYPE_CHECKING, Any

from kafka_spec.diagrams.chart import chart_of, claim_of
from kafka_spec.diagrams.sequence import chart_svg
from kafka_spec.model_check.exploration import Exploration
from kafka_spec.model_check.inductive import InductiveResult
from kafka_spec.model_check.report.escape import plain
from kafka_spec.model_check.report.inductive import inductive_text
from kafka_spec.model_check.report.text import result_text
from kafka_spec.model_check.report.traces import trace_text
from kafka_spec.model_check.traces.counterexample import trace_of
from kafka_spec.spec.vocabulary.table import Property
from kafka_spec.spec.vocabulary.trace import Trace

if TYPE_CHECKING:
    from IPython.core.interactiveshell import InteractiveShell


def load_ipython_extension(shell: InteractiveShell) -> None:
    """Have a notebook show results and traces as HTML: what `%load_ext kafka_spec` does."""
    formatters: Any = getattr(shell.display_formatter, "formatters", {})
    formatters["text/html"].for_type(Exploration, exploration_html)
    formatters["text/html"].for_type(Trace, trace_html)
    formatters["text/html"].for_type(InductiveResult, lambda result: _text(inductive_text(result)))
    for kind in (Exploration, Trace):
        formatters["text/plain"].for_type(kind, lambda value, printer, _: printer.text(plain(str(value))))


def exploration_html(result: Exploration) -> str:
    """Return a result as HTML: its summary, all counts to unfold, and the trace of each violated property with its chart."""
    parts = [_text(str(result)), _unfold("all counts", _text(result_text(result, {})))]
    for name in result.violated:
        if (trace := trace_of(result, name)) is not None:
            shown = _text(trace_text(trace, result.spec)) + _chart(trace, claim_of(trace, result.spec))
            parts.append(_unfold(f"the trace of {name}", shown, opened=name == result.violated[0]))
    return "\n".join(parts)


def trace_html(trace: Trace) -> str:
    """Return a trace as HTML: its steps, and its chart."""
    return _text(str(trace)) + _chart(trace, None)


def _chart(trace: Trace, claim: Property | None) -> str:
    """Return the chart of a trace as a picture, so that its styles stay inside."""
    picture = base64.b64encode(chart_svg(chart_of(trace, claim, "the steps above show")).encode()).decode()
    return f'<img alt="chart of the trace" style="max-width: 100%" src="data:image/svg+xml;base64,{picture}">'


def _text(text: str) -> str:
    return f"<pre>{html.escape(plain(text))}</pre>"


def _unfold(title: str, content: str, opened: bool = False) -> str:
    return f"<details{' open' * opened}><summary>{html.escape(title)}</summary>{content}</details>"
