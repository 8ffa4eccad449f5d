"""Functions of generators as terms: quantifiers, sums, and sets by comprehension; and `in`."""

from __future__ import annotations

import ast

from kafka_spec.diagrams.tla.frames import Frame
from kafka_spec.diagrams.tla.loops import Body
from kafka_spec.diagrams.tla.shortened import both, choice
from kafka_spec.diagrams.tla.sorts import BOOL, INT, SET, Array, Record, Sequence, Unordered
from kafka_spec.diagrams.tla.terms import COMPARE, IMPLIES, RANGE, TIMES, TRUE, Apply, Atom, Bind, Enumerated, Infix, Term, number
from kafka_spec.diagrams.tla.values import Value


class GeneratorTerms(Body):
    """The translation of generators."""

    def of_generator(self, frame: Frame, node: ast.GeneratorExp, name: str) -> Value:
        """Return the value of a function of a generator."""
        if name in ("any", "all"):
            return Value(self.quantified(frame, node, 0, name == "any"), BOOL)
        if name == "sum":
            return Value(self.summed(frame, node, 0), INT)
        image = self.image(frame, node, 0)
        if name == "set_of":
            return Value(image, SET)
        return Value(self.values.apply("Lowest" if name == "min" else "Highest", image), INT)

    def clause(self, frame: Frame, clause: ast.comprehension) -> tuple[Frame, str, Term]:
        """Return one iteration of a loop of a generator, the name that it binds, and the set from which that is."""
        loop = ast.For(clause.target, clause.iter, [], [])
        if (members := self.members(frame, loop)) is not None:
            return members
        low, high = self.range(frame, loop)
        inside, index = self.turn(frame, loop)
        return inside, index, Infix("..", low, high, RANGE)

    def quantified(self, frame: Frame, node: ast.GeneratorExp, depth: int, some: bool) -> Term:
        """Return the formula of any() (`some`) or all()."""
        if depth == len(node.generators):
            return self.test(frame, node.elt)
        inside, name, of = self.clause(frame, node.generators[depth])
        tests = both(*(self.test(inside, test) for test in node.generators[depth].ifs))
        rest = self.quantified(inside, node, depth + 1, some)
        claim = both(tests, rest) if some else rest if tests == TRUE else Infix("=>", tests, rest, IMPLIES)
        sign = "\\E" if some else "\\A"
        return Bind(f"{sign} {name} \\in {of.flat()} :", self.closed(inside, claim))

    def summed(self, frame: Frame, node: ast.GeneratorExp, depth: int) -> Term:
        """Return the sum of what a generator gives; an element of a bag counts as often as it is there."""
        if depth == len(node.generators):
            return self.values.integer(self.value(frame, node.elt))
        clause = node.generators[depth]
        inside, name, of = self.clause(frame, clause)
        tests = both(*(self.test(inside, test) for test in clause.ifs))
        term = self.summed(inside, node, depth + 1)
        if not isinstance(clause.iter, ast.Call):
            value = self.read(frame, self.place(frame, clause.iter))
            if isinstance(value.sort, Unordered) and value.sort.repeats:
                term = Infix("*", self.values.apply("Copies", value.term, Atom(name)), term, TIMES)
        body = self.closed(inside, choice(tests, term, number(0)))
        return self.values.apply("Total", Bind(f"LAMBDA {name} :", body), of)

    def image(self, frame: Frame, node: ast.GeneratorExp, depth: int) -> Term:
        """Return the set of what a generator gives."""
        inside, name, of = self.clause(frame, node.generators[depth])
        tests = both(*(self.test(inside, test) for test in node.generators[depth].ifs))
        if tests != TRUE:
            of = Bind(f"{{{name} \\in {of.flat()} :", self.closed(inside, tests), "}")
        if depth < len(node.generators) - 1:
            inner = self.closed(inside, self.image(inside, node, depth + 1))
            return Apply("UNION ", (Bind("{", inner, f" : {name} \\in {of.flat()}}}"),))
        given = self.closed(inside, self.values.integer(self.value(inside, node.elt)))
        return of if given == Atom(name) else Bind("{", given, f" : {name} \\in {of.flat()}}}")

    def contained(self, frame: Frame, left: ast.expr, of: ast.expr) -> Term:
        """Return whether a value is in a tuple, a set of members, a sequence of numbers, or a set of records."""
        if isinstance(of, ast.Tuple):
            parts = tuple(self.values.integer(self.value(frame, part)) for part in of.elts)
            return Infix("\\in", self.values.integer(self.value(frame, left)), Enumerated(parts), COMPARE)
        if (members := self.of_members(frame, of)) is not None:
            return Infix("\\in", self.values.integer(self.value(frame, left)), members, COMPARE)
        items, one = self.value(frame, of), self.value(frame, left)
        if isinstance(items.sort, Unordered) and isinstance(one.sort, Record):
            there = self.values.apply("BagMembers", items.term) if items.sort.repeats else items.term
            return Infix("\\in", one.term, there, COMPARE)
        if not isinstance(items.sort, Array | Sequence):
            self.refuse(of, f"{ast.unparse(of)} has no items")
        index = self.fresh("i")
        item = Value(Atom(f"{items.term.flat()}[{index}]"), items.sort.item)
        return Bind(f"\\E {index} \\in DOMAIN {items.term.flat()} :", self.values.equal(item, one))
