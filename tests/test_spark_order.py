"""A level on Spark is in the order in which one search by itself finds its states, whatever tasks and parts found them.

The tasks are those of the Spark engine; here they run in this process, one after the other, in any order and some of them twice.
"""

from __future__ import annotations

import dataclasses
import itertools
import json
import random
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from test_symmetry import HOUSE, WRONG

from kafka_spec.model_check.agreement import agreed
from kafka_spec.model_check.budget import Budget
from kafka_spec.model_check.code.row_codec import Codec
from kafka_spec.model_check.exploration import Distribution, EngineError, Exploration
from kafka_spec.model_check.interpreter.interpreter import Interpreter
from kafka_spec.model_check.record.layout import Layout
from kafka_spec.model_check.search import embedded
from kafka_spec.model_check.spark import engine as distributed
from kafka_spec.model_check.spark import exchange, merging, order, state_dir, worker
from kafka_spec.model_check.spark.merging import Room, windows
from kafka_spec.model_check.spark.order import Order, keys_of
from kafka_spec.model_check.spark.state_dir import Rows, Storage
from kafka_spec.model_check.spark.tables import Blob, Outgoing
from kafka_spec.model_check.spark.task import Refused, Task
from kafka_spec.spec.catalogue.models import MODELS
from kafka_spec.spec.vocabulary.table import Spec, SpecError
from tests import element_toys, sample_specs

KIP_320 = MODELS["replication/kip_320"]
SMALL = {"replicas": 2, "log_size": 2, "max_records": 2, "max_leader_epoch": 1}


class Here:
    """Runs tasks in this process."""

    up = True

    def __init__(self, cores: int, seed: int, task: Task, folder: Path) -> None:
        self.cores, self.random, self.folder = cores, random.Random(seed), folder
        self.task = dataclasses.replace(task, shards=8, scratch=str(folder))
        self.workers: list[worker.Worker | None] = [None, None]

    def wait(self, stop: Callable[[], str] = lambda: "") -> None:
        """Do nothing: it is up."""

    def close(self) -> None:
        """Do nothing: nothing was started."""

    def run(self, name: str, parts: int, arguments: tuple[Any, ...], stop: Callable[[], str]) -> list[dict[str, Any]]:
        """Run a function of worker.py on some numbers in any order, each by one of two workers, and some twice."""
        reports = []
        for number in self.random.sample(range(parts), parts):
            for _ in range(self.random.choice((1, 1, 2))):
                self.workers.reverse()
                worker.Worker.now = self.workers[0]
                reported = list(getattr(worker, name)(dataclasses.asdict(self.task), *arguments, [number]))
                self.workers[0] = worker.Worker.now
            reports += reported
        return reports

    def parallel(self, name: str, arguments: tuple[Any, ...], count: int, stop: Callable[[], str]) -> list[dict[str, Any]]:
        """Run a function of worker.py on the numbers below a count, as `run` does."""
        return self.run(name, count, arguments, stop)


@pytest.fixture
def explore(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Exploration]:
    """Return a function that explores as the Spark engine does, from the first level on, in tiny blobs."""
    monkeypatch.setattr(worker, "BLOB_BYTES", 100)
    monkeypatch.setattr(worker, "SLICE", 7)
    monkeypatch.setattr(merging, "BLOBS", 2)
    made: list[Path] = []
    runs = itertools.count()

    def search(spec: Spec, bounds: dict[str, int], cores: int = 4, seed: int = 1, **options: Any) -> Exploration:
        def cluster(master: str, given: Any, task: Task) -> Here:
            made.append(tmp_path / f"scratch-{len(made)}")
            return Here(cores, seed, task, made[-1])

        monkeypatch.setattr(distributed, "SparkCluster", cluster)
        reported = {"state_dir": str(tmp_path / f"states-{next(runs)}"), "resume": False, "handover": 1}
        reported |= {name: options.pop(name) for name in list(options) if name in reported}
        return distributed.explore(spec, bounds, Distribution(**reported, latest=reported["handover"], session=object()), **options)

    return search


