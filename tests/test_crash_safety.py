"""A broker's disk after a crash: a short run is recorded write by write, cut at every byte, and opened again.

A crash of the process keeps everything that was written before. A loss of power, another mode, keeps what was flushed: contents by
a flush of the file, names by a flush of the folder; of the rest it keeps what it likes.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any, Literal

import pytest
from test_data_plane import DataPlanes, P
from test_log import MEMORY, batch, values

from kafka_spec.impl.log.log import PartitionLog
from kafka_spec.impl.log.log_config import LogConfig
from kafka_spec.impl.log.manager import LogManager
from kafka_spec.impl.protocol.data_requests import Produced
from kafka_spec.impl.protocol.errors import ErrorCode
from kafka_spec.impl.protocol.settings import Settings
from kafka_spec.spec.zookeeper.fixed import FIXED

Kind = Literal["make", "create", "write", "truncate", "unlink", "rename", "sync"]
Values = list[bytes | None]


@dataclass(frozen=True)
class DiskEvent:
    """An operation on a disk. `data` is written at a file's end; `size` is the size to truncate a file to."""

    kind: Kind
    path: Path
    data: bytes = b""
    size: int = 0
    target: Path = Path()


class PowerLoss(BaseException):
    """Power is lost, in the middle of a call."""


@dataclass
class Recorder:
    """Writes down what happens below a folder; at the event number `cut` the power is lost."""

    root: Path
    events: list[DiskEvent] = field(default_factory=list)
    cut: int = -1

    @contextmanager
    def recording(self) -> Iterator[Recorder]:
        """Listen to the system calls that change files."""
        with pytest.MonkeyPatch.context() as patch:
            real: dict[str, Callable[..., Any]] = {
                name: getattr(os, name) for name in ("open", "write", "ftruncate", "fsync", "unlink", "replace", "mkdir")
            }
            for name, call in real.items():
                patch.setattr(os, name, getattr(self, f"_{name}")(call))
            yield self

    def _note(self, kind: Kind, path: Path, data: bytes = b"", size: int = 0, target: Path = Path()) -> None:
        if not path.is_relative_to(self.root):
            return
        target = target.relative_to(self.root) if kind == "rename" else target
        self.events.append(DiskEvent(kind, path.relative_to(self.root), data, size, target))
        if len(self.events) == self.cut:
            raise PowerLoss

    def _open(self, real: Callable[..., int]) -> Callable[..., int]:
        def opened(path: Any, flags: int, mode: int = 0o777, **more: Any) -> int:
            is_new = bool(flags & os.O_CREAT) and not Path(path).exists()
            handle = real(path, flags, mode, **more)
            if is_new:
                self._note("create", Path(path))
            elif flags & os.O_TRUNC:
                self._note("truncate", Path(path))
            return handle

        return opened

    def _write(self, real: Callable[..., int]) -> Callable[..., int]:
        def wrote(handle: int, data: bytes) -> int:
            count = real(handle, data)
            self._note("write", _path_of(handle), bytes(data[:count]))
            return count

        return wrote

    def _ftruncate(self, real: Callable[..., None]) -> Callable[..., None]:
        def truncated(handle: int, size: int) -> None:
            real(handle, size)
            self._note("truncate", _path_of(handle), size=size)

        return truncated

    def _fsync(self, real: Callable[..., None]) -> Callable[..., None]:
        def synced(handle: int) -> None:
            real(handle)
            self._note("sync", _path_of(handle))

        return synced

    def _unlink(self, real: Callable[..., None]) -> Callable[..., None]:
        def unlinked(path: Any, **more: Any) -> None:
            real(path, **more)
            self._note("unlink", Path(path))

        return unlinked

    def _replace(self, real: Callable[..., None]) -> Callable[..., None]:
        def replaced(source: Any, target: Any, **more: Any) -> None:
            real(source, target, **more)
            self._note("rename", Path(source), target=Path(target))

        return replaced

    def _mkdir(self, real: Callable[..., None]) -> Callable[..., None]:
        def made(path: Any, mode: int = 0o777, **more: Any) -> None:
            real(path, mode, **more)
            self._note("make", Path(path))

        return made


