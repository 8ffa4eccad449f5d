"""`kafka-spec advise --format-controller`: two readings of a running quorum say whether a controller may be formatted again."""

from __future__ import annotations

import collections
import json
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from random import Random
from typing import Any
from uuid import UUID

import pytest

from kafka_spec.command import run as main
from kafka_spec.conformance.advise import controllers
from kafka_spec.conformance.advise.controllers import advised, json_of, judged, text_of
from kafka_spec.conformance.metadata.quorum_reading import UNKNOWN, QuorumReading, VoterReading
from kafka_spec.model_check.budget import Budget
from kafka_spec.model_check.interpreter.interpreter import Interpreter
from kafka_spec.spec.language.domain import OutOfBound
from kafka_spec.spec.quorum.disks import may_be_formatted
from kafka_spec.spec.quorum.families import QUORUM_FAMILIES
from kafka_spec.spec.quorum.fixed import FIXED
from kafka_spec.spec.quorum.machines import LEADER
from kafka_spec.spec.quorum.state import MetadataQuorum
from kafka_spec.spec.vocabulary.table import Rule

DIRECTORY = UUID(int=7)


def reading(
    ends: tuple[int, ...], at: int, down: tuple[int, ...] = (), leader: int = 1, epoch: int = 4, directory: UUID | None = None
) -> QuorumReading:
    """Return what controller 1, 2, ... leads; the others fetched at that time, except those that are down."""
    fetched = {node: UNKNOWN if node == leader else 1 if node in down else at for node in range(1, len(ends) + 1)}
    return QuorumReading(leader, epoch, {node: VoterReading(directory, end, fetched[node]) for node, end in enumerate(ends, 1)})


OFTEN = ("LearnEpoch", "Fetch")
"""The rules that a walk takes more often."""
ALL = (20, 18, 20)
DOWN = (2,)
SAFE = reading(ALL, 100, DOWN), reading((24, 18, 23), 200, DOWN)
"""Controller 2 is down, 3 follows controller 1."""
ALONE = QuorumReading(2, 4, {2: VoterReading(None, 9, UNKNOWN)})
NOT_SAFE: dict[str, tuple[QuorumReading, QuorumReading, str]] = {
    "it runs": (reading(ALL, 100), reading(ALL, 200), "it runs, and fetches; shut it down first"),
    "it leads": (reading(ALL, 100, leader=2), reading(ALL, 200, leader=2), "it leads; shut it down"),
    "the only voter": (ALONE, ALONE, "the only copy of the metadata"),
    "another lags": (reading((20, 18, 19), 100, DOWN), SAFE[1], "controller 3 lacks 1 of the leader's records"),
    "another is down": (reading(ALL, 100, (2, 3)), reading(ALL, 200, (2, 3)), "controller 3 does not fetch"),
    "another was not heard": (reading((20, 18, UNKNOWN), UNKNOWN), reading(ALL, UNKNOWN), "controller 3 does not fetch"),
    "another was formatted": (SAFE[0], reading((24, 18, 12), 200, DOWN), "controller 3 lacks 8 of"),
    "another epoch": (SAFE[0], replace(SAFE[1], epoch=5), "have just changed"),
    "another leader": (SAFE[0], replace(SAFE[1], leader=3), "have just changed"),
    "a leader that leaves": (
        reading((20, 18, 20, 20), 100, DOWN, leader=9),
        reading((20, 18, 20, 20), 200, DOWN, leader=9),
        "the leader is being removed",
    ),
    "two of five lag": (
        reading((20, 18, 20, 20, 19), 100, DOWN),
        reading((20, 18, 20, 20, 20), 200, DOWN),
        "controller 5 lacks 1",
    ),
    "one of two is left": (
        reading((20, 18), 100, DOWN, directory=DIRECTORY),
        reading((20, 18), 200, DOWN, directory=DIRECTORY),
        "1 of 2 voters are left that have the whole log: no majority",
    ),
}


