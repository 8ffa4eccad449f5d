"""Which replicas of a partition have their log directory offline."""

from __future__ import annotations

from collections.abc import Mapping

from kafka_spec.conformance.metadata.shapes import LOST_DIRECTORY, RESERVED_DIRECTORIES, FoldedBroker
from kafka_spec.spec.language.domain import NO_BROKERS, BrokerSet, including


def offline_in(brokers: Mapping[int, FoldedBroker], replicas: tuple[int, ...], directories: tuple[bytes, ...]) -> BrokerSet:
    """Return the replicas whose directory their broker does not have online (BrokerRegistration.hasOnlineDir)."""
    found = NO_BROKERS
    for broker, directory in zip(replicas, directories, strict=False):
        online = brokers[broker].directories if broker in brokers else ()
        if directory == LOST_DIRECTORY or (online and directory not in RESERVED_DIRECTORIES and directory not in online):
            found = including(found, broker)
    return found
