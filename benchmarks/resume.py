"""Measure the verification of a state-dir: search kip_320 at some bounds, then verify every byte of the result, as --resume does.

The pages are in the system's cache, so this measures the digests; a slower disk adds its own time.
"""

from __future__ import annotations

import os
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor

from kafka_spec.model_check.exploration import Distribution
from kafka_spec.model_check.spark import engine as distributed
from kafka_spec.model_check.spark import folder as spark_folder
from kafka_spec.model_check.spark import state_dir
from kafka_spec.spec.catalogue.models import MODELS


def main(name: str = "large") -> None:
    spec = MODELS["replication/kip_320"]
    bounds = next(dict(bounds.values) for bounds in spec.bound_sets if bounds.name == name)
    with tempfile.TemporaryDirectory(prefix="kafka-spec-resume-") as folder:
        began = time.perf_counter()
        found = distributed.explore(spec, bounds, Distribution(folder, handover=1 << 60, latest=1 << 60))
        searched = time.perf_counter() - began
        storage = state_dir.Storage(folder)
        files = [reported for content in state_dir.finished_levels(storage) for reported in content["files"]]
        size = sum(reported["bytes"] for reported in files)
        print(f"{found.distinct:,} states in {len(files)} files of {size / 1e6:,.0f} MB, searched and written in {searched:.1f} s")
        for threads in sorted({1, min(spark_folder.VERIFIERS, os.cpu_count() or 1)}):
            began = time.perf_counter()
            with ThreadPoolExecutor(threads) as pool:
                list(pool.map(lambda reported: state_dir.verify_part(storage, reported), files))
            seconds = time.perf_counter() - began
            speed = f"{size / seconds / 1e6:,.0f} MB/s, {seconds / found.distinct * 1e9:.0f} ns a state"
            print(f"verified by {threads} threads in {seconds:.2f} s: {speed}")


if __name__ == "__main__":
    main(*sys.argv[1:])