def same(one: Exploration, other: Exploration) -> None:
    """Compare everything that two engines must agree on."""
    theirs = agreed(other)
    for kind, mine in agreed(one).items():
        assert mine == theirs[kind], kind


def files_of(place: Path) -> list[list[dict[str, Any]]]:
    """Return the files of each finished level in a folder, with their digests."""
    return [json.loads(path.read_bytes())["files"] for path in sorted(place.glob("level-*.json"))]


TOYS = (
    sample_specs.CHANNEL,
    sample_specs.DOORS,
    sample_specs.ASSIGNS,
    sample_specs.SEVERAL_STARTS,
    sample_specs.TESTED,
    sample_specs.BREAKS_AND_TRAPS,
    sample_specs.UNFAIR_LOCK,
)


@pytest.mark.parametrize("spec", [*TOYS, element_toys.SETS, element_toys.BAGS, element_toys.TALK], ids=lambda spec: spec.name)
def test_the_same_as_one_search(explore: Callable[..., Exploration], spec: Spec) -> None:
    """Counts of new states, findings and lassos are those of the embedded engine, to the end and at the first violation."""
    bounds = sample_specs.bounds_of(spec)
    for everything in (False, True):
        truth = embedded.explore(spec, bounds, everything=everything, deadlock=True)
        for cores in (1, 4):
            same(explore(spec, bounds, cores, everything=everything, deadlock=True), truth)


@pytest.mark.parametrize("guards", [2, 3])
def test_interchangeable_members(explore: Callable[..., Exploration], guards: int) -> None:
    """Orbits are those of the embedded engine."""
    spec, bounds = HOUSE.in_normal_form(), {"guards": guards}

    same(explore(spec, bounds, everything=True), embedded.explore(spec, bounds, everything=True))


@pytest.mark.parametrize("which", WRONG)
def test_members_that_are_told_apart_are_refused(explore: Callable[..., Exploration], which: str, tmp_path: Path) -> None:
    """What tells members apart is found in the levels of the tasks, too, and again by a run that goes on after that."""
    change, summary = WRONG[which]
    wrong = change(HOUSE).in_normal_form()
    for resume in (False, True):
        with pytest.raises(SpecError, match=summary):
            explore(wrong, {"guards": 2}, everything=True, state_dir=str(tmp_path / "states"), resume=resume)


@pytest.mark.parametrize("spec", [sample_specs.UNFAIR_LOCK, sample_specs.GRID_TRAP], ids=lambda spec: spec.name)
def test_claims_about_paths_across_parts(explore: Callable[..., Exploration], spec: Spec, tmp_path: Path) -> None:
    """A violated leads-to or recoverable claim is told to the last step where the states of a level are in several files."""
    bounds = {name: min(value, 5) for name, value in sample_specs.bounds_of(spec).items()}
    truth = embedded.explore(spec, bounds, everything=True)

    same(explore(spec, bounds, 8, everything=True), truth)
    assert {claim.kind for claim in spec.properties if claim.name in truth.violated} & {"leads-to", "recoverable"}
    assert max(len(files) for files in files_of(tmp_path / "states-0")) >= 4


