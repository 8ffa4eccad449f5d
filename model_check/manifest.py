"""The manifest: named checks under [tool.kafka-spec] of a pyproject.toml, each with its expected result.

The checks stand there as TOML, or are values of Python that `checks = "module:NAME"` names. Their counts stand with them, or in the
file that `counts` names. An error is reported with the check's name and the allowed values.
"""

from __future__ import annotations

import math
import tomllib
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from kafka_spec.model_check.check import Expectation, judged_by_spec
from kafka_spec.model_check.engines import ENGINES
from kafka_spec.model_check.golden_counts import COUNTS, GoldenCounts, read_counts
from kafka_spec.model_check.home import at_home, home_folder
from kafka_spec.model_check.loading import load_object
from kafka_spec.model_check.named_check import NamedCheck, to_prove
from kafka_spec.model_check.proof.statements import PROVED
from kafka_spec.spec.vocabulary.table import DEADLOCK, TYPE_INVARIANT, Check, Spec, SpecError, Untestable, check_name

KEYS: dict[str, tuple[type, ...]] = {
    "name": (str,),
    "model": (str,),
    "bounds": (str, dict),
    "properties": (list,),
    "without": (list,),
    "engine": (str,),
    "verdict": (str,),
    "unbounded": (list,),
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
    "why": (str,),
}
OF_ALL = ("checks", "counts", "not_tested", "all_properties_tested")
"""What [tool.kafka-spec] itself may say."""
_KEYS_OF_VALUES = {**KEYS, "model": (str, Spec), "not_tested": (tuple,)}
"""What a check that is a value of Python may say."""
KINDS = {
    Spec: "a spec",
    tuple: "a tuple",
    str: "a text",
    int: "a whole number",
    float: "a number",
    bool: "true or false",
    list: "a list",
    dict: "a table { ... }",
}


@dataclass(frozen=True)
class Manifest:
    """What a pyproject.toml says of checks: each as a table with its place, and what is said of all of them."""

    path: Path
    tables: tuple[Mapping[str, Any], ...]
    places: tuple[str, ...]
    tested: bool
    """Whether all properties must be tested by the checks that are expected to hold, and do not say otherwise."""
    untestable: tuple[Untestable, ...]
    counts: GoldenCounts | None

    @property
    def names(self) -> list[str]:
        """The names of the checks, in order."""
        return [table["name"] for table in self.tables]

    @property
    def with_counts(self) -> list[str]:
        """The names of the checks that have counts of their own."""
        return [table["name"] for table in self.tables if any(name in table for name in COUNTS)]

    def checks(
        self, model: Callable[[str], Spec], singleton: Collection[str] | None = None, accepts: bool = False
    ) -> list[NamedCheck]:
        """Return the checks, or those of some names; `model` returns the spec with a name.

        Raises:
            SpecError: a check is invalid, or counts stand twice. `accepts` expects no counts of the file, which is written again.
        """
        if self.counts and not accepts:
            self.counts.refuse_others(self.names)
        with at_home(self.path.parent):
            return [
                _check(self, table, place, model, accepts)
                for table, place in zip(self.tables, self.places, strict=True)
                if singleton is None or table["name"] in singleton
            ]


def read_manifest(path: Path, model: Callable[[str], Spec], singleton: Collection[str] | None = None) -> list[NamedCheck]:
    """Return the checks of a manifest, in order, or only those of some names; `model` returns the spec with a name.

    All checks must be well-formed; models, bounds and properties are looked up for those that are returned.

    Raises:
        SpecError: the file cannot be read, or a check in it is invalid.
    """
    return manifest_of(path).checks(model, singleton)


def manifest_of(path: Path) -> Manifest:
    """Return what a file says of checks; no model is looked up.

    Raises:
        SpecError: the file cannot be read, or a check in it is not well-formed.
    """
    section = _section(path)
    tables, places = [], []
    for number, one in enumerate(_listed(section.get("checks", []), path), 1):
        if isinstance(one, Mapping):
            places.append(_well_formed(one, f"{path}: check {number}", KEYS))
            tables.append(one)
            continue
        if not isinstance(one, str):
            raise SpecError(f'{path}: check {number} is not a table; write [[tool.kafka-spec.checks]], or checks = "module:NAME"')
        for position, value in enumerate(_loaded(one, path), 1):
            tables.append(_table_of(value, f"{one}, check {position}"))
            places.append(_well_formed(tables[-1], f"{one}, check {position}", _KEYS_OF_VALUES))
    if not tables:
        raise SpecError(f"{path} has no [[tool.kafka-spec.checks]]; add one, or name a model: kafka-spec check MODEL")
    names = [table["name"] for table in tables]
    if twice := [name for name in names if names.count(name) > 1]:
        raise SpecError(f"{path}: two checks are named {twice[0]!r}; give each a name of its own")
    tested, counts = section.get("all_properties_tested", False), section.get("counts")
    if not isinstance(tested, bool):
        raise SpecError(f"{path}: all_properties_tested = {tested!r} in [tool.kafka-spec] is not true or false")
    if counts is not None and not isinstance(counts, str):
        raise SpecError(f"{path}: counts = {counts!r} in [tool.kafka-spec] is not the name of a file")
    return Manifest(
        path,
        tuple(tables),
        tuple(places),
        tested,
        tuple(_untestable(section.get("not_tested", []), f"{path}: [[tool.kafka-spec.not_tested]]")),
        read_counts(path.parent / counts) if counts is not None else None,
    )


