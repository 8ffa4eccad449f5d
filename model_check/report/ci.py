"""Results for continuous integration: JUnit XML, GitHub's annotations, a summary in Markdown.

The caller passes the function that draws a counterexample.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Sequence
from pathlib import Path

from kafka_spec.model_check.check import Outcome
from kafka_spec.model_check.report.files import checked
from kafka_spec.model_check.report.junit import Problem, ReportedCase, junit_xml
from kafka_spec.model_check.report.traces import ending_note, story_text, trace_text
from kafka_spec.spec.vocabulary.table import Spec
from kafka_spec.spec.vocabulary.trace import Trace

Draw = Callable[[Trace, Spec], str]
MARK = {"pass": "✅", "fail": "❌", "open": "⏳"}


def status_of(outcome: Outcome) -> str:
    """Return "pass", "fail", or "open" if the check was not finished."""
    if not outcome.unmet:
        return "pass"
    return "open" if outcome.result.verdict == "inconclusive" else "fail"


def surprise(outcome: Outcome) -> str:
    """Return the expectations that are not met, with the counterexamples, as text."""
    parts = list(outcome.unmet)
    if outcome.expected.verdict != "violated":
        parts += [trace_text(trace, outcome.result.spec) for trace in outcome.violations.values()]
    return "\n\n".join(parts)


# ---------------------------------------------------------------------------------------------------------------------
# JUnit


def junit_text(outcomes: Sequence[Outcome]) -> str:
    """Return outcomes as JUnit XML: a check with an unmet expectation is a failure; one without a verdict is an error."""
    return junit_xml("kafka-spec", [_case(outcome) for outcome in outcomes])


def _case(outcome: Outcome) -> ReportedCase:
    result, state = outcome.result, status_of(outcome)
    seconds, files = result.search_seconds + result.compile_seconds, checked(result.spec)
    if state == "pass":
        stories = [story_text(trace, result.spec) for trace in outcome.violations.values()]
        return ReportedCase(result.spec.name, outcome.name, seconds, output="\n".join([*files, *stories]))
    problem = Problem("failure" if state == "fail" else "error", result.verdict, "; ".join(outcome.unmet), surprise(outcome))
    return ReportedCase(result.spec.name, outcome.name, seconds, problem, output="\n".join(files))


# ---------------------------------------------------------------------------------------------------------------------
# GitHub


def github_text(outcomes: Sequence[Outcome], manifest: Path) -> str:
    """Return GitHub's workflow commands: an annotation at its place in the manifest for each check that did not pass."""
    lines = []
    for outcome in outcomes:
        state = status_of(outcome)
        if state == "pass":
            if outcome.result.complete and outcome.result.untested:
                untested = f"properties that were never tested: {', '.join(outcome.result.untested)}"
                title = _parameter(f"kafka-spec: {outcome.name}")
                lines.append(f"::warning {_place(manifest, outcome.name)}title={title}::{_message(untested)}")
            continue
        reported = [*outcome.unmet, *(story_text(trace, outcome.result.spec).strip() for trace in outcome.violations.values())]
        command = {"fail": "error", "open": "warning"}[state]
        where = _place(manifest, outcome.name)
        lines.append(f"::{command} {where}title={_parameter(f'kafka-spec: {outcome.name}')}::{_message(chr(10).join(reported))}")
    met = sum(status_of(outcome) == "pass" for outcome in outcomes)
    files = checked(*(outcome.result.spec for outcome in outcomes))
    return "\n".join([*lines, *files, f"{met} of {len(outcomes)} checks as expected"])


def _place(manifest: Path, name: str) -> str:
    """Return the file and line of a check for an annotation: its name's, or that of the module of checks; "" if there is none."""
    try:
        lines = manifest.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError):
        return ""
    stated = re.compile(rf"""\s*name\s*=\s*["']{re.escape(name)}["']\s*(#.*)?""")
    found = [number for number, line in enumerate(lines, 1) if stated.fullmatch(line)]
    found += [number for number, line in enumerate(lines, 1) if re.match(r"checks\s*=", line)]
    return f"file={_parameter(_from_root(manifest))},line={found[0]}," if found else ""


