"""Files of an exported spec: the module, and a configuration of TLC for each of its bound sets.

Depends on files and bounds, not on the translation.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from kafka_spec.diagrams.tla.module import configuration, spec_tla
from kafka_spec.diagrams.tla.sorts import constant_bounds
from kafka_spec.spec.vocabulary.table import Spec


def module_name(name: str) -> str:
    """Return the module name of a spec: KAFKA_532 for `zookeeper/KAFKA-532`."""
    last = name.replace(":", "/").rpartition("/")[2]
    text = "".join(letter if letter.isascii() and letter.isalnum() else "_" for letter in last)
    return text if text[:1].isalpha() else f"M{text}"


def spec_files(spec: Spec, module: str, asked: Mapping[str, int] | None = None) -> dict[str, str]:
    """Return the texts by file name: the module, and a configuration for the given bounds, or for each bound set.

    TLC uses MODULE.cfg by default, other files with -config; MODULE.cfg is the first bound set.
    """
    texts = {f"{module}.tla": spec_tla(spec, module)}
    if asked is not None:
        return {**texts, f"{module}.cfg": configuration(spec, asked, f"{spec.name} at the bounds asked for")}
    for index, bounds in enumerate(spec.bound_sets):
        text = configuration(spec, bounds.values, f"{spec.name} at the bounds {bounds.name}: {bounds.why}")
        texts |= {f"{module}.cfg": text} if index == 0 else {}
        texts[f"{module}_{bounds.name}.cfg"] = text
    if not spec.bound_sets and not constant_bounds(spec):
        texts[f"{module}.cfg"] = configuration(spec, {}, spec.name)
    return texts


def write_spec(spec: Spec, module: str, folder: Path, asked: Mapping[str, int] | None = None) -> list[str]:
    """Write the files of a spec into a folder; return their names."""
    texts = spec_files(spec, module, asked)
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in texts.items():
        (folder / name).write_text(text, encoding="utf-8")
    return list(texts)
