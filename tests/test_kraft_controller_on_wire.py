"""Our controller of KRaft on Kafka's wire protocol: a client of the protocol plays observer, broker and operator on a socket."""

from __future__ import annotations

import asyncio
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Coroutine, Mapping
from pathlib import Path
from random import Random
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_spec.__main__ import main
from kafka_spec.conformance.kafka_clusters.kraft_processes import CLUSTER_ID, CONTROLLER
from kafka_spec.conformance.kafka_clusters.our_controller import OurController
from kafka_spec.conformance.metadata.controller_connection import ControllerLost
from kafka_spec.conformance.metadata.observer import LogObserver
from kafka_spec.impl.kafka_wire import entities
from kafka_spec.impl.kafka_wire.apis import LENGTH
from kafka_spec.impl.kraft.image import ClusterImage, RegisteredBroker
from kafka_spec.impl.kraft.metadata_log import MetadataLog
from kafka_spec.impl.kraft.placement import placed
from kafka_spec.impl.kraft.snapshots import read_snapshot, write_snapshot
from kafka_spec.impl.log.log import PartitionLog
from kafka_spec.impl.protocol.errors import ErrorCode, KafkaError
from kafka_spec.impl.protocol.topic_partition import TopicPartition
from kafka_spec.impl.run.eras import find_era
from kafka_spec.spec.language.domain import NONE

FETCH, FETCH_SNAPSHOT, VOTE, DESCRIBE_QUORUM, REGISTER, HEARTBEAT, ENVELOPE = 1, 59, 52, 55, 62, 63, 58
ALTER_PARTITION, PRODUCER_IDS, ASSIGN_DIRECTORIES = 56, 67, 73
CREATE_TOPICS, DELETE_TOPICS, CREATE_PARTITIONS, ELECT, CONFIGURE, REASSIGN, LIST_REASSIGNMENTS = 19, 20, 37, 43, 44, 45, 46
UNREGISTER = 64
NEWEST = {
    FETCH: 17, FETCH_SNAPSHOT: 1, VOTE: 1, DESCRIBE_QUORUM: 2, REGISTER: 4, HEARTBEAT: 2, ENVELOPE: 0, ALTER_PARTITION: 3,
    PRODUCER_IDS: 0, ASSIGN_DIRECTORIES: 0, CREATE_TOPICS: 7, DELETE_TOPICS: 6, CREATE_PARTITIONS: 3, ELECT: 2, CONFIGURE: 1,
    REASSIGN: 1, LIST_REASSIGNMENTS: 0, UNREGISTER: 0,
}  # fmt: skip
METADATA_TOPIC = UUID(int=1)
FEATURES = {"metadata.version": 33, "eligible.leader.replicas.version": 1}
FIRST_RECORDS = 5
"""The records of a new cluster: a change of leader, two features, min.insync.replicas, and the controller's registration."""


