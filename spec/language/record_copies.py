"""Copies of records: `entry: Entry = copy_of(place)` is short for `entry = Entry(epoch=place.epoch, ...)`."""

from __future__ import annotations

import ast
import copy

from kafka_spec.spec.language import domain
from kafka_spec.spec.language.reading import read_only
from kafka_spec.spec.language.record_names import class_named, field_at, meaning, text_of
from kafka_spec.spec.language.shorthand import Refuse, name_at
from kafka_spec.spec.language.words import Function


def with_copies(tree: ast.FunctionDef, function: Function, refuse: Refuse) -> ast.FunctionDef:
    """Return a definition in which `entry: Entry = copy_of(place)` is `entry: Entry = Entry(epoch=place.epoch, ...)`."""
    if not any(_is_copy(node, function) for node in ast.walk(tree)):
        return tree
    twin = copy.deepcopy(tree)
    for node in ast.walk(twin):
        if isinstance(node, ast.AnnAssign | ast.Return) and _is_copy(node.value, function):
            call = node.value
            assert isinstance(call, ast.Call)
            annotation = node.annotation if isinstance(node, ast.AnnAssign) else twin.returns
            cls = class_named(function, annotation)
            if cls is None or len(call.args) != 1 or call.keywords:
                refuse(call, _COPIES)
            if len(domain.number_fields(cls)) < len(domain.fields_of(cls)):
                refuse(node, f"{cls.__name__} has fields that hold no number; copy_of() is of records whose fields all do")
            read_only(call.args[0])
            fields = [
                ast.keyword(field, ast.copy_location(field_at(copy.deepcopy(call.args[0]), field, cls), call))
                for field in domain.number_fields(cls)
            ]
            node.value = ast.copy_location(ast.Call(name_at(text_of(annotation), call), [], fields), call)
    for node in ast.walk(twin):
        if _is_copy(node, function):
            refuse(node, _COPIES)
    return twin


_COPIES = "say what is copied, `entry: Entry = copy_of(s.log[0])`, or return it from a function that is annotated `-> Entry`"


def _is_copy(node: ast.AST | None, function: Function) -> bool:
    match node:
        case ast.Call(func=ast.Name(id=name)):
            return meaning(function, name) is domain.copy_of
    return False
