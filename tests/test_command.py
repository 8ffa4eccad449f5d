"""The command line as its users meet it: right use, every wrong input, budgets, interrupts, a bad cache."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from conftest import ROOT, Command

from kafka_spec.__main__ import main
from kafka_spec.command import run as run_command
from kafka_spec.model_check.budget import Budget
from kafka_spec.model_check.manifest import read_manifest
from kafka_spec.spec.catalogue.models import MODELS
from kafka_spec.spec.vocabulary.table import Spec

TINY = ("--bound", "replicas=2", "--bound", "log_size=1", "--bound", "max_records=1", "--bound", "max_leader_epoch=1")
THREE = ("--bound", "replicas=3", "--bound", "log_size=1", "--bound", "max_records=1", "--bound", "max_leader_epoch=1")
HUGE = ("replication/kip_320", "--bounds", "huge", "--threads", "1")


def test_a_model_that_holds(kafka_spec: Command) -> None:
    """A model that holds exits with 0 and says that the search is complete."""
    run = kafka_spec("check", "replication/kip_320", *TINY)

    assert run.returncode == 0, run.stderr
    assert "holds, complete within these bounds" in run.stdout
    assert "277 distinct" in run.stdout


def test_a_model_that_is_violated(kafka_spec: Command) -> None:
    """A violation ends with 1 and shows the shortest counterexample."""
    run = kafka_spec("check", "replication/kip_279", *THREE)

    assert run.returncode == 1
    assert "StrongIsr is violated: a shortest trace has 12 states" in run.stdout


def test_json(kafka_spec: Command) -> None:
    """--format json writes one object with all results, and nothing else to stdout."""
    run = kafka_spec("check", "replication/kip_279", *THREE, "--engine", "embedded", "--threads", "1", "--format", "json", "--all")
    result = json.loads(run.stdout)

    assert (run.returncode, result["schema_version"]) == (1, 1)
    assert (result["verdict"], result["complete"], result["distinct"], result["depth"]) == ("violated", True, 9841, 18)
    assert sum(result["levels"]) == result["distinct"]
    assert sum(rule["fired"] for rule in result["rules"].values()) == result["generated"]
    assert sum(rule["new"] for rule in result["rules"].values()) == result["distinct"] - 1
    assert len(result["graph_digest"]) == 16
    assert set(result["seconds"]) == {"compile", "search"}
    assert result["peak_rss_bytes"] > 1 << 20
    assert 0 < result["fingerprint_collision_probability"] < 1e-10
    strong = next(claim for claim in result["properties"] if claim["name"] == "StrongIsr")
    assert (strong["verdict"], len(strong["trace"]["steps"])) == ("violated", 11)


def test_the_oracle_by_name(kafka_spec: Command) -> None:
    """--engine oracle and --engine both give the same digest as the embedded engine."""
    digests = {
        json.loads(kafka_spec("check", "replication/kip_320", *TINY, "--engine", engine, "--format", "json").stdout)["graph_digest"]
        for engine in ("embedded", "oracle", "both")
    }

    assert len(digests) == 1


def test_verify(kafka_spec: Command) -> None:
    """--verify searches again with another seed and agrees."""
    assert kafka_spec("check", "replication/kip_320", *TINY, "--verify").returncode == 0


def test_output_file(kafka_spec: Command, tmp_path: Path) -> None:
    """--output writes the result to the file and leaves stdout empty."""
    file = tmp_path / "result.json"
    run = kafka_spec("check", "replication/kip_320", *TINY, "--format", "json", "--output", str(file))

    assert (run.returncode, run.stdout) == (0, "")
    assert json.loads(file.read_text())["distinct"] == 277


def test_one_property(kafka_spec: Command) -> None:
    """--property checks only the named properties: kip_279 keeps WeakIsr and breaks StrongIsr."""
    run = kafka_spec("check", "replication/kip_279", *THREE, "--property", "WeakIsr")

    assert run.returncode == 0
    assert "StrongIsr " not in run.stdout


def test_models(kafka_spec: Command) -> None:
    """`models` lists every model, and one in full with its bounds, rules, properties and abstractions."""
    everything = kafka_spec("models")
    one = kafka_spec("models", "replication/kip_320")

    assert everything.stdout.count("replication/") == 8
    for heading in ("bounds", "rules", "properties", "abstractions"):
        assert f"  {heading}" in one.stdout


def test_trace_of_a_goal(kafka_spec: Command) -> None:
    """`trace --property` shows how a goal is reached."""
    run = kafka_spec("trace", "replication/kip_320", *TINY, "--property", "Committed")

    assert run.returncode == 0
    assert "Committed is reached: a shortest trace has 7 states" in run.stdout


def test_trace_of_a_named_check(kafka_spec: Command) -> None:
    """`trace` accepts the name of a check of the manifest."""
    run = kafka_spec("trace", "replication/kafka_7128-three-replicas")

    assert run.returncode == 0
    assert "StrongIsr is violated: a shortest trace has 12 states" in run.stdout


def test_trace_of_what_does_not_happen(kafka_spec: Command) -> None:
    """`trace` of a property that holds says so and exits with 1."""
    run = kafka_spec("trace", "replication/kip_320", *TINY, "--property", "StrongIsr")

    assert run.returncode == 1
    assert "no trace: StrongIsr is not shown within these bounds (holds)" in run.stderr


def test_own_module(kafka_spec: Command, tmp_path: Path) -> None:
    """module:SPEC checks a user's spec, found in the current folder."""
    (tmp_path / "mine.py").write_text((ROOT / "examples" / "tutorial.py").read_text())
    run = kafka_spec("check", "mine:LOCK", cwd=tmp_path)

    assert run.returncode == 1
    assert "OneHolder is violated: a shortest trace has 5 states" in run.stdout


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("check", "nonsense"), "model 'nonsense' is unknown; `kafka-spec models` lists them, module:NAME is one of your own"),
        (("check", "zookeeper/old-records-servd"), "perhaps zookeeper/old-records-served or"),
        (("check", "zookeeper/KAFKA-53"), "model 'zookeeper/KAFKA-53' is unknown; perhaps zookeeper/KAFKA-532 or"),
        (("check", "replication/kip_320", "--bound", "brokers=3"), "bound 'brokers' is unknown; there is replicas, log_size"),
        (("check", "replication/kip_320", "--bound", "replicas=77"), "bound replicas=77 is outside 2..6"),
        (("check", "replication/kip_320", "--bound", "replicas=many"), "write NAME=N with an integer N"),
        (("check", "replication/kip_320", "--bound", "replicas"), "write NAME=N with an integer N"),
        (("check", "replication/kip_320", "--bounds", "cosy"), "has no bound set 'cosy'; it has small, tiny"),
        (
            ("check", "zookeeper/fixed", "--bound", "replicas=3"),
            "there is no initial state: Start needs that there is a broker for each replica; ",
        ),
        (("check", "replication/kip_320", "--property", "Nice"), "property 'Nice' is unknown; there is WeakIsr"),
        (("check", "replication/kip_320", "--engine", "warp"), "invalid choice: 'warp'"),
        (("check", "replication/kip_320", "--threads", "0"), "0 is not 1 or more"),
        (("check", "replication/kip_320", "--threads", "100000"), "100000 is more than 64"),
        (("check", "replication/kip_320", "--seconds", "-1"), "-1 must be a non-negative number of seconds"),
        (("check", "replication/kip_320", "--seconds", "nan"), "nan must be a non-negative number of seconds"),
        (("check", "replication/kip_320-small", "--bound", "replicas=2"), "--bound: a named check has its own"),
        (("check", "replication/kip_320-small", "--manifest", "nowhere.toml"), "nowhere.toml: No such file or directory"),
        (("check", "no_such_module:SPEC"), "No module named 'no_such_module'"),
        (("check", "kafka_spec.spec.catalogue.models:NOTHING"), "module kafka_spec.spec.catalogue.models has no NOTHING"),
        (("check", "kafka_spec.spec.catalogue.models:MODELS"), "is Catalogue, and a Spec is needed"),
        (("check", "replication/kip_320", *TINY, "--output", "/nowhere/at/all"), "name a file that can be written"),
        (("check", "--manifest", "nowhere.toml"), "nowhere.toml: No such file or directory"),
        (("trace", "replication/kip_320", "--property", "Nice"), "property 'Nice' is unknown"),
        (("models", "nonsense"), "model 'nonsense' is unknown"),
        (("nonsense",), "invalid choice: 'nonsense'"),
        ((), "the following arguments are required: COMMAND"),
    ],
)
def test_wrong_input(inside: Command, arguments: tuple[str, ...], message: str) -> None:
    """Wrong input exits with 2 and a message that names the mistake and the valid values, without a traceback."""
    run = inside(*arguments)

    assert run.returncode == 2
    assert message in run.stderr
    assert "Traceback" not in run.stderr


