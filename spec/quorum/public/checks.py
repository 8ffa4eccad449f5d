"""The checks of the public TLA+ models of the quorum, with the counts of TLC (tests/oracles/quorum-counts.json)."""

from __future__ import annotations

from functools import partial

from kafka_spec.spec.vocabulary.table import Check, Untestable

NOTHING_COMMITTED = Untestable(
    "a leader of PullRaft commits an entry only when it sends the next one, and there is none",
    ("LeaderHasAllAckedValues", "NoLogDivergence"),
)

NO_VALUE_COMMITTED = Untestable(
    "a leader commits when a voter fetches, so an only voter commits nothing; or no value is written",
    ("LeaderHasAllAckedValues",),
)

_check = partial(Check, why="the public TLA+ model, and the counts that TLC has there")
_pull_raft = partial(_check, "quorum/public_pull_raft")
_kraft = partial(_check, "quorum/public_kraft")
_reconfig = partial(_check, "quorum/public_reconfig")

CHECKS: tuple[Check, ...] = (
    *(_pull_raft(bounds, not_tested=(NOTHING_COMMITTED,)) for bounds in ("2s1v1e", "2s1v1e1r", "2s1v2e", "2s1v2e1r", "2s1v3e")),
    _pull_raft("2s2v2e"),
    _pull_raft("3s1v1e", not_tested=(NOTHING_COMMITTED,)),
    _pull_raft("3s1v2e", not_tested=(NOTHING_COMMITTED,), normal_form=True),
    _kraft("2s1v1e"),
    _kraft("2s2v1e"),
    _kraft("2s1v1e1r", "violated", {"NoIllegalState": 7}),
    *(_reconfig(bounds, not_tested=(NO_VALUE_COMMITTED,)) for bounds in ("1h", "1h3s0e1a1d0v")),
    *(_reconfig(bounds) for bounds in ("2h", "2h1e1r", "1h0e1a", "1h1e1a", "1h1e1a1d", "2h0e1a", "2h0e1d", "2h1e1d")),
)
