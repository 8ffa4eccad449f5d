"""What the model of the quorum leaves out, and for each why a verdict still counts, or what it does not cover."""

from __future__ import annotations

from kafka_spec.spec.vocabulary.table import Abstraction

ABSTRACTIONS = (
    Abstraction(
        "requests for votes and their answers are not messages: a request is handled while its sender asks, or it is lost",
        "a grant may be counted at any time after; a request that arrives later raises an epoch, which another message may do too",
    ),
    Abstraction(
        "a fetch, its answer and the append are one step, and bring one batch; a fetch may be delayed, and an answer lost",
        "several batches are several fetches, and the leader hears of an append with the next fetch",
    ),
    Abstraction(
        "any node may hear from any other of its epoch and its leader, at any time",
        "all requests but Fetch, and all answers, bring both; an answer that says less is an answer that is lost",
    ),
    Abstraction(
        "a process that ends starts again in the same step",
        "a node that is down is one that nobody hears from; what it sent before is lost, but for one fetch that is delayed",
    ),
    Abstraction(
        "the only voter may stand for election in the next epoch after it has resigned",
        "Kafka's does so when its process starts; one that runs leaves its epoch first; the model has more behaviours",
    ),
    Abstraction("time is not modelled: every timer may end at any time", "bounds limit the epochs, and the resignations"),
    Abstraction(
        "a leader appends the first batch of its epoch in the step in which it wins",
        "it only fetches and votes with an epoch that has no batch, and has won that epoch",
    ),
    Abstraction(
        "a change of the voters and its checks are one step at the leader; the new voter has fetched from this leader once",
        "Kafka asks that it has caught up once, and for an hour's recent fetch, which time decides; the model has more behaviours",
    ),
    Abstraction(
        "a snapshot is the batches that it stands for; fetching it and replacing the log by it are one step",
        "what a follower has of a snapshot is dropped when it leaves its leader, and a newer one is as good; whether the records "
        "in it make the image that they should, `validate` compares in logs of real clusters",
    ),
    Abstraction(
        "each node has the snapshot of its formatting until its log is cut, and a segment goes only with the whole log",
        "a controller that is formatted as an observer has none, and cuts its log one snapshot later; a segment that goes earlier "
        "is a log that begins later, for the process that cut it and for the next one",
    ),
    Abstraction(
        "a disk that is formatted has another directory id: its controller is a new node, and the old one takes no step any more",
        "where voters are records (kraft.version 1) both have one id, which Kafka never takes for the voter; where they are "
        "configured, the controller stays the voter that it was (FormatAgain)",
    ),
    Abstraction(
        "a controller is down, formatted and started again in one step, at which the others follow the leader at its end",
        "a node that is down is one that nobody hears from; that they do so at one moment, two readings of their fetches show",
    ),
    Abstraction(
        "no upgrade of kraft.version, no snapshots where voters are configured",
        "not covered: what Kafka does with them is not judged",
    ),
    Abstraction(
        "a listener hears of a batch as soon as it is below the high watermark; the controller on top is not modelled",
        "not covered: when a controller becomes active, and when it renounces; spec/kraft has this log as one list "
        "(one_list.py), which this model implements",
    ),
)
