"""The tree of a function: each construct of the language has its node, with its place, and prints as it was written."""

from __future__ import annotations

import ast
import dataclasses
import enum
import inspect
import typing
from typing import Any

import pytest

from kafka_spec.spec.language import extended_source_of, source_of, tree
from kafka_spec.spec.language.domain import (
    add,
    append,
    assign,
    count,
    drop,
    has,
    members_of,
    pop_first,
    present,
    put,
    remove,
    reset,
    truncate,
    value_of,
)
from kafka_spec.spec.language.text import line_of, source_text, text_of
from kafka_spec.spec.language.walking import walk
from kafka_spec.spec.vocabulary.table import fire
from tests.sample_specs import DOOR


class Colour(enum.IntEnum):
    """Colours."""

    RED = 1
    BLUE = 2


LIMIT = 5
COSTS = ({1: 2}, {1: 3})


def two(a: int) -> tuple[int, int]:
    """Return two values."""
    return a, a


def one(a: int) -> int:
    """Return one value."""
    return a


def every_expression(s: Any, k: Any, a: int, b: int) -> int:
    """Use each expression once."""
    x = 3
    x = LIMIT + Colour.RED
    x = a
    x = s.field.inner
    x = s.items[a + 1].inner
    x = value_of(s.option)
    x = (a + b) * 2 - a // (b % 3)
    x = a << 1 | b & ~(1 << a) ^ b >> 2
    x = -a + +b
    x = not a < b <= 3
    x = a not in (1, 2)
    x = a in members_of(s.members)
    x = a in s.sequence
    x = (a or b) and not (a and b)
    x = a if b else 0
    x = one(a)
    x = len(s.sequence)
    x = min(a, b, 2) + max(a, b)
    x = any(i < j and k.limit for i in range(3) if i != 1 for j in range(i, a))
    x = sum(1 for item in s.records if item.x == 1)
    x = has(s.records, x=1, y=a)
    x = count(s.records, s.one, x=1)
    x = present(s.option)
    x = COSTS[a][b]
    return x + k.limit


def every_statement(s: Any, k: Any, a: int) -> None:
    """Use each statement once."""
    x = a
    s.field.inner = x
    x, y = a, 1
    x, y = two(a)
    s.items[0].inner += x
    if x < y:
        pass
    elif x:
        x -= 1
    else:
        y = 2
    for i in range(a):
        if i == 2:
            break
        if i == 1:
            continue
    one(x)
    append(s.sequence, 1)
    truncate(s.sequence, 0)
    pop_first(s.sequence)
    reset(s.record)
    assign(s.record, s.other)
    add(s.records, x=1)
    remove(s.records, s.one)
    put(s.map, a, x=1)
    drop(s.map, a)
    fire(s, k, DOOR, (a,), "open")
    return


def waits(array, count):  # type: ignore[no-untyped-def]
    """Do what only functions of the engine may."""
    at = 0
    while at < count and array[at] != SENTINEL:  # noqa: F821
        prefetch(array, at + AHEAD)  # noqa: F821
        at = at + 1
    return at


def written(function: Any) -> ast.FunctionDef:
    """Return the definition of a function of this module."""
    definition = ast.parse(inspect.getsource(function)).body[0]
    assert isinstance(definition, ast.FunctionDef)
    return definition


def unfolded(alias: Any) -> set[type]:
    """Return the classes of a union."""
    return {part for each in typing.get_args(alias) for part in (unfolded(each) if typing.get_args(each) else {each})}


def test_every_node_is_made() -> None:
    """These functions use every node of the language, so the readers' unions hold none that is never made."""
    made = {
        type(node)
        for body in (
            source_of(every_expression).body, source_of(every_statement).body,
            extended_source_of(waits, {"SENTINEL": 7, "AHEAD": 2}).body,
        )
        for node in walk(*body)
    }  # fmt: skip
    classes = {value for value in vars(tree).values() if inspect.isclass(value) and issubclass(value, tree.Node)}

    assert made == classes - {tree.Node}
    assert unfolded(tree.Expression) | unfolded(tree.Statement) | unfolded(tree.Over) <= made
    assert not unfolded(tree.Expression) & unfolded(tree.Statement)