def _section(path: Path) -> Mapping[str, Any]:
    """Return [tool.kafka-spec] of a file."""
    try:
        if path.exists() and not path.is_file():
            raise SpecError(f"{path} is not a regular file; name a pyproject.toml")
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
    if not isinstance(section, dict):
        return {}
    if strange := [key for key in section if key not in OF_ALL]:
        raise SpecError(f"{path}: [tool.kafka-spec] has {strange[0]!r}, which is unknown; there is {', '.join(OF_ALL)}")
    return section


def _listed(checks: Any, path: Path) -> list[Any]:
    """Return the entries of `checks`: tables, and names of values."""
    if isinstance(checks, str):
        return [checks]
    if not isinstance(checks, list):
        raise SpecError(
            f"{path}: checks in [tool.kafka-spec] is {checks!r}; write each check as a [[tool.kafka-spec.checks]], "
            'or name a tuple of them, checks = "module:NAME"'
        )
    return checks


def _loaded(named: str, path: Path) -> Sequence[Check]:
    """Return the checks that `module:NAME` names; the module may be in the folder of the manifest."""
    module, colon, name = named.partition(":")
    if not colon or not name:
        raise SpecError(f"{path}: checks = {named!r} in [tool.kafka-spec] is not module:NAME; name a tuple of checks in a module")
    with at_home(path.parent):
        found = load_object(module, name, tuple)
    if wrong := [one for one in found if not isinstance(one, Check)]:
        raise SpecError(f"{path}: {named} contains {wrong[0]!r}; it has to be a tuple of kafka_spec.Check")
    return found


def _table_of(check: Check, where: str) -> dict[str, Any]:
    """Return a check as the table of TOML that says the same."""
    table = {field.name: value for field in fields(check) if (value := getattr(check, field.name)) not in (None, "", (), False)}
    table |= {name: list(table[name]) for name in ("properties", "without", "unbounded") if isinstance(table.get(name), tuple)}
    table |= {name: dict(table[name]) for name in ("bounds", "traces") if isinstance(table.get(name), Mapping)}
    if "everything" in table:
        table["all"] = table.pop("everything")
    if check.deadlock is False:
        table["deadlock"] = False
    if check.all_properties_tested is False:
        table["all_properties_tested"] = False
    if not check.name:
        if isinstance(check.bounds, Mapping):
            raise SpecError(f"{where}: bounds are values, so the check needs a name; give it one")
        table["name"] = check_name(check.model if isinstance(check.model, str) else check.model.name, check.bounds)
    return table


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
        found.append(Untestable(table["reason"], tuple(table["properties"]), tuple(table["while_zero"])))
    return found


def _well_formed(table: Mapping[str, Any], where: str, keys: Mapping[str, tuple[type, ...]]) -> str:
    """Refuse what is not a check; return its place, with its name."""
    where = f"{where} ({table.get('name', 'without a name')})"
    for key, value in table.items():
        if key not in keys:
            raise SpecError(f"{where}: {key!r} is unknown; there is {', '.join(keys)}")
        kinds = keys[key]
        if not isinstance(value, kinds) or isinstance(value, bool) != (bool in kinds):
            raise SpecError(f"{where}: {key} = {value!r} is not {' or '.join(KINDS[kind] for kind in kinds)}")
    for key in ("seconds", "memory_mib", "distinct", "unreduced", "depth"):
        if table.get(key, 0) < 0:
            raise SpecError(f"{where}: {key} = {table[key]} is less than 0")
        if not math.isfinite(table.get(key, 0)):
            raise SpecError(f"{where}: {key} = {table[key]} is not a number; omit it for no limit")
    for key, what in (("properties", "property"), ("without", "property"), ("unbounded", "bound")):
        if wrong := [value for value in table.get(key, []) if not isinstance(value, str)]:
            raise SpecError(f"{where}: {what} {wrong[0]!r} is not a name")
    if "properties" in table and not table["properties"]:
        raise SpecError(f"{where}: properties is empty; omit it to judge all")
    if wrong := [name for name, states in table.get("traces", {}).items() if type(states) is not int]:
        raise SpecError(f"{where}: traces.{wrong[0]} is not a number of states")
    not_tested = table.get("not_tested", {})
    for reason, names in not_tested.items() if isinstance(not_tested, dict) else ():
        if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
            raise SpecError(f"{where}: not_tested.{reason!r} is not a list of names of properties")
    for key in ("name", "model", "verdict"):
        if not table.get(key):
            raise SpecError(f"{where}: {key} is missing, or empty")
    if not table["name"].isprintable():
        raise SpecError(f"{where}: the name {table['name']!r} has a line break or a control character; leave it out")
    if table["verdict"] not in ("holds", "violated", PROVED):
        raise SpecError(f"{where}: verdict {table['verdict']!r} cannot be expected; expect holds, violated or proved")
    if "unbounded" in table and table["verdict"] != PROVED:
        raise SpecError(f'{where}: unbounded is for a proof; expect verdict = "proved", or omit it')
    if table["verdict"] == "violated" and not table.get("traces") and not table.get("properties"):
        raise SpecError(f"{where}: which property is to be violated? Add traces = {{ NAME = states }}, or properties = [NAME]")
    if table.get("engine", "embedded") not in ENGINES:
        raise SpecError(f"{where}: engine {table['engine']!r} is unknown; there is {', '.join(ENGINES)}")
    return where


