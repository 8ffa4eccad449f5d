"""May I format the disk of a controller again? Judged by two readings of the running quorum.

Where voters are configured (kraft.version 0), such a controller stays a voter, and has forgotten its votes and its log. The model
has it as the rule FormatAgain: it is safe once all other voters follow one leader in its epoch and fetch at the end of its log;
before, quorum/voter-formatted-again loses committed records. Where voters are records of the log, it is an observer then, and its
vote is missing.

One reading does not say that the others follow still (quorum/voter-formatted-at-no-lag). Two do: who fetches from a leader before
and after the first, in one epoch, followed it then.

Source: Kafka 4.3 LeaderState.describeQuorum; KIP-595, KIP-853.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from kafka_spec.conformance.metadata.quorum_reading import UNKNOWN, QuorumReading
from kafka_spec.model_check.budget import Budget
from kafka_spec.spec.decisions.quorum import is_majority

SCHEMA_VERSION = 1
BETWEEN = 1.5
"""Seconds between two readings: a follower fetches several times."""
PATIENCE = 10.0
"""Seconds for which readings are repeated, since a follower lacks the newest records for a moment again and again."""
HEADINGS = {"safe": "SAFE", "unsafe": "NOT SAFE", "undecided": "NOT DECIDED"}


@dataclass(frozen=True)
class FormatAdvice:
    """Whether a controller may be formatted again, by the second of two readings."""

    node: int
    reading: QuorumReading
    reason: str
    """What is against it, "" if it is safe."""
    passes: bool = False
    """Whether the reason may go by itself within seconds."""
    undecided: bool = False

    @property
    def verdict(self) -> str:
        """Whether it is safe, or was not found out."""
        return "undecided" if self.undecided else "unsafe" if self.reason else "safe"

    @property
    def plan(self) -> str:
        """The plan in words."""
        return f"format the disk of controller {self.node} again"

    @property
    def is_voter(self) -> bool:
        """Whether it is a voter now."""
        return self.node in self.reading.voters

    @property
    def stays_voter(self) -> bool:
        """Whether it is a voter afterwards, too."""
        return self.is_voter and self.reading.voters[self.node].directory is None

    @property
    def next(self) -> str:
        """What to do next."""
        if not self.is_voter:
            return "format it, and start it: it is an observer, which neither votes nor counts"
        if self.stays_voter:
            return "leave it down until its disk is formatted, start it, and wait until its lag is 0 before the next one"
        old = f"kafka-metadata-quorum remove-controller --controller-id {self.node}, with its old directory id"
        return f"format it with --no-initial-controllers, start it, {old}, then add-controller"


def judged(node: int, first: QuorumReading, second: QuorumReading) -> FormatAdvice:
    """Judge whether a controller may be formatted again, by two readings, of which the second is `BETWEEN` later."""

    def because(*reasons: str, passes: bool = False) -> FormatAdvice:
        return FormatAdvice(node, second, "; ".join(reasons), passes)

    if node not in second.voters:
        return because()
    if len(second.voters) == 1:
        return because("it is the only voter, and its disk has the only copy of the metadata")
    if second.leader == node:
        return because("it leads; shut it down, so that another is elected")
    if (first.leader, first.epoch, set(first.voters)) != (second.leader, second.epoch, set(second.voters)):
        return because("the leader, its epoch or the voters have just changed", passes=True)
    if second.leader not in second.voters:
        return because("the leader is being removed from the voters", passes=True)
    others = [one for one in sorted(second.voters) if one != node]
    behind = [one for one in others if not follows_at_end(one, first, second)]
    lacking = [_lack(one, first, second) for one in behind]
    if second.voters[node].fetched > first.voters[node].fetched:
        return because("it runs, and fetches; shut it down first, so that the others do not count on it", *lacking)
    if second.voters[node].directory is None:
        return because(*lacking, passes=bool(lacking))
    if is_majority(len(others) - len(behind), len(second.voters)):
        return because()
    missing = f"without it {len(others) - len(behind)} of {len(second.voters)} voters are left that have the whole log: no majority"
    return because(missing, *lacking, passes=bool(lacking))


def follows_at_end(voter: int, first: QuorumReading, second: QuorumReading) -> bool:
    """Whether a voter followed the leader at the first reading, and has the log that the leader had then.

    An end of before may be that of a log that is lost: it has to fetch at that end again.
    """
    if voter == first.leader:
        return True
    fetches_again = UNKNOWN < first.voters[voter].fetched < second.voters[voter].fetched
    return fetches_again and first.lag(voter) == 0 and second.voters[voter].end >= first.end


def _lack(voter: int, first: QuorumReading, second: QuorumReading) -> str:
    if second.voters[voter].fetched in (UNKNOWN, first.voters[voter].fetched):
        return f"controller {voter} does not fetch; start it, or wait until it fetches"
    lacking = max(first.lag(voter), first.end - second.voters[voter].end)
    return f"controller {voter} lacks {lacking} of the leader's records"


def advised(node: int, read: Callable[[], QuorumReading], budget: Budget) -> FormatAdvice:
    """Read the quorum until it is safe, nothing changes by waiting, or time is up."""
    until, first = time.monotonic() + PATIENCE, read()
    while True:
        time.sleep(BETWEEN)
        second = read()
        advice = judged(node, first, second)
        if not advice.passes or time.monotonic() > until:
            return advice
        if budget.exhausted():
            return FormatAdvice(node, second, advice.reason, undecided=True)
        first = second


def text_of(advice: FormatAdvice) -> str:
    """Return the advice as text."""
    return "\n".join(_text(advice))


def _text(advice: FormatAdvice) -> Iterator[str]:
    reading = advice.reading
    yield f"{HEADINGS[advice.verdict]}: {advice.plan}"
    configured = all(voter.directory is None for voter in reading.voters.values())
    where = "configured (kraft.version 0)" if configured else "records of the log (kraft.version 1)"
    yield f"  the voters are {where}; controller {reading.leader} leads epoch {reading.epoch}"
    for node in sorted(reading.voters):
        yield f"  controller {node}: log end {reading.voters[node].end}, lag {reading.lag(node)}"
    if advice.reason:
        yield f"  because {advice.reason}"
    elif advice.is_voter:
        yield "  because the others follow this leader in its epoch, and have its whole log"
    yield f"  next: {advice.next}" if not advice.reason else "  next: ask again then"


def json_of(advice: FormatAdvice) -> str:
    """Return the advice as JSON."""
    reading = advice.reading
    voters = [
        {"controller": node, "log_end": voter.end, "lag": reading.lag(node), "directory": str(voter.directory or "") or None}
        for node, voter in sorted(reading.voters.items())
    ]
    plain = {
        "schema_version": SCHEMA_VERSION,
        "verdict": advice.verdict,
        "plan": advice.plan,
        "leader": reading.leader,
        "epoch": reading.epoch,
        "voters": voters,
        "stays_voter": advice.stays_voter,
        "reason": advice.reason or None,
        "next": advice.next if not advice.reason else None,
    }
    return json.dumps(plain, indent=1)
