"""What surrounds a check: closed streams, limits of the system, files and inputs that nobody should give."""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from conftest import ROOT, Command

from kafka_spec.model_check.check import check
from kafka_spec.model_check.code.arrays import memory
from kafka_spec.model_check.traces.counterexample import trace_of
from kafka_spec.spec.language.domain import ArrayOf, Range
from kafka_spec.spec.vocabulary.table import Rule, Spec, SpecError, invariant
from kafka_spec.spec.vocabulary.trace import from_json
from tests import sample_specs

VIOLATED = '''
"""A counter that is too large."""
from tests import sample_specs
from kafka_spec import Spec, invariant
def is_small(s):
    """It is small."""
    return s.value < 2
SPEC = Spec("counts", "it counts", sample_specs.Count, (sample_specs.COUNT_UP,),
            (invariant("Small", is_small, ""),), bound_sets=sample_specs.FIVE)
'''
CHECK = [sys.executable, "-m", "kafka_spec", "check", "counting:SPEC"]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with a model that is violated."""
    (tmp_path / "counting.py").write_text(VIOLATED, encoding="utf-8")
    return tmp_path


def started(folder: Path, command: list[str], **other: Any) -> subprocess.CompletedProcess[bytes]:
    """Run a command in a folder."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    return subprocess.run(command, cwd=folder, env=environment, timeout=120, check=False, **other)


@pytest.mark.parametrize("closed", ["<&- >&-", ">&-", "2>&-", ">&- 2>&-", "| true", "2>&1 >/dev/null | true"])
def test_nobody_need_listen(folder: Path, closed: str) -> None:
    """The exit code tells the verdict, also where stdout or stderr is closed, or where its reader is gone."""
    script = f"set -o pipefail; {' '.join(CHECK)} {closed}"
    run = started(folder, ["bash", "-c", script], capture_output=True)
    assert (run.returncode, run.stderr.count(b"Traceback")) == (1, 0)


@pytest.mark.parametrize("mebibytes", [500, 1000, 3000])
def test_limited_address_space(folder: Path, mebibytes: int) -> None:
    """A check works where the address space is limited, as in containers of CI."""

    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_AS, (mebibytes << 20, mebibytes << 20))

    run = started(folder, [*CHECK, "-q", "--threads", "2"], capture_output=True, preexec_fn=limit)
    assert (run.returncode, run.stderr) == (1, b"")


def test_memory_is_that_of_the_machine_without_a_limit() -> None:
    """Where no limit is set, arrays may have all the memory of the machine."""
    if resource.getrlimit(resource.RLIMIT_AS)[0] == resource.RLIM_INFINITY:
        assert memory() == os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")


ENTRY = '[[tool.kafka-spec.checks]]\nname = "a"\nmodel = "counting:SPEC"\nverdict = "holds"\n'


def as_fifo(path: Path) -> None:
    """Make a pipe that nobody writes to."""
    os.mkfifo(path)


MANIFESTS: dict[str, tuple[str | Callable[[Path], None], str]] = {
    "nan": (f"{ENTRY}seconds = nan\n", "seconds = nan is not a number; omit it for no limit"),
    "inf": (f"{ENTRY}seconds = inf\n", "seconds = inf is not a number; omit it"),
    "deep": (f"x = {'[' * 50_000}{']' * 50_000}\n", "its values are nested too deeply to be read"),
    "a pipe": (as_fifo, "is not a regular file; name a pyproject.toml"),
    "a folder": (Path.mkdir, "is not a regular file; name a pyproject.toml"),
}


@pytest.mark.parametrize("name", MANIFESTS)
def test_strange_manifests(name: str, inside: Command, folder: Path) -> None:
    """A manifest that cannot be meant is refused, with exit code 2, and never waited for."""
    content, said = MANIFESTS[name]
    manifest = folder / "strange.toml"
    if isinstance(content, str):
        manifest.write_text(content, encoding="utf-8")
    else:
        content(manifest)
    run = inside("check", "--manifest", str(manifest))
    assert (run.returncode, run.stderr.count("Traceback")) == (2, 0)
    assert said in run.stderr


