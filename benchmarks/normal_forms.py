"""What normal forms save: pairs of searches of families of the control plane, of all states and of normal forms.

    python -m benchmarks.normal_forms [--pairs 3] [--threads 1] [FAMILY ...]

The families are those that the manifest reduces, with the properties that it checks there. For each this prints the states, the
factor between them, and the least and the largest processor time of each kind of search, in seconds; then the same of all
families together. The code is the fast one; its compilation and its loading are left out. The two searches of a pair run one after
the other, so that a busy machine slows both; processor time is what other programs disturb least, and on a machine with nothing
else to do it is the time that passes on one thread.
"""

from __future__ import annotations

import argparse
import gc
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from kafka_spec.model_check.manifest import read_manifest
from kafka_spec.model_check.named_check import NamedCheck
from kafka_spec.model_check.search.embedded import Search, explore
from kafka_spec.spec.catalogue.models import MODELS

MANIFEST = Path(__file__).resolve().parent.parent / "pyproject.toml"


@dataclass
class Pairs:
    """The searches of one family, without (False) and with its normal form."""

    times: Mapping[bool, list[float]] = field(default_factory=lambda: {False: [], True: []})
    """Seconds of the processor."""
    states: dict[bool, int] = field(default_factory=dict)

    @property
    def fewer(self) -> float:
        """The states of the one search for each of the other."""
        return self.states[False] / self.states[True]

    @property
    def faster(self) -> float:
        """The least time of the one search for that of the other."""
        return min(self.times[False]) / min(self.times[True])


def families(singleton: Sequence[str] = ()) -> Iterator[tuple[str, NamedCheck]]:
    """Yield the checks of `zookeeper/fixed` that the manifest reduces with the names of their families, or only some families."""
    for named in read_manifest(MANIFEST, MODELS.__getitem__):
        name = named.name.removeprefix("zookeeper/fixed-")
        if named.spec.name == "zookeeper/fixed" and named.normal_form and (not singleton or name in singleton):
            yield name, named


def searched(named: NamedCheck, reduced: bool, threads: int) -> tuple[float, int]:
    """Return the processor seconds of a search from its first level on, and its states."""
    began: list[float] = []

    def note(search: Search) -> None:
        if not began:
            gc.collect()
            began.append(time.process_time())

    spec = named.spec.in_normal_form() if reduced else named.spec
    claims = [spec.property(name) for name in named.properties] if named.properties is not None else None
    result = explore(spec, named.bounds, properties=claims, threads=threads, on_level=note, fast_from=0)
    return time.process_time() - began[0], result.distinct


def measured(named: NamedCheck, pairs: int, threads: int) -> Pairs:
    """Measure a family."""
    found = Pairs()
    for _ in range(pairs):
        for reduced in (False, True):
            seconds, found.states[reduced] = searched(named, reduced, threads)
            found.times[reduced].append(seconds)
    return found


def together(some: Iterable[Pairs]) -> Pairs:
    """Return the sums of some families."""
    every = list(some)
    times = {kind: [sum(pair) for pair in zip(*(one.times[kind] for one in every), strict=True)] for kind in (False, True)}
    return Pairs(times, {kind: sum(one.states[kind] for one in every) for kind in (False, True)})


def line(name: str, found: Pairs) -> str:
    """Return a line of the table."""
    spans = [f"{min(some):.2f} to {max(some):.2f}" for some in found.times.values()]
    states, forms = (f"{found.states[kind]:>12,}" for kind in (False, True))
    return f"{name:<26} {states} {forms} {found.fewer:>6.2f} {spans[0]:>18} {spans[1]:>18} {found.faster:>7.2f}"


def main() -> None:
    """Measure the families that the command line names, or all."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("families", nargs="*", metavar="FAMILY", help="such as three-bounce; the default is all")
    parser.add_argument("--pairs", type=int, default=3)
    parser.add_argument("--threads", type=int, default=1)
    options = parser.parse_args()
    heads = (("all states", 12), ("normal forms", 12), ("fewer", 6), ("seconds, all", 18), ("normal forms", 18), ("faster", 7))
    print(f"{'family':<26}", *(f"{head:>{width}}" for head, width in heads))
    every = []
    for name, named in families(options.families):
        every.append(measured(named, options.pairs, options.threads))
        print(line(name, every[-1]), flush=True)
    if len(every) > 1:
        print(line("together", together(every)))


if __name__ == "__main__":
    main()