def _check(manifest: Manifest, table: Mapping[str, Any], where: str, model: Callable[[str], Spec], accepts: bool) -> NamedCheck:
    """Return a check that is well-formed."""
    not_tested = table.get("not_tested", {})
    if isinstance(not_tested, dict):
        untestable = tuple(Untestable(reason, tuple(names)) for reason, names in not_tested.items())
    else:
        untestable, not_tested = not_tested, {}
    try:
        spec = model(table["model"]) if isinstance(table["model"], str) else table["model"]
        bounds = spec.bound_values(named_bounds(spec, table.get("bounds", {})))
        properties = tuple(table["properties"]) if "properties" in table else None
        if "without" in table:
            if properties:
                raise SpecError("properties and without exclude each other; keep one of them")
            properties = judged_without(spec, table["without"])
        judged = {*(properties or all_judged(spec)), TYPE_INVARIANT}
        if "deadlock" in table:
            judged = judged | {DEADLOCK} if table["deadlock"] else judged - {DEADLOCK}
        for name in judged_by_spec(properties or ()):
            spec.property(name)
        proves = to_prove(spec, bounds, table, named_bounds(spec, table.get("bounds", {})), properties)
        claims = {one.name: one.stated for claim in spec.properties for one in claim.at(bounds)}
        known = judged | {name for name, stated in claims.items() if stated in judged}
        if table.get("normal_form"):
            spec.in_normal_form()
        elif "unreduced" in table:
            raise SpecError("unreduced is what normal_form = true reduces; add that, or omit it")
        if wrong := [name for name in table.get("traces", {}) if name not in known]:
            raise SpecError(f"traces: property {wrong[0]!r} is unknown, or not judged; judged are {', '.join(sorted(judged))}")
        if wrong := [name for names in not_tested.values() for name in names if name not in known]:
            raise SpecError(f"not_tested: property {wrong[0]!r} is unknown, or not judged; judged are {', '.join(sorted(judged))}")
    except SpecError as error:
        raise SpecError(f"{where}: {error}") from None
    counts, capacities, took, no_counts = _counts(manifest, table, where, spec, accepts)
    bounds = spec.bound_values({**bounds, **capacities})
    expected = Expectation(
        verdict=table["verdict"],
        **counts,
        traces=table.get("traces", {}),
        all_rules_fire=table.get("all_rules_fire", False),
        all_properties_tested=table.get("all_properties_tested", manifest.tested and table["verdict"] != "violated"),
        asked=properties or (),
        not_tested={
            name: reason for entry in (*manifest.untestable, *untestable) for name, reason in entry.of(bounds, known).items()
        },
        no_counts=no_counts,
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
        table.get("why", ""),
        table["bounds"] if isinstance(table.get("bounds"), str) else "",
        took,
        home_folder(),
        *proves,
    )


def _counts(
    manifest: Manifest, table: Mapping[str, Any], where: str, spec: Spec, accepts: bool
) -> tuple[dict[str, int], Mapping[str, int], float | None, str]:
    """Return the counts that a check expects, its capacities, the seconds that it took, and what is wrong if it has no counts."""
    counts: dict[str, int] = {name: table[name] for name in COUNTS if name in table}
    if (golden := manifest.counts) is None:
        return counts, {}, None, ""
    line = golden.lines.get(table["name"])
    took = line.get("seconds") if line else None
    if counts and line:
        raise SpecError(f"{where}: its counts stand here and in {golden.path}; delete them here, or the line there")
    if counts or accepts:
        return counts, {}, took, ""
    counts, capacities, no_counts = golden.expected(table["name"], spec)
    return counts, capacities, took, no_counts


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
    if bounds not in (sets := {bound_set.name: bound_set.values for bound_set in spec.bound_sets}):
        raise SpecError(f"{spec.name} has no bound set {bounds!r}; it has {', '.join(sets) or 'none'}")
    return sets[bounds]