BROKEN_SPECS = {
    "a lambda": ("guards=(lambda s: True,)", "a lambda has no name"),
    "a guard that writes": ("guards=(writes,)", "guards look, effects write"),
    "a construct outside the language": ("guards=(loops,)", "a while loop has no limit"),
    "an unknown parameter": ("guards=(greedy,)", "takes cash"),
}


@pytest.mark.parametrize(("change", "message"), BROKEN_SPECS.values(), ids=BROKEN_SPECS)
def test_wrong_spec(kafka_spec: Command, tmp_path: Path, change: str, message: str) -> None:
    """A specification that is wrong ends with 2 and a message with file and cure."""
    text = (ROOT / "examples" / "tutorial.py").read_text()
    helpers = '''
def writes(s: Workers) -> bool:
    """Write."""
    s.taken = 1
    return True


def loops(s: Workers) -> bool:
    """Loop."""
    while s.taken:
        pass
    return True


def greedy(s: Workers, cash: int) -> bool:
    """Ask for what is not there."""
    return cash > 0


WORKER ='''
    text = text.replace("\nWORKER =", helpers, 1)
    text = text.replace("LOOK = Rule(", "LOOK = Rule(", 1).replace("WORKER, (sees_lock_free,))", f"WORKER, {change})")
    (tmp_path / "broken.py").write_text(text)
    run = kafka_spec("check", "broken:LOCK", cwd=tmp_path)

    assert run.returncode == 2
    assert message in run.stderr
    assert "broken.py:" in run.stderr
    assert "Traceback" not in run.stderr


