"""Random statements of effects, over a random state: stores, changes of sequences and records, loops, and firing machines."""

from __future__ import annotations

import re

from tests.fuzz.expressions import Expressions
from tests.fuzz.kinds import Line, Many, Maybe, Number, Pile, Scope, Struct, Table, holds_machine, indented, literal, value_of


class Writer(Expressions):
    """Writes statements too."""

    def statements(self, scope: Scope, depth: int, count: int) -> list[str]:
        """Return some statements of an effect."""
        lines: list[str] = []
        for _ in range(self.chance.randint(1, count)):
            kinds = [self.store] * 4 + [self.sequence] * 3 + [self.local, self.records, self.fire, self.fire, self.set_record]
            kinds += [self.pile] * 4 if self.piles else []
            kinds += [self.option] * 4 if self.maps else []
            if depth > 0 and self.piles and scope.loops < 2:
                kinds += [self.over_pile]
            if depth > 0:
                kinds += [self.branch, self.branch, self.loop, self.loop]
            lines += self.pick(*kinds)(scope, depth) or self.store(scope, depth)
        return lines or ["pass"]

    def guarded(self, needs: list[str], lines: list[str]) -> list[str]:
        """Return lines that run where something holds."""
        return [f"if {' and '.join(needs)}:", *("    " + line for line in lines)] if needs else lines

    def fitting(self, scope: Scope, kind: Number, path: str) -> str:
        """Return an expression for a value of a place, which may be outside where the place or the writer allows."""
        low, high = kind.low.code, kind.high.code
        if self.often(0.3 if kind.cut else 0.02) and not self.strict:
            return str(self.pick(f"{path} + 1", f"{path} + 1", f"{low} + {self.leaf(scope)}", f"{high} + {self.leaf(scope)}"))
        if kind.high.most - kind.low.least > 16:
            step = self.pick(f"{path} + 1", f"{high} - {self.leaf(scope)} % 2", low)
        else:
            steps = [f"{path} + 1"] * 4 + [f"{path} - 1", self.number(scope, 2), f"{path} ^ {self.leaf(scope)}"]
            step = self.pick(*steps, *(f"{path} + {name}" for name in scope.numbers), *scope.numbers)
        if self.often(0.3):
            return f"min({high}, max({low}, {step}))"
        return f"{low} + ({step} - {low}) % ({high} - {low} + 1)"

    strict = False
    """Whether nothing may leave its domain."""
    piles = False
    """Whether the state holds sets or bags of records."""
    counts = False
    """Whether the state holds counters of firings, so that no effect may write it whole."""

    def store(self, scope: Scope, depth: int) -> list[str]:
        """Return a statement that stores a number."""
        place = self.place(scope.own(), lambda kind: isinstance(kind, Number) and not kind.machine)
        if place is None:
            return []
        path, kind, needs = place
        assert isinstance(kind, Number)
        if path.endswith(")"):
            return self.put_number(scope, path, kind, needs)
        if self.often(0.1) and not self.strict and kind.cut:
            return self.guarded(needs, [f"{path} {self.pick('+', '+', '|', '^')}= {self.pick(1, self.leaf(scope))}"])
        return self.guarded(needs, [f"{path} = {self.fitting(scope, kind, path)}"])

    def advance(self, scope: Scope) -> list[str]:
        """Return a statement that surely changes a number, or ends at a bound."""
        place = self.place(scope.own(), lambda kind: isinstance(kind, Number) and not kind.machine)
        if place is None:
            return []
        path, kind, needs = place
        assert isinstance(kind, Number)
        if path.endswith(")"):
            return self.put_number(scope, path, kind, needs)
        if kind.cut and self.often(0.5):
            return self.guarded(needs, [f"{path} += 1"])
        step = self.pick("1", "1", *scope.numbers)
        return self.guarded(
            needs, [f"{path} = {kind.low.code} + ({path} + {step} - {kind.low.code}) % ({kind.high.code} - {kind.low.code} + 1)"]
        )

    def sequence(self, scope: Scope, depth: int) -> list[str]:
        """Return statements that change a sequence."""
        place = self.place(scope.own(), lambda kind: isinstance(kind, Line)) if not scope.frozen else None
        if place is None:
            return []
        path, kind, needs = place
        assert isinstance(kind, Line)
        if scope.moves and self.often(0.4):
            scope.inside.clear()
            if self.often(0.5):
                return self.guarded(
                    needs, [f"truncate({path}, {self.pick('0', f'len({path}) - 1' if not self.careful else '1', '2')})"]
                )
            careless = not self.careful and self.often(0.2)
            return self.guarded([*needs] if careless else [*needs, f"len({path}) > 0"], [f"pop_first({path})"])
        room = self.strict or self.often(0.7 if "k." in kind.capacity.code else 0.97)
        if room:
            needs = [*needs, f"len({path}) < {1 if kind.distinct and self.strict else kind.capacity.code}"]
        if isinstance(kind.item, Number):
            return self.guarded(needs, [f"append({path}, {self.fitting(scope, kind.item, kind.item.low.code)})"])
        if not isinstance(kind.item, Struct):
            return self.guarded(needs, [f"append({path})"])
        numbers = {n: k for n, k in kind.item.fields.items() if isinstance(k, Number) and not k.machine}
        if kind.item.tagged:
            tag = self.pick(*kind.item.tagged)
            given = [name for name in numbers if name in tag.split() or self.often(0 if self.strict else 0.1)]
            values = [
                f"tag={tag.split()[0]}",
                *(f"{n}={self.fitting(scope, numbers[n], numbers[n].low.code)}" for n in given if n != "tag"),
            ]
        elif self.often(0.3):
            return self.guarded(needs, self.made(scope, kind.item, f"append({path}"))
        else:
            values = [f"{n}={self.fitting(scope, k, k.low.code)}" for n, k in numbers.items() if self.often(0.7)]
        if self.nested and not holds_machine(kind.item) and self.often(0.5):
            source = self.place(scope, lambda wanted: wanted is kind.item)
            if source is not None:
                needs, values = [*needs, *source[2]], [source[0], *(values[:1] if not kind.item.tagged else [])]
        return self.guarded(needs, [f"append({', '.join([path, *values])})"])

    def made(self, scope: Scope, struct: Struct, call: str) -> list[str]:
        """Return statements that make a record outside the state, and give it to a call that is written up to its place."""
        numbers = {n: k for n, k in struct.fields.items() if isinstance(k, Number) and not k.machine}

        def record() -> str:
            return f"{struct.domain}({', '.join(f'{n}={self.fitting(scope, k, k.low.code)}' for n, k in numbers.items())})"

        if self.often(0.4):
            return [f"{call}, {record()})"]
        name = f"made{self.chance.randrange(10**6)}"
        lines = [f"{name} = {record()}", f"{call}, {name})"]
        if len(numbers) < len(struct.fields) or self.often(0.5):
            return lines
        return [lines[0], f"if {name} {self.pick('==', '!=')} {record()}:", f"    {lines[1]}"]

    def put_number(self, scope: Scope, path: str, kind: Number, needs: list[str]) -> list[str]:
        """Return a statement that gives an option that has a number another one."""
        if not scope.moves or scope.frozen:
            return []
        option = path.removeprefix("value_of(").removesuffix(")")
        return self.guarded(needs, [f"put({option}, {self.fitting(scope, kind, path)})"])

    def option(self, scope: Scope, depth: int) -> list[str]:
        """Return statements that give an option or a key of a map a value, or take it away."""
        free = scope.moves and not scope.frozen
        place = self.place(scope.own(), lambda kind: isinstance(kind, Maybe | Table)) if free else None
        if place is None:
            return []
        path, kind, needs = place
        assert isinstance(kind, Maybe | Table)
        scope.inside.clear()
        key = f", {self.key(scope, kind, surely=self.careful or self.often(0.8))}" if isinstance(kind, Table) else ""
        if self.often(0.35):
            there = f"{key[2:]} in {path}" if key else f"present({path})"
            careless = not self.careful and self.often(0.2)
            return self.guarded([*needs] if careless else [*needs, there], [f"drop({path}{key})"])
        if isinstance(kind.item, Number):
            return self.guarded(needs, [f"put({path}{key}, {self.fitting(scope, kind.item, kind.item.low.code)})"])
        if not isinstance(kind.item, Struct):
            return self.guarded(needs, [f"put({path}{key})"])
        records = [name for name, root in scope.roots.items() if root is kind.item]
        numbers = {n: k for n, k in kind.item.fields.items() if isinstance(k, Number) and not k.machine}
        if kind.item.tagged:
            words = self.pick(*kind.item.tagged).split()
            numbers = {n: k for n, k in numbers.items() if n in words}
            given = [f"tag={words[0]}", *(f"{n}={self.fitting(scope, k, k.low.code)}" for n, k in numbers.items() if n != "tag")]
        elif self.often(0.3):
            return self.guarded(needs, self.made(scope, kind.item, f"put({path}{key}"))
        else:
            given = [f"{n}={self.fitting(scope, k, k.low.code)}" for n, k in numbers.items() if self.often(0.7)]
        if records and not kind.item.tagged and self.often(0.3):
            given = [self.pick(*records), *given[:1]]
        return self.guarded(needs, [f"put({', '.join([path + key, *given])})"])

    def pile(self, scope: Scope, depth: int) -> list[str]:
        """Return statements that put an element into a set or a bag, or take one out."""
        free = scope.moves and not scope.frozen
        place = self.place(scope.own(), lambda kind: isinstance(kind, Pile)) if free else None
        if place is None:
            return []
        path, kind, needs = place
        assert isinstance(kind, Pile)
        scope.inside.clear()
        if self.often(0.35):
            meant = ", ".join([path, *self.meant(scope, kind)])
            careless = not self.careful and self.often(0.1)
            return self.guarded([*needs] if careless else [*needs, f"has({meant})"], [f"remove({meant})"])
        if self.strict or self.often(0.7 if "k." in kind.capacity.code else 0.97):
            needs = [*needs, f"len({path}) < {kind.capacity.code}"]
        if not kind.item.tagged and self.often(0.3):
            return self.guarded(needs, self.made(scope, kind.item, f"add({path}"))
        return self.guarded(needs, [f"add({', '.join([path, *self.meant(scope, kind, self.fitting)])})"])

    def over_pile(self, scope: Scope, depth: int) -> list[str]:
        """Return a loop over the elements of a set or a bag, or the items of a sequence or an array."""
        over = self.place(scope.own(), lambda kind: isinstance(kind, Pile | Line | Many))
        if over is None or re.search(r"\[|value_of", over[0]):
            return []
        path, kind, needs = over
        assert isinstance(kind, Pile | Line | Many)
        name = f"q{scope.loops}_{self.chance.randrange(10**6)}"
        inner = scope.block(loops=scope.loops + 1, moves=False, frozen=True)
        if isinstance(kind.item, Number):
            inner.numbers[name] = None
        elif isinstance(kind.item, Struct):
            inner.roots = {**scope.roots, name: kind.item}
            inner.fixed = scope.fixed | ({name} if isinstance(kind, Pile) else set())
        loop = [f"for {name} in {path}:", *indented(self.statements(inner, depth - 1, 2))]
        return self.guarded(needs, loop)

    def local(self, scope: Scope, depth: int) -> list[str]:
        """Return statements that give a local name a number."""
        name = self.pick("x", "y", "z")
        pairs = [helper for helper, results in self.helpers.items() if results == 2]
        if pairs and self.often(0.5):
            other = self.pick(*[n for n in "xyz" if n != name])
            line = f"{name}, {other} = {self.pick(*pairs)}({self.number(scope, 1)} % 7, {self.leaf(scope)} % 5)"
            scope.numbers[name] = scope.numbers[other] = None
            return [line]
        if name in scope.numbers and self.often(0.5):
            return [f"{name} {self.pick('+', '-', '*')}= {self.number(scope, 1)}", f"{name} %= 7"]
        line = f"{name} = {self.number(scope, 2)} % 7"
        scope.numbers[name] = None
        return [line]

    def records(self, scope: Scope, depth: int) -> list[str]:
        """Return a statement that resets a record or copies one."""
        free = scope.moves and not scope.frozen
        place = self.place(scope.own(), lambda kind: isinstance(kind, Struct) and not holds_machine(kind)) if free else None
        if place is None or (place[0] in scope.roots and (self.often(0.7) or self.counts)):
            return []
        path, kind, needs = place
        other = self.place(scope, lambda wanted: wanted is kind)
        scope.inside.clear()
        if other is None or self.often(0.4):
            return self.guarded(needs, [f"reset({path})"])
        return self.guarded([*needs, *other[2]], [f"assign({path}, {other[0]})"])

    def set_record(self, scope: Scope, depth: int) -> list[str]:
        """Return a call of a function that changes a record."""
        name, of = self.pick(*self.setters) if self.setters and not self.strict else ("", "")
        place = self.place(scope.own(), lambda kind: isinstance(kind, Struct) and kind.domain == of) if name else None
        if place is None:
            return []
        path, _, needs = place
        called = f"{name}({path}, k, {self.number(scope, 1)} % 7)"
        if needs or self.often(0.5):
            return self.guarded(needs, [called])
        sum_ = self.pick(called, f"{self.leaf(scope)} + {called}", f"{called} - {self.leaf(scope)}")
        scope.numbers["x"] = None
        return [f"x = {sum_}", "x %= 7"]

    def fire(self, scope: Scope, depth: int) -> list[str]:
        """Return statements that fire a machine."""
        if not self.machines or "s" not in scope.roots or scope.frozen:
            return []
        name, path, indices, triggers = self.pick(*self.machines)
        needs: list[str] = []
        entity = []
        if indices:
            kind = value_of(scope.roots["s"], path)
            assert isinstance(kind, Many)
            entity = [self.index(scope, f"s.{path}", kind, needs)]
        fired = f'fire(s, k, {name}, ({f"{entity[0]}," if entity else ""}), "{self.pick(*triggers)}")'
        if depth > 0 and self.often(0.5):
            lines = [f"if {self.pick('', 'not ')}{fired}:", *("    " + line for line in self.store(scope.block(), 0) or ["pass"])]
            return self.guarded(needs, lines)
        return self.guarded(needs, [fired])

    def branch(self, scope: Scope, depth: int) -> list[str]:
        """Return an `if`, or a `match`."""
        if self.often(0.15):
            subject = f"match {self.number(scope, 1)} % 4:"
            cases = [f"    case {self.pick('0', '1 | 2', '3 if ' + self.test(scope, 1))}:", "    case _:"]
            bodies = [indented(indented(self.statements(scope.block(), depth - 1, 2))) for _ in cases]
            return [subject, cases[0], *bodies[0], cases[1], *bodies[1]]
        lines = [f"if {self.test(scope, 1)}:", *indented(self.statements(scope.block(), depth - 1, 2))]
        if scope.loops and self.often(0.2):
            lines.append(f"    {self.pick('break', 'continue')}")
        if self.often(0.4):
            lines += ["else:", *indented(self.statements(scope.block(), depth - 1, 2))]
        return lines

    def loop(self, scope: Scope, depth: int) -> list[str]:
        """Return a `for`."""
        if scope.loops > 1:
            return []
        name = f"i{scope.loops}"
        over = self.place(scope, lambda kind: isinstance(kind, Many | Line)) if self.often(0.7) else None
        if over is None or not all(re.fullmatch(r"\d+|[pie]\d", index) for index in re.findall(r"\[(.*?)\]", over[0])):
            # a place that depends on what is stored may be another place after the first turn
            inner = scope.block(loops=scope.loops + 1, moves=scope.moves and not scope.inside)
            inner.numbers[name] = literal(2) if (short := self.often(0.5)) else None
            limit = "2" if short else f"{self.pick('', '1, ')}{self.leaf(scope)} % 4"
            return [f"for {name} in range({limit}):", *indented(self.statements(inner, depth - 1, 2))]
        path, _, needs = over
        inner = scope.block(loops=scope.loops + 1, moves=False)
        inner.numbers[name] = None
        scope.inside.append((path, name))
        lines = [f"for {name} in range({self.where(needs, f'len({path})')}):", *indented(self.statements(inner, depth - 1, 2))]
        if (path, name) in scope.inside:
            scope.inside.remove((path, name))
        return lines
