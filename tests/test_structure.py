"""The repository against its own rules: floors, the standard library, the README."""

from __future__ import annotations

import re
import subprocess
import sys

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
