"""In which releases of Kafka each switch and each difference of an era is: the first and the last that have it.

Independent of the model. A release stands for all its patch releases, unless it names one. "3.9" is read at 3.9.0-rc3, the last tag
with ZooKeeper. A bug whose fix came before its code was released is in none. Tests hold the eras against this table.

Source: Kafka's tags: the first that contains the commit of the fix, and for the beginning the code at the tags before and after it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeAlias

Releases: TypeAlias = tuple[str, str] | None
"""The first and the last release that have something; None: no release has it."""

LAST = "3.9"

SWITCHES: Mapping[str, Releases] = {
    "KAFKA-532": None,  # fixed in 0.8.0, the first release with a controller
    "KAFKA-1096": ("0.8.0", "0.8.1"),
    "KAFKA-6082-unfenced-writes": ("0.8.0", "2.0"),
    "KAFKA-6082-two-step-election": ("0.8.0", "2.0"),
    "KAFKA-6082-unconditional-delete": ("0.8.0", "2.0"),
    "KAFKA-1188": ("0.8.0", "0.8.1"),
    "KAFKA-7235-unseen-bounce": ("0.8.0", "2.1"),
    "KAFKA-7235-former-incarnation": ("0.8.0", "2.1"),
    "KAFKA-708": None,  # fixed in 0.8.0
    "KAFKA-5083": ("0.8.2", "1.0"),  # before 0.8.2 the last member left even if unclean election could not be enabled
    "KAFKA-1382": ("0.8.0", "0.8.1"),
    "unanswered-expansion-forgotten": ("0.8.0", "2.7"),
    "KAFKA-3143": ("0.8.0", "2.2"),
    "KAFKA-7482": ("1.1", "2.0"),  # 1.0.0 and 0.8.0 to 0.11.0.2 tell brokers that shut down too
    "KAFKA-14617": ("0.8.0", LAST),  # fixed in KRaft only (3.5)
    "last-replica-standing": ("0.8.0", LAST),
    "tail-lost-in-isr": ("0.8.0", LAST),
    "stopping-leader-not-told": ("1.0", LAST),
    "no-election-after-removal": ("0.8.2", LAST),
    "re-elected-leader-remembers": ("0.9.0", LAST),
    "expired-session-reads": ("0.8.0", "1.0"),  # 1.1 has a ZooKeeper client of its own
    "KAFKA-9539": ("0.8.0", "2.5"),
    "KAFKA-13972": ("2.6", "3.4"),
    "KAFKA-1097": ("0.8.0", "0.8.0"),
    "KAFKA-9089": None,  # the API and the fix came with 2.4.0
    "KAFKA-6193": None,  # came with the new ZooKeeper client and went before 1.1.0; up to 1.0 the znode is read again
    "KAFKA-9212": ("0.8.1", "2.3"),  # 0.8.1 has the first leader epoch that is only incremented
    "last-copy-deleted": ("0.8.1", LAST),  # 0.8.0 was not read as far as the deletion
    "cancelled-replica-rejoins": ("2.4", LAST),
    "stray-replica": ("0.8.1", LAST),
    "leaving-replica-not-counted": ("0.10.2", LAST),  # up to 0.10.1.1 the high watermark is the least log end in the ISR
    "KIP-101": ("0.8.0", "0.10.2"),
    "KAFKA-7164": ("0.8.2", "2.0.0"),
    "late-answer-taken": ("0.8.0", "0.10.2"),
    "KAFKA-7128": ("0.8.0", "2.0.0"),
    "KAFKA-7395": ("0.8.0", "2.0"),
    "isr-candidate-not-alive": ("0.8.0", "3.2"),
    "stop-replica-of-former-topic": ("0.8.2", LAST),  # topics can be deleted since 0.8.2
    "KAFKA-6650": ("0.8.2", "1.1"),
    "KAFKA-9946": None,  # came and went between 2.5 and 2.6.0
    "created-during-deletion": ("0.8.2", "3.0"),
    "late-deletion-answer": ("0.8.2", LAST),
    "failed-deletion-waits": ("0.8.2", LAST),
    "ineligible-name-kept": ("0.8.2", LAST),
    "KAFKA-6612": ("0.8.2", "1.1"),
    "deleted-while-reassigned": ("0.8.2", LAST),
    "KAFKA-1738": ("0.8.0", "0.8.2"),
}
"""By the name of the switch."""

DIFFERENCES: Mapping[str, Releases] = {
    "offline_leaders": ("0.8.0", "0.11.0"),  # onBrokerFailure; from 1.0 on onReplicasBecomeOffline
    "reassignment": ("0.8.0", "2.3"),  # KIP-455 came with 2.4
    "deletion_thread": ("0.8.1", "0.10.2"),  # DeleteTopicsThread
}
"""By the decision that 0.10.2 takes otherwise."""


def has(releases: Releases, release: str) -> bool:
    """Return whether a release is among those between the first and the last."""
    if releases is None:
        return False
    first, last = (_numbers(named) for named in releases)
    asked = _numbers(release)
    return first <= asked and asked[: len(last)] <= last


def told(releases: Releases) -> str:
    """Return the releases in words."""
    if releases is None:
        return "in no release"
    first, last = releases
    return f"in {first}" if first == last else f"in {first} to {last}"


def _numbers(release: str) -> tuple[int, ...]:
    return tuple(int(part) for part in release.split("."))
