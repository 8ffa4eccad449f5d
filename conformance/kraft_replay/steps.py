"""What the steps of several actors share."""

from __future__ import annotations

from collections.abc import Callable

from kafka_spec.conformance.kraft_replay.stage import KRaftStage
from kafka_spec.conformance.replay.core import NotEnabled
from kafka_spec.impl.kraft.broker import KRaftProcess
from kafka_spec.impl.protocol.errors import KafkaError


def running(stage: KRaftStage, number: int) -> KRaftProcess:
    """Return a broker that runs.

    Raises:
        NotEnabled: it does not.
    """
    if number not in stage.cluster.brokers:
        raise NotEnabled(f"broker {number} does not run")
    return stage.cluster.brokers[number]


def granted(request: Callable[[], object]) -> None:
    """Let the controller do what an operator requests.

    Raises:
        NotEnabled: it refuses.
    """
    try:
        request()
    except KafkaError as error:
        raise NotEnabled(f"the controller answers {error.code.name}: {error}") from error
