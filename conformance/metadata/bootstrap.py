"""The option `--bootstrap-controller` of the subcommands that read a metadata log: that of a running controller."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from kafka_spec.spec.optional_dependencies import needing

if TYPE_CHECKING:
    from kafka_spec.conformance.metadata.observer import ObservedLog


def add_bootstrap(parser: argparse.ArgumentParser) -> None:
    """Add the option."""
    parser.add_argument(
        "--bootstrap-controller",
        metavar="HOST:PORT",
        help="instead of PATH: a running controller of KRaft, whose metadata log is read as an observer reads it",
    )


@contextmanager
def reachable_log(options: argparse.Namespace) -> Iterator[ObservedLog | None]:
    """Yield the copy of the controller's log that the options name, with its folder as the only path; None if they name paths.

    Raises:
        SpecError: the controller cannot be read.
    """
    if options.bootstrap_controller is None:
        yield None
        return
    with needing("kafka"):
        from kafka_spec.conformance.metadata.observer import observed
    with observed(options.bootstrap_controller) as log:
        options.paths = [log.observer.folder]
        yield log
