"""Measure the checker on the control plane: speed, memory and compile time of its families, and all checks of bugs together.

Every search runs in its own process, on one thread, with everything on: all properties, ways back, the digest, parents.
Prints a Markdown table; the exit code is 1 if a search has an unexpected result. README.md explains the table.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
sys.path.insert(0, str(ROOT))

from kafka_spec.model_check.manifest import manifest_of  # noqa: E402 - the project's folder comes first
from kafka_spec.spec.zookeeper.eras import SUITE  # noqa: E402 - the project's folder comes first
from kafka_spec.spec.zookeeper.fixed import FIXED  # noqa: E402 - the project's folder comes first

BOUNDS = {bounds.name: bounds for bounds in FIXED.bound_sets}
TARGETS = {2: 300_000, 3: 200_000}
"""Target: distinct states per second on one thread, by the number of brokers."""
TOGETHER = 180
"""Target: seconds for all checks of bugs together."""


def search(family: str, cache: str) -> dict[str, Any]:
    """Search `fixed` exhaustively at a bound set, with compiled code in this cache."""
    values = json.dumps(dict(BOUNDS[family].values))
    command = [sys.executable, str(HERE / "one_search.py"), FIXED.name, "--bounds", values]
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "KAFKA_SPEC_CACHE": cache}
    ran = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    found: dict[str, Any] = json.loads(ran.stdout)
    return found


def bug_checks(cache: str) -> tuple[int, float]:
    """Run the named checks of all bugs in one process; return their number and the seconds of the whole process."""
    models = {f"zookeeper/{case.name}" for case in SUITE.expressed}
    checks = [table["name"] for table in manifest_of(ROOT / "pyproject.toml").tables if table["model"] in models]
    began = time.perf_counter()
    command = [sys.executable, "-m", "kafka_spec", "check", "-q", *checks]
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "KAFKA_SPEC_CACHE": cache}
    subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, check=True)
    return len(checks), time.perf_counter() - began


def main() -> int:
    """Measure, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "families", nargs="*", default=["records", "three_zombie", "three_records"], help="bound sets of zookeeper/fixed"
    )
    args = parser.parse_args()
    if unknown := [name for name in args.families if name not in BOUNDS]:
        print(f"control.py: {unknown[0]!r} is no bound set of {FIXED.name}; there is {', '.join(BOUNDS)}", file=sys.stderr)
        return 2
    sound = True
    print("| what | states | seconds | states a second | target | bytes a record | peak MiB | compile, cold | compile, warm |")
    print("|---|---|---|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as cache:
        for family in args.families:
            cold, warm = (search(family, cache) for _ in range(2))
            sound &= warm["verdict"] == "holds" and cold["distinct"] == warm["distinct"]
            rate = warm["distinct"] / warm["search_seconds"]
            target = TARGETS.get(BOUNDS[family].values["brokers"])
            print(
                f"| {family}: {BOUNDS[family].why} | {warm['distinct']:,} | {warm['search_seconds']:.1f} | {rate:,.0f} | "
                f"{f'{target:,}' if target else '-'} | {warm['record_bytes']} | {warm['peak_bytes'] / 2**20:,.0f} | "
                f"{cold['compile_seconds']:.1f} s | {warm['compile_seconds']:.1f} s |",
                flush=True,
            )
        bug_checks(cache)
        count, seconds = bug_checks(cache)
        print(f"\nAll {count} checks of bugs together, warm: {seconds:.1f} s (at most {TOGETHER} s)")
    return 0 if sound else 1


if __name__ == "__main__":
    sys.exit(main())
