"""The subcommand `checks`: lists the named checks, or says why some are there, what they alone test, and how to run them."""

from __future__ import annotations

import argparse
import difflib
import json
from collections.abc import Mapping, Sequence
from itertools import combinations
from pathlib import Path
from typing import Any

from kafka_spec.model_check.command.find import Models
from kafka_spec.model_check.command.options import AS_EXPECTED, MANIFEST, add_output_options, outputs, write
from kafka_spec.model_check.manifest import Manifest, all_judged, manifest_of
from kafka_spec.model_check.named_check import NamedCheck
from kafka_spec.model_check.report.escape import plain
from kafka_spec.spec.vocabulary.table import Spec, SpecError

MOST_TOGETHER = 3
"""The most bounds of which the report says that only this check has them together."""
MOST_SHOWN = 3
"""The most such combinations that are shown."""


def add_checks(parser: argparse.ArgumentParser, catalogue: Mapping[str, Spec]) -> None:
    """Add the options of `checks`."""
    models = Models(catalogue)
    parser.add_argument("checks", nargs="*", metavar="CHECK", help="say why these are there, and what they alone test")
    parser.add_argument("--manifest", type=Path, default=MANIFEST, metavar="FILE", help="the file with the named checks")
    add_output_options(parser, ("text", "json"))
    parser.set_defaults(run=lambda options: run_checks(options, models))


def run_checks(options: argparse.Namespace, models: Models) -> int:
    """List all named checks, or describe some in full."""
    manifest = manifest_of(options.manifest)
    for name in options.checks:
        if name not in manifest.names:
            near = difflib.get_close_matches(name, manifest.names, n=3)
            perhaps = f"perhaps {' or '.join(near)}; " if near else ""
            raise SpecError(f"check {name!r} is unknown; {perhaps}`kafka-spec checks` lists them")
    described = [described_check(manifest, name, models) for name in options.checks]
    for form, file in outputs(options):
        if form == "json":
            write(json.dumps(described or [_brief(manifest, table) for table in manifest.tables], indent=1), file)
        elif described:
            write(plain("\n\n".join(check_text(one) for one in described)), file)
        else:
            write(plain(_list_text([_brief(manifest, table) for table in manifest.tables])), file)
    return AS_EXPECTED


def _brief(manifest: Manifest, table: Mapping[str, Any]) -> dict[str, Any]:
    """Return what is known of a check without its model."""
    line = manifest.counts.lines.get(table["name"], {}) if manifest.counts else {}
    model = table["model"]
    return {
        "name": table["name"],
        "model": model if isinstance(model, str) else model.name,
        "bounds": table.get("bounds", ""),
        "why": table.get("why", ""),
        "verdict": table["verdict"],
        "traces": dict(table.get("traces", {})),
        **{name: table.get(name, line.get(name)) for name in ("distinct", "depth", "unreduced")},
        "seconds": line.get("seconds"),
    }


def described_check(manifest: Manifest, name: str, models: Models) -> dict[str, Any]:
    """Return all about a check: why it is there, its bounds, what it expects, what it alone tests and cannot test, its counts."""
    (mine,) = [table for table in manifest.tables if table["name"] == name]
    of_model = [table["name"] for table in manifest.tables if table["model"] == mine["model"]]
    found = {check.name: check for check in manifest.checks(models.find, of_model)}
    check, others = found.pop(name), list(found.values())
    elsewhere = {claim for table in manifest.tables if table is not mine for claim in table.get("traces", {})}
    return {
        **_brief(manifest, mine),
        "values": dict(check.bounds),
        "bounds_alone": [list(some) for some in bounds_alone(check, others)],
        "covered_by": [other.name for other in others if _covers(other, check, [check, *others])],
        "tests_alone": [claim for claim in _held(check) if others and not any(claim in _held(other) for other in others)],
        "violates_alone": [claim for claim in check.expected.traces if claim not in elsewhere],
        "cannot_test": dict(check.expected.not_tested),
    }


def _held(check: NamedCheck) -> list[str]:
    """Return the properties of which a check says that they hold, and that it can test."""
    if check.expected.verdict != "holds":
        return []
    judged = check.properties or all_judged(check.spec)
    return [name for name in judged if name not in check.expected.not_tested]


def features(check: NamedCheck, every: Sequence[NamedCheck]) -> dict[str, int]:
    """Return the bounds in which a check differs from most checks of its model."""
    usual = {name: _most_frequent([other.bounds[name] for other in every]) for name in check.bounds}
    return {name: value for name, value in check.bounds.items() if value != usual[name]}


