"""Known bugs of Kafka's Raft that the model of the quorum does not express, each with what it lacks."""

from __future__ import annotations

from functools import partial

from kafka_spec.spec.case import Case

LAST = "4.4"
"""The last release whose source was read."""

_of_controller = partial(Case, not_expressed="the controller on top of the quorum is not modelled")
_of_time = partial(Case, not_expressed="time is not modelled: every timer may end at any time")
_of_addresses = partial(Case, not_expressed="addresses are not modelled: a node hears from any other")

UNEXPRESSED: tuple[Case, ...] = (
    _of_controller(
        "KAFKA-13104",
        "a controller that gives up after a fault does not resign as leader of the quorum: no controller is active",
        releases=("3.0", "3.0"),
    ),
    _of_controller(
        "KAFKA-13100", "the process of a controller ends that gives up as soon as it has become active", releases=("3.0", "3.0")
    ),
    _of_controller(
        "KAFKA-17608",
        "the process of a controller ends that gives up after a change of the voters was committed",
        releases=None,  # before 3.9.0
    ),
    _of_controller(
        "KAFKA-15345",
        "a controller becomes active before it has read all committed batches of the leaders before it",
        releases=("3.0", "3.5"),
    ),
    _of_controller("KAFKA-16286", "a listener that registers after an election hears of no leader", releases=("3.0", "3.7")),
    _of_time("KAFKA-16144", "the only voter resigns every three seconds, since nobody fetches from it", releases=("3.7", "3.7")),
    _of_time(
        "KAFKA-16531",
        "a leader that is not a voter counts itself in the check of its quorum, and stays without a majority",
        releases=None,  # before 3.9.0
    ),
    _of_time(
        "KAFKA-20895",
        "voters refuse pre-votes after their leader has resigned, until they have waited for a whole fetch time-out",
        releases=("4.0", LAST),
    ),
    _of_time(
        "KAFKA-10677",
        "fetches wait for their time-out at a leader that has resigned",
        releases=None,  # before 2.8
    ),
    _of_addresses(
        "KAFKA-19354", "an observer keeps asking the bootstrap servers, though they name the leader", releases=("3.9", "4.0")
    ),
    _of_addresses("KAFKA-20514", "an observer keeps asking a leader whose address it cannot reach", releases=("3.9", LAST)),
    Case(
        "KAFKA-19850",
        "a voter that is removed while it runs adds itself again (controller.quorum.auto.join.enable)",
        releases=("4.2", LAST),
        not_expressed="an operator asks for each change of the voters; that they want another is not stated",
    ),
    Case(
        "KAFKA-15100",
        "a fetch that waits is answered by another thread, which reads role and log while they change",
        releases=("3.0", "3.5"),
        not_expressed="a fetch is answered in one step",
    ),
    Case(
        "KAFKA-14644",
        "the thread of Raft ends, and its process continues",
        releases=("3.0", "3.4"),
        not_expressed="a node without its thread of Raft is one that nobody hears from; what its broker does is not modelled",
    ),
    Case(
        "KAFKA-10706",
        "epochs without batches stay in the cache after a truncation: leader and follower never agree there",
        releases=None,  # before 2.8
        not_expressed="an epoch begins with a batch, and epochs are read from the log",
    ),
)
