"""The operators of a run with ZooKeeper: random operations, and the commands of a script."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from random import Random

from kafka_spec.impl.log import batches
from kafka_spec.impl.protocol.data_requests import ProduceRequest
from kafka_spec.impl.protocol.errors import KafkaError
from kafka_spec.impl.protocol.topic_partition import TopicPartition
from kafka_spec.impl.run.operations import LARGEST, NAMES, OPERATIONS, PATIENCE, RECORDS, record_of
from kafka_spec.impl.run.options import TOPIC, Options, ScriptLine
from kafka_spec.impl.run.tasks import RemoteCall, Sleep, Task
from kafka_spec.impl.run.zookeeper.admin_tasks import AdminTool, Steps
from kafka_spec.impl.run.zookeeper.admin_words import begun
from kafka_spec.impl.run.zookeeper.world import RunWorld
from kafka_spec.impl.zookeeper.coordination import znodes
from kafka_spec.impl.zookeeper.coordination.admin import Admin
from kafka_spec.impl.zookeeper.coordination.interface import CoordinationError, NoNode
from kafka_spec.spec.decisions.variants import Reassignment


class RunOperators:
    """The operators of a world, until they are stopped.

    `generations` counts how often each topic was created; `moved` has those that were reassigned, each with its generation.
    """

    def __init__(self, world: RunWorld, options: Options, random: Random) -> None:
        self.stopped = False
        self.generations: dict[str, int] = {}
        self.moved: set[tuple[str, int]] = set()
        self._world = world
        self._options = options
        self._random = random
        self._through_zookeeper = world.cluster.era.constants({}).reassignment != Reassignment.KIP_455
        self._do: dict[str, Callable[[], Steps | None]] = {
            "reassign": self._reassign,
            "cancel": self._cancel,
            "create": self._create,
            "delete": self._delete,
            "grow": self._grow,
        }

    def begin(self) -> None:
        """Start the operations and the script."""
        tools = self._world.cluster.tools
        version = 1 if self._through_zookeeper else 3
        self._session = tools
        self._tool = AdminTool(Admin(tools, self._random, lambda _: None, version), tools, lambda _: None)
        self._process = self._world.process("operators")
        for name in self._options.operations:
            self._process.spawn(self._again_and_again(name, OPERATIONS[name].every))
        for line in self._options.script:
            self._process.spawn(self._scripted(line))

    def _again_and_again(self, name: str, every: float) -> Task:
        while True:
            yield Sleep(self._random.uniform(0.5, 1.5) * every)
            if self.stopped:
                return
            yield from self._attempt(name, self._do[name])

    def _attempt(self, name: str, begin: Callable[[], Steps | None]) -> Task:
        """Do an operation; what Kafka refuses, or what meets a lost connection, is over."""
        try:
            steps = begin()
            if steps is not None:
                yield from steps
                self._world.observer.operations[name] += 1
        except (KafkaError, CoordinationError) as error:
            self._world.observer.tell(f"operator: {name}: {error}")

    def _scripted(self, line: ScriptLine) -> Task:
        yield Sleep(line.at)
        observer = self._world.observer
        observer.tell(f"operator: {line.words}")
        tool = AdminTool(self._tool.admin, self._session, lambda text: observer.tell(f"  {text}"))
        yield from self._attempt(line.words.split()[0], lambda: begun(line.options, tool))

    def _tell(self, text: str) -> None:
        self._world.observer.tell(f"operator: {text}")

    # Operations

    def _topics(self) -> list[str]:
        return [name for name in self._session.children(znodes.TOPICS) if name in NAMES]

    def _partitions(self, topic: str) -> Sequence[int]:
        return sorted(znodes.Topic.decode(topic, self._session.get(znodes.topic(topic))[0]).partitions)

    def _some(self, most: int) -> tuple[int, ...]:
        numbers = self._world.numbers
        return tuple(self._random.sample(numbers, self._random.randint(1, min(most, len(numbers)))))

    def _reassign(self) -> Steps | None:
        topic = self._random.choice([TOPIC, *self._topics()])
        partition = TopicPartition(topic, self._random.choice(self._partitions(topic)))
        target = self._some(self._options.replication_factor)
        through = self._through_zookeeper or self._random.random() < 0.3
        self._tell(f"{partition} moves to {','.join(map(str, target))}{' through ZooKeeper' if through else ''}")
        self.moved.add((topic, self.generations.get(topic, 0)))
        return self._tool.execute({partition: target}, through)

    def _cancel(self) -> Steps | None:
        if self._through_zookeeper:
            return None
        every = [TopicPartition(topic, n) for topic in self._session.children(znodes.TOPICS) for n in self._partitions(topic)]
        self._tell("all reassignments are cancelled")
        return self._tool.cancel(every)

    def _create(self) -> Steps | None:
        free = [name for name in NAMES if name not in self._topics()]
        if not free:
            return None
        name = self._random.choice(free)
        return self._created(name)

    def _created(self, name: str) -> Steps:
        count = self._random.randint(1, 3)
        factor = len(self._some(self._options.replication_factor))
        yield from self._tool.create(name, count, factor, None, {})
        self.generations[name] = self.generations.get(name, 0) + 1
        self._tell(f"topic {name} is created with {count} partitions")
        self._process.spawn(self._fill(name, self.generations[name], count))

    def _delete(self) -> Steps | None:
        topics = self._topics()
        if not topics:
            return None
        name = self._random.choice(topics)
        self._tell(f"topic {name} is deleted")
        return self._tool.delete(name)

    def _grow(self) -> Steps | None:
        topics = [name for name in self._topics() if len(self._partitions(name)) < LARGEST]
        if not topics:
            return None
        name = self._random.choice(topics)
        total = len(self._partitions(name)) + 1
        self._tell(f"topic {name} grows to {total} partitions")
        return self._tool.add_partitions(name, total, None)

    def _fill(self, name: str, generation: int, count: int) -> Task:
        """Write a few records to a new topic, as long as it is of this generation."""
        for number in range(RECORDS * count):
            yield Sleep(self._random.uniform(0.2, 0.6))
            partition = TopicPartition(name, number % count)
            try:
                if self.generations[name] != generation:
                    return
                leader = znodes.State.decode(partition, self._session.get(znodes.state(partition))[0]).leader
            except NoNode:
                continue
            except CoordinationError:
                return
            if leader in self._world.nodes:
                value = record_of(name, generation, number)
                batch = bytes(batches.build([(int(self._world.clock() * 1000), None, value.encode())]))
                yield RemoteCall(leader, ProduceRequest(1, {partition: batch}, int(PATIENCE * 1000)), PATIENCE)
