"""The book: every example in it runs, every command prints what the page shows, and the site builds without a warning."""

from __future__ import annotations

import itertools
import os
import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from conftest import ROOT

import kafka_spec as kafka_spec_package
from kafka_spec.command import run as kafka_spec
from kafka_spec.model_check.command.options import AS_EXPECTED, INCONCLUSIVE, INTERNAL, MISUSE, VIOLATED
from kafka_spec.model_check.manifest import KEYS
from kafka_spec.spec.vocabulary.table import SpecError

sys.path.insert(0, str(ROOT / "docs"))
import charts
from commands import page as commands_page

DOCS = ROOT / "docs"
PAGES = sorted(str(page.relative_to(DOCS).with_suffix("")) for page in DOCS.rglob("*.md"))
MODULES = {"ten_minutes": "lock", "explore": "lock", "ci": "lock"}
"""The module that a page's commands name, where it is not the page's own name; the pages after the first use its code."""


@dataclass(frozen=True)
class Block:
    """A fenced block: its language, its text, and the line it begins on."""

    language: str
    text: str
    line: int


def blocks(page: str) -> list[Block]:
    """Return the fenced blocks of a page, without the indent of a list."""
    text = (DOCS / f"{page}.md").read_text(encoding="utf-8")
    found = re.finditer(r"^( *)```(\w*)\n(.*?)^ *```$", text, re.MULTILINE | re.DOTALL)
    return [
        Block(match[2], re.sub(rf"^{match[1]}", "", match[3], flags=re.MULTILINE), text[: match.start()].count("\n") + 1)
        for match in found
    ]


def examples(page: str) -> Iterator[tuple[Block, str]]:
    """Yield the blocks of Python, each with the message that it is refused with, or ""."""
    every = [*blocks(page), Block("", "", 0)]
    for block, following in itertools.pairwise(every):
        if block.language == "python":
            yield block, following.text.strip() if following.language == "text" else ""


def write_module(page: str, folder: Path) -> Path:
    """Write what the page's examples define as a module, without those that are refused."""
    home = "ten_minutes" if MODULES.get(page) == "lock" else page
    code = "\n\n".join(block.text for block, refused in examples(home) if not refused)
    file = folder / f"{MODULES.get(page, page.replace('/', '_'))}.py"
    file.write_text(code, encoding="utf-8")
    return file


