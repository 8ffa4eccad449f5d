"""A cache of compiled code in a folder that only this user can write, since its content is executed.

An entry's name is the digest of its origin, and the entry contains it: a file that is copied over another one is detected, and so
is a damaged one. If other users could have written, or the folder cannot be used, the program continues without it, with a warning.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import stat
import tempfile
import warnings
from dataclasses import dataclass
from pathlib import Path

FORMAT = b"kafka-spec code 2\n"


class CacheWarning(UserWarning):
    """The cache of compiled code could not be used as it is."""


class Unsafe(OSError):  # noqa: N818 - says what is the matter
    """Others than this user own a file or a folder, or can write to it."""


@dataclass(frozen=True)
class CodeOrigin:
    """The origin of machine code: the digests of the compiled text and of the compiler."""

    text: bytes
    compiler: bytes

    @property
    def path(self) -> Path:
        """Where the code is kept."""
        return folder() / f"{hashlib.sha256(self.text + self.compiler).hexdigest()[:32]}.o"

    @property
    def head(self) -> bytes:
        """What a file begins with."""
        return FORMAT + self.text + self.compiler

    def checksum(self, machine_code: bytes) -> bytes:
        """Return what stands between the head and the code: a checksum over both."""
        return hashlib.sha256(self.head + machine_code).digest()


def folder() -> Path:
    """Return where compiled code is kept: $KAFKA_SPEC_CACHE, or kafka-spec in the user's cache folder."""
    if chosen := os.environ.get("KAFKA_SPEC_CACHE"):
        return Path(chosen)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "kafka-spec"


def read(origin: CodeOrigin) -> bytes | None:
    """Return the cached machine code of an origin, or None if there is none that is certainly valid."""
    path = origin.path
    try:
        content = _read(path)
    except FileNotFoundError:
        return None
    except Unsafe as error:
        _warn(f"compiled code is not taken from the cache: {error}")
        return None
    except OSError as error:
        _warn(f"compiled code cannot be read from {path}: {error}; compiling anew")
        return None
    end = len(origin.head) + hashlib.sha256().digest_size
    head, checksum, machine_code = content[: len(origin.head)], content[len(origin.head) : end], content[end:]
    if head.startswith(FORMAT) and head != origin.head:
        _warn(f"compiled code in {path} is of something else; compiling anew")
    elif head != origin.head or checksum != origin.checksum(machine_code):
        _warn(f"compiled code in {path} is damaged; compiling anew")
    else:
        return machine_code
    return None


def write(origin: CodeOrigin, machine_code: bytes) -> None:
    """Keep machine code, whole or not at all."""
    path = origin.path
    try:
        path.parent.parent.mkdir(parents=True, exist_ok=True)
        path.parent.mkdir(mode=0o700, exist_ok=True)
        check_folder(path.parent)
        with tempfile.NamedTemporaryFile(dir=path.parent, delete=False) as file:
            file.write(origin.head + origin.checksum(machine_code) + machine_code)
        Path(file.name).replace(path)
    except Unsafe as error:
        _warn(f"compiled code is not taken from the cache: {error}")
    except OSError as error:
        with contextlib.suppress(OSError, UnboundLocalError):
            Path(file.name).unlink()
        _warn(f"compiled code cannot be kept in {path.parent}: {error}; set KAFKA_SPEC_CACHE to a folder of your own")


def _read(path: Path) -> bytes:
    """Return the content of a file that this user alone can have written."""
    check_folder(path.parent)
    with os.fdopen(os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC), "rb") as file:
        _check(os.fstat(file.fileno()), path, {os.geteuid()})
        return file.read()


def check_folder(folder: Path) -> None:
    """Raise Unsafe unless this user alone can put files into a folder, or put another in the place of it or of one above.

    The folder itself is this user's. Those above may be the system's, and may be open to all where nobody can take away what is
    another's (sticky, as /tmp is).
    """
    real = folder.resolve(strict=True)
    _check(real.stat(), real, {os.geteuid()})
    for above in real.parents:
        told = above.stat()
        _check(told, above, {os.geteuid(), 0}, sticky=bool(told.st_mode & stat.S_ISVTX))


def _check(told: os.stat_result, path: Path, owners: set[int], sticky: bool = False) -> None:
    if told.st_uid not in owners:
        raise Unsafe(f"{path} is owned by another user")
    if told.st_mode & (stat.S_IWGRP | stat.S_IWOTH) and not sticky:
        raise Unsafe(f"others can write to {path} (its mode is {stat.S_IMODE(told.st_mode):04o}; chmod go-w)")


_warned: set[str] = set()


def _warn(message: str) -> None:
    """Warn once of what is the matter."""
    if message not in _warned:
        _warned.add(message)
        warnings.warn(message, CacheWarning, stacklevel=4)
