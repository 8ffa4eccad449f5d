"""A release of Kafka with its test classes and sources, from Maven: tests are compiled against its jars, and run by JUnit."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tempfile
import xml.etree.ElementTree as ElementTree
import zipfile
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from kafka_spec.conformance.kafka_tests.candidate_fixes import Fix
from kafka_spec.spec.case import release_numbers
from kafka_spec.spec.vocabulary.table import SpecError

MODULES = ("kafka_2.13", "kafka-metadata", "kafka-raft", "kafka-server-common", "kafka-storage", "kafka-clients")
WITH_SOURCES = ("kafka_2.13", "kafka-metadata", "kafka-raft")
OTHERS = {
    "org.junit.platform:junit-platform-console-standalone": "1.10.2",
    "org.mockito:mockito-core": "5.14.2",
    "org.slf4j:slf4j-nop": "1.7.36",
}
DEPENDENCY_PLUGIN = "org.apache.maven.plugins:maven-dependency-plugin:3.6.1"
TESTS_OF = {"4.4.0": "4.3.1"}
"""The releases whose test classes are not published, and whose are used instead."""
MOVED = (
    ((4, 1), "raft.OffsetAndEpoch", "server.common.OffsetAndEpoch"),
    ((4, 3), "common.record.", "common.record.internal."),
    ((4, 4), "common.utils.LogContext", "common.utils.internals.LogContext"),
)
"""Since when classes have another name, with the names before and since."""
WRITTEN_FOR = (4, 3)
"""The release for which the tests were written."""
SECONDS = 600.0
"""The longest that a program may take."""


@dataclass(frozen=True)
class JUnitOutcome:
    """How a test ended: it passed, or `failure` is the first line of what it reports."""

    test: str
    failure: str = ""


class KafkaRelease:
    """A release of Kafka in a folder, which has its jars as `jars`."""

    def __init__(self, version: str, folder: Path) -> None:
        self.version, self.jars = version, folder / version
        self.tests_of = TESTS_OF.get(version, version)

    def fetch(self) -> None:
        """Fetch the jars with Maven, unless they are there.

        Raises:
            SpecError: Maven is missing, or cannot fetch them.
        """
        published = [(f"org.apache.kafka:{module}", self.version, "") for module in MODULES]
        tests = [(f"org.apache.kafka:{module}", self.tests_of, "test") for module in MODULES]
        sources = [
            (f"org.apache.kafka:{module}", self.tests_of, kind) for module in WITH_SOURCES for kind in ("sources", "test-sources")
        ]
        others = [(name, version, "") for name, version in OTHERS.items()]
        fetch(self.jars, f"Kafka {self.version} with its tests", [*published, *tests, *sources, *others])

    def classpath(self, *before: Path) -> str:
        """Return the class path, folders of compiled classes first."""
        jars = sorted(jar for jar in self.jars.glob("*.jar") if "sources" not in jar.name)
        return os.pathsep.join(map(str, [*before, *jars]))

    def source(self, module: str, file: str, kind: str = "sources") -> str:
        """Return a file of Kafka's source."""
        with zipfile.ZipFile(self.jars / f"{module}-{self.tests_of}-{kind}.jar") as archive:
            return self.adapted(archive.read(file).decode("utf-8"))

    def adapted(self, source: str) -> str:
        """Return a source that was written for 4.3 with the names of this release."""
        release = release_numbers(self.version)
        for since, before, now in MOVED:
            if release < since <= WRITTEN_FOR:
                source = source.replace(f"org.apache.kafka.{now}", f"org.apache.kafka.{before}")
            elif WRITTEN_FOR < since <= release:
                source = source.replace(f"org.apache.kafka.{before}", f"org.apache.kafka.{now}")
        return source

    def run(self, sources: dict[str, str], chosen: Sequence[str], fix: Fix | None = None) -> list[JUnitOutcome]:
        """Compile sources, by the path of the file, and run tests: classes, or `class#method`.

        Raises:
            SpecError: the sources do not compile on this release, or JUnit reports nothing.
        """
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            fixed = {} if fix is None else fix.applied(self.source)
            self._compile(folder, {**sources, **fixed})
            return self._junit(folder, chosen)

    def patched(self, fix: Fix, folder: Path) -> Path:
        """Compile a fix in a folder; return where its classes are, which come before the jars on a class path.

        Raises:
            SpecError: the fix does not apply to this release, or does not compile.
        """
        self._compile(folder, dict(fix.applied(self.source)))
        return folder / "classes"

    def _compile(self, folder: Path, sources: dict[str, str]) -> None:
        """Compile Scala first, then Java with what came out."""
        files = []
        for path, text in sources.items():
            file = folder / "src" / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text, encoding="utf-8")
            files.append(str(file))
        classes = folder / "classes"
        classes.mkdir()
        given = ["-nowarn", "-d", str(classes), "-cp", self.classpath(classes)]
        if scala := [file for file in files if file.endswith(".scala")]:
            self._succeed([*self._scala_compiler(), *given, *scala])
        if java := [file for file in files if file.endswith(".java")]:
            self._succeed(["javac", "-proc:none", *given, *java])

    def _succeed(self, command: list[str]) -> None:
        """Run a compiler, and raise what it reports first."""
        done = run(command)
        if done.returncode:
            errors = [line.partition("/src/")[2] for line in done.stderr.splitlines() if ": error: " in line]
            raise SpecError(f"it does not compile on {self.version}: {errors[0] if errors else done.stderr[:200]}")

    def _scala_compiler(self) -> list[str]:
        """Return the command that runs the compiler of the version of Scala that the jars use; fetch it if it is not there."""
        (library,) = (jar for jar in self.jars.glob("scala-library-*.jar"))
        version = library.stem.removeprefix("scala-library-")
        folder = self.jars.parent / f"scala-{version}"
        fetch(folder, f"scala-{version}", [("org.scala-lang:scala-compiler", version, "")])
        return ["java", "-Xss8m", "-cp", os.pathsep.join(map(str, folder.glob("*.jar"))), "scala.tools.nsc.Main"]

    def _junit(self, folder: Path, chosen: Sequence[str]) -> list[JUnitOutcome]:
        console = next(self.jars.glob("junit-platform-console-standalone-*.jar"))
        options = [part for one in chosen for part in (("-m", one) if "#" in one else ("-c", one))]
        path = self.classpath(folder / "classes")
        command = ["java", "-Xmx1g", "-jar", str(console), "execute", "-cp", path, *options, "--reports-dir", str(folder)]
        done = run([*command, "--details=none"])
        report = folder / "TEST-junit-jupiter.xml"
        if not report.exists():
            raise SpecError(f"JUnit reports nothing on {self.version}: {next(iter(done.stderr.splitlines()), 'no message')}")
        return list(outcomes(report.read_text(encoding="utf-8")))


