"""Random operations of a run of KRaft: what operators request of the controller while clients work and faults happen.

The operations, their names and how often they happen are those of impl/run/operations.py.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from random import Random

from kafka_spec.impl.log import batches
from kafka_spec.impl.protocol.data_requests import ProduceRequest
from kafka_spec.impl.protocol.errors import KafkaError
from kafka_spec.impl.protocol.topic_ids import text_of
from kafka_spec.impl.protocol.topic_partition import TopicPartition
from kafka_spec.impl.run.kraft.world import KRaftWorld
from kafka_spec.impl.run.operations import KRAFT_OPERATIONS, LARGEST, MOVE, NAMES, PATIENCE, RECORDS, UNREGISTER, record_of
from kafka_spec.impl.run.options import TOPIC, Options
from kafka_spec.impl.run.tasks import RemoteCall, Sleep, Task
from kafka_spec.spec.language.domain import NONE

UNREGISTERED = 4.0
"""The longest time, in seconds, for which a broker runs that was unregistered."""


class KRaftOperators:
    """The operators of a world, until they are stopped."""

    def __init__(self, world: KRaftWorld, options: Options, random: Random) -> None:
        self.stopped = False
        self._world = world
        self._options = options
        self._random = random
        self._generations: Counter[str] = Counter()
        self._process = world.process("operators")
        self._do: dict[str, Callable[[], bool]] = {
            "reassign": self._reassign,
            "cancel": self._cancel,
            "create": self._create,
            "delete": self._delete,
            "grow": self._grow,
            MOVE: self._move,
            UNREGISTER: self._unregister,
        }

    def begin(self) -> None:
        """Start the operations."""
        for name in self._options.operations:
            self._process.spawn(self._again_and_again(name, KRAFT_OPERATIONS[name].every))

    def _again_and_again(self, name: str, every: float) -> Task:
        while True:
            yield Sleep(self._random.uniform(0.5, 1.5) * every)
            if self.stopped:
                return
            try:
                if self._do[name]():
                    self._world.observer.operations[name] += 1
            except KafkaError as error:
                self._tell(f"{name}: {error.code.name}: {error}")

    def _tell(self, text: str) -> None:
        self._world.observer.tell(f"operator: {text}")

    # Operations

    def _partitions(self) -> list[TopicPartition]:
        return sorted(self._world.cluster.controller.image.partitions)

    def _topics(self) -> list[str]:
        return sorted({partition.topic for partition in self._partitions() if partition.topic in NAMES})

    def _some(self) -> tuple[int, ...]:
        numbers = self._world.numbers
        return tuple(self._random.sample(numbers, self._random.randint(1, min(self._options.replication_factor, len(numbers)))))

    def _reassign(self) -> bool:
        topic = self._random.choice([TOPIC, *self._topics()])
        partition = self._random.choice([one for one in self._partitions() if one.topic == topic])
        target = self._some()
        self._tell(f"{partition} moves to {','.join(map(str, target))}")
        self._world.reassign(partition, target)
        return True

    def _cancel(self) -> bool:
        held = self._world.cluster.controller.image.partitions
        moving = [partition for partition in self._partitions() if held[partition].adding or held[partition].removing]
        for partition in moving:
            self._tell(f"the reassignment of {partition} is cancelled")
            self._world.reassign(partition, None)
        return bool(moving)

    def _create(self) -> bool:
        free = [name for name in NAMES if name not in self._topics()]
        if not free:
            return False
        name, count = self._random.choice(free), self._random.randint(1, 3)
        self._world.create_topic(name, {number: self._some() for number in range(count)})
        self._generations[name] += 1
        self._tell(f"topic {name} is created with {count} partitions")
        self._process.spawn(self._fill(name, self._generations[name], count))
        return True

    def _delete(self) -> bool:
        topics = self._topics()
        if topics:
            name = self._random.choice(topics)
            self._tell(f"topic {name} is deleted")
            self._world.delete_topic(name)
        return bool(topics)

    def _grow(self) -> bool:
        counts = Counter(partition.topic for partition in self._partitions() if partition.topic in NAMES)
        small = sorted(name for name, count in counts.items() if count < LARGEST)
        if small:
            name = self._random.choice(small)
            self._tell(f"topic {name} grows to {counts[name] + 1} partitions")
            self._world.add_partitions(name, {counts[name]: self._some()})
        return bool(small)

    def _move(self) -> bool:
        """Move a replica, unless its broker is down or moves it already."""
        number = self._random.choice(self._world.numbers)
        node = self._world.nodes.get(number)
        hosted = [] if node is None else sorted(node.broker.replicas.partitions)
        if node is None or not hosted:
            return False
        partition = self._random.choice(hosted)
        moves = node.broker.move(partition)
        if moves:
            self._tell(f"broker {number} moves {partition} to its other log directory")
        return moves

    def _unregister(self) -> bool:
        """Unregister a broker, running or not, if it is registered."""
        number = self._random.choice(self._world.numbers)
        if number not in self._world.cluster.controller.image.brokers:
            return False
        self._tell(f"broker {number} is unregistered")
        self._world.unregister(number, self._random.uniform(0.5, UNREGISTERED))
        return True

    def _fill(self, name: str, generation: int, count: int) -> Task:
        """Write a few records to a new topic, as long as it is of this generation."""
        for number in range(RECORDS * count):
            yield Sleep(self._random.uniform(0.2, 0.6))
            partition = TopicPartition(name, number % count)
            held = self._world.cluster.controller.image.partitions.get(partition)
            if held is None or self._generations[name] != generation:
                return
            if held.leader != NONE and held.leader in self._world.nodes:
                value = record_of(name, generation, number)
                batch = bytes(batches.build([(self._world.milliseconds, None, value.encode())]))
                request = ProduceRequest(1, {partition: batch}, int(PATIENCE * 1000), {name: text_of(held.topic_id)})
                yield RemoteCall(held.leader, request, PATIENCE)
