"""The metadata log: records as Kafka's bytes, atomic batches in Kafka's files, and the images they lead to."""

from __future__ import annotations

import re
from pathlib import Path
from random import Random
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as some

from kafka_spec.impl.kraft.controller import KRaftController
from kafka_spec.impl.kraft.controller_apis import ELECTIONS_EVERY_MS, ControllerApis
from kafka_spec.impl.kraft.image import InconsistentLog, RegisteredPartition
from kafka_spec.impl.kraft.metadata_log import MetadataLog
from kafka_spec.impl.kraft.quorum_of_one import QuorumOfOne
from kafka_spec.impl.kraft.reassignment import assignment_to
from kafka_spec.impl.kraft.record_codec import decode, encode
from kafka_spec.impl.kraft.record_decoders import UnreadableRecord
from kafka_spec.impl.kraft.records import (
    BROKER_CONFIG,
    RECORDS,
    TOPIC_CONFIG,
    BrokerRegistrationChangeRecord,
    ClearElrRecord,
    ConfigRecord,
    MetadataRecord,
    PartitionChangeRecord,
    TopicRecord,
)
from kafka_spec.impl.protocol.errors import KafkaError
from kafka_spec.impl.protocol.kraft_requests import BrokerHeartbeatRequest, BrokerRegistrationRequest
from kafka_spec.impl.protocol.quorum_requests import TOPIC, QuorumLeader
from kafka_spec.impl.protocol.settings import UNCLEAN
from kafka_spec.impl.protocol.topic_partition import TopicPartition
from kafka_spec.spec.decisions.partition_change import ElectionKind
from kafka_spec.spec.kraft.eras import SPECS
from kafka_spec.spec.kraft.fixed import FIXED
from kafka_spec.spec.language.domain import NONE, BrokerSet
from kafka_spec.spec.vocabulary.table import Spec

ID = UUID(int=7)


def controller(folder: Path | None, brokers: int = 3, era: Spec = FIXED) -> KRaftController:
    """Return a controller with active brokers, and a partition on all of them."""
    made = KRaftController(era, MetadataLog(folder))
    for broker in range(brokers):
        epoch = made.register(BrokerRegistrationRequest(broker, UUID(int=broker)), 0).broker_epoch
        made.heartbeat(BrokerHeartbeatRequest(broker, epoch, made.log.end), 0)
    made.create_topic("orders", ID, {0: tuple(range(brokers))})
    return made


@given(some.one_of([some.from_type(record) for record in RECORDS]))
def test_records_survive_their_bytes(record: MetadataRecord) -> None:
    """Every record whose numbers fit its fields is read back as it was written."""
    try:
        data = encode(record)
    except Exception as error:  # numbers of any size are drawn
        assert type(error).__name__ == "error", error
        return
    assert decode(data) == record


def test_records_have_the_bytes_of_kafka() -> None:
    """A change of the ISR and one of a registration, byte by byte as the record's definition has them."""
    change = PartitionChangeRecord(3, ID, isr=(1, 2), leader=1, eligible_leader_replicas=(0,))
    assert encode(change).hex() == (
        "010502" + "00000003" + ID.hex + "03" + "00" + "09" + "03" + "00000001" + "00000002"
        "01" + "04" + "00000001" + "06" + "05" + "02" + "00000000"
    )  # fmt: skip
    assert encode(BrokerRegistrationChangeRecord(1, 9, fenced=1)).hex() == "011101" + "00000001" + "0000000000000009" + "01000101"


@given(some.binary(max_size=40))
def test_no_bytes_break_the_reader(data: bytes) -> None:
    """Any bytes are a record, or are refused as unreadable."""
    try:
        decode(b"\x01" + data)
    except UnreadableRecord:
        return


def test_the_file_holds_the_log(tmp_path: Path) -> None:
    """A log that is opened again has the same batches and images; a torn batch at its end is gone as a whole."""
    made = controller(tmp_path)
    made.fence(0)
    before = made.image
    made.fence(1)
    after = made.image
    made.log.close()
    again = MetadataLog(tmp_path)
    assert again.newest == after
    again.close()

    (file,) = (tmp_path / str(TOPIC)).glob("*.log")
    file.write_bytes(file.read_bytes()[:-1])
    (tmp_path / str(TOPIC) / "recovery-point").unlink(missing_ok=True)
    torn = MetadataLog(tmp_path)
    assert torn.newest == before
    torn.close()


def test_a_controller_takes_over_where_the_log_ends(tmp_path: Path) -> None:
    """A controller on the same log has the same memory and goes on: broker epochs grow, and its tables allow what follows."""
    made = controller(tmp_path)
    made.fence(2)
    made.log.close()
    other = KRaftController(FIXED, MetadataLog(tmp_path))
    assert other.image == made.image
    answer = other.register(BrokerRegistrationRequest(2, UUID(int=9)), 0)
    assert answer.broker_epoch > made.image.epoch_of(2)
    other.log.close()


