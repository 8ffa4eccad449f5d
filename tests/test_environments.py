"""The features of each extra, and the message if one is missing: here without the libraries, and in fresh environments."""

from __future__ import annotations

import fcntl
import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest
from conftest import ROOT

from kafka_spec.spec.optional_dependencies import EXTRAS

ANY = sorted({library for libraries in EXTRAS.values() for library in libraries})


def without(libraries: list[str], *commands: list[str]) -> list[tuple[int, str, str]]:
    """Run commands in one process without these libraries; return exit code, stdout and stderr of each."""
    code = f"""
import contextlib, io, json, sys
sys.modules.update(dict.fromkeys({libraries!r}))
from kafka_spec.__main__ import main
for arguments in {commands!r}:
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            code = main(arguments)
        except SystemExit as ended:
            code = ended.code or 0
    print(json.dumps([code, out.getvalue(), err.getvalue()]))
"""
    run = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    return [(code, out, err) for code, out, err in map(json.loads, run.stdout.splitlines())]


def test_extras_are_those_of_the_project() -> None:
    """The libraries of each extra in messages are those of pyproject.toml, by the names under which they are imported."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["optional-dependencies"]
    imported = {"JPype1": "jpype", "prometheus-client": "prometheus_client", "z3-solver": "z3"}
    names = {
        extra: {imported.get(name := re.split(r"\[(?!check|impl)|>", text)[0], name) for text in project[extra]} for extra in EXTRAS
    }
    for extra, libraries in EXTRAS.items():
        brought = {name for name in names[extra] if not name.startswith("kafka-spec[")}
        for other in EXTRAS:
            if f"kafka-spec[{other}]" in names[extra]:
                brought |= names[other]
        if "pyspark" in brought:
            brought.add("py4j")
        assert set(libraries) == brought, extra


def test_the_standard_library_is_enough_for_tables() -> None:
    """Listing models, exporting tables and drawing machines as text need no extra."""
    done = without(
        ANY,
        ["--version"],
        ["models"],
        ["models", "replication/kip_320"],
        ["export", "replica"],
        ["export", "replica", "--format", "transitions"],
        ["export", "replica", "--format", "tla"],
        ["export", "--format", "schema"],
        ["draw", "partition"],
        ["draw", "partition", "--format", "dot"],
        ["draw", "replica", "--against", "replica@0.10", "--format", "markdown"],
    )

    assert [(code, err) for code, _, err in done] == [(0, "")] * len(done)
    assert done[1][1].count("replication/") == 8
    assert "stateDiagram" in done[7][1] or "flowchart" in done[7][1]


@pytest.mark.parametrize(
    ("missing", "extra", "arguments"),
    [
        ("llvmlite", "check", ["check", "replication/kip_320", "--bounds", "tiny", "-q"]),
        ("numpy", "check", ["check"]),
        ("pyspark", "spark", ["check", "replication/kip_320", "--bounds", "tiny", "-q", "--engine", "spark", "--state-dir", "x"]),
        ("pyarrow", "spark", ["states", "x"]),
        ("networkx", "draw", ["draw", "examples.tutorial:LOCK"]),
        ("graphviz", "draw", ["draw", "replica", "--format", "svg"]),
        ("transitions", "impl", ["run", "-q"]),
        ("rich", "impl", ["run", "-q"]),
    ],
)
def test_a_missing_extra_is_one_line(missing: str, extra: str, arguments: list[str]) -> None:
    """A missing library that a command needs is reported in one line, with its cure, and ends with 2."""
    ((code, out, err),) = without([missing], arguments)

    assert (code, out) == (2, "")
    assert err.count("\n") == 1
    assert err.startswith("kafka-spec: ") and missing in err and f"pip install 'kafka-spec[{extra}]'" in err


def test_help_imports_no_part_of_the_package() -> None:
    """`--help` and `--version` import neither tables nor libraries: they answer at once."""
    code = """
import sys
from kafka_spec.__main__ import main
try:
    main(["--help"])
except SystemExit:
    print(*sorted(name for name in sys.modules if name.startswith("kafka_spec")), "numpy" in sys.modules)
