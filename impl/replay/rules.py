"""What the implementation does where the model takes a step: one function for each rule, which calls its own methods.

None of them looks at what the model makes of it. Where the model says that somebody notices something, what it notices is put
before the controller as an event; where it says that something arrives, it is handed over; the rest is the implementation's.
A step of a controller goes on up to where it next reads the state znode, or to the end of the event.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from random import Random

from impl import znodes
from impl.admin import Admin
from impl.broker import Broker
from impl.controller import Changed, Controller, ElectPreferred, Event, ShutDown
from impl.coordination.memory import Loss
from impl.data_requests import Fetched, FetchRequest, OffsetsForLeaderEpochRequest
from impl.errors import Code, KafkaError
from impl.isr import IsrWrite
from impl.log.log import PartitionLog
from impl.replay.agenda import is_due
from impl.replay.brokers import batch_of
from impl.replay.controllers import told_live
from impl.replay.ensemble import ModelSession
from impl.replay.projection import Projection
from impl.replay.requests import P
from impl.requests import LeaderAndIsrRequest, Request, StopReplicaRequest, UpdateMetadataRequest
from spec.control.decisions import Checked
from spec.control.state import NO_EPOCH, Role, Stale

STEPS: dict[str, Callable[..., None]] = {}
"""By the name of the rule."""


def step_of(*rules: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Say which rules a function does the step of."""

    def told(function: Callable[..., None]) -> Callable[..., None]:
        STEPS.update(dict.fromkeys(rules, function))
        return function

    return told


def do(projection: Projection, rule: str, binding: Mapping[str, int]) -> None:
    """Have the implementation do the step of a rule.

    Raises:
        NotEnabled: the implementation refuses to do anything of the kind.
    """
    projection.clock += LONG
    STEPS[rule](projection, **binding)


class NotEnabled(Exception):  # noqa: N818 - says what happened
    """There is nothing to do of that kind, as the implementation sees it."""


def refuses(projection: Projection, rule: str, binding: Mapping[str, int]) -> bool:
    """Whether the implementation does not do this step of the model, and why: it is stricter here than the model.

    ExpandIsr: since it compares the broker epoch of a fetch with the one that is registered (KIP-903), a follower whose session
    is over, so that it is not registered, cannot join the ISR. The model compares it for a fetch that waited on the network alone.
    """
    if rule != "ExpandIsr" or projection.k.fetch_generation_checked == Checked.NO:
        return False
    return projection.ensemble.find(znodes.broker(binding["follower"])) is None


LONG = 1_000_000
"""More milliseconds than any timeout: a step begins when what happened before is long ago."""

# ---------------------------------------------------------------------------------------------------------------------
# Controllers


def go_on(controller: Controller) -> None:
    """Let a controller work up to its next look at the state znode, or the end of the event."""
    while controller.agenda and not is_due(controller.agenda[0]):
        controller.step()


def hear(controller: Controller, event: Event) -> None:
    """Let a controller hear of something next, and begin with it."""
    if event in controller.events:
        controller.events.remove(event)
    controller.events.appendleft(event)
    controller.step()


def handle(controller: Controller, event: Event) -> None:
    """Let a controller handle an event, up to its next look at the state znode."""
    if controller.agenda:
        raise NotEnabled(f"controller {controller.controller_id} is handling another event")
    hear(controller, event)
    go_on(controller)


def controller_on(projection: Projection, number: int) -> Controller:
    """Return the controller of a broker."""
    if number not in projection.cluster.brokers:
        raise NotEnabled(f"broker {number} does not run")
    return projection.cluster.brokers[number].controller


@step_of("ElectController", "CreateControllerZnode")
def stand_for_election(projection: Projection, controller: int) -> None:
    """Look who is the controller: nobody is."""
    hear(controller_on(projection, controller), Changed("controller"))


@step_of("IncrementControllerEpoch")
def take_one_task(projection: Projection, controller: int) -> None:
    """Do the next task, and no more."""
    controller_on(projection, controller).step()


@step_of("TakeOver")
def take_over(projection: Projection, controller: int) -> None:
    """Do what fail-over does before it looks at the state znode for the first time."""
    go_on(controller_on(projection, controller))


@step_of("ElectLeader", "TakeReplicaOffline", "ControllerMoved")
def change_state(projection: Projection, controller: int) -> None:
    """Do what is due at the state znode; if that is refused, the controller finds out by itself."""
    boss = controller_on(projection, controller)
    if not boss.agenda:
        raise NotEnabled(f"controller {controller} has nothing to do")
    boss.step()
    go_on(boss)


