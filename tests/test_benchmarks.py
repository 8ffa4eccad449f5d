"""The benchmarks keep up with the code: they import what there is, and the parts of them that reach into the checker run."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import ROOT

SMALL = {"replicas": 2, "log_size": 2, "max_records": 2, "max_leader_epoch": 1}


def run(*command: str) -> str:
    """Run Python, and return what it prints."""
    return subprocess.run([sys.executable, *command], cwd=ROOT, capture_output=True, text=True, check=True).stdout


def test_every_benchmark_imports_what_there_is() -> None:
    """Each module of benchmarks/ can be imported."""
    modules = sorted(f"benchmarks.{file.stem}" for file in (ROOT / "benchmarks").glob("*.py"))

    assert len(modules) > 20
    run("-c", f"import {', '.join(modules)}")


@pytest.mark.parametrize("part", ["digest", "checks"])
def test_one_search_without_a_part(part: str) -> None:
    """A search without a part that the table of benchmarks/README.md measures finds the states that there are."""
    said = run("-m", "benchmarks.one_search", "replication/kip_320", "--bounds", json.dumps(SMALL), "--leave-out", part)

    assert json.loads(said)["distinct"] == 957


def test_perf_is_told_the_names_of_compiled_functions() -> None:
    """`benchmarks.profile_code` searches, and writes where the successor function and the judge of states stand."""
    command = ["-m", "benchmarks.profile_code", "replication/kip_320", "small", "--runs", "1"]
    with subprocess.Popen([sys.executable, *command], cwd=ROOT, stdout=subprocess.PIPE, text=True) as search:
        said, _ = search.communicate(timeout=120)
    names = Path(f"/tmp/perf-{search.pid}.map")
    functions = [line.split()[2] for line in names.read_text(encoding="utf-8").splitlines()]
    names.unlink()

    assert search.returncode == 0 and " states, " in said
    assert any("expand" in name for name in functions) and any("judge" in name for name in functions)
