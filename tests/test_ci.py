"""Results in continuous integration: JUnit, GitHub, Markdown, several outputs in one run, pytest, and the action's shell steps."""

from __future__ import annotations

import hashlib
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml
from conftest import ROOT, Command
from lxml import etree

from kafka_spec.model_check.budget import Budget
from kafka_spec.model_check.check import Expectation, Outcome, check
from kafka_spec.model_check.report.ci import github_text, junit_text, markdown_text
from kafka_spec.model_check.report.junit import Problem, ReportedCase, junit_xml
from kafka_spec.spec.catalogue.models import MODELS
from tests import sample_specs

pytest_plugins = ["pytester"]
Golden = Callable[[str, str], None]
JUNIT = etree.XMLSchema(etree.parse(str(Path(__file__).parent / "schemas" / "junit.xsd")))

MANIFEST = """\
[[tool.kafka-spec.checks]]
name = "as-expected"
model = "replication/kip_320"
bounds = "tiny"
verdict = "holds"
distinct = 277

[[tool.kafka-spec.checks]]
name = "a known bug"
model = "replication/kip_279"
bounds = "three_replicas"
verdict = "violated"
traces = { StrongIsr = 12 }

[[tool.kafka-spec.checks]]
name = "a surprise"  # kip_279 needs three replicas to fail
model = "replication/kip_279"
bounds = "three_replicas"
verdict = "holds"
"""


def outcomes() -> list[Outcome]:
    """Return one outcome of each kind: as expected, an expected violation, a surprise, one that was not finished."""
    spec = MODELS["replication/kip_279"]
    bounds = {"replicas": 3, "log_size": 1, "max_records": 1, "max_leader_epoch": 1}
    result = check(spec, bounds)
    held = check(MODELS["replication/kip_320"], {"replicas": 2, "log_size": 1, "max_records": 1, "max_leader_epoch": 1})
    stopped = check(spec, bounds, budget=Budget(max_states=10))
    for each in (result, held, stopped):
        each.search_seconds = each.compile_seconds = 0.25
    return [
        Outcome("as-expected", held, Expectation(distinct=277)),
        Outcome("a known bug", result, Expectation("violated", traces={"StrongIsr": 12})),
        Outcome("a surprise: 100%, at <once>", result, Expectation("holds")),
        Outcome("unfinished", stopped, Expectation("violated")),
    ]


def write_manifest(folder: Path, text: str = MANIFEST) -> Path:
    """Write a manifest into a folder."""
    file = folder / "pyproject.toml"
    file.write_text(text, encoding="utf-8")
    return file


def junit(text: str) -> etree._Element:
    """Return JUnit XML, held to the schema."""
    root = etree.fromstring(text.encode())
    JUNIT.assertValid(root)
    for element in (root, root[0]):
        cases = root.findall(".//testcase")
        counted = {name: len(root.findall(f".//{name}")) for name in ("failure", "error", "skipped")}
        reported = {name: int(element.get(f"{name}s") or element.get(name) or 0) for name in counted}
        assert (int(element.get("tests") or 0), reported) == (len(cases), counted)
    return root


# ---------------------------------------------------------------------------------------------------------------------
# Texts


def test_junit(golden: Golden) -> None:
    """An unexpected result is a failure with its counterexample, an unfinished check an error."""
    text = junit_text(outcomes())
    root = junit(text)

    golden("outcomes.junit.xml", text + "\n")
    assert [[child.tag for child in case] for case in root[0]] == [[], ["system-out"], ["failure"], ["error"]]
    assert "LeaderShrinkIsr(leader=" in (root.findtext(".//failure") or "")


def test_every_report_names_the_files_that_were_checked() -> None:
    """JUnit, GitHub's annotations and Markdown name each file of a user with its digest, whether the check passes or not."""
    result = check(sample_specs.TRAP)
    digest = hashlib.sha256(Path(sample_specs.__file__).read_bytes()).hexdigest()[:16]
    for expected in (Expectation(), Expectation("violated", asked=["Home"])):
        outcome = Outcome("trap", result, expected)
        for text in (junit_text([outcome]), github_text([outcome], Path("pyproject.toml")), markdown_text([outcome])):
            assert f"sample_specs.py, SHA-256 {digest}" in text


def test_junit_holds_any_text() -> None:
    """Names and messages with letters that XML does not allow are still XML."""
    (known, *_) = outcomes()
    assert junit(junit_text([Outcome("a\x00b\x1b[31m\ud800 <&>", known.result, Expectation("violated"))])) is not None


JENKINS = {
    "testsuites": "name time tests failures errors",
    "testsuite": "name tests failures errors group time skipped timestamp hostname id package file log url",
    "testcase": "name time classname group",
    "failure": "type message",
    "error": "type message",
    "skipped": "type message",
    "system-out": "",
}
"""The attributes that junit-10.xsd of Jenkins' xunit plugin allows by element, of those elements that this project writes."""


