"""CONTRIBUTING.md: its worked examples work."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

from conftest import ROOT

FILES_OF_A_RULE = 7
"""Adding a rule touched some twenty files once."""
FILES_OF_A_BUG = 2
"""Adding a bug touched eight to ten files once; a third has the implementation run with it."""
COUNTS = Path("tests") / "golden" / "counts.toml"


def run(folder: Path, *command: str) -> subprocess.CompletedProcess[str]:
    """Run Python in a copy of the repository; the copy's package comes first on the path."""
    return subprocess.run([sys.executable, *command], cwd=folder, capture_output=True, text=True, check=False, timeout=300)


def copied(folder: Path) -> Path:
    """Copy the repository, without what is generated."""
    copy = folder / "copy"
    skipped = shutil.ignore_patterns(".git", ".venv", ".*_cache", "__pycache__", "*.egg-info", "build", "gallery", ".hypothesis")
    shutil.copytree(ROOT, copy, symlinks=True, ignore=skipped)
    return copy


def patches(example: str) -> list[str]:
    """Return the patches of a worked example, each of one file."""
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    chapter = text.partition(f"## A worked example: {example}\n")[2].partition("\n## ")[0]
    return re.findall(r"```diff\n(.*?)```", chapter, re.DOTALL)


def apply(copy: Path, some: list[str], *options: str) -> None:
    """Apply patches to a copy."""
    applied = subprocess.run(
        ["git", "apply", *options, "-"], input="".join(some), cwd=copy, capture_output=True, text=True, check=False
    )
    assert applied.returncode == 0, applied.stderr


def test_the_new_rule_works(tmp_path: Path) -> None:
    """The patch of CONTRIBUTING.md applies to a copy; there the new check is as expected, and the new rule is replayed."""
    copy, some = copied(tmp_path), patches("a new rule")
    apply(copy, some)
    assert len(some) == FILES_OF_A_RULE

    checked = run(copy, "-m", "kafka_spec", "check", "zookeeper/fixed-controller-deleted", "-q", "--accept")
    assert checked.returncode == 0, checked.stdout + checked.stderr
    assert '"zookeeper/fixed-controller-deleted" = { distinct = 45, depth = ' in (copy / COUNTS).read_text(encoding="utf-8")
    assert "DeleteController" in run(copy, "-m", "kafka_spec", "models", "zookeeper/fixed").stdout

    replayed = run(copy, "-m", "pytest", "-q", "-p", "no:cacheprovider", "tests/test_replay.py", "-k", "deleted and fixed")
    assert replayed.returncode == 0, replayed.stdout + replayed.stderr
    assert "edges out of" in replayed.stdout


def test_the_new_bug_works(tmp_path: Path) -> None:
    """Without its two files there is no trace of the bug; with them model and check are there, and its counts are accepted.

    The third file, of the implementation, applies too.
    """
    copy, some = copied(tmp_path), patches("a new bug")
    assert len(some) == FILES_OF_A_BUG + 1
    name, counts = "kraft/KAFKA-14010-stale-answer", copy / COUNTS
    accepted = counts.read_text(encoding="utf-8")
    apply(copy, some, "-R")
    counts.write_text("".join(line for line in accepted.splitlines(True) if name not in line), encoding="utf-8")
    gone = run(copy, "-m", "kafka_spec", "check", name, "-q")
    assert gone.returncode == 2 and "is unknown" in gone.stderr, gone.stdout + gone.stderr

    apply(copy, some[:FILES_OF_A_BUG])
    new = run(copy, "-m", "kafka_spec", "check", name, "-q", "--accept")
    assert new.returncode == 0, new.stdout + new.stderr
    before, after = (tomllib.loads(text)[name] for text in (accepted, counts.read_text(encoding="utf-8")))
    assert (before["distinct"], before["depth"]) == (after["distinct"], after["depth"])
    apply(copy, some[FILES_OF_A_BUG:])
