"""An operator configures other voters at a node (kraft.version 0). Only a case has this rule, since no protocol covers it."""

from __future__ import annotations

from kafka_spec.spec.language.domain import first_brokers
from kafka_spec.spec.quorum.crashes import start_again
from kafka_spec.spec.quorum.epochs import NODE
from kafka_spec.spec.quorum.state import MetadataQuorum
from kafka_spec.spec.vocabulary.table import Constants, Rule


def is_configured_otherwise(s: MetadataQuorum, node: int, k: Constants) -> bool:
    """It is not configured with all nodes as voters."""
    return s.nodes[node].formatted != first_brokers(k.nodes)


def configure_all(s: MetadataQuorum, k: Constants, node: int) -> None:
    """Configure all nodes as voters."""
    s.nodes[node].formatted = first_brokers(k.nodes)


CONFIGURE = Rule(
    "ConfigureAllAsVoters",
    actor="{node}",
    kind="operator",
    params=NODE,
    guards=(is_configured_otherwise,),
    effects=(configure_all, start_again),
    summary="an operator configures all nodes as voters at {node}, and starts it again",
    reference="Kafka 4.3 QuorumConfig.parseVoterConnections (controller.quorum.voters)",
)
