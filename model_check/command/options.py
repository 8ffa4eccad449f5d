"""The options that subcommands share, and the parsing of their values: bounds, outputs, numbers."""

from __future__ import annotations

import argparse
import os
import shutil
import sys
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TextIO

from kafka_spec.model_check.command.find import Models
from kafka_spec.model_check.manifest import manifest_of, named_bounds, read_manifest
from kafka_spec.model_check.report.escape import plain, visible
from kafka_spec.model_check.report.fold import folded
from kafka_spec.model_check.room import refuse_open
from kafka_spec.spec.vocabulary.table import Spec, SpecError

MANIFEST = Path("pyproject.toml")
MOST_THREADS = 64
AS_EXPECTED, VIOLATED, MISUSE, INCONCLUSIVE, INTERNAL = range(5)
EXIT_CODES = {"violated": VIOLATED, "inconclusive": INCONCLUSIVE, "holds": AS_EXPECTED}
"""The exit code of each verdict, the worst first."""
Output = tuple[str, Path | None]
"""A format and the file it is written to; None is stdout."""


def add_bound_options(parser: argparse.ArgumentParser) -> None:
    """Add --bound and --bounds; `asked_bounds` returns the resulting bounds."""
    parser.add_argument("--bound", action="append", default=[], metavar="NAME=N", help="set one bound; may be repeated")
    parser.add_argument("--bounds", metavar="SET", help="use a named set of bounds; --bound changes single bounds")


def add_output_options(parser: argparse.ArgumentParser, formats: Sequence[str]) -> None:
    """Add --format, --output and -q; `outputs` returns the resulting outputs."""
    parser.add_argument("--format", choices=formats, default=formats[0], help="the format of stdout, or of --output FILE")
    parser.add_argument(
        "--output",
        action="append",
        default=[],
        metavar="[FORMAT:]FILE",
        help="write to FILE instead of stdout; with FORMAT: write this format as well; may be repeated",
    )
    parser.add_argument("-q", "--quiet", action="store_true", help="no progress")
    parser.set_defaults(formats=tuple(formats))


def outputs(options: argparse.Namespace) -> list[Output]:
    """Return the formats to write and their files, stdout first: if a file cannot be written, the result was shown.

    A file without a format gets that of --format, and then stdout gets nothing.

    Raises:
        SpecError: a format has no file, or the word before the colon is not a format. (A single letter is a drive.)
    """
    found: list[Output] = []
    plain: list[Output] = []
    for text in options.output:
        form, colon, file = text.partition(":")
        if colon and form in options.formats:
            if not file:
                raise SpecError(f"--output {text}: it names no file; write {form}:FILE")
            found.append((form, Path(file)))
        elif colon and form.isalpha() and len(form) > 1:
            formats = ", ".join(options.formats)
            raise SpecError(
                f"--output {text}: {form} is not a format of this command ({formats}); write ./{text} for a file of that name"
            )
        else:
            plain.append((options.format, Path(text)))
    return [*([] if plain else [(options.format, None)]), *found, *plain]


def duration(text: str) -> float:
    """Parse a number of seconds."""
    seconds = float(text)
    if not 0 <= seconds < float("inf"):
        raise argparse.ArgumentTypeError(f"{text} must be a non-negative number of seconds")
    return seconds


def threads(text: str) -> int:
    """Parse a number of threads."""
    number = positive(text)
    if number > MOST_THREADS:
        raise argparse.ArgumentTypeError(f"{text} is more than {MOST_THREADS}; more threads than cores only wait")
    return number


def cores() -> int:
    """Return how many processor cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def positive(text: str) -> int:
    """Parse a whole number of 1 or more."""
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError(f"{text} is not 1 or more")
    return number


def given_bounds(options: argparse.Namespace, spec: Spec) -> dict[str, int]:
    """Return the bounds that --bounds and --bound specify, by name."""
    bounds = dict(named_bounds(spec, options.bounds)) if options.bounds else {}
    bounds.update(_bound(text) for text in options.bound)
    return bounds


def asked_bounds(options: argparse.Namespace, spec: Spec) -> dict[str, int]:
    """Return all bounds: those that --bounds and --bound specify, the others from the first bound set."""
    return spec.bound_values(given_bounds(options, spec))


def chosen_model(options: argparse.Namespace, models: Models, searches: bool = True) -> tuple[Spec, Mapping[str, int]]:
    """Return the spec and the bounds of options.model: of a model, or of a named check of options.manifest.

    Capacities that the spec leaves out have to be named unless it `searches`, which finds them.
    """
    name = options.model
    if ":" not in name and name not in models.catalogue and options.manifest.exists():
        named = {check.name: check for check in read_manifest(options.manifest, models.find, [name])}
        if name in named:
            if options.bound or options.bounds:
                raise SpecError(f"{name} is a named check and has its own bounds; leave out --bound and --bounds")
            return named[name].spec, named[name].bounds
    spec = models.find(name, partial(check_names, options.manifest))
    if not searches:
        refuse_open(spec, given_bounds(options, spec))
    return spec, asked_bounds(options, spec)


def check_names(manifest: Path) -> list[str]:
    """Return the names of all checks of a manifest, if there is one."""
    return manifest_of(manifest).names if manifest.exists() else []


def _bound(text: str) -> tuple[str, int]:
    name, _, value = text.partition("=")
    try:
        return name.strip(), int(value)
    except ValueError:
        raise SpecError(f"--bound {text}: write NAME=N with an integer N") from None


def write(text: str | bytes, file: Path | None) -> None:
    """Write a result to a file, or to stdout if `file` is None.

    A text ends with one line break, shows control characters, and is folded for a terminal. A text for people is passed through
    `plain` before, so that it contains no command of a CI runner either.
    """
    if isinstance(text, str):
        text = visible(text)
    if file is None and isinstance(text, str) and sys.stdout.isatty():
        text = folded(text, shutil.get_terminal_size().columns)
    data = text if isinstance(text, bytes) else (text.rstrip("\n") + "\n").encode()
    try:
        if file is not None:
            file.write_bytes(data)
        elif isinstance(text, bytes):
            sys.stdout.buffer.write(data)
        else:
            sys.stdout.write(data.decode())
        if file is None:
            sys.stdout.flush()
    except BrokenPipeError:
        if file is not None:
            raise
        detach(sys.stdout)
    except OSError as error:
        if file is None:
            raise
        raise SpecError(f"--output {file}: {error.strerror}; name a file that can be written") from None


def warn(text: str) -> None:
    """Write a message on stderr, as text that neither a terminal nor a CI runner obeys."""
    try:
        print(plain(text), file=sys.stderr, flush=True)
    except OSError:
        detach(sys.stderr)


def detach(stream: TextIO) -> None:
    """Let what is written to a stream go nowhere from now on, since nobody reads it: the exit code still reports the verdict."""
    with Path(os.devnull).open("wb") as nowhere:
        os.dup2(nowhere.fileno(), stream.fileno())
