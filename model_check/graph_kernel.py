"""Compiled functions on a graph of numbered states: numbers for fingerprints, ways back, strongly connected components, fairness.

They are written in the language of kernel.py, without a spec; graph_code.py compiles and calls them. Steps are arrays of
equal length; where they are grouped by a state, those of state n have the indices from `starts[n]` to `starts[n + 1] - 1`.
"""
# ruff: noqa: F821  (the compiler defines AHEAD and prefetch)
# mypy: ignore-errors

from collections.abc import Callable
from typing import Any


def enter(marks, count, table, slots):
    """Put the number of each state, plus 1, at the slot of its fingerprint or the next free one; the table begins as zeros."""
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


def look_up(targets, count, marks, table, slots, numbers):
    """Write the numbers of the states with these fingerprints; return the index of one that no state has, or -1."""
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
            return i
        numbers[i] = number - 1
    return -1


def group(keys, values, count, states, starts, grouped):
    """Group values by the state that is their key, those of one state in their order; `starts` begins as zeros."""
    for i in range(count):
        key = keys[i]
        starts[key] = starts[key] + 1
    at = 0
    for state in range(states):
        own = starts[state]
        starts[state] = at
        at = at + own
    for i in range(count):
        key = keys[i]
        grouped[starts[key]] = values[i]
        starts[key] = starts[key] + 1
    for i in range(states):
        starts[states - i] = starts[states - i - 1]
    starts[0] = 0
    return 0


def spread(safe, starts, back, queue, begin, end, filled):
    """Mark the sources of steps to `queue[begin:end]` safe, and put those that were not to the queue's end; return its length."""
    for i in range(begin, end):
        state = queue[i]
        for at in range(starts[state], starts[state + 1]):
            source = back[at]
            if safe[source] == 0:
                safe[source] = 1
                queue[filled] = source
                filled = filled + 1
    return filled


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


def demand(starts, targets, actions, weak, strong, parts, members, firsts, found, enabled, taken, unfair, avoided):
    """Mark the components that weak fairness makes `unfair`, and the states that strong fairness makes `avoided`.

    An action that is taken within a component demands nothing there. Otherwise a weakly fair one that all states of the component
    enable rules it out, and a strongly fair one rules out the states that enable it. `enabled` and `taken` have a zero for each
    action. An action leads from a state to one state, so a single state takes only what leads to itself.
    """
    for part in range(1, found + 1):
        begin = firsts[part - 1]
        end = firsts[part]
        if end - begin == 1:
            for step in range(starts[members[begin]], starts[members[begin] + 1]):
                if targets[step] != members[begin]:
                    if weak[actions[step]] != 0:
                        unfair[part] = 1
                    if strong[actions[step]] != 0:
                        avoided[members[begin]] = 1
            begin = end
        for i in range(begin, end):
            for step in range(starts[members[i]], starts[members[i] + 1]):
                action = actions[step]
                enabled[action] = enabled[action] + 1
                if parts[targets[step]] == part:
                    taken[action] = 1
        for i in range(begin, end):
            for step in range(starts[members[i]], starts[members[i] + 1]):
                action = actions[step]
                if taken[action] == 0:
                    if weak[action] != 0 and enabled[action] == end - begin:
                        unfair[part] = 1
                    if strong[action] != 0:
                        avoided[members[i]] = 1
        for i in range(begin, end):
            for step in range(starts[members[i]], starts[members[i] + 1]):
                enabled[actions[step]] = 0
                taken[actions[step]] = 0
    return 0


SIGNATURES: dict[Callable[..., Any], tuple[int | str, ...]] = {
    enter: (64, "int", 32, "int"),
    look_up: (64, "int", 64, 32, "int", 32),
    group: (32, 32, "int", "int", 64, 32),
    spread: (8, 64, 32, 32, "int", "int", "int"),
    components: (64, 32, 32, 8, "int", 32, 32, 32, 32, 64, 32, 32),
    demand: (64, 32, 32, 8, 8, 32, 32, 32, "int", 32, 8, 8, 8),
}
"""The kinds of each function's arguments: bits of an array's items, or "int"."""