def _path_of(handle: int) -> Path:
    return Path(f"/proc/self/fd/{handle}").readlink()


@dataclass
class File:
    """A file: its content, and the flushed part; None for a folder."""

    data: bytes | None = b""
    flushed: bytes | None = b""


class RecordedDisk:
    """The files of a disk after some events: by the names that they have, and by those that were flushed."""

    def __init__(self) -> None:
        self.names: dict[Path, File] = {Path(): File(None, None)}
        self.flushed_names = dict(self.names)

    def happen(self, event: DiskEvent) -> None:
        """Have an event happen."""
        if event.kind == "make":
            self.names[event.path] = File(None, None)
        elif event.kind == "create":
            self.names[event.path] = File()
        elif event.kind == "unlink":
            del self.names[event.path]
        elif event.kind == "rename":
            self.names[event.target] = self.names.pop(event.path)
        elif event.kind == "sync":
            self._sync(event.path)
        else:
            file = self.names[event.path]
            assert file.data is not None
            file.data = file.data + event.data if event.kind == "write" else file.data[: event.size]

    def _sync(self, path: Path) -> None:
        file = self.names[path]
        if file.data is not None:
            file.flushed = file.data
            return
        for name in [name for name in self.flushed_names if name.parent == path and name != path]:
            del self.flushed_names[name]
        self.flushed_names.update({name: file for name, file in self.names.items() if name.parent == path and name != path})

    def after_crash(self) -> dict[Path, bytes | None]:
        """Return the disk after a crash of the process: all of it."""
        return {name: file.data for name, file in self.names.items()}

    def after_power_loss(self, how: str, random: Random) -> dict[Path, bytes | None]:
        """Return the disk after a power loss.

        *nothing* that was not flushed; *names*, but not what is in the files; *zeros* where there was something; or *some* of all.
        """
        if how == "nothing":
            left = {name: file.flushed for name, file in self.flushed_names.items()}
        elif how == "names":
            left = {name: file.flushed for name, file in self.names.items()}
        elif how == "zeros":
            left = {name: _zeroed(file) for name, file in self.names.items()}
        else:
            names = {folder: random.choice((self.names, self.flushed_names)) for folder in _folders(self.names)}
            listed = [(name, file) for known in (self.flushed_names, self.names) for name, file in known.items()]
            left = {name: _some(file, random) for name, file in listed if names.get(name.parent, {}).get(name) is file}
        return {name: data for name, data in left.items() if all(parent in left for parent in name.parents)}


def _folders(names: dict[Path, File]) -> list[Path]:
    return [name for name, file in names.items() if file.data is None]


def common(one: bytes, other: bytes) -> bytes:
    """Return how both begin."""
    count = next((n for n, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other)))
    return one[:count]


def _zeroed(file: File) -> bytes | None:
    if file.data is None or file.flushed is None:
        return None
    kept = common(file.data, file.flushed)
    return kept + bytes(len(file.data) - len(kept))


def _some(file: File, random: Random) -> bytes | None:
    if file.data is None or file.flushed is None:
        return None
    whole, kept = random.choice((file.data, file.flushed, _zeroed(file) or b"")), common(file.data, file.flushed)
    return whole[: random.randint(len(kept), len(whole))] if len(whole) >= len(kept) else whole


@dataclass(frozen=True)
class RecordedStep:
    """One step of the run: the events up to its end, what the log held then, and how much of that was flushed."""

    events: int
    values: Values
    flushed: Values


