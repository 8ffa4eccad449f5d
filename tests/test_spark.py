"""The Spark engine has the embedded engine's results, even if processes fail.

The faults are real: processes are killed, disks are full, executors are lost. Exact results are compared with the embedded engine:
levels, firings, new states, bounded steps, digest, findings.
"""

from __future__ import annotations

import dataclasses
import json
import os
import re
import shutil
import signal
import socket
import stat
import subprocess
import sys
import tempfile
import threading
import time
import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pyspark
import pytest
import sample_specs
from conftest import ROOT, Command
from pyspark.sql import SparkSession
from test_normal_form import LAMP

from examples.tlaplus.allocator import ALLOCATOR
from kafka_spec.model_check.agreement import agreed
from kafka_spec.model_check.budget import Budget
from kafka_spec.model_check.exploration import Distribution, Exploration
from kafka_spec.model_check.llvm import machine_code
from kafka_spec.model_check.report.text import verdict_text
from kafka_spec.model_check.search import embedded
from kafka_spec.model_check.spark import cluster as clusters
from kafka_spec.model_check.spark import engine as distributed
from kafka_spec.model_check.spark import package, state_dir, states_table
from kafka_spec.model_check.spark import paths as paths_on_spark
from kafka_spec.model_check.store.digest_json import Damaged
from kafka_spec.model_check.traces.counterexample import trace_of
from kafka_spec.spec.catalogue.models import MODELS
from kafka_spec.spec.vocabulary.table import Spec, SpecError

NAMES = ("replicas", "log_size", "max_records", "max_leader_epoch")
SMALL = dict(zip(NAMES, (2, 2, 2, 2), strict=True))
EPOCHS = dict(zip(NAMES, (3, 1, 1, 2), strict=True))
MEDIUM = dict(zip(NAMES, (3, 2, 2, 2), strict=True))
LARGE = dict(zip(NAMES, (3, 3, 3, 2), strict=True))
KIP_320 = MODELS["replication/kip_320"]


def same(one: Exploration, other: Exploration) -> None:
    """Compare everything that two engines must agree on."""
    theirs = agreed(other)
    for kind, mine in agreed(one).items():
        assert mine == theirs[kind], kind


@pytest.fixture(scope="module")
def session_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder with the log of the tests' shared session."""
    return tmp_path_factory.mktemp("session")


@pytest.fixture(scope="module")
def spark(session_folder: Path) -> Iterator[SparkSession]:
    """A session that the caller created, as in a notebook."""
    with clusters.temporary_session("local[2]", session_folder, queries=False) as session:
        session.conf.set("spark.sql.execution.arrow.maxRecordsPerBatch", "777")
        yield session


@pytest.fixture
def on_spark(spark: SparkSession, tmp_path: Path) -> Callable[..., Exploration]:
    """Return a function that explores on the session, from the first level on."""

    def explore(spec: Spec, bounds: dict[str, int], **options: Any) -> Exploration:
        reported = {"state_dir": str(tmp_path / "states"), "handover": 1, "latest": options.get("handover", 1), "session": spark}
        reported.update(
            {name: options.pop(name) for name in list(options) if name in ("handover", "latest", "resume", "state_dir")}
        )
        return distributed.explore(spec, bounds, Distribution(**reported), **options)

    return explore


# ---------------------------------------------------------------------------------------------------------------------
# The same results


@pytest.mark.parametrize(
    ("spec", "options"),
    [
        (sample_specs.GOES_BACK, {}),
        (sample_specs.LEAVES_DOMAIN, {}),
        (sample_specs.CUT_OFF, {"deadlock": True}),
        (sample_specs.SEVERAL_STARTS, {"everything": True}),
        (sample_specs.CHANNEL, {"everything": True}),
        (LAMP, {"everything": True}),
    ],
    ids=lambda value: value.name if isinstance(value, Spec) else None,
)
def test_toys(on_spark: Callable[..., Exploration], spec: Spec, options: dict[str, bool]) -> None:
    """Step invariants, domains, bounds, deadlocks, several initial states and forms come out as in the embedded engine."""
    bounds = sample_specs.bounds_of(spec)

    same(on_spark(spec, bounds, **options), embedded.explore(spec, bounds, **options))


def low(s: Any) -> bool:
    """Two cells are at most 4 in all."""
    small: bool = s.cells[0] + s.cells[1] <= 4
    return small


def test_what_cut_a_step_is_reported(on_spark: Callable[..., Exploration], tmp_path: Path) -> None:
    """Which bound and whether the constraint cut steps is known of wide levels, too, so that *holds* has the same reservations."""
    spec = dataclasses.replace(sample_specs.GRID, constraint=low, properties=())
    bounds = {"limit": 3}
    for handover in (1, 30):
        found = on_spark(spec, bounds, handover=handover, deadlock=False, state_dir=str(tmp_path / str(handover)))
        same(found, embedded.explore(spec, bounds, deadlock=False))
        assert found.left_constraint and {cut for _, cut in found.cut_by} >= {"low"}
        assert "up to the constraint low" in verdict_text(found)


@pytest.mark.parametrize("everything", [False, True])
def test_a_violation(on_spark: Callable[..., Exploration], everything: bool, tmp_path: Path) -> None:
    """A violated model ends at the same level with the same shortest counterexample, or continues to the same end."""
    spec = MODELS["replication/kip_320_first_try"]
    found = on_spark(spec, EPOCHS, everything=everything, handover=500)
    other = embedded.explore(spec, EPOCHS, everything=everything)

    same(found, other)
    assert found.violated
    # a job has expanded the last level; what it found is removed
    assert len(list((tmp_path / "states" / "levels").iterdir())) == found.depth
    assert not (tmp_path / "states" / state_dir.CANDIDATES).exists()
    assert [trace_of(found, name) for name in found.violated] == [trace_of(other, name) for name in other.violated]


