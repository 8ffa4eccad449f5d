"""Loads objects of users' modules by name, `module:NAME`; errors name the place in the user's module, and the cure."""

from __future__ import annotations

import importlib
import importlib.util
import re
import sys
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import TypeVar

from kafka_spec.model_check.from_source import from_source, source_loader
from kafka_spec.model_check.home import home_folder, strange_place
from kafka_spec.spec.vocabulary.table import Machine, Spec, SpecError

Loaded = TypeVar("Loaded")
HERE = "run where the module is"
"""The cure where there is no manifest."""


def load_object(module: str, name: str, kind: type[Loaded]) -> Loaded:
    """Return an object of this kind from an importable module; modules in the current folder are importable too."""
    home = imported(module, f"{module}:{name}")
    if not hasattr(home, name):
        raise SpecError(f"{module}:{name}: module {module} has no {name}; {found_in(home, module, kind)}")
    found = getattr(home, name)
    if not isinstance(found, kind):
        raise SpecError(
            f"{module}:{name} is {type(found).__name__}, and a {kind.__name__} is needed; {found_in(home, module, kind)}"
        )
    return found


def imported(module: str, asked: str) -> ModuleType:
    """Return a module of the manifest's folder or, without one, of the current one, or of any other place."""
    folder = home_folder()
    with _importing(
        asked, "run where the module is" if folder is None else f"put it into {folder}, where the manifest is, install it"
    ):
        found = importlib.import_module(module)
        if place := strange_place(found):
            cure = "put it there, install it, or set PYTHONPATH"
            raise SpecError(f"{asked}: {place} is not in {folder}, where the manifest is; {cure}")
        return found


def module_of(file: Path, asked: str) -> ModuleType:
    """Return the module of a file, wherever that is; what it imports are modules as for `imported`.

    Raises:
        SpecError: the file cannot be imported.
    """
    with _importing(asked, HERE):
        found = importlib.util.spec_from_loader(file.stem, source_loader(file))
        assert found is not None
        module = importlib.util.module_from_spec(found)
        try:
            source_loader(file).exec_module(module)
        except OSError as error:
            raise SpecError(f"{asked}: {error.strerror}") from None
        return module


@contextmanager
def _importing(asked: str, cure: str) -> Iterator[None]:
    """Import modules of a user meanwhile, from sources; raise what goes wrong as SpecError with the place."""
    if home_folder() is None and str(Path.cwd()) not in sys.path:
        sys.path.insert(0, str(Path.cwd()))
    try:
        with from_source():
            yield
    except ModuleNotFoundError as error:
        raise SpecError(f"{asked}: {error}; {cure}, or set PYTHONPATH") from None
    except SpecError as error:
        raise SpecError(f"{_place_of(error)}{error}") from error
    except SyntaxError as error:
        raise SpecError(f"{asked} cannot be imported: {error.filename}:{error.lineno}: {error.msg}") from None
    except Exception as error:
        # the module is the user's: any exception is reported with the line that raised it
        frame = traceback.extract_tb(error.__traceback__)[-1]
        where = f"{frame.filename}:{frame.lineno}"
        raise SpecError(f"{asked} cannot be imported: {where}: {type(error).__name__}: {error}") from None


def _place_of(error: SpecError) -> str:
    """Return the line of the user's own module that was refused, or "" if the message names a line, or there is none."""
    frames = [
        (frame, line) for frame, line in traceback.walk_tb(error.__traceback__) if _is_of_user(frame.f_globals.get("__name__", ""))
    ]
    if not frames or re.match(r"\S+\.py:\d+: ", str(error)):
        return ""
    frame, line = frames[-1]
    return f"{frame.f_code.co_filename}:{line}: "


def _is_of_user(module: str) -> bool:
    return module.partition(".")[0] not in ("kafka_spec", "importlib", "__main__", "dataclasses")


def found_in(home: ModuleType, module: str, kind: type) -> str:
    """Return which objects of a kind a module has, in words."""
    kinds = (Spec, Machine) if kind is object else (kind,)
    names = [name for name, value in vars(home).items() if isinstance(value, kinds)]
    what = " and no ".join(one.__name__ for one in kinds)
    return f"it has {', '.join(f'{module}:{name}' for name in names)}" if names else f"it has no {what}"
