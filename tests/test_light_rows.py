"""Light rows: what a record holds, without the room of wide sequences; what searches keep and hash."""

from __future__ import annotations

from dataclasses import make_dataclass, replace
from typing import Any

import numpy as np
import pytest

from kafka_spec.model_check.agreement import agreed
from kafka_spec.model_check.budget import Budget
from kafka_spec.model_check.code.arrays import address
from kafka_spec.model_check.exploration import Exploration
from kafka_spec.model_check.interpreter.interpreter import Interpreter
from kafka_spec.model_check.oracle import oracle
from kafka_spec.model_check.record.layout import GROUP, Layout
from kafka_spec.model_check.search import embedded, frontier, stored_states
from kafka_spec.model_check.search.embedded import Search, explore
from kafka_spec.spec.catalogue.models import MODELS
from kafka_spec.spec.language.domain import ArrayOf, Queue, Range, field
from kafka_spec.spec.vocabulary.table import Rule, Spec
from tests import element_toys, sample_specs
from tests.sample_specs import Kind

BYTE = Range(0, 255)


@pytest.fixture
def light(monkeypatch: pytest.MonkeyPatch) -> None:
    """Small records have light rows, too."""
    monkeypatch.setattr("kafka_spec.model_check.record.layout.WIDE", 1)
    monkeypatch.setattr("kafka_spec.model_check.record.layout.ROOM", 1)


def search_of(spec: Spec) -> Search:
    """Return a search that has not begun."""
    bounds = spec.bound_values({})
    return Search(Interpreter(spec, bounds), Exploration(spec, bounds, "embedded", 1, ()), None, Budget())


def stay(s: Any) -> None:
    """Write what is there."""
    s.head[0] = s.head[0]


def spec_of(item: int, capacity: int, head: int) -> Spec:
    """Return a spec whose states have two queues with items of so many bytes, and bytes before and between them."""
    one = make_dataclass(f"Item{item}", [("bytes", list, field(ArrayOf(BYTE, item)))])
    one.__doc__ = "Some bytes."
    fields = [
        ("head", list, field(ArrayOf(BYTE, head))),
        ("first", list, field(Queue(one, capacity))),
        ("between", list, field(ArrayOf(BYTE, 3))),
        ("second", list, field(Queue(one, capacity))),
    ]
    state = make_dataclass(f"Row{item}x{capacity}x{head}", fields)
    state.__doc__ = "Two queues."
    rule = Rule("Stay", "world", "nothing changes", "a toy", (stay,))
    return Spec(f"rows of {item}", "two queues", state, (rule,), final=may_rest)


def may_rest(s: Any) -> bool:
    """Every state may rest."""
    return True


@pytest.mark.parametrize("head", [1, 8, 61])
@pytest.mark.parametrize("capacity", [1, 2, 5])
@pytest.mark.parametrize("item", [1, 7, 8, 19, 24, 31, 33, 50])
def test_a_light_row_is_what_a_record_holds(item: int, capacity: int, head: int, light: None) -> None:
    """A row has the parts that are always there and the items that are there, each padded; the record is restored from it.

    Rows and fingerprints are those that the definition gives. What a record was written over does not matter, if it was one.
    """
    search = search_of(spec_of(item, capacity, head))
    layout, random = search.layout, np.random.default_rng(item * capacity + head)
    assert len(layout.wide) == 2 and layout.row_head % GROUP == 0
    states = np.zeros((200, layout.size), np.uint8)
    for state in states:
        for begin, size in layout.always:
            state[begin : begin + size] = random.integers(0, 256, size)
        for at, place in layout.wide:
            assert place.head is not None and place.item is not None
            count = int(random.integers(0, capacity + 1))
            state[at] = count
            state[at + 1 : at + 1 + count * item] = random.integers(0, 256, count * item)
    program = search.program
    rows, sizes = program.sized_rows_of(states)

    expected = [layout.light(state.tobytes()) for state in states]
    assert rows.tobytes() == b"".join(expected)
    assert sizes.tolist() == [len(row) for row in expected]
    assert max(sizes) <= layout.most and not any(size % 8 for size in sizes)
    assert (program.records_of(rows, len(states)) == states).all()
    room = np.full((len(states) + 1, layout.size), 0x5A, np.uint8)
    assert (program.records_of(rows, len(states), room) == states).all() and (room[-1] == 0x5A).all()
    marks, fault = np.zeros(len(states), np.uint64), np.zeros(1, np.int64)
    program.form(address(states), len(states), program.seed, address(marks), address(fault))
    assert marks.tolist() == [layout.fingerprint(state.tobytes()) for state in states]
    # one state after the other is restored into the same room
    part = search.slices[0]
    part.expand(states, marks, 0)
    assert part.count == len(states) and (part.states == states).all()
    assert part.marks[: part.count].tolist() == marks.tolist()
    # whoever keeps records takes the same ones, as Spark does
    kept = stored_states.Records(layout.size, 8, 1 << 10)
    kept.take_at_once(program, part, np.arange(0, len(states), 3, dtype=np.uint32))
    assert (kept.states[: kept.count] == states[::3]).all()


def test_only_records_with_much_room_have_them() -> None:
    """Records of replication are their own rows; those of the control plane with three brokers take a third of their bytes."""
    sizes = {}
    for name, bounds in (("replication/kip_320", "large"), ("zookeeper/fixed", "three_bounce")):
        spec = MODELS[name]
        values = next(one.values for one in spec.bound_sets if one.name == bounds)
        layout = Layout(Interpreter(spec, spec.bound_values(values)).space)
        sizes[name] = bool(layout.wide), layout.row_head / layout.size
    assert sizes["replication/kip_320"][0] is False
    assert sizes["zookeeper/fixed"][0] is True and sizes["zookeeper/fixed"][1] < 1 / 3


def forget_senders(s: sample_specs.Network) -> None:
    """States that differ only in who sent a pong are the same."""
    for message in range(len(s.channel)):
        if s.channel[message].kind == Kind.PONG:
            s.channel[message].sender = 0


VIEWED = replace(sample_specs.CHANNEL, name="channel without senders", view=(forget_senders,))
SPECS = (sample_specs.CHANNEL, VIEWED, element_toys.SETS, element_toys.BAGS, element_toys.TALK)


def facts(result: Exploration) -> dict[str, Any]:
    """Return what two searches of one model have in common."""
    return agreed(result)


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("spec", SPECS, ids=lambda spec: spec.name)
def test_light_rows_change_nothing(spec: Spec, threads: int, light: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """A search of light rows is that of the oracle, to the digest, for ever or until they are packed into bits."""
    bounds = spec.bound_values({})
    expected = facts(oracle.explore(spec, bounds, everything=True))
    monkeypatch.setattr(embedded, "SMALL_LEVEL", 2)
    monkeypatch.setattr(embedded, "SLICE", 5)
    monkeypatch.setattr(stored_states, "RELEASED", 0)
    for packed_from in (1 << 30, 200, -1):
        monkeypatch.setattr(frontier, "PACK_ROWS_FROM", packed_from)
        kinds: set[str] = set()
        found = explore(
            spec, bounds, everything=True, threads=threads,
            on_level=lambda search, kinds=kinds: kinds.add(type(search.frontier).__name__),  # type: ignore[misc]
        )  # fmt: skip
        assert facts(found) == expected
        if spec.view:
            assert kinds == {"InMemory"}
        else:
            assert kinds == {"LightInMemory"} if packed_from > 200 else "PackedInMemory" in kinds
