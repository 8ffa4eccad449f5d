"""Long lines are folded for a terminal, and nowhere else; no word is lost or cut."""

from __future__ import annotations

import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_spec.command import run as kafka_spec
from kafka_spec.model_check.report.fold import folded

LINES = st.lists(st.text("ab -:{}", max_size=90), max_size=4).map("\n".join)


@given(text=LINES, width=st.integers(30, 100))
def test_no_word_is_lost(text: str, width: int) -> None:
    """The words are the same in the same order, and only a line of one word is too long."""
    lines = folded(text, width).split("\n")
    assert " ".join(lines).split() == text.split()
    assert all(len(line) <= width or len(line.split()) <= 1 for line in lines)


def test_columns_are_kept() -> None:
    """A last column is continued under itself, where that leaves room, else under the indent of its line."""
    line = "  Committed            invariant       holds       every record that was acknowledged is kept by the leader"
    assert folded(line, 80).split("\n") == [
        "  Committed            invariant       holds       every record that was",
        "                                                   acknowledged is kept by the",
        "                                                   leader",
    ]
    assert folded(line, 200) == line


def test_a_narrow_table_reads_from_above_to_below() -> None:
    """Where its last column has no room, a line of a table is its name, then its other columns, then its text; so is its head."""
    table = (
        "  property             kind            verdict       trace        tested  meaning\n"
        "  StrongIsr            invariant       violated         12         2,886  the members of the ISR hold every leader's log\n"
        "  Elected              reachable       holds             2             -  a leader gets elected\n"
        "ok    replication/kip_279-three-replicas-symmetric           1,234 states  12 levels"
    )
    assert folded(table, 60).split("\n") == [
        "  property",
        "      kind  verdict  trace  tested  meaning",
        "  StrongIsr",
        "      invariant  violated  12  2,886",
        "      the members of the ISR hold every leader's log",
        "  Elected",
        "      reachable  holds  2  -  a leader gets elected",
        "ok  replication/kip_279-three-replicas-symmetric",
        "    1,234 states  12 levels",
    ]


@pytest.mark.parametrize("width", [60, 100])
@pytest.mark.parametrize(
    "arguments", ["check examples.tutorial:LOCK", "check replication/high_watermark-small replication/kip_101-small", "models"]
)
def test_a_terminal_gets_lines_that_fit(
    arguments: str, width: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """At 60 and 100 columns every line of a result and of lists fits, and words are whole; a pipe gets the lines as they are."""
    monkeypatch.setenv("COLUMNS", str(width))

    def shown(terminal: bool) -> str:
        monkeypatch.setattr(sys.stdout, "isatty", lambda: terminal)
        assert kafka_spec([*arguments.split(), *(["-q"] if arguments != "models" else [])]) in (0, 1)
        return capsys.readouterr().out

    folded, piped = shown(True), shown(False)
    assert max(map(len, folded.split("\n"))) <= width < max(map(len, piped.split("\n")))
    assert [word for word in folded.split() if word.isalpha()] == [word for word in piped.split() if word.isalpha()]