"""
    run = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)

    assert run.stdout.splitlines()[-1] == "kafka_spec kafka_spec.__main__ kafka_spec.command False"


# ---------------------------------------------------------------------------------------------------------------------
# The wheel in fresh environments


@dataclass(frozen=True)
class Environments:
    """Fresh environments with the wheel, made on demand, once for all processes of a test run."""

    folder: Path

    def wheel(self) -> Path:
        """Return the wheel, built from a copy of the sources without files of an older build."""
        with self._once("wheel") as todo:
            if todo:
                sources = self.folder / "sources"
                away = shutil.ignore_patterns(".*", "__pycache__", "build", "dist", "*.egg-info")
                shutil.copytree(ROOT, sources, symlinks=True, ignore=away)
                call([sys.executable, "-m", "build", "--wheel", "--outdir", str(self.folder / "dist"), str(sources)])
        (wheel,) = (self.folder / "dist").glob("*.whl")
        return wheel

    def of(self, extra: str, *others: str, constraints: Path = ROOT / "constraints.txt") -> Path:
        """Return the folder of an environment with the wheel, one extra ("" for none), and other packages."""
        wheel = self.wheel()
        place = self.folder / "-".join([extra or "bare", *others])
        with self._once(place.name) as todo:
            if todo:
                call([sys.executable, "-m", "venv", "--without-pip", str(place)])
                self.install(place, constraints, f"{wheel}[{extra}]" if extra else str(wheel), *others)
        return place

    @staticmethod
    def install(place: Path, constraints: Path, *what: str) -> None:
        """Install packages into an environment, in versions that are pinned."""
        pip = [sys.executable, "-m", "pip", "--python", str(place / "bin" / "python"), "install", "-q", "--no-compile"]
        call([*pip, "-c", str(constraints), *what], PIP_CONSTRAINT="")

    @contextmanager
    def _once(self, name: str) -> Iterator[bool]:
        """Yield whether this name has to be made, while no other process makes it."""
        done = self.folder / f"{name}.done"
        with (self.folder / f"{name}.lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield not done.exists()
            done.touch()


def call(command: list[str], **variables: str) -> None:
    """Run a command that must succeed."""
    run = subprocess.run(command, env={**os.environ, **variables}, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr


def in_environment(place: Path, command: str, cwd: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    """Run a shell command in an environment and a folder, without access to this repository."""
    environment = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "PIP_CONSTRAINT")}
    environment |= {"PATH": f"{place / 'bin'}:{environment['PATH']}", **variables}
    return subprocess.run(
        ["bash", "-c", command], cwd=cwd, env=environment, capture_output=True, text=True, check=False, timeout=300
    )


@pytest.fixture(scope="session")
def environments(tmp_path_factory: pytest.TempPathFactory) -> Environments:
    """The environments of this test run."""
    of_run = tmp_path_factory.getbasetemp()
    folder = (of_run.parent if "PYTEST_XDIST_WORKER" in os.environ else of_run) / "environments"
    folder.mkdir(exist_ok=True)
    return Environments(folder)


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A project that has folders named as ours (spec, impl, diagrams, ...), named checks, and the tutorial."""
    for name in ("spec", "impl", "model_check", "diagrams", "conformance"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "__init__.py").write_text(f'OWNER = "the user\'s {name}"\n')
    tutorial = (ROOT / "examples" / "tutorial.py").read_text(encoding="utf-8")
    (tmp_path / "examples").mkdir()
    for name in ("tutorial.py", "lease.py"):
        shutil.copy(ROOT / "examples" / name, tmp_path / "examples" / name)
    (tmp_path / "spec" / "lock.py").write_text(tutorial, encoding="utf-8")
    for folder in ("tests/logs", "examples/plans"):
        shutil.copytree(ROOT / folder, tmp_path / folder)
    (tmp_path / "pyproject.toml").write_text(
        """
[[tool.kafka-spec.checks]]
name = "replication/kip_279-three-replicas"
model = "replication/kip_279"
bounds = "three_replicas"
verdict = "violated"
traces = { StrongIsr = 12 }

[[tool.kafka-spec.checks]]
name = "replication/high_watermark-small"
model = "replication/high_watermark"
bounds = "small"
verdict = "violated"
traces = { WeakIsr = 9 }

[[tool.kafka-spec.checks]]
name = "own"
model = "spec.lock:LOCK"
verdict = "violated"
traces = { OneHolder = 5 }
""",
        encoding="utf-8",
    )
    return tmp_path


