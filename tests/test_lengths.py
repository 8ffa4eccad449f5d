"""Files have about 300 lines, functions about 40; what is longer is on record in tests/golden/lengths.toml, and only shrinks."""

from __future__ import annotations

import ast
import os
import tomllib
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import pytest
from conftest import GOLDEN, ROOT

FILE = "lengths.toml"
FOLDERS = ("conformance", "diagrams", "impl", "kafka_spec", "model_check", "spec")
LONGEST_FILE, LONGEST_FUNCTION = 330, 40
HEADER = "# What is longer than the rule; `pytest tests/test_lengths.py --update-golden` writes what has become shorter.\n"


def long_functions(tree: ast.AST, inside: str = "") -> Iterator[tuple[str, int]]:
    """Yield the functions longer than the rule, by their qualified names, with their lines; those within others too."""
    for node in ast.iter_child_nodes(tree):
        name = inside
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            name = f"{inside}.{node.name}".removeprefix(".")
            assert node.end_lineno is not None
            lines = node.end_lineno - node.lineno + 1
            if lines > LONGEST_FUNCTION and not isinstance(node, ast.ClassDef):
                yield name, lines
        yield from long_functions(node, name)


def measured(folders: Mapping[str, Path]) -> dict[str, int]:
    """Return what is longer than the rule in these folders, by their names: files, and functions as `file::name`."""
    found: dict[str, int] = {}
    for top, folder in folders.items():
        for place, _, names in os.walk(folder):
            for name in names:
                if name.endswith(".py"):
                    text = (Path(place) / name).read_text(encoding="utf-8")
                    file = (Path(top) / Path(place).relative_to(folder) / name).as_posix()
                    if len(text.splitlines()) > LONGEST_FILE:
                        found[file] = len(text.splitlines())
                    found |= {f"{file}::{function}": lines for function, lines in long_functions(ast.parse(text))}
    return dict(sorted(found.items()))


def grown(record: Mapping[str, int], found: Mapping[str, int]) -> list[str]:
    """Return what is longer than its record. A name that is not on record may be one that is not found any more: it was moved."""
    gone = sorted((lines, name) for name, lines in record.items() if name not in found)
    reported = []
    for name, lines in sorted(found.items(), key=lambda one: one[1]):
        limit = LONGEST_FUNCTION if "::" in name else LONGEST_FILE
        if name in record:
            if lines > record[name]:
                reported.append(
                    f"{name} has {lines} lines, {lines - record[name]} more than before, and {limit} at most are the rule"
                )
            continue
        moved = next((one for one in gone if one[0] >= lines and ("::" in one[1]) == ("::" in name)), None)
        if moved is None:
            reported.append(f"{name} has {lines} lines, and {limit} at most are the rule; split it by meaning")
        else:
            gone.remove(moved)
    return reported


def text_of(found: Mapping[str, int]) -> str:
    """Return the content of the record."""
    return HEADER + "".join(f'"{name}" = {lines}\n' for name, lines in found.items())


@pytest.mark.share(10)  # every day: a change has to keep it
def test_lengths_only_fall(golden: Callable[[str, str], None]) -> None:
    """No file and no function is longer than the rule, or than its record; what is shorter by now is so in the record too."""
    record = tomllib.loads((GOLDEN / FILE).read_text(encoding="utf-8"))
    found = measured({folder: ROOT / folder for folder in FOLDERS})

    assert grown(record, found) == []
    golden(FILE, text_of(found))


def test_what_grows_is_found(tmp_path: Path) -> None:
    """A longer file or function is found, one that was moved is not; names are those of classes and of functions around."""
    body = "".join(f"        x = {number}\n" for number in range(LONGEST_FUNCTION))
    (tmp_path / "a.py").write_text(f"class A:\n    def f(self):\n{body}" + "\n" * LONGEST_FILE, encoding="utf-8")
    found = measured({"top": tmp_path})
    assert found == {"top/a.py": LONGEST_FILE + LONGEST_FUNCTION + 2, "top/a.py::A.f": LONGEST_FUNCTION + 1}
    assert tomllib.loads(text_of(found)) == found
    assert grown(found, found) == []
    assert [line.split(" has ")[0] for line in grown({}, found)] == ["top/a.py::A.f", "top/a.py"]
    assert len(grown({name: lines - 1 for name, lines in found.items()}, found)) == 2
    moved = {f"elsewhere/{name}": lines for name, lines in found.items()}
    assert grown(moved, found) == []
    assert len(grown({name: lines - 1 for name, lines in moved.items()}, found)) == 2
