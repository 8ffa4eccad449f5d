"""The structure of this package as a picture: its folders as boxes, what they import as arrows.

Reads imports and the first sentence of each folder's docstring; executes no code. An arrow implied by two others is omitted.
`kafka-spec draw --gallery` draws it, `draw --check` fails when it is stale.
"""

from __future__ import annotations

import ast
import html
import itertools
import textwrap
from collections.abc import Iterable
from pathlib import Path

import networkx as nx

from kafka_spec.diagrams.dot import FONT, INK, LANES

PACKAGE = "kafka_spec"
PARTS = ("conformance", "diagrams", "impl", "model_check", "spec")
WIDTH = 34
"""Maximum characters in a line of a box."""


def house_dot(root: Path) -> str:
    """Return the folders of the package and their imports as DOT; `root` is the folder that holds the parts.

    Arrows lead from part to part, and between the folders of one part.
    """
    files = {module_of(file, root): file for file in sources(root)}
    rooms = {module: room_of(module, files) for module in files if part_of(module)}
    between, within = nx.DiGraph(), nx.DiGraph()
    for module, room in rooms.items():
        for target in imports(files[module].read_text(encoding="utf-8")):
            other = rooms.get(nearest(target, files), room)
            if part_of(other) != part_of(room):
                between.add_edge(part_of(room), part_of(other))
            elif other != room and part_of(room) not in (room, other):
                within.add_edge(room, other)
    lines = [
        "digraph house {",
        f'  graph [compound=true ranksep=0.45 nodesep=0.25 fontname="{FONT}" fontsize=15 fontcolor="{INK}" pad=0.2 bgcolor=white]',
        f'  node [shape=box style="rounded,filled" fontname="{FONT}" fontsize=12 fontcolor="{INK}" penwidth=1.2]',
        '  edge [color="#57606a" arrowsize=0.8]',
    ]
    parts = sorted({part_of(room) for room in rooms.values()})
    for part, (fill, border) in zip(parts, itertools.cycle(LANES.values())):
        lines += [f"  subgraph cluster_{part} {{", f'    label="{part}/" color="{border}" style=rounded']
        inside = sorted({room for room in rooms.values() if part_of(room) == part})
        lines += [f'    "{room}" [label={label(room, files)} fillcolor="{fill}" color="{border}"]' for room in inside]
        lines += ["  }"]
    lines += [f'  "{one}" -> "{other}"' for one, other in sorted(needed(within))]
    lines += [
        f'  "{one}" -> "{other}" [ltail=cluster_{one} lhead=cluster_{other} penwidth=2]' for one, other in sorted(needed(between))
    ]
    return "\n".join([*lines, "}", ""])


def needed(arrows: nx.DiGraph) -> Iterable[tuple[str, str]]:
    """Return the arrows that others do not imply (the transitive reduction)."""
    edges: Iterable[tuple[str, str]] = (
        nx.transitive_reduction(arrows).edges if nx.is_directed_acyclic_graph(arrows) else arrows.edges
    )
    return edges


def sources(root: Path) -> list[Path]:
    """Return the Python files of the parts."""
    return sorted(file for part in PARTS for file in (root / part).rglob("*.py"))


def module_of(file: Path, root: Path) -> str:
    """Return the dotted module name of a file, relative to the package."""
    parts = file.relative_to(root).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def room_of(module: str, files: dict[str, Path]) -> str:
    """Return the folder that a module is drawn in: at most two levels deep."""
    names = module.split(".")
    return ".".join(names[: min(2, len(names) - (files[module].name != "__init__.py"))])


def part_of(module: str) -> str:
    """Return the top folder of a module; empty for the modules of the package itself."""
    part = module.partition(".")[0]
    return "" if part in ("command", "pytest_plugin", "__main__") else part


def imports(text: str) -> set[str]:
    """Return the modules that a source imports, including inside functions, excluding imports under TYPE_CHECKING."""
    found: set[str] = set()
    tree = ast.parse(text)
    for node in ast.walk(tree):
        if isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING":
            node.body = []
        elif isinstance(node, ast.ImportFrom) and node.module:
            found |= {f"{node.module}.{name.name}" for name in node.names}
        elif isinstance(node, ast.Import):
            found |= {name.name for name in node.names}
    return {name.removeprefix(f"{PACKAGE}.") for name in found if name.startswith(f"{PACKAGE}.")}


def nearest(name: str, files: dict[str, Path]) -> str:
    """Return the module that an imported name is or belongs to."""
    while name and name not in files:
        name = name.rpartition(".")[0]
    return name


def label(room: str, files: dict[str, Path]) -> str:
    """Return the text of a box: the folder, and the first sentence of its docstring."""
    summary = (ast.get_docstring(ast.parse(files[room].read_text(encoding="utf-8"))) or "").partition("\n")[0]
    wrapped = '<br align="left"/>'.join(html.escape(line, quote=False) for line in textwrap.wrap(summary, WIDTH))
    return f'<<b>{room.replace(".", "/")}</b><br align="left"/><font point-size="9">{wrapped}<br align="left"/></font>>'
