"""Fixtures of all tests: a separate cache of compiled code, golden texts, the command line."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import warnings
from collections.abc import Callable, Iterator
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import slow
from hypothesis import Phase, settings

from kafka_spec.model_check.code.memo import VERIFIES
from kafka_spec.model_check.exploration import Exploration
from kafka_spec.model_check.manifest import read_manifest
from kafka_spec.model_check.named_check import NamedCheck
from kafka_spec.model_check.oracle import oracle
from kafka_spec.model_check.search import embedded
from kafka_spec.spec.catalogue.models import MODELS

if TYPE_CHECKING:
    from kafka_spec.impl.zookeeper.broker.broker_process import BrokerProcess
    from kafka_spec.impl.zookeeper.coordination.server import ZooKeeperServer

ROOT = Path(__file__).parent.parent
GOLDEN = Path(__file__).parent / "golden"

Command = Callable[..., subprocess.CompletedProcess[str]]
Explore = Callable[..., Exploration]
ENGINES: dict[str, Explore] = {
    "oracle": oracle.explore,
    "embedded": embedded.explore,
    "two threads": partial(embedded.explore, threads=2, fast_from=0),
}
settings.register_profile("as-met", phases=(Phase.explicit, Phase.reuse, Phase.generate))
"""For mutants, of which a test says only that it fails: no smaller example is looked for."""


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add --update-golden and --measure."""
    parser.addoption("--update-golden", action="store_true", help="rewrite the golden texts; read the diff")
    parser.addoption("--measure", action="store_true", help=f"write the seconds of the tests that run to {slow.FILE.name}")


def pytest_configure(config: pytest.Config) -> None:
    """Declare the marks; let processes that tests start receive SIGINT, which a shell makes background jobs ignore."""
    if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    config.addinivalue_line("markers", "slow: a quarter of a second or more, as measured; run under one hash seed only")
    config.addinivalue_line(
        "markers", "long: left to `make long`: what takes minutes or Kafka's jars, and cases beyond the test's share"
    )
    config.addinivalue_line("markers", "waits: run by `make test` on one day of four, and by `make turns`")
    config.addinivalue_line("markers", "share(seconds): the seconds that the cases of this test share in `make test`")
    config.addinivalue_line("markers", "unexpected_errors: steps of controllers may raise unexpected errors")


VERIFIED = {"test_each", "test_symmetry", "test_no_false_verdict", "test_final_states", "test_constraint_and_view", "test_at_most"}
"""The files in whose tests code that is used again is written anew, too, and compared: they search one shape at several bounds."""


