"""Coverage as plain objects and as text."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Any

from kafka_spec.model_check.coverage import Condition, Coverage


def coverage_plain(found: Coverage) -> dict[str, Any]:
    """Return coverage as plain objects."""
    plain = {"schema_version": 1, **asdict(found)}
    plain["lines"] = {shown(file): counts for file, counts in found.lines.items()}
    for part, of in zip([*plain["rules"], *plain["rows"]], found.parts, strict=True):
        part["file"] = shown(part["file"])
        for condition, judged in zip(part["conditions"], of.conditions, strict=True):
            condition["judged"] = judged.judged
    return plain


def shown(file: str) -> str:
    """Return a file as people name it: relative to the current folder, if it is in it."""
    path = Path(file)
    return str(path.relative_to(Path.cwd())) if file and path.is_relative_to(Path.cwd()) else file


def coverage_text(found: Coverage) -> str:
    """Return coverage as text: a summary with all that was never run, then the counts."""
    bounds = ", ".join(f"{name} {value}" for name, value in found.bounds.items()) or "none"
    ran = f"{found.verdict}, {found.distinct:,} states" + (f"; not complete: {found.stopped}" if found.stopped else "")
    kinds = found.conditions
    tested = [p for p in found.properties if p.tested is not None]
    counts = [(shown(file), list(lines.values())) for file, lines in sorted(found.lines.items())]
    ran_of, all_of = sum(count > 0 for _, file in counts for count in file), sum(len(file) for _, file in counts)
    summary = [
        f"{found.model}: coverage",
        f"  bounds      {bounds}",
        f"  search      {ran}",
        _share("rules", "fired", [(r.name, r.fired > 0) for r in found.rules if not r.unreachable]),
        *([_share("rows", "chosen", [(f"{r.machine} {r.change}", r.fired > 0) for r in found.rows])] if found.rows else []),
        _share(
            "conditions",
            "of what was run both hold and refuse",
            [(f"{of}: {c.name} {c.judged}", c.judged == "both") for of, c in kinds],
        ),
        _share("properties", "tested", [(p.name, bool(p.tested)) for p in tested]),
        f"  lines       {ran_of} of {all_of} run" + ("; in:" if ran_of < all_of else ""),
        *(f"                {file}: {sum(c > 0 for c in n)} of {len(n)}" for file, n in counts if not all(n)),
    ]
    return "\n".join([*summary, "", *_rules_text(found), *_rows_text(found), *_properties_text(found), *_containers_text(found)])


def _share(what: str, how: str, each: list[tuple[str, bool]]) -> str:
    """Return how many of some things were run, and the names of the others below it."""
    others = [name for name, ran in each if not ran]
    first = f"  {what:<11} {len(each) - len(others)} of {len(each)} {how}" + ("; not:" if others else "")
    return "\n".join([first, *(f"                {name}" for name in others)])


def _rules_text(found: Coverage) -> list[str]:
    lines = [f"  {'rule, and its guards':<58} {'fired':>13} {'new':>13}", f"  {'':<58} {'asked':>13} {'refused':>13}"]
    for rule in found.rules:
        lines += [f"  {rule.name:<58} {rule.fired:>13,} {rule.new:>13,}", *map(_condition_text, rule.conditions)]
    return lines


def _rows_text(found: Coverage) -> list[str]:
    if not found.rows:
        return []
    lines = ["", f"  {'row, and its conditions':<58} {'chosen':>13}"]
    for row in found.rows:
        lines += [f"  {f'{row.machine} {row.change}':<58} {row.fired:>13,}", *map(_condition_text, row.conditions)]
    return lines


def _condition_text(condition: Condition) -> str:
    note = "" if condition.judged == "both" else f"  {condition.judged}"
    return f"    {condition.name:<56} {condition.asked:>13,} {condition.refused:>13,}{note}"


def _properties_text(found: Coverage) -> list[str]:
    lines = ["", f"  {'property':<58} {'tested':>13}  where"]
    for claim in found.properties:
        often = "-" if claim.tested is None else f"{claim.tested:,}"
        lines.append(f"  {claim.name:<58} {often:>13}  {claim.antecedent or 'everywhere'}")
    return lines


def _containers_text(found: Coverage) -> list[str]:
    if not found.containers:
        return []
    lines = ["", f"  {'sequence, set, bag or queue':<58} {'fullest':>13} {'capacity':>13}  bytes an item"]
    for one in found.containers:
        note = f"  {one.bound}" if one.bound else ""
        lines.append(f"  {one.path:<58} {one.fullest:>13,} {one.capacity:>13,}  {one.item_bytes}{note}")
    return lines