def test_junit_is_within_the_schema_of_jenkins() -> None:
    """Reports of any shape have no attribute that junit-10.xsd lacks, and times of digits; `skipped` on `testsuites` is refused."""
    problems = [None, *(Problem(kind, "a <type>", "wrong\x00", "at\x1b[0m & here") for kind in ("failure", "error"))]
    cases = [ReportedCase("c\ufffe", f"{number}", 12345.678, problem, "seen\x07") for number, problem in enumerate(problems)]
    for text in (junit_xml("some", cases), junit_xml("none", []), junit_text(outcomes())):
        root = junit(text)
        for element in root.iter():
            assert set(element.attrib) <= set(JENKINS[element.tag].split()), element.tag
            assert re.fullmatch(r"[0-9]*(\.[0-9]*)?", element.get("time", "")), element.get("time")
        root.set("skipped", "0")
        assert not JUNIT.validate(root)


def test_github(golden: Golden, tmp_path: Path) -> None:
    """Each surprise is an annotation at its place in the manifest; line breaks and commas are escaped as GitHub wants it."""
    manifest = write_manifest(tmp_path)
    text = github_text([*outcomes(), Outcome("a surprise", outcomes()[2].result, Expectation("holds"))], manifest)

    golden("outcomes.github.txt", text.replace(str(manifest), "pyproject.toml") + "\n")
    lines = text.splitlines()
    assert [line.split(" ")[0] for line in lines] == ["::error", "::warning", "::error", "2"]
    assert f"file={manifest},line=16," in lines[2]


def test_markdown(golden: Golden) -> None:
    """The summary is a table of all checks, then each surprise with its reasons, its story and its chart as Mermaid."""
    from kafka_spec.diagrams.charts import CHARTS

    text = markdown_text(outcomes(), CHARTS["mermaid"])

    golden("outcomes.md", text + "\n")
    assert text.count("```mermaid\nsequenceDiagram") == 1
    assert text.splitlines()[0] == "## kafka-spec: 2 of 4 checks as expected"
    assert "mermaid" not in markdown_text(outcomes())


# ---------------------------------------------------------------------------------------------------------------------
# The command


def test_several_outputs(kafka_spec: Command, tmp_path: Path) -> None:
    """One run writes text to stdout and all requested files; the exit code is that of the checks."""
    write_manifest(tmp_path)
    run = kafka_spec(
        "check",
        "--quiet",
        "--output",
        "junit:report.xml",
        "--output",
        "markdown:summary.md",
        "--output",
        "json:result.json",
        cwd=tmp_path,
    )

    assert run.returncode == 1, run.stderr
    assert run.stdout.splitlines()[-1] == "2 of 3 checks as expected"
    assert len(junit((tmp_path / "report.xml").read_text(encoding="utf-8")).findall(".//failure")) == 1
    assert "| ❌ | a surprise |" in (tmp_path / "summary.md").read_text(encoding="utf-8")
    assert '"as_expected": false' in (tmp_path / "result.json").read_text(encoding="utf-8")