def test_a_batch_is_atomic() -> None:
    """A batch with a record that refers to nothing changes neither log nor image."""
    log = MetadataLog()
    with pytest.raises(InconsistentLog, match="unknown topic"):
        log.commit([TopicRecord("orders", ID), PartitionChangeRecord(0, UUID(int=8), isr=(1,))])
    assert log.end == 0


def test_elections_have_their_codes() -> None:
    """An election of a leader that leads is not needed; without anybody who may lead there is none."""
    made = controller(None)
    (partition,) = made.image.partitions
    assert made.elect_leaders(None, ElectionKind.PREFERRED)[partition].name == "ELECTION_NOT_NEEDED"
    for broker in range(3):
        made.fence(broker)
    assert made.image.partitions[partition].leader == -1
    assert made.elect_leaders(None, ElectionKind.UNCLEAN)[partition].name == "ELIGIBLE_LEADERS_NOT_AVAILABLE"


def left_to_broker_0(made: KRaftController) -> TopicPartition:
    """Let all brokers lose contact, the last one as the only candidate, and broker 0 come back; return the partition."""
    for broker in range(3):
        made.fence(broker)
    made.heartbeat(BrokerHeartbeatRequest(0, made.image.epoch_of(0), made.log.end), 0)
    (partition,) = made.image.partitions
    assert made.image.partitions[partition].leader == NONE
    return partition


def test_unclean_elections_wait_until_the_controller_looks(tmp_path: Path) -> None:
    """A topic that comes to allow unclean elections gets its leader when the controller looks, every five minutes."""
    made = controller(tmp_path)
    made.heartbeats.timeout_ms = 2 * ELECTIONS_EVERY_MS
    apis = ControllerApis(made, QuorumOfOne(made.log, QuorumLeader(9, 1, "localhost", 9), "cluster"), Random(0))
    partition = left_to_broker_0(made)
    apis.look(0)
    made.configure(TOPIC_CONFIG, partition.topic, {UNCLEAN: "true"})
    apis.look(ELECTIONS_EVERY_MS - 1)
    assert made.image.partitions[partition].leader == NONE
    apis.look(ELECTIONS_EVERY_MS)
    assert made.image.partitions[partition].leader == 0
    assert made.unclean_elections == [partition]
    made.log.close()


def test_a_controller_before_3_9_does_not_read_whether_elections_may_be_unclean() -> None:
    """A controller of 3.7 elects nobody for a topic that allows unclean elections, until an operator asks (KAFKA-12670)."""
    (era,) = (spec for spec in SPECS if spec.name == "kraft/era_3_7")
    made = controller(None, era=era)
    partition = left_to_broker_0(made)
    made.configure(TOPIC_CONFIG, partition.topic, {UNCLEAN: "true"})
    assert made.elect_where_allowed() == []
    assert made.elect_leaders([partition], ElectionKind.UNCLEAN)[partition].name == "NONE"


def test_a_reassignment_adds_a_fenced_member_of_the_elr() -> None:
    """Without an ISR a reassignment may not add a broker that the ELR alone names, unless that is fenced."""
    (era,) = (spec for spec in SPECS if spec.name == "kraft/era_4_1")
    known = RegisteredPartition(ID, (0,), (), NONE, 2, 3, elr=(0, 1, 2))
    assert assignment_to(known, (0, 1), BrokerSet.of((2,)), era.constants({})).adding == (1,)
    with pytest.raises(KafkaError, match="not a replica"):
        assignment_to(known, (0, 2), BrokerSet.of((2,)), era.constants({}))


def test_min_isr_is_limited_by_the_replicas_of_partition_0() -> None:
    """The controller limits min.insync.replicas by partition 0's replicas: another partition that has more keeps no ELR for it."""
    made = controller(None)
    made.create_topic("narrow", UUID(int=9), {0: (0, 1, 2), 1: (0, 1, 2)}, {"min.insync.replicas": "3"})
    made.reassign(TopicPartition("narrow", 0), (0,))
    assert made.image.partitions[TopicPartition("narrow", 0)].replicas == (0,)
    made.create_topic("wide", UUID(int=10), {0: (0, 1, 2), 1: (0, 1, 2)}, {"min.insync.replicas": "3"})
    made.fence(2)
    assert made.image.partitions[TopicPartition("narrow", 1)].elr == ()
    assert made.image.partitions[TopicPartition("wide", 1)].elr == (2,)


