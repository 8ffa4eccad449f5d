"""No module imports itself through other modules, so each can be understood from the modules below it."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from pathlib import Path

import networkx as nx
from conftest import ROOT

PARTS = ("spec", "model_check", "impl", "diagrams", "conformance")


def modules() -> dict[str, Path]:
    """Return the modules of the package, whose parts are folders beside it, and the benchmarks."""
    found = {}
    for top in ("kafka_spec", "benchmarks", *PARTS):
        for file in (ROOT / top).rglob("*.py"):
            name = ".".join(file.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")
            found[f"kafka_spec.{name}" if top in PARTS else name] = file
    return found


def cycles(texts: Mapping[str, str]) -> list[set[str]]:
    """Return the sets of modules that import each other, directly or through others, be it for type checkers or in a function."""
    graph: nx.DiGraph[str] = nx.DiGraph()
    for name, text in texts.items():
        for node in ast.walk(ast.parse(text)):
            targets: list[str] = []
            if isinstance(node, ast.Import):
                targets = [alias.name for alias in node.names]
            elif isinstance(node, ast.ImportFrom):
                inner = [f"{node.module}.{alias.name}" for alias in node.names]
                targets = [full if full in texts else str(node.module) for full in inner]
            graph.add_edges_from((name, target) for target in targets if target in texts)
    found = [set(part) for part in nx.strongly_connected_components(graph) if len(part) > 1]
    return sorted([*found, *({name} for name in nx.nodes_with_selfloops(graph))], key=sorted)


def test_cycles_are_seen() -> None:
    """A cycle is found through `from package import module`, among imports for type checkers or in functions, and over three."""
    assert cycles({"p": "", "p.a": "from p import b", "p.b": "import p.a"}) == [{"p.a", "p.b"}]
    checking = "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from p.b import x\n"
    assert cycles({"p.a": checking, "p.b": "from p.c import y", "p.c": "import p.a"}) == [{"p.a", "p.b", "p.c"}]
    assert cycles({"p.a": "def later():\n    import p.b\n", "p.b": "import p.a"}) == [{"p.a", "p.b"}]


def test_no_import_cycles() -> None:
    """In the entire package and in the benchmarks, no module imports itself through others."""
    texts = {name: file.read_text(encoding="utf-8") for name, file in modules().items()}

    assert len(texts) > 100
    assert cycles(texts) == []
