"""The subcommand `completion`: a script that completes commands, options and the names of models in a shell."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterable
from pathlib import Path

from kafka_spec.model_check.command.options import AS_EXPECTED, MANIFEST, write
from kafka_spec.spec.optional_dependencies import needing

SHELLS = ("bash", "zsh")
WORDS = "_kafka_spec_names"


def add_completion(parser: argparse.ArgumentParser, whole: Callable[[], argparse.ArgumentParser], models: Iterable[str]) -> None:
    """Add the options of `completion`; `whole` returns the parser with the options of all subcommands."""
    parser.add_argument("shell", choices=SHELLS, help="the shell that reads the script")
    parser.set_defaults(run=lambda options: run_completion(options, whole(), sorted(models)))


def run_completion(options: argparse.Namespace, parser: argparse.ArgumentParser, models: list[str]) -> int:
    """Write the script to stdout."""
    with needing("check"):
        import shtab
    for argument in _arguments(parser):
        if isinstance(argument, argparse._SubParsersAction):
            for reported in argument._choices_actions:  # zsh shows the line of the list, and no description of several lines
                argument.choices[reported.dest].description = reported.help
        elif isinstance(argument.metavar, str) and "MODEL" in argument.metavar and not argument.option_strings:
            argument.complete = {"bash": WORDS, "zsh": f"({' '.join(models)})"}  # type: ignore[attr-defined]
        elif argument.type is Path:
            argument.complete = shtab.FILE  # type: ignore[attr-defined]
    # the shell asks each time for the names of the manifest in the current folder, and of its file of counts
    counts = f"sed -n 's/^counts = \"\\(.*\\)\"/\\1/p' {MANIFEST}"
    names = f'sed -n \'s/^name = "\\(.*\\)"/\\1/p; s/^"\\(.*\\)" = {{.*/\\1/p\' {MANIFEST} $({counts}) 2>/dev/null'
    preamble = f'{WORDS}() {{ compgen -W "{" ".join(models)} $({names})" -- "$1"; }}' if options.shell == "bash" else ""
    write(shtab.complete(parser, shell=options.shell, preamble=preamble), None)
    return AS_EXPECTED


def _arguments(parser: argparse.ArgumentParser) -> Iterable[argparse.Action]:
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for inner in action.choices.values():
                yield from _arguments(inner)
        yield action
