"""Pages of the book that are made of what the project has: a chapter for each bug, the findings, the pictures.

Also the parts of pages that are measured or read: the properties, TLC's counts, the files of the examples.
"""

from __future__ import annotations

import itertools
import posixpath
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
from kafka_spec.spec.case import reported  # noqa: E402
from kafka_spec.spec.catalogue.models import MODELS  # noqa: E402
from kafka_spec.spec.kraft.cases import CASE as KRAFT_CASE  # noqa: E402
from kafka_spec.spec.zookeeper.cases import CASE  # noqa: E402

GALLERY = ROOT / "diagrams" / "gallery"
STORIES = ROOT / "tests" / "golden" / "zookeeper"


def on_files(files: Files, config: Any) -> Files:
    """Add the generated pages and the pictures."""
    for picture in sorted(GALLERY.glob("*.svg")):
        files.append(File.generated(config, f"gallery/{picture.name}", content=picture.read_text(encoding="utf-8")))
    pages = {
        "kafka/bugs.md": bugs_page(),
        "findings/index.md": inside((ROOT / "FINDINGS.md").read_text(encoding="utf-8"), "FINDINGS.md", "docs/findings/index.md"),
        **dict(chapters()),
    }
    for name, text in pages.items():
        files.append(File.generated(config, name, content=text))
    return files


def bugs() -> list[NamedCheck]:
    """Return the named checks of single bugs that have a picture."""
    chosen = [c for c in checks() if c.name.startswith("bug/") or (c.name == c.spec.name and c.expected.verdict == "violated")]
    return [c for c in chosen if (GALLERY / picture_of(c)).exists()]


def checks() -> list[NamedCheck]:
    """Return the checks of the manifest."""
    return read_manifest(ROOT / "pyproject.toml", Models(MODELS).find)


def picture_of(check: NamedCheck) -> str:
    """Return the file of a check's chart."""
    return f"{check.name.replace('/', '-')}.svg"


def chapter_of(check: NamedCheck) -> str:
    """Return the file of a bug's chapter."""
    return f"{check.name.replace('/', '-')}.md"


def bugs_page() -> str:
    """Return the list of the chapters."""
    rows = [f"| [{c.spec.name}]({chapter_of(c)}) | {c.spec.summary} | {broken(c)} |" for c in bugs()]
    return "\n".join(
        [
            "# Bugs, a chapter each",
            "",
            "Each bug is one switch on `zookeeper/fixed` or `kraft/fixed`, which fix all of them. The checker finds the",
            "shortest path to the property that it violates. The charts are those of the gallery.",
            "",
            "| switch | what it is | violates, in states |",
            "|---|---|---|",
            *rows,
            "",
        ]
    )


def broken(check: NamedCheck) -> str:
    """Return the properties that a check expects to be violated, with the lengths of their traces."""
    return ", ".join(f"{name}, {states}" for name, states in check.expected.traces.items())


def chapters() -> Iterator[tuple[str, str]]:
    """Yield the chapter of each bug: what it is, what it violates, its chart, and its steps."""
    for check in bugs():
        name = check.spec.name.partition("/")[2]
        claims = {claim.name: claim for claim in check.spec.properties}
        lines = ["---", "hide: [toc]", "---", "", f"# {name}", "", f"{check.spec.summary[:1].upper()}{check.spec.summary[1:]}.", ""]
        cases = CASE if check.spec.name.startswith("zookeeper/") else KRAFT_CASE
        if name in cases:
            lines += [f"Kafka has this {reported(cases[name].releases)}.", ""]
        for claim in check.expected.traces:
            stated = claims.get(claim)
            lines += [f"**{claim}** is violated: {stated.summary}." if stated else f"**{claim}** is violated.", ""]
        lines += [f"![{name}](../gallery/{picture_of(check)})", "", "```", f"kafka-spec trace {check.name}"]
        lines += [f"kafka-spec explore {check.spec.name}", "```", ""]
        if (story := STORIES / f"{name}.txt").exists():
            lines += ["## Step by step", "", "```text", story.read_text(encoding="utf-8").rstrip(), "```", ""]
        yield f"kafka/{chapter_of(check)}", "\n".join(lines)


