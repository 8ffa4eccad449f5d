"""An implementation of the lease of lease.py, with a log for `kafka-spec explain`. With `--careless` its storage has a defect.

    python -m examples.lease_server lease.ndjson
    kafka-spec explain examples.lease:FENCED lease.ndjson

The careless storage compares a token with that of the client's own last write, not with the newest of all. The log does not show
that a lease runs out: the lock service does not report it, so it is an unseen step.
"""

import argparse
from dataclasses import dataclass, field
from pathlib import Path

from kafka_spec import EventLog


@dataclass
class LockService:
    """Grants one lease at a time, each under the next token."""

    log: EventLog
    token: int = 0
    holder: int | None = None

    def grant(self, client: int) -> int:
        """Grant the lease to a client; return its token."""
        assert self.holder is None, "somebody has the lease"
        self.token, self.holder = self.token + 1, client
        self.log.event("Grant", client=client, state={"token": self.token, "holder": client})
        return self.token

    def run_out(self) -> None:
        """Let the lease run out; nothing is logged."""
        self.holder = None


@dataclass
class Storage:
    """Accepts a write unless it has seen a larger token."""

    log: EventLog
    careless: bool
    newest: dict[int, int] = field(default_factory=dict)

    def write(self, client: int, token: int) -> bool:
        """Write under a token; return whether the write was accepted."""
        largest = self.newest.get(client, 0) if self.careless else max(self.newest.values(), default=0)
        if token < largest:
            return False
        self.newest[client] = token
        self.log.event("Write", client=client, state={"written": token})
        return True


def main() -> None:
    """Let two clients use the lease; the first one is paused while its lease runs out."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("file", type=Path)
    parser.add_argument("--careless", action="store_true", help="with the defect")
    options = parser.parse_args()
    with EventLog(options.file) as log:
        locks, storage = LockService(log), Storage(log, options.careless)
        first = locks.grant(client=0)
        storage.write(0, first)
        locks.run_out()
        second = locks.grant(client=1)
        storage.write(1, second)
        storage.write(0, first)  # client 0 was paused, and does not know that its lease has run out


if __name__ == "__main__":
    main()
