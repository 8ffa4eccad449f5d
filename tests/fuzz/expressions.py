"""Random expressions and predicates of the language of guards and effects, over a random state.

Knows what may stand where (which index is inside, which number is small enough for 64 bits), no spec. Everything is drawn from one
`random.Random`, so a seed is a text. What a *careful* writer writes can be executed in every state; a careless one now and then
reads what is not there.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable
from typing import Any, TypeAlias

from tests.fuzz.kinds import Kind, Line, Many, Maybe, Number, Pile, Scope, Struct, Table, literal, parts

Place: TypeAlias = tuple[str, Kind, list[str]]
"""How to spell it, what it is, and what must hold for it to be there."""


def unwritten(index: str) -> str:
    """Return an index that is not a number as it is written: one that is outside would be refused where it is read."""
    return f"0 + {index}" if re.fullmatch(r"\(*-?\d+\)*", index) else index


class Expressions:
    """Writes expressions."""

    def __init__(self, chance: random.Random, careful: bool) -> None:
        self.chance, self.careful = chance, careful
        self.constants: list[str] = []
        """What functions of the module can name beside their parameters: constants and members of enums."""
        self.k: list[str] = []
        self.helpers: dict[str, int] = {}
        """Functions of two numbers, and how many numbers they return."""
        self.judges: list[tuple[str, str]] = []
        """Functions that judge a record and a number: name and the record's class."""
        self.setters: list[tuple[str, str]] = []
        """Functions that change a record by a number: name and the record's class."""
        self.machines: list[tuple[str, str, list[str], list[str]]] = []
        """Machines that may be fired: name, what an index is of, the names of indices, triggers."""

    def pick(self, *choices: Any) -> Any:
        """Return one of the choices."""
        return self.chance.choice(choices)

    def often(self, odds: float) -> bool:
        """Return true that often."""
        return self.chance.random() < odds

    # places

    def place(self, scope: Scope, wanted: Callable[[Kind], bool]) -> Place | None:
        """Return some place of the wanted kind, or None where there is none."""
        roots = [(name, kind) for name, kind in scope.roots.items() if any(map(wanted, parts(kind)))]
        if not roots:
            return None
        path, kind = self.pick(*roots)
        needs: list[str] = []
        while not wanted(kind) or (not isinstance(kind, Number) and self.often(0.5) and self.deeper(kind, wanted)):
            if isinstance(kind, Struct):
                name, kind = self.pick(*[(n, k) for n, k in kind.fields.items() if any(map(wanted, parts(k)))])
                path = f"{path}.{name}"
            else:
                if isinstance(kind, Maybe | Table):
                    path, kind = self.held(scope, path, kind, needs)
                    continue
                assert not isinstance(kind, Number | Pile)
                index = self.index(scope, path, kind, needs)
                path, kind = f"{path}[{index}]", kind.item
        return path, kind, needs

    def held(self, scope: Scope, path: str, kind: Maybe | Table, needs: list[str]) -> tuple[str, Kind]:
        """Return how the value of an option, or of a key of a map, is read, and its kind."""
        if isinstance(kind, Maybe):
            needs.append(f"present({path})")
            return f"value_of({path})", kind.item
        key = self.key(scope, kind)
        needs.append(f"{key} in {path}")
        return f"{path}[{key}]", kind.item

    def key(self, scope: Scope, kind: Table, surely: bool = False) -> str:
        """Return a key of a map; unless `surely`, it may be none."""
        known = [name for name, top in scope.numbers.items() if top == kind.count]
        known += [str(self.chance.randrange(kind.count.least))]
        if not surely:
            known += [name for name in scope.numbers if name[0] in "pe"] + ["1"]
        return str(self.pick(*known))

    @staticmethod
    def deeper(kind: Kind, wanted: Callable[[Kind], bool]) -> bool:
        """Whether there is something wanted within a kind."""
        return any(map(wanted, parts(kind)[1:]))

    def index(self, scope: Scope, path: str, kind: Many | Line, needs: list[str]) -> str:
        """Return an index of a sequence or an array; `needs` gets what must hold for it to be one."""
        if self.within > 1:
            return self.plain_index(path, kind, needs)
        self.within += 1
        try:
            return self.any_index(scope, path, kind, needs)
        finally:
            self.within -= 1

    maps = False
    """Whether the state holds maps or options."""
    nested = False
    """Whether the state holds containers of containers."""
    deep = 0
    """How many elements are being named, each within the one before."""
    within = 0
    """How many indices are being written, each within the one before."""

    @staticmethod
    def plain_index(path: str, kind: Many | Line, needs: list[str]) -> str:
        """Return the index of the first item."""
        if isinstance(kind, Line) or not kind.length.least:
            needs.append(f"len({path}) > 0")
        return "0"

    def any_index(self, scope: Scope, path: str, kind: Many | Line, needs: list[str]) -> str:
        """Return some index."""
        if not self.careful and self.often(0.1):
            return unwritten(self.number(scope, 1))
        known = [name for of, name in scope.inside if of == path]
        if isinstance(kind, Many):
            known += [n for n, top in scope.numbers.items() if top and (top == kind.length or top.most <= kind.length.least)]
            known += [str(self.chance.randrange(kind.length.least))] if kind.length.least else []
        if known and self.often(0.6):
            return str(self.pick(*known))
        self.plain_index(path, kind, needs)
        least = kind.length.least if isinstance(kind, Many) else 0
        rest = f"{self.number(scope, self.chance.randint(0, 1))} % {least if least and self.often(0.5) else f'len({path})'}"
        return str(self.pick(rest, rest, f"len({path}) - 1", "0"))

    def meant(self, scope: Scope, kind: Pile, fitting: Callable[[Scope, Number, str], str] | None = None) -> list[str]:
        """Return how an element is named; `fitting` writes values for an element to be added."""
        numbers = {n: k for n, k in kind.item.fields.items() if isinstance(k, Number)}
        records = [name for name, root in scope.roots.items() if root is kind.item]
        if kind.item.tagged:
            words = self.pick(*kind.item.tagged).split()
            tagged = {n: k for n, k in numbers.items() if n in words}
            given = {"tag": words[0], **{n: self.of_field(scope, k, fitting) for n, k in tagged.items() if self.often(0.8)}}
        else:
            given = {n: self.of_field(scope, k, fitting) for n, k in numbers.items() if self.often(0.7)}
        if records and self.often(0.5):
            some = {} if kind.item.tagged else {n: v for n, v in given.items() if self.often(0.5)}
            return [self.pick(*records), *(f"{n}={v}" for n, v in some.items())]
        return [f"{n}={v}" for n, v in given.items()]

    def of_field(self, scope: Scope, kind: Number, fitting: Callable[[Scope, Number, str], str] | None) -> str:
        """Return a value for a field of an element."""
        if fitting is not None:
            return fitting(scope, kind, kind.low.code)
        return str(self.pick(kind.low.code, f"{kind.low.code} + {self.leaf(scope)} % 3", kind.high.code))

    # expressions

    def number(self, scope: Scope, depth: int) -> str:
        """Return an expression whose value is a number."""
        number = self.leaf(scope) if depth <= 0 or self.often(0.3) else self.larger_number(scope, depth)
        return self.of_table(number) if self.tables is not None and self.tables.random() < 0.04 else number

    tables: random.Random | None = None
    """What chooses among the constants that are data, so that specs without them do not depend on it."""

    def of_table(self, number: str) -> str:
        """Return a number that is looked up in a constant."""
        assert self.tables is not None
        place = f"({number}) % 4" if self.careful or self.tables.random() < 0.8 else unwritten(number)
        self.deep += 1
        name = f"d{self.tables.randrange(10**6)}"
        written = self.tables.choice(
            (
                f"ROW[{place}]",
                f"ROW[{place} - 4]",
                f"len(NEAR[{place}])",
                f"({number} in NEAR[{place}])",
                f"(({number} - 1, {place}) not in PAIRS)",
                f"PAIRS[({number}) % 3][1]",
                f"(GRID[({number}) % 2][1, 1 + ({number}) % 2] if (1, 1 + ({number}) % 2) in GRID[({number}) % 2] else 0)",
                f"sum({name} for {name} in NEAR[{place}])",
                f"max({name} + {name}b for {name}, {name}b in PAIRS if {name} != {number})",
            )
        )
        self.deep -= 1
        return written

    def larger_number(self, scope: Scope, depth: int) -> str:
        """Return an expression of several parts whose value is a number."""
        a, b = self.number(scope, depth - 1), self.number(scope, depth - 1)
        calls = [name for name, results in self.helpers.items() if results == 1]
        if self.often(0.12) and self.deep < 1 and scope.loops < 2:
            return self.over_generator(scope, depth)
        kinds = ["sum", "sum", "part", "bits", "shift", "sign", "least", "if", "test", "set", "call" if calls else "sum"]
        match self.pick(*kinds, *([] if self.careful else ["divide", "jump"])):
            case "sum":
                return f"({a} {self.pick('+', '-', '*')} {b})"
            case "part":
                return f"({a} {self.pick('//', '%')} {self.pick(-3, -2, 2, 3, 4)})"
            case "bits":
                return f"({a} {self.pick('&', '|', '^')} {b})"
            case "shift":
                return str(self.pick(f"({a} << {self.chance.randrange(4)})", f"({a} >> ({b} % 4))"))
            case "sign":
                return str(self.pick(f"(-{a})", f"(~{a})", f"(+{a})"))
            case "least":
                return str(self.pick(f"min({a}, {b}, 3)", f"max({a}, {b})"))
            case "if":
                return f"({a} if {self.test(scope, depth - 1)} else {b})"
            case "test":
                return str(self.pick(f"({self.test(scope, depth - 1)})", f"({a} {self.pick('and', 'or')} {b})"))
            case "set":
                return str(self.pick(f"including({a} % 16, {b} % 4)", f"excluding({a} % 16, {b} % 4)", f"size({a} % 16)"))
            case "call":
                return f"{self.pick(*calls)}({a} % 7, {b} % 5)"
            case "divide":
                return f"({a} // {b})"
        return f"({a} % 8 << {b} % 64 - 1)"

    def generator(self, scope: Scope) -> tuple[str, Scope]:
        """Return the loop of a generator, and what can be named in it."""
        name = f"g{self.chance.randrange(10**6)}"
        inner = scope.block(loops=scope.loops + 1)
        over = self.place(scope, lambda kind: isinstance(kind, Pile | Line | Many | Table)) if self.often(0.6) else None
        kind: Kind | None = None
        if over is not None and not over[2] and isinstance(over[1], Table):
            inner.numbers[name] = None
            return f"for {name} in {over[0]}", inner
        if over is not None and not over[2] and not isinstance(over[1], Number | Struct):
            kind = over[1].item
        if isinstance(kind, Struct) and over is not None:
            inner = inner.block(roots={**scope.roots, name: kind}, fixed=scope.fixed | {name})
            text = over[0]
        elif isinstance(kind, Number) and over is not None and max(abs(kind.low.least), abs(kind.high.most)) <= 16:
            inner.numbers[name] = None
            text = over[0]
        else:
            inner.numbers[name] = None
            text = str(
                self.pick("range(3)", "range(1, 4)", f"range({self.leaf(scope)} % 4)", f"members_of({self.leaf(scope)} % 16)")
            )
        test = f" if {self.test(inner, 0)}" if self.often(0.4) else ""
        return f"for {name} in {text}{test}", inner

    def over_generator(self, scope: Scope, depth: int) -> str:
        """Return a function of a generator."""
        self.deep += 1
        loop, inner = self.generator(scope)
        if self.often(0.2) and not inner.fixed - scope.fixed:
            more, inner = self.generator(inner)
            loop = f"{loop} {more}"
        kind = self.pick("any", "all", "sum", "set_of", "count", "min", "max")
        test, number = self.test(inner, 0), self.number(inner, 0)
        self.deep -= 1
        if kind in ("any", "all"):
            return f"{kind}({test} {loop})"
        if kind == "count":
            return f"(sum(1 {loop}) % 7)"
        if kind == "sum":
            return f"(sum({number} {loop}) % 7)"
        if kind == "set_of":
            return f"(set_of({number} % 4 {loop}) % 16)"
        return f"({kind}(({number}) % 7 {loop}) if any(1 {loop}) else 0)"

    def leaf(self, scope: Scope) -> str:
        """Return a small expression."""
        if self.often(0.55) and (place := self.place(scope, lambda kind: isinstance(kind, Number))):
            return self.read(place)
        if self.often(0.2) and (place := self.place(scope, lambda kind: isinstance(kind, Many | Line))):
            path, _, needs = place
            return self.where(needs, f"len({path})")
        if self.maps and self.often(0.2) and (place := self.place(scope, lambda kind: isinstance(kind, Maybe | Table))):
            path, kind, needs = place
            there = f"present({path})" if isinstance(kind, Maybe) else f"len({path})"
            return self.where(
                needs, there if isinstance(kind, Maybe) or self.often(0.5) else f"({self.key(scope, kind)} in {path})"
            )
        if self.often(0.3) and self.deep < 2 and (place := self.place(scope, lambda kind: isinstance(kind, Pile))):
            path, pile, needs = place
            assert isinstance(pile, Pile)
            self.deep += 1
            meant = ", ".join([path, *self.meant(scope, pile)])
            self.deep -= 1
            return self.where(needs, self.pick(f"len({path})", f"count({meant})", f"has({meant})"))
        if scope.numbers and self.often(0.6):
            return str(self.pick(*scope.numbers))
        if self.k and self.often(0.3):
            return f"k.{self.pick(*self.k)}"
        if self.constants and self.often(0.3):
            return str(self.pick(*self.constants))
        return literal(self.chance.randint(-2, 4)).code

    def read(self, place: Place) -> str:
        """Return an expression that reads a number; one that may be large is read as how far it is from its lowest."""
        path, kind, needs = place
        assert isinstance(kind, Number)
        large = max(abs(kind.low.least), abs(kind.high.most)) > 16
        return self.where(needs, f"({path} - {kind.low.code})" if large else path)

    @staticmethod
    def where(needs: list[str], expression: str) -> str:
        """Return the expression, or 0 where it cannot be read."""
        return f"({expression} if {' and '.join(needs)} else 0)" if needs else expression

    def test(self, scope: Scope, depth: int) -> str:
        """Return an expression that is true or false."""
        orders = [self.pick("<", "<=", "==", "!=", ">", ">=") for _ in range(2)]
        if depth > 0 and self.often(0.35):
            one, other = self.test(scope, depth - 1), self.test(scope, depth - 1)
            return str(self.pick(f"({one}) and ({other})", f"({one}) or ({other})", f"not ({one})", f"({one}) == ({other})"))
        if self.judges and self.often(0.2):
            name, of = self.pick(*self.judges)
            if place := self.place(scope, lambda kind: isinstance(kind, Struct) and kind.domain == of):
                return " and ".join([*place[2], f"{name}({place[0]}, k, {self.leaf(scope)})"])
        if self.often(0.4) and (place := self.place(scope, lambda kind: isinstance(kind, Number))):
            path, kind, needs = place
            assert isinstance(kind, Number)
            limit = self.pick(f"{kind.low.code} + 1", kind.low.code, kind.high.code, f"{kind.high.code} - 1")
            return " and ".join([*needs, f"{path} {orders[0]} {limit}"])
        a, b = self.number(scope, depth), self.number(scope, depth)
        if self.often(0.15):
            return f"{a} {self.pick('in', 'not in')} {self.among(scope)}"
        if self.often(0.15):
            return f"contains({a} % 16, {b} % 4)"
        return f"{a} {orders[0]} {b}" + (f" {orders[1]} {self.leaf(scope)}" if self.often(0.2) else "")

    def among(self, scope: Scope) -> str:
        """Return what may stand behind `in`, after a number."""
        over = self.place(scope, lambda kind: isinstance(kind, Line | Many) and isinstance(kind.item, Number))
        if over is not None and not over[2] and self.often(0.5):
            return over[0]
        return str(self.pick(f"members_of({self.leaf(scope)} % 16)", f"(1, {self.leaf(scope)}, {self.leaf(scope)})"))

    def predicate(self, scope: Scope) -> list[str]:
        """Return the body of a function that says yes or no."""
        pile = self.place(scope, lambda kind: isinstance(kind, Pile)) if self.often(0.35) and scope.loops < 2 else None
        if pile is not None and not re.search(r"\[|value_of", pile[0]):
            return self.over_elements(scope, *pile)
        over = self.place(scope, lambda kind: isinstance(kind, Many | Line)) if self.often(0.35) and scope.loops < 2 else None
        if over is None:
            return [f"return {self.test(scope, 1)}"]
        path, _, needs = over
        name, answer = f"i{scope.loops}", self.pick(True, False)
        inner = scope.block(loops=scope.loops + 1, inside=[*scope.inside, (path, name)])
        body = [f"for {name} in range({self.where(needs, f'len({path})')}):"]
        if self.often(0.3):
            again = f"i{scope.loops + 1}"
            inner = inner.block(loops=scope.loops + 2, inside=[*inner.inside, (path, again)])
            start = self.pick("", f"{name}, ", f"{name} + 1, ")
            body.append(f"    for {again} in range({start}len({path})):")
        margin = "    " * (inner.loops - scope.loops)
        jump = [f"{margin}if {self.test(inner, 0)}:", f"{margin}    {self.pick('continue', 'break')}"] if self.often(0.2) else []
        return [*body, *jump, f"{margin}if {self.test(inner, 1)}:", f"{margin}    return {answer}", f"return {not answer}"]

    def over_elements(self, scope: Scope, path: str, kind: Kind, needs: list[str]) -> list[str]:
        """Return the body of a function that says yes or no about the elements of a set or a bag."""
        assert isinstance(kind, Pile)
        name, answer = f"q{scope.loops}", self.pick(True, False)
        inner = scope.block(loops=scope.loops + 1, roots={**scope.roots, name: kind.item}, fixed=scope.fixed | {name})
        yes = self.pick(str(answer), f"{self.test(inner, 0)}")
        return [f"for {name} in {path}:", f"    if {self.test(inner, 1)}:", f"        return {yes}", f"return {not answer}"]
