"""Topic ids (KIP-516): controllers give and tell them, brokers keep them beside logs, and refuse what is of another topic."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

import pytest
from conftest import answer

from kafka_spec.impl.log import batches, checkpoint
from kafka_spec.impl.protocol.controller_requests import LeaderAndIsrRequest, LeaderAndIsrState, Leadership
from kafka_spec.impl.protocol.data_requests import (
    CONSUMER,
    AlterIsrRequest,
    FetchPosition,
    FetchRequest,
    MetadataRequest,
    ProduceRequest,
)
from kafka_spec.impl.protocol.errors import ErrorCode
from kafka_spec.impl.protocol.settings import Settings
from kafka_spec.impl.protocol.topic_ids import nameless
from kafka_spec.impl.protocol.topic_partition import TopicPartition
from kafka_spec.impl.zookeeper.cluster import Cluster
from kafka_spec.impl.zookeeper.coordination import znodes
from kafka_spec.impl.zookeeper.coordination.admin import Admin
from kafka_spec.impl.zookeeper.coordination.memory import Ensemble

P = TopicPartition("orders", 0)
OTHER = "Lws1lBqZTxCkJ8Xf0sQ-3w"
OK = ErrorCode.NONE


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[Cluster]:
    """Return two brokers with a topic, whose znode was written by a tool that knows no topic ids."""
    with Cluster(tmp_path, Ensemble(), settings=Settings(topic_ids=True, truncation_on_fetch=True)) as cluster:
        for number in (0, 1):
            cluster.start(number)
        cluster.rest()
        admin(cluster, 2).create_topic_with_assignment("orders", {0: (0, 1)})
        cluster.rest()
        yield cluster


def admin(cluster: Cluster, topic_version: int = 3) -> Admin:
    """Return Kafka's tools."""
    return Admin(cluster.tools, Random(0), lambda _: None, topic_version)


def topic(cluster: Cluster) -> znodes.Topic:
    """Return the topic's znode."""
    return znodes.Topic.decode("orders", cluster.tools.get(znodes.topic("orders"))[0])


def id_of(cluster: Cluster) -> str:
    """Return the topic's id."""
    found = topic(cluster).topic_id
    assert found is not None
    return found


def fetched(cluster: Cluster, partition: TopicPartition, **topic_ids: str) -> Any:
    """Return what a consumer gets from the leader."""
    request = FetchRequest(CONSUMER, -1, {partition: FetchPosition(0)}, max_wait_ms=0, topic_ids=topic_ids)
    return answer(cluster.brokers[0], request).partitions[partition]


def test_a_topic_without_an_id_gets_one(cluster: Cluster) -> None:
    """The controller writes an id into the znode, in version 3, tells it to all brokers, and keeps it over a fail-over."""
    given = topic(cluster)
    assert (given.version, given.partitions) == (3, {0: (0, 1)})
    for broker in cluster.brokers.values():
        assert broker.replicas.topic_ids == {"orders": id_of(cluster)}
        assert broker.replicas.partitions[P].topic_id == id_of(cluster)
    cluster.crash(cluster.active.controller_id)
    cluster.rest()
    assert topic(cluster) == given
    assert cluster.active.context.topic_ids == {"orders": given.topic_id}


def test_without_the_setting_there_are_none(tmp_path: Path) -> None:
    """Up to inter.broker.protocol.version 2.7 no request has an id, even if the znode has one."""
    with Cluster(tmp_path, Ensemble()) as cluster:
        cluster.start(0)
        admin(cluster).create_topic_with_assignment("orders", {0: (0,)})
        cluster.rest()
        assert topic(cluster).topic_id is not None
        assert cluster.brokers[0].replicas.topic_ids == {}
        assert not (tmp_path / "0" / "orders-0" / checkpoint.PARTITION_METADATA).exists()


@pytest.mark.parametrize("restarted", [False, True])
def test_a_log_of_another_topic_is_not_led(cluster: Cluster, restarted: bool) -> None:
    """LeaderAndIsr with another id is refused, whatever its epoch is; a restarted broker knows the id from its disk."""
    if restarted:
        cluster.crash(1)
        cluster.rest()
        broker = cluster.start(1)
        broker.replicas.controller_epoch = 1
    broker = cluster.brokers[1]
    state = LeaderAndIsrState(Leadership(1, 9, (1,), 9, 1), (0, 1), False)
    request = LeaderAndIsrRequest(0, 1, broker.epoch, {P: state}, (), {"orders": OTHER})
    assert broker.take(request).partitions == {P: ErrorCode.INCONSISTENT_TOPIC_ID}
    assert broker.replicas.partitions[P].leader != 1
    assert broker.take(replace(request, topic_ids={"orders": id_of(cluster)})).partitions == {P: OK}
    assert broker.replicas.partitions[P].leader == 1