def bounds_alone(check: NamedCheck, others: Sequence[NamedCheck]) -> list[tuple[str, ...]]:
    """Return the fewest bounds, as `name=value`, that no other check of the model has together."""
    own = features(check, [check, *others])
    for size in range(1, MOST_TOGETHER + 1):
        found = [some for some in combinations(own, size) if not any(_has(other, some, own) for other in others)]
        if found:
            return [tuple(f"{name}={own[name]}" for name in some) for some in found[:MOST_SHOWN]]
    return []


def _has(other: NamedCheck, names: Sequence[str], values: Mapping[str, int]) -> bool:
    """Return whether a check has these bounds, or, of what may happen several times, more."""
    return all(other.bounds[name] == values[name] or 0 < values[name] <= other.bounds[name] for name in names)


def _covers(other: NamedCheck, check: NamedCheck, every: Sequence[NamedCheck]) -> bool:
    own = features(check, every)
    return _has(other, list(own), own)


def _most_frequent(values: Sequence[int]) -> int:
    return max(sorted(set(values)), key=values.count)


def check_text(one: Mapping[str, Any]) -> str:
    """Return what is known of a check, for people."""
    expected = one["verdict"]
    if one["traces"]:
        expected += ": " + ", ".join(f"{claim} in {states} states" for claim, states in one["traces"].items())
    counts = [
        f"{one[key]:,} {what}"
        for key, what in (("distinct", "states"), ("depth", "levels"), ("unreduced", "states without the normal form"))
        if one[key] is not None
    ]
    set_name = f"{one['bounds']}: " if isinstance(one["bounds"], str) and one["bounds"] else ""
    lines = [
        ("why", one["why"] or "nothing is said; add why to the check"),
        ("model", one["model"]),
        ("bounds", set_name + ", ".join(f"{name} {value}" for name, value in one["values"].items() if value)),
        ("expects", expected),
        *(("alone", text) for text in _alone_text(one)),
        *(("cannot test", f"{', '.join(claims)}: {reason}") for reason, claims in _by_reason(one["cannot_test"]).items()),
        ("counts", ", ".join(counts) or "none are accepted yet"),
        ("time", _time_text(one["seconds"])),
        ("run", f"kafka-spec check {one['name']}"),
        *([("", f"kafka-spec trace {one['name']}")] if one["verdict"] == "violated" else []),
    ]
    shown, before = [one["name"]], ""
    for head, text in lines:
        shown.append(f"  {'' if head == before else head:<12}{text}")
        before = head
    return "\n".join(shown)


def _alone_text(one: Mapping[str, Any]) -> list[str]:
    """Return what only this check tests, as sentences."""
    reported = []
    if one["bounds_alone"]:
        reported.append(
            f"the only check of {one['model']} with {'; with '.join(' and '.join(some) for some in one['bounds_alone'])}"
        )
    if one["tests_alone"]:
        reported.append(f"the only one that tests {', '.join(one['tests_alone'])}")
    if one["violates_alone"]:
        reported.append(f"the only check that violates {', '.join(one['violates_alone'])}")
    if not reported and one["covered_by"]:
        reported.append(f"nothing: {', '.join(one['covered_by'][:MOST_SHOWN])} may do all that it may; it is smaller")
    return reported or ["nothing that other checks of the model together do not test"]


def _by_reason(cannot_test: Mapping[str, str]) -> dict[str, list[str]]:
    return {reason: [claim for claim, why in cannot_test.items() if why == reason] for reason in cannot_test.values()}


def _time_text(seconds: float | None) -> str:
    if seconds is None:
        return "unknown until its counts are accepted"
    return f"the search took {seconds:g} s when its counts were accepted; compiling comes first where the cache is empty"


def _list_text(every: Sequence[Mapping[str, Any]]) -> str:
    """Return a line for each check."""
    width = max(len(one["name"]) for one in every)
    states = ["" if one["distinct"] is None else f"{one['distinct']:,}" for one in every]
    wide = max(map(len, states))
    rows = [
        f"{one['name']:<{width}}  {one['verdict']:<8}  {count:>{wide}}  {one['why']}".rstrip()
        for one, count in zip(every, states, strict=True)
    ]
    return "\n".join([*rows, "", f"{len(every)} checks; kafka-spec checks NAME says why one is there, and what it alone tests"])
