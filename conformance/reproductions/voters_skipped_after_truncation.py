"""FINDINGS, voters-skipped-after-truncation, on three real controllers of Kafka 4.1.2 or 4.4.0, with a proxy before each.

Controller 1 leads, is cut off, and appends no-ops that nobody has. Another leads; controller 1 is removed from the voters, then the
third is, which does not hear of it: the leader is the only voter, and commits alone. Controller 1 comes back. It truncates its
no-ops, and fetches both changes of the voters below the old end of its log, where it does not read them: for it all three are
voters. The leader is cut off; controller 1 stands, and the third, which knows only of the first change, votes for it. Two leaders
commit, and a setting that was acknowledged is lost.

    python -m kafka_spec.conformance.reproductions.voters_skipped_after_truncation --kafka 4.4.0
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from functools import partial

from kafka_spec.conformance.reproductions.controller_quorum import NODES, ControllerQuorum
from kafka_spec.conformance.reproductions.real_cluster import show_on_release

FIRST = 1
SETTING, VALUE = "message.max.bytes", "1234567"
"""A setting of all brokers, which the only voter accepts and answers."""
UNDER_WAY = 5.0
"""Seconds after which no request to the removed voter is under way; its answer would end the leader (removed_voter_ends_leader)."""
EAGER = {"controller.quorum.election.timeout.ms": 500, "metadata.max.idle.interval.ms": 20}
"""The first leader stands first, and appends a no-op every 20 ms."""
PATIENT = {"controller.quorum.election.timeout.ms": 3000}


def finding(version: str) -> bool:
    """Make it happen; return whether two leaders commit different batches at one offset."""
    return two_leaders(version, EAGER, PATIENT, lambda *_: None)


def two_leaders(
    version: str,
    eager: Mapping[str, object],
    patient: Mapping[str, object],
    before_return: Callable[[ControllerQuorum, int], object],
) -> bool:
    """Make it happen with settings of the first leader and of the others; `before_return` is done before it is connected again."""
    with ControllerQuorum(version, *NODES) as quorum:
        for node in NODES:
            quorum.start(node, eager if node == FIRST else patient)
        quorum.wait(f"controller {FIRST} leads", lambda: quorum.leads(FIRST))
        cut = quorum.cut(FIRST, *(node for node in NODES if node != FIRST))
        leader = quorum.wait("another leads", lambda: next((node for node in NODES if node != FIRST and quorum.leads(node)), 0))
        (third,) = set(NODES) - {FIRST, leader}
        quorum.remove(leader, FIRST)
        time.sleep(UNDER_WAY)
        quorum.cut(third, leader)
        quorum.remove(leader, third)
        changed = quorum.quorum(leader)
        quorum.say(f"controller {leader} commits alone: {changed}")
        quorum.wait("the first leader has resigned", lambda: quorum.lines(FIRST, "server", "Completed transition to Resigned"))
        quorum.say(f"its log ends at offset {max(quorum.epochs(FIRST))}")
        before_return(quorum, leader)
        quorum.connect(cut)
        caught_up = partial(has_caught_up, quorum, leader, changed.high_watermark)
        quorum.wait(f"controller {FIRST} has truncated its log, and caught up", caught_up)
        quorum.cut(leader, FIRST, third)
        with quorum.admin(leader) as admin:
            admin.configure("BROKER", "", {SETTING: VALUE})
        quorum.say(f"controller {leader}, alone, acknowledges {SETTING}={VALUE}")
        quorum.wait(f"controller {FIRST} leads, with the vote of {third}", lambda: quorum.leads(FIRST))
        for node in (leader, FIRST):
            quorum.say(f"controller {node} says: {quorum.quorum(node)}")
        with quorum.admin(FIRST) as admin:
            found = admin.settings_of_brokers()
        quorum.say(f"controller {FIRST} has {SETTING}={found.get(SETTING)}")
        return found.get(SETTING) != VALUE and histories_differ(quorum, leader)


def has_caught_up(quorum: ControllerQuorum, leader: int, end: int) -> bool:
    """Whether the first leader has what the leader had committed."""
    return quorum.quorum(leader).observers.get(FIRST, 0) >= end


def histories_differ(quorum: ControllerQuorum, leader: int) -> bool:
    """Say whether both leaders have committed an offset, with batches of different epochs."""
    committed = min(quorum.quorum(node).high_watermark for node in (leader, FIRST))
    mine, theirs = quorum.epochs(FIRST), quorum.epochs(leader)
    for offset in range(committed):
        if offset in mine and mine[offset] != theirs[offset]:
            epochs = f"epoch {theirs[offset]} at controller {leader}, epoch {mine[offset]} at controller {FIRST}"
            quorum.say(f"offset {offset} is committed twice: {epochs}")
            return True
    return False


if __name__ == "__main__":
    show_on_release(finding, __doc__)
