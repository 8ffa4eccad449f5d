"""Folds long lines of a text for a terminal: between words, and under the column they stand in."""

from __future__ import annotations

import re
import textwrap

NARROWEST = 24
"""The fewest characters that a folded column is given; a narrower one continues under the line's indent."""


def folded(text: str, width: int) -> str:
    """Return a text whose lines are no longer than `width`, except for words that are."""
    return "\n".join(part for line in text.split("\n") for part in _fold(line, width))


def _fold(line: str, width: int) -> list[str]:
    if len(line) <= width:
        return [line]
    columns = [match.end() for match in re.finditer(r"\S {2,}(?=\S)", line)]
    own = len(line) - len(line.lstrip())
    indent = next((end for end in reversed(columns) if width - end >= NARROWEST), own + 4)
    if width - indent < NARROWEST:
        indent = min(own, max(0, width - NARROWEST))
    parts = textwrap.wrap(
        line, width, subsequent_indent=" " * indent, break_long_words=False, break_on_hyphens=False, drop_whitespace=True,
        replace_whitespace=False, expand_tabs=False,
    )  # fmt: skip
    return parts or [line]
