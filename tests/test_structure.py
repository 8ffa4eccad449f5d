"""The repository follows its own rules: layers, the standard library, the README."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections import Counter

import pytest
from conftest import ROOT

PARTS = ("spec", "model_check", "impl", "diagrams", "conformance")
"""The parts of kafka_spec: folders of the repository."""


@pytest.mark.share(10)  # every day: a change has to keep it
def test_spec_needs_the_standard_library_only() -> None:
    """`import spec` and every model work without site-packages."""
    from kafka_spec.spec.catalogue.models import MODELS

    code = "import kafka_spec, kafka_spec.spec.vocabulary.trace, kafka_spec.spec.decisions.log; print(len(kafka_spec.MODELS))"
    run = subprocess.run([sys.executable, "-S", "-c", code], cwd=ROOT, capture_output=True, text=True, check=False)

    assert (run.returncode, run.stdout) == (0, f"{len(MODELS)}\n"), run.stderr


def test_nothing_imports_by_short_names() -> None:
    """There is one import package: no file in the repository imports its parts by their short names."""
    short = re.compile(r"^\s*(?:import|from) (?:spec|model_check|impl|diagrams|conformance)\b", re.MULTILINE)
    for folder in (*PARTS, "kafka_spec", "tests", "benchmarks", "examples"):
        for file in (ROOT / folder).rglob("*.py"):
            assert not short.search(file.read_text(encoding="utf-8")), file


def test_characters_are_not_written_by_name() -> None:
    r"""No string has \N{...}: Python imports a module to read one, and tells Ctrl-C in that moment as a syntax error."""
    for folder in (*PARTS, "kafka_spec"):
        for file in (ROOT / folder).rglob("*.py"):
            assert "\\N{" not in file.read_text(encoding="utf-8"), file


def test_the_parts_are_found_beside_the_package() -> None:
    """In a checkout kafka_spec.spec is the folder spec/, under its own path; the same folder is no second module `spec`."""
    import importlib

    for part in PARTS:
        assert importlib.import_module(f"kafka_spec.{part}").__file__ == str(ROOT / part / "__init__.py")
        with pytest.raises(ImportError, match=f"import kafka_spec.{part}"):
            importlib.import_module(part)


def test_libraries_of_the_implementation_are_imported_once() -> None:
    """Transitions and kazoo are imported by one module each, aiokafka by one for records, for real clients and for SASL each.

    kio is imported by the module that reads and writes, and by the one that describes what it lacks; prometheus_client by one.
    """
    places = {
        "transitions": ["impl/machine.py"],
        "kazoo": ["impl/zookeeper/coordination/zookeeper.py"],
        "aiokafka": [
            "conformance/kafka_clusters/clients.py",
            "conformance/metadata/client_security.py",
            "impl/log/batches.py",
        ],
        "prometheus_client": ["conformance/metadata/metrics.py"],
        "kio": ["impl/kafka_wire/entities.py", "impl/kafka_wire/newer_versions.py"],
    }
    for library, named in places.items():
        pattern = re.compile(rf"^\s*(import|from) {library}\b", re.MULTILINE)
        files = [file for package in PARTS for file in (ROOT / package).rglob("*.py")]
        found = [file for file in files if pattern.search(file.read_text(encoding="utf-8"))]
        assert sorted(found) == [ROOT / place for place in named]


TWO_MODELS = "the same thing in the replication model and in the control plane, with the fields and domains of each"
TWO_COMPILERS = "the same part of two compilers: to LLVM and to TLA+"
TWO_FORMS = "the same type as a domain at given bounds and as a sort of TLA+"
AS_LOGGED = "the same thing in the replay, and as validation reads it in a log"
SHARED_NAMES = {
    "Array": TWO_FORMS,
    "Batch": "records in a log file; requests that a controller's log shows together",
    "Body": TWO_COMPILERS,
    "BrokerView": AS_LOGGED,
    "Change": "a field that a step changed; a transition that a log shows",
    "Check": "a named check of a manifest; a condition of a transaction of ZooKeeper",
    "ControllerView": AS_LOGGED,
    "ControllerQuorum": "controllers that a run simulates; processes of Kafka on loopback",
    "Fields": "a term of TLA+; the fields of a line in an envelope of JSON",
    "Frame": "a message on a connection, as networks call it; a path through a function, as compilers call it",
    "Judgement": "of a property in one state of a walk; of a claim about logs",
    "Kind": "of requests in the model; of violations in a log",
    "Layout": "of a packed state; of the lines of a log",
    "LeaderAndIsr": "the request in the replication model, and as a log shows it",
    "LogEntry": TWO_MODELS,
    "Operators": "who requests operations in a run; the operators of a TLA+ module",
    "Options": "of a compiled program; of a run",
    "Outcome": "of a named check; of a validation",
    "PartitionChangeRecord": "a record of the metadata log: of Kafka, and of the public model",
    "PartitionRecord": "a record of the metadata log; a partition as the lines of a log show it",
    "QuorumNode": "a node in a state of the model; a node that the implementation runs",
    "Readable": "a level whose states can be read; a log that can be read",
    "Record": TWO_FORMS,
    "Refusal": "why an event cannot be; why a controller refused a change of state",
    "Replayed": "an edge on the implementation; a partition's lines as a run of the model",
    "Replica": TWO_MODELS,
    "Sequence": TWO_FORMS,
    "Shown": "how a check shows a case; what a line shows of a state",
    "Source": "of a function; one log of one broker",
    "Stage": "of a controller's event; where an edge is replayed",
    "World": "the state of the ZooKeeper model; a cluster in a run",
}
"""Names of public classes that are defined twice, and the reason for each."""
TREE = ROOT / "spec" / "language" / "tree.py"
"""Its nodes are always written tree.NAME, and are called what the language calls them."""


@pytest.mark.share(10)  # every day: a change has to keep it
def test_a_class_name_has_one_meaning() -> None:
    """No two public classes of any parts share a name, except for a few that are listed with a reason.

    The nodes of the tree of a function are always named with their module: `tree.Append`.
    """
    found = Counter(
        node.name
        for part in (*PARTS, "kafka_spec")
        for file in (ROOT / part).rglob("*.py")
        if not any(parent.is_symlink() for parent in file.parents) and file.name != "tree.py"
        for node in ast.parse(file.read_text(encoding="utf-8")).body
        if isinstance(node, ast.ClassDef) and not node.name.startswith("_")
    )

    assert len(found) > 200
    assert {name: count for name, count in found.items() if count > 1} == dict.fromkeys(SHARED_NAMES, 2)


def test_readme_names_what_there_is() -> None:
    """Every model that the README names exists, and its first lines contain both commands."""
    from kafka_spec.spec.catalogue.models import MODELS

    text = (ROOT / "README.md").read_text(encoding="utf-8")

    assert set(re.findall(r"replication/\w+", text)) <= set(MODELS) | {"replication/"}
    assert "make check" in text[:1500]
    assert "make test" in text[:1500]


@pytest.mark.parametrize("model", ["zookeeper", "kraft", "quorum"])
def test_the_architecture_names_every_module_of_a_model(model: str) -> None:
    """ARCHITECTURE.md says what each module and folder of a model has, once, and names none that is not there."""
    text = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
    rows = text.partition(f"| in `spec/{model}/` | what |\n")[2].partition("\n\n")[0].splitlines()
    named = [name for row in rows for name in re.findall(r"`([^`]+)`", row.split("|")[1])]

    folder = ROOT / "spec" / model
    modules = [file.name for file in folder.glob("*.py") if file.name != "__init__.py"]
    assert sorted(named) == sorted([*modules, *(f"{file.parent.name}/" for file in folder.glob("*/__init__.py"))])