def test_expressions_print_as_they_are_written() -> None:
    """The text of an expression is what stands in the function."""
    assigned = [node.value for node in written(every_expression).body if isinstance(node, ast.Assign)]
    read = [node.value for node in source_of(every_expression).body if isinstance(node, tree.Assign)]
    assert len(assigned) == len(read) == 24
    for before, after in zip(assigned, read, strict=True):
        assert ast.dump(ast.parse(text_of(after), mode="eval").body) == ast.dump(before)
        assert text_of(after).count("(") <= ast.unparse(before).count("(")


@pytest.mark.parametrize("function", [every_expression, every_statement])
def test_nodes_stand_where_they_are_written(function: Any) -> None:
    """Each statement has the line on which it begins."""
    first = function.__code__.co_firstlineno
    statements = [node for node in ast.walk(written(function)) if isinstance(node, ast.stmt)][1:]
    lines = {node.lineno + first - 1 for node in statements if not (isinstance(node, ast.Expr) and node.lineno == 2)}
    found = [node for node in walk(*source_of(function).body) if isinstance(node, tree.Statement)]
    assert {node.line for node in found} == lines


def asks_below(a: int) -> int:
    """Ask on the line below."""
    if (  # fmt: skip
        a == 1 or a == 2
    ):
        return 1
    return 0


def test_an_if_has_the_line_of_its_test() -> None:
    """An `if` whose test begins on the next line has that line, which is the one that Python reports when it runs."""
    (asked, _) = source_of(asks_below).body
    assert asked.line == asks_below.__code__.co_firstlineno + 3


def test_names_are_resolved() -> None:
    """A name outside the function stands for its value, a function for itself, a machine for its table."""
    nodes = list(walk(*source_of(every_expression).body, *source_of(every_statement).body))
    constants = {node.name: node.value for node in nodes if isinstance(node, tree.Constant)}
    assert constants == {"LIMIT": 5, "Colour.RED": Colour.RED}
    assert {node.function for node in nodes if isinstance(node, tree.Call)} == {one, two}
    (fired,) = (node for node in nodes if isinstance(node, tree.Fire))
    assert (fired.machine, fired.name, fired.trigger) == (DOOR, "DOOR", "open")
    assert {node.name for node in nodes if isinstance(node, tree.Local)} == {"s", "k", "a", "b", "x", "y", "i", "j", "item"}


def test_the_extended_language_is_of_the_engine_alone() -> None:
    """A function of the engine may wait in a loop and call what only the compiler knows; names that it uses are numbers."""
    (_, loop, _) = extended_source_of(waits, {"SENTINEL": 7, "AHEAD": 2}).body
    assert isinstance(loop, tree.While)
    called = loop.body[0]
    assert isinstance(called, tree.Do) and text_of(called.what) == "prefetch(array, at + AHEAD)"
    assert [node.value for node in walk(loop) if isinstance(node, tree.Constant)] == [7, 2]
    with pytest.raises(Exception, match="a while loop has no limit"):
        source_of(waits)


def test_statements_print_as_they_are_written() -> None:
    """The first line of a statement is what stands in the function."""
    nodes = [node for node in walk(*source_of(every_statement).body) if isinstance(node, tree.Statement)]
    lines = inspect.getsource(every_statement).splitlines()
    first = every_statement.__code__.co_firstlineno
    for node in nodes:
        assert line_of(node) == lines[node.line - first].strip().removeprefix("el").replace('"', "'")


def test_loops_print() -> None:
    """What a loop goes over prints as it is written."""
    loops = [node.over for node in walk(*source_of(every_expression).body) if isinstance(node, tree.Loop)]
    assert list(map(source_text, loops)) == ["range(3)", "range(i, a)", "s.records"]


def test_nodes_do_not_change() -> None:
    """A tree is shared by all readers, so nobody can change it."""
    (node, *_) = source_of(one).body
    with pytest.raises(dataclasses.FrozenInstanceError):
        node.line = 3  # type: ignore[misc]
