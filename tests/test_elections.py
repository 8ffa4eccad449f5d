"""Elections by what controllers log: real logs of three controllers hold, and planted differences are found, or are gaps."""

from __future__ import annotations

import gzip
import re
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from kafka_spec.conformance.metadata.elections import LoggedElections, RoleChange, changes_in
from kafka_spec.conformance.metadata.judged import judged
from kafka_spec.conformance.metadata.report import plain_of, text_of
from kafka_spec.conformance.metadata.validation import MetadataOutcome
from kafka_spec.spec.quorum.machines import QuorumRole

LOGS = Path(__file__).parent / "logs" / "kraft"
REAL = ("f391-elections", "f440-elections")
"""Three controllers of Kafka 3.9.1 and 4.4.0: the leader is killed, starts again, and the next one is cut off."""
Lines = list[str]
Edit = Callable[[Lines], Lines]


def lines_of(folder: Path, node: int) -> Lines:
    """Return the lines of a controller's log."""
    return gzip.decompress((folder / f"node-{node}" / "server.log.gz").read_bytes()).decode().splitlines()


def edited(folder: Path, to: Path, node: int, edit: Edit) -> MetadataOutcome:
    """Return the outcome of a copy of a folder in which the lines of one controller are others."""
    shutil.copytree(folder, to / "copy")
    file = to / "copy" / f"node-{node}" / "server.log.gz"
    file.write_bytes(gzip.compress("\n".join(edit(lines_of(folder, node))).encode()))
    return judged([to / "copy"])


def replaced(pattern: str, by: str, which: int = 0) -> Edit:
    """Return an edit that replaces the first text of a pattern in the line of this number among those that have it."""

    def edit(lines: Lines) -> Lines:
        at = [number for number, line in enumerate(lines) if re.search(pattern, line)][which]
        return [*lines[:at], re.sub(pattern, by, lines[at], count=1), *lines[at + 1 :]]

    return edit


@pytest.mark.parametrize("name", REAL)
def test_real_elections_hold(name: str) -> None:
    """Every change of role of real controllers is a row of the table, and each leader is the one that wrote the log."""
    outcome = judged([LOGS / name])
    elections = outcome.elections

    assert (outcome.verdict, outcome.violations, outcome.unseen) == ("holds", [], [])
    assert elections is not None and (elections.nodes, elections.gaps) == ({1, 2, 3}, [])
    assert outcome.elections_compared == len(outcome.judge.reigns) >= 3
    assert elections.count == sum(len(lines_of(LOGS / name, node)) for node in (1, 2, 3))


def test_a_controller_that_was_formatted_again_is_named() -> None:
    """Where it lost a committed setting the metadata logs agree again; only the controllers' own logs say it, and the cause."""
    outcome = judged([LOGS / "f440-voter-formatted-again"])
    (violation,) = outcome.violations

    assert violation.kind == "epoch-of-controller-back" and "its epoch goes back from 1 to 0" in text_of(outcome)
    assert "known bug that shows like this: voter-formatted-again" in text_of(outcome)
    nodes = [LOGS / "f440-voter-formatted-again" / f"node-{node}" / "__cluster_metadata-0" for node in (1, 2, 3)]
    assert judged(nodes).verdict == "holds"


def test_the_report_has_each_election() -> None:
    """A report says who stood, who voted for whom, and since when a controller leads; JSON has the same."""
    outcome = judged([LOGS / "f440-elections"])
    text, plain = text_of(outcome), plain_of(outcome)

    assert "elections, by 44 changes of role that nodes 1, 2, 3 log; leaders compared with the log: 3\n" in text
    assert "         3  nobody leads; stood: 1, 2\n" in text
    assert "         4  controller 1 leads since 2026-11-30 18:09:05,130; stood: 1; voted: 2 for 1\n" in text
    assert plain["elections"][-1] == {
        "epoch": 4, "leader": 1, "elected": "2026-11-30 18:09:05,130", "stood": [1], "votes": {"1": 1, "2": 1},
    }  # fmt: skip
    assert "elections" not in plain_of(judged([LOGS / "f440-elections" / "node-1" / "__cluster_metadata-0"]))


