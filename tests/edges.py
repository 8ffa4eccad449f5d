"""The edges of a model, from the checker's compiled code, and their replay on the implementation."""

from __future__ import annotations

import tempfile
from collections import Counter
from collections.abc import Container, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from test_log import MEMORY

from kafka_spec.conformance.replay.ensemble import ModelEnsemble
from kafka_spec.conformance.replay.projection import Projection
from kafka_spec.conformance.replay.rules import do, refuses
from kafka_spec.conformance.replay.steps import NotEnabled
from kafka_spec.impl.cluster import Cluster
from kafka_spec.impl.protocol.settings import Settings
from kafka_spec.model_check import embedded
from kafka_spec.model_check.embedded import Search
from kafka_spec.model_check.exploration import Budget, Exploration
from kafka_spec.model_check.layout import Layout, Packed, get
from kafka_spec.model_check.oracle import ExecutableSpec as Model
from kafka_spec.spec.control.state import World
from kafka_spec.spec.domain import Record, show_path
from kafka_spec.spec.table import Property, Rule, Spec

FEW = 5
"""The number of edges of each rule that a sample has at least, if there are as many."""


class Decoder:
    """Reads packed states as the dataclasses of spec.control.state; parts that recur are read once."""

    def __init__(self, layout: Layout) -> None:
        self.root = layout.root
        self._part = lru_cache(maxsize=1 << 18)(self._read)

    def world(self, record: bytes) -> World:
        """Return a state."""
        fields = self.root.fields
        assert fields is not None
        parts: dict[str, Any] = {}
        for name, (offset, place) in fields.items():
            if name in ("controllers", "brokers"):
                assert place.item is not None
                size = place.item.size
                count = place.size // size
                parts[name] = [self._part(name, record[offset + i * size : offset + (i + 1) * size]) for i in range(count)]
            else:
                parts[name] = self._part(name, record[offset : offset + place.size])
        return World(**parts)

    def nearness(self, record: bytes) -> bytes:
        """Return a sort key under which neighbouring states share the parts that are costly to load: brokers, then controllers."""
        assert self.root.fields is not None
        brokers, controllers = (self.root.fields[name][0] for name in ("brokers", "controllers"))
        return record[brokers:] + record[controllers:brokers] + record[:controllers]

    def _read(self, name: str, data: bytes) -> Any:
        assert self.root.fields is not None
        place = self.root.fields[name][1]
        if name in ("controllers", "brokers"):
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


@dataclass(frozen=True)
class Edge:
    """A step of the model."""

    source: World
    rule: Rule
    binding: Mapping[str, int]
    target: World

    def __str__(self) -> str:
        return f"{self.rule.name}({', '.join(f'{name}={value}' for name, value in self.binding.items())})"


def edges(
    spec: Spec, bounds: Mapping[str, int], rules: Container[str] | None = None, part: int = 0, parts: int = 1
) -> Iterator[Edge]:
    """Yield every step of a model at bounds, or those of some rules, or those from every n-th state and some of each rule."""
    model = Model(spec, bounds)
    search = Search(model, Exploration(spec, dict(bounds), "embedded", 1, ()), None, Budget())
    decoder = Decoder(search.layout)
    actions = {number: model.actions.decode(number) for number in range(model.actions.count)}
    wanted = np.array([rules is None or actions[number][0].name in rules for number in actions])
    kinds = np.array([model.spec.rules.index(actions[number][0]) for number in actions])
    lacking = dict.fromkeys(set(kinds[wanted].tolist()), FEW)
    search.begin()
    (some,) = search.slices
    while search.width:
        search.start_level()
        for begin in range(0, search.width, search.chunk):
            some.start_level()
            end = min(search.width, begin + search.chunk)
            states, marks = search.frontier.read(begin, end)
            some.expand(states, marks, begin)
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
                source = decoder.world(records[number])
                for place in chosen[slice(*places[number])]:
                    rule, binding = actions[int(some.actions[place])]
                    bound = dict(zip(rule.params, binding, strict=True))
                    yield Edge(source, rule, bound, decoder.world(some.states[place].tobytes()))
            search.take([some])
        search.end_level()


def fired(spec: Spec, bounds: Mapping[str, int]) -> Counter[str]:
    """Return how often each rule fires in a model at bounds."""
    result = embedded.explore(spec, bounds, properties=())
    assert result.complete
    return +result.fired


