"""The folder of a distributed search, as its driver opens, verifies and extends it.

Depends on bytes and files (state_dir.py), and on what a summary keeps of a result; not on the search or on Spark.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from kafka_spec.model_check.exploration import Exploration
from kafka_spec.model_check.spark import state_dir as store
from kafka_spec.model_check.spark.state_dir import Lock, Storage
from kafka_spec.model_check.spark.task import SCRATCH
from kafka_spec.model_check.store.digest_json import Damaged, sealed
from kafka_spec.model_check.store.found import remembered
from kafka_spec.model_check.store.search_identity import refuse_another
from kafka_spec.spec.vocabulary.table import SpecError

VERIFIERS = 16
"""The most files that are read at once when a folder is verified, one for each core."""


class RunFolder:
    """The folder of one run, locked while it is open."""

    def __init__(self, place: str, resume: bool) -> None:
        self.place, self.resume = place, resume
        self.lock: Lock | None = None
        self.last: dict[str, Any] = {}
        """The summary of the last finished level, or the description of the run before the first."""
        self.left: Path | None = None
        """The tables of a driver that was killed and could not remove them."""

    storage: Storage
    """Read and write access, from `open` on."""

    @property
    def owner(self) -> str:
        """The name of this attempt."""
        assert self.lock is not None
        return self.lock.owner

    def close(self) -> None:
        """Release the folder. Candidates would be found again, and take up room."""
        self.remove_left()
        if self.lock is not None:
            with contextlib.suppress(OSError):
                self.storage.remove_folder(store.CANDIDATES)
            self.lock.release()

    def remove_left(self) -> None:
        """Remove what a killed driver left; again at the end, since its workers live a little longer and may write meanwhile."""
        if self.left is not None:
            shutil.rmtree(self.left, ignore_errors=True)

    def open(self, about: dict[str, Any], texts: Mapping[str, str], check_budget: Callable[[], None]) -> list[dict[str, Any]]:
        """Lock the folder, check that it is empty or of this run, and return the summaries of its finished levels.

        Args:
            about: the description of the run; two runs with equal descriptions are the same.
            texts: the code that workers load, by the names of its files.
            check_budget: raises an exception if the budget is spent.
        """
        place = self.place
        self.storage = Storage(place)
        if self.storage.local is not None:
            self.storage.local.mkdir(parents=True, exist_ok=True)
        names = self.storage.names()  # read first: the checks below detect a run that begins meanwhile
        reported = store.unsealed(self.storage, "run.json")
        if reported is None and (there := store.foreign(names)):
            raise SpecError(f"--state-dir {place}: the folder contains {there[0]} and no run; name an empty one")
        if reported is not None and not self.resume:
            raise SpecError(f"--state-dir {place} already contains a run; continue it with --resume, or name another folder")
        if reported is None and self.resume:
            raise SpecError(f"--resume: --state-dir {place} contains no run to continue")
        try:
            self.lock = Lock(self.storage)
        except BlockingIOError:
            raise SpecError(f"--state-dir {place}: another run is using it; wait for it, or name another folder") from None
        if store.unsealed(self.storage, "run.json") != reported:
            raise SpecError(f"--state-dir {place}: another run has just started there; name another folder")
        if (left := self.storage.read("scratch")) is not None and self.storage.local is not None:
            folder = Path(left.decode())
            self.left = folder if folder.name.startswith(SCRATCH) else None
            self.remove_left()
        if reported is None:
            for name, text in texts.items():
                self.storage.write(name, text.encode())
            self.storage.write("run.json", sealed(about))
            self.last = store.unsealed(self.storage, "run.json") or {}
            return []
        refuse_another(place, about, reported)
        self.last = reported
        finished = self.verified(store.finished_levels(self.storage), texts, check_budget)
        self.last = finished[-1] if finished else reported
        return finished

    def verified(
        self, finished: list[dict[str, Any]], texts: Mapping[str, str], check_budget: Callable[[], None]
    ) -> list[dict[str, Any]]:
        """Verify the finished levels and return their summaries; remove the files of other levels."""
        for name, text in texts.items():
            if self.storage.read(name) != text.encode():
                raise Damaged(f"{self.storage.place}: {name} is damaged")
        for level, content in enumerate(finished):
            named = {reported["name"] for reported in content["files"]}
            there = {name for name, _, _ in store.parts_of(self.storage, level)}
            for name in sorted(there - named):
                self.storage.files.delete_file(name)
        everything = [reported for content in finished for reported in content["files"]]
        with ThreadPoolExecutor(min(VERIFIERS, os.cpu_count() or 1)) as pool:
            for _ in pool.map(lambda reported: store.verify_part(self.storage, reported), everything):
                check_budget()
        self.remove_unfinished(len(finished) - 1)
        return finished

    def remove_unfinished(self, level: int) -> None:
        """Remove the files of all levels after the last finished one, and all candidates."""
        self.storage.remove_folder(store.CANDIDATES)
        for folder in self.storage.names("levels"):
            if int(folder.rpartition("=")[2]) > level:
                self.storage.remove_folder(folder)

    def begin_again(self) -> None:
        """Forget how far the run has come: its levels are searched again."""
        self.last = store.unsealed(self.storage, "run.json") or {}

    def commit(
        self,
        level: int,
        files: Sequence[Mapping[str, Any]],
        by: str,
        result: Exploration,
        cost: Sequence[Mapping[str, Any]] = (),
    ) -> None:
        """Commit a finished level. `files` are its files, `cost` what its tasks report about deduplication."""
        files = sorted((reported for reported in files if reported["rows"]), key=lambda reported: reported["name"])
        content = {
            "level": level,
            "states": sum(reported["rows"] for reported in files),
            "files": files,
            "by": by,
            "candidates": sum(reported["candidates"] for reported in cost),
            "dedup_seconds": round(sum(reported["seconds"] for reported in cost), 4),
            "catch_up_seconds": round(sum(reported["behind"] for reported in cost), 4),
            "previous": self.last["digest"],
            "result": remembered(result),
            "exchanged": result.exchanged_bytes,
        }
        self.storage.write(store.summary(level), whole := sealed(content))
        self.storage.remove_temporary(store.folder_of(level))
        self.last = json.loads(whole)
