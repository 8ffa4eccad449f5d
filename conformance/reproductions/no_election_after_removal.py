"""FINDINGS, no-election-after-removal, on three real brokers of Kafka 2.8.2 and two proxies before ZooKeeper.

Broker 0 is the controller; 1 leads alone in its ISR, since follower 2 is stopped (SIGSTOP). A proxy cuts 1 from ZooKeeper, and its
session expires. The controller finds no live member of the ISR and elects nobody; another proxy holds the write with which it takes
1 out of the ISR. Meanwhile 1 registers again, 2 continues and joins the ISR, and 1 is killed. The write continues, is refused for
its version, and is repeated: the ISR is 2, which is alive, and nobody leads. Nothing elects 2 until a broker starts or stops.

    python -m kafka_spec.conformance.reproductions.no_election_after_removal
"""

from __future__ import annotations

import signal
import time

from kafka_spec.conformance.kafka_classes.java import EXCEPTION, Kafka
from kafka_spec.conformance.kafka_clusters.java_clients import Clients
from kafka_spec.conformance.kafka_clusters.proxy import Proxy
from kafka_spec.conformance.reproductions.real_cluster import VERSION, RealCluster, show

STATE = "/brokers/topics/p/partitions/0/state"
LONG = {"zookeeper.session.timeout.ms": 60_000}
SILENT = 20.0
"""The seconds for which nobody is to lead."""
SET_DATA = b'{"controller_epoch"'
"""The beginning of a state znode's content, which only a write of it sends to ZooKeeper."""


def writes_state(piece: bytes) -> bool:
    """Whether a client sends ZooKeeper a write of the partition's state."""
    return STATE.encode() in piece and SET_DATA in piece


def finding() -> bool:
    """Make it happen; return whether a live member of the ISR is not elected."""
    # the ISR in ZooKeeper, as up to 2.6: from 2.7 on leaders ask the controller, which is held here
    with RealCluster("no-election-after-removal", {"inter.broker.protocol.version": "2.6"}) as cluster:
        clients = Clients(Kafka(VERSION, cluster.jars))
        with Proxy(cluster.zookeeper_port) as controllers, Proxy(cluster.zookeeper_port) as leaders:
            cluster.start_controller(0, {**LONG, "zookeeper.connect": f"127.0.0.1:{controllers.port}"})
            cluster.start(1, {"zookeeper.connect": f"127.0.0.1:{leaders.port}"})
            cluster.start(2, LONG)
            cluster.wait("three brokers are registered", lambda: len(cluster.session.children("/brokers/ids")) == 3)
            clients.create_topic(cluster.addresses(0), "p", {0: [1, 2]})
            cluster.wait("broker 1 leads", lambda: cluster.content(STATE)["leader"] == 1)
            producer = clients.producer(cluster.addresses(1), acks="1")
            clients.produce(producer, "p", "before")

            cluster.signal(2, signal.SIGSTOP)
            clients.produce(producer, "p", "while 2 is stopped")
            cluster.wait("1 is the whole ISR", lambda: cluster.content(STATE)["isr"] == [1])
            controllers.hold_when(writes_state)
            leaders.cut()
            cluster.say("broker 1 is cut from ZooKeeper")
            cluster.wait("its session has expired", lambda: "1" not in cluster.session.children("/brokers/ids"))
            cluster.wait("the controller's removal of 1 from the ISR is held", lambda: controllers.held_by is not None)
            leaders.mend()
            cluster.wait("broker 1 is registered again", lambda: "1" in cluster.session.children("/brokers/ids"))
            cluster.signal(2, signal.SIGCONT)
            cluster.wait("2 is in the ISR again", lambda: sorted(cluster.content(STATE)["isr"]) == [1, 2])
            cluster.signal(1, signal.SIGKILL)
            cluster.wait("its new session has expired", lambda: "1" not in cluster.session.children("/brokers/ids"))
            controllers.release()
            cluster.say("the controller's write continues")
            cluster.wait("1 is not in the ISR", lambda: cluster.content(STATE)["isr"] == [2])
            return _nobody_leads(cluster, clients)


def _nobody_leads(cluster: RealCluster, clients: Clients) -> bool:
    """Watch for a while; then start a broker, which ends it."""
    until = time.monotonic() + SILENT
    while time.monotonic() < until:
        if (state := cluster.content(STATE))["leader"] != -1:
            cluster.say(f"broker {state['leader']} is elected")
            return False
        time.sleep(0.1)
    alive = sorted(cluster.session.children("/brokers/ids"))
    cluster.say(
        f"for {SILENT:.0f} s nobody leads; the ISR is {cluster.content(STATE)['isr']}, and brokers {', '.join(alive)} are alive"
    )
    impatient = clients.producer(cluster.addresses(2), acks="1", patience_ms=5_000)
    try:
        clients.produce(impatient, "p", "refused")
    except EXCEPTION as error:
        cluster.say(f"a producer cannot write: {str(error)[:120]}")
    cluster.start(1)
    cluster.wait("2 leads once broker 1 has been started again", lambda: cluster.content(STATE)["leader"] == 2)
    return True


if __name__ == "__main__":
    show(finding)
