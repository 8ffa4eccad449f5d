"""The eras of KRaft: releases of Kafka by metadata version, each a list of switches of switches.py."""

from __future__ import annotations

from collections.abc import Mapping

from kafka_spec.spec.kraft.fixed import FIXED
from kafka_spec.spec.kraft.public.versions import SPECS as PUBLIC
from kafka_spec.spec.kraft.switches import ON_FIXED, SWITCH
from kafka_spec.spec.table import Spec

FOUND = (
    "proposal-dropped-at-known-epoch",
    "high-watermark-waits-after-rollback",
    "re-elected-leader-remembers",
    "stale-reassignment-lists",
    "cancellation-elects-cleanly",
    "cancellation-below-min-isr",
)
"""What the checker found. The first two: sources of 3.3.2, 3.5.2, 3.7.1 and 3.9.0-rc3, classes of 3.9.1, 4.1.2 and 4.4.0."""
IN_3_3 = (
    "KAFKA-14617",
    "last-replica-standing",
    "KAFKA-18106",
    "KAFKA-15583",
    "KAFKA-14616",
    "KAFKA-15665",
    "epoch-bump-on-shrink",
    *FOUND,
)
"""The switches of 3.3 at its own metadata version."""
IN_3_5 = tuple(name for name in IN_3_3 if name != "KAFKA-14617")
"""The switches of 3.5, which has KIP-903."""
IN_3_7 = (
    *(name for name in IN_3_5 if name not in ("KAFKA-15583", "KAFKA-14616", "epoch-bump-on-shrink")),
    "KAFKA-16952",
)
"""The switches of 3.7: the high watermark stops below min.insync.replicas, and a shrink needs no leader epoch."""
IN_3_9 = tuple(name for name in IN_3_7 if name not in ("KAFKA-16952", "KAFKA-15665"))
"""The switches of 3.9."""
IN_4_0 = ("KAFKA-19522", "last-known-when-isr-empties", "elr-outside-replicas", *FOUND)
"""The switches of 4.0 with eligible.leader.replicas.version=1."""
IN_4_1 = ("elr-outside-replicas", *FOUND)
"""The switches of 4.1.1, whose new clusters have eligible leader replicas."""
IN_4_3 = ("KAFKA-19975", *IN_4_1)
"""The switches of 4.3 and 4.4."""


def era(name: str, says: str, switches: tuple[str, ...]) -> Spec:
    """Return `fixed` with the switches of an era."""
    decided = {decision: value for switch in switches for decision, value in SWITCH[switch].decisions.items()}
    return FIXED.replacing(f"kraft/{name}", says, decisions=decided)


ERAS: Mapping[str, tuple[str, ...]] = {
    "era_3_3": IN_3_3,
    "era_3_5": IN_3_5,
    "era_3_7": IN_3_7,
    "era_3_9": IN_3_9,
    "era_4_0": IN_4_0,
    "era_4_1": IN_4_1,
    "era_4_3": IN_4_3,
}

SPECS: tuple[Spec, ...] = (
    FIXED,
    *(era(name, f"Kafka {name[4:].replace('_', '.')} at its own metadata version", switches) for name, switches in ERAS.items()),
    *ON_FIXED,
    *PUBLIC,
)
"""All versions of KRaft."""
