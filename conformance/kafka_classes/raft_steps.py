"""The rules of spec/quorum, done by Kafka's own clients: which timer ends, which message arrives, what an operator asks."""

from __future__ import annotations

from kafka_spec.conformance.kafka_classes.raft_classes import CLUSTER, FOREVER
from kafka_spec.conformance.kafka_classes.raft_stage import RaftStage
from kafka_spec.conformance.replay.core import Steps, expect
from kafka_spec.spec.language.domain import NONE
from kafka_spec.spec.quorum.machines import LEADER, PROSPECTIVE

STEPS = Steps("the comparison with KafkaRaftClient", "conformance/kafka_classes/raft_steps.py")
"""The steps by the names of rules."""

# ---------------------------------------------------------------------------------------------------------------------
# Elections


@STEPS.of("AskForPreVotes")
def ask(stage: RaftStage, node: int) -> None:
    """A timer ends."""
    asking = stage.nodes[node]
    role = asking.role()
    if role not in (LEADER, PROSPECTIVE):
        stage.wait(asking, "ask for pre-votes", lambda: asking.role() != role)


@STEPS.of("GrantPreVote")
def grant_pre_vote(stage: RaftStage, candidate: int, node: int) -> None:
    """The request arrives, and is granted."""
    expect(stage.ask_for_vote(stage.nodes[candidate], stage.nodes[node], True), "the pre-vote is refused")


@STEPS.of("GiveUpAsking")
def give_up(stage: RaftStage, node: int) -> None:
    """A timer ends."""
    asking = stage.nodes[node]
    stage.wait(asking, "give up asking", lambda: asking.role() != PROSPECTIVE)


@STEPS.of("Stand")
def stand(stage: RaftStage, node: int) -> None:
    """The answers to requests for pre-votes arrive; without pre-votes a timer ends."""
    standing = stage.nodes[node]
    if stage.classes.pre_votes:
        stage.count_grants(standing)
        return
    if standing.role() == LEADER:  # the only voter, which has just started
        return
    epoch = int(standing.quorum.epoch())
    stage.wait(standing, "stand", lambda: int(standing.quorum.epoch()) > epoch)


@STEPS.of("Vote")
def vote(stage: RaftStage, candidate: int, node: int) -> None:
    """The request arrives, and is granted."""
    expect(stage.ask_for_vote(stage.nodes[candidate], stage.nodes[node], False), "the vote is refused")


@STEPS.of("RefuseVote")
def refuse_vote(stage: RaftStage, candidate: int, node: int) -> None:
    """The request arrives, and is refused; the answer is lost."""
    expect(not stage.ask_for_vote(stage.nodes[candidate], stage.nodes[node], False), "the vote is granted")


@STEPS.of("Win")
def win(stage: RaftStage, candidate: int) -> None:
    """The answers of the voters arrive."""
    stage.count_grants(stage.nodes[candidate])
    stage.nodes[candidate].poll()


# ---------------------------------------------------------------------------------------------------------------------
# Epochs


@STEPS.of("LearnEpoch")
def learn(stage: RaftStage, node: int, other: int) -> None:
    """A BeginQuorumEpoch of the leader arrives; without one, a request for a vote of what the node was with another disk."""
    classes, learning, knowing = stage.classes, stage.nodes[node], stage.nodes[other].quorum
    epoch, leader = int(knowing.epoch()), int(knowing.leaderIdOrSentinel())
    if leader != NONE:
        endpoints = classes.endpoints(leader)
        learning.handle(
            classes.util.singletonBeginQuorumEpochRequest(classes.partition, CLUSTER, epoch, leader, endpoints, classes.key(node))
        )
        return
    pre_vote = (False,) if classes.pre_votes else ()
    strange = classes.keys.of(node, classes.directory(node + 100))
    learning.handle(
        classes.util.singletonVoteRequest(classes.partition, CLUSTER, epoch, classes.key(other), strange, 0, 0, *pre_vote)
    )


@STEPS.of("Resign")
def resign(stage: RaftStage, node: int) -> None:
    """The controller asks its client to resign."""
    client = stage.nodes[node].client
    client.resign(int(stage.nodes[node].quorum.epoch()))
    stage.nodes[node].poll()


@STEPS.of("LeaveEpoch")
def leave_epoch(stage: RaftStage, node: int) -> None:
    """A timer ends."""
    resigned = stage.nodes[node]
    epoch = int(resigned.quorum.epoch())
    stage.wait(resigned, "leave its epoch", lambda: int(resigned.quorum.epoch()) > epoch)


@STEPS.of("Crash")
def crash(stage: RaftStage, node: int) -> None:
    """The process ends, and starts again."""
    stage.nodes[node].crash()
    stage.nodes[node].start()