@pytest.mark.parametrize(
    ("budget", "reason"),
    [
        (("--seconds", "1"), "the time budget of 1 s is spent"),
        (("--max-states", "100000"), "the budget of 100,000 states is spent"),
        (("--memory", "200"), "the memory budget of 200 MiB is spent"),
    ],
)
def test_budgets(kafka_spec: Command, budget: tuple[str, ...], reason: str) -> None:
    """A spent budget ends with 3, verdict inconclusive, and the levels that were done, on a slow machine the first alone."""
    run = kafka_spec("check", *HUGE, *budget, "--format", "json")
    result = json.loads(run.stdout)

    assert run.returncode == 3
    assert (result["verdict"], result["complete"], result["stopped"]) == ("inconclusive", False, reason)
    assert result["levels"][:3] == [1, 6, 30][: len(result["levels"])] != []
    assert result["graph_digest"] is None


def until_imported(module: str, process: subprocess.Popen[str]) -> None:
    """Wait until a Python that runs under `-X importtime` has imported a module."""
    assert process.stderr
    while not re.search(rf"\| +{re.escape(module)}$", process.stderr.readline()):
        assert process.poll() is None


def test_interrupt() -> None:
    """Ctrl-C exits with 3 and prints the results so far."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-X", "importtime", "-m", "kafka_spec", "check", *HUGE]
    with subprocess.Popen(command, cwd=ROOT, env=environment, stdout=-1, stderr=-1, text=True) as process:
        until_imported("kafka_spec.model_check.progress", process)
        time.sleep(2)
        process.send_signal(signal.SIGINT)
        output, errors = process.communicate(timeout=60)

    assert process.returncode == 3, errors
    assert "INCONCLUSIVE: interrupted" in output
    assert "Traceback" not in errors


@pytest.mark.parametrize(
    ("imported", "arguments"),
    [
        ("kafka_spec.command", "check"),
        ("argparse", "--help"),
        ("kafka_spec.spec.catalogue.models", "check"),
        ("kafka_spec.spec.language.domain", "draw replica"),
        ("numpy", "check"),
        ("llvmlite.binding", "trace replication/kip_279"),
        ("kafka_spec.model_check.progress", "check examples.tutorial:LOCK"),
        ("networkx", "draw examples.tutorial:LOCK"),
        ("transitions", "run"),
        ("aiokafka", "run"),
    ],
)
def test_interrupt_of_an_import(imported: str, arguments: str) -> None:
    """Ctrl-C at the moment something is imported is one line, and ends with 3."""
    code = """