class WireClient:
    """A client on one connection."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer
        self._count = 0

    async def ask(self, key: int, fields: Mapping[str, Any], version: int | None = None) -> Any:
        """Send a request, and return the entity of its answer."""
        self._count += 1
        asked = NEWEST[key] if version is None else version
        await self._send(entities.write_request(key, asked, self._count, "test", fields))
        correlation, entity = entities.read_answer(key, asked, await self._frame())
        assert correlation == self._count
        return entity

    async def forward(self, key: int, fields: Mapping[str, Any]) -> Any:
        """Send a request in an envelope, as brokers forward those of their clients; return the entity of its answer."""
        inside = entities.write_request(key, NEWEST[key], 99, "client", fields)
        envelope = await self.ask(
            ENVELOPE, {"request_data": inside, "request_principal": None, "client_host_address": b"\x7f\0\0\1"}
        )
        assert envelope.error_code == ErrorCode.NONE
        correlation, entity = entities.read_answer(key, NEWEST[key], envelope.response_data)
        assert correlation == 99
        return entity

    async def fetch(self, offset: int, epoch: int = 1, last_epoch: int = 0, wait: int = 0, cluster: str = CLUSTER_ID) -> Any:
        """Fetch the metadata log as an observer; return the whole answer."""
        partition = {
            "partition": 0, "current_leader_epoch": epoch, "fetch_offset": offset, "last_fetched_epoch": last_epoch,
            "log_start_offset": -1, "partition_max_bytes": 0,
        }  # fmt: skip
        return await self.ask(
            FETCH,
            {
                "cluster_id": cluster,
                "replica_state": {"replica_id": 1, "replica_epoch": -1},
                "max_wait": wait,
                "min_bytes": 0,
                "max_bytes": 1 << 20,
                "isolation_level": 0,
                "session_id": 0,
                "session_epoch": -1,
                "topics": [{"topic_id": METADATA_TOPIC, "partitions": [partition]}],
                "forgotten_topics_data": (),
                "rack_id": "",
            },
        )

    async def register(self, broker: int, incarnation: int, previous: int = -1, cluster: str = CLUSTER_ID) -> Any:
        """Register a broker."""
        return await self.ask(
            REGISTER,
            {
                "broker_id": broker,
                "cluster_id": cluster,
                "incarnation_id": UUID(int=incarnation),
                "listeners": [{"name": "PLAINTEXT", "host": "127.0.0.1", "port": 9092 + broker, "security_protocol": 0}],
                "features": [{"name": "metadata.version", "min_supported_version": 7, "max_supported_version": 33}],
                "rack": None,
                "is_migrating_zk_broker": False,
                "log_dirs": [UUID(int=1000 + broker)],
                "previous_broker_epoch": previous,
            },
        )

    async def beat(self, broker: int, epoch: int, offset: int, **wants: bool) -> Any:
        """Send a heartbeat."""
        usual = {"want_fence": False, "want_shut_down": False, "offline_log_dirs": (), "cordoned_log_dirs": ()}
        known = {"broker_id": broker, "broker_epoch": epoch, "current_metadata_offset": offset}
        return await self.ask(HEARTBEAT, {**known, **usual, **wants})

    async def unfenced(self, broker: int) -> int:
        """Register a broker and have it unfenced; return its broker epoch."""
        registered = await self.register(broker, broker + 1)
        answer = await self.beat(broker, registered.broker_epoch, registered.broker_epoch)
        assert not answer.is_fenced
        return int(registered.broker_epoch)

    async def create(self, name: str, *replicas: list[int], **more: Any) -> Any:
        """Create a topic with these replicas; return its result."""
        assignments = [{"partition_index": number, "broker_ids": one} for number, one in enumerate(replicas)]
        topic = {"name": name, "num_partitions": -1, "replication_factor": -1, "assignments": assignments, "configs": (), **more}
        (result,) = (await self.forward(CREATE_TOPICS, {"topics": [topic], "timeout": 1000, "validate_only": False})).topics
        return result

    async def _send(self, data: bytes) -> None:
        self._writer.write(LENGTH.pack(len(data)) + data)
        await self._writer.drain()

    async def _frame(self) -> bytes:
        (length,) = LENGTH.unpack(await self._reader.readexactly(LENGTH.size))
        return await self._reader.readexactly(length)

    def close(self) -> None:
        """Close the connection."""
        self._writer.transport.abort()


Play = Callable[[OurController, WireClient], Coroutine[Any, Any, None]]


def with_controller(folder: Path, play: Play) -> None:
    """Run a play with a controller of Kafka 4.4 and a client."""

    async def run() -> None:
        with socket.create_server(("127.0.0.1", 0)) as free:
            port = free.getsockname()[1]
        controller = OurController(folder, find_era("kraft_4_3"), port, Random(1), FEATURES, 2)
        await controller.start()
        client = WireClient(*await asyncio.open_connection("127.0.0.1", port))
        try:
            await asyncio.wait_for(play(controller, client), 60)
        finally:
            failed = controller.failure.done() and controller.failure.exception()
            client.close()
            await controller.end()
        assert not failed

    asyncio.run(run())


def partition_in(fetched: Any) -> Any:
    """Return what an answer to a fetch says of the metadata log."""
    return fetched.responses[0].partitions[0]


def test_an_observer_fetches_the_log(tmp_path: Path) -> None:
    """An observer gets the log's bytes: appended as a follower appends them, they are the controller's metadata."""

    async def play(controller: OurController, client: WireClient) -> None:
        await client.unfenced(1)
        assert (await client.create("orders", [1], [1])).error_code == ErrorCode.NONE
        copy = PartitionLog(tmp_path / "copy" / "__cluster_metadata-0")
        while copy.end_offset < controller.image.end:
            one = partition_in(await client.fetch(copy.end_offset, last_epoch=1 if copy.end_offset else 0))
            assert one.high_watermark == controller.image.end
            copy.append_as_follower(bytes(one.records))
        copy.close()
        observed = MetadataLog(tmp_path / "copy")
        assert observed.newest == controller.image
        assert observed.newest.partitions[TopicPartition("orders", 1)].directories == (UUID(int=1001),)

    with_controller(tmp_path / "controller", play)


def test_a_fetch_at_the_end_waits(tmp_path: Path) -> None:
    """A fetch at the end of the log is answered when the log grows; alone it waits for its time, and brings nothing."""

    async def play(controller: OurController, client: WireClient) -> None:
        end = controller.image.end
        other = WireClient(*await asyncio.open_connection("127.0.0.1", controller.leaders[0].port))
        assert partition_in(await client.fetch(end, last_epoch=1, wait=200)).records in (None, b"")
        waiting = asyncio.create_task(client.fetch(end, last_epoch=1, wait=30_000))
        await asyncio.sleep(0.2)
        assert not waiting.done()
        await other.register(1, 7)
        assert partition_in(await waiting).records
        other.close()

    with_controller(tmp_path, play)


@pytest.mark.parametrize(
    ("asked", "error"),
    [
        ({"offset": 0, "epoch": 0}, ErrorCode.FENCED_LEADER_EPOCH),
        ({"offset": 0, "epoch": 9}, ErrorCode.UNKNOWN_LEADER_EPOCH),
        ({"offset": -5}, ErrorCode.INVALID_REQUEST),
    ],
)
def test_a_fetch_that_knows_another_leader(asked: dict[str, int], error: ErrorCode, tmp_path: Path) -> None:
    """A fetch of another epoch is refused, and the answer says who leads, and where."""

    async def play(controller: OurController, client: WireClient) -> None:
        answer = await client.fetch(**asked)
        one = partition_in(answer)
        assert (one.error_code, one.current_leader.leader_id, one.current_leader.leader_epoch) == (error, CONTROLLER, 1)
        assert [(node.node_id, node.port) for node in answer.node_endpoints] == [(CONTROLLER, controller.leaders[0].port)]

    with_controller(tmp_path, play)


def test_a_log_that_diverges(tmp_path: Path) -> None:
    """A log that is longer than the leader's, or has records of an epoch that the leader's lacks, is told where it diverges."""

    async def play(controller: OurController, client: WireClient) -> None:
        end = controller.image.end
        longer = partition_in(await client.fetch(end + 3, last_epoch=1)).diverging_epoch
        assert (longer.epoch, longer.end_offset) == (1, end)
        await controller.kill()
        await controller.start()
        client.close()
        again = WireClient(*await asyncio.open_connection("127.0.0.1", controller.leaders[0].port))
        older = partition_in(await again.fetch(end + 1, epoch=2, last_epoch=1)).diverging_epoch
        assert (older.epoch, older.end_offset) == (1, end)
        assert partition_in(await again.fetch(end, epoch=2, last_epoch=1)).records
        again.close()

    with_controller(tmp_path, play)


def test_a_snapshot_is_fetched(tmp_path: Path) -> None:
    """An observer from before the log's start fetches the snapshot in parts, which is the metadata, and goes on from its end."""

    async def play(controller: OurController, client: WireClient) -> None:
        await client.unfenced(1)
        await client.create("orders", [1], [1])
        snapshot, image = controller.take_snapshot(), controller.image
        epoch = image.epoch_of(1)
        assert partition_in(await client.fetch(0)).snapshot_id.end_offset == snapshot.end == image.end

        async def part(position: int, epoch: int = snapshot.epoch) -> Any:
            wanted = {"end_offset": snapshot.end, "epoch": epoch}
            partition = {"partition": 0, "current_leader_epoch": 1, "snapshot_id": wanted, "position": position}
            topics = [{"name": "__cluster_metadata", "partitions": [partition]}]
            answer = await client.ask(
                FETCH_SNAPSHOT, {"cluster_id": CLUSTER_ID, "replica_id": 1, "max_bytes": 100, "topics": topics}
            )
            return answer.topics[0].partitions[0]

        data = bytes((await part(0)).unaligned_records)
        while len(data) < (found := await part(len(data) - 1)).size:
            data += bytes(found.unaligned_records)[1:]
        assert (await part(len(data))).error_code == ErrorCode.POSITION_OUT_OF_RANGE
        assert (await part(0, epoch=7)).error_code == ErrorCode.SNAPSHOT_NOT_FOUND
        copy = tmp_path / "copy"
        copy.mkdir()
        write_snapshot(copy, snapshot, data)
        assert read_snapshot(copy, snapshot) == image
        assert not partition_in(await client.fetch(snapshot.end, last_epoch=1)).records
        await client.beat(1, epoch, image.end, want_shut_down=True)
        assert partition_in(await client.fetch(snapshot.end, last_epoch=1)).records

    with_controller(tmp_path / "controller", play)