def _from_root(file: Path) -> str:
    """Return the path of a file from the root of its repository, as GitHub reads it; as it is where there is no repository."""
    full = file.resolve()
    checked_out = [Path(given).resolve()] if (given := os.environ.get("GITHUB_WORKSPACE")) else []
    roots = [*(root for root in checked_out if root in full.parents), *(at for at in full.parents if (at / ".git").exists())]
    return full.relative_to(roots[0]).as_posix() if roots else str(file)


def _message(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _parameter(text: str) -> str:
    return _message(text).replace(":", "%3A").replace(",", "%2C")


# ---------------------------------------------------------------------------------------------------------------------
# Markdown


def markdown_text(outcomes: Sequence[Outcome], draw: Draw | None = None) -> str:
    """Return a summary of outcomes for a pull request: a table, then each check that did not pass, with its counterexample.

    `draw` returns a trace as Mermaid; without it the counterexample is given as text only.
    """
    met = sum(status_of(outcome) == "pass" for outcome in outcomes)
    lines = [f"## kafka-spec: {met} of {len(outcomes)} checks as expected", ""]
    lines += ["| | check | model | verdict | expected | states | levels |", "|---|---|---|---|---|---:|---:|"]
    for outcome in outcomes:
        result, shown = outcome.result, MARK[status_of(outcome)]
        traces = ", ".join(f"{name} in {trace.states}" for name, trace in outcome.violations.items())
        verdict = f"{result.shown_verdict}{f' ({traces})' if traces else ''}"
        cells = (outcome.name, result.spec.name, verdict, outcome.expected.verdict)
        lines.append(f"| {shown} | {' | '.join(map(markdown_cell, cells))} | {result.distinct:,} | {result.depth} |")
    lines += [f"\n{markdown_cell(line)}" for line in checked(*(outcome.result.spec for outcome in outcomes))]
    lines += _tested(outcomes)
    for outcome in outcomes:
        if outcome.unmet:
            lines += ["", f"### {MARK[status_of(outcome)]} {markdown_cell(outcome.name)}", ""]
            lines += [f"* {markdown_cell(problem)}" for problem in outcome.unmet]
            if outcome.expected.verdict != "violated":
                for trace in outcome.violations.values():
                    lines += counterexample(trace, outcome.result.spec, draw)
    return "\n".join(lines)


def _tested(outcomes: Sequence[Outcome]) -> list[str]:
    """Return a table of how many states or steps each property was tested on, in ascending order."""
    lines = ["", "<details><summary>On how many states or steps each property was tested</summary>", ""]
    lines += ["| check | never tested | tested |", "|---|---|---|"]
    for outcome in outcomes:
        result = outcome.result
        named = dict.fromkeys(claim.stated for claim in result.properties)
        counts = [(tested, name) for name in named if (tested := result.tested_of(name)) is not None]
        reported = ", ".join(f"{name} {tested:,}" for tested, name in sorted(counts) if tested)
        cells = (outcome.name, ", ".join(result.untested), reported)
        lines.append(f"| {' | '.join(map(markdown_cell, cells))} |")
    return [*lines, "", "</details>"]


def counterexample(trace: Trace, spec: Spec, draw: Draw | None) -> list[str]:
    """Return a counterexample as lines of Markdown: the sentence of the property, the reasons, the steps, a drawing."""
    from kafka_spec.model_check.traces.explain import reasons  # imported here: it needs the extra of an engine

    claim = spec.property_named(trace.shows)
    summary = f": {markdown_cell(claim.summary)}" if claim else ""
    lines = ["", f"**{markdown_cell(trace.shows)}** is violated{summary}. {ending_note(trace, claim)}".rstrip(), ""]
    lines += [f"* {reason.function}: `{reason.because}`{reason.seen}" for reason in reasons(trace, spec)]
    steps = [f"{number}. {markdown_cell(step.summary)}" for number, step in enumerate((trace.start, *trace.steps), 1)]
    lines += ["", "<details open><summary>A shortest path there</summary>", "", *steps, "", "</details>"]
    if draw is not None:
        lines += ["", "```mermaid", draw(trace, spec).rstrip(), "```"]
    return lines


def markdown_cell(text: str) -> str:
    """Return a text escaped for a table cell or a line of Markdown, which shows it literally."""
    for letter in "\\|<*`":
        text = text.replace(letter, f"\\{letter}")
    return " ".join(text.split())
