"""Applies mutants to a copy of the repository, one at a time, and reports which test fails.

Depends on files, texts and pytest, not on the checker.
"""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from tests.mutants.table import Mutant

ROOT = Path(__file__).parent.parent.parent
LEFT_OUT = shutil.ignore_patterns(
    ".git", ".venv", "build", "dist", "*.egg-info", "__pycache__", ".*_cache", ".hypothesis", "gallery", "benchmarks"
)
PATIENCE = 600
"""Seconds after which a mutant counts as one that hangs, of which nothing can be said; far more than a busy machine needs."""
HANGS = 120
"""Seconds of one test after which pytest prints where it is, so that a mutant that hangs says why."""


class Stale(Exception):  # noqa: N818 - says what happened
    """The text of a mutant no longer occurs exactly once in its file: the code has changed, so the mutant must too."""


@dataclass(frozen=True)
class Fate:
    """The result of a mutant."""

    mutant: Mutant
    noticed_by: str
    """The test that noticed, or ""."""
    seconds: float
    trouble: str = ""
    """Why nothing can be said: the tests could not be run as they should."""

    @property
    def alive(self) -> bool:
        """Whether no test failed."""
        return not self.noticed_by and not self.trouble


def changed(mutant: Mutant, root: Path) -> dict[Path, str]:
    """Return the files that a mutant changes, with their changed text.

    Raises:
        Stale: a text does not occur in its file, or more than once.
    """
    texts: dict[Path, str] = {}
    for file, text, instead in mutant.edits:
        path = root / file
        before = texts.get(path) or path.read_text(encoding="utf-8")
        if (count := before.count(text)) != 1:
            raise Stale(
                f"mutant {mutant.name}: its text stands {count} times in {file}, not once; mend tests/mutants/table.py: {text!r}"
            )
        texts[path] = before.replace(text, instead)
    return texts


def copied(folder: Path) -> Path:
    """Return a copy of the repository, without generated files."""
    copy = folder / "copy"
    shutil.copytree(ROOT, copy, symlinks=True, ignore=LEFT_OUT)
    found = subprocess.run(
        [sys.executable, "-c", "import kafka_spec; print(kafka_spec.__file__)"],
        env=environment(copy),
        cwd=copy,
        check=True,
        capture_output=True,
        text=True,
    )
    assert Path(found.stdout.strip()).is_relative_to(copy), "the tests would run the code of the repository, not of its copy"
    return copy


def environment(copy: Path) -> dict[str, str]:
    """Return the environment in which the copy's code is run: no compiled Python is kept, and pytest loads no plugins."""
    quick = {"PYTHONDONTWRITEBYTECODE": "1", "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "NO_COLOR": "1"}
    return {**os.environ, "PYTHONPATH": str(copy), **quick}


def pytest(copy: Path, tests: Iterable[str], patience: float = PATIENCE) -> tuple[int, str]:
    """Run some tests in the copy up to the first failure; return the exit code and the output.

    Only the name of the test is wanted. Hypothesis looks for no smaller example, and pytest explains no assertion: with CI=true it
    would compare long values of each example, character by character, for minutes.
    """
    quiet = ["-x", "-q", "--no-header", "--tb=no", "--assert=plain", "-p", "no:cacheprovider"]
    as_met = ["-p", "hypothesispytest", "--hypothesis-profile=as-met", "-o", f"faulthandler_timeout={HANGS}"]
    command = [sys.executable, "-m", "pytest", *quiet, *as_met, *tests]
    said_together = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True}
    with subprocess.Popen(command, cwd=copy, env=environment(copy), start_new_session=True, **said_together) as run:
        try:
            said, _ = run.communicate(timeout=patience)
        except subprocess.TimeoutExpired:
            os.killpg(run.pid, signal.SIGKILL)  # what the tests have started would keep the pipe open
            said, _ = run.communicate()
            return -1, f"{said}\nthe tests hang"
    return run.returncode, said


def fate(mutant: Mutant, copy: Path) -> Fate:
    """Apply a mutant to the copy, find which of its tests fails, and revert it."""
    began = time.monotonic()
    before = {path: path.read_text(encoding="utf-8") for path in changed(mutant, copy)}
    for path, text in changed(mutant, copy).items():
        path.write_text(text, encoding="utf-8")
    try:
        code, said = pytest(copy, mutant.tests)
    finally:
        for path, text in before.items():
            path.write_text(text, encoding="utf-8")
    seconds = time.monotonic() - began
    noticed = re.search(r"^(?:FAILED|ERROR) (.*?)(?: - .*)?$", said, re.MULTILINE)
    if code == 1 and noticed:
        return Fate(mutant, noticed[1], seconds)
    return Fate(mutant, "", seconds, "" if code == 0 else f"pytest ended with {code}: {said[-1500:]}\n")


def unharmed(mutants: Iterable[Mutant], copy: Path) -> str:
    """Return why the tests of the mutants do not pass on the unchanged code, or ""."""
    code, said = pytest(copy, dict.fromkeys(test for mutant in mutants for test in mutant.tests), patience=2 * PATIENCE)
    return "" if code == 0 else said[-3000:]


def row(one: Fate) -> str:
    """Return the result of a mutant, as a row of a table."""
    file = one.mutant.edits[0][0].removeprefix("model_check/")
    end = (
        f"`{one.noticed_by.removeprefix('tests/')}`"
        if one.noticed_by
        else f"**{(one.trouble and 'unclear') or one.mutant.survives or 'nothing'}**"
    )
    return f"| {one.mutant.name} | {one.mutant.breaks} | {file} | {end} |"