import os, signal, sys
imported = sys.argv.pop(1)
def interrupt(event, values):
    if event == "import" and values[0] == imported:
        os.kill(os.getpid(), signal.SIGINT)
sys.addaudithook(interrupt)
from kafka_spec.__main__ import main
sys.exit(main())
"""
    command = [sys.executable, "-c", code, imported, *arguments.split()]
    run = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=60)

    assert (run.returncode, run.stdout, run.stderr) == (3, "", "kafka-spec: interrupted\n")


def test_interrupt_of_executed_text(kafka_spec: Command, tmp_path: Path) -> None:
    """Ctrl-C inside an exec() of a string, which every dataclass is made with, ends with 3 as well and not by the signal."""
    (tmp_path / "mine.py").write_text("exec('import os, signal; os.kill(os.getpid(), signal.SIGINT); 1')\n")
    run = kafka_spec("check", "mine:LOCK", cwd=tmp_path)

    assert (run.returncode, run.stdout, run.stderr) == (3, "", "kafka-spec: interrupted\n")


SWALLOWED = """
import os, signal, time, weakref
class Thing: pass
thing = Thing()
reference = weakref.ref(thing, lambda _: (os.kill(os.getpid(), signal.SIGINT), 1))
del thing
end = time.monotonic() + 20
while time.monotonic() < end: pass
"""


def test_interrupt_of_a_callback(kafka_spec: Command, tmp_path: Path) -> None:
    """Ctrl-C inside a callback of a weak reference, whose exceptions Python ignores, ends with 3 as well."""
    (tmp_path / "mine.py").write_text(SWALLOWED)
    run = kafka_spec("check", "mine:LOCK", cwd=tmp_path)

    assert (run.returncode, run.stdout, run.stderr) == (3, "", "kafka-spec: interrupted\n")


def test_other_exceptions_of_callbacks(monkeypatch: pytest.MonkeyPatch) -> None:
    """An exception in a callback that is no interrupt reaches the hook of whoever called the command, which stays in place."""

    class Broken:
        """Fails when it is deleted."""

        def __del__(self) -> None:
            raise ValueError("deleted")

    heard: list[object] = []

    def hook(ignored: sys.UnraisableHookArgs) -> None:
        heard.append(ignored.exc_value)

    def deletes(arguments: object) -> int:
        Broken()
        return 0

    monkeypatch.setattr(sys, "unraisablehook", hook)
    monkeypatch.setattr("kafka_spec.command.run", deletes)

    assert main([]) == 0
    assert [str(exception) for exception in heard] == ["deleted"]
    assert sys.unraisablehook is hook


def test_seconds_limit_the_reading_of_a_spec(kafka_spec: Command, tmp_path: Path) -> None:
    """A module that sleeps when it is imported, and catches what it can, does not outlast --seconds: exit code 3, and why."""
    content = "import time\ntry:\n    time.sleep(50)\nexcept Exception:\n    time.sleep(50)\n"
    (tmp_path / "sleeps.py").write_text(content, encoding="utf-8")
    for more in ([], ["--grow"]):
        began = time.monotonic()
        ran = kafka_spec("check", "sleeps:SPEC", "--seconds", "1.5", *more, cwd=tmp_path)
        assert (ran.returncode, ran.stdout) == (3, "")
        assert ran.stderr.endswith("the time budget of 1.5 s was spent while the specs were read\n")
        assert time.monotonic() - began < 20


@pytest.mark.parametrize("place", ["run", "_run_command"])
def test_an_interrupt_while_a_class_is_made_is_not_lost(
    place: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Ctrl-C in a `__set_name__`, of which Python 3.11 makes a RuntimeError, ends the program as any other."""

    class Interrupted:
        def __set_name__(self, owner: type, name: str) -> None:
            raise KeyboardInterrupt

    def makes_a_class(*_: object) -> int:
        class _Holder:
            field = Interrupted()

        return 0

    monkeypatch.setattr(f"kafka_spec.command.{place}", makes_a_class)
    assert main(["models"]) == 3
    assert capsys.readouterr().err == "kafka-spec: interrupted\n"


