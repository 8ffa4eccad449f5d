"""The edges of a model, from the checker's compiled code, and their replay on the implementation."""

from __future__ import annotations

import tempfile
from collections import Counter
from collections.abc import Callable, Container, Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from test_log import MEMORY

from kafka_spec.conformance.kraft_replay.rules import STEPS as KRAFT_STEPS
from kafka_spec.conformance.kraft_replay.stage import KRaftStage
from kafka_spec.conformance.quorum_replay.rules import STEPS as QUORUM_STEPS
from kafka_spec.conformance.quorum_replay.stage import QuorumStage
from kafka_spec.conformance.replay.core import Edge, Replayed, Steps
from kafka_spec.conformance.replay.core import replay as replay_edges
from kafka_spec.conformance.replay.ensemble import ModelEnsemble
from kafka_spec.conformance.replay.projection import Projection
from kafka_spec.conformance.replay.rules import STEPS
from kafka_spec.impl.protocol.settings import Settings
from kafka_spec.impl.zookeeper.cluster import Cluster
from kafka_spec.model_check.budget import Budget
from kafka_spec.model_check.exploration import Exploration
from kafka_spec.model_check.interpreter.interpreter import Interpreter as Model
from kafka_spec.model_check.record.layout import Layout, Packed, get
from kafka_spec.model_check.search import embedded
from kafka_spec.model_check.search.embedded import SLICE, Search
from kafka_spec.spec.catalogue.models import MODELS
from kafka_spec.spec.kraft.state import KRaft
from kafka_spec.spec.language.domain import Array, Record
from kafka_spec.spec.quorum.state import MetadataQuorum
from kafka_spec.spec.vocabulary.table import Property, Spec
from kafka_spec.spec.zookeeper.state import World

FEW = 5
"""The number of edges of each rule that a sample has at least, if there are as many."""
COSTLY: Mapping[type, tuple[str, ...]] = {World: ("brokers", "controllers"), KRaft: (), MetadataQuorum: ()}
"""The parts of a state that a stage loads only where they differ from the state before, the costliest first."""

STAGES: Mapping[type, type[KRaftStage] | type[QuorumStage]] = {KRaft: KRaftStage, MetadataQuorum: QuorumStage}

AnyStage: TypeAlias = Projection | KRaftStage | QuorumStage


class Decoder:
    """Reads packed states as the dataclasses of the model; parts that recur are read once."""

    def __init__(self, spec: Spec, layout: Layout) -> None:
        self.root = layout.root
        self._state = spec.state
        self._costly = COSTLY[spec.state]
        self._part = lru_cache(maxsize=1 << 18)(self._read)

    def state(self, record: bytes) -> Any:
        """Return a state."""
        parts: dict[str, Any] = {}
        for name, (offset, place) in self._fields.items():
            if isinstance(place.type, Array):
                size = place.size // place.type.length
                parts[name] = [self._part(name, record[at : at + size]) for at in range(offset, offset + place.size, size)]
            else:
                parts[name] = self._part(name, record[offset : offset + place.size])
        return self._state(**parts)

    def nearness(self, record: bytes) -> bytes:
        """Return a sort key under which neighbouring states share the parts that are costly to load."""
        costly = [self._fields[name] for name in self._costly]
        return b"".join(record[offset : offset + place.size] for offset, place in costly) + (record if costly else b"")

    @property
    def _fields(self) -> Mapping[str, tuple[int, Packed]]:
        assert self.root.fields is not None
        return self.root.fields

    def _read(self, name: str, data: bytes) -> Any:
        place = self._fields[name][1]
        if isinstance(place.type, Array):
            assert place.item is not None
            place = place.item
        return plain(place, get(place, data, 0))


def plain(place: Packed, value: Any) -> Any:
    """Return a value without domain checks: as plain dataclasses and lists."""
    if place.fields is not None:
        assert isinstance(place.type, Record)
        return place.type.cls(**{name: plain(field_, getattr(value, name)) for name, (_, field_) in place.fields.items()})
    if place.item is not None:
        return [plain(place.item, item) for item in value]
    return value


