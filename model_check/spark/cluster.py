"""Access to Spark: a session that starts in parallel to the search, this package on its workers, jobs whose tasks return reports.

Depends on Spark and processes, not on the search. Only this module, engine.py and states_table.py import pyspark.
"""

from __future__ import annotations

import atexit
import contextlib
import dataclasses
import json
import logging
import os
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import zipfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

from pyspark import SparkConf, SparkContext
from pyspark.errors import PySparkException
from pyspark.java_gateway import launch_gateway
from pyspark.sql import DataFrame, SparkSession

from kafka_spec.model_check.sealed import Damaged
from kafka_spec.model_check.spark.task import SCRATCH, Task
from kafka_spec.model_check.spark.worker import DDL
from kafka_spec.spec.table import SpecError

NEEDS = {"llvmlite": "0.44", "numpy": "2.0", "pyarrow": "17", "pandas": "2.2"}
"""The packages that the workers need, with the oldest versions."""
JAVA = 17
"""The oldest Java that Spark runs on."""
POLL = 0.1
"""Seconds between two checks of the budget while a job runs."""
END_OF_JAVA = 20.0
"""Seconds that a Java process has to end, once its input is closed."""
GARBAGE = 1 << 30
"""Bytes of shuffled data after which a garbage collection of Java is requested."""


class JobFailed(Exception):  # noqa: N818 - says what happened
    """A Spark job failed; the finished levels are intact."""


class Stopped(Exception):  # noqa: N818 - no error
    """The budget is exhausted."""


class Abandoned(Exception):  # noqa: N818 - no error
    """The session is no longer needed."""


