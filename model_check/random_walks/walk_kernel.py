"""The engine's own compiled functions of random walks: the walk, the choice of a step by a policy, and chance.

They are written like those of kernel.py, and call functions that the compiler emits for each spec (walk_code.py): `choices_in`
lists the steps that can be taken in a state, `take` takes one, `judge` judges the states of a walk, `mark` is a fingerprint.

A choice is the number of an action; the number of its rule stands above its lower 32 bits. Choices of one rule stand together.
"""
# ruff: noqa: F821  (the compiler defines copy_record, choices_in, take, judge and mark)
# mypy: ignore-errors

from collections.abc import Callable
from typing import Any

BY_RULE, BY_SUCCESSOR, FAULTS_LATE, RARE_RULES = range(4)
"""The numbers of the policies: see batches.POLICIES."""
KNOWN = 1 << 40
"""The content of the cell of a property whose finding is known."""


def draw(chance, count):
    """Return a number of 0 to count - 1, by xorshift64* (Vigna, An experimental exploration of Marsaglia's xorshift generators)."""
    x = chance[0]
    x = x ^ (x >> 12)
    x = x ^ (x << 25)
    x = x ^ (x >> 27)
    chance[0] = x
    return (((x * 2685821657736338717) >> 33) * count) >> 31


def sow(chance, seed, walk):
    """Begin the chance of a walk: a number of its own for each seed and walk (splitmix64)."""
    x = seed + (walk + 1) * 11400714819323198485
    x = (x ^ (x >> 30)) * 13787848793156543929
    x = (x ^ (x >> 27)) * 10723151780598845931
    x = x ^ (x >> 31)
    if x == 0:
        x = 1
    chance[0] = x


def singleton(kind, choices, count, kinds):
    """Move the choices of rules of a kind to the front; return their number. Kind 0 are protocol rules, 1 the others."""
    kept = 0
    for i in range(count):
        if kinds[choices[i] >> 32] == kind:
            choices[kept] = choices[i]
            kept = kept + 1
    return kept


def choose(choices, count, starts, fired, policy, chance):
    """Return the place of the choice that a policy takes; `starts` is a buffer for the places at which a rule's choices begin."""
    if policy == BY_SUCCESSOR:
        return draw(chance, count)
    rules = 0
    last = -1
    for i in range(count):
        if choices[i] >> 32 != last:
            last = choices[i] >> 32
            starts[rules] = i
            rules = rules + 1
    starts[rules] = count
    picked = draw(chance, rules)
    if policy == RARE_RULES:
        other = draw(chance, rules)
        if fired[choices[starts[other]] >> 32] < fired[choices[starts[picked]] >> 32]:
            picked = other
    return starts[picked] + draw(chance, starts[picked + 1] - starts[picked])


def drop(choices, at, count):
    """Take a choice out of the list; return how many are left."""
    for i in range(at, count - 1):
        choices[i] = choices[i + 1]
    return count - 1


def noted(cells, count, step):
    """Return whether some of the cells, each `step` after the one before, holds a finding that is not known."""
    found = 0
    for i in range(count):
        if cells[i * step] >= 0:
            if cells[i * step] < KNOWN:
                found = 1
    return found


def walks(
    begin,
    end,
    seed,
    length,
    policy,
    policies,
    initial,
    initials,
    states,
    trail,
    choices,
    starts,
    kinds,
    marks,
    hash_seed,
    counters,
    fired,
    built_in,
    header,
    steps,
    first,
    claims,
    rows,
    chance,
    reported,
):
    """Walk; return the number of the next walk, which is `end` unless something was found in the walk before.

    `reported` gets the steps of the last walk, the number of its initial state, and how many fingerprints `marks` holds, and -1 or
    the place of a state in which a property cannot be evaluated. `policy` is that of all walks; if it is negative, walk w has the
    policy w modulo `policies`. A walk ends where no step can be taken, and after `length` steps.
    """
    marked = 0
    for walk in range(begin, end):
        sow(chance, seed, walk)
        how = policy
        if policy < 0:
            how = walk % policies
        origin = draw(chance, initials)
        copy_record(states, 0, initial, origin)
        marks[marked] = mark(states, 0, hash_seed)
        marked = marked + 1
        late = 0
        if how == FAULTS_LATE:
            late = draw(chance, length)
        step = 0
        going = 1
        while going == 1 and step < length:
            count = choices_in(states, step, choices, counters)
            held = 0
            if step < late and count > 0:
                held = singleton(0, choices, count, kinds)
                if held > 0:
                    count = held
            going = 0
            while count > 0 and going == 0:
                at = choose(choices, count, starts, fired, how, chance)
                choice = choices[at]
                going = take(states, step, choice, counters, rows)
                if going == 1:
                    trail[step] = choice & 4294967295
                    step = step + 1
                    marks[marked] = mark(states, step, hash_seed)
                    marked = marked + 1
                elif going == 0:
                    count = drop(choices, at, count)
                    if count == 0 and held > 0:
                        held = 0
                        count = choices_in(states, step, choices, counters)
                        count = singleton(1, choices, count, kinds)
                else:
                    count = -1
            if count < 0:
                going = -1
        reported[0] = step
        reported[1] = origin
        reported[2] = marked
        reported[3] = judge(states, step + 1, first, states)
        if going < 0 or reported[3] >= 0 or noted(first, claims, 1) or noted(built_in, 2, 1) or noted(header, steps, 2):
            return walk + 1
    return end


def follow(actions, count, states, trail, choices, counters, rows):
    """Take those of some actions that can be taken, in order, from the first of the states; return how many were taken, or -1."""
    step = 0
    for i in range(count):
        left = choices_in(states, step, choices, counters)
        if left < 0:
            return -1
        found = 0
        for j in range(left):
            if choices[j] & 4294967295 == actions[i]:
                found = choices[j] + 1
        if found > 0:
            taken = take(states, step, found - 1, counters, rows)
            if taken < 0:
                return -1
            if taken == 1:
                trail[step] = actions[i]
                step = step + 1
    if choices_in(states, step, choices, counters) < 0:
        return -1
    return step


EMITTED = ("choices_in", "take", "mark", "judge")
"""The functions that the compiler emits, which these call."""

SIGNATURES: dict[Callable[..., Any], tuple[int | str, ...]] = {
    walks: (
        *["int"] * 6, 8, "int", 8, 32, 64, 64, 8, 64, "int", 64, 64, 64, 64, "int", 64, "int", 8, 64, 64,
    ),
    follow: (32, "int", 8, 32, 64, 64, 8),
}  # fmt: skip
"""The kinds of the arguments of the exported functions: bits of an array's items, or "int"."""
