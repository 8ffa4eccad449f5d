"""What operators set for the topic, as somebody knows it: min.insync.replicas and unclean.leader.election.enable.

Source: Kafka 4.3 ConfigurationControlManager.java, UnifiedLog.config, ReplicationControlManager.getTopicEffectiveMinIsr.
"""

from __future__ import annotations

from kafka_spec.spec.decisions.partition_change import effective_min_isr
from kafka_spec.spec.kraft.state import KRaft
from kafka_spec.spec.vocabulary.table import Constants


def least_isr(k: Constants, changed: int, replicas: int) -> int:
    """Return the effective min.insync.replicas, with so many replicas, as operators have `changed` it (1) or as it was at first."""
    return effective_min_isr(k.other_min_isr if changed == 1 else k.min_isr, replicas)


def allows_unclean(s: KRaft, k: Constants) -> bool:
    """The topic has unclean.leader.election.enable, as operators have changed it or as it was at first."""
    return k.unclean != s.controller.unclean_changed
