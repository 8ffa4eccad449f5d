"""The module of a spec, and the configurations of TLC at its bounds.

Depends on whole specs. The head of the module states what a reader or TLC must know about the translation.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from kafka_spec.diagrams.tla.fairness import (
    FAIR_SPEC,
    FAIRNESS,
    conjunction,
    finitely_often,
    formula,
    of_each_binding,
    of_whole_rule,
)
from kafka_spec.diagrams.tla.frames import walked
from kafka_spec.diagrams.tla.operators import Operators
from kafka_spec.diagrams.tla.parameters import values_of, whole_sorts
from kafka_spec.diagrams.tla.shortened import both, either, negated
from kafka_spec.diagrams.tla.sorts import Unordered, constant_bounds, constant_name, limit, plus_number
from kafka_spec.diagrams.tla.terms import (
    COMPARE,
    IMPLIES,
    RANGE,
    SETS,
    TRUE,
    Access,
    Apply,
    Atom,
    Bind,
    Enumerated,
    Except,
    Infix,
    Term,
    number,
)
from kafka_spec.diagrams.tla.text import comment
from kafka_spec.spec.vocabulary.table import (
    EVENTUAL,
    Among,
    ElementOf,
    ItemOf,
    Parameter,
    Property,
    Ranks,
    Rule,
    Spec,
    SpecError,
    first_line,
)

HEAD = """\
{summary}

Written by `kafka-spec export --format tla`; change the spec, not this file. {reference}

The state is one record. A function of the spec is an operator of the same name: a guard or a property says
whether it holds in s, an effect is the state after it. A rule is an action of the same name; its guards stand
first, and Step takes the state after its effects. Brokers, indices and truth values kept in fields are numbers,
arrays are functions from 0, sequences are tuples (so the item at offset 0 is item 1), sets are sets,
members of an enumeration are numbers with names.

