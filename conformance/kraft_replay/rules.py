"""The rules of the KRaft model as steps of the implementation."""

from __future__ import annotations

from kafka_spec.conformance.kraft_replay import broker_steps, controller_steps, replica_steps
from kafka_spec.conformance.replay.core import Steps

STEPS = Steps(
    "the replay of KRaft",
    "a file of conformance/kraft_replay: broker_steps.py (processes, and the metadata log that they apply), "
    "replica_steps.py (leaders and followers), or controller_steps.py (proposals and operators)",
    (broker_steps.STEPS, replica_steps.STEPS, controller_steps.STEPS),
)
"""The steps by the names of rules."""