@pytest.mark.parametrize("case", NOT_SAFE)
def test_what_is_not_safe(case: str) -> None:
    """The reason says what is against it, and what to do."""
    first, second, reason = NOT_SAFE[case]
    advice = judged(2, first, second)
    assert advice.verdict == "unsafe" and reason in advice.reason
    assert text_of(advice).startswith("NOT SAFE: format the disk of controller 2 again") and reason in text_of(advice)
    assert json.loads(json_of(advice))["reason"] == advice.reason


def test_what_is_safe() -> None:
    """With configured voters all others have to have the whole log; with voters in the log a majority, for it votes no more."""
    advice = judged(2, *SAFE)
    assert text_of(advice).splitlines() == [
        "SAFE: format the disk of controller 2 again",
        "  the voters are configured (kraft.version 0); controller 1 leads epoch 4",
        "  controller 1: log end 24, lag 0",
        "  controller 2: log end 18, lag 6",
        "  controller 3: log end 23, lag 1",
        "  because the others follow this leader in its epoch, and have its whole log",
        "  next: leave it down until its disk is formatted, start it, and wait until its lag is 0 before the next one",
    ]
    plain = json.loads(json_of(advice))
    assert plain["verdict"] == "safe" and plain["stays_voter"] and plain["voters"][1] == {
        "controller": 2, "log_end": 18, "lag": 6, "directory": None
    }  # fmt: skip
    in_log = [reading((20, 18, 20, 20, 7), at, DOWN, directory=DIRECTORY) for at in (100, 200)]
    advice = judged(2, *in_log)
    assert advice.verdict == "safe" and "--no-initial-controllers" in advice.next and not advice.stays_voter
    assert judged(9, *SAFE).verdict == "safe" and "observer" in judged(9, *SAFE).next


def test_it_is_read_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """A lag that may go is read again; what only an operator changes is not, and Ctrl-C leaves it undecided."""
    monkeypatch.setattr(controllers, "BETWEEN", 0)
    lagging = reading((20, 18, 19), 50, DOWN)
    readings = iter([lagging, lagging, *SAFE])
    assert advised(2, lambda: next(readings), Budget()).verdict == "safe"
    readings = iter([reading(ALL, 100), reading(ALL, 200)])
    assert "it runs" in advised(2, lambda: next(readings), Budget()).reason
    stopped = Budget()
    stopped.interrupted = True
    assert advised(2, lambda: lagging, stopped).verdict == "undecided"


class ObservedWalk:
    """A random walk of the model whose leaders are read."""

    def __init__(self, model: Interpreter, random: Random) -> None:
        self.model, self.random = model, random
        (self.state,) = model.initial()
        self.steps = 0
        self.fetched: dict[tuple[int, int, int], int] = {}
        """By leader, its epoch and the follower: the step in which it fetched last."""

    def walk(self, steps: int, down: int | None = None) -> Iterator[MetadataQuorum]:
        """Take steps in which the node that is down has no part: it neither answers nor is heard; yield the states."""
        for _ in range(steps):
            rules = [rule for rule in self.model.spec.rules if (rule.name in OFTEN) == (self.random.random() < 0.9)]
            found = [
                (rule, binding)
                for rule in rules
                for binding in self.model.enabled(rule, self.state)
                if self.model.within(rule, self.state, binding) and down not in binding
            ]
            if found:
                self.take(*self.random.choice(found))
            yield self.state

    def elect(self) -> None:
        """Let the first node lead, and all others follow it."""
        rules = {rule.name: rule for rule in self.model.spec.rules}
        others = range(1, len(self.state.nodes))
        self.take(rules["Stand"], (0,))
        for node in others:
            self.take(rules["Vote"], (0, node))
        self.take(rules["Win"], (0,))
        for node in others:
            self.take(rules["LearnEpoch"], (node, 0))

    def take(self, rule: Rule, binding: tuple[int, ...]) -> None:
        """Take a step, unless there are no more epochs."""
        self.steps += 1
        with suppress(OutOfBound):
            self.state = self.model.apply(rule, self.state, binding)
            if rule.name == "Fetch":
                mine = self.state.nodes[binding[0]]
                self.fetched[mine.leader, mine.epoch, binding[0]] = self.steps

    def read(self, leader: int) -> QuorumReading:
        """Read the quorum of a leader."""
        mine = self.state.nodes[leader]
        voters = {}
        for node in range(len(self.state.nodes)):
            end = len(mine.log) if node == leader else mine.ends[node]
            voters[node] = VoterReading(None, end, self.fetched.get((leader, mine.epoch, node), UNKNOWN))
        return QuorumReading(leader, mine.epoch, voters)

    def leader(self) -> int | None:
        """Return one that leads."""
        leading = [node for node, one in enumerate(self.state.nodes) if one.role == LEADER]
        return self.random.choice(leading) if leading else None


