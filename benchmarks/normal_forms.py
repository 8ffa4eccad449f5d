"""What normal forms save: pairs of searches of a family of the control plane, of all states and of normal forms.

    python benchmarks/normal_forms.py [--pairs 3] [--threads 1] [FAMILY ...]

Prints states, the factor between them, and the least and the largest time of each kind in seconds of search, without compilation.
The two searches of a pair run one after the other, so that a busy machine slows both.
"""

from __future__ import annotations

import argparse

from kafka_spec.model_check.check import check
from kafka_spec.spec.models import MODELS

FAMILIES = ("everyday", "leader_shuts_down", "three_bounce", "expired_leader")


def main() -> None:
    """Measure the families that the command line names."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("families", nargs="*", default=FAMILIES)
    parser.add_argument("--pairs", type=int, default=3)
    parser.add_argument("--threads", type=int, default=1)
    options = parser.parse_args()
    spec = MODELS["control/fixed"]
    bounds = {bound_set.name: bound_set.values for bound_set in spec.bound_sets}
    heads = (("all states", 12), ("normal forms", 12), ("fewer", 6), ("seconds, all", 16), ("normal forms", 16), ("faster", 7))
    print(f"{'family':<20}", *(f"{head:>{width}}" for head, width in heads))
    for family in options.families:
        times: dict[bool, list[float]] = {False: [], True: []}
        counts = {}
        for _ in range(options.pairs):
            for reduced in (False, True):
                result = check(spec, bounds[family], normal_form=reduced, threads=options.threads)
                times[reduced].append(result.search_seconds)
                counts[reduced] = result.distinct
        spans = [f"{min(some):.2f} to {max(some):.2f}" for some in times.values()]
        fewer, faster = counts[False] / counts[True], min(times[False]) / min(times[True])
        print(f"{family:<20} {counts[False]:>12,} {counts[True]:>12,} {fewer:>6.2f} {spans[0]:>16} {spans[1]:>16} {faster:>7.2f}")


if __name__ == "__main__":
    main()