def test_a_controller_starts_from_its_snapshot(tmp_path: Path) -> None:
    """A log that begins with a snapshot is read from there on, with what came after it, and epochs go on."""

    async def play(controller: OurController, client: WireClient) -> None:
        await client.unfenced(1)
        await client.create("orders", [1])
        controller.take_snapshot()
        await client.create("payments", [1])
        before = controller.image
        await controller.kill()
        await controller.start()
        assert controller.image.partitions == before.partitions
        assert controller.image.brokers == before.brokers
        assert controller.image.end == before.end + 2
        controller.take_snapshot()
        await controller.kill()
        await controller.start()  # nothing was written since: the epoch is known from the snapshot alone
        assert [leader.epoch for leader in controller.leaders] == [1, 2, 3]

    with_controller(tmp_path, play)


def test_a_foreign_cluster(tmp_path: Path) -> None:
    """Who names another cluster gets no log, no vote and no registration."""

    async def play(controller: OurController, client: WireClient) -> None:
        assert (await client.fetch(0, cluster="another")).error_code == ErrorCode.INCONSISTENT_CLUSTER_ID
        assert (await client.register(1, 1, cluster="another")).error_code == ErrorCode.INCONSISTENT_CLUSTER_ID
        assert controller.image.end == FIRST_RECORDS

    with_controller(tmp_path, play)


