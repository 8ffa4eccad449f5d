"""Search a family of zookeeper/fixed on Spark and in the embedded engine, with the user's command; compare all results.

The default is the largest family that completes. With --paths properties about paths are judged, too; those of
that family take too much memory.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
SAME = ("verdict", "distinct", "levels", "rules", "bounded", "graph_digest", "properties")


def check(*words: str) -> dict[str, Any]:
    """Run `kafka-spec check`; return its result."""
    command = [sys.executable, "-m", "kafka_spec", "check", "zookeeper/fixed", "--format", "json", *words]
    print("$ kafka-spec", *command[3:], file=sys.stderr)
    run = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, text=True, env={**os.environ, "PYTHONPATH": str(ROOT)})
    if run.returncode:
        raise SystemExit(f"ended with {run.returncode}: {run.stdout[-2000:]}")
    result: dict[str, Any] = json.loads(run.stdout)
    return result


def main() -> None:
    """Search twice, compare, print the costs."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("family", nargs="?", default="three_everyday", help="a bound set of zookeeper/fixed")
    parser.add_argument("--master", default="local[2]")
    parser.add_argument("--handover", help="where Spark takes over; a small family has no level wide enough for it otherwise")
    parser.add_argument("--paths", action="store_true", help="judge recoverable and leads-to properties, too")
    args = parser.parse_args()
    without = () if args.paths else ("--without", "recoverable", "--without", "leads-to")
    with tempfile.TemporaryDirectory(prefix="kafka-spec-bench-") as folder:
        place = Path(folder, "states")
        more = (*without, *(("--handover", args.handover) if args.handover else ()))
        spark = check("--bounds", args.family, "--engine", "spark", "--master", args.master, "--state-dir", str(place), *more)
        disk = sum(file.stat().st_size for file in place.rglob("*.parquet"))
    one = check("--bounds", args.family, "--threads", "1", *without)
    if different := [name for name in SAME if spark[name] != one[name]]:
        raise SystemExit(f"not the same: {', '.join(different)}")
    seconds = [result["seconds"]["search"] for result in (spark, one)]
    print(
        f"{args.family}: {spark['distinct']:,} states, {spark['depth']} levels, digest {spark['graph_digest']}, {spark['verdict']}"
    )
    print(f"the same from both engines: {', '.join(SAME)}")
    print(f"Spark {seconds[0]:.0f} s, embedded with one thread {seconds[1]:.0f} s: {seconds[1] / seconds[0]:.2f}x")
    print(f"{disk / spark['distinct']:.0f} bytes of Parquet a state of {spark['record_bytes']} bytes")
    print(f"peak memory: Spark's driver {spark['peak_rss_bytes'] >> 20} MiB, embedded {one['peak_rss_bytes'] >> 20} MiB")


if __name__ == "__main__":
    main()
