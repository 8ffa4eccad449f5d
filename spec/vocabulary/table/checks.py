"""Named checks as values: what a project asks of its models, with the expected result, and why it asks.

A manifest's `checks = "module:NAME"` names a tuple of them; an entry of TOML says the same with the same words.
"""

from __future__ import annotations

from collections.abc import Mapping, Set
from dataclasses import dataclass, field

from kafka_spec.spec.vocabulary.table.spec import Spec


@dataclass(frozen=True)
class Untestable:
    """Properties whose antecedent is never met, and the reason.

    With `while_zero` it is so in every check whose bounds of these names are all 0; without, in the checks that name it.
    """

    reason: str
    properties: tuple[str, ...]
    while_zero: tuple[str, ...] = ()

    def of(self, bounds: Mapping[str, int], judged: Set[str]) -> dict[str, str]:
        """Return the judged properties that a check at these bounds cannot test, with the reason."""
        if any(bounds.get(name) != 0 for name in self.while_zero):
            return {}
        return {name: self.reason for name in self.properties if name in judged}


@dataclass(frozen=True)
class Check:
    """A named check: a model, its bounds, and the result that is expected.

    `traces` has the number of states of the shortest counterexample of each property that must be violated. `not_tested` lists
    what the check cannot test, as far as it judges it. None stands for what is not said: of `deadlock` and
    `all_properties_tested` the manifest decides, of counts nothing is expected, or what the file of counts says.
    """

    model: Spec | str
    bounds: str | Mapping[str, int] = ""
    """The name of a bound set, or values; "" for the first bound set."""
    verdict: str = "holds"
    """"holds", "violated", or "proved": holds, and the invariants are proved by induction."""
    traces: Mapping[str, int] = field(default_factory=dict)
    name: str = ""
    """Its name; "" for the names of the model and of the bound set, joined by "-"."""
    why: str = ""
    """Why the check is there; `kafka-spec checks NAME` prints it."""
    properties: tuple[str, ...] = ()
    """The properties to judge; empty for all."""
    without: tuple[str, ...] = ()
    """Properties, or kinds of properties, that are not judged."""
    not_tested: tuple[Untestable, ...] = ()
    normal_form: bool = False
    everything: bool = False
    """Whether the search continues to its end after a violation (`all` in TOML)."""
    all_rules_fire: bool = False
    all_properties_tested: bool | None = None
    deadlock: bool | None = None
    engine: str = "embedded"
    distinct: int | None = None
    unreduced: int | None = None
    depth: int | None = None
    seconds: float | None = None
    memory_mib: int | None = None
    unbounded: tuple[str, ...] = ()
    """The bounds that a proof lifts."""


def check_name(model: str, bounds: str, suffix: str = "") -> str:
    """Return the name of the check of a model at a bound set; a suffix tells apart two checks of the same."""
    return "-".join([model, *([bounds.replace("_", "-")] if bounds else []), *([suffix] if suffix else [])])