HERE = r"(?:(?! from ).)*?"
"""Text about the new role."""
PLANTED: dict[str, tuple[int, Edit, str]] = {
    "a follower of another leader": (
        3, replaced(r"FollowerState\((.*?)epoch=4, leader=1", r"FollowerState(\1epoch=4, leader=2"), "two-leaders-in-an-epoch"),
    "a leader in another's epoch": (2, replaced(r"Leader\((.*?)epoch=1,", r"Leader(\1epoch=2,"), "two-leaders-in-an-epoch"),
    "a second vote": (
        1, replaced(rf"(transition to FollowerState{HERE}epoch=2, {HERE}votedKey=Optional\[ReplicaKey\(id=)3", r"\g<1>2"),
        "votes-twice-in-an-epoch"),
    "an epoch that goes back": (
        1, replaced(r"Completed transition to (\w+)\((.*?)epoch=4,", r"Completed transition to \1(\2epoch=0,", -1),
        "epoch-of-controller-back"),
    "a leader out of nothing": (
        1, replaced(r"(transition to Leader\(.*) from CandidateState", r"\1 from UnattachedState"), "wrong-change-of-role"),
}  # fmt: skip


@pytest.mark.parametrize("name", PLANTED)
def test_planted_differences_are_violations(name: str, tmp_path: Path) -> None:
    """Each is found by its kind, and named with the line where it stands."""
    node, edit, kind = PLANTED[name]
    outcome = edited(LOGS / "f440-elections", tmp_path, node, edit)

    assert outcome.verdict == "violated" and kind in {one.kind for one in outcome.violations}
    assert any("server.log.gz" in outcome.at(one.place) for one in outcome.violations if one.kind == kind)


def test_another_leader_than_in_the_log(tmp_path: Path) -> None:
    """Where all controllers' lines agree on a leader, and another controller wrote the epoch in the metadata log, that is found."""
    shutil.copytree(LOGS / "f440-elections", tmp_path / "copy")
    for node in (1, 2, 3):
        lines = [
            re.sub(r"(epoch=1, leader=|epoch=1, .*?votedKey=Optional\[ReplicaKey\(id=)2", r"\g<1>3", line)
            for line in lines_of(LOGS / "f440-elections", node)
            if not (node == 2 and re.search(r"transition to (?:Leader|CandidateState)\(.*?epoch=1,", line))
        ]
        (tmp_path / "copy" / f"node-{node}" / "server.log.gz").write_bytes(gzip.compress("\n".join(lines).encode()))
    outcome = judged([tmp_path / "copy"])

    (found,) = (one for one in outcome.violations if one.kind == "leader-differs-from-log")
    assert (
        found.subject == "epoch 1"
        and "controller 2 wrote it in the metadata log, and by the controllers' logs 3 leads" in found.summary
    )


def no_violation(kind: str, file: int, line: int, subject: str, text: str) -> None:
    """Refuse a violation."""
    raise AssertionError((kind, line, subject, text))


@pytest.mark.parametrize("name", REAL)
def test_each_line_that_is_missing_is_a_gap(name: str, tmp_path: Path) -> None:
    """Without a line the next one does not begin where the last ended: not judged as a violation, and not as seen either.

    The last line of a process, and what leads to the role that was there before, leave no gap: nothing contradicts the rest.
    """
    gaps = total = 0
    for node in (1, 2, 3):
        lines = lines_of(LOGS / name, node)
        for at in range(len(lines)):
            found = list(changes_in(0, [*lines[:at], *lines[at + 1 :]]))
            gaps += bool(LoggedElections(found, no_violation).gaps)
            total += 1
    outcome = edited(LOGS / name, tmp_path, 1, lambda lines: [line for line in lines if "transition to CandidateState" not in line])

    assert gaps >= total * 2 // 3
    assert outcome.verdict == "inconclusive" and any("lines are missing" in text for text in outcome.unseen)


