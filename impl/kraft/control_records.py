"""Control records of the metadata log: what the quorum writes about itself, in batches of their own.

Source: Kafka 4.4 ControlRecordType.java, LeaderChangeMessage.json, KRaftVersionRecord.json, VotersRecord.json.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from kafka_spec.impl.kraft.record_decoders import UnreadableRecord, decode_content, encode_parts
from kafka_spec.impl.kraft.record_schemas import CONTROL
from kafka_spec.impl.kraft.records import LeaderChange, QuorumVersion, VotersChange
from kafka_spec.impl.log import batches

LEADER_CHANGE, QUORUM_VERSION, VOTERS = 2, 5, 6
"""The types of control records that a log has: a leader begins its epoch; kraft.version; the voters."""
CONTROL_KEY = struct.Struct(">hh")
"""The key of a control record: its version and its type."""
VERSION = struct.Struct(">h")
"""The version, with which each content begins."""
RECORDED_VOTERS = 1
"""The kraft.version from which on voters are records (KIP-853)."""


@dataclass(frozen=True)
class NamedVoter:
    """A voter by its node id, as a LeaderChange names it."""

    voter_id: int


@dataclass(frozen=True)
class VersionsOfVoter:
    """The versions of the quorum's protocol that a voter supports."""

    min_supported_version: int = 0
    max_supported_version: int = RECORDED_VOTERS


@dataclass(frozen=True)
class RecordedVoter:
    """A voter in a VotersRecord; it is known by its node id alone, so it has neither a directory nor an address."""

    voter_id: int
    voter_directory_id: bytes = bytes(16)
    endpoints: tuple[object, ...] = ()
    kraft_version_feature: VersionsOfVoter = VersionsOfVoter()


def control_batch(when: int, records: Iterable[tuple[int, Any]]) -> bytearray:
    """Return a batch of control records, each with its type; `when` is their time in milliseconds since 1970."""
    return batches.build(
        (
            (when, CONTROL_KEY.pack(0, kind), encode_parts(CONTROL[kind].fields, record.schema_version, record))
            for kind, record in records
        ),
        batches.CONTROL,
    )


def start_of_epoch(when: int, leader: int, voters: Iterable[int], granting: Iterable[int], names_voters: bool) -> bytearray:
    """Return the first batch of an epoch: a LeaderChange; if it `names_voters`, also kraft.version and a VotersRecord."""
    voters = sorted(voters)
    change = CONTROL[LEADER_CHANGE].plain(
        schema_version=0,
        leader_id=leader,
        voters=tuple(map(NamedVoter, voters)),
        granting_voters=tuple(map(NamedVoter, sorted(granting))),
    )
    return control_batch(when, [(LEADER_CHANGE, change), *(version_and_voters(voters) if names_voters else ())])


def version_and_voters(voters: Iterable[int]) -> list[tuple[int, Any]]:
    """Return the records of kraft.version and of the voters, each with its type."""
    return [(QUORUM_VERSION, CONTROL[QUORUM_VERSION].plain(kraft_version=RECORDED_VOTERS)), _voters(sorted(voters))]


def voters_change(when: int, voters: Iterable[int]) -> bytearray:
    """Return the batch with which a leader changes the voters."""
    return control_batch(when, [_voters(sorted(voters))])


def _voters(voters: Iterable[int]) -> tuple[int, Any]:
    return VOTERS, CONTROL[VOTERS].plain(voters=tuple(map(RecordedVoter, voters)))


def read_control(record: batches.LogRecord) -> LeaderChange | QuorumVersion | VotersChange:
    """Return what a control record says.

    Raises:
        UnreadableRecord: it is of a type that no log has.
    """
    _, kind = CONTROL_KEY.unpack(record.key or b"")
    content = record.value or b""
    if kind not in (LEADER_CHANGE, QUORUM_VERSION, VOTERS):
        raise UnreadableRecord(f"a control record of type {kind} does not belong into a log")
    (version,) = VERSION.unpack_from(content)
    found = decode_content(CONTROL[kind], min(version, CONTROL[kind].newest), content)
    if kind == LEADER_CHANGE:
        return LeaderChange(found.leader_id)
    if kind == QUORUM_VERSION:
        return QuorumVersion(found.kraft_version)
    return VotersChange(tuple(sorted(one.voter_id for one in found.voters)))


def voters_in(batch: bytes) -> tuple[int, ...]:
    """Return the voters that a batch of a log, or of a snapshot, sets; none if it sets none."""
    records = batches.records(batch) if batches.is_control(batch) else ()
    found = (read_control(one) for one in records if CONTROL_KEY.unpack(one.key or b"")[1] == VOTERS)
    return next((one.voters for one in found if isinstance(one, VotersChange)), ())
