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

_reconfig = partial(
    family,
    {
        "servers": 2, "values": 1, "elections": 1, "restarts": 0, "in_flight": 10, "sent": 40,
        "hosts": 1, "first_servers": 1, "least_voters": 1, "most_voters": 2, "values_in_epoch": 1, "additions": 0, "removals": 0,
        "log_size": 3,
    },
)  # fmt: skip

PUBLIC_RECONFIG = (
    _reconfig("1h", "one voter, an observer"),
    _reconfig("2h", "two voters, one election", hosts=2, first_servers=2, least_voters=2),
    _reconfig("2h1e1r", "two voters, one election, a restart", hosts=2, first_servers=2, least_voters=2, restarts=1),
    _reconfig("1h0e1a", "an observer joins the only voter", elections=0, additions=1),
    _reconfig("1h1e1a", "an observer joins the only voter, one election", additions=1, log_size=4),
    _reconfig("1h1e1a1d", "the same, and one of both is removed", additions=1, removals=1, log_size=5, sent=60),
    _reconfig(
        "2h0e1a", "an observer joins two voters",
        servers=3, hosts=2, first_servers=2, least_voters=2, most_voters=3, elections=0, additions=1, sent=60,
    ),
    _reconfig("2h0e1d", "one of two voters is removed, perhaps the leader", hosts=2, first_servers=2, elections=0, removals=1),
    _reconfig("2h1e1d", "one of two voters is removed, one election", hosts=2, first_servers=2, removals=1),
    _reconfig(
        "1h3s0e1a1d0v", "an observer joins, one is rejected, one voter is removed; no values",
        servers=3, elections=0, values_in_epoch=0, additions=1, removals=1, log_size=5, sent=80, in_flight=16,
    ),
)  # fmt: skip

PUBLIC_KRAFT = (
    _public("2s1v1e", "one election"),
    _public("2s1v1e1r", "one election, and a restart", restarts=1),
    _public("2s2v1e", "one election, two values", values=2),
)