def test_no_vote(tmp_path: Path) -> None:
    """A candidate gets no vote, and hears who leads."""

    async def play(_: OurController, client: WireClient) -> None:
        partition = {
            "partition_index": 0, "candidate_epoch": 5, "candidate_id": 3, "candidate_directory_id": None,
            "voter_directory_id": None, "last_offset_epoch": 5, "last_offset": 100,
        }  # fmt: skip
        topics = [{"topic_name": "__cluster_metadata", "partitions": [partition]}]
        answer = await client.ask(VOTE, {"cluster_id": CLUSTER_ID, "voter_id": CONTROLLER, "topics": topics})
        one = answer.topics[0].partitions[0]
        assert (one.vote_granted, one.leader_id, one.leader_epoch) == (False, CONTROLLER, 1)

    with_controller(tmp_path, play)


def test_the_quorum_is_described(tmp_path: Path) -> None:
    """The leader is the only voter; observers are listed with their log ends."""

    async def play(controller: OurController, client: WireClient) -> None:
        await client.fetch(FIRST_RECORDS, last_epoch=1)
        topics = [{"topic_name": "__cluster_metadata", "partitions": [{"partition_index": 0}]}]
        one = (await client.ask(DESCRIBE_QUORUM, {"topics": topics})).topics[0].partitions[0]
        assert (one.leader_id, one.high_watermark) == (CONTROLLER, controller.image.end)
        assert [(voter.replica_id, voter.log_end_offset) for voter in one.current_voters] == [(CONTROLLER, FIRST_RECORDS)]
        assert [(other.replica_id, other.log_end_offset) for other in one.observers] == [(1, FIRST_RECORDS)]

    with_controller(tmp_path, play)


def test_the_life_of_a_broker(tmp_path: Path) -> None:
    """A broker is unfenced once it has its registration; another process of it must wait for the end of the session."""

    async def play(controller: OurController, client: WireClient) -> None:
        epoch = (await client.register(1, 1)).broker_epoch
        assert epoch == FIRST_RECORDS
        behind = await client.beat(1, epoch, epoch - 1)
        assert (behind.is_caught_up, behind.is_fenced) == (False, True)
        there = await client.beat(1, epoch, epoch)
        assert (there.is_caught_up, there.is_fenced) == (True, False)
        assert (await client.register(1, 2)).error_code == ErrorCode.DUPLICATE_BROKER_REGISTRATION
        assert (await client.beat(1, epoch - 1, epoch)).error_code == ErrorCode.STALE_BROKER_EPOCH
        assert (await client.beat(1, epoch, epoch + 1, want_shut_down=True)).should_shut_down
        known = controller.image.brokers[1]
        assert (known.fenced, known.log_dirs) == (True, (UUID(int=1001),))

    with_controller(tmp_path, play)


def test_a_controller_that_takes_over_gives_fresh_sessions(tmp_path: Path) -> None:
    """The next controller fences nobody at once: a broker that stays in touch is never fenced."""

    async def play(controller: OurController, client: WireClient) -> None:
        epoch = await client.unfenced(1)
        await controller.kill()
        await controller.start()
        client.close()
        again = WireClient(*await asyncio.open_connection("127.0.0.1", controller.leaders[0].port))
        await asyncio.sleep(0.3)
        assert not controller.image.brokers[1].fenced
        assert (await again.beat(1, epoch, controller.image.end - 1)).error_code == ErrorCode.NONE
        again.close()

    with_controller(tmp_path, play)


