"""Kafka's jars: where they are, and that they are the published ones.

The versions are pinned in kafka-VERSION.xml, from which Maven fetches the jars (`make kafka`), and their checksums in
kafka-VERSION.sha256, in the format of sha256sum. A folder with other content is refused.
"""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

from kafka_spec.spec.vocabulary.table import SpecError

HERE = Path(__file__).parent
VERSIONS = ("2.8.2", "3.9.1", "4.1.2", "4.3.1", "4.4.0")
"""The versions of Kafka: the last of 2.8, the last with ZooKeeper, and of 4.x."""
NEWEST = VERSIONS[-1]
BROKERS = VERSIONS[1:]
"""The versions that can run as a KRaft cluster."""
VARIABLE = "KAFKA_SPEC_JARS"
FOLDER = Path(".kafka")
"""The folder with one folder of jars for each version, unless the variable or an option names another."""


def folder_of(version: str, asked: Path | None = None) -> Path:
    """Return the folder that should hold the jars of a version."""
    return (asked or Path(os.environ.get(VARIABLE) or FOLDER)) / version


def checked_jars(version: str, folder: Path) -> list[Path]:
    """Return the jars of a version of Kafka.

    Raises:
        SpecError: a jar is missing, has another checksum, or is not of this version.
    """
    wanted = _checksums(version)
    found = {path.name: path for path in sorted(folder.glob("*.jar"))}
    if missing := sorted(set(wanted) - set(found)):
        raise SpecError(
            f"{folder} lacks {missing[0]}"
            + (f" and {len(missing) - 1} other jars" if len(missing) > 1 else "")
            + f" of Kafka {version}; "
            f"fetch them with `make kafka`, or set {VARIABLE} to the folder that has one for each version"
        )
    if strange := sorted(set(found) - set(wanted)):
        raise SpecError(f"{folder / strange[0]} is not a jar of Kafka {version}; delete it")
    for name, checksum in wanted.items():
        if hashlib.sha256(found[name].read_bytes()).hexdigest() != checksum:
            raise SpecError(f"{found[name]} is not the published jar: its checksum is another; delete it and fetch it again")
    return [found[name] for name in wanted]


def _checksums(version: str) -> dict[str, str]:
    lines = (HERE / f"kafka-{version}.sha256").read_text(encoding="utf-8").splitlines()
    return {name: checksum for checksum, name in (line.split() for line in lines)}
