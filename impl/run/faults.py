"""The possible faults of a run, by name, and their frequency: mean seconds between two, or the chance for one message."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from kafka_spec.spec.vocabulary.table import SpecError

LATE = (0.05, 2.0)
"""The delay of a delayed message, in seconds."""


@dataclass(frozen=True)
class InjectedFault:
    """A fault: on average one in `every` seconds, or with a `chance` for each message; `says` describes it."""

    name: str
    summary: str
    every: float = 0.0
    chance: float = 0.0
    usual: bool = True


FAULTS = {
    fault.name: fault
    for fault in (
        InjectedFault("crash", "a broker's process ends; its session expires later, and it is started again after that", every=9.0),
        InjectedFault("bounce", "a broker's process ends and starts again before anyone reads ZooKeeper", every=11.0),
        InjectedFault("expiry", "a broker's session expires, which it notices some time later", every=9.0),
        InjectedFault("shutdown", "a broker is shut down in a controlled way, and started again", every=13.0),
        InjectedFault("election", "an operator has preferred leaders elected", every=8.0),
        InjectedFault("zookeeper", "a broker's connection to ZooKeeper breaks, with a request or with a reply", every=6.0),
        InjectedFault("isolation", "two brokers cannot reach each other for some time", every=10.0),
        InjectedFault("slow", "a broker is slow for some time: its disk, or a pause", every=10.0),
        InjectedFault("delay", "a message is late", chance=0.01),
        InjectedFault("duplicate", "a message arrives twice", chance=0.01),
        InjectedFault("lost-request", "a connection breaks before a request has arrived", chance=0.01),
        InjectedFault("lost-reply", "a connection breaks after a request was processed, and before its answer", chance=0.01),
        InjectedFault("power", "a broker loses power, and its unflushed records", every=12.0, usual=False),
    )
}
ANYWHERE = ("crash", "bounce", "expiry", "shutdown", "election")
"""The faults possible in real time: those that need no simulated network or service, and cut no log."""


def usual(known: Mapping[str, InjectedFault]) -> tuple[str, ...]:
    """Return the names of the usual ones."""
    return tuple(fault.name for fault in known.values() if fault.usual)


USUAL = usual(FAULTS)


def parse_faults(text: str, known: Mapping[str, InjectedFault] = FAULTS) -> tuple[str, ...]:
    """Return the faults that a text such as `crash,delay` names, in the order of `known`; `none`, `usual` and `all` name groups.

    Raises:
        SpecError: a fault is not known here.
    """
    words = {"none": (), "usual": usual(known), "all": tuple(known)}
    named: set[str] = set()
    for word in (part.strip() for part in text.split(",")):
        if word not in words and word not in known:
            why = "needs ZooKeeper, which KRaft does not have" if word in FAULTS else "is unknown"
            raise SpecError(f"fault {word!r} {why}; known are {', '.join(known)}, and the groups none, usual and all")
        named.update(words.get(word, (word,)))
    return tuple(name for name in known if name in named)


def chance(faults: Sequence[str], name: str) -> float:
    """Return the chance of a fault of messages, 0 if it is not one of these."""
    return FAULTS[name].chance if name in faults else 0.0
