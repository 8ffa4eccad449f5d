"""The parameters of rules in TLA+: what they range over, and the sorts of those that are not numbers."""

from __future__ import annotations

from kafka_spec.diagrams.tla.sorts import Shapes, Simple, Sort, Unordered, limit
from kafka_spec.diagrams.tla.terms import RANGE, Infix, Term, number
from kafka_spec.diagrams.tla.types import Types
from kafka_spec.spec.language.domain import Domain, Subset
from kafka_spec.spec.vocabulary.table import Among, ElementOf, ItemOf, Rule


def whole_sorts(shapes: Shapes, rule: Rule) -> dict[str, Sort]:
    """Return the sorts of the parameters that are not numbers."""
    found: dict[str, Sort] = {}
    for name, parameter in rule.params.items():
        if isinstance(parameter, ElementOf):
            among = shapes.at(parameter.steps)
            assert isinstance(among, Unordered)
            found[name] = among.item
        elif not isinstance(parameter, ItemOf):
            sort = shapes.sort(_domain(parameter))
            found |= {} if isinstance(sort, Simple) else {name: sort}
    return found


def _domain(parameter: Domain | Among) -> Domain:
    """Return the domain of which a parameter is a value."""
    return parameter.domain if isinstance(parameter, Among) else parameter


def values_of(types: Types, parameter: Domain | Among) -> Term:
    """Return the values of the domain of a parameter: of a set of members its numbers."""
    domain = _domain(parameter)
    if isinstance(domain, Subset):
        return Infix("..", number(0), Infix("-", Infix("^", number(2), limit(domain.members), 14), number(1), 10), RANGE)
    return types.choices(domain)
