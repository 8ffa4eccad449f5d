"""Measure the speed of `kafka-spec validate`: `python -m benchmarks.validate --lines 4_000_000`.

Writes logs of a synthetic cluster (log_cluster.py) and validates them: elections, and brokers that fail and restart, each with its
transitions, requests, receipts and metadata.
`--violations N` writes N violations into them, of each kind in turn (log_violations.py), and compares the findings. `--engine both`
validates with Spark too, and compares the outcomes.
"""

from __future__ import annotations

import argparse
import resource
import sys
import tempfile
import time
from pathlib import Path

from benchmarks.log_cluster import Cluster
from benchmarks.log_violations import violate
from kafka_spec.conformance.validate import embedded
from kafka_spec.conformance.validate.files import Source, find_sources
from kafka_spec.conformance.validate.outcome import Outcome, put_together
from kafka_spec.conformance.validate.report import plain_of


def generate(folder: Path, lines: int, partitions: int = 1000, violations: int = 0, seed: int = 0) -> list[tuple[str, str]]:
    """Write logs of about this many lines into a folder; return the violations written into them: kind, and FILE:LINE."""
    cluster = Cluster(folder, partitions, seed)
    written: list[tuple[str, str]] = []
    every = max(1, lines // (violations + 1))
    cluster.create()
    while cluster.total < lines:
        while len(written) < violations and cluster.total >= (len(written) + 1) * every:
            written.append(violate(cluster, len(written)))
        cluster.step()
    cluster.close()
    return written


def unfound(written: list[tuple[str, str]], outcome: Outcome) -> list[tuple[str, str]]:
    """Return the written violations that were not found."""
    found = {(one.kind, outcome.at(one.place)) for one in outcome.violations}
    return [one for one in written if one not in found]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--lines", type=int, default=1_000_000)
    parser.add_argument("--partitions", type=int, default=1000)
    parser.add_argument("--violations", type=int, default=0)
    parser.add_argument("--engine", choices=("embedded", "both"), default="embedded")
    parser.add_argument("--master", default="local[2]", help="for Spark (default: local[2])")
    parser.add_argument("--folder", type=Path, help="where the logs go, and stay (default: a temporary folder)")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = options.folder or Path(temporary)
        folder.mkdir(exist_ok=True)
        written = generate(folder, options.lines, options.partitions, options.violations)
        sources, files = find_sources([folder])
        wall, cpu = time.perf_counter(), time.process_time()
        outcome = put_together(embedded.run(sources, None, False, lambda _: None), files, None, "auto")
        wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        missed = unfound(written, outcome)
        print(f"{outcome.lines:,} lines, {outcome.size / 1e6:,.0f} MB, {options.partitions:,} partitions: {outcome.verdict}")
        print(
            f"embedded: {outcome.size / 1e6 / cpu:.1f} MB and {outcome.lines / cpu:,.0f} lines a second of CPU time; "
            f"{wall:.1f} s; peak {peak:,.0f} MiB"
        )
        print(f"violations: {len(written)} written, {len(missed)} of them not found, {len(outcome.violations)} reported")
        same = options.engine != "both" or _spark_agrees(sources, files, outcome, options.master)
        return 1 if missed or not same or (not written and outcome.violations) else 0


def _spark_agrees(sources: list[Source], files: list[str], expected: Outcome, master: str) -> bool:
    """Validate with Spark, and return whether the entire outcome is equal."""
    from kafka_spec.conformance.validate import spark

    wall = time.perf_counter()
    outcome = put_together(spark.run(sources, None, False, master), files, None, "auto")
    wall = time.perf_counter() - wall
    same = plain_of(outcome) == plain_of(expected)
    print(f"spark, {master}: {outcome.size / 1e6 / wall:.1f} MB/s, {wall:.1f} s; {'equal' if same else 'NOT EQUAL'}")
    return same


if __name__ == "__main__":
    sys.exit(main())
