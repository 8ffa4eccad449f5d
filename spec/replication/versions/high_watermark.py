"""Kafka up to 0.10: a new follower truncates its log to its own high watermark.

The base of all versions. Its flaw: a follower's high watermark is one fetch behind. So the next leader may have truncated a
committed record (KIP-101, scenario 1), or a follower may keep a record that its leader never had (scenario 2).
"""

from kafka_spec.spec.replication.families import REPLICATION
from kafka_spec.spec.replication.lemmas import LEMMAS
from kafka_spec.spec.replication.properties import PROPERTIES
from kafka_spec.spec.replication.rules import RULES
from kafka_spec.spec.replication.state import REPLICAS, Partition
from kafka_spec.spec.vocabulary.table import Abstraction, Spec, Symmetric, anywhere

SPEC = Spec(
    name="replication/high_watermark",
    summary="Kafka up to 0.10: truncation to the follower's own high watermark",
    state=Partition,
    rules=RULES,
    properties=PROPERTIES,
    lemmas=LEMMAS,
    bound_sets=REPLICATION,
    final=anywhere,  # the last leader may fail, and then nobody has anything to do until there is a next leader epoch
    normal_form=(Symmetric(REPLICAS),),
    reference="KafkaTruncateToHighWatermark.tla (hachikuji/kafka-specification); Kafka 0.10.2",
    abstractions=(
        Abstraction(
            "requests are never removed from the set of those issued",
            "a replica may read any of them at any time, which covers loss, delay, repetition and reordering",
        ),
        Abstraction(
            "a replica reads the log of another at once",
            "a fetch is one step; what a request or an answer in flight could do (zombie fetches, KAFKA-7395) is not covered here",
        ),
        Abstraction(
            "there is one controller, and it never fails",
            "the control plane's models cover controllers, their epochs and their fail-over",
        ),
        Abstraction(
            "a replica never loses records that it wrote",
            "a crashed replica takes no steps; the control plane's models cover the loss of an unflushed suffix",
        ),
        Abstraction(
            "elections are clean: a leader comes from the ISR",
            "unclean elections give up the properties that are checked here",
        ),
    ),
)
