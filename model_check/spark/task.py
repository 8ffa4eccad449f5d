"""The description of a run for its tasks on Spark, and why a task must not continue."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kafka_spec.model_check.code.compiled import Shape
from kafka_spec.model_check.llvm.machine_code import Tier

SCRATCH = "kafka-spec-scratch-"
"""The prefix of the folders with the temporary files of a driver."""


@dataclass(frozen=True)
class Task:
    """The description of a run for its tasks."""

    run: str
    """The name of the run and of this attempt; data in memory and in scratch folders belongs to one attempt."""
    owner: str
    """The owner of the state-dir; a task must not write there when its run is no longer the owner."""
    state_dir: str
    scratch: str | None
    """The folder of the tables; None: the executor's own local folder."""
    shards: int
    shape: Shape
    row_bytes: int
    """The most bytes of a packed state."""
    program: str
    """The digest of the code."""
    tier: Tier
    """How much is done for the speed of the code."""

    @staticmethod
    def of(plain: Mapping[str, Any]) -> Task:
        """Return the task that the plain values describe."""
        shape = dict(plain["shape"])
        return Task(**{**plain, "shape": Shape(**{**shape, "k": tuple(shape["k"]), "paths": tuple(shape["paths"])})})

    @property
    def folder(self) -> Path:
        """The folder of the tables of this run on this executor."""
        chosen = self.scratch or os.environ.get("SPARK_LOCAL_DIRS") or os.environ.get("LOCAL_DIRS") or tempfile.gettempdir()
        return Path(chosen.split(",")[0]) / f"kafka-spec-{self.run}"


class Refused(Exception):  # noqa: N818 - says what happened
    """The task must not continue, and repeating it does not help."""


class NoRoom(Exception):  # noqa: N818 - says what happened
    """The scratch folder is full."""
