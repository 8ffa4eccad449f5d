"""Steps of processes: registrations, sessions, shutdowns, and the metadata log that they apply."""

from __future__ import annotations

import shutil

from kafka_spec.conformance.kraft_replay.stage import KRaftStage
from kafka_spec.conformance.kraft_replay.steps import granted, running
from kafka_spec.conformance.kraft_replay.values import PARTITION
from kafka_spec.conformance.replay.core import Steps, expect
from kafka_spec.impl.kraft.clean_shutdown import delete_clean_shutdown
from kafka_spec.impl.kraft.heartbeats import NEVER
from kafka_spec.impl.log.log import PartitionLog
from kafka_spec.impl.protocol.errors import ErrorCode
from kafka_spec.impl.protocol.kraft_requests import BrokerHeartbeatResponse
from kafka_spec.spec.kraft.machines import CONTROLLED_SHUTDOWN

STEPS = Steps()


@STEPS.of("StartBroker")
def start_broker(stage: KRaftStage, broker: int) -> None:
    """Start a process whose session before has ended; it registers, and applies the metadata log."""
    expect(broker not in stage.cluster.brokers, f"broker {broker} runs")
    stage.cluster.controller.heartbeats.of(broker).contact = NEVER
    if broker in stage.failed:  # it works again, and does not have the file of an orderly stop
        stage.failed.discard(broker)
        delete_clean_shutdown(stage.cluster.folder_of(broker))
    process = stage.started(broker)
    expect(process.registered(stage.cluster.controller.register(process.registration(), stage.clock)), "it is refused")
    stage.network.forget(broker)
    process.learn(stage.cluster.committed(process.next_metadata()))
    process.follow()


@STEPS.of("StartWithoutDirectory")
def start_without_directory(stage: KRaftStage, broker: int) -> None:
    """Start a process without the log that it had: the directory is gone, and the file of an orderly stop is not."""
    expect(broker not in stage.cluster.brokers, f"broker {broker} runs")
    stage.failed.discard(broker)
    shutil.rmtree(stage.cluster.folder_of(broker) / str(PARTITION))
    start_broker(stage, broker)


@STEPS.of("RegisterAgain")
def register_again(stage: KRaftStage, broker: int) -> None:
    """Let a process register again."""
    process = running(stage, broker)
    expect(process.registered(stage.cluster.controller.register(process.registration(), stage.clock)), "it is refused")


@STEPS.of("Unregister")
def unregister(stage: KRaftStage, broker: int) -> None:
    """Let an operator unregister a broker."""
    granted(lambda: stage.cluster.controller.unregister(broker))


@STEPS.of("ShutdownTimesOut")
@STEPS.of("ExitUnregistered")
def give_up(stage: KRaftStage, broker: int) -> None:
    """Let a broker that shuts down wait no longer for the controller, and end its process in order."""
    expect(running(stage, broker).is_stopping, f"broker {broker} does not shut down")
    stage.cluster.close(broker)
    stage.network.process_ends(broker)


@STEPS.of("Crash")
def crash(stage: KRaftStage, broker: int) -> None:
    """End a process without order; its high watermark was never written."""
    running(stage, broker)
    stage.cluster.crash(broker)
    stage.network.process_ends(broker)


@STEPS.of("LossyCrash")
def crash_and_lose(stage: KRaftStage, broker: int, end: int) -> None:
    """End a process without order, and lose the end of its log."""
    crash(stage, broker)
    log = PartitionLog(stage.cluster.folder_of(broker) / str(PARTITION))
    log.truncate_to(end)
    log.crash()


@STEPS.of("FenceDead")
@STEPS.of("FenceAlive")
def fence(stage: KRaftStage, broker: int) -> None:
    """Let a session end, and the controller look for such sessions."""
    controller = stage.cluster.controller
    controller.heartbeats.of(broker).contact = NEVER
    expect(controller.fence_stale(stage.clock) == broker, f"broker {broker} is not fenced")


def heartbeat(stage: KRaftStage, broker: int) -> BrokerHeartbeatResponse:
    """Deliver a heartbeat."""
    answer = stage.cluster.controller.heartbeat(running(stage, broker).heartbeat(), stage.clock)
    expect(answer.error == ErrorCode.NONE, f"the heartbeat is refused: {answer.error.name}")
    return answer


@STEPS.of("FailDirectory")
def fail_directory(stage: KRaftStage, broker: int) -> None:
    """Let the log directory of a broker's replica fail."""
    running(stage, broker).fail_directory()
    stage.failed.add(broker)


@STEPS.of("ReportDirectory")
def report_directory(stage: KRaftStage, broker: int) -> None:
    """Deliver a heartbeat of an active broker whose log directory has failed."""
    expect(heartbeat(stage, broker).should_shut_down is False, "it may go")


@STEPS.of("Unfence")
def unfence(stage: KRaftStage, broker: int) -> None:
    """Deliver a heartbeat of a fenced broker."""
    expect(not heartbeat(stage, broker).is_fenced, f"broker {broker} is still fenced")


@STEPS.of("ShutDown")
def shut_down(stage: KRaftStage, broker: int) -> None:
    """Let an operator shut a broker down."""
    running(stage, broker).shut_down()


@STEPS.of("BeginControlledShutdown")
def begin_controlled_shutdown(stage: KRaftStage, broker: int) -> None:
    """Deliver a heartbeat of a leader that shuts down."""
    expect(not heartbeat(stage, broker).should_shut_down, "it may go at once")
    expect(stage.cluster.controller.tables.state_of(broker) == CONTROLLED_SHUTDOWN, "its controlled shutdown has not begun")


@STEPS.of("GrantShutdown")
def grant_shutdown(stage: KRaftStage, broker: int) -> None:
    """Deliver a heartbeat of a broker that shuts down and leads nothing."""
    expect(heartbeat(stage, broker).should_shut_down, "it may not go yet")


@STEPS.of("Exit")
def exit_process(stage: KRaftStage, broker: int) -> None:
    """Deliver the heartbeat whose answer lets a broker go, and end its process in order."""
    expect(heartbeat(stage, broker).should_shut_down, "it may not go yet")
    stage.cluster.close(broker)
    stage.network.process_ends(broker)


@STEPS.of("TakeImage")
def take_image(stage: KRaftStage, broker: int, image: int) -> None:
    """Bring batches of the metadata log up to an image; the replicas follow at once, unless the metadata cache may be ahead."""
    process = running(stage, broker)
    oldest = min(one.metadata_end for one in stage.cluster.brokers.values())
    images = [one for one in stage.cluster.log.images if one.end >= oldest]
    behind = sum(one.end > process.metadata_end for one in images[: image + 1])
    process.learn(stage.cluster.committed(process.next_metadata(), behind))
    if not stage.cache_ahead:
        process.replicas.apply_image(process.now)


@STEPS.of("ApplyImage")
def apply_image(stage: KRaftStage, broker: int) -> None:
    """Let the replicas follow the metadata cache."""
    process = running(stage, broker)
    process.replicas.apply_image(process.now)


@STEPS.of("ApplySettings")
def apply_settings(stage: KRaftStage, broker: int) -> None:
    """Give the log the settings of its topic."""
    process = running(stage, broker)
    expect(process.replicas.outdated_settings() == [PARTITION], "its settings are not outdated")
    process.replicas.apply_settings(process.now)