@pytest.fixture(autouse=True)
def verified_code(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Have the code of some tests verified, whether it comes from this process or from the cache."""
    if request.module.__name__ in VERIFIED:
        monkeypatch.setenv(VERIFIES, "1")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Mark tests as slow or long by their measured times; with --update-golden, run those that have golden texts, and no others."""
    slow.mark(items)
    if config.getoption("--update-golden"):
        items[:] = [item for item in items if "golden" in getattr(item, "fixturenames", ())]


@cache
def named_checks() -> tuple[NamedCheck, ...]:
    """Return the checks of the project's manifest; several modules of tests ask for them."""
    return tuple(read_manifest(ROOT / "pyproject.toml", MODELS.__getitem__))


def answer(broker: BrokerProcess, request: Any) -> Any:
    """Return a broker's only answer to a request, which it has at once."""
    answers: list[Any] = []
    broker.serve(request, answers.append)
    (singleton,) = answers
    return singleton


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Print how many edges of the model were replayed on the implementation; with --measure, write the seconds of all tests."""
    if terminalreporter.config.getoption("--measure"):
        slow.write(
            [report for of_outcome in terminalreporter.stats.values() for report in of_outcome if hasattr(report, "duration")]
        )
    total: dict[str, list[int]] = {}
    for report in terminalreporter.getreports("passed"):
        for name, value in report.user_properties:
            if name == "replayed" and report.when == "call":
                era, *counts = value
                era = era if "/" in era else f"zookeeper/{era}"
                total[era] = [a + b for a, b in zip(total.get(era, [0, 0, 0]), counts, strict=True)]
    for era, (edges, states, refused) in total.items():
        refusals = f"; {refused:,} of them it refuses, see conformance/replay/rules.py" if refused else ""
        terminalreporter.write_line(
            f"{era}: {edges:,} edges out of {states:,} states replayed on the implementation, which agrees{refusals}"
        )


@pytest.fixture(scope="session", autouse=True)
def compiled_cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Keep compiled code in the folder of `make test`, which its two passes share, or else in one of this run."""
    of_run = tmp_path_factory.getbasetemp()
    before = os.environ.get("KAFKA_SPEC_CACHE")
    folder = Path(before) if before else (of_run.parent if "PYTEST_XDIST_WORKER" in os.environ else of_run) / "compiled"
    folder.mkdir(parents=True, mode=0o700, exist_ok=True)
    os.environ["KAFKA_SPEC_CACHE"] = str(folder)
    yield folder
    if before is None:
        del os.environ["KAFKA_SPEC_CACHE"]


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ZooKeeperServer]:
    """Return a ZooKeeper server that all tests of this process share; each uses its own path."""
    from kafka_spec.impl.zookeeper.coordination.server import ZooKeeperServer

    with ZooKeeperServer(tmp_path_factory.mktemp("zookeeper")) as running:
        yield running


@pytest.fixture(autouse=True)
def errors_of_controllers(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """An unexpected error in a controller, after which it resigns, fails the test, unless the test has the mark."""
    from kafka_spec.impl.zookeeper.controller.controller import KafkaController

    met: list[Exception] = []
    move = KafkaController._move

    def reported(self: KafkaController, error: Exception) -> None:
        met.append(error)
        move(self, error)

    monkeypatch.setattr(KafkaController, "_move", reported)
    yield
    if met and not request.node.get_closest_marker("unexpected_errors"):
        raise met[0]


@pytest.fixture
def golden(request: pytest.FixtureRequest) -> Callable[[str, str], None]:
    """Return a function that compares a text with the golden file of a name, or rewrites the file."""

    def compare(name: str, text: str) -> None:
        path = GOLDEN / name
        if request.config.getoption("--update-golden"):
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        assert path.exists(), f"{name} is missing; run `make golden` and read what it wrote"
        assert path.read_text(encoding="utf-8") == text

    return compare


@pytest.fixture
def inside(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Command:
    """Return a function that runs the command line in this process: as `kafka_spec`, and faster."""
    from kafka_spec.__main__ import main

    monkeypatch.setattr(warnings, "showwarning", warnings.showwarning)

    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        try:
            code = main(arguments)
        except SystemExit as ended:  # the words of the command line are wrong
            assert isinstance(ended.code, int)
            code = ended.code
        shown = capsys.readouterr()
        return subprocess.CompletedProcess(arguments, code, shown.out, shown.err)

    return run


@pytest.fixture(params=ENGINES.values(), ids=ENGINES.keys())
def explore(request: pytest.FixtureRequest) -> Explore:
    """One engine after the other."""
    engine: Explore = request.param
    return engine


@pytest.fixture
def kafka_spec() -> Command:
    """Return a function that runs the command line in its own process."""

    def run(
        *arguments: str, cwd: Path = ROOT, env: dict[str, str] | None = None, timeout: float = 300
    ) -> subprocess.CompletedProcess[str]:
        environment = {**os.environ, "PYTHONPATH": str(ROOT), **(env or {})}
        return subprocess.run(
            [sys.executable, "-m", "kafka_spec", *arguments],
            cwd=cwd,
            env=environment,
            capture_output=True,
            text=True,
            timeout=timeout,
            check=False,
        )

    return run
