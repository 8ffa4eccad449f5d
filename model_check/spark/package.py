"""This package on the workers of Spark: it is sent to them, and functions of worker.py run only where they are those of the driver.

Depends on a session's context, not on jobs or on the search.
"""

from __future__ import annotations

import atexit
import shutil
import sys
import tempfile
import zipfile
from collections.abc import Callable, Iterator, Mapping
from importlib.metadata import version
from pathlib import Path
from typing import Any

NEEDS = {"llvmlite": "0.44", "numpy": "2.0", "pyarrow": "17", "pandas": "2.2"}
"""The packages that the workers need, with the oldest versions."""


def guarded(expected: Mapping[str, Any], name: str, arguments: tuple[Any, ...]) -> Callable[[Any], Iterator[Any]]:
    """Return a wrapper of a function of worker.py, which runs only on workers with the expected versions.

    The wrapper is sent by value and takes plain values, so that a worker with another version of the package can report that.
    """
    digest = digest_function()

    def run(given: Any) -> Any:
        import importlib
        import importlib.metadata
        import sys

        if sys.__dict__.get("_kafka_spec") != expected["package"]:
            for module, least in expected["versions"].items():
                try:
                    there = importlib.metadata.version(module)
                except ImportError:
                    raise RuntimeError(f"refused: a worker has no {module}; install {module}>={least} there") from None
                if [int(n) for n in there.split(".")[:2] if n.isdigit()] < [int(n) for n in least.split(".")]:
                    raise RuntimeError(f"refused: a worker has {module} {there}; install {module}>={least} there")
            if digest() != expected["package"]:
                place = importlib.import_module("kafka_spec").__file__
                raise RuntimeError(
                    f"refused: a worker has another version of kafka-spec at {place}; "
                    f"it must be {expected['kafka-spec']} as here, or none"
                )
            sys.__dict__["_kafka_spec"] = expected["package"]
        return getattr(importlib.import_module("kafka_spec.model_check.spark.worker"), name)(*arguments, given)

    return run


def digest_function() -> Callable[[], str]:
    """Return the function that computes the digest of the package's sources; it can be sent by value."""

    def digest() -> str:
        import hashlib
        import importlib
        import importlib.resources

        found = hashlib.sha256()

        def add(folder: Any, name: str) -> None:
            for entry in sorted(folder.iterdir(), key=lambda entry: str(entry.name)):
                if entry.is_dir():
                    add(entry, f"{name}/{entry.name}")
                elif entry.name.endswith(".py"):
                    found.update(f"{name}/{entry.name}\n".encode() + entry.read_bytes())

        for package in ("kafka_spec.model_check", "kafka_spec.spec"):
            importlib.import_module(package)
            add(importlib.resources.files(package), package)
        return found.hexdigest()

    return digest


def package_digest() -> str:
    """Return the digest of this package's sources."""
    return digest_function()()


def expected() -> dict[str, Any]:
    """Return the versions and digests that every worker must have."""
    return {"package": package_digest(), "versions": NEEDS, "kafka-spec": version("kafka-spec")}


def send_package(context: Any) -> None:
    """Send this package to all executors of a session, also to later ones: the file is kept until this process ends."""
    application = str(context.applicationId)
    if application in _sent:
        return
    folder = Path(tempfile.mkdtemp(prefix="kafka-spec-package-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    file = folder / f"kafka_spec_{package_digest()[:16]}.zip"
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for name in ("kafka_spec", "kafka_spec.model_check", "kafka_spec.spec"):
            root = Path(str(sys.modules[name].__file__)).parent
            for path in sorted(root.glob("*.py") if name == "kafka_spec" else root.rglob("*.py")):
                archive.write(path, Path(name.replace(".", "/"), path.relative_to(root)))
    context.addPyFile(str(file))
    _sent.add(application)


_sent: set[str] = set()
"""The Spark applications whose executors have this package."""
