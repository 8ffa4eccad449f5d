"""The log on disk: Kafka's files, recovery after a crash, and random operations compared with a list."""

from __future__ import annotations

import os
import shutil
import struct
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from aiokafka.record.memory_records import MemoryRecords
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from kafka_spec.impl.log import batches, checkpoint
from kafka_spec.impl.log.epochs import UNDEFINED, LeaderEpochs
from kafka_spec.impl.log.log import PartitionLog
from kafka_spec.impl.log.log_config import LogConfig
from kafka_spec.impl.log.reader import OffsetOutOfRange
from kafka_spec.impl.log.segment import Segment
from kafka_spec.impl.protocol.topic_partition import TopicPartition

MEMORY = "/dev/shm" if Path("/dev/shm").is_dir() else None
"""Where files are made that need no disk: flushing is what takes long."""


@pytest.fixture
def folder() -> Iterator[Path]:
    """Return a folder for a test that flushes a lot."""
    with tempfile.TemporaryDirectory(dir=MEMORY) as name:
        yield Path(name)


def batch(*values: bytes, timestamp: int = 0) -> bytes:
    """Return a producer's batch of values."""
    return bytes(batches.build((timestamp, None, value) for value in values))


SMALL = LogConfig(segment_bytes=300, index_interval_bytes=80)
"""Three or four batches a segment, and an index entry every other batch."""


