"""The versions of the control plane: `fixed`, the eras of Kafka, and each bug as a switch on `fixed`.

`fixed` is Kafka 2.8 at inter.broker.protocol 2.6, which writes the ISR through ZooKeeper, with the fix of every listed bug. A bug is
one decision of `k` set otherwise (or one rule more); an era is a list of such switches.
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from spec.bounds import CONTROL
from spec.control import broker, controller, environment
from spec.control.decisions import (
    BadVersion,
    Checked,
    ControllerElection,
    DeadReplicas,
    EpochWatch,
    FollowerSkip,
    GivingUp,
    LastIsrMember,
    ShrinkRecipients,
    ShutdownRecipients,
    StopReplicaEpoch,
    SuffixLoss,
    Truncation,
)
from spec.control.properties import GOALS, SAFETY
from spec.control.state import CONTROLLER, REPLICAS, ROLE, SETTLED, UNCLEAN, World
from spec.partition import PARTITION
from spec.replica import REPLICA, REPLICA_0_10
from spec.table import Abstraction, Decision, Machine, Rule, Spec


def bound_to(machine: Machine) -> Machine:
    """Return a table with its guards and effects bound to the controller's functions of those names."""
    functions: dict[str, Callable[..., Any]] = {n: f for n, f in vars(controller).items() if callable(f)}
    return machine.bind(functions)


FIXED = Spec(
    "control/fixed",
    "Kafka 2.8 with the ISR in ZooKeeper, and the fix of every bug that is known",
    World,
    rules=(*controller.RULES, *broker.RULES, *environment.RULES),
    properties=(*SAFETY, *GOALS),
    start=environment.START,
    more_bounds=(REPLICAS, UNCLEAN, SETTLED),
    decisions=(
        Decision("controller_writes_fenced", Checked.YES, "a controller's writes check /controller_epoch (2.1, KAFKA-6082)"),
        Decision("controller_election", ControllerElection.ONE_MULTI, "how a broker becomes the controller"),
        Decision("giving_up", GivingUp.FENCED, "how a controller that gives up deletes /controller"),
        Decision("epoch_watch", EpochWatch.IGNORED, "what an old controller does when /controller_epoch changes"),
        Decision("controller_epoch_checked", Checked.YES, "brokers refuse requests of older controllers (0.8, KAFKA-532)"),
        Decision("broker_epoch_checked", Checked.YES, "brokers refuse requests for earlier registrations (2.2, KIP-380)"),
        Decision("bounces_noticed", Checked.YES, "controllers compare broker epochs, not only ids (2.2, KAFKA-7235)"),
        Decision("dead_replicas", DeadReplicas.TAKEN_OFFLINE, "what a new controller does with dead replicas"),
        Decision("last_isr_member", LastIsrMember.KEPT, "what becomes of the last member of an ISR"),
        Decision("shrink_recipients", ShrinkRecipients.ALL_REPLICAS, "who is told of a dead replica's removal"),
        Decision("shutdown_recipients", ShutdownRecipients.LIVE_OR_STOPPING, "who is told of an election in a shutdown"),
        Decision("stop_replica_epoch", StopReplicaEpoch.AT_LEAST, "which leader epoch lets a StopReplica stop"),
        Decision("bad_version", BadVersion.READ_BACK, "what a leader does when its ISR write meets another version"),
        Decision("isr_candidates_alive", Checked.YES, "a leader takes only alive brokers into the ISR (3.3)"),
        Decision("join_needs_epoch_start", Checked.YES, "joining the ISR needs the start of the epoch (2.0.1, KAFKA-7128)"),
        Decision("fetches_fenced", Checked.YES, "a leader compares the follower's leader epoch (2.1, KIP-320)"),
        Decision("fetch_generation_checked", Checked.YES, "a leader compares the fetcher's broker epoch (KIP-903)"),
        Decision("truncation", Truncation.DIVERGENCE, "where a new follower truncates"),
        Decision("follower_skip", FollowerSkip.SAME_EPOCH, "when a follower leaves log and fetcher alone"),
        Decision("suffix_loss", SuffixLoss.OTHERS_HOLD, "when a crash may lose the end of a log"),
    ),
    machines=(bound_to(PARTITION), bound_to(REPLICA), CONTROLLER, ROLE),
    bound_sets=CONTROL,
    unreachable_rules=("CreateControllerZnode", "IncrementControllerEpoch", "AdoptEpoch"),
    cites="facts about Apache Kafka 2.8.2 at inter.broker.protocol 2.6",
)
