"""The state graph of a small model, or its quotient by fields if the graph is too large to read.

Up to NODES states, the graph itself is drawn. Beyond that, states that agree in the requested fields (by default the states of the
machines) become one node, and steps within a node are omitted.
"""

from __future__ import annotations

import html
import json
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from kafka_spec.diagrams.arrows import entity_paths
from kafka_spec.diagrams.dot import FONT, LANES
from kafka_spec.diagrams.mermaid import escaped
from kafka_spec.model_check.interpreter.interpreter import Interpreter
from kafka_spec.model_check.room import with_room
from kafka_spec.model_check.state_graph import StateGraph, graph_of
from kafka_spec.spec.language.domain import show_path, show_value
from kafka_spec.spec.optional_dependencies import needing
from kafka_spec.spec.vocabulary.table import DEADLOCK, Spec, SpecError

if TYPE_CHECKING:
    import networkx

NODES, STATES = 200, 20_000
"""Maximum number of nodes in a picture, and of states explored for it."""
SLOW = 1_000
"""States from which on compiled code counts first whether there are too many: plain Python takes minutes to find out."""

WRONG_SIGN = "\u2717 "

Key = tuple[tuple[str, str], ...]
"""(path, value as text) of the fields that distinguish nodes."""


def explored_graph(
    spec: Spec, bounds: Mapping[str, int], by: Sequence[str] = (), most: int | None = None
) -> networkx.MultiDiGraph[int]:
    """Return the explored graph of a spec, or its quotient by fields.

    Nodes are numbers in the order of discovery, with `fields` (a Key), `states` (how many), `initial`, and `wrong`: the invariants
    that a state of the node violates, and `Deadlock` where one has no step. Edges have `rule` and `count`. A step that leaves a
    bound or a domain has no edge.

    Args:
        spec: the spec to explore; it runs as plain Python.
        bounds: values of all its bounds.
        by: fields that distinguish nodes; by default all if that gives at most `most` nodes, else those of the machines.
        most: how many nodes there may be, by default NODES.

    Raises:
        SpecError: there are more than STATES states, the graph would have more than `most` nodes, or a field is unknown.
    """
    most = NODES if most is None else most
    world = Interpreter(spec, with_room(spec, bounds))
    graph = _explore(world)
    found: list[Key] = [
        tuple((show_path(c.path), show_value(c.type, c.after)) for c in world.space.fields(state)) for state in graph.states
    ]
    whole = len(found) <= most and not by
    paths = [path for path, _ in found[0]]
    if unknown := [path for path in by if path not in paths]:
        raise SpecError(f"{spec.name}: there is no field {unknown[0]!r}; there is {', '.join(paths)}")
    machines = entity_paths(spec, bounds).values()
    chosen = set(by) or {path for path in paths if any(pattern.fullmatch(path) for pattern in machines)}
    if not whole and not chosen:
        raise SpecError(
            f"{spec.name} has {len(found):,} states and no machine to group them by; at most {most} are drawn: "
            f"take smaller bounds, or name fields with --by: {', '.join(paths)}"
        )
    keys = [fields if whole else tuple(pair for pair in fields if pair[0] in chosen) for fields in found]
    return _quotient(keys, graph, [_wrong(world, state) for state in graph.states], spec, most)


def _explore(world: Interpreter) -> StateGraph:
    """Return the graph of the states, those with one view as one."""
    graph = graph_of(world, SLOW, world.viewed)
    if not graph.complete:
        _refuse_too_many(world)
        graph = graph_of(world, STATES, world.viewed)
    return graph


def _wrong(world: Interpreter, state: Any) -> list[str]:
    """Return what is wrong with a state."""
    found = [claim.name for claim in world.claims if claim.kind == "invariant" and not world.judge(claim, state)]
    return [*found, DEADLOCK] if world.spec.checks_deadlock and world.is_stuck(state) else found


def _refuse_too_many(world: Interpreter) -> None:
    """Refuse to draw a spec that has too many states."""
    with needing("check"):
        from kafka_spec.model_check.budget import Budget
        from kafka_spec.model_check.search import embedded
    counted = embedded.explore(
        world.spec, world.bounds, properties=(), everything=True, traces=False, budget=Budget(max_states=STATES + 1)
    )
    if counted.distinct > STATES:
        raise SpecError(f"{world.spec.name} has more than {STATES:,} states within these bounds; take smaller ones")


