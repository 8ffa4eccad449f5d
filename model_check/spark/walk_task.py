"""The work of a Spark task of random walks: some batches, and their counts as plain objects.

Does not depend on Spark.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

import numpy as np

from kafka_spec.model_check.code.compiled import Shape
from kafka_spec.model_check.llvm.machine_code import text_known
from kafka_spec.model_check.random_walks.batches import Met, WalkBatch, Walker, WalkProperties, Walks
from kafka_spec.model_check.random_walks.walk_code import WalkCode


def to_plain(batch: WalkBatch) -> dict[str, Any]:
    """Return a batch as plain objects."""
    return {
        **{name: getattr(batch, name) for name in ("begin", "end", "states", "fault")},
        **{name: getattr(batch, name).tolist() for name in ("counters", "tests", "rows", "marks")},
        "met": [dataclasses.astuple(met) for met in batch.met],
    }


def of_plain(plain: dict[str, Any]) -> WalkBatch:
    """Return the batch that plain objects stand for."""
    arrays = {"counters": np.int64, "tests": np.int64, "rows": np.uint8, "marks": np.uint64}
    met = [Met(claim, walk, start, tuple(actions)) for claim, walk, start, actions in plain["met"]]
    fault = plain["fault"] and (*plain["fault"][:3], tuple(plain["fault"][3]))
    return WalkBatch(
        **{**plain, **{name: np.array(plain[name], kind) for name, kind in arrays.items()}, "met": met, "fault": fault}
    )


def run_task(plain: Mapping[str, Any], number: int) -> dict[str, Any]:
    """Walk the batches of a task; return them as a report."""
    shape = Shape(**{**plain["shape"], "k": tuple(plain["shape"]["k"])})
    names = WalkProperties(**{**plain["names"], "states": tuple(plain["names"]["states"]), "steps": tuple(plain["names"]["steps"])})
    initial = [bytes.fromhex(record) for record in plain["initial"]]
    walker = Walker(WalkCode(text_known(plain["text"]), shape), names, initial, plain["kinds"], Walks(**plain["walks"]))
    return {"batches": [to_plain(walker.run(begin, end, plain["bits"])) for begin, end in plain["tasks"][number]]}