def test_the_file_beside_the_log_is_kafkas(cluster: Cluster) -> None:
    """partition.metadata has Kafka's text; an unreadable one takes the replica offline."""
    file = cluster.folder / "1" / "orders-0" / "partition.metadata"
    assert file.read_text() == f"version: 0\ntopic_id: {id_of(cluster)}\n"
    cluster.crash(1)
    file.write_text("version: 9\n")
    cluster.rest()
    cluster.start(1)
    cluster.rest()
    assert P in cluster.brokers[1].replicas.failures


def test_a_fetch_of_another_topic_is_refused(cluster: Cluster) -> None:
    """A fetch by id gets the records of that topic; another id is inconsistent, and one that nobody knows is unknown."""
    record = bytes(batches.build([(1, None, b"a")]))
    answer(cluster.brokers[0], ProduceRequest(1, {P: record}))
    assert fetched(cluster, P, orders=id_of(cluster)).error == OK
    assert fetched(cluster, P, orders=OTHER).error == ErrorCode.INCONSISTENT_TOPIC_ID
    assert fetched(cluster, TopicPartition(nameless(id_of(cluster)), 0)).error == OK
    assert fetched(cluster, TopicPartition(nameless(OTHER), 0)).error == ErrorCode.UNKNOWN_TOPIC_ID
    lost = cluster.brokers[0].replicas.partitions[P]
    lost.topic_id = OTHER  # the log is of a former topic, and the metadata cache knows the new one
    assert fetched(cluster, TopicPartition(nameless(id_of(cluster)), 0)).error == ErrorCode.INCONSISTENT_TOPIC_ID


def test_a_follower_fetches_by_id(cluster: Cluster) -> None:
    """A follower tells the id of the topic whose log it has."""
    request = cluster.brokers[1].data.fetchers.next_request(0, 0)
    assert isinstance(request, FetchRequest)
    assert request.topic_ids == {"orders": id_of(cluster)}


def test_metadata_by_id(cluster: Cluster) -> None:
    """A client that asks for a topic by its id learns its name; an unknown id has its own error, and creates nothing."""
    by_id = answer(cluster.brokers[0], MetadataRequest((nameless(id_of(cluster)), nameless(OTHER))))
    assert set(by_id.partitions) == {P}
    assert by_id.topic_ids == {"orders": id_of(cluster)}
    assert by_id.errors == {nameless(OTHER): ErrorCode.UNKNOWN_TOPIC_ID}


def test_isrs_are_asked_for_by_id(cluster: Cluster) -> None:
    """AlterPartition 2 names topics by ids: the answer has them too, an unknown one is told, and so is a member that is gone."""
    by_id, unknown = TopicPartition(nameless(id_of(cluster)), 0), TopicPartition(nameless(OTHER), 0)
    held = cluster.leadership(P)
    assert held is not None
    controller = cluster.brokers[cluster.active.controller_id]

    def asked(*isr: int) -> Any:
        answers: list[Any] = []
        proposals = {by_id: replace(held, isr=isr), unknown: replace(held, isr=isr)}
        controller.serve(AlterIsrRequest(0, cluster.brokers[0].epoch, proposals), answers.append)
        cluster.rest()
        (singleton,) = answers
        return singleton.partitions

    assert asked(0, 7) == {by_id: ErrorCode.INELIGIBLE_REPLICA, unknown: ErrorCode.UNKNOWN_TOPIC_ID}
    written = asked(0)
    assert written[by_id].isr == (0,) and cluster.leadership(P) == written[by_id]


def test_a_topic_of_the_same_name_has_another_id(cluster: Cluster) -> None:
    """After a deletion brokers forget the id, and the next topic of that name has its own."""
    before = id_of(cluster)
    admin(cluster).delete_topic("orders")
    cluster.rest()
    assert all(broker.replicas.topic_ids == {} for broker in cluster.brokers.values())
    admin(cluster).create_topic_with_assignment("orders", {0: (1, 0)})
    cluster.rest()
    assert id_of(cluster) != before
    for broker in cluster.brokers.values():
        assert broker.replicas.partitions[P].topic_id == id_of(cluster)
