"""Mutations of logs: one line of each kind dropped, doubled, swapped with the next, and each of its fields changed, one at a time.

The kind of a line is its text without what varies. `python -m tests.log_mutations` applies all of them to the logs of a folder and
writes the table in tests/logs/MUTATIONS.md; a test applies a sample. A mutation is *found* (violated), *not judged* (inconclusive,
with the reason), or *equal by design*: it is listed in `EQUAL`, with the reason why no reader of logs can know. None may be silent.
"""

from __future__ import annotations

import argparse
import gzip
import re
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from kafka_spec.conformance.validate.embedded import run
from kafka_spec.conformance.validate.files import find_sources
from kafka_spec.conformance.validate.outcome import Outcome, put_together
from kafka_spec.conformance.validate.replay.explain import replay

HERE = Path(__file__).parent
HEAD = re.compile(r"\[[^\]]*\] (\w+) ")
FIELD = re.compile(
    r"(?<![\w.$:])-?\d+(?!\w)|\btrue\b|\bfalse\b|(?<=from )[A-Z]\w+|(?<=to )[A-Z]\w+(?:Partition|Replica|gible|Started|ful)\b"
    r"|become-(?:leader|follower)|\b(?:Leader|Follower)(?= \w+-\d)"
)
"""What can be changed in a message: numbers, truth values, states, roles."""
NAME = re.compile(r"\b[a-z]+-\d+\b|\[[a-z]+,\d+\]")
READ = re.compile(r"successfully elected|initial state -> |Deletion of topic")
"""The lines of controller.log that are read."""


class Mutation(NamedTuple):
    """One change of one file of some logs."""

    kind: str
    what: str
    file: str
    line: int
    lines: tuple[str, ...]
    """What stands in place of the line, and of the next one if it is swapped."""
    takes: int = 1
    """How many lines it takes the place of."""


def read(folder: Path) -> dict[str, list[str]]:
    """Return the lines of the logs of a folder, by name without compression."""
    found = {}
    for path in sorted(folder.iterdir()):
        data = path.read_bytes()
        text = (gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data).decode()
        found[path.name.removesuffix(".gz")] = text.splitlines()
    return found


def kind_of(line: str) -> str:
    """Return the text of a line without what varies."""
    text = HEAD.sub(lambda match: match[1] + " ", line.rpartition(" (")[0])
    text = re.sub(r"\w+State\([^()]*\)|\w+Data\(.*?\) for|\(Leader:[^)]*\)|ReplicaAssignment\([^)]*\)|-> \w*\(.*\)", "(...)", text)
    text = re.sub(r"LeaderAndIsr\(.*\)", "LeaderAndIsr(...)", text)
    text = NAME.sub(
        "T-P",
        re.sub(r"(?:topic|for partition|Partition|with topic id) (?:Some\([^)]*\)|\S*)", lambda m: m[0].split(" ")[0] + " T", text),
    )
    text = re.sub(r"(?:[\d.]+:\d+|Set\([\d, ]*\)|\[[\d, ]*\]|-?\d+ms|(?<!\w)-?\d[\d,]*)", "N", text)
    return re.sub(r"Some\(N\)|None", "P", text)


