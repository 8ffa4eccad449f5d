"""FINDINGS, removed-voter-does-not-campaign, on two real controllers of Kafka 3.9.1, 4.1.2 or 4.4.0, each behind a proxy.

Controllers 1 and 2 are the voters. An operator removes controller 1, which leads. It crashes before controller 2 has fetched the
record, and starts again. Both run and reach each other, and nobody leads: controller 1 is not a voter in its own log, so it does
not campaign, and its log is longer than that of controller 2, which it refuses its vote. Once its directory is formatted as at
first, controller 2 leads.

    python -m kafka_spec.conformance.reproductions.removed_voter_does_not_campaign --kafka 4.4.0
"""

from __future__ import annotations

import shutil
import signal
from contextlib import suppress
from threading import Thread

from kafka_spec.conformance.kafka_classes.java import EXCEPTION
from kafka_spec.conformance.kafka_clusters.kafka_proxy import FETCH
from kafka_spec.conformance.reproductions.controller_quorum import ControllerQuorum, raft_client
from kafka_spec.conformance.reproductions.real_cluster import show_on_release

LEADER, FOLLOWER = NODES = 1, 2
EAGER, PATIENT = ({"controller.quorum.election.timeout.ms": timeout} for timeout in (500, 3000))
PATIENCE = 45
"""The seconds for which nobody leads; two controllers that reach each other elect a leader within five or so."""


def finding(version: str) -> bool:
    """Make it happen; return whether two voters that run elect nobody, and do once the log of one is gone."""
    with ControllerQuorum(version, *NODES) as quorum:
        for node in NODES:
            quorum.start(node, EAGER if node == LEADER else PATIENT)
        quorum.wait(f"controller {LEADER} leads", lambda: quorum.leads(LEADER))
        quorum.wait(f"controller {FOLLOWER} has fetched", lambda: min(quorum.quorum(LEADER).ends.values()) > 0)
        held = quorum.proxies[LEADER].gate(FETCH, raft_client(FOLLOWER))
        quorum.wait(f"a fetch of controller {FOLLOWER} is slow", lambda: held.arrived)
        request = Thread(target=remove_leader, args=(quorum,), daemon=True)
        request.start()
        quorum.wait(
            f"the log of controller {LEADER} has voters without it",
            lambda: quorum.voters_in_log(LEADER)[-1] == [FOLLOWER],
            seconds=5,
        )
        quorum.signal(LEADER, signal.SIGKILL)
        held.open()
        quorum.start(LEADER, EAGER)
        quorum.say(f"controller {LEADER} has crashed, and starts again; it reaches controller {FOLLOWER}")
        elected = quorum.elected(NODES, PATIENCE)
        for node in NODES:
            quorum.say(f"controller {node}: voters {quorum.voters_in_log(node)[-1]}, log end {max(quorum.epochs(node)) + 1}")
        if elected:
            return False
        quorum.say(f"nobody has led for {PATIENCE} s")
        quorum.signal(LEADER, signal.SIGTERM)
        quorum.wait(f"controller {LEADER} has ended", lambda: quorum.has_ended(LEADER))
        shutil.rmtree(quorum.brokers.data(LEADER))
        quorum.start(LEADER, PATIENT)
        quorum.say(f"the directory of controller {LEADER} is formatted as at first")
        quorum.wait(f"controller {FOLLOWER} leads", lambda: quorum.leads(FOLLOWER))
        request.join(timeout=PATIENCE)
        return True


def remove_leader(quorum: ControllerQuorum) -> None:
    """Ask the leader to remove itself; nobody hears the answer."""
    with suppress(EXCEPTION), quorum.admin(LEADER) as admin:
        admin.remove_voter(LEADER, quorum.directory(LEADER))


if __name__ == "__main__":
    show_on_release(finding, __doc__, ("3.9.1", "4.1.2", "4.4.0"))
