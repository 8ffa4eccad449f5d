"""A real ZooKeeper server in this process, from Kafka's jars, and Kafka's client on it."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory
from types import TracebackType
from typing import Any

from kafka_spec.conformance.kafka_classes.java import EXCEPTION, Kafka

TIMEOUT = 30_000
"""Milliseconds."""


class KafkasZooKeeper:
    """A server on a free port of loopback, with Kafka's client; a context manager."""

    def __init__(self, kafka: Kafka) -> None:
        self._kafka = kafka
        self._folder = TemporaryDirectory()
        file, name = kafka.named("java.io.File"), Path(self._folder.name)
        server = kafka.named("org.apache.zookeeper.server.ZooKeeperServer")(file(str(name)), file(str(name)), 2000)
        self._factory = kafka.named("org.apache.zookeeper.server.NIOServerCnxnFactory")()
        self._factory.configure(kafka.named("java.net.InetSocketAddress")("127.0.0.1", 0), 10)
        self._factory.startup(server)
        self.client = self._connected(f"127.0.0.1:{int(self._factory.getLocalPort())}")
        """Kafka's KafkaZkClient."""
        self._session = self.client.currentZooKeeper()
        self._acl = kafka.named("org.apache.zookeeper.ZooDefs$Ids").OPEN_ACL_UNSAFE
        self._mode = kafka.named("org.apache.zookeeper.CreateMode").PERSISTENT

    def _connected(self, address: str) -> Any:
        kafka = self._kafka
        time, none = kafka.named("org.apache.kafka.common.utils.Time").SYSTEM, kafka.none
        make = kafka.singleton("kafka.zk.KafkaZkClient").apply
        if kafka.version.startswith("3."):
            config = kafka.named("org.apache.zookeeper.client.ZKClientConfig")()
            return make(address, False, TIMEOUT, TIMEOUT, 10, time, "comparison", config, "g", "t", False, True)
        return make(address, False, TIMEOUT, TIMEOUT, 10, time, "g", "t", none, none)

    def create(self, path: str, data: bytes = b"", writes: int = 0) -> None:
        """Create a node, and write it so often."""
        content = self._kafka.bytes(data)
        self._session.create(path, content, self._acl, self._mode)
        for _ in range(writes):
            self._session.setData(path, content, -1)

    def write(self, path: str, data: bytes) -> None:
        """Write a node that there is."""
        self._session.setData(path, self._kafka.bytes(data), -1)

    def delete(self, path: str) -> None:
        """Delete a node, if there is one."""
        if self.read(path) is not None:
            self._session.delete(path, -1)

    def read(self, path: str) -> tuple[bytes, int] | None:
        """Return the content of a node and its version, None if there is no node."""
        stat = self._kafka.named("org.apache.zookeeper.data.Stat")()
        try:
            data = self._session.getData(path, False, stat)
        except EXCEPTION as error:
            if not isinstance(error, self._kafka.named("org.apache.zookeeper.KeeperException$NoNodeException")):
                raise
            return None
        return b"" if data is None else bytes(data), int(stat.getVersion())

    def __enter__(self) -> KafkasZooKeeper:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.client.close()
        self._factory.shutdown()
        self._folder.cleanup()
