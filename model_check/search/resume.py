"""What a checkpoint of the embedded engine holds besides states, and how a search continues from it in another process.

Depends on the search and its folder (checkpoints.py). The table of seen states is filled again from the fingerprints of all levels;
counts and findings come from the last summary. The steps that properties on the graph need are kept with the level that they lead
to.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any, Protocol

import numpy as np

from kafka_spec.model_check.code.row_codec import Codec
from kafka_spec.model_check.record.layout import Layout
from kafka_spec.model_check.search.frontier import Frontier, Level, OnDisk
from kafka_spec.model_check.search.path_properties import PathProperties
from kafka_spec.model_check.search.shards import Shard
from kafka_spec.model_check.search.tally import Counting, add_up
from kafka_spec.model_check.store import found
from kafka_spec.model_check.store.checkpoints import STATES, Checkpoints
from kafka_spec.model_check.store.found import remembered
from kafka_spec.model_check.store.search_identity import described
from kafka_spec.spec.vocabulary.table import SpecError


class Searching(Counting, Protocol):
    """What a checkpoint needs to know of a search (embedded.py)."""

    layout: Layout
    shards: list[Shard]
    frontier: Frontier
    history: list[Level | None]
    width: int
    distinct: int
    traced: bool
    fresh: bool
    paths: PathProperties


def on_disk(search: Searching, place: str, resume: bool) -> Checkpoints:
    """Let a search that has not begun keep its levels in a folder; with `resume`, continue from the last level there.

    Raises:
        SpecError: the folder is not fit for this search.
        Damaged: a file is not as it was written.
    """
    if search.world.spec.view:  # packed states are known by their own fingerprints
        raise SpecError(f"{search.world.spec.name}: a search by a view is not kept on disk; leave --state-dir out")
    codec = Codec.of(search.layout, search.program.seed, search.fresh)
    code = search.program.module.digest
    about = described(search.world, search.result, search.layout, code, codec.text.digest)
    folder = Checkpoints(place, {**about, "traces": search.traced}, resume)
    bits = search.world.actions.bits
    search.frontier = OnDisk(folder, search.program, codec, bits, search.traced)
    try:
        if finished := folder.finished():
            recall(search, folder, search.frontier, finished)
    except BaseException:
        folder.close()
        raise
    return folder


def commit(search: Searching, folder: Checkpoints, level: int) -> None:
    """Make a level of a search a checkpoint."""
    add_up(search)
    result = search.result
    for name, array in search.paths.newest(not search.width).items():
        folder.write(level, f"paths-{name}", [array])
    folder.commit(
        level,
        {
            "result": remembered(result),
            "counters": np.sum([part.counters for part in search.slices], axis=0).tolist(),
            "tested_at_start": dict(search.tested_at_start),
            "states": search.width,
        },
    )


def recall(search: Searching, folder: Checkpoints, frontier: OnDisk, finished: list[dict[str, Any]]) -> None:
    """Restore a search from the finished levels of a folder."""
    last, result = finished[-1], search.result
    for content in finished[:-1]:
        # a run that was killed between two files may have left it
        folder.forget_states(content["level"])
    for shard in search.shards:
        shard.expect(sum(content["states"] for content in finished) // len(search.shards))
    for content in finished:
        fill_paths(search.paths, folder, content)
        if content["states"]:
            fill(search, folder, content, content is last)
    found.recall(result, last["result"])
    search.slices[0].counters[:] = last["counters"]
    search.tested_at_start = Counter(last["tested_at_start"])
    search.width, search.distinct = last["states"], result.distinct
    if search.width:
        frontier.open(last["level"], search.width)


def fill_paths(paths: PathProperties, folder: Checkpoints, content: Mapping[str, Any]) -> None:
    """Verify and restore what was recorded for properties about paths up to a finished level."""
    if paths.claims:
        names = [name for name in content["files"] if name.startswith(("paths-", "marks"))]
        reported = {
            name.removeprefix("paths-"): np.frombuffer(b"".join(folder.verified(content, name)), np.uint8) for name in names
        }
        paths.restore(reported.get("marks", np.empty(0, np.uint8)).view(np.uint64), reported)


def fill(search: Searching, folder: Checkpoints, content: Mapping[str, Any], is_frontier: bool) -> None:
    """Verify the files of a finished level, and take its fingerprints as seen; only the frontier still has its states."""
    for name in content["files"]:
        if name in ("parents", "actions") or (name in STATES and is_frontier):
            for _ in folder.verified(content, name):
                pass
    for piece in folder.verified(content, "marks"):
        marks = np.frombuffer(piece, np.uint64)
        whose = marks >> np.uint64(63 - search.shards[0].bits) >> np.uint64(1)
        for shard in search.shards:
            shard.add(marks[whose == shard.number])
    assert isinstance(search.frontier, OnDisk)
    search.history.append(search.frontier.history(content["level"]) if search.traced else None)
