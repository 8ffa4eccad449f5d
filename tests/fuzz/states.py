"""Random states as the text of a module: enums, bounds, records, and the state that holds them."""

from __future__ import annotations

import random

from tests.fuzz.copies import Copier
from tests.fuzz.kinds import Kind, Limit, Line, Many, Maybe, Number, Pile, Struct, Table, indented, literal, names_in

HEAD = '''"""{about}"""

import enum
from dataclasses import dataclass

from kafka_spec.spec.brokers import Assignment, Broker, BrokerOrNone, PerBroker
from kafka_spec.spec.language.domain import (
    Bound, SequenceOf, Counters, ArrayOf, Flag, MapOf, Member, MemberOrNone, OneOf, Option, Queue, Range, SetOf, StateOf,
    BagOf, add, append, assign, contains, count, drop, excluding, has, field, including, members_of, pop_first, present, put,
    remove, reset, set_of, size, tagged, truncate, value_of,
)
from kafka_spec.spec.vocabulary.table import (
    Among, BoundSet, Decision, ElementOf, ItemOf, Machine, Row, Rule, Spec, eventually, eventually_always, fire, invariant,
    leads_to, reachable, recoverable, step_invariant,
)

BASE = {base}
ROW = (3, -1, 0, 2)
NEAR = {{0: (1, 2), 1: [], 2: (0,), 3: (3, 1, 1)}}
PAIRS = ((0, 1), (1, 3), (3, 0))
GRID = ({{(0, 0): 4, (1, 2): 2}}, {{(1, 1): -1}})
NODES = Bound("nodes", 1, 3, "nodes")
LIMIT = Bound("limit", 0, 3, "how far")
EXTRA = Bound("extra", 0, 9, "what only functions read")


class Mode(enum.IntEnum):
    """What a version decides."""

    SLOW = 1
    FAST = 2
'''

WIDE = (
    (254, 258),
    (-130, -126),
    (65533, 65537),
    (-32770, -32766),
    (2**31 - 3, 2**31),
    (-(2**31), 3 - 2**31),
    (2**32 - 4, 2**32 - 1),
)
"""Numbers at which the bytes of a field change."""


def from_bound(name: str, low: int, high: int, plus: int) -> Limit:
    """Return a limit that comes from a bound."""
    signed = f" {'+' if plus > 0 else '-'} {abs(plus)}" if plus else ""
    return Limit(name + signed, f"(k.{name.lower()}{signed})" if plus else f"k.{name.lower()}", low + plus, high + plus)


def nodes(plus: int = 0) -> Limit:
    """Return the bound on nodes, and something."""
    return from_bound("NODES", 1, 3, plus)


def limit(plus: int = 0) -> Limit:
    """Return the other bound, and something."""
    return from_bound("LIMIT", 0, 3, plus)