def run(command: list[str]) -> subprocess.CompletedProcess[str]:
    """Run a program, and return what it printed.

    Raises:
        SpecError: it does not end in time.
    """
    try:
        return subprocess.run(command, capture_output=True, text=True, timeout=SECONDS, check=False)
    except subprocess.TimeoutExpired:
        raise SpecError(f"{command[0]} did not end within {SECONDS:.0f} s") from None


def outcomes(report: str) -> Iterable[JUnitOutcome]:
    """Yield the outcomes that a report of JUnit lists, without tests that were skipped."""
    for case in ElementTree.fromstring(report).iter("testcase"):
        name = re.sub(r"\(.*", "", case.attrib["name"])
        failed = next((part for part in (*case.iter("failure"), *case.iter("error"))), None)
        if case.find("skipped") is None:
            yield JUnitOutcome(name, "" if failed is None else _first_line(failed))


def _first_line(failed: ElementTree.Element) -> str:
    kind = failed.attrib.get("type", "").rpartition(".")[2]
    return f"{kind}: {failed.attrib.get('message', '')}".splitlines()[0]


def fetch(folder: Path, what: str, artifacts: Iterable[tuple[str, str, str]]) -> None:
    """Fetch artifacts (group:name, version, classifier) with all that they depend on into a folder, unless they are there.

    Raises:
        SpecError: Maven is missing, or cannot fetch them.
    """
    if (folder / "complete").exists():
        return
    for program in ("mvn", "javac"):
        if shutil.which(program) is None:
            raise SpecError(
                f"{program} is not installed; on Debian: apt-get install --no-install-recommends maven default-jdk-headless"
            )
    folder.mkdir(parents=True, exist_ok=True)
    about = "<groupId>kafka-spec</groupId><artifactId>kafka-tests</artifactId><version>1</version><packaging>pom</packaging>"
    depends = "\n".join(_dependency(*one) for one in artifacts)
    pom = folder / "pom.xml"
    pom.write_text(
        f"<project><modelVersion>4.0.0</modelVersion>{about}<dependencies>\n{depends}\n</dependencies></project>\n",
        encoding="utf-8",
    )
    command = [
        "mvn",
        "-q",
        "-B",
        "-f",
        str(pom),
        f"{DEPENDENCY_PLUGIN}:copy-dependencies",
        f"-DoutputDirectory={folder.absolute()}",
    ]
    done = run(command)
    if done.returncode:
        said = next((line for line in done.stdout.splitlines() if "ERROR" in line), "no message")
        raise SpecError(f"Maven cannot fetch {what}: {said}")
    (folder / "complete").touch()


def _dependency(name: str, version: str, classifier: str) -> str:
    group, _, artifact = name.partition(":")
    kind = f"<classifier>{classifier}</classifier>" if classifier else ""
    alone = "<exclusions><exclusion><groupId>*</groupId><artifactId>*</artifactId></exclusion></exclusions>" if classifier else ""
    named = f"<groupId>{group}</groupId><artifactId>{artifact}</artifactId><version>{version}</version>"
    return f"<dependency>{named}{kind}{alone}</dependency>"
