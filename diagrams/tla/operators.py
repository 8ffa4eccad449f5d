"""The operators of a module: one for each function of the spec and each trigger that is fired, after those it uses.

Depends on functions, tables and names. A function is written once for each combination of sorts of its arguments (a set of brokers
may be passed as a number); equal texts share one operator.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from kafka_spec.diagrams.tla.calls import SETS_OF_MEMBERS
from kafka_spec.diagrams.tla.expressions import CONSTANTS
from kafka_spec.diagrams.tla.frames import Frame
from kafka_spec.diagrams.tla.loops import Ends
from kafka_spec.diagrams.tla.shortened import both, choice, either, let, negated, with_changes
from kafka_spec.diagrams.tla.sorts import BOOL, INT, OUTSIDE, SET, Record, Shapes, Sort, constant_bounds, constant_name
from kafka_spec.diagrams.tla.statements import Body
from kafka_spec.diagrams.tla.terms import COMPARE, FALSE, TRUE, Access, Apply, Atom, Enumerated, Infix, Term, Tuple
from kafka_spec.diagrams.tla.text import Text
from kafka_spec.diagrams.tla.types import Types
from kafka_spec.diagrams.tla.values import Impossible, Value, Values
from kafka_spec.spec.language import source_of
from kafka_spec.spec.language.domain import machine_paths
from kafka_spec.spec.vocabulary.table import Machine, Row, Spec, SpecError, name_of


@dataclass(frozen=True)
class Operator:
    """A function as an operator.

    `written` holds the positions of the parameters that it changes, `results` the sorts of its results.
    """

    name: str
    written: tuple[int, ...]
    results: tuple[Sort, ...]


class FunctionBody(Body):
    """The body of one function: run once to find what it returns and changes, and again to write that."""

    targets: tuple[Sort, ...] = ()

    def result_sorts(self) -> list[Sort]:
        """Return the sorts of the function's results, as far as they are known."""
        return list(self.targets) or [INT] * self.source.results

    def translate(self) -> tuple[Term, tuple[Sort, ...]]:
        """Return the term of the function, and the sorts of its results."""
        returned: list[list[Value]] = []

        def note(_: Frame, values: list[Value]) -> Term:
            returned.append(values)
            return TRUE

        self.run(self.begin(), self.source.body, Ends(lambda _: TRUE, note))
        self.targets = tuple(self.common(column) for column in zip(*returned, strict=True)) if returned else ()
        if self.source.results == 0:
            self.targets = ()
        self.used = set(self.parameters.values())
        written = [name for name in self.parameters if name in self.written]

        def back(frame: Frame, values: list[Value]) -> Term:
            try:
                terms = [self.values.as_sort(value, sort).term for value, sort in zip(values, self.targets, strict=True)]
            except Impossible as error:
                self.refuse(None, f"it returns what has no form in TLA+: {error}")
            parts = [*(frame.roots[name].now() for name in written), *terms]
            return TRUE if not parts else parts[0] if len(parts) == 1 else Tuple(tuple(parts))

        truth = not written and self.targets == (BOOL,)
        term = self.run(self.begin(), self.source.body, Ends(lambda frame: back(frame, []), back, truth=truth))
        return term, self.targets

    def common(self, values: tuple[Value, ...]) -> Sort:
        """Return a common sort of several values."""
        sort = values[0].sort
        try:
            for value in values[1:]:
                sort = self.values.joined(sort, value.sort)
        except Impossible as error:
            self.refuse(None, f"it returns what has no common form: {error}")
        if sort == OUTSIDE:
            self.refuse(None, "it returns the complement of a set; return what that leaves of a set")
        return sort


