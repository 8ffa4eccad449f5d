"""The subcommand `paths`: paths that take each step of a model, to test an implementation with."""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from kafka_spec.model_check.budget import Budget, interruptible
from kafka_spec.model_check.command.find import Models
from kafka_spec.model_check.command.options import (
    AS_EXPECTED,
    INCONCLUSIVE,
    add_bound_options,
    add_output_options,
    asked_bounds,
    duration,
    outputs,
    positive,
    write,
)
from kafka_spec.model_check.report.escape import plain
from kafka_spec.model_check.room import with_room
from kafka_spec.model_check.within import limited, reading
from kafka_spec.spec.language.domain import plain_value
from kafka_spec.spec.optional_dependencies import needing
from kafka_spec.spec.vocabulary.table import Rule, Spec, SpecError

if TYPE_CHECKING:
    from kafka_spec.model_check.interpreter.interpreter import Binding, Interpreter
    from kafka_spec.model_check.state_graph import GraphStep, StateGraph

STATES, LONGEST = 20_000, 30
FORMAT, VERSION = "kafka-spec-paths", 1


def add_paths(parser: argparse.ArgumentParser, catalogue: Mapping[str, Spec]) -> None:
    """Add the options of `paths`."""
    models = Models(catalogue)
    add = parser.add_argument
    add("model", metavar="MODEL", help="a model, or module:SPEC")
    add_bound_options(parser)
    add("--cover", choices=("steps", "pairs"), default="steps", help="every step, or every two rules that follow each other")
    add("--longest", type=positive, default=LONGEST, metavar="N", help=f"the most steps of a path ({LONGEST}), if that suffices")
    add("--refused", action="store_true", help="name after each step what the guards refuse there, to test that it is refused")
    add("--most-states", type=positive, default=STATES, metavar="N", help=f"the most states to explore ({STATES:,})")
    add("--seconds", type=duration, metavar="S", help="stop after this time, inconclusive")
    add_output_options(parser, ("text", "json"))
    parser.set_defaults(run=lambda options: run_paths(options, models))


def run_paths(options: argparse.Namespace, models: Models) -> int:
    """Write the paths, and return the exit code: 0 if they cover everything, 3 if there are more states."""
    with needing("check"):
        from kafka_spec.model_check.interpreter.interpreter import Interpreter
        from kafka_spec.model_check.paths_of_model import covering_paths
        from kafka_spec.model_check.state_graph import graph_of
    budget = Budget(options.seconds)
    with reading(options.seconds):
        spec = models.find(options.model)
        world = Interpreter(spec, with_room(spec, asked_bounds(options, spec)))
    with limited(budget), interruptible(budget):
        graph = graph_of(world, options.most_states)
        if graph.outside:
            raise SpecError(f"{spec.name}: {graph.outside[0]}; check the model first")
        paths = list(covering_paths(graph, options.cover, options.longest))
    wanted = outputs(options)
    for form, file in wanted:
        if form == "json":
            write(json.dumps(_plain(world, graph, paths, options.refused), indent=1), file)
        else:
            write(plain("\n".join(_text(world, graph, paths, options.cover))), file)
    if not any(form == "json" for form, _ in wanted):
        write("--output json:FILE writes all paths, with the state after each step", None)
    return AS_EXPECTED if graph.complete else INCONCLUSIVE


def _text(world: Interpreter, graph: StateGraph, paths: Sequence[Sequence[GraphStep]], covering: str) -> list[str]:
    """Return what the paths cover, and the first of them."""
    steps, taken = sum(map(len, graph.steps)), sum(map(len, paths))
    covered = "every step" if covering == "steps" else "every two rules that follow each other"
    lines = [
        f"{world.spec.name}: {len(paths):,} paths take {covered}: {len(graph.states):,} states, {steps:,} steps, "
        f"{taken:,} steps in all paths, {max(map(len, paths), default=0)} in the longest"
    ]
    if not graph.complete:
        lines.append(f"NOT ALL: only {len(graph.steps):,} states are explored; --most-states N explores more")
    lines += [f"the bound {name} prevents {count:,} steps" for name, count in graph.bounded.items()]
    if paths:
        lines += ["the first path", *(f"  {_call(step.rule, step.binding)}" for step in paths[0])]
    return lines


def _call(rule: Rule, binding: Binding) -> str:
    return f"{rule.name}({', '.join(f'{name}={value}' for name, value in zip(rule.params, binding, strict=True))})"


def _plain(world: Interpreter, graph: StateGraph, paths: Sequence[Sequence[GraphStep]], with_refused: bool) -> dict[str, Any]:
    """Return the paths as plain objects; each step is a line as `explain` reads it, but for what is refused."""

    def after(number: int) -> dict[str, Any]:
        state = graph.states[number]
        refused = {"refused": list(_refused(world, state))} if with_refused else {}
        return {"state": plain_value(world.space.root, state), **refused}

    def start(path: Sequence[GraphStep]) -> dict[str, Any]:
        named = dict(zip(world.spec.start.params, graph.starts[path[0].source], strict=True))
        return {**named, **after(path[0].source)}

    def line(step: GraphStep) -> dict[str, Any]:
        named = dict(zip(step.rule.params, step.binding, strict=True))
        return {"event": step.rule.name, **named, **after(step.target)}

    return {
        "format": FORMAT,
        "version": VERSION,
        "spec": world.spec.name,
        "bounds": dict(world.bounds),
        "complete": graph.complete,
        "paths": [{"start": start(path), "steps": [line(step) for step in path]} for path in paths],
    }


def _refused(world: Interpreter, state: Any) -> Iterator[dict[str, Any]]:
    """Yield what the guards refuse in a state: an event, its parameters as far as they matter, and the guard."""
    for rule in world.spec.rules:
        if rule.name not in world.off:
            for binding, guard in world.refusing(rule, state):
                if guard is not None:
                    yield {"event": rule.name, **dict(zip(rule.params, binding, strict=False)), "guard": guard.__name__}
