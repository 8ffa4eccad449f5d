"""Access to Spark: a session that starts in parallel to the search, and jobs whose tasks return reports.

A job calls a function of worker.py for some numbers, each in a task of its own. Of a search, the numbers are parts of a level, and
each part has a seat: the executor that has the tables of its shards. Spark waits a while for a busy executor (spark.locality.wait),
then takes another. A part whose executor was lost goes anywhere, until a new executor takes the seat.

Depends on Spark and processes, not on the search. Only this module and states_table.py import pyspark.
"""

from __future__ import annotations

import contextlib
import dataclasses
import logging
import os
import re
import shutil
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from pyspark import RDD, SparkConf, SparkContext
from pyspark.errors import PySparkException
from pyspark.java_gateway import launch_gateway
from pyspark.serializers import CPickleSerializer
from pyspark.sql import SparkSession

from kafka_spec.model_check.budget import Stopped
from kafka_spec.model_check.spark.failures import readable, reported
from kafka_spec.model_check.spark.package import expected, guarded, send_package
from kafka_spec.model_check.spark.task import SCRATCH, Task
from kafka_spec.spec.vocabulary.table import SpecError

JAVA = 17
"""The oldest Java that Spark runs on."""
POLL = 0.1
"""Seconds between two checks of the budget while a job runs."""
END_OF_JAVA = 20.0
"""Seconds that a Java process has to end, once its input is closed."""
JAVA_OPTIONS = "-XX:+UseParallelGC"
"""How Java runs on the driver and on executors."""
QUICK_JAVA = "-XX:TieredStopAtLevel=1"
"""Java's first compiler alone: where Java only starts tasks, its second one takes more time than it saves."""


class Abandoned(Exception):  # noqa: N818 - no error
    """The session is no longer needed."""