@contextmanager
def stage(spec: Spec, bounds: Mapping[str, int]) -> Iterator[Projection]:
    """Yield a cluster that can be put into the states of a model; a fetch brings one record."""
    unclean, min_isr = bool(bounds["unclean"]), bounds["min_isr"]
    settings = Settings(
        unclean_leader_election_enable=unclean,
        min_insync_replicas=min_isr,
        replica_fetch_max_bytes=1,
        delete_topic_enable=bounds["no_deletion"] == 0,
    )
    with (
        tempfile.TemporaryDirectory(dir=MEMORY) as name,
        Cluster(Path(name), ModelEnsemble(), spec, settings=settings) as cluster,
    ):
        yield Projection(cluster, bounds)


def broken(model: Model, claims: Iterable[Property], before: World, found: World) -> Iterator[str]:
    """Yield the names of the claims that a projected state or the step to it violates; `Recovers` is checked elsewhere."""
    for claim in model.spec.claims_at(model.bounds, claims):
        if claim.kind == "invariant" and not model.judge(claim, found):
            yield claim.name
        if claim.kind == "step invariant" and not model.judge_step(claim, before, found):
            yield claim.name


def difference(wanted: World, found: World) -> str:
    """Return where two states differ, field by field."""
    differences = _differences(wanted, found)
    return "; ".join(f"{show_path(path)}: the model has {one}, the implementation {other}" for path, one, other in differences)


def _differences(one: Any, other: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[tuple[Any, ...], Any, Any]]:
    if one == other:
        return
    if hasattr(one, "__dataclass_fields__") and type(one) is type(other):
        for name in one.__dataclass_fields__:
            yield from _differences(getattr(one, name), getattr(other, name), (*path, name))
    elif isinstance(one, list) and isinstance(other, list) and len(one) == len(other):
        for place, (mine, theirs) in enumerate(zip(one, other, strict=True)):
            yield from _differences(mine, theirs, (*path, place))
    else:
        yield path, one, other


@dataclass
class Replayed:
    """The result of a replay."""

    states: int = 0
    """Source states that were put on, and read back."""
    edges: Counter[str] = field(default_factory=Counter)
    """How many of each rule."""
    refused: int = 0
    """How many of them the implementation refuses, as `refuses` says, and changes nothing."""
    failures: list[str] = field(default_factory=list)


def replay(
    spec: Spec,
    bounds: Mapping[str, int],
    rules: Container[str] | None = None,
    part: int = 0,
    parts: int = 1,
    most_failures: int = 1,
) -> Replayed:
    """Replay all or some steps of a model on the implementation, see `edges`; stop after this number of failures."""
    result = Replayed()
    with stage(spec, bounds) as projection:
        source: World | None = None
        for edge in edges(spec, bounds, rules, part, parts):
            failures = []
            if edge.source is not source:
                source = edge.source
                result.states += 1
                failures.append(identity(projection, source))
            result.edges[edge.rule.name] += 1
            failures.append(replayed(projection, edge, result))
            result.failures += filter(None, failures)
            if len(result.failures) >= most_failures:
                break
    return result


def identity(projection: Projection, state: World) -> str:
    """Load a state, and read it back; return the differences, or ""."""
    projection.load(state)
    found = projection.project(state.spent, state.notes)
    return "" if found == state else f"load and project: {difference(state, found)}"


def replayed(projection: Projection, edge: Edge, result: Replayed) -> str:
    """Replay one step from its loaded source; return the difference found, or ""."""
    projection.load(edge.source)
    refused = refuses(projection, edge.rule.name, edge.binding)
    target = edge.source if refused else edge.target
    try:
        do(projection, edge.rule.name, edge.binding)
    except NotEnabled as error:
        if not refused:
            projection.forget_all()
            return f"{edge}: the implementation does not do it: {error}"
        result.refused += 1
    found = projection.project(target.spent, target.notes)
    projection.forget(edge.source, found)
    touched = [edge.binding[name] for name in ("controller", "broker") if name in edge.binding]
    for number in range(projection.brokers) if "leader" in edge.binding else touched:
        projection.forget_actor(number)  # its data outside the model's state may differ, too
    return "" if found == target else f"{edge}: {difference(target, found)}"
