"""The repository against its own rules: floors, the wheel, the standard library, the README."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import venv
import zipfile
from pathlib import Path

import pytest
from conftest import ROOT

PARTS = ("spec", "model_check", "impl", "diagrams", "conformance")
"""What kafka_spec holds, by links to the folders of the repository."""


def test_spec_needs_the_standard_library_only() -> None:
    """`import spec` and every model work without site-packages."""
    from kafka_spec.spec.models import MODELS

    code = "import kafka_spec, kafka_spec.spec.trace, kafka_spec.spec.log; print(len(kafka_spec.MODELS))"
    run = subprocess.run([sys.executable, "-S", "-c", code], cwd=ROOT, capture_output=True, text=True, check=False)

    assert (run.returncode, run.stdout) == (0, f"{len(MODELS)}\n"), run.stderr


def test_nothing_imports_by_short_names() -> None:
    """There is one import package: nothing in the repository imports its parts by their short names."""
    short = re.compile(r"^\s*(?:import|from) (?:spec|model_check|impl|diagrams|conformance)\b", re.MULTILINE)
    for folder in (*PARTS, "kafka_spec", "tests", "benchmarks", "examples"):
        for file in (ROOT / folder).rglob("*.py"):
            assert not short.search(file.read_text(encoding="utf-8")), file


def test_the_package_holds_the_folders_beside_it() -> None:
    """kafka_spec/spec is the folder spec/, and so for the others: a link, no copy."""
    for part in PARTS:
        assert (ROOT / "kafka_spec" / part).is_symlink()
        assert (ROOT / "kafka_spec" / part).resolve() == (ROOT / part).resolve()


def test_libraries_of_the_implementation_are_imported_once() -> None:
    """transitions, kazoo and aiokafka each have one module that knows them."""
    places = {"transitions": "impl/machine.py", "kazoo": "impl/coordination/zookeeper.py", "aiokafka": "impl/log/batches.py"}
    for library, place in places.items():
        pattern = re.compile(rf"^\s*(import|from) {library}\b", re.MULTILINE)
        files = [file for package in PARTS for file in (ROOT / package).rglob("*.py")]
        assert [file for file in files if pattern.search(file.read_text(encoding="utf-8"))] == [ROOT / place]


def test_missing_checker_is_told() -> None:
    """Without the extra `check`, the command says what to install."""
    code = "import sys; sys.modules['numpy'] = None; import kafka_spec.command"
    run = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False)

    assert run.returncode != 0
    assert "pip install 'kafka-spec[check]'" in run.stderr
    assert "Traceback" not in run.stderr


def test_readme_names_what_there_is() -> None:
    """Every model the README names exists, and both commands stand in its first lines."""
    from kafka_spec.spec.models import MODELS

    text = (ROOT / "README.md").read_text(encoding="utf-8")

    assert set(re.findall(r"replication/\w+", text)) <= set(MODELS) | {"replication/"}
    assert "make check" in text[:1500]
    assert "make test" in text[:1500]


@pytest.mark.parametrize("page", ["README.md", "ARCHITECTURE.md", "diagrams/gallery/README.md"])
def test_links_lead_somewhere(page: str) -> None:
    """Every picture and file that a page points to exists; the README shows both machines and names every command."""
    text = (ROOT / page).read_text(encoding="utf-8")
    for target in re.findall(r"\]\(([^)#:]+)\)", text):
        assert (ROOT / page).parent.joinpath(target).exists(), target
    if page == "README.md":
        assert "](diagrams/gallery/partition.svg)" in text and "](diagrams/gallery/replica.svg)" in text
        for command in ("check", "trace", "models", "draw", "export"):
            assert f"kafka-spec {command}" in text


@pytest.mark.slow
def test_wheel(tmp_path: Path) -> None:
    """The wheel, installed into an empty environment, checks a model from another folder; it holds no tests and no benchmarks."""
    build = [sys.executable, "-m", "build", "--wheel", "--outdir", str(tmp_path), str(ROOT)]
    subprocess.run(build, check=True, capture_output=True)
    (wheel,) = tmp_path.glob("*.whl")
    names = zipfile.ZipFile(wheel).namelist()
    tops = {name.split("/")[0] for name in names}

    assert {top for top in tops if not top.endswith(".dist-info")} == {"kafka_spec"}
    assert "kafka_spec/spec/replication/versions/kip_320.py" in names
    for file in (
        "py.typed",
        "spec/table.schema.json",
        "diagrams/page/page.html",
        "diagrams/page/page.css",
        "diagrams/page/page.js",
    ):
        assert f"kafka_spec/{file}" in names

    place = tmp_path / "environment"
    venv.create(place, with_pip=True)
    install = [str(place / "bin" / "pip"), "install", "-q", "-c", str(ROOT / "constraints.txt"), f"{wheel}[check]"]
    subprocess.run(install, check=True, capture_output=True)
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    command = [str(place / "bin" / "kafka-spec"), "check", "replication/kip_320", "--bounds", "tiny"]
    run = subprocess.run(command, cwd=elsewhere, env=environment, capture_output=True, text=True, check=False)

    assert run.returncode == 0, run.stderr
    assert "277 distinct" in run.stdout
