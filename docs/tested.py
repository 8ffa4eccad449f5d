"""Writes kafka/tested.md: the families of `fixed`, and how often each check met the antecedent of each property: `make tested`.

python docs/tested.py RESULT.json [MORE.json]

RESULT.json is what `kafka-spec check --output json:RESULT.json` wrote for the manifest; results of single checks in MORE.json
replace those.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from kafka_spec.model_check.manifest import read_manifest
from kafka_spec.model_check.named_check import NamedCheck
from kafka_spec.spec.catalogue.models import MODELS

PAGE = Path(__file__).parent / "kafka" / "tested.md"
SECTIONS = {"zookeeper/fixed": "The control plane", "kraft/fixed": "KRaft", "quorum/fixed": "The quorum of controllers"}
"""The models whose checks are listed, with the headings."""
COLUMNS = 8
"""How many properties stand side by side."""

HEAD = """# What each family tests

A verdict *holds* means something only if the antecedent of the property was met. The numbers say in how many states, or on how
many steps, each named check met it. 0: never, for the reason that `kafka-spec checks NAME` gives. A dash: this
check does not judge the property. Of a property of each partition the partition counts that met it least.
`make tested` writes this page from a run of the manifest; a test compares names, counts and zeros with the manifest.
"""


def page(checks: Sequence[Any]) -> str:
    """Return the page for the results of a manifest, in its order: a run has the cheapest first."""
    order = list(manifest())
    checks = sorted(checks, key=lambda check: order.index(check["name"]))
    parts = [HEAD]
    for model, heading in SECTIONS.items():
        chosen = [check for check in checks if check["model"] == model and check["verdict"] == "holds"]
        parts += [f"## {heading}", families(chosen)]
        names = list(dict.fromkeys(claim["property"] for check in chosen for claim in check["properties"] if says_when(claim)))
        parts += [tested(chosen, names[at : at + COLUMNS]) for at in range(0, len(names), COLUMNS)]
    return "\n\n".join(part.strip() for part in parts) + "\n"


def says_when(claim: Any) -> bool:
    """Return whether a property has an antecedent; others are judged in every state."""
    return claim["antecedent"] is not None or claim["kind"] == "recoverable"


def manifest() -> dict[str, NamedCheck]:
    """Return the checks of the manifest by name."""
    return {check.name: check for check in read_manifest(PAGE.parents[2] / "pyproject.toml", MODELS.__getitem__)}


def families(checks: Sequence[Any]) -> str:
    """Return the table of families: states, levels and verdict."""
    expected, rows = manifest(), []
    for check in checks:
        unreduced = expected[check["name"]].expected.unreduced or check["distinct"]
        rows.append(row(f"`{check['name']}`", f"{check['distinct']:,}", f"{unreduced:,}", check["depth"], check["verdict"]))
    return "\n".join([row("check", "states searched", "all states", "levels", "verdict"), "|---|---:|---:|---:|---|", *rows])


def tested(checks: Sequence[Any], names: Sequence[str]) -> str:
    """Return the table of how often some properties were tested."""
    lines = [row("check", *names), "|---|" + "---:|" * len(names)]
    for check in checks:
        counts: dict[str, int | None] = {}
        for claim in check["properties"]:  # of the claims of a property the one that was tested least counts
            counted = (claim.get("tested"), counts.get(claim["property"]))
            counts[claim["property"]] = min((count for count in counted if count is not None), default=None)
        lines.append(row(f"`{check['name']}`", *("-" if counts.get(name) is None else f"{counts[name]:,}" for name in names)))
    return "\n".join(lines)


def row(*cells: Any) -> str:
    """Return a row of a table."""
    return f"| {' | '.join(map(str, cells))} |"


if __name__ == "__main__":
    results = [json.loads(Path(name).read_text(encoding="utf-8"))["checks"] for name in sys.argv[1:]]
    PAGE.write_text(page(list({check["name"]: check for some in results for check in some}.values())), encoding="utf-8")
