"""What the control plane's model leaves out, and for each why a verdict still counts, or what it does not cover.

Every report prints it. The bounds of an exploration are not part of it.
"""

from __future__ import annotations

from kafka_spec.spec.vocabulary.table import Abstraction

ABSTRACTIONS = (
    Abstraction(
        "one topic with one or two partitions, created on the first brokers in ascending order, and each reassigned to one or two",
        "a controller handles partitions one by one; they share the channels, the topic's deletion and what hinders a rebalance",
    ),
    Abstraction(
        "a request that is about two partitions is two requests, which are sent together and arrive one after the other",
        "of each request a broker takes or refuses each partition by itself, but for the epochs of controller and broker, which "
        "are equal in both. Only the model can handle a request of another controller between them, and repeat or lose one of "
        "them; for each partition by itself Kafka can do that, too. Both are repeated only if two requests may be repeated, as in "
        "the families partitions_repeated and partitions_deleted_repeated",
    ),
    Abstraction(
        "a controller sends the batches of 2.8: what one change of states collects, at its end; so also up to 0.10",
        "there a controlled shutdown and a rebalance send for each partition by itself: two batches, with a write between them",
    ),
    Abstraction(
        "the leader writes the ISR to ZooKeeper, as at inter.broker.protocol 2.6; AlterPartition (2.7 and later) is not modelled",
        "what the controller refuses there is missing: from 3.3 on an ISR with a broker that is gone or shuts down (KAFKA-14140)",
    ),
    Abstraction(
        "a crash ends the session at once",
        "a dead broker that is still registered is modelled as a live one that takes no steps before its crash",
    ),
    Abstraction(
        "UpdateMetadata is sent when the live brokers change, before the LeaderAndIsr of that event, and carries nothing else",
        "brokers use only its live brokers, and a repeated list changes nothing; an election names a leader of both lists",
    ),
    Abstraction(
        "a request that is in flight when its sender's process ends is lost",
        "a request that is processed later could have been processed before the crash; a sender without a session keeps sending",
    ),
    Abstraction(
        "a controller performs all reads at the beginning of an event in one step",
        "a change between two of its reads is found by the next event",
    ),
    Abstraction(
        "a controller without a session can still write to ZooKeeper until the end of its event",
        "2.8's client does not allow this; so the checks of /controller_epoch alone must stop such writes",
    ),
    Abstraction(
        "a read and a conditional write that is repeated until it succeeds are one step",
        "the successful write replaced the content that was read; an ISR write uses a version read earlier, which is compared",
    ),
    Abstraction(
        "fetch, answer and append are one step of follower and leader, except for fetches that are delayed on the network",
        "a leader records a follower's log end with its next fetch; here the step that advances the high watermark may be as late",
    ),
    Abstraction(
        "answers to fetches of more than one record, and more than one late answer",
        "the fetcher of a follower has one request in flight to its leader, and appends what one answer brings at once",
    ),
    Abstraction(
        "a new session and the registration under it are one step",
        "between the two a broker may write an ISR; the registration then makes the controller elect once more",
    ),
    Abstraction("after a restart the high watermark is 0", "its checkpoint may be arbitrarily old; the oldest is the worst case"),
    Abstraction(
        "removals of slow followers from the ISR are bounded; removals of followers whose process or fetcher stopped are not",
        "time is not modelled: the environment decides when a follower counts as slow",
    ),
    Abstraction(
        "answers to requests but for deletions of a topic, isNew, log directories and the contents of metadata are left out",
        "the controller acts on other answers only for failed log directories, which are not modelled",
    ),
    Abstraction(
        "a broker's cache lists the topic with its LeaderAndIsr, and drops it with the deletion mark of an UpdateMetadata",
        "the UpdateMetadata that comes with each LeaderAndIsr changes nothing else that is modelled",
    ),
    Abstraction(
        "an operator adds one partition, on the brokers from a first one on; the tool's read and its write are one step",
        "the assignment does not matter to the properties; a write that overwrites a new reassignment is not modelled",
    ),
    Abstraction(
        "the controller's timer for automatic rebalance is an event of the environment",
        "time is not modelled; what it elects is decided by the controller's memory at that moment",
    ),
    Abstraction(
        "the znodes under that of a topic are deleted in one step for each partition, before it",
        "the state znode is the only one of them with content",
    ),
    Abstraction(
        "a controller holds one answer of each broker to a StopReplica with delete, the last",
        "a replica is asked again only after its answer was handled or dropped with its connection",
    ),
    Abstraction(
        "a broker fails to delete only a replica that it hosts, or records that it holds",
        "Kafka can also fail where nothing, or a log without records, is left: while another log directory is offline. Without "
        "this limit `fixed` satisfies its properties in the families of failed deletions, too; with it DeletedTopicsGo "
        "distinguishes a late answer from a new failure",
    ),
)
