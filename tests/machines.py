"""Machines for the tests of pictures and exports: random ones, and one whose guards and effects are functions."""

from __future__ import annotations

import enum
from typing import Any

from hypothesis import strategies as st

from kafka_spec.spec.vocabulary.table import Machine, Row
from kafka_spec.spec.vocabulary.table_json import Unbound

NAMES = st.from_regex(r"[a-z][a-z0-9_]{0,8}", fullmatch=True)
PROSE = st.text(st.characters(exclude_categories=("Cs",)), max_size=20)


def named(names: st.SearchStrategy[str]) -> st.SearchStrategy[Unbound]:
    """Return names with docstrings; each docstring depends only on its name, as one table requires."""

    def unbound(name: str) -> Unbound:
        made = Unbound(name)
        made.summary = f"It is {name}." if len(name) % 2 else ""
        return made

    return names.map(unbound)


@st.composite
def machines(draw: Any) -> Machine:
    """Return a machine of one to five states, all reached, whose rows never overlap."""
    count = draw(st.integers(1, 5))
    states = enum.IntEnum("RandomState", [(f"S{number}", number) for number in range(count)])  # type: ignore[misc]
    states.__doc__ = draw(PROSE).strip()
    for state in states:
        state.__doc__ = draw(PROSE).strip()
    members = list(states)
    rows = [row_of(draw, f"go_{number}", (members[number - 1],), members[number]) for number in range(1, count)]
    for number in range(draw(st.integers(0, 4))):
        sources = tuple(draw(st.lists(st.sampled_from(members), min_size=1, unique=True)))
        rows.append(row_of(draw, f"more_{number}", sources, draw(st.sampled_from(members))))
    if not rows:
        rows.append(row_of(draw, "stay", (members[0],), members[0]))
    split = draw(st.sampled_from(rows))
    first, second = Unbound("yes"), Unbound("no")
    first.summary = second.summary = ""
    rows.append(Row("split", split.sources, split.target, (first,)))
    rows.append(Row("split", split.sources, split.target, (second,), kind="initialisation"))
    entity = tuple(draw(st.lists(NAMES, max_size=2, unique=True)))
    return Machine("Random", states, members[0], tuple(rows), entity, reference=draw(PROSE), era=draw(PROSE))


def row_of(draw: Any, trigger: str, sources: tuple[enum.IntEnum, ...], target: enum.IntEnum) -> Row:
    """Return a row with some guards and effects."""
    guards = tuple(draw(st.lists(named(NAMES), max_size=2, unique=True)))
    effects = tuple(draw(st.lists(named(NAMES), max_size=2, unique=True)))
    kind = draw(st.sampled_from(("transition", "transition", "initialisation")))
    return Row(trigger, sources, target, guards, effects, draw(PROSE), kind, draw(PROSE))
