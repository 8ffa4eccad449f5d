"""The subcommand `explore`: walk through a model, on a page on loopback or in the terminal."""

from __future__ import annotations

import argparse
import json
import sys
import threading
import webbrowser
from collections.abc import Mapping
from pathlib import Path

from kafka_spec.diagrams.explore.server import Explorer
from kafka_spec.diagrams.explore.session import ExploreSession
from kafka_spec.diagrams.explore.terminal import Terminal
from kafka_spec.model_check.budget import Budget, interruptible
from kafka_spec.model_check.command.find import Models
from kafka_spec.model_check.command.options import (
    AS_EXPECTED,
    MANIFEST,
    add_bound_options,
    chosen_model,
    cores,
    duration,
)
from kafka_spec.model_check.traces.walk import Walk
from kafka_spec.spec.optional_dependencies import needing
from kafka_spec.spec.vocabulary.table import Spec, SpecError
from kafka_spec.spec.vocabulary.trace import Trace, from_plain


def add_explore(parser: argparse.ArgumentParser, catalogue: Mapping[str, Spec]) -> None:
    """Add the options of `explore`."""
    models = Models(catalogue)
    add = parser.add_argument
    add("model", metavar="MODEL", help="a model, a named check, or module:SPEC")
    add("--terminal", action="store_true", help="in the terminal, in place of a page; commands come from stdin")
    add(
        "--trace",
        type=Path,
        metavar="FILE",
        help="begin along a trace that was written as JSON: by `trace`, `states --path`, or a save",
    )
    add("--to", metavar="FINGERPRINT|PROPERTY", help="begin at the state with this fingerprint, or at one that shows this property")
    add("--state-dir", metavar="DIR", help="for --to: take the way from the store of a Spark search, with its bounds")
    add("--seconds", type=duration, default=60.0, metavar="S", help="for --to: search no longer (default: 60)")
    add("--show", action="append", default=[], metavar="NAME=EXPRESSION", help="show a column with each state; may be repeated")
    add("--port", type=int, default=0, metavar="N", help="the port on 127.0.0.1 (default: a free one)")
    add("--no-browser", action="store_true", help="only print the address")
    add("--manifest", type=Path, default=MANIFEST, metavar="FILE", help="the file with the named checks")
    add_bound_options(parser)
    parser.set_defaults(run=lambda options: run_explore(options, models))


def run_explore(options: argparse.Namespace, models: Models) -> int:
    """Let the user walk through a model until he stops."""
    spec, bounds = chosen_model(options, models)
    if options.trace:
        if options.bound or options.bounds:
            raise SpecError("--trace has bounds of its own; leave out --bound and --bounds")
        if options.to:
            raise SpecError("--trace and --to both say where to begin; take one of them")
        walk = Walk.along(read_trace(options.trace), spec)
    elif options.to:
        walk = walk_to(options, spec, bounds)
    elif options.state_dir:
        raise SpecError("--state-dir needs --to, the fingerprint of the state to begin at")
    else:
        walk = Walk(spec, bounds)
    session = ExploreSession(walk, models.name_of(spec), options.show)
    if options.terminal:
        Terminal(session, lambda text: print(text, flush=True)).run(sys.stdin)
        return AS_EXPECTED
    return serve(session, options.port, not options.no_browser)


def walk_to(options: argparse.Namespace, spec: Spec, bounds: Mapping[str, int]) -> Walk:
    """Return a walk along a shortest path to the state that --to names.

    Raises:
        SpecError: the state was not found, or the store is one of another model.
    """
    with needing("spark" if options.state_dir else "check"):
        from kafka_spec.model_check.path_to_state import fingerprint_of, path_to_property, path_to_state, stored_path
    if options.state_dir:
        if options.bound or options.bounds:
            raise SpecError("--state-dir has bounds of its own; leave out --bound and --bounds")
        about, finding = stored_path(options.state_dir, options.to, "--to")
        if about["model"] != spec.name:
            raise SpecError(f"--state-dir {options.state_dir} is of {about['model']}; name that model, and not {spec.name}")
        return Walk.by(spec, about["bounds"], finding.start, finding.actions)
    budget = Budget(options.seconds)
    with interruptible(budget):
        if spec.property_named(options.to) is not None:
            finding = path_to_property(spec, bounds, options.to, budget, cores())
        else:
            mark = fingerprint_of(options.to, f"--to: no property of {spec.name} (`kafka-spec models` lists them) is")
            finding = path_to_state(spec, bounds, mark, budget, cores())
    return Walk.by(spec, bounds, finding.start, finding.actions)


def read_trace(file: Path) -> Trace:
    """Read the first trace of a file.

    Raises:
        SpecError: the file cannot be read, or has no trace.
    """
    try:
        plain = json.loads(file.read_text(encoding="utf-8"))
    except OSError as error:
        raise SpecError(f"--trace {file}: {error.strerror}; name a trace that was saved as JSON") from None
    except ValueError as error:
        raise SpecError(f"--trace {file}: this is not JSON: {error}; give what `trace --output json:FILE` wrote") from None
    return from_plain(plain[0] if isinstance(plain, list) and plain else plain)


def serve(session: ExploreSession, port: int, browse: bool) -> int:
    """Serve the page until Ctrl-C."""
    try:
        explorer = Explorer(session, port)
    except (OSError, OverflowError) as error:
        raise SpecError(f"--port {port}: {error}; name a free port, or leave the option out") from None
    print(f"exploring {session.model} at {explorer.url}\nCtrl-C ends it", flush=True)
    answering = threading.Thread(target=explorer.serve, daemon=True)
    answering.start()
    if browse:
        webbrowser.open(explorer.url)
    try:
        answering.join()
    except KeyboardInterrupt:
        explorer.close()
    return AS_EXPECTED
