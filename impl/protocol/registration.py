"""A broker's registration: its id, endpoints, rack.

It is stored in ZooKeeper (coordination/znodes.py), and controllers send those of the live brokers.

Source: Kafka 2.8 Broker.scala, BrokerInfo in ZkData.scala.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Endpoint:
    """A listener of a broker: host, port, name, and security protocol."""

    host: str
    port: int
    listener: str = "PLAINTEXT"
    protocol: str = "PLAINTEXT"

    def __str__(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{self.listener}://{host}:{self.port}"


@dataclass(frozen=True)
class BrokerRegistration:
    """/brokers/ids/N: a broker's registration. Its creation id (czxid) is the broker epoch; 2.8 writes version 5.

    Its own host and port are for clients before 0.9: those of the plaintext listener, or null and -1. Version 3 adds racks,
    version 4 protocols, version 5 features.
    """

    number: int
    endpoints: tuple[Endpoint, ...]
    rack: str | None = None
    jmx_port: int = -1
    timestamp: int = 0
    features: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    version: int = 5