def mutations(files: dict[str, list[str]], about: str = "") -> Iterator[Mutation]:
    """Yield all mutations of a line of each kind, in the middle of its kind; only of lines about a partition if it is named."""
    topic, _, number_of = about.rpartition("-")
    names = (f"{about} ", f"'{topic}', partitionIndex={number_of},") if about else ("",)
    places: dict[str, list[tuple[str, int]]] = {}
    for file, lines in files.items():
        for number, line in enumerate(lines):
            if HEAD.match(line) and any(name in line for name in names) and ("state-change" in file or READ.search(line)):
                places.setdefault(kind_of(line), []).append((file, number))
    for kind, found in places.items():
        file, number = found[len(found) // 2]
        yield from _of_line(kind, file, number, files[file])


def _of_line(kind: str, file: str, number: int, lines: Sequence[str]) -> Iterator[Mutation]:
    line = lines[number]
    yield Mutation(kind, "dropped", file, number, ())
    yield Mutation(kind, "doubled", file, number, (line, line))
    after = next((at for at in range(number + 1, len(lines)) if HEAD.match(lines[at])), None)
    if after is not None and kind_of(lines[after]) != kind:
        between = lines[number + 1 : after]
        yield Mutation(kind, "swapped", file, number, (lines[after], line, *between), after - number + 1)
    start = HEAD.match(line)
    assert start is not None
    end = line.rindex(" (")
    seen: Counter[str] = Counter()
    for field in FIELD.finditer(line, start.end(), end):
        label = _label(line, field.start())
        seen[label] += 1
        if seen[label] > 2:  # of a list, the first two
            continue
        name = label if seen[label] == 1 else f"{label} #2"
        changed = line[: field.start()] + _other(field[0]) + line[field.end() :]
        yield Mutation(kind, f"field {name}", file, number, (changed,))


def _label(line: str, at: int) -> str:
    before = re.sub(r"[\d,\[(-]+$", "", line[:at]).rstrip("=: ,[('")
    words = re.findall(r"[A-Za-z][A-Za-z-]*", before[-40:])
    return words[-1] if words else "?"


def _other(value: str) -> str:
    swaps = {
        "true": "false", "false": "true", "become-leader": "become-follower", "become-follower": "become-leader",
        "Leader": "Follower", "Follower": "Leader",
    }  # fmt: skip
    if value in swaps:
        return swaps[value]
    if re.fullmatch(r"-?\d+", value):
        return str(int(value) + 1)
    if value.endswith("Partition"):
        return "NewPartition" if value != "NewPartition" else "OfflinePartition"
    return "NewReplica" if value != "NewReplica" else "OfflineReplica"


class Bench:
    """A folder with logs, of which one file at a time is changed."""

    def __init__(self, folder: Path, files: dict[str, list[str]]) -> None:
        self.folder, self.files = folder, files
        for name in files:
            self.write(name, files[name])

    def write(self, name: str, lines: Sequence[str]) -> None:
        """Write one file."""
        (self.folder / name).write_text("\n".join(lines) + "\n")

    def judged(self) -> Outcome:
        """Return the outcome of the logs as they are."""
        sources, files = find_sources([self.folder])
        return put_together(run(sources, None, False, lambda _: None), files, None, "auto")

    def result(self, mutation: Mutation, partition: str = "") -> tuple[str, str]:
        """Return what becomes of a mutation, and why; with a partition, what its replay says."""
        lines = list(self.files[mutation.file])
        lines[mutation.line : mutation.line + mutation.takes] = mutation.lines
        self.write(mutation.file, lines)
        try:
            if not partition:
                outcome = self.judged()
                return result_of(mutation, outcome.verdict, [one.kind for one in outcome.violations], outcome.open_reasons)
            found = replay(*find_sources([self.folder]), None, [partition])
            kinds = [*(one.kind for one in found.violations), *(one.verdict for one in found.partitions)]
            reasons = [*found.unread, *(one.why or one.left_out or one.verdict for one in found.partitions)]
            return result_of(mutation, found.verdict, kinds, reasons)
        finally:
            self.write(mutation.file, self.files[mutation.file])


def result_of(mutation: Mutation, verdict: str, kinds: Sequence[str], reasons: Sequence[str]) -> tuple[str, str]:
    """Return what became of a mutation, and why; `silent` if nothing shows it and it is not equal by design."""
    if verdict == "violated":
        return "found", ", ".join(dict.fromkeys(kinds))
    if verdict == "inconclusive":
        return "not judged", re.sub(r"\S+/", "", reasons[0])
    for kind, what, why in EQUAL:
        if re.search(kind, mutation.kind) and re.fullmatch(what, mutation.what):
            return "equal by design", why
    return "silent", ""


EQUAL: list[tuple[str, str, str]] = [
    (r".*", "swapped", "the two lines are of different partitions, requests or threads, or mean the same in either order"),
    ("successfully elected|Deletion of topic|initial state", "doubled", "it says the same again"),
    ("successfully elected", "field now", "the version of /controller_epoch stands in no other line"),
    (r"Deletion of topic T \(re", "dropped", "a deletion is started again as often as brokers come back"),
    ("Deletion of topic", "field Manager", "who manages the deletion stands in no other line"),
    (
        "initial state",
        "field .*",
        "what a machine starts with is compared where a transition shows it, and later ones do not show all",
    ),
    ("failed to change state", "dropped|doubled|field .*", "an attempt that failed changes nothing"),
    ("cannot become follower", "field epoch #2", "the controller epoch that the replica had stands in no other line"),
    ("starts at leader epoch", "field (offset|watermark)", "offsets stand in no other line"),
    (
        "starts at leader epoch",
        "field (Some|was)",
        "the leader before stands in no other line; the epoch before is wrong in 3.x itself",
    ),
    ("Ignoring StopReplica", "dropped|field id", "an equal leader epoch is refused from 2.6 to 3.4 and not before and after"),
    ("after removing replica", "dropped|field (orders|doomed|moves|replica|to)", "a removal that only reads changes nothing"),
    (
        "reassigned",
        "doubled|field (replicas|replicas #2|leader)",
        "only the controller logs it, after what it sent, and nothing else of it",
    ),
    ("Skipped the|Stopped fetchers", "dropped|doubled", "it repeats what the lines of the partitions say"),
    ("Skipped the|Stopped fetchers", "field .*", "it repeats what the lines of the partitions say, here of another broker or role"),
    ("UpdateMetadata request to brokers", "dropped", "it goes to nobody, and ends a batch that the next change ends as well"),
    ("Cached leader info", "field (controllerEpoch|replicas|replicas #2)", "the controller logs only how many partitions it sent"),
    ("Deleted partition", "field .*", "the controller logs only how many partitions it sent"),
    (r"from (\w+Partition) T \1$", "dropped|doubled|field .*", "the state does not change"),
    (r"from (\w+Replica) to \1$", "dropped|doubled|field .*", "the state does not change"),
    (
        "Received response",
        "field (errorCode|errorCode #2|partitionIndex|partitionIndex #2|broker)",
        "why a broker answers so stands in its log",
    ),
    ("Received response .* UPDATE_METADATA", "doubled", "an UpdateMetadata without partitions is in no broker's log"),
    ("Sending become", "field (controllerEpoch|replicas|replicas #2|isNew)", "the request did not arrive; what did is compared"),
    ("state LeaderAndIsr", "field (brokerEpoch|brokerEpoch #2)", "broker epochs stand in no other line"),
]
"""Kinds of lines and mutations, as patterns, that no reader of logs can know, each with the reason."""


INTRODUCTION = (
    "# Mutations of logs",
    "",
    "One line of each kind of each real log was dropped, doubled, swapped with the next one, and each of its fields changed, one",
    "at a time, and `kafka-spec validate` was asked. *found*: violated, by these properties. *not judged*: inconclusive, and why.",
    "*equal by design*: no other line says what is right, for this reason. `make log-mutations` writes this table again.",
    "",
)


def table(rows: Sequence[tuple[str, Mutation, str, str]]) -> Iterator[str]:
    """Yield the lines of the table."""
    yield "| logs | line | mutation | result | by or why |"
    yield "|---|---|---|---|---|"
    for logs, mutation, result, why in rows:
        cells = (logs, mutation.kind.replace("|", "/")[:110], mutation.what, result, why.replace("|", "/")[:150])
        yield f"| {' | '.join(cells)} |"


def main() -> int:
    """Apply all mutations; return 1 if one is silent."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folders", nargs="+", type=Path)
    parser.add_argument("--output", type=Path)
    parser.add_argument("--replay", default="", metavar="T-P", help="replay this partition")
    options = parser.parse_args()
    rows = []
    for folder in options.folders:
        with tempfile.TemporaryDirectory() as temporary:
            bench = Bench(Path(temporary), read(folder))
            assert bench.judged().verdict == "holds"
            for mutation in mutations(bench.files, options.replay):
                rows.append((folder.name, mutation, *bench.result(mutation, options.replay)))
    counts = Counter((logs, result) for logs, _, result, _ in rows)
    for (logs, result), count in sorted(counts.items()):
        print(f"{logs}: {count} {result}")
    if options.output:
        totals = [f"* {logs}: {count} {result}" for (logs, result), count in sorted(counts.items())]
        options.output.write_text("\n".join((*INTRODUCTION, *totals, "", *table(rows))) + "\n")
    for logs, mutation, result, _ in rows:
        if result == "silent":
            print(f"silent: {logs}: {mutation.file}:{mutation.line + 1}: {mutation.what}: {mutation.kind}")
    return 1 if any(result == "silent" for _, _, result, _ in rows) else 0


if __name__ == "__main__":
    sys.exit(main())
