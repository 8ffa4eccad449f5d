"""Named checks as values of Python, their golden counts, `check --accept`, and `kafka-spec checks`."""

from __future__ import annotations

import itertools
import json
import tomllib
from pathlib import Path
from typing import Any

import pytest
from conftest import ROOT, Command, named_checks

from kafka_spec import MODELS, Check, SpecError, Untestable
from kafka_spec.model_check.manifest import Manifest, manifest_of, read_manifest
from kafka_spec.spec.catalogue.checks import CHECKS

pytest_plugins = ["pytester"]

VALUES = """
from kafka_spec import Check

CHECKS = (
    Check("replication/kip_320", "tiny", why="the smallest bounds", all_rules_fire=True),
    Check("replication/high_watermark", "tiny", "violated", {"WeakIsr": 9}, name="weak", why="records are lost"),
)
WRONG = (Check("replication/kip_320", {"replicas": 2}), 3)
NAMELESS = (Check("replication/kip_320", {"replicas": 2}),)
ODD = (Check("replication/kip_320", "tiny", verdict="perfect"),)
"""
names = itertools.count()


def project(folder: Path, checks: str = "CHECKS", more: str = "") -> Path:
    """Write a project whose checks are values of a module; return its manifest. Each module has a name of its own."""
    module = f"checks_{next(names)}"
    (folder / f"{module}.py").write_text(VALUES, encoding="utf-8")
    manifest = folder / "pyproject.toml"
    manifest.write_text(f'[tool.kafka-spec]\nchecks = "{module}:{checks}"\n{more}', encoding="utf-8")
    return manifest


def test_values_are_checks(tmp_path: Path) -> None:
    """`checks = "module:NAME"` names a tuple of checks beside the manifest; the name follows from model and bound set."""
    one, other = read_manifest(project(tmp_path), MODELS.__getitem__)

    assert (one.name, one.spec, one.bound_set, one.why) == (
        "replication/kip_320-tiny",
        MODELS["replication/kip_320"],
        "tiny",
        "the smallest bounds",
    )
    assert one.expected.verdict == "holds" and one.expected.all_rules_fire and one.expected.distinct is None
    assert (other.name, other.expected.verdict, other.expected.traces) == ("weak", "violated", {"WeakIsr": 9})


def test_values_stand_beside_tables(tmp_path: Path) -> None:
    """`checks` may list tables and names of values; the order is that of the list."""
    manifest = project(tmp_path)
    module = manifest.read_text(encoding="utf-8").partition('"')[2].partition('"')[0]
    table = '{ name = "first", model = "replication/kip_320", bounds = "tiny", verdict = "holds", why = "to begin" }'
    manifest.write_text(f'[tool.kafka-spec]\nchecks = [{table}, "{module}"]\n', encoding="utf-8")

    assert manifest_of(manifest).names == ["first", "replication/kip_320-tiny", "weak"]


@pytest.mark.parametrize(
    ("checks", "message"),
    [
        ("NONE", "has no NONE"),
        ("VALUES:X", "has no VALUES:X"),
        ("WRONG", r"contains 3; it has to be a tuple of kafka_spec.Check"),
        ("NAMELESS", "check 1: bounds are values, so the check needs a name"),
        ("ODD", r"check 1 \(replication/kip_320-tiny\): verdict 'perfect' cannot be expected"),
    ],
)
def test_wrong_values(tmp_path: Path, checks: str, message: str) -> None:
    """A mistake in the values is reported with its place and the cure."""
    with pytest.raises(SpecError, match=message):
        manifest_of(project(tmp_path, checks))


def test_a_name_without_a_colon(tmp_path: Path) -> None:
    """`checks` that is no module:NAME is refused."""
    manifest = tmp_path / "pyproject.toml"
    manifest.write_text('[tool.kafka-spec]\nchecks = "all"\n', encoding="utf-8")
    with pytest.raises(SpecError, match=r"checks = 'all' in .* is not module:NAME"):
        manifest_of(manifest)


