"""What min.insync.replicas of the topic is, as somebody knows it.

Source: Kafka 4.3 ConfigurationControlManager.java, UnifiedLog.config, ReplicationControlManager.getTopicEffectiveMinIsr.
"""

from __future__ import annotations

from kafka_spec.spec.decisions.partition_change import effective_min_isr
from kafka_spec.spec.vocabulary.table import Constants


def least_isr(k: Constants, changed: int, replicas: int) -> int:
    """Return the effective min.insync.replicas, with so many replicas, as operators have `changed` it (1) or as it was at first."""
    return effective_min_isr(k.other_min_isr if changed == 1 else k.min_isr, replicas)
