"""The manifest: named checks under [tool.kafka-spec] of a pyproject.toml, each with its expected result.

An error in the file is reported with the check's name and the allowed values.
"""

from __future__ import annotations

import math
import tomllib
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kafka_spec.model_check.check import Expectation, check, judged_by_spec
from kafka_spec.model_check.engines import ENGINES, Engine
from kafka_spec.model_check.exploration import Budget, Distribution, Exploration, Progress, quiet
from kafka_spec.spec.vocabulary.table import DEADLOCK, TYPE_INVARIANT, Spec, SpecError

KEYS: dict[str, tuple[type, ...]] = {
    "name": (str,),
    "model": (str,),
    "bounds": (str, dict),
    "properties": (list,),
    "without": (list,),
    "engine": (str,),
    "verdict": (str,),
    "distinct": (int,),
    "normal_form": (bool,),
    "unreduced": (int,),
    "depth": (int,),
    "traces": (dict,),
    "all_rules_fire": (bool,),
    "all_properties_tested": (bool,),
    "not_tested": (dict,),
    "all": (bool,),
    "deadlock": (bool,),
    "seconds": (int, float),
    "memory_mib": (int,),
}
OF_ALL = ("checks", "not_tested", "all_properties_tested")
"""What [tool.kafka-spec] itself may say."""
KINDS = {str: "a text", int: "a whole number", float: "a number", bool: "true or false", list: "a list", dict: "a table { ... }"}


@dataclass(frozen=True)
class Untestable:
    """Properties that no check tests while some bounds are 0, and the reason: an entry of [[tool.kafka-spec.not_tested]]."""

    reason: str
    while_zero: tuple[str, ...]
    properties: tuple[str, ...]

    def of(self, bounds: Mapping[str, int], judged: Set[str]) -> dict[str, str]:
        """Return the judged properties that a check at these bounds cannot test, with the reason."""
        if any(bounds.get(name) != 0 for name in self.while_zero):
            return {}
        return {name: self.reason for name in self.properties if name in judged}


@dataclass(frozen=True)
class NamedCheck:
    """A check of the manifest."""

    name: str
    spec: Spec
    bounds: Mapping[str, int]
    expected: Expectation
    properties: tuple[str, ...] | None
    engine: Engine
    everything: bool
    deadlock: bool | None
    """Whether to check for deadlocks; None: as `check` decides."""
    seconds: float | None
    memory_mib: int | None
    normal_form: bool = False

    def run(
        self,
        *,
        engine: Engine | None = None,
        threads: int = 1,
        everything: bool = False,
        deadlock: bool | None = None,
        verify: bool = False,
        normal_form: bool = False,
        verify_normal_form: bool = False,
        budget: Budget | None = None,
        progress: Progress = quiet,
        distribution: Distribution | None = None,
        traces: bool = True,
    ) -> Exploration:
        """Run the check. The arguments add to the options of the manifest; `budget` and `engine` replace them."""
        memory = self.memory_mib << 20 if self.memory_mib is not None else None
        return check(
            self.spec,
            self.bounds,
            properties=self.properties,
            engine=engine or self.engine,
            threads=threads,
            everything=everything or self.everything,
            deadlock=self.deadlock if deadlock is None else deadlock,
            verify=verify,
            normal_form=normal_form or self.normal_form,
            verify_normal_form=verify_normal_form and bool(self.spec.normal_form),
            budget=budget or Budget(self.seconds, memory),
            progress=progress,
            distribution=distribution,
            traces=traces,
        )


