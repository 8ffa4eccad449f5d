"""Room in containers whose capacity a spec leaves out: a search begins again with more until it has enough."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping

from kafka_spec.model_check.exploration import Exploration
from kafka_spec.spec.language.domain import capacities_in
from kafka_spec.spec.vocabulary.table import Spec, SpecError


def search_with_room(
    search: Callable[[Mapping[str, int]], Exploration], bounds: Mapping[str, int], exhausted: Callable[[int], str]
) -> Exploration:
    """Search at bounds, and again with more room, while a capacity that the spec leaves out is too small; return the last result.

    `exhausted` says of a number of states whether the budget is spent.
    """
    while True:
        result = search(bounds)
        larger = {**bounds, **result.full}
        if larger == bounds or exhausted(result.distinct):
            return result
        bounds = larger


def with_room(spec: Spec, bounds: Mapping[str, int], room: int | None = None) -> dict[str, int]:
    """Return bounds in which each capacity that the spec leaves out is at least `room`, or as large as it can be."""
    return {**bounds, **{name: max(bounds[name], room or one.high) for name, one in capacities_in(spec.bounds).items()}}


def refuse_open(spec: Spec, named: Collection[str], cure: str = "") -> None:
    """Refuse capacities that the spec leaves out and that are not named, for what searches no states and so cannot find them.

    Raises:
        SpecError: the message names the first, and `cure` what else to write than a bound.
    """
    for name in capacities_in(spec.bounds):
        if name not in named:
            raise SpecError(
                f"{spec.name} leaves {name} out, and only a search finds it; name it, --bound {name}=N{cure.format(name)}"
            )
