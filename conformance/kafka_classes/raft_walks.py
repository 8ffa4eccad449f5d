"""KafkaRaftClient: random walks of spec/quorum, each step done by Kafka's own controllers, and all of them compared after it.

The model is that of the version's era, with the bugs that it has. Clients act at once where the model has another step: a node that
is the only voter asks, stands and wins in one go. Those steps follow each other in a walk, and only the last is compared.
"""

from __future__ import annotations

import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING

from kafka_spec.conformance.kafka_classes.comparison import Comparison, SequenceOutcome, Subject, compare_sequence
from kafka_spec.conformance.kafka_classes.raft_classes import RaftClasses
from kafka_spec.conformance.kafka_classes.raft_paths import PATHS
from kafka_spec.conformance.kafka_classes.raft_stage import RaftStage
from kafka_spec.conformance.kafka_classes.raft_steps import STEPS
from kafka_spec.conformance.kafka_classes.raft_views import NodeView, view_of
from kafka_spec.conformance.replay.core import NotEnabled
from kafka_spec.model_check.interpreter.interpreter import Interpreter
from kafka_spec.spec.decisions.quorum import FormatAwaits
from kafka_spec.spec.language.domain import NONE, OutOfBound, contains, singleton
from kafka_spec.spec.quorum.eras import SPECS
from kafka_spec.spec.quorum.logs import voters_of
from kafka_spec.spec.quorum.machines import RESIGNED, UNATTACHED
from kafka_spec.spec.quorum.properties import is_asked_to_truncate
from kafka_spec.spec.vocabulary.table import Rule

if TYPE_CHECKING:
    from kafka_spec.conformance.kafka_classes.java import Kafka

ERAS = {"3.9.1": "quorum/era_3_9", "4.1.2": "quorum/era_4_3", "4.3.1": "quorum/era_4_3", "4.4.0": "quorum/era_4_3"}
"""The model of each version that is compared."""
BOUNDS = {
    "nodes": 3, "epochs": 5, "log_size": 9, "records": 3, "additions": 1, "removals": 2,
    "snapshots": 2, "resignations": 2, "crashes": 2, "lossy_crashes": 0, "formats": 2, "lost_answers": 1, "delayed_fetches": 1,
}  # fmt: skip
LONGEST = 60
"""Steps of a walk."""
OFTEN = ("Fetch", "Append", "Vote", "Win", "AddVoter", "RemoveVoter", "RefuseVote")
"""The rules that a walk takes more often, so that something is committed, and voters change."""
STARTS = ("Crash", "FormatAgain")
"""The rules by which a process begins."""

CUT = "ends where batches have other sizes"
"""What a walk is counted as that is not compared to its end."""


@dataclass(frozen=True)
class WalkSetting:
    """The cluster of a walk: its first voters, whether they are in the log, and whether there are pre-votes."""

    model: str
    first_voters: int
    kraft_version: int
    pre_votes: int

    def interpreter(self) -> Interpreter:
        """Return the model within these bounds, whose operators wait for nothing before they format a disk."""
        changes = {"formats": 0} if self.kraft_version else {"additions": 0, "removals": 0, "snapshots": 0}
        asked = {"first_voters": self.first_voters, "kraft_version": self.kraft_version, "pre_votes": self.pre_votes}
        era = next(spec for spec in SPECS if spec.name == self.model)
        spec = era.replacing(era.name, era.summary, decisions={"format_awaits": FormatAwaits.NOTHING})
        return Interpreter(spec, spec.bound_values({**BOUNDS, **asked, **changes}))

    def __str__(self) -> str:
        return f"{self.model}, {self.first_voters} of {BOUNDS['nodes']} nodes are voters, kraft.version {self.kraft_version}"


@dataclass(frozen=True)
class WalkStep:
    """A rule with its parameters."""

    rule: Rule
    binding: tuple[int, ...]

    @property
    def parameters(self) -> dict[str, int]:
        """Return the parameters by their names."""
        return dict(zip(self.rule.params, self.binding, strict=True))

    def __str__(self) -> str:
        return f"{self.rule.name}({', '.join(map(str, self.binding))})"