def edges(
    spec: Spec, bounds: Mapping[str, int], rules: Container[str] | None = None, part: int = 0, parts: int = 1, few: int = FEW
) -> Iterator[Edge[Any]]:
    """Yield every step of a model at bounds, or those of some rules, or those from every n-th state and a few of each rule."""
    model = Model(spec, bounds)
    search = Search(model, Exploration(spec, dict(bounds), "embedded", 1, ()), None, Budget())
    decoder = Decoder(spec, search.layout)
    actions = {number: model.actions.decode(number) for number in range(model.actions.count)}
    wanted = np.array([rules is None or actions[number][0].name in rules for number in actions])
    kinds = np.array([model.spec.rules.index(actions[number][0]) for number in actions])
    lacking = dict.fromkeys(set(kinds[wanted].tolist()), few)
    search.begin()
    (some,) = search.slices
    while search.width:
        search.start_level()
        some.start_level()
        level, fingerprints = search.frontier.read(0, search.width)
        for begin, end in some.over(level, fingerprints, SLICE, every=True):
            states = level[begin:end]
            search.raise_fault(some)
            found = some.actions[: some.count]
            sampled = wanted[found] & (some.parents[: some.count] % parts == part)
            for kind in [kind for kind, left in lacking.items() if left > 0 and parts > 1]:
                places_of_kind = np.flatnonzero(wanted[found] & (kinds[found] == kind))[: lacking[kind]]
                sampled[places_of_kind] = True
                lacking[kind] -= len(places_of_kind)
            chosen = np.flatnonzero(sampled)
            numbers, firsts = (list(map(int, one)) for one in np.unique(some.parents[chosen], return_index=True))
            places = dict(zip(numbers, zip(firsts, [*firsts[1:], len(chosen)], strict=False), strict=True))
            records = {number: states[number - begin].tobytes() for number in numbers}
            for number in sorted(records, key=lambda number: decoder.nearness(records[number])):
                source = decoder.state(records[number])
                for place in chosen[slice(*places[number])]:
                    rule, binding = actions[int(some.actions[place])]
                    bound = dict(zip(rule.params, binding, strict=True))
                    yield Edge(source, rule, bound, decoder.state(some.states[place].tobytes()))
            search.take([some])
        search.end_level()


def fired(spec: Spec, bounds: Mapping[str, int]) -> Counter[str]:
    """Return how often each rule fires in a model at bounds."""
    result = embedded.explore(spec, bounds, properties=())
    assert result.complete
    return +result.fired


@contextmanager
def stage(spec: Spec, bounds: Mapping[str, int]) -> Iterator[Any]:
    """Yield a cluster that can be put into the states of a model, as the world of the model has it; a fetch brings one record."""
    with tempfile.TemporaryDirectory(dir=MEMORY) as name:
        if spec.state in STAGES:
            other = STAGES[spec.state](Path(name), spec, bounds)
            try:
                yield other
            finally:
                other.end()
            return
        settings = Settings(
            unclean_leader_election_enable=bool(bounds["unclean"]),
            min_insync_replicas=bounds["min_isr"],
            replica_fetch_max_bytes=1,
            delete_topic_enable=bounds["no_deletion"] == 0,
        )
        with Cluster(Path(name), ModelEnsemble(), spec, settings=settings) as cluster:
            yield Projection(cluster, bounds)


def steps(spec: Spec) -> Steps:
    """Return the steps of a model's rules."""
    return {KRaft: KRAFT_STEPS, MetadataQuorum: QUORUM_STEPS}.get(spec.state, STEPS)


def broken(model: Model, claims: Iterable[Property], before: Any, found: Any) -> Iterator[str]:
    """Yield the names of the claims that a projected state or the step to it violates; `Recovers` is checked elsewhere."""
    for claim in model.spec.claims_at(model.bounds, claims):
        if claim.kind == "invariant" and not model.judge(claim, found):
            yield claim.name
        if claim.kind == "step invariant" and not model.judge_step(claim, before, found):
            yield claim.name


def replay(
    spec: Spec,
    bounds: Mapping[str, int],
    rules: Container[str] | None = None,
    parts: int = 1,
    few: int = FEW,
    most_failures: int = 1,
) -> Replayed:
    """Replay all or some steps of a model on the implementation, see `edges`; stop after this number of failures."""
    with stage(spec, bounds) as on:
        return replay_edges(on, steps(spec), edges(spec, bounds, rules, parts=parts, few=few), most_failures)


def check_edges(model: str, bounds: Mapping[str, int], record: Callable[[str, object], None], parts: int = 1) -> None:
    """Check that every edge of a model agrees, or those from each n-th state; record how many, for the end of the run."""
    result = replay(MODELS[model], bounds, parts=parts, few=0)
    assert result.failures == []
    assert result.edges
    record("replayed", (model, sum(result.edges.values()), result.states, 0))
