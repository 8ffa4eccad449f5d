"""The embedded engine with packed states, without traces, and with a folder in which every level is a checkpoint."""

from __future__ import annotations

import json
import random
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from conftest import ROOT, Command

from kafka_spec.model_check.agreement import agreed
from kafka_spec.model_check.budget import Budget
from kafka_spec.model_check.check import check
from kafka_spec.model_check.code.row_codec import Codec
from kafka_spec.model_check.exploration import Distribution, EngineError, Exploration
from kafka_spec.model_check.interpreter.interpreter import Interpreter
from kafka_spec.model_check.manifest import named_bounds
from kafka_spec.model_check.record.layout import Layout
from kafka_spec.model_check.search import frontier, shards, stored_states
from kafka_spec.model_check.search.embedded import Search, explore
from kafka_spec.model_check.search.frontier import Starts
from kafka_spec.model_check.spark import exchange
from kafka_spec.model_check.spark.state_dir import Storage
from kafka_spec.model_check.spark.tables import Blob, Outgoing, sent
from kafka_spec.model_check.spark.task import Refused
from kafka_spec.model_check.traces.counterexample import trace_of
from kafka_spec.spec.catalogue.models import MODELS
from kafka_spec.spec.language.domain import Range
from kafka_spec.spec.vocabulary.table import Spec, SpecError
from tests import element_toys, sample_specs

KIP_320 = MODELS["replication/kip_320"]
SMALL = {"replicas": 3, "log_size": 1, "max_records": 1, "max_leader_epoch": 1}
STATES = ("invariant", "step invariant", "reachable")
SPECS = (
    sample_specs.GRID,
    sample_specs.CHANNEL,
    sample_specs.PAIRS,
    sample_specs.SEVERAL_STARTS,
    element_toys.SETS,
    element_toys.BAGS,
    element_toys.TALK,
)


def judged(spec: Spec) -> list[Any]:
    """Return the claims of a spec that need no steps."""
    return [claim for claim in spec.properties if claim.kind in STATES]


def facts(result: Exploration) -> dict[str, Any]:
    """Return all that two searches of one model have in common."""
    return agreed(result)


def searched(spec: Spec, bounds: dict[str, int] | None = None, **options: Any) -> Exploration:
    """Return the result of a search to the end."""
    return explore(spec, spec.bound_values(bounds or {}), properties=judged(spec), everything=True, **options)


# packed states


def family(name: str, bounds: str, states: int) -> tuple[Layout, np.ndarray, np.ndarray, int]:
    """Return the layout of a model at named bounds, some of its states with their fingerprints, and the seed of these."""
    spec = MODELS[name]
    found: list[Any] = []

    def keep(search: Search) -> None:
        records, marks = search.frontier.read(0, search.width)
        found[:] = [search.layout, records.copy(), marks.copy(), search.program.seed]

    explore(spec, spec.bound_values(named_bounds(spec, bounds)), properties=(), budget=Budget(max_states=states), on_level=keep)
    return found[0], found[1], found[2], found[3]


