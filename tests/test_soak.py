"""Samples of the soak of the Spark engine (tests/soak.py, `make soak`): a race in `make test`, kills in `make long`."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest
import soak
from conftest import ROOT

from kafka_spec.model_check.exploration import Distribution, Exploration
from kafka_spec.model_check.search import embedded
from kafka_spec.model_check.spark import engine as distributed
from kafka_spec.model_check.spark import state_dir
from kafka_spec.spec.vocabulary.table import SpecError

SMALL = soak.bounds_of("small")


@pytest.fixture(scope="module")
def small() -> Exploration:
    """The small model, as the embedded engine has it."""
    return embedded.explore(soak.MODEL, SMALL)


@pytest.mark.long
def test_some_drivers_are_killed(tmp_path: Path) -> None:
    """The driver killed inside a wide level beyond the tenth, and resumed: the same digest."""
    medium = embedded.explore(soak.MODEL, soak.bounds_of("medium"))
    row = soak.kill_drivers(tmp_path, Random("sample"), medium, "medium", [14], 3000)
    assert row.same
    assert row.killed == 1


@pytest.mark.parametrize("races", [1, pytest.param(2, marks=pytest.mark.long)])
def test_some_runs_race(tmp_path: Path, small: Exploration, races: int) -> None:
    """Two runs that begin, and in a second race two that resume, in one folder: the same digest, or a refusal with its reason."""
    row = soak.race(tmp_path, Random("sample"), small, "small", races, 300)
    assert row.same
    assert row.refused > 0


def test_a_soak_can_fail(small: Exploration) -> None:
    """A result that differs from the embedded engine's in a digit of the digest, or a refusal of no known kind, fails the soak."""
    reported = {
        "verdict": "holds",
        "levels": small.levels,
        "rules": {r.name: {"fired": small.fired[r.name], "new": small.new[r.name]} for r in small.spec.rules},
        "bounded": dict(small.bounded),
        "graph_digest": f"{small.digest:016x}",
    }
    soak.check(soak.json.dumps(reported), "", 0, small)
    with pytest.raises(soak.Differs, match="graph_digest is"):
        soak.check(soak.json.dumps({**reported, "graph_digest": f"{small.digest ^ 1:016x}"}), "", 0, small)
    with pytest.raises(soak.Differs, match="ended with 1: no"):
        soak.check("", "no", 1, small)


def test_a_run_that_was_killed_before_it_began(tmp_path: Path) -> None:
    """The next run accepts a folder that contains only files which a run writes before its run.json, even incomplete ones."""
    (tmp_path / "program.ll").write_text("half a prog")
    with pytest.raises(SpecError, match=r"contains program\.ll and no run; name an empty one"):
        distributed.explore(soak.MODEL, SMALL, Distribution(str(tmp_path)))
    (tmp_path / "owner").write_text("of a run that was killed")
    (tmp_path / "_run.json.0123abcd").write_text("{")
    assert distributed.explore(soak.MODEL, SMALL, Distribution(str(tmp_path))).complete


def test_a_run_that_has_lost_its_folder_writes_nothing(tmp_path: Path) -> None:
    """If a run loses its folder while a task writes a part, the task leaves no file with that part's name."""
    storage = state_dir.Storage(str(tmp_path))

    def lost() -> None:
        raise RuntimeError("another run has taken it over")

    with pytest.raises(RuntimeError, match="taken it over"), storage.replacing("levels/level=00003/part", lost) as stream:
        stream.write(b"late")
    assert storage.names("levels", deep=True) == []


def test_make_soak() -> None:
    """`make soak` runs the soak."""
    assert "soak: $(VENV)/.test\n\t$(BIN)/python tests/soak.py\n" in (ROOT / "Makefile").read_text()
