"""Settings of one topic, changed while the cluster runs: min.insync.replicas and unclean.leader.election.enable."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from random import Random

import pytest

from kafka_spec.impl.log import batches
from kafka_spec.impl.protocol.data_requests import ProduceRequest
from kafka_spec.impl.protocol.errors import ErrorCode, KafkaError
from kafka_spec.impl.protocol.responses import ProduceResponse, Response
from kafka_spec.impl.protocol.settings import Settings
from kafka_spec.impl.protocol.topic_partition import TopicPartition
from kafka_spec.impl.zookeeper.broker.topic_configs import EXPIRATION_MS, TopicConfigs
from kafka_spec.impl.zookeeper.cluster import Cluster
from kafka_spec.impl.zookeeper.coordination import znodes
from kafka_spec.impl.zookeeper.coordination.admin import Admin
from kafka_spec.impl.zookeeper.coordination.memory import Ensemble, Loss, MemorySession

P = TopicPartition("orders", 0)
MIN_ISR, UNCLEAN = "min.insync.replicas", "unclean.leader.election.enable"
OK, TOO_FEW = ErrorCode.NONE, ErrorCode.NOT_ENOUGH_REPLICAS


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[Cluster]:
    """Return two idle brokers whose own setting is min.insync.replicas=1."""
    with Cluster(tmp_path, Ensemble(), settings=Settings(min_insync_replicas=1)) as cluster:
        for number in (0, 1):
            cluster.start(number)
        rest(cluster)
        yield cluster


def rest(cluster: Cluster) -> None:
    """Let all brokers do what is due."""
    cluster.rest()
    for broker in cluster.brokers.values():
        broker.tick()
    cluster.rest()


def admin(cluster: Cluster) -> Admin:
    """Return Kafka's tools."""
    return Admin(cluster.tools, Random(0), lambda _: None)


def produce(cluster: Cluster, number: int) -> ErrorCode:
    """Write a record with acks=all at a broker; return the answer."""
    answers: list[Response] = []
    record = bytes(batches.build([(1, None, b"a")]))
    cluster.brokers[number].serve(ProduceRequest(-1, {P: record}), answers.append)
    (answer,) = answers
    assert isinstance(answer, ProduceResponse)
    return answer.partitions[P].error


def test_min_isr_of_a_topic_changes_while_the_cluster_runs(cluster: Cluster) -> None:
    """A topic's own min.insync.replicas counts from its creation on; a change counts as soon as the broker has heard of it."""
    admin(cluster).create_topic_with_assignment("orders", {0: (0, 1)}, {MIN_ISR: "2"})
    rest(cluster)
    cluster.crash(1)
    rest(cluster)
    assert cluster.leadership(P).isr == (0,)  # type: ignore[union-attr]
    assert produce(cluster, 0) == TOO_FEW

    admin(cluster).alter_config("orders", {MIN_ISR: "1"})
    assert produce(cluster, 0) == TOO_FEW
    rest(cluster)
    assert produce(cluster, 0) == OK
    admin(cluster).alter_config("orders", {MIN_ISR: "2"})
    rest(cluster)
    assert produce(cluster, 0) == TOO_FEW
    admin(cluster).alter_config("orders", {}, [MIN_ISR])
    rest(cluster)
    assert produce(cluster, 0) == OK


def test_unclean_elections_are_permitted_while_the_cluster_runs(cluster: Cluster) -> None:
    """A partition without a live member of its ISR gets a leader as soon as its topic permits one, and no other topic's does."""
    for topic in ("orders", "moves"):
        admin(cluster).create_topic_with_assignment(topic, {0: (0, 1)})
    rest(cluster)
    cluster.crash(0)
    rest(cluster)
    cluster.crash(1)
    cluster.start(0)
    rest(cluster)
    other = TopicPartition("moves", 0)
    assert [cluster.leadership(p).leader for p in (P, other)] == [-1, -1]  # type: ignore[union-attr]

    admin(cluster).alter_config("orders", {MIN_ISR: "1"})
    rest(cluster)
    assert cluster.leadership(P).leader == -1  # type: ignore[union-attr]
    admin(cluster).alter_config("orders", {UNCLEAN: "true"})
    rest(cluster)
    assert [cluster.leadership(p).leader for p in (P, other)] == [0, -1]  # type: ignore[union-attr]