@pytest.mark.long
def test_a_control_plane(on_spark: Callable[..., Exploration], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A control plane, with records ten times as long, has the same results, and parts sized by their bytes."""
    monkeypatch.setattr(distributed, "PART_BYTES", 4 << 20)
    spec = MODELS["zookeeper/fixed"]
    bounds = dict(next(bounds.values for bounds in spec.bound_sets if bounds.name == "everyday"))
    found = on_spark(spec, bounds, handover=4000)

    assert found.distinct == 218_797
    same(found, embedded.explore(spec, bounds, threads=2))
    assert list((tmp_path / "states" / "levels").glob("*/part-003-of-004.parquet"))


def test_another_seed(on_spark: Callable[..., Exploration]) -> None:
    """Another seed of the fingerprints gives the embedded engine's digest under that seed."""
    same(on_spark(KIP_320, SMALL, seed=7, handover=100), embedded.explore(KIP_320, SMALL, seed=7))


@pytest.mark.parametrize("name", ["Divide", "ReadsNothing"])
def test_what_cannot_be_executed_is_told(on_spark: Callable[..., Exploration], name: str) -> None:
    """A rule or a property that cannot be executed gives the embedded engine's message."""
    spec = sample_specs.BROKEN[name]
    with pytest.raises(SpecError) as mine:
        on_spark(spec, sample_specs.bounds_of(spec))
    with pytest.raises(SpecError) as theirs:
        embedded.explore(spec, sample_specs.bounds_of(spec))

    assert str(mine.value) == str(theirs.value)


def test_a_session_is_left_as_it_was(on_spark: Callable[..., Exploration], spark: SparkSession) -> None:
    """A session that was handed over is neither stopped nor changed."""
    on_spark(KIP_320, SMALL, handover=100)

    assert spark.conf.get("spark.sql.execution.arrow.maxRecordsPerBatch") == "777"
    assert spark.range(3).count() == 3


@pytest.mark.parametrize(
    ("model", "bounds", "handover"),
    [
        ("zookeeper/fixed", "bounce", 1),
        ("zookeeper/fixed", "bounce", 10**9),
        pytest.param("zookeeper/KAFKA-1382", "lost_reply", 1, marks=pytest.mark.long),
        ("zookeeper/KAFKA-1382", "lost_reply", 10**9),
    ],
)
def test_claims_about_paths(on_spark: Callable[..., Exploration], model: str, bounds: str, handover: int, tmp_path: Path) -> None:
    """Recoverable and leads-to claims come out as in the embedded engine, lassos too, whether Spark searched or only the driver."""
    spec = MODELS[model]
    (values,) = (spec.bound_values(some.values) for some in spec.bound_sets if some.name == bounds)
    truth = embedded.explore(spec, values, everything=True)
    assert bool(truth.violated) == (model != "zookeeper/fixed") and {"recoverable", "leads-to"} <= {c.kind for c in spec.properties}

    same(on_spark(spec, values, everything=True, handover=handover), truth)
    assert not (tmp_path / "states" / paths_on_spark.FOLDER).exists()
    same(on_spark(spec, values, everything=True, handover=handover, resume=True), truth)


def test_a_search_that_spark_never_takes_over_waits_for_no_fast_code(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """For a small search only code that is there early is generated: that of a control plane takes 20 seconds otherwise."""
    monkeypatch.setenv("KAFKA_SPEC_CACHE", str(tmp_path / "compiled"))
    generated: list[bool] = []
    generate = machine_code._generate

    def watched(text: str, quick: bool) -> bytes:
        generated.append(quick)
        return generate(text, quick)

    monkeypatch.setattr(machine_code, "_generate", watched)
    found = distributed.explore(KIP_320, SMALL, Distribution(str(tmp_path / "states")))

    assert found.complete and found.spec is KIP_320
    assert generated and all(generated)


@pytest.mark.long
def test_a_recoverable_claim_about_parts(on_spark: Callable[..., Exploration], monkeypatch: pytest.MonkeyPatch) -> None:
    """The same with levels in many files, of which a task writes one at a time; a damaged one is told."""
    spec = MODELS["kraft/KAFKA-14154"]
    (values,) = (spec.bound_values(some.values) for some in spec.bound_sets if some.name == "stale_answer")

    same(on_spark(spec, values, everything=True), embedded.explore(spec, values, everything=True))

    read = state_dir.Storage.read
    monkeypatch.setattr(
        state_dir.Storage, "read", lambda storage, name: b"" if name.startswith(paths_on_spark.FOLDER) else read(storage, name)
    )
    with pytest.raises(SpecError, match=r"paths/.* is not what was written"):
        on_spark(spec, values, everything=True, resume=True)


# ---------------------------------------------------------------------------------------------------------------------
# The state-dir


def test_states_as_a_table(on_spark: Callable[..., Exploration], spark: SparkSession, tmp_path: Path, kafka_spec: Command) -> None:
    """The levels can be read as Parquet with named columns, and each state has a shortest path to it."""
    result = on_spark(KIP_320, SMALL, handover=100)
    place = str(tmp_path / "states")
    plain = spark.read.parquet(f"{place}/levels")
    table = states_table.states_of(spark, place)

    assert [row["count"] for row in plain.groupBy("level").count().orderBy("level").collect()] == result.levels
    assert {row["rule"] for row in table.select("rule").distinct().collect()} == {None, *(+result.new).keys()}
    (row,) = table.where("level = 7 and quorum_leader_epoch = 1").orderBy("fingerprint").limit(1).collect()
    path = kafka_spec("states", place, "--path", row["fingerprint"], "--full", "--format", "json")
    trace = json.loads(path.stdout)
    assert len(trace["steps"]) == 7
    assert trace["steps"][-1]["fingerprint"] == row["fingerprint"]
    state = dict(trace["steps"][-1]["state"])
    assert (state["quorum.leader_epoch"], state["quorum.leader"]) == (str(row["quorum_leader_epoch"]), row["quorum_leader"])
    assert state["replicas[1].high_watermark"] == str(row["replicas_1_high_watermark"])


def test_a_condition_that_cannot_be_read(finished: Path, spark: SparkSession) -> None:
    """A condition on a column that is not there ends with one line that names it."""
    with pytest.raises(SpecError, match="`levl` cannot be resolved") as error:
        states_table.query(str(finished), "levl = 3", 1, "", spark)

    assert "\n" not in str(error.value)


@pytest.mark.long
def test_states_on_the_command_line(kafka_spec: Command, tmp_path: Path) -> None:
    """`states` counts and shows the states that meet a condition, lists the columns, and reports an empty result."""
    place = str(tmp_path / "states")
    kafka_spec("check", "replication/kip_320", "--bounds", "small", "--engine", "spark", "--state-dir", place)
    good = kafka_spec("states", place, "--where", "level = 3", "--limit", "2", "--master", "local[1]")
    columns = kafka_spec("states", place, "--columns")
    nowhere = kafka_spec("states", str(tmp_path), "--columns")
    unknown = kafka_spec("states", place, "--path", "12ab")

    assert (good.returncode, good.stderr) == (0, "")
    assert re.match(
        r"\d+ states, the first 2:\n\n[0-9a-f]{16}  level 3, first reached by \w+ from [0-9a-f]{16}\n  replicas_0", good.stdout
    )
    assert "quorum_leader" in columns.stdout.split()
    assert (nowhere.returncode, unknown.returncode) == (2, 2)
    assert "contains no run" in nowhere.stderr
    assert "has this state" in unknown.stderr
    mark = good.stdout.splitlines()[2].split()[0]
    there = kafka_spec("explore", "replication/kip_320", "--to", mark, "--state-dir", place, "--terminal")
    other = kafka_spec("explore", "replication/kip_279", "--to", mark, "--state-dir", place, "--terminal")
    missing = kafka_spec("explore", "replication/kip_320", "--to", "12ab", "--state-dir", place, "--terminal")
    assert there.returncode == 0 and "state 4 of 4" in there.stdout
    assert (other.returncode, missing.returncode) == (2, 2)
    assert "is of replication/kip_320; name that model" in other.stderr and "has this state" in missing.stderr


# ---------------------------------------------------------------------------------------------------------------------
# State-dirs that are refused


@pytest.fixture
def finished(tmp_path: Path) -> Path:
    """A state-dir with a finished search, which was too small for Spark."""
    place = tmp_path / "finished"
    distributed.explore(KIP_320, SMALL, Distribution(str(place)))
    return place


def resume(place: Path, spec: Spec = KIP_320, bounds: dict[str, int] = SMALL, **options: Any) -> Exploration:
    """Go on with the search in a state-dir."""
    return distributed.explore(spec, bounds, Distribution(str(place), resume=True), **options)


def test_resuming_what_is_finished(finished: Path) -> None:
    """Resuming a finished search returns its result."""
    same(resume(finished), embedded.explore(KIP_320, SMALL))


def test_late_tables_of_a_killed_driver_are_removed(finished: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The workers of a killed driver may write to its folder after it was removed: it is gone at the end all the same."""
    left = tmp_path / f"{clusters.SCRATCH}of-a-killed-driver"
    left.mkdir()
    (finished / "scratch").write_text(str(left))
    removed: list[Path] = []
    remove = shutil.rmtree

    def first_in_vain(path: Path, **options: Any) -> None:
        remove(path, **options)
        if path == left and not removed:
            left.mkdir()
        removed.append(path)

    monkeypatch.setattr(shutil, "rmtree", first_in_vain)
    resume(finished)

    assert removed.count(left) == 2 and not left.exists()


@pytest.mark.parametrize("spec", [sample_specs.GRID, sample_specs.CHANNEL, sample_specs.TESTED], ids=lambda s: s.name)
@pytest.mark.parametrize("most", [1, 5])
def test_a_search_that_is_stopped_and_resumed(spec: Spec, most: int, tmp_path: Path) -> None:
    """A search that was stopped anywhere and resumed has the results of an uninterrupted one: counts, tests, findings."""
    bounds, options = sample_specs.bounds_of(spec), {"everything": True, "deadlock": True}
    place = Distribution(str(tmp_path / "states"))
    first = distributed.explore(spec, bounds, place, budget=Budget(max_states=most), **options)
    whole = resume(tmp_path / "states", spec, bounds, **options)

    assert not first.complete
    same(whole, embedded.explore(spec, bounds, **options))


def test_foreign_state_dirs(finished: Path, tmp_path: Path) -> None:
    """A folder of another search, with foreign files, or without any is refused with the reason."""
    (tmp_path / "papers").mkdir()
    (tmp_path / "papers" / "letter").write_text("dear")
    with pytest.raises(SpecError, match="differs in its bounds"):
        resume(finished, bounds={**SMALL, "log_size": 1})
    with pytest.raises(SpecError, match="differs in its model"):
        resume(finished, MODELS["replication/kip_279"])
    with pytest.raises(SpecError, match="differs in its code"):
        resume(finished, KIP_320.replacing(KIP_320.name, "weaker", rules=[_weakened(KIP_320)]))
    faulty = [dataclasses.replace(rule, kind="fault") for rule in KIP_320.rules]
    with pytest.raises(SpecError, match="differs in its kinds of rules"):
        resume(finished, KIP_320.replacing(KIP_320.name, "all rules are faults", rules=faulty))
    with pytest.raises(SpecError, match="already contains a run; continue it with --resume"):
        distributed.explore(KIP_320, SMALL, Distribution(str(finished)))
    with pytest.raises(SpecError, match="contains letter and no run"):
        distributed.explore(KIP_320, SMALL, Distribution(str(tmp_path / "papers")))
    with pytest.raises(SpecError, match="contains no run to continue"):
        resume(tmp_path / "nothing")


def _weakened(spec: Spec) -> Any:
    rule = next(rule for rule in spec.rules if rule.guards)
    return rule.without_guard(rule.guards[0].__name__)


def _flip(file: Path, at: int) -> None:
    content = bytearray(file.read_bytes())
    content[at] ^= 1
    file.write_bytes(content)


@pytest.mark.parametrize(
    "harm",
    [
        lambda place: _flip(place / "levels/level=00009/part-000-of-001.parquet", 300),
        lambda place: _flip(place / "levels/level=00009/part-000-of-001.parquet", -40),
        lambda place: os.truncate(place / "levels/level=00009/part-000-of-001.parquet", 700),
        lambda place: (place / "levels/level=00009/part-000-of-001.parquet").unlink(),
        lambda place: _flip(place / "level-00004.json", 30),
        lambda place: (place / "level-00004.json").unlink(),
        lambda place: shutil.copy(place / "level-00004.json", place / "level-00005.json"),
        lambda place: _flip(place / "run.json", 40),
        lambda place: _flip(place / "program.ll", 4000),
        lambda place: _flip(place / "codec.ll", 4000),
    ],
    ids=["data", "footer", "cut off", "gone", "summary", "no summary", "exchanged", "run", "code", "code of records"],
)
def test_damage(finished: Path, harm: Callable[[Path], object]) -> None:
    """A state-dir with any change is refused, and the damaged part is named."""
    harm(finished)

    with pytest.raises(SpecError, match=r"is damaged|is missing|does not follow"):
        resume(finished)


@pytest.mark.parametrize("column", ["fingerprint", "place", "parent", "action", "record"])
@pytest.mark.parametrize("level", [0, 9])
def test_one_flipped_byte_of_a_finished_level(finished: Path, column: str, level: int) -> None:
    """One flipped bit in any column of any finished level is found before the search goes on, and refused by one clear line."""
    name = f"levels/level={level:05d}/part-000-of-001.parquet"
    group = pq.ParquetFile(finished / name).metadata.row_group(0)
    (place,) = [group.column(n) for n in range(group.num_columns) if group.column(n).path_in_schema == column]
    _flip(finished / name, place.data_page_offset + place.total_compressed_size - 3)

    with pytest.raises(SpecError) as refused:
        resume(finished)
    assert str(refused.value) == (
        f"{finished}: {name} is damaged: its digest is not that of what was written; remove the folder and start again, "
        "or restore it from a copy"
    )


def test_damage_to_records_is_told_when_they_are_read(finished: Path) -> None:
    """A checksum detects a flipped bit in the records themselves."""
    file = finished / "levels/level=00009/part-000-of-001.parquet"
    place = pq.ParquetFile(file).metadata.row_group(0).column(4)
    _flip(file, place.data_page_offset + place.total_compressed_size - 3)

    with pytest.raises(Damaged, match=r"part-000-of-001\.parquet is damaged"):
        list(state_dir.read_rows(state_dir.Storage(str(finished)), 9))


# ---------------------------------------------------------------------------------------------------------------------
# The command line


SPARK = ("--engine", "spark", "--master", "local[2]")
NO_MASTER = ("--engine", "spark", "--state-dir", "{tmp}/s", "--handover", "10", "--master")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--engine", "spark"), "name a folder for them with --state-dir"),
        (("--master", "local[2]", "--state-dir", "{tmp}/s"), "--master is for --engine spark"),
        (("--handover", "3"), "--handover is for --engine spark"),
        ((*SPARK, "--state-dir", "{tmp}/s", "--verify"), "run it again by yourself instead of --verify"),
        ((*NO_MASTER, "warp:9"), "--master warp:9: Spark cannot be started: "),
        pytest.param(
            (*NO_MASTER, "spark://127.0.0.1:1"),
            "--master spark://127.0.0.1:1: Spark cannot be started: All masters are unresponsive! Giving up.\n",
            marks=pytest.mark.long,  # Spark asks for a minute
        ),
    ],
)
def test_misuse(kafka_spec: Command, tmp_path: Path, arguments: tuple[str, ...], message: str) -> None:
    """Conflicting options and invalid masters exit with 2 and one line that says so."""
    run = kafka_spec("check", "replication/kip_320", *(word.format(tmp=tmp_path) for word in arguments))

    assert run.returncode == 2
    assert message in run.stderr
    assert "Traceback" not in run.stderr
    assert "calling None" not in run.stderr


@pytest.mark.parametrize(
    ("script", "message"),
    [
        (None, "needs Java, and there is none"),
        ("echo 'openjdk version \"11.0.2\" 2019-01-15' >&2", "needs Java 17 or newer, and"),
        ("echo 'java version \"1.8.0_202\"' >&2", "is 8; install Java 17 or newer (on Debian: apt-get install openjdk-17"),
    ],
    ids=["none", "11", "8"],
)
def test_java(kafka_spec: Command, tmp_path: Path, script: str | None, message: str) -> None:
    """If Java is missing or too old, the message says what to install."""
    if script is not None:
        java = tmp_path / "bin" / "java"
        java.parent.mkdir()
        java.write_text(f"#!/bin/sh\n{script}\n")
        java.chmod(java.stat().st_mode | stat.S_IXUSR)
    run = kafka_spec("check", "replication/kip_320", *SPARK, "--state-dir", str(tmp_path / "s"), env={"JAVA_HOME": str(tmp_path)})

    assert run.returncode == 2
    assert message in run.stderr


def test_needs_are_those_of_the_package() -> None:
    """The requirements for workers equal those of the package's extras."""
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    wanted = dict(re.findall(r"([a-z]+)>=([\d.]+)", " ".join(extras["check"] + extras["spark"])))

    assert {name: wanted[name] for name in package.NEEDS} == package.NEEDS


def test_a_worker_without_a_library(spark: SparkSession) -> None:
    """A worker that has a library too old, or has it not, is refused by the library's name."""
    tasks = spark.sparkContext.parallelize([0], 1)
    for library, version, message in (("numpy", "99.0", r"a worker has numpy \d"), ("nothing_such", "1.0", "has no nothing_such")):
        needed = {**package.expected(), "package": "another", "versions": {library: version}}
        with pytest.raises(Exception, match=message) as met:
            tasks.mapPartitions(package.guarded(needed, "prepare", (None,))).collect()
        assert isinstance(clusters.reported(met.value), SpecError)


@pytest.mark.long
def test_another_version_on_a_worker(tmp_path: Path) -> None:
    """If the Python workers import another version of the package, the run is refused instead of wrong."""
    elsewhere = tmp_path / "elsewhere"
    shutil.copytree(ROOT / "kafka_spec", elsewhere / "kafka_spec", ignore=shutil.ignore_patterns("__pycache__"))
    with (elsewhere / "kafka_spec" / "model_check" / "spark" / "worker.py").open("a") as file:
        file.write("# changed\n")
    # the installed command does not look into the folder it is started in; the workers, started by module, do
    command = str(Path(sys.executable).parent / "kafka-spec")
    run = subprocess.run(
        [command, "check", "replication/kip_320", "--engine", "spark", "--master", "local[1]", "--bounds", "small",
         "--handover", "100", "--state-dir", str(tmp_path / "states")],
        cwd=elsewhere, capture_output=True, text=True, check=False, timeout=120,
    )  # fmt: skip

    assert run.returncode == 2, run.stdout + run.stderr
    assert f"a worker has another version of kafka-spec at {elsewhere}" in run.stderr


# ---------------------------------------------------------------------------------------------------------------------
# Faults


@pytest.fixture(scope="module")
def medium() -> Exploration:
    """The medium model, as the embedded engine has it: 737,794 states."""
    return embedded.explore(KIP_320, MEDIUM)


def start(
    place: Path,
    *more: str,
    master: str = "local[2]",
    bounds: str = "large",
    handover: int = 40_000,
    env: dict[str, str] | None = None,
) -> subprocess.Popen[str]:
    """Start a check of kip_320 on Spark."""
    command = [sys.executable, "-m", "kafka_spec", "check", "replication/kip_320", "--bounds", bounds, "--engine", "spark"]
    command += ["--master", master, "--handover", str(handover), "--state-dir", str(place), "--format", "json", *more]
    return subprocess.Popen(command, cwd=ROOT, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def ended(process: subprocess.Popen[str], truth: Exploration) -> None:
    """Wait for a check, and see that its result is exact."""
    output, errors = process.communicate(timeout=240)
    assert process.returncode == 0, errors
    result = json.loads(output)
    assert result["verdict"] == "holds"
    assert result["levels"] == truth.levels
    assert result["rules"] == {r.name: {"fired": truth.fired[r.name], "new": truth.new[r.name]} for r in truth.spec.rules}
    assert result["bounded"] == dict(truth.bounded)
    assert result["graph_digest"] == f"{truth.digest:016x}"


def until(condition: Callable[[], Any], process: subprocess.Popen[str], seconds: float = 180) -> Any:
    """Wait for something to happen while a process runs."""
    end = time.monotonic() + seconds
    while not (found := condition()):
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < end
        time.sleep(0.005)
    return found


def writing(place: Path, level: int) -> bool:
    """Whether a level is in the middle of being written: it has files, and is not finished."""
    return (place / f"levels/level={level:05d}").exists() and not (place / f"level-{level:05d}.json").exists()


def processes() -> dict[int, tuple[int, str]]:
    """Return parent and command line of all processes."""
    found = {}
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            parent = int(re.sub(r"^.*\) \S ", "", (folder / "stat").read_text()).split()[0])
            found[int(folder.name)] = parent, (folder / "cmdline").read_text().replace("\0", " ")
        except OSError:
            continue
    return found


def below(root: int, text: str) -> list[int]:
    """Return the descendants of a process whose command lines contain a text."""
    known = processes()

    def is_below(number: int) -> bool:
        while number in known and number != root:
            number = known[number][0]
        return number == root

    return [number for number, (_, command) in known.items() if text in command and is_below(number)]


def python_workers(root: int) -> list[int]:
    """Return the Python workers below a process: children of a pyspark daemon."""
    known = processes()
    return [number for number in below(root, "pyspark.daemon") if "pyspark.daemon" in known.get(known[number][0], (0, ""))[1]]


@pytest.mark.long
def test_large_with_python_workers_killed(on_spark: Callable[..., Exploration], session_folder: Path, tmp_path: Path) -> None:
    """All 4,093,531 states, with Python workers killed in the middle of levels, until Spark has lost tasks: the result is exact."""
    log = session_folder / "spark.log"
    lost, done = log.read_text().count("Lost task"), threading.Event()

    def kill() -> None:
        for level in (13, 16, 18, 20):
            while not (writing(tmp_path / "states", level) or done.is_set()):
                time.sleep(0.005)
            for victim in python_workers(os.getpid()):
                os.kill(victim, signal.SIGKILL)

    killer = threading.Thread(target=kill)
    killer.start()
    try:
        found = on_spark(KIP_320, LARGE, handover=40_000)
    finally:
        done.set()
        killer.join()

    assert log.read_text().count("Lost task") > lost
    assert found.distinct == 4_093_531
    same(found, embedded.explore(KIP_320, LARGE, threads=2))


@pytest.mark.long
def test_the_driver_killed_and_a_second_run(
    on_spark: Callable[..., Exploration], tmp_path: Path, medium: Exploration, kafka_spec: Command
) -> None:
    """The driver killed after a level, and inside one: --resume is exact. While one is at work, a second one is refused."""
    place = tmp_path / "states"
    process = start(place, bounds="medium", handover=3000)
    until(lambda: (place / "level-00007.json").exists(), process)
    arguments = ("--bounds", "medium", "--engine", "spark", "--state-dir", str(place), "--resume")
    second = kafka_spec("check", "replication/kip_320", *arguments)
    until(lambda: (place / "level-00010.json").exists(), process)
    process.kill()
    process.communicate()

    assert second.returncode == 2
    assert "another run is using it" in second.stderr

    process = start(place, "--resume", bounds="medium", handover=3000)
    until(lambda: writing(place, 17) or writing(place, 18) or writing(place, 19), process)
    process.kill()
    process.communicate()
    left = Path((place / "scratch").read_text())
    assert left.exists()
    summaries = {path.name: path.read_bytes() for path in place.glob("level-*.json")}
    assert len(summaries) < medium.depth
    same(on_spark(KIP_320, MEDIUM, resume=True, handover=3000), medium)
    assert not left.exists()
    assert all((place / name).read_bytes() == content for name, content in summaries.items())


@pytest.fixture
def mounted(tmp_path: Path) -> Iterator[Callable[[str], Path]]:
    """Return a function that mounts a small file system with some options, or mounts it anew."""
    place = tmp_path / "disk"
    place.mkdir()
    done = []

    def mount(options: str) -> Path:
        again = "remount," if done else ""
        run = subprocess.run(
            ["mount", "-t", "tmpfs", "-o", f"{again}{options}", "tmpfs", str(place)], capture_output=True, text=True, check=False
        )
        if run.returncode:
            pytest.skip(f"a file system can be mounted by root only: {run.stderr.strip()}")
        done.append(options)
        return place

    yield mount
    if done:
        subprocess.run(["umount", "-l", str(place)], check=False)


@pytest.mark.long
def test_a_full_state_dir(mounted: Callable[[str], Path], on_spark: Callable[..., Exploration], medium: Exploration) -> None:
    """A full state-dir is inconclusive (exit code 3), with a message; finished levels remain, and with space --resume is exact."""
    place = mounted("size=12m") / "states"
    found = on_spark(KIP_320, MEDIUM, state_dir=str(place), handover=3000)
    finished = sorted(path.name for path in place.glob("level-*.json"))

    assert found.verdict == "inconclusive"
    assert re.search(r"states: .*No space left on device.*; free space or name another", found.stopped)
    assert len(finished) == found.depth > 10
    assert not list(place.glob("levels/*/_*"))
    assert not (place / state_dir.CANDIDATES).exists()
    mounted("size=200m")
    same(on_spark(KIP_320, MEDIUM, state_dir=str(place), resume=True, handover=3000), medium)


def test_an_unwritable_state_dir(mounted: Callable[[str], Path], kafka_spec: Command) -> None:
    """A state-dir that cannot be written exits with 3 and a message."""
    place = mounted("ro,size=1m") / "states"
    run = kafka_spec("check", "replication/kip_320", "--bounds", "small", "--engine", "spark", "--state-dir", str(place))

    assert run.returncode == 3
    assert f"{place}: Read-only file system" in run.stdout


def test_an_interrupt_stops_a_job(on_spark: Callable[..., Exploration], medium: Exploration, tmp_path: Path) -> None:
    """An interrupt, like a spent budget, stops the search inside a job; finished levels are reported, and resuming is exact."""
    budget = Budget()

    def interrupt(result: Exploration, seconds: float) -> None:
        if result.depth == 12:
            # a task writes its file of the level, and goes on
            threading.Thread(target=lambda: (until_written(12), setattr(budget, "interrupted", True))).start()

    def until_written(level: int) -> None:
        while not (tmp_path / f"states/levels/level={level:05d}").exists():
            time.sleep(0.005)

    some = on_spark(KIP_320, MEDIUM, handover=3000, budget=budget, progress=interrupt)

    assert (some.verdict, some.stopped) == ("inconclusive", "interrupted")
    assert some.levels == medium.levels[: some.depth]
    assert some.depth in (12, 13)  # 13 if the job ended just before it could be cancelled
    same(on_spark(KIP_320, MEDIUM, resume=True, handover=3000), medium)


# ---------------------------------------------------------------------------------------------------------------------
# The start of Spark, beside the search


def by(place: Path) -> list[str]:
    """Return which engine searched each level."""
    return [json.loads(path.read_bytes())["by"] for path in sorted(place.glob("level-*.json"))]


def test_whenever_spark_takes_over(on_spark: Callable[..., Exploration], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A session that comes up late changes no result, nor does one that comes when narrow levels are back, nor --resume between."""
    truth = embedded.explore(KIP_320, SMALL)
    first = next(level for level, width in enumerate(truth.levels) if width >= 300)
    monkeypatch.setattr(clusters.SparkCluster, "up", property(lambda self: False))
    late = on_spark(KIP_320, SMALL, handover=300, latest=900)
    same(late, truth)
    assert by(tmp_path / "states").index("spark") == next(n for n, width in enumerate(truth.levels) if width >= 900) + 1 > first + 1

    for number, states in enumerate((3000, truth.distinct - 20)):
        place = str(tmp_path / f"resumed-{number}")
        some = on_spark(KIP_320, SMALL, handover=300, latest=10**6, state_dir=place, budget=Budget(max_states=states))
        assert (some.levels[-1] < 300) == bool(number)
        assert set(by(Path(place))) == {"embedded"}
        monkeypatch.setattr(clusters.SparkCluster, "up", property(lambda self: not self.thread.is_alive()))
        same(on_spark(KIP_320, SMALL, handover=300, resume=True, state_dir=place), truth)
        monkeypatch.setattr(clusters.SparkCluster, "up", property(lambda self: False))


def alive(place: Path) -> list[int]:
    """Return the processes of Java that a search with its state-dir there has started: they name its scratch folder."""
    try:
        scratch = (place / "scratch").read_text()
    except FileNotFoundError:
        return []
    return [number for number, (_, command) in processes().items() if scratch in command]


def gone(place: Path) -> None:
    """Wait until they have ended."""
    end = time.monotonic() + 60
    while alive(place):
        assert time.monotonic() < end
        time.sleep(0.05)
    assert not Path((place / "scratch").read_text()).exists()


def test_a_search_that_ends_before_spark_is_up(tmp_path: Path) -> None:
    """If the search ends before the session is up, the start is cancelled, and no Java process and no folder remain."""
    code = (
        "from kafka_spec.model_check.spark.engine import explore\n"
        "from kafka_spec.model_check.exploration import Distribution\n"
        "from kafka_spec.spec.catalogue.models import MODELS\n"
        f"d = Distribution({str(tmp_path / 'states')!r}, 'local[1]', handover=300, latest=10**6)\n"
        f"r = explore(MODELS['replication/kip_320'], {SMALL}, d)\n"
        "print(r.verdict, r.distinct)\n"
    )
    run = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False, timeout=120)

    assert (run.stdout, run.stderr) == (f"holds {embedded.explore(KIP_320, SMALL).distinct}\n", "")
    assert set(by(tmp_path / "states")) == {"embedded"}
    gone(tmp_path / "states")


def test_an_interrupt_while_spark_starts(tmp_path: Path) -> None:
    """Ctrl-C while Spark starts exits with 3, finished levels remain, and no Java process remains."""
    process = start(tmp_path / "states", bounds="small", handover=300)
    until(lambda: alive(tmp_path / "states"), process)
    process.send_signal(signal.SIGINT)
    output, errors = process.communicate(timeout=120)

    assert process.returncode == 3, errors
    assert json.loads(output)["stopped"] == "interrupted"
    assert set(by(tmp_path / "states")) == {"embedded"}
    gone(tmp_path / "states")


# ---------------------------------------------------------------------------------------------------------------------
# A cluster


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A standalone cluster on this machine: a master and two workers of one core each."""
    folder = tmp_path_factory.mktemp("cluster")
    home = Path(pyspark.__file__).parent
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    master = f"spark://127.0.0.1:{port}"
    # another kafka_spec is at the place of an installed one for executors; the one that is sent comes first
    (folder / "installed" / "kafka_spec").mkdir(parents=True)
    (folder / "installed" / "kafka_spec" / "__init__.py").write_text("raise ImportError('this one is installed')")
    environment = {
        **os.environ,
        "PYTHONPATH": str(folder / "installed"),
        "SPARK_HOME": str(home),
        "SPARK_LOCAL_IP": "127.0.0.1",
        "SPARK_WORKER_DIR": str(folder / "work"),
        "SPARK_DAEMON_JAVA_OPTS": clusters.QUICK_JAVA,
        "PYSPARK_PYTHON": sys.executable,
    }
    log = (folder / "log").open("w+")

    def daemon(*words: str) -> subprocess.Popen[str]:
        command = [str(home / "bin" / "spark-class"), *words]
        return subprocess.Popen(command, env=environment, stdout=log, stderr=log, text=True, cwd=folder)

    name = "org.apache.spark.deploy"
    running = [daemon(f"{name}.master.Master", "--host", "127.0.0.1", "--port", str(port), "--webui-port", "0")]
    for _ in range(2):
        options = ["--host", "127.0.0.1", "--cores", "1", "--memory", "1g", "--webui-port", "0"]
        running.append(daemon(f"{name}.worker.Worker", *options, master))
    until(lambda: (folder / "log").read_text().count("Successfully registered with master") == 2, running[0])
    yield master
    for process in reversed(running):
        process.terminate()
        process.wait(30)
    log.close()


@pytest.mark.long
def test_a_standalone_cluster_that_loses_an_executor(cluster: str, tmp_path: Path, medium: Exploration) -> None:
    """On a master and two workers, the result is exact if an executor is killed in the middle of a level.

    The executors run the package that is sent to them: another one that is installed there would end the run.
    """
    place = tmp_path / "states"
    process = start(place, master=cluster, bounds="medium", handover=3000)
    until(lambda: writing(place, 14) or writing(place, 15) or writing(place, 16), process)
    port = cluster.rpartition(":")[2]
    workers = [n for n, (_, command) in processes().items() if "worker.Worker" in command and command.rstrip().endswith(port)]
    executors = [number for worker in workers for number in below(worker, "CoarseGrainedExecutorBackend")]
    assert len(executors) == 2
    os.kill(executors[0], signal.SIGKILL)
    ended(process, medium)


def test_executors_keep_their_seats() -> None:
    """An executor has a seat for each core, and keeps them: those of a lost one stay empty until a new one comes."""
    first = clusters.seats([], {"a": 2, "b": 1})
    lost = clusters.seats(first, {"b": 1})

    assert (first, lost) == (["a", "a", "b"], ["", "", "b"])
    assert clusters.seats(lost, {"b": 1}) == lost
    assert clusters.seats(lost, {"b": 1, "c": 3}) == ["c", "c", "b", "c"]


@pytest.mark.long
def test_parts_stay_where_their_tables_are(cluster: str, tmp_path: Path, medium: Exploration) -> None:
    """On two workers, no executor ever has a table of a shard that the other one has: no table must catch up."""
    place = tmp_path / "states"
    # both executors are there when the first job runs, and neither takes a part of the other, however slow that is
    options = {"spark.cores.max": "2", "spark.scheduler.minRegisteredResourcesRatio": "1.0", "spark.locality.wait": "300s"}
    (tmp_path / "spark-defaults.conf").write_text("".join(f"{name} {value}\n" for name, value in options.items()))
    process = start(place, master=cluster, bounds="medium", handover=3000, env={**os.environ, "SPARK_CONF_DIR": str(tmp_path)})
    until(lambda: (place / "level-00008.json").exists(), process)
    name = f"kafka-spec-{(place / 'owner').read_text()}/shard-*.table"
    tables: set[Path] = set()
    while process.poll() is None:
        tables |= set(Path(tempfile.gettempdir()).glob(f"spark-*/executor-*/*/{name}"))
        time.sleep(0.02)
    ended(process, medium)

    assert len({table.parent for table in tables}) == 2
    assert len(tables) == len({table.name for table in tables}) >= 8


@pytest.mark.long
def test_spark_submit(cluster: str, tmp_path: Path) -> None:
    """Under spark-submit the existing session is used, with its master, not a new one."""
    submit = [
        str(Path(pyspark.__file__).parent / "bin" / "spark-submit"),
        "--master",
        cluster,
        str(ROOT / "kafka_spec" / "__main__.py"),
    ]
    check = ["check", "replication/kip_320", "--bounds", "small", "--engine", "spark", "--handover", "300"]
    output = ["--state-dir", str(tmp_path / "states"), "--format", "json", "--output", str(tmp_path / "result.json")]
    environment = {
        **os.environ,
        "SPARK_LOCAL_IP": "127.0.0.1",
        "PYSPARK_PYTHON": sys.executable,
        "SPARK_SUBMIT_OPTS": clusters.QUICK_JAVA,
    }
    run = subprocess.run([*submit, *check, *output], env=environment, capture_output=True, text=True, check=False, timeout=300)

    assert run.returncode == 0, run.stderr
    result = json.loads((tmp_path / "result.json").read_text())
    assert result["graph_digest"] == f"{embedded.explore(KIP_320, SMALL).digest:016x}"
    assert json.loads((tmp_path / "states" / "level-00017.json").read_text())["by"] == "spark"


SHOP = {"clients": 3, "resources": 3}


@pytest.mark.parametrize(
    ("whole", "bounds"),
    [(MODELS["replication/kip_320"], SMALL), (MODELS["replication/kip_101"], SMALL), (ALLOCATOR, SHOP)],
    ids=["kip_320", "kip_101", "two sets"],
)
def test_normal_forms(on_spark: Callable[..., Exploration], whole: Spec, bounds: dict[str, int]) -> None:
    """A search of normal forms has the results of the embedded engine: here of states in which members are interchangeable."""
    spec = whole.in_normal_form()
    found, expected = on_spark(spec, bounds, everything=True), embedded.explore(spec, bounds, everything=True)

    same(found, expected)
    assert found.distinct < embedded.explore(whole, bounds, everything=True).distinct
    for name in found.findings:
        assert trace_of(found, name) is not None
