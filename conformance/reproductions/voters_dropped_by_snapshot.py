"""FINDINGS, voters-dropped-by-snapshot, on three real controllers of Kafka 3.9.1, 4.1.2 or 4.4.0, each behind a proxy.

Controller 1 leads and writes a snapshot after each commit. It appends a setting, then the voters without controller 3, and hears
only of the setting that it is committed: its snapshot ends where the new voters begin. It is cut off, controller 2 or 3 leads, and
once it is connected again it truncates the new voters. Then it has no voters, and never campaigns. The leader is killed when only
controller 1 has its last batch: two of three controllers run and reach each other, and nobody leads. Starting controller 1 again
does not help: the snapshot that it has written meanwhile has no voters. The leader starts again, and leads.

    python -m kafka_spec.conformance.reproductions.voters_dropped_by_snapshot --kafka 4.4.0
"""

from __future__ import annotations

import signal
import time
from contextlib import suppress
from threading import Thread

from kafka_spec.conformance.kafka_classes.java import EXCEPTION
from kafka_spec.conformance.kafka_clusters.kafka_proxy import FETCH, Gate
from kafka_spec.conformance.reproductions.controller_quorum import NODES, ControllerQuorum, raft_client
from kafka_spec.conformance.reproductions.real_cluster import show_on_release
from kafka_spec.impl.kraft.quorum.snapshots import QuorumSnapshots

FIRST, REMOVED = 1, 3
OTHERS = tuple(node for node in NODES if node != FIRST)
SETTING = "message.max.bytes"
"""A setting of all brokers, which a controller accepts and appends."""
SETTINGS = {
    "metadata.log.max.record.bytes.between.snapshots": 1,
    "metadata.max.idle.interval.ms": 0,
    "controller.quorum.fetch.timeout.ms": 6000,
    "controller.quorum.request.timeout.ms": 5000,
}
"""A snapshot after each commit, and no no-ops; time for what is held."""
EAGER, PATIENT = ({"controller.quorum.election.timeout.ms": timeout, **SETTINGS} for timeout in (500, 3000))
SOON = 0.5
"""Seconds after which a fetch that was under way has its answer."""
PATIENCE = 30
"""The seconds for which nobody leads; two controllers that reach each other elect a leader within ten or so."""


def finding(version: str) -> bool:
    """Make it happen; return whether two of three controllers elect nobody, and do once the first is started again."""
    with ControllerQuorum(version, *NODES) as quorum:
        for node in NODES:
            quorum.start(node, EAGER if node == FIRST else PATIENT)
        quorum.wait(f"controller {FIRST} leads", lambda: quorum.leads(FIRST))
        quorum.wait("all have its log", lambda: len({quorum.log_end(node) for node in NODES}) == 1)
        held: list[Gate] = []
        end = snapshot_below_change(quorum, held)
        quorum.wait("another leads", lambda: other_leader(quorum))
        quorum.connect(held)
        truncated = f"Truncated to offset {end} from Fetch response"
        quorum.wait(f"controller {FIRST} truncates the voters", lambda: quorum.lines(FIRST, "server", truncated))
        leader = quorum.wait("another leads still, or again", lambda: other_leader(quorum))
        (third,) = set(OTHERS) - {leader}
        behind = quorum.proxies[leader].gate(FETCH, raft_client(third))
        quorum.wait(f"a fetch of controller {third} is held", lambda: behind.arrived)
        configure(quorum, leader, "1300000")
        quorum.wait(f"controller {FIRST} has it", lambda: quorum.log_end(FIRST) > quorum.log_end(third))
        quorum.signal(leader, signal.SIGKILL)
        if somebody_leads(quorum, FIRST, third):
            return False
        quorum.say(f"the voters in its newest snapshot: {sorted(voters_in_newest_snapshot(quorum, FIRST))}")
        quorum.signal(FIRST, signal.SIGTERM)
        quorum.wait(f"controller {FIRST} has ended", lambda: quorum.has_ended(FIRST))
        quorum.start(FIRST, EAGER)
        quorum.say(f"controller {FIRST} is started again")
        if somebody_leads(quorum, FIRST, third):
            return False
        quorum.start(leader, PATIENT)
        quorum.wait(f"controller {leader}, started again, leads", lambda: quorum.leads(leader))
        return True


