"""How a broker is registered: its number, where it listens, its rack.

A registration stands in ZooKeeper, and controllers send those of the live brokers; how it is written is not known here.

Source: Kafka 2.8 Broker.scala, BrokerInfo in ZkData.scala.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Endpoint:
    """Where a broker listens: host and port of a listener, with its security protocol."""

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

    Host and port on their own are those of the plain listener, and null and -1 where there is none, for clients older than 0.9.
    Racks are there from version 3, protocols from 4, features from 5.
    """

    number: int
    endpoints: tuple[Endpoint, ...]
    rack: str | None = None
    jmx_port: int = -1
    timestamp: int = 0
    features: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    version: int = 5
