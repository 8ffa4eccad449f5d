"""Every relative link of every page leads to a file, and every anchor to a heading of it."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

import pytest
from conftest import ROOT

PAGES = sorted(
    str(page.relative_to(ROOT))
    for page in (
        *ROOT.glob("*.md"),
        *(page for top in ("docs", "diagrams", "benchmarks", "tests") for page in (ROOT / top).rglob("*.md")),
    )
    if "golden" not in page.parts
)


def links_of(page: str) -> list[str]:
    """Return the targets of a page's links and pictures, without those in code and those to other sites."""
    text = re.sub(r"^ *```.*?^ *```", "", (ROOT / page).read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
    found = re.findall(r"\]\(<?([^)\s>]+)>?\)", re.sub(r"`[^`]*`", "", text))
    return [target for target in found if not re.match(r"[a-z]+:", target)]


def anchors_of(page: Path) -> set[str]:
    """Return the anchors of a page's headings, as GitHub and mkdocs make them of plain words."""
    headings = re.findall(r"^#+ (.*)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).strip().replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", PAGES)
def test_links_resolve(page: str) -> None:
    """No link of a page is broken: its file exists, and the file has the heading that an anchor names."""
    for link in links_of(page):
        target, _, anchor = link.partition("#")
        there = (ROOT / page).parent.joinpath(target).resolve() if target else ROOT / page
        assert there.exists(), link
        assert not anchor or there.suffix != ".md" or anchor in anchors_of(there), link


def test_a_broken_link_is_noticed() -> None:
    """The test reads real links: README has some, and a heading gives the anchor that GitHub gives it."""
    assert "docs/kafka/start.md" in links_of("README.md") and len(PAGES) > 30
    assert "what-it-is-not" in anchors_of(ROOT / "README.md")


@pytest.mark.parametrize("page", [page for page in PAGES if page.startswith(("docs/", *"ABCDEFGHIJKLMNOPQRSTUVWXYZ"))])
def test_modules_that_a_page_names_exist(page: str) -> None:
    """Each module that a page names in code, by its name or by the end of its path, is in the repository."""
    text = re.sub(r"^ *```.*?^ *```", "", (ROOT / page).read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
    named = set(re.findall(r"`((?:\w+/)*\w+\.py)`", text)) - {"lock.py"}

    assert [name for name in sorted(named) if not any(f"/{module}".endswith(f"/{name}") for module in modules())] == []


@cache
def modules() -> list[str]:
    """Return the modules of the repository."""
    tops = ("spec", "model_check", "impl", "diagrams", "conformance", "kafka_spec", "docs", "tests", "benchmarks", "examples")
    return [str(file.relative_to(ROOT)) for top in tops for file in (ROOT / top).rglob("*.py")]
