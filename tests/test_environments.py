"""What works with which extra, and what says that one is missing: without libraries here, and in fresh environments."""

from __future__ import annotations

import json
import subprocess
import sys
import tomllib

import pytest
from conftest import ROOT

from kafka_spec.spec.extras import EXTRAS

ANY = sorted({library for libraries in EXTRAS.values() for library in libraries})


def without(libraries: list[str], *commands: list[str]) -> list[tuple[int, str, str]]:
    """Run commands in one process that has not got these libraries; return exit code, stdout and stderr of each."""
    code = f"""
import contextlib, io, json, sys
sys.modules.update(dict.fromkeys({libraries!r}))
from kafka_spec.__main__ import main
for arguments in {commands!r}:
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            code = main(arguments)
        except SystemExit as ended:
            code = ended.code or 0
    print(json.dumps([code, out.getvalue(), err.getvalue()]))
"""
    run = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    return [(code, out, err) for code, out, err in map(json.loads, run.stdout.splitlines())]


def test_extras_are_those_of_the_project() -> None:
    """What the messages say an extra brings is what pyproject.toml says; pyspark brings py4j."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["optional-dependencies"]
    names = {extra: {text.partition(">")[0] for text in project[extra]} for extra in EXTRAS}
    for extra, libraries in EXTRAS.items():
        brought = names[extra] - {"kafka-spec[check]"}
        if "kafka-spec[check]" in names[extra]:
            brought |= names["check"]
        if "pyspark" in brought:
            brought.add("py4j")
        assert set(libraries) == brought, extra


def test_the_standard_library_is_enough_for_tables() -> None:
    """Listing models, exporting tables and drawing machines as text need no extra."""
    done = without(
        ANY,
        ["--version"],
        ["models"],
        ["models", "replication/kip_320"],
        ["export", "replica"],
        ["export", "replica", "--format", "transitions"],
        ["export", "replica", "--format", "tla"],
        ["export", "--format", "schema"],
        ["draw", "partition"],
        ["draw", "partition", "--format", "dot"],
        ["draw", "replica", "--against", "replica@0.10", "--format", "markdown"],
    )

    assert [(code, err) for code, _, err in done] == [(0, "")] * len(done)
    assert done[1][1].count("replication/") == 8
    assert "stateDiagram" in done[7][1] or "flowchart" in done[7][1]


@pytest.mark.parametrize(
    ("missing", "extra", "arguments"),
    [
        ("llvmlite", "check", ["check", "replication/kip_320", "--bounds", "tiny", "-q"]),
        ("numpy", "check", ["check"]),
        ("rich", "check", ["trace", "replication/kip_279"]),
        ("pyspark", "spark", ["check", "replication/kip_320", "--bounds", "tiny", "-q", "--engine", "spark", "--state-dir", "x"]),
        ("pyarrow", "spark", ["states", "x"]),
        ("networkx", "draw", ["draw", "examples.tutorial:LOCK"]),
        ("graphviz", "draw", ["draw", "replica", "--format", "svg"]),
        ("transitions", "impl", ["run", "-q"]),
        ("rich", "impl", ["run", "-q"]),
    ],
)
def test_a_missing_extra_is_one_line(missing: str, extra: str, arguments: list[str]) -> None:
    """A library that a command needs and that is not installed is told in one line, with its cure, and ends with 2."""
    ((code, out, err),) = without([missing], arguments)

    assert (code, out) == (2, "")
    assert err.count("\n") == 1
    assert err.startswith("kafka-spec: ") and missing in err and f"pip install 'kafka-spec[{extra}]'" in err


def test_help_imports_no_part_of_the_package() -> None:
    """`--help` and `--version` import neither tables nor libraries: they answer at once."""
    code = """
import sys
from kafka_spec.__main__ import main
try:
    main(["--help"])
except SystemExit:
    print(*sorted(name for name in sys.modules if name.startswith("kafka_spec")), "numpy" in sys.modules)
"""
    run = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)

    assert run.stdout.splitlines()[-1] == "kafka_spec kafka_spec.__main__ kafka_spec.command False"
