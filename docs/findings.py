"""Fills the blocks of findings/: the shortest trace, the failing test in Kafka's idiom, and the fix as a diff: `make reference`.

A page names the command of a trace above the block that this module fills. A test runs the same commands and compares.
"""

from __future__ import annotations

import contextlib
import io
import re
from collections.abc import Iterator
from pathlib import Path

from kafka_spec.command import run
from kafka_spec.conformance.kafka_tests.findings import TESTS

FOLDER = Path(__file__).parent / "findings"
BLOCK = re.compile(r"```text\n\$ kafka-spec (trace [^\n]*)\n(.*?)```\n", re.DOTALL)
JAVA = re.compile(r"```java\n.*?```\n", re.DOTALL)
DIFF = re.compile(r"```diff\n.*?```\n", re.DOTALL)


def pages() -> Iterator[Path]:
    """Yield the pages that show a trace or a test."""
    texts = {page: page.read_text(encoding="utf-8") for page in sorted(FOLDER.glob("*.md"))}
    yield from (page for page, text in texts.items() if BLOCK.search(text) or JAVA.search(text))


def steps(command: str) -> str:
    """Run a command that prints one trace; return the numbered sentences of its steps, a line each."""
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(io.StringIO()):
        run([*command.split(), "-q"])
    return "".join(f"{line.strip()}\n" for line in printed.getvalue().splitlines() if re.match(r" +\d+\. ", line))


def filled(page: Path) -> str:
    """Return a page with the traces that its commands print now, and with the test and the fix of its finding."""
    text = page.read_text(encoding="utf-8")
    text = BLOCK.sub(lambda block: f"```text\n$ kafka-spec {block[1]}\n{steps(block[1])}```\n", text)
    for test in TESTS:
        if test.finding == page.stem:
            java, fix = test.shown().strip("\n"), test.fix
            text = JAVA.sub(lambda _, java=java: f"```java\n{java}\n```\n", text)
            text = DIFF.sub(lambda _, fix=fix: f"```diff\n{fix.text()}```\n" if fix else "", text)
    return text


if __name__ == "__main__":
    for one in pages():
        one.write_text(filled(one), encoding="utf-8")
