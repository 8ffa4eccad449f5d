"""An operator formats a node with other voters than the rest. Only a case has this rule: nothing in the protocol notices it."""

from __future__ import annotations

from kafka_spec.spec.language.domain import singleton
from kafka_spec.spec.quorum.epochs import NODE
from kafka_spec.spec.quorum.logs import read_whole_log
from kafka_spec.spec.quorum.state import MetadataQuorum
from kafka_spec.spec.vocabulary.table import Rule


def is_new(s: MetadataQuorum, node: int) -> bool:
    """It has neither an epoch nor a batch."""
    return s.nodes[node].epoch == 0 and len(s.nodes[node].log) == 0


def is_formatted_with_others(s: MetadataQuorum, node: int) -> bool:
    """It was formatted with other voters than itself."""
    return s.nodes[node].formatted != singleton(node)


def format_alone(s: MetadataQuorum, node: int) -> None:
    """Format it with itself as the only voter."""
    s.nodes[node].formatted = singleton(node)
    read_whole_log(s, node)


FORMAT_ALONE = Rule(
    "FormatAlone",
    actor="{node}",
    kind="operator",
    params=NODE,
    guards=(is_new, is_formatted_with_others),
    effects=(format_alone,),
    summary="an operator formats {node} with itself as the only voter",
    reference="Kafka 4.3 StorageTool.runFormatCommand (--standalone)",
)
