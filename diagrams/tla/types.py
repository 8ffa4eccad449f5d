"""The allowed states, as TLA+: initial values, the type of each record, and the states within the bounds.

A limit stated as a number is part of the type, so exceeding it violates TypeInvariant. A limit that comes from a bound is not: the
type then has AtLeast(low) or Seq, and `Fits` says which values are within the bounds. A step that exceeds a bound is not taken.
"""

from __future__ import annotations

from kafka_spec.diagrams.tla.shortened import both, either
from kafka_spec.diagrams.tla.sorts import (
    Array,
    Record,
    Sequence,
    Shapes,
    Sort,
    Unordered,
    is_bound,
    limit,
    limits_steps,
    plus_number,
    spelled,
)
from kafka_spec.diagrams.tla.terms import COMPARE, RANGE, SETS, TRUE, Access, Apply, Atom, Bind, Fields, Infix, Term, number
from kafka_spec.diagrams.tla.text import Text
from kafka_spec.spec.language.domain import (
    NONE,
    ArrayOf,
    Counters,
    Domain,
    Elements,
    MemberOrNone,
    OneOf,
    Range,
    SequenceOf,
    Subset,
    domain_of,
)
from kafka_spec.spec.vocabulary.table import SpecError


class Types:
    """Writes the definitions of a state's records."""

    def __init__(self, shapes: Shapes, text: Text) -> None:
        self.shapes = shapes
        self.text = text
        self.names: dict[type, str] = {}
        self.has_fits: dict[type, bool] = {}
        self.arrays: dict[Domain, Term] = {}
        """The names of the initial values of arrays."""

    def name(self, cls: type) -> str:
        """Return the name of a record's type; write it on first use."""
        if cls not in self.names:
            domains = self.shapes.domains(cls)
            for domain in domains.values():
                self.visit(domain)
            name = self.names[cls] = self.text.global_name(cls.__name__)
            self.text.taken |= {f"{name}Type", f"{name}Fields", f"Fresh{name}", f"{name}Fits"}
            self._write(cls, name, domains)
        return self.names[cls]

    def visit(self, domain: Domain) -> None:
        """Write the types of the records within a domain."""
        domain = spelled(domain)
        if isinstance(domain, ArrayOf | SequenceOf):
            self.visit(domain_of(domain.item))
        elif isinstance(sort := self.shapes.sort(domain), Record):
            self.name(sort.cls)

    def fresh_name(self, cls: type) -> Term:
        """Return the name of a record's initial value."""
        return Atom(f"Fresh{self.name(cls)}")

    def _write(self, cls: type, name: str, domains: dict[str, Domain]) -> None:
        summary = cls.__doc__ or "" if not (cls.__doc__ or "").startswith(f"{cls.__name__}(") else ""
        fields: Term = Fields(tuple((field, self.type(domain)) for field, domain in domains.items()), ":")
        if getattr(cls, "__tags__", None) is not None:
            self.text.define(f"{name}Fields", (), fields, summary)
            fields, summary = self._tagged(cls, Atom(f"{name}Fields"), domains), "What its tag has not holds its initial value."
        self.text.define(f"{name}Type", (), fields, summary)
        fresh = Fields(tuple((field, self.fresh(domain)) for field, domain in domains.items()))
        self.text.define(f"Fresh{name}", (), fresh)
        within = both(*(self.within(domain, Access(Atom("it"), field)) for field, domain in domains.items()))
        self.has_fits[cls] = within != TRUE
        if within != TRUE:
            self.text.define(f"{name}Fits", ("it",), within, "Whether it is within the bounds.")

    def _tagged(self, cls: type, fields: Term, domains: dict[str, Domain]) -> Term:
        """Return the constraint of a tagged message: fields of other tags have their initial value."""
        tag, members = cls.__tags__  # type: ignore[attr-defined]
        claims = []
        for name, domain in domains.items():
            kinds = [kind for kind, names in members.items() if name in names]
            if name == tag or len(kinds) == len(members):
                continue
            own = domains[tag]
            assert isinstance(own, OneOf)
            named = [Infix("=", Access(Atom("it"), tag), self.text.member(own.members(kind)), COMPARE) for kind in kinds]
            claims.append(either(*named, Infix("=", Access(Atom("it"), name), self.fresh(domain), COMPARE)))
        return Bind(f"{{it \\in {fields.flat()} :", both(*claims), "}") if claims else fields

    def type(self, domain: Domain) -> Term:
        """Return the set of all values of a domain, without bounds."""
        domain = spelled(domain)
        if isinstance(domain, Subset):
            return Apply("SUBSET", (Infix("..", number(0), plus_number(limit(domain.members), -1), RANGE),))
        if isinstance(domain, Counters):
            return Atom(f"{self.name(_record(self.shapes.sort(domain)))}Type")
        if isinstance(domain, OneOf):
            values = sorted(int(member) for member in domain.members)
            return Infix("..", number(values[0]), number(values[-1]), RANGE)
        if isinstance(domain, Range):
            if is_bound(domain.high):
                self.text.helper("AtLeast")
                return Apply("AtLeast", (limit(domain.low),))
            return Infix("..", limit(domain.low), limit(domain.high), RANGE)
        if isinstance(domain, ArrayOf):
            return Bind(f"[0..{plus_number(limit(domain.length), -1).flat()} ->", self.type(domain_of(domain.item)), "]")
        if isinstance(domain, Elements):
            return self.elements_type(domain)
        if isinstance(domain, SequenceOf):
            items = Apply("Seq", (self.type(domain_of(domain.item)),))
            claims: list[Term] = []
            if not is_bound(domain.capacity):
                claims.append(Infix("<=", Apply("Len", (Atom("it"),)), limit(domain.capacity), COMPARE))
            if domain.distinct:
                self.text.helper("Distinct")
                claims.append(Apply("Distinct", (Atom("it"),)))
            return Bind(f"{{it \\in {items.flat()} :", both(*claims), "}") if claims else items
        return Atom(f"{self.name(_record(self.shapes.sort(domain)))}Type")

    def choices(self, domain: Domain) -> Term:
        """Return the set of the values of a domain, within the bounds: a set that TLC enumerates."""
        domain = spelled(domain)
        if isinstance(domain, Range):
            return Infix("..", limit(domain.low), limit(domain.high), RANGE)
        if isinstance(domain, ArrayOf):
            return Bind(f"[0..{plus_number(limit(domain.length), -1).flat()} ->", self.choices(domain_of(domain.item)), "]")
        if isinstance(domain, SequenceOf):
            self.text.helper("UpTo")
            return Apply("UpTo", (self.choices(domain_of(domain.item)), limit(domain.capacity)))
        sort = self.shapes.sort(domain)
        if not isinstance(sort, Record):
            return self.type(domain)
        fields = self.shapes.domains(sort.cls).items()
        return Fields(tuple((name, self.choices(field)) for name, field in fields), ":")

    def elements_type(self, domain: Elements) -> Term:
        """Return the set of all sets or bags of a domain, without bounds."""
        item = self.type(domain_of(domain.item))
        if domain.repeats:
            self.text.helper("AtLeast")
            item = Infix("\\X", item, Apply("AtLeast", (number(1),)), SETS)
        all_of = Apply("SUBSET", (item,))
        if is_bound(domain.capacity):
            return all_of
        room = Infix("<=", self.size(domain, Atom("it")), limit(domain.capacity), COMPARE)
        return Bind(f"{{it \\in {all_of.flat()} :", room, "}")

    def size(self, domain: Elements, of: Term) -> Term:
        """Return how many elements a set or bag has."""
        if domain.repeats:
            self.text.helper("BagSize")
        return Apply("BagSize" if domain.repeats else "Cardinality", (of,))

    def fresh(self, domain: Domain, depth: int = 0) -> Term:
        """Return the initial value of a domain."""
        domain = spelled(domain)
        if isinstance(domain, Subset):
            return Infix("..", number(0), plus_number(limit(domain.members), -1), RANGE) if domain.full else Atom("{}")
        if isinstance(domain, OneOf):
            return self.text.member(next(iter(domain.members)))
        if isinstance(domain, MemberOrNone):
            return self.text.constant("NONE", NONE)
        if isinstance(domain, Range):
            return limit(domain.low if domain.initial is None else domain.initial)
        if isinstance(domain, ArrayOf):
            index = f"{'ijklmn'[depth]} \\in 0..{plus_number(limit(domain.length), -1).flat()}"
            return Bind(f"[{index} |->", self.fresh(domain_of(domain.item), depth + 1), "]")
        if isinstance(domain, Elements):
            return Atom("{}")
        if isinstance(domain, SequenceOf):
            return Atom("<<>>")
        return self.fresh_name(_record(self.shapes.sort(domain)))

    def within(self, domain: Domain, at: Term) -> Term:
        """Return whether a value is within the bounds."""
        domain = spelled(domain)
        if isinstance(domain, Counters):
            return TRUE  # the rule's guard checks its counter, so the counter never exceeds its bound
        if isinstance(domain, Range) and is_bound(domain.high):
            return Infix("<=", at, limit(domain.high), COMPARE)
        if isinstance(domain, ArrayOf):
            inside = self.within(domain_of(domain.item), Access(at, Atom(index := self._index(at))))
            length = plus_number(limit(domain.length), -1).flat()
            return inside if inside == TRUE else Bind(f"\\A {index} \\in 0..{length} :", inside)
        if isinstance(domain, Elements):
            index = self._index(at)
            inside = self.within(domain_of(domain.item), Access(Atom(index), number(1)) if domain.repeats else Atom(index))
            every = inside if inside == TRUE else Bind(f"\\A {index} \\in {at.flat()} :", inside)
            room = Infix("<=", self.size(domain, at), limit(domain.capacity), COMPARE) if limits_steps(domain.capacity) else TRUE
            return both(room, every)
        if isinstance(domain, SequenceOf):
            inside = self.within(domain_of(domain.item), Access(at, Atom(index := self._index(at))))
            items = inside if inside == TRUE else Bind(f"\\A {index} \\in DOMAIN {at.flat()} :", inside)
            room = Infix("<=", Apply("Len", (at,)), limit(domain.capacity), COMPARE) if limits_steps(domain.capacity) else TRUE
            return both(room, items)
        sort = self.shapes.sort(domain)
        if isinstance(sort, Record):
            name = self.name(sort.cls)
            return Apply(f"{name}Fits", (at,)) if self.has_fits[sort.cls] else TRUE
        return TRUE

    def _index(self, at: Term) -> str:
        return "ijklmn"[at.flat().count("[")]

    def fresh_of(self, sort: Sort) -> Term:
        """Return the initial value of a record or a container; that of an array has a name, so that its index is in no operator."""
        if isinstance(sort, Array):
            if sort.of not in self.arrays:
                name = self.text.global_name("FreshArray")
                self.text.define(name, (), self.fresh(sort.of))
                self.arrays[sort.of] = Atom(name)
            return self.arrays[sort.of]
        if isinstance(sort, Unordered):
            return Atom("{}")
        return Atom("<<>>") if isinstance(sort, Sequence) else self.fresh_name(_record(sort))


def _record(sort: Sort) -> type:
    if not isinstance(sort, Record):
        raise SpecError(f"{sort} is not a record")
    return sort.cls