@step_of("NoticeBrokerChange")
def notice_brokers(projection: Projection, controller: int) -> None:
    """Read /brokers/ids."""
    handle(controller_on(projection, controller), Changed("brokers"))


@step_of("NoticeTopic")
def notice_topics(projection: Projection, controller: int) -> None:
    """Read /brokers/topics."""
    handle(controller_on(projection, controller), Changed("topics"))


@step_of("NoticeIsrChange")
def notice_isr_change(projection: Projection, controller: int) -> None:
    """Read what a notification tells of: the leader that changed the ISR has written it."""
    projection.cluster.tools.create(znodes.isr_change(), znodes.encode_partitions([P]), sequential=True)
    handle(controller_on(projection, controller), Changed("isr changes"))


@step_of("PreferredElection")
def ask_for_preferred_election(projection: Projection, controller: int) -> None:
    """Ask for a preferred replica election."""
    handle(controller_on(projection, controller), ElectPreferred((P,), lambda _: None))


@step_of("ControlledShutdown")
def hear_of_shutdown(projection: Projection, controller: int, broker: int) -> None:
    """Take a broker's request to shut down."""
    node = running(projection, broker)
    handle(controller_on(projection, controller), ShutDown(broker, node.epoch, lambda *_: None))


@step_of("Resign")
def notice_controller(projection: Projection, controller: int) -> None:
    """Look who is the controller: another, or nobody."""
    boss = controller_on(projection, controller)
    if boss.agenda:
        raise NotEnabled(f"controller {controller} is handling another event")
    hear(boss, Changed("controller"))


@step_of("AdoptEpoch")
def notice_epoch(projection: Projection, controller: int) -> None:
    """Look at /controller_epoch."""
    boss = controller_on(projection, controller)
    waiting = boss.agenda.copy()
    boss.agenda.clear()
    hear(boss, Changed("controller epoch"))
    boss.agenda.extendleft(reversed(waiting))


@step_of("GiveUp")
def fail_in_failover(projection: Projection, controller: int) -> None:
    """Let the next operation on ZooKeeper meet an error, and the controller give up."""
    boss = controller_on(projection, controller)
    session = projection.cluster.brokers[controller].session
    assert isinstance(session, ModelSession)
    session.fails = True
    boss.step()
    while boss.agenda:
        boss.step()


@step_of("NoticeExpiry")
def open_another_session(projection: Projection, controller: int) -> None:
    """Notice that the session is over, and go on under another."""
    running(projection, controller)
    projection.cluster.reopen(controller)


# ---------------------------------------------------------------------------------------------------------------------
# Requests of controllers


@step_of(
    "RefuseRequest",
    "IgnoreLeaderAndIsr",
    "BecomeLeader",
    "BecomeFollower",
    "LeaderIsUnavailable",
    "UpdateMetadata",
    "StopReplica",
    "IgnoreStopReplica",
)
def deliver(projection: Projection, controller: int, broker: int) -> None:
    """Hand over the request in flight; what the model does not count as a request goes before it, and after it."""
    sender, receiver = running(projection, controller), running(projection, broker)
    hand_over_uncounted(projection, sender, receiver)
    request = sender.in_flight(broker)
    if request is None:
        raise NotEnabled(f"nothing waits in the channel from {controller} to {broker}")
    hand_over(projection, sender, receiver, request, answered=not projection.repeats(controller, broker))
    projection.repeated(controller, broker)
    hand_over_uncounted(projection, sender, receiver)


def hand_over_uncounted(projection: Projection, sender: Broker, receiver: Broker) -> None:
    """Hand over what stands first in a channel and is no request of the model's."""
    while (request := sender.in_flight(receiver.number)) is not None:
        if projection.counts(sender.number, receiver.number, request):
            return
        hand_over(projection, sender, receiver, request, answered=True)


def hand_over(projection: Projection, sender: Broker, receiver: Broker, request: Request, *, answered: bool) -> None:
    """Let a broker take a request; note if it took effect though its generation was over."""
    replicas = receiver.replicas
    before = replicas.controller_epoch, replicas.partitions[P].leader_epoch if P in replicas.partitions else NO_EPOCH
    answer = replicas.apply(request, 0, projection.clock)
    code = answer.partitions.get(P, Code.NONE)
    if answer.error == Code.NONE and code == Code.NONE and took_effect(receiver, request):
        note_if_stale(projection, receiver, request, *before)
    if answered:
        if isinstance(request, UpdateMetadataRequest):
            projection.note_told(sender.number, receiver.number, told_live(request))
        sender.answered(receiver.number, request, answer)