class SparkCluster:
    """A Spark session that starts in a separate thread, and the jobs of this package in it."""

    settings: Mapping[str, str] = {
        "spark.sql.adaptive.enabled": "false",  # parts are counted, not guessed
        "spark.sql.execution.arrow.maxRecordsPerBatch": "64",  # rows are blobs
        "spark.sql.shuffle.orderIndependentChecksum.enabled": "false",  # a repeated task sends the same
    }

    def __init__(self, master: str, given: SparkSession | None = None, task: Task | None = None) -> None:
        """Begin to start; `wait` waits for the result. `task` is the description of the run for the tasks of a search."""
        self.master, self.given, self.task = master, given, task
        self.own = given is None and "PYSPARK_GATEWAY_PORT" not in os.environ
        self.folder = Path(tempfile.mkdtemp(prefix=SCRATCH))
        self.garbage = 0
        self.error: BaseException | None = None
        self.closing = False
        self.gateway: Any = None
        """The gateway to the Java process, if this object started it."""
        self.spark: SparkSession = given  # type: ignore[assignment]  # set from the start
        self.before: dict[str, str | None] = {}
        self.thread = threading.Thread(target=self._start, daemon=True)
        self.thread.start()

    # start and end

    def _start(self) -> None:
        try:
            self.spark = self.given or session(self.master, self.folder, self._launched)
            try:
                self.context = self.spark.sparkContext
            except PySparkException:
                raise SpecError("this engine needs a session of its own Java process; Spark Connect has none") from None
            self.before = {name: self.spark.conf.get(name, None) for name in self.settings}
            self.cores = int(self.context.defaultParallelism)
            self.local = str(self.context.master).startswith("local")
            send_package(self.context)
            self.expected = expected()
            if self.task is not None:
                scratch = str(self.folder) if self.local else None
                self.task = dataclasses.replace(self.task, shards=shards(self.cores, self.task.shape.record_bytes), scratch=scratch)
            self.everywhere("prepare", dataclasses.asdict(self.task) if self.task is not None else None)
        except BaseException as error:
            self.error = error

    def _launched(self, gateway: Any) -> None:
        self.gateway = gateway
        if self.closing:
            raise Abandoned

    @property
    def up(self) -> bool:
        """Whether the start has ended, successfully or not."""
        return not self.thread.is_alive()

    def wait(self, stop: Callable[[], str] = lambda: "") -> None:
        """Wait until jobs can be run.

        Raises:
            Stopped: `stop` returned a reason.
            SpecError: Java, the master or a worker is unfit.
        """
        while self.thread.is_alive():
            self.thread.join(POLL)
            if reason := stop():
                raise Stopped(reason)
        if self.error is not None:
            raise self.error

    def close(self) -> None:
        """Remove the tables; abandon an unfinished start. Stop the session, unless it was given: then restore its settings."""
        self.closing = True
        started = not self.thread.is_alive() and self.error is None
        while self.thread.is_alive():
            self._end_java()
            self.thread.join(POLL)
        with contextlib.suppress(Exception):
            if started and self.task is not None and not self.local:
                self.everywhere("forget", dataclasses.asdict(self.task))
        with contextlib.suppress(Exception):
            if self.own and self.spark is not None:
                self.spark.stop()
            for name, value in self.before.items() if not self.own else ():
                self.spark.conf.set(name, value) if value is not None else self.spark.conf.unset(name)
        self._end_java()
        shutil.rmtree(self.folder, ignore_errors=True)

    def _end_java(self) -> None:
        """End the Java process if this object started it; it also exits when its input is closed."""
        if self.gateway is None:
            return
        if self.thread.is_alive():
            self.gateway.proc.stdin.close()
            self.gateway.proc.terminate()  # during its start it may not read its input
        else:
            end_java(self.gateway)

    # jobs

    def everywhere(self, name: str, *arguments: Any) -> None:
        """Run a function of worker.py in so many tasks that every executor probably runs one."""
        tasks = self.spark.range(0, 4 * self.cores, 1, 4 * self.cores)
        given_up = "the session is not needed any more"
        self.collect(
            tasks.mapInArrow(guarded(self.expected, name, arguments), DDL),
            lambda: given_up if self.closing and name != "forget" else "",
        )

    def run(self, base: int, parts: Sequence[int], known: Sequence[int], stop: Callable[[], str]) -> list[dict[str, Any]]:
        """Run a job that expands the level `base` and the levels after it; return the reports of its tasks."""
        assert self.task is not None
        plain = dataclasses.asdict(self.task)
        for name, value in self.settings.items():
            self.spark.conf.set(name, value)
        frame = self.spark.range(0, parts[0], 1, parts[0])
        frame = frame.mapInArrow(guarded(self.expected, "source", (plain, base, parts[0], parts[1])), DDL)
        for number, count in enumerate(parts[1:], 1):
            following = parts[number + 1] if number + 1 < len(parts) else 0
            arguments = (plain, base + number, count, following, list(known))
            frame = frame.repartitionById(count, "target").mapInArrow(guarded(self.expected, "stage", arguments), DDL)
        reports = self.collect(frame.select("report"), stop)
        self.garbage += sum(report.get("sent", 0) for report in reports)
        if self.garbage > GARBAGE:
            # Spark removes shuffled data when Java collects its handles, which is too rare with a small heap
            self.context._jvm.System.gc()  # type: ignore[union-attr]
            self.garbage = 0
        return reports

    def parallel(self, name: str, arguments: tuple[Any, ...], count: int, stop: Callable[[], str]) -> list[dict[str, Any]]:
        """Run a function of worker.py on the numbers below a count, in any order; return the reports."""
        assert self.task is not None
        tasks = self.spark.range(0, count, 1, min(count, 4 * self.cores))
        plain = dataclasses.asdict(self.task)
        return self.collect(tasks.mapInArrow(guarded(self.expected, name, (plain, *arguments)), DDL).select("report"), stop)

    def collect(self, frame: DataFrame, stop: Callable[[], str]) -> list[dict[str, Any]]:
        """Return the reports of a job; cancel it if `stop` returns a reason.

        Raises:
            Stopped: `stop` returned a reason.
            JobFailed: the job failed.
            SpecError: a worker is unfit.
        """
        outcome: list[Any] = []
        tag = f"kafka-spec-{id(self)}"

        def job() -> None:
            self.spark.addTag(tag)
            try:
                outcome.append([json.loads(row["report"]) for row in frame.collect()])
            except BaseException as error:
                outcome.append(error)

        thread = threading.Thread(target=job, daemon=True)
        thread.start()
        reason = ""
        while thread.is_alive():
            thread.join(POLL)
            if not reason and (reason := stop()):
                self.spark.interruptTag(tag)
        if isinstance(outcome[0], list):
            return outcome[0]
        if reason:
            raise Stopped(reason)
        if not isinstance(outcome[0], Exception):
            raise outcome[0]
        raise told(outcome[0]) from outcome[0]