@pytest.mark.parametrize("seconds", [0.0, 0.1, 0.2, 0.4, 0.8])
def test_interrupt_in_the_first_second(seconds: float) -> None:
    """Ctrl-C at any time after the program has begun ends with 3, and with a line or a result instead of a traceback."""
    command = [sys.executable, "-X", "importtime", "-m", "kafka_spec", "check", *HUGE]
    with subprocess.Popen(command, cwd=ROOT, stdout=-1, stderr=-1, text=True) as process:
        until_imported("argparse", process)
        time.sleep(seconds)
        process.send_signal(signal.SIGINT)
        output, errors = process.communicate(timeout=60)
    reported = [line for line in errors.splitlines() if not line.startswith("import time:")]

    assert process.returncode == 3, errors
    assert reported == ["kafka-spec: interrupted"] or "INCONCLUSIVE: interrupted" in output
    assert "Traceback" not in errors


def test_unwritable_cache(kafka_spec: Command, tmp_path: Path) -> None:
    """A cache folder that cannot be written is bypassed with a warning."""
    blocker = tmp_path / "file"
    blocker.write_text("no folder")
    run = kafka_spec("check", "replication/kip_320", *TINY, env={"KAFKA_SPEC_CACHE": str(blocker / "cache")})

    assert run.returncode == 0
    assert run.stderr.count("warning: compiled code cannot be") >= 1
    assert "Traceback" not in run.stderr


def test_corrupt_cache(kafka_spec: Command, tmp_path: Path) -> None:
    """A damaged cache entry is rebuilt with a warning, and is whole afterwards."""
    env = {"KAFKA_SPEC_CACHE": str(tmp_path)}
    kafka_spec("check", "replication/kip_320", *TINY, env=env)
    (entry,) = tmp_path.glob("*.o")
    entry.write_bytes(entry.read_bytes()[:-100] + bytes(100))
    damaged = kafka_spec("check", "replication/kip_320", *TINY, env=env)
    mended = kafka_spec("check", "replication/kip_320", *TINY, env=env)

    assert (damaged.returncode, mended.returncode) == (0, 0)
    assert "is damaged; compiling again" in damaged.stderr
    assert mended.stderr == ""


MANIFEST = """
[[tool.kafka-spec.checks]]
name = "one"
model = "replication/kip_320"
bounds = "tiny"
verdict = "{verdict}"
{more}
"""


