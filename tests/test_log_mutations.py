"""No change of a line of a log is silent: it is found, or its property is not judged, or no other line says what is right."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.log_mutations import EQUAL, Bench, Mutation, kind_of, mutations, read, result_of

LOGS = Path(__file__).parent / "logs"
STRIDE = 101
"""A test tries every so manieth mutation; `make log-mutations` tries all."""


@pytest.mark.parametrize("version", ["2.8.2", "3.9.1"])
def test_a_sample_of_mutations(version: str, tmp_path: Path) -> None:
    """Lines of real logs that are dropped, doubled, swapped or changed are noticed."""
    bench = Bench(tmp_path, read(LOGS / version))
    found = list(mutations(bench.files))

    assert bench.judged().verdict == "holds"
    assert len(found) > 500
    assert [(one, result) for one in found[::STRIDE] if (result := bench.result(one))[0] == "silent"] == []


@pytest.mark.long
@pytest.mark.parametrize("version", ["2.8.2", "3.9.1"])
def test_all_mutations(version: str, tmp_path: Path) -> None:
    """No mutation of any line of real logs is silent."""
    bench = Bench(tmp_path, read(LOGS / version))
    assert [one for one in mutations(bench.files) if bench.result(one)[0] == "silent"] == []


def test_a_sample_of_mutations_is_noticed_by_replay(tmp_path: Path) -> None:
    """The replay of a partition notices mutations of its lines; `make log-mutations-replay` tries all."""
    bench = Bench(tmp_path, read(LOGS / "2.8.2"))
    found = list(mutations(bench.files, "orders-0"))

    assert [one for one in found[:: len(found) // 3] if bench.result(one, "orders-0")[0] == "silent"] == []


def test_a_mutation_without_a_trace_is_silent_unless_it_is_listed() -> None:
    """The reason why a mutation is equal by design comes from the list, and from nowhere else."""
    line = "TRACE Changed state of replica N for T from OnlineReplica to"
    same, other = (Mutation(f"{line} {to}", "dropped", "", 0, ()) for to in ("OnlineReplica", "OfflineReplica"))

    assert result_of(same, "holds", [], [])[0] == "equal by design"
    assert result_of(other, "holds", [], [])[0] == "silent"
    assert result_of(same, "violated", ["discontinuity"], []) == ("found", "discontinuity")
    assert result_of(same, "inconclusive", [], ["/tmp/a.log:7 cannot be read"]) == ("not judged", "a.log:7 cannot be read")


def test_every_reason_is_needed() -> None:
    """Each entry of the list stands in the table: none is left from an earlier version."""
    rows = (LOGS / "MUTATIONS.md").read_text()
    kinds = {
        kind_of(line)
        for version in ("2.8.2", "3.9.1")
        for lines in read(LOGS / version).values()
        for line in lines
        if line[:1] == "["
    }

    assert "| silent |" not in rows
    assert all(why in rows for _, _, why in EQUAL)
    assert all(any(re.search(pattern, kind) for kind in kinds) for pattern, _, _ in EQUAL)
