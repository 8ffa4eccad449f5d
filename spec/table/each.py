"""A claim about each of several things, such as the partitions of a topic: stated for one of them, judged for all.

A predicate of one partition becomes one of the state, which asks it of every partition, or of some. That function is made here, as
text of the language. So whoever reads, compiles, explains or exports a property meets an ordinary function, and knows nothing of
this. It stands on the line of the function that it asks.
"""

from __future__ import annotations

import ast
import functools
from collections.abc import Iterable, Mapping

from kafka_spec.spec.domain import Bound, SpecError
from kafka_spec.spec.lint import Function, source_of
from kafka_spec.spec.source import made
from kafka_spec.spec.table.functions import Name

Things = Mapping[Name, Bound]
"""The parameters that name one of the things, and the bounds that say how many there are."""


def in_some(function: Function, things: Things) -> Function:
    """Return a function of the state that holds if this one holds for some of the things; itself, if it is about none."""
    if not _is_about(function, things):
        return function
    return _asking(function, None, tuple(things.items()), until=True)


def in_each(predicate: Function, when: Function | None, things: Things) -> Function:
    """Return a function of the state that holds if the predicate holds for each of the things, of those that meet `when`."""
    if not _is_about(predicate, things):
        return predicate
    of_each = when if when is not None and _is_about(when, things) else None
    return _asking(predicate, of_each, tuple(things.items()), until=False)


def check_things(things: Things, functions: Iterable[Function], where: str) -> None:
    """Refuse what names no things, and things that none of the functions is about."""
    if not isinstance(things, Mapping) or not all(isinstance(bound, Bound) for bound in things.values()):
        says = 'write each={"partition": PARTITIONS}, names of parameters with their bounds'
        raise SpecError(f"{where}: each is {things!r}; {says}")
    if not any(_is_about(function, things) for function in functions):
        raise SpecError(f"{where}: no function takes {' or '.join(things)}; let one take that parameter, or drop `each`")


def _is_about(function: Function, things: Things) -> bool:
    """Whether a function takes one of the parameters that name the things."""
    return not set(things).isdisjoint(source_of(function).parameters)


@functools.cache
def _asking(function: Function, when: Function | None, things: tuple[tuple[Name, Bound], ...], *, until: bool) -> Function:
    """Return the function that asks about one thing after the other until the answer is true, or until it is false.

    Asked for again, it is the same function.
    """
    asked = {one.__name__: one for one in ((function,) if when is None else (when, function))}
    if when is not None and len(asked) == 1:
        raise SpecError(f"{source_of(function).place}: predicate and antecedent are both named {function.__name__}; rename one")
    names = [name for name, _ in things]
    taken = {argument.arg: ast.unparse(argument) for one in asked.values() for argument in source_of(one).tree.args.args}
    taken = {name: text for name, text in taken.items() if name not in (*names, "k")} | {"k": taken.get("k", "k: Constants")}
    calls = [f"{name}({', '.join(source_of(one).parameters)})" for name, one in asked.items()]
    test = " and ".join([*calls[:-1], calls[-1] if until else f"not {calls[-1]}"])
    says = f"In {'some' if until else 'each'} {' and '.join(names)}: {_as_clause(function)}"
    lines = [
        f"def {function.__name__}_{'somewhere' if until else 'everywhere'}({', '.join(taken.values())}) -> bool:",
        f"    {says!r}",
        *(f"{'    ' * depth}for {name} in range(k.{bound.name}):" for depth, (name, bound) in enumerate(things, 1)),
        f"{'    ' * (len(things) + 1)}if {test}:",
        f"{'    ' * (len(things) + 2)}return {until}",
        f"    return {not until}",
    ]
    return _on_the_line_of(function, "\n".join(lines), asked)


def _as_clause(function: Function) -> str:
    """Return the first line of a docstring as it stands after a colon: a name such as ZooKeeper keeps its capital."""
    first = (function.__doc__ or "").strip().partition("\n")[0]
    word = first.partition(" ")[0]
    return first if any(letter.isupper() for letter in word[1:]) else first[:1].lower() + first[1:]


def _on_the_line_of(function: Function, text: str, calls: Mapping[Name, Function]) -> Function:
    """Return the function of a text; each of its lines is that of the other function."""
    (tree,) = ast.parse(text).body
    assert isinstance(tree, ast.FunctionDef)
    for node in ast.walk(tree):
        if isinstance(node, ast.stmt | ast.expr | ast.arg):
            node.lineno = node.end_lineno = function.__code__.co_firstlineno
    answer: Function = made(tree, function, {"__builtins__": function.__globals__["__builtins__"], **calls})
    return answer
