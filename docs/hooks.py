"""Pages of the book that are made of what the project has: a chapter for each bug, the findings, the examples, the pictures."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT))

from mkdocs.structure.files import File, Files  # noqa: E402

from kafka_spec.model_check.command.find import Models  # noqa: E402
from kafka_spec.model_check.manifest import NamedCheck, read_manifest  # noqa: E402
from kafka_spec.spec.models import MODELS  # noqa: E402

GALLERY = ROOT / "diagrams" / "gallery"
STORIES = ROOT / "tests" / "golden" / "control"


def on_files(files: Files, config: Any) -> Files:
    """Add the generated pages and the pictures."""
    for picture in sorted(GALLERY.glob("*.svg")):
        files.append(File.generated(config, f"gallery/{picture.name}", content=picture.read_text(encoding="utf-8")))
    pages = {
        "kafka/bugs.md": bugs_page(),
        "kafka/findings.md": findings_page(),
        "examples.md": examples_page(),
        **dict(chapters()),
    }
    for name, text in pages.items():
        files.append(File.generated(config, name, content=text))
    return files


def bugs() -> list[NamedCheck]:
    """Return the named checks of single bugs that have a picture."""
    checks = read_manifest(ROOT / "pyproject.toml", Models(MODELS).find)
    return [c for c in checks if c.name.startswith("bug/") and (GALLERY / picture_of(c)).exists()]


def picture_of(check: NamedCheck) -> str:
    """Return the file of a check's chart."""
    return f"{check.name.replace('/', '-')}.svg"


def chapter_of(check: NamedCheck) -> str:
    """Return the file of a bug's chapter."""
    return f"{check.name.replace('/', '-')}.md"


def bugs_page() -> str:
    """Return the list of the chapters."""
    rows = [f"| [{c.name.removeprefix('bug/')}]({chapter_of(c)}) | {c.spec.says} | {broken(c)} |" for c in bugs()]
    return "\n".join(
        [
            "# Bugs, a chapter each",
            "",
            "Each bug is one switch on `control/fixed`, which has the fix of every known bug. The checker finds the shortest way",
            "to what it breaks. The charts are those of the gallery; `kafka-spec draw --check` holds them to the tables.",
            "",
            "| switch | what it is | violates, in states |",
            "|---|---|---|",
            *rows,
            "",
        ]
    )


def broken(check: NamedCheck) -> str:
    """Return the properties that a check expects to break, with the lengths of their traces."""
    return ", ".join(f"{name}, {states}" for name, states in check.expected.traces.items())


def chapters() -> Iterator[tuple[str, str]]:
    """Yield the chapter of each bug: what it is, what it breaks, its chart, and its steps."""
    for check in bugs():
        name = check.name.removeprefix("bug/")
        claims = {claim.name: claim for claim in check.spec.properties}
        lines = [f"# {name}", "", f"{check.spec.says[:1].upper()}{check.spec.says[1:]}.", ""]
        for claim in check.expected.traces:
            stated = claims.get(claim)
            lines += [f"**{claim}** is violated: {stated.says}." if stated else f"**{claim}** is violated.", ""]
        lines += [f"![{name}](../gallery/{picture_of(check)})", "", "```", f"kafka-spec trace {check.name}"]
        lines += [f"kafka-spec explore control/{name}", "```", ""]
        if (story := STORIES / f"{name}.txt").exists():
            lines += ["## Step by step", "", "```text", story.read_text(encoding="utf-8").rstrip(), "```", ""]
        yield f"kafka/{chapter_of(check)}", "\n".join(lines)


def findings_page() -> str:
    """Return FINDINGS.md, whose links lead out of the book."""
    return (ROOT / "FINDINGS.md").read_text(encoding="utf-8")


def examples_page() -> str:
    """Return the examples: what each is, how it is checked, and its whole text."""
    lines = ["# Examples", "", "Each is a file that can be read from top to bottom. The counts are those of other checkers.", ""]
    for file in sorted((ROOT / "examples").glob("*.py")):
        text = file.read_text(encoding="utf-8")
        says = re.match(r'"""(.*?)"""', text, re.DOTALL)
        if file.stem == "__init__" or says is None:
            continue
        title, _, rest = says[1].strip().partition("\n")
        code = text[says.end() :].strip()
        lines += [f"## {file.stem}", "", title, "", rest.strip("\n"), "", '??? note "The file"', ""]
        lines += ["    ```python", *(f"    {line}" if line else "" for line in code.splitlines()), "    ```", ""]
    return "\n".join(lines)