def test_a_leader_proposes(tmp_path: Path) -> None:
    """AlterPartition names topics by ids: a smaller ISR is written, an old partition epoch and an unknown topic are refused."""

    async def play(controller: OurController, client: WireClient) -> None:
        epochs = {broker: await client.unfenced(broker) for broker in (1, 2)}
        topic_id = (await client.create("orders", [1, 2])).topic_id

        async def propose(topic: UUID, partition_epoch: int, isr: list[int]) -> Any:
            members = [{"broker_id": one, "broker_epoch": epochs[one]} for one in isr]
            partition = {
                "partition_index": 0, "leader_epoch": 0, "new_isr_with_epochs": members, "leader_recovery_state": 0,
                "partition_epoch": partition_epoch,
            }  # fmt: skip
            topics = [{"topic_id": topic, "partitions": [partition]}]
            answer = await client.ask(ALTER_PARTITION, {"broker_id": 1, "broker_epoch": epochs[1], "topics": topics})
            assert answer.topics[0].topic_id == topic
            return answer.topics[0].partitions[0]

        done = await propose(topic_id, 0, [1])
        assert (done.error_code, done.leader_id, done.partition_epoch, done.isr) == (ErrorCode.NONE, 1, 1, (1,))
        assert (await propose(topic_id, 0, [1, 2])).error_code == ErrorCode.INVALID_UPDATE_VERSION
        assert (await propose(UUID(int=5), 0, [1])).error_code == ErrorCode.UNKNOWN_TOPIC_ID
        assert controller.image.partitions[TopicPartition("orders", 0)].isr == (1,)

    with_controller(tmp_path, play)


def test_ids_of_producers(tmp_path: Path) -> None:
    """Blocks of producer ids follow each other, also after a fail-over; a former process of a broker gets none."""

    async def play(controller: OurController, client: WireClient) -> None:
        epoch = await client.unfenced(1)
        asked = {"broker_id": 1, "broker_epoch": epoch}
        first, second = [await client.ask(PRODUCER_IDS, asked) for _ in range(2)]
        assert (first.producer_id_start, first.producer_id_len, second.producer_id_start) == (0, 1000, 1000)
        assert (await client.ask(PRODUCER_IDS, {**asked, "broker_epoch": 1})).error_code == ErrorCode.STALE_BROKER_EPOCH
        await controller.kill()
        await controller.start()
        assert controller.image.next_producer_id == 2000

    with_controller(tmp_path, play)


def test_directories_are_assigned(tmp_path: Path) -> None:
    """A replica lies in the directory that its broker names; in one that is offline, it leaves the ISR. The rest has an error."""

    async def play(controller: OurController, client: WireClient) -> None:
        epoch = await client.unfenced(1)
        topic_id = (await client.create("orders", [1])).topic_id
        online, offline = UUID(int=1001), UUID(int=77)
        topics = [
            {"topic_id": topic_id, "partitions": [{"partition_index": 0}, {"partition_index": 4}]},
            {"topic_id": UUID(int=5), "partitions": [{"partition_index": 0}]},
        ]
        for directory, leader, isr in ((online, 1, (1,)), (offline, NONE, ())):
            directories = [{"id_": directory, "topics": topics}]
            answer = await client.ask(ASSIGN_DIRECTORIES, {"broker_id": 1, "broker_epoch": epoch, "directories": directories})
            codes = [[one.error_code for one in topic.partitions] for topic in answer.directories[0].topics]
            assert codes == [[ErrorCode.NONE, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION], [ErrorCode.UNKNOWN_TOPIC_ID]]
            held = controller.image.partitions[TopicPartition("orders", 0)]
            assert (held.directories, held.leader, held.isr) == ((directory,), leader, isr)

    with_controller(tmp_path, play)


