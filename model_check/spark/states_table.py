"""The states that a distributed search has stored, as a table of Spark with a named column for each number of a state.

Depends on finished levels, not on a search.
"""

from __future__ import annotations

from typing import Any

from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

from kafka_spec.model_check.spark import state_dir as store
from kafka_spec.model_check.spark.cluster import SparkCluster
from kafka_spec.model_check.spark.package import expected, guarded, send_package
from kafka_spec.model_check.spark.state_dir import Storage
from kafka_spec.model_check.store.digest_json import Damaged
from kafka_spec.spec.vocabulary.table import SpecError


def states_of(spark: SparkSession, place: str) -> DataFrame:
    """Return the states of the finished levels in a state-dir as a table with named columns, one row each.

    The columns are `level`, `fingerprint` and `parent` (as traces print them; null for an initial state), the `rule` that first
    reached the state, then one for each number of the state: `replicas_0_hw` is replicas[0].hw. Items beyond the length of a
    sequence are null.

    Raises:
        SpecError: the state-dir holds no run.
        Damaged: a file of the state-dir is missing or damaged.
    """
    storage = Storage(place)
    about = store.run_of(storage)
    send_package(spark.sparkContext)
    base = str(storage.local) if storage.local is not None else place
    files = [f"{base}/{reported['name']}" for content in store.finished_levels(storage) for reported in content["files"]]
    if not files:
        raise SpecError(f"{place} contains no finished level yet")
    frame = spark.read.option("basePath", f"{base}/levels").parquet(*files)
    plan = {"columns": about["columns"], "rules": about["rules"], "first": about["first_actions"]}
    named = ", ".join(f"`{c['name']}` {'string' if c['texts'] else 'bigint'}" for c in about["columns"])
    ddl = f"level int, fingerprint string, parent string, rule string, {named}"
    frame = frame.select("level", "fingerprint", "parent", "action", "record")
    return frame.mapInArrow(guarded(expected(), "named", (plan,)), ddl)


def query(
    place: str, where: str | None, limit: int, master: str, given: SparkSession | None = None
) -> tuple[int, list[dict[str, Any]]]:
    """Return the number of states in a state-dir that meet an SQL condition, and the first `limit` by level and fingerprint.

    Raises:
        SpecError: the condition cannot be parsed, or the state-dir holds no run.
    """
    cluster = SparkCluster(master, given, queries=True)
    try:
        cluster.wait()
        frame = states_of(cluster.spark, place)
        frame = frame.where(where) if where else frame
        return frame.count(), [row.asDict() for row in frame.orderBy("level", "fingerprint").limit(limit).collect()]
    except Damaged as error:
        raise SpecError(str(error)) from None
    except PySparkException as error:
        lines = str(error).strip().splitlines()
        raise SpecError(f"--where {where}: {lines[0] if lines else type(error).__name__}") from None
    finally:
        cluster.close()
