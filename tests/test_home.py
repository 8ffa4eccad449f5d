"""A manifest's models are those of its own folder, whatever the current folder is, and whatever was imported before."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import ROOT, Command

from kafka_spec.model_check.command.find import Models
from kafka_spec.model_check.home import at_home
from kafka_spec.model_check.manifest import read_manifest
from kafka_spec.spec.vocabulary.table import SpecError

LOCK = '''
"""A counter."""

from dataclasses import dataclass

from limits import LIMIT
from kafka_spec import Range, Rule, Spec, field, invariant


@dataclass
class S:
    """The state."""

    x: int = field(Range(0, 3))


def up(s: S) -> None:
    """Up."""
    s.x = (s.x + 1) % 4


def fine(s: S) -> bool:
    """Fine."""
    return s.x < LIMIT


SPEC = Spec("lock", "a counter", S, (Rule("Up", "w", "up", "", (up,)),), (invariant("Fine", fine, "it is small"),))
'''
ENTRY = '[[tool.kafka-spec.checks]]\nname = "lock-of-{0}"\nmodel = "lock:SPEC"\nverdict = "holds"\n'


@pytest.fixture
def folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Two folders with a manifest each, whose modules have the same names: the limit of `a` holds, that of `b` is violated."""
    for name in ("lock", "limits"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    for name, limit in (("a", 4), ("b", 2)):
        folder = tmp_path / name
        folder.mkdir()
        (folder / "lock.py").write_text(LOCK, encoding="utf-8")
        (folder / "limits.py").write_text(f"LIMIT = {limit}\n", encoding="utf-8")
        (folder / "pyproject.toml").write_text(ENTRY.format(name), encoding="utf-8")
    return tmp_path


def verdicts(*manifests: Path) -> list[str]:
    """Return the verdict of each check of some manifests that one process reads, in order, and then runs in turn."""
    checks = [check for path in manifests for check in read_manifest(path, Models({}).find)]
    return [check.run().verdict for check in (*checks, *reversed(checks))]


def test_two_manifests_name_their_modules_alike(folders: Path) -> None:
    """Both are judged by their own modules, and by what these import, in any order; nothing of either stays behind."""
    a, b = (folders / name / "pyproject.toml" for name in "ab")
    assert verdicts(a, b) == ["holds", "violated", "violated", "holds"]
    assert verdicts(b, a) == ["violated", "holds", "holds", "violated"]


def test_the_current_folder_is_not_that_of_the_manifest(folders: Path, kafka_spec: Command) -> None:
    """In one folder, with the manifest of another: the other's model is checked, and the report names its file and digest."""
    run = kafka_spec("check", "-q", "--format", "json", "--manifest", "../b/pyproject.toml", cwd=folders / "a")
    assert run.returncode == 1, run.stderr
    (check,) = json.loads(run.stdout)["checks"]
    file = folders / "b" / "lock.py"
    assert check["files"] == {str(file): hashlib.sha256(file.read_bytes()).hexdigest()}
    alone = kafka_spec("check", "-q", "lock:SPEC", cwd=folders / "a")
    digest = hashlib.sha256((folders / "a" / "lock.py").read_bytes()).hexdigest()
    assert alone.returncode == 0 and f"  file        lock.py, SHA-256 {digest[:16]}\n" in alone.stdout


def test_pytest_runs_both(folders: Path) -> None:
    """One run of pytest with both manifests judges each by its own modules."""
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "a/pyproject.toml", "b/pyproject.toml"]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    run = subprocess.run(command, cwd=folders, env=environment, capture_output=True, text=True, check=False)
    assert "1 failed, 1 passed" in run.stdout and "lock-of-b: the verdict is violated (Fine)" in run.stdout


@pytest.mark.parametrize("at", ["a", "."])
def test_a_module_found_elsewhere_is_refused(at: str, folders: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A module that is not where the manifest is, but in the current folder or in one that a test runner added, is no model."""
    (folders / "b" / "lock.py").unlink()
    monkeypatch.chdir(folders / at)
    assert verdicts(folders / "a" / "pyproject.toml") == ["holds", "holds"]
    with pytest.raises(SpecError, match=r"No module named 'lock'; put it into .*b, where the manifest is|lock.py is not in .*b"):
        verdicts(folders / "b" / "pyproject.toml")
    monkeypatch.syspath_prepend(folders / "a")
    import lock  # type: ignore[import-not-found]

    assert lock.__file__ == str(folders / "a" / "lock.py")
    with pytest.raises(SpecError, match=r"a/lock.py is not in .*b, where the manifest is; put it there, install it"):
        verdicts(folders / "b" / "pyproject.toml")


def test_a_layout_with_src(folders: Path) -> None:
    """Modules below `src` of the manifest's folder are found without being installed."""
    (folders / "b" / "src").mkdir()
    for name in ("lock.py", "limits.py"):
        shutil.move(folders / "b" / name, folders / "b" / "src" / name)
    assert verdicts(folders / "b" / "pyproject.toml") == ["violated", "violated"]


def test_what_python_knew_is_as_before(folders: Path) -> None:
    """After an error, too, the modules and the path are those of before."""
    known, path = dict(sys.modules), sys.path[:]
    with pytest.raises(ZeroDivisionError), at_home(folders / "b"):
        assert sys.path[0] == str(folders / "b")
        raise ZeroDivisionError
    assert (sys.modules, sys.path) == (known, path)