def read_manifest(path: Path, model: Callable[[str], Spec], singleton: Collection[str] | None = None) -> list[NamedCheck]:
    """Return the checks of a manifest, in order, or only those of some names; `model` returns the spec with a name.

    All checks must be well-formed; models, bounds and properties are looked up for those that are returned.
    `all_properties_tested = true` in [tool.kafka-spec] is of all checks that are expected to hold, and do not say otherwise.

    Raises:
        SpecError: the file cannot be read, or a check in it is invalid.
    """
    try:
        if path.exists() and not path.is_file():
            raise SpecError(f"{path} is no regular file; name a pyproject.toml")
        content = tomllib.loads(path.read_text(encoding="utf-8"))
    except RecursionError:
        raise SpecError(f"{path}: its values are nested too deeply to be read") from None
    except OSError as error:
        raise SpecError(f"{path}: {error.strerror}; run in a project with [[tool.kafka-spec.checks]], or name a model") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise SpecError(f"{path}: {error}") from None
    section: Any = content
    for name in ("tool", "kafka-spec"):
        section = section.get(name) if isinstance(section, dict) else None
    tables = section.get("checks", []) if isinstance(section, dict) else []
    if not isinstance(tables, list):
        raise SpecError(f"{path}: checks in [tool.kafka-spec] is {tables!r}; write each check as a [[tool.kafka-spec.checks]]")
    if isinstance(section, dict) and (strange := [key for key in section if key not in OF_ALL]):
        raise SpecError(f"{path}: [tool.kafka-spec] has {strange[0]!r}, which is unknown; there is {', '.join(OF_ALL)}")
    if not tables:
        raise SpecError(f"{path} has no [[tool.kafka-spec.checks]]; add one, or name a model: kafka-spec check MODEL")
    tested = section.get("all_properties_tested", False)
    if not isinstance(tested, bool):
        raise SpecError(f"{path}: all_properties_tested = {tested!r} in [tool.kafka-spec] is not true or false")
    untestable = _untestable(section.get("not_tested", []), f"{path}: [[tool.kafka-spec.not_tested]]")
    places = [_well_formed(table, f"{path}: check {number}") for number, table in enumerate(tables, 1)]
    names = [table["name"] for table in tables]
    if twice := [name for name in names if names.count(name) > 1]:
        raise SpecError(f"{path}: two checks are named {twice[0]!r}; give each a name of its own")
    return [
        _check({"all_properties_tested": tested and table["verdict"] == "holds", **table}, place, model, untestable)
        for table, place in zip(tables, places, strict=True)
        if singleton is None or table["name"] in singleton
    ]


def _untestable(tables: Any, where: str) -> list[Untestable]:
    """Return what no check tests while bounds are 0."""
    found = []
    for table in tables if isinstance(tables, list) else [tables]:
        keys = {"reason": str, "while_zero": list, "properties": list}
        if not isinstance(table, dict) or set(table) != set(keys):
            raise SpecError(f"{where}: an entry has the keys {', '.join(keys)}, and no other")
        names = [*table["while_zero"], *table["properties"]] if all(isinstance(table[key], keys[key]) for key in keys) else [0]
        if not all(isinstance(name, str) for name in names) or not table["while_zero"]:
            raise SpecError(f"{where}: the reason is a text, while_zero a list of bounds, properties a list of names")
        found.append(Untestable(table["reason"], tuple(table["while_zero"]), tuple(table["properties"])))
    return found


def _well_formed(table: Any, where: str) -> str:
    """Refuse what is no check; return where it stands, with its name."""
    if not isinstance(table, dict):
        raise SpecError(f"{where} is not a table; write [[tool.kafka-spec.checks]]")
    where = f"{where} ({table.get('name', 'without a name')})"
    for key, value in table.items():
        if key not in KEYS:
            raise SpecError(f"{where}: {key!r} is unknown; there is {', '.join(KEYS)}")
        kinds = KEYS[key]
        if type(value) not in kinds:
            raise SpecError(f"{where}: {key} = {value!r} is not {' or '.join(KINDS[kind] for kind in kinds)}")
    for key in ("seconds", "memory_mib", "distinct", "unreduced", "depth"):
        if table.get(key, 0) < 0:
            raise SpecError(f"{where}: {key} = {table[key]} is less than 0")
        if not math.isfinite(table.get(key, 0)):
            raise SpecError(f"{where}: {key} = {table[key]} is no number; omit it for no limit")
    if wrong := [value for key in ("properties", "without") for value in table.get(key, []) if not isinstance(value, str)]:
        raise SpecError(f"{where}: property {wrong[0]!r} is no name")
    if "properties" in table and not table["properties"]:
        raise SpecError(f"{where}: properties is empty; omit it to judge all")
    if wrong := [name for name, states in table.get("traces", {}).items() if type(states) is not int]:
        raise SpecError(f"{where}: traces.{wrong[0]} is not a number of states")
    for reason, names in table.get("not_tested", {}).items():
        if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
            raise SpecError(f"{where}: not_tested.{reason!r} is not a list of names of properties")
    for key in ("name", "model", "verdict"):
        if not table.get(key):
            raise SpecError(f"{where}: {key} is missing, or empty")
    if not table["name"].isprintable():
        raise SpecError(f"{where}: the name {table['name']!r} has a line break or a control character; leave it out")
    if table["verdict"] not in ("holds", "violated"):
        raise SpecError(f"{where}: verdict {table['verdict']!r} cannot be expected; expect holds or violated")
    if table.get("engine", "embedded") not in ENGINES:
        raise SpecError(f"{where}: engine {table['engine']!r} is unknown; there is {', '.join(ENGINES)}")
    return where