A bound is a constant. A step that would leave one is not a step (Step, and the comments `within the bounds`). A
limit that the spec states as a fact is part of TypeInvariant; a step that leaves limits of both kinds violates
it. Limits are looked at where a step ends: a step that leaves one and comes back within it before it ends is
taken here, and is none there. Two rows of a table that fit at once, and whatever cannot be evaluated, are
errors of the spec there; here the first row is taken, nothing is removed, or TLC stops. TLC judges an action property on every
step that changes something.
"""


CONSTRAINT, VIEW, NO_DEADLOCK = "StateConstraint", "StateView", "NoDeadlock"
"""The names of a constraint, of a view, and of the invariant that looks for deadlocks in a module."""


class Module:
    """Writes the module of one spec."""

    def __init__(self, spec: Spec, name: str) -> None:
        self.spec = spec
        self.name = name
        self.operators = Operators(spec)
        self.text = self.operators.text
        self.state: dict[str, Term] = {"s": Atom("state")}
        self.possible: list[Term] = []
        """For each rule whether its guards hold for some parameters."""
        self.fair: list[Term] = []
        """What is assumed of each rule."""

    def write(self) -> str:
        """Return the whole module."""
        self.text.heading("The state")
        root = self.operators.types.name(self.spec.state)
        self.bounded = self.operators.types.has_fits[self.spec.state]
        self.step(root)
        names = [self.rule(rule) for rule in self.spec.rules]
        self.text.heading("The behaviours")
        self.start(root)
        self.text.define("Next", (), either(*names) if len(names) > 1 else names[0])
        self.text.definitions.append("Spec == Init /\\ [][Next]_state")
        if any(claim.kind in EVENTUAL for claim in self.spec.properties):
            self.fairness(names)
        self.text.heading("The properties")
        summary = "Each field stays in its domain."
        self.text.define("TypeInvariant", (), Infix("\\in", Atom("state"), Atom(f"{root}Type"), COMPARE), summary)
        for claim in self.spec.properties:
            self.claim(claim)
        self.explored()
        self.deadlock()
        return "\n".join([*self.head(), *("\n" + part for part in [*self.text.top(), *self.text.definitions]), "", "=" * 110, ""])

    def head(self) -> list[str]:
        """Return the module's first lines, its bounds and its decisions."""
        summary = HEAD.format(
            summary=f"{self.spec.name}: {self.spec.summary}",
            reference=f"Source: {self.spec.reference}" if self.spec.reference else "",
        )
        left = [f"Not modelled: {abstraction.what}: {abstraction.why}" for abstraction in self.spec.abstractions]
        lines = [f"---- MODULE {self.name} ----", *comment("\n\n".join([summary, *left])), ""]
        lines += ["EXTENDS Integers, Sequences, FiniteSets, TLC", ""]
        if bounds := list(constant_bounds(self.spec).values()):
            lines.append("CONSTANTS")
            for bound in bounds:
                comma = "," if bound is not bounds[-1] else ""
                lines += [*(f"  {line}" for line in comment(bound.meaning)), f"  {constant_name(bound.name)}{comma}"]
            lines.append("")
        lines.append("VARIABLE state")
        for decision in self.spec.decisions:
            member = self.text.member(decision.value).flat()
            self.text.definitions.insert(0, "\n".join([*comment(decision.meaning), f"{constant_name(decision.name)} == {member}"]))
        return lines

    # rules

    def step(self, root: str) -> None:
        """Write the next-state relation."""
        taken = Infix("=", Atom("state'"), Atom("t"), COMPARE)
        if not self.bounded:
            self.text.define("Step", ("t",), taken, "The step to the state t.")
            return
        outside = negated(Infix("\\in", Atom("t"), Atom(f"{root}Type"), COMPARE))
        fits = self.guard(either(Apply(f"{root}Fits", (Atom("t"),)), outside))
        summary = "The step to the state t, unless that is outside the bounds; TypeInvariant reports what is not a state at all."
        self.text.define("Step", ("t",), both(fits, taken), summary)

    def rule(self, rule: Rule) -> Term:
        """Write the action of a rule; return it quantified over its parameters."""
        self.text.heading(
            f"{rule.name}: {rule.summary}\n\nSource: {rule.reference}" if rule.reference else f"{rule.name}: {rule.summary}"
        )
        parameters = self.parameters(rule)
        arguments: dict[str, Term] = {name: Atom(as_name) for name, as_name in parameters.items()}
        self.operators.wholes = whole_sorts(self.operators.shapes, rule)
        guards = [self.guard(self.operators.predicate(guard, self.state, arguments)) for guard in rule.guards]
        within = [self.guard(self.operators.predicate(guard, self.state, arguments)) for guard in rule.bound_guards]
        within += [self.unspent(limit_.name) for limit_ in rule.limits]
        after = self.operators.after(rule.effects, Atom("state"), arguments)
        counted = tuple((f".spent.{limit_.name}", Infix("+", Atom("@"), number(1), 10)) for limit_ in rule.limits)
        after = Except(after, counted) if counted else after
        self.define_action(rule.name, list(parameters.values()), guards, within, Apply("Step", (after,)))
        self.possible.append(self.chosen(rule, parameters, both(*guards)))
        action = Apply(rule.name, tuple(Atom(name) for name in parameters.values()))
        if any(claim.kind in EVENTUAL for claim in self.spec.properties):
            self.assume(rule, parameters, action)
        return self.chosen(rule, parameters, action)

    def assume(self, rule: Rule, parameters: Mapping[str, str], action: Term) -> None:
        """Note what is assumed of a rule."""
        kind, _, each = self.spec.fairness_of(rule).partition(" ")
        if kind == "none":
            return
        if not each:
            self.fair.append(of_whole_rule(kind, self.chosen(rule, parameters, action)))
            return
        every = [(parameters[name], self.every(parameter)) for name, parameter in rule.params.items()]
        now = [
            (parameters[name], self.domain(name, parameter, parameters, rule))
            for name, parameter in rule.params.items()
            if isinstance(parameter, ItemOf | Among)
        ]
        self.fair.append(of_each_binding(kind, action, every, now))

    def fairness(self, actions: Sequence[Term]) -> None:
        """Write what is assumed of rules, and the behaviours that meet it."""
        kinds = [rule.kind == "protocol" for rule in self.spec.rules]
        if not all(kinds):
            self.fair.append(finitely_often([action for action, of_protocol in zip(actions, kinds, strict=True) if of_protocol]))
        lines = conjunction(self.fair) or ["  TRUE"]
        self.text.definitions.append("\n".join([f"{FAIRNESS} ==", *lines]))
        self.text.definitions.append(f"{FAIR_SPEC} == Spec /\\ {FAIRNESS}")

    def every(self, parameter: Parameter) -> Term:
        """Return all values that a parameter that is not an element of a set may ever have."""
        if isinstance(parameter, ItemOf):
            domain = self.operators.shapes.domains(self.spec.state)[parameter.field]
            return Infix("..", number(0), plus_number(limit(getattr(domain, "capacity", 0)), -1), RANGE)
        assert not isinstance(parameter, ElementOf)
        values = values_of(self.operators.types, parameter)
        or_none = isinstance(parameter, Among) and parameter.or_none
        return Infix("\\cup", values, Enumerated((number(-1),)), SETS) if or_none else values

    def guard(self, term: Term) -> Term:
        """Return a guard as part of an action."""
        return self.operators.values.apply("Holds", term) if self.text.chooses(term) else term

    def define_action(self, name: str, parameters: Sequence[str], guards: list[Term], within: list[Term], step: Term) -> None:
        """Write an action: guards, conditions that only bounds impose, and the step."""
        head = f"{name}({', '.join(parameters)}) ==" if parameters else f"{name} =="
        lines = [head]
        for part in guards:
            lines += _bullet(part)
        if within:
            lines.append("  \\* within the bounds:")
        for part in within:
            lines += _bullet(part)
        self.text.definitions.append("\n".join([*lines, *_bullet(step)]))

    def unspent(self, bound: str) -> Term:
        """Return whether a rule whose firings a bound limits may fire again."""
        return Infix("<", Access(Access(Atom("state"), "spent"), bound), Atom(constant_name(bound)), COMPARE)

    def parameters(self, rule: Rule) -> dict[str, str]:
        """Return names for the parameters of a rule."""
        return {name: name if name[0].islower() and name not in self.text.taken else f"a_{name}" for name in rule.params}

    def chosen(self, rule: Rule, parameters: Mapping[str, str], body: Term) -> Term:
        """Return a formula quantified existentially over a rule's parameters."""
        for name, parameter in reversed(list(rule.params.items())):
            body = Bind(f"\\E {parameters[name]} \\in {self.domain(name, parameter, parameters, rule).flat()} :", body)
        return body

    def domain(self, name: str, parameter: Parameter, parameters: Mapping[str, str], rule: Rule) -> Term:
        """Return the values of a parameter in a state."""
        if isinstance(parameter, ItemOf):
            last = plus_number(Apply("Len", (Access(Atom("state"), parameter.field),)), -1)
            return Infix("..", number(0), last, RANGE)
        if isinstance(parameter, ElementOf):
            elements = walked(Atom("state"), self.steps(parameter, parameters))
            sort = self.operators.shapes.at(parameter.steps)
            assert isinstance(sort, Unordered)
            return self.operators.values.apply("BagMembers", elements) if sort.repeats else elements
        if isinstance(parameter, Among):
            return self.among(parameter, name, parameters, rule)
        return values_of(self.operators.types, parameter)

    def among(self, parameter: Among, name: str, parameters: Mapping[str, str], rule: Rule) -> Term:
        """Return those values of a domain that a predicate admits."""
        arguments: dict[str, Term] = {one: Atom(as_name) for one, as_name in parameters.items()}
        fresh: dict[str, Term] = {"s": self.operators.types.fresh_name(self.spec.state)}
        holds = self.operators.predicate(parameter.that, fresh if rule is self.spec.start else self.state, arguments)
        admitted = Bind(f"{{{parameters[name]} \\in {values_of(self.operators.types, parameter).flat()} :", holds, "}")
        return self.operators.values.apply("OrNone", admitted) if parameter.or_none else admitted

    @staticmethod
    def steps(parameter: ElementOf, names: Mapping[str, str]) -> tuple[str | Term, ...]:
        """Return the path to the set that a parameter ranges over."""
        return tuple(
            number(step) if isinstance(step, int) else Atom(names[step[1:-1]]) if step.startswith("{") else step
            for step in parameter.steps
        )

    def start(self, root: str) -> None:
        """Write the initial states."""
        rule = self.spec.start
        self.operators.wholes = whole_sorts(self.operators.shapes, rule)
        parameters = self.parameters(rule)
        arguments: dict[str, Term] = {name: Atom(as_name) for name, as_name in parameters.items()}
        fresh: dict[str, Term] = {"s": Atom(f"Fresh{root}")}
        guards = [self.guard(self.operators.predicate(guard, fresh, arguments)) for guard in (*rule.guards, *rule.bound_guards)]
        after = self.operators.after(rule.effects, fresh["s"], arguments)
        body = both(*guards, Infix("=", Atom("state"), after, COMPARE))
        self.text.define("Init", (), self.chosen(rule, parameters, body), rule.summary)

    # what is explored

    def explored(self) -> None:
        """Write the constraint and the view, which the configuration names.

        Raises:
            SpecError: the view has a part without a translation.
        """
        if self.spec.constraint is not None:
            summary = f"The states to be explored: {first_line(self.spec.constraint)}."
            self.text.define(CONSTRAINT, (), self.operators.predicate(self.spec.constraint, self.state, {}), summary)
        if self.spec.view:
            functions = tuple(part for part in self.spec.view if not isinstance(part, Ranks))
            if len(functions) < len(self.spec.view):
                raise SpecError(f"{self.spec.name}: a view with ranks has no form in TLA+; write a function of the state instead")
            summary = "What identifies a state: of several with one view TLC explores the first that it finds."
            self.text.define(VIEW, (), self.operators.after(functions, Atom("state"), {}), summary)

    def deadlock(self) -> None:
        """Write the invariant that every state is final, or that the guards of some rule hold, unless the spec may rest anywhere.

        A state without a step is not a deadlock where only a bound prevents one, so it is not what TLC calls a deadlock.
        """
        if not self.spec.checks_deadlock:
            return
        parts = [self.operators.predicate(self.spec.final_states, self.state, {})] if self.spec.final_states is not None else []
        if self.spec.constraint is not None:
            parts.append(negated(Atom(CONSTRAINT)))
        summary = "In every state the guards of some rule hold" + (
            ", or the protocol may rest there." if self.spec.final_states else "."
        )
        self.text.define(NO_DEADLOCK, (), either(*parts, *self.possible), summary)

    # properties

    def claim(self, claim: Property) -> None:
        """Write a property, or a comment that says why it is omitted."""
        summary = f"{claim.summary[:1].upper()}{claim.summary[1:]}.\n\nSource: {claim.reference}"
        if claim.kind == "recoverable":
            lines = comment(f"{claim.name} is left out: TLA+ cannot express that a path to it always exists (AG EF). {summary}")
            self.text.definitions.append("\n".join(lines))
            return
        if claim.kind == "step invariant":
            states: dict[str, Term] = {"before": Atom("state"), "after": Atom("state'")}
            formula = self.judged(claim, states)
            self.text.define(claim.name, (), Bind("[][", formula, "]_state"), summary)
            return
        if claim.kind == "reachable":
            self.goal(claim, summary)
            return
        self.text.define(claim.name, (), self.judged(claim, self.state), summary)

    def goal(self, claim: Property, summary: str) -> None:
        """Write what a goal denies: for each binding by itself, since TLC has to find each of them violated."""
        claims = claim.at({bound.name: bound.high for bound in claim.counting_bounds})
        if len(claims) > MOST_GOALS:
            every = f"{len(claims)} goals, one for each {' and '.join(claim.named_things)}"
            raise SpecError(f"{claim.name}: {every}; narrow the bounds, or leave it out of the export")
        for one in claims:
            (asked,) = one.predicates
            goal = self.operators.predicate(asked.function, self.state, {name: number(value) for name, value in asked.given})
            name = goal_name(one)
            self.text.define(name, (), negated(goal), f"A goal: TLC reaches it where it finds that {name} is violated. {summary}")

    def judged(self, claim: Property, states: dict[str, Term]) -> Term:
        """Return the formula of an instance: its antecedent implies it, for each binding."""
        names = self.things(claim)
        arguments: dict[str, Term] = {name: Atom(as_name) for name, as_name in names.items()}
        when = TRUE if claim.when is None else self.operators.predicate(claim.when, states, arguments)
        predicate = self.operators.predicate(claim.predicate, states, arguments)
        if claim.kind in EVENTUAL:
            return self.for_each(claim, formula(claim.kind, when, predicate))
        return self.for_each(claim, predicate if when == TRUE else Infix("=>", when, predicate, IMPLIES))

    def things(self, claim: Property) -> dict[str, str]:
        """Return names for the parameters of an instance."""
        return {name: name if name[0].islower() and name not in self.text.taken else f"a_{name}" for name in claim.named_things}

    def for_each(self, claim: Property, body: Term) -> Term:
        """Return a formula about each binding of an instance."""
        names = self.things(claim)
        for name, count in reversed(list(claim.named_things.items())):
            values = Infix("..", number(0), plus_number(limit(count), -1), RANGE)
            body = Bind(f"\\A {names[name]} \\in {values.flat()} :", body)
        return body


