"""What a node of the quorum keeps on disk beside its log: the epoch, its leader, and the vote of the node (quorum-state).

Source: Kafka 4.3 FileQuorumStateStore.java, ElectionState.java, QuorumStateData.json; version 1 since voters are records (KIP-853).
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kafka_spec.impl.log.checkpoint import write_text
from kafka_spec.spec.language.domain import NONE

QUORUM_STATE = "quorum-state"
"""The name of the file."""


@dataclass(frozen=True)
class ElectionState:
    """An epoch, its leader if the node knows one, and for whom the node voted in it."""

    epoch: int = 0
    leader: int = NONE
    voted: int = NONE


class ElectionStateError(ValueError):
    """The file is not a quorum-state."""


def read_election_state(path: Path) -> ElectionState:
    """Return what the file says; the first epoch if there is no file, since the node is new.

    Raises:
        ElectionStateError: the file says something else.
    """
    if not path.exists():
        return ElectionState()
    try:
        said = json.loads(path.read_bytes())
        return ElectionState(int(said["leaderEpoch"]), int(said["leaderId"]), int(said["votedId"]))
    except (ValueError, KeyError, TypeError):
        raise ElectionStateError(
            f"{path}: this is not a quorum-state; restore the file, or format the node as a new observer"
        ) from None


def write_election_state(path: Path, state: ElectionState, configured: Iterable[int] | None) -> None:
    """Write the file, so that it survives a power loss; `configured` are the voters of kraft.version 0, None from 1 on."""
    said: dict[str, Any] = {"leaderId": state.leader, "leaderEpoch": state.epoch, "votedId": state.voted}
    if configured is None:
        said |= {"votedDirectoryId": NO_DIRECTORY, "data_version": 1}
    else:
        voters = [{"voterId": voter} for voter in sorted(configured)]
        said = {"clusterId": "", **said, "appliedOffset": 0, "currentVoters": voters, "data_version": 0}
    write_text(path, json.dumps(said, separators=(",", ":")))


NO_DIRECTORY = "AAAAAAAAAAAAAAAAAAAAAA"
"""The id of no directory, as Kafka writes it (Uuid.ZERO_UUID): voters have no ids but their node ids."""
