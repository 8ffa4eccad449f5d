"""The public models of the quorum: PullRaft and KRaft."""

from __future__ import annotations

from kafka_spec.spec.language.domain import NONE, append, first_brokers
from kafka_spec.spec.quorum.public import (
    kraft_elections,
    kraft_fetching,
    pull_raft_elections,
    pull_raft_pulling,
    reconfig_answers,
    reconfig_changes,
    reconfig_elections,
    reconfig_fetching,
)
from kafka_spec.spec.quorum.public.families import PUBLIC_KRAFT, PUBLIC_PULL_RAFT, PUBLIC_RECONFIG
from kafka_spec.spec.quorum.public.kraft_state import PublicRaft
from kafka_spec.spec.quorum.public.pull_raft_state import PullRaft
from kafka_spec.spec.quorum.public.reconfig_properties import STATES_MATCH_ROLES
from kafka_spec.spec.quorum.public.reconfig_state import (
    ADDITIONS,
    FIRST_SERVERS,
    LEAST_VOTERS,
    MOST_VOTERS,
    EntryCommand,
    PublicReconfig,
)
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


def may_begin(k: Constants) -> bool:
    """There are hosts and numbers for the first servers, and no fewer than the least voters."""
    return k.first_servers <= k.hosts and k.first_servers <= k.servers and k.least_voters <= k.first_servers <= k.most_voters


def be_cluster(s: PublicReconfig, k: Constants) -> None:
    """Have the first servers follow the first of them in epoch 1, with their configuration in each log."""
    s.started = k.first_servers
    for server in range(k.first_servers):
        mine = s.servers[server]
        mine.host = server
        mine.role = PublicRole.LEADER if server == 0 else PublicRole.FOLLOWER
        mine.epoch = 1
        mine.leader = 0
        mine.config = 1
        mine.members = first_brokers(k.first_servers)
        mine.is_committed = 1
        mine.high_watermark = 1
        append(
            mine.log,
            command=EntryCommand.INIT_CLUSTER,
            epoch=1,
            value=NONE,
            config=1,
            changed=NONE,
            members=first_brokers(k.first_servers),
        )
        for other in range(k.first_servers):
            mine.ends[other] = 1


RECONFIG = Spec(
    "quorum/public_reconfig",
    "the public TLA+ model KRaftWithReconfig (Vanlightly/raft-tlaplus), in which servers join and leave, restated",
    PublicReconfig,
    rules=(*reconfig_elections.RULES, *reconfig_fetching.RULES, *reconfig_answers.RULES, *reconfig_changes.RULES),
    properties=(LEADER_HAS_ACKNOWLEDGED, NO_LOG_DIVERGENCE, ONE_LEADER, NO_ILLEGAL_STATE, STATES_MATCH_ROLES),
    start=Rule("Init", "world", "the first servers follow one of them, in epoch 1", REFERENCE, (be_cluster,), guards=(may_begin,)),
    more_bounds=(FIRST_SERVERS, LEAST_VOTERS, MOST_VOTERS, ADDITIONS),
    bound_sets=PUBLIC_RECONFIG,
    final=anywhere,
    reference=f"{REFERENCE}/KRaftWithReconfig.tla at 69ad9d6",
)

SPECS: tuple[Spec, ...] = (PULL_RAFT, KRAFT, RECONFIG)
