"""The edges of a model, from the checker's compiled code, and their replay on the implementation."""

from __future__ import annotations

import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any

from test_log import MEMORY

from impl.cluster import Cluster
from impl.replay.ensemble import ModelEnsemble
from impl.replay.projection import Projection
from impl.replay.rules import do
from model_check.embedded import Search
from model_check.exploration import Budget, Exploration
from model_check.layout import Layout, Packed, get
from model_check.oracle import World as Model
from spec.control.state import World
from spec.domain import Record, Space, show_path
from spec.domain import Sequence as Items
from spec.table import Rule, Spec


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

    def _read(self, name: str, data: bytes) -> Any:
        assert self.root.fields is not None
        place = self.root.fields[name][1]
        if name in ("controllers", "brokers"):
            assert place.item is not None
            place = place.item
        return plain(place, get(place, data, 0))


def plain(place: Packed, value: Any) -> Any:
    """Return a value without what watches its domain: the bare dataclasses, and lists."""
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


def edges(spec: Spec, bounds: Mapping[str, int], part: int = 0, parts: int = 1) -> Iterator[Edge]:
    """Yield every step of a model at bounds, or those out of every so many-th state."""
    model = Model(spec, bounds)
    search = Search(model, Exploration(spec, dict(bounds), "embedded", 1, ()), None, Budget())
    decoder = Decoder(search.layout)
    actions = {number: model.actions.decode(number) for number in range(model.actions.count)}
    search.begin()
    (some,), (shard,) = search.slices, search.shards
    while search.width:
        for begin in range(0, search.width, search.chunk):
            some.start_level()
            end = min(search.width, begin + search.chunk)
            some.expand(search.states, search.marks, begin, end)
            search.raise_fault(some)
            before, source = -1, None
            for place in range(some.count):
                number = int(some.parents[place])
                if number % parts != part:
                    continue
                if number != before:
                    before, source = number, decoder.world(search.states[number].tobytes())
                assert source is not None
                rule, binding = actions[int(some.actions[place])]
                bound = dict(zip(rule.params, binding, strict=True))
                yield Edge(source, rule, bound, decoder.world(some.states[place].tobytes()))
            shard.take([some])
        search.end_level()


@contextmanager
def stage(spec: Spec, bounds: Mapping[str, int]) -> Iterator[Projection]:
    """Yield a cluster that can be put into the states of a model."""
    with tempfile.TemporaryDirectory(dir=MEMORY) as name:
        with Cluster(Path(name), ModelEnsemble(), spec, unclean=bool(bounds["unclean"])) as cluster:
            yield Projection(cluster, bounds)


def difference(spec: Spec, bounds: Mapping[str, int], wanted: World, found: World) -> str:
    """Return where two states differ, field by field."""
    space = Space(spec.state, bounds)
    told = []
    for path, one, other in _differences(wanted, found):
        told.append(f"{show_path(path)}: the model has {one}, the implementation {other}")
    del space
    return "; ".join(told)


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
    """What a replay came to."""

    edges: Counter[str] = field(default_factory=Counter)
    """How many of each rule."""
    failures: list[str] = field(default_factory=list)


def replay(
    spec: Spec,
    bounds: Mapping[str, int],
    part: int = 0,
    parts: int = 1,
    most_failures: int = 1,
    progress: Callable[[int], object] = lambda _: None,
) -> Replayed:
    """Replay every step of a model on the implementation; stop after so many that fail."""
    result = Replayed()
    with stage(spec, bounds) as projection:
        for edge in edges(spec, bounds, part, parts):
            result.edges[edge.rule.name] += 1
            if failure := replayed(projection, spec, edge):
                result.failures.append(failure)
                if len(result.failures) >= most_failures:
                    break
    return result


def replayed(projection: Projection, spec: Spec, edge: Edge) -> str:
    """Replay one step from its loaded source; return what is wrong with it, or ""."""
    projection.load(edge.source)
    try:
        do(projection, edge.rule.name, edge.binding)
        found = projection.project(edge.target.spent, edge.target.notes)
    except Exception as error:
        projection.forget_all()
        return f"{edge}: {error!r}"
    projection.forget(edge.source, found)
    for name in ("controller", "broker", "leader", "follower"):
        if name in edge.binding:
            projection.forget_actor(edge.binding[name])
    if found == edge.target:
        return ""
    return f"{edge}: {difference(spec, projection.bounds, edge.target, found)}"