def took_effect(receiver: Broker, request: Request) -> bool:
    """Whether a request that was not refused has changed anything, or could have."""
    if isinstance(request, LeaderAndIsrRequest):
        return receiver.replicas.partitions[P].leader_epoch == request.partitions[P].leadership.leader_epoch
    return not isinstance(request, StopReplicaRequest) or receiver.replicas.role_of(P) != Role.NONE


def note_if_stale(projection: Projection, receiver: Broker, request: Request, controller_epoch: int, leader_epoch: int) -> None:
    """Note the first request that took effect though the broker had seen a newer generation."""
    number = receiver.number
    if projection.stale[number] != Stale.NOTHING:
        return
    if request.controller_epoch < controller_epoch:
        projection.stale[number] = Stale.CONTROLLER_EPOCH
    elif projection.epoch_of(number, request.broker_epoch) < projection.epoch_of(number, receiver.epoch):
        projection.stale[number] = Stale.BROKER_EPOCH
    elif not isinstance(request, UpdateMetadataRequest):
        told = request.partitions[P]
        epoch = told.leader_epoch if isinstance(request, StopReplicaRequest) else told.leadership.leader_epoch  # type: ignore[union-attr]
        if NO_EPOCH < epoch < leader_epoch:
            projection.stale[number] = Stale.LEADER_EPOCH


# ---------------------------------------------------------------------------------------------------------------------
# Leaders and followers


def running(projection: Projection, number: int) -> Broker:
    """Return a broker that runs."""
    if number not in projection.cluster.brokers:
        raise NotEnabled(f"broker {number} does not run")
    return projection.cluster.brokers[number]


def truncate(projection: Projection, leader: Broker, follower: Broker) -> int:
    """Let a follower ask its leader where their logs part, until it may fetch; return how often it asked."""
    asked = 0
    while (request := follower.data.fetchers.next_request(leader.number, projection.clock)) is not None:
        if not isinstance(request, OffsetsForLeaderEpochRequest):
            follower.data.fetchers.lost(leader.number, 0)
            return asked
        answers = leader.data.handle_offsets_for_leader_epoch(request)
        follower.data.fetchers.take(leader.number, answers, projection.clock)
        asked += 1
        if answers[P].error != Code.NONE:
            raise NotEnabled(f"broker {leader.number} answers {answers[P].error.name}")
    raise NotEnabled(f"broker {follower.number} does not fetch from {leader.number}")


def next_fetch(projection: Projection, leader: int, follower: int) -> FetchRequest:
    """Return the next fetch of a follower, which has truncated its log before."""
    truncate(projection, running(projection, leader), running(projection, follower))
    request = running(projection, follower).data.fetchers.next_request(leader, projection.clock)
    assert isinstance(request, FetchRequest)
    return request


def arrives(projection: Projection, leader: Broker, request: FetchRequest) -> Fetched:
    """Let a fetch arrive at a leader, which notes where the follower's log ends; return what is answered."""
    position = request.partitions[P]
    fetched = leader.data.read(P, position, request.replica)
    if fetched.error != Code.NONE:
        raise NotEnabled(f"broker {leader.number} answers {fetched.error.name}")
    leader.data.note_fetch(P, request.replica, position.offset, request.broker_epoch, projection.clock)
    return fetched


@step_of("TruncateToLeader")
def truncate_to_leader(projection: Projection, leader: int, follower: int) -> None:
    """Let a follower ask its leader where their logs part, and truncate there."""
    truncate(projection, running(projection, leader), running(projection, follower))


@step_of("Fetch")
def fetch(projection: Projection, leader: int, follower: int) -> None:
    """Let a follower fetch, and take the answer."""
    request = next_fetch(projection, leader, follower)
    fetched = arrives(projection, running(projection, leader), request)
    running(projection, follower).data.fetchers.take(leader, {P: fetched}, projection.clock)


def tell_end(projection: Projection, leader: int, follower: int) -> None:
    """Let a leader learn from a follower's fetch where its log ends; the answer is lost."""
    request = next_fetch(projection, leader, follower)
    arrives(projection, running(projection, leader), request)
    running(projection, follower).data.fetchers.lost(leader, 0)


@step_of("AdvanceHighWatermark")
def advance_high_watermark(projection: Projection, leader: int) -> None:
    """Let a leader hear of its ISR, and advance its high watermark by one."""
    boss = running(projection, leader)
    hosted = boss.replicas.partitions[P]
    for member in hosted.isr:
        if member != leader:
            tell_end(projection, leader, member)
    projection.clock += LONG
    boss.data.advance_high_watermark(P, projection.clock, at_most=hosted.high_watermark + 1)


