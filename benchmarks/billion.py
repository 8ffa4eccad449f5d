"""Searches replication/kip_320 on bounds that fill a machine: states, seconds, digest, and bytes a state, all in.

python -m benchmarks.billion DIR                          max_leader_epoch 3: 64,739,578 states, and what 4 would take
python -m benchmarks.billion DIR --epochs 4               824,574,349 states: 9 GB of memory, 7 GB of disk
python -m benchmarks.billion DIR --epochs 4 --resume      continues after the last finished level
python -m benchmarks.billion DIR --records 6              1,018,465,918 states
python -m benchmarks.billion OTHER --epochs 4 --seed 1    a second seed, which must find the same counts

The levels are kept in DIR, so a machine that stops costs at most one level. Bytes a state is the largest memory of the process
without that of files, Python and LLVM included, looked at every 20 ms, divided by the states found.
"""

from __future__ import annotations

import argparse
import json
import sys
import threading
import time
from pathlib import Path

from kafka_spec.model_check.budget import Budget
from kafka_spec.model_check.exploration import Exploration
from kafka_spec.model_check.search.embedded import explore
from kafka_spec.spec.catalogue.models import MODELS

GROWTH = 64_739_578 / 4_093_531
"""By how much the states grew from max_leader_epoch 2 to 3; from 1 to 2 it was 23, so for 4 it is an upper estimate."""


def anonymous_bytes() -> int:
    """Return the memory of this process that is not that of files."""
    lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    return 1024 * next(int(line.split()[1]) for line in lines if line.startswith("RssAnon:"))


class Peak:
    """The most memory that this process held, as a context manager: a thread looks at it all the time."""

    def __init__(self) -> None:
        self.bytes = anonymous_bytes()
        self.done = threading.Event()
        self.thread = threading.Thread(target=self.watch)

    def watch(self) -> None:
        """Look until the end."""
        while not self.done.wait(0.02):
            self.bytes = max(self.bytes, anonymous_bytes())

    def __enter__(self) -> Peak:
        self.thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.done.set()
        self.thread.join()


def main() -> int:
    """Search, and print the figures; return 1 unless the search is complete and all properties hold."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", metavar="DIR")
    parser.add_argument("--epochs", type=int, default=3, metavar="N", help="max_leader_epoch (default: %(default)s)")
    parser.add_argument("--records", type=int, default=3, metavar="N", help="max_records (default: %(default)s)")
    parser.add_argument("--threads", type=int, default=2, metavar="N")
    parser.add_argument("--seed", type=int, metavar="N", help="of the fingerprints")
    parser.add_argument("--memory", type=int, default=23 << 10, metavar="MIB", help="stop before using more (default: %(default)s)")
    parser.add_argument("--resume", action="store_true")
    parser.add_argument("--traces", action="store_true", help="keep parents, too: 5 bytes a state of disk")
    args = parser.parse_args()
    bounds = {"replicas": 3, "log_size": 3, "max_records": args.records, "max_leader_epoch": args.epochs}
    began, memory = time.perf_counter(), Peak()

    def show(result: Exploration, seconds: float) -> None:
        each = memory.bytes / result.distinct
        reported = f"level {result.depth:3}  {result.distinct:>13,} states  {seconds:8.0f} s  {each:7.1f} bytes a state"
        print(reported, file=sys.stderr, flush=True)

    with memory:
        result = explore(
            MODELS["replication/kip_320"],
            bounds,
            threads=args.threads,
            everything=True,
            budget=Budget(memory_bytes=args.memory << 20),
            progress=show,
            seed=args.seed,
            traces=args.traces,
            state_dir=args.folder,
            resume=args.resume,
        )
    peak, seconds = memory.bytes, time.perf_counter() - began
    disk = sum(file.stat().st_size for file in Path(args.folder).iterdir())
    figures = {
        "max_leader_epoch": args.epochs,
        "max_records": args.records,
        "verdict": result.verdict,
        "stopped": result.stopped,
        "distinct": result.distinct,
        "depth": result.depth,
        "generated": result.generated,
        "digest": f"{result.digest:016x}",
        "seconds": round(seconds, 1),
        "states a second": round(result.distinct / seconds),
        "memory, bytes a state": round(peak / result.distinct, 1),
        "disk, bytes a state": round(disk / result.distinct, 1),
        "widest level": max(result.levels),
        "collision probability": result.collision_probability,
    }
    print(json.dumps(figures, indent=1))
    if result.complete and (args.epochs, args.records) == (3, 3):
        states = int(result.distinct * GROWTH)
        print(
            f"max_leader_epoch 4: at most {states:,} states, {seconds * GROWTH / 3600:.1f} hours, "
            f"{peak * GROWTH / 2**30:.1f} GiB of memory, {disk * GROWTH / 1e9:.0f} GB of disk"
        )
    return 0 if result.complete and not result.violated else 1


if __name__ == "__main__":
    sys.exit(main())