@pytest.mark.parametrize(
    ("verdict", "more", "code", "message"),
    [
        ("holds", "distinct = 277\ndepth = 12\nall_rules_fire = true", 0, "ok    one"),
        ("holds", "distinct = 278", 1, "277 distinct states, expected 278"),
        ("holds", "depth = 3", 1, "12 levels, expected 3"),
        ("violated", 'properties = ["StrongIsr"]', 1, "the verdict is holds, expected violated"),
        ("violated", "traces = { StrongIsr = 5 }", 1, "the counterexample has no states, expected 5"),
        ("holds", "seconds = 0", 3, "the time budget of 0 s is spent"),
    ],
)
def test_expectations(kafka_spec: Command, tmp_path: Path, verdict: str, more: str, code: int, message: str) -> None:
    """A run of the manifest exits with 0 only if all results are as expected, and names the others."""
    (tmp_path / "pyproject.toml").write_text(MANIFEST.format(verdict=verdict, more=more))
    run = kafka_spec("check", cwd=tmp_path)

    assert run.returncode == code, run.stderr
    assert message in run.stdout


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "has no [[tool.kafka-spec.checks]]"),
        ("not toml at all", "Expected '='"),
        (MANIFEST.format(verdict="perfect", more=""), "verdict 'perfect' cannot be expected"),
        (MANIFEST.format(verdict="holds", more="speed = 3"), "'speed' is unknown; there is name, model"),
        (MANIFEST.format(verdict="holds", more="distinct = '5'"), "distinct = '5' is not a whole number"),
        (MANIFEST.format(verdict="holds", more="all = 1"), "all = 1 is not true or false"),
        (MANIFEST.format(verdict="holds", more="depth = true"), "depth = True is not a whole number"),
        (MANIFEST.format(verdict="holds", more="seconds = 'x'"), "seconds = 'x' is not a whole number or a number"),
        (MANIFEST.format(verdict="holds", more="").replace("tiny", "cosy"), "has no bound set 'cosy'"),
        (MANIFEST.format(verdict="holds", more="").replace("kip_320", "kip_0"), "model 'replication/kip_0' is unknown"),
        (MANIFEST.format(verdict="holds", more="").replace("one", ""), "name is missing, or empty"),
        (MANIFEST.format(verdict="holds", more="") * 2, "two checks are named 'one'"),
        (MANIFEST.format(verdict="holds", more="traces = { Nice = 3 }"), "property 'Nice' is unknown"),
        (MANIFEST.format(verdict="holds", more="traces = { StrongIsr = 'x' }"), "traces.StrongIsr is not a number of states"),
        (MANIFEST.format(verdict="holds", more="properties = []"), "properties is empty"),
        (MANIFEST.format(verdict="holds", more="properties = [3]"), "property 3 is not a name"),
        (MANIFEST.format(verdict="holds", more="memory_mib = -5"), "memory_mib = -5 is less than 0"),
        (
            "[tool.kafka-spec]\nchecks = 5",
            "checks in [tool.kafka-spec] is 5; write each check as a [[tool.kafka-spec.checks]]",
        ),
        (f"{MANIFEST.format(verdict='holds', more='')}[[tool.kafka-spec.check]]\nname = 'two'", "has 'check', which is unknown"),
        (f"[tool.kafka-spec]\nall_properties_tested = 1\n{MANIFEST.format(verdict='holds', more='')}", "is not true or false"),
        (MANIFEST.format(verdict="violated", more="traces = { StrongIsr = true }"), "traces.StrongIsr is not a number of states"),
        ("[tool.kafka-spec]\nchecks = []", "has no [[tool.kafka-spec.checks]]; add one"),
        ("tool = 1", "has no [[tool.kafka-spec.checks]]"),
    ],
)
def test_wrong_manifest(
    tmp_path: Path, text: str, message: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A wrong manifest ends with 2 and names the check and the cure."""
    (tmp_path / "pyproject.toml").write_text(text)
    monkeypatch.chdir(tmp_path)

    assert run_command(["check"]) == 2
    assert message in capsys.readouterr().err


def test_a_violation_counts_for_more_than_a_budget(kafka_spec: Command, tmp_path: Path) -> None:
    """If one check fails and another is inconclusive, the exit code is that of the failure, which is certain."""
    one = MANIFEST.format(verdict="holds", more="distinct = 278")
    two = MANIFEST.format(verdict="holds", more="seconds = 0").replace('"one"', '"two"')
    (tmp_path / "pyproject.toml").write_text(one + two)

    assert kafka_spec("check", cwd=tmp_path).returncode == 1


def test_two_hash_seeds(kafka_spec: Command) -> None:
    """The output of a run does not depend on the order of sets: two hash seeds give the same text."""
    arguments = ("trace", "replication/kip_279", *THREE, "--full")
    first, second = (kafka_spec(*arguments, env={"PYTHONHASHSEED": seed}).stdout for seed in ("1", "2"))

    assert first == second != ""


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("SPEC = undefined", "broken.py:1: NameError: name 'undefined' is not defined"),
        ("SPEC = 1 +", "broken.py:1: invalid syntax"),
        ("import nowhere_to_be_found", "No module named 'nowhere_to_be_found'"),
    ],
)
def test_own_module_that_cannot_be_imported(kafka_spec: Command, tmp_path: Path, text: str, message: str) -> None:
    """A user's module that cannot be imported exits with 2, its error and its line, without a traceback."""
    (tmp_path / "broken.py").write_text(text)
    run = kafka_spec("check", "broken:SPEC", cwd=tmp_path)

    assert run.returncode == 2
    assert message in run.stderr
    assert "Traceback" not in run.stderr


def test_a_broken_manifest_is_not_hidden(kafka_spec: Command, tmp_path: Path) -> None:
    """Naming a check of an invalid manifest reports the manifest's error."""
    (tmp_path / "pyproject.toml").write_text(MANIFEST.format(verdict="hold", more=""))
    run = kafka_spec("check", "one", cwd=tmp_path)

    assert run.returncode == 2
    assert "verdict 'hold' cannot be expected" in run.stderr


def test_a_named_check_needs_no_other_model(tmp_path: Path) -> None:
    """Naming a check looks up its model, not those of the other checks of the manifest."""
    one = MANIFEST.format(verdict="holds", more="")
    (tmp_path / "pyproject.toml").write_text(one + one.replace('"one"', '"two"').replace("kip_320", "kip_279"))
    asked: list[str] = []

    def model(name: str) -> Spec:
        asked.append(name)
        return MODELS[name]

    assert [check.name for check in read_manifest(tmp_path / "pyproject.toml", model, ["two"])] == ["two"]
    assert asked == ["replication/kip_279"]


def test_a_check_imports_what_it_needs() -> None:
    """A check of a model of replication imports no other family of models, and nothing for terminals."""
    code = """
import sys
from kafka_spec.command import run
code = run(["check", "replication/kip_320", "--bound", "max_leader_epoch=1", "--output", "/dev/null"])
print(code, *(name for name in sys.modules if name in ("rich", "networkx", "kafka_spec.spec.zookeeper", "kafka_spec.spec.kraft")))
"""
    ran = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)

    assert ran.stdout == "0\n"


