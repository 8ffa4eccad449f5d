"""What `make test` runs is decided by measured times: each test keeps at least one case, and quick cases are never left out."""

from __future__ import annotations

import ast
from dataclasses import dataclass, field
from typing import Any

from conftest import ROOT
from hypothesis import given
from hypothesis import strategies as st
from slow import SEVERAL, SHARE, TURNS, function_of, kept_cases, mark, measured

TIMES = st.dictionaries(st.text("abc", min_size=1, max_size=3), st.sampled_from([0, 1, 2, 4, 8, 16]), min_size=1, max_size=9)


@given(TIMES, st.integers(0, 20))
def test_every_test_keeps_a_case(seconds: dict[str, int], share: int) -> None:
    """One case is kept at least, all quick ones are, and more only within the share."""
    kept = kept_cases(seconds, share)
    assert kept
    assert {name for name in seconds if not seconds[name]} <= kept
    spent = [seconds[name] for name in kept if seconds[name]]
    assert len(spent) <= 1 or sum(spent) <= share


@given(TIMES)
def test_only_what_does_not_fit_is_left_out(seconds: dict[str, int]) -> None:
    """No case is left out that would have fitted; a case that exceeds the share alone is kept only where no other is slow."""
    kept = kept_cases(seconds, SHARE)
    spent = sum(seconds[name] for name in kept)
    assert all(spent + seconds[name] > SHARE for name in seconds if name not in kept)


@dataclass
class Collected:
    """A test that pytest has collected."""

    nodeid: str
    marks: dict[str, Any] = field(default_factory=dict)

    def add_marker(self, marker: str) -> None:
        """Mark it."""
        self.marks[marker] = True

    def get_closest_marker(self, name: str) -> Any:
        """Return a mark, None if it does not have it."""
        return self.marks.get(name)


def test_every_test_has_its_turn() -> None:
    """What takes several seconds runs on one of some days, what takes less and fits the share on each; some day has each test."""
    days, seconds = [], measured()
    for day in range(TURNS):
        tests = [Collected(name) for name in seconds]
        mark(tests, day)
        days.append({test.nodeid for test in tests if "long" not in test.marks})
    every, some = set.intersection(*days), set.union(*days)

    assert {seconds[name] < SEVERAL for name in every} == {True}
    assert {seconds[name] >= SEVERAL for name in some - every} == {True}
    assert all(sum(name in day for day in days) == 1 for name in some - every)
    assert {function_of(name) for name in some} == {function_of(name) for name in seconds}


def test_measured_tests_exist() -> None:
    """Each test whose time is on record is still there; `make seconds` drops those that are not."""
    files = (ROOT / "tests").glob("test_*.py")
    known = {f"tests/{file.name}::{name}" for file in files for name in names_in(ast.parse(file.read_text(encoding="utf-8")))}
    assert {"::".join(function_of(name).split("::")[:2]) for name in measured()} <= known


def names_in(module: ast.Module) -> set[str]:
    """Return the functions of a module, its classes, and the classes that it has from elsewhere."""
    found = {node.name for node in module.body if isinstance(node, ast.FunctionDef | ast.ClassDef)}
    assigned = [target for node in module.body if isinstance(node, ast.Assign) for target in node.targets]
    return found | {target.id for target in assigned if isinstance(target, ast.Name)}
