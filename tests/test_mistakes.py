"""Wrong arguments, unreadable files and full disks: one line that names the mistake and the cure, with the exit code of usage."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
from pathlib import Path

import pytest

from kafka_spec.command import run as kafka_spec

MISTAKES: dict[str, tuple[list[str], str]] = {
    "explore a model that is not there": (["explore", "control/fixd"], "perhaps control/fixed"),
    "explore along a binary file": (["explore", "control/fixed", "--trace", "binary", "--terminal"], "`trace --output json:FILE`"),
    "explore along nothing": (["explore", "control/fixed", "--trace", "nowhere", "--terminal"], "name a trace that was saved"),
    "explore from no fingerprint": (
        ["explore", "control/fixed", "--to", "\N{SUPERSCRIPT TWO}", "--terminal"],
        "16 hexadecimal digits",
    ),
    "cover a model that is not there": (["coverage", "control/fixd"], "perhaps control/fixed"),
    "cover into a full disk": (["coverage", "high_watermark-small", "-q", "--output", "html:/dev/full"], "name a file that can be"),
    "init in a file": (["init", "lock", "--folder", "binary"], "name a --folder that can be written"),
    "init beside a binary manifest": (["init", "lock", "--folder", "odd"], "not UTF-8 text; mend it first"),
    "grow two models": (["check", "control/fixed", "kraft/fixed", "--grow"], "--grow is of one model"),
    "export into a file": (["export", "--folder", "binary"], "name a folder that can be written"),
    "export a model into a file": (
        ["export", "--format", "tla", "replication/kip_320", "--folder", "binary"],
        "name a folder that can",
    ),
    "run a binary script": (["run", "--script", "binary", "-q"], "write lines such as"),
    "run no script": (["run", "--script", "nowhere", "-q"], "name a file with lines such as"),
    "validate nothing": (["validate", "nowhere"], "name a log file"),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_is_one_line(
    mistake: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each mistake ends with code 2 and one line, which says how to mend it."""
    arguments, cure = MISTAKES[mistake]
    monkeypatch.chdir(tmp_path)
    (tmp_path / "binary").write_bytes(bytes(range(256)))
    (tmp_path / "odd").mkdir()
    (tmp_path / "odd" / "pyproject.toml").write_bytes(b"\xff\xfe")
    manifest = ["--manifest", str(Path(__file__).parent.parent / "pyproject.toml")] if "high_watermark-small" in arguments else []

    assert kafka_spec([*arguments, *manifest]) == 2
    told = capsys.readouterr()
    assert told.out == ""
    assert told.err.count("\n") == 1 and cure in told.err


def test_a_disk_that_fills_up_takes_no_manifest_away(tmp_path: Path) -> None:
    """`init` that cannot write all of its files writes none, and leaves the manifest that was there as it was."""
    manifest = tmp_path / "pyproject.toml"
    manifest.write_text("# mine\n" * 320, encoding="utf-8")
    run = subprocess.run(
        [sys.executable, "-m", "kafka_spec", "init", "lock", "--folder", str(tmp_path)],
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (2300, 2300)),  # the files fit, the manifest does not
        capture_output=True, text=True, check=False, env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1"},
    )  # fmt: skip

    assert run.returncode == 2 and run.stderr.count("\n") == 1 and "name a --folder that can be written" in run.stderr
    assert manifest.read_text(encoding="utf-8") == "# mine\n" * 320
    assert [file.name for file in tmp_path.rglob("*") if file.is_file()] == ["pyproject.toml"]
