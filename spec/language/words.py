"""The words of the language: which functions and operators there are, what a name means, and what to write instead of the rest.

What a function may look like is in body.py; what the functions of domains do is in spec/language/domain.
"""

from __future__ import annotations

import ast
import inspect
from collections.abc import Callable
from types import CodeType
from typing import Any

from kafka_spec.spec.language import domain
from kafka_spec.spec.language.tree import Gathering

Function = Callable[..., Any]

WRITERS: dict[Any, str] = {
    function: function.__name__
    for function in (
        domain.append, domain.truncate, domain.pop_first, domain.reset, domain.assign, domain.add, domain.remove, domain.put,
        domain.drop,
    )
}  # fmt: skip
"""The functions of language/domain that change a sequence, set, map, option or record; engines have their own form of each."""

READERS: dict[Any, str] = {function: function.__name__ for function in (domain.has, domain.count, domain.present, domain.value_of)}
"""The functions of spec/language/domain that look into a set, a bag or an option; engines have their own form of each."""

BUILTINS = {len: "len", min: "min", max: "max", abs: "abs"}

OVER_GENERATORS: dict[Any, Gathering] = {any: "any", all: "all", sum: "sum", min: "min", max: "max", domain.set_of: "set_of"}
"""The functions that take a generator; engines have their own form of each."""

ARGUMENTS: dict[Any, tuple[int, int]] = {
    len: (1, 1),
    abs: (1, 1),
    min: (2, 9),
    max: (2, 9),
    domain.append: (1, 2),
    domain.truncate: (2, 2),
    domain.pop_first: (1, 1),
    domain.reset: (1, 1),
    domain.assign: (2, 2),
    domain.add: (1, 2),
    domain.remove: (1, 2),
    domain.has: (1, 2),
    domain.count: (1, 2),
    domain.put: (1, 3),
    domain.drop: (1, 2),
    domain.present: (1, 1),
    domain.value_of: (1, 1),
}
"""How many arguments these take by position, at least and at most."""

WITH_FIELDS = (domain.append, domain.add, domain.remove, domain.has, domain.count, domain.put)
"""The functions that take the fields of a record by name."""

CURES: dict[type[ast.AST], str] = {
    ast.Lambda: "a lambda has no name for traces and pictures; write a named function with a docstring",
    ast.For: "loops are `for name in range(stop)`, `range(start, stop)`, or over a sequence, an array, a map or a set of records",
    ast.FunctionDef: "define a local function directly in the function's body, not in a loop or a branch",
    ast.While: "a while loop has no limit; write `for ... in range(...)`",
    ast.Expr: "this computes a value and does nothing with it; return it, or assign it to a field or a name",
    ast.Delete: "nothing is deleted here; write pop_first(), truncate(), remove() or drop()",
    ast.List: "lists do not compile; reset() or truncate(sequence, 0) empties one, append() and item by item fill it",
    ast.Assign: "give one name, field or item a value at a time",
    ast.AnnAssign: "assign without a type: `s.field = value`",
    ast.Global: "a step remembers nothing outside the state; add a field to it",
    ast.ListComp: "lists do not compile; write any(), all(), sum(), min() or max() of a generator, or a `for` loop",
    ast.SetComp: "write set_of(... for ... in ...)",
    ast.GeneratorExp: "a generator is the only argument of any(), all(), sum(), min(), max() or set_of()",
    ast.Raise: "a step cannot raise; state what must hold as a guard or a property",
    ast.Try: "a step cannot raise, so there is nothing to catch",
    ast.Assert: "state what must hold as a property",
    ast.Slice: "slices do not compile; use truncate() or a `for` loop",
    ast.Div: "fractions do not exist here; use //",
    ast.Pow: "a power is of two numbers that are written out, or constants; write a product",
    ast.Tuple: "tuples are only returned, `return a, b`, and unpacked, `a, b = f(...)`; give each value a name of its own",
    ast.Dict: "dictionaries do not compile; declare a map in the state, field(MapOf(...))",
    ast.DictComp: "dictionaries do not compile; declare a map in the state, and put() values in a `for` loop",
    ast.Set: "sets are not written out; begin with NO_MEMBERS or singleton(a), and write including(set, b)",
    ast.JoinedStr: "text does not compile; the summary of a rule says in words what a step does",
    ast.NamedExpr: "give the name its value in a line of its own",
    ast.With: "there is nothing to open or to lock in a step; it is atomic",
    ast.Is: "compare with ==",
    ast.IsNot: "compare with !=",
}

CALL_CURES: dict[str, str] = {
    "sorted": "sequences are not sorted; min(...) and max(...) of a generator find the ends",
    "list": "declare a sequence in the state, field(SequenceOf(...)), or loop over what there is",
    "set": "declare a set in the state, field(SetOf(...)); NO_MEMBERS is an empty one",
    "dict": "declare a map in the state, field(MapOf(...))",
    "enumerate": "loop over the places, `for i in range(len(items))`",
    "zip": "loop over the places, `for i in range(len(items))`",
    "reversed": "loop over the places, `for i in range(len(items))`, and read items[len(items) - 1 - i]",
    "print": "a step has no output; `kafka-spec trace --show` shows values of a trace",
    "isinstance": "types are declared, and known; there is nothing to ask",
}
"""For names that Python programmers call what to write in place of the call."""

METHOD_CURES: dict[str, str] = {
    "append": "write append(sequence, item)",
    "insert": "sequences grow at the end, append(sequence, item)",
    "pop": "write pop_first(sequence), or truncate(sequence, len(sequence) - 1)",
    "add": "write add(set, field=...) of a set of records, s.field = including(s.field, member) of one of members",
    "remove": "write remove(set, element) of a set of records, s.field = excluding(s.field, member) of one of members",
    "discard": "write remove(set, element) of a set of records, s.field = excluding(s.field, member) of one of members",
    "get": "write s.map[key] where `key in s.map`",
    "keys": "a loop over a map has its keys, `for key in s.map`",
    "values": "loop over the keys of a map, `for key in s.map`, and read s.map[key]",
    "items": "loop over the keys of a map, `for key in s.map`, and read s.map[key]",
    "copy": "assign(target, source) copies a record",
    "sort": "sequences are not sorted; min(...) and max(...) of a generator find the ends",
}
"""For methods that Python programmers call what to write in place of the call."""

MOVERS = (domain.truncate, domain.pop_first, domain.reset, domain.assign, domain.add, domain.remove, domain.put, domain.drop)
"""The writers that may move or drop items."""


LOCAL_FUNCTIONS: dict[Function, dict[str, Function]] = {}
"""For functions with local ones what the names of these mean (local_functions.py)."""


def resolve(function: Function, name: str) -> Any:
    """Return what a global name, or the name of a local function, means inside the function, or raise KeyError."""
    if (local := LOCAL_FUNCTIONS.get(function, {}).get(name)) is not None:
        return local
    if name in function.__globals__:
        return function.__globals__[name]
    builtins = function.__globals__["__builtins__"]
    return (builtins if isinstance(builtins, dict) else vars(builtins))[name]


def is_defined(function: Function, name: str) -> bool:
    """Whether a global name means something inside the function."""
    try:
        resolve(function, name)
    except KeyError:
        return False
    return True


def is_function(value: object) -> bool:
    """Whether the value is a plain function, which the language can call."""
    return inspect.isfunction(value)


def parameters_of(function: Function) -> tuple[str, ...]:
    """Return the names of the parameters of a function that was read."""
    code: CodeType = function.__code__
    return code.co_varnames[: code.co_argcount]