def _quotient(
    keys: Sequence[Key], explored: StateGraph, wrong: Sequence[Sequence[str]], spec: Spec, most: int
) -> networkx.MultiDiGraph[int]:
    with needing("draw"):
        import networkx
    nodes = {key: number for number, key in enumerate(dict.fromkeys(keys))}
    if len(nodes) > most:
        raise SpecError(
            f"{spec.name}: the picture would have {len(nodes):,} nodes, and {most} are the most; name fewer fields with --by, "
            "or take smaller bounds"
        )
    graph: networkx.MultiDiGraph[int] = networkx.MultiDiGraph(name=spec.name)
    states = Counter(keys)
    reported: dict[Key, dict[str, None]] = {key: {} for key in nodes}
    for key, names in zip(keys, wrong, strict=True):
        reported[key].update(dict.fromkeys(names))
    for key, number in nodes.items():
        graph.add_node(number, fields=key, states=states[key], initial=key == keys[0], wrong=tuple(reported[key]))
    inner = len(nodes) < len(keys)
    steps = (step for out in explored.steps for step in out)
    counts = Counter((nodes[keys[step.source]], nodes[keys[step.target]], step.rule.name) for step in steps)
    for (source, target, rule), count in counts.items():
        if source != target or not inner:
            graph.add_edge(source, target, rule=rule, count=count)
    return graph


def explored_dot(graph: networkx.MultiDiGraph[int]) -> str:
    """Return an explored graph as DOT; a node shows the fields in which it differs from the first one."""
    first: Key = graph.nodes[0]["fields"]
    fill, border = LANES["none"]
    lines = [
        f'digraph "{html.escape(graph.name)}" {{',
        f'  graph [rankdir=LR ranksep=0.5 nodesep=0.2 fontname="{FONT}" pad=0.2]',
        f'  node [shape=box style="rounded,filled" fillcolor="{fill}" color="{border}" fontname="{FONT}" fontsize=10]',
        f'  edge [fontname="{FONT}" fontsize=9 arrowsize=0.6 color="#57606a" fontcolor="#57606a"]',
    ]
    for number, node in graph.nodes(data=True):
        shown = [f"{path} = {value}" for path, value in node["fields"] if number == 0 or (path, value) not in first]
        shown += [f"({node['states']:,} states)"] if node["states"] > 1 else []
        shown += [WRONG_SIGN + name for name in node["wrong"]]
        text = '<br align="left"/>'.join(html.escape(line, quote=False) for line in shown) + '<br align="left"/>'
        heavy = " penwidth=2.5" if node["initial"] else ""
        red = ' fillcolor="{}" color="{}"'.format(*LANES["failure"]) if node["wrong"] else ""
        lines.append(f"  n{number} [label=<{text}>{heavy}{red}]")
    for (source, target), rules in _joined(graph).items():
        label = "\\n".join(rules)
        lines.append(f'  n{source} -> n{target} [label="{label}"]')
    return "\n".join([*lines, "}", ""])


def explored_mermaid(graph: networkx.MultiDiGraph[int]) -> str:
    """Return an explored graph as Mermaid."""
    first: Key = graph.nodes[0]["fields"]
    lines = ["flowchart LR"]
    for number, node in graph.nodes(data=True):
        shown = [f"{path} = {value}" for path, value in node["fields"] if number == 0 or (path, value) not in first]
        shown += [f"({node['states']:,} states)"] if node["states"] > 1 else []
        shown += [WRONG_SIGN + name for name in node["wrong"]]
        lines.append(f'  n{number}["{"<br/>".join(map(escaped, shown))}"]')
        lines += [f"  style n{number} fill:{LANES['failure'][0]},stroke:{LANES['failure'][1]}"] if node["wrong"] else []
    lines += [f'  n{source} -->|"{"<br/>".join(rules)}"| n{target}' for (source, target), rules in _joined(graph).items()]
    return "\n".join([*lines, ""])


def _joined(graph: networkx.MultiDiGraph[int]) -> dict[tuple[int, int], list[str]]:
    """Return the rules of each pair of nodes; a count says how many steps a quotient merges."""
    pairs: dict[tuple[int, int], list[str]] = {}
    for source, target, edge in graph.edges(data=True):
        pairs.setdefault((source, target), []).append(edge["rule"] + (f" \u00d7{edge['count']:,}" if edge["count"] > 1 else ""))
    return pairs


def explored_json(graph: networkx.MultiDiGraph[int]) -> str:
    """Return an explored graph as JSON: `nodes` with their fields, `edges` with rule and count."""
    plain = {
        "model": graph.name,
        "nodes": [{"id": number, **node, "fields": dict(node["fields"])} for number, node in graph.nodes(data=True)],
        "edges": [{"source": source, "target": target, **edge} for source, target, edge in graph.edges(data=True)],
    }
    return json.dumps(plain, indent=1) + "\n"


def explored_graphml(graph: networkx.MultiDiGraph[int]) -> str:
    """Return an explored graph as GraphML, as networkx, Gephi and yEd read it; each field is an attribute of the nodes."""
    with needing("draw"):
        import networkx
    flat: networkx.MultiDiGraph[int] = networkx.MultiDiGraph(name=graph.name)
    for number, node in graph.nodes(data=True):
        reported = {"states": node["states"], "initial": node["initial"], "wrong": ", ".join(node["wrong"])}
        flat.add_node(number, **reported, **dict(node["fields"]))
    flat.add_edges_from(graph.edges(data=True))
    return "\n".join(networkx.generate_graphml(flat, named_key_ids=True)) + "\n"
