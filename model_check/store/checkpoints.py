"""The folder of a search by the embedded engine: every level is a checkpoint from which a search continues.

    run.json                     the search: model, bounds, properties, seed, the digests of its code
    level-00012.json             a finished level: its files with their digests, and the result up to it
    level-00012.marks            the fingerprints of its states, in order, 8 bytes each
    level-00012.parents, .actions            how each was reached first; not with --no-traces
    level-00012.states, .sizes   its packed states, and the bytes of each; only of the last finished level
    lock                         held by the active run

Depends on bytes and files, not on the search. A level is finished when its level-NNNNN.json exists. That file is written last, when
all others are on the disk; it contains their digests and that of the previous summary. What a killed run left of the next level
is written again.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from kafka_spec.model_check.store.digest_json import Damaged, opened, sealed
from kafka_spec.model_check.store.search_identity import refuse_another
from kafka_spec.spec.vocabulary.table import SpecError

FORMAT = "embedded 4"
STATES = ("states", "sizes")
"""The files of a level that are needed only until it is expanded."""
PIECE_BYTES = 16 << 20
"""Bytes that are read at a time."""


class Checkpoints:
    """The folder of one run, locked while it is open."""

    def __init__(self, place: str, about: Mapping[str, Any], resume: bool) -> None:
        """Open the folder of a new run, or of one to continue.

        Raises:
            SpecError: the folder cannot be written, is in use, or is not that of this run.
            Damaged: a file is not as it was written.
        """
        self.place, self.path, self.lock = place, Path(place), -1
        self.reported: dict[str, dict[str, Any]] = {}
        """The files of the level that is being written."""
        self.files: dict[tuple[int, str], int] = {}
        about = {"format": FORMAT, **about}
        try:
            self.path.mkdir(parents=True, exist_ok=True)
            names = sorted(entry.name for entry in self.path.iterdir())
            found = self.unsealed("run.json")
            self.check(about, names, found, resume)
            self.lock = os.open(self.path / "lock", os.O_RDWR | os.O_CREAT, 0o666)
            fcntl.flock(self.lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if self.unsealed("run.json") != found:
                raise SpecError(f"--state-dir {place}: another run has just started there; name another folder")
            self.last = found or self.seal("run.json", about)
        except BlockingIOError:
            self.close()
            raise SpecError(f"--state-dir {place}: another run is using it; wait for it, or name another folder") from None
        except OSError as error:
            self.close()
            raise SpecError(f"--state-dir {place}: {error.strerror}; name a folder that can be written") from None
        except BaseException:
            self.close()
            raise

    def check(self, about: Mapping[str, Any], names: list[str], reported: Mapping[str, Any] | None, resume: bool) -> None:
        """Raise unless the folder is new, or that of an equal run that is to be continued."""
        place = self.place
        if reported is None:
            if there := [name for name in names if name not in ("lock", "run.json.new")]:
                raise SpecError(f"--state-dir {place}: the folder contains {there[0]} and no run; name an empty one")
            if resume:
                raise SpecError(f"--resume: --state-dir {place} contains no run to continue")
            return
        if not resume:
            raise SpecError(f"--state-dir {place} already contains a run; continue it with --resume, or name another folder")
        refuse_another(place, dict(about), dict(reported))

    def close(self) -> None:
        """Release the folder."""
        for file in [*self.files.values(), self.lock]:
            if file >= 0:
                os.close(file)
        self.files.clear()
        self.lock = -1

    # the files of a level

    def file(self, level: int, name: str) -> Path:
        """Return the path of a file of a level."""
        return self.path / f"level-{level:05d}.{name}"

    def write(self, level: int, name: str, pieces: Iterable[npt.NDArray[Any]]) -> None:
        """Write a file of a level."""
        digest, size = hashlib.sha256(), 0
        with self.file(level, name).open("wb") as file:
            for piece in pieces:
                content = np.ascontiguousarray(piece).view(np.uint8).reshape(-1).data
                file.write(content)
                digest.update(content)
                size += len(content)
            file.flush()
            os.fsync(file.fileno())
        self.reported[name] = {"bytes": size, "digest": digest.hexdigest()}

    def read(self, level: int, name: str, begin: int, end: int, kind: Any, width: int = 0) -> npt.NDArray[Any]:
        """Return the items begin..end-1 of a file, or rows of `width` items."""
        if (level, name) not in self.files:
            self.files[level, name] = os.open(self.file(level, name), os.O_RDONLY)
        each = np.dtype(kind).itemsize * max(1, width)
        wanted, at = (end - begin) * each, begin * each
        content = bytearray(wanted)
        done = 0
        while done < wanted:
            count = os.preadv(self.files[level, name], [memoryview(content)[done:]], at + done)
            if not count:
                raise Damaged(f"{self.place}: {self.file(level, name).name} is shorter than it was")
            done += count
        found = np.frombuffer(content, kind)
        return found.reshape(-1, width) if width else found

    def mapped(self, level: int, name: str, kind: Any) -> npt.NDArray[Any]:
        """Return a whole file as an array that stays on the disk."""
        path = self.file(level, name)
        return np.memmap(path, kind, "r") if path.stat().st_size else np.empty(0, kind)

    def commit(self, level: int, content: Mapping[str, Any]) -> None:
        """Make a level the last finished one."""
        reported = {"level": level, "files": self.reported, "previous": self.last["digest"], **content}
        self.last, self.reported = self.seal(f"level-{level:05d}.json", reported), {}
        for (old, name), file in list(self.files.items()):
            if old < level:
                os.close(file)
                del self.files[old, name]
        self.forget_states(level - 1)

    def forget_states(self, level: int) -> None:
        """Remove the states of a level that has been expanded."""
        for name in STATES:
            self.file(level, name).unlink(missing_ok=True)

    # what is finished

    def finished(self) -> list[dict[str, Any]]:
        """Return the summaries of the finished levels, in order.

        Raises:
            Damaged: a summary is missing, or belongs to another run.
        """
        found: list[dict[str, Any]] = []
        while (content := self.unsealed(f"level-{len(found):05d}.json")) is not None:
            if content["previous"] != self.last["digest"]:
                raise Damaged(f"{self.place}: level-{len(found):05d}.json does not follow from the level before")
            found.append(content)
            self.last = content
        numbers = [entry for entry in self.path.iterdir() if re.fullmatch(r"level-\d+\.json", entry.name)]
        if len(numbers) != len(found):
            raise Damaged(f"{self.place}: level-{len(found):05d}.json is missing")
        return found

    def verified(self, content: Mapping[str, Any], name: str) -> Iterator[bytes]:
        """Yield a file of a finished level in pieces.

        Raises:
            Damaged: it is not as it was written. This is known only after the last piece.
        """
        reported, path = content["files"][name], self.file(content["level"], name)
        digest, size = hashlib.sha256(), 0
        try:
            with path.open("rb") as file:
                while piece := file.read(PIECE_BYTES):
                    digest.update(piece)
                    size += len(piece)
                    yield piece
        except FileNotFoundError:
            raise Damaged(f"{self.place}: {path.name} is missing") from None
        if (size, digest.hexdigest()) != (reported["bytes"], reported["digest"]):
            raise Damaged(f"{self.place}: {path.name} is damaged: it is not what was written")

    def unsealed(self, name: str) -> dict[str, Any] | None:
        """Return the object in a sealed file, or None if there is none."""
        try:
            return opened((self.path / name).read_bytes(), f"{self.place}: {name}")
        except FileNotFoundError:
            return None

    def seal(self, name: str, content: dict[str, Any]) -> dict[str, Any]:
        """Write a sealed file, all or nothing, and return its content."""
        raw = sealed(content)
        with (self.path / f"{name}.new").open("wb") as file:
            file.write(raw)
            file.flush()
            os.fsync(file.fileno())
        (self.path / f"{name}.new").rename(self.path / name)
        folder = os.open(self.path, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)
        return opened(raw, name)