def filled(folder: Path, count: int = 12, config: LogConfig = SMALL) -> PartitionLog:
    """Return a log of so many batches of one record, value and timestamp the offset, a new epoch every five."""
    log = PartitionLog(folder, config)
    for offset in range(count):
        log.append_as_leader(batch(b"%02d" % offset, timestamp=1000 + offset), offset // 5)
    return log


def values(log: PartitionLog, start: int | None = None, end: int | None = None) -> list[bytes | None]:
    """Return the values of a log's records."""
    return [record.value for record in log.records(start, end)]


def test_files(tmp_path: Path) -> None:
    """Segments are named by their base offset in twenty digits, and hold what another library reads as Kafka's batches."""
    log = filled(tmp_path / "orders-3")
    log.close()
    bases = log.segment_bases
    assert len(bases) > 2
    assert sorted(path.name for path in (tmp_path / "orders-3").iterdir()) == sorted(
        [*(f"{base:020}{suffix}" for base in bases for suffix in (".log", ".index", ".timeindex")), "leader-epoch-checkpoint"]
    )
    assert (tmp_path / "orders-3" / "leader-epoch-checkpoint").read_text() == "0\n3\n0 0\n1 5\n2 10\n"

    data = b"".join((tmp_path / "orders-3" / f"{base:020}.log").read_bytes() for base in bases)
    met = MemoryRecords(data)
    read = []
    while (one := met.next_batch()) is not None:
        assert one.validate_crc()
        read += [(record.offset, record.timestamp, record.value) for record in one]
    assert read == [(offset, 1000 + offset, b"%02d" % offset) for offset in range(12)]


def test_indexes_are_kafkas(tmp_path: Path) -> None:
    """An index entry is (last offset - base, position), a time index entry (largest timestamp, its offset - base), big-endian."""
    log = filled(tmp_path, 12, LogConfig(index_interval_bytes=80))
    log.close()
    size = len(batch(b"00"))
    index = list(struct.iter_unpack(">ii", (tmp_path / f"{0:020}.index").read_bytes()))
    times = list(struct.iter_unpack(">qi", (tmp_path / f"{0:020}.timeindex").read_bytes()))

    assert index == [(2, 2 * size), (4, 4 * size), (6, 6 * size), (8, 8 * size), (10, 10 * size)]
    assert times == [(1000 + offset, offset) for offset in (2, 4, 6, 8, 10, 11)]


def test_leader_stamps(tmp_path: Path) -> None:
    """The leader gives offsets and its epoch to a producer's batch; the checksum still holds; a follower stores the same bytes."""
    leader, follower = PartitionLog(tmp_path / "leader"), PartitionLog(tmp_path / "follower")
    assert leader.append_as_leader(batch(b"a", b"b") + batch(b"c"), 7) == (0, 2)
    assert leader.append_as_leader(batch(b"d"), 8) == (3, 3)
    follower.append_as_follower(leader.read(0, 1 << 20))

    assert [b.epoch for b, _ in batches.split(follower.read(0, 1 << 20))] == [7, 7, 8]
    assert values(follower) == [b"a", b"b", b"c", b"d"]
    assert follower.epochs == leader.epochs == ((7, 0), (8, 3))
    assert (tmp_path / "leader" / f"{0:020}.log").read_bytes() == (tmp_path / "follower" / f"{0:020}.log").read_bytes()


def test_truncated_records_come_back(tmp_path: Path) -> None:
    """Batches that a power loss brings back after a truncation have their own epoch, not that of their replacement."""
    log = filled(tmp_path, 3)
    log.append_as_leader(batch(b"old"), 1)
    log.flush()
    path = tmp_path / f"{0:020}.log"
    flushed = path.read_bytes()
    log.truncate_to(3)
    log.append_as_leader(batch(b"new"), 2)
    assert log.epochs == ((0, 0), (2, 3))
    log.crash()
    path.write_bytes(flushed)
    log = PartitionLog(tmp_path, SMALL)
    assert values(log)[3:] == [b"old"]
    assert log.epochs == ((0, 0), (1, 3))
    log.close()


def test_bad_batches_are_refused(tmp_path: Path) -> None:
    """Data that is not complete, valid batches, or does not continue the log, is refused, and nothing is appended."""
    log = PartitionLog(tmp_path)
    good = batch(b"a")
    for bad in (good[:-1], good + b"x", good[:-1] + b"!", b"\0" * 80):
        with pytest.raises(batches.Corrupt, match="no complete, valid record batch"):
            log.append_as_leader(bad, 0)
    with pytest.raises(ValueError, match="no batch"):
        log.append_as_leader(b"", 0)
    with pytest.raises(ValueError, match="without records"):
        batches.build([])
    log.append_as_leader(good, 0)
    with pytest.raises(ValueError, match="ends at 1, and the batch begins at 0"):
        log.append_as_follower(log.read(0, 100))

    assert log.end_offset == 1


def test_reads(tmp_path: Path) -> None:
    """A read begins with the batch that holds the offset, has one batch at least, ends below a limit, and knows the log's range."""
    log = PartitionLog(tmp_path, SMALL)
    for number in range(5):
        log.append_as_leader(batch(b"%da" % number, b"%db" % number), 0)
    size = len(batch(b"0a", b"0b"))

    assert [r.offset for r in batches.records(log.read(3, 1))] == [2, 3]
    assert len(log.read(0, 2 * size)) == 2 * size
    assert len(log.read(0, 3 * size - 1)) == 2 * size
    assert log.read(0, 1 << 20, end=3) == log.read(0, size)
    assert log.read(2, 1 << 20, end=2) == b""
    assert log.read(10, 100) == b""
    for outside in (-1, 11):
        with pytest.raises(OffsetOutOfRange):
            log.read(outside, 100)
    assert values(log, 3, 6) == [b"1b", b"2a", b"2b"]


@pytest.mark.parametrize(
    ("config", "bases"),
    [
        (LogConfig(segment_bytes=150), (0, 2, 4)),
        (LogConfig(segment_ms=2), (0, 3)),
        (LogConfig(segment_index_bytes=24, index_interval_bytes=0), (0, 2, 4)),
        (LogConfig(), (0,)),
    ],
)
def test_rolling(tmp_path: Path, config: LogConfig, bases: tuple[int, ...]) -> None:
    """A segment ends where size, age or index would pass its limit; a batch that is too large is alone in its segment."""
    log = filled(tmp_path, 5, config)
    assert log.segment_bases == bases
    log.append_as_leader(batch(b"x" * 1000), 1)
    assert values(log) == [b"00", b"01", b"02", b"03", b"04", b"x" * 1000]


def test_timestamps_are_found(tmp_path: Path) -> None:
    """The first record of a timestamp or a later one is found, in any segment, before and after truncation and restart."""
    log = filled(tmp_path)
    for _ in range(2):
        assert [log.offset_for_timestamp(1000 + n) for n in range(-1, 13)] == [0, *range(12), None]
        log.close()
        log = PartitionLog(tmp_path, SMALL, log.recovery_point)
    log.truncate_to(8)
    assert [log.offset_for_timestamp(1000 + n) for n in (0, 7, 8)] == [0, 7, None]


def test_timestamps_out_of_order(tmp_path: Path) -> None:
    """Timestamps need not grow: the first offset is found whose timestamp is large enough."""
    log = PartitionLog(tmp_path, LogConfig(index_interval_bytes=0))
    for stamp in (5, 9, 1, 9, 12, 3):
        log.append_as_leader(batch(b"", timestamp=stamp), 0)

    assert [log.offset_for_timestamp(n) for n in (1, 5, 6, 9, 10, 12, 13)] == [0, 0, 1, 1, 4, 4, None]
    log.truncate_to(4)
    log.append_as_leader(batch(b"", timestamp=10), 0)
    assert [log.offset_for_timestamp(n) for n in (9, 10, 11)] == [1, 4, None]


def test_truncation_by_whole_batches(tmp_path: Path) -> None:
    """Truncating inside a batch removes all of it; epochs that began there are forgotten; at the start everything goes."""
    log = PartitionLog(tmp_path)
    log.append_as_leader(batch(b"a", b"b"), 0)
    log.append_as_leader(batch(b"c", b"d"), 3)
    log.truncate_to(9)
    assert log.end_offset == 4
    log.truncate_to(3)
    assert (log.end_offset, log.epochs) == (2, ((0, 0),))
    log.truncate_to(0)
    assert (log.end_offset, log.epochs, values(log)) == (0, (), [])


def test_truncation_fully(tmp_path: Path) -> None:
    """A log can be emptied to begin anywhere; it does so after a restart too."""
    log = filled(tmp_path)
    log.truncate_fully(100)
    assert (log.start_offset, log.end_offset, log.epochs) == (100, 100, ())
    log.append_as_leader(batch(b"x"), 4)
    log.close()
    again = PartitionLog(tmp_path, SMALL, log.recovery_point)

    assert (again.segment_bases, again.epochs, values(again)) == ((100,), ((4, 100),), [b"x"])


def handles_below(folder: Path) -> int:
    """Return how many open file descriptors of this process are of files in a folder."""
    own = Path("/proc/self/fd")
    return sum(handle.is_symlink() and folder in handle.readlink().parents for handle in own.iterdir())


@pytest.mark.skipif(not Path("/proc/self/fd").is_dir(), reason="counts the descriptors of Linux")
def test_no_file_stays_open(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A log that is dropped leaves no file open, nor does one whose second segment cannot be read or cannot be opened."""
    log = filled(tmp_path)
    assert handles_below(tmp_path) == 3 * len(log.segment_bases) > 6
    del log
    assert handles_below(tmp_path) == 0

    def fails(*_: object) -> int:
        raise OSError("it cannot be read")

    for name in ("recover", "open_existing"):
        monkeypatch.setattr(Segment, name, fails)
    with pytest.raises(OSError, match="cannot be read"):
        PartitionLog(tmp_path, SMALL)
    assert handles_below(tmp_path) == 0

    (tmp_path / "00000000000000000000.timeindex").unlink()
    (tmp_path / "00000000000000000000.timeindex").mkdir()
    with pytest.raises(IsADirectoryError):
        PartitionLog(tmp_path, SMALL)
    assert handles_below(tmp_path) == 0


def test_every_cut_leaves_a_log(folder: Path) -> None:
    """Whatever number of bytes of the last segment survives a crash, the log opens, with every complete batch."""
    log = filled(folder / "log")
    log.close()
    last = folder / "log" / f"{log.segment_bases[-1]:020}.log"
    whole = last.read_bytes()
    size = len(batch(b"10"))
    for length in range(len(whole) + 1):
        copy = folder / "cut"
        shutil.copytree(folder / "log", copy)
        os.truncate(copy / last.name, length)
        cut = PartitionLog(copy, SMALL)
        kept = log.segment_bases[-1] + length // size
        assert (cut.end_offset, cut.cut_bytes, len(values(cut))) == (kept, length % size, kept)
        assert all(start < kept for _, start in cut.epochs)
        cut.append_as_leader(batch(b"more"), 9)
        cut.close()
        assert values(PartitionLog(copy, SMALL, cut.recovery_point))[-1] == b"more"
        shutil.rmtree(copy)


@pytest.mark.parametrize("place", ["middle", "last"])
def test_flipped_bit_ends_the_log(tmp_path: Path, place: str) -> None:
    """Everything from a batch on whose checksum does not hold is cut, later segments too, unless it is known to be flushed."""
    log = filled(tmp_path)
    log.close()
    base = log.segment_bases[1 if place == "middle" else -1]
    path = tmp_path / f"{base:020}.log"
    data = bytearray(path.read_bytes())
    data[-1] ^= 1
    path.write_bytes(data)
    following = next((b for b in log.segment_bases if b > base), 12)
    again = PartitionLog(tmp_path, SMALL)

    assert again.end_offset == following - 1
    assert again.segment_bases == tuple(b for b in log.segment_bases if b <= base)


@pytest.mark.parametrize("place", range(8))
def test_a_flipped_offset_ends_the_log(tmp_path: Path, place: int) -> None:
    """No checksum covers a base offset: a batch that does not continue the log, or is too far away, ends it."""
    log = filled(tmp_path, 2, LogConfig())
    log.append_as_leader(batch(b"last"), 1)
    log.close()
    path = tmp_path / f"{0:020}.log"
    data = bytearray(path.read_bytes())
    data[_last_batch(data) + place] ^= 0x80 if place == 0 else 1
    path.write_bytes(data)

    assert PartitionLog(tmp_path).end_offset == (4 if place == 7 else 2 if place in (0, 1, 2, 3) else 3 + (1 << 8 * (7 - place)))


def _last_batch(data: bytes) -> int:
    """Return where the last batch begins."""
    position = 0
    while position + (size := 12 + int.from_bytes(data[position + 8 : position + 12])) < len(data):
        position += size
    return position


def test_times_are_found_after_a_crash(tmp_path: Path) -> None:
    """Recovery completes the time index of each segment, so that a look-up does not pass over a closed one."""
    log = PartitionLog(tmp_path, LogConfig(segment_bytes=300))
    for offset in range(6):
        log.append_as_leader(batch(b"%02d" % offset, timestamp=1000 * (offset + 1)), 0)
    log.crash()
    again = PartitionLog(tmp_path, LogConfig(segment_bytes=300))

    assert len(again.segment_bases) == 2
    assert [again.offset_for_timestamp(time) for time in range(500, 6000, 1000)] == list(range(6))
    for base in again.segment_bases:
        assert len((tmp_path / f"{base:020}.timeindex").read_bytes()) == 12


def test_a_full_index_begins_a_segment(tmp_path: Path) -> None:
    """A segment has as many index entries as fit; in the time index one place is kept for the entry at the segment's end."""
    log = PartitionLog(tmp_path, LogConfig(segment_index_bytes=36, index_interval_bytes=0))
    for offset in range(8):
        log.append_as_leader(batch(b"%02d" % offset, timestamp=1000 + offset), 0)
    log.close()

    assert log.segment_bases == (0, 3, 6)
    assert [len((tmp_path / f"{base:020}.timeindex").read_bytes()) for base in log.segment_bases] == [24, 24, 12]


def test_truncation_to_the_start_of_a_segment(tmp_path: Path) -> None:
    """The segment that begins at the new end stays, empty; index entries are counted anew after a truncation. Both as in Kafka."""
    log = filled(tmp_path)
    base = log.segment_bases[1]
    log.truncate_to(base)

    assert log.segment_bases == (0, base)
    assert (tmp_path / f"{base:020}.log").stat().st_size == 0
    log.truncate_to(base - 1)
    log.append_as_leader(batch(b"new", timestamp=1), 9)
    assert len((tmp_path / f"{0:020}.index").read_bytes()) == 8


@pytest.mark.parametrize("kind", ["torn", "missing", "garbage", "foreign"])
def test_indexes_are_made_again(tmp_path: Path, kind: str) -> None:
    """An index that is torn, missing or nonsense is made again from the log; one without a log goes."""
    log = filled(tmp_path)
    log.close()
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    base = log.segment_bases[1]
    for suffix in (".index", ".timeindex"):
        path = tmp_path / f"{base:020}{suffix}"
        if kind == "torn":
            path.write_bytes(path.read_bytes()[:-1])
        elif kind == "missing":
            path.unlink()
        elif kind == "garbage":
            path.write_bytes(b"\xff" * 24)
        else:
            (tmp_path / f"{77:020}{suffix}").write_bytes(b"")
    again = PartitionLog(tmp_path, SMALL, log.recovery_point)
    assert values(again) == [b"%02d" % offset for offset in range(12)]
    assert [again.offset_for_timestamp(1000 + n) for n in range(12)] == list(range(12))
    again.close()

    assert {path.name: path.read_bytes() for path in tmp_path.iterdir() if path.suffix != ".timeindex"} == {
        name: data for name, data in before.items() if not name.endswith(".timeindex")
    }


def test_clean_log_opens_by_its_indexes(tmp_path: Path) -> None:
    """Below the recovery point a log is read no further than its indexes: a flipped bit in an old batch is not noticed."""
    log = filled(tmp_path)
    log.close()
    path = tmp_path / f"{0:020}.log"
    data = bytearray(path.read_bytes())
    data[len(batch(b"00")) - 1] ^= 1
    path.write_bytes(data)

    assert PartitionLog(tmp_path, SMALL, log.recovery_point).end_offset == 12
    assert PartitionLog(tmp_path, SMALL).end_offset == 0


def test_a_gap_ends_the_log(tmp_path: Path) -> None:
    """A segment that does not begin where the one before ends is cut, with all that follow."""
    log = filled(tmp_path)
    log.close()
    for suffix in (".log", ".index", ".timeindex"):
        (tmp_path / f"{log.segment_bases[1]:020}{suffix}").unlink()

    assert PartitionLog(tmp_path, SMALL).end_offset == log.segment_bases[1]


# Leader epochs


def epochs_of(*entries: tuple[int, int]) -> LeaderEpochs:
    """Return a cache of entries that is saved nowhere."""
    return LeaderEpochs(entries, lambda _: None)


def test_end_offsets_of_epochs() -> None:
    """The newest epoch ends at the log's end, an older one where the next begins; the answer names the epoch that is there."""
    known = epochs_of((2, 10), (4, 20), (7, 30))

    assert known.end_offset_for(7, 42) == (7, 42)
    assert known.end_offset_for(4, 42) == (4, 30)
    assert known.end_offset_for(5, 42) == (4, 30)
    assert known.end_offset_for(3, 42) == (2, 20)
    assert known.end_offset_for(1, 42) == (1, 10)
    assert known.end_offset_for(8, 42) == (UNDEFINED, UNDEFINED)
    assert known.end_offset_for(UNDEFINED, 42) == (UNDEFINED, UNDEFINED)
    assert epochs_of().end_offset_for(0, 42) == (UNDEFINED, UNDEFINED)


def test_epochs_that_contradict_go() -> None:
    """An assignment removes entries of its epoch or newer, and those at or after its start; the newest one can begin but once."""
    known = epochs_of((2, 10), (4, 20), (7, 30))
    known.assign(7, 35)
    assert known.entries == ((2, 10), (4, 20), (7, 30))
    known.assign(7, 25)
    assert known.entries == ((2, 10), (4, 20), (7, 25))
    known.assign(8, 20)
    assert known.entries == ((2, 10), (8, 20))
    known.assign(5, 50)
    assert known.entries == ((2, 10), (5, 50))


def test_truncation_of_epochs() -> None:
    """At the end, epochs that begin there or later are removed, and none at an undefined end.

    At the start, the epoch of that offset begins there.
    """
    known = epochs_of((2, 10), (4, 20), (7, 30))
    known.truncate_from_end(UNDEFINED)
    assert known.entries == ((2, 10), (4, 20), (7, 30))
    known.truncate_from_end(30)
    assert known.entries == ((2, 10), (4, 20))
    known.truncate_from_start(15)
    assert known.entries == ((2, 15), (4, 20))
    known.truncate_from_start(20)
    assert known.entries == ((4, 20),)
    known.truncate_from_start(5)
    assert known.entries == ((4, 20),)
    known.clear()
    assert (known.entries, known.latest) == ((), UNDEFINED)


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 50))), st.integers(-1, 10), st.integers(50, 60))
def test_epochs_stay_in_order(assigned: Sequence[tuple[int, int]], asked: int, end: int) -> None:
    """Whatever is assigned, entries grow in epoch and offset; an answer is no newer epoch than asked, and an offset of the log."""
    known = epochs_of()
    saved: list[Sequence[tuple[int, int]]] = []
    known._save = lambda entries: saved.append(tuple(entries))
    for epoch, start in assigned:
        before = known.entries
        known.assign(epoch, start)
        assert known.latest == epoch
        assert (known.entries != before) == (len(saved) > 0 and saved.pop() == known.entries)
    pairs = list(zip(known.entries, known.entries[1:], strict=False))
    assert all(a[0] < b[0] and a[1] < b[1] for a, b in pairs)
    epoch, offset = known.end_offset_for(asked, end)
    assert (epoch, offset) == (UNDEFINED, UNDEFINED) or (epoch <= asked and 0 <= offset <= end)