def test_the_first_parent_is_found_by_a_later_task(
    explore: Callable[..., Exploration], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Several tasks find the same new state, and of these a later one the first parent: that one is kept, in any order of tasks."""
    firsts: dict[tuple[int, int], list[tuple[int, int]]] = {}

    def noted(blobs: Sequence[Blob], parents: Order, room: Room) -> Iterator[Any]:
        by_row = {int(row): blob.first for blob in blobs for row in blob.rows}
        for slots in windows(blobs, parents, room):
            for mark, place, row in zip(*(column[slots].tolist() for column in (room.marks, room.places, room.rows)), strict=True):
                firsts.setdefault((len(parents.places), mark), []).append((place, by_row[row]))
            yield slots

    monkeypatch.setattr(worker, "windows", noted)
    truth = embedded.explore(KIP_320, SMALL)
    same(explore(KIP_320, SMALL, 4, seed=1), truth)
    monkeypatch.undo()

    later = [found for found in firsts.values() if min(found)[1] > min(task for _, task in found)]
    assert len(later) > 10
    assert all(found == sorted(found) for found in firsts.values())
    same(explore(KIP_320, SMALL, 4, seed=2), truth)
    assert files_of(tmp_path / "states-0") == files_of(tmp_path / "states-1")


def test_rows_are_in_the_order_of_one_search(explore: Callable[..., Exploration], tmp_path: Path) -> None:
    """The places in the files are those of each state and its parent in the embedded engine's levels; the rows are in order."""
    known: list[list[int]] = []
    embedded.explore(KIP_320, SMALL, on_level=lambda search: known.append(search.frontier.marks(search.width).tolist()))
    explore(KIP_320, SMALL, 4)
    storage = Storage(str(tmp_path / "states-0"))

    for level, reported in enumerate(files_of(tmp_path / "states-0")[:-1]):
        files = [(file["name"], file["rows"]) for file in reported]
        found = Order.read(storage, files, 100)
        assert [known[level][place] for place in found.places] == found.marks.tolist()
        for name, _ in files if level else ():
            rows = next(state_dir.read_part(storage, name))
            assert (np.diff(keys_of(rows, 100)) > 0).all()
            assert [known[level - 1][place] for place in rows.places] == rows.parents.tolist()


def test_resumed_by_other_cores(explore: Callable[..., Exploration], tmp_path: Path) -> None:
    """A search that is stopped after some levels of the driver and some of Spark goes on with another number of parts."""
    truth = embedded.explore(KIP_320, SMALL)
    place = str(tmp_path / "states")
    some = explore(KIP_320, SMALL, 4, state_dir=place, handover=60, budget=Budget(max_states=truth.distinct // 3))
    assert not some.complete and {len(files) for files in files_of(tmp_path / "states")} >= {1, 4}
    some = explore(KIP_320, SMALL, 2, state_dir=place, handover=60, resume=True, budget=Budget(max_states=truth.distinct // 2))
    assert not some.complete

    same(explore(KIP_320, SMALL, 8, state_dir=place, handover=60, resume=True), truth)


@pytest.fixture(scope="module")
def candidates() -> tuple[Codec, Outgoing]:
    """Some states of a model, with the codec that packs them."""
    spec = sample_specs.GRID
    bounds = sample_specs.bounds_of(spec)
    found: list[Any] = []

    def keep(search: embedded.Search) -> None:
        found.append([search.program.seed, *map(np.copy, search.frontier.read(0, search.width))])

    embedded.explore(spec, bounds, on_level=keep)
    layout = Layout(Interpreter(spec, bounds).space)
    states, marks = np.concatenate([one[1] for one in found]), np.concatenate([one[2] for one in found])
    count = np.arange(len(marks))
    return Codec.of(layout, found[0][0]), Outgoing(marks, count.astype(np.uint32), count.astype(np.uint16), states)


def sent(codec: Codec, found: Outgoing, tasks: Sequence[Sequence[int]], size: int, place: Path) -> list[Blob]:
    """Send candidates of some tasks in blobs: for each task, the numbers of their parents among the states of the task.

    Each task has expanded 50 states.
    """
    storage, blobs, number = Storage(str(place)), [], 0
    for task, parents in enumerate(tasks):
        name = exchange.file_of(1, task, len(tasks), 1)
        with exchange.outbox(storage, name, codec, lambda: None) as box:
            for begin in range(0, len(parents), size):
                some = np.array(parents[begin : begin + size], np.uint32)
                which = np.arange(number, number + len(some)) % len(found.marks)
                box.send(0, Outgoing(found.marks[which], some, which.astype(np.uint16), found.states[which]))
                number += len(some)
        blobs += exchange.received(storage, name, 0, codec, np.dtype(np.uint16), 50 * task)
    return blobs


@settings(max_examples=40, deadline=None)
@given(
    tasks=st.lists(st.lists(st.integers(0, 49), max_size=40).map(sorted), min_size=1, max_size=6),
    size=st.integers(1, 7),
    seed=st.integers(0, 99),
)
def test_merged_candidates(
    candidates: tuple[Codec, Outgoing], tmp_path_factory: pytest.TempPathFactory, tasks: list[list[int]], size: int, seed: int
) -> None:
    """Candidates of all tasks come in the order of their parents' places, those of one parent as they were sent, none twice."""
    codec, found = candidates
    blobs = sent(codec, found, tasks, size, tmp_path_factory.mktemp("sent"))
    owner = np.random.default_rng(seed).permutation(np.repeat(np.arange(len(tasks)), 50))
    places = np.argsort(owner, kind="stable")  # in a task ascending, between tasks mixed
    room = Room(codec.record_bytes, size, size * len(blobs) or 1)
    merged: list[tuple[Any, ...]] = []
    for slots in windows(blobs, Order(places, places.astype(np.uint64)), room):
        columns = room.places, room.rows, room.marks, room.actions
        states = [room.states[slot].tobytes() for slot in slots]
        merged += zip(*(column[slots].tolist() for column in columns), states, strict=True)

    numbers = iter(range(10**6))
    expected = []
    for task, parents in enumerate(tasks):
        for parent in parents:
            row, which = 50 * task + parent, next(numbers) % len(found.marks)
            expected.append((int(places[row]), row, int(found.marks[which]), which, found.states[which].tobytes()))
    assert merged == sorted(expected, key=lambda one: one[0])


def test_few_blobs_are_unpacked_at_a_time(candidates: tuple[Codec, Outgoing], tmp_path: Path) -> None:
    """Of many blobs, there need be room for one of each task and for those that end in a window."""
    codec, found = candidates
    blobs = sent(codec, found, [list(range(50)) for _ in range(3)], 1, tmp_path)
    assert len(blobs) == 150
    places = np.arange(150).reshape(50, 3).T.ravel().copy()
    parents = Order(places, places.astype(np.uint64))

    room = Room(codec.record_bytes, 1, 3 + merging.BLOBS)
    assert [int(room.places[slot]) for slots in windows(blobs, parents, room) for slot in slots] == list(range(150))


def test_candidates_out_of_order_are_an_error(candidates: tuple[Codec, Outgoing], tmp_path: Path) -> None:
    """Candidates of a task that are not in the order of their parents end the search; none is left out."""
    codec, found = candidates
    blobs = sent(codec, found, [[5, 4, 3]], 3, tmp_path)
    places = np.arange(50)

    with pytest.raises(EngineError, match="not in the order of their parents"):
        list(windows(blobs, Order(places, places.astype(np.uint64)), Room(codec.record_bytes, 3)))


def test_a_key_that_does_not_fit_is_refused() -> None:
    """Places and actions that do not fit into one number of 63 bits are refused, and not wrapped."""

    def rows(place: int, action: int) -> Rows:
        one = np.array([place], np.int64)
        return Rows(one.view(np.uint64), one, one.view(np.uint64), np.array([action], np.uint32), np.zeros((1, 1), np.uint8))

    last = (1 << 63) // 1000 - 1
    assert keys_of(rows(last, 999), 1000).tolist() == [last * 1000 + 999]
    with pytest.raises(Refused, match=r"do not fit into one number"):
        keys_of(rows(last + 1, 0), 1000)


def test_the_order_is_made_once(explore: Callable[..., Exploration], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """All tasks of an executor share the order of a level; that of the level before is removed."""
    made: list[str] = []
    read = Order.read.__func__  # type: ignore[attr-defined]

    def noted(kind: type[Order], storage: Storage, files: order.Files, actions: int) -> Order:
        made.append(files[0][0].rpartition("/")[0])
        found: Order = read(kind, storage, files, actions)
        return found

    monkeypatch.setattr(Order, "read", classmethod(noted))
    result = explore(KIP_320, SMALL, 4)

    searched = [name for name in made if made.count(name) == 1]
    assert len(searched) >= result.depth - 2
    assert [path.name for path in (tmp_path / "scratch-0").rglob("order-*.npy")] == [f"order-{result.depth - 1:05d}.npy"]
