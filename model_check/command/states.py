"""The subcommand `states`: queries the states that a Spark search stored."""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping
from typing import Any

from kafka_spec.model_check.command.find import Models
from kafka_spec.model_check.command.options import AS_EXPECTED, VIOLATED, add_output_options, outputs, positive, write
from kafka_spec.model_check.engines import need
from kafka_spec.model_check.exploration import Exploration
from kafka_spec.model_check.report.escape import plain
from kafka_spec.model_check.report.text import states_text
from kafka_spec.model_check.report.traces import trace_text
from kafka_spec.spec.optional_dependencies import needing
from kafka_spec.spec.vocabulary.table import Spec


def add_states(parser: argparse.ArgumentParser, catalogue: Mapping[str, Spec]) -> None:
    """Add the options of `states`."""
    models = Models(catalogue)
    parser.add_argument("state_dir", metavar="DIR", help="the --state-dir of the search")
    parser.add_argument(
        "--where", metavar="SQL", help="a condition on the columns, such as \"level = 3 and quorum_leader = 'broker 1'\""
    )
    parser.add_argument("--limit", type=positive, default=10, metavar="N", help="number of states to show (default: 10)")
    parser.add_argument("--path", metavar="FINGERPRINT", help="show a shortest path to the state with this fingerprint")
    parser.add_argument("--model", metavar="MODEL", help="for --path: the model, if it is your own (module:SPEC)")
    parser.add_argument("--columns", action="store_true", help="list the columns")
    parser.add_argument("--master", default="local[*]", metavar="URL", help="the Spark master (default: local[*])")
    parser.add_argument("--full", action="store_true", help="show whole states on the way, not only what changed")
    add_output_options(parser, ("text", "json"))
    parser.set_defaults(run=lambda options: run_states(options, models))


def run_states(options: argparse.Namespace, models: Models) -> int:
    """Show states that a Spark search stored, or a path to one; return 0 if there are any."""
    if options.path:
        return _run_path(options, models)
    if options.columns:
        store = need("state_dir")
        columns = [
            "level",
            "fingerprint",
            "parent",
            "rule",
            *(c["name"] for c in store.run_of(store.Storage(options.state_dir))["columns"]),
        ]
        _tell(options, columns, "\n".join(columns))
        return AS_EXPECTED
    total, rows = need("states_table").query(options.state_dir, options.where, options.limit, options.master)
    _tell(options, {"states": total, "shown": rows}, states_text(total, rows))
    return AS_EXPECTED if total else VIOLATED


def _run_path(options: argparse.Namespace, models: Models) -> int:
    """Show a shortest path to a state, replayed and checked by the oracle."""
    with needing("spark"):
        from kafka_spec.model_check.path_to_state import stored_path
    about, finding = stored_path(options.state_dir, options.path, "--path")
    spec = models.find(options.model or about["model"])
    from kafka_spec.model_check.interpreter.interpreter import Interpreter
    from kafka_spec.model_check.traces.counterexample import Replay

    result = Exploration(spec, about["bounds"], "spark", 1, ())
    trace, _, _ = Replay(Interpreter(spec, about["bounds"]), result).way(f"state {options.path}", finding)
    _tell(options, trace.to_plain(), trace_text(trace, spec, options.full, reached=True))
    return AS_EXPECTED


def _tell(options: argparse.Namespace, found: Any, text: str) -> None:
    """Write the result as JSON or as text, to the outputs that the options name."""
    for form, file in outputs(options):
        write(json.dumps(found, indent=1) if form == "json" else plain(text), file)