def test_epoch_without_records_is_forgotten(tmp_path: Path) -> None:
    """A leader's epoch begins at the end of its log before any record; a restart forgets it if none came."""
    log = filled(tmp_path, 3)
    log.assign_epoch(6)
    assert (log.latest_epoch, log.end_offset_for_epoch(0), log.end_offset_for_epoch(6)) == (6, (0, 3), (6, 3))
    log.crash()

    assert PartitionLog(tmp_path, SMALL).epochs == ((0, 0),)


# Checkpoints


def test_offsets_are_written_as_kafka_does(tmp_path: Path) -> None:
    """A checkpoint is a version, a count, and lines; it replaces the old one whole, and leaves no temporary file."""
    path = tmp_path / checkpoint.REPLICATION_OFFSETS
    assert checkpoint.read_offsets(path) == {}
    path.write_text("")
    assert checkpoint.read_offsets(path) == {}
    checkpoint.write_offsets(path, {TopicPartition("b", 0): 7, TopicPartition("a", 10): 0, TopicPartition("a", 9): 3})

    assert path.read_text() == "0\n3\na 9 3\na 10 0\nb 0 7\n"
    assert checkpoint.read_offsets(path) == {TopicPartition("a", 9): 3, TopicPartition("a", 10): 0, TopicPartition("b", 0): 7}
    assert [entry.name for entry in tmp_path.iterdir()] == [path.name]


