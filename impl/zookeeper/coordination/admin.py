"""Creating topics and adding partitions: what Kafka's tools write into ZooKeeper, and what they refuse.

The controller learns of a topic from its znode, and elects the leaders. Brokers of a manual assignment need not be live.

Source: Kafka 2.8 AdminZkClient.scala, AdminUtils.scala, TopicCommand.scala.
"""

from __future__ import annotations

import enum
import uuid
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from random import Random

from kafka_spec.impl.protocol.errors import ErrorCode, KafkaError
from kafka_spec.impl.protocol.topic_checks import validate_apart, validate_config, validate_list, validate_name, validate_new
from kafka_spec.impl.protocol.topic_ids import text_of
from kafka_spec.impl.zookeeper.coordination import znodes
from kafka_spec.impl.zookeeper.coordination.broker_znode import decode_broker
from kafka_spec.impl.zookeeper.coordination.interface import BadVersion, NodeExists, NoNode, Session
from kafka_spec.spec.decisions.assignment import assign_rack_aware, assign_rack_unaware, start_for_new_partitions
from kafka_spec.spec.decisions.deletion import topic_may_be_created
from kafka_spec.spec.decisions.variants import CreationDuringDeletion

COLLISION_WARNING = (
    "WARNING: Due to limitations in metric names, topics with a period ('.') or underscore ('_') could collide. "
    "To avoid issues it is best to use either, but not both."
)


class RackMode(enum.Enum):
    """How the assignment of replicas treats racks."""

    ENFORCED = "all brokers have a rack, or none: otherwise it is an error"
    SAFE = "racks count if all brokers have one"
    DISABLED = "racks do not count"


def assign(
    racks: Mapping[int, str | None], partitions: int, replication_factor: int, start: int, shift: int, first_partition: int = 0
) -> dict[int, tuple[int, ...]]:
    """Assign partitions to brokers, rack-aware if every broker has a rack; `racks` maps a broker to its rack.

    Raises:
        KafkaError: fewer than one partition or replica; more replicas than brokers; some brokers have racks and some have none.
    """
    if partitions <= 0:
        raise KafkaError(ErrorCode.INVALID_PARTITIONS, "Number of partitions must be larger than 0.")
    if replication_factor <= 0:
        raise KafkaError(ErrorCode.INVALID_REPLICATION_FACTOR, "Replication factor must be larger than 0.")
    if replication_factor > len(racks):
        raise KafkaError(
            ErrorCode.INVALID_REPLICATION_FACTOR,
            f"Replication factor: {replication_factor} larger than available brokers: {len(racks)}.",
        )
    known = {broker: rack for broker, rack in racks.items() if rack is not None}
    if known and len(known) < len(racks):
        raise KafkaError(ErrorCode.UNKNOWN_SERVER_ERROR, "Not all brokers have rack information for replica rack aware assignment.")
    if known:
        lists = assign_rack_aware(known, partitions, replication_factor, start, shift, first_partition)
    else:
        lists = assign_rack_unaware(sorted(racks), partitions, replication_factor, start, shift, first_partition)
    return dict(enumerate(lists, first_partition))