def test_operators_through_a_broker(tmp_path: Path) -> None:
    """Topics are created, grown, configured, reassigned and deleted by requests in envelopes, each with its own result."""

    async def play(controller: OurController, client: WireClient) -> None:
        for broker in (1, 2, 3):
            await client.unfenced(broker)
        created = await client.create("orders", num_partitions=2, replication_factor=2)
        assert (created.error_code, created.num_partitions, created.replication_factor) == (ErrorCode.NONE, 2, 2)
        assert (await client.create("orders", [1])).error_code == ErrorCode.TOPIC_ALREADY_EXISTS
        assert (await client.create("../outside", [1])).error_code == ErrorCode.INVALID_TOPIC_EXCEPTION
        assert (
            await client.create("large", num_partitions=1, replication_factor=4)
        ).error_code == ErrorCode.INVALID_REPLICATION_FACTOR
        more = [
            {"name": "orders", "count": 3, "assignments": [{"broker_ids": [3, 1]}]},
            {"name": "none", "count": 3, "assignments": None},
        ]
        grown = await client.forward(CREATE_PARTITIONS, {"topics": more, "timeout": 1000, "validate_only": False})
        assert [one.error_code for one in grown.results] == [ErrorCode.NONE, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION]
        setting = {"name": "min.insync.replicas", "config_operation": 0, "value": "1"}
        resources = [{"resource_type": 2, "resource_name": name, "configs": [setting]} for name in ("orders", "none")]
        configured = await client.forward(CONFIGURE, {"resources": resources, "validate_only": False})
        assert [one.error_code for one in configured.responses] == [ErrorCode.NONE, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION]
        assert controller.image.configs["orders", "min.insync.replicas"] == "1"

        async def reassign(replicas: list[int] | None, allow: bool = True) -> int:
            topics = [{"name": "orders", "partitions": [{"partition_index": 2, "replicas": replicas}]}]
            asked = {"timeout": 1000, "allow_replication_factor_change": allow, "topics": topics}
            return int((await client.forward(REASSIGN, asked)).responses[0].partitions[0].error_code)

        assert await reassign([1, 2, 3], allow=False) == ErrorCode.INVALID_REPLICATION_FACTOR
        assert await reassign([1, 2], allow=False) == ErrorCode.NONE
        running = (await client.forward(LIST_REASSIGNMENTS, {"timeout": 1000, "topics": None})).topics[0].partitions[0]
        assert (running.replicas, running.adding_replicas, running.removing_replicas) == ((1, 2, 3), (2,), (3,))
        assert await reassign(None) == ErrorCode.NONE
        assert await reassign(None) == ErrorCode.NO_REASSIGNMENT_IN_PROGRESS
        for results in (1, 0):  # the leader is the second of the cancelled reassignment's replicas; then all are led as preferred
            elected = await client.forward(ELECT, {"election_type": 0, "topic_partitions": None, "timeout": 1000})
            assert len(elected.replica_election_results) == results
        topic_id = created.topic_id
        topics = [{"name": None, "topic_id": one} for one in (topic_id, UUID(int=5))]
        deleted = await client.forward(DELETE_TOPICS, {"topics": topics, "timeout": 1000})
        assert [(one.name, one.error_code) for one in deleted.responses] == [
            ("orders", ErrorCode.NONE),
            (None, ErrorCode.UNKNOWN_TOPIC_ID),
        ]
        assert not controller.image.partitions

    with_controller(tmp_path, play)


def test_a_broker_is_unregistered(tmp_path: Path) -> None:
    """It leaves the ISR, and its heartbeats are refused. When it registers again it counts as crashed, and leaves the ELR."""

    async def play(controller: OurController, client: WireClient) -> None:
        epochs = {broker: await client.unfenced(broker) for broker in (1, 2)}
        await client.create("orders", [1, 2])
        for asked, code in ((1, ErrorCode.NONE), (1, ErrorCode.BROKER_ID_NOT_REGISTERED)):
            answer = await client.forward(UNREGISTER, {"broker_id": asked})
            assert (answer.error_code, answer.error_message is None) == (code, code == ErrorCode.NONE)
        held = controller.image.partitions[TopicPartition("orders", 0)]
        assert (held.leader, held.isr, held.elr, set(controller.image.brokers)) == (2, (2,), (1,), {2})
        assert (await client.beat(1, epochs[1], epochs[1])).error_code == ErrorCode.STALE_BROKER_EPOCH
        registered = await client.register(1, 9, previous=epochs[1])
        assert registered.broker_epoch > epochs[2]
        assert controller.image.partitions[TopicPartition("orders", 0)].elr == ()
        assert not (await client.beat(1, registered.broker_epoch, controller.image.end)).is_fenced

    with_controller(tmp_path, play)


def test_only_validated(tmp_path: Path) -> None:
    """A request that only validates writes nothing, and says what it would have said."""

    async def play(controller: OurController, client: WireClient) -> None:
        await client.unfenced(1)
        end = controller.image.end
        topic = {"name": "orders", "num_partitions": 1, "replication_factor": 1, "assignments": (), "configs": ()}
        for factor, error in ((1, ErrorCode.NONE), (2, ErrorCode.INVALID_REPLICATION_FACTOR)):
            asked = {"topics": [{**topic, "replication_factor": factor}], "timeout": 1000, "validate_only": True}
            assert (await client.forward(CREATE_TOPICS, asked)).topics[0].error_code == error
        setting = {"name": "min.insync.replicas", "config_operation": 0, "value": "two"}
        resources = [{"resource_type": 4, "resource_name": "", "configs": [setting]}]
        configured = await client.forward(CONFIGURE, {"resources": resources, "validate_only": True})
        assert configured.responses[0].error_code == ErrorCode.INVALID_CONFIG
        assert controller.image.end == end

    with_controller(tmp_path, play)


