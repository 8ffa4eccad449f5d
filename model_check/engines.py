"""What a check asks of an engine, and the engines that answer: each is imported only when it is used."""

from __future__ import annotations

import importlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from kafka_spec.model_check.budget import Budget
from kafka_spec.model_check.exploration import Distribution, Exploration, Progress
from kafka_spec.spec.optional_dependencies import needing
from kafka_spec.spec.vocabulary.table import Property, Spec, SpecError

Engine = Literal["embedded", "oracle", "both", "spark"]
ENGINES: tuple[Engine, ...] = ("embedded", "oracle", "both", "spark")


def need(module: str) -> Any:
    """Import and return a module of `model_check/spark`, which needs the extra of this name.

    Raises:
        MissingExtra: the extra is not installed.
    """
    with needing("spark"):
        return importlib.import_module(f"kafka_spec.model_check.spark.{module}")


def refuse_unfit(engine: Engine, distribution: Distribution | None, *, traces: bool, again: bool) -> None:
    """Refuse what an engine cannot do; `again` says whether the search is to be repeated, and compared.

    Raises:
        SpecError: the message names the option to leave out.
    """
    if engine not in ENGINES:
        raise SpecError(f"engine {engine!r} is unknown; there is {', '.join(ENGINES)}")
    if engine != "embedded" and not traces:
        raise SpecError(f"--no-traces is for the embedded engine; leave out --engine {engine}, or --no-traces")
    if engine in ("oracle", "both") and distribution is not None:
        raise SpecError(f"--engine {engine} keeps no states in a folder; leave out --state-dir, or take embedded or spark")
    if engine == "embedded" and distribution is not None and again:
        raise SpecError("--state-dir keeps the states of one search; run it again by yourself instead of --verify")
    if engine == "spark" and (distribution is None or again):
        raise SpecError(
            "--engine spark keeps the states of one search: "
            + ("run it again by yourself instead of --verify" if distribution else "name a folder for them with --state-dir")
        )


@dataclass(frozen=True)
class SearchRequest:
    """A search; `check.check` documents the fields. `properties` None: all of the spec."""

    spec: Spec
    bounds: Mapping[str, int]
    properties: Sequence[Property] | None
    threads: int
    everything: bool
    deadlock: bool
    budget: Budget
    progress: Progress
    distribution: Distribution | None
    traces: bool

    def _arguments(self) -> dict[str, Any]:
        """Return the arguments that all engines have."""
        return {
            "properties": self.properties,
            "everything": self.everything,
            "deadlock": self.deadlock,
            "budget": self.budget,
            "progress": self.progress,
        }

    def by_spark(self) -> Exploration:
        """Search with Spark."""
        explored: Exploration = need("engine").explore(
            self.spec, self.bounds, self.distribution, threads=self.threads, **self._arguments()
        )
        return explored

    def by_normal_form_and_all(self, unreduced: Spec) -> Exploration:
        """Search the normal forms of the states of a spec, and all of them, which must agree."""
        with needing("check"):
            from kafka_spec.model_check.search.normal_form import compared
        return compared(
            unreduced,
            self.bounds,
            properties=self.properties,
            threads=self.threads,
            deadlock=self.deadlock,
            budget=self.budget,
            progress=self.progress,
        )

    def by_oracle(self, seed: int | None = None) -> Exploration:
        """Search in plain Python."""
        with needing("check"):
            from kafka_spec.model_check.oracle import oracle
        return oracle.explore(self.spec, self.bounds, seed=seed, **self._arguments())

    def by_embedded(self, seed: int | None = None, fresh: bool = False) -> Exploration:
        """Search with compiled code; `fresh` compiles it again, and takes the fast code at once, to compare with the quick one."""
        with needing("check"):
            from kafka_spec.model_check.search import embedded
        kept = self.distribution
        return embedded.explore(
            self.spec,
            self.bounds,
            threads=self.threads,
            seed=seed,
            fresh=fresh,
            traces=self.traces,
            state_dir=None if kept is None else kept.state_dir,
            resume=kept is not None and kept.resume,
            fast_from=0 if fresh else embedded.LARGE_SEARCH,
            **self._arguments(),
        )