PAGES = (
    "README.md",
    *(
        f"docs/{page}.md"
        for page in (
            "bounds", "ci", "clusters/advise", "clusters/metadata_log", "clusters/validate", "draw", "examples", "explore",
            "export", "kafka/conformance", "kafka/kraft", "kafka/run", "kafka/start", "spark",
        )
    ),
)  # fmt: skip
"""The pages whose commands are run, beside those that tests/test_docs.py runs."""
SPARK = "kafka-spec check replication/kip_320 --bounds large --engine spark --state-dir states"
COMMANDS = {
    "kafka-spec check replication/high_watermark-small --traces": ("check", 0),
    "kafka-spec check replication/kip_279 --bounds three_replicas": ("check", 1),
    "kafka-spec check examples.tutorial:LOCK": ("check", 1),
    "kafka-spec check examples.lease:FENCED": ("check", 0),
    "kafka-spec explore examples.lease:UNFENCED --terminal": ("check", 0),
    "kafka-spec draw examples.lease:FENCED --format svg --output lease.svg": ("draw", 0),
    "kafka-spec what-if kraft/fixed --decision high_watermark_needs_min_isr=NO --bounds fence": ("check", 1),
    "kafka-spec models kraft/fixed": ("", 0),
    "kafka-spec draw elections --format svg --output elections.svg": ("draw", 0),
    "kafka-spec check --output junit:report.xml --output markdown:summary.md": ("check", 0),
    "kafka-spec trace replication/kip_279-three-replicas": ("check", 0),
    "kafka-spec trace replication/kip_279-three-replicas --html kip_279.html": ("check", 0),
    "kafka-spec coverage replication/kip_279-three-replicas --output html:coverage.html": ("check", 0),
    "kafka-spec explore replication/kip_279-three-replicas --terminal": ("check", 0),
    "kafka-spec trace zookeeper/KAFKA-1188 --output json:path.json": ("check", 0),
    "kafka-spec explore zookeeper/KAFKA-1188 --trace path.json --terminal": ("check", 0),
    "kafka-spec draw replica --format svg --output replica.svg": ("draw", 0),
    "kafka-spec draw examples.tutorial:LOCK --format svg --output lock.svg": ("draw", 0),
    "kafka-spec models": ("", 0),
    "kafka-spec models replication/kip_320": ("", 0),
    "kafka-spec draw replica --against replica@0.10": ("", 0),
    "kafka-spec export replica > replica.json": ("", 0),
    "kafka-spec export --format tla --folder tla": ("", 0),
    "kafka-spec export --format schema": ("", 0),
    "kafka-spec export --format tla --folder tla zookeeper/fixed": ("", 0),
    "kafka-spec run --brokers 3 --seed 7": ("impl", 0),
    "kafka-spec run --brokers 3 --seed 7 -q": ("impl", 0),
    "kafka-spec run --era kraft_4_1 --seed 7": ("impl", 0),
    "kafka-spec run --era kraft_4_1 --seed 7 --seconds 10": ("impl", 0),
    "kafka-spec run --era kraft_3_9 --seed 1 --faults usual,power": ("impl", 1),
    "kafka-spec run --era kraft_4_3 --seed 12 --seconds 60 --faults usual,settings,directory": ("impl", 1),
    "kafka-spec run --era kraft_4_3 --controllers 3 --seed 7 --seconds 10": ("impl", 0),
    "kafka-spec run --era kraft_fixed --controllers 5 --seed 7 --faults usual,voters,power": ("impl", 0),
    "kafka-spec run --era quorum/only-voter-commits-before-flush --controllers 3 --seed 0 --faults usual,voters -q": ("impl", 1),
    "kafka-spec run --era kraft_fixed --seed 7 --operations all": ("impl", 0),
    "kafka-spec run --era KIP-101 --seed 38 -q": ("impl", 1),
    "kafka-spec validate tests/logs/2.8.2 -q": ("", 0),
    "kafka-spec validate tests/logs/2.8.2 --format html --output page.html": ("", 0),
    "kafka-spec validate tests/logs/kraft/f440-elr-outside-replicas -q": ("impl", 1),
    "kafka-spec validate tests/logs/kraft/f440-elections -q": ("impl", 0),
    "kafka-spec validate tests/logs/kraft/f440-elr-cleared --why p-0 --at 100 -q": ("impl", 0),
    "kafka-spec validate tests/logs/kraft/f440-elr-cleared --partition p-0 -q": ("impl", 0),
    "kafka-spec advise tests/logs/kraft/f440-elr-outside-replicas --at 195 --reassign examples/plans/reassign.json -q": (
        "kafka",
        1,
    ),
    "kafka-spec advise tests/logs/kraft/f440-elr-cleared --at 62 --set min.insync.replicas=1 --faults 0 -q": ("kafka", 1),
    "kafka-spec advise tests/logs/kraft/f440-elr-cleared --at 62 --elect unclean --faults 0 -q": ("kafka", 1),
    "kafka-spec advise tests/logs/kraft/f440-elr-cleared --at 62 --unregister 0 --faults 0 -q": ("kafka", 1),
    "kafka-spec conformance --list": ("kafka", 0),
    SPARK: ("spark", 0),
    f"{SPARK} --resume": ("spark", 0),
    "kafka-spec states states --columns": ("spark", 0),
}
"""The commands of the pages, the extra that docs/install.md says they need, and how they end."""