def _check(table: Mapping[str, Any], where: str, model: Callable[[str], Spec], untestable: Sequence[Untestable]) -> NamedCheck:
    """Return a check that is well-formed."""
    try:
        spec = model(table["model"])
        bounds = spec.bound_values(named_bounds(spec, table.get("bounds", {})))
        properties = tuple(table["properties"]) if "properties" in table else None
        if "without" in table:
            if properties:
                raise SpecError("properties says what to judge, without what not to; keep one of them")
            properties = judged_without(spec, table["without"])
        judged = {*(properties or all_judged(spec)), TYPE_INVARIANT}
        if "deadlock" in table:
            judged = judged | {DEADLOCK} if table["deadlock"] else judged - {DEADLOCK}
        for name in judged_by_spec(properties or ()):
            spec.property(name)
        claims = {one.name: one.stated for claim in spec.properties for one in claim.at(bounds)}

        def unjudged(names: Iterable[str]) -> list[str]:
            return [name for name in names if name not in judged and claims.get(name) not in judged]

        if table.get("normal_form"):
            spec.in_normal_form()
        elif "unreduced" in table:
            raise SpecError("unreduced is what normal_form = true reduces; add that, or omit it")
        if wrong := unjudged(table.get("traces", {})):
            raise SpecError(f"traces: property {wrong[0]!r} is unknown, or not judged; judged are {', '.join(sorted(judged))}")
        left_out = [name for names in table.get("not_tested", {}).values() for name in names]
        if wrong := unjudged(left_out):
            raise SpecError(f"not_tested: property {wrong[0]!r} is unknown, or not judged; judged are {', '.join(sorted(judged))}")
    except SpecError as error:
        raise SpecError(f"{where}: {error}") from None
    here = {name: reason for entry in untestable for name, reason in entry.of(bounds, judged).items()}
    expected = Expectation(
        verdict=table["verdict"],
        distinct=table.get("distinct"),
        unreduced=table.get("unreduced"),
        depth=table.get("depth"),
        traces=table.get("traces", {}),
        all_rules_fire=table.get("all_rules_fire", False),
        all_properties_tested=table.get("all_properties_tested", False),
        asked=properties or (),
        not_tested=here | {name: reason for reason, names in table.get("not_tested", {}).items() for name in names},
    )
    return NamedCheck(
        table["name"],
        spec,
        bounds,
        expected,
        properties,
        table.get("engine", "embedded"),
        table.get("all", False),
        table.get("deadlock"),
        table.get("seconds"),
        table.get("memory_mib"),
        table.get("normal_form", False),
    )


def all_judged(spec: Spec) -> tuple[str, ...]:
    """Return the names of the properties that a check judges by default, besides the type invariant."""
    return (*(claim.name for claim in spec.properties), *([DEADLOCK] if spec.checks_deadlock else []))


def judged_without(spec: Spec, left_out: Sequence[str]) -> tuple[str, ...]:
    """Return the names of the properties that are judged by default, except some, each given by its name or its kind."""
    kinds = {claim.name: str(claim.kind) for claim in spec.properties}
    for name in judged_by_spec(left_out):
        if name not in kinds.values():
            spec.property(name)
    return tuple(name for name in all_judged(spec) if name not in left_out and kinds.get(name) not in left_out)


def named_bounds(spec: Spec, bounds: str | Mapping[str, Any]) -> Mapping[str, int]:
    """Return the values of the bound set with this name; return given values unchanged."""
    if not isinstance(bounds, str):
        if wrong := [name for name, value in bounds.items() if not isinstance(value, int) or isinstance(value, bool)]:
            raise SpecError(f"bound {wrong[0]} is not an integer")
        return bounds
    sets = {bound_set.name: bound_set.values for bound_set in spec.bound_sets}
    if bounds not in sets:
        raise SpecError(f"{spec.name} has no bound set {bounds!r}; it has {', '.join(sets) or 'none'}")
    return sets[bounds]