def test_values_say_what_tables_say() -> None:
    """Each key of a table has a field of the value, and each field a key."""
    from kafka_spec.model_check.manifest import KEYS

    fields = {"all" if name == "everything" else name for name in Check.__dataclass_fields__}
    assert fields == set(KEYS)


def test_what_is_not_tested_is_of_what_is_judged(tmp_path: Path) -> None:
    """A value's `not_tested` counts as far as the check judges the properties, and while its bounds are 0."""
    past = Untestable("nobody joins", ("StrongIsr", "Unknown"))
    never = Untestable("no log", ("WeakIsr",), while_zero=("log_size",))
    check = Check("replication/kip_320", "tiny", not_tested=(past, never), properties=("WeakIsr", "StrongIsr"))
    assert past.of({}, {"StrongIsr"}) == {"StrongIsr": "nobody joins"}
    assert never.of({"log_size": 1}, {"WeakIsr"}) == {} and never.of({"log_size": 0}, {"WeakIsr"}) == {"WeakIsr": "no log"}
    assert check.not_tested == (past, never)


# ---------------------------------------------------------------------------------------------------------------------
# Counts


def counts_of(manifest: Path) -> dict[str, Any]:
    """Return the lines of a project's counts."""
    return tomllib.loads((manifest.parent / "counts.toml").read_text(encoding="utf-8"))


def test_counts_are_accepted_and_compared(tmp_path: Path, inside: Command) -> None:
    """Without a line a check fails and says how to accept; --accept writes a line for each; another count fails afterwards."""
    manifest = project(tmp_path, more='counts = "counts.toml"\n')
    where = ("--manifest", str(manifest))
    before = inside("check", "-q", *where)
    assert before.returncode == 1
    assert "has no counts of it; `kafka-spec check replication/kip_320-tiny --accept` writes those of a run" in before.stdout

    accepted = inside("check", "-q", "--accept", *where)
    assert accepted.returncode == 0, accepted.stdout + accepted.stderr
    assert "2 of 2 checks have new counts: replication/kip_320-tiny, weak" in accepted.stderr
    lines = counts_of(manifest)
    assert list(lines) == ["replication/kip_320-tiny", "weak"] and lines["replication/kip_320-tiny"]["distinct"] == 277
    assert inside("check", "-q", *where).returncode == 0
    written = (tmp_path / "counts.toml").read_text(encoding="utf-8")

    again = inside("check", "-q", "--accept", *where)
    assert "0 of 2 checks have new counts: none" in again.stderr
    assert (tmp_path / "counts.toml").read_text(encoding="utf-8") == written  # the seconds of another run change nothing

    (tmp_path / "counts.toml").write_text(written.replace("distinct = 277", "distinct = 278"), encoding="utf-8")
    changed = inside("check", "-q", *where)
    assert changed.returncode == 1 and "277 distinct states, expected 278" in changed.stdout
    one = inside("check", "-q", "--accept", "replication/kip_320-tiny", *where)
    assert one.returncode == 0 and "1 of 1 checks have new counts" in one.stderr
    assert (tmp_path / "counts.toml").read_text(encoding="utf-8").splitlines()[2:] == written.splitlines()[2:]


def test_only_what_is_as_expected_is_accepted(tmp_path: Path, inside: Command) -> None:
    """A check whose verdict or trace is another one is not accepted, and the command fails."""
    manifest = project(tmp_path, more='counts = "counts.toml"\n')
    module = next(tmp_path.glob("checks_*.py"))
    module.write_text(VALUES.replace('{"WeakIsr": 9}', '{"WeakIsr": 8}'), encoding="utf-8")
    run = inside("check", "-q", "--accept", "--manifest", str(manifest))

    assert run.returncode == 1 and "expected 8" in run.stdout
    assert list(counts_of(manifest)) == ["replication/kip_320-tiny"]


