"""Finds specs and other objects by name: in the catalogue, or in any importable module."""

from __future__ import annotations

import difflib
import sys
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

from kafka_spec.model_check.loading import found_in, imported, load_object
from kafka_spec.spec.vocabulary.table import Spec, SpecError


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
                raise SpecError(f"{name} is a module, and a model is needed; {found_in(home, name, Spec)}")
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
