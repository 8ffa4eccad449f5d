"""Random specs as the text of a module: machines, rules and properties over a random state.

A seed is a text. The specs are small, so that most are explored to the end in a second.
"""

from __future__ import annotations

import functools
import itertools
import random

from tests.fuzz.kinds import Kind, Limit, Line, Many, Number, Pile, Scope, Struct, count, indented, literal, names_in, parts
from tests.fuzz.states import States, limit, nodes


class Module(States):
    """The text of a module with a spec."""

    def __init__(self, chance: random.Random, about: str) -> None:
        super().__init__(chance, about)
        self.may_lead = False
        """Whether claims may be about what follows at last; nothing of the kind is asked of elements."""
        self.whens: dict[tuple[str, ...], list[str]] = {}
        """Antecedents, and predicates that may be some: by what they are of."""
        self.functions()
        self.write.k = ["nodes", "limit", "extra", "mode"]
        self.state = self.declare_state()
        self.judges_and_setters()
        self.machines = [self.machine(number, *where) for number, where in enumerate(self.places)]
        self.spec()

    # functions

    def functions(self) -> None:
        """Add some functions of two numbers."""
        scope = Scope({}, {"a": None, "b": None})
        for _ in range(self.chance.randint(0, 2)):
            body = [f"x = {self.write.number(scope, 1)} % 7"]
            inner = scope.block(loops=1)
            inner.numbers.update({"x": None, "i0": None})
            if self.often(0.5):
                body += [f"for i0 in range({self.pick('a', '1, b')}):", f"    x = (x + {self.write.number(inner, 1)}) % 7"]
                body += [f"    if {self.write.test(inner, 0)}:", f"        {self.pick('break', 'continue', 'return i0')}"]
                body += [f"    x += {self.write.leaf(inner)}"]
            name = self.function("count", [*body, "return x"], ["a", "b"], exactly=True)
            self.write.helpers[name] = 1
        if self.often(0.5):
            body = [f"if {self.write.test(scope, 1)}:", "    return b, a", f"return {self.write.number(scope, 1)}, a"]
            self.write.helpers[self.function("pair", body, ["a", "b"], exactly=True)] = 2

    def judges_and_setters(self) -> None:
        """Add functions that judge or change records."""
        structs = {kind.domain: kind for kind in self.state.fields.values() if isinstance(kind, Struct)}
        structs |= {
            k.item.domain: k.item for k in self.state.fields.values() if isinstance(k, Many | Line) and isinstance(k.item, Struct)
        }
        for name, struct in structs.items():
            scope = Scope({"record": struct}, {"a": None})
            if self.often(0.6):
                body = self.write.predicate(scope)
                self.write.judges.append((self.function("judge", body, ["record", "k", "a"], exactly=True), name))
            numbers = [(n, k) for n, k in struct.fields.items() if isinstance(k, Number) and not k.machine]
            if self.often(0.5) and numbers:
                field, kind = self.pick(*numbers)
                body = [
                    f"record.{field} = {self.write.fitting(scope, kind, f'record.{field}')}",
                    f"return {self.write.leaf(scope)}",
                ]
                self.write.setters.append((self.function("change", body, ["record", "k", "a"], exactly=True), name))

    def machine(self, number: int, field: str, array: Many | None) -> str:
        """Add a machine, and let it be fired from then on."""
        name, life = f"MACHINE{number}", f"Life{number}"
        members = next(word for word in self.text if word.startswith(f"class {life}(")).split("\n")[3:]
        states = [f"{life}.{line.split()[0]}" for line in members]
        scope = Scope({"s": self.state}, moves=False)
        if array is not None:
            scope.numbers["e0"], scope.inside = array.length, [(f"s.{field}", "e0")]
        rows, triggers, taken = [], ["go"], set()
        for one, other in itertools.pairwise(states):
            rows.append(self.row("go", [one], other, scope, []))
        for trigger in ("back", "jump"):
            for _ in range(self.chance.randint(0, 2)):
                sources = [state for state in states if self.often(0.6) and (trigger, state) not in taken]
                taken |= {(trigger, state) for state in sources}
                if sources:
                    rows.append(self.row(trigger, sources, self.pick(*states), scope, []))
                    triggers.append(trigger)
        if self.often(0.6):
            rows += self.exclusive(states, scope)
            triggers.append("split")
        entity = '("e0",)' if array is not None else "()"
        lines = [
            f'{name} = Machine("Machine{number}", {life}, {states[0]}, (',
            *indented([f"{row}," for row in rows]),
            f"), {entity})",
        ]
        self.text.append("\n".join(lines))
        self.write.machines.append((name, field, ["e0"] if array is not None else [], list(dict.fromkeys(triggers))))
        return name

    def exclusive(self, states: list[str], scope: Scope) -> list[str]:
        """Return two rows on one trigger and source, of which one fits at most, unless the writer is careless."""
        test = self.write.test(scope, 1)
        yes = self.function("guard", [f"return {test}"], ["s", "k", "e0"])
        guards, unless = [], [yes]
        if self.often(0.5):
            other = f"return not ({test})" if self.write.careful else f"return {self.write.test(scope, 1)}"
            guards, unless = [self.function("guard", [other], ["s", "k", "e0"])], []
        return [
            self.row("split", [states[-1]], self.pick(*states), scope, [yes]),
            self.row("split", [states[-1]], self.pick(*states), scope, guards, unless),
        ]

    def row(
        self, trigger: str, sources: list[str], target: str, scope: Scope, guards: list[str], unless: list[str] | None = None
    ) -> str:
        """Return a row, its functions being added."""
        parameters = ["s", "k", *scope.numbers]
        if unless is None and self.often(0.2):
            unless = [self.function("guard", self.write.predicate(scope.block(inside=list(scope.inside))), parameters)]
        if not guards and not unless and self.often(0.3):
            guards = [self.function("guard", self.write.predicate(scope.block(inside=list(scope.inside))), parameters)]
        effects = []
        for _ in range(self.pick(0, 0, 1, 2)):
            effects.append(self.function("effect", self.write.statements(scope.block(), 1, 2), parameters))
        kind = ', kind="initialisation"' if self.often(0.1) else ""
        waits = ', waits_for="time"' if not self.write.careful and self.often(0.1) else ""
        return (
            f'Row("{trigger}", ({", ".join(sources)},), {target}, ({"".join(f"{g}, " for g in guards)}), '
            f"({''.join(f'{e}, ' for e in effects)}){kind}{waits}"
            f"{f', unless=({unless[0]},)' if unless else ''})"
        )

    # rules and properties

    def parameters(self) -> dict[str, tuple[str, Limit | None]]:
        """Return some parameters of a rule: for each its domain, and what it stays below if it is 0 or more."""
        found: dict[str, tuple[str, Limit | None]] = {}
        lines = [name for name, kind in self.state.fields.items() if isinstance(kind, Line)]
        piles = [name for name, kind in self.state.fields.items() if isinstance(kind, Pile)]
        actions = 1
        for number in range(self.pick(0, 1, 1, 2, 2, 3)):
            high = self.pick(1, 2, 3, 4)
            domain, below, most = self.pick(
                (f"Range(0, {high})", literal(high + 1), high + 1), (f"Range(0, {high})", literal(high + 1), high + 1),
                ("Range(-1, 3)", None, 5), ("Range(1, 2)", literal(3), 2), ("Flag()", literal(2), 2),
                ("Broker(NODES)", nodes(), 3), ("Broker(2)", literal(2), 2), ("BrokerOrNone(NODES)", None, 4),
                ("OneOf(Colour)", None, 4), ("Range(0, LIMIT)", limit(1), 4), ("Range(0, LIMIT + 1)", limit(2), 5),
                ("Range(LIMIT - 1, LIMIT + 2)", None, 4), ("SetOf(2)", literal(4), 4),
                *([(f"ItemOf({self.pick(*lines)!r})", None, 3)] * 4 if lines else []),
                *([(f"ElementOf({self.pick(*piles)!r})", None, 4)] * 8 if piles else []),
            )  # fmt: skip
            actions *= most
            if actions > 24:
                continue
            if domain.startswith(("Range", "Broker(", "Flag", "OneOf", "SetOf")) and self.other.random() < 0.15:
                scope = self.scope({**found, f"p{number}": (domain, below)})
                that = self.function("among", self.write.predicate(scope), ["s", "k", *found, f"p{number}"])
                loose = domain.startswith(("Range(0", "Range(1", "Broker(", "Flag")) and self.other.random() < 0.5
                domain, below = f"Among({domain}, {that}{', or_none=True' if loose else ''})", None if loose else below
            found[f"p{number}"] = domain, below
        if self.write.copies is not None and self.write.copies.random() < 0.2:
            some = [
                kind for kind in parts(self.state)
                if kind is not self.state and not isinstance(kind, Number) and 1 < (count(kind) or 0) * actions <= 24
            ]  # fmt: skip
            if some:
                kind = self.write.copies.choice(some)
                self.wholes[kind.domain] = kind
                found["w"] = kind.domain, None
        return found

    @functools.cached_property
    def wholes(self) -> dict[str, Kind]:
        """The domains of parameters that are records or containers, and what these are."""
        return {}

    def scope(self, parameters: dict[str, tuple[str, Limit | None]], **more: bool) -> Scope:
        """Return what functions of a rule with these parameters can name."""
        items = [(f"s.{domain[8:-2]}", name) for name, (domain, _) in parameters.items() if domain.startswith("ItemOf")]
        elements: dict[str, Kind] = {
            name: self.element_of(domain) for name, (domain, _) in parameters.items() if domain.startswith("ElementOf")
        }
        elements |= {name: self.wholes[domain] for name, (domain, _) in parameters.items() if name == "w"}
        numbers = {name: below for name, (_, below) in parameters.items() if name not in elements}
        return Scope({"s": self.state, **elements}, numbers, items, fixed=frozenset(elements), **more)

    def element_of(self, domain: str) -> Struct:
        """Return the kind of the elements that a parameter ranges over."""
        pile = self.state.fields[domain[11:-2]]
        assert isinstance(pile, Pile)
        return pile.item

    def rule(self, number: int) -> str:
        """Return a rule, its functions being added."""
        parameters = self.parameters()
        names = ["s", "k", *parameters]
        guards = []
        for _ in range(self.pick(0, 0, 0, 1, 1, 2)):
            some = dict(list(parameters.items())[: self.chance.randint(0, len(parameters))])
            body = self.write.predicate(self.scope(some))
            needs = max((list(parameters).index(name) + 1 for name in names_in(body, parameters)), default=0)
            guards.append((needs, self.function("guard", body, names)))
        within = [self.function("limit", self.write.predicate(self.scope(parameters)), names)] if self.often(0.2) else []
        scope = self.scope(parameters)
        effects = []
        for _ in range(self.pick(1, 1, 1, 2)):
            body = self.write.advance(scope) if not effects and self.often(0.6) else []
            if not body or self.often(0.6):
                body += self.write.statements(scope.block(), 2, 2)
            effects.append(self.function("effect", body, names))
        kind = self.pick("protocol", "protocol", "operator", "fault")
        guards += [(0, self.function("guard", [self.count_read()], names)) for _ in range(self.rarely())]
        within += [self.function("limit", [self.count_read()], names) for _ in range(self.rarely())]
        return (
            f'Rule("Rule{number}", "world", "", "", ({"".join(f"{e}, " for e in effects)}), '
            f"{{{', '.join(f'{name!r}: {domain}' for name, (domain, _) in parameters.items())}}}, "
            f"({''.join(f'{name}, ' for _, name in sorted(guards, key=lambda guard: guard[0]))}), "
            f'({"".join(f"{name}, " for name in within)}), "{kind}"{self.at_most(number)}{self.fairness(kind)})'
        )

    def fairness(self, kind: str) -> str:
        """Return another fairness than the weak one of protocol rules, now and then."""
        words = ("", "", "strong", "none", "weak each", "strong each")
        other = self.newest.choice(words) if self.may_lead else ""
        return f', fairness="{other}"' if other and kind == "protocol" else ""

    # how often rules fire

    def rarely(self) -> int:
        """Return 1 now and then, where firings are counted."""
        return int(bool(self.counted) and self.other.random() < 0.1)

    def at_most(self, number: int) -> str:
        """Return what limits how often a rule fires, and may limit others too; each bound that is counted limits some rule."""
        named = [self.counted[number]] if number < len(self.counted) else []
        named += [bound for bound in self.counted if bound not in named and self.other.random() < 0.3]
        if not named:
            return ""
        return f", at_most={named[0]}" if len(named) == 1 and self.other.random() < 0.5 else f", at_most=({', '.join(named)},)"

    def count_read(self, *roots: str) -> str:
        """Return a statement that compares counters with something."""
        one, other = (f"{root}.spent.{self.other.choice(self.counted).lower()}" for root in roots or ("s", "s"))
        right = self.other.choice(("1", "2", "k.limit", other, f"{other} + 1"))
        return f"return {one} {self.other.choice(('<', '<=', '==', '!=', '>='))} {right}"

    def start(self) -> str:
        """Return the rule that starts, its effects being added; none of them leaves a domain."""
        parameters = {name: of for name, of in self.parameters().items() if not of[0].startswith(("ItemOf", "ElementOf", "Among"))}
        before = self.write.careful, self.write.machines
        self.write.strict, self.write.careful, self.write.machines = True, True, []
        body = self.write.statements(self.scope(parameters), 1, 3)
        self.write.strict, (self.write.careful, self.write.machines) = False, before
        effect = self.function("effect", body, ["s", "k", *parameters])
        domains = ", ".join(f"{name!r}: {domain}" for name, (domain, _) in parameters.items())
        return f'Rule("Start", "world", "", "", ({effect},), {{{domains}}})'

    def claim(self, number: int) -> str:
        """Return a property, its predicate being added."""
        if self.may_lead and self.newest.random() < 0.4:
            return self.of_paths(number)
        kind = self.pick("invariant", "invariant", "step_invariant", "step_invariant", "reachable", "recoverable", "recoverable")
        roots = ("before", "after") if kind == "step_invariant" else ("s",)
        body = self.write.predicate(Scope(dict.fromkeys(roots, self.state)))
        if kind == "step_invariant" and self.often(0.6):
            place = self.write.place(Scope({"before": self.state}), lambda one: isinstance(one, Number))
            if place is not None and not place[2]:
                body = [f"return {place[0]} {self.pick('<=', '>=', '!=', '==')} {place[0].replace('before.', 'after.')}"]
        if self.rarely():
            body = [self.count_read(*(roots * 2)[:2])]
        name = self.function("claim", body, [*roots, "k"])
        if kind == "reachable" or self.often(0.6):
            return f'{kind}("Claim{number}", {name}, "", "")'
        body = self.write.predicate(Scope(dict.fromkeys(roots, self.state)))
        if self.rarely():
            body = [self.count_read(*(roots * 2)[:2])]
        when = self.function("when", body, [*roots, "k"])
        if (known := self.whens.setdefault(roots, [])) and self.other.random() < 0.4:
            when = self.other.choice(known)
        known += [when, *([name] if self.other.random() < 0.3 else [])]
        return f'{kind}("Claim{number}", {name}, "", "", when={when})'

    def of_paths(self, number: int) -> str:
        """Return a property of what has to happen eventually, of the state or of each node."""
        each = self.newest.random() < 0.5
        kind = self.newest.choice(("leads_to", "leads_to", "recoverable", "eventually", "eventually_always"))
        functions = [self.of_each(what) if each else self.of_state(what) for what in ("when", "claim")]
        more = ', each={"one": NODES}' if each else ""
        if kind == "leads_to":
            return f'leads_to("Claim{number}", {functions[0]}, {functions[1]}, ""{more})'
        when = f", when={functions[0]}" if kind == "recoverable" else ""
        return f'{kind}("Claim{number}", {functions[1]}, ""{when}{more})'

    def of_state(self, what: str) -> str:
        """Return a predicate of the state, which is added."""
        return self.function(what, self.write.predicate(Scope({"s": self.state})), ["s", "k"])

    def of_each(self, what: str) -> str:
        """Return a predicate of one of several things, which is added; of the first it says something else than of the others."""
        first, others = (self.write.predicate(Scope({"s": self.state})) for _ in range(2))
        return self.function(what, ["if one == 0:", *(f"    {line}" for line in first), *others], ["s", "k", "one"])

    def spec(self) -> None:
        """Add the spec."""
        self.may_lead = self.newest.random() < 0.3
        rules = [self.rule(number) for number in range(self.chance.randint(2, 6))]
        self.may_lead = self.may_lead and not any("ElementOf" in rule for rule in rules)
        claims = [self.claim(number) for number in range(self.chance.randint(1, 5))]
        start = f"    start={self.start()}," if self.often(0.5) else ""
        bounds = (("nodes", 1, 3), ("limit", 0, 3), ("extra", 0, 9))
        values = [", ".join(f'"{name}": {self.chance.randint(low, high)}' for name, low, high in bounds) for _ in range(2)]
        sets = [f'BoundSet("set{number}", {{{some}}}, "")' for number, some in enumerate(values)]
        lines = [
            'SPEC = Spec(', '    "random", "", State,', "    (", *indented(indented([f"{rule}," for rule in rules])), "    ),",
            "    (", *indented(indented([f"{claim}," for claim in claims])), "    ),", start,
            '    more_bounds=(NODES, LIMIT, EXTRA), decisions=(Decision("mode", Mode.SLOW, ""),),',
            f"    machines=({''.join(f'{name}, ' for name in self.machines)}),", "    bound_sets=(",
            *indented(indented([f"{one}," for one in sets])), "    ),", *indented(self.what_is_kept(claims)), ")",
        ]  # fmt: skip
        self.text.append("\n".join(line for line in lines if line))

    def what_is_kept(self, claims: list[str]) -> list[str]:
        """Return final states, a constraint and a view of the spec, now and then, their functions being added."""
        found = []
        for name, chance in (("final", 0.5), ("constraint", 0.25)):
            if self.other.random() < chance:
                found.append(f"{name}={self.function(name, self.write.predicate(self.scope({})), ['s', 'k'])},")
        if self.other.random() < 0.3 and not any(claim.startswith(("recoverable", "leads_to", "eventually")) for claim in claims):
            before = self.write.careful, self.write.machines
            self.write.strict, self.write.careful, self.write.machines = True, True, []
            body = self.write.statements(self.scope({}), 1, 2)
            self.write.strict, (self.write.careful, self.write.machines) = False, before
            found.append(f"view=({self.function('view', body, ['s', 'k'])},),")
        return found


def text_of(seed: int) -> str:
    """Return the text of the module of a seed."""
    return "\n\n\n".join(Module(random.Random(seed), f"Seed {seed} of tests/fuzz.").text) + "\n"
