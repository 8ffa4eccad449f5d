"""A controller's disk is formatted again, on three real controllers of Kafka 3.9.1, 4.1.2 or 4.4.0: what was acknowledged is lost.

Controller 3 is down while a setting of all brokers is acknowledged, by controllers 1 and 2. Controller 2 is shut down, its disk is
formatted, and controller 1 crashes. Controllers 2 and 3 start: they are a majority, and elect one of them, which does not have the
setting, unless the formatted controller is not a voter any more. Three quorums show it:

- the voters are configured (kraft.version 0), and controller 3 stays behind: the setting is lost;
- the same, but the operator waits until controller 3 has fetched all: the setting is there;
- the voters are records of the log (kraft.version 1), and the disk gets another directory id: nobody leads without controller 1.

    python -m kafka_spec.conformance.reproductions.voter_formatted_again --kafka 4.4.0
"""

from __future__ import annotations

import shutil
import signal

from kafka_spec.conformance.advise.controllers import advised, text_of
from kafka_spec.conformance.kafka_clusters.kafka_processes import HOST
from kafka_spec.conformance.metadata.controller_connection import ControllerLost
from kafka_spec.conformance.metadata.observer import LogObserver
from kafka_spec.conformance.reproductions.controller_quorum import NODES, ControllerQuorum
from kafka_spec.conformance.reproductions.real_cluster import show_on_release
from kafka_spec.model_check.budget import Budget

SETTING, VALUE = "message.max.bytes", "1234567"
LEADER, FORMATTED, BEHIND = NODES
EAGER, PATIENT = ({"controller.quorum.election.timeout.ms": timeout} for timeout in (500, 8000))
PATIENCE = 30
"""The seconds for which nobody leads; two controllers that are a majority elect a leader within five or so."""


def finding(version: str) -> bool:
    """Show all three; return whether the setting is lost in the first quorum, and in no other."""
    return (
        leads_without_setting(version, configured=True, waits=False)
        and not leads_without_setting(version, configured=True, waits=True)
        and not leads_without_setting(version, configured=False, waits=False)
    )


def leads_without_setting(version: str, configured: bool, waits: bool) -> bool:
    """Format the disk of a controller again; return whether a leader does not have what was acknowledged."""
    with ControllerQuorum(version, *NODES, configured=configured) as quorum:
        quorum.say(
            f"{version}: voters are {'configured' if configured else 'records of the log'}; {'waits' if waits else 'no wait'}"
        )
        for node in NODES:
            start(quorum, node, configured)
        quorum.wait(f"controller {LEADER} leads", lambda: quorum.leads(LEADER))
        quorum.wait("all have fetched", lambda: min(quorum.quorum(LEADER).ends.values()) > 0)
        end(quorum, BEHIND)
        with quorum.admin(LEADER) as admin:
            admin.configure("BROKER", "", {SETTING: VALUE})
        quorum.say(f"{SETTING}={VALUE} is acknowledged: {quorum.quorum(LEADER)}")
        acknowledged = quorum.log_end(LEADER)
        if waits:
            start(quorum, BEHIND, configured)
            quorum.wait(f"controller {BEHIND} has fetched it", lambda: quorum.log_end(BEHIND) >= acknowledged)
        say_advice(quorum)
        end(quorum, FORMATTED)
        say_advice(quorum)
        shutil.rmtree(quorum.brokers.data(FORMATTED))
        quorum.say(f"the disk of controller {FORMATTED} is empty")
        quorum.signal(LEADER, signal.SIGKILL)
        if not configured:
            quorum.brokers.format_as_observer(FORMATTED)
        for node in (FORMATTED,) if waits else (BEHIND, FORMATTED):
            start(quorum, node, configured)
        leader = quorum.elected((FORMATTED, BEHIND), PATIENCE)
        if leader is None:
            quorum.say(f"controllers {FORMATTED} and {BEHIND} have elected nobody for {PATIENCE} s")
            start(quorum, LEADER, configured)
            leader = quorum.wait("a leader is elected", lambda: next((node for node in NODES if quorum.leads(node)), 0))
        with quorum.admin(leader) as admin:
            found = admin.settings_of_brokers().get(SETTING)
        quorum.say(f"controller {leader} leads, and has {SETTING}={found}")
        return found != VALUE


def start(quorum: ControllerQuorum, node: int, configured: bool) -> None:
    """Start a controller; the first is the first to campaign."""
    voters = {"controller.quorum.voters": ",".join(f"{one}@{HOST}:{quorum.brokers.seen_at[one]}" for one in NODES)}
    quorum.start(node, {**(EAGER if node == LEADER else PATIENT), **(voters if configured else {})})


def say_advice(quorum: ControllerQuorum) -> None:
    """Say what `kafka-spec advise --bootstrap-controller ... --format-controller` says."""
    host, port = quorum.addresses(LEADER).rsplit(":", 1)
    observer = LogObserver((host, int(port)), quorum.folder / "observed")
    observer.folder.mkdir(exist_ok=True)
    try:
        for line in text_of(advised(FORMATTED, observer.quorum, Budget())).splitlines():
            quorum.say(line)
    except ControllerLost as reason:
        quorum.say(f"no advice: {reason}")
    finally:
        observer.close()


def end(quorum: ControllerQuorum, node: int) -> None:
    """Shut a controller down."""
    quorum.signal(node, signal.SIGTERM)
    quorum.wait(f"controller {node} has ended", lambda: quorum.has_ended(node))


if __name__ == "__main__":
    show_on_release(finding, __doc__, ("3.9.1", "4.1.2", "4.4.0"))
