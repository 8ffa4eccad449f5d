"""No fault in a metadata log stays silent, unless a log cannot show it."""

from __future__ import annotations

import pytest

from tests.metadata_mutants import table, unforeseen


def test_a_fault_of_each_field_is_found() -> None:
    """A fault of each field of each kind of record, and records dropped, doubled and made no-ops, are found in two real logs."""
    rows = table(1)
    assert len(rows) > 100
    assert unforeseen(rows) == set()
    found = sum(counts["in its batch"] + counts["soon"] for counts in rows.values())
    assert found / sum(sum(counts.values()) for counts in rows.values()) > 0.8


@pytest.mark.long
def test_many_faults_of_each_field_are_found() -> None:
    """The same with eight faults of each field."""
    assert unforeseen(table(8, seed=11)) == set()