@STEPS.of("FormatAgain")
def format_again(stage: RaftStage, node: int) -> None:
    """The process ends, an operator formats its disk, and it starts again with the voters that it is configured with."""
    stage.nodes[node].lose_disk()
    stage.nodes[node].start()


# ---------------------------------------------------------------------------------------------------------------------
# Replication


@STEPS.of("Append")
def append(stage: RaftStage, node: int) -> None:
    """The controller hands a batch to its client."""
    leading = stage.nodes[node]
    leading.client.prepareAppend(int(leading.quorum.epoch()), stage.classes.kafka.java_list(["r"]))
    leading.client.schedulePreparedAppend()
    leading.poll()


@STEPS.of("Fetch")
def fetch(stage: RaftStage, node: int) -> None:
    """A fetch arrives, and its answer."""
    fetching = stage.nodes[node]
    sent = stage.fetch_of(fetching)
    answer = stage.nodes[int(sent.request.destination().id())].handle(sent.request.data())
    expect(answer is not None, "the fetch waits")
    fetching.receive(sent, answer)


@STEPS.of("LoseAnswer")
def lose_answer(stage: RaftStage, node: int) -> None:
    """A fetch arrives; its answer does not."""
    fetching = stage.nodes[node]
    sent = stage.fetch_of(fetching)
    stage.nodes[int(sent.request.destination().id())].handle(sent.request.data())
    stage.again(fetching, sent)


@STEPS.of("DelayFetch")
def delay_fetch(stage: RaftStage, node: int) -> None:
    """A fetch is sent, and its sender waits for it no longer."""
    sent = stage.fetch_of(stage.nodes[node])
    stage.delayed = int(sent.request.destination().id()), sent.request.data().duplicate()
    stage.again(stage.nodes[node], sent)


@STEPS.of("ReceiveDelayedFetch")
def receive_fetch(stage: RaftStage) -> None:
    """It arrives."""
    assert stage.delayed is not None
    leader, data = stage.delayed
    stage.delayed = None
    stage.nodes[leader].handle(data)


# ---------------------------------------------------------------------------------------------------------------------
# Voters


@STEPS.of("AddVoter")
def add_voter(stage: RaftStage, node: int, voter: int) -> None:
    """An AddRaftVoter request arrives; the leader, which waits for nothing else from the voter, asks it for its versions."""
    classes, leading = stage.classes, stage.nodes[node]
    stage.lose(leading, voter, "BeginQuorumEpoch")
    when_committed = (True,) if classes.acknowledges_commit else ()
    answer = leading.handle(
        classes.util.addVoterRequest(CLUSTER, FOREVER, classes.key(voter), classes.endpoints(voter), *when_committed)
    )
    expect(answer is None, f"node {node} refuses: {answer}")
    leading.receive(leading.sent.pop((voter, "ApiVersions")), classes.versions_of_voter())


@STEPS.of("RemoveVoter")
def remove_voter(stage: RaftStage, node: int, voter: int) -> None:
    """A RemoveRaftVoter request arrives."""
    answer = stage.nodes[node].handle(stage.classes.util.removeVoterRequest(CLUSTER, stage.classes.key(voter)))
    expect(answer is None or answer.errorCode() == 0, f"node {node} refuses: {answer}")


@STEPS.of("LeaveAsRemoved")
def leave_as_removed(stage: RaftStage, node: int) -> None:
    """The leader has seen that its removal is committed."""
    stage.nodes[node].poll()


# ---------------------------------------------------------------------------------------------------------------------
# Snapshots


@STEPS.of("WriteSnapshot")
def write_snapshot(stage: RaftStage, node: int, end: int) -> None:
    """The controller writes a snapshot."""
    stage.nodes[node].write_snapshot(end)


@STEPS.of("CutLog")
def cut_log(stage: RaftStage, node: int) -> None:
    """The cleaner runs."""
    expect(stage.nodes[node].cut_log(), f"node {node} deletes nothing")


@STEPS.of("LoadSnapshot")
def load_snapshot(stage: RaftStage, node: int) -> None:
    """A fetch is answered with a snapshot, and so is the fetch of that."""
    fetching = stage.nodes[node]
    sent = stage.fetch_of(fetching)
    leader = int(sent.request.destination().id())
    fetching.receive(sent, stage.nodes[leader].handle(sent.request.data()))
    asked = fetching.sent.get((leader, "FetchSnapshot"))
    expect(asked is not None, f"node {node} fetches no snapshot")
    assert asked is not None
    below = stage.nodes[leader].stands_for_newest()
    answer = stage.nodes[leader].handle(asked.request.data())
    stage.nodes[leader].put_snapshot_in_memory(answer)
    fetching.receive(asked, answer)
    fetching.below = below
