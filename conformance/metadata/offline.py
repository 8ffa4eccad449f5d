"""The replicas of a partition whose log directory is offline, remembered by the directories of the partition."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from kafka_spec.conformance.metadata.shapes import LOST_DIRECTORY, RESERVED_DIRECTORIES, FoldedPartition
from kafka_spec.spec.language.domain import NO_BROKERS, BrokerSet, including


class OfflineReplicas:
    """Answers for the directories that brokers have online; `online` returns another object once they change."""

    def __init__(self, online: Callable[[], Mapping[int, frozenset[bytes]]]) -> None:
        self._online = online
        self._known: dict[tuple[tuple[int, ...], tuple[bytes, ...]], BrokerSet] = {}
        self._known_of: object = None

    def of(self, partition: FoldedPartition) -> BrokerSet:
        """Return the brokers whose log directory of a partition is offline (BrokerRegistration.hasOnlineDir)."""
        if not partition.directories:
            return NO_BROKERS
        online = self._online()
        if self._known_of is not online:
            self._known_of = online
            self._known.clear()
        key = (partition.shape.replicas, partition.directories)
        found = self._known.get(key)
        if found is None:
            found = self._known[key] = _offline(online, *key)
        return found


def _offline(online: Mapping[int, frozenset[bytes]], replicas: tuple[int, ...], directories: tuple[bytes, ...]) -> BrokerSet:
    found = NO_BROKERS
    for broker, directory in zip(replicas, directories, strict=False):
        mine = online.get(broker, frozenset())
        if directory == LOST_DIRECTORY or (mine and directory not in RESERVED_DIRECTORIES and directory not in mine):
            found = including(found, broker)
    return found
