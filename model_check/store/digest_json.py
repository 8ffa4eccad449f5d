"""JSON files that tell whether they are whole: each contains the digest of the rest."""

from __future__ import annotations

import hashlib
import json
from typing import Any


class Damaged(Exception):  # noqa: N818 - says what happened
    """A file of the folder is missing, or differs from what was written."""


def sealed(content: dict[str, Any]) -> bytes:
    """Return a JSON object with its own digest, as bytes."""
    text = json.dumps(content, sort_keys=True)
    return json.dumps({**content, "digest": hashlib.sha256(text.encode()).hexdigest()}, sort_keys=True, indent=1).encode()


def opened(raw: bytes, name: str) -> dict[str, Any]:
    """Return the object in such a file, with its digest.

    Raises:
        Damaged: the digest does not match.
    """
    try:
        content: dict[str, Any] = json.loads(raw)
        digest = content.pop("digest")
        whole = hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest() == digest
    except (ValueError, KeyError, AttributeError):
        whole = False
    if not whole:
        raise Damaged(f"{name} is damaged")
    return {**content, "digest": digest}
