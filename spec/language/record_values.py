"""Records as values: `Ask(term=t)` is a record that is not in the state. It can be named, returned, passed, compared and stored.

Plain Python runs a function as written. Its readers see numbers and places alone: a name that holds such a record is a name for
each of its fields, a function that returns one returns its fields, and one that takes one has a variant that takes its fields. A
field that holds no number stands for the place in the state that it was given, as the field of Python's own object does. So
neither the engines nor an export know such records.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Iterator, Sequence
from typing import Any

from kafka_spec.spec.language import domain
from kafka_spec.spec.language.reading import RECORD_CLASS, read_only
from kafka_spec.spec.language.record_copies import with_copies
from kafka_spec.spec.language.record_names import RecordNames, RecordShape, class_named, field_at, meaning, names_for, variant_of
from kafka_spec.spec.language.record_shapes import ShapeReader
from kafka_spec.spec.language.shorthand import Refuse, every_name, free_name, name_at, number_at, tuple_at
from kafka_spec.spec.language.source import Unreadable, definition_of
from kafka_spec.spec.language.words import LOCAL_FUNCTIONS, WITH_FIELDS, Function, is_function

USES = (
    "read its fields, compare it, return it, pass it to a function, or give it to what stores it: append(), add(), put(), assign()"
)


def expanded(tree: ast.FunctionDef, function: Function, refuse: Refuse) -> tuple[ast.FunctionDef, dict[str, Any]]:
    """Return a definition without records as values, and what its text names: classes, functions that take such records.

    `refuse` raises an error at a node, where a record is used as no value can be.
    """
    tree = with_copies(tree, function, refuse)
    reader = _Expanding(tree, function, refuse)
    twin = copy.deepcopy(tree)
    reader.visit(twin)
    return ast.fix_missing_locations(twin), reader.named


class _Expanding(ShapeReader, ast.NodeTransformer):
    """Expands the records of one function."""

    def __init__(self, tree: ast.FunctionDef, function: Function, refuse: Refuse) -> None:
        super().__init__(tree, function, refuse)
        self.tree, self.taken = tree, every_name(tree)
        self.result = class_named(function, tree.returns)
        assignments = [(target, value) for node in ast.walk(tree) for target, value in _assigned(node)]
        while new := [(target, shape) for target, value in assignments if (shape := self.new_record(target, value)) is not None]:
            for target, shape in new:
                self.records.setdefault(target.id, self.names(target.id, shape))
        given = set(getattr(function, "__records__", {}))
        for target, value in assignments:
            if (known := self.records.get(target.id)) is None:
                continue
            if self.class_of(value) is not known.shape.cls:
                refuse(value, f"{target.id} holds {known.shape.cls.__name__}(...) elsewhere; give this value a name of its own")
            if (places := known.shape.places or self.places_of(value)) and target.id in given:
                refuse(value, f"{target.id} has {places[0]}, which is a place in the state; give this value a name of its own")
            given.add(target.id)

    def new_record(self, target: ast.Name, value: ast.expr) -> RecordShape | None:
        """Return the shape of the record that an assignment gives to a name which has none so far."""
        return None if target.id in self.records else self.shape_of(value)

    def names(self, name: str, shape: RecordShape) -> RecordNames:
        """Return names for the fields of a record; no other name of the function is one of them."""
        return names_for(name, shape, self.taken)

    # What becomes of it

    def fields_of(self, node: ast.expr) -> dict[str, ast.expr]:
        """Return the fields of a record, as expressions: those that hold numbers, then the places that it was given."""
        match node:
            case ast.Name(id=name):
                return {field: name_at(own, node) for field, own in self.records[name].fields.items()}
            case ast.IfExp(test=test, body=yes, orelse=no):
                read_only(node)
                asked, first, second = self.visit(test), self.fields_of(yes), self.fields_of(no)
                return {field: ast.copy_location(ast.IfExp(asked, first[field], second[field]), node) for field in first}
            case ast.Call() if domain.is_record_class(cls := self.meaning(getattr(node.func, "id", ""))):
                return self.fields_given(node, cls)
        self.refuse(node, f"give {ast.unparse(node)} a name first, in a line of its own")

    def fields_given(self, node: ast.Call, cls: type) -> dict[str, ast.expr]:
        """Return the fields of a record that is made here; numbers without a value have their initial one."""
        numbers, every = domain.number_fields(cls), domain.fields_of(cls)
        positions = domain.positional_fields(cls)
        if positions is None:
            self.refuse(node, f"{cls.__name__} has a constructor of its own; a record that is a value is made of its fields")
        if len(node.args) > len(positions):
            self.refuse(node, f"{cls.__name__} has {len(positions)} fields by position")
        given = {**dict(zip(positions, node.args, strict=False)), **{str(one.arg): one.value for one in node.keywords}}
        if len(given) < len(node.args) + len(node.keywords):
            self.refuse(node, f"a field of {cls.__name__} has two values")
        for field in given:
            if field not in every:
                self.refuse(node, f"{cls.__name__} has no field {field}; it has {', '.join(every)}")
        places = [field for field in every if field in given and field not in numbers]
        if list(given) != [field for field in every if field in given] or places:
            read_only(node)
        found = {}
        for field, initial in numbers.items():
            if field in given:
                found[field] = self.visit(given[field])
            elif initial is None:
                self.refuse(node, f"the initial value of {cls.__name__}.{field} depends on a bound; give it a value")
            else:
                found[field] = number_at(initial, node)
        return {**found, **{field: self.visit(given[field]) for field in places}}

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.FunctionDef:
        node.body = [new for old in node.body for new in _statements(self.visit(old))]
        return node

    def visit_Assign(self, node: ast.Assign) -> Any:
        match node:
            case ast.Assign(targets=[ast.Name(id=name)], value=value) if name in self.records:
                return self.assigned(self.records[name], value)
        for target in node.targets:
            if self.class_of(node.value) is not None and isinstance(target, ast.Attribute | ast.Subscript):
                self.refuse(node, f"a record is copied into the state: assign({ast.unparse(target)}, {ast.unparse(node.value)})")
        return self.generic_visit(node)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> Any:
        if isinstance(node.target, ast.Name) and node.target.id in self.records and node.value is not None:
            return self.assigned(self.records[node.target.id], node.value)
        return self.generic_visit(node)

    def visit_Return(self, node: ast.Return) -> Any:
        first = self.named_first(node.value)
        cls = None if node.value is None else self.class_of(node.value)
        if cls is not self.result:
            if self.result is None:
                assert cls is not None
                self.refuse(node, f"it returns {cls.__name__}; annotate it, `def {self.tree.name}(...) -> {cls.__name__}:`")
            name, each = self.result.__name__, ", ".join(f"{one}=..." for one in domain.number_fields(self.result))
            self.refuse(node, f"by its annotation it returns {name}; return {name}({each}), or `one`, `one: {name} = copy_of(...)`")
        if cls is None or node.value is None:
            return [*first, self.generic_visit(node)]
        if places := self.places_of(node.value):
            self.refuse(node, f"{places[0]} is a place in the state, and a function returns numbers; let it store the record")
        if self.is_call(node.value):
            names = self.names("returned", RecordShape(cls))
            numbers = [name_at(one, node) for one in names.fields.values()]
            return [*first, *self.assigned(names, node.value), ast.copy_location(ast.Return(tuple_at(numbers, node)), node)]
        return [*first, ast.copy_location(ast.Return(tuple_at(list(self.fields_of(node.value).values()), node)), node)]

    def is_call(self, node: ast.expr) -> bool:
        """Whether a record is what a function returns."""
        return isinstance(node, ast.Call) and is_function(self.meaning(getattr(node.func, "id", "")))

    def assigned(self, names: RecordNames, value: ast.expr) -> list[ast.stmt]:
        """Return the statements that give the fields of a record to names: all numbers at once, then each place."""
        numbers = {field: own for field, own in names.fields.items() if field not in names.shape.places}
        given = {} if self.is_call(value) else self.fields_of(value)
        found = [ast.Assign([name_at(names.fields[field], value, ast.Store())], given[field]) for field in names.shape.places]
        if numbers:
            target = tuple_at([name_at(own, value, ast.Store()) for own in numbers.values()], value, ast.Store())
            fields = tuple_at([given[field] for field in numbers], value) if given else self.visit(value)
            found.insert(0, ast.Assign([target], fields))
        return [ast.copy_location(one, value) for one in found]

    def visit_Expr(self, node: ast.Expr) -> Any:
        first = self.named_first(node.value)
        match node.value:
            case ast.Call(func=ast.Name(id=name), args=[place, value], keywords=[]) if self.meaning(name) is domain.assign:
                if (cls := self.class_of(value)) is not None:
                    return [*first, *self.overwritten(node, place, value, cls)]
        return [*first, self.generic_visit(node)]

    def visit_If(self, node: ast.If) -> Any:
        return [*self.named_first(node.test), self.generic_visit(node)]

    def named_first(self, node: ast.expr | None) -> list[ast.stmt]:
        """Give names to the records that functions return and a call takes that is a whole line or test; return the statements.

        Such a function runs before the arguments that precede it, so neither may change the state then.
        """
        while isinstance(node, ast.UnaryOp):
            node = node.operand
        statements: list[ast.stmt] = []
        if not isinstance(node, ast.Call):
            return statements
        for place, argument in enumerate(node.args):
            if self.is_call(argument) and (cls := self.class_of(argument)) is not None:
                if not all(isinstance(one, ast.Name | ast.Constant) for one in node.args[:place]):
                    read_only(*node.args[:place], argument)
                name = free_name("given", self.taken)
                self.records[name] = self.names(name, RecordShape(cls))
                statements += self.assigned(self.records[name], argument)
                node.args[place] = name_at(name, argument)
        return statements

    def overwritten(self, node: ast.Expr, place: ast.expr, value: ast.expr, cls: type) -> list[ast.stmt]:
        """Return the statements that copy a record into the state: all is read before anything is written."""
        if len(domain.number_fields(cls)) < len(domain.fields_of(cls)):
            self.refuse(node, f"{cls.__name__} has fields that hold no number; assign to its fields, one after the other")
        read_only(place)
        read: list[ast.stmt] = []
        for part in ast.walk(place):
            if isinstance(part, ast.Subscript) and not isinstance(part.slice, ast.Name | ast.Constant):
                name = free_name("at", self.taken)
                read.append(ast.copy_location(ast.Assign([name_at(name, part, ast.Store())], self.visit(part.slice)), node))
                part.slice = name_at(name, part)
        names = self.names("assigned", RecordShape(cls))
        writes = [
            ast.Assign([field_at(copy.deepcopy(place), field, cls, ast.Store())], name_at(own, node))
            for field, own in names.fields.items()
        ]
        return [*read, *self.assigned(names, value), *(ast.copy_location(write, node) for write in writes)]

    def visit_Call(self, node: ast.Call) -> ast.expr:
        meant = self.meaning(getattr(node.func, "id", ""))
        if domain.is_record_class(meant):
            self.refuse(node, f"{meant.__name__}(...) is a record that is not in the state, and no number; {USES}")
        if meant in WITH_FIELDS and len(node.args) > 1 and self.class_of(node.args[-1]) is not None:
            setattr(node, RECORD_CLASS, self.class_of(node.args[-1]))
            if not isinstance(node.args[-1], ast.Name) and node.keywords:
                self.refuse(node, f"give {ast.unparse(node.args[-1])} a name first, or these fields in it")
            record = node.args.pop()
            fields = self.fields_of(record)
            given = {**fields, **{str(one.arg): self.visit(one.value) for one in node.keywords}}
            node.args = [self.visit(argument) for argument in node.args]
            node.keywords = [ast.keyword(field, value) for field, value in given.items()]
            return node
        shapes = [self.shape_of(argument) for argument in node.args]
        if not is_function(meant) or not any(shapes):
            return self.generic_visit(node)  # type: ignore[return-value]
        assert isinstance(node.func, ast.Name)
        self.named[node.func.id] = meant
        node.func.id = self.variant(node, meant, shapes)
        parts = [self.fields_of(one).values() if shape else [self.visit(one)] for one, shape in zip(node.args, shapes, strict=True)]
        node.args = [one for part in parts for one in part]
        return node

    def variant(self, node: ast.Call, function: Function, shapes: Sequence[RecordShape | None]) -> str:
        """Return the name, in this function, of the variant of a function that takes records of these shapes by their fields."""
        try:
            tree = definition_of(function).tree
        except Unreadable as error:
            self.refuse(node, str(error))
        if not isinstance(tree, ast.FunctionDef) or any(isinstance(one, ast.FunctionDef) for one in tree.body):
            self.refuse(node, f"{tree.name} has functions inside; pass the fields of the record to it")
        if len(tree.args.args) != len(shapes):
            self.refuse(node, f"{tree.name}() takes {len(tree.args.args)} arguments")
        found = variant_of(function, tree, tuple(shapes))
        name = found.__name__
        while name in self.taken or meaning(self.function, name) not in (None, found):
            name += "_"
        LOCAL_FUNCTIONS.setdefault(self.function, {})[name] = found
        return name

    def visit_Attribute(self, node: ast.Attribute) -> ast.expr:
        match node.value:
            case ast.Name(id=name) if (known := self.records.get(name)) is not None:
                if not isinstance(node.ctx, ast.Load):
                    self.refuse(node, f"{name} is a record that is not in the state, and does not change; make another one")
                if node.attr not in known.fields:
                    lacks = "was made without" if node.attr in domain.fields_of(known.shape.cls) else "has no field"
                    self.refuse(node, f"{name} {lacks} {node.attr}; it has {', '.join(known.fields)}")
                return name_at(known.fields[node.attr], node)
        return self.generic_visit(node)  # type: ignore[return-value]

    def visit_Compare(self, node: ast.Compare) -> ast.expr:
        sides = [node.left, *node.comparators]
        cls = next((found for side in sides if (found := self.class_of(side)) is not None), None)
        if cls is None:
            return self.generic_visit(node)  # type: ignore[return-value]
        if len(sides) > 2 or not isinstance(node.ops[0], ast.Eq | ast.NotEq):
            self.refuse(node, "two records are compared with == or !=; for `in` a set of records write has(set, record)")
        if len(domain.number_fields(cls)) < len(domain.fields_of(cls)):
            self.refuse(node, f"{cls.__name__} has fields that hold no number; compare those that matter")
        read_only(node)
        left, right = (self.compared(side, cls) for side in sides)
        equal = [ast.Compare(left[field], [ast.Eq()], [right[field]]) for field in domain.number_fields(cls)]
        every: ast.expr = equal[0] if len(equal) == 1 else ast.BoolOp(ast.And(), list(equal))
        return ast.copy_location(every if isinstance(node.ops[0], ast.Eq) else ast.UnaryOp(ast.Not(), every), node)

    def compared(self, side: ast.expr, cls: type) -> dict[str, ast.expr]:
        """Return the fields of a side of a comparison: a record, or a place in the state."""
        if (own := self.class_of(side)) not in (None, cls):
            self.refuse(side, f"{ast.unparse(side)} is a record of another class than {cls.__name__}")
        if own is not None:
            return self.fields_of(side)
        if not isinstance(side, ast.Name | ast.Attribute | ast.Subscript):
            self.refuse(side, f"{ast.unparse(side)} is compared with {cls.__name__}(...); give it a name first")
        place = self.visit(side)
        return {field: field_at(copy.deepcopy(place), field, cls) for field in domain.number_fields(cls)}

    def visit_Name(self, node: ast.Name) -> ast.expr:
        if node.id in self.records:
            self.refuse(node, f"{node.id} is a record that is not in the state; {USES}")
        return node


def _assigned(node: ast.AST) -> Iterator[tuple[ast.Name, ast.expr]]:
    """Yield the name and the value, if a node assigns one value to one name."""
    match node:
        case ast.Assign(targets=[ast.Name() as target], value=value):
            yield target, value
        case ast.AnnAssign(target=ast.Name() as target, value=ast.expr() as value):
            yield target, value


def _statements(visited: Any) -> list[ast.stmt]:
    return visited if isinstance(visited, list) else [visited]