def test_a_crash_keeps_the_old_checkpoint(tmp_path: Path) -> None:
    """However much of the temporary file was written, the checkpoint is still the old one, and the next is written over it."""
    path = tmp_path / checkpoint.REPLICATION_OFFSETS
    old, new = {TopicPartition("a", 0): 1}, {TopicPartition("a", 0): 2}
    checkpoint.write_offsets(path, new)
    text = path.read_bytes()
    checkpoint.write_offsets(path, old)
    for length in range(len(text) + 1):
        (tmp_path / f"{path.name}.tmp").write_bytes(text[:length])
        assert checkpoint.read_offsets(path) == old
    checkpoint.write_offsets(path, new)
    assert checkpoint.read_offsets(path) == new


BAD_CHECKPOINTS = (
    "1\n0\n", "\n", "0\nx\n", "0\n2\na 0 1\n", "0\n1\na 0\n", "0\n1\na b 1\n", "0\n1\na 0 1 2\n", "0\n1\n a 0 1\n",
    "0\n1\na 0 1_0\n", "0\n1\na 4294967296 1\n", "0\n1\na 0 9223372036854775808\n", "0\n1\na 0 1\n\n",
)  # fmt: skip


@pytest.mark.parametrize("text", BAD_CHECKPOINTS)
def test_bad_checkpoints_are_told(tmp_path: Path, text: str) -> None:
    """Another version, a wrong count, and malformed lines are errors that name the file."""
    path = tmp_path / checkpoint.REPLICATION_OFFSETS
    path.write_text(text)
    with pytest.raises(checkpoint.CheckpointError, match=str(path)):
        checkpoint.read_offsets(path)


