"""Folds long lines of a text for a terminal: between words, and under their column.

A row whose last column does not fit is printed vertically: its name, its other columns, its text.
"""

from __future__ import annotations

import re
import textwrap

NARROWEST = 24
"""The fewest characters that a folded column is given; with fewer, the columns are printed below each other."""
SHORTEST_NAME = 5
"""A shorter first column, such as a number or `ok`, stays beside the second."""


def folded(text: str, width: int) -> str:
    """Return a text whose lines are no longer than `width`, except for words that are."""
    return "\n".join(part for line in text.split("\n") for part in _fold(line, width))


def _fold(line: str, width: int) -> list[str]:
    if len(line) <= width:
        return [line]
    starts = [match.end() for match in re.finditer(r"\S {2,}(?=\S)", line)]
    own = len(line) - len(line.lstrip())
    if not starts:
        return _wrapped(line, width, own + 4)
    if width - starts[-1] >= NARROWEST:
        return _wrapped(line, width, starts[-1])
    return _from_above_to_below(line, width, own)


def _from_above_to_below(line: str, width: int, own: int) -> list[str]:
    """Return a line of a table as its name, its other columns and its text, below each other."""
    name, *others, text = re.split(r" {2,}", line.strip())
    while others and len(name) < SHORTEST_NAME:
        name = f"{name}  {others.pop(0)}"
    below = " " * (own + 4)
    together = below + "  ".join([*others, text])
    rest = [together] if len(together) <= width or not others else [below + "  ".join(others), below + text]
    return [part for line in (" " * own + name, *rest) for part in _wrapped(line, width, own + 4)]


def _wrapped(line: str, width: int, indent: int) -> list[str]:
    """Return a line wrapped between words, continued at an indent if that leaves room."""
    if width - indent < NARROWEST:
        indent = min(len(line) - len(line.lstrip()), max(0, width - NARROWEST))
    parts = textwrap.wrap(
        line, width, subsequent_indent=" " * indent, break_long_words=False, break_on_hyphens=False, drop_whitespace=True,
        replace_whitespace=False, expand_tabs=False,
    )  # fmt: skip
    return parts or [line]
