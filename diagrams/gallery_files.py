"""The gallery as files: machines, differences between eras, a chart of each expected counterexample, the project's folders.

Also checks whether a folder contains exactly these files. A picture drawn by Graphviz carries the digests of its DOT text and of
itself, so that a check needs no Graphviz and does not depend on its version.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from kafka_spec.diagrams.arrows import compared
from kafka_spec.diagrams.chart import chart_of, claim_of
from kafka_spec.diagrams.choices import choices_dot, choices_markdown
from kafka_spec.diagrams.dot import machine_dot, render
from kafka_spec.diagrams.markdown import changes_markdown, machine_markdown
from kafka_spec.diagrams.sequence import chart_svg
from kafka_spec.model_check.check import Outcome
from kafka_spec.spec.optional_dependencies import needing
from kafka_spec.spec.vocabulary.table import ChoiceTable, Machine, Spec, SpecError
from kafka_spec.spec.vocabulary.trace import Trace

FOLDER = Path("diagrams/gallery")
NOTE = "Written by `kafka-spec draw --gallery`; `kafka-spec draw --check` fails where a file does not match the tables."


@dataclass(frozen=True)
class Drawn:
    """A picture that Graphviz draws from a text."""

    dot: str

    def is_in(self, content: bytes) -> bool:
        """Whether the content of a file is this picture, unchanged since it was drawn."""
        match = re.match(rb"<!-- drawn from ([0-9a-f]{64}), picture ([0-9a-f]{64}) -->\n", content)
        return (
            match is not None
            and match[1].decode() == _digest(self.dot.encode())
            and match[2].decode() == _digest(content[match.end() :])
        )

    def draw(self) -> bytes:
        """Draw the picture, with its digests as a prefix."""
        picture = re.sub(rb"^<\?xml.*?\?>\s*", b"", render(self.dot, "svg"))
        return f"<!-- drawn from {_digest(self.dot.encode())}, picture {_digest(picture)} -->\n".encode() + picture


Files = Mapping[str, str | Drawn]


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def gallery(
    machines: Mapping[str, Machine],
    outcomes: Iterable[Outcome],
    choices: Mapping[str, ChoiceTable] | None = None,
) -> Files:
    """Return the files of the gallery by name; of the outcomes, those that expect a violation are shown."""
    with needing("draw"):
        from kafka_spec.diagrams.house import house_dot
    files: dict[str, str | Drawn] = {}
    index = ["# Gallery", "", NOTE, "", "## Machines", "", *_tables(files, machines, choices or {})]
    index += ["## Eras", "", *_eras(files, machines)]
    index += ["## Counterexamples", "", "What the checks of the manifest reject, each with a shortest counterexample.", ""]
    index += _traces(files, outcomes)
    files["house.svg"] = Drawn(house_dot(Path(__file__).parent.parent))
    index += ["## This project", "", "Its folders, and what they import.", "", "![house](house.svg)", ""]
    files["README.md"] = "\n".join(index)
    return files


def _tables(files: dict[str, str | Drawn], machines: Mapping[str, Machine], choices: Mapping[str, ChoiceTable]) -> Iterator[str]:
    """Add the files of machines, in their newest form, and of tables of choices; yield the lines of the index."""
    for name, machine in machines.items():
        if "@" in name and name.partition("@")[0] in machines:
            continue
        files[f"{name}.svg"] = Drawn(machine_dot(machine))
        files[f"{name}.md"] = machine_markdown(machine)
        yield from (f"### {machine.name}", "", f"![{machine.name}]({name}.svg)", "", f"[as a table]({name}.md)", "")
    for name, decided in choices.items():
        files[f"{name}.svg"] = Drawn(choices_dot(decided))
        files[f"{name}.md"] = choices_markdown(decided)
        yield from (f"### {decided.name}", "", f"![{decided.name}]({name}.svg)", "", f"[as a table]({name}.md)", "")


def _eras(files: dict[str, str | Drawn], machines: Mapping[str, Machine]) -> Iterator[str]:
    """Add the files that compare a machine with an era's; yield the lines of the index."""
    for name, machine in machines.items():
        base, at, era = name.partition("@")
        if at and base in machines:
            stem = f"{base}-since-{era}"
            files[f"{stem}.svg"] = Drawn(machine_dot(machines[base], compared(machine, machines[base])))
            files[f"{stem}.md"] = changes = changes_markdown(machine, machines[base])
            yield from (changes.replace("## ", "### ", 1), f"![{stem}]({stem}.svg)", "")


def _traces(files: dict[str, str | Drawn], outcomes: Iterable[Outcome]) -> Iterator[str]:
    """Add the charts of counterexamples; yield the lines of the index."""
    for name, spec, (trace, *others) in counterexamples(outcomes):
        stem = re.sub(r"[^\w.-]+", "-", name)
        claim = claim_of(trace, spec)
        files[f"{stem}.svg"] = chart_svg(chart_of(trace, claim))
        summary = f": {claim.summary}" if claim else ""
        also = f" So {'is' if len(others) == 1 else 'are'} {', '.join(other.shows for other in others)}." if others else ""
        yield from (
            f"### {name}",
            "",
            f"{spec.summary}. **{trace.shows}** is violated{summary}.{also}",
            "",
            f"![{stem}]({stem}.svg)",
            "",
            f"`kafka-spec trace {name} --property {trace.shows} --html FILE` shows it step by step.",
            "",
        )


def counterexamples(outcomes: Iterable[Outcome]) -> Iterator[tuple[str, Spec, list[Trace]]]:
    """Yield the checks that expect a violation: name, spec, and counterexamples, the shortest first.

    Raises:
        SpecError: a check that expects a violation shows none.
    """
    for outcome in outcomes:
        if outcome.expected.verdict != "violated":
            continue
        if not outcome.violations:
            raise SpecError(
                f"the gallery cannot show {outcome.name}: the manifest expects a violation, and the check comes to "
                f"{outcome.result.verdict}; `kafka-spec check {outcome.name}` reports more"
            )
        yield outcome.name, outcome.result.spec, sorted(outcome.violations.values(), key=lambda trace: trace.states)


def stale(folder: Path, files: Files) -> list[str]:
    """Return the differences between a folder and the files it should contain, as sentences; empty if there are none."""
    there = {file.name for file in folder.iterdir()} if folder.is_dir() else set()
    problems = [f"{folder / name} is missing" for name in files if name not in there]
    problems += [f"{folder / name} does not belong to the gallery" for name in sorted(there - set(files))]
    for name, content in files.items():
        if name in there and not _is_current(folder / name, content):
            problems.append(f"{folder / name} does not match the tables")
    return problems


def _is_current(file: Path, content: str | Drawn) -> bool:
    data = file.read_bytes()
    return content.is_in(data) if isinstance(content, Drawn) else data == content.encode()


def write_gallery(folder: Path, files: Files) -> list[str]:
    """Make a folder contain exactly these files; return the names of those written or removed. A current picture is kept."""
    folder.mkdir(parents=True, exist_ok=True)
    done = []
    for name, content in files.items():
        file = folder / name
        if not file.exists() or not _is_current(file, content):
            file.write_bytes(content.draw() if isinstance(content, Drawn) else content.encode())
            done.append(name)
    for file in sorted(folder.iterdir()):
        if file.name not in files:
            file.unlink()
            done.append(file.name)
    return done
