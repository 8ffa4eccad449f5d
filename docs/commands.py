"""Writes reference/commands.md: each command with its options, as its parser has them: `make reference`.

Nothing here knows a command or an option: the code is the one place that states them, and a test compares the page with it.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from pathlib import Path

from kafka_spec.command import COMMANDS, parser_of

PAGE = Path(__file__).parent / "reference" / "commands.md"
HEAD = """# Commands

`kafka-spec COMMAND --help` prints what this page lists. [Exit codes](exit_codes.md) says what each command returns.
`make reference` writes this page from the parsers; a test holds it to them.
"""


def page() -> str:
    """Return the page: a chapter for each command."""
    whole = parser_of(*COMMANDS)
    parts = [HEAD, *(f"- [`{name}`](#{name}): {command.summary}" for name, command in COMMANDS.items()), ""]
    for name, parser in children(whole):
        parts += [f"## {name}", "", *chapter(f"kafka-spec {name}", parser)]
    return "\n".join(parts).rstrip() + "\n"


def chapter(called: str, parser: argparse.ArgumentParser) -> Iterator[str]:
    """Yield the lines about one command: its description, its arguments and options, its subcommands."""
    if called.count(" ") == 1:
        yield from (sentence(COMMANDS[called.split()[1]].summary), "")
    if parser.description and called.count(" ") == 1:
        yield from (parser.description, "")
    if rows := [row(action) for action in parser._actions if shown(action)]:
        yield from ("| argument or option | meaning |", "|---|---|", *rows, "")
    for name, child in children(parser):
        yield from (f"`{called} {name}`: {sentence(purpose(parser, name))}", "", *chapter(f"{called} {name}", child))


def sentence(text: str) -> str:
    """Return a text as a sentence."""
    return f"{text[:1].upper()}{text[1:]}".rstrip(".") + "."


def shown(action: argparse.Action) -> bool:
    """Return whether an action is an argument or option that users type, other than --help."""
    return not isinstance(action, (argparse._HelpAction, argparse._SubParsersAction)) and action.help != argparse.SUPPRESS


def row(action: argparse.Action) -> str:
    """Return the row of an argument or option: its names with the value that follows, and its meaning."""
    value = value_of(action)
    names = ", ".join(f"`{name}{f' {value}' if value else ''}`" for name in action.option_strings) or f"`{value}`"
    meaning = (action.help or "") % {**vars(action), "prog": "kafka-spec"}
    return f"| {names.replace('|', chr(92) + '|')} | {meaning.replace('|', chr(92) + '|')} |"


def value_of(action: argparse.Action) -> str:
    """Return how the value of an argument is written, such as `N` or `{text,json}`; "" for an option without one."""
    if action.nargs == 0:
        return ""
    if isinstance(action.metavar, str):
        value = action.metavar
    elif action.choices is not None:
        value = "{" + ",".join(map(str, action.choices)) + "}"
    else:
        value = action.dest.upper()
    return {"?": f"[{value}]", "*": f"[{value} ...]", "+": f"{value} ..."}.get(str(action.nargs), value)


def children(parser: argparse.ArgumentParser) -> Sequence[tuple[str, argparse.ArgumentParser]]:
    """Return the subcommands of a parser, in order."""
    found = [action for action in parser._actions if isinstance(action, argparse._SubParsersAction)]
    return [(name, child) for action in found for name, child in action.choices.items()]


def purpose(parser: argparse.ArgumentParser, name: str) -> str:
    """Return the short description of a subcommand."""
    found = [action for action in parser._actions if isinstance(action, argparse._SubParsersAction)]
    return next(str(choice.help) for action in found for choice in action._choices_actions if choice.dest == name)


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
