"""The public models of the quorum: PullRaft and KRaft."""

from __future__ import annotations

from kafka_spec.spec.quorum.public import kraft_elections, kraft_fetching, pull_raft_elections, pull_raft_pulling
from kafka_spec.spec.quorum.public.families import PUBLIC_KRAFT, PUBLIC_PULL_RAFT
from kafka_spec.spec.quorum.public.kraft_state import PublicRaft
from kafka_spec.spec.quorum.public.pull_raft_state import PullRaft
from kafka_spec.spec.quorum.public.servers import (
    LEADER_HAS_ACKNOWLEDGED,
    NO_ILLEGAL_STATE,
    NO_LOG_DIVERGENCE,
    ONE_LEADER,
    REFERENCE,
    SERVERS,
    PublicRole,
)
from kafka_spec.spec.vocabulary.table import Constants, Rule, Spec, Symmetric, anywhere


def follow_nobody(s: PullRaft, k: Constants) -> None:
    """Follow nobody, in epoch 1."""
    for server in range(k.servers):
        s.servers[server].epoch = 1


def be_unattached(s: PublicRaft, k: Constants) -> None:
    """Be unattached, in epoch 1."""
    for server in range(k.servers):
        s.servers[server].epoch = 1
        s.servers[server].role = PublicRole.UNATTACHED


PULL_RAFT = Spec(
    "quorum/public_pull_raft",
    "the public TLA+ model PullRaft (Vanlightly/raft-tlaplus), restated",
    PullRaft,
    rules=(*pull_raft_elections.RULES, *pull_raft_pulling.RULES),
    properties=(LEADER_HAS_ACKNOWLEDGED, NO_LOG_DIVERGENCE),
    start=Rule("Init", "world", "all servers are followers of nobody, in epoch 1", REFERENCE, (follow_nobody,)),
    bound_sets=PUBLIC_PULL_RAFT,
    normal_form=(Symmetric(SERVERS),),
    final=anywhere,  # the public modules spend their elections and stop
    reference=f"{REFERENCE}/PullRaft.tla at 69ad9d6",
)

KRAFT = Spec(
    "quorum/public_kraft",
    "the public TLA+ model KRaft (Vanlightly/raft-tlaplus) of Kafka's quorum, restated",
    PublicRaft,
    rules=(*kraft_elections.RULES, *kraft_fetching.RULES),
    properties=(LEADER_HAS_ACKNOWLEDGED, NO_LOG_DIVERGENCE, ONE_LEADER, NO_ILLEGAL_STATE),
    start=Rule("Init", "world", "all servers are unattached, in epoch 1", REFERENCE, (be_unattached,)),
    bound_sets=PUBLIC_KRAFT,
    normal_form=(Symmetric(SERVERS),),
    final=anywhere,
    reference=f"{REFERENCE}/KRaft.tla at 69ad9d6",
)

SPECS: tuple[Spec, ...] = (PULL_RAFT, KRAFT)