class Admin:
    """The admin tools on a session; `random` draws start positions of assignments and topic ids, `warn` receives warnings."""

    def __init__(
        self,
        session: Session,
        random: Random,
        warn: Callable[[str], object],
        topic_version: int = 3,
        creation_during_deletion: int = CreationDuringDeletion.REFUSED,
    ) -> None:
        """`topic_version` is the version of topic znodes: 3 since 2.8, 2 since 2.4, 1 before.

        `creation_during_deletion` is an era's decision (spec/decisions/variants.py): whether a topic that waits for its deletion
        may be created.
        """
        self._session = session
        self._random = random
        self._warn = warn
        self._version = topic_version
        self._creation_during_deletion = creation_during_deletion

    def racks(self, mode: RackMode = RackMode.ENFORCED) -> dict[int, str | None]:
        """Return the registered brokers in order, each with its rack; the rack is None where the mode ignores racks.

        Raises:
            KafkaError: racks are enforced, and only some brokers have one.
        """
        racks: dict[int, str | None] = {}
        for number in sorted(map(int, self._session.children(znodes.BROKER_IDS))):
            try:
                racks[number] = decode_broker(number, self._session.get(znodes.broker(number))[0]).rack
            except NoNode:
                continue  # deleted since the list was read
        some = any(rack is not None for rack in racks.values())
        every = all(rack is not None for rack in racks.values())
        if some and not every and mode == RackMode.ENFORCED:
            raise KafkaError(
                ErrorCode.UNKNOWN_SERVER_ERROR,
                "Not all brokers have rack information. Add --disable-rack-aware in command line to make replica assignment "
                "without rack information.",
            )
        if mode == RackMode.DISABLED or not every:
            return dict.fromkeys(racks)
        return racks

    def create_topic(
        self,
        name: str,
        partitions: int = 1,
        replication_factor: int = 1,
        config: Mapping[str, str] | None = None,
        mode: RackMode = RackMode.ENFORCED,
        if_not_exists: bool = False,
    ) -> bool:
        """Create a topic with an automatic assignment; return whether it is new.

        Raises:
            KafkaError: see `assign` and `create_topic_with_assignment`.
        """
        racks = self.racks(mode)
        start, shift = (self._random.randrange(len(racks)), self._random.randrange(len(racks))) if racks else (0, 0)
        assignment = assign(racks, partitions, replication_factor, start, shift)
        return self.create_topic_with_assignment(name, assignment, config, if_not_exists)

    def create_topic_with_assignment(
        self,
        name: str,
        assignment: Mapping[int, Sequence[int]],
        config: Mapping[str, str] | None = None,
        if_not_exists: bool = False,
    ) -> bool:
        """Create a topic with these replicas; return whether it is new. Its configuration is written first.

        Raises:
            KafkaError: the name is illegal, or differs from that of an existing topic only in dots and underscores; the topic
                exists; the assignment or the configuration is invalid.
        """
        if "." in name or "_" in name:
            self._warn(COLLISION_WARNING)
        try:
            self._validate(name, assignment, config or {})
            self._write_config(name, config or {})
            replicas = {partition: tuple(assignment[partition]) for partition in assignment}
            content = znodes.Topic(replicas, topic_id=self._topic_id(), version=self._version)
            try:
                self._session.create(znodes.topic(name), content.encode())
            except NodeExists:
                raise _exists(name) from None
        except KafkaError as error:
            if error.code == ErrorCode.TOPIC_ALREADY_EXISTS and if_not_exists:
                return False
            raise
        return True

    def add_partitions(
        self,
        name: str,
        total: int,
        assignment: Mapping[int, Sequence[int]] | None = None,
        mode: RackMode = RackMode.ENFORCED,
        *,
        existing: Mapping[int, Sequence[int]] | None = None,
        brokers: Mapping[int, str | None] | None = None,
        validate_only: bool = False,
    ) -> dict[int, tuple[int, ...]]:
        """Increase a topic to `total` partitions; return the replicas of the new ones, as given or assigned automatically.

        As callers of AdminZkClient.addPartitions do, one may pass the replicas of the `existing` partitions and the `brokers`
        with their racks, in place of what ZooKeeper says; `validate_only` writes nothing.

        Raises:
            KafkaError: the topic does not exist or has no partition 0; `total` is not an increase; the replicas given are empty,
                duplicate, unknown, not as many as those of partition 0, or for other partitions; the topic changed meanwhile.
        """
        try:
            data, stat = self._session.get(znodes.topic(name))
        except NoNode:
            raise KafkaError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"The topic '{name}' does not exist.") from None
        topic = znodes.Topic.decode(name, data)
        if existing is not None:
            topic = replace(topic, partitions={n: tuple(held) for n, held in existing.items()})
        check_increase(name, topic, total)
        new = new_replicas(topic, total, self.racks(mode) if brokers is None else dict(brokers), assignment)
        if validate_only:
            return new
        grown = znodes.Topic({**topic.partitions, **new}, topic.adding, topic.removing, topic.topic_id, topic.version)
        try:
            self._session.set(znodes.topic(name), grown.encode(), stat.version)
        except BadVersion:
            raise KafkaError(ErrorCode.UNKNOWN_SERVER_ERROR, f"The topic '{name}' was changed meanwhile; try again.") from None
        return new

    def propose(self, brokers: Sequence[int], partitions: int, replication_factor: int) -> dict[int, tuple[int, ...]]:
        """Return an automatic assignment to some of the registered brokers, rack-aware if all of these have a rack.

        Raises:
            KafkaError: a broker is not registered; see also `assign`.
        """
        racks = self.racks(RackMode.SAFE)
        if unknown := [broker for broker in brokers if broker not in racks]:
            raise KafkaError(ErrorCode.BROKER_NOT_AVAILABLE, f"Unknown broker id {unknown[0]}")
        chosen = {broker: racks[broker] for broker in sorted(set(brokers))}
        start, shift = (self._random.randrange(len(chosen)), self._random.randrange(len(chosen))) if chosen else (0, 0)
        return assign(chosen, partitions, replication_factor, start, shift)

    def config(self, name: str) -> dict[str, str]:
        """Return the configuration of a topic, empty if it has none."""
        path = znodes.topic_config(name)
        try:
            return znodes.decode_config(path, self._session.get(path)[0])
        except NoNode:
            return {}

    def alter_config(self, name: str, added: Mapping[str, str], deleted: Iterable[str] = ()) -> None:
        """Change the configuration of a topic, and announce that to the brokers (AdminZkClient.changeTopicConfig).

        Raises:
            KafkaError: the topic does not exist; a name is unknown or a value invalid.
        """
        if self._session.exists(znodes.topic(name)) is None:
            raise KafkaError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"Topic '{name}' does not exist.")
        gone = set(deleted)
        config = {key: value for key, value in {**self.config(name), **added}.items() if key not in gone}
        validate_config(config)
        self._write_config(name, config)
        self._session.create(znodes.config_change(), znodes.encode_config_change(f"topics/{name}"), sequential=True)

    def delete_topic(self, name: str) -> None:
        """Ask the controller to delete a topic.

        Raises:
            KafkaError: the topic does not exist, or is marked for deletion already.
        """
        if self._session.exists(znodes.topic(name)) is None:
            raise KafkaError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"Topic '{name}' does not exist.")
        try:
            self._session.create(znodes.delete_topic(name))
        except NodeExists:
            raise KafkaError(ErrorCode.UNKNOWN_SERVER_ERROR, f"Topic '{name}' is already marked for deletion.") from None

    def _validate(self, name: str, assignment: Mapping[int, Sequence[int]], config: Mapping[str, str]) -> None:
        validate_name(name)
        topics = self._session.children(znodes.TOPICS)
        if name in topics:
            raise _exists(name)
        is_marked = int(self._session.exists(znodes.delete_topic(name)) is not None)
        if not topic_may_be_created(1, is_marked, self._creation_during_deletion):
            raise KafkaError(ErrorCode.TOPIC_ALREADY_EXISTS, f"Topic '{name}' is being deleted; try again later.")
        validate_apart(name, topics)
        if not assignment:
            raise KafkaError(ErrorCode.INVALID_REPLICA_ASSIGNMENT, "The assignment has no partitions.")
        if len({len(replicas) for replicas in assignment.values()}) != 1:
            raise KafkaError(ErrorCode.INVALID_REPLICA_ASSIGNMENT, "All partitions should have the same number of replicas")
        for partition in sorted(assignment):
            validate_list(partition, assignment[partition])
        if sorted(assignment) != list(range(len(assignment))):
            raise KafkaError(
                ErrorCode.INVALID_REPLICA_ASSIGNMENT,
                f"Partitions should be a consecutive 0-based integer sequence, but they are {sorted(assignment)}",
            )
        validate_config(config)

    def _write_config(self, name: str, config: Mapping[str, str]) -> None:
        path, data = znodes.topic_config(name), znodes.encode_config(config)
        try:
            self._session.create(path, data)
        except NodeExists:
            self._session.set(path, data)

    def _topic_id(self) -> str | None:
        """Return a new topic id in Kafka's form; None if this version of the znode has none."""
        if self._version < 3:
            return None
        return text_of(uuid.UUID(int=self._random.getrandbits(128), version=4))