@dataclass
class RecordedRun:
    """A short run of three brokers, of which broker 2's disk is written down."""

    cluster: DataPlanes
    recorder: Recorder
    steps: list[RecordedStep] = field(default_factory=list)
    acknowledged: list[bytes] = field(default_factory=list)
    produced: int = 0

    def produce(self, leader: int, count: int = 1, acks: int = -1) -> None:
        """Produce one record after the other."""
        for _ in range(count):
            value = b"%02d" % self.produced
            self.produced += 1
            answers = self.cluster.produce(leader, value, acks=acks)
            for follower in (1, 2, 3):
                if acks == -1 and follower != leader and follower in self.cluster.planes:
                    self.sync(follower)
            if answers and acks == -1:
                assert answers[0].error == 0
                self.acknowledged.append(value)
            self.note()

    def sync(self, *followers: int) -> None:
        """Have followers keep up."""
        for follower in followers:
            for _ in range(3):
                self.cluster.ask(follower)
                self.note()

    def note(self) -> None:
        """Note what broker 2's log holds now, if that is known."""
        if 2 in self.cluster.planes and P in self.cluster.planes[2].replicas.partitions:
            log = self.cluster.partition(2).log
            if log is not None:
                self.steps.append(RecordedStep(len(self.recorder.events), values(log), values(log, end=log.recovery_point)))

    def go(self) -> None:
        """Follow, lead, roll, checkpoint, write what no follower fetches, truncate it, restart after a clean end, and continue."""
        cluster = self.cluster
        cluster.elect(1)
        self.produce(1, 4)
        cluster.planes[2].replicas.checkpoint_high_watermarks()
        cluster.elect(2)
        self.sync(1, 3)
        self.produce(2, 3)
        self.produce(2, 5, acks=1)
        cluster.planes[2].replicas.checkpoint_high_watermarks()
        cluster.elect(1, isr=(1, 3))
        self.note()
        self.produce(1, 2)
        cluster.planes[2].replicas.close()
        cluster.ensemble.expire(cluster.sessions.pop(2))
        del cluster.planes[2]
        cluster.elect(1, isr=(1, 3))
        cluster.start(2)
        cluster.elect(1, isr=(1, 3))
        self.produce(1, 3)
        cluster.planes[2].replicas.checkpoint_high_watermarks()
        self.note()


def begin(folder: Path, cut: int = -1) -> RecordedRun:
    """Return a run that is still to go."""
    small = LogConfig(segment_bytes=250, index_interval_bytes=80)
    settings = Settings(replica_fetch_wait_max_ms=0)
    cluster = DataPlanes(folder, FIXED, settings, small)
    return RecordedRun(cluster, Recorder(folder / "2", cut=cut))


@pytest.fixture
def folder() -> Iterator[Path]:
    """Return a folder in memory."""
    with tempfile.TemporaryDirectory(dir=MEMORY) as name:
        yield Path(name)


@pytest.fixture
def run(folder: Path) -> Iterator[RecordedRun]:
    """Return a run that is over."""
    made = begin(folder / "run")
    with made.recorder.recording():
        made.go()
    yield made
    made.cluster.close()


def put(folder: Path, files: dict[Path, bytes | None]) -> Path:
    """Write files into a folder that holds nothing else then."""
    for path in sorted(folder.rglob("*"), reverse=True):
        if path.is_dir():
            path.rmdir()
        else:
            path.unlink()
    for name in sorted(files):
        data = files[name]
        if data is None:
            (folder / name).mkdir(parents=True, exist_ok=True)
        else:
            (folder / name).write_bytes(data)
    return folder


def opened(folder: Path) -> tuple[Values, Values]:
    """Open the log after a crash; return its content, and the part below the high watermark.

    Its leader epochs must be those of its batches, and it must take another record.
    """
    logs = LogManager(folder, LogConfig(segment_bytes=250, index_interval_bytes=80))
    log, high_watermark = logs.open(P)
    try:
        held = values(log)
        check_epochs(log)
        assert log.append_as_leader(batch(b"more"), 99) == (len(held), len(held))
        assert values(log) == [*held, b"more"]
        return held, held[:high_watermark]
    finally:
        logs.crash()


def check_epochs(log: PartitionLog) -> None:
    """Each batch is of the epoch that the checkpoint has for its place."""
    for segment in log._segments:
        for _, one in segment.batches():
            assert max((epoch for epoch, start in log.epochs if start <= one.base), default=-1) == one.epoch


def is_prefix(short: Values, long: Values) -> bool:
    """Whether a list is the beginning of another."""
    return long[: len(short)] == short


