"""Loops over constants that are data become loops over places: `for a, b in EDGES` is `for place in range(len(EDGES))`.

A name for a number is given its value; a name for a tuple stands for that part of the constant. In a generator both stand for it.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Iterable

from kafka_spec.spec.language.data import Data, DataReader, meaning_in
from kafka_spec.spec.language.reading import read_only
from kafka_spec.spec.language.shorthand import Refuse, every_name, free_name, name_at
from kafka_spec.spec.language.words import Function


def over_places(tree: ast.FunctionDef, function: Function, refuse: Refuse) -> ast.FunctionDef:
    """Return a definition whose loops go over no constants; the definition itself if none does.

    `refuse` raises an error at a node.
    """
    loops = [node for node in ast.walk(tree) if isinstance(node, ast.For | ast.comprehension)]
    if not loops:
        return tree
    writer = _OverPlaces(tree, function, refuse)
    if all(writer.data.read(loop.iter) is None for loop in loops):
        return tree
    twin = copy.deepcopy(tree)
    writer.visit(twin)
    return ast.fix_missing_locations(twin)


class _OverPlaces(ast.NodeTransformer):
    """Rewrites the loops of one function."""

    def __init__(self, tree: ast.FunctionDef, function: Function, refuse: Refuse) -> None:
        self.refuse = refuse
        self.taken = every_name(tree)
        nodes = list(ast.walk(tree))
        local = {node.id for node in nodes if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
        local |= {node.arg for node in nodes if isinstance(node, ast.arg)}
        self.data = DataReader(meaning_in(function, lambda: local), refuse)

    def visit_For(self, node: ast.For) -> ast.For | list[ast.stmt]:
        if (data := self.data.read(node.iter)) is None:
            self.generic_visit(node)
            return node
        first: list[ast.stmt] = []
        for place in data.places:  # Python evaluates them once, and the body may change what they are made of
            if not isinstance(place, ast.Constant):
                name = free_name("place", self.taken)
                first.append(ast.copy_location(ast.Assign([name_at(name, place, ast.Store())], place), node))
                over = _Replacing({id(place): name_at(name, place)}).visit(node.iter)
                assert isinstance(over, ast.expr)
                node.iter = over
        counter = free_name("counted", self.taken)
        items, item = self.item(node.iter, data, counter)
        named: dict[str, ast.expr] = {}
        given: list[ast.stmt] = []
        for target, value in self.parts(node.target, item):
            data_at_target = self.data.read(value)
            assert data_at_target is not None
            if data_at_target.is_number():
                given.append(ast.copy_location(ast.Assign([name_at(target.id, target, ast.Store())], value), target))
            else:
                named[target.id] = value
        body = [_Standing(named, self.refuse).visit(statement) for statement in node.body]
        node.target, node.iter = name_at(counter, node.target, ast.Store()), _range_of(items)
        node.body = [*given, *body]
        self.generic_visit(node)
        return [*first, node]

    def visit_GeneratorExp(self, node: ast.GeneratorExp) -> ast.GeneratorExp:
        for index, loop in enumerate(node.generators):
            if (data := self.data.read(loop.iter)) is None:
                continue
            read_only(loop.iter)
            counter = free_name("counted", self.taken)
            items, item = self.item(loop.iter, data, counter)
            named = {target.id: value for target, value in self.parts(loop.target, item)}
            loop.target, loop.iter = name_at(counter, loop.target, ast.Store()), _range_of(items)
            standing = _Standing(named, self.refuse)
            loop.ifs = [standing.visit(test) for test in loop.ifs]
            for later in node.generators[index + 1 :]:
                later.iter, later.ifs = standing.visit(later.iter), [standing.visit(test) for test in later.ifs]
            node.elt = standing.visit(node.elt)
        self.generic_visit(node)
        return node

    def item(self, over: ast.expr, data: Data, counter: str) -> tuple[ast.expr, ast.expr]:
        """Return the items that a loop goes over, as a sequence, and the one at the place that is counted."""
        if not all(isinstance(leaf, tuple | list) for leaf in data.leaves()):
            over = ast.copy_location(ast.Call(name_at("tuple", over), [over], []), over)
        return over, ast.copy_location(ast.Subscript(copy.deepcopy(over), name_at(counter, over), ast.Load()), over)

    def parts(self, target: ast.expr, value: ast.expr) -> Iterable[tuple[ast.Name, ast.expr]]:
        """Yield the names of a target, each with the part of a constant that it stands for."""
        match target:
            case ast.Name():
                yield target, value
            case ast.Tuple(elts=targets):
                data = self.data.read(value)
                assert data is not None
                if odd := next(
                    (leaf for leaf in data.leaves() if not isinstance(leaf, tuple | list) or len(leaf) != len(targets)), None
                ):
                    self.refuse(target, f"{len(targets)} names for {odd!r}")
                for place, part in enumerate(targets):
                    number = ast.copy_location(ast.Constant(place), part)
                    yield from self.parts(part, ast.copy_location(ast.Subscript(copy.deepcopy(value), number, ast.Load()), part))
            case _:
                self.refuse(target, "a loop over a constant gives names to its items")


class _Standing(ast.NodeTransformer):
    """Puts parts of constants where the names are that stand for them."""

    def __init__(self, named: dict[str, ast.expr], refuse: Refuse) -> None:
        self.named, self.refuse = named, refuse

    def visit_Name(self, node: ast.Name) -> ast.expr:
        if node.id not in self.named:
            return node
        if isinstance(node.ctx, ast.Store):
            self.refuse(node, f"{node.id} stands for a part of a constant in this loop; give this value a name of its own")
        return ast.copy_location(copy.deepcopy(self.named[node.id]), node)


class _Replacing(ast.NodeTransformer):
    """Replaces nodes by others."""

    def __init__(self, others: dict[int, ast.expr]) -> None:
        self.others = others

    def visit(self, node: ast.AST) -> ast.AST:
        return self.others.get(id(node)) or self.generic_visit(node)


def _range_of(items: ast.expr) -> ast.expr:
    """Return the places of items."""
    length = ast.Call(name_at("len", items), [items], [])
    return ast.copy_location(ast.Call(name_at("range", items), [length], []), items)