class ModelWalk:
    """A walk of the model."""

    def __init__(self, model: Interpreter) -> None:
        self.model = model
        (self.state,) = model.initial()
        self.committed = [0] * len(self.state.nodes)
        """The largest high watermark that each process has known, which its log keeps."""
        self.last: WalkStep | None = None

    def steps(self) -> list[WalkStep]:
        """Return the steps that Kafka may do; if one of them follows at once, only those that do."""
        found = [
            WalkStep(rule, binding)
            for rule in self.model.spec.rules
            for binding in self.model.enabled(rule, self.state)
            if self.model.within(rule, self.state, binding)
        ]
        return [step for step in found if self.follows_at_once(step)] or [step for step in found if self.kafka_takes(step)]

    def is_settled(self) -> bool:
        """Whether no step follows at once."""
        return not any(map(self.follows_at_once, self.steps()))

    def is_alone(self, node: int) -> bool:
        """Whether a node is the only voter."""
        return bool(voters_of(self.state, node) == singleton(node))

    def follows_at_once(self, step: WalkStep) -> bool:
        """Whether Kafka's client takes this step without waiting for anything."""
        match step.rule.name:
            case "LeaveAsRemoved":
                return True
            case "Win":
                return self.is_alone(*step.binding)
            case "Stand" if self.model.k.pre_votes:
                (node,) = step.binding
                resigned = self.state.nodes[node].role == RESIGNED
                return self.has_just_begun(node) if resigned else self.is_alone(node)
            case "Stand" | "AskForPreVotes":
                return self.has_just_begun(*step.binding) or self.waits_no_longer(*step.binding)
        return False

    def has_just_begun(self, node: int) -> bool:
        """Whether a node is the only voter, and its process has just begun."""
        is_first = self.last is None or (self.last.rule.name in STARTS and self.last.binding == (node,))
        return is_first and self.is_alone(node)

    def waits_no_longer(self, node: int) -> bool:
        """Whether a node's timer has just ended, and it is without a leader."""
        waits = self.last is None or self.last.rule.name not in ("GiveUpAsking", "LeaveEpoch") or self.last.binding != (node,)
        return not waits and bool(self.state.nodes[node].role == UNATTACHED)

    def kafka_takes(self, step: WalkStep) -> bool:
        """Whether Kafka takes this step; the model may have more steps, or no epoch left for what Kafka does next."""
        k, nodes = self.model.k, self.state.nodes
        mine = nodes[step.binding[0] if step.binding else 0]
        match step.rule.name:
            case "AddVoter":  # Kafka adds those that have caught up, the model all that have fetched
                return bool(mine.ends[step.binding[1]] == len(mine.log))
            case "Stand":  # the only voter, resigned, stands when its process begins, in the model at any time
                return not k.pre_votes or bool(mine.role != RESIGNED)
            case "Crash":
                return not self.is_alone(*step.binding) or bool(mine.epoch < k.epochs)
            case "Fetch":  # a process ends that is asked to truncate what it has known as committed, also in an earlier epoch
                return not is_asked_to_truncate(self.state, step.binding[0], self.committed[step.binding[0]])
            case "LeaveEpoch":
                return not k.pre_votes or bool(mine.epoch + 1 < k.epochs)
            case "GiveUpAsking":  # of a leader that is not a voter a node may not know the address, which the model leaves out
                return bool(mine.leader == NONE or contains(voters_of(self.state, step.binding[0]), mine.leader) == 1)
        return True

    def take(self, step: WalkStep) -> None:
        """Take a step.

        Raises:
            OutOfBound: the log has no room for it.
        """
        self.state = self.model.apply(step.rule, self.state, step.binding)
        if step.rule.name in STARTS:
            self.committed[step.binding[0]] = 0
        self.committed = [max(known, node.high_watermark) for known, node in zip(self.committed, self.state.nodes, strict=True)]
        self.last = step

    def views(self) -> list[NodeView]:
        """Return what the model sees of all nodes."""
        return [view_of(self.state, node) for node in range(self.model.k.nodes)]


def recorded(path: str, model: Interpreter) -> list[WalkStep]:
    """Return the walk that a path says."""
    rules = {rule.name: rule for rule in model.spec.rules}
    steps = [step.removesuffix(")").partition("(") for step in path.split("; ")]
    return [WalkStep(rules[name], tuple(int(value) for value in binding.split(", ") if value)) for name, _, binding in steps]


def at_random(model: Interpreter, random: Random) -> list[WalkStep]:
    """Return a walk."""
    walk, taken = ModelWalk(model), list[WalkStep]()
    for _ in range(LONGEST):
        if not (steps := walk.steps()):
            break
        rules = sorted({step.rule.name for step in steps})
        (rule,) = random.choices(rules, [5 if rule in OFTEN else 1 for rule in rules])
        step = random.choice([step for step in steps if step.rule.name == rule])
        try:
            walk.take(step)
        except OutOfBound:  # the log is full
            continue
        taken.append(step)
    return taken


