"""FINDINGS, removed-voter-ends-leader, on three real controllers of Kafka 4.1.2 or 4.4.0, with a proxy before each.

A voter is silent, so its leader sends it BeginQuorumEpoch. The voter answers, and the answer is slow. An operator removes the
voter, as one does with a controller that does not answer. Then the answer arrives: the leader expects only voters to answer, and
its process ends. The voter that is left has no majority.

    python -m kafka_spec.conformance.reproductions.removed_voter_ends_leader --kafka 4.4.0
"""

from __future__ import annotations

from kafka_spec.conformance.kafka_clusters.kafka_proxy import BEGIN_QUORUM_EPOCH, FETCH
from kafka_spec.conformance.reproductions.controller_quorum import NODES, ControllerQuorum, raft_client
from kafka_spec.conformance.reproductions.real_cluster import show_on_release

LEADER, SILENT = 1, 3
EAGER, PATIENT = ({"controller.quorum.election.timeout.ms": timeout} for timeout in (500, 3000))


def finding(version: str) -> bool:
    """Make it happen; return whether the leader's process ends by an answer of a voter that was removed."""
    with ControllerQuorum(version, *NODES) as quorum:
        for node in NODES:
            quorum.start(node, EAGER if node == LEADER else PATIENT)
        quorum.wait(f"controller {LEADER} leads", lambda: quorum.leads(LEADER))
        quorum.wait("all have fetched", lambda: min(quorum.quorum(LEADER).ends.values()) > 0)
        quorum.proxies[LEADER].gate(FETCH, raft_client(SILENT))
        slow = quorum.proxies[SILENT].gate(BEGIN_QUORUM_EPOCH, raft_client(LEADER), answers=True)
        quorum.say(f"controller {SILENT} does not fetch any more, and its answers are slow")
        quorum.wait("it has an answer to BeginQuorumEpoch", lambda: slow.arrived)
        quorum.remove(LEADER, SILENT)
        slow.open()
        quorum.say("the answer arrives")
        quorum.wait(f"the process of controller {LEADER}, the leader, ends", lambda: quorum.has_ended(LEADER), seconds=20)
        for line in quorum.lines(LEADER, "server", "IllegalArgumentException"):
            quorum.say(line)
        return bool(quorum.lines(LEADER, "server", "Unexpected acknowledgement from non-voter"))


if __name__ == "__main__":
    show_on_release(finding, __doc__)
