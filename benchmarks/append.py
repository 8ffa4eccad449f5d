"""How many small records a second one partition's log takes: `python -m benchmarks.append`."""

from __future__ import annotations

import tempfile
import time
from pathlib import Path

from impl.log import batches
from impl.log.log import PartitionLog

RECORDS = 200_000


def main() -> None:
    """Append records of 20 bytes, in batches of several sizes, each batch built, checked, stamped and written."""
    for size in (1, 10, 100):
        with tempfile.TemporaryDirectory() as folder:
            log = PartitionLog(Path(folder) / "orders-0")
            start = time.perf_counter()
            for _ in range(RECORDS // size):
                log.append_as_leader(bytes(batches.build([(0, None, b"twenty bytes of value")] * size)), 0)
            print(f"{size:4} records a batch: {RECORDS / (time.perf_counter() - start):9,.0f} records a second")
            log.close()


if __name__ == "__main__":
    main()