def test_a_crash_at_every_byte(run: RecordedRun, folder: Path) -> None:
    """Wherever the process ends, the log is as before or after the current step, or in between."""
    disk, place, cuts = RecordedDisk(), folder / "cut", 0
    place.mkdir()
    steps = iter(run.steps)
    before, after = RecordedStep(0, [], []), next(steps)
    for number, event in enumerate(run.recorder.events, 1):
        while number > after.events:
            before, after = after, next(steps)
        path = disk.names.get(event.path)
        whole = path.data if path is not None else b""
        if event.kind == "write" and path is not None and whole is not None:
            for end in range(len(event.data)):
                path.data = whole + event.data[:end]
                check_cut(put(place, disk.after_crash()), before.values, after.values)
                cuts += 1
            path.data = whole
        disk.happen(event)
        check_cut(put(place, disk.after_crash()), before.values, after.values)
        cuts += 1
    assert cuts > 1500
    assert len({event.kind for event in run.recorder.events}) == 7


def check_cut(folder: Path, before: Values, after: Values) -> None:
    """At least the shorter of the two is there, and nothing that is in neither."""
    held, below = opened(folder)
    shorter, longer = sorted((before, after), key=len)
    assert is_prefix(shorter, longer)
    assert is_prefix(shorter, held) and is_prefix(held, longer)
    assert is_prefix(below, held)


LOSSES = ("nothing", "names", "zeros", *(f"some {number}" for number in range(4)))


@pytest.mark.parametrize("how", LOSSES)
def test_a_power_loss_at_every_write(run: RecordedRun, folder: Path, how: str) -> None:
    """Whenever power is lost, the log can be read; flushed records are there, and no record that it never had."""
    disk, place, random = RecordedDisk(), folder / "cut", Random(how)
    place.mkdir()
    steps = iter(run.steps)
    before, after = RecordedStep(0, [], []), next(steps)
    held_before: list[Values] = [[]]
    for number, event in enumerate(run.recorder.events, 1):
        while number > after.events:
            before, after = after, next(steps)
            held_before.append(before.values)
        disk.happen(event)
        held, below = opened(put(place, disk.after_power_loss(how, random)))
        flushed = min(before.flushed, after.flushed, key=len)
        assert is_prefix(flushed, held)
        assert any(is_prefix(held, once) for once in (*held_before, after.values))
        assert is_prefix(below, held)


@pytest.mark.parametrize("how", LOSSES)
def test_acks_all_survives_a_power_loss(folder: Path, how: str) -> None:
    """Whenever a broker loses power, acknowledged records are on the others, and in the end on it too."""
    whole = begin(folder / "whole")
    with whole.recorder.recording():
        whole.go()
    whole.cluster.close()
    events, offset = len(whole.recorder.events), LOSSES.index(how)
    for cut in range(1 + offset, events, len(LOSSES)):
        lose_power(folder / str(cut), cut, how)


def lose_power(folder: Path, cut: int, how: str) -> None:
    """Run until broker 2 loses power; let the others continue, restart it on the remaining files, and compare all logs."""
    made = begin(folder, cut)
    with made.recorder.recording(), pytest.raises(PowerLoss):
        made.go()
    cluster, disk = made.cluster, RecordedDisk()
    for event in made.recorder.events:
        disk.happen(event)
    if 2 in cluster.planes:
        cluster.planes.pop(2).replicas.crash()
    if 2 in cluster.sessions:
        cluster.ensemble.expire(cluster.sessions.pop(2))
    put(folder / "2", disk.after_power_loss(how, Random(cut)))
    state = cluster.state()
    left = tuple(number for number in state.isr if number != 2)
    cluster.elect(state.leader if state.leader in left else left[0], left)
    leader = cluster.state().leader
    cluster.sync(1, 3)
    made.produced += 1
    assert cluster.produce(leader, b"after") == [Produced(ErrorCode.NONE, len(cluster.log(leader)) - 1)]
    cluster.sync(1, 3)
    cluster.start(2)
    cluster.elect(leader, cluster.state().isr)
    cluster.now += 1_000
    cluster.sync(1, 2, 3, rounds=12)
    assert cluster.log(1) == cluster.log(2) == cluster.log(3)
    assert [value for value in cluster.log(2) if value in made.acknowledged] == made.acknowledged
    assert sorted(cluster.state().isr) == [1, 2, 3]
    check_epochs(cluster.partition(2).opened)
    cluster.close()
