"""The engine's own compiled functions: the set of seen fingerprints, and the strongly connected components of a graph.

They are written in the language of specs, extended by arrays, `while` and arithmetic that wraps. lowering/ compiles them into each
module together with the code of the spec. They work on fingerprints and records.

A set is an open-addressing table of 64-bit fingerprints, a power of two long, probed linearly from the low bits; 0 is a free slot.
The high bits say which shard a fingerprint belongs to.
"""
# ruff: noqa: F821  (the compiler defines RECORD_BYTES, prefetch and copy_record)
# mypy: ignore-errors

from collections.abc import Callable
from typing import Any

AHEAD = 12
"""How many candidates ahead table slots are prefetched: about the latency of one memory access."""


def insert(
    table,
    mask,
    shift,
    shard,
    states,
    fingerprints,
    parents,
    actions,
    count,
    new_states,
    new_fingerprints,
    new_parents,
    new_actions,
    known,
    mine,
):
    """Append the candidates of a shard that are not in the table to the new states; return their number.

    `shift` is 0 if there is a single shard. `mine` is a buffer for the numbers of the shard's candidates. The first of equal
    candidates wins.
    """
    own = 0
    for i in range(count):
        mine[own] = i
        own = own + (shift == 0 or fingerprints[i] >> shift == shard)
    for j in range(own):
        if j + AHEAD < own:
            prefetch(table, fingerprints[mine[j + AHEAD]] & mask)
        i = mine[j]
        fingerprint = fingerprints[i]
        at = fingerprint & mask
        while table[at] != 0 and table[at] != fingerprint:
            at = (at + 1) & mask
        if table[at] == 0:
            table[at] = fingerprint
            copy_record(new_states, known, states, i)
            new_fingerprints[known] = fingerprint
            new_parents[known] = parents[i]
            new_actions[known] = actions[i]
            known = known + 1
    return known


def rehash(old, size, table, mask):
    """Put the fingerprints of an old table into a larger, empty one."""
    for i in range(size):
        if i + AHEAD < size:
            prefetch(table, old[i + AHEAD] & mask)
        fingerprint = old[i]
        if fingerprint != 0:
            at = fingerprint & mask
            while table[at] != 0:
                at = (at + 1) & mask
            table[at] = fingerprint


def components(starts, targets, count, parts, order, low, path, at, open_states):
    """Number the strongly connected components of a graph from 1, including single states; return their number (Tarjan).

    The steps out of state n lead to `targets[starts[n]:starts[n + 1]]`. `parts` gets the component's number for each state. The
    caller passes `parts` and `order` as zeros, `at` as a copy of `starts`, and the others as buffers with one number per state.
    """
    seen = 0
    opened = 0
    found = 0
    for root in range(count):
        depth = 0
        if order[root] == 0:
            path[0] = root
            depth = 1
        while depth > 0:
            node = path[depth - 1]
            if order[node] == 0:
                seen = seen + 1
                order[node] = seen
                low[node] = seen
                open_states[opened] = node
                opened = opened + 1
            if at[node] < starts[node + 1]:
                to = targets[at[node]]
                at[node] = at[node] + 1
                if order[to] == 0:
                    path[depth] = to
                    depth = depth + 1
                elif parts[to] == 0 and order[to] < low[node]:
                    low[node] = order[to]
            else:
                depth = depth - 1
                if depth > 0:
                    if low[node] < low[path[depth - 1]]:
                        low[path[depth - 1]] = low[node]
                if low[node] == order[node]:
                    found = found + 1
                    while parts[node] == 0:
                        opened = opened - 1
                        parts[open_states[opened]] = found
    return found


RETURNING = (insert, components)
"""The functions that return a number."""


def signatures(action_bits: int, graph: bool = False) -> dict[Callable[..., Any], tuple[int | str, ...]]:
    """Return the kinds of each function's arguments: bits of an array's items, or "int"; `graph`: include `components`."""
    sets: dict[Callable[..., Any], tuple[int | str, ...]] = {
        insert: (64, "int", "int", "int", 8, 64, 32, 32, "int", 8, 64, 32, action_bits, "int", 32),
        rehash: (64, "int", 64, "int"),
    }
    return {**sets, components: (64, 32, "int", 32, 32, 32, 32, 64, 32)} if graph else sets