def test_a_topic_created_again_has_its_own_settings(cluster: Cluster) -> None:
    """What was configured for a deleted topic does not count for the next one of its name."""
    admin(cluster).create_topic_with_assignment("orders", {0: (0,)}, {MIN_ISR: "2"})
    rest(cluster)
    assert produce(cluster, 0) == TOO_FEW
    admin(cluster).delete_topic("orders")
    rest(cluster)
    admin(cluster).create_topic_with_assignment("orders", {0: (0,)})
    rest(cluster)
    assert produce(cluster, 0) == OK


@pytest.fixture
def session() -> MemorySession:
    """Return a session with the znodes of a cluster, where the topic has a configuration."""
    session = Ensemble().connect()
    for path in znodes.PERSISTENT:
        session.create(path)
    session.create(znodes.topic_config("orders"), znodes.encode_config({MIN_ISR: "2"}))
    return session


def test_without_an_answer_the_last_configuration_counts(session: MemorySession) -> None:
    """While ZooKeeper does not answer, what was read last counts; what was never read is an error, and never the default."""
    configs = TopicConfigs(session)
    session.lose(Loss.REQUEST)
    with pytest.raises(KafkaError) as refused:
        configs.of("orders")
    assert refused.value.code == TOO_FEW
    assert configs.of("orders") == {MIN_ISR: "2"}
    configs.forget("orders")
    session.lose(Loss.REQUEST)
    assert configs.of("orders") == {MIN_ISR: "2"}


def test_announcements_are_read_once_and_none_is_missed(session: MemorySession) -> None:
    """A lost answer is asked for again, each announcement is told once, old and unreadable ones never."""
    reported: list[str] = []
    session.create(znodes.config_change(), znodes.encode_config_change("topics/old"), sequential=True)
    configs = TopicConfigs(session, lambda topic, _: reported.append(topic))
    configs.tick(0)
    for entity in (b"junk", znodes.encode_config_change("brokers/1"), znodes.encode_config_change("topics/orders")):
        session.create(znodes.config_change(), entity, sequential=True)
    for event in session.events():
        configs.heard(event)
    for after in range(3):
        session.lose(Loss.REPLY, after)
        configs.tick(0)
    configs.tick(0)
    assert (reported, configs.is_due) == (["orders"], False)


def test_a_new_session_reads_everything_again(session: MemorySession) -> None:
    """A change that was made while there was no session is known as soon as there is one."""
    configs = TopicConfigs(session)
    assert configs.of("orders") == {MIN_ISR: "2"}
    session.set(znodes.topic_config("orders"), znodes.encode_config({MIN_ISR: "3"}))
    assert configs.of("orders") == {MIN_ISR: "2"}
    configs.session_opened(session)
    assert configs.of("orders") == {MIN_ISR: "3"}


def test_old_announcements_are_deleted() -> None:
    """Whoever looks deletes announcements that are older than 15 minutes, read or not, and none that is younger."""
    hour = 3_600_000
    now = [float(hour)]
    session = Ensemble(lambda: now[0] / 1000).connect()
    for path in znodes.PERSISTENT:
        session.create(path)

    def announce(at: int) -> str:
        now[0] = at
        return session.create(znodes.config_change(), znodes.encode_config_change("topics/orders"), sequential=True)[0]

    reported: list[str] = []
    configs = TopicConfigs(session, lambda topic, _: reported.append(topic))
    announce(hour)
    configs.tick(hour)
    assert len(session.children(znodes.CONFIG_CHANGES)) == 1
    young = announce(hour + EXPIRATION_MS)
    for event in session.events():
        configs.heard(event)
    session.lose(Loss.REPLY, 4)
    configs.tick(hour + EXPIRATION_MS)
    configs.tick(hour + EXPIRATION_MS + 1)
    assert (reported, configs.is_due) == (["orders"], False)
    assert [f"{znodes.CONFIG_CHANGES}/{name}" for name in session.children(znodes.CONFIG_CHANGES)] == [young]
