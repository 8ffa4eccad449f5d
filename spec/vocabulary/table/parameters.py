"""What the parameters of a rule range over: values of a domain, those that a predicate admits, items, elements of sets."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from kafka_spec.spec.language import Function, is_function
from kafka_spec.spec.language.domain import (
    NONE,
    Collection,
    Domain,
    Items,
    Path,
    Scalar,
    SpecError,
    Type,
    as_element,
    count_of,
    domain_of,
    is_record_class,
    nth,
    path_of,
    show_value,
    value_at,
)
from kafka_spec.spec.vocabulary.table.functions import Name
from kafka_spec.spec.vocabulary.table.kinds import shown


@dataclass(frozen=True)
class ItemOf:
    """A parameter that ranges over the indices of the current items of a sequence of the state; `field` is its name.

    A rule with such a parameter reads that item: with `receives`, traces show it as received.
    """

    field: Name
    receives: bool = True


@dataclass(frozen=True)
class ElementOf:
    """A parameter that ranges over the current elements of a set or a bag of the state: `ElementOf("messages")`.

    Guards and effects get the element itself, as it is before the step, whatever the effects do to the set. Equal elements of a bag
    are one value. `path` is where the set stands; it may name earlier parameters, `"inboxes[{server}]"`. In a binding the element
    is given by its number in the order of the elements. With `receives`, traces show it as received.
    """

    path: str
    receives: bool = True

    def __post_init__(self) -> None:
        if not isinstance(self.path, str):
            raise SpecError(f'ElementOf: the path is {shown(self.path)}; name the set as a text, ElementOf("messages")')

    @property
    def steps(self) -> tuple[str | int, ...]:
        """The path's parts: names of fields, indices, and names of parameters in braces."""
        return tuple(int(part) if part.isdecimal() else part for part in re.findall(r"\{\w+\}|\w+", self.path))

    @property
    def names(self) -> tuple[Name, ...]:
        """The parameters that the path names."""
        return tuple(part[1:-1] for part in self.steps if isinstance(part, str) and part.startswith("{"))

    def at(self, binding: Mapping[str, int]) -> Path:
        """Return the path for the values of earlier parameters."""
        return path_of(self.path, binding)


@dataclass(frozen=True)
class Among:
    """A parameter that ranges over those values of a domain for which a predicate holds: `Among(Member(THREADS), waits)`.

    The permutations of some members are those arrays of which a predicate says that no two items are equal.

    The predicate `that` takes some of `s`, `k`, the parameters before this one, and this one, by name. With `or_none`, the
    parameter is `NONE` where the predicate holds for no value: "any of them, if there is one" is one rule, not two.
    """

    domain: Domain
    """A dataclass stands for the domain of its records."""
    that: Function
    or_none: bool = False

    def __post_init__(self) -> None:
        if is_record_class(self.domain):
            object.__setattr__(self, "domain", domain_of(self.domain))
        if not isinstance(self.domain, Domain):
            raise SpecError(f"Among chooses values of a domain; give a Range, a Member, an ArrayOf(...), not {self.domain!r}")
        if not is_function(self.that):
            raise SpecError(f"Among: that is {shown(self.that)}; name the function that says which values are admitted")

    def at(self, bounds: Mapping[str, int], place: str) -> Type:
        """Return the type of its values at these bounds."""
        type_ = self.domain.at(bounds, place)
        if not self.or_none:
            return type_
        if not isinstance(type_, Scalar):
            raise SpecError(f"{place}: with or_none it chooses numbers; give a Range, a Member, ...")
        if type_.low < 0:
            raise SpecError(f"{place}: with or_none, NONE must not be a value of the domain, which begins at {type_.low}")
        return dataclasses.replace(type_, low=NONE, show=lambda value: "none" if value == NONE else type_.show(value))


Parameter: TypeAlias = Domain | ItemOf | ElementOf | Among


def checked_params(params: Any, where: str) -> Mapping[Name, Parameter]:
    """Refuse parameters that are not a dict from a name to what the parameter ranges over; return them with domains for classes."""
    cure = 'params is a dict of name to domain, such as {"broker": Member(BROKERS)}'
    if not isinstance(params, Mapping):
        raise SpecError(f"{where}: params is {shown(params)}; {cure}")
    found: dict[Name, Any] = {name: domain_of(of) if is_record_class(of) else of for name, of in params.items()}
    for name, parameter in found.items():
        if not isinstance(name, str) or not name.isidentifier():
            raise SpecError(f"{where}: {name!r} in params is not a name; {cure}")
        if not isinstance(parameter, Parameter):
            what = "give a Range, a Member, an ArrayOf(...), ItemOf(a sequence), ElementOf(a set) or Among(domain, predicate)"
            raise SpecError(f"{where}: parameter {name} is {shown(parameter)}, which is not a domain; {what}")
    return found


def elements_of(parameter: ElementOf, s: Any, binding: Mapping[str, int]) -> Items:
    """Return the set or bag of a state that a parameter ranges over."""
    found: Items = value_at(s, parameter.at(binding))
    return found


def numbers_of(elements: Items) -> list[int]:
    """Return the numbers of the distinct elements of a set or a bag, in their order."""
    assert isinstance(elements.type, Collection)
    keys = list(elements.type.freeze(elements))
    return [number for number, key in enumerate(keys) if number == 0 or key != keys[number - 1]]


def whole_types(params: Mapping[Name, Parameter], bounds: Mapping[str, int], place: str) -> dict[Name, Type]:
    """Return the types of the parameters that are records or containers, chosen among all values of a domain.

    In a binding each is given by its number among the values of its type.
    """
    chosen = {name: of.at(bounds, place) for name, of in params.items() if not isinstance(of, ItemOf | ElementOf)}
    return {name: as_element(type_) for name, type_ in chosen.items() if not isinstance(type_, Scalar)}


def numbers_type(parameter: Domain | Among, bounds: Mapping[str, int], place: str) -> Scalar:
    """Return the type of the numbers by which a binding gives a parameter.

    Raises:
        SpecError: its values are not numbered, or are too many.
    """
    type_ = parameter.at(bounds, place)
    if isinstance(type_, Scalar):
        return type_
    return Scalar(0, count_of(type_, place) - 1, 0, None, lambda number: show_value(type_, nth(type_, number)))


def arguments(params: Mapping[Name, Parameter], binding: tuple[int, ...], s: Any, wholes: Mapping[Name, Type]) -> dict[str, Any]:
    """Return what the functions of a rule get for its parameters in a state: numbers, elements of sets, and values of `wholes`."""
    numbers, found = dict(zip(params, binding, strict=False)), dict[str, Any]()
    for name, number in numbers.items():
        parameter = params[name]
        if isinstance(parameter, ElementOf):
            found[name] = list.__getitem__(elements_of(parameter, s, numbers), number)
        else:
            found[name] = nth(wholes[name], number) if name in wholes else number
    return found