ADMIN = "kafka-spec admin --zookeeper 127.0.0.1:2181/demo"
NOT_RUN = {
    "kafka-spec validate --bootstrap-controller controller-1:9093 --why orders-3",
    "kafka-spec validate --bootstrap-controller controller-1:9093 --follow",
    "kafka-spec validate __cluster_metadata-0 --follow --output prometheus:/var/lib/node_exporter/kafka_spec.prom",
    "kafka-spec advise --bootstrap-controller controller-1:9093 --restart all",
    "kafka-spec run --zookeeper 127.0.0.1:2181/demo --seconds 600 --faults none",
    f"{ADMIN} create payments --partitions 3 --replication-factor 2",
    f"{ADMIN} reassign generate --topics payments --brokers 1,2",
    f"{ADMIN} reassign execute --move payments:0=2,1",
    f"{ADMIN} reassign verify --move payments:0=2,1",
    f"{ADMIN} delete payments",
    "kafka-spec conformance --list",
    "kafka-spec explore zookeeper/fixed --bounds records",
    "kafka-spec conformance elections --cases 20000 --seed 7",
    "kafka-spec run --brokers 3 --seed 7 --zookeeper start",
    "kafka-spec check zookeeper/fixed --bounds three_everyday --engine spark --state-dir control",
    "kafka-spec states states --where \"level = 12 and quorum_leader = 'broker 1' and replicas_0_high_watermark > 0\"",
    "kafka-spec states states --path 0e9a846a45eab880",
    "kafka-spec check zookeeper/fixed --bounds large --simulate --seconds 600",
    "kafka-spec check kraft/fixed --bounds three_fence",
    "kafka-spec check kraft/fixed --bounds three_reassign --bound fences=1 --no-traces --threads 1"
    " --without leads-to --without recoverable",
}
"""Commands that are left out: a page runs until Ctrl-C; ZooKeeper, Spark, Kafka's jars and a running controller have tests; the
rest takes long."""


SAMPLE = ("check",)
"""The extra of which `make test` makes an environment; `make long` makes the others."""


def shown_examples(*languages: str) -> list[str]:
    """Return the examples of the pages in some languages; "" is the shell."""
    texts = [(ROOT / page).read_text(encoding="utf-8") for page in PAGES]
    examples = [example for text in texts for example in re.findall(r"^```(\w*)\n(.*?)^```", text, re.MULTILINE | re.DOTALL)]
    return [text for language, text in examples if language in languages]


def shown_commands() -> list[str]:
    """Return the commands of the pages' examples."""
    lines = [line for example in shown_examples("") for line in example.splitlines()]
    found = [re.fullmatch(r"(?:\$ )?(?:\.venv/bin/)?(kafka-spec .*?)(?:  +#.*)?", line) for line in lines]
    return [match[1].strip() for match in found if match]


def test_every_command_of_the_pages_is_run() -> None:
    """Each command that the pages show is run in an environment that has just its extra, or it is said why not."""
    assert set(shown_commands()) == {*COMMANDS, *NOT_RUN}


@pytest.mark.parametrize("extra", ["", *(pytest.param(one, marks=() if one in SAMPLE else pytest.mark.long) for one in EXTRAS)])
def test_pages_in_a_fresh_environment(environments: Environments, project: Path, extra: str) -> None:
    """With one extra alone, beside folders of the same names, the pages' commands for it do what the pages say."""
    place = environments.of(extra)
    for command, (needed, code) in COMMANDS.items():
        if needed == extra:
            smaller = command.replace("--bounds large", "--bounds small --handover 300")
            run = in_environment(place, smaller, project)
            assert run.returncode == code, (command, run.stdout, run.stderr)
            assert "Traceback" not in run.stderr


ONLY_IN_THE_CLONE = {"kafka_tests", "kraft_replay", "quorum_replay", "reproductions"}
"""The parts of conformance/ that only prove the project."""


