"""Keyword arguments by their former names, which are accepted for one release, with a warning."""

from __future__ import annotations

import functools
import warnings
from typing import Any, TypeVar

Declared = TypeVar("Declared", bound=type)

FORMER = {"says": "summary", "cites": "reference", "within": "bound_guards"}
"""The names up to 0.1, and those of today."""


def accepts_former_names(cls: Declared) -> Declared:
    """Let a dataclass be constructed with keyword arguments of FORMER too."""
    construct = cls.__init__  # type: ignore[misc] # wrapped, not overridden

    @functools.wraps(construct)
    def construct_by_any_name(self: Any, *values: Any, **named: Any) -> None:
        for former in sorted(FORMER.keys() & named.keys()):
            warnings.warn(f"{cls.__name__}({former}=...) is now {FORMER[former]}=", DeprecationWarning, stacklevel=2)
            named[FORMER[former]] = named.pop(former)
        construct(self, *values, **named)

    cls.__init__ = construct_by_any_name  # type: ignore[misc]
    return cls
