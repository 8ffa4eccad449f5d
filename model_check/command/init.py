"""The subcommand `init`: writes a specification, its test, its named check and a workflow that passes, to start from."""

from __future__ import annotations

import argparse
import contextlib
import keyword
from importlib.resources import files
from pathlib import Path

from kafka_spec.model_check.command.options import AS_EXPECTED
from kafka_spec.spec.vocabulary.table import SpecError

MANIFEST = "pyproject.toml"


def add_init(parser: argparse.ArgumentParser) -> None:
    """Add the options of `init`."""
    parser.add_argument("name", metavar="NAME", help="the name of the specification, and of its module")
    parser.add_argument("--folder", type=Path, default=Path(), metavar="FOLDER", help="where to write (default: here)")
    parser.set_defaults(run=run_init)


def run_init(options: argparse.Namespace) -> int:
    """Write the files; an existing file is never changed, except that the check is added to a manifest."""
    name, folder = options.name, options.folder
    if not name.isidentifier() or keyword.iskeyword(name) or not name.islower():
        raise SpecError(f"{name!r} cannot be the name of a module; take lower-case letters, digits and _, as in my_protocol")
    wanted = {
        folder / f"{name}.py": _text("spec", name),
        folder / f"test_{name}.py": _text("test", name),
        folder / ".github" / "workflows" / f"check_{name}.yml": _text("workflow", name),
    }
    if there := [file for file in wanted if file.exists()]:
        raise SpecError(f"{there[0]} is there already; take another name, or another --folder")
    manifest = folder / MANIFEST
    beside = folder / f"{MANIFEST}.new"
    try:
        before = manifest.read_text(encoding="utf-8") if manifest.exists() else ""
        for file, text in {**wanted, beside: f"{before}\n{_text('manifest', name)}".lstrip("\n")}.items():
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text, encoding="utf-8")
        # all at once, so that a full disk cannot take the manifest away
        beside.replace(manifest)
    except UnicodeDecodeError:
        raise SpecError(f"{manifest} is not UTF-8 text; fix it first, or name another --folder") from None
    except OSError as error:
        for file in (*wanted, beside):
            with contextlib.suppress(OSError):
                file.unlink()
        raise SpecError(f"{error.filename or folder}: {error.strerror}; name a --folder that can be written") from None
    print("\n".join([*map(str, wanted), f"{manifest}{': a check was added' if before else ''}"]))
    where = "" if folder == Path() else f"cd {folder} && "
    print(f"\nnext: {where}kafka-spec check, then kafka-spec explore {name}:SPEC, then python -m pytest")
    return AS_EXPECTED


def _text(kind: str, name: str) -> str:
    text = (files(__package__) / "init_files" / f"{kind}.txt").read_text(encoding="utf-8")
    return text.replace("@NAME@", name)
