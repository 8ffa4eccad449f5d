"""Scaling configured voters from one controller to three, on real Kafka of 4.1.2 or 4.4.0: two histories of one epoch.

Controller 1 is the only voter of controller.quorum.voters; a setting of all brokers is acknowledged. It is shut down. All three are
started with three voters, the two empty ones first. They are a majority without controller 1, and elect one of them, which does not
have the setting. Once controller 1 starts, one epoch has two leaders, and the processes of the other two end.

    python -m kafka_spec.conformance.reproductions.voters_configured_from_one_to_three --kafka 4.4.0
"""

from __future__ import annotations

import signal

from kafka_spec.conformance.kafka_clusters.kafka_processes import HOST
from kafka_spec.conformance.reproductions.controller_quorum import NODES, ControllerQuorum
from kafka_spec.conformance.reproductions.real_cluster import show_on_release

SETTING, VALUE = "message.max.bytes", "1234567"


def finding(version: str) -> bool:
    """Make it happen; return whether the quorum of three leads without the setting."""
    with ControllerQuorum(version, *NODES, configured=True) as quorum:
        quorum.start(1, voters(quorum, 1))
        quorum.wait("controller 1, the only voter, leads", lambda: quorum.leads(1))
        with quorum.admin(1) as admin:
            admin.configure("BROKER", "", {SETTING: VALUE})
        quorum.say(f"{SETTING}={VALUE} is acknowledged: {quorum.quorum(1)}")
        quorum.signal(1, signal.SIGTERM)
        quorum.wait("controller 1 has ended", lambda: quorum.has_ended(1))
        for node in (2, 3):
            quorum.start(node, voters(quorum, *NODES))
        leader = quorum.wait("one of the empty controllers leads", lambda: next((one for one in (2, 3) if quorum.leads(one)), 0))
        quorum.say(str(quorum.quorum(leader)))
        with quorum.admin(leader) as admin:
            found = admin.settings_of_brokers().get(SETTING)
        quorum.say(f"it has {SETTING}={found}")
        quorum.start(1, voters(quorum, *NODES))
        quorum.wait("the processes of both end", lambda: quorum.has_ended(2) and quorum.has_ended(3))
        for line in quorum.lines(leader, "server", "IllegalStateException"):
            quorum.say(line)
        return found != VALUE


def voters(quorum: ControllerQuorum, *nodes: int) -> dict[str, str]:
    """Return the setting that configures these voters."""
    return {"controller.quorum.voters": ",".join(f"{node}@{HOST}:{quorum.brokers.seen_at[node]}" for node in nodes)}


if __name__ == "__main__":
    show_on_release(finding, __doc__)
