"""What names of records stand for, which functions return records, and the variants of functions that take them by their fields."""

from __future__ import annotations

import ast
import copy
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from kafka_spec.spec.language import domain
from kafka_spec.spec.language.reading import RECORD_CLASS
from kafka_spec.spec.language.shorthand import every_name, free_name
from kafka_spec.spec.language.source import Unreadable, definition_of, made
from kafka_spec.spec.language.words import LOCAL_FUNCTIONS, Function, is_function, resolve


@dataclass(frozen=True)
class RecordShape:
    """The class of a record that is not in the state, and which fields are given that hold no number: places in the state."""

    cls: type
    places: tuple[str, ...] = ()


@dataclass(frozen=True)
class RecordNames:
    """What a name that holds a record stands for: a name for each field that holds a number, or a place that was given."""

    shape: RecordShape
    fields: Mapping[str, str]


def names_for(name: str, shape: RecordShape, taken: set[str]) -> RecordNames:
    """Return names for the fields of a record that are not taken, and take them."""
    fields = (*domain.number_fields(shape.cls), *shape.places)
    return RecordNames(shape, {field: free_name(f"{name}_{field}", taken) for field in fields})


def field_at(place: ast.expr, field: str, cls: type, ctx: ast.expr_context | None = None) -> ast.Attribute:
    """Return a field of a place in the state, which must be a record of the class."""
    node = ast.Attribute(place, field, ctx or ast.Load())
    setattr(node, RECORD_CLASS, cls)
    return node


def text_of(annotation: ast.expr | None) -> str:
    """Return the name that an annotation is; "" if it is something else."""
    return str(annotation.value if isinstance(annotation, ast.Constant) else getattr(annotation, "id", ""))


def meaning(function: Function, name: str) -> Any:
    """Return what a global name means in a function, None if it means nothing."""
    try:
        return resolve(function, name)
    except KeyError:
        return None


def class_named(function: Function, annotation: ast.expr | None) -> Any:
    """Return the class of records that an annotation of a function names, if it names one."""
    meant = meaning(function, text_of(annotation))
    return meant if domain.is_record_class(meant) else None


def class_returned(function: Function) -> type | None:
    """Return the class of the records that a function returns by its annotation."""
    if function.__annotations__.get("return") in _SIMPLE:
        return None
    try:
        tree = definition_of(function).tree
    except Unreadable:
        return None
    return class_named(function, tree.returns)  # type: ignore[no-any-return]


_SIMPLE = ("bool", "int", "None", bool, int, None)
"""Annotations of most functions, which return no records."""


def may_hold_records(nodes: Iterable[ast.AST], function: Function, returns: ast.expr | None) -> bool:
    """Whether a function of these nodes may take, return, make or copy records as values: few do."""
    if hasattr(function, "__records__") or class_named(function, returns) is not None:
        return True
    called = {node.func.id for node in nodes if type(node) is ast.Call and type(node.func) is ast.Name}
    for meant in (meaning(function, name) for name in called):
        if meant is domain.copy_of or domain.is_record_class(meant) or (is_function(meant) and class_returned(meant) is not None):
            return True
    return False


def variant_of(function: Function, tree: ast.FunctionDef, shapes: tuple[RecordShape | None, ...]) -> Function:
    """Return the variant of a function that takes records of some shapes by their fields."""
    known = _variants.get((function, shapes))
    if known is not None and known[0] is function.__code__:
        return known[1]
    twin = copy.deepcopy(tree)
    taken = every_name(tree)
    records, arguments = {}, []
    for argument, shape in zip(twin.args.args, shapes, strict=True):
        if shape is None:
            arguments.append(argument)
        else:
            records[argument.arg] = names = names_for(argument.arg, shape, taken)
            arguments += [ast.copy_location(ast.arg(own), argument) for own in names.fields.values()]
    twin.args.args = arguments
    twin.name = "_".join(
        [tree.name, *(part for shape in shapes if shape is not None for part in (shape.cls.__name__, *shape.places))]
    )
    variant: Function = made(twin, function, function.__globals__)
    variant.__records__ = records  # type: ignore[attr-defined]
    variant.__made_from__ = (function, function.__code__)  # type: ignore[attr-defined]
    LOCAL_FUNCTIONS[variant] = dict(LOCAL_FUNCTIONS.get(function, {}))
    _variants[function, shapes] = function.__code__, variant
    return variant


_variants: dict[tuple[Function, tuple[RecordShape | None, ...]], tuple[Any, Function]] = {}
"""Variants, with the code of the function of which each is one."""


def made_from(function: Function) -> tuple[Function, Any] | None:
    """Return the function of which this one is a variant, and the code that it had then; None if it is not a variant."""
    found: tuple[Function, Any] | None = getattr(function, "__made_from__", None)
    return found