class SparkCluster:
    """A Spark session that starts in a separate thread, and the jobs of this package in it."""

    def __init__(self, master: str, given: SparkSession | None = None, task: Task | None = None, queries: bool = False) -> None:
        """Begin to start; `wait` waits for the result.

        `task` is the description of the run for the tasks of a search. With `queries` rows pass through Java.
        """
        self.master, self.given, self.task, self.queries = master, given, task, queries
        self.own = given is None and "PYSPARK_GATEWAY_PORT" not in os.environ
        self.folder = Path(tempfile.mkdtemp(prefix=SCRATCH))
        self.seats: list[str] = []
        """The executor of each seat, as Spark names places; an executor has as many as it has cores; "" after one was lost."""
        self.error: BaseException | None = None
        self.closing = False
        self.gateway: Any = None
        """The gateway to the Java process, if this object started it."""
        self.spark: SparkSession = given  # type: ignore[assignment]  # set from the start
        self.thread = threading.Thread(target=self._start, daemon=True)
        self.thread.start()

    # start and end

    def _start(self) -> None:
        try:
            self.spark = self.given or session(self.master, self.folder, self._launched, self.queries)
            try:
                self.context = self.spark.sparkContext
            except PySparkException:
                raise SpecError("this engine needs a session of its own Java process; Spark Connect has none") from None
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
        """Remove the tables; abandon an unfinished start. Stop the session, unless it was given."""
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
        given_up = "the session is not needed any more"
        self.collect(name, arguments, self.anywhere(4 * self.cores), lambda: given_up if self.closing and name != "forget" else "")

    def anywhere(self, count: int) -> RDD[int]:
        """Return the numbers below a count, each for a task that can run anywhere."""
        return self.context.parallelize(range(count), count)

    def seated(self, parts: int) -> RDD[int]:
        """Return the numbers of a level's parts, each for a task that should run where the part was before."""
        self.take_seats()
        if len({place for place in self.seats if place}) < 2:
            return self.anywhere(parts)
        java: Any = self.context._jvm
        pickled: Any = CPickleSerializer()
        places = [self.seats[part * len(self.seats) // parts] for part in range(parts)]
        pairs = [
            java.scala.Tuple2(pickled.dumps(part), java.PythonUtils.toSeq([place] if place else []))
            for part, place in enumerate(places)
        ]
        kind = getattr(getattr(java.scala.reflect, "ClassTag$"), "MODULE$").AnyRef()
        numbers = self.context._jsc.sc().makeRDD(java.PythonUtils.toSeq(pairs), kind)
        return RDD(numbers.toJavaRDD(), self.context, pickled)

    def take_seats(self) -> None:
        """Give the cores of all executors seats."""
        known = self.context._jsc.sc().statusStore().executorList(True)
        executors = [known.apply(index) for index in range(known.size())]
        cores = {f"executor_{one.hostPort().rpartition(':')[0]}_{one.id()}": one.totalCores() for one in executors}
        self.seats = seats(self.seats, cores)
        self.cores = max(self.cores, len(self.seats))

    def run(self, name: str, parts: int, arguments: tuple[Any, ...], stop: Callable[[], str]) -> list[dict[str, Any]]:
        """Run a function of worker.py on the parts of a level; return the reports."""
        return self.collect(name, (self.plain, *arguments), self.seated(parts), stop)

    def parallel(self, name: str, arguments: tuple[Any, ...], count: int, stop: Callable[[], str]) -> list[dict[str, Any]]:
        """Run a function of worker.py on the numbers below a count, anywhere; return the reports."""
        return self.collect(name, (self.plain, *arguments), self.anywhere(count), stop)

    @property
    def plain(self) -> dict[str, Any]:
        """The description of the run, as plain values."""
        assert self.task is not None
        return dataclasses.asdict(self.task)

    def collect(self, name: str, arguments: tuple[Any, ...], numbers: RDD[int], stop: Callable[[], str]) -> list[dict[str, Any]]:
        """Run a function of worker.py on some numbers; return the reports. Cancel the job if `stop` returns a reason.

        Raises:
            Stopped: `stop` returned a reason.
            JobFailed: the job failed.
            SpecError: a worker is unfit.
        """
        outcome: list[Any] = []
        tag = f"kafka-spec-{id(self)}"

        def job() -> None:
            self.context.addJobTag(tag)
            try:
                outcome.append(numbers.mapPartitions(guarded(self.expected, name, arguments)).collect())
            except BaseException as error:
                outcome.append(error)

        thread = threading.Thread(target=job, daemon=True)
        thread.start()
        reason = ""
        while thread.is_alive():
            thread.join(POLL)
            if not reason and (reason := stop()):
                self.context.cancelJobsWithTag(tag)
        if isinstance(outcome[0], list):
            return outcome[0]
        if reason:
            raise Stopped(reason)
        if not isinstance(outcome[0], Exception):
            raise outcome[0]
        raise reported(outcome[0]) from outcome[0]


def seats(taken: Sequence[str], cores: Mapping[str, int]) -> list[str]:
    """Return the executor of each seat, as far as possible that of before: `cores` says how many seats each executor needs.

    The seats of lost executors go to new ones, or are empty; further new ones sit behind.
    """
    new = [place for place, count in sorted(cores.items()) for _ in range(count - taken.count(place))]
    return [place if place in cores else new.pop(0) if new else "" for place in taken] + new


def shards(cores: int, record_bytes: int) -> int:
    """Return the number of tables of seen fingerprints; it is also the most parts that a level can have."""
    wanted = 4 * cores * max(1, record_bytes // 256)
    return max(8, min(1024, 1 << (wanted - 1).bit_length()))


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


def session(
    master: str, folder: Path, launched: Callable[[Any], None] = lambda gateway: None, queries: bool = True
) -> SparkSession:
    """Return a new session whose log goes to a file, or under spark-submit the existing one.

    `launched` is called with the gateway to Java as soon as it exists. Without `queries` no rows pass through Java.

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
    java = JAVA_OPTIONS if queries else f"{JAVA_OPTIONS} {QUICK_JAVA}"
    conf = SparkConf().setAppName("kafka-spec").setMaster(master)
    conf.set("spark.ui.enabled", "false").set("spark.ui.showConsoleProgress", "false")
    conf.set("spark.driver.extraJavaOptions", f"-Dlog4j2.configurationFile={settings} {java}")
    conf.set("spark.executor.extraJavaOptions", java).set("spark.shuffle.checksum.enabled", "false")
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
        lines = readable(f"{errors.read()}\n{error}")
        why = next((line for line in lines if "rror" in line or "xception" in line), lines[-1] if lines else str(error))
        log = folder / "spark.log"
        if log.exists() and (match := re.search(r"Reason: (.*)", log.read_text())):  # the exception tells what it led to
            why = match[1].strip()
        raise SpecError(f"--master {master}: Spark cannot be started: {why}") from None
    finally:
        errors.close()


@contextlib.contextmanager
def temporary_session(master: str, folder: Path, queries: bool = True) -> Iterator[SparkSession]:
    """Yield a session as `session` returns it; stop it at the end, with the Java process that was started for it."""
    gateways: list[Any] = []
    spark = session(master, folder, gateways.append, queries)
    try:
        yield spark
    finally:
        with contextlib.suppress(Exception):
            spark.stop()
        for gateway in gateways:
            end_java(gateway)


def check_java() -> None:
    """Raise SpecError, with the fix, unless a Java is installed that Spark runs on."""
    home = os.environ.get("JAVA_HOME")
    java = str(Path(home) / "bin" / "java") if home else shutil.which("java")
    cure = f"install Java {JAVA} or newer (on Debian: apt-get install openjdk-{JAVA}-jre-headless) and set JAVA_HOME to it"
    if java is None or not Path(java).exists():
        raise SpecError(f"--engine spark needs Java, and there is none{f' at {java}' if java else ''}; {cure}")
    reported = subprocess.run([java, "-version"], capture_output=True, text=True, check=False).stderr
    match = re.search(r'version "(?:1\.)?(\d+)', reported)
    if match is None or int(match[1]) < JAVA:
        raise SpecError(
            f"--engine spark needs Java {JAVA} or newer, and {java} is {match[1] if match else 'none that answers'}; {cure}"
        )
