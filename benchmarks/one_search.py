"""Search one model once and print its costs as one line of JSON; the benchmarks run it in its own process."""

from __future__ import annotations

import argparse
import json

from kafka_spec.model_check.budget import peak_bytes
from kafka_spec.model_check.search.embedded import explore
from kafka_spec.spec.catalogue.models import MODELS


def main() -> None:
    """Search a model exhaustively at given bounds."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("model", help="the name of a model; only its module is imported")
    parser.add_argument("--bounds", type=json.loads, required=True, help='as JSON: {"replicas": 3, ...}')
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--leave-out", action="append", default=[], choices=["digest", "checks"])
    args = parser.parse_args()
    result = explore(MODELS[args.model], args.bounds, threads=args.threads, leave_out=frozenset(args.leave_out), fast_from=0)
    measured = {
        "verdict": result.verdict,
        "distinct": result.distinct,
        "digest": result.digest,
        "search_seconds": result.search_seconds,
        "compile_seconds": result.compile_seconds,
        "peak_bytes": peak_bytes(),
        "record_bytes": result.record_bytes,
    }
    print(json.dumps(measured))


if __name__ == "__main__":
    main()