@pytest.mark.parametrize("workspace", [True, False])
def test_github_finds_the_file_from_the_root(workspace: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In a subfolder of a repository annotations name the manifest from the root, where GitHub looks for it."""
    manifest = tmp_path / "services" / "locks" / "pyproject.toml"
    manifest.parent.mkdir(parents=True)
    manifest.write_text('[[tool.kafka-spec.checks]]\nname = "a surprise"\n', encoding="utf-8")
    if workspace:
        monkeypatch.setenv("GITHUB_WORKSPACE", str(tmp_path))
    else:
        monkeypatch.delenv("GITHUB_WORKSPACE", raising=False)
        (tmp_path / ".git").mkdir()
    monkeypatch.chdir(manifest.parent)
    text = github_text([Outcome("a surprise", outcomes()[2].result, Expectation("holds"))], Path("pyproject.toml"))
    assert text.startswith("::error file=services/locks/pyproject.toml,line=2,")


def test_github_writes_the_summary(kafka_spec: Command, tmp_path: Path) -> None:
    """--format github appends to the job's summary if GitHub names one, and works without one."""
    write_manifest(tmp_path)
    summary = tmp_path / "summary"
    summary.write_text("before\n")
    with_summary = kafka_spec("check", "-q", "--format", "github", cwd=tmp_path, env={"GITHUB_STEP_SUMMARY": str(summary)})
    alone = kafka_spec("check", "-q", "--format", "github", cwd=tmp_path, env={"GITHUB_STEP_SUMMARY": ""})
    nowhere = kafka_spec("check", "as-expected", "-q", "--format", "github", cwd=tmp_path, env={"GITHUB_STEP_SUMMARY": "no/where"})

    assert (with_summary.returncode, alone.returncode, nowhere.returncode) == (1, 1, 2)
    assert with_summary.stdout == alone.stdout
    assert with_summary.stdout.startswith("::error file=pyproject.toml,line=16,title=kafka-spec%3A a surprise::")
    assert summary.read_text(encoding="utf-8").startswith("before\n## kafka-spec: 2 of 3 checks as expected")
    assert "```mermaid" in summary.read_text(encoding="utf-8")
    assert "GITHUB_STEP_SUMMARY=no/where" in nowhere.stderr


def test_a_single_model_in_every_format(kafka_spec: Command, tmp_path: Path) -> None:
    """A named model supports every format too; a violation is a failure there, as the model is expected to hold."""
    run = kafka_spec("check", "replication/kip_279", "--bounds", "three_replicas", "--format", "junit")

    assert run.returncode == 1
    assert len(junit(run.stdout).findall(".//failure")) == 1


def test_wrong_outputs(kafka_spec: Command, tmp_path: Path) -> None:
    """An output without a file, or with an unwritable one, is reported before or after the run, with exit code 2."""
    nothing = kafka_spec("check", "replication/kip_320", "--bounds", "tiny", "--output", "junit:")
    nowhere = kafka_spec("check", "replication/kip_320", "--bounds", "tiny", "--output", f"junit:{tmp_path}/no/report.xml")
    unknown = kafka_spec("check", "replication/kip_320", "--bounds", "tiny", "--output", "bogus:x")

    assert (nothing.returncode, nowhere.returncode) == (2, 2)
    assert "--output junit:: it names no file; write junit:FILE" in nothing.stderr
    assert "--output bogus:x: bogus is not a format of this command (text, json," in unknown.stderr
    assert "write ./bogus:x for a file of that name" in unknown.stderr
    assert "name a file that can be written" in nowhere.stderr


# ---------------------------------------------------------------------------------------------------------------------
# pytest


def test_checks_are_items(pytester: pytest.Pytester) -> None:
    """`pytest pyproject.toml` runs each named check as an item; a failure shows the counterexample and its reasons."""
    write_manifest(pytester.path)
    result = pytester.runpytest_subprocess("-v", "pyproject.toml")

    result.assert_outcomes(passed=2, failed=1)
    shown = result.stdout.str()
    assert "pyproject.toml::as-expected PASSED" in shown
    assert "a surprise: the verdict is violated (StrongIsr), expected holds" in shown
    assert "StrongIsr is violated: a shortest trace has 12 states" in shown
    assert "holds_same_prefix is false with end = 1: end > len(other)" in shown
    assert "pytest_items.py" not in shown


def test_a_project_without_checks_is_left_alone(pytester: pytest.Pytester) -> None:
    """The plugin ignores a file without [tool.kafka-spec], or one that is not a pyproject.toml, and does not import the checker."""
    write_manifest(pytester.path, "[tool.ruff]\n")
    pytester.makepyfile("import sys\ndef test_it():\n    assert 'model_check' not in sys.modules")
    pytester.runpytest_subprocess(".").assert_outcomes(passed=1)


def test_checks_are_collected_where_they_are_asked_for(pytester: pytest.Pytester) -> None:
    """Plain `pytest` runs a project's own tests and no check; `testpaths` may name the manifest."""
    write_manifest(pytester.path)
    pytester.makepyfile("def test_it():\n    pass")
    pytester.runpytest_subprocess().assert_outcomes(passed=1)
    pytester.runpytest_subprocess("-o", "testpaths=pyproject.toml").assert_outcomes(passed=2, failed=1)


def test_a_wrong_manifest_is_an_error(pytester: pytest.Pytester) -> None:
    """The plugin reports a mistake in the manifest like the command line."""
    write_manifest(pytester.path, MANIFEST.replace("kip_320", "kip_321"))
    result = pytester.runpytest_subprocess("pyproject.toml")

    result.assert_outcomes(errors=1)
    assert "check 1 (as-expected): model 'replication/kip_321' is unknown" in result.stdout.str()


def test_a_model_of_the_project(pytester: pytest.Pytester) -> None:
    """A check may name module:SPEC of the project, relative to the manifest."""
    (pytester.path / "lock.py").write_text((ROOT / "examples" / "tutorial.py").read_text(encoding="utf-8"), encoding="utf-8")
    write_manifest(
        pytester.path,
        '[[tool.kafka-spec.checks]]\nname = "lock"\nmodel = "lock:LOCK"\nverdict = "violated"\nproperties = ["OneHolder"]\n',
    )

    pytester.runpytest_subprocess("pyproject.toml").assert_outcomes(passed=1)


# ---------------------------------------------------------------------------------------------------------------------
# The action

ACTION = yaml.safe_load((ROOT / "action.yml").read_text(encoding="utf-8"))


def test_the_action_takes_inputs_by_environment() -> None:
    """No input is inserted into a script, where it could be executed: expressions occur in `env` and `working-directory` only."""
    steps = ACTION["runs"]["steps"]

    assert ACTION["runs"]["using"] == "composite"
    assert all(step["shell"] == "bash" for step in steps)
    assert not any("${{" in step["run"] for step in steps)
    used = set(re.findall(r"inputs\.(\w+)", str(steps)))
    assert used == set(ACTION["inputs"])


@pytest.mark.long
def test_the_actions_steps_run(tmp_path: Path) -> None:
    """The shell steps, run as GitHub runs them: they install from the repository, annotate, write JUnit and a summary, and fail."""
    project, runner = tmp_path / "project", tmp_path / "runner"
    project.mkdir()
    runner.mkdir()
    write_manifest(project)
    codes = [run_step(step, project, runner, {}) for step in ACTION["runs"]["steps"]]

    assert [run.returncode for run in codes] == [0, 0, 1], "".join(run.stderr for run in codes)
    assert codes[2].stdout.startswith("::error file=pyproject.toml,line=16,")
    assert len(junit((project / "kafka-spec.xml").read_text(encoding="utf-8")).findall(".//testcase")) == 3
    assert "```mermaid" in (runner / "summary").read_text(encoding="utf-8")

    some = run_step(ACTION["runs"]["steps"][2], project, runner, {"checks": "as-expected", "junit": ""})
    assert (some.returncode, some.stdout) == (0, "1 of 1 checks as expected\n")
    evil = run_step(ACTION["runs"]["steps"][2], project, runner, {"checks": "$(touch owned); touch owned"})
    evil_install = run_step(ACTION["runs"]["steps"][1], project, runner, {"install": "./$(touch owned); touch owned"})
    assert (evil.returncode, evil_install.returncode) == (2, 1)
    assert not (project / "owned").exists()

    needs_both = write_src_layout(tmp_path / "src-layout")
    for install, expected in (("", [0, 2]), (".", [0, 2]), ("-r requirements.txt .", [0, 0])):
        steps = [run_step(step, needs_both, runner, {"install": install}) for step in ACTION["runs"]["steps"][1:]]
        assert [run.returncode for run in steps] == expected, "".join(run.stdout + run.stderr for run in steps)
    source = needs_both / "src" / "locks" / "model.py"
    digest = hashlib.sha256(source.read_bytes()).hexdigest()[:16]
    assert steps[1].stdout == f"checked src/locks/model.py, SHA-256 {digest}\n1 of 1 checks as expected\n"


def write_src_layout(folder: Path) -> Path:
    """Write a project whose model is a package below src/, and imports a package that is a dependency."""
    build = '[build-system]\nrequires = ["hatchling"]\nbuild-backend = "hatchling.build"\n[project]\nversion = "1"\n'
    check = (
        '[[tool.kafka-spec.checks]]\nname = "lock"\nmodel = "locks.model:LOCK"\nverdict = "violated"\nproperties = ["OneHolder"]\n'
    )
    model = (ROOT / "examples" / "tutorial.py").read_text(encoding="utf-8")
    files = {
        "pyproject.toml": f'{build}name = "locks"\n[tool.hatch.build.targets.wheel]\npackages = ["src/locks"]\n{check}',
        "requirements.txt": "./vendor/lock-helper\n",
        "src/locks/__init__.py": "import lock_helper\n",
        "src/locks/model.py": model,
        "vendor/lock-helper/pyproject.toml": f'{build}name = "lock-helper"\n',
        "vendor/lock-helper/lock_helper/__init__.py": "",
    }
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
    return folder


def run_step(step: dict[str, object], project: Path, runner: Path, asked: dict[str, str]) -> subprocess.CompletedProcess[str]:
    """Run a step as a runner does: expressions filled in, the script in a file, bash with -e and pipefail."""
    inputs = {name: asked.get(name, value["default"]) for name, value in ACTION["inputs"].items()}
    inputs["python"] = sys.executable

    def filled(text: str) -> str:
        text = text.replace("${{ github.action_path }}", str(ROOT))
        return re.sub(r"\$\{\{ inputs\.(\w+) \}\}", lambda match: inputs[match[1]], text)

    given = {name: filled(str(value)) for name, value in dict(step.get("env", {})).items()}  # type: ignore[call-overload]
    kept = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "VIRTUAL_ENV")}
    environment = {**kept, **given, "RUNNER_TEMP": str(runner), "GITHUB_STEP_SUMMARY": str(runner / "summary")}
    script = runner / "step.sh"
    script.write_text(str(step["run"]), encoding="utf-8")
    folder = project / filled(str(step.get("working-directory", ".")))
    command = ["bash", "--noprofile", "--norc", "-e", "-o", "pipefail", str(script)]
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False, timeout=400)