class Operators:
    """Writes operators on demand."""

    def __init__(self, spec: Spec) -> None:
        self.spec = spec
        self.shapes = Shapes(spec)
        self.known = {
            name: constant_name(name) for name in (*constant_bounds(spec), *(decision.name for decision in spec.decisions))
        }
        rules = [rule.name for rule in (*spec.rules, spec.start)]
        self.text = Text([*self.known.values(), *rules, *(claim.name for claim in spec.properties)])
        self.values = Values(self.text)
        self.types = Types(self.shapes, self.text)
        self.tables = {machine.name: machine for machine in spec.machines}
        self.done: dict[tuple[Any, ...], Operator] = {}
        self.texts: dict[tuple[Any, str], Operator] = {}
        self.fired: dict[tuple[str, str, str], str] = {}
        self.root = Record(spec.state)
        self.wholes: dict[str, Sort] = {}
        """The parameters of the rule that is being written that are not numbers, and what those are."""

    def constant(self, name: str) -> Value:
        """Return a bound or a decision."""
        if name not in self.known:
            raise SpecError(f"k.{name} is neither a bound nor a decision of this spec; it has {', '.join(self.known)}")
        return Value(Atom(self.known[name]), INT)

    def operator(self, function: Callable[..., Any], sorts: tuple[Sort, ...]) -> Operator:
        """Return the operator of a function for arguments of these sorts; write it on first use."""
        key = (function, sorts)
        if key in self.done:
            return self.done[key]
        source = source_of(function)
        body = FunctionBody(self, source, sorts)
        term, results = body.translate()
        written = tuple(i for i, name in enumerate(source.parameters) if name in body.written)
        same = (function, term.flat())
        if same not in self.texts:
            want = constant_name(function.__name__)
            if want in self.text.taken:  # a rule or a property has that name
                want += "Effect" if written else "Holds" if results == (BOOL,) else "Value"
            name = self.text.global_name(want)
            self.text.define(name, list(body.parameters.values()), term, source.documentation)
            self.texts[same] = Operator(name, written, results)
        self.done[key] = self.texts[same]
        return self.done[key]

    def called(self, function: Any, state: dict[str, Term], arguments: dict[str, Term]) -> tuple[Operator, Term]:
        """Return a guard, an effect or a predicate applied to the values that its parameters name."""
        if isinstance(function, str):
            raise SpecError(f"{function} is a name without a function; bind it with Machine.bind({{name: function}})")
        source = source_of(function)
        sorts: list[Sort] = []
        terms = []
        for name, annotation in zip(source.parameters, source.annotations, strict=True):
            if name in state:
                sorts.append(self.root)
                terms.append(state[name])
            elif name == "k":
                sorts.append(CONSTANTS)
            elif name in self.wholes:
                sorts.append(self.wholes[name])
                terms.append(arguments[name])
            elif annotation in SETS_OF_MEMBERS:
                sorts.append(SET)
                terms.append(self.values.apply("SetOfBits", arguments[name]))
            else:
                sorts.append(INT)
                terms.append(arguments[name])
        operator = self.operator(function, tuple(sorts))
        return operator, Apply(operator.name, tuple(terms)) if terms else Atom(operator.name)

    def predicate(self, function: Any, state: dict[str, Term], arguments: dict[str, Term]) -> Term:
        """Return whether a guard or a predicate holds."""
        operator, term = self.called(function, state, arguments)
        return self.values.truth(Value(term, operator.results[0]))

    def after(self, functions: tuple[Any, ...], term: Term, arguments: dict[str, Term]) -> Term:
        """Return the state after effects, applied in order."""
        names: list[tuple[str, Term]] = []
        functions = tuple(function for function in functions if isinstance(function, str) or source_of(function).writes)
        for index, function in enumerate(functions):
            operator, changed = self.called(function, {"s": term}, arguments)
            if operator.results:
                changed = Access(changed, Atom("1"))
            term = changed
            if index < len(functions) - 1:
                names.append((f"s{index + 1}", term))
                term = Atom(f"s{index + 1}")
        return let(names, term)

    def before(self, sort: Record) -> str:
        """Return the operator that says which of two elements comes first; write it on first use."""
        name = f"{self.types.name(sort.cls)}Before"
        if name not in self.text.taken:
            leaves = list(self.leaves(sort, Atom("a"), Atom("b")))
            term: Term = FALSE
            for one, other in reversed(leaves):
                less = Infix("<", one, other, COMPARE)
                term = less if term == FALSE else either(less, both(Infix("=", one, other, COMPARE), term))
            self.text.define(self.text.global_name(name), ("a", "b"), term, "Whether one element comes before another.")
        return name

    def leaves(self, sort: Record, one: Term, other: Term) -> Iterator[tuple[Term, Term]]:
        """Yield the numbers by which two records are compared, in order."""
        for name in self.shapes.domains(sort.cls):
            field = self.shapes.field(sort.cls, name)
            left, right = Access(one, name), Access(other, name)
            if isinstance(field, Record):
                yield from self.leaves(field, left, right)
            elif field == SET:
                yield self.values.apply("Bits", left), self.values.apply("Bits", right)
            elif field == INT:
                yield left, right
            else:
                raise SpecError(f"a loop in order over {sort.cls.__name__} has no form in TLA+ yet: {name} is not a number")

    # machines

    def fire(self, machine: Machine, trigger: str) -> str:
        """Return the operator of a trigger: its value is the state after the trigger is fired."""
        name, table, arguments = self.fired_name("Fire", machine, trigger)
        if name not in self.text.taken:
            rows = table.rows_of(trigger)
            term: Term = Atom("s")
            for row in reversed(rows):
                term = choice(self.fit(table, row, arguments), self.outcome(table, row, arguments), term)
            summary = f"{table.name}: {trigger}, by the row that fits; nothing changes where none does."
            comment = "\n\n".join([summary, *(row_comment(row) for row in rows)])
            self.text.define(self.text.global_name(name), ["s", *table.entity], term, comment)
        return name

    def fits(self, machine: Machine, trigger: str) -> str:
        """Return the operator that says whether some row of a trigger is enabled."""
        name, table, arguments = self.fired_name("Fits", machine, trigger)
        if name not in self.text.taken:
            term = either(*(self.fit(table, row, arguments) for row in table.rows_of(trigger)))
            summary = f"{table.name}: whether {trigger} finds a row that fits."
            self.text.define(self.text.global_name(name), ["s", *table.entity], term, summary)
        return name

    def fired_name(self, prefix: str, machine: Machine, trigger: str) -> tuple[str, Machine, dict[str, Term]]:
        """Return the name of an operator of a trigger, with the table of this spec and its entity."""
        table = self.tables[machine.name]
        several = sum(trigger in other.triggers for other in self.tables.values()) > 1
        key = prefix, table.name, trigger
        if key not in self.fired:
            name = constant_name(f"{prefix}_{table.name}_{trigger}" if several else f"{prefix}_{trigger}")
            while name in self.text.taken:
                name += "Row"
            self.fired[key] = name
        return self.fired[key], table, {part: Atom(part) for part in table.entity}

    def cell(self, table: Machine, of: Term) -> tuple[str, Term]:
        """Return the place of a machine's state, as a path and as a term."""
        root = self.spec.space({bound.name: bound.low for bound in self.spec.bounds.values()}).root
        (path,) = machine_paths(root, table.name)
        entity = iter(table.entity)
        steps: list[str | Term] = [Atom(next(entity)) if part == "[]" else part for part in path]
        text = "".join(f".{step}" if isinstance(step, str) else f"[{step.flat()}]" for step in steps)
        for step in steps:
            of = Access(of, step)
        return text, of

    def fit(self, table: Machine, row: Row, arguments: dict[str, Term]) -> Term:
        """Return whether a row is enabled."""
        _, state = self.cell(table, Atom("s"))
        sources = tuple(self.text.member(source) for source in row.sources)
        guards = [self.predicate(guard, {"s": Atom("s")}, arguments) for guard in row.guards]
        unless = [negated(self.predicate(guard, {"s": Atom("s")}, arguments)) for guard in row.unless]
        inside = Infix("\\in", state, Enumerated(sources), COMPARE)
        if len(sources) == 1:
            inside = Infix("=", state, sources[0], COMPARE)
        return both(inside, *guards, *unless)

    def outcome(self, table: Machine, row: Row, arguments: dict[str, Term]) -> Term:
        """Return the state after a row has fired."""
        if row.waits_for:
            return Apply("Assert", (Atom("FALSE"), Atom(f'"row {row.trigger} of {table.name} waits for {row.waits_for}"')))
        path, _ = self.cell(table, Atom("s"))
        after = self.after(row.effects, Atom("s"), arguments)
        target = self.text.member(row.target)
        return with_changes(after, ((path, target),))


def row_comment(row: Row) -> str:
    """Return a row in words."""
    sources = ", ".join(source.name for source in row.sources)
    effects = f" / {', '.join(map(name_of, row.effects))}" if row.effects else ""
    conditions = f" [{' and '.join(row.conditions)}]" if row.conditions else ""
    return f"{sources} -> {row.target.name}{conditions}{effects}"
