"""What KRaftWithReconfig states beyond the other public models: states and roles of servers fit.

Source: Vanlightly/raft-tlaplus specifications/pull-raft/KRaftWithReconfig.tla (commit 69ad9d6).
"""

from __future__ import annotations

from kafka_spec.spec.language.domain import NONE
from kafka_spec.spec.quorum.public.reconfig_state import PublicReconfig
from kafka_spec.spec.quorum.public.servers import REFERENCE, PublicRole
from kafka_spec.spec.vocabulary.table import Constants, invariant

OF_VOTERS = (PublicRole.CANDIDATE, PublicRole.RESIGNED, PublicRole.ILLEGAL)
"""The states that no observer has."""


def a_server_observes_or_is_unattached(s: PublicReconfig, k: Constants) -> bool:
    """A server is an observer, or unattached."""
    return any(s.servers[server].is_observer == 1 or s.servers[server].role == PublicRole.UNATTACHED for server in range(k.servers))


def states_match_roles(s: PublicReconfig, k: Constants) -> bool:
    """No observer is in a state of voters, and who is unattached knows no leader."""
    for server in range(k.servers):
        mine = s.servers[server]
        if mine.is_observer == 1 and mine.role in OF_VOTERS:
            return False
        if mine.role == PublicRole.UNATTACHED and mine.leader != NONE:
            return False
    return True


STATES_MATCH_ROLES = invariant(
    "StatesMatchRoles",
    states_match_roles,
    "no observer is a candidate or has resigned, and who is unattached knows no leader",
    REFERENCE,
    when=a_server_observes_or_is_unattached,
)
