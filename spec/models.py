"""The catalogue: every model and every machine by its name."""

from __future__ import annotations

from kafka_spec.spec.control.eras import SPECS
from kafka_spec.spec.control.rows import bound_to
from kafka_spec.spec.control.state import CONTROLLER, ROLE
from kafka_spec.spec.deletion import TOPIC_DELETION
from kafka_spec.spec.kraft import eras as kraft
from kafka_spec.spec.kraft.machines import MEMBERSHIP, PROPOSAL, REGISTRATION, REPLICA_ROLE
from kafka_spec.spec.partition import PARTITION
from kafka_spec.spec.partition_change import ELECTIONS
from kafka_spec.spec.reassignment_steps import REASSIGNMENT_0_10, REASSIGNMENT_2_8
from kafka_spec.spec.replica import REPLICA, REPLICA_0_10
from kafka_spec.spec.replication.versions import (
    high_watermark,
    kafka_7128,
    kafka_7164,
    kafka_7395,
    kip_101,
    kip_279,
    kip_320,
    kip_320_first_try,
)
from kafka_spec.spec.table import ChoiceTable, Machine, Spec

_REPLICATION = (high_watermark, kip_101, kip_279, kip_320_first_try, kip_320, kafka_7164, kafka_7128, kafka_7395)

MODELS: dict[str, Spec] = {spec.name: spec for spec in (*(module.SPEC for module in _REPLICATION), *SPECS, *kraft.SPECS)}
"""The versions of replication in historical order, and the bugs of kip_320; then control plane and KRaft: fixed, eras, bugs."""

MACHINES: dict[str, Machine] = {
    "partition": bound_to(PARTITION),
    "replica": bound_to(REPLICA),
    "replica@0.10": bound_to(REPLICA_0_10),
    "reassignment": bound_to(REASSIGNMENT_2_8),
    "reassignment@0.10": bound_to(REASSIGNMENT_0_10),
    "controller": CONTROLLER,
    "role": ROLE,
    "topic_deletion": TOPIC_DELETION,
    "registration": REGISTRATION,
    "membership": MEMBERSHIP,
    "replica_role": REPLICA_ROLE,
    "proposal": PROPOSAL,
}
"""The machines in their newest form, the control plane's with its functions, then KRaft's; NAME@ERA is NAME in an older era."""

CHOICES: dict[str, ChoiceTable] = {"elections": ELECTIONS}
"""The tables of choices."""
