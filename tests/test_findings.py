"""The findings: a page each, from one template, with a trace that the checker prints and lengths that the manifest expects."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest
from conftest import ROOT, named_checks

sys.path.insert(0, str(ROOT / "docs"))
import findings

FOLDER = ROOT / "docs" / "findings"
PAGES = [page for page in sorted(FOLDER.glob("*.md")) if page.stem != "notes"]
SECTIONS = [
    "What happens",
    "Shortest trace",
    "Fix",
    "Failing test",
    "Versions read",
    "Seen on real Kafka",
    "Reproduce",
    "Workaround",
]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_a_page_follows_the_template(page: Path) -> None:
    """A page names its finding, and says how severe and likely it is and how to see it; it has every section, with text.

    Findings of KRaft have a test.
    """
    text = page.read_text(encoding="utf-8")
    tested = page.stem in {test.finding for test in findings.TESTS}
    parts = re.split(r"^## (.*)\n", text, flags=re.MULTILINE)

    assert text.startswith("# ") and f"\n**{page.stem}**: " in text
    assert re.findall(r"^\*\*([\w ]+)\.\*\* ", parts[0], re.MULTILINE)[:3] == ["Severity", "Likelihood", "How to see it"]
    assert parts[1::2] == [section for section in SECTIONS if tested or section != "Failing test"]
    assert all(part.strip() for part in parts[2::2])


def test_the_index_lists_each_page_once() -> None:
    """FINDINGS.md is an index: a row for each page, and no more pages than there are."""
    text = (ROOT / "FINDINGS.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| \[([\w-]+)\]\(docs/findings/([\w-]+)\.md\) \|", text, re.MULTILINE)

    assert sorted(rows) == [(page.stem, page.stem) for page in PAGES]
    assert len(text.splitlines()) < 80


def test_pages_report_the_lengths_that_checks_expect() -> None:
    """The check that a page names exists, and expects the property to be violated in as many states as the page says and shows."""
    expected = {check.name: dict(check.expected.traces) for check in named_checks()}
    shown = 0
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        for check, violated, states in re.findall(r"^The check `([\w/-]+)` violates (\w+) in (\d+) states\.$", text, re.MULTILINE):
            shown += 1
            trace = re.search(rf"^\$ kafka-spec trace {check} --property {violated}\n((?:\d+\. .*\n)+)```", text, re.MULTILINE)
            assert expected[check][violated] == int(states), page.stem
            assert trace and len(trace[1].splitlines()) >= int(states), page.stem
    assert shown > 25


@pytest.mark.parametrize("page", list(findings.pages()), ids=lambda page: page.stem)
def test_a_page_shows_the_trace_that_the_checker_prints(page: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The trace of a page is the checker's; if it is stale: make reference."""
    monkeypatch.chdir(ROOT)

    assert findings.filled(page) == page.read_text(encoding="utf-8")
