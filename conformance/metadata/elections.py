"""What controllers' own logs say about the elections of the quorum: each change of a node's role, its epoch and its vote.

Each node logs `Completed transition to ...` at INFO, in server.log or controller.log. The changes are held to the machine of
spec/quorum and to the safety of Raft's elections across nodes, and compared with the leaders that the metadata log names.

Source: Kafka 3.3, 3.9 and 4.4 QuorumState.java, and the `toString` of each state.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from kafka_spec.conformance.metadata.kinds import (
    EPOCH_BACK,
    LEADER_DIFFERS,
    ROLE_WITHOUT_ROW,
    TWO_LEADERS,
    VOTES_TWICE,
)
from kafka_spec.conformance.metadata.sources import open_text
from kafka_spec.spec.language.domain import NONE
from kafka_spec.spec.quorum.machines import CANDIDATE, FOLLOWER, LEADER, QUORUM, UNATTACHED, QuorumRole

MARK = "Completed transition to "
LINE = re.compile(r"\[RaftManager (?:id|nodeId)=(\d+)\] Completed transition to (\w+)\((.*?)\) from (\w+)(.*)")
"""A node, its new role with the fields of its state, and the same of before: null when the process starts."""
TIME = re.compile(r"\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d(?:[.,]\d+)?")
EPOCH = re.compile(r"\bepoch=(\d+)")
FOLLOWED = re.compile(r"\bleader(?:Id)?=(\d+)")
VOTED = re.compile(r"\bvoted(?:Key=(?:Optional\[)?ReplicaKey\(id=|Id=)(\d+)")
ROLES: Mapping[str, QuorumRole] = {**{role.name: role for role in QuorumRole}, "VOTED": UNATTACHED}
"""By the names of Kafka's states; up to 3.9 one that has voted is a state of its own."""


@dataclass(frozen=True)
class RoleChange:
    """A change of a node's role, at a line of a file; None before where a process starts."""

    file: int
    line: int
    when: str
    node: int
    before: tuple[QuorumRole, int] | None
    """Role and epoch before."""
    role: QuorumRole
    epoch: int
    leader: int
    """The leader of the epoch that the node knows, itself included; NONE if it knows none."""
    voted: int
    """Whom the node has voted for in the epoch, itself included; NONE if nobody."""


def changes_in(file: int, lines: Iterable[str]) -> Iterator[RoleChange]:
    """Yield the changes of role that the lines of a file name."""
    for number, line in enumerate(lines, 1):
        if MARK not in line or (found := LINE.search(line)) is None:
            continue
        node, name, state, old = int(found[1]), _role(found[2]), found[3], _role(found[4])
        epoch, old_epoch = EPOCH.search(state), EPOCH.search(found[5])
        if name is None or epoch is None:
            continue
        before = None if old is None or old_epoch is None else (old, int(old_epoch[1]))
        when = TIME.search(line)
        leader = node if name == LEADER else _number(FOLLOWED, state) if name == FOLLOWER else NONE
        voted = node if name in (CANDIDATE, LEADER) else _number(VOTED, state)
        yield RoleChange(file, number, when[0] if when else "", node, before, name, int(epoch[1]), leader, voted)


def _role(name: str) -> QuorumRole | None:
    return ROLES.get(name.removesuffix("State").upper())


def _number(pattern: re.Pattern[str], text: str) -> int:
    found = pattern.search(text)
    return NONE if found is None else int(found[1])


Report = Callable[[str, int, int, str, str], None]
"""Called with the kind, file, line, subject and text of a violation."""


@dataclass
class EpochAsLogged:
    """What the nodes say of an epoch."""

    epoch: int
    leader: int = NONE
    elected: str = ""
    """When the leader says that it leads."""
    stood: set[int] = field(default_factory=set)
    votes: dict[int, int] = field(default_factory=dict)
    """For whom each node voted."""

    def __str__(self) -> str:
        """Return a line of a report."""
        time = f" since {self.elected}" if self.elected else ""
        leads = f"controller {self.leader} leads{time}" if self.leader != NONE else "nobody leads"
        stood = f"; stood: {', '.join(map(str, sorted(self.stood)))}" if self.stood else ""
        voted = ", ".join(f"{node} for {other}" for node, other in sorted(self.votes.items()) if node != other)
        return leads + stood + (f"; voted: {voted}" if voted else "")