def _exists(name: str) -> KafkaError:
    return KafkaError(ErrorCode.TOPIC_ALREADY_EXISTS, f"Topic '{name}' already exists.")


def check_increase(name: str, topic: znodes.Topic, total: int) -> None:
    """Refuse a number of partitions that is not an increase, and a topic without partition 0.

    Raises:
        KafkaError: one of these.
    """
    if 0 not in topic.partitions:
        raise KafkaError(
            ErrorCode.UNKNOWN_SERVER_ERROR,
            f"Unexpected existing replica assignment for topic '{name}', partition id 0 is missing. "
            f"Assignment: {dict(topic.partitions)}",
        )
    if total <= len(topic.partitions):
        raise KafkaError(
            ErrorCode.INVALID_PARTITIONS,
            "The number of partitions for a topic can only be increased. "
            f"Topic {name} currently has {len(topic.partitions)} partitions, {total} would not be an increase.",
        )


def new_replicas(
    topic: znodes.Topic, total: int, racks: dict[int, str | None], assignment: Mapping[int, Sequence[int]] | None
) -> dict[int, tuple[int, ...]]:
    """Return the replicas of the partitions with which a topic has `total`: those given, or automatic ones on these brokers.

    Raises:
        KafkaError: the replicas given are not valid.
    """
    first, count = topic.partitions[0], len(topic.partitions)
    if assignment is None:
        start = start_for_new_partitions(sorted(racks), first[0])
        return assign(racks, total - count, len(first), start, start, count)
    new = {partition: tuple(assignment[partition]) for partition in sorted(assignment)}
    validate_new(new, range(count, total), len(first), racks)
    return new