@pytest.mark.parametrize("text", ["", "0", "0\n", "0\n0\n", "+0\n00\n"])
def test_checkpoints_without_entries(tmp_path: Path, text: str) -> None:
    """A checkpoint that ends after the version has no entries, as in Kafka; numbers are read as Java reads them."""
    path = tmp_path / checkpoint.REPLICATION_OFFSETS
    path.write_text(text)
    assert checkpoint.read_offsets(path) == {}


def test_epochs_of_a_file_that_contradict(tmp_path: Path) -> None:
    """Entries of a file count as if each were added: later ones remove what contradicts them. Negative ones are refused."""
    assert epochs_of((1, 0), (5, 5), (2, 1), (3, 1), (4, 7)).entries == ((1, 0), (3, 1), (4, 7))
    for bad in [(-1, 0)], [(0, -1)]:
        checkpoint.write_epochs(tmp_path / checkpoint.LEADER_EPOCHS, bad)
        with pytest.raises(checkpoint.CheckpointError):
            PartitionLog(tmp_path)


def test_cleared_epochs_are_saved() -> None:
    """Clearing writes the file even if there were no entries, as Kafka does."""
    saved: list[Sequence[tuple[int, int]]] = []
    LeaderEpochs([], saved.append).clear()
    assert saved == [[]]


