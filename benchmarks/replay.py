"""Measure the edges of the control-plane model replayed per second on the implementation: load, step, project, compare.

The checker's time to find the edges is excluded. `python -m benchmarks.replay [PROCESSES]`
"""

from __future__ import annotations

import sys
import time
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))

from edges import edges, stage

from kafka_spec.conformance.replay.core import Replayed, replayed
from kafka_spec.conformance.replay.rules import STEPS
from kafka_spec.spec.zookeeper.eras import ERA_0_10, ERA_2_8
from kafka_spec.spec.zookeeper.families import CONTROL
from kafka_spec.spec.zookeeper.fixed import FIXED

ERAS = {spec.name: spec for spec in (FIXED, ERA_2_8, ERA_0_10)}
BOUNDS = {bounds.name: bounds.values for bounds in CONTROL}["crash_and_expiry"]
MOST = 20_000
"""Number of edges of an era that one process replays."""


def measure(era: str, part: int, parts: int) -> tuple[int, float, float]:
    """Replay a part of the edges; return their number, the elapsed seconds and the processor seconds."""
    some = [edge for edge, _ in zip(edges(ERAS[era], BOUNDS, None, part, parts), range(MOST), strict=False)]
    with stage(ERAS[era], BOUNDS) as projection:
        began, worked = time.perf_counter(), time.process_time()
        for edge in some:
            if failure := replayed(projection, STEPS, edge, Replayed()):
                raise SystemExit(failure)
        return len(some), time.perf_counter() - began, time.process_time() - worked


def main() -> None:
    """Print the rate of each era, with the requested number of processes."""
    processes = int(sys.argv[1]) if len(sys.argv) > 1 else 1
    with ProcessPoolExecutor(processes) as pool:
        for era in ERAS:
            parts = list(pool.map(measure, [era] * processes, range(processes), [processes] * processes))
            rate = sum(count / passed for count, passed, _ in parts)
            worked = sum(count for count, _, _ in parts) / sum(work for _, _, work in parts)
            print(
                f"{era:18} {sum(count for count, _, _ in parts):,} edges, {rate:,.0f} a second on {processes} processes, "
                f"{worked:,.0f} a second of one processor's time",
                flush=True,
            )


if __name__ == "__main__":
    main()
