"""The engine on Spark for metadata logs: each slice is judged by a task, while the driver still cuts the next ones."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor

from pyspark.sql import SparkSession

from kafka_spec.conformance.metadata.scout import validate_in_slices
from kafka_spec.conformance.metadata.slices import LogSlice, SliceResult, judge_slice
from kafka_spec.conformance.metadata.sources import Sources
from kafka_spec.conformance.metadata.validation import MetadataOutcome
from kafka_spec.conformance.outcome.spark import session_for

WAITING = 2
"""The slices for each core that are given to Spark at once."""


def run(
    sources: Sources, how: LogSlice, master: str, progress: Callable[[int], None], given: SparkSession | None = None
) -> MetadataOutcome:
    """Validate a log with Spark, in a session of its own or in a given one; `how` says how to judge.

    Raises:
        Stopped: Spark gave a slice up.
    """
    with session_for(master, given, queries=False) as spark:
        context = spark.sparkContext
        pool = ThreadPoolExecutor(max(1, int(context.defaultParallelism)) * WAITING)

        def start(one: LogSlice) -> Future[SliceResult]:
            return pool.submit(lambda: pickle.loads(context.parallelize([pickle.dumps(one)], 1).map(_judged).collect()[0]))

        try:
            return validate_in_slices(sources, how, start, progress)
        finally:
            pool.shutdown(wait=False, cancel_futures=True)


def _judged(data: bytes) -> bytes:
    return pickle.dumps(judge_slice(pickle.loads(data)))
