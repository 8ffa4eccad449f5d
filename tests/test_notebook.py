"""In a notebook a result prints as a summary, `%load_ext kafka_spec` shows it with a chart, and Ctrl-C leaves what was found."""

from __future__ import annotations

import base64
import re
import signal
from collections.abc import Iterator
from typing import Any
from xml.etree import ElementTree

import pytest
from IPython.core.interactiveshell import InteractiveShell

from examples.bounded_queue import QUEUE
from examples.raft_election import RAFT
from kafka_spec import MODELS, Budget, Exploration, check, interruptible, trace_of


@pytest.fixture
def shell() -> Iterator[InteractiveShell]:
    """IPython with the extension, as a notebook's kernel has it."""
    found = InteractiveShell()
    assert found.run_line_magic("load_ext", "kafka_spec") is None
    yield found
    found.reset()


def shown(shell: InteractiveShell, cell: str) -> dict[str, Any]:
    """Run a cell, and return what a notebook shows of its value, by its kind."""
    result = shell.run_cell(cell)
    result.raise_error()
    assert shell.display_formatter is not None
    bundle, _ = shell.display_formatter.format(result.result)
    return bundle


def test_a_result_prints_as_a_summary() -> None:
    """The verdict, the counts, and what is violated, in a few lines; a long list of names is cut."""
    assert re.sub(r"[\d.]+ s$", "0.00 s", str(check(QUEUE)), flags=re.MULTILINE) == (
        "bounded_queue at threads=3, producers=1, capacity=1: violated\n"
        "  14 states, 26 steps, 8 levels, 0.00 s\n"
        "  SomebodyRuns is violated: the trace has 8 states"
    )
    assert str(check(RAFT)).splitlines()[0] == "raft_election at servers=3, terms=2, sent=24: holds"
    long = str(check(MODELS["zookeeper/fixed"], budget=Budget(max_states=100)))
    assert "inconclusive, stopped: the budget of 100 states is spent" in long and "all others 0" in long
    assert len(long.splitlines()) <= 10 and all(len(line) < 250 for line in long.splitlines())


def test_a_trace_prints_as_its_steps() -> None:
    """Each step in words, with what it changes."""
    lines = str(trace_of(check(QUEUE), "SomebodyRuns")).splitlines()
    assert lines[0] == "SomebodyRuns in bounded_queue: 8 states"
    assert "       size: 0 -> 1" in lines


def test_a_notebook_shows_a_chart(shell: InteractiveShell) -> None:
    """A violated check is shown with its trace and its chart, which is a picture of its own; the text is escaped."""
    bundle = shown(shell, "from kafka_spec import check\nfrom examples.bounded_queue import QUEUE\ncheck(QUEUE)")
    page = bundle["text/html"]
    assert bundle["text/plain"].startswith("bounded_queue at threads=3")
    assert "<summary>the trace of SomebodyRuns</summary>" in page and "<script" not in page and "0 -&gt; 1" in page
    (picture,) = re.findall(r"data:image/svg\+xml;base64,([^\"]+)", page)
    assert ElementTree.fromstring(base64.b64decode(picture)).tag.endswith("svg")
    holds = shown(shell, "from examples.raft_election import RAFT\ncheck(RAFT)")["text/html"]
    assert "holds" in holds and "<img" not in holds


def test_a_notebook_shows_a_trace(shell: InteractiveShell) -> None:
    """A trace by itself is shown with its chart."""
    cell = (
        "from kafka_spec import check, trace_of\nfrom examples.bounded_queue import QUEUE\ntrace_of(check(QUEUE), 'SomebodyRuns')"
    )
    bundle = shown(shell, cell)
    assert bundle["text/html"].count("<img") == 1 and bundle["text/plain"].startswith("SomebodyRuns in")


def test_a_notebook_shows_an_inductive_check(shell: InteractiveShell) -> None:
    """An inductive check is shown as the command prints it."""
    cell = (
        "from kafka_spec import check_inductive\nfrom examples.bounded_queue import QUEUE\ncheck_inductive(QUEUE, ['NeverTooFull'])"
    )
    assert "inductive: NeverTooFull" in shown(shell, cell)["text/html"]


def test_an_interrupt_leaves_the_result() -> None:
    """The first Ctrl-C stops a search, and the result so far is returned; then Ctrl-C is handled as before."""
    before = signal.getsignal(signal.SIGINT)

    def interrupt(result: Exploration, seconds: float) -> None:
        if result.depth == 5 and not budget.interrupted:
            signal.raise_signal(signal.SIGINT)

    with interruptible() as budget:
        result = check(RAFT, budget=budget, progress=interrupt)
    assert signal.getsignal(signal.SIGINT) is before
    assert (result.verdict, result.stopped, result.depth) == ("inconclusive", "interrupted", 5)
