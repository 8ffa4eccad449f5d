"""A cache of compiled code in a folder that only this user can write, since its content is executed.

The file name of an entry is the digest of its origin, and the file also contains that digest, so a damaged file and a file under
a wrong name are both detected. If other users could have written to the folder, or if it cannot be used, the program warns and
continues without the cache.
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


class Unsafe(OSError):  # noqa: N818 - names the problem
    """Another user owns a file or a folder, or can write to it."""


@dataclass(frozen=True)
class CodeOrigin:
    """The origin of machine code: the digests of the compiled text and of the compiler."""

    text: bytes
    compiler: bytes
    suffix: str = "o"
    """The kind of the file: machine code, or what the compiler wrote for these inputs (known_code.py)."""

    @property
    def path(self) -> Path:
        """The file that holds the code."""
        return folder() / f"{hashlib.sha256(self.text + self.compiler).hexdigest()[:32]}.{self.suffix}"

    @property
    def head(self) -> bytes:
        """The first bytes of the file."""
        return FORMAT + self.text + self.compiler

    def checksum(self, machine_code: bytes) -> bytes:
        """Return the checksum over head and code; it is stored between them."""
        return hashlib.sha256(self.head + machine_code).digest()


def folder() -> Path:
    """Return the folder of the cache: $KAFKA_SPEC_CACHE, or kafka-spec in the user's cache folder."""
    if chosen := os.environ.get("KAFKA_SPEC_CACHE"):
        return Path(chosen)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "kafka-spec"


def read(origin: CodeOrigin) -> bytes | None:
    """Return the cached machine code of an origin, or None unless there is an entry and it is valid."""
    path = origin.path
    try:
        content = _read(path)
    except FileNotFoundError:
        return None
    except Unsafe as error:
        _warn(f"compiled code is not taken from the cache: {error}")
        return None
    except OSError as error:
        _warn(f"compiled code cannot be read from {path}: {error}; compiling again")
        return None
    end = len(origin.head) + hashlib.sha256().digest_size
    head, checksum, machine_code = content[: len(origin.head)], content[len(origin.head) : end], content[end:]
    if head.startswith(FORMAT) and head != origin.head:
        _warn(f"compiled code in {path} is of something else; compiling again")
    elif head != origin.head or checksum != origin.checksum(machine_code):
        _warn(f"compiled code in {path} is damaged; compiling again")
    else:
        return machine_code
    return None


def write(origin: CodeOrigin, machine_code: bytes) -> None:
    """Store machine code atomically: the whole file or none."""
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
    """Return the content of a file; raise Unsafe unless only this user can have written it."""
    check_folder(path.parent)
    with os.fdopen(os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC), "rb") as file:
        _check(os.fstat(file.fileno()), path, {os.geteuid()})
        return file.read()


def check_folder(folder: Path) -> None:
    """Raise Unsafe unless only this user can write files into a folder, or replace the folder or one of its parents.

    This user must own the folder itself. The system may own the parents. A parent may be writable by all if it is sticky, as /tmp
    is: then nobody can remove or rename the files of others.
    """
    real = folder.resolve(strict=True)
    _check(real.stat(), real, {os.geteuid()})
    for above in real.parents:
        reported = above.stat()
        _check(reported, above, {os.geteuid(), 0}, sticky=bool(reported.st_mode & stat.S_ISVTX))


def _check(reported: os.stat_result, path: Path, owners: set[int], sticky: bool = False) -> None:
    if reported.st_uid not in owners:
        raise Unsafe(f"{path} is owned by another user")
    if reported.st_mode & (stat.S_IWGRP | stat.S_IWOTH) and not sticky:
        raise Unsafe(f"others can write to {path} (its mode is {stat.S_IMODE(reported.st_mode):04o}; chmod go-w)")


_warned: set[str] = set()


def _warn(message: str) -> None:
    """Issue a CacheWarning, once for each message."""
    if message not in _warned:
        _warned.add(message)
        warnings.warn(message, CacheWarning, stacklevel=4)
