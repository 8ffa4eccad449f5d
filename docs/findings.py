"""Writes the shortest trace into each page of findings/, as `kafka-spec trace` prints the sentences of its steps: `make reference`.

A page names the command above the block that this module fills. A test runs the same commands and compares.
"""

from __future__ import annotations

import contextlib
import io
import re
from collections.abc import Iterator
from pathlib import Path

from kafka_spec.command import run

FOLDER = Path(__file__).parent / "findings"
BLOCK = re.compile(r"```text\n\$ kafka-spec (trace [^\n]*)\n(.*?)```\n", re.DOTALL)


def pages() -> Iterator[Path]:
    """Yield the pages that show a trace."""
    yield from (page for page in sorted(FOLDER.glob("*.md")) if BLOCK.search(page.read_text(encoding="utf-8")))


def steps(command: str) -> str:
    """Run a command that prints one trace; return the numbered sentences of its steps, a line each."""
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(io.StringIO()):
        run([*command.split(), "-q"])
    return "".join(f"{line.strip()}\n" for line in printed.getvalue().splitlines() if re.match(r" +\d+\. ", line))


def filled(page: Path) -> str:
    """Return a page with the traces that its commands print now."""
    text = page.read_text(encoding="utf-8")
    return BLOCK.sub(lambda block: f"```text\n$ kafka-spec {block[1]}\n{steps(block[1])}```\n", text)


if __name__ == "__main__":
    for one in pages():
        one.write_text(filled(one), encoding="utf-8")
