"""Where the modules of a manifest are: in its folder, or installed; never in the folder that happens to be the current one.

Several manifests of one process may name modules alike. While one is read or checked, the modules of its folder are those that
Python knows by these names; those of other folders are put aside, and put back afterwards.
"""

from __future__ import annotations

import os
import site
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType

from kafka_spec.model_check.from_source import INSTALLED

PACKAGE = Path(__file__).resolve().parents[1]
_home: ContextVar[Path | None] = ContextVar("home", default=None)
_modules: dict[Path, dict[str, ModuleType]] = {}
"""For each folder the modules that another folder has under the same names."""


def _lasting() -> list[str]:
    """Return where Python finds modules whatever the current folder is: PYTHONPATH, and what is installed."""
    first, *others = sys.path or [""]
    chosen = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    kept = [first] if first in chosen or Path(first or ".").resolve() != Path.cwd() else []
    return [*kept, *(place for place in others if place)]


LASTING = _lasting()
"""As it was when this process began, before test runners added folders of their own."""


@contextmanager
def at_home(folder: Path | None) -> Iterator[None]:
    """Find modules in the folder of a manifest, and in its `src`; None: as Python does, in the current folder too."""
    if folder is None:
        yield
        return
    folder = folder.resolve()
    token = _home.set(folder)
    names, before = _own(folder), sys.path[:]
    aside = _taken_out({name for name in names if (known := sys.modules.get(name)) is not None and _is_foreign(known, folder)})
    kept = _modules.setdefault(folder, {})
    sys.modules.update(kept)
    sys.path[:] = [str(folder), *([str(folder / "src")] if (folder / "src").is_dir() else []), *LASTING]
    try:
        yield
    finally:
        sys.path[:] = before
        if aside:
            kept.update(_taken_out({name.partition(".")[0] for name in aside}))
        sys.modules.update(aside)
        _home.reset(token)


def home_folder() -> Path | None:
    """Return the folder of the manifest that is read or checked now; None if there is none."""
    return _home.get()


def strange_place(module: ModuleType) -> str:
    """Return where a module is, if it is neither in the folder of the manifest nor installed; "" if it may be checked."""
    folder = _home.get()
    if folder is None:
        return ""
    top = module.__name__.partition(".")[0]
    place = _place(sys.modules.get(top, module))
    if place is None or not _is_foreign(sys.modules.get(top, module), folder):
        return ""
    found = next((spec for finder in sys.meta_path if (spec := finder.find_spec(top, None)) is not None), None)
    return "" if found is not None and _place_of(found) == place else str(getattr(module, "__file__", None) or place)


def _own(folder: Path) -> set[str]:
    """Return the names of the modules and packages of a folder, and of its `src`."""
    places = [place for at in (folder, folder / "src") if at.is_dir() for place in at.iterdir()]
    names = {place.stem for place in places if place.suffix == ".py" or (place.is_dir() and place.name.isidentifier())}
    return names - sys.stdlib_module_names - {"kafka_spec"}


def _taken_out(tops: set[str]) -> dict[str, ModuleType]:
    """Remove modules and all that is in them from those that Python knows; return them."""
    return {name: sys.modules.pop(name) for name in list(sys.modules) if name.partition(".")[0] in tops}


def _is_foreign(module: ModuleType, folder: Path) -> bool:
    """Whether a module is of a user, and not in a folder."""
    place = _place(module)
    own = (folder, PACKAGE, *INSTALLED, *map(Path, [*site.getsitepackages(), site.getusersitepackages()]))
    return place is not None and not any(place.is_relative_to(one) for one in own)


def _place(module: ModuleType) -> Path | None:
    """Return the file of a module, or the folder of a package without one; None: it is built in."""
    if file := getattr(module, "__file__", None):
        return Path(file).resolve()
    return next((Path(path).resolve() for path in getattr(module, "__path__", ())), None)


def _place_of(found: ModuleSpec) -> Path | None:
    if found.origin and found.has_location:
        return Path(found.origin).resolve()
    return next((Path(path).resolve() for path in found.submodule_search_locations or ()), None)
