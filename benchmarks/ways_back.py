"""Record a random graph as a search would, look for ways back in it, and print the costs as one line of JSON."""

from __future__ import annotations

import argparse
import json
import time

import numpy as np

from kafka_spec.model_check.budget import peak_bytes, resident_bytes
from kafka_spec.model_check.search.edge_log import RecordedSteps
from kafka_spec.model_check.search.embedded import SLICE
from kafka_spec.model_check.search.recovery import spread

LEVELS = 30


def main() -> None:
    """Record levels of equal width, whose steps lead to the next level or back; few states of the first level meet the claim."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--states", type=int, default=5_000_000)
    parser.add_argument("--steps", type=int, default=4, help="steps out of each state")
    args = parser.parse_args()
    random, width = np.random.default_rng(1), args.states // LEVELS
    marks = [random.integers(1, 2**64, width, np.uint64) for _ in range(LEVELS)]
    before = resident_bytes()
    steps = RecordedSteps(np.ones(1, np.bool_))
    recording = 0.0
    for level in range(LEVELS):
        began = time.perf_counter()
        steps.add_level(marks[level], np.zeros(width, np.bool_), np.ones(width, np.bool_))
        recording += time.perf_counter() - began
        for begin in range(0, width, SLICE):
            parents = np.repeat(np.arange(begin, min(width, begin + SLICE), dtype=np.uint32), args.steps)
            on = marks[min(level + 1, LEVELS - 1)][random.integers(0, width, len(parents))]
            back = marks[max(level - 1, 0)][random.integers(0, width, len(parents))]
            targets = np.where(random.random(len(parents)) < 0.9, on, back)
            undecided, actions = np.zeros(min(width, begin + SLICE) - begin, np.bool_), np.zeros(len(parents), np.uint32)
            began = time.perf_counter()
            steps.add_steps(begin, undecided, parents, targets, actions)
            recording += time.perf_counter() - began
    began = time.perf_counter()
    steps.finish(lambda _: "")
    safe = np.arange(steps.count) < 10
    spread(safe, ~safe, steps.graph, steps.matter, lambda _: "")
    recorded = int(steps.starts[steps.count])
    measured = {
        "states": steps.count,
        "steps": recorded,
        "recording_seconds": recording,
        "judging_seconds": time.perf_counter() - began,
        "bytes_a_step": (peak_bytes() - before) / recorded,
    }
    print(json.dumps(measured))


if __name__ == "__main__":
    main()