def test_trace_goes_on_to_the_property_asked_for(kafka_spec: Command) -> None:
    """`trace --property` finds the trace of a property even if another one is violated earlier."""
    run = kafka_spec("trace", "replication/kip_320_first_try", "--bounds", "three_epochs", "--property", "StrongIsr")

    assert run.returncode == 0
    assert "StrongIsr is violated: a shortest trace has 13 states" in run.stdout


@pytest.mark.parametrize(("comparison", "other"), [(("--engine", "both"), "the oracle"), (("--verify",), "another seed")])
def test_an_unfinished_comparison_is_inconclusive(
    inside: Command, monkeypatch: pytest.MonkeyPatch, comparison: tuple[str, ...], other: str
) -> None:
    """A comparison that the budget stops is reported, and its verdict is inconclusive."""
    exhausted, largest = Budget.exhausted, 0

    def spent(budget: Budget, distinct: int = 0, planned_bytes: int = 0) -> str:
        nonlocal largest
        if 0 < distinct < largest:  # the count begins anew: this is the second search
            budget.seconds = 0.0
        largest = max(largest, distinct)
        return exhausted(budget, distinct, planned_bytes)

    monkeypatch.setattr(Budget, "exhausted", spent)
    run = inside("check", "replication/kip_320", "--bounds", "tiny", *comparison)

    assert run.returncode == 3
    assert f"INCONCLUSIVE: the comparison with {other} was not finished: the time budget of 0 s is spent" in run.stdout


def test_a_full_disk_is_told(kafka_spec: Command) -> None:
    """A result that cannot be written exits with 2 and one line."""
    run = subprocess.run(
        f"{sys.executable} -m kafka_spec models > /dev/full", shell=True, cwd=ROOT, capture_output=True, text=True, check=False
    )

    assert "Traceback" not in run.stderr
    assert run.returncode != 0
