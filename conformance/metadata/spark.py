"""The engine on Spark for metadata logs: each slice is judged by a task, while the driver still cuts the next ones.

Tasks read the files, so all workers must share their storage.
"""

from __future__ import annotations

import pickle
import tempfile
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

from pyspark import SparkContext
from pyspark.sql import SparkSession

from kafka_spec.conformance.metadata.scout import validate_in_slices
from kafka_spec.conformance.metadata.slices import LogSlice, SliceResult, judge_slice
from kafka_spec.conformance.metadata.sources import Sources
from kafka_spec.conformance.metadata.validation import MetadataOutcome
from kafka_spec.model_check.spark.cluster import temporary_session
from kafka_spec.model_check.spark.failures import stopped_by_failures
from kafka_spec.model_check.spark.package import send_package

WAITING = 2
"""The slices for each core that are given to Spark at once."""


def run(
    sources: Sources, how: LogSlice, master: str, progress: Callable[[int], None], given: SparkSession | None = None
) -> MetadataOutcome:
    """Validate a log with Spark, in a session of its own or in a given one; `how` says how to judge.

    Raises:
        Stopped: Spark gave a slice up.
    """
    if given is not None:
        return _run(given.sparkContext, sources, how, progress)
    with (
        tempfile.TemporaryDirectory(prefix="kafka-spec-validate-", ignore_cleanup_errors=True) as folder,
        temporary_session(master, Path(folder), queries=False) as spark,
    ):
        return _run(spark.sparkContext, sources, how, progress)


def _run(context: SparkContext, sources: Sources, how: LogSlice, progress: Callable[[int], None]) -> MetadataOutcome:
    send_package(context)
    pool = ThreadPoolExecutor(max(1, int(context.defaultParallelism)) * WAITING)

    def start(one: LogSlice) -> Future[SliceResult]:
        return pool.submit(lambda: pickle.loads(context.parallelize([pickle.dumps(one)], 1).map(_judged).collect()[0]))

    try:
        with stopped_by_failures():
            return validate_in_slices(sources, how, start, progress)
    finally:
        pool.shutdown(wait=False, cancel_futures=True)


def _judged(data: bytes) -> bytes:
    return pickle.dumps(judge_slice(pickle.loads(data)))
