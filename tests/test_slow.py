"""What `make test` runs is decided by measured times: each test keeps at least one case, and quick cases are never left out."""

from __future__ import annotations

import ast

from conftest import ROOT
from hypothesis import given
from hypothesis import strategies as st
from slow import SHARE, function_of, kept_cases, measured

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


def test_measured_tests_exist() -> None:
    """Each test whose time is on record is still there; `make seconds` drops those that are not."""
    known = {
        f"tests/{file.name}::{'::'.join(path)}"
        for file in (ROOT / "tests").glob("test_*.py")
        for path in functions(ast.parse(file.read_text(encoding="utf-8")))
    }
    assert {function_of(name) for name in measured()} <= known


def functions(tree: ast.AST, *outer: str) -> list[tuple[str, ...]]:
    """Return the paths of the test functions and test classes of a module."""
    found: list[tuple[str, ...]] = []
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.ClassDef):
            found += functions(node, *outer, node.name)
        elif isinstance(node, ast.FunctionDef) and node.name.startswith("test"):
            found.append((*outer, node.name))
    return found
