"""Control records of the metadata log: what the quorum writes about itself, in batches of their own.

Source: Kafka 4.4 ControlRecordType.java, LeaderChangeMessage.json, KRaftVersionRecord.json, VotersRecord.json.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from kafka_spec.impl.kraft.record_decoders import decode_content, encode_parts
from kafka_spec.impl.kraft.record_schemas import CONTROL
from kafka_spec.impl.kraft.records import LeaderChange
from kafka_spec.impl.log import batches

LEADER_CHANGE = 2
"""The type of the record with which a leader begins its epoch."""
CONTROL_KEY = struct.Struct(">hh")
"""The key of a control record: its version and its type."""
VERSION = struct.Struct(">h")
"""The version, with which each content begins."""


@dataclass(frozen=True)
class QuorumVoter:
    """A voter of a quorum whose voters are configured (kraft.version 0)."""

    voter_id: int


def control_batch(when: int, records: Iterable[tuple[int, Any]]) -> bytearray:
    """Return a batch of control records, each with its type; `when` is their time in milliseconds since 1970."""
    return batches.build(
        (
            (when, CONTROL_KEY.pack(0, kind), encode_parts(CONTROL[kind].fields, record.schema_version, record))
            for kind, record in records
        ),
        batches.CONTROL,
    )


def leader_change(when: int, change: LeaderChange) -> bytearray:
    """Return the batch with which the only voter of a quorum begins an epoch."""
    voters = (QuorumVoter(change.leader_id),)
    record = CONTROL[LEADER_CHANGE].plain(schema_version=0, leader_id=change.leader_id, voters=voters, granting_voters=voters)
    return control_batch(when, [(LEADER_CHANGE, record)])


def read_leader_change(content: bytes) -> LeaderChange:
    """Return the change of leader that a control record says.

    Raises:
        UnreadableRecord: it says something else.
    """
    schema = CONTROL[LEADER_CHANGE]
    (version,) = VERSION.unpack_from(content)
    return LeaderChange(decode_content(schema, min(version, schema.newest), content).leader_id)
