"""Compiled functions on a graph of numbered states: recorded steps, numbers for fingerprints, edges reversed, components, fairness.

They are written in the language of kernel.py, without a spec; graph_code.py compiles and calls them. Steps are arrays of
equal length; those out of state n have the indices from `starts[n]` to `starts[n + 1] - 1`.
"""
# ruff: noqa: F821  (the compiler defines AHEAD and prefetch)
# mypy: ignore-errors

from collections.abc import Callable
from typing import Any


def review(meets, count, ways, claims, places, leading, open_, lacking, owing):
    """Mark the states that are open for some leads-to property, and those that lack a recoverable one; count those that owe each.

    Each state has `ways` flags in `meets`, those of the properties first. `places` has the place of each property's antecedent
    among them; where that is `ways`, all states meet it, and where it is more, none does. All states are open for what is `leading`
    by 2.
    """
    for i in range(count):
        row = i * ways
        for claim in range(claims):
            if leading[claim] == 2:
                open_[i] = 1
            if meets[row + claim] == 0:
                if leading[claim] != 0:
                    open_[i] = 1
                else:
                    lacking[i] = 1
                if places[claim] == ways:
                    owing[claim] = owing[claim] + 1
                elif places[claim] < ways:
                    owing[claim] = owing[claim] + meets[row + places[claim]]
    return 0


def keep(begin, end, parents, targets, actions, count, marks, open_, lacking, cuts, matter, degrees, kept_targets, kept_actions):
    """Keep the steps that matter of those out of the states begin..end-1 of a level; return their number.

    These are steps to other states, by actions that matter, out of states that are open, or lack something and are not cut off.
    `degrees` begins as zeros; it gets the number of each state's steps. Steps must be in the order of their parents: if not, -1 is
    returned.
    """
    kept = 0
    last = begin
    for i in range(count):
        parent = parents[i]
        if parent < last or parent >= end:
            return -1
        last = parent
        if open_[parent] != 0 or (lacking[parent] != 0 and cuts[parent - begin] == 0):
            if matter[actions[i]] != 0 and targets[i] != marks[parent]:
                kept_targets[kept] = targets[i]
                kept_actions[kept] = actions[i]
                kept = kept + 1
                degrees[parent - begin] = degrees[parent - begin] + 1
    return kept


def begin(starts, degrees, first, count):
    """Write where the steps of the states from `first` on begin and end; where the first of them begins is known."""
    for i in range(count):
        starts[first + i + 1] = starts[first + i] + degrees[i]
    return 0


def enter(marks, count, table, slots):
    """Put the index of each fingerprint, plus 1, at its slot or the next free one; the table begins as zeros."""
    for i in range(count):
        if i + AHEAD < count:
            prefetch(table, (marks[i + AHEAD] >> 33) * slots >> 31)
        at = (marks[i] >> 33) * slots >> 31
        while table[at] != 0:
            at = at + 1
            if at == slots:
                at = 0
        table[at] = i + 1
    return 0


def look_up(targets, places, count, marks, table, slots, first, numbers):
    """Write the number of each fingerprint that the table has to its place in `numbers`; return how many it does not have.

    The state with the index 0 has the number `first`. The fingerprints that are not found move to the front, with their places.
    """
    missed = 0
    for i in range(count):
        if i + 2 * AHEAD < count:
            prefetch(table, (targets[i + 2 * AHEAD] >> 33) * slots >> 31)
        if i + AHEAD < count:
            prefetch(marks, table[(targets[i + AHEAD] >> 33) * slots >> 31])
        target = targets[i]
        at = (target >> 33) * slots >> 31
        number = table[at]
        while number != 0 and marks[number - 1] != target:
            at = at + 1
            if at == slots:
                at = 0
            number = table[at]
        if number == 0:
            targets[missed] = target
            places[missed] = places[i]
            missed = missed + 1
        else:
            numbers[places[i]] = first + number - 1
    return missed


def spread(marked, starts, targets, actions, lasting, waiting, begin, end, kept):
    """Mark those of the states `waiting[begin:end]` that have a lasting step to a marked one, each at once.

    The others move to `waiting[kept:]`; return where they end.
    """
    for i in range(begin, end):
        state = waiting[i]
        at = starts[state]
        end_of_steps = starts[state + 1]
        while at < end_of_steps and (lasting[actions[at]] == 0 or marked[targets[at]] == 0):
            at = at + 1
        if at < end_of_steps:
            marked[state] = 1
        else:
            waiting[kept] = state
            kept = kept + 1
    return kept


def trim(left, starts, targets, actions, lasting, fair, waiting, begin, end, kept, resting):
    """Take those of the states `waiting[begin:end]` out of `left` that have no lasting step to a state of it, each at once.

    Mark those of them as resting that have no step by a fair action. The others move to `waiting[kept:]`; return where they end.
    """
    for i in range(begin, end):
        state = waiting[i]
        at = starts[state]
        end_of_steps = starts[state + 1]
        demanded = 0
        while at < end_of_steps and (lasting[actions[at]] == 0 or left[targets[at]] == 0):
            demanded = demanded + fair[actions[at]]
            at = at + 1
        if at < end_of_steps:
            waiting[kept] = state
            kept = kept + 1
        else:
            left[state] = 0
            if demanded == 0:
                resting[state] = 1
    return kept


