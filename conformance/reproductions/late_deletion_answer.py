"""FINDINGS, late-deletion-answer, on two real brokers of Kafka 2.8.2 or 3.9.1, and proxies before one of them and before ZooKeeper.

Broker 0 is the controller. One of broker 1's two log folders fails, and it is asked to delete its replica there: it answers
KAFKA_STORAGE_ERROR, and a proxy holds that answer. Another holds what the controller asks of ZooKeeper, so that it is busy with an
event while broker 1 is killed and started again, with a folder that works. Then the old answer is delivered, as a network may, and
waits behind the change of brokers. In that the controller resumes the deletion and asks again; then it handles the old answer.
Broker 1 has deleted the replica, and the topic stays.

    python -m kafka_spec.conformance.reproductions.late_deletion_answer --kafka 3.9.1
"""

from __future__ import annotations

import argparse
import shutil
import signal
import time
from functools import partial
from pathlib import Path

from kafka_spec.conformance.kafka_classes.java import Kafka
from kafka_spec.conformance.kafka_clusters.java_clients import Clients
from kafka_spec.conformance.kafka_clusters.kafka_proxy import STOP_REPLICA
from kafka_spec.conformance.kafka_clusters.proxy import Proxy
from kafka_spec.conformance.reproductions.real_cluster import VERSION, RealCluster, show
from kafka_spec.impl.protocol.topic_partition import TopicPartition
from kafka_spec.impl.zookeeper.coordination import znodes

P = TopicPartition("p", 0)
STATE = znodes.state(P)
PATIENT = {"zookeeper.session.timeout.ms": 60_000, "request.timeout.ms": 60_000}
SILENT = 20.0
"""The seconds for which the topic is to stay."""


def finding(version: str) -> bool:
    """Make it happen; return whether the topic stays although no broker has a replica of it."""
    with RealCluster("late-deletion-answer", None, version) as cluster, Proxy(cluster.zookeeper_port) as zookeeper:
        clients = Clients(Kafka(version, cluster.jars))
        proxy = cluster.behind_proxy(1)
        folders = [cluster.folder / name for name in ("one", "other")]  # a broker ends when all its folders have failed
        own = {"log.dirs": ",".join(map(str, folders))}
        cluster.start_controller(0, {**PATIENT, "zookeeper.connect": f"127.0.0.1:{zookeeper.port}"})
        cluster.start_others(1, settings=own)
        clients.create_topic(cluster.addresses(0), P.topic, {0: [1]})
        cluster.wait("broker 1 leads", lambda: cluster.content(STATE)["leader"] == 1)

        has_it = partial(filter, lambda folder: (folder / str(P)).exists())
        failing = cluster.wait("it has a replica", lambda: next(has_it(folders), None))
        zookeeper.hold(answers=False)
        cluster.session.create(znodes.delete_topic("nosuch"))  # the deletion is to be noticed before the failure
        cluster.session.create(znodes.delete_topic(P.topic))
        shutil.rmtree(failing)
        cluster.wait("a log folder of broker 1 has failed", lambda: cluster.lines(1, "server", "Stopping serving logs in dir"))
        gate = proxy.gate(STOP_REPLICA, answers=True, most=1, late=True)
        gate.let_pass()  # the first stops the replica, the second deletes it
        zookeeper.release()
        cluster.wait("the topic is to be deleted; broker 1's answer is held", lambda: gate.held)
        zookeeper.hold(answers=False)
        cluster.session.create(znodes.delete_topic("none"))
        cluster.say("the controller is busy with an event: ZooKeeper does not hear what it asks")
        cluster.signal(1, signal.SIGKILL)
        cluster.wait("broker 1's session has expired", lambda: "1" not in cluster.session.children("/brokers/ids"))
        cluster.start(1, own)
        cluster.wait("broker 1 is started again, and registered", lambda: "1" in cluster.session.children("/brokers/ids"))
        before = _answers(cluster)
        gate.open()
        cluster.wait("the controller has received the old answer", lambda: _answers(cluster) > before)
        cluster.say(cluster.lines(0, "state-change", "for request STOP_REPLICA")[before][25:240])
        zookeeper.release()
        cluster.say("ZooKeeper hears the controller again")
        cluster.wait("it asks broker 1 again, and has its answer", lambda: _answers(cluster) > before + 1)
        return _stays(cluster, folders, own)


def _answers(cluster: RealCluster) -> int:
    """Return how many answers to a StopReplica the controller has received."""
    return len(cluster.lines(0, "state-change", "for request STOP_REPLICA"))


def _stays(cluster: RealCluster, folders: list[Path], own: dict[str, str]) -> bool:
    """Watch for a while; then restart the broker, which ends it."""
    until = time.monotonic() + SILENT
    while time.monotonic() < until:
        if cluster.session.exists(znodes.topic(P.topic)) is None:
            cluster.say("the topic is deleted")
            return False
        time.sleep(0.1)
    is_left = any((folder / str(P)).exists() for folder in folders)
    kept = "a replica" if is_left else "no replica"
    cluster.say(f"for {SILENT:.0f} s the topic stays, and all brokers are alive; broker 1 has {kept} of it")
    cluster.signal(1, signal.SIGKILL)
    cluster.wait("broker 1's session has expired", lambda: "1" not in cluster.session.children("/brokers/ids"))
    cluster.start(1, own)
    gone = "the topic is deleted once broker 1 has been started again"
    cluster.wait(gone, lambda: cluster.session.exists(znodes.topic(P.topic)) is None)
    return not is_left


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--kafka", choices=("2.8.2", "3.9.1"), default=VERSION)
    show(partial(finding, parser.parse_args().kafka))
