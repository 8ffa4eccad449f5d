"""Candidate fixes: small diffs of Kafka's source in fixes/, which is compiled over the released jar. Each is a decision of `fixed`.

A diff was made for 4.3.1 and is applied by its text, so line numbers do not matter.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from kafka_spec.spec.vocabulary.table import SpecError

FOLDER = Path(__file__).parent / "fixes"
MODULES = {"core": "kafka_2.13", "metadata": "kafka-metadata", "raft": "kafka-raft"}
"""The artifacts by the folder of Kafka's repository."""
CONTROLLER = "org.apache.kafka.controller"
OWN_TESTS: Mapping[str, tuple[str, ...]] = {
    "core/kafka/cluster": ("kafka.cluster.PartitionTest",),
    "core/kafka/log": ("kafka.log.LogManagerTest",),
    "metadata": tuple(
        f"{CONTROLLER}.{name}Test"
        for name in (
            "ReplicationControlManager",
            "PartitionChangeBuilder",
            "PartitionReassignmentReplicas",
            "PartitionReassignmentRevert",
        )
    ),
    "raft": tuple(
        f"org.apache.kafka.raft.{name}Test"
        for name in ("internals.KRaftControlRecordStateMachine", "LeaderState", "KafkaRaftClient", "KafkaRaftClientReconfig")
    ),
}
"""Kafka's own tests of what fixes change, by the folder of Kafka's repository, and the package where that says more."""
FILE = re.compile(r"^\+\+\+ b/((\w+)/src/main/\w+/(.*))$", re.MULTILINE)
HUNK = re.compile(r"^@@ .*\n((?:[ +-].*\n|\n)+)", re.MULTILINE)

OPPOSED = re.compile(r"^Kafka's own tests that demand the opposite: ([\w, ]+)\.$", re.MULTILINE)


@dataclass(frozen=True)
class Hunk:
    """A part of a file that is replaced: `module` is the artifact whose sources have the file."""

    module: str
    file: str
    old: str
    new: str

    def applied(self, source: str) -> str:
        """Return the source with the change.

        Raises:
            SpecError: the source does not have the old text exactly once.
        """
        if (times := source.count(self.old)) != 1:
            raise SpecError(f"the fix does not apply to this release: {self.file} has {times} times {self.old.strip()!r}")
        return source.replace(self.old, self.new)


@dataclass(frozen=True)
class Fix:
    """A candidate fix: a unified diff, with a sentence above it, and a line for `opposed`."""

    diff: str

    def text(self) -> str:
        """Return the diff without the sentence."""
        return self.diff[self.diff.index("--- ") :]

    @property
    def own_tests(self) -> tuple[str, ...]:
        """Kafka's own tests of what it changes."""
        _, module, file = FILE.findall(self.text())[0]
        return next(tests for place, tests in OWN_TESTS.items() if f"{module}/{file}".startswith(place))

    @property
    def opposed(self) -> tuple[str, ...]:
        """Kafka's own tests that demand what the fix ends; they are named above the diff, and have to fail with it."""
        named = OPPOSED.search(self.diff)
        return tuple(named[1].split(", ")) if named else ()

    def applied(self, source_of: Callable[[str, str], str]) -> Mapping[str, str]:
        """Return the changed sources by file; `source_of` takes an artifact and a file.

        Raises:
            SpecError: a source does not have the old text exactly once.
        """
        changed: dict[str, str] = {}
        for hunk in hunks(self.diff):
            changed[hunk.file] = hunk.applied(changed.get(hunk.file) or source_of(hunk.module, hunk.file))
        return changed


def hunks(diff: str) -> Iterator[Hunk]:
    """Yield the changes of a unified diff."""
    _, *files = re.split(r"^--- .*\n", diff, flags=re.MULTILINE)
    for text in files:
        (named,) = FILE.findall(text)
        for hunk in HUNK.findall(text):
            # context is in both, also an empty line of context without its space
            old, new = ("".join(f"{line[1:]}\n" for line in hunk.splitlines() if line[:1] in signs) for signs in ("- ", "+ "))
            yield Hunk(MODULES[named[1]], named[2], old, new)