@pytest.mark.parametrize("data", [b"0\n1\n0\n", b"0\n1\na 0\n", b"\xff"])
def test_bad_epochs_are_told(tmp_path: Path, data: bytes) -> None:
    """A log whose epochs cannot be read does not open."""
    (tmp_path / checkpoint.LEADER_EPOCHS).write_bytes(data)
    with pytest.raises(checkpoint.CheckpointError, match="leader-epoch-checkpoint"):
        PartitionLog(tmp_path)


# Everything against a list


class Logs(RuleBasedStateMachine):
    """A log, and what it must hold: a list of batches, each with its epoch and values."""

    @initialize()
    def open(self) -> None:
        self.folder = Path(tempfile.mkdtemp(dir=MEMORY))
        self.config = SMALL
        self.log = PartitionLog(self.folder, self.config)
        self.start = 0
        self.batches: list[tuple[int, list[bytes]]] = []
        self.epoch = 0
        self.count = 0

    def teardown(self) -> None:
        if hasattr(self, "folder"):
            self.log.crash()
            shutil.rmtree(self.folder)

    def offset_of(self, place: int) -> int:
        """Return the offset at which a batch of the list begins."""
        return self.start + sum(len(values) for _, values in self.batches[:place])

    def offset(self, part: float) -> int:
        """Return an offset of the log, at a part of its length."""
        return self.start + round(part * (self.offset_of(len(self.batches)) - self.start))

    def keep(self, end: int) -> None:
        """Drop every batch of the list that reaches beyond an offset."""
        while self.batches and self.offset_of(len(self.batches)) > end:
            self.batches.pop()

    def new_batch(self, size: int) -> list[bytes]:
        self.count += size
        return [b"value %d" % number for number in range(self.count - size, self.count)]

    @rule(size=st.integers(1, 4), newer=st.booleans())
    def produce(self, size: int, newer: bool) -> None:
        self.epoch += newer
        made = self.new_batch(size)
        first, last = self.log.append_as_leader(batch(*made, timestamp=self.count), self.epoch)
        assert (first, last) == (self.offset_of(len(self.batches)), self.offset_of(len(self.batches)) + size - 1)
        self.batches.append((self.epoch, made))

    @rule(sizes=st.lists(st.integers(1, 3), min_size=1, max_size=3))
    def replicate(self, sizes: list[int]) -> None:
        data = b""
        offset = self.log.end_offset
        for size in sizes:
            made = self.new_batch(size)
            one = bytearray(batch(*made, timestamp=self.count))
            batches.stamp(one, offset, self.epoch)
            data += one
            offset += size
            self.batches.append((self.epoch, made))
        self.log.append_as_follower(data)

    @rule(part=st.floats(0, 1))
    def truncate(self, part: float) -> None:
        offset = self.offset(part)
        self.log.truncate_to(offset)
        self.keep(offset)

    @rule(start=st.integers(0, 1000))
    @precondition(lambda self: self.count > 20)
    def begin_again(self, start: int) -> None:
        self.log.truncate_fully(start)
        self.batches = []
        self.start = start
        self.count = 0

    @rule()
    def flush(self) -> None:
        self.log.flush()

    @rule()
    def restart(self) -> None:
        self.log.close()
        assert self.log.recovery_point == self.log.end_offset
        self.log = PartitionLog(self.folder, self.config, self.log.recovery_point)
        assert self.log.cut_bytes == 0

    @rule(trusts=st.booleans())
    def crash(self, trusts: bool) -> None:
        self.log.crash()
        self.log = PartitionLog(self.folder, self.config, self.log.recovery_point if trusts else 0)
        assert self.log.cut_bytes == 0

    @rule(cut=st.integers(1, 400), trusts=st.booleans())
    def lose_power(self, cut: int, trusts: bool) -> None:
        """Lose bytes from the end of the last segment, but none that were flushed."""
        base = self.log.segment_bases[-1]
        flushed = self.log.recovery_point
        self.log.crash()
        path = self.folder / f"{base:020}.log"
        safe = sum(size for first, size in self.sizes(path) if first < flushed)
        os.truncate(path, max(safe, path.stat().st_size - cut))
        kept = base + sum(size for _, size in self.counts(path))
        self.log = PartitionLog(self.folder, self.config, flushed if trusts else 0)
        assert self.log.end_offset >= min(flushed, kept)
        self.keep(kept)

    @rule(garbage=st.binary(min_size=1, max_size=100))
    def write_garbage(self, garbage: bytes) -> None:
        """Put garbage at the end of the last segment."""
        base = self.log.segment_bases[-1]
        self.log.crash()
        with (self.folder / f"{base:020}.log").open("ab") as file:
            file.write(garbage)
        self.log = PartitionLog(self.folder, self.config)
        assert self.log.cut_bytes == len(garbage)

    def sizes(self, path: Path) -> list[tuple[int, int]]:
        """Return first offset and size in bytes of each whole batch of a file."""
        return [(met.base, met.size) for met in self.headers(path)]

    def counts(self, path: Path) -> list[tuple[int, int]]:
        """Return first offset and number of records of each whole batch of a file."""
        return [(met.base, met.last - met.base + 1) for met in self.headers(path)]

    def headers(self, path: Path) -> list[batches.Batch]:
        data, position, found = path.read_bytes(), 0, []
        while (met := batches.look(data[position : position + batches.HEADER.size])) and position + met.size <= len(data):
            found.append(met)
            position += met.size
        return found

    @invariant()
    def holds_the_list(self) -> None:
        if not hasattr(self, "log"):
            return
        end = self.offset_of(len(self.batches))
        assert (self.log.start_offset, self.log.end_offset) == (self.start, end)
        expected = [value for _, made in self.batches for value in made]
        assert values(self.log) == expected
        starts: dict[int, int] = {}
        for place, (epoch, _) in enumerate(self.batches):
            starts.setdefault(epoch, self.offset_of(place))
        assert dict(self.log.epochs) == starts

    @rule(part=st.floats(0, 1), size=st.integers(1, 500))
    def read(self, part: float, size: int) -> None:
        offset = self.offset(part)
        data = self.log.read(offset, size)
        got = [(r.offset, r.value) for r in batches.records(data, offset)]
        expected = [value for _, made in self.batches for value in made][offset - self.start :]
        assert got == [(offset + n, value) for n, value in enumerate(expected[: len(got)])]
        assert (len(got) > 0) == (len(expected) > 0)
        assert len(data) <= size or len(list(batches.split(data))) == 1

    @rule(asked=st.integers(0, 30))
    def ask_for_epoch(self, asked: int) -> None:
        epochs = [epoch for epoch, made in self.batches for _ in made]
        newer = [place for place, epoch in enumerate(epochs) if epoch > asked]
        older = [epoch for epoch in epochs if epoch <= asked]
        if not epochs or asked > epochs[-1]:
            expected = (UNDEFINED, UNDEFINED)
        else:
            expected = (older[-1] if older else asked, self.start + (newer[0] if newer else len(epochs)))
        assert self.log.end_offset_for_epoch(asked) == expected


Logs.TestCase.settings = settings(max_examples=100, stateful_step_count=40, deadline=None)
TestLogs = Logs.TestCase
