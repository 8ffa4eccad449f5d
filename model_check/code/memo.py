"""Memoizes the compiler's output by its inputs, in this process and in the cache on disk (llvm/disk_cache.py).

What is kept is the digest of the code's text, by which machine_code.py finds the machine code, and what the text does not tell: the
faults that the code records by number, and what its counters of coverage count. The text itself is written again only where the
machine code is not in the cache; it must then have that digest.

Equal inputs (inputs.py) give equal code as long as the compiler is the same. So an entry of the cache is also of the sources of the
engine and of the vocabulary, and of the versions of Python and llvmlite.
"""

from __future__ import annotations

import gc
import hashlib
import json
import os
import sys
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TypeAlias

import llvmlite

from kafka_spec.model_check.exploration import EngineError
from kafka_spec.model_check.llvm import disk_cache
from kafka_spec.model_check.llvm.disk_cache import CodeOrigin
from kafka_spec.model_check.llvm.machine_code import CodeText, digest_of, text_known
from kafka_spec.model_check.lowering.unit import Tally
from kafka_spec.model_check.lowering.values import Fault
from kafka_spec.model_check.within import within

KEPT = 32
"""The most texts that a process keeps; the oldest is dropped. In a manifest, checks of one shape often stand together."""

SETTLED = 10
"""Seconds. If a source was changed so shortly before it was read here, this process may have imported what stood there before."""

VERIFIES = "KAFKA_SPEC_VERIFY_CODE"
"""With this environment variable all code that is used again is also written again and compared, which costs the time of both."""

PARTS = ("model_check", "spec/language", "spec/vocabulary")
"""The engine and the vocabulary."""


@dataclass(frozen=True)
class Written:
    """What the compiler wrote."""

    code: CodeText
    faults: tuple[Fault, ...]
    """The fault with each number, from 1 on."""
    tallies: tuple[Tally, ...]


Write: TypeAlias = Callable[[], tuple[str, tuple[Fault, ...], tuple[Tally, ...]]]
"""Writes the text of code, its faults and its tallies."""


def written(inputs: str, write: Write, fresh: bool) -> Written:
    """Return what the compiler writes for the inputs of this text; `fresh`: use and keep nothing that was written before."""
    if fresh:
        return _new(write)
    origin = CodeOrigin(digest_of(inputs), SOURCES, "json")
    known = _known.pop(origin.text, None) or _read(origin, write)
    if known is not None and os.environ.get(VERIFIES):
        _compare(known, _new(write))
    if known is None:
        known = _new(write)
        if SOURCES:
            faults = [asdict(fault) for fault in known.faults]
            reported = {"code": known.code.digest.hex(), "faults": faults, "tallies": known.tallies}
            disk_cache.write(origin, json.dumps(reported).encode())
    while len(_known) >= KEPT:
        del _known[next(iter(_known))]
    _known[origin.text] = known
    return known


def _compare(known: Written, fresh: Written) -> None:
    """Raise unless what was written before for inputs is what is written for them now."""
    mine, its = ((one.code.digest, one.faults, one.tallies) for one in (known, fresh))
    if mine != its:
        raise EngineError(
            "the compiler writes other code for equal inputs: what it read is not all in the key (model_check/code/cache_key.py); "
            "empty the cache of compiled code, and report this"
        )


_known: dict[bytes, Written] = {}
"""By the digest of the inputs; what was used last is the last."""


def _new(write: Write) -> Written:
    """Have the code written. Meanwhile nothing becomes garbage, so looking for it would only double the time."""
    collects = gc.isenabled()
    gc.disable()
    try:
        text, faults, tallies = within(write)
    finally:
        if collects:
            gc.enable()
    return Written(text_known(text), faults, tallies)


def _read(origin: CodeOrigin, write: Write) -> Written | None:
    """Return what the cache has, or None."""
    if not SOURCES or (content := disk_cache.read(origin)) is None:
        return None
    reported = json.loads(content)
    faults = tuple(Fault(**fault) for fault in reported["faults"])
    return Written(CodeText(bytes.fromhex(reported["code"]), lambda: write()[0]), faults, tuple(map(tuple, reported["tallies"])))


def sources(package: Path) -> bytes:
    """Return the digest of what, besides the inputs, decides what the compiler writes; empty if that cannot be said."""
    newest = 0.0
    digest = hashlib.sha256(f"{sys.version} {llvmlite.__version__}".encode())
    try:
        for part in PARTS:
            for file in sorted((package / part).rglob("*.py")) or [package / part]:
                content = file.read_bytes()
                digest.update(f"\n{file.relative_to(package).as_posix()} {len(content)}\n".encode() + content)
                newest = max(newest, file.stat().st_ctime)
    except OSError:  # the package is in an archive
        return b""
    return digest.digest() if newest < time.time() - SETTLED else b""


SOURCES = sources(Path(__file__).parents[2])
"""As they were when this process imported them."""
