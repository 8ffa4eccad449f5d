"""The conditions that suggested lemmas are made of, as texts of the language.

They compare what is in a state, and use the spec's own predicates. They are about variables that a lemma ranges over, such as
two servers, or a server and an item of its log.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from kafka_spec.model_check.proof.suggestions.helpers import Helpers, sources_of
from kafka_spec.model_check.proof.suggestions.terms import Slot, Sort, StateTerm, Terms, shifted
from kafka_spec.spec.language.domain import NONE, Record, contains, present, value_of
from kafka_spec.spec.vocabulary.table import Constants, Property, Spec

MOST_CHOICES = 100
"""The most choices of values for the variables of a lemma."""


@dataclass(frozen=True)
class Variable:
    """A variable of a lemma, and what it ranges over, as text."""

    name: str
    slot: Slot
    over: str


Table: TypeAlias = tuple[Variable, ...]
"""The variables of a lemma, in the order of its loops."""


@dataclass(frozen=True)
class StateCondition:
    """A condition about some variables, as text; `negated` is the text of the contrary."""

    text: str
    negated: str
    variables: frozenset[str]


class Grammar:
    """The terms and predicates of a spec at bounds, and the conditions about them that are not `stated` already."""

    def __init__(self, spec: Spec, bounds: Mapping[str, int], stated: Sequence[Property] = ()) -> None:
        root, sources = spec.space(bounds).root, sources_of(spec)
        self.names: dict[str, Any] = {
            "contains": contains, "present": present, "value_of": value_of, "NONE": NONE, "Constants": Constants
        }  # fmt: skip
        collected = Terms(root, bounds, self.names, sources)
        self.terms, self.slots = collected.found, collected.slots
        known = {statement.predicate for statement in stated}
        self.helpers = list(Helpers(spec, bounds, sources, self.terms, root.cls).predicates(known, self.names))

    # tables

    def tables(self) -> list[Table]:
        """Return the variables of the lemmas that are tried: none, one, two, and an item that two logs have."""
        found: list[Table] = [()]
        numbers = [slot for slot in self.slots if slot.what == "index"]
        for slot in self.slots:
            outer = "{0}" in slot.text
            if not outer:
                found.append(self.table(slot))
                found += [self.table(slot, other) for other in numbers if slot.what != "index"]
                found += [self.table(slot, slot)] if slot.what != "item" else []
            else:
                of = next(term.slots[0] for term in self.terms if slot in term.slots)
                found += [self.table(of, slot), self.table(of, of, slot)] if of.what == "index" else []
        found += [self.table(one, other) for one, other in itertools.combinations(numbers, 2)]
        return [table for table in dict.fromkeys(found) if math.prod(one.slot.count for one in table) <= MOST_CHOICES]

    def table(self, *slots: Slot) -> Table:
        """Return variables for some slots; those of an index of a sequence range over what all its sequences have."""
        found: list[Variable] = []
        free = {"index": iter("pqr"), "item": iter("ij"), "element": iter("mn")}
        for slot in slots:
            name = next(free[slot.what])
            if slot.what == "index":
                over = f"range({slot.text})"
            elif slot.what == "element":
                over = slot.text
            else:
                outer = [variable.name for variable in found if variable.slot.what == "index"] if "{0}" in slot.text else [""]
                lengths = [f"len({slot.text.format(one)})" for one in outer]
                over = f"range({lengths[0]})" if len(lengths) == 1 else f"range(min({', '.join(lengths)}))"
            found.append(Variable(name, slot, over))
        return tuple(found)

    # conditions

    def placed(self, table: Table) -> Iterator[tuple[StateTerm, str, tuple[str, ...], frozenset[str]]]:
        """Yield each term with variables of a table in its slots: its text, what must hold to read it, and the variables."""
        for term in self.terms:
            for chosen in itertools.product(*([one.name for one in table if one.slot == slot] for slot in term.slots)):
                yield term, term.text.format(*chosen), tuple(one.format(*chosen) for one in term.given), frozenset(chosen)

    def conditions(self, table: Table) -> list[StateCondition]:
        """Return the conditions about the variables of a table, or some of them."""
        found = list(itertools.chain(self.comparisons(table), self.called(table)))
        return list({condition.text: condition for condition in found}.values())

    def comparisons(self, table: Table) -> Iterator[StateCondition]:
        """Yield what compares terms with each other and with values."""
        placed = list(self.placed(table))
        for term, text, given, variables in placed:
            if term.sort == ("truth", None) and not term.values:
                yield stated(text, f"not {text}", variables, given)
            for value in term.values:
                yield stated(f"{text} == {value}", f"{text} != {value}", variables, given)
            if term.many:
                yield stated(f"{text} == 0", f"{text} != 0", variables, given)
        for (term, text, given, variables), (other, its, more, others) in itertools.permutations(placed, 2):
            if (shifted(term) and shifted(other)) or text.startswith(its) or its.startswith(text):
                continue
            if term.sort != other.sort or term.sort[0] in ("truth", "record", "sequence"):
                continue
            both, needed = variables | others, tuple(dict.fromkeys((*given, *more)))
            if term.many and other.many:
                yield stated(f"{text} & ~{its} == 0", f"{text} & ~{its} != 0", both, needed)
            elif other.many:
                there = needed if "NONE" not in term.values else (*needed, f"{text} != NONE")
                yield stated(f"contains({its}, {text})", f"not contains({its}, {text})", both, there)
            elif not term.many:
                if text < its and not {text, its} <= {variable.name for variable in table}:
                    yield stated(f"{text} == {its}", f"{text} != {its}", both, needed)
                if term.sort[0] == "number" and not {text, its} & variables and not shifted(term) and not shifted(other):
                    yield stated(f"{text} < {its}", f"{text} >= {its}", both, needed)

    def called(self, table: Table) -> Iterator[StateCondition]:
        """Yield the spec's own predicates of what a table has."""
        placed = list(self.placed(table))
        for helper, wanted in self.helpers:
            choices: list[list[tuple[str, frozenset[str], tuple[str, ...]]]] = []
            for want in wanted:
                if isinstance(want, str):
                    choices.append([(want, frozenset[str](), ())])
                else:
                    choices.append(
                        [(text, variables, given) for term, text, given, variables in placed if fits(term, text, want, table)]
                    )
            for chosen in itertools.product(*choices):
                if len({text for text, _, _ in chosen}) < len(chosen):
                    continue
                arguments = ", ".join(text for text, _, _ in chosen)
                variables = frozenset[str]().union(*(used for _, used, _ in chosen))
                given = tuple(dict.fromkeys(one for _, _, some in chosen for one in some))
                yield stated(f"{helper.__name__}({arguments})", f"not {helper.__name__}({arguments})", variables, given)


def fits(term: StateTerm, text: str, want: Sort, table: Table) -> bool:
    """Whether a term may be given to a parameter of a predicate."""
    if want[0] == "record":
        return isinstance(term.type, Record) and term.type.cls is want[1]
    if want[0] == "field":
        return term.sort[0] == "sequence" and term.text.rpartition(".")[2] == want[1]
    if want[0] == "number" and not term.many:
        return term.sort == want and not text.endswith(" - 1")
    variable = next((one for one in table if one.name == text), None)
    if variable is None or term.text != "{0}":
        return False
    return want == variable.slot.sort or (variable.slot.what, variable.slot.text) == want


def stated(text: str, negated: str, variables: frozenset[str], given: Sequence[str]) -> StateCondition:
    """Return a condition that is false where it cannot be read."""
    if not given:
        return StateCondition(text, negated, variables)
    whole = " and ".join((*given, text))
    return StateCondition(f"({whole})", f"not ({whole})", variables)