@pytest.mark.parametrize("page", [page for page in PAGES if any(examples(page))])
def test_the_examples_run(page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The examples of a page, one after the other, run; those shown with a message are refused with it."""
    scope: dict[str, object] = {"__name__": "page"}
    monkeypatch.setitem(sys.modules, "page", type(sys)("page"))
    for block, refused in examples(page):
        file = tmp_path / f"line_{block.line}.py"
        file.write_text(block.text, encoding="utf-8")
        code = compile(block.text, str(file), "exec")
        if not refused:
            exec(code, scope)
            vars(sys.modules["page"]).update(scope)
            continue
        with pytest.raises(SpecError) as error:
            exec(code, scope)
        assert refused in str(error.value), block.line


COMMANDS = [
    pytest.param(page, block, id=f"{page}:{block.line}") for page in PAGES for block in blocks(page) if block.language == "console"
]


@pytest.mark.parametrize(("page", "block"), COMMANDS)
def test_the_commands_print_what_is_shown(
    page: str, block: Block, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Each command prints the lines of its page, in order; `...` stands for any lines, or for the rest of one."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(sys.modules, write_module(page, tmp_path).stem, raising=False)
    manifests = [other.text for other in blocks(page) if other.language == "toml"]
    shutil.copy(ROOT / "pyproject.toml", tmp_path / "pyproject.toml")
    (tmp_path / "tests" / "golden").mkdir(parents=True)
    shutil.copy(ROOT / "tests" / "golden" / "counts.toml", tmp_path / "tests" / "golden" / "counts.toml")
    if manifests:
        (tmp_path / "pyproject.toml").write_text("\n".join(manifests), encoding="utf-8")
        tomllib.loads(manifests[0])
    (tmp_path / "commands.txt").write_text("q\n", encoding="utf-8")
    parts = re.split(r"^\$ kafka-spec (.*)\n", block.text, flags=re.MULTILINE)
    assert parts[0] == ""
    for command, shown in zip(parts[1::2], parts[2::2], strict=True):
        arguments, _, file = command.partition(" < ")
        with Path(file or os.devnull).open(encoding="utf-8") as entered:
            monkeypatch.setattr(sys, "stdin", entered)
            kafka_spec(arguments.split())
        printed = capsys.readouterr()
        assert fits(shown, printed.out), f"{command}\n{printed.out}{printed.err}"


README = (ROOT / "README.md").read_text(encoding="utf-8")
SHELL = re.compile(r"^```\n\$ (?:\.venv/bin/)?kafka-spec ([^\n]*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
SHOWN = [
    pytest.param(command, shown, id=f"{page}: {command}")
    for page in (
        "README.md",
        "docs/clusters/advise.md",
        "docs/clusters/metadata_log.md",
        "docs/clusters/validate.md",
        "docs/kafka/run.md",
    )
    for command, shown in SHELL.findall((ROOT / page).read_text(encoding="utf-8"))
]
"""Commands with their output, in a clone: those of the book's other pages are blocks of `console`, which run anywhere."""


@pytest.mark.parametrize(("command", "shown"), SHOWN)
def test_pages_show_what_commands_print_in_a_clone(
    command: str, shown: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Each command whose output these pages show prints these lines, in order, so that no result there is out of date."""
    monkeypatch.chdir(ROOT)
    kafka_spec(command.split())

    assert fits(shown, capsys.readouterr().out)


def test_the_readme_has_three_doors() -> None:
    """README is short, and each of its three readers finds one command with its output under a heading of their own."""
    doors = re.split(r"^### ", README.partition("## Three doors")[2].partition("\n## ")[0], flags=re.MULTILINE)[1:]

    assert len(README.splitlines()) <= 150
    assert [door.partition("\n")[0] for door in doors] == ["You change Kafka", "You run Kafka", "You have a protocol"]
    assert all(len(re.findall(r"^\$ \.venv/bin/kafka-spec ", door, re.MULTILINE)) == 1 for door in doors)


def test_the_commands_page_is_that_of_the_parsers() -> None:
    """docs/reference/commands.md lists the commands and options that there are; if it is stale: make reference."""
    assert (DOCS / "reference" / "commands.md").read_text(encoding="utf-8") == commands_page()


@pytest.mark.parametrize("example", charts.BROKEN)
def test_the_charts_of_examples_are_those_of_the_checker(example: str) -> None:
    """docs/examples/NAME.svg is the chart of the example's counterexample; if it is stale: make reference."""
    assert (DOCS / "examples" / f"{example}.svg").read_text(encoding="utf-8") == charts.example_chart(example)


def test_exit_codes_are_listed_once() -> None:
    """One page has the table of exit codes, with every code of the command line; no other page has one."""
    having = [
        page for page in PAGES if re.search(r"^\| exit code \|", (DOCS / f"{page}.md").read_text(encoding="utf-8"), re.MULTILINE)
    ]
    text = (DOCS / "reference" / "exit_codes.md").read_text(encoding="utf-8")

    assert having == ["reference/exit_codes"] and "| exit code |" not in README
    assert [int(code) for code in re.findall(r"^\| (\d) \|", text, re.MULTILINE)] == [
        AS_EXPECTED, VIOLATED, MISUSE, INCONCLUSIVE, INTERNAL,
    ]  # fmt: skip


def test_the_manifest_page_lists_every_key() -> None:
    """docs/reference/manifest.md explains each key that a check of a manifest may have, and no other."""
    text = (DOCS / "reference" / "manifest.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| (`[^|]+`) \|", text.partition("| key of a check |")[2], re.MULTILINE)

    assert {name for row in rows for name in re.findall(r"`(\w+)`", row)} == set(KEYS)


def fits(shown: str, printed: str) -> bool:
    """Whether a text is what was printed, where `...` stands for any lines, or for the rest of a line."""
    parts = ["(?:.*\n)*?" if line == "..." else re.escape(line).replace(r"\.\.\.", ".*") + "\n" for line in shown.splitlines()]
    return re.fullmatch("".join(parts), printed if printed.endswith("\n") else printed + "\n") is not None


def test_a_shown_line_must_be_printed() -> None:
    """The comparison notices a missing line, a changed one, and lines in another order."""
    assert fits("a\n...\nc\n", "a\nb\nc\n") and fits("a\n...\n", "a\n") and fits("n ... s\n", "n 3 s\n")
    assert not fits("a\n...\nc\n", "a\nb\n")
    assert not fits("a\nc\n", "a\nb\nc\n")
    assert not fits("...\nc\n...\na\n", "a\nb\nc\n")


def test_the_book_builds(tmp_path: Path) -> None:
    """The site builds in strict mode: no broken link, no page that is missing, no unknown name in the reference."""
    run = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "-q", "--strict", "--site-dir", str(tmp_path / "site")],
        cwd=ROOT, env={**os.environ, "NO_MKDOCS_2_WARNING": "1"}, capture_output=True, text=True, timeout=300, check=False,
    )  # fmt: skip
    assert run.returncode == 0, run.stderr
    for page in ("index.html", "kafka/bugs.html", "kafka/kraft.html", "kafka/zookeeper-KAFKA-1188.html", "api.html"):
        assert (tmp_path / "site" / page).exists(), page
    for example in ("two_phase_commit", "raft_election", "bounded_queue", "philosophers", "lease"):
        text = (tmp_path / "site" / "examples" / f"{example}.html").read_text(encoding="utf-8")
        assert "<!-- tlc" not in text and "<!-- file" not in text and f"{example}:" in text, example
        assert "<svg" in (tmp_path / "site" / "examples" / f"{example}.svg").read_text(encoding="utf-8")
    assert "18,346" in (tmp_path / "site" / "examples" / "raft_election.html").read_text(encoding="utf-8")
    chapter = (tmp_path / "site" / "kafka" / "zookeeper-KAFKA-1188.html").read_text(encoding="utf-8")
    kraft = (tmp_path / "site" / "kafka" / "kraft.html").read_text(encoding="utf-8")
    assert "<!-- properties" not in kraft and kraft.count("<tr>") > 20 and "LeaderIsElected" in kraft
    assert "QuietReplicasKnowTheEpoch" in chapter and "zookeeper-KAFKA-1188-three-crash.svg" in chapter
    reference = (tmp_path / "site" / "api.html").read_text(encoding="utf-8")
    assert 'id="kafka_spec.model_check.traces.walk.Walk.act"' in reference
    for name in ("SetOf", "BagOf", "MapOf", "Among", "ElementOf", "BoundSet", "add", "put", "including", "field", "Symmetric"):
        assert f'id="{getattr(kafka_spec_package, name).__module__}.{name}"' in reference, name
