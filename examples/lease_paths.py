"""Takes paths of the model lease.py on the implementation lease_server.py: what the model allows happens, what it refuses does not.

    kafka-spec paths examples.lease:FENCED --refused --output json:paths.json
    python -m examples.lease_paths paths.json

With `--careless` the storage has its defect, and the first difference is printed.
"""

import argparse
import io
import json
import sys
from pathlib import Path

from examples.lease_server import LockService, Storage
from kafka_spec import EventLog


class Implementation:
    """The lock service and the storage, and what each client believes to have."""

    def __init__(self, careless: bool) -> None:
        log = EventLog(io.StringIO())
        self.locks, self.storage = LockService(log), Storage(log, careless)
        self.tokens: dict[int, int] = {}

    def take(self, step: dict) -> bool:
        """Take a step; return whether the implementation lets it happen."""
        event, client = step["event"], step.get("client", -1)
        if event == "Grant":
            if self.locks.holder is not None:
                return False
            self.tokens[client] = self.locks.grant(client)
        elif event == "RunOut":
            if self.locks.holder is None:
                return False
            self.locks.run_out()
        elif event == "Write":
            return client in self.tokens and self.storage.write(client, self.tokens[client])
        elif event == "Notice":
            return self.tokens.pop(client, None) is not None
        return True

    def differences(self, expected: dict) -> list[str]:
        """Return what the implementation has otherwise than the state of the model."""
        holder = -1 if self.locks.holder is None else self.locks.holder
        seen = {"holder": holder, "token": self.locks.token, "written": max(self.storage.newest.values(), default=0)}
        return [f"{name} is {value}, not {expected[name]}" for name, value in seen.items() if value != expected[name]]


def taken(steps: list[dict], careless: bool) -> Implementation:
    """Return an implementation that has taken some steps."""
    implementation = Implementation(careless)
    for step in steps:
        implementation.take(step)
    return implementation


def difference(path: dict, careless: bool) -> str:
    """Take a path; return the first difference, or an empty text."""
    implementation = Implementation(careless)
    for number, line in enumerate([path["start"], *path["steps"]]):
        if number and not implementation.take(line):
            return f"step {number}, {line['event']}, does not happen"
        if found := implementation.differences(line["state"]):
            return f"after step {number} {found[0]}"
        for step in line["refused"]:
            if "client" in step and taken(path["steps"][:number], careless).take(step):
                return f"after step {number} {step['event']} of client {step['client']} happens; {step['guard']} refuses it"
    return ""


def main() -> None:
    """Take all paths of a file."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", type=Path)
    parser.add_argument("--careless", action="store_true", help="with the defect")
    options = parser.parse_args()
    paths = json.loads(options.file.read_text(encoding="utf-8"))["paths"]
    for number, path in enumerate(paths, 1):
        if found := difference(path, options.careless):
            sys.exit(f"path {number}, {found}")
    print(f"{len(paths)} paths are taken, and nothing differs")


if __name__ == "__main__":
    main()
