"""Reachability over the steps that a search recorded: which states can reach one that is marked.

Works on numbers of states and steps (steps.py). For a recoverable property a state is marked, or *safe*, if it meets the predicate
or is undecided, and only protocol steps count. Most steps lead to a later level. So the states are gone through from the last to
the first, and nearly all are marked when they are looked at. The rest is gone through in the other direction, and so on, until
none is marked.
"""

from __future__ import annotations

import numpy as np

from kafka_spec.model_check.code import graph_code
from kafka_spec.model_check.code.arrays import Flags, Numbers
from kafka_spec.model_check.code.graph_code import Graph
from kafka_spec.model_check.search.edge_log import Exhausted

PIECE = 1 << 16
"""The number of states whose steps are followed at a time."""


def spread(marked: Flags, waiting: Flags, graph: Graph, lasting: Flags, exhausted: Exhausted) -> str:
    """Mark those of the waiting states that can reach a marked one over waiting states; return "", or why the budget forbids it.

    Steps count whose action is `lasting`.
    """
    left = backwards(waiting)
    while len(left):
        kept = 0
        for begin in range(0, len(left), PIECE):
            if reason := exhausted(0):
                return reason
            kept = graph_code.spread(marked, graph, lasting, left, begin, min(len(left), begin + PIECE), kept)
        if kept == len(left):
            break
        left = np.ascontiguousarray(left[:kept][::-1])
    return ""


def backwards(chosen: Flags) -> Numbers:
    """Return the numbers of the chosen states, the largest first."""
    return np.flatnonzero(chosen)[::-1].astype(np.uint32)