def snapshot_below_change(quorum: ControllerQuorum, held: list[Gate]) -> int:
    """Let the first leader write a snapshot that ends where its uncommitted voters begin, and cut it off, by gates; return where.

    The fetch by which controller 2 acknowledges the setting is held until the voters are appended; its answer never arrives.
    """
    while not (asking := fetched_but_not_acknowledged(quorum)):
        quorum.say("a fetch was not under way, and does not bring it; again")
    end = quorum.log_end(FIRST)
    held += [quorum.proxies[FIRST].gate(None, raft_client(node), answers=True) for node in OTHERS]
    Thread(target=remove, args=(quorum,), daemon=True).start()
    quorum.wait(
        f"controller {FIRST} appends the voters without {REMOVED} at offset {end}",
        lambda: REMOVED not in quorum.voters_in_log(FIRST)[-1],
    )
    held += [quorum.proxies[node].gate(None, raft_client(FIRST), answers) for node in OTHERS for answers in (False, True)]
    asking[OTHERS[0]].let_pass()
    log = quorum.brokers.data(FIRST) / "__cluster_metadata-0"
    quorum.wait("it writes a snapshot that ends there", lambda: list(log.glob(f"{end:020}-*.checkpoint")))
    held += asking.values()
    return end


def fetched_but_not_acknowledged(quorum: ControllerQuorum) -> dict[int, Gate]:
    """Let the first leader append a setting which the others fetch; return the gates that hold their next fetches.

    None are returned if they did not fetch it, since their fetches arrived at the gates before.
    """
    asking = {node: quorum.proxies[FIRST].gate(FETCH, raft_client(node)) for node in OTHERS}
    before = quorum.log_end(FIRST)
    setting = Thread(target=configure, args=(quorum, FIRST, str(1_200_000 + before)), daemon=True)
    setting.start()
    quorum.wait(f"controller {FIRST} appends a setting", lambda: quorum.log_end(FIRST) > before)
    time.sleep(SOON)
    if all(quorum.log_end(node) == quorum.log_end(FIRST) for node in OTHERS):
        return asking
    for gate in asking.values():
        gate.open()
    setting.join()
    return {}


def other_leader(quorum: ControllerQuorum) -> int:
    """Return which of the others leads, 0 if none does."""
    return next((node for node in OTHERS if quorum.leads(node)), 0)


def configure(quorum: ControllerQuorum, node: int, value: str) -> None:
    """Let an operator change the setting; nobody may hear the answer."""
    with suppress(EXCEPTION), quorum.admin(node) as admin:
        admin.configure("BROKER", "", {SETTING: value})


def remove(quorum: ControllerQuorum) -> None:
    """Let an operator remove a voter; nobody hears the answer."""
    with suppress(EXCEPTION), quorum.admin(FIRST) as admin:
        admin.remove_voter(REMOVED, quorum.directory(REMOVED))


def somebody_leads(quorum: ControllerQuorum, *nodes: int) -> bool:
    """Whether one of these controllers is elected before time is up."""
    leader = quorum.elected(nodes, PATIENCE)
    quorum.say(
        f"controllers {' and '.join(map(str, nodes))} run, and nobody has led for {PATIENCE} s"
        if leader is None
        else f"controller {leader} leads"
    )
    return leader is not None


def voters_in_newest_snapshot(quorum: ControllerQuorum, node: int) -> frozenset[int]:
    """Return the voters in a controller's newest snapshot."""
    folder = quorum.brokers.data(node) / "__cluster_metadata-0"
    snapshots = QuorumSnapshots(folder)
    return snapshots.voters


if __name__ == "__main__":
    show_on_release(finding, __doc__, ("3.9.1", "4.1.2", "4.4.0"))
