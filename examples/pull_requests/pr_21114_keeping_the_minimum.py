"""Pull request 21114 with another condition: a completion does not take the ISR below min.insync.replicas."""

from __future__ import annotations

from kafka_spec.spec.decisions.partition_change import count_of
from kafka_spec.spec.kraft.controller import completes_reassignment as completes_reassignment_today
from kafka_spec.spec.kraft.settings import least_isr
from kafka_spec.spec.kraft.state import KRaft
from kafka_spec.spec.language.domain import BrokerSet
from kafka_spec.spec.vocabulary.table import Constants


def completes_reassignment(s: KRaft, k: Constants, isr: BrokerSet) -> bool:
    """It completes as today, if min.insync.replicas members are left, or there are fewer already."""
    partition = s.controller.partition
    staying = count_of(partition.replicas, ~partition.removing)
    least = least_isr(k, partition.min_isr_changed, staying)
    left = count_of(partition.replicas, isr & ~partition.removing)
    return completes_reassignment_today(s, k, isr) and (left >= least or count_of(partition.replicas, isr) < least)
