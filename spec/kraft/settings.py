"""What min.insync.replicas of the topic is, as somebody knows it.

Source: Kafka 4.3 ConfigurationControlManager.java, UnifiedLog.config.
"""

from __future__ import annotations

from kafka_spec.spec.vocabulary.table import Constants


def min_insync_replicas(k: Constants, changed: int) -> int:
    """Return min.insync.replicas: what operators have changed it to if `changed` is 1, else what it was at first."""
    return k.other_min_isr if changed == 1 else k.min_isr