def components(starts, targets, actions, lasting, count, rank, members, firsts, path, at, own, opened):
    """Number the strongly connected components from 1; return their number (Tarjan, with one rank for each state, by Pearce).

    Steps count whose action is `lasting`. `rank` is 0 for each state that counts, and the largest number for the others; it becomes
    the largest number minus the component, so that a settled state never lowers the rank of another. `members` gets the states of
    all components, those of component n from `firsts[n - 1]` to `firsts[n] - 1`; `firsts` begins as zeros. The others are buffers
    with one number for each state: the path of the depth-first search, with the next step and the own rank of each state on it, and
    the states that are left behind on it until their component is settled.
    """
    ranked = 0
    waiting = 0
    found = 0
    settled = 0
    for before in range(count):
        depth = 0
        entered = count
        # from the last state on: most steps lead to later states, which are settled then
        if rank[count - 1 - before] == 0:
            entered = count - 1 - before
        while entered != count or depth > 0:
            if entered != count:
                ranked = ranked + 1
                rank[entered] = ranked
                path[depth] = entered
                at[depth] = starts[entered]
                own[depth] = ranked
                depth = depth + 1
                entered = count
            node = path[depth - 1]
            low = rank[node]
            step = at[depth - 1]
            end = starts[node + 1]
            while step < end and entered == count:
                if lasting[actions[step]] != 0:
                    to = rank[targets[step]]
                    if to == 0:
                        entered = targets[step]
                    elif to < low:
                        low = to
                step = step + 1
            rank[node] = low
            at[depth - 1] = step
            if entered == count:
                depth = depth - 1
                opened[waiting] = node
                waiting = waiting + 1
                if low == own[depth]:
                    found = found + 1
                    while waiting > 0 and rank[opened[waiting - 1]] >= low:
                        ranked = ranked - 1
                        waiting = waiting - 1
                        rank[opened[waiting]] = 4294967295 - found
                        members[settled] = opened[waiting]
                        settled = settled + 1
                    firsts[found] = settled
                if depth > 0:
                    if rank[node] < rank[path[depth - 1]]:
                        rank[path[depth - 1]] = rank[node]
    return found


def demand(starts, targets, actions, groups, weak, strong, parts, members, firsts, found, enabled, taken, seen, unfair, avoided):
    """Mark the components that weak fairness makes `unfair`, and the states that strong fairness makes `avoided`.

    `groups` has for each action the group that is fair together. A group of which an action is taken within a component demands
    nothing there. Otherwise a weakly fair one that all states of the component enable rules it out, and a strongly fair one rules
    out the states that enable it. `enabled`, `taken` and `seen` have a zero for each group; `seen` is the last state that was found
    to enable it.
    """
    for part in range(1, found + 1):
        begin = firsts[part - 1]
        end = firsts[part]
        for i in range(begin, end):
            for step in range(starts[members[i]], starts[members[i] + 1]):
                group = groups[actions[step]]
                if seen[group] != i + 1:
                    seen[group] = i + 1
                    enabled[group] = enabled[group] + 1
                if parts[targets[step]] == part:
                    taken[group] = 1
        for i in range(begin, end):
            for step in range(starts[members[i]], starts[members[i] + 1]):
                group = groups[actions[step]]
                if taken[group] == 0:
                    if weak[group] != 0 and enabled[group] == end - begin:
                        unfair[part] = 1
                    if strong[group] != 0:
                        avoided[members[i]] = 1
        for i in range(begin, end):
            for step in range(starts[members[i]], starts[members[i] + 1]):
                enabled[groups[actions[step]]] = 0
                taken[groups[actions[step]]] = 0
    return 0


SIGNATURES: dict[Callable[..., Any], tuple[int | str, ...]] = {
    review: (8, "int", "int", "int", 32, 8, 8, 8, 64),
    keep: ("int", "int", 32, 64, 32, "int", 64, 8, 8, 8, 8, 32, 64, 32),
    begin: (64, 32, "int", "int"),
    enter: (64, "int", 32, "int"),
    look_up: (64, 32, "int", 64, 32, "int", "int", 32),
    spread: (8, 64, 32, 32, 8, 32, "int", "int", "int"),
    trim: (8, 64, 32, 32, 8, 8, 32, "int", "int", "int", 8),
    components: (64, 32, 32, 8, "int", 32, 32, 32, 32, 64, 32, 32),
    demand: (64, 32, 32, 32, 8, 8, 32, 32, 32, "int", 32, 8, 32, 8, 8),
}
"""The kinds of each function's arguments: bits of an array's items, or "int"."""
