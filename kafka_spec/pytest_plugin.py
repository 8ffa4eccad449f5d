"""The pytest plugin: registers the collector of the manifest's checks, and contains no logic.

Pytest loads it wherever kafka-spec is installed, so it imports the checker only if there is a manifest to run.
"""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> pytest.Collector | None:
    """Collect the named checks of a pyproject.toml given by name: `pytest pyproject.toml`, or in `testpaths`."""
    if file_path.name != "pyproject.toml" or not parent.session.isinitpath(file_path):
        return None
    try:
        content = tomllib.loads(file_path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    if "kafka-spec" not in content.get("tool", {}):
        return None
    from kafka_spec.model_check.pytest_items import ManifestFile
    from kafka_spec.spec.catalogue.models import MODELS

    manifest: pytest.Collector = ManifestFile.from_parent(parent, path=file_path, catalogue=MODELS)
    return manifest