def tried(seeds: int) -> tuple[int, list[int]]:
    """Return how often two readings say that a node that is down may be formatted, and the seeds where they are wrong.

    They are right if the model's operator may format it at a moment between them.
    """
    values: dict[str, Any] = dict(next(family.values for family in QUORUM_FAMILIES if family.name == "formatted"))
    model = Interpreter(FIXED, {**values, "epochs": 4, "log_size": 5})
    safe, wrong = 0, []
    for seed in range(seeds):
        walk = ObservedWalk(model, Random(seed))
        walk.elect()
        collections.deque(walk.walk(walk.random.randrange(25)), 0)
        down, leader = walk.random.randrange(3), walk.leader()
        if leader is not None:
            between, first = [walk.state], walk.read(leader)
            between += walk.walk(walk.random.randrange(1, 20), down)
            if walk.state.nodes[leader].role == LEADER and judged(down, first, walk.read(leader)).verdict == "safe":
                safe += 1
                wrong += [] if any(may_be_formatted(state, model.k, down) for state in between) else [seed]
    return safe, wrong


def test_what_is_safe_is_so_in_the_model() -> None:
    """If two readings say that a node that is down may be formatted, the model's operator may, at a moment between them."""
    safe, wrong = tried(800)
    assert safe > 10 and not wrong


def test_one_reading_does_not_say_it() -> None:
    """A leader reports no lag of a voter that votes in a later epoch already; a second reading does not see it fetch again."""
    values: dict[str, Any] = dict(next(family.values for family in QUORUM_FAMILIES if family.name == "formatted"))
    walk = ObservedWalk(Interpreter(FIXED, values), Random(1))
    walk.elect()
    rules = {rule.name: rule for rule in FIXED.rules}
    for name, binding in (("Fetch", (1,)), ("Fetch", (1,)), ("Fetch", (2,)), ("Stand", (2,)), ("Vote", (2, 1))):
        walk.take(rules[name], binding)
    first, later = walk.read(0), walk.read(0)
    assert first.lag(1) == 0 and not may_be_formatted(walk.state, walk.model.k, 2)
    assert "controller 1 does not fetch" in judged(2, first, later).reason


@pytest.mark.parametrize(
    ("arguments", "reported"),
    [
        (("--format-controller", "1"), "--bootstrap-controller HOST:PORT"),
        (("folder", "--format-controller", "1"), "--format-controller needs --bootstrap-controller"),
        (("--bootstrap-controller", "127.0.0.1:1", "--format-controller", "1", "--stop", "1"), "advise needs one plan"),
        (("--bootstrap-controller", "127.0.0.1:1", "--format-controller", "1", "--wait", "in-sync"), "belong to plans about"),
        (("--bootstrap-controller", "127.0.0.1:1", "--format-controller", "1", "--faults", "2"), "belong to plans about"),
        (("--bootstrap-controller", "127.0.0.1:1", "--format-controller", "1"), "refused"),
    ],
)
def test_what_cannot_be_asked(arguments: tuple[str, ...], reported: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Only a running controller knows how far the others are; options about partitions are refused."""
    assert main(["advise", *arguments]) == 2
    assert reported in capsys.readouterr().err