@dataclass
class ReadSizes:
    """How many records the batches have that a node's reader of control records has passed.

    The reader continues at an offset of a record, in the model at one of a batch. Once other batches are below its place, which it
    skips, that is the same only if they have as many records; a walk in which they have not is not compared further.
    """

    passed: tuple[int, ...] = ()

    def agree(self, sizes: tuple[int, ...]) -> bool:
        """Take over the sizes of a log; return whether places in it are the same in batches as in records."""
        same = all(one == other for one, other in zip(self.passed, sizes, strict=False))
        self.passed = max(self.passed, sizes, key=len)
        return same


def run(classes: RaftClasses, setting: WalkSetting, steps: Sequence[WalkStep], seen: Counter[str]) -> SequenceOutcome:
    """Take a walk on both sides up to the first difference; steps that are not possible where it is are left out."""
    with stage_of(classes, setting) as stage:
        return compared(stage, ModelWalk(setting.interpreter()), steps, seen)


@contextmanager
def stage_of(classes: RaftClasses, setting: WalkSetting) -> Iterator[RaftStage]:
    """Start Kafka's clients in a folder of their own."""
    with tempfile.TemporaryDirectory() as folder:
        stage = RaftStage(classes, Path(folder), BOUNDS["nodes"], range(setting.first_voters), setting.kraft_version)
        with closing(stage):
            yield stage


def compared(stage: RaftStage, walk: ModelWalk, steps: Sequence[WalkStep], seen: Counter[str]) -> SequenceOutcome:
    """Take the steps of a walk on a stage, and count them by their rules."""
    passed = [ReadSizes() for _ in stage.nodes]
    for number, step in enumerate(steps, 1):
        if step not in walk.steps():
            continue
        walk.take(step)
        try:
            stage.do(STEPS.step_of(step.rule.name), step.parameters)
        except NotEnabled as reason:
            return SequenceOutcome(number, "does the step", str(reason))
        if step.rule.name in STARTS:
            passed[step.binding[0]] = ReadSizes()
        theirs = [node.view() for node in stage.nodes]
        if not all(read.agree(view.sizes) for read, view in zip(passed, theirs, strict=True)):
            seen[CUT] += 1
            return SequenceOutcome(number - 1)
        if walk.is_settled():
            for node, (mine, kafkas) in enumerate(zip(walk.views(), theirs, strict=True)):
                if stage.distinguishes(mine, kafkas):
                    return SequenceOutcome(number, f"node {node}: {mine}", f"node {node}: {kafkas}")
        seen[step.rule.name] += 1
    return SequenceOutcome(len(steps))


def end_of(classes: RaftClasses, setting: WalkSetting, steps: Sequence[WalkStep], last: WalkStep) -> str:
    """Return how the process of a client ends in the last step, which no other follows."""
    with stage_of(classes, setting) as stage:
        try:
            for step in (*steps, last):
                stage.do(STEPS.step_of(step.rule.name), step.parameters)
        except NotEnabled as reason:
            _, _, said = str(reason).partition("IllegalStateException: ")
            return said.partition(".")[0] or str(reason)
    return "its process does not end"


def compare(kafka: Kafka, comparison: Comparison, random: Random, cases: int) -> None:
    """Compare the recorded paths, and random walks, one for twenty cases that are asked for; a case is a step."""
    classes, model = RaftClasses(kafka), ERAS[kafka.version]
    for path in PATHS:
        setting = WalkSetting(model, 3, path.kraft_version, classes.pre_votes)
        cut = comparison.seen[CUT]
        steps = recorded(path.steps(setting.pre_votes), setting.interpreter())
        compare_sequence(comparison, steps, partial(run, classes, setting), setting)
        if comparison.seen[CUT] > cut:
            comparison.compare(f"the path of {path.case}", "goes to its end", "batches have other sizes")
        if path.last:
            (last,) = recorded(path.last, setting.interpreter())
            comparison.compare(f"after the path of {path.case}, {last}", path.ends_with, end_of(classes, setting, steps, last))
    for _ in range(max(1, cases // 20)):
        setting = WalkSetting(model, random.choice((1, 2, 3, 3)), random.choice((0, 1, 1)), classes.pre_votes)
        steps = at_random(setting.interpreter(), random)
        compare_sequence(comparison, steps, partial(run, classes, setting), setting)


SUBJECT = Subject(
    "quorum",
    "KafkaRaftClient: roles, epochs, votes, logs, high watermarks and voters of three controllers, in random walks of spec/quorum",
    compare,
    (),
    tuple(ERAS),
)
