"""Mutation tests of the checker's tests: each mutant's text occurs in the code, and a few are run; `make mutants` runs all."""

from __future__ import annotations

import ast
import random
import re
import time
from pathlib import Path

import pytest

from tests.mutants.run import ROOT, Stale, changed, copied, fate, unharmed
from tests.mutants.run import pytest as run_tests
from tests.mutants.table import GROUPS, MUTANTS, Mutant

SAMPLE = 3
"""Number of mutants to run; each takes a few seconds."""
MOST_TRIED = 20
"""Number of examples of a test that always fails: Hypothesis takes ten to look for other failures, and a hundred to explain one."""
SLOW = ("test_wide_levels", "test_control", "test_spark", "test_random_specs", "test_random_graphs", "test_no_false_verdict",
        "test_effects_in_a_row", "test_command", "test_engines_find_the_same")  # fmt: skip
"""Tests that take longer; only `make mutants` runs the mutants that need them."""


def test_mutants_are_many_and_have_names() -> None:
    """There are at least thirty mutants, each with its own name, and with tests or a reason."""
    assert len({mutant.name for mutant in MUTANTS}) == len(MUTANTS) >= 30
    assert all(mutant.tests for mutant in MUTANTS)


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name)
def test_a_mutant_stands_in_the_code(mutant: Mutant) -> None:
    """The text of each mutant occurs once in its file, the result is valid Python, and its tests exist."""
    for path, text in changed(mutant, ROOT).items():
        assert ast.parse(text) and text != path.read_text(encoding="utf-8")
    for test in mutant.tests:
        file, _, name = test.partition("::")
        assert f"def {name.partition('[')[0]}(" in (ROOT / file).read_text(encoding="utf-8")


def test_a_mutant_that_stands_nowhere_is_an_error() -> None:
    """When the code has moved on, a mutant fails loudly, and names its file."""
    lost = Mutant("lost", "", (("model_check/check.py", "this stands nowhere", ""),), ())

    with pytest.raises(Stale, match=r"mutant lost: its text stands 0 times in model_check/check\.py"):
        changed(lost, ROOT)


def test_the_table_is_complete() -> None:
    """The table names every mutant, in the order in which they are listed, and none is alive in it."""
    page = (ROOT / "tests" / "mutants" / "README.md").read_text(encoding="utf-8")

    assert re.findall(r"^\| ([\w-]+) \|", page, re.MULTILINE)[1:] == [mutant.name for mutant in MUTANTS]
    assert f"{len(MUTANTS)} mutants; none of them alive." in page


def test_contributing_counts_the_mutants() -> None:
    """The short table in CONTRIBUTING.md has the number of mutants of each group."""
    page = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    reported = re.findall(r"^\| [^|]+ \| (\d+) \| (\d+) \|$", page, re.MULTILINE)

    assert reported == [(str(len(group)), str(len(group))) for group in (*GROUPS, MUTANTS)]


def test_tests_end_at_the_first_failure(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody waits for a smaller example, or with CI=true for a comparison of long values; and a test that hangs is ended."""
    monkeypatch.setenv("CI", "true")
    copy = copied(tmp_path)
    tests = copy / "tests" / "test_made_up.py"
    tests.write_text(
        "import subprocess\n"
        "from hypothesis import given, strategies as st\n\n\n"
        "@given(st.integers())\n"
        "def test_fails(number):\n"
        f"    with open({str(tmp_path / 'tried')!r}, 'a') as file:\n"
        "        file.write(f'{number}\\n')\n"
        "    assert [number, 1] == [number, 2]\n\n\n"
        "def test_hangs():\n"
        "    subprocess.run(['sleep', '600'])\n"
    )

    code, said = run_tests(copy, ["tests/test_made_up.py::test_fails"])
    assert (code, "FAILED tests/test_made_up.py::test_fails" in said, "diff" in said) == (1, True, False)
    assert len((tmp_path / "tried").read_text().splitlines()) <= MOST_TRIED

    began = time.monotonic()
    code, said = run_tests(copy, ["tests/test_made_up.py::test_hangs"], patience=10)
    assert (code, said.endswith("the tests hang")) == (-1, True)
    assert time.monotonic() - began < 300, "what the test had started kept its output open"


def test_some_mutants_are_noticed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A few mutants, other ones each time, are put into a copy of the repository, and the tests notice them."""
    quick = [mutant for mutant in MUTANTS if not any(slow in test for test in mutant.tests for slow in SLOW)]
    chosen = random.SystemRandom().sample(quick, SAMPLE)
    copy = copied(tmp_path)
    fates = [fate(mutant, copy) for mutant in chosen]
    with capsys.disabled():
        print("\nmutants: " + ", ".join(f"{one.mutant.name} ({one.noticed_by or 'alive'})" for one in fates))

    assert [(one.mutant.name, one.trouble) for one in fates if not one.noticed_by and not one.mutant.survives] == []
    assert unharmed(chosen, copy) == ""
