"""Finds specs and other objects by name: in the catalogue, or in any importable module."""

from __future__ import annotations

import difflib
import importlib
import re
import sys
import traceback
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from types import ModuleType
from typing import TypeVar

from kafka_spec.model_check.from_source import from_source
from kafka_spec.model_check.home import home_folder, strange_place
from kafka_spec.spec.vocabulary.table import Machine, Spec, SpecError

Loaded = TypeVar("Loaded")


class Models:
    """Finds specs by name: those of the catalogue, and `module:NAME` for users' own."""

    def __init__(self, catalogue: Mapping[str, Spec]) -> None:
        self.catalogue = catalogue

    def find(self, name: str, others: Callable[[], Iterable[str]] = tuple) -> Spec:
        """Return the spec with this name; raise SpecError if there is none, with names like it, also of `others`."""
        if ":" in name:
            return self.load(*name.split(":", 1))
        if name not in self.catalogue:
            if name.isidentifier() and Path(f"{name}.py").is_file():
                home = imported(name, name)
                raise SpecError(f"{name} is a module, and a model is needed; {_has(home, name, Spec)}")
            if name.endswith(".py"):
                raise SpecError(f"{name} is a file; name its module and a spec in it, such as {Path(name).stem}:SPEC")
            near = difflib.get_close_matches(name, [*self.catalogue, *others()], n=3)
            perhaps = f"perhaps {' or '.join(near)}; " if near else ""
            raise SpecError(f"model {name!r} is unknown; {perhaps}`kafka-spec models` lists them, module:NAME is one of your own")
        return self.catalogue[name]

    def name_of(self, spec: Spec) -> str:
        """Return the name by which a spec that was found is found again.

        Raises:
            SpecError: no variable of an imported module is the spec.
        """
        for name, known in self.catalogue.items():
            if known is spec:
                return name
        for module in list(sys.modules.values()):
            for name, value in list(vars(module).items()):
                if value is spec and not module.__name__.startswith("kafka_spec."):
                    return f"{module.__name__}:{name}"
        raise SpecError(f"{spec.name} is not a variable of a module; give it a name there")

    @staticmethod
    def load(module: str, name: str) -> Spec:
        """Return a spec from an importable module; modules in the current folder are importable too."""
        return load_object(module, name, Spec)


def load_object(module: str, name: str, kind: type[Loaded]) -> Loaded:
    """Return an object of this kind from an importable module; modules in the current folder are importable too."""
    home = imported(module, f"{module}:{name}")
    if not hasattr(home, name):
        raise SpecError(f"{module}:{name}: module {module} has no {name}; {_has(home, module, kind)}")
    found = getattr(home, name)
    if not isinstance(found, kind):
        raise SpecError(f"{module}:{name} is {type(found).__name__}, and a {kind.__name__} is needed; {_has(home, module, kind)}")
    return found


def imported(module: str, asked: str) -> ModuleType:
    """Return a module: of the manifest's folder or, without one, the current one, or of any other place."""
    if home_folder() is None and str(Path.cwd()) not in sys.path:
        sys.path.insert(0, str(Path.cwd()))
    try:
        with from_source():
            found = importlib.import_module(module)
        if place := strange_place(found):
            cure = "put it there, install it, or set PYTHONPATH"
            raise SpecError(f"{asked}: {place} is not in {home_folder()}, where the manifest is; {cure}")
        return found
    except ModuleNotFoundError as error:
        cure = (
            "run where the module is"
            if home_folder() is None
            else f"put it into {home_folder()}, where the manifest is, install it"
        )
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


def _has(home: ModuleType, module: str, kind: type) -> str:
    """Return which objects of a kind a module has, in words."""
    kinds = (Spec, Machine) if kind is object else (kind,)
    names = [name for name, value in vars(home).items() if isinstance(value, kinds)]
    what = " and no ".join(one.__name__ for one in kinds)
    return f"it has {', '.join(f'{module}:{name}' for name in names)}" if names else f"it has no {what}"
