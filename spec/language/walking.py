"""Goes through the tree of a function."""

from __future__ import annotations

from collections.abc import Iterator

from kafka_spec.spec.language.tree import Node


def parts(node: Node) -> Iterator[Node]:
    """Yield the nodes directly inside a node, in the order of the text."""
    names: tuple[str, ...] = type(node).__match_args__
    for name in names:
        yield from _nodes(getattr(node, name))


def walk(*nodes: Node) -> Iterator[Node]:
    """Yield nodes and all nodes inside them, in the order of the text."""
    for node in nodes:
        yield node
        yield from walk(*parts(node))


def _nodes(value: object) -> Iterator[Node]:
    if isinstance(value, Node):
        yield value
    elif isinstance(value, tuple):
        for part in value:
            yield from _nodes(part)
