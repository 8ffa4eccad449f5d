"""Text that somebody else wrote is shown, never obeyed: by terminals, and by the runners of CI."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import pytest
from conftest import Command

from kafka_spec.model_check.report.escape import one_line, plain, visible
from kafka_spec.spec.vocabulary.table import Spec, SpecError
from tests import sample_specs


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("\x1b[31mred\x1b[0m", r"\x1b[31mred\x1b[0m"),
        ("\x1b]0;a title\x07", r"\x1b]0;a title\x07"),
        ("\x9b31m", r"\x9b31m"),
        ("ok\rFAIL", r"ok\rFAIL"),
        ("\u202egnp.exe", r"\u202egnp.exe"),
        ("\ud800", r"\ud800"),
        ("two lines\n\tand a tab, as they are: é ✓ 漢", "two lines\n\tand a tab, as they are: é ✓ 漢"),
    ],
)
def test_control_characters_are_shown(text: str, shown: str) -> None:
    """A control character is shown as Python writes it; letters of any language, line breaks and tabs stay."""
    assert visible(text) == shown
    assert visible(shown) == shown


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("::error::no", r"\::error::no"),
        ("fine\n  ::stop-commands::x", "fine\n" + r"  \::stop-commands::x"),
        ("a ##[error]b", r"a #\#[error]b"),
        ("##vso[task.complete]", r"#\#vso[task.complete]"),
        ("##teamcity[x]", r"#\#teamcity[x]"),
        ("a::b, ## heading", "a::b, ## heading"),
    ],
)
def test_commands_of_runners_are_defused(text: str, shown: str) -> None:
    """GitHub, Azure and TeamCity read commands from lines of a log; none is left, and other text stays."""
    assert plain(text) == shown


def test_a_line_is_one_line() -> None:
    """A text for a line of a report cannot begin another line."""
    assert one_line("a\nok    every-check\t\x1b[2J") == r"a\nok    every-check\t\x1b[2J"
    assert one_line("\n::error::x") == r"\n::error::x"


HOSTILE = '''
"""A spec whose texts are commands to terminals and to CI."""

from tests import sample_specs
from kafka_spec import Rule, Spec, invariant


def is_small(s):
    """The value is small."""
    return s.value < 3


EVIL = "it counts\\n::error::forged\\x1b[2J\\x1b]0;title\\x07 ##[error]x"
RULE = Rule("CountUp", "world", EVIL, EVIL, (sample_specs.COUNT_UP.effects[0],))
SPEC = Spec("evil", EVIL, sample_specs.Count, (RULE,), (invariant("Small", is_small, EVIL),), bound_sets=sample_specs.FIVE)
'''
MANIFEST = '[[tool.kafka-spec.checks]]\nname = "evil"\nmodel = "evil:SPEC"\nverdict = "holds"\n'


@pytest.mark.parametrize(
    "words",
    [
        ("check", "evil:SPEC"),
        ("check", "--verbose"),
        ("check", "--format", "github"),
        ("check", "--format", "tested"),
        ("check", "evil:SPEC", "--simulate", "--walks", "9"),
        ("trace", "evil:SPEC"),
        ("coverage", "evil:SPEC"),
        ("models", "evil:SPEC"),
    ],
    ids=" ".join,
)
def test_no_text_of_a_spec_is_obeyed(
    words: tuple[str, ...], inside: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever writes text prints no control character, and no command that the spec or the manifest wrote."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "evil.py").write_text(HOSTILE, encoding="utf-8")
    (tmp_path / "pyproject.toml").write_text(MANIFEST, encoding="utf-8")
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(sys.modules, "evil", raising=False)
    run = inside(*words)

    assert run.returncode in (0, 1), run.stderr
    for text in (run.stdout, run.stderr):
        assert not [letter for letter in text if letter < " " and letter not in "\n\t"]
        assert not [line for line in text.splitlines() if line.lstrip().startswith("::") and "title=kafka-spec" not in line]
        assert "##[" not in text or "::error" in text


def test_names_are_of_one_line(inside: Command, tmp_path: Path) -> None:
    """A check or a rule whose name would forge a line of the report is refused."""
    manifest = tmp_path / "pyproject.toml"
    manifest.write_text(MANIFEST.replace('"evil"', '"a\\nok  b"'), encoding="utf-8")
    run = inside("check", "--manifest", str(manifest))
    assert run.returncode == 2 and "has a line break or a control character; leave it out" in run.stderr
    with pytest.raises(SpecError, match="has a line break or a control character in its name"):
        Spec(
            "a spec", "it counts", sample_specs.Count, (replace(sample_specs.COUNT_UP, name="A\x1b"),), bound_sets=sample_specs.FIVE
        )
