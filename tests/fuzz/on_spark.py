"""A reading of random specs by the Spark engine, from the first level on, on one session of this machine."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from kafka_spec.model_check.exploration import Distribution, Exploration
from kafka_spec.model_check.spark import engine
from kafka_spec.model_check.spark.cluster import temporary_session
from kafka_spec.spec.vocabulary.table import Spec

Explore = Callable[..., Exploration]


@contextmanager
def on_spark(folder: Path) -> Iterator[Explore]:
    """Yield a function that explores on Spark; `handover` is the width of a level, in states, from which Spark searches."""
    with temporary_session("local[2]", folder, queries=False) as session:

        def explore(spec: Spec, bounds: Mapping[str, int], handover: int = 1, **options: Any) -> Exploration:
            with tempfile.TemporaryDirectory() as place:
                distribution = Distribution(place, handover=handover, latest=handover, session=session)
                return engine.explore(spec, bounds, distribution, **options)

        yield explore
