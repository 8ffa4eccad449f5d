"""Kafka's known bugs in the control plane and in replication: which era has each, and what the model lacks to show it.

Independent of the model. `Bug.known_as` in spec/control/bugs.py is a number of this list, and the switches of an era are its
column; tests compare both. Missing numbers are bugs outside the scope of this project.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

Presence: TypeAlias = Literal["yes", "no", "n/a"]
"""Whether an era has the bug; n/a if the era lacks the feature that has the bug."""


@dataclass(frozen=True)
class KnownBug:
    """A bug by its number: whether 0.10.2 and 2.8.2 have it, its ids, and what the control plane lacks to express it, or ""."""

    number: int
    in_0_10: Presence
    in_2_8: Presence
    ids: tuple[str, ...]
    not_expressed: str = ""


KNOWN_BUGS: tuple[KnownBug, ...] = (
    KnownBug(1, "no", "no", ("KAFKA-532",)),
    KnownBug(2, "no", "no", ("KAFKA-1096",)),
    KnownBug(3, "yes", "no", ("KAFKA-6082",)),
    KnownBug(4, "no", "no", ("KAFKA-1188",)),
    KnownBug(5, "yes", "no", ("KAFKA-7235",)),
    KnownBug(6, "yes", "no", ("KAFKA-9539",)),
    KnownBug(7, "n/a", "yes", ("KAFKA-13972",)),
    KnownBug(8, "no", "no", ("KAFKA-708",)),
    KnownBug(9, "yes", "no", ("KAFKA-5083",)),
    KnownBug(10, "no", "no", ("KAFKA-1097", "KAFKA-1170")),
    KnownBug(12, "no", "no", ("KAFKA-1382",)),
    KnownBug(13, "yes", "no", ("KIP-101",)),
    KnownBug(
        14,
        "yes",
        "no",
        ("KAFKA-6361",),
        "fetch details: its truncation is that of 0.11; this model truncates at the divergence, or at the high watermark",
    ),
    KnownBug(15, "yes", "no", ("KAFKA-7164",)),
    KnownBug(17, "yes", "no", ("KAFKA-7128",)),
    KnownBug(18, "yes", "no", ("KAFKA-7395",)),
    KnownBug(19, "n/a", "no", ("KAFKA-7786",), "fetch details: an answer that comes late"),
    KnownBug(22, "n/a", "no", ("KAFKA-8400",), "fetch details: a read that fails"),
    KnownBug(23, "n/a", "no", ("KAFKA-10301",), "fetch details: the single steps of becoming leader"),
    KnownBug(25, "n/a", "yes", ("KAFKA-13091",), "AlterIsr: the ISR changes after the shrink was sent"),
    KnownBug(26, "n/a", "yes", ("KAFKA-12751", "KAFKA-12686"), "AlterIsr: changes in flight"),  # 2.8 has its second half
    KnownBug(28, "yes", "yes", ("KAFKA-14617",)),
    KnownBug(30, "n/a", "n/a", ("KAFKA-15021",), "fetch details: which followers hold back the high watermark"),
    KnownBug(31, "yes", "no", ("KAFKA-3143",)),
    KnownBug(32, "yes", "no", ("KAFKA-6650",)),
    KnownBug(33, "yes", "no", ("KAFKA-6612",)),
    KnownBug(35, "no", "no", ("KAFKA-9946",)),
    KnownBug(37, "no", "no", ("KAFKA-6193",)),
    KnownBug(38, "no", "no", ("KAFKA-9089",)),
    # Its other half, in 0.10 to 2.3: an error within a reassignment drops the request and leaves the enlarged assignment. Not a
    # switch: 2.4 and later keep the request but wait for a fail-over or a start too, so that `fixed` would need a retry of its own.
    KnownBug(39, "no", "no", ("KAFKA-7482",)),
    KnownBug(40, "n/a", "no", ("KAFKA-9769",), "log directories: a log that cannot be created"),
    KnownBug(
        41,  # 2.8 has it in part
        "yes",
        "no",
        ("KAFKA-1387", "KAFKA-7165"),
        "an ephemeral node of the broker's own old session: in the model, a session's nodes are deleted before the next one opens",
    ),
    KnownBug(42, "no", "no", ("KAFKA-1738",)),
)
"""The bugs found in Kafka's history, ordered by number."""
