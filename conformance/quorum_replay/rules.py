"""The rules of spec/quorum as steps of the implementation: which timer ends, which message arrives, what an operator asks."""

from __future__ import annotations

from kafka_spec.conformance.quorum_replay.stage import RECORD, QuorumStage, on_disk, packed
from kafka_spec.conformance.replay.core import Steps, expect
from kafka_spec.impl.kraft.quorum.leader_state import FetchAtLeader
from kafka_spec.impl.protocol.quorum_requests import FetchLogRequest, FetchLogResponse

STEPS = Steps("the replay of the quorum", "conformance/quorum_replay/rules.py")
"""The steps by the names of rules."""
FIRST_PART = 100
"""Bytes of the first part of a snapshot."""


def ignored(_: FetchLogResponse) -> None:
    """Lose an answer."""


def next_fetch(stage: QuorumStage, node: int) -> FetchLogRequest:
    """Return the fetch that a follower sends; its answer has one batch."""
    request = stage.nodes[node].next_fetch(max_bytes=1)
    assert request is not None, f"node {node} follows nobody"
    return request


def ask_for_vote(stage: QuorumStage, candidate: int, node: int) -> bool:
    """Let a request for a vote arrive, and a grant; return whether it is granted."""
    request = stage.nodes[candidate].vote_request()
    assert request is not None, f"node {candidate} asks for no votes"
    answer = stage.nodes[node].vote(request)
    if answer.granted:
        stage.nodes[candidate].take_vote(node, request, answer)
    return answer.granted


# ---------------------------------------------------------------------------------------------------------------------
# Elections


@STEPS.of("AskForPreVotes")
def ask_for_pre_votes(stage: QuorumStage, node: int) -> None:
    """A timer ends."""
    expect(stage.nodes[node].ask_for_pre_votes(), "it asks for no pre-votes")


@STEPS.of("GiveUpAsking")
def give_up(stage: QuorumStage, node: int) -> None:
    """A timer ends."""
    expect(stage.nodes[node].give_up(), "it does not ask")


@STEPS.of("Stand")
def stand(stage: QuorumStage, node: int) -> None:
    """The pre-votes are counted; without pre-votes a timer ends."""
    expect(stage.nodes[node].stand(), "it does not stand")


@STEPS.of("GrantPreVote", "Vote")
def grant(stage: QuorumStage, candidate: int, node: int) -> None:
    """The request arrives, and the grant."""
    expect(ask_for_vote(stage, candidate, node), "the vote is refused")


@STEPS.of("RefuseVote")
def refuse(stage: QuorumStage, candidate: int, node: int) -> None:
    """The request arrives; the refusal is lost."""
    expect(not ask_for_vote(stage, candidate, node), "the vote is granted")


@STEPS.of("Win")
def win(stage: QuorumStage, candidate: int) -> None:
    """The votes are counted."""
    reads_at = stage.nodes[candidate].log.read_up_to
    expect(stage.nodes[candidate].win(), "it has no majority")
    stage.read_by_batches(candidate, reads_at)
    stage.flush(candidate)


# ---------------------------------------------------------------------------------------------------------------------
# Epochs and processes


@STEPS.of("LearnEpoch")
def learn(stage: QuorumStage, node: int, other: int) -> None:
    """An answer of another node arrives."""
    expect(stage.nodes[node].learn(stage.nodes[other].standing), "it knows that already")


@STEPS.of("Resign")
def resign(stage: QuorumStage, node: int) -> None:
    """The node shuts down, or nobody has fetched for too long."""
    expect(stage.nodes[node].resign(), "it does not lead")


@STEPS.of("LeaveEpoch")
def leave_epoch(stage: QuorumStage, node: int) -> None:
    """A timer ends."""
    expect(stage.nodes[node].leave_epoch(), "it stays in its epoch")


@STEPS.of("Crash")
def crash(stage: QuorumStage, node: int) -> None:
    """The process ends, and starts again."""
    stage.restart(node)


@STEPS.of("LossyCrash")
def lossy_crash(stage: QuorumStage, node: int) -> None:
    """The machine loses power; what it writes from now on is distinguished from what is lost."""
    stage.losses += 1
    stage.restart(node, loses=True)


@STEPS.of("FormatAgain")
def format_again(stage: QuorumStage, node: int) -> None:
    """An operator formats the disk of a node, and starts it again."""
    stage.format(node)


@STEPS.of("ConfigureAllAsVoters")
def configure(stage: QuorumStage, node: int) -> None:
    """An operator changes the configuration of a node, and starts it again."""
    stage.nodes[node].log.formatted = frozenset(range(len(stage.nodes)))
    stage.restart(node)


