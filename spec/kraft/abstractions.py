"""What the model of KRaft leaves out, and for each why a verdict still counts, or what it does not cover."""

from __future__ import annotations

from kafka_spec.spec.vocabulary.table import Abstraction

ABSTRACTIONS = (
    Abstraction(
        "at most one topic, with one partition; replicas are assigned in ascending order",
        "a batch changes partitions one by one from the same memory; elections of other replicas are other targets",
    ),
    Abstraction(
        "the controller never fails, and a batch is committed at once",
        "nobody sees a success before its batch is committed, and a new controller continues where the log ends; the errors that a "
        "former one answers are a fault of their own",
    ),
    Abstraction(
        "a former controller's log ends with an image that some running broker has not gone beyond",
        "from earlier images it computes the same errors, and the broker that lags may be any",
    ),
    Abstraction(
        "the metadata log is held as images, and without those that all running brokers have gone beyond",
        "a broker folds any number of batches into one delta, and compares only epochs of two images",
    ),
    Abstraction(
        "a heartbeat and its answer are one step with the controller's event",
        "an answer says to a broker only that it may go; it may take its time over the next step",
    ),
    Abstraction(
        "a process starts, registers, and applies the log up to its registration in one step",
        "a starting broker does nothing before; the controller accepts a registration once the session before has ended, which "
        "may be before it fences that",
    ),
    Abstraction(
        "a broker has one log directory that matters, that of its replica; when it has failed, it works again with the next start",
        "a replica that starts empty in another directory is elected once it is assigned there; here that is done when it starts; "
        "a broker that starts while its directory still fails is as one that does not start; a failure is reported before its "
        "broker asks to shut down; a new replica, which would lie in another directory, is created there once the failed one works",
    ),
    Abstraction(
        "while a replica moves to another directory of its broker, none of its directories fails or is taken away; the request to "
        "note the directory and its answer are one step",
        "the future log replaces the log at any later time, so a late answer is covered; left out is a broker that reads of the "
        "future log's directory in the metadata, and has the controller note that of its log again",
    ),
    Abstraction(
        "time is not modelled: the environment decides when a session ends and when a follower counts as slow",
        "fences of running brokers and removals of slow followers are bounded; one whose process has ended is fenced in the end",
    ),
    Abstraction(
        "the high watermark waits for the maximal ISR alone",
        "a leader also waits, for a time, for caught-up followers that could join; that only delays it (KAFKA-15021 is about this)",
    ),
    Abstraction(
        "fetch, answer and append are one step of follower and leader, except for fetches that are delayed on the network; a fetch "
        "brings one record",
        "several records are several fetches; the leader knows of an append with the next fetch, and the follower of a new high "
        "watermark, since a leader reads before it learns",
    ),
    Abstraction(
        "a leader epoch without records is not in the epoch cache, and log start offsets are left out",
        "an entry without records ends where it starts: it costs one more round of truncation, which truncates nothing",
    ),
    Abstraction(
        "a client's write does not say acks",
        "a record below the high watermark is what acks=all acknowledges and what consumers read; a refused write is not a step",
    ),
    Abstraction(
        "after a crash the high watermark is 0, after an orderly stop it is kept",
        "its checkpoint may be arbitrarily old; the oldest is the worst case",
    ),
    Abstraction(
        "a proposal whose sender's process has ended may still be answered, until that broker registers again",
        "then the broker epoch of the request is outdated, and it is refused as a whole",
    ),
)
