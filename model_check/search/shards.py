"""The set of seen fingerprints, in shards.

Depends on fingerprints and the compiled functions of the set, not on the order of the search.
"""

from __future__ import annotations

import numpy as np

from kafka_spec.model_check.code.arrays import Numbers, Words, address, memory, reserve
from kafka_spec.model_check.code.compiled import Code
from kafka_spec.model_check.code.kernel import SLACK
from kafka_spec.model_check.exploration import EngineError

FULL, DENSE = 0.7, 0.92
"""The load at which a small and a large table of fingerprints grows."""
LARGE = 1 << 24
"""The slots from which on a table is large: it grows by a sixteenth, and a state takes 8.7 to 9.2 bytes. A small one doubles."""


def slots_for(slots: int, marks: int) -> int:
    """Return how many slots a table of `slots` slots should have to hold this many fingerprints."""
    while marks > (FULL if slots < LARGE else DENSE) * slots:
        slots = 2 * slots if slots < LARGE else slots + slots // 16
    return slots


class Shard:
    """The seen fingerprints whose leading `bits` are `number`.

    The fingerprint of a state stands for it: of n states, two share one of the 2^64 fingerprints with a probability of about
    n^2 / 2^65 (1.7e-12 for 7,915 states, 2.7 % for 10^9). Then the later of the two is not searched, and what only it leads to is
    not found. Every result says how probable that was.
    """

    def __init__(self, program: Code, number: int, bits: int, huge: bool = True) -> None:
        self.program, self.number, self.bits = program, number, bits
        self.area: Words = reserve(min(memory() // 8, (1 << 32) - 1), np.uint64, huge)
        self.table = self.area[: (1 << 12) + SLACK]
        self.seen = 0
        self.mine: Numbers = np.empty(0, np.uint32)

    @property
    def slots(self) -> int:
        """The slots of the table, without the slack."""
        return len(self.table) - SLACK

    def growth(self, candidates: int) -> int:
        """Return the most bytes that the table may allocate for this many candidates."""
        return (slots_for(self.slots, self.seen + candidates) - self.slots) * 8

    def expect(self, marks: int) -> None:
        """Grow until the table is wide enough for this many fingerprints more.

        Fingerprints that come in ascending order need this for all of them at once: the first ones all belong to the beginning of
        the table, and would fill it there.
        """
        more = slots_for(self.slots, self.seen + marks)
        if more > self.slots:
            self.grow(more)

    def grow(self, slots: int) -> None:
        """Give the table more slots."""
        if slots + SLACK > len(self.area):
            raise MemoryError
        slack(self.program.widen(address(self.area), self.slots, slots, self.bits))
        self.table = self.area[: slots + SLACK]

    def deduplicate(self, marks: Words) -> Numbers:
        """Add the fingerprints of this shard among those of some candidates; return the places of the new ones, until called again.

        The first of equal candidates is the new one.
        """
        if len(marks) >= len(self.mine):
            self.mine = np.empty(len(marks) + 1, np.uint32)
        self.expect(len(marks))
        fresh = slack(
            self.program.insert(
                address(self.table), self.slots, self.bits, self.number, address(marks), len(marks), address(self.mine)
            )
        )
        self.seen += fresh
        return self.mine[:fresh]

    def add(self, marks: Words) -> None:
        """Add fingerprints that are not in the table; `expect` comes first where they are in ascending order."""
        self.expect(len(marks))
        marks = np.ascontiguousarray(marks)
        slack(self.program.fill(address(marks), len(marks), address(self.table), self.slots, self.bits))
        self.seen += len(marks)


def slack(result: int) -> int:
    """Return what a function on a table returned, or raise EngineError if the table had no slack left for a fingerprint."""
    if result < 0:
        raise EngineError("fingerprints crowd at one place of the table of seen states, as random ones do not; use another seed")
    return result
