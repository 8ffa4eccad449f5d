"""CONTRIBUTING.md: its worked example works."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import ROOT

MOST_FILES = 8
"""Adding a rule to the control plane touched some twenty files once."""


def run(folder: Path, *command: str) -> subprocess.CompletedProcess[str]:
    """Run Python in a copy of the repository; the copy's package comes first on the path."""
    return subprocess.run([sys.executable, *command], cwd=folder, capture_output=True, text=True, check=False, timeout=300)


@pytest.mark.slow
def test_the_worked_example_works(tmp_path: Path, record_property: pytest.RecordProperty) -> None:
    """The patch of CONTRIBUTING.md applies to a copy; there the new check is as expected, and the new rule is replayed."""
    copy = tmp_path / "copy"
    skipped = shutil.ignore_patterns(".git", ".venv", ".*_cache", "__pycache__", "*.egg-info", "build", "gallery", ".hypothesis")
    shutil.copytree(ROOT, copy, symlinks=True, ignore=skipped)
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    patch = "".join(re.findall(r"```diff\n(.*?)```", text, re.DOTALL))
    applied = subprocess.run(["git", "apply", "-"], input=patch, cwd=copy, capture_output=True, text=True, check=False)
    assert applied.returncode == 0, applied.stderr
    files = re.findall(r"^\+\+\+ b/(\S+)", patch, re.MULTILINE)
    assert 1 < len(files) <= MOST_FILES
    record_property("files of the worked example", len(files))

    checked = run(copy, "-m", "kafka_spec", "check", "zookeeper/fixed-controller-deleted", "-q")
    assert checked.returncode == 0, checked.stdout + checked.stderr
    assert "DeleteController" in run(copy, "-m", "kafka_spec", "models", "zookeeper/fixed").stdout

    replayed = run(copy, "-m", "pytest", "-q", "-p", "no:cacheprovider", "tests/test_replay.py", "-k", "deleted and fixed")
    assert replayed.returncode == 0, replayed.stdout + replayed.stderr
    assert "edges out of" in replayed.stdout
