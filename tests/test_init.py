"""`kafka-spec init`: what it writes passes as it stands, fails where it is broken, and replaces nothing."""

from __future__ import annotations

import os
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
import yaml
from conftest import ROOT

from kafka_spec.command import run as kafka_spec


def inside(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run Python in a folder."""
    environment = {**os.environ, "MYPYPATH": str(ROOT)}
    return subprocess.run(
        [sys.executable, *arguments], cwd=folder, env=environment, capture_output=True, text=True, timeout=120, check=False
    )


def steps(folder: Path) -> list[str]:
    """Return the commands of the workflow that `init` wrote."""
    workflow = yaml.safe_load((folder / ".github" / "workflows" / "check_my_lock.yml").read_text())
    return [step["run"] for step in workflow["jobs"]["check"]["steps"] if "run" in step]


def as_ci(folder: Path) -> subprocess.CompletedProcess[str]:
    """Run the workflow's commands in order, as CI does: the first that fails is the last. pip finds what is installed."""
    environment = {
        **os.environ,
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
        "PIP_NO_INDEX": "1",
        "PIP_DISABLE_PIP_VERSION_CHECK": "1",
        "GITHUB_STEP_SUMMARY": str(folder / "summary.md"),
    }
    return subprocess.run(
        ["bash", "-e", "-c", "\n".join(steps(folder))],
        cwd=folder, env=environment, capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip


def test_what_it_writes_passes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The workflow's steps and the explorer pass in the new folder; a guard left out stops the workflow, and fails the test."""
    assert kafka_spec(["init", "my_lock", "--folder", str(tmp_path)]) == 0
    assert f"cd {tmp_path} && kafka-spec check" in capsys.readouterr().out
    run = as_ci(tmp_path)
    assert run.returncode == 0, run.stdout + run.stderr
    assert "1 of 1 checks as expected" in run.stdout and "2 passed" in run.stdout
    assert 'failures="0"' in (tmp_path / "kafka-spec.xml").read_text()
    explored = inside(tmp_path, "-m", "kafka_spec", "explore", "my_lock:SPEC", "--terminal")
    assert explored.returncode == 0 and "worker 2 takes the lock" in explored.stdout, explored.stderr

    spec = tmp_path / "my_lock.py"
    spec.write_text(spec.read_text().replace("(lock_is_free,))", "())"))
    run = as_ci(tmp_path)
    assert run.returncode == 1 and "::error file=pyproject.toml" in run.stdout and "OneHolder" in run.stdout
    assert "passed" not in run.stdout and "OneHolder is violated" in (tmp_path / "summary.md").read_text()
    assert inside(tmp_path, "-m", "pytest", "-q", "-p", "no:cacheprovider").returncode == 1


def test_it_is_typed_and_its_workflow_runs_what_it_says(tmp_path: Path) -> None:
    """Under --strict mypy accepts the new module; the workflow is YAML whose commands are the checks and the tests."""
    assert kafka_spec(["init", "my_lock", "--folder", str(tmp_path)]) == 0
    typed = inside(tmp_path, "-m", "mypy", "--strict", "--follow-imports=silent", "my_lock.py", "test_my_lock.py")
    assert typed.returncode == 0, typed.stdout
    assert [command.split()[0] for command in steps(tmp_path)] == ["pip", "kafka-spec", "python"]


def test_nothing_is_replaced(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """An existing file is an error and stays; an existing manifest keeps what it has and gains the check."""
    manifest = tmp_path / "pyproject.toml"
    manifest.write_text('[project]\nname = "mine"\nversion = "1"\n')
    assert kafka_spec(["init", "one", "--folder", str(tmp_path)]) == 0
    assert kafka_spec(["init", "two", "--folder", str(tmp_path)]) == 0
    content = tomllib.loads(manifest.read_text())
    assert content["project"]["name"] == "mine"
    assert [check["model"] for check in content["tool"]["kafka-spec"]["checks"]] == ["one:SPEC", "two:SPEC"]

    before = {file: file.read_bytes() for file in tmp_path.rglob("*") if file.is_file()}
    for name, why in (("one", "is there already"), ("Two", "cannot be the name"), ("a-b", "cannot be"), ("class", "cannot be")):
        assert kafka_spec(["init", name, "--folder", str(tmp_path)]) == 2
        assert why in capsys.readouterr().err
    assert kafka_spec(["init", "three", "--folder", "/proc/nowhere"]) == 2
    assert {file: file.read_bytes() for file in tmp_path.rglob("*") if file.is_file()} == before
