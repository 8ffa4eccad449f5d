"""The engine's own compiled functions: the set of seen fingerprints.

They are written in the language of specs, extended by arrays, `while` and arithmetic that wraps. lowering/ compiles them into each
module together with the code of the spec. They work on fingerprints and records.

A set is a table of 64-bit fingerprints in ascending order, with free slots (0) between them. A fingerprint belongs at the slot that
its leading bits give as a fraction of the table, or behind smaller ones that are in its way; behind the last slot there is some
slack for those. So a search ends at the first larger fingerprint, a table may have any number of slots, stay nine tenths full, and
grow in place by a walk from end to end. The leading `bits` of a fingerprint say which shard it belongs to.
"""
# ruff: noqa: F821  (the compiler defines RECORD_BYTES, SIGN, SLACK, prefetch, copy_record and copy_bytes)
# mypy: ignore-errors

from collections.abc import Callable
from typing import Any

AHEAD = 20
"""How many candidates ahead table slots are prefetched: about the latency of one memory access."""

SLACK = 1024
"""Slots behind the last one. In a table that is nine tenths full a fingerprint stands 5 slots behind its own. 1,024 are never used
up, unless fingerprints are not random; then the search ends with an error."""


def insert(table, slots, bits, shard, fingerprints, count, mine):
    """Put the fingerprints of a shard that are not in the table into it; return their number, or -1 without slack.

    The first of equal ones is new. `mine` is a buffer for the numbers of the shard's candidates; at the end it begins with those of
    the new ones, in order.
    """
    own = count
    if bits > 0:
        own = 0
        for i in range(count):
            mine[own] = i
            own = own + (fingerprints[i] >> (63 - bits) >> 1 == shard)
    fresh = 0
    for j in range(own):
        i = j
        ahead = j + AHEAD
        if bits > 0:
            i = mine[j]
            if ahead < own:
                ahead = mine[ahead]
        if j + AHEAD < own:
            prefetch(table, (fingerprints[ahead] << bits >> 32) * slots >> 32)
        fingerprint = fingerprints[i]
        at = (fingerprint << bits >> 32) * slots >> 32
        while table[at] != 0 and (table[at] ^ SIGN) < (fingerprint ^ SIGN):
            at = at + 1
        if table[at] != fingerprint:
            if table[slots + SLACK - 1] != 0:
                return -1
            mine[fresh] = i
            fresh = fresh + 1
            while fingerprint != 0:
                larger = table[at]
                table[at] = fingerprint
                fingerprint = larger
                at = at + 1
    return fresh


def append(
    places,
    count,
    states,
    fingerprints,
    parents,
    actions,
    new_states,
    new_fingerprints,
    new_parents,
    new_actions,
):
    """Append the candidates at some places to the new states, in order; return 0."""
    for j in range(count):
        i = places[j]
        copy_record(new_states, j, states, i)
        new_fingerprints[j] = fingerprints[i]
        new_parents[j] = parents[i]
        new_actions[j] = actions[i]
    return 0


def append_rows(
    places,
    count,
    rows,
    starts,
    fingerprints,
    parents,
    actions,
    new_rows,
    new_sizes,
    new_fingerprints,
    new_parents,
    new_actions,
):
    """Append the candidates at some places to the new states, in order, as rows of different lengths; return their bytes."""
    at = 0
    for j in range(count):
        i = places[j]
        begin = starts[i]
        size = starts[i + 1] - begin
        copy_bytes(new_rows, at, rows, begin, size)
        new_sizes[j] = size
        at = at + size
        new_fingerprints[j] = fingerprints[i]
        new_parents[j] = parents[i]
        new_actions[j] = actions[i]
    return at


def fill(marks, count, table, slots, bits):
    """Put fingerprints that are not in a table into it, except zeros; return 0, or -1 without slack."""
    for i in range(count):
        if i + AHEAD < count:
            prefetch(table, (marks[i + AHEAD] << bits >> 32) * slots >> 32)
        fingerprint = marks[i]
        if table[slots + SLACK - 1] != 0:
            return -1
        at = (fingerprint << bits >> 32) * slots >> 32
        while table[at] != 0 and (table[at] ^ SIGN) < (fingerprint ^ SIGN):
            at = at + 1
        while fingerprint != 0:
            larger = table[at]
            table[at] = fingerprint
            fingerprint = larger
            at = at + 1
    return 0


def widen(table, slots, more, bits):
    """Give a table more slots, in place; return 0, or -1 without slack.

    First all fingerprints are gathered at its new end, then each is put where it belongs, which is before where it is read.
    """
    end = more + SLACK
    for i in range(slots + SLACK):
        fingerprint = table[slots + SLACK - 1 - i]
        if fingerprint != 0:
            end = end - 1
            table[slots + SLACK - 1 - i] = 0
            table[end] = fingerprint
    at = 0
    for i in range(end, more + SLACK):
        fingerprint = table[i]
        table[i] = 0
        own = (fingerprint << bits >> 32) * more >> 32
        if own > at:
            at = own
        if at > i:
            return -1
        table[at] = fingerprint
        at = at + 1
    return 0


def signatures(action_bits: int, light: bool) -> dict[Callable[..., Any], tuple[int | str, ...]]:
    """Return the kinds of each function's arguments: bits of an array's items, or "int". `light`: states are kept as light rows."""
    rows = {append_rows: (32, "int", 8, 64, 64, 32, 32, 8, 32, 64, 32, action_bits)}
    return {
        **(rows if light else {}),
        insert: (64, "int", "int", "int", 64, "int", 32),
        append: (32, "int", 8, 64, 32, 32, 8, 64, 32, action_bits),
        fill: (64, "int", 64, "int", "int"),
        widen: (64, "int", "int", "int"),
    }