class LoggedElections:
    """The elections that controllers' logs name. `report` receives what is wrong with them; `gaps` are lines that are missing."""

    def __init__(self, changes: Iterable[RoleChange], report: Report) -> None:
        self._report = report
        self.count = 0
        self.gaps: list[RoleChange] = []
        """Changes whose role or epoch before is not that of the node's last line."""
        self.nodes: set[int] = set()
        self.epochs: dict[int, EpochAsLogged] = {}
        self._newest: dict[int, RoleChange] = {}
        for one in changes:
            self._add(one)

    def _add(self, one: RoleChange) -> None:
        self.count += 1
        self.nodes.add(one.node)
        self._follow_table(one)
        election = self.epochs.setdefault(one.epoch, EpochAsLogged(one.epoch))
        if one.role == CANDIDATE:
            election.stood.add(one.node)
        if one.leader != NONE:
            if election.leader not in (NONE, one.leader):
                text = f"controller {election.leader} leads it too, by another line"
                self._wrong(TWO_LEADERS, one, f"epoch {one.epoch}", f"controller {one.leader} leads; {text}")
            elif election.leader == NONE:
                election.leader = one.leader
            if one.leader == one.node:
                election.elected = election.elected or one.when
        if one.voted != NONE and election.votes.setdefault(one.node, one.voted) != one.voted:
            text = f"it votes for {one.voted}, and has voted for {election.votes[one.node]}"
            self._wrong(VOTES_TWICE, one, f"epoch {one.epoch}", text)

    def _follow_table(self, one: RoleChange) -> None:
        """Compare a change with the node's change before, and with the rows of the machine."""
        before, self._newest[one.node] = self._newest.get(one.node), one
        if before is not None and one.epoch < before.epoch:
            text = f"its epoch goes back from {before.epoch} to {one.epoch}"
            self._wrong(EPOCH_BACK, one, f"node {one.node}", text)
        if before is not None and one.before not in (None, (before.role, before.epoch)):
            self.gaps.append(one)
        if one.before is not None and (one.before[0], one.role) not in QUORUM.legal_pairs:
            text = f"from {one.before[0].name.lower()} to {one.role.name.lower()}, for which there is no row"
            self._wrong(ROLE_WITHOUT_ROW, one, f"node {one.node}", text)

    def _wrong(self, kind: str, one: RoleChange, subject: str, text: str) -> None:
        self._report(kind, one.file, one.line, subject, f"node {one.node}, {one.when or 'at this line'}: {text}")

    @property
    def unheard(self) -> set[int]:
        """The nodes that lines name as a leader, or as whom somebody voted for, and that have no line of their own."""
        named = {node for one in self.epochs.values() for node in (one.leader, *one.votes.values())}
        return named - self.nodes - {NONE}

    def compare(self, reigns: Iterable[tuple[int, int]], file: int, offset: int) -> int:
        """Compare with the leaders that a metadata log names, as (epoch, controller); return how many epochs both name."""
        both = 0
        for epoch, controller in reigns:
            election = self.epochs.get(epoch)
            if election is None or NONE in (election.leader, controller):
                continue
            both += 1
            if election.leader != controller:
                text = f"controller {controller} wrote it in the metadata log, and by the controllers' logs {election.leader} leads"
                self._report(LEADER_DIFFERS, file, offset, f"epoch {epoch}", text)
        return both


def elections_of(files: Sequence[tuple[int, Path]], report: Report) -> LoggedElections:
    """Return the elections that the logs of controllers name; of files that were rotated, the oldest first, and each line once."""
    found = []
    for file, path in files:
        with open_text(path) as lines:
            if changes := list(changes_in(file, lines)):
                found.append(changes)
    found.sort(key=lambda changes: changes[0].when)
    known: dict[tuple[object, ...], RoleChange] = {}
    for one in (change for changes in found for change in changes):
        known.setdefault((one.when or one.line, one.node, one.before, one.role, one.epoch, one.leader, one.voted), one)
    return LoggedElections(known.values(), report)