@pytest.mark.parametrize(
    ("name", "assignment", "configs", "error", "why"),
    [
        ("../../outside", {0: (0, 1, 2)}, {}, "INVALID_TOPIC_EXCEPTION", "is illegal"),
        ("", {0: (0, 1, 2)}, {}, "INVALID_TOPIC_EXCEPTION", "can't be empty"),
        (".", {0: (0, 1, 2)}, {}, "INVALID_TOPIC_EXCEPTION", "can't be '.' or '..'"),
        ("n" * 250, {0: (0, 1, 2)}, {}, "INVALID_TOPIC_EXCEPTION", "longer than 249"),
        ("a_b", {0: (0, 1, 2)}, {}, "INVALID_TOPIC_EXCEPTION", "collides with existing topics: a.b"),
        ("orders", {0: (0, 1, 2)}, {}, "TOPIC_ALREADY_EXISTS", "exists"),
        ("new", {0: (0, 1, 2)}, {"min.insync.replicas": "two"}, "INVALID_CONFIG", "Invalid value two"),
        ("new", {0: (0, 1, 2)}, {"min.insync.replicas": None}, "INVALID_CONFIG", "Invalid value None"),
        ("new", {0: (0, 1, 2)}, {"min.in.sync": "2"}, "INVALID_CONFIG", "Unknown topic config name"),
        ("new", {}, {}, "INVALID_PARTITIONS", "no partitions"),
        ("new", {1: (0, 1, 2)}, {}, "INVALID_REPLICA_ASSIGNMENT", "consecutive 0-based"),
        ("new", {0: (0, 1, 2), 1: (0, 1)}, {}, "INVALID_REPLICA_ASSIGNMENT", "partition 1 has 2 replicas"),
        ("new", {0: (0, 9)}, {}, "INVALID_REPLICA_ASSIGNMENT", "not an assignment"),
    ],
)
def test_topics_that_are_refused(name: str, assignment: Any, configs: Any, error: str, why: str, tmp_path: Path) -> None:
    """What Kafka's controller refuses of a new topic is refused with its error, and nothing is committed."""
    made = controller(tmp_path)
    made.create_topic("a.b", UUID(int=8), {0: (0, 1, 2)})
    end = made.log.end
    with pytest.raises(KafkaError, match=re.escape(why)) as refused:
        made.create_topic(name, UUID(int=9), assignment, configs)
    assert refused.value.code.name == error
    assert made.log.end == end


def test_added_partitions_have_as_many_replicas() -> None:
    """Partitions that are added have as many replicas as partition 0."""
    made = controller(None)
    with pytest.raises(KafkaError, match="partition 1 has 2 replicas"):
        made.add_partitions("orders", {1: (0, 1)})
    made.add_partitions("orders", {1: (2, 1, 0)})
    assert made.image.partitions[TopicPartition("orders", 1)].replicas == (2, 1, 0)


def test_a_controlled_shutdown_changes_the_registration_first() -> None:
    """The batch of a controlled shutdown begins with the registration; that of a fencing ends with it."""
    made = controller(None)
    made.begin_controlled_shutdown(0)
    assert [type(record).__name__ for record in made.log.batches[-1]] == ["BrokerRegistrationChangeRecord", "PartitionChangeRecord"]
    made.fence(1)
    assert [type(record).__name__ for record in made.log.batches[-1]] == ["PartitionChangeRecord", "BrokerRegistrationChangeRecord"]


def test_the_elr_is_written_in_ascending_order() -> None:
    """The ELR of a record is in ascending order, whichever member left the ISR first."""
    made = controller(None, 4)
    made.create_topic("four", UUID(int=9), {0: (0, 1, 2, 3)}, {"min.insync.replicas": "3"})
    for broker in (3, 2, 1):
        made.fence(broker)
    assert made.image.partitions[TopicPartition("four", 0)].elr == (1, 2)


def test_a_record_that_empties_the_elr_changes_partitions() -> None:
    """ClearElr empties ELR and last known leader of a topic, or of all; each such partition gets a larger partition epoch."""
    made = controller(None)
    made.create_topic("other", UUID(int=9), {0: (0, 1, 2)}, {"min.insync.replicas": "3"})
    made.create_topic("third", UUID(int=10), {0: (0, 1, 2)}, {"min.insync.replicas": "3"})
    made.fence(2)
    before = made.image.partitions[TopicPartition("other", 0)]
    assert before.elr == (2,)
    image = made.log.commit([ClearElrRecord("other")])
    after = image.partitions[TopicPartition("other", 0)]
    assert (after.elr, after.partition_epoch, after.leader_epoch) == ((), before.partition_epoch + 1, before.leader_epoch)
    assert image.partitions[TopicPartition("third", 0)].elr == (2,)
    assert made.log.commit([ClearElrRecord()]).partitions[TopicPartition("third", 0)].elr == ()
    with pytest.raises(InconsistentLog, match="unknown topic"):
        made.log.commit([ClearElrRecord("nothing")])


def test_the_default_of_the_cluster_counts_where_a_topic_sets_nothing() -> None:
    """A broker's configuration without a broker is the cluster's default: the controller takes min.insync.replicas from it."""
    made = controller(None)
    made.log.commit([ConfigRecord(BROKER_CONFIG, "", "min.insync.replicas", "3")])
    made.fence(2)
    assert made.image.partitions[TopicPartition("orders", 0)].elr == (2,)
    made.log.commit([ConfigRecord(BROKER_CONFIG, "", "min.insync.replicas", None)])
    assert made.image.broker_configs == {}