def test_rotated_and_doubled_files_are_one_log(tmp_path: Path) -> None:
    """The older file comes first whatever its name, and a line that stands in two files counts once."""
    lines = lines_of(LOGS / "f440-elections", 1)
    shutil.copytree(LOGS / "f440-elections", tmp_path / "copy")
    folder = tmp_path / "copy" / "node-1"
    (folder / "server.log.gz").unlink()
    (folder / "server.log").write_text("\n".join(lines[9:]), encoding="utf-8")
    (folder / "server.log.2026-11-30-18").write_text("\n".join(lines[:9]), encoding="utf-8")
    (folder / "controller.log").write_text("\n".join(lines[4:12]), encoding="utf-8")
    whole, parts = judged([LOGS / "f440-elections"]), judged([tmp_path / "copy"])

    assert whole.elections is not None and parts.elections is not None
    assert (parts.verdict, parts.elections.count, parts.elections.epochs) == ("holds", 44, whole.elections.epochs)


def test_one_line_of_many_is_wrong(tmp_path: Path) -> None:
    """A line that names another leader is the only violation: the lines after it are held to the first."""
    node, edit, kind = PLANTED["a follower of another leader"]
    outcome = edited(LOGS / "f440-elections", tmp_path, node, edit)

    assert [one.kind for one in outcome.violations] == [kind]


def test_nodes_without_a_log_are_named() -> None:
    """With the log of one controller a report says whose logs it would need."""
    folder = LOGS / "f440-elections" / "node-2"
    outcome = judged([folder])

    assert outcome.elections is not None and outcome.elections.unheard == {1, 3}
    assert "not compared with what nodes 1, 3 log, which these lines name: their logs are not here" in text_of(outcome)


OLDER = (
    "[2022-10-01 10:00:00,000] INFO [RaftManager nodeId=1] Completed transition to Unattached(epoch=0, voters=[1, 2, 3], "
    "electionTimeoutMs=1100, highWatermark=Optional.empty) from null (org.apache.kafka.raft.QuorumState)",
    "[2022-10-01 10:00:01,000] INFO [RaftManager nodeId=1] Completed transition to Voted(epoch=1, votedId=2, voters=[1, 2, 3], "
    "electionTimeoutMs=1200, highWatermark=Optional.empty) from Unattached(epoch=0, voters=[1, 2, 3], electionTimeoutMs=1100, "
    "highWatermark=Optional.empty) (org.apache.kafka.raft.QuorumState)",
    "[2022-10-01 10:00:02,000] INFO [RaftManager nodeId=1] Completed transition to FollowerState(fetchTimeoutMs=2000, epoch=1, "
    "leaderId=2, voters=[1, 2, 3], highWatermark=Optional.empty, fetchingSnapshot=Optional.empty) from Voted(epoch=1, votedId=2, "
    "voters=[1, 2, 3], electionTimeoutMs=1200, highWatermark=Optional.empty) (org.apache.kafka.raft.QuorumState)",
)
"""As Kafka 3.3 writes them."""


def test_older_releases_have_other_names() -> None:
    """Up to 3.8 a node that has voted is in a state of its own, and fields have other names."""
    found = list(changes_in(7, OLDER))

    assert found == [
        RoleChange(7, 1, "2022-10-01 10:00:00,000", 1, None, QuorumRole.UNATTACHED, 0, -1, -1),
        RoleChange(7, 2, "2022-10-01 10:00:01,000", 1, (QuorumRole.UNATTACHED, 0), QuorumRole.UNATTACHED, 1, -1, 2),
        RoleChange(7, 3, "2022-10-01 10:00:02,000", 1, (QuorumRole.UNATTACHED, 1), QuorumRole.FOLLOWER, 1, 2, -1),
    ]
    wrong: list[str] = []
    elections = LoggedElections(found, lambda kind, *_: wrong.append(kind))
    assert (wrong, elections.gaps, str(elections.epochs[1])) == ([], [], "controller 2 leads; voted: 1 for 2")
