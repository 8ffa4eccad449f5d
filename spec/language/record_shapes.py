"""Which expressions of a function are records that are not in the state, of which classes, and which places they were given."""

from __future__ import annotations

import ast
from typing import Any

from kafka_spec.spec.language import domain
from kafka_spec.spec.language.record_names import RecordNames, RecordShape, class_returned, meaning
from kafka_spec.spec.language.shorthand import Refuse
from kafka_spec.spec.language.words import Function, is_function


class ShapeReader:
    """Reads the shapes of records in one function. `records` are its names that hold one, `named` the classes that it names."""

    def __init__(self, tree: ast.FunctionDef, function: Function, refuse: Refuse) -> None:
        self.function, self.refuse = function, refuse
        self.named: dict[str, Any] = {}
        self.records: dict[str, RecordNames] = dict(getattr(function, "__records__", {}))
        self.stored = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
        self.stored |= {one.arg for one in tree.args.args}

    def meaning(self, name: str) -> Any:
        """Return what a global name means; None if it means nothing, or is a local one."""
        return None if name in self.stored else meaning(self.function, name)

    def class_of(self, node: ast.expr) -> type | None:
        """Return the class of the record that an expression makes or names; None if it is none."""
        shape = self.shape_of(node)
        return None if shape is None else shape.cls

    def places_of(self, node: ast.expr) -> tuple[str, ...]:
        """Return the fields of the record that an expression makes or names which hold no number, and are given."""
        shape = self.shape_of(node)
        return () if shape is None else shape.places

    def shape_of(self, node: ast.expr) -> RecordShape | None:
        """Return the shape of the record that an expression makes or names; None if it is none."""
        match node:
            case ast.Name(id=name):
                return self.records[name].shape if name in self.records else None
            case ast.IfExp(body=yes, orelse=no):
                shape = self.shape_of(yes)
                if self.class_of(no) is not (None if shape is None else shape.cls):
                    self.refuse(node, "one branch is a record that is not in the state, the other none, or another one")
                if places := self.places_of(yes) or self.places_of(no):
                    self.refuse(node, f"{places[0]} is a place in the state; write an `if` statement that stores either record")
                return shape
            case ast.Call(func=ast.Name(id=name)):
                meant = self.meaning(name)
                if domain.is_record_class(meant):
                    self.named[name] = meant
                    return RecordShape(meant, places_given(node, meant))
                cls = class_returned(meant) if is_function(meant) else None
                return None if cls is None else RecordShape(cls)
        return None


def places_given(node: ast.Call, cls: type) -> tuple[str, ...]:
    """Return the fields that hold no number and that a record is given where it is made."""
    given = {*(domain.positional_fields(cls) or ())[: len(node.args)], *(one.arg for one in node.keywords)}
    return tuple(field for field in domain.fields_of(cls) if field in given and field not in domain.number_fields(cls))
