"""The two operations that can wait at a broker: a produce with acks=all, and a fetch.

Source: Kafka 2.8 DelayedProduce.scala, DelayedFetch.scala.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from kafka_spec.impl.protocol.data_requests import Fetched, FetchRequest, Produced
from kafka_spec.impl.protocol.errors import ErrorCode
from kafka_spec.impl.protocol.topic_partition import TopicPartition


@dataclass
class DelayedProduce:
    """A produce that waits until the high watermark has reached the `required` offset of each partition.

    `done` holds the answers known so far; `reached` returns a partition's answer, None while it has to wait.
    """

    deadline: int
    done: dict[TopicPartition, Produced]
    required: dict[TopicPartition, int]
    reached: Callable[[TopicPartition, int], ErrorCode | None]
    reply: Callable[[Mapping[TopicPartition, Produced]], object]

    def is_ready(self) -> bool:
        """Return whether all partitions have an answer; a partition's first answer is final (tryComplete)."""
        for partition, offset in list(self.required.items()):
            code = self.reached(partition, offset)
            if code is not None:
                del self.required[partition]
                if code != ErrorCode.NONE:
                    self.done[partition] = Produced(code)
        return not self.required

    def complete(self) -> None:
        """Answer; partitions that still wait have timed out."""
        for partition in self.required:
            self.done[partition] = Produced(ErrorCode.REQUEST_TIMED_OUT)
        self.reply(self.done)


@dataclass
class DelayedFetch:
    """A fetch that waits until there is enough to read, or a partition is refused.

    `read` reads without a change to the broker; `enough` returns whether the result must be answered.
    """

    deadline: int
    request: FetchRequest
    read: Callable[[FetchRequest], Mapping[TopicPartition, Fetched]]
    enough: Callable[[FetchRequest, Mapping[TopicPartition, Fetched]], bool]
    reply: Callable[[Mapping[TopicPartition, Fetched]], object]

    def is_ready(self) -> bool:
        """Return whether there is enough, or an error (tryComplete)."""
        return self.enough(self.request, self.read(self.request))

    def complete(self) -> None:
        """Answer with what can be read now."""
        self.reply(self.read(self.request))
