"""The options of the subcommands that read a metadata log for that of a running controller: where it is, and how it is reached."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from kafka_spec.spec.optional_dependencies import needing
from kafka_spec.spec.vocabulary.table import SpecError

if TYPE_CHECKING:
    from kafka_spec.conformance.metadata.observer import ObservedLog


def add_bootstrap(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    parser.add_argument(
        "--bootstrap-controller",
        metavar="HOST:PORT",
        help="instead of PATH: a running controller of KRaft, whose metadata log is read as an observer reads it",
    )
    parser.add_argument(
        "--command-config",
        type=Path,
        metavar="FILE",
        help="for --bootstrap-controller with TLS or SASL: the properties that kafka-metadata-quorum --command-config takes",
    )


def check_what_is_read(options: argparse.Namespace, paths: str) -> None:
    """Refuse options that name nothing to read, or two things; `paths` is what the paths are.

    Raises:
        SpecError: they do.
    """
    if bool(options.paths) == bool(options.bootstrap_controller):
        raise SpecError(f"name {paths}, or a running controller with --bootstrap-controller HOST:PORT, not both")
    if options.command_config is not None and not options.bootstrap_controller:
        raise SpecError("--command-config is for --bootstrap-controller")


@contextmanager
def reachable_log(options: argparse.Namespace) -> Iterator[ObservedLog | None]:
    """Yield the copy of the controller's log that the options name, with its folder as the only path; None if they name paths.

    Raises:
        SpecError: the controller cannot be read, or not so.
    """
    if options.bootstrap_controller is None:
        yield None
        return
    with needing("kafka"):
        from kafka_spec.conformance.metadata.client_security import PLAINTEXT, security_of
        from kafka_spec.conformance.metadata.observer import observed
    security = PLAINTEXT if options.command_config is None else security_of(options.command_config)
    with observed(options.bootstrap_controller, security) as log:
        options.paths = [log.observer.folder]
        yield log
