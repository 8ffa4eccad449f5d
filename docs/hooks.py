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
from kafka_spec.model_check.manifest import read_manifest  # noqa: E402
from kafka_spec.model_check.named_check import NamedCheck  # noqa: E402
from kafka_spec.spec.case import Case  # noqa: E402
from kafka_spec.spec.catalogue.models import MODELS  # noqa: E402
from kafka_spec.spec.kraft.eras import SUITE as KRAFT  # noqa: E402
from kafka_spec.spec.quorum.eras import SUITE as QUORUM  # noqa: E402
from kafka_spec.spec.vocabulary.table import check_name  # noqa: E402
from kafka_spec.spec.zookeeper.eras import SUITE as CONTROL  # noqa: E402

SUITES = (CONTROL, KRAFT, QUORUM)
GALLERY = ROOT / "diagrams" / "gallery"
STORIES = ROOT / "tests" / "golden" / "zookeeper"


def on_files(files: Files, config: Any) -> Files:
    """Add the generated pages and the pictures."""
    for picture in sorted(GALLERY.glob("*.svg")):
        files.append(File.generated(config, f"gallery/{picture.name}", content=picture.read_text(encoding="utf-8")))
    pages = {
        "findings/index.md": inside((ROOT / "FINDINGS.md").read_text(encoding="utf-8"), "FINDINGS.md", "docs/findings/index.md"),
        **dict(chapters()),
    }
    for name, text in pages.items():
        files.append(File.generated(config, name, content=text))
    return files


def bugs() -> Iterator[tuple[Case, NamedCheck]]:
    """Yield the cases of all worlds that violate something, each with the check that shows it."""
    named = {check.name: check for check in checks()}
    for suite in SUITES:
        for case in suite.expressed:
            check = named[check_name(f"{suite.name}/{case.name}", case.bounds)]
            if check.expected.traces:
                yield case, check


def checks() -> list[NamedCheck]:
    """Return the checks of the manifest."""
    return read_manifest(ROOT / "pyproject.toml", Models(MODELS).find)


def picture_of(check: NamedCheck) -> str:
    """Return the file of a check's chart."""
    return f"{check.name.replace('/', '-')}.svg"


def chapter_of(check: NamedCheck) -> str:
    """Return the file of a bug's chapter."""
    return f"{check.spec.name.replace('/', '-')}.md"


def bugs_page() -> str:
    """Return the list of the chapters, and of the cases that violate nothing alone or that no model shows."""
    rows = [f"| [{c.spec.name}]({chapter_of(c)}) | {case.summary} | {case.when} | {broken(c)} |" for case, c in bugs()]
    every = [case for suite in SUITES for case in suite.cases]
    alone = [f"| {case.name} | {case.summary} | {case.when} | {case.breaks_nothing} |" for case in every if case.breaks_nothing]
    lacking = [f"| {case.name} | {case.summary} | {case.when} | {case.not_expressed} |" for case in every if case.not_expressed]
    return "\n".join(
        [
            "# Bugs, a chapter each",
            "",
            "Each bug is one difference from `zookeeper/fixed`, `kraft/fixed` or `quorum/fixed`, which fix all of them. The",
            "checker finds the shortest path to the property that it violates. The charts are those of the gallery.",
            "",
            "| model | what it is | Kafka has it | violates, in states |",
            "|---|---|---|---|",
            *rows,
            "",
            "## Cases that violate nothing alone",
            "",
            "| case | what it is | Kafka has it | why nothing is violated |",
            "|---|---|---|---|",
            *alone,
            "",
            "## Known bugs that no model shows",
            "",
            "| bug | what it is | Kafka has it | what the models lack |",
            "|---|---|---|---|",
            *lacking,
            "",
        ]
    )


def broken(check: NamedCheck) -> str:
    """Return the properties that a check expects to be violated, with the lengths of their traces."""
    return ", ".join(f"{name}, {states}" for name, states in check.expected.traces.items())


def chapters() -> Iterator[tuple[str, str]]:
    """Yield the chapter of each bug: what it is, what it violates, its chart, and its steps."""
    for case, check in bugs():
        claims = {claim.name: claim for claim in check.spec.properties}
        lines = ["---", "hide: [toc]", "---", "", f"# {case.name}", "", f"{case.summary[:1].upper()}{case.summary[1:]}.", ""]
        lines += [f"Kafka has this {case.when}.", ""]
        if case.seen:
            lines += [f"It was seen on real Kafka; `{case.seen}` does it again.", ""]
        for claim in check.expected.traces:
            stated = claims.get(claim)
            lines += [f"**{claim}** is violated: {stated.summary}." if stated else f"**{claim}** is violated.", ""]
        if (GALLERY / picture_of(check)).exists():
            lines += [f"![{case.name}](../gallery/{picture_of(check)})", ""]
        lines += ["```", f"kafka-spec trace {check.name}", f"kafka-spec explore {check.spec.name}", "```", ""]
        if (story := STORIES / f"{case.name}.txt").exists() and check.spec.name.startswith("zookeeper/"):
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
    if page.file.src_uri == "kafka/bugs.md":
        return bugs_page()
    if not page.file.generated_by:
        markdown = inside(markdown, f"docs/{page.file.src_uri}", f"docs/{page.file.src_uri}")
    for asked, write in (
        ("<!-- properties -->", properties_table),
        ("<!-- progress -->", progress_table),
        ("<!-- public kraft -->", lambda: public_table("kraft")),
        ("<!-- public quorum -->", lambda: public_table("quorum")),
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


def progress_table() -> str:
    """Return which cases stop the progress that `zookeeper/fixed` makes, by what never happens again."""
    stopped: dict[str, list[str]] = {}
    for check in checks():
        stops = [c.name for c in check.spec.properties if c.kind == "leads-to" and c.name in check.expected.traces]
        if stops and check.spec.name in {f"{CONTROL.name}/{case.name}" for case in CONTROL.expressed}:
            stopped.setdefault(", ".join(stops), []).append(f"`{check.spec.name}`")
    rows = [f"| {', '.join(models)} | {stops} |" for stops, models in stopped.items()]
    return "\n".join(["| case | never happens again |", "|---|---|", *rows])


def public_table(world: str) -> str:
    """Return the states and levels of the public models of a world, at the bounds at which nothing is violated."""
    held = [c for c in checks() if c.spec.name.startswith(f"{world}/public_") and c.expected.verdict == "holds"]
    whys = {bounds.name: bounds.why for check in held for bounds in check.spec.bound_sets}
    rows = [
        f"| `{c.spec.name}` | `{c.bound_set}`: {whys[c.bound_set]} | {c.expected.distinct:,} | {c.expected.depth} |" for c in held
    ]
    return "\n".join(["| model | constants | states | levels |", "|---|---|---|---|", *rows])


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
