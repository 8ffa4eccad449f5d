"""The extras that kafka-spec is installed with, the libraries each brings, and the line that says which one is missing.

It imports none of the libraries. The versions are in pyproject.toml; a test compares both.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from kafka_spec.spec.language.domain import SpecError

CHECK = ("llvmlite", "numpy", "rich", "shtab")
IMPL = ("aiokafka", "kazoo", "prometheus_client", "rich", "transitions")
EXTRAS = {
    "check": CHECK,
    "draw": (*CHECK, "graphviz", "networkx"),
    "impl": IMPL,
    "prove": (*CHECK, "z3"),
    "kafka": (*CHECK, *IMPL, "jpype", "kio"),
    "spark": (*CHECK, "pandas", "py4j", "pyarrow", "pyspark"),
}
"""The libraries of each extra, by the names they are imported by; pyspark brings py4j."""

POSIX = ("fcntl", "resource")
"""Modules of Python that Windows does not have."""
ELSEWHERE = (
    "this needs Linux or macOS (on Windows: WSL); on Windows itself work the tables in Python, `models`, `export`, and `draw` as "
    "mermaid, dot or markdown"
)


class MissingExtra(SpecError):  # noqa: N818 - says what happened
    """A library is not installed; the message names the extra that brings it."""


@contextmanager
def needing(extra: str) -> Iterator[None]:
    """Run code that needs an extra.

    Raises:
        MissingExtra: a library of that extra is not installed, or this is Windows, where the code does not run.
    """
    try:
        yield
    except ModuleNotFoundError as error:
        library = (error.name or "").partition(".")[0]
        if library in POSIX:
            raise MissingExtra(ELSEWHERE) from None
        if library not in EXTRAS[extra]:
            raise
        raise MissingExtra(f"{library} is not installed; it comes with: pip install 'kafka-spec[{extra}]'") from None
