"""The normal form of the control plane's states: what can make no difference any more is equal.

It relies on facts that the properties state: epochs grow, and a broker's leader epoch decreases only with its process
(EpochsNeverGoBack), after which its requests carry an old broker epoch. `check --verify normal_form` proves for a family of faults
that nothing is missed.

A deletion of the topic breaks these facts: its epochs and versions begin again. A StopReplica that is processed late takes effect
under epochs that no request in a channel names. So families with either have no normal form, and a search by it is refused there
(`normal_form_without` of the spec).

Fields that no function here names stay as they are; epochs and versions are found by the names of their domains.

One kind of state has no normal form among those that a search finds, and `--verify normal_form` reports it: where a connection
breaks before a request that is dropped here is refused, only the count of such faults is left. Whatever happens then can happen
without the fault, too, since a count does nothing but limit. So no violation is missed.
"""

from __future__ import annotations

from kafka_spec.spec.decisions.fencing import answer_to_request
from kafka_spec.spec.decisions.variants import Checked, EpochWatch
from kafka_spec.spec.error_codes import ErrorCode
from kafka_spec.spec.language.domain import NO_BROKERS, NONE, assign, excluding, pop_first, truncate
from kafka_spec.spec.vocabulary.table import Constants, Ranks
from kafka_spec.spec.zookeeper.bounds import NO_EPOCH
from kafka_spec.spec.zookeeper.broker.leader_and_isr import broker_is_named_leader, leader_and_isr_is_old, named_leader_is_alive
from kafka_spec.spec.zookeeper.broker.requests import partition_of_request, replica_may_be_stopped, see_controller_epoch
from kafka_spec.spec.zookeeper.machines import Role
from kafka_spec.spec.zookeeper.messages import Kind
from kafka_spec.spec.zookeeper.network import a_request_is_sent
from kafka_spec.spec.zookeeper.state import Life, World


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


def is_idle(s: World, k: Constants, controller: int, broker: int) -> bool:
    """The first request of a channel changes nothing but the channel, whenever it is received; so it is taken at once.

    Its receiver has seen its controller epoch, or no older controller acts. What the request is about changes at its receiver only
    with a request of a newer controller, after which this one is refused, or with its process. A request that may still be sent
    twice waits, since so may the next one.
    """
    channel = s.controllers[controller].channels[broker]
    if not a_request_is_sent(s, controller, broker) or channel.repeats == 1 or s.spent.repeats < k.repeats:
        return False
    request, node = channel.requests[0], s.brokers[broker]
    if k.controller_epoch_checked == Checked.NO or k.broker_epoch_checked == Checked.NO or k.epoch_watch != EpochWatch.IGNORED:
        return False
    if an_older_controller_acts(s, k, node.controller_epoch, request.controller_epoch):
        return False
    if request.kind == Kind.UPDATE_METADATA:
        return not reads_alive(k, broker) or excluding(node.alive, broker) == excluding(request.live, broker)
    if request.kind == Kind.LEADER_AND_ISR:
        return not the_lock_may_be_held(s, k, controller, broker) and not leader_and_isr_is_taken(s, controller, broker)
    return request.kind == Kind.STOP_REPLICA and not stop_replica_is_taken(s, k, controller, broker)


def the_lock_may_be_held(s: World, k: Constants, controller: int, broker: int) -> bool:
    """A LeaderAndIsr has to wait for the answer to an ISR write of the leader, or the leader may still come to miss an answer."""
    replica = s.brokers[broker].replicas[partition_of_request(s, controller, broker)]
    return replica.written != NO_BROKERS or (replica.role == Role.LEADER and s.spent.lost_replies < k.lost_replies)


def an_older_controller_acts(s: World, k: Constants, seen: int, epoch: int) -> bool:
    """A controller acts under an older epoch that is not older than what a broker has seen.

    Without the second the answer would change once the epoch that the broker has seen is raised: a form would have another form.
    """
    for controller in range(k.brokers):
        if s.controllers[controller].epoch != 0 and seen <= s.controllers[controller].epoch < epoch:
            return True
    return False


def reads_alive(k: Constants, broker: int) -> bool:
    """The broker may have a replica, for which it reads which brokers are alive."""
    return broker < k.replicas or k.reassignments > 0


def leader_and_isr_is_taken(s: World, controller: int, broker: int) -> bool:
    """The broker would lead or follow at the first request of the channel, a LeaderAndIsr."""
    if leader_and_isr_is_old(s, controller, broker):
        return False
    return broker_is_named_leader(s, controller, broker) or named_leader_is_alive(s, controller, broker)


