"""The machines and the tables of choices by their names."""

from __future__ import annotations

from kafka_spec.spec.decisions.partition_change import ELECTIONS
from kafka_spec.spec.kraft.machines import MEMBERSHIP, PROPOSAL, REGISTRATION, REPLICA_ROLE
from kafka_spec.spec.machines.partition import PARTITION
from kafka_spec.spec.machines.reassignment import REASSIGNMENT_0_10, REASSIGNMENT_2_8
from kafka_spec.spec.machines.replica import REPLICA, REPLICA_0_10
from kafka_spec.spec.machines.topic_deletion import TOPIC_DELETION
from kafka_spec.spec.quorum.machines import QUORUM
from kafka_spec.spec.vocabulary.table import ChoiceTable, Machine
from kafka_spec.spec.zookeeper.machines import CONTROLLER, ROLE
from kafka_spec.spec.zookeeper.rows import bound_to

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
    "quorum": QUORUM,
}
"""The machines in their newest form, the control plane's with its functions, KRaft's, its quorum's; NAME@ERA is one of an era."""

CHOICES: dict[str, ChoiceTable] = {"elections": ELECTIONS}
"""The tables of choices."""