LINE = '"replication/kip_320-tiny" = { distinct = 277, depth = 12 }\n"weak" = { distinct = 1, depth = 1 }\n'


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (f'{LINE}"gone" = {{ distinct = 1 }}\n', "no check is named 'gone'; `kafka-spec check --accept` writes the file again"),
        ('"weak" = { distinct = "1" }\n', "the line of weak is not"),
        ('"weak" = { speed = 1 }\n', "the line of weak is not"),
        ("weak = 3\n", "the line of weak is not"),
        ("not toml", "writes it again if it is deleted"),
    ],
)
def test_wrong_counts(tmp_path: Path, text: str, message: str) -> None:
    """A file of counts that is not what --accept writes, or has a line of no check, is refused."""
    manifest = project(tmp_path, more='counts = "counts.toml"\n')
    (tmp_path / "counts.toml").write_text(text, encoding="utf-8")
    with pytest.raises(SpecError, match=message):
        read_manifest(manifest, MODELS.__getitem__)


def test_counts_stand_once(tmp_path: Path) -> None:
    """Counts of a check that stand with it and in the file are refused; those that stand with it alone are not written."""
    manifest = project(tmp_path, more='counts = "counts.toml"\n')
    module = next(tmp_path.glob("checks_*.py"))
    module.write_text(VALUES.replace('"the smallest bounds"', '"the smallest bounds", distinct=277'), encoding="utf-8")
    (tmp_path / "counts.toml").write_text('"weak" = { distinct = 1 }\n', encoding="utf-8")
    one, _ = read_manifest(manifest, MODELS.__getitem__)
    assert one.expected.distinct == 277 and not one.expected.no_counts
    (tmp_path / "counts.toml").write_text(LINE, encoding="utf-8")
    with pytest.raises(SpecError, match="its counts stand here and in"):
        read_manifest(manifest, MODELS.__getitem__)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("replication/kip_320",), "--accept is of named checks, and replication/kip_320 is none"),
        (("weak", "--all"), "--accept: --all changes what is counted; leave it out"),
        (("weak", "--no-deadlock"), "--accept: --deadlock changes what is counted"),
    ],
)
def test_what_accept_refuses(tmp_path: Path, inside: Command, arguments: tuple[str, ...], message: str) -> None:
    """--accept is of named checks as they stand in the manifest."""
    manifest = project(tmp_path, more='counts = "counts.toml"\n')
    run = inside("check", "-q", "--accept", *arguments, "--manifest", str(manifest))
    assert run.returncode == 2 and message in run.stderr


def test_accept_needs_a_file(tmp_path: Path, inside: Command) -> None:
    """Without a file of counts the message says how to name one."""
    run = inside("check", "-q", "--accept", "--manifest", str(project(tmp_path)))
    assert run.returncode == 2 and 'add counts = "FILE" to [tool.kafka-spec]' in run.stderr


# ---------------------------------------------------------------------------------------------------------------------
# This project's own


def own() -> Manifest:
    """Return this project's manifest."""
    return manifest_of(ROOT / "pyproject.toml")


def test_every_check_says_why_and_has_counts() -> None:
    """Each check of this project follows from the catalogue, says why it is there, and has a line of counts."""
    manifest = own()
    assert manifest.names == [check.name or f"{check.model}-{str(check.bounds).replace('_', '-')}" for check in CHECKS]
    assert all(table.get("why") for table in manifest.tables)
    assert manifest.counts is not None and list(manifest.counts.lines) == manifest.names
    assert all({"distinct", "depth"} <= set(line) for line in manifest.counts.lines.values())


def test_names_are_models_and_bound_sets() -> None:
    """The name of a check is the model and the bound set, with a word for what else it differs in."""
    for check in named_checks():
        stem = f"{check.spec.name}-{check.bound_set.replace('_', '-')}"
        assert check.name in (stem, f"{stem}-progress", f"{stem}-symmetric")


