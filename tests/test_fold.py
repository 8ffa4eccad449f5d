"""Long lines are folded for a terminal, and nowhere else; no word is lost or cut."""

from __future__ import annotations

import os
import pty
import subprocess
import sys

import pytest
from conftest import ROOT
from hypothesis import given
from hypothesis import strategies as st

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
    assert all(len(part) <= 60 for part in folded(line, 60).split("\n"))
    assert folded(line, 200) == line


@pytest.mark.parametrize("width", [60, 100])
def test_a_terminal_gets_lines_that_fit(width: int) -> None:
    """At 60 and 100 columns every line of a result fits, and words are whole; a pipe gets the lines as they are."""
    master, slave = pty.openpty()
    command = [sys.executable, "-m", "kafka_spec", "check", "examples.tutorial:LOCK", "-q"]
    environment = {**os.environ, "COLUMNS": str(width)}
    with subprocess.Popen(command, cwd=ROOT, env=environment, stdout=slave, stderr=subprocess.DEVNULL) as run:
        os.close(slave)
        shown = b""
        while True:
            try:
                part = os.read(master, 4096)
            except OSError:
                break
            if not part:
                break
            shown += part
        assert run.wait(60) == 1
    os.close(master)
    lines = shown.decode().replace("\r\n", "\n").split("\n")
    piped = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False).stdout
    assert max(map(len, lines)) <= width < max(map(len, piped.split("\n")))
    assert [word for word in " ".join(lines).split() if word.isalpha()] == [word for word in piped.split() if word.isalpha()]
