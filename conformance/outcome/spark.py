"""Where validations of both worlds run on Spark: a session of their own, or a given one, whose workers have the package.

Tasks read the files themselves, so all workers must share their storage.
"""

from __future__ import annotations

import contextlib
import tempfile
from collections.abc import Iterator
from pathlib import Path

from pyspark.sql import SparkSession

from kafka_spec.model_check.spark.cluster import temporary_session
from kafka_spec.model_check.spark.failures import stopped_by_failures
from kafka_spec.model_check.spark.package import send_package


@contextlib.contextmanager
def session_for(master: str, given: SparkSession | None, queries: bool) -> Iterator[SparkSession]:
    """Yield the given session, or one of `master` that ends with the block; `queries`: it has to plan queries, too.

    Raises:
        Stopped: Spark gave up what the block asked for.
    """
    with contextlib.ExitStack() as stack:
        spark = given
        if spark is None:
            folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="kafka-spec-validate-", ignore_cleanup_errors=True))
            spark = stack.enter_context(temporary_session(master, Path(folder), queries=queries))
        send_package(spark.sparkContext)
        stack.enter_context(stopped_by_failures())
        yield spark
