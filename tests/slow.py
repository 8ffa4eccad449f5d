"""Which tests are slow, and which of them `make test` leaves to `make long`: decided by measured times, not by marks.

`make seconds` measures all tests and writes tests/golden/seconds.toml. A test of a quarter of a second or more runs under one hash
seed only. The cases of one test share some seconds in `make test`; those beyond them are long. A test of two seconds or more
has its turn on one day of four, and is long on the others, unless its mark says what its cases share. KAFKA_SPEC_TEST_DAY=N makes
it another day.
"""

from __future__ import annotations

import json
import math
import os
import tomllib
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from datetime import date
from pathlib import Path
from typing import Any, Protocol
from zlib import crc32

FILE = Path(__file__).parent / "golden" / "seconds.toml"
HEAD = "# Written by `make seconds`: the seconds of each test that takes a quarter of a second or more, as powers of two.\n"
LEAST = 0.25
"""The seconds from which a test is slow."""
SHARE = 5
"""The seconds that the cases of one test share in `make test`, unless its mark `share` says otherwise."""

TURNS, SEVERAL = 4, 2
"""The days after which every test had its turn, and the seconds from which a test waits for it."""
TODAY = int(os.environ.setdefault("KAFKA_SPEC_TEST_DAY", str(date.today().toordinal())))
"""The number of the day: that on which the tests began, for the processes that they start, too."""


class Test(Protocol):
    """A collected test."""

    @property
    def nodeid(self) -> str:
        """Its file, function and case."""

    def add_marker(self, marker: str) -> None:
        """Mark it."""

    def get_closest_marker(self, name: str) -> Any:
        """Return a mark, None if it does not have it."""


class Report(Protocol):
    """The report of one phase of a test."""

    nodeid: str
    when: str
    duration: float


def measured() -> dict[str, float]:
    """Return the seconds of each slow test."""
    return tomllib.loads(FILE.read_text(encoding="utf-8"))


def has_turn(name: str, day: int) -> bool:
    """Whether what waits for its turn has it on a day."""
    return crc32(name.encode()) % TURNS == day % TURNS


def mark(tests: Iterable[Test], day: int = TODAY) -> None:
    """Mark the tests that are slow, and those that are long on a day."""
    seconds, cases = measured(), defaultdict[str, list[Test]](list)
    for test in tests:
        cases[function_of(test.nodeid)].append(test)
        if test.nodeid in seconds:
            test.add_marker("slow")
    for of_one in cases.values():
        share = of_one[0].get_closest_marker("share")
        whole = {name: int(spent) for name, spent in seconds.items()}
        short = {test.nodeid: whole.get(test.nodeid, 0) for test in of_one if not test.get_closest_marker("long")}
        kept = kept_cases(short, share.args[0] if share else SHARE)
        for test in of_one:
            waits = share is None and short.get(test.nodeid, 0) >= SEVERAL
            if waits and test.nodeid in kept:
                test.add_marker("waits")
            if test.nodeid not in kept or (waits and not has_turn(test.nodeid, day)):
                test.add_marker("long")


def function_of(name: str) -> str:
    """Return the name of a test without its case."""
    return name.partition("[")[0]


def kept_cases(seconds: dict[str, int], share: int) -> set[str]:
    """Return the cases of one test that `make test` runs: as many as share the seconds, spread over all, and one at least."""
    kept, spent = set[str](), 0
    for name in sorted(seconds, key=lambda name: (seconds[name] > share, crc32(name.encode()))):
        if not seconds[name] or not spent or spent + seconds[name] <= share:
            kept.add(name)
            spent += seconds[name]
    return kept


def write(reports: Sequence[Report]) -> None:
    """Write the seconds of the tests that ran to their end; those of others stay as they were."""
    ended = {report.nodeid for report in reports if report.when == "call"}
    ran = Counter[str]()
    for report in reports:
        if report.nodeid in ended:
            ran[report.nodeid] += report.duration
    known = {name: seconds for name, seconds in measured().items() if name not in ran}
    known |= {name: 2 ** round(math.log2(seconds)) for name, seconds in ran.items() if seconds >= LEAST}
    FILE.write_text(HEAD + "".join(f"{json.dumps(name)} = {known[name]}\n" for name in sorted(known)), encoding="utf-8")