def stop_replica_is_taken(s: World, k: Constants, controller: int, broker: int) -> bool:
    """The broker would stop its fetcher at the first request of the channel, a StopReplica; not if the fetcher does not run."""
    partition = partition_of_request(s, controller, broker)
    return s.brokers[broker].replicas[partition].fetching == 1 and replica_may_be_stopped(s, k, controller, broker)


def bring_channels_into_form(s: World, k: Constants) -> None:
    """Drop the requests that will change nothing, and clear what the receivers of the others will not read."""
    for controller in range(k.brokers):
        for broker in range(k.brokers):
            if len(s.controllers[controller].channels[broker].requests) > 0:
                drop_doomed_requests(s, k, controller, broker)
                take_idle_requests(s, k, controller, broker)
                clear_requests(s, k, controller, broker)


def drop_doomed_requests(s: World, k: Constants, controller: int, broker: int) -> None:
    """Drop the requests of a channel that are certain to be refused."""
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
    if kept < count:
        truncate(s.controllers[controller].channels[broker].requests, kept)


def forget_doomed(s: World, controller: int, broker: int, index: int, count: int) -> None:
    """Drop with a request what the channel notes of it: that it will be repeated, or that it has not been sent."""
    channel = s.controllers[controller].channels[broker]
    if index == 0:
        channel.repeats = 0
    if index >= count - channel.unsent:
        channel.unsent = channel.unsent - 1


def take_idle_requests(s: World, k: Constants, controller: int, broker: int) -> None:
    """Take the first requests of a channel as long as they change nothing but the newest controller epoch that is seen."""
    for _ in range(len(s.controllers[controller].channels[broker].requests)):
        if is_idle(s, k, controller, broker):
            see_controller_epoch(s, controller, broker)
            pop_first(s.controllers[controller].channels[broker].requests)
        else:
            break


def clear_requests(s: World, k: Constants, controller: int, broker: int) -> None:
    """Clear the fields of the requests of a channel that their receiver will not read."""
    for index in range(len(s.controllers[controller].channels[broker].requests)):
        clear_request(s, k, controller, broker, index)


def clear_request(s: World, k: Constants, controller: int, broker: int, index: int) -> None:
    """Clear the fields of a request that its receiver will not read.

    Only a leader reads ISR, version and controller epoch of a LeaderAndIsr. One that is old will be ignored, unless the replica can
    be deleted, and its leader epoch with it.
    """
    request = s.controllers[controller].channels[broker].requests[index]
    if request.kind == Kind.UPDATE_METADATA:
        request.live = excluding(request.live, broker) if reads_alive(k, broker) else NO_BROKERS
    if request.kind == Kind.LEADER_AND_ISR:
        is_old = request.leader_epoch <= s.brokers[broker].replicas[request.partition].leader_epoch
        if is_old and k.broker_epoch_checked == Checked.YES and k.deletions == 0:
            request.leader = NONE
            request.leader_epoch = NO_EPOCH
        if request.leader != broker:
            request.isr = NO_BROKERS
            request.version = 0
            request.state_epoch = 0


def clear_what_brokers_do_not_read(s: World, k: Constants) -> None:
    """Clear what a broker knows of itself; and raise the controller epoch that it has seen to that of the first controller.

    A broker without a replica does not read which brokers are alive.
    """
    for broker in range(k.brokers):
        node = s.brokers[broker]
        node.alive = excluding(node.alive, broker) if reads_alive(k, broker) else NO_BROKERS
        node.controller_epoch = max(node.controller_epoch, min(1, s.zookeeper.controller_epoch))


SEEN_AND_WRITTEN = ("brokers[].controller_epoch", "state.controller_epoch", "leadership.controller_epoch", "state_epoch")
"""Epochs of which it only matters which controllers are older: a broker refuses their requests, and they do not write over a state.

They are never lowered, so that a step that lowers one is still seen to do so.
"""

NORMAL_FORM = (
    bring_channels_into_form,
    clear_what_brokers_do_not_read,
    Ranks(
        "version", newest="zookeeper.partitions[{partition}].state.version", each="partition", told_by="partition", equality=True
    ),
    Ranks("controller epoch", newest="zookeeper.controller_epoch", limits=SEEN_AND_WRITTEN),
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