def test_wheel(environments: Environments, project: Path) -> None:
    """The wheel contains one package, without tests; alone it lists, exports and draws, and names the extra that others need."""
    names = zipfile.ZipFile(environments.wheel()).namelist()
    tops = {name.split("/")[0] for name in names}
    place = environments.of("")
    site = in_environment(place, "python -c 'import kafka_spec, sys; print(kafka_spec.__file__, *sys.path)'", project)
    missing = {
        "check": "check replication/kip_320",
        "spark": "states x",
        "draw": "draw examples.tutorial:LOCK",
        "impl": "run",
    }

    assert {top for top in tops if not top.endswith(".dist-info")} == {"kafka_spec"}
    assert "kafka_spec/spec/replication/versions/kip_320.py" in names
    assert not {name.split("/")[2] for name in names if name.startswith("kafka_spec/conformance/")} & ONLY_IN_THE_CLONE
    for file in (
        "py.typed",
        "spec/table.schema.json",
        "diagrams/page/page.html",
        "diagrams/explore/explore.html",
        "model_check/command/init_files/spec.txt",
        "model_check/report/result.schema.json",
        "diagrams/page/page.css",
        "diagrams/page/page.js",
    ):
        assert f"kafka_spec/{file}" in names
    assert str(ROOT) not in site.stdout and str(place) in site.stdout
    for command in ("--version", "--help", "models", "export --format schema", "draw role --format dot"):
        run = in_environment(place, f"kafka-spec {command}", project)
        assert (run.returncode, run.stderr) == (0, ""), run.stderr
    for extra, command in missing.items():
        run = in_environment(place, f"kafka-spec {command}", project)
        assert (run.returncode, run.stdout, run.stderr.count("\n")) == (2, "", 1), run.stderr
        assert f"pip install 'kafka-spec[{extra}]'" in run.stderr


@pytest.mark.long
def test_beside_the_package_named_diagrams(environments: Environments, project: Path) -> None:
    """In one environment with the well-known package `diagrams`, that name is theirs, and ours draws."""
    place = environments.of("draw", "diagrams", constraints=ROOT / "tests" / "diagrams-constraints.txt")
    elsewhere = project / "examples"
    theirs = in_environment(place, "python -c 'import diagrams; print(diagrams.Diagram, diagrams.Cluster)'", elsewhere)
    ours = in_environment(place, "kafka-spec draw replica --format svg", elsewhere)

    assert theirs.stdout == "<class 'diagrams.Diagram'> <class 'diagrams.Cluster'>\n", theirs.stderr
    assert ours.returncode == 0 and "<svg" in ours.stdout, ours.stderr


def test_pytest_without_the_checker(environments: Environments, project: Path) -> None:
    """If the checker is not installed, the named checks are one failure of one line, and other tests run as usual."""
    place = environments.of("", "pytest")
    (project / "test_own.py").write_text("def test_own(): pass\n")
    run = in_environment(place, "python -m pytest -q -p no:cacheprovider pyproject.toml test_own.py", project)
    lines = [line for line in run.stdout.splitlines() if "kafka-spec[check]" in line]

    assert run.returncode == 1
    assert "1 failed, 1 passed" in run.stdout
    assert lines[0].endswith("is not installed; it comes with: pip install 'kafka-spec[check]'")
    assert "Traceback" not in run.stdout


@pytest.mark.parametrize("extra", ["check", pytest.param("spark", marks=pytest.mark.long)])
def test_types_as_users_see_them(environments: Environments, tmp_path: Path, extra: str) -> None:
    """With --strict, mypy passes on the pages' Python examples for an extra and on the tutorial, against the installed wheel."""
    place = environments.of(extra)
    for number, example in enumerate(one for one in shown_examples("python", "py") if extra == "spark" or "pyspark" not in one):
        (tmp_path / f"example_{number}.py").write_text(example, encoding="utf-8")
    (tmp_path / "tutorial.py").write_text((ROOT / "examples" / "tutorial.py").read_text(encoding="utf-8"), encoding="utf-8")
    (tmp_path / "wrong.py").write_text(
        'from kafka_spec import MODELS, check\n\ncheck(MODELS["replication/kip_320"], threads="two")\n'
    )
    mypy = [sys.executable, "-m", "mypy", "--strict", "--python-executable", str(place / "bin" / "python")]
    files = sorted(file.name for file in tmp_path.glob("*.py"))
    run = subprocess.run([*mypy, *files], cwd=tmp_path, capture_output=True, text=True, check=False)

    assert run.stdout.splitlines() == [
        'wrong.py:3: error: Argument "threads" to "check" has incompatible type "str"; expected "int"  [arg-type]',
        f"Found 1 error in 1 file (checked {len(files)} source files)",
    ]
