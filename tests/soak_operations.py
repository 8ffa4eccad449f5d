"""Runs of `fixed` under all operations and the usual faults, seed after seed: `make soak-operations`. Each must end clean.

It prints the seeds whose run is judged otherwise, with what was said, and how many ran; it ends with 1 if there is such a seed.
Runs share processes, so that tables and libraries are loaded once in each, not once for each run.
"""

from __future__ import annotations

import argparse
import io
import multiprocessing
import os
import sys
import time
from contextlib import redirect_stderr, redirect_stdout
from functools import partial

from kafka_spec.__main__ import main as kafka_spec

RUNS = 20
"""The runs of one process, before another takes its place."""


def run(until: float, seed: int) -> tuple[int, int | None, str]:
    """Run one seed; return it with the exit code and what was printed. None: it is too late to begin."""
    if time.monotonic() > until:
        return seed, None, ""
    reported = io.StringIO()
    with redirect_stdout(reported), redirect_stderr(reported):
        code = kafka_spec(["run", "--operations", "all", "--seed", str(seed), "--quiet"])
    return seed, code, reported.getvalue()


def main() -> int:
    """Run the seeds; return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--first", type=int, default=0, metavar="N", help="the first seed (default: 0)")
    parser.add_argument("--seeds", type=int, default=500, metavar="N", help="how many seeds (default: 500)")
    parser.add_argument("--minutes", type=float, default=float("inf"), metavar="M", help="begin no run later than this")
    parser.add_argument(
        "--jobs", type=int, default=os.cpu_count(), metavar="N", help="how many runs at once (default: one per core)"
    )
    options = parser.parse_args()
    began, alarms, ran = time.monotonic(), 0, 0
    seeds = range(options.first, options.first + options.seeds)
    with multiprocessing.get_context("spawn").Pool(options.jobs, maxtasksperchild=RUNS) as pool:
        for seed, code, reported in pool.imap_unordered(partial(run, began + 60 * options.minutes), seeds):
            ran += code is not None
            if code:
                alarms += 1
                print(f"seed {seed} ends with {code}:\n{reported}", flush=True)
            elif sys.stderr.isatty():
                print(f"\r{ran} of {options.seeds} seeds", end="", file=sys.stderr, flush=True)
    took = time.monotonic() - began
    print(f"{ran} seeds from {options.first} on in {took / 60:.0f} minutes, {alarms} of them with a violation or an error")
    return 1 if alarms else 0


if __name__ == "__main__":
    sys.exit(main())
