"""The glossary of CONTRIBUTING.md: the documentation and the texts of the code use its words."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest
from conftest import ROOT

NOT = {
    "claim, promise": r"\b(claim(s|ed|ing)?|promis(e|es|ed|ing))\b",
    "way": r"\bways? (on|back|into)\b|\bshortest ways?\b|\babout ways\b",
    "circle": r"(?<!small )(?<![<=-])\bcircles?\b",
    "mark": r"\b(its|their|by) marks?\b",
    "forbade": r"\bforbade\b|\bbounds? forbids?\b",
    "told, tells": r"\btold\b|\btells\b(?! apart)",
    "asked": r"\bguards? (is|are|was|were) (not )?asked\b|\basked (first|once)\b",
    "mended": r"\bmend(s|ed)?\b",
    "for ever": r"\bfor ever\b",
    "anew": r"\banew\b",
    "goes on": r"\b(go|goes|went|going) on\b",
    "is no replica": r"(?<![Tt]here )\b(is|are|was|were) no (?!longer\b|more\b|less\b|other\b)(?=\w)",
    "Who leads": r"(?:^|[.;] )Who \w+(?! \w+\?)|\b(of|by|from|than|with) who (is|are|was|has|had)\b",
    "stands in": r"\b(stand|stands|stood) (in|where|at|below|behind|beside)\b",
    "at last": r"\bat last\b",
    "a broker of ours": r"\bof (ours|theirs)\b",
}
"""What the glossary does not say, by the third column of its table, as a pattern that finds it."""
PATTERN = re.compile("|".join(f"(?:{pattern})" for pattern in NOT.values()), re.MULTILINE)
PAGES = sorted(
    str(page.relative_to(ROOT))
    for page in (*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"))
    if page.name not in ("commands.md", "tested.md")
)
"""The documentation. What docs/commands.py and docs/tested.py write are texts of the code."""
PARTS = ("spec", "model_check", "impl", "diagrams", "conformance", "kafka_spec", "docs")
"""The parts of the project whose docstrings and messages use the words of the glossary."""


ARGUMENT = re.compile(r"^ +\w+(?=: )", re.MULTILINE)
"""The name of an argument in a docstring."""


def prose(page: str) -> str:
    """Return the words of a page: without code, names, links and the table of the glossary itself."""
    text = (ROOT / page).read_text(encoding="utf-8")
    text = re.sub(r"^\| say \| for \| not \|\n(\|.*\n)*", "", text, flags=re.MULTILINE)
    text = re.sub(r"^ *```.*?^ *```", "", text, flags=re.MULTILINE | re.DOTALL)
    text = re.sub(r"\]\([^)]*\)", "]", re.sub(r"`[^`]*`", "", text))
    return re.sub(r"\w+(?:-\w+){2,}", "", text)


@pytest.mark.parametrize("page", PAGES)
def test_a_page_uses_the_words_of_the_glossary(page: str) -> None:
    """No page of the documentation has an expression that the glossary replaces."""
    text = re.sub(r"\n(?=\S)", " ", prose(page))

    assert [text[max(0, found.start() - 40) : found.end() + 20] for found in PATTERN.finditer(text)] == []


def texts(file: Path) -> Iterator[str]:
    """Yield the docstrings and messages of a module: each of its strings that has several words, without names of the code."""
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and " " in node.value.strip():
            yield ARGUMENT.sub("", re.sub(r"`[^`]*`", "", node.value))


@cache
def found_in(part: str) -> list[str]:
    """Return where the texts of a part have an expression that the glossary replaces."""
    return [
        f"{file.relative_to(ROOT)}: ...{text[max(0, found.start() - 30) : found.end() + 20]!r}"
        for file in sorted((ROOT / part).rglob("*.py"))
        if not any(parent.is_symlink() for parent in file.parents)
        for text in texts(file)
        for found in PATTERN.finditer(text)
    ]


@pytest.mark.share(10)  # every day: a change has to keep it
@pytest.mark.parametrize("part", PARTS)
def test_docstrings_and_messages_use_the_words_of_the_glossary(part: str) -> None:
    """No docstring and no message has an expression that the glossary replaces."""
    assert found_in(part) == []


def test_each_row_of_the_glossary_has_a_pattern() -> None:
    """The table of CONTRIBUTING.md and the patterns are the same list, and each pattern finds its own example."""
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    rows = re.findall(
        r"^\| [^|]+ \| [^|]+ \| ([^|]+) \|$",
        text.partition("| say | for | not |\n|---|---|---|\n")[2].partition("\n\n")[0],
        re.MULTILINE,
    )
    examples = {"way": "a shortest way", "mark": "by mark", "asked": "guards are asked"}

    assert rows == list(NOT)
    assert all(re.search(NOT[row], examples.get(row, row)) for row in rows)