MOST_GOALS = 64
"""The most bindings of a goal, each of which has an operator."""


def goal_name(claim: Property) -> str:
    """Return the name of the invariant that denies a goal, of one binding if it is about several things."""
    return "_".join([f"Never{claim.stated}", *(str(value) for _, value in (claim.bindings[0] if claim.bindings else ()))])


def _bullet(term: Term) -> list[str]:
    first, *rest = term.lines(105)
    return [f"  /\\ {first}", *(f"     {line}" for line in rest)]


def spec_tla(spec: Spec, name: str) -> str:
    """Return the module of a spec.

    Raises:
        SpecError: a construct of the spec has no translation; the message names it and its function.
    """
    return Module(spec, name).write()


def configuration(spec: Spec, bounds: Mapping[str, int], summary: str = "", goals: Sequence[str] = ()) -> str:
    """Return a TLC configuration: the spec at these bounds, and its properties; `goals` names those to check."""
    deadlock = [NO_DEADLOCK] if spec.checks_deadlock else []
    invariants = ["TypeInvariant", *deadlock, *(claim.name for claim in spec.properties if claim.kind == "invariant")]
    steps = [claim.name for claim in spec.properties if claim.kind == "step invariant"]
    names = [goal_name(one) for claim in spec.properties if claim.kind == "reachable" for one in claim.at(bounds)]
    lines = [
        *comment(summary),
        "\\* Run TLC with -deadlock: a bound may forbid all steps of a state, which is not an error.",
        "SPECIFICATION Spec",
    ]
    if named := constant_bounds(spec):
        lines += ["CONSTANTS", *(f"  {constant_name(name)} = {bounds[name]}" for name in named)]
    never = [f"Never{goal}" for goal in goals]
    lines += ["INVARIANTS", *(f"  {name}" for name in (*invariants, *never))]
    lines += ["PROPERTIES", *(f"  {name}" for name in steps)] if steps else []
    lines += ["CONSTRAINT", f"  {CONSTRAINT}"] if spec.constraint is not None else []
    lines += ["VIEW", f"  {VIEW}"] if spec.view else []
    if later := [claim.name for claim in spec.properties if claim.kind in EVENTUAL]:
        lines += comment(f"What has to happen eventually: SPECIFICATION {FAIR_SPEC} and PROPERTIES " + " ".join(later))
    if left := [name for name in names if name not in never]:
        lines += comment("Goals, each reached where TLC finds it violated: INVARIANTS " + " ".join(left))
    return "\n".join([*lines, ""])
