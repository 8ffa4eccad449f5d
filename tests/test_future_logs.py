"""Logs that are moved to another log directory: they are copied, replace their log, and are recovered by the next process."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from uuid import UUID

import pytest

from kafka_spec.impl.kraft.future_logs import FutureLogs, future_folder
from kafka_spec.impl.log import batches
from kafka_spec.impl.log.manager import LogManager
from kafka_spec.impl.protocol.topic_partition import TopicPartition
from kafka_spec.spec.decisions.variants import Checked

PARTITION = TopicPartition("orders", 0)
OTHER = UUID(int=2)
"""The directory that logs are moved to."""


class Disk:
    """A broker's data folder with one log, whose process can end and start."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.start()
        self.logs.write_topic_id(PARTITION, "A" * 22)

    def start(self) -> None:
        """Open the folder, as a process does."""
        self.logs = LogManager(self.folder)
        self.future = FutureLogs(self.logs, self.folder, None)
        self.log, self.high_watermark = self.logs.open(PARTITION)

    def end(self) -> None:
        """Close everything in order."""
        self.logs.close()
        self.future.close()

    def write(self, count: int, epoch: int = 0) -> None:
        """Append records to the log."""
        for number in range(count):
            self.log.append_as_leader(bytes(batches.build([(number, None, b"%d" % number)])), epoch)

    def move(self, copied: int) -> None:
        """Begin to move the log, and copy records."""
        self.future.begin(PARTITION, OTHER)
        for _ in range(copied):
            assert self.future.copy(PARTITION, 1)


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Disk]:
    """A folder with a log of three records."""
    one = Disk(tmp_path)
    one.write(3)
    yield one
    one.logs.crash()
    one.future.crash()


def test_a_future_log_is_whole_once_it_has_all_records(disk: Disk) -> None:
    """Records are copied one by one; a record that is written later has to be copied, too."""
    disk.move(copied=3)
    assert disk.future.is_whole(PARTITION) and not disk.future.copy(PARTITION, 1)
    disk.write(1)
    assert not disk.future.is_whole(PARTITION)


def test_the_metadata_should_name_a_directory_once_the_copy_is_whole(disk: Disk) -> None:
    """Before, it is that of the log; a directory that the metadata names already stays."""
    disk.move(copied=2)
    assert disk.future.wanted_directory(PARTITION, named=None) is None
    assert disk.future.wanted_directory(PARTITION, named=OTHER) == OTHER
    disk.future.copy(PARTITION, 1)
    assert disk.future.wanted_directory(PARTITION, named=None) == OTHER


def test_a_log_is_replaced_only_if_its_directory_is_assigned(disk: Disk) -> None:
    """An answer says so, or the metadata; and the copy has to be whole."""
    disk.move(copied=3)
    assert not disk.future.may_replace(PARTITION, named=None)
    assert disk.future.may_replace(PARTITION, named=OTHER)
    disk.future.assigned.add(PARTITION)
    assert disk.future.may_replace(PARTITION, named=None)
    disk.write(1)
    assert not disk.future.may_replace(PARTITION, named=OTHER)


def test_the_log_that_replaces_another_keeps_the_high_watermark(disk: Disk) -> None:
    """Its records, its topic and its high watermark are those of the log before; it lies in the other directory."""
    disk.logs.checkpoint_high_watermarks({PARTITION: 2})
    disk.move(copied=3)
    disk.future.promote(PARTITION)
    disk.end()
    disk.start()

    assert (disk.log.end_offset, disk.high_watermark, disk.logs.topic_id(PARTITION)) == (3, 2, "A" * 22)
    assert PARTITION not in disk.future and disk.future.directory_of(PARTITION) == OTHER


@pytest.mark.parametrize(("only_whole", "records"), [(Checked.YES, 3), (Checked.NO, 1)])
def test_a_process_that_starts_keeps_the_longer_log(disk: Disk, only_whole: Checked, records: int) -> None:
    """A copy that lags replaces its log in Kafka alone (lagging-future-log-promoted)."""
    disk.move(copied=1)
    disk.end()
    disk.start()
    disk.future.recover(PARTITION, OTHER, only_whole)
    disk.log, _ = disk.logs.open(PARTITION)
    assert disk.log.end_offset == records
    assert (PARTITION in disk.future) == bool(only_whole)


def test_a_copy_whose_directory_is_not_named_waits(disk: Disk) -> None:
    """A process that starts continues the move: neither log is deleted."""
    disk.move(copied=3)
    disk.end()
    disk.start()
    disk.future.recover(PARTITION, UUID(int=3), Checked.NO)
    assert PARTITION in disk.future and disk.future.is_whole(PARTITION)


def test_a_process_that_ended_while_a_log_was_replaced_has_the_new_one(disk: Disk) -> None:
    """The log was deleted, and the folder of the copy had not got its name."""
    disk.move(copied=3)
    disk.end()
    disk.logs.delete([PARTITION])
    disk.start()
    assert disk.log.end_offset == 3 and PARTITION not in disk.future


def test_a_copy_follows_a_truncation(disk: Disk) -> None:
    """What the log has lost, or has from another leader, the copy loses before it continues."""
    disk.move(copied=3)
    disk.log.truncate_to(1)
    disk.write(1, epoch=4)
    assert not disk.future.is_whole(PARTITION)
    assert disk.future.copy(PARTITION, 1) and disk.future.is_whole(PARTITION)
    disk.future.promote(PARTITION)
    disk.log, _ = disk.logs.open(PARTITION)
    assert (disk.log.end_offset, disk.log.latest_epoch) == (2, 4)


def test_a_deleted_copy_is_gone(disk: Disk) -> None:
    """The log stays."""
    disk.move(copied=2)
    disk.future.delete(PARTITION)
    assert PARTITION not in disk.future and not future_folder(disk.folder, PARTITION).exists()
    assert disk.log.end_offset == 3