@step_of("ExpandIsr")
def expand_isr(projection: Projection, leader: int, follower: int) -> None:
    """Let a leader hear of a follower, and take it into the ISR."""
    tell_end(projection, leader, follower)
    written(running(projection, leader).data.try_expand_isr(P, follower, projection.clock))


@step_of("DropFromIsr", "ShrinkIsr")
def shrink_isr(projection: Projection, leader: int, follower: int) -> None:
    """Let a leader take a follower that lags out of the ISR."""
    written(running(projection, leader).data.try_shrink_isr(P, (follower,), projection.clock))


@step_of("ShrinkIsrUnanswered")
def shrink_isr_unanswered(projection: Projection, leader: int, follower: int) -> None:
    """Let a leader take a follower out of the ISR; the answer is lost, and the write is tried again."""
    boss = running(projection, leader)
    session = boss.session
    assert isinstance(session, ModelSession)
    session.lose(Loss.REPLY)
    boss.data.try_shrink_isr(P, (follower,), projection.clock)
    boss.data.retry_isr_write(P, projection.clock)


def written(outcome: IsrWrite) -> None:
    """Refuse to call it a step if nothing was written."""
    if outcome != IsrWrite.WRITTEN:
        raise NotEnabled(outcome.value)


@step_of("SendLateFetch")
def send_late_fetch(projection: Projection, leader: int, follower: int) -> None:
    """Let a follower's fetch wait on the network; its sender has given it up."""
    request = next_fetch(projection, leader, follower)
    running(projection, follower).data.fetchers.lost(leader, 0)
    projection.fetches.append((request, running(projection, leader).replicas.partitions[P].leader_epoch))


@step_of("LateFetchExpandsIsr")
def late_fetch_expands_isr(projection: Projection, leader: int) -> None:
    """Let the fetch that waited arrive, and its sender join the ISR."""
    request, _ = projection.fetches.pop(0)
    boss = running(projection, leader)
    arrives(projection, boss, request)
    written(boss.data.try_expand_isr(P, request.replica, projection.clock))


@step_of("LoseLateFetch")
def lose_late_fetch(projection: Projection) -> None:
    """Lose the fetch that waited."""
    projection.fetches.pop(0)


# ---------------------------------------------------------------------------------------------------------------------
# The environment


@step_of("CreateTopic")
def create_topic(projection: Projection) -> None:
    """Create the topic."""
    admin = Admin(projection.cluster.tools, Random(0), lambda _: None)
    admin.create_topic_with_assignment(P.topic, {P.partition: projection.assignment})


@step_of("Write")
def write(projection: Projection, broker: int) -> None:
    """Write the next record."""
    projection.records += 1
    try:
        running(projection, broker).data.append_as_leader(P, batch_of(projection.records - 1), 1)
    except KafkaError as error:
        raise NotEnabled(str(error)) from error


@step_of("ShutDown")
def begin_to_stop(projection: Projection, broker: int) -> None:
    """Begin a controlled shutdown: whoever is the controller will hear of it."""
    running(projection, broker).is_stopping = True


@step_of("Exit", "Crash")
def end_process(projection: Projection, broker: int) -> None:
    """End a process. The model takes the high watermark on disk for the oldest, so a process that exits does not write it."""
    running(projection, broker)
    projection.cluster.crash(broker)


@step_of("LossyCrash")
def lose_power(projection: Projection, broker: int, end: int) -> None:
    """End a process, and lose the end of its log."""
    end_process(projection, broker)
    log = PartitionLog(projection.cluster.folder / str(broker) / str(P))
    log.truncate_to(end)
    log.crash()


@step_of("Restart")
def restart(projection: Projection, broker: int) -> None:
    """Start a process."""
    if broker in projection.cluster.brokers:
        raise NotEnabled(f"broker {broker} runs")
    projection.cluster.start(broker)


@step_of("Bounce")
def bounce(projection: Projection, broker: int) -> None:
    """End a process and start it again."""
    running(projection, broker)
    projection.cluster.bounce(broker)


@step_of("ExpireSession")
def expire(projection: Projection, broker: int) -> None:
    """Let a session expire."""
    running(projection, broker)
    projection.cluster.expire(broker)


@step_of("LoseConnection")
def lose_connection(projection: Projection, controller: int, broker: int) -> None:
    """Have the answer to the request in flight lost: it will be sent again."""
    projection.lose_next_answer(controller, broker)


@step_of("LoseRequest")
def lose_request(projection: Projection, controller: int, broker: int) -> None:
    """Lose the request in flight."""
    if not projection.cluster.lose(controller, broker):
        raise NotEnabled(f"nothing waits in the channel from {controller} to {broker}")
