"""A node in the tree of an ensemble in memory."""

from __future__ import annotations

from dataclasses import dataclass, field

from kafka_spec.impl.zookeeper.coordination.interface import Stat


@dataclass
class MemoryZnode:
    """A node of the tree; see `Stat`."""

    data: bytes
    czxid: int
    mzxid: int
    owner: int
    version: int = 0
    created: int = 0
    """The number of children that it has ever had."""
    children: set[str] = field(default_factory=set)
    ctime: int = 0

    def stat(self) -> Stat:
        """Return the metadata of the node."""
        return Stat(self.czxid, self.mzxid, self.version, self.owner, len(self.children), self.ctime)


def copy_of(node: MemoryZnode) -> MemoryZnode:
    """Return a copy of a node."""
    return MemoryZnode(node.data, node.czxid, node.mzxid, node.owner, node.version, node.created, set(node.children), node.ctime)


def parent_of(path: str) -> str:
    """Return the path of a node's parent."""
    return path.rpartition("/")[0] or "/"