# ---------------------------------------------------------------------------------------------------------------------
# The list


def test_the_list(tmp_path: Path, inside: Command) -> None:
    """`kafka-spec checks` has a line for each check: verdict, states, and why it is there."""
    manifest = project(tmp_path, more='counts = "counts.toml"\n')
    (tmp_path / "counts.toml").write_text(LINE.replace("distinct = 1,", "distinct = 1234,"), encoding="utf-8")
    run = inside("checks", "--manifest", str(manifest))

    assert run.returncode == 0, run.stderr
    assert run.stdout.splitlines() == [
        "replication/kip_320-tiny  holds       277  the smallest bounds",
        "weak                      violated  1,234  records are lost",
        "",
        "2 checks; kafka-spec checks NAME says why one is there, and what it alone tests",
    ]


def test_one_check_in_full(inside: Command) -> None:
    """`kafka-spec checks NAME` says why it is there, what it alone tests, what it cannot test, its counts, and how to run it."""
    run = inside("checks", "kraft/fixed-stale-answer", "--manifest", str(ROOT / "pyproject.toml"))
    (expected,) = (one.expected for one in named_checks() if one.name == "kraft/fixed-stale-answer")

    assert run.returncode == 0, run.stderr
    for part in (
        "  why         a former controller refuses a proposal",
        "  bounds      stale_answer: brokers 2,",
        "  expects     holds",
        "  alone       ",
        "DeletedRecordsStayGone: no topic is created after a deletion",
        "ElrBesideSmallIsr: the ELR is empty",
        f"  counts      {expected.distinct:,} states, {expected.depth} levels",
        "  run         kafka-spec check kraft/fixed-stale-answer",
    ):
        assert part in run.stdout, part


def test_what_one_check_alone_tests(inside: Command) -> None:
    """The bounds that no other check of the model has together, and the properties that nothing else violates, are named."""
    where = ("--manifest", str(ROOT / "pyproject.toml"), "--format", "json")
    alone, covered, bug = json.loads(
        inside("checks", "kraft/fixed-registers-again", "kraft/fixed-fence", "kraft/KAFKA-16952-registers-again", *where).stdout
    )
    assert alone["bounds_alone"] == [["re_registrations=1"]] and alone["covered_by"] == []
    assert covered["bounds_alone"] == [] and "kraft/fixed-two-fences" in covered["covered_by"]
    assert bug["violates_alone"] == ["OneEpochForEachProcess"]


def test_an_unknown_check(inside: Command) -> None:
    """An unknown name ends with 2, and names like it."""
    run = inside("checks", "kraft/fixed-fense", "--manifest", str(ROOT / "pyproject.toml"))
    assert run.returncode == 2 and "perhaps kraft/fixed-fence" in run.stderr


def test_values_are_items_of_pytest(pytester: pytest.Pytester) -> None:
    """`pytest pyproject.toml` runs checks that are values of the project, and compares their counts."""
    project(pytester.path, more='counts = "counts.toml"\n')
    (pytester.path / "counts.toml").write_text('"replication/kip_320-tiny" = { distinct = 277, depth = 12 }\n', encoding="utf-8")
    result = pytester.runpytest_subprocess("-v", "pyproject.toml")

    result.assert_outcomes(passed=1, failed=1)
    assert "pyproject.toml::replication/kip_320-tiny PASSED" in result.stdout.str()
    assert "weak: " in result.stdout.str() and "has no counts of it" in result.stdout.str()


def test_values_are_annotated(tmp_path: Path, inside: Command) -> None:
    """What the action prints for a check that is a value points to the line that names the values."""
    manifest = project(tmp_path, more='counts = "counts.toml"\n')
    run = inside("check", "-q", "--manifest", str(manifest), "--format", "github")
    assert f"::error file={manifest},line=2,title=kafka-spec%3A weak::" in run.stdout
