"""The normal form of the control plane's states: what can make no difference any more is equal.

It relies on facts that the properties state: epochs grow, and a broker's leader epoch decreases only with its process
(EpochsNeverGoBack), after which its requests carry an old broker epoch. `check --verify normal_form` proves for a family of faults
that nothing is missed.

A deletion of the topic breaks these facts: its epochs and versions begin again. A StopReplica that is processed late takes effect
under epochs that no request in a channel names. So families with either have no normal form, and a search by it is refused there
(`normal_form_without` of the spec).

Fields that no function here names stay as they are; epochs and versions are found by the names of their domains.
"""

from __future__ import annotations

from kafka_spec.spec.control.bounds import NO_EPOCH
from kafka_spec.spec.control.messages import Kind
from kafka_spec.spec.control.state import Life, World
from kafka_spec.spec.decisions import Checked
from kafka_spec.spec.domain import NO_BROKERS, NONE, assign, excluding, truncate
from kafka_spec.spec.error_codes import ErrorCode
from kafka_spec.spec.gates import answer_to_request
from kafka_spec.spec.table import Constants, Ranks


def is_doomed(s: World, k: Constants, controller: int, broker: int, index: int) -> bool:
    """Whatever happens, the broker will refuse the request, or it is discarded before: what refuses it now only grows.

    A broker that is down will register again under a larger epoch. The controller epoch that a broker knows is lost with its
    process; only if it compares broker epochs does the request not pass after that. A controller may wait for the answer to a
    StopReplica with delete, so its refusal makes a difference.
    """
    request = s.controllers[controller].channels[broker].requests[index]
    node = s.brokers[broker]
    if k.broker_epoch_checked == Checked.NO or request.kind == Kind.STOP_REPLICA_AND_DELETE:
        return False
    if node.life == Life.DOWN:
        return True
    answer = answer_to_request(
        request.controller_epoch,
        node.controller_epoch,
        k.controller_epoch_checked,
        request.broker_epoch,
        node.broker_epoch,
        k.broker_epoch_checked,
    )
    return answer != ErrorCode.NONE


def drop_doomed_requests(s: World, k: Constants) -> None:
    """Drop the requests that are certain to be refused."""
    for controller in range(k.brokers):
        for broker in range(k.brokers):
            kept = 0
            count = len(s.controllers[controller].channels[broker].requests)
            for index in range(count):
                if not is_doomed(s, k, controller, broker, index):
                    if kept < index:
                        assign(
                            s.controllers[controller].channels[broker].requests[kept],
                            s.controllers[controller].channels[broker].requests[index],
                        )
                    kept += 1
                else:
                    forget_doomed(s, controller, broker, index, count)
            truncate(s.controllers[controller].channels[broker].requests, kept)


def forget_doomed(s: World, controller: int, broker: int, index: int, count: int) -> None:
    """Drop with a request what the channel notes of it: that it will be repeated, or that it has not been sent."""
    channel = s.controllers[controller].channels[broker]
    if index == 0:
        channel.repeats = 0
    if index >= count - channel.unsent:
        channel.unsent = channel.unsent - 1


def clear_what_nobody_reads(s: World, k: Constants) -> None:
    """Clear the fields of requests that their receivers will not read, and what a broker knows about itself."""
    for broker in range(k.brokers):
        s.brokers[broker].alive = excluding(s.brokers[broker].alive, broker)
        for controller in range(k.brokers):
            for index in range(len(s.controllers[controller].channels[broker].requests)):
                clear_request(s, k, controller, broker, index)


def clear_request(s: World, k: Constants, controller: int, broker: int, index: int) -> None:
    """Clear the fields of a request that its receiver will not read.

    Only a leader reads ISR, version and controller epoch of a LeaderAndIsr. One that is old will be ignored, unless the replica can
    be deleted, and its leader epoch with it.
    """
    request = s.controllers[controller].channels[broker].requests[index]
    if request.kind == Kind.UPDATE_METADATA:
        request.live = excluding(request.live, broker)
    if request.kind == Kind.LEADER_AND_ISR:
        is_old = request.leader_epoch <= s.brokers[broker].replicas[request.partition].leader_epoch
        if is_old and k.broker_epoch_checked == Checked.YES and k.deletions == 0:
            request.leader = NONE
            request.leader_epoch = NO_EPOCH
        if request.leader != broker:
            request.isr = NO_BROKERS
            request.version = 0
            request.state_epoch = 0


def raise_seen_epochs(s: World, k: Constants) -> None:
    """Raise the controller epoch that a broker has seen as far as it refuses the same requests.

    It is never lowered, so that a step that lowers it is still seen to do so.
    """
    if k.controller_epoch_checked == Checked.YES:
        for broker in range(k.brokers):
            s.brokers[broker].controller_epoch = least_accepted_epoch(s, k, broker)


def least_accepted_epoch(s: World, k: Constants, broker: int) -> int:
    """Return the smallest controller epoch that the broker accepts, of all that a request has or may get; or else the newest."""
    seen = s.brokers[broker].controller_epoch
    least = s.zookeeper.controller_epoch
    for controller in range(k.brokers):
        boss = s.controllers[controller]
        if seen <= boss.epoch and boss.epoch != 0:
            least = min(least, boss.epoch)
        for index in range(len(boss.channels[broker].requests)):
            if seen <= boss.channels[broker].requests[index].controller_epoch:
                least = min(least, boss.channels[broker].requests[index].controller_epoch)
    return least


NORMAL_FORM = (
    drop_doomed_requests,
    clear_what_nobody_reads,
    raise_seen_epochs,
    Ranks(
        "version", newest="zookeeper.partitions[{partition}].state.version", each="partition", told_by="partition", equality=True
    ),
    Ranks("controller epoch", newest="zookeeper.controller_epoch"),
    Ranks(
        "leader epoch",
        newest="zookeeper.partitions[{partition}].state.leader_epoch",
        keep=NO_EPOCH,
        each="partition",
        told_by="partition",
    ),
    Ranks("broker epoch", newest="zookeeper.broker_epochs[{broker}]", each="broker", told_by="follower"),
)
"""The parts of the normal form, in order."""
