"""What one source says about controllers, topics and brokers beyond single partitions: small, and merged at the end."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from kafka_spec.conformance.outcome.violations import Violation


@dataclass
class Epoch:
    """One controller in one epoch, as one source shows it."""

    controller: int
    epoch: int
    plain: bool
    begun: bool
    """Whether the source contains the beginning of the epoch."""
    torn: bool = field(default=False, kw_only=True)
    """Whether lines are missing after its beginning."""
    place: int
    when: str


@dataclass
class Claims:
    """Statements of a source about controllers, topics and brokers: small, and merged at the end."""

    epochs: dict[tuple[int, int], Epoch] = field(default_factory=dict)
    named: dict[tuple[int, int], tuple[int, str, str]] = field(default_factory=dict)
    """(epoch, controller) as brokers and controllers name them: place, time, who names it."""
    brokers: set[int] = field(default_factory=set)
    """Brokers that write this source."""
    receivers: set[int] = field(default_factory=set)
    """Brokers to which a controller sends, according to this source."""
    alive: dict[int, frozenset[int]] = field(default_factory=dict)
    """Controller epochs: the brokers that were registered at its end, as far as its last requests show."""
    deletions: dict[str, tuple[bool, str, int]] = field(default_factory=dict)
    """Topics: whether the last deletion was finished, when that was logged, place."""
    elections: dict[int, tuple[int, str]] = field(default_factory=dict)
    """Epochs: the controller that logs its election, and when."""
    violations: list[Violation] = field(default_factory=list)
    started: set[tuple[int, str]] = field(default_factory=set)
    """Controller epochs and machines whose states at the start-up are logged."""
    arrived: dict[tuple[int, int], Counter[int]] = field(default_factory=dict)
    """By controller epoch and broker: how often a request with a number was followed by another one on its channel."""
    answered: dict[tuple[int, int], Counter[int]] = field(default_factory=dict)
    """By controller epoch and broker: how often the controller got an answer to a request with a number."""
    answered_logged: dict[tuple[int, int], Counter[int]] = field(default_factory=dict)
    """The same, of requests that a broker's log shows in any case: an UpdateMetadata without partitions is in none."""
    all_arrived: dict[tuple[int, int], Counter[int]] = field(default_factory=dict)
    """By controller epoch and broker: how often a request with a number arrived."""
    missing: list[tuple[int, str]] = field(default_factory=list)
    """Lines that other lines say must be here: the place where one is missed, and which."""
    missing_at_trace: list[tuple[int, str]] = field(default_factory=list)
    """The same, if this source is at TRACE."""
    unfinished: list[str] = field(default_factory=list)
    """What the source ends in the middle of."""
