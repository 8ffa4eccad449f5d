"""The order of a finished level: which place each state has in it, whatever file it is in.

Depends on the files of the level, not on Spark.

Theory of operation. States are in the order in which one search by itself would find them: by the place of the parent in its level,
then by the number of the action. Both together are the *key* of a state, as one number. The rows of a file are in the order of
their keys, but where they stand among those of the other files is known only when all files of the level are there. So what a
task finds before that travels with the row of its parent (exchange.py), and who keeps it looks the place up. The places come from a
merge of the files, some 40 ns a state. The workers of an executor make it once for each level, and share it as a file.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from kafka_spec.model_check.code.arrays import Places, Words
from kafka_spec.model_check.spark.state_dir import Rows, Storage, read_part
from kafka_spec.model_check.spark.task import NoRoom, Refused, Task
from kafka_spec.model_check.store.digest_json import Damaged

Files: TypeAlias = Sequence[tuple[str, int]]
"""The files of a level with the number of their states. A state has the *row* that it would have if they were one file."""


@dataclass(frozen=True)
class Order:
    """The order of the states of a level."""

    places: Places
    """For each row, the place of the state."""
    marks: Words
    """For each row, the fingerprint."""

    @classmethod
    def read(cls, storage: Storage, files: Files, actions: int) -> Order:
        """Return the order of a level; `actions` is how many actions there are.

        Raises:
            Damaged: a file is missing, damaged, or of other length.
        """
        marks, keys = [np.empty(0, np.uint64)], [np.empty(0, np.int64)]
        for name, count in files:
            pieces = list(read_part(storage, name, ("place", "action")))
            if sum(len(rows.marks) for rows in pieces) != count:
                raise Damaged(f"{storage.place}: {name} has not the {count:,} states that it had")
            marks += [rows.marks for rows in pieces]
            keys += [keys_of(rows, actions) for rows in pieces]
        found = np.argsort(np.concatenate(keys), kind="stable")  # it merges what is in order
        places = np.empty(len(found), np.int64)
        places[found] = np.arange(len(found))
        return cls(places, np.concatenate(marks))

    @classmethod
    def shared(cls, task: Task, storage: Storage, level: int, files: Files) -> Order:
        """Return the order of a level, from the scratch folder of this executor if a worker has made it.

        Raises:
            NoRoom: the folder is full.
        """
        path = task.folder / f"order-{level:05d}.npy"
        path.parent.mkdir(parents=True, exist_ok=True)
        lock = os.open(task.folder / "order.lock", os.O_RDWR | os.O_CREAT, 0o600)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not path.exists():
                made, temporary = cls.read(storage, files, task.shape.actions), task.folder / "order.new.npy"
                for old in task.folder.glob("order-*.npy"):
                    old.unlink()
                try:
                    np.save(temporary, np.stack([made.places.view(np.uint64), made.marks]))
                except OSError as error:
                    temporary.unlink(missing_ok=True)
                    raise NoRoom(f"no room for the order of a level in {task.folder}: {error.strerror}") from None
                temporary.rename(path)
            content: npt.NDArray[Any] = np.asarray(np.load(path, mmap_mode="r"))
        finally:
            os.close(lock)
        return cls(content[0].view(np.int64), content[1])


def keys_of(rows: Rows, actions: int) -> Places:
    """Return the keys of states, by which they are in order; `actions` is how many actions there are.

    Raises:
        Refused: a key does not fit into 63 bits.
    """
    last, actions = int(rows.places.max(initial=0)), max(1, actions)
    if (last + 1) * actions >= 1 << 63:
        raise Refused(f"the place {last:,} and {actions:,} actions do not fit into one number, by which states are in order")
    return rows.places * actions + rows.actions.astype(np.int64)
