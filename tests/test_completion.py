"""Completion in a real shell: commands, options, models and the named checks of the current folder."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest
from conftest import ROOT

from kafka_spec.command import COMMANDS
from kafka_spec.command import run as kafka_spec


@pytest.fixture(scope="module")
def script(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Write the script for bash."""
    import contextlib
    import io

    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        assert kafka_spec(["completion", "bash"]) == 0
    file = tmp_path_factory.mktemp("completion") / "kafka-spec.bash"
    file.write_text(out.getvalue(), encoding="utf-8")
    return file


@pytest.mark.parametrize(
    ("typed", "offered"),
    [
        ("kafka-spec ch", "check"),
        ("kafka-spec check --prop", "--property"),
        ("kafka-spec check replication/kip_32", "replication/kip_320_first_try"),
        ("kafka-spec trace replication/kip_279-th", "replication/kip_279-three-replicas"),
        ("kafka-spec completion z", "zsh"),
    ],
)
def test_bash_offers(script: Path, typed: str, offered: str) -> None:
    """Bash offers what fits, for commands, options, models, named checks and choices."""
    bash = shutil.which("bash")
    assert bash
    words = typed.split()
    ask = (
        f"source {script}; COMP_WORDS=({typed}); COMP_CWORD={len(words) - 1}; COMP_LINE='{typed}'; COMP_POINT={len(typed)}; "
        "$(complete -p kafka-spec | sed 's/.*-F \\([^ ]*\\) .*/\\1/') kafka-spec \"${COMP_WORDS[-1]}\" "
        '"${COMP_WORDS[-2]}"; printf "%s\\n" "${COMPREPLY[@]}"'
    )
    run = subprocess.run([bash, "-c", ask], cwd=ROOT, capture_output=True, text=True, timeout=20, check=False)
    assert offered in run.stdout.split(), run.stdout + run.stderr


def test_zsh_has_the_same_words(capsys: pytest.CaptureFixture[str]) -> None:
    """The script for zsh names commands, options and models."""
    assert kafka_spec(["completion", "zsh"]) == 0
    text = capsys.readouterr().out
    assert text.startswith("#compdef kafka-spec")
    assert all(word in text for word in ("--property", "explore", "replication/kip_320"))
    assert f"    run:'{COMMANDS['run'].summary}'" in text, "zsh tells each command in its line of the list"