SAME: tuple[tuple[str, str, str], ...] = (
    ("one leader in an epoch", "OneLeaderInEachEpoch", "OneLeaderInEachEpoch"),
    ("epochs never go back", "EpochsNeverGoBack", "EpochsNeverGoBack"),
    ("only the newest controller decides", "OneWriter", ""),
    ("no broker obeys an earlier decision", "NoStaleRequest", ""),
    ("the leader is in the ISR", "LeaderInIsr", "LeaderInIsr"),
    ("the ISR is never empty", "IsrNeverEmpty", "IsrNeverEmpty"),
    ("the ISR holds active brokers only", "DeadStayOutOfIsr", "IsrIsActive"),
    ("a replica that joins the ISR caught up in its current process", "", "JoinsInItsProcess"),
    ("the leader waits for every replica that could replace it", "LeaderCountsIsr", "LeaderCountsCandidates"),
    ("each candidate holds what is committed", "IsrHoldsCommitted", "CandidatesHoldCommitted"),
    ("a leader holds what is committed", "Committed", "Committed"),
    ("logs agree below the high watermark", "LogMatch", "LogMatch"),
    ("readers never go back", "ReadsNeverGoBack", ""),
    ("a former leader stops once nothing is pending", "QuietLeadersAreOfNewestEpoch", "ReplicasLearn"),
    ("a leader is elected eventually", "LeaderIsElected", "LeaderIsElected"),
    ("the ISR grows back", "IsrGrowsBack", "IsrGrowsBack"),
    ("a proposal of an ISR is settled", "", "ProposalsSettle"),
    ("a reassignment ends", "ReassignmentEnds", "ReassignmentEnds"),
    ("records of a deleted topic never come back", "OldRecordsStayGone", "DeletedRecordsStayGone"),
)
"""Properties in words, and their names in `zookeeper/fixed` and in `kraft/fixed`."""
GIVEN_UP = {
    "OneWriter": "Raft's: a former controller's batch is not committed",
    "NoStaleRequest": "there are no requests to obey: brokers read one log, in order",
    "ReadsNeverGoBack": "not stated yet",
    "JoinsInItsProcess": "fetches carry no broker epoch (KIP-903 is KRaft's alone)",
    "ProposalsSettle": "the ISR is written at once; a lost answer is read back",
}
"""Why one of the two worlds does not state a property, by the property of the other."""


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Put what the project has where a page asks for it: properties, measured counts, the file of an example."""
    example = Path(page.file.src_uri).stem if page.file.src_uri.startswith("examples/") else ""
    if not page.file.generated_by:
        markdown = inside(markdown, f"docs/{page.file.src_uri}", f"docs/{page.file.src_uri}")
    for asked, write in (
        ("<!-- properties -->", properties_table),
        ("<!-- tlc -->", lambda: measured("model", f"`examples.{example}")),
        ("<!-- raft -->", lambda: measured("messages", "a ")),
        ("<!-- file -->", lambda: source(example)),
    ):
        if asked in markdown:
            markdown = markdown.replace(asked, write())
    return markdown


def on_page_content(html: str, **_: Any) -> str:
    """Let each picture lead to itself in full size."""
    return re.sub(r'<img [^>]*src="([^"]+\.svg)"[^>]*>', r'<a class="picture" href="\1">\g<0></a>', html)


def properties_table() -> str:
    """Return each property in words, and the verdicts on it in both worlds."""
    every = checks()
    rows = []
    for words, zookeeper, kraft in SAME:
        cells = [
            kept(every, model, name) if name else GIVEN_UP[other]
            for model, name, other in (("zookeeper/", zookeeper, kraft), ("kraft/", kraft, zookeeper))
        ]
        rows.append(f"| {words} | {cells[0]} | {cells[1]} |")
    return "\n".join(["| property | with ZooKeeper | KRaft |", "|---|---|---|", *rows])


def kept(every: list[NamedCheck], world: str, name: str) -> str:
    """Return in how many families of a world's `fixed` a property is judged and holds, and which switches violate it."""
    families = [
        check
        for check in every
        if check.spec.name == f"{world}fixed"
        and check.expected.verdict == "holds"
        and (check.properties is None or name in check.properties)
    ]
    stated = [check for check in families if any(claim.name == name for claim in check.spec.properties)]
    broken_by = [
        check.spec.name.partition("/")[2]
        for check in every
        if check.spec.name.startswith(world) and name in check.expected.traces and "/era_" not in check.spec.name
    ]
    reported = f"**{name}** holds in {len(stated)} families" if stated else f"**{name}** is a model of its own"
    return reported + (f"; broken by {', '.join(dict.fromkeys(broken_by))}" if broken_by else "")


def inside(text: str, source: str, page: str) -> str:
    """Return a text of the repository with links that work on a page of the book; a link to a file outside docs/ becomes its words.

    `source` is the file whose links these are, `page` the file that shows them in the book. Pictures of the gallery are there, too.
    """

    def linked(match: re.Match[str]) -> str:
        picture, words, target, anchor = match["picture"], match["words"], match["target"], match["anchor"] or ""
        there = posixpath.normpath(posixpath.join(posixpath.dirname(source), target))
        there = SHOWN_AS.get(there, there.replace("diagrams/gallery/", "docs/gallery/", 1) if picture else there)
        if not there.startswith("docs/") or not (picture or there.endswith(".md")):
            return words
        return f"{picture}[{words}]({posixpath.relpath(there, posixpath.dirname(page))}{anchor})"

    return re.sub(r"(?P<picture>!?)\[(?P<words>[^]]+)\]\((?P<target>[^):#]+)(?P<anchor>#[^)]*)?\)", linked, text)


SHOWN_AS = {"FINDINGS.md": "docs/findings/index.md"}
"""Files outside docs/ that are pages of the book."""


def measured(head: str, begins: str) -> str:
    """Return rows of a table of benchmarks/README.md, by the first word of its head and how the rows begin."""
    lines = (ROOT / "benchmarks" / "README.md").read_text(encoding="utf-8").splitlines()
    first = next(number for number, line in enumerate(lines) if line.startswith(f"| {head} |"))
    rows = itertools.takewhile(lambda line: line.startswith("|"), lines[first + 2 :])
    chosen = [row.replace("`examples.", "`") for row in rows if row.startswith(f"| {begins}")]
    if not chosen:
        raise ValueError(f"benchmarks/README.md has no row that begins with {begins!r} under {head!r}")
    return "\n".join([*lines[first : first + 2], *chosen])


def source(name: str) -> str:
    """Return an example's file, folded, without the docstring, whose content is in its chapter."""
    text = (ROOT / "examples" / f"{name}.py").read_text(encoding="utf-8")
    code = text[text.index('"""', 3) + 3 :].strip()
    return "\n".join(
        [f'??? note "examples/{name}.py"', "", "    ```python", *(f"    {line}".rstrip() for line in code.splitlines()), "    ```"]
    )