def packed(codec: Codec, states: np.ndarray, places: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the rows of states at some places, with the bytes that may be read behind the last one, and the bytes of each."""
    room, sizes = np.full(len(places) * codec.most + codec.reach, 0xA5, np.uint8), np.zeros(len(places), codec.counter)
    used = codec.pack(states, places.astype(np.uint32), room, sizes)
    assert used == sizes.sum(dtype=np.uint64)
    assert (room[used:] == 0xA5).all()
    return room[: used + codec.reach], sizes


@pytest.mark.parametrize(
    ("name", "bounds", "most"),
    [("replication/kip_320", "large", 13), ("zookeeper/fixed", "crash_and_expiry", 60)],
)
def test_states_are_packed_by_their_domains(name: str, bounds: str, most: int) -> None:
    """A packed state takes the bits that its domains need, no more for a sequence than for the items that it has.

    It is restored to the last byte, whatever stood in the room for it.
    """
    layout, states, marks, seed = family(name, bounds, 2000)
    codec = Codec.of(layout, seed)
    places = np.random.default_rng(1).permutation(len(states))

    rows, sizes = packed(codec, states, places)

    assert sizes.mean() <= most
    assert sizes.max() <= codec.most <= layout.size // 2
    room = np.full((len(states) + 1, layout.size), 0x5A, np.uint8)
    assert (codec.unpack(rows, len(rows) - codec.reach, marks[places], room) == states[places]).all()
    assert (room[-1] == 0x5A).all()


def test_rows_are_found_from_any_on() -> None:
    """Where a row begins is known for the first and the last one, and around every place that is noted."""
    sizes = np.random.default_rng(1).integers(1, 255, 3 * Starts.EVERY + 5).astype(np.uint8)
    starts = Starts(sizes[at : at + 2 * Starts.EVERY] for at in range(0, len(sizes), 2 * Starts.EVERY))
    whole = np.concatenate([[0], np.cumsum(sizes, dtype=np.uint64)])
    near = (0, 1, Starts.EVERY - 1, Starts.EVERY, Starts.EVERY + 1, 2 * Starts.EVERY, 3 * Starts.EVERY, len(sizes) - 1, len(sizes))
    for row in near:
        assert starts.of(row, lambda first, last: sizes[first:last]) == whole[row]


@pytest.mark.parametrize("light", [False, True])
def test_a_changed_row_is_noticed(light: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """A flipped bit of a packed state ends the search, also one that makes a sequence longer than it can be."""
    if light:
        monkeypatch.setattr("kafka_spec.model_check.record.layout.WIDE", 1)
        monkeypatch.setattr("kafka_spec.model_check.record.layout.ROOM", 1)
    spec = sample_specs.CHANNEL
    world = Interpreter(spec, spec.bound_values({}))
    layout = Layout(world.space)
    search = Search(world, Exploration(spec, spec.bound_values({}), "embedded", 1, ()), None, Budget())
    codec = Codec.of(layout, search.program.seed)
    search.begin()
    search.expand_level()
    search.end_level()
    states, marks = search.frontier.read(0, search.width)
    rows, sizes = packed(codec, states, np.arange(len(states)))
    noticed = 0
    for bit in range(8 * int(sizes[0])):
        changed = rows.copy()
        changed[bit // 8] ^= 1 << bit % 8
        try:
            # bits that fill the last byte of a row are not read
            assert (codec.unpack(changed, len(changed) - codec.reach, marks) == states).all()
        except EngineError as error:
            assert "has changed: its memory or its file is damaged" in str(error)
            noticed += 1
    assert noticed > 8 * int(sizes[0]) - 8


def test_states_that_are_sent_arrive_or_are_missed() -> None:
    """States that a task sends are those that another receives, with their fingerprints; a byte that changes one is an error."""
    layout, states, marks, seed = family("replication/kip_320", "large", 500)
    codec, kind = Codec.of(layout, seed), np.dtype(np.uint16)
    parents, actions = np.arange(len(states), dtype=np.uint32), np.zeros(len(states), kind)

    def received(content: bytes) -> tuple[np.ndarray, np.ndarray]:
        whole = pa.py_buffer(b"".join((content, parents.tobytes(), actions.tobytes())))
        arrived = np.empty_like(states), np.empty_like(marks)
        Blob(len(states), whole, len(content), codec, kind, 0).unpack(*arrived)
        return arrived

    content = sent(codec, Outgoing(marks, parents, actions, states))
    assert len(content) < states.nbytes / 3
    assert (received(content)[0] == states).all()
    assert (received(content)[1] == marks).all()
    noticed = 0
    for place in range(0, len(content), len(content) // 50):
        changed = bytearray(content)
        changed[place] ^= 16
        try:
            # what fills the last byte of a row, or is more room than needed, changes no state
            assert (received(bytes(changed))[0] == states).all()
        except (EngineError, OSError, ValueError, OverflowError, MemoryError):
            noticed += 1
    assert noticed > 40


def test_files_of_candidates(tmp_path: Path) -> None:
    """A task reads the candidates for its part in the order in which they were sent; any changed or missing byte is an error."""
    layout, states, marks, seed = family("replication/kip_320", "large", 300)
    codec, kind, storage = Codec.of(layout, seed), np.dtype(np.uint16), Storage(str(tmp_path))
    actions, parents = np.arange(len(states), dtype=kind), np.arange(len(states), dtype=np.uint32) * 7
    name = exchange.file_of(7, 1, 2, 4)
    with exchange.outbox(storage, name, codec, lambda: None) as box:
        for begin in range(0, len(states), 50):
            box.send(begin // 50 % 3, Outgoing(marks, parents, actions, states)[begin : begin + 50])

    def received(target: int) -> list[tuple[Any, ...]]:
        found = []
        for blob in exchange.received(storage, name, target, codec, kind, 1000):
            arrived = np.empty((blob.count, layout.size), np.uint8), np.empty(blob.count, np.uint64)
            blob.unpack(*arrived)
            rows = zip(*(column.tolist() for column in (*arrived, blob.rows, blob.actions)), strict=True)
            found += [(bytes(state), *more) for state, *more in rows]
        return found

    def sent_to(target: int) -> list[tuple[Any, ...]]:
        places = [n for n in range(len(states)) if n // 50 % 3 == target]
        return [(states[n].tobytes(), int(marks[n]), 1000 + 7 * n, int(actions[n])) for n in places]

    for target in range(4):
        assert received(target) == sent_to(target)
    file = tmp_path / name
    content = file.read_bytes()
    assert len(content) == box.bytes + exchange.ENTRY * len(box.index) + exchange.TAIL
    for place in [*range(0, len(content), 97), *range(len(content) - exchange.TAIL, len(content))]:
        changed = bytearray(content)
        changed[place] ^= 16
        for harmed in (bytes(changed), content[:place]):
            file.write_bytes(harmed)
            with pytest.raises(EngineError, match="is not what a task has written"):
                for target in range(3):
                    received(target)
    file.unlink()
    with pytest.raises(EngineError, match="is not what a task has written"):
        received(0)


def test_a_task_of_another_run_writes_no_candidates(tmp_path: Path) -> None:
    """A task whose run has lost the folder leaves no file."""
    layout, _, _, seed = family("replication/kip_320", "large", 1)

    def lost() -> None:
        raise Refused("another run has taken the folder over")

    with pytest.raises(Refused), exchange.outbox(Storage(str(tmp_path)), "candidates/a", Codec.of(layout, seed), lost):
        pass
    assert not [file for file in tmp_path.rglob("*") if file.is_file()]


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("spec", SPECS, ids=lambda spec: spec.name)
def test_packing_changes_nothing(spec: Spec, threads: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """A search that packs every level, or only from some level on, gives the result of one that packs none."""
    plain = searched(spec, threads=threads)
    for least in (0, 4 * plain.record_bytes):
        monkeypatch.setattr(frontier, "PACK_FROM", least)
        monkeypatch.setattr(stored_states, "RELEASED", 0)
        assert facts(searched(spec, threads=threads)) == facts(plain)


# without traces


def test_without_traces_counts_and_verdicts_are_the_same() -> None:
    """--no-traces tells how long a counterexample is, and keeps everything else; a finding without a trace has none to show."""
    spec, bounds = MODELS["replication/kip_279"], {"replicas": 3, "log_size": 1, "max_records": 1, "max_leader_epoch": 1}
    whole, bare = searched(spec, bounds), searched(spec, bounds, traces=False)
    reported = {name: found.states for name, found in whole.findings.items()}

    assert {name: found.states for name, found in bare.findings.items()} == reported
    assert {**facts(bare), "findings": 0} == {**facts(whole), "findings": 0}
    assert whole.violated == bare.violated == ["StrongIsr"]
    assert trace_of(bare, "StrongIsr") is None and trace_of(whole, "StrongIsr") is not None


def test_a_fault_is_told_without_traces() -> None:
    """An error of the specification has the same message with and without traces."""
    for options in ({}, {"traces": False}):
        with pytest.raises(SpecError, match=r"division|divi|zero"):
            explore(sample_specs.DIVIDES, sample_specs.DIVIDES.bound_values({}), **options)


def test_leads_to_without_traces() -> None:
    """A leads-to property is judged without traces, too."""
    spec = sample_specs.WEAK_LOCK
    whole, bare = (explore(spec, spec.bound_values({}), everything=True, traces=traces) for traces in (True, False))

    assert whole.violated == bare.violated and whole.verdict == bare.verdict


# checkpoints


@pytest.mark.parametrize("spec", SPECS, ids=lambda spec: spec.name)
def test_a_search_on_disk_is_the_same(spec: Spec, tmp_path: Path) -> None:
    """With a folder a search gives the same result; it may be continued with other threads, also when finished."""
    plain, place = searched(spec), str(tmp_path / "states")
    stopped = searched(spec, state_dir=place, budget=Budget(max_states=max(2, plain.distinct // 2)))
    reported = [searched(spec, state_dir=place, resume=True, threads=threads) for threads in (2, 1)]

    assert stopped.distinct <= plain.distinct
    assert [facts(result) for result in reported] == [facts(plain)] * 2


@pytest.mark.parametrize(
    "spec", [*sample_specs.RECOVERABLE[:4], *sample_specs.FAIR[:4], sample_specs.WEAK_LOCK], ids=lambda spec: spec.name
)
def test_steps_on_disk(spec: Spec, tmp_path: Path) -> None:
    """Properties about paths are judged on the same steps, wherever a search is stopped, and also when it had ended."""
    plain = explore(spec, spec.bound_values({}), everything=True)
    assert any(claim.kind not in STATES for claim in plain.properties)
    for most in range(1, plain.distinct + 1, max(1, plain.distinct // 5)):
        place = str(tmp_path / str(most))
        explore(spec, spec.bound_values({}), everything=True, state_dir=place, budget=Budget(max_states=most))
        for _ in range(2):
            assert facts(explore(spec, spec.bound_values({}), everything=True, state_dir=place, resume=True)) == facts(plain)


def test_a_violation_on_disk(tmp_path: Path) -> None:
    """A search that ended with a violation is not continued, unless --all is asked for; its counterexample is in the folder."""
    spec, place = MODELS["replication/kip_279"], str(tmp_path / "states")
    bounds = spec.bound_values({"replicas": 3, "log_size": 1, "max_records": 1, "max_leader_epoch": 1})
    first = explore(spec, bounds, state_dir=place)
    again = explore(spec, bounds, state_dir=place, resume=True)
    whole = explore(spec, bounds, state_dir=place, resume=True, everything=True)

    assert facts(again) == facts(first) == facts(explore(spec, bounds))
    assert facts(whole) == facts(explore(spec, bounds, everything=True))
    assert trace_of(whole, "StrongIsr") == trace_of(first, "StrongIsr") is not None


def test_what_a_folder_keeps(tmp_path: Path) -> None:
    """The folder has the fingerprints and the parents of all levels, the states of the last one, and no more."""
    bare, whole = tmp_path / "bare", tmp_path / "whole"
    searched(KIP_320, SMALL, state_dir=str(bare), traces=False)
    result = searched(KIP_320, SMALL, state_dir=str(whole))
    sizes = [sum(f.stat().st_size for f in place.iterdir() if f.suffix != ".json") for place in (bare, whole)]

    assert sizes == [8 * result.distinct, (8 + 4 + 1) * result.distinct]
    (whole / "level-00002.states").write_bytes(b"left by a run that was killed after its next level")
    searched(KIP_320, SMALL, state_dir=str(whole), resume=True)
    assert not list(whole.glob("*.states"))


def command(place: Path, *options: str) -> list[str]:
    """Return the command of a search that takes a while, kept in a folder."""
    limits = [f"{name}={value}" for name, value in {**SMALL, "log_size": 2, "max_records": 2, "max_leader_epoch": 2}.items()]
    bounds = [word for limit in limits for word in ("--bound", limit)]
    return [sys.executable, "-m", "kafka_spec", "check", KIP_320.name, *bounds, "--state-dir", str(place), "-q", *options]


@pytest.mark.parametrize("seed", range(20))
def test_a_killed_search_goes_on(seed: int, tmp_path: Path) -> None:
    """A search that is killed at any moment, again and again, ends with the digest of one that is not, and repeats no level."""
    place, pause = tmp_path / "states", random.Random(seed)
    resume: list[str] = []
    done = -1
    for _ in range(2):
        process = subprocess.Popen(command(place, *resume), cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        limit = time.monotonic() + 30
        # the clock starts when the search does, so that most kills fall into it
        while not list(place.glob(f"level-{done + 1:05d}.json")) and process.poll() is None and time.monotonic() < limit:
            time.sleep(0.001)
        time.sleep(pause.expovariate(1 / 0.05))
        process.send_signal(signal.SIGKILL)
        _, errors = process.communicate()
        assert process.returncode in (0, -signal.SIGKILL), errors
        if (place / "run.json").exists():
            resume = ["--resume"]
        levels = len(list(place.glob("level-*.json")))
        assert levels > done or process.returncode == 0
        done = levels - 1
    ended = subprocess.run(command(place, *resume, "--format", "json"), cwd=ROOT, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stderr
    reported = json.loads(ended.stdout)
    plain = explore(KIP_320, {**SMALL, "log_size": 2, "max_records": 2, "max_leader_epoch": 2})

    assert f"{plain.digest:016x}" in ended.stdout
    assert str(plain.distinct) in json.dumps(reported)


def test_a_resumed_search_makes_room_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The table grows before the first fingerprint is read back: those of a level are in order, and would fill a part of it."""
    larger = {**SMALL, "log_size": 2, "max_records": 2, "max_leader_epoch": 2}
    stopped = searched(KIP_320, larger, state_dir=str(tmp_path), budget=Budget(max_states=90_000))
    events: list[str] = []
    for name in ("add", "grow"):
        method = getattr(shards.Shard, name)

        def noted(shard: Any, given: Any, name: str = name, method: Any = method) -> None:
            events.append(name)
            method(shard, given)

        monkeypatch.setattr(shards.Shard, name, noted)
    searched(KIP_320, larger, state_dir=str(tmp_path), budget=Budget(max_states=stopped.distinct), resume=True)
    first, last = events.index("add"), len(events) - events[::-1].index("add")

    assert "grow" in events[:first]
    assert "grow" not in events[first:last]


def flip(path: Path) -> None:
    """Change one byte in the middle of a file."""
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(bytes(content))


@pytest.mark.parametrize(
    ("harm", "message"),
    [
        (lambda place: flip(place / "level-00003.marks"), r"level-00003\.marks is damaged"),
        (lambda place: flip(place / "level-00002.parents"), r"level-00002\.parents is damaged"),
        (lambda place: flip(place / "level-00004.states"), r"level-00004\.states is damaged"),
        (lambda place: flip(place / "level-00004.sizes"), r"level-00004\.sizes is damaged"),
        (lambda place: (place / "level-00001.actions").unlink(), r"level-00001\.actions is missing"),
        (lambda place: (place / "level-00004.states").write_bytes(b""), r"level-00004\.states is damaged"),
        (lambda place: flip(place / "level-00002.json"), r"level-00002\.json is damaged"),
        (lambda place: (place / "level-00002.json").unlink(), r"level-00002\.json is missing"),
        (lambda place: flip(place / "run.json"), r"run\.json is damaged"),
    ],
)
def test_damage_is_told(harm: Callable[[Path], object], message: str, tmp_path: Path) -> None:
    """A folder that is not as it was written is refused, and the message names the file and the cure."""
    place = tmp_path / "states"
    levels = searched(KIP_320, SMALL).levels
    searched(KIP_320, SMALL, state_dir=str(place), budget=Budget(max_states=sum(levels[:5])))
    assert (place / "level-00004.states").exists()
    harm(place)

    with pytest.raises(SpecError, match=message + ".*; remove the folder and start again, or restore it from a copy"):
        searched(KIP_320, SMALL, state_dir=str(place), resume=True)


def test_a_foreign_folder_is_refused(tmp_path: Path, kafka_spec: Command) -> None:
    """A folder with something else, of another search, in use, or missing is refused in one line, and nothing is written there."""
    place, other = tmp_path / "states", tmp_path / "papers"
    other.mkdir()
    (other / "letter").write_text("Dear Kafka")
    searched(KIP_320, SMALL, state_dir=str(place))
    cases: list[tuple[dict[str, Any], dict[str, int], str]] = [
        ({"state_dir": str(other)}, SMALL, "contains letter and no run; name an empty one"),
        ({"state_dir": str(place)}, SMALL, "already contains a run; continue it with --resume"),
        ({"state_dir": str(tmp_path / "none"), "resume": True}, SMALL, "contains no run to continue"),
        ({"state_dir": str(place), "resume": True}, {**SMALL, "max_records": 0 + 1, "log_size": 2}, "differs in its bounds"),
        ({"state_dir": str(place), "resume": True, "seed": 7}, SMALL, "differs in its seed"),
        ({"state_dir": str(place), "resume": True, "traces": False}, SMALL, "differs in its traces"),
        ({"state_dir": str(other / "letter")}, SMALL, "name a folder that can be written"),
    ]
    for options, bounds, message in cases:
        with pytest.raises(SpecError, match=message):
            searched(KIP_320, bounds, **options)
    assert [entry.name for entry in other.iterdir()] == ["letter"]
    for options in ({"engine": "oracle"}, {"verify": True}, {"engine": "both"}):
        with pytest.raises(SpecError, match="state-dir"):
            check(KIP_320, SMALL, distribution=Distribution(str(place), resume=True), **options)  # type: ignore[arg-type]
    reported = kafka_spec("check", KIP_320.name, "--bounds", "tiny", "--resume")
    assert reported.returncode == 2 and "name its folder with --state-dir" in reported.stderr


def counted_from(first: int) -> Spec:
    """Return a spec whose functions and names are always the same, and which starts elsewhere."""
    return replace(sample_specs.SEVERAL_STARTS, start=replace(sample_specs.STARTS, params={"at": Range(first, 4)}))


OPERATED = replace(sample_specs.GET, kind="operator", fairness=None)
OTHERS = {
    "another start": (counted_from(2), counted_from(0), "differs in its initial states"),
    "another kind of claim": (
        replace(sample_specs.WEAK_LOCK, properties=(sample_specs.GRANTED,)),
        replace(sample_specs.WEAK_LOCK, properties=(replace(sample_specs.GRANTED, kind="recoverable"),)),
        "differs in its properties",
    ),
    "another kind of rule": (
        replace(sample_specs.WEAK_LOCK, properties=(sample_specs.FREED,)),
        replace(
            sample_specs.WEAK_LOCK,
            properties=(sample_specs.FREED,),
            rules=(sample_specs.ASKS, OPERATED, sample_specs.GIVE_BACK, sample_specs.SWITCH),
        ),
        "differs in its (kinds of rules|code)",
    ),
}
"""Pairs of specs of one name, of which the second must not continue a search of the first. Most have the same compiled code."""


@pytest.mark.parametrize("case", OTHERS)
def test_what_is_not_compiled_is_told_apart(case: str, tmp_path: Path) -> None:
    """Initial states and the kinds of rules and claims are in no code; who changed them cannot continue the search from before."""
    before, after, message = OTHERS[case]
    bounds = before.bound_values({})
    explore(before, bounds, everything=True, state_dir=str(tmp_path), budget=Budget(max_states=3))

    with pytest.raises(SpecError, match=message):
        explore(after, bounds, everything=True, state_dir=str(tmp_path), resume=True)
    assert explore(before, bounds, everything=True, state_dir=str(tmp_path), resume=True).complete


def test_a_second_run_waits(tmp_path: Path) -> None:
    """While a run uses a folder, another is refused."""
    place = str(tmp_path / "states")

    def another(_: Search) -> None:
        with pytest.raises(SpecError, match="another run is using it"):
            searched(KIP_320, SMALL, state_dir=place, resume=True)

    searched(KIP_320, SMALL, state_dir=place, on_level=another, budget=Budget(max_states=10))


def test_a_full_disk_loses_nothing(tmp_path: Path) -> None:
    """Where a level cannot be written, the search stops with the cure, keeps what was finished, and goes on once there is room."""
    place, plain = str(tmp_path / "states"), searched(KIP_320, SMALL)
    before, handler = resource.getrlimit(resource.RLIMIT_FSIZE), signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (8 * max(plain.levels) - 8, before[1]))
    try:
        full = searched(KIP_320, SMALL, state_dir=place)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        signal.signal(signal.SIGXFSZ, handler)

    assert full.verdict == "inconclusive" and full.stopped.endswith("free space there, and continue with --resume")
    assert 0 < full.depth < plain.depth
    assert facts(searched(KIP_320, SMALL, state_dir=place, resume=True)) == facts(plain)