class States:
    """The text of a module with a state, as it grows."""

    def __init__(self, chance: random.Random, about: str) -> None:
        self.chance = chance
        self.write = Copier(chance, careful=chance.random() < 0.95)
        self.other = random.Random(about)
        """What firings are limited, and which antecedents are shared: specs without either do not depend on it."""
        self.newer = random.Random(f"{about} maps")
        """What was added last, for the same reason: maps, options and local functions."""
        self.newest = random.Random(f"{about} nested")
        """The same for containers within containers, and copies of records that are appended, leads-to claims."""
        self.write.tables = random.Random(f"{about} tables")
        self.write.copies = random.Random(f"{about} copies")
        self.counted = self.other.sample(("NODES", "LIMIT", "EXTRA"), self.other.choice((0, 0, 1, 1, 2)))
        """The bounds on how often rules fire."""
        self.write.counts = bool(self.counted)
        self.pick, self.often = self.write.pick, self.write.often
        self.text = [HEAD.format(about=about, base=chance.randint(-3, 5))]
        self.write.constants = ["BASE", "Mode.FAST"]
        self.count = 0

    def function(self, kind: str, body: list[str], parameters: list[str], exactly: bool = False) -> str:
        """Add a function and return its name; of the parameters it takes those it uses, in any order."""
        self.count += 1
        body = self.within_itself(body) if self.newer.random() < 0.15 else body
        name = f"{kind}_{self.count}"
        used = parameters if exactly else names_in(body, dict.fromkeys(parameters))
        if not exactly:
            self.chance.shuffle(used)
        self.text.append("\n".join([f"def {name}({', '.join(used)}):", *indented([f'"""{kind.capitalize()} {name}."""', *body])]))
        return name

    def within_itself(self, body: list[str]) -> list[str]:
        """Return a body that does in local functions what another does itself."""
        returns = [line for line in body if "return" in line]
        if any(", a" in line or "fire(" in line for line in body):
            return body
        inner = ["def inner():", *indented(body)]
        if not returns:
            return [*inner, "inner()"]
        more = ["def outer(x):", "    return inner() if x > 0 else inner()"] if self.newer.random() < 0.5 else []
        return [*inner, *more, "return outer(1)" if more else "return inner()"]

    def nested(self, plain: Struct) -> Kind:
        """Return a container of containers."""
        line = Line("SequenceOf(Range(0, 2), 2)", Number("Range(0, 2)", literal(0), literal(2)), literal(2))
        flags = Many("ArrayOf(Flag(), 2)", Number("Flag()", literal(0), literal(1)), literal(2))
        inner: Kind = self.newest.choice((
            line, flags, self.maybe(line.item), self.table(line.item), self.maybe(plain),
            Pile(f"BagOf({plain.domain}, 2)", plain, literal(2), repeats=True),
            Pile(f"SetOf({plain.domain}, 2)", plain, literal(2)),
        ))  # fmt: skip
        capacity = self.newest.choice((literal(1), literal(2), limit(1)))
        outer: list[Kind] = [
            Line(f"SequenceOf({inner.domain}, {capacity.domain})", inner, capacity),
            Many(f"ArrayOf({inner.domain}, 2)", inner, literal(2)),
        ]
        if not isinstance(inner, Maybe):
            outer += [self.table(inner), *([] if isinstance(inner, Table) else [self.maybe(inner)])]
        return self.newest.choice(outer)

    def maybe(self, item: Kind) -> Maybe:
        """Return an option."""
        return Maybe(f"Option({item.domain})", item)

    def table(self, item: Kind) -> Table:
        """Return a map."""
        count = self.newer.choice((literal(1), literal(2), literal(3), nodes()))
        keys = self.newer.choice((f"Member({count.domain})", count.domain))
        return Table(f"MapOf({keys}, {item.domain})", item, count)

    def members(self, name: str, first: int, count: int) -> list[str]:
        """Add an enum, whose first member may not be its lowest, and return its members from the lowest on."""
        order = list(range(count))
        self.chance.shuffle(order)
        lines = [f"    M{index} = {first + index}" for index in order]
        self.text.append("\n".join([f"class {name}(enum.IntEnum):", f'    """{name}."""', "", *lines]))
        return [f"{name}.M{index}" for index in range(count)]

    def number(self) -> Number:
        """Return some scalar."""
        high, plus = literal(self.chance.randint(1, 3)), self.chance.randint(0, 1)
        low, top = self.pick(*WIDE)
        zero, less = literal(0), literal(-1)
        return self.pick(  # type: ignore[no-any-return]
            Number(f"Range(0, {high.domain})", zero, high),
            Number(f"Range(0, {high.domain}, {self.chance.randint(0, high.most)})", zero, high),
            Number(f"Range(-1, {high.domain}, {self.chance.randint(-1, 1)})", less, high),
            Number("Flag()", zero, literal(1)),
            Number("OneOf(Colour)", literal(self.colours[0]), literal(self.colours[1])),
            Number(f"Range(0, {limit(plus).domain})", zero, limit(plus), cut=True),
            Number(f"Range(0, {nodes(plus).domain})", zero, nodes(plus), cut=True),
            Number("Range(-1, LIMIT - 1)", less, limit(-1), cut=True),
            Number("Broker(NODES)", zero, nodes(-1), cut=True),
            Number("BrokerOrNone(NODES)", less, nodes(-1), cut=True),
            Number("Member(NODES)", zero, nodes(-1), cut=True),
            Number("MemberOrNone(NODES)", less, nodes(-1), cut=True),
            Number("SetOf(Member(NODES))", zero, Limit("", "((1 << k.nodes) - 1)", 1, 7)),
            Number("SetOf(NODES)", zero, Limit("", "((1 << k.nodes) - 1)", 1, 7)),
            Number("SetOf(2, full=True)", zero, literal(3)),
            Number("Range(LIMIT - 2, 2)", limit(-2), literal(2)),
            Number("Range(LIMIT - 1, LIMIT + 1, LIMIT)", limit(-1), limit(1), cut=True),
            Number(f"Range({low}, {top}, {self.chance.randint(low, top)})", literal(low), literal(top)),
        )

    def array(self, item: Kind) -> Many:
        """Return an array."""
        length = self.pick(literal(1), literal(2), literal(2), literal(3), nodes(), nodes(-1))
        each = f"PerBroker({item.domain}, {length.domain})" if self.often(0.3) else f"ArrayOf({item.domain}, {length.domain})"
        return Many(each, item, length)

    def line(self, item: Number | Struct) -> Line:
        """Return a sequence."""
        if isinstance(item, Number) and self.often(0.2):
            count = self.pick(literal(2), nodes())
            high = Limit("", f"({count.code} - 1)", count.least - 1, count.most - 1)
            return Line(
                f"Assignment({count.domain})", Number("", literal(0), high, cut=count is not literal(2)), count, distinct=True
            )
        capacity = self.pick(literal(1), literal(2), literal(2), literal(3), limit(), limit(), limit(1), nodes(-1))
        return Line(f"{self.pick('SequenceOf', 'Queue')}({item.domain}, {capacity.domain})", item, capacity)

    def pile(self, item: Struct) -> Pile:
        """Return a set or a bag."""
        capacity = self.pick(literal(1), literal(2), literal(2), literal(3), limit(), limit(), limit(1), nodes())
        repeats = self.often(0.5)
        return Pile(f"{'BagOf' if repeats else 'SetOf'}({item.domain}, {capacity.domain})", item, capacity, repeats)

    def record(self, name: str, kinds: dict[str, Kind], tags: list[str] | None = None) -> Struct:
        """Add a record."""
        lines = [f"    {field}: int = field({kind.domain})" for field, kind in kinds.items()]
        decorators = []
        if tags:
            meant = [f"{tag.split()[0]}: ({''.join(f'{word!r}, ' for word in tag.split()[1:])})" for tag in tags]
            decorators = [f'@tagged("tag", {{{", ".join(meant)}}})']
        self.text.append("\n".join([*decorators, "@dataclass", f"class {name}:", f'    """{name}."""', "", *lines]))
        return Struct(name, kinds, tuple(tags or ()))

    def declare_state(self) -> Struct:
        """Add enums, records and the state; `places` gets where machines stand."""
        first, count = self.pick(-1, 0, 0, 1), self.chance.randint(2, 4)
        self.write.constants += self.members("Colour", first, count)
        self.colours = first, first + count - 1
        plain = self.record("Plain", {f"p{n}": self.number() for n in range(self.chance.randint(1, 2))})
        parts: dict[str, Kind] = {"a": self.number(), "b": self.pick(self.array(self.number()), self.line(self.number()))}
        if self.often(0.4):
            parts["c"] = plain
        rich = self.record("Rich", parts)
        kinds = self.members("Tag", 0, self.chance.randint(2, 3))
        fields: dict[str, Kind] = {
            "tag": Number("OneOf(Tag)", literal(0), literal(len(kinds) - 1)),
            "f": self.number(),
            "g": self.number(),
        }
        tags = [" ".join([kind, *(name for name in ("f", "g") if self.often(0.5))]) for kind in kinds]
        message = self.record("Message", fields, tags)
        kinds_of_field = [
            self.number, self.number, self.number, lambda: self.array(self.number()), lambda: self.line(self.number()),
            lambda: plain, lambda: rich, lambda: self.array(plain), lambda: self.line(plain), lambda: self.line(message),
            lambda: self.array(rich), lambda: self.line(rich), lambda: self.array(self.line(self.number())),
            lambda: self.array(Many("ArrayOf(Flag(), 2)", Number("Flag()", literal(0), literal(1)), literal(2))),
        ]  # fmt: skip
        if self.other.random() < 0.4:
            self.write.piles = True
            kinds_of_field += [lambda: self.pile(plain), lambda: self.pile(message), lambda: self.pile(rich)] * 3
        if self.newer.random() < 0.35:
            self.write.maps = True
            kinds_of_field += [
                lambda: self.maybe(self.number()), lambda: self.maybe(plain), lambda: self.maybe(rich),
                lambda: self.table(self.number()), lambda: self.table(plain), lambda: self.table(message), lambda: self.table(rich),
                lambda: self.array(self.maybe(self.number())),
            ] * 3  # fmt: skip
        if self.newest.random() < 0.3:
            self.write.piles = self.write.maps = self.write.nested = True
            deep = self.record("Deep", {"d": self.number(), "e": self.nested(plain)})
            kinds_of_field += [
                lambda: self.nested(plain), lambda: deep, lambda: self.line(deep), lambda: self.pile(deep),
                lambda: self.table(deep), lambda: self.maybe(deep), lambda: self.nested(deep),
            ] * 5  # fmt: skip
        state: dict[str, Kind] = {f"f{n}": self.pick(*kinds_of_field)() for n in range(self.chance.randint(2, 4))}
        self.places: list[tuple[str, Many | None]] = []
        for number in range(self.pick(0, 0, 1, 1, 2)):
            self.members(f"Life{number}", self.pick(0, 0, 1, -1), self.chance.randint(2, 3))
            of = Number(f'StateOf(Life{number}, "Machine{number}")', literal(0), literal(0), machine=True)
            where = self.pick("field", "array", "record")
            if where == "record":
                of_record: Kind = self.record(f"Being{number}", {"n": self.number(), "life": of})
            inner: Kind = of if where != "record" else of_record
            array = Many(f"ArrayOf({inner.domain}, 2)", inner, literal(2)) if self.often(0.5) else Many(
                f"PerBroker({inner.domain}, NODES)", inner, nodes())  # fmt: skip
            state[f"m{number}"] = of if where == "field" else array
            self.places.append((f"m{number}", None if where == "field" else array))
        names = list(state)
        self.chance.shuffle(names)
        declared = self.record("State", {name: state[name] for name in names})
        if self.counted and self.other.random() < 0.5:
            lines = self.text[-1].split("\n")
            lines.insert(self.other.randint(4, len(lines)), "    spent: int = field(Counters())")
            self.text[-1] = "\n".join(lines)
        return declared
