"""The rules of the control-plane model as steps of the implementation."""

from __future__ import annotations

from kafka_spec.conformance.replay import controller_steps, environment_steps, replica_steps, request_steps
from kafka_spec.conformance.replay.core import Steps

STEPS = Steps(
    "the replay",
    "a file of conformance/replay: controller_steps.py (what controllers do), request_steps.py (what brokers do with controllers' "
    "requests), replica_steps.py (leaders and followers), or environment_steps.py (operators, clients and faults)",
    (controller_steps.STEPS, request_steps.STEPS, replica_steps.STEPS, environment_steps.STEPS),
)
"""The steps by the names of rules."""
