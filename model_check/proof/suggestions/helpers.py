"""The predicates of a spec that conditions call: what its rules and invariants are made of."""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any

from kafka_spec.model_check.proof.suggestions.terms import Sort, StateTerm
from kafka_spec.spec.language import Function, Source, parameters_of, source_of, tree
from kafka_spec.spec.language.walking import walk
from kafka_spec.spec.vocabulary.table import ElementOf, ItemOf, Spec, numbers_type, whole_types


class Helpers:
    """Finds the predicates of a spec whose arguments can be found among the terms of its states."""

    def __init__(
        self, spec: Spec, bounds: Mapping[str, int], sources: Sequence[Source], terms: Sequence[StateTerm], root: type
    ) -> None:
        self.spec, self.bounds, self.sources, self.terms, self.root = spec, bounds, sources, terms, root

    def predicates(self, but: Collection[Function], names: dict[str, Any]) -> Iterator[tuple[Function, tuple[Any, ...]]]:
        """Yield the predicates that the spec uses, each with what its parameters are: "k", or a sort.

        None of `but`, and none whose name is taken; `names` gets theirs.
        """
        domains = self.parameters()
        for source in self.sources:
            returned = source.function.__annotations__.get("return")
            if (
                source.function in but
                or source.writes
                or source.results != 1
                or returned not in (bool, "bool")
                or source.function.__name__ in names
            ):
                continue
            wanted = [self.wanted(source.function, name, domains) for name in parameters_of(source.function)]
            if None not in wanted and any(want != "k" for want in wanted):
                names[source.function.__name__] = source.function
                yield source.function, tuple(wanted)

    def parameters(self) -> dict[str, Sort]:
        """Return what the parameters of rules are, by name; without those that differ between rules."""
        found: dict[str, set[Sort]] = {}
        for rule in (self.spec.start, *self.spec.rules):
            wholes = whole_types(rule.params, self.bounds, rule.name)
            for name, parameter in rule.params.items():
                if name in wholes or isinstance(parameter, ElementOf):
                    continue
                if isinstance(parameter, ItemOf):
                    found.setdefault(name, set()).add(("item", f"s.{parameter.field}"))
                else:
                    type_ = numbers_type(parameter, self.bounds, rule.name)
                    sort = ("member", type_.members) if type_.members else ("number", type_.bound or type_.high)
                    found.setdefault(name, set()).add(sort)
        return {name: next(iter(sorts)) for name, sorts in found.items() if len(sorts) == 1}

    def wanted(self, function: Function, name: str, domains: Mapping[str, Sort]) -> Any:
        """Return what a parameter of a predicate is, "s", "k" or a sort; None if that is not known."""
        if name == "k":
            return name
        annotation = inspect.get_annotations(function).get(name)
        if isinstance(annotation, str):
            annotation = function.__globals__.get(annotation)
        if isinstance(annotation, type) and dataclasses.is_dataclass(annotation):
            return ("record", annotation) if annotation is not self.root else name if name == "s" else None
        return domains.get(name) or self.given_to.get((function, name))

    @cached_property
    def given_to(self) -> Mapping[tuple[Function, str], Sort]:
        """What the spec's functions give to parameters of others, by the names of the fields that they name there."""
        sorts = {term.text.rpartition(".")[2]: term.sort for term in self.terms if "." in term.text and "(" not in term.text}
        found: dict[tuple[Function, str], Sort] = {}
        for source in self.sources:
            for node in walk(*source.body):
                if isinstance(node, tree.Call):
                    for name, argument in zip(parameters_of(node.function), node.arguments, strict=True):
                        if isinstance(argument, tree.Field) and argument.name in sorts:
                            sort = sorts[argument.name]
                            found[node.function, name] = ("field", argument.name) if sort[0] == "sequence" else sort
        return found


def sources_of(spec: Spec) -> list[Source]:
    """Return the functions that a spec's rules and invariants are made of, with all that these call."""
    asked = [function for rule in (spec.start, *spec.rules) for function in (*rule.guards, *rule.effects)]
    stated = [function for one in (*spec.properties, *spec.lemmas) for function in (one.predicate, one.when)]
    asked += [function for function in stated if function is not None]
    found: dict[Function, Source] = {}
    while asked:
        function = asked.pop()
        if function not in found:
            found[function] = source_of(function)
            asked += found[function].calls
    return sorted(found.values(), key=lambda source: source.place)