def test_what_cannot_be_forwarded(tmp_path: Path) -> None:
    """An envelope with a request that the controller does not serve has an error, and its connection goes on."""

    async def play(_: OurController, client: WireClient) -> None:
        inside = entities.write_request(22, 0, 1, "client", {"transactional_id": None, "transaction_timeout": 1000})
        envelope = {"request_data": inside, "request_principal": None, "client_host_address": b"\x7f\0\0\1"}
        assert (await client.ask(ENVELOPE, envelope)).error_code == ErrorCode.UNSUPPORTED_VERSION
        assert (await client.register(1, 1)).error_code == ErrorCode.NONE

    with_controller(tmp_path, play)


# Placement


def image_of(racks: Mapping[int, str | None], fenced: set[int]) -> ClusterImage:
    """Return a cluster with brokers in these racks."""
    brokers = {one: RegisteredBroker(one, 1, UUID(int=one), one in fenced, False, (), rack) for one, rack in racks.items()}
    return ClusterImage(brokers=brokers)


@given(
    racks=st.dictionaries(st.integers(0, 9), st.sampled_from([None, "a", "b", "c"]), min_size=1, max_size=8),
    fenced=st.sets(st.integers(0, 9), max_size=4),
    partitions=st.integers(1, 12),
    factor=st.integers(1, 4),
    seed=st.integers(0, 99),
)
def test_replicas_are_placed(racks: dict[int, str | None], fenced: set[int], partitions: int, factor: int, seed: int) -> None:
    """Replicas are different brokers, led by an unfenced one; fenced ones come only where there are too few others."""
    image, alive = image_of(racks, fenced), set(racks) - fenced
    if factor > len(racks) or not alive:
        with pytest.raises(KafkaError, match=r"cannot be reached|fenced"):
            placed(image, 0, partitions, factor, Random(seed))
        return
    found = placed(image, 3, partitions, factor, Random(seed))
    assert list(found) == list(range(3, 3 + partitions))
    for replicas in found.values():
        assert len(set(replicas)) == len(replicas) == factor
        assert replicas[0] in alive
        assert sum(one in fenced for one in replicas) == max(0, factor - len(alive))
        if factor >= len({racks[one] for one in alive}) and not set(replicas) & fenced:
            assert {racks[one] for one in replicas} == {racks[one] for one in alive}


def test_leaders_are_spread() -> None:
    """Without racks each broker leads as many partitions, and holds as many replicas, if their number permits it."""
    found = placed(image_of(dict.fromkeys(range(4)), set()), 0, 12, 3, Random(5))
    assert sorted(replicas[0] for replicas in found.values()) == sorted([0, 1, 2, 3] * 3)
    assert all(sum(broker in replicas for replicas in found.values()) == 9 for broker in range(4))


# A running controller, read as an observer reads it


async def command(*arguments: str) -> tuple[int, str, str]:
    """Run the command line beside the controller; return its exit code, stdout and stderr."""
    done = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "kafka_spec", *arguments, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    out, error = await done.communicate()
    assert done.returncode is not None
    return done.returncode, out.decode(), error.decode()


@pytest.mark.parametrize("from_snapshot", [False, True], ids=["from the beginning", "from a snapshot"])
def test_a_running_controller_is_validated(from_snapshot: bool, tmp_path: Path) -> None:
    """`validate` and `advise` read the log of a running controller, also behind a snapshot and after a fail-over."""

    async def play(controller: OurController, client: WireClient) -> None:
        for broker in (1, 2):
            await client.unfenced(broker)
        await client.create("orders", [1, 2])
        if from_snapshot:
            controller.take_snapshot()
        await controller.kill()
        await controller.start()
        client.close()
        assert controller.apis is not None
        controller.apis.controller.heartbeats.timeout_ms = 1 << 40  # the commands take their time
        again = WireClient(*await asyncio.open_connection("127.0.0.1", controller.leaders[0].port))
        await again.create("payments", [2, 1])
        address = f"127.0.0.1:{controller.leaders[0].port}"
        code, text, error = await command("validate", "--bootstrap-controller", address, "-q")
        assert (code, error) == (0, "")
        assert text.startswith("HOLDS") and f"controller {address}: offsets" in text and str(tmp_path) not in text
        assert f"offsets {controller.image.end - 4 if from_snapshot else 0} to {controller.image.end - 1}, epochs to 2" in text
        code, text, error = await command("validate", "--bootstrap-controller", address, "--partition", "payments-0", "-q")
        assert (code, error) == (0, "") and "payments-0" in text
        code, text, error = await command("advise", "--bootstrap-controller", address, "--stop", "2", "--faults", "0", "-q")
        assert (code, error) == (1, "") and text.startswith("NOT SAFE: shut down broker 2")  # of two, and min.insync.replicas is 2
        code, text, error = await command("advise", "--bootstrap-controller", address, "--format-controller", "2", "-q")
        assert (code, error) == (0, "") and "it is an observer, which neither votes nor counts" in text
        leader = str(controller.leaders[0].node)
        code, text, error = await command("advise", "--bootstrap-controller", address, "--format-controller", leader, "-q")
        assert (code, error) == (1, "") and "it is the only voter, and its disk has the only copy" in text
        assert not controller.apis.quorum.observers.keys() - {-1}
        again.close()

    with_controller(tmp_path, play)


