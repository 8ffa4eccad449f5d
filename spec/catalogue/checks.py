"""The named checks of this project, which follow from versions, families, cases and eras: `kafka-spec check` runs them.

tests/golden/counts.toml has their counts; those of replication and of the public models are TLC's too (tests/oracles).
"""

from __future__ import annotations

from kafka_spec.spec.kraft.eras import SUITE as KRAFT
from kafka_spec.spec.kraft.public import checks as public_kraft
from kafka_spec.spec.quorum import one_list
from kafka_spec.spec.quorum.eras import SUITE as QUORUM
from kafka_spec.spec.quorum.public import checks as public_quorum
from kafka_spec.spec.replication import checks as replication
from kafka_spec.spec.vocabulary.table import Check
from kafka_spec.spec.zookeeper import goal_models
from kafka_spec.spec.zookeeper.eras import SUITE as ZOOKEEPER

CHECKS: tuple[Check, ...] = (
    *replication.CHECKS,
    *ZOOKEEPER.checks(),
    *goal_models.CHECKS,
    *KRAFT.checks(),
    *public_kraft.CHECKS,
    *QUORUM.checks(),
    *one_list.CHECKS,
    *public_quorum.CHECKS,
)
