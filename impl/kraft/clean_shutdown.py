"""The file that an orderly stop leaves: the broker epoch under which the logs are complete. The next start reads and deletes it.

Source: Kafka 3.9 CleanShutdownFileHandler.java (KIP-966).
"""

from __future__ import annotations

import json
from pathlib import Path

from kafka_spec.impl.protocol.controller_requests import NO_EPOCH

NAME = ".kafka_cleanshutdown"


def write_clean_shutdown(folder: Path, broker_epoch: int) -> None:
    """Write the file into a broker's data folder."""
    (folder / NAME).write_text(json.dumps({"version": 0, "brokerEpoch": broker_epoch}), encoding="utf-8")


def read_clean_shutdown(folder: Path) -> int:
    """Return the broker epoch of the file, -1 if there is none or it cannot be read."""
    try:
        epoch = json.loads((folder / NAME).read_text(encoding="utf-8"))["brokerEpoch"]
    except (FileNotFoundError, ValueError, KeyError, TypeError):
        return NO_EPOCH
    return epoch if isinstance(epoch, int) else NO_EPOCH


def delete_clean_shutdown(folder: Path) -> None:
    """Delete the file, if there is one."""
    (folder / NAME).unlink(missing_ok=True)
