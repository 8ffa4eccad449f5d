"""The text of a part of a function, as one would write it: for messages, and for the condition that decides a property."""

from __future__ import annotations

from typing import assert_never

from kafka_spec.spec.language import tree

_CHOICE, _OR, _AND, _NOT, _COMPARISON, _BITWISE_OR, _XOR, _BITWISE_AND, _SHIFT, _SUM, _PRODUCT, _SIGNED, _ATOM = range(13)
"""How tightly parts of an expression hold together."""

_STRENGTHS: dict[tree.ArithmeticSign, int] = {
    "|": _BITWISE_OR, "^": _XOR, "&": _BITWISE_AND, "<<": _SHIFT, ">>": _SHIFT, "+": _SUM, "-": _SUM, "*": _PRODUCT,
    "//": _PRODUCT, "%": _PRODUCT,
}  # fmt: skip


def text_of(node: tree.Expression, above: int = _CHOICE) -> str:
    """Return the text of an expression, in parentheses if it holds together less than `above`."""
    text, strength = _text(node)
    return f"({text})" if strength < above else text


def _text(node: tree.Expression) -> tuple[str, int]:
    """Return the text of an expression, and how tightly it holds together."""
    match node:
        case tree.Arithmetic(sign, left, right):
            at = _STRENGTHS[sign]
            return f"{text_of(left, at)} {sign} {text_of(right, at + 1)}", at
        case tree.Signed(sign, of):
            return f"{sign}{text_of(of, _SIGNED)}", _SIGNED
        case tree.Not(tree.Contained(one, among)):
            return f"{text_of(one, _COMPARISON + 1)} not in {_among(among)}", _COMPARISON
        case tree.Not(of):
            return f"not {text_of(of, _NOT)}", _NOT
        case tree.Comparison(left, others):
            rest = "".join(f" {sign} {text_of(other, _COMPARISON + 1)}" for sign, other in others)
            return text_of(left, _COMPARISON + 1) + rest, _COMPARISON
        case tree.Contained(one, among):
            return f"{text_of(one, _COMPARISON + 1)} in {_among(among)}", _COMPARISON
        case tree.Junction(every, parts):
            within = _NOT  # `a and b or c` is clear to few
            return (" and " if every else " or ").join(text_of(part, within) for part in parts), _AND if every else _OR
        case tree.Choice(test, yes, no):
            return f"{text_of(yes, _OR)} if {text_of(test, _OR)} else {text_of(no)}", _CHOICE
    return _atom(node), _ATOM


def _atom(
    node: tree.Number | tree.Constant | tree.Place | tree.Call | tree.Fire | tree.Length | tree.Extreme | tree.Gathered
    | tree.Has | tree.Count | tree.Present | tree.Lookup | tree.Primitive,
) -> str:  # fmt: skip
    """Return the text of an expression that never needs parentheses."""
    match node:
        case tree.Number(value):
            return repr(value)
        case tree.Constant(name) | tree.Local(name) | tree.Lookup(name):
            return name
        case tree.Field(of, name):
            return f"{text_of(of, _ATOM)}.{name}"
        case tree.Item(of, index):
            return f"{text_of(of, _ATOM)}[{text_of(index)}]"
        case tree.Content(option):
            return f"value_of({text_of(option)})"
        case tree.Call(_, name, arguments) | tree.Primitive(name, arguments):
            return f"{name}({_listed(arguments)})"
        case tree.Fire(state, constants, _, name, entity, trigger):
            named = f"({_listed(entity)}{',' if len(entity) == 1 else ''})"
            return f"fire({_listed((state, constants))}, {name}, {named}, {trigger!r})"
        case tree.Length(of):
            return f"len({text_of(of)})"
        case tree.Extreme(largest, parts):
            return f"{'max' if largest else 'min'}({_listed(parts)})"
        case tree.Gathered(how, item, loops):
            return f"{how}({text_of(item)}{''.join(map(_loop, loops))})"
        case tree.Has(elements, given):
            return f"has({_given(elements, given)})"
        case tree.Count(elements, given):
            return f"count({_given(elements, given)})"
        case tree.Present(option):
            return f"present({text_of(option)})"
        case _:
            assert_never(node)


def source_text(over: tree.Over) -> str:
    """Return the text of what a loop goes over."""
    match over:
        case tree.Range(tree.Number(0), stop):
            return f"range({text_of(stop)})"
        case tree.Range(start, stop):
            return f"range({_listed((start, stop))})"
        case tree.Members() | tree.Items():
            return _among(over)
        case _:
            assert_never(over)


def _among(among: tree.Values | tree.Members | tree.Items) -> str:
    match among:
        case tree.Values(parts):
            return f"({_listed(parts)}{',' if len(parts) == 1 else ''})"
        case tree.Members(of):
            return f"members_of({text_of(of)})"
        case tree.Items(of):
            return text_of(of, _COMPARISON + 1)
        case _:
            assert_never(among)


def _loop(loop: tree.Loop) -> str:
    return f" for {loop.name} in {source_text(loop.over)}{''.join(f' if {text_of(test, _OR)}' for test in loop.tests)}"


def _listed(parts: tuple[tree.Expression, ...]) -> str:
    return ", ".join(map(text_of, parts))


def _given(first: tree.Expression, given: tree.Given) -> str:
    named = [f"{name}={text_of(value)}" for name, value in given.fields]
    return ", ".join([*map(text_of, (first, *given.values)), *named])


def line_of(node: tree.Statement) -> str:
    """Return the text of a statement; of one with others inside, its first line."""
    match node:
        case tree.Assign(target, value):
            return f"{text_of(target)} = {text_of(value)}"
        case tree.Unpack(names, values):
            return f"{_listed(names)} = {_listed(values) if isinstance(values, tuple) else text_of(values)}"
        case tree.Change(target, sign, value):
            return f"{text_of(target)} {sign}= {text_of(value)}"
        case tree.If(test):
            return f"if {text_of(test)}:"
        case tree.For(name, over):
            return f"for {name} in {source_text(over)}:"
        case tree.While(test):
            return f"while {text_of(test)}:"
        case tree.Return(values):
            return f"return {_listed(values)}".rstrip()
        case tree.Break() | tree.Continue() | tree.Pass():
            return type(node).__name__.lower()
        case tree.Do(what):
            return text_of(what)
        case tree.Append(of, given):
            return f"append({_given(of, given)})"
        case tree.Truncate(of, offset):
            return f"truncate({_listed((of, offset))})"
        case tree.PopFirst(of):
            return f"pop_first({text_of(of)})"
        case tree.Reset(of):
            return f"reset({text_of(of)})"
        case tree.Overwrite(of, source):
            return f"assign({_listed((of, source))})"
        case tree.Add(of, given):
            return f"add({_given(of, given)})"
        case tree.Remove(of, given):
            return f"remove({_given(of, given)})"
        case tree.Put(of, given):
            return f"put({_given(of, given)})"
        case tree.Drop(of, given):
            return f"drop({_given(of, given)})"
        case _:
            assert_never(node)
