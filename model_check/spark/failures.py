"""What a failed job of Spark means, in one line: the work that is undone, a worker that does not fit, or damaged files."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager

from pyspark.errors import PySparkException

from kafka_spec.model_check.budget import Stopped
from kafka_spec.model_check.store.digest_json import Damaged
from kafka_spec.spec.vocabulary.table import SpecError


class JobFailed(Exception):  # noqa: N818 - says what happened
    """A Spark job failed; the finished levels are intact."""


def reported(error: Exception) -> Exception:
    """Return the exception to raise for an error of a job, with a readable message."""
    text = str(error)
    if match := re.search(r"(?:NoRoom|EngineError): (.*)", text):
        return JobFailed(match[1].strip())
    if match := re.search(r"(?:Refused|RuntimeError: refused): (.*)", text):
        return SpecError(match[1].strip())
    if match := re.search(r"Damaged: (.*)", text):
        return Damaged(match[1].strip())
    if match := re.search(r"(?:OS|Permission|FileNotFound|NotADirectory)Error: (?:\[Errno (\d+)\])?(.*)", text):
        return OSError(int(match[1] or 0), match[2].strip())
    lines = readable(text)
    return JobFailed(f"Spark gave the job up: {lines[0] if lines else type(error).__name__}")


def readable(text: str) -> list[str]:
    """Return the lines of an error's text, without that which says where Python called Java."""
    return [line.strip(" :") for line in text.splitlines() if line.strip(" :") and not line.startswith("An error occurred while")]


@contextmanager
def stopped_by_failures() -> Iterator[None]:
    """Name a job that failed while the session still knows why.

    Raises:
        Stopped: Spark gave the job up.
        SpecError: a worker is unfit.
    """
    try:
        yield
    except PySparkException as error:
        found = reported(error)
        raise (found if isinstance(found, SpecError) else Stopped(str(found))) from None
