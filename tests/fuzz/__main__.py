"""Random specs, on which the oracle, the embedded engine, the Spark engine and an independent search must agree.

make fuzz SECONDS=600            as long as you like, from a new seed
make fuzz SEED=7 SECONDS=0       one spec, the one of this seed
"""

from __future__ import annotations

import argparse
import contextlib
import os
import random
import re
import sys
import tempfile
import time
from pathlib import Path

from tests.fuzz.agree import Tally, disagreement, moves
from tests.fuzz.shrink import shrunk
from tests.fuzz.specs import text_of


def kind_of(found: str) -> str:
    """Return what a disagreement is about, without its numbers and places."""
    reported = found.strip().splitlines()[-1] if "Traceback" in found else found.partition("}, ")[2].split(":")[0]
    return re.sub(r"\S*/\S*|\w*\d\w*", "", reported)


def fuzz(first: int, seconds: float, folder: Path, tally: Tally, shrink_seconds: float = 120) -> str:
    """Try the specs of one seed after the other; return what to say about the first that is read in different ways, or "".

    A spec that hardly moves is tried only now and then.
    """
    until, seed = time.monotonic() + seconds, first
    while True:
        text = text_of(seed)
        if seed == first or seed % 8 == 0 or moves(text, folder, f"tried_{seed}"):
            tally.specs += 1
            if found := disagreement(text, folder, f"seed_{seed}", tally):
                return report(seed, text, found, folder, shrink_seconds)
        seed += 1
        if time.monotonic() > until:
            tally.seeds = seed - first
            return ""


def report(seed: int, text: str, found: str, folder: Path, seconds: float) -> str:
    """Return what to say about a disagreement: in short, how to repeat it, and the smallest spec that shows it."""
    count = 0

    def wrong(smaller: str) -> bool:
        nonlocal count
        count += 1
        return kind_of(disagreement(smaller, folder, f"smaller_{count}")) == kind_of(found)

    small = shrunk(text, wrong, seconds) if seconds else text
    return "\n".join([
        f"seed {seed}: {found}", f"to repeat: make fuzz SEED={seed} SECONDS=0", "the smallest spec that shows it:", "", small,
        "", disagreement(small, folder, "smallest"),
    ])  # fmt: skip


def main() -> int:
    """Fuzz for some seconds; the exit code is 4 if readings differ."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--seed", type=int, help="the first seed; by default any")
    parser.add_argument("--no-spark", action="store_true", help="without readings on Spark, which needs Java")
    parser.add_argument("--text", action="store_true", help="print the spec of the seed, and stop")
    options = parser.parse_args()
    seed = random.SystemRandom().randrange(10**9) if options.seed is None else options.seed
    if options.text:
        sys.stdout.write(text_of(seed))
        return 0
    sys.stdout.write(f"specs of the seeds from {seed} on, for {options.seconds:g} s\n")
    sys.stdout.flush()
    tally = Tally()
    with tempfile.TemporaryDirectory() as name, contextlib.ExitStack() as stack:
        os.environ["KAFKA_SPEC_CACHE"] = name
        os.environ["KAFKA_SPEC_VERIFY_CODE"] = "1"  # code that is used again at other bounds is written again, and compared
        if not options.no_spark:
            from tests.fuzz.on_spark import on_spark

            tally.spark = stack.enter_context(on_spark(Path(name)))
        found = fuzz(seed, options.seconds, Path(name), tally)
    sys.stdout.write(found + "\n" if found else f"{tally.reported()}; all readings agree\n")
    return 4 if found else 0


if __name__ == "__main__":
    sys.exit(main())
