"""Measure random walks: steps a second on the control plane, and which bugs they find at bounds that no search completes.

`bugs`: each bug of the manifest at the bounds `large`, with the faults that its family has besides, for some seconds. A bug
that is not found, or that walks cannot show, is listed with the reason. `speed`: steps a second. README.md explains both.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from kafka_spec.model_check.budget import Budget  # noqa: E402
from kafka_spec.model_check.check import simulate  # noqa: E402 - the project's folder comes first
from kafka_spec.model_check.manifest import manifest_of  # noqa: E402
from kafka_spec.model_check.random_walks.batches import Walks  # noqa: E402
from kafka_spec.model_check.random_walks.simulation import JUDGED, Walked  # noqa: E402
from kafka_spec.spec.catalogue.models import MODELS  # noqa: E402
from kafka_spec.spec.zookeeper.eras import SUITE  # noqa: E402
from kafka_spec.spec.zookeeper.families import HAPPENINGS, SETTINGS  # noqa: E402
from kafka_spec.spec.zookeeper.fixed import FIXED  # noqa: E402

SETS = {bounds.name: dict(bounds.values) for bounds in FIXED.bound_sets}
TARGET = 1_000_000
"""Target: steps a second on two cores."""


def bounds_for(family: str) -> dict[str, int]:
    """Return the bounds `large` with the faults of a family besides, and its settings.

    A reassignment needs a broker without a replica, so the family's number of replicas stays there.
    """
    large, own = SETS["large"], SETS[family]
    settings = {name: own[name] for name in SETTINGS}
    faults = {name: max(large[name], own[name]) for name in HAPPENINGS}
    replicas = own["replicas"] if own["reassignments"] else large["replicas"]
    return {**large, **settings, **faults, "replicas": replicas, "channel_depth": max(large["channel_depth"], own["channel_depth"])}


def cannot_show(name: str) -> str:
    """Return why walks cannot show a bug, or "": what the manifest expects of it says so."""
    spec = MODELS[name]
    kinds = {claim.name: claim.kind for claim in spec.properties}
    checks = [table for table in manifest_of(ROOT / "pyproject.toml").tables if table["model"] == name]
    broken: set[str] = {claim for check in checks for claim in check.get("traces", {})}
    if not broken:
        return "breaks nothing at the bounds of the manifest either"
    if not any(kinds.get(claim, "invariant") in JUDGED for claim in broken):
        return f"breaks {', '.join(sorted(broken))} only, which walks do not judge"
    return ""


def hunt(bug: Any, seconds: float, threads: int, seed: int) -> tuple[Walked, float]:
    """Walk through a bug's spec until it shows; return the walks and the seconds that shortening took."""
    spec = MODELS[f"zookeeper/{bug.name}"]
    began = time.perf_counter()
    walked = simulate(
        spec, bounds_for(bug.bounds), Walks(seed=seed), threads=threads, budget=Budget(seconds=seconds), deadlock=False
    )
    return walked, time.perf_counter() - began - walked.seconds - walked.found.compile_seconds


def bugs(names: list[str], seconds: float, threads: int, seed: int) -> int:
    """Print a line for each bug; return how many were found."""
    print("| bug | seconds | walks | violates | steps of the walk | states when shortened | seconds to shorten |")
    print("|---|---|---|---|---|---|---|")
    found = 0
    for bug in SUITE.expressed:
        if names and bug.name not in names:
            continue
        if reason := cannot_show(f"zookeeper/{bug.name}"):
            print(f"| {bug.name} | - | - | {reason} | | | |", flush=True)
            continue
        walked, shortening = hunt(bug, seconds, threads, seed)
        if not walked.violated:
            share = walked.different / max(1, walked.steps)
            why = f"not found in {walked.steps:,} steps, of which {share:.0%} led to new states"
            print(f"| {bug.name} | {walked.seconds:.1f} | {walked.count:,} | {why} | | | |", flush=True)
            continue
        found += 1
        claim = min(walked.violated, key=lambda claim: len(walked.found.findings[claim].actions))
        met, states = walked.met[claim], walked.found.findings[claim].states
        seconds_walked = f"{walked.seconds:.1f}"
        print(
            f"| {bug.name} | {seconds_walked} | {met.walk + 1:,} | {claim} | {len(met.actions)} | {states} | {shortening:.1f} |",
            flush=True,
        )
    return found


def speed(seconds: float, threads: int) -> None:
    """Print steps a second of `fixed` at some bounds, of the clock and of processors' time."""
    print("| bounds | policy | threads | steps | steps a second | of one processor's second | target | bytes a state |")
    print("|---|---|---|---|---|---|---|---|")
    for family in ("everyday", "three_everyday", "large"):
        for policy in ("rule", "mixed"):
            for count in sorted({1, threads}):
                simulate(FIXED, SETS[family], Walks(policy, most=1), deadlock=False)
                before = time.process_time()
                walked = simulate(
                    FIXED,
                    SETS[family],
                    Walks(policy),
                    threads=count,
                    budget=Budget(seconds=seconds),
                    everything=True,
                    deadlock=False,
                )
                spent = time.process_time() - before - walked.found.compile_seconds
                rate = walked.steps / walked.seconds
                print(
                    f"| {family} | {policy} | {count} | {walked.steps:,} | {rate:,.0f} | {walked.steps / spent:,.0f} | "
                    f"{f'{TARGET:,}' if count == 2 else '-'} | {walked.found.record_bytes} |",
                    flush=True,
                )


def main() -> None:
    """Measure."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=["bugs", "speed"])
    parser.add_argument("names", nargs="*", help="bugs; none: all")
    parser.add_argument("--seconds", type=float, default=30.0, help="for each bug, or each measurement")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    if args.what == "speed":
        speed(args.seconds, args.threads)
    else:
        print(f"\n{bugs(args.names, args.seconds, args.threads, args.seed)} found")


if __name__ == "__main__":
    main()
