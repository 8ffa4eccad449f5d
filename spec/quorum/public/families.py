"""The bounds of the public models of the quorum: constants of runs of TLC, by the names in tests/oracles/quorum-counts.json."""

from __future__ import annotations

from functools import partial

from kafka_spec.spec.family import family

_public = partial(family, {"servers": 2, "values": 1, "elections": 1, "restarts": 0, "in_flight": 10, "sent": 40})

PUBLIC_PULL_RAFT = (
    _public("2s1v1e", "one election"),
    _public("2s1v1e1r", "one election, and a restart", restarts=1),
    _public("2s1v2e", "two elections", elections=2),
    _public("2s1v2e1r", "two elections, and a restart", elections=2, restarts=1),
    _public("2s1v3e", "three elections", elections=3),
    _public("2s2v2e", "two elections, two values", elections=2, values=2),
    _public("3s1v1e", "three servers, one election", servers=3),
    _public("3s1v2e", "three servers, two elections", servers=3, elections=2, in_flight=14, sent=50),
)

PUBLIC_KRAFT = (
    _public("2s1v1e", "one election"),
    _public("2s1v1e1r", "one election, and a restart", restarts=1),
    _public("2s2v1e", "one election, two values", values=2),
)
