"""Search one model once on Spark and print its costs as one line of JSON; benchmarks/spark.py runs it."""

from __future__ import annotations

import argparse
import itertools
import json
import time
from pathlib import Path

from kafka_spec.model_check.budget import peak_bytes
from kafka_spec.model_check.exploration import Distribution, Exploration
from kafka_spec.model_check.spark.engine import explore
from kafka_spec.spec.catalogue.models import MODELS


def growth(place: Path) -> float:
    """Return the cost of a candidate at 45 to 60 million visited states relative to 3 to 10 million; 0 if there are fewer."""
    levels = [json.loads(path.read_bytes()) for path in sorted(place.glob("level-*.json"))]
    seen, early, late = 0, [0.0, 0], [0.0, 0]
    for level in levels:
        for cost, low, high in ((early, 3, 10), (late, 45, 60)):
            if low <= seen / 1e6 <= high:
                cost[0] += level["dedup_seconds"]
                cost[1] += level["candidates"]
        seen += level["states"]
    return (late[0] / late[1]) / (early[0] / early[1]) if late[1] else 0.0


def main() -> None:
    """Search a model exhaustively at given bounds."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("model", choices=MODELS)
    parser.add_argument("--bounds", type=json.loads, required=True, help='as JSON: {"replicas": 3, ...}')
    parser.add_argument("--master", default="local[2,4]")
    parser.add_argument("--state-dir", required=True)
    parser.add_argument("--handover", type=int, help="take over exactly there; else as the command does")
    args = parser.parse_args()
    marks: list[tuple[float, int, int]] = []

    def note(result: Exploration, seconds: float) -> None:
        marks.append((time.perf_counter(), result.distinct, result.levels[-1]))

    distribution = Distribution(args.state_dir, args.master)
    if args.handover:
        distribution.handover = distribution.latest = args.handover
    result = explore(MODELS[args.model], args.bounds, distribution, progress=note)
    # the first job may wait for the session; later jobs show Spark's own speed
    engines = [json.loads(path.read_bytes())["by"] for path in sorted(Path(args.state_dir).glob("level-*.json"))]
    first = engines.index("spark") if "spark" in engines else len(engines)
    jobs = marks[first - 1 :] or marks[-1:]
    timed = [{"frontier": after[2], "seconds": after[0] - before[0]} for before, after in itertools.pairwise(jobs)]
    (began, early, _), (ended, states, _) = jobs[0], jobs[-1]
    print(
        json.dumps(
            {
                "verdict": result.verdict,
                "distinct": result.distinct,
                "digest": result.digest,
                "search_seconds": result.search_seconds,
                "spark_began": began,
                "spark_seconds": ended - began,
                "spark_states": states - early,
                "exchanged_bytes": result.exchanged_bytes,
                "peak_bytes": peak_bytes(),
                "timed": timed,
                "dedup_growth": growth(Path(args.state_dir)),
                "catch_up_seconds": sum(
                    json.loads(p.read_bytes())["catch_up_seconds"] for p in Path(args.state_dir).glob("level-*.json")
                ),
            }
        )
    )


if __name__ == "__main__":
    main()
