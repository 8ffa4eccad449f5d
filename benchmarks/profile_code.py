"""Where the time of compiled code goes, by function of the spec, with Linux's `perf`.

    perf record -o FILE python -m benchmarks.profile_code zookeeper/fixed three_bounce [--normal-form] [--runs 5]
    perf report -i FILE --no-children --sort symbol

Machine code in memory has no names for `perf`; this writes them to /tmp/perf-PID.map, where `perf report` looks for them. The first
search loads the code, and is not measured by itself: with enough runs it does not matter.
"""

from __future__ import annotations

import argparse
import os
import re
import struct
from collections.abc import Iterator, Sequence
from pathlib import Path

import llvmlite.binding as llvm

from kafka_spec.model_check.llvm import machine_code
from kafka_spec.model_check.search.embedded import explore
from kafka_spec.spec.catalogue.models import MODELS

SYMBOLS, FUNCTION = 2, 2
"""The kind of ELF's table of symbols, and of a symbol that is a function."""


def functions_of(content: bytes) -> Iterator[tuple[str, int, int]]:
    """Yield the name, the offset and the bytes of each function of an ELF file of 64 bits."""
    (table,) = struct.unpack_from("<Q", content, 0x28)
    size, count = struct.unpack_from("<HH", content, 0x3A)
    sections = [struct.unpack_from("<IIQQQQIIQQ", content, table + number * size) for number in range(count)]
    for section in sections:
        if section[1] != SYMBOLS:
            continue
        names = sections[section[6]][4]
        for at in range(section[4], section[4] + section[5], 24):
            name, kind, _, _, value, length = struct.unpack_from("<IBBHQQ", content, at)
            if kind & 15 == FUNCTION:
                begin = names + name
                yield content[begin : content.index(b"\0", begin)].decode(), value, length


def tell_perf() -> None:
    """From now on, add the functions of loaded machine code to the map of this process."""
    link = machine_code._link

    def reported(content: bytes, k: Sequence[int], tier: machine_code.Tier) -> llvm.ExecutionEngine:
        engine = link(content, k, tier)
        functions = list(functions_of(content))
        base = next(at - value for name, value, _ in functions if (at := engine.get_function_address(name)))
        with Path(f"/tmp/perf-{os.getpid()}.map").open("a", encoding="utf-8") as file:
            file.writelines(f"{base + value:x} {length:x} {re.sub(r'[.][0-9]+$', '', name)}\n" for name, value, length in functions)
        return engine

    machine_code._link = reported


def main() -> None:
    """Search, again and again."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", choices=sorted(MODELS), metavar="MODEL")
    parser.add_argument("bounds", metavar="BOUNDS")
    parser.add_argument("--normal-form", action="store_true")
    parser.add_argument("--runs", type=int, default=5)
    options = parser.parse_args()
    tell_perf()
    spec = MODELS[options.model]
    bounds = next(some.values for some in spec.bound_sets if some.name == options.bounds)
    for _ in range(options.runs):
        result = explore(spec.in_normal_form() if options.normal_form else spec, bounds, fast_from=0)
        print(f"{result.distinct:,} states, {result.generated:,} steps, {result.search_seconds:.2f} s", flush=True)


if __name__ == "__main__":
    main()