def test_no_such_port(inside: Command) -> None:
    """A port that no machine has is refused."""
    for words in (("explore", "replication/kip_320", "--port", "99999"), ("admin", "--zookeeper", "127.0.0.1:99999", "list")):
        run = inside(*words)
        assert (run.returncode, run.stderr.count("Traceback")) == (2, 0), run.stderr


@pytest.mark.parametrize(
    "path",
    [
        "steps/0/action/rule",
        "steps/0/actor",
        "start/summary",
        "start/fingerprint",
        "bounds/0/1",
        "shows",
        "start/action/binding",
    ],
)
def test_traces_have_the_types_of_their_fields(path: str) -> None:
    """A trace whose rule is a list, or whose number is a text, is refused when it is read, whatever would read it later."""
    broken = a_trace()
    plain: Any = broken
    *parents, last = path.split("/")
    for name in parents:
        plain = plain[int(name) if name.isdigit() else name]
    plain[int(last) if last.isdigit() else last] = ["x"]
    with pytest.raises(SpecError, match="this trace is damaged"):
        from_json(json.dumps(broken))
    from_json(json.dumps(a_trace()))
    with pytest.raises(SpecError, match="this is not JSON"):
        from_json("[" * 100_000)


def a_trace() -> dict[str, Any]:
    """Return a trace with a step that has a parameter, as plain objects."""
    rule = Rule("SetTo", "world", "it is set to {value}", "", (set_to,), {"value": Range(0, 3)})
    small = invariant("Small", is_small, "it is small")
    result = check(Spec("sets", "it sets", sample_specs.Count, (rule,), (small,), bound_sets=sample_specs.FIVE))
    (name,) = result.findings
    trace = trace_of(result, name)
    assert trace is not None
    plain: dict[str, Any] = json.loads(trace.to_json())
    return plain


def is_small(s: Any) -> bool:
    """The value is small."""
    value: bool = s.value < 2
    return value


def set_to(s: Any, value: int) -> None:
    """Take any value."""
    s.value = value


def one_value(value: int) -> tuple[int]:
    """The value alone."""
    return (value,)


def by_tuple(s: Any) -> None:
    """Take the value out of a tuple."""
    (taken,) = one_value(s.value)
    s.value = taken


def to_name(s: Any) -> None:
    """Take the value out of a tuple of one."""
    (taken,) = (1,)
    s.value = taken


@pytest.mark.parametrize(
    ("effect", "said"),
    [(by_tuple, "a tuple of one name"), (one_value, "return the value itself"), (to_name, "a tuple")],
)
def test_tuples_of_one_are_refused(effect: Any, said: str) -> None:
    """A tuple of one value is refused where it is written, with what to write instead."""
    params = {"value": Range(0, 3)} if effect is one_value else {}
    with pytest.raises(SpecError, match=said):
        Rule("Act", "world", "it acts", "", (effect,), params)


@pytest.mark.parametrize("place", ["rule", "start"])
def test_an_array_is_no_number(place: str) -> None:
    """A parameter that is an array is not stored where a number belongs; the message names that place."""
    rule = Rule("SetTo", "world", "it is set", "", (set_to,), {"value": ArrayOf(Range(0, 2), 2, "i")})
    parts: dict[str, Any] = {"rules": (rule,)} if place == "rule" else {"rules": (sample_specs.COUNT_UP,), "start": rule}
    spec = Spec("sets", "it sets", sample_specs.Count, bound_sets=sample_specs.FIVE, **parts)
    with pytest.raises(SpecError, match=r"s.value holds a number, and what|\[0, 0\] is not an integer; fields"):
        check(spec, spec.bound_values({}))
