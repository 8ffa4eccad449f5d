"""Runs of `fixed` under all operations and the usual faults, seed after seed: `make soak-operations`. Each must end clean.

It prints the seeds whose run is judged otherwise, with what was said, and how many ran; it ends with 1 if there is such a seed.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import time


def main() -> int:
    """Run the seeds; return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--first", type=int, default=0, metavar="N", help="the first seed (default: 0)")
    parser.add_argument("--seeds", type=int, default=500, metavar="N", help="how many seeds (default: 500)")
    parser.add_argument("--minutes", type=float, default=float("inf"), metavar="M", help="begin no run later than this")
    options = parser.parse_args()
    began, alarms, ran = time.monotonic(), 0, 0
    for seed in range(options.first, options.first + options.seeds):
        if time.monotonic() - began > 60 * options.minutes:
            break
        command = [sys.executable, "-m", "kafka_spec", "run", "--operations", "all", "--seed", str(seed), "--quiet"]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        ran += 1
        if done.returncode != 0:
            alarms += 1
            print(f"seed {seed} ends with {done.returncode}:\n{done.stdout}{done.stderr}", flush=True)
    print(f"{ran} seeds from {options.first} on, {alarms} of them with a violation or an error")
    return 1 if alarms else 0


if __name__ == "__main__":
    sys.exit(main())