@STEPS.of("FormatAlone")
def format_alone(stage: QuorumStage, node: int) -> None:
    """An operator formats a node that is new."""
    stage.nodes[node].log.formatted = frozenset({node})
    stage.nodes[node].log.read_anew()


# ---------------------------------------------------------------------------------------------------------------------
# Replication


@STEPS.of("Append")
def append(stage: QuorumStage, node: int) -> None:
    """The controller appends a batch."""
    expect(stage.nodes[node].append([RECORD]) is not None, "it does not lead")
    stage.flush(node)


@STEPS.of("Flush")
def flush(stage: QuorumStage, node: int) -> None:
    """The log is flushed."""
    expect(stage.nodes[node].flush(), "there is nothing to flush")


@STEPS.of("Fetch")
def fetch(stage: QuorumStage, node: int) -> None:
    """A fetch arrives, and its answer; while the leader's log is not flushed, the fetch is one that waits there already."""
    fetching = stage.nodes[node]
    leading, request, answers = stage.nodes[fetching.leader], next_fetch(stage, node), list[FetchLogResponse]()
    if leading.leading is not None and leading.log.flushed < leading.log.end:
        leading.leading.waiting.append(FetchAtLeader(request, answers.append))
        leading.answer_waiting()
    else:
        leading.fetch(request, answers.append)
        leading.expire(request)
    expect(len(answers) == 1 and fetching.take_fetch(request, answers[0]), "it takes no answer")


@STEPS.of("LoseAnswer")
def lose_answer(stage: QuorumStage, node: int) -> None:
    """A fetch arrives; its answer is lost."""
    stage.nodes[stage.nodes[node].leader].fetch(next_fetch(stage, node), ignored)


@STEPS.of("DelayFetch")
def delay_fetch(stage: QuorumStage, node: int) -> None:
    """A fetch is sent."""
    stage.delayed = stage.nodes[node].leader, next_fetch(stage, node)


@STEPS.of("ReceiveDelayedFetch")
def receive_fetch(stage: QuorumStage) -> None:
    """It arrives, and nobody waits for its answer."""
    assert stage.delayed is not None
    leader, request = stage.delayed
    stage.delayed = None
    stage.nodes[leader].fetch(request, ignored)


# ---------------------------------------------------------------------------------------------------------------------
# Voters


@STEPS.of("AddVoter")
def add_voter(stage: QuorumStage, node: int, voter: int) -> None:
    """An operator asks for it."""
    expect(stage.nodes[node].add_voter(voter), "it refuses")
    stage.flush(node)


@STEPS.of("RemoveVoter")
def remove_voter(stage: QuorumStage, node: int, voter: int) -> None:
    """An operator asks for it."""
    expect(stage.nodes[node].remove_voter(voter), "it refuses")
    stage.flush(node)


@STEPS.of("LeaveAsRemoved")
def leave_as_removed(stage: QuorumStage, node: int) -> None:
    """The leader looks whether its removal is committed."""
    expect(stage.nodes[node].leave_as_removed(), "it stays")


# ---------------------------------------------------------------------------------------------------------------------
# Snapshots


@STEPS.of("WriteSnapshot")
def write_snapshot(stage: QuorumStage, node: int, end: int) -> None:
    """The controller writes a snapshot; of each batch that it stands for it has a record."""
    records = map(packed, on_disk(stage.nodes[node].log)[1][:end])
    expect(stage.nodes[node].write_snapshot(end, records), "it is not committed, or not new")


@STEPS.of("CutLog")
def cut_log(stage: QuorumStage, node: int) -> None:
    """The cleaner runs."""
    expect(stage.nodes[node].cut_log(), "there is nothing to delete")


@STEPS.of("LoadSnapshot")
def load_snapshot(stage: QuorumStage, node: int) -> None:
    """A fetch is answered with a snapshot, which the follower fetches in two parts."""
    fetching = stage.nodes[node]
    leading, request, answers = stage.nodes[fetching.leader], next_fetch(stage, node), list[FetchLogResponse]()
    leading.fetch(request, answers.append)
    expect(len(answers) == 1 and fetching.take_fetch(request, answers[0]), "it takes no answer")
    asked = fetching.next_snapshot_fetch(FIRST_PART)
    while asked is not None:
        expect(fetching.take_snapshot(asked, leading.fetch_snapshot(asked)), "it takes no part of the snapshot")
        asked = fetching.next_snapshot_fetch()
