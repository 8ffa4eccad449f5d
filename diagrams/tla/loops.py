"""Loops as terms: a search becomes a quantifier or a lowest index, any other loop a Fold over the range.

Loops run over ranges. A loop carries from one iteration to the next the local names that it assigns and that have a value before
it, and the parameters that it changes.
"""

from __future__ import annotations

import abc
import ast

from kafka_spec.diagrams.tla.frames import Frame
from kafka_spec.diagrams.tla.shortened import both, choice, either, let, negated
from kafka_spec.diagrams.tla.sorts import BOOL, INT, SET, Array, Keyed, Sequence, Sort, Unordered, plus_number
from kafka_spec.diagrams.tla.statements import NOWHERE, Ends, Statements
from kafka_spec.diagrams.tla.terms import (
    COMPARE,
    EMPTY,
    FALSE,
    IMPLIES,
    RANGE,
    TRUE,
    Access,
    Apply,
    Atom,
    Bind,
    If,
    Infix,
    Junction,
    Let,
    Term,
    Tuple,
    number,
)
from kafka_spec.diagrams.tla.values import Place, Value
from kafka_spec.spec.language import domain, resolve

GOES_ON, LEFT, RETURNED = number(0), number(1), number(2)


class Body(Statements):
    """The body of a function, loops included."""

    def range(self, frame: Frame, node: ast.For) -> tuple[Term, Term]:
        """Return the first and the last index of a loop."""
        if (members := self.of_members(frame, node.iter)) is not None:
            return number(1), Apply("Cardinality", (members,))
        if not isinstance(node.iter, ast.Call):
            return self.range_of_items(frame, node.iter)
        limits = [self.values.integer(self.value(frame, bound)) for bound in node.iter.args]
        low, stop = (number(0), limits[0]) if len(limits) == 1 else limits
        return low, plus_number(stop, -1)

    def of_members(self, frame: Frame, node: ast.expr) -> Term | None:
        """Return the set of a members_of(...) or of the keys of a map, or None for other expressions."""
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            if resolve(self.source.function, node.func.id) is domain.members_of:
                return self.values.set(self.value(frame, node.args[0]))
        elif isinstance(node, ast.Name | ast.Attribute | ast.Subscript):
            value = self.value(frame, node)
            return self.keys(value) if isinstance(value.sort, Keyed) else None
        return None

    def range_of_items(self, frame: Frame, items: ast.expr) -> tuple[Term, Term]:
        """Return the first and the last index of a loop over items."""
        value = self.read(frame, self.place(frame, items))
        if isinstance(value.sort, Unordered):
            size = self.values.apply("BagSize", value.term) if value.sort.repeats else Apply("Cardinality", (value.term,))
            return number(1), size
        if isinstance(value.sort, Array):
            return number(0), plus_number(value.sort.length, -1)
        return number(1), Apply("Len", (value.term,))

    def turn(self, frame: Frame, node: ast.For, index: str = "") -> tuple[Frame, str]:
        """Return one iteration of the loop, and the name of its index."""
        assert isinstance(node.target, ast.Name)
        if (members := self.of_members(frame, node.iter)) is not None:
            inside, index, known = frame.fork(), index or self.fresh("i"), self.fresh(node.target.id)
            ascending = self.values.apply("InOrder", members, Atom("Below"))
            self.unit.text.helper("Below")
            inside.bindings.append((known, Access(ascending, Atom(index))))
            inside.locals[node.target.id] = Value(Atom(known), INT)
            return inside, index
        if not isinstance(node.iter, ast.Call):
            return self.turn_of_items(frame, node.target.id, node.iter, index)
        if node.target.id in frame.locals:
            self.refuse(node, f"{node.target.id} has a value before the loop; give the index a name of its own")
        inside, index = frame.fork(), index or self.fresh(node.target.id)
        inside.locals[node.target.id] = Value(Atom(index), INT)
        return inside, index

    def turn_of_items(self, frame: Frame, name: str, items: ast.expr, index: str) -> tuple[Frame, str]:
        """Return one iteration of a loop over items, and the name of its index: elements are taken in their order."""
        place = self.place(frame, items)
        value = self.read(frame, place)
        inside, index = frame.fork(), index or self.fresh("i")
        if isinstance(value.sort, Unordered):
            helper = "BagInOrder" if value.sort.repeats else "InOrder"
            ordered = self.values.apply(helper, value.term, Atom(self.unit.before(value.sort.item)))
            known = self.fresh(name)
            inside.bindings.append((known, Access(ordered, Atom(index))))
            self.element(inside, name, known, value.sort.item)
            return inside, index
        assert isinstance(value.sort, Array | Sequence)
        at = Place(place.root, (*place.steps, Atom(index)))
        inside.locals.pop(name, None)
        inside.locals[name] = self.bound(inside, name, self.read(inside, at))
        return inside, index

    def carried(self, frame: Frame, node: ast.For) -> tuple[list[str], list[str]]:
        """Return the local names and the parameters that a loop carries."""
        stored = {part.id for part in ast.walk(node) if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store)}
        names = [name for name in frame.locals if name in stored]
        if aliases := [name for name in names if frame.locals[name].place is not None]:
            self.refuse(node, f"{aliases[0]} is given to another record in a loop; use two names")
        before, used = set(self.written), set(self.used)
        self.written = set()
        inside = (self.members(frame, node) or self.turn(frame, node))[0]
        ends = Ends(lambda _: TRUE, lambda *_: TRUE, lambda _: TRUE, lambda _: TRUE)
        self.run(inside, node.body, ends)
        roots = [name for name in frame.roots if name in self.written]
        self.written, self.used = before | self.written, used
        return names, roots

    # loops without return

    def loop(self, frame: Frame, node: ast.For) -> None:
        """Translate a loop that does not return."""
        self.fold(frame, node, [])

    def loop_out(self, frame: Frame, node: ast.For, rest: list[ast.stmt], ends: Ends) -> Term:
        """Return the term of a loop that may return and of the statements after it."""
        names, roots = self.carried(frame, node)
        leaves = any(isinstance(part, ast.Break) for part in ast.walk(node))
        if not names and not roots and not leaves:
            return self.search(frame, node, rest, ends)
        outcome = self.fold(frame, node, self.result_sorts())
        assert outcome is not None
        status, values = outcome
        after = self.run(frame.fork(), rest, ends)
        if not any(isinstance(part, ast.Return) for part in ast.walk(node)):
            return after
        there = frame.fork()
        back = self.closed(there, ends.back(there, values))
        return choice(Infix("=", status, RETURNED, COMPARE), back, after, ends.truth)

    @abc.abstractmethod
    def result_sorts(self) -> list[Sort]:
        """Return the sorts of the function's results, as far as they are known."""

    # searches

    def search(self, frame: Frame, node: ast.For, rest: list[ast.stmt], ends: Ends) -> Term:
        """Return the term of a loop that changes nothing and may return, and of the statements after it."""
        outcomes: list[Term] = []
        members = self.members(frame, node)
        if members is not None:
            inside, index, of = members
            among = f"{index} \\in {of.flat()}"
        else:
            low, high = self.range(frame, node)
            inside, index = self.turn(frame, node)
            among = f"{index} \\in {Infix('..', low, high, RANGE).flat()}"

        def found(way: Frame, result: list[Value]) -> Term:
            outcomes.append(ends.back(way, result))
            return TRUE

        test = self.run(inside, node.body, Ends(lambda _: FALSE, found, None, lambda _: FALSE, truth=True))
        after = self.run(frame.fork(), rest, ends)
        if ends.truth and all(outcome == TRUE for outcome in outcomes):
            return either(Bind(f"\\E {among} :", test), after)
        if ends.truth and all(outcome == FALSE for outcome in outcomes):
            return both(Bind(f"\\A {among} :", never(test)), after)
        if members is not None:
            low, high = self.range(frame, node)
            inside, index = self.turn(frame, node)
            test = self.run(inside, node.body, Ends(lambda _: FALSE, found, None, lambda _: FALSE, truth=True))
            among = f"{index} \\in {Infix('..', low, high, RANGE).flat()}"
        there = self.fresh("found")
        inside, at = self.turn(frame, node, self.fresh(index))
        back = self.run(inside, node.body, Ends(lambda _: NOWHERE, ends.back, None, lambda _: NOWHERE, truth=ends.truth))
        lowest = let([(at, self.values.apply("Lowest", Atom(there)))], back)
        some = Infix("#", Atom(there), EMPTY, COMPARE)
        return Let(((there, Bind(f"{{{among} :", test, "}")),), If(some, lowest, after))

    def members(self, frame: Frame, node: ast.For) -> tuple[Frame, str, Term] | None:
        """Return one iteration of a loop over a set in any order, the name of its element, and the set; None for other loops."""
        assert isinstance(node.target, ast.Name)
        if (members := self.of_members(frame, node.iter)) is not None:
            inside, known = frame.fork(), self.fresh(node.target.id)
            inside.locals[node.target.id] = Value(Atom(known), INT)
            return inside, known, members
        if isinstance(node.iter, ast.Call):
            return None
        value = self.read(frame, self.place(frame, node.iter))
        if not isinstance(value.sort, Unordered):
            return None
        inside, known = frame.fork(), self.fresh(node.target.id)
        self.element(inside, node.target.id, known, value.sort.item)
        of = self.values.apply("BagMembers", value.term) if value.sort.repeats else value.term
        return inside, known, of

    # folds

    def fold(self, frame: Frame, node: ast.For, results: list[Sort]) -> tuple[Term, list[Value]] | None:
        """Translate a loop to a Fold; if it may leave early, return the term that says how it ended and what it returned."""
        names, roots = self.carried(frame, node)
        early = any(isinstance(part, ast.Return | ast.Break) for part in ast.walk(node))
        low, high = self.range(frame, node)
        sorts = [SET if self.gathers(frame, node, name) else frame.locals[name].sort for name in names]
        while True:  # until an iteration leaves values of the sorts that it found
            used = set(self.used)
            turn, ended = self.one_turn(frame, node, names, roots, sorts, results if early else None)
            self.used = used
            if ended == sorts:
                break
            sorts = ended
        first = [*[self.values.as_sort(frame.locals[name], sort).term for name, sort in zip(names, sorts, strict=True)]]
        first += [frame.roots[root].now() for root in roots]
        if early:
            first = [GOES_ON, *map(default, results), *first]
        start = first[0] if len(first) == 1 else Tuple(tuple(first))
        term = self.values.apply("Fold", turn, start, low, high)
        parts = self.unpack(frame, "after", term, len(first)) if len(first) > 1 else [term]
        offset = 1 + len(results) if early else 0
        for name, part, sort in zip(names, parts[offset:], sorts, strict=False):
            frame.locals[name] = self.bound(frame, name, Value(part, sort))
        for root, part in zip(roots, parts[offset + len(names) :], strict=True):
            frame.put(root, part)
            self.name_root(frame, root)
        if not early:
            return None
        return parts[0], [Value(part, sort) for part, sort in zip(parts[1:], results, strict=False)]

    def gathers(self, frame: Frame, node: ast.For, name: str) -> bool:
        """Whether a loop collects a set in a name, starting from the empty set, by bitwise operators."""
        unions = [
            part.value if isinstance(part, ast.Assign) else part.op
            for part in ast.walk(node)
            if (isinstance(part, ast.Assign) and ast.unparse(part.targets[0]) == name)
            or (isinstance(part, ast.AugAssign) and ast.unparse(part.target) == name)
        ]
        of_bits = [isinstance(one, ast.BitOr) or (isinstance(one, ast.BinOp) and isinstance(one.op, ast.BitOr)) for one in unions]
        return frame.locals[name].known == 0 and bool(of_bits) and all(of_bits)

    def one_turn(
        self, frame: Frame, node: ast.For, names: list[str], roots: list[str], sorts: list[Sort], results: list[Sort] | None
    ) -> tuple[Term, list[Sort]]:
        """Return the LAMBDA of one iteration, and the sorts that it leaves."""
        count = len(names) + len(roots) + (0 if results is None else 1 + len(results))
        single = self.fresh(names[0] if names else self.parameters[roots[0]]) if count == 1 else self.fresh("now")
        inside, index = self.turn(frame, node)
        parts: list[Term] = [Atom(single)] if count == 1 else [Access(Atom(single), number(i + 1)) for i in range(count)]
        offset = count - len(names) - len(roots)
        for name, part, sort in zip(names, parts[offset:], sorts, strict=False):
            inside.locals[name] = Value(part, sort) if count == 1 else self.bound(inside, name, Value(part, sort))
        for root, part in zip(roots, parts[offset + len(names) :], strict=True):
            inside.put(root, part)
            if count > 1:
                self.name_root(inside, root)
        left: list[Sort] = list(sorts)

        def end(status: Term, values: list[Value] | None = None) -> object:
            def make(way: Frame, returned: list[Value] | None = None) -> Term:
                terms: list[Term] = []
                if results is not None:
                    given = [self.values.as_sort(v, sort).term for v, sort in zip(returned or [], results, strict=False)]
                    terms = [status, *(given or map(default, results))]
                for i, name in enumerate(names):
                    left[i] = self.values.joined(left[i], way.locals[name].sort)
                    terms.append(self.values.as_sort(way.locals[name], left[i]).term)
                terms += [way.roots[root].now() for root in roots]
                return terms[0] if len(terms) == 1 else Tuple(tuple(terms))

            return make

        goes_on, leaves, returns = end(GOES_ON), end(LEFT), end(RETURNED)
        body = self.run(inside, node.body, Ends(goes_on, returns, leaves, goes_on))  # type: ignore[arg-type]
        if results is not None:
            body = choice(Infix("#", parts[0], GOES_ON, COMPARE), Atom(single), body)
        return Bind(f"LAMBDA {single}, {index} :", body), left


def default(sort: Sort) -> Term:
    """Return a placeholder for a result that is not known yet."""
    return FALSE if sort == BOOL else EMPTY if sort == SET else number(0)


def never(test: Term) -> Term:
    """Return the negation of a test; of a conjunction, as an implication."""
    if isinstance(test, Junction) and test.symbol == "/\\":
        return Infix("=>", both(*test.parts[:-1]), negated(test.parts[-1]), IMPLIES)
    return negated(test)