def shards(cores: int, record_bytes: int) -> int:
    """Return the number of tables of seen fingerprints; it is also the most parts that a level can have."""
    wanted = 4 * cores * max(1, record_bytes // 256)
    return max(8, min(1024, 1 << (wanted - 1).bit_length()))


def told(error: Exception) -> Exception:
    """Return the exception to raise for an error of a job, with a readable message."""
    text = str(error)
    if match := re.search(r"NoRoom: (.*)", text):
        return JobFailed(match[1].strip())
    if match := re.search(r"(?:Refused|RuntimeError: refused): (.*)", text):
        return SpecError(match[1].strip())
    if match := re.search(r"Damaged: (.*)", text):
        return Damaged(match[1].strip())
    if match := re.search(r"(?:OS|Permission|FileNotFound|NotADirectory)Error: (?:\[Errno (\d+)\])?(.*)", text):
        return OSError(int(match[1] or 0), match[2].strip())
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return JobFailed(f"Spark gave the job up: {lines[0] if lines else type(error).__name__}")


def guarded(expected: Mapping[str, Any], name: str, arguments: tuple[Any, ...]) -> Callable[[Iterator[Any]], Iterator[Any]]:
    """Return a wrapper of a function of worker.py, which runs only on workers with the expected versions.

    The wrapper is sent by value and takes plain values, so that a worker with another version of the package can report that.
    """
    digest = digest_function()

    def run(batches: Any) -> Any:
        import importlib
        import importlib.metadata
        import sys

        if sys.__dict__.get("_kafka_spec") != expected["package"]:
            for module, least in expected["versions"].items():
                try:
                    there = importlib.metadata.version(module)
                except ImportError:
                    raise RuntimeError(f"refused: a worker has no {module}; install {module}>={least} there") from None
                if [int(n) for n in there.split(".")[:2] if n.isdigit()] < [int(n) for n in least.split(".")]:
                    raise RuntimeError(f"refused: a worker has {module} {there}; install {module}>={least} there")
            if digest() != expected["package"]:
                place = importlib.import_module("kafka_spec").__file__
                raise RuntimeError(
                    f"refused: a worker has another version of kafka-spec at {place}; "
                    f"it must be {expected['kafka-spec']} as here, or none"
                )
            sys.__dict__["_kafka_spec"] = expected["package"]
        return getattr(importlib.import_module("kafka_spec.model_check.spark.worker"), name)(*arguments, batches)

    return run


def digest_function() -> Callable[[], str]:
    """Return the function that computes the digest of the package's sources; it can be sent by value."""

    def digest() -> str:
        import hashlib
        import importlib
        import importlib.resources

        found = hashlib.sha256()

        def add(folder: Any, name: str) -> None:
            for entry in sorted(folder.iterdir(), key=lambda entry: str(entry.name)):
                if entry.is_dir():
                    add(entry, f"{name}/{entry.name}")
                elif entry.name.endswith(".py"):
                    found.update(f"{name}/{entry.name}\n".encode() + entry.read_bytes())

        for package in ("kafka_spec.model_check", "kafka_spec.spec"):
            importlib.import_module(package)
            add(importlib.resources.files(package), package)
        return found.hexdigest()

    return digest


def package_digest() -> str:
    """Return the digest of this package's sources."""
    return digest_function()()


def expected() -> dict[str, Any]:
    """Return the versions and digests that every worker must have."""
    return {"package": package_digest(), "versions": NEEDS, "kafka-spec": version("kafka-spec")}


def send_package(context: SparkContext) -> None:
    """Send this package to all executors of a session, also to later ones: the file is kept until this process ends."""
    application = str(context.applicationId)
    if application in _sent:
        return
    folder = Path(tempfile.mkdtemp(prefix="kafka-spec-package-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    file = folder / f"kafka_spec_{package_digest()[:16]}.zip"
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        root = Path(__file__).parent.parent.parent
        for part in (root, root / "model_check", root / "spec"):
            for path in sorted(part.glob("*.py") if part == root else part.rglob("*.py")):
                archive.write(path, path.relative_to(root.parent))
    context.addPyFile(str(file))
    _sent.add(application)


_sent: set[str] = set()
"""The Spark applications whose executors have this package."""


def end_java(gateway: Any) -> None:
    """End the Java process behind a gateway, which exits when its input is closed, and wait for it."""
    if SparkContext._gateway is gateway:
        # the next session of this process must not reuse it
        SparkContext._gateway = SparkContext._jvm = SparkContext._active_spark_context = None
    gateway.proc.stdin.close()
    try:
        gateway.proc.wait(END_OF_JAVA)
    except subprocess.TimeoutExpired:
        gateway.proc.kill()
        gateway.proc.wait()


def session(master: str, folder: Path, launched: Callable[[Any], None] = lambda gateway: None) -> SparkSession:
    """Return a new session whose log goes to a file, or under spark-submit the existing one.

    `launched` is called with the gateway to Java as soon as it exists.

    Raises:
        SpecError: Java is missing or too old, or the master cannot be reached.
    """
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    if "PYSPARK_GATEWAY_PORT" in os.environ:
        submitted = SparkSession.builder.appName("kafka-spec").getOrCreate()
        submitted.sparkContext.setLogLevel("WARN")
        return submitted
    check_java()
    for name in ("SQLQueryContextLogger", "DataFrameQueryContextLogger"):
        logging.getLogger(name).setLevel(logging.CRITICAL + 1)  # errors are reported once, in a shorter form
    if match := re.fullmatch(r"local\[(\d+|\*)\]", master):
        master = f"local[{match[1]},4]"  # plain local[N] never repeats a task
    settings = folder / "log4j2.properties"
    settings.write_text(
        "rootLogger.level = warn\nrootLogger.appenderRef.file.ref = file\nappender.file.type = File\nappender.file.name = file\n"
        f"appender.file.fileName = {folder}/spark.log\nappender.file.layout.type = PatternLayout\n"
        "appender.file.layout.pattern = %d{HH:mm:ss} %p %c{1}: %m%n%ex\n"
    )
    conf = SparkConf().setAppName("kafka-spec").setMaster(master)
    conf.set("spark.ui.enabled", "false").set("spark.ui.showConsoleProgress", "false")
    conf.set("spark.driver.extraJavaOptions", f"-Dlog4j2.configurationFile={settings} -XX:+UseParallelGC")
    conf.set("spark.executor.extraJavaOptions", "-XX:+UseParallelGC").set("spark.shuffle.checksum.enabled", "false")
    conf.set("spark.driver.memory", os.environ.get("KAFKA_SPEC_DRIVER_MEMORY", "2g"))
    conf.set("spark.shuffle.compress", "false")
    if master.startswith("local") or re.match(r"spark://(127\.0\.0\.1|localhost)\b", master):
        conf.set("spark.driver.host", "127.0.0.1").set("spark.driver.bindAddress", "127.0.0.1")
    errors = (folder / "spark.err").open("w+")
    try:
        gateway = launch_gateway(conf, {"stdout": errors, "stderr": errors})  # type: ignore[no-untyped-call]
        launched(gateway)
        return SparkSession(SparkContext(gateway=gateway, conf=conf))
    except Abandoned:
        raise
    except Exception as error:
        errors.seek(0)
        lines = [line.strip() for line in [*errors.read().splitlines(), *str(error).splitlines()] if line.strip()]
        why = next((line for line in lines if "rror" in line or "xception" in line), lines[-1] if lines else str(error))
        raise SpecError(f"--master {master}: Spark cannot be started: {why}") from None
    finally:
        errors.close()


def check_java() -> None:
    """Raise SpecError, with the fix, unless a Java is installed that Spark runs on."""
    home = os.environ.get("JAVA_HOME")
    java = str(Path(home) / "bin" / "java") if home else shutil.which("java")
    cure = f"install Java {JAVA} or newer (on Debian: apt-get install openjdk-{JAVA}-jre-headless) and set JAVA_HOME to it"
    if java is None or not Path(java).exists():
        raise SpecError(f"--engine spark needs Java, and there is none{f' at {java}' if java else ''}; {cure}")
    told = subprocess.run([java, "-version"], capture_output=True, text=True, check=False).stderr
    match = re.search(r'version "(?:1\.)?(\d+)', told)
    if match is None or int(match[1]) < JAVA:
        raise SpecError(
            f"--engine spark needs Java {JAVA} or newer, and {java} is {match[1] if match else 'none that answers'}; {cure}"
        )
