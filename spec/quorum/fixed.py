"""`fixed`, the quorum that satisfies every property: Kafka 4.3's, and a fix for each bug that is a case in cases.py."""

from __future__ import annotations

from kafka_spec.spec.case import decisions_of
from kafka_spec.spec.language.domain import first_brokers
from kafka_spec.spec.quorum import crashes, disks, elections, epochs, replication, snapshots, voters
from kafka_spec.spec.quorum.abstractions import ABSTRACTIONS
from kafka_spec.spec.quorum.cases import CASES
from kafka_spec.spec.quorum.families import QUORUM_FAMILIES
from kafka_spec.spec.quorum.logs import read_whole_log
from kafka_spec.spec.quorum.machines import QUORUM
from kafka_spec.spec.quorum.one_list import IS_ONE_LIST
from kafka_spec.spec.quorum.properties import PROPERTIES
from kafka_spec.spec.quorum.state import FIRST_VOTERS, KRAFT_VERSION, NODES, PRE_VOTES, MetadataQuorum
from kafka_spec.spec.vocabulary.table import Constants, Rule, Spec, Symmetric, anywhere


def voters_are_nodes(k: Constants) -> bool:
    """There are at most as many voters as nodes."""
    return k.first_voters <= k.nodes


def snapshots_have_voters(k: Constants) -> bool:
    """If there are snapshots, voters are records."""
    return k.snapshots == 0 or k.kraft_version == 1


def formatted_voters_are_configured(k: Constants) -> bool:
    """If controllers are formatted again, voters are configured; else they were observers."""
    return k.formats == 0 or k.kraft_version == 0


def begin(s: MetadataQuorum, k: Constants) -> None:
    """Format all nodes with the same voters; no log has a batch."""
    for node in range(k.nodes):
        s.nodes[node].formatted = first_brokers(k.first_voters)
        read_whole_log(s, node)


START = Rule(
    "Start",
    "world",
    "all nodes are formatted with the same voters",
    "",
    (begin,),
    guards=(voters_are_nodes, snapshots_have_voters, formatted_voters_are_configured),
)

FIXED = Spec(
    "quorum/fixed",
    "the quorum of controllers of Kafka 4.3, and a fix for each bug that is a case",
    MetadataQuorum,
    rules=(
        *(*epochs.RULES, *elections.RULES, *replication.RULES, *voters.RULES),
        *(*crashes.RULES, *snapshots.RULES, *disks.RULES),
    ),
    properties=PROPERTIES,
    refines=(IS_ONE_LIST,),
    start=START,
    more_bounds=(FIRST_VOTERS, KRAFT_VERSION, PRE_VOTES),
    decisions=decisions_of(CASES),
    machines=(QUORUM,),
    abstractions=ABSTRACTIONS,
    bound_sets=QUORUM_FAMILIES,
    fairness="weak each",
    final=anywhere,
    normal_form=(Symmetric(NODES),),
    reference="Kafka 4.3 raft/src/main/java/org/apache/kafka/raft; KIP-595, KIP-853, KIP-996",
)
