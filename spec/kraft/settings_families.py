"""Families of spec/kraft in which operators change min.insync.replicas while the cluster runs."""

from __future__ import annotations

from kafka_spec.spec.kraft.family_base import NO_UNCLEAN_ELECTION, kraft_family
from kafka_spec.spec.untested import NO_LEADER_MISSING

SETTINGS = (
    kraft_family(
        "raise_min_isr",
        "min.insync.replicas is raised to 2 while a slow follower leaves the ISR, and a crash",
        other_min_isr=2,
        min_isr_changes=1,
        isr_shrinks=1,
        crashes=1,
        records=1,
    ),
    kraft_family(
        "raise_and_fence",
        "min.insync.replicas is raised to 2, and two fences",
        other_min_isr=2,
        min_isr_changes=1,
        fences=2,
        records=1,
        cannot_test=(NO_UNCLEAN_ELECTION,),
    ),
    kraft_family(
        "lower_min_isr",
        "min.insync.replicas is lowered to 1 after a fence, and a crash",
        min_isr=2,
        min_isr_changes=1,
        fences=1,
        crashes=1,
        records=1,
    ),
    kraft_family(
        "lower_while_offline",
        "both brokers are shut down in order, and min.insync.replicas is lowered to 1",
        min_isr=2,
        min_isr_changes=1,
        controlled_shutdowns=2,
        records=1,
        cannot_test=(NO_UNCLEAN_ELECTION,),
    ),
    kraft_family(
        "min_isr_and_back",
        "min.insync.replicas is raised and restored, a slow follower, and a fence",
        other_min_isr=2,
        min_isr_changes=2,
        isr_shrinks=1,
        fences=1,
        records=1,
        cannot_test=(NO_UNCLEAN_ELECTION,),
    ),
    kraft_family(
        "min_isr_and_deletion",
        "min.insync.replicas is raised, the topic is deleted and created again, and a fence",
        other_min_isr=2,
        min_isr_changes=1,
        deletions=1,
        recreations=1,
        fences=1,
        records=1,
        cannot_test=(NO_UNCLEAN_ELECTION, NO_LEADER_MISSING),
    ),
    kraft_family(
        "three_raise",
        "three replicas, min.insync.replicas is raised from 2 to 3, a slow follower, and a fence",
        brokers=3,
        isr_size=3,
        min_isr=2,
        other_min_isr=3,
        min_isr_changes=1,
        isr_shrinks=1,
        fences=1,
        records=1,
        cannot_test=(NO_UNCLEAN_ELECTION,),
        checked=False,
    ),
)