def test_a_running_controller_is_followed(tmp_path: Path) -> None:
    """`--follow` prints an event of a running controller when it happens, and goes on after a fail-over."""

    async def play(controller: OurController, client: WireClient) -> None:
        await client.unfenced(1)
        address = f"127.0.0.1:{controller.leaders[0].port}"
        arguments = ("validate", "--bootstrap-controller", address, "--follow", "-q")
        following = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "kafka_spec", *arguments, stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )
        assert following.stdout is not None
        assert b"following from offset" in await following.stdout.readline()
        await client.create("orders", [1])
        assert b"create a topic" in await following.stdout.readline()
        await controller.kill()
        await controller.start()
        client.close()
        again = WireClient(*await asyncio.open_connection("127.0.0.1", controller.leaders[0].port))
        await again.create("payments", [1])
        while b"payments" not in (line := await following.stdout.readline()):
            assert line
        following.send_signal(signal.SIGINT)
        rest, error = await following.communicate()
        assert (following.returncode, error) == (0, b"") and b"HOLDS" in rest
        again.close()

    with_controller(tmp_path, play)


def test_a_copy_that_cannot_be_written(tmp_path: Path) -> None:
    """A disk that fails ends the copy with a message at once, and no record counts as copied."""

    async def play(controller: OurController, client: WireClient) -> None:
        await client.unfenced(1)
        observer = LogObserver(("127.0.0.1", controller.leaders[0].port), tmp_path / "no such folder")
        with pytest.raises(ControllerLost, match=r"cannot be copied to .*: No such file or directory; set TMPDIR"):
            await asyncio.to_thread(observer.copy)
        observer.folder = tmp_path
        await asyncio.to_thread(observer.copy)
        observer.close()
        (copied,) = tmp_path.glob("0*.log")
        assert copied.name == f"{0:020}.log"

    with_controller(tmp_path, play)


@pytest.mark.parametrize("subcommand", [("validate",), ("advise", "--stop", "1")], ids=lambda one: one[0])
@pytest.mark.parametrize(
    ("arguments", "reported"),
    [
        (("--bootstrap-controller", "127.0.0.1"), "write HOST:PORT"),
        (("--bootstrap-controller", "127.0.0.1:99999"), "write HOST:PORT"),
        (("--bootstrap-controller", "127.0.0.1:1"), "refused"),
        (("--bootstrap-controller", "127.0.0.1:9093", "folder"), "not both"),
        ((), "--bootstrap-controller HOST:PORT"),
    ],
)
def test_a_controller_that_cannot_be_read(
    subcommand: tuple[str, ...], arguments: tuple[str, ...], reported: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """A malformed address, nobody there, and paths beside it are misuse, with a message that says what to write."""
    assert main([*subcommand, *arguments]) == 2
    assert reported in capsys.readouterr().err


def test_what_answers_is_not_a_controller(capsys: pytest.CaptureFixture[str]) -> None:
    """A server that speaks something else, closes, or stays silent is no controller: one line, and exit code 2."""
    with socket.create_server(("127.0.0.1", 0)) as server:

        def serve() -> None:
            for answer in (b"HTTP/1.1 400 Bad Request\r\n\r\n", b""):
                connection, _ = server.accept()
                with connection:
                    connection.recv(100)
                    connection.sendall(answer)

        serving = threading.Thread(target=serve, daemon=True)
        serving.start()
        for _ in range(2):
            assert main(["validate", "--bootstrap-controller", f"127.0.0.1:{server.getsockname()[1]}"]) == 2
            assert "name a controller's listener" in capsys.readouterr().err
        serving.join()
