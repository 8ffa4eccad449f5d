"""Imports the modules of a user from their sources, never from what Python compiled before.

Python takes a compiled module for current if its source has the same size and the same second of its last change. An edited
constant may pass that, and a check would judge the specification of before: the functions still are what their file says.
"""

from __future__ import annotations

import contextlib
import sys
import sysconfig
from collections.abc import Iterator, Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from pathlib import Path
from types import CodeType

INSTALLED = tuple(Path(sysconfig.get_path(name)).resolve() for name in ("stdlib", "purelib"))
"""Where nobody edits a specification between two checks."""


class _FromSource(SourceFileLoader):
    """Compiles a module each time."""

    def get_code(self, fullname: str) -> CodeType | None:
        """Return the code of the source as it is now."""
        path = self.get_filename(fullname)
        code: CodeType = self.source_to_code(self.get_data(path), path)
        return code


class _Finder(MetaPathFinder):
    """Finds modules as Python does, and has those of the user compiled."""

    def find_spec(self, name: str, path: Sequence[str] | None, target: object = None) -> ModuleSpec | None:
        """Return where a module is; None leaves it to Python."""
        if name.partition(".")[0] == "kafka_spec":
            return None
        found = PathFinder.find_spec(name, path)
        if found is None or found.origin is None or type(found.loader) is not SourceFileLoader:
            return None
        home = Path(found.origin).resolve()
        if any(home.is_relative_to(folder) for folder in INSTALLED):
            return None
        found.loader = _FromSource(name, found.origin)
        return found


def source_loader(file: Path) -> SourceFileLoader:
    """Return what loads the module of a file from its source."""
    return _FromSource(file.stem, str(file))


@contextlib.contextmanager
def from_source() -> Iterator[None]:
    """Import from sources in this context what is neither installed nor of this package."""
    finder = _Finder()
    sys.meta_path.insert(0, finder)
    try:
        yield
    finally:
        sys.meta_path.remove(finder)
