"""The 64-bit hash of packed states and of edges, in plain Python: the definition that compiled code must match.

wyhash, final version 4 (Wang Yi, public domain), for inputs longer than 16 bytes, and for shorter ones whose length is a multiple
of 8: packed records are padded to a multiple of 8. The tests compare it with the published test vectors. Works on bytes only.
"""

from __future__ import annotations

MASK = (1 << 64) - 1
SECRET = (0xA0761D6478BD642F, 0xE7037ED1A0B428DB, 0x8EBC6AF09C88C6E3, 0x589965CC75374CC3)
"""wyhash's default secret; only longer inputs use the last two."""

DEFAULT_SEED = 0x6B61666B61  # "kafka"
VERIFY_SEED = 0x7665726966790A
"""The second seed, for repeating a check to expose a collision."""


def mix(a: int, b: int) -> int:
    """Return the exclusive or of the low and high halves of the 128-bit product."""
    product = (a & MASK) * (b & MASK)
    return (product ^ (product >> 64)) & MASK


def wyhash(data: bytes, seed: int) -> int:
    """Return the 64-bit wyhash of the data under the seed."""

    def read(offset: int, size: int = 8) -> int:
        return int.from_bytes(data[offset : offset + size], "little")

    length = len(data)
    seed ^= mix(seed ^ SECRET[0], SECRET[1])
    if length <= 16:
        if length >= 4:
            middle = (length >> 3) << 2
            a = read(0, 4) << 32 | read(middle, 4)
            b = read(length - 4, 4) << 32 | read(length - 4 - middle, 4)
        elif length > 0:
            a, b = data[0] << 16 | data[length >> 1] << 8 | data[length - 1], 0
        else:
            a, b = 0, 0
    else:
        left, at = length, 0
        if left >= 48:
            lane1 = lane2 = seed
            while left >= 48:
                seed = mix(read(at) ^ SECRET[1], read(at + 8) ^ seed)
                lane1 = mix(read(at + 16) ^ SECRET[2], read(at + 24) ^ lane1)
                lane2 = mix(read(at + 32) ^ SECRET[3], read(at + 40) ^ lane2)
                at, left = at + 48, left - 48
            seed ^= lane1 ^ lane2
        while left > 16:
            seed = mix(read(at) ^ SECRET[1], read(at + 8) ^ seed)
            at, left = at + 16, left - 16
        a, b = read(at + left - 16), read(at + left - 8)
    product = (a ^ SECRET[1]) * (b ^ seed)
    return mix(product & MASK ^ SECRET[0] ^ length, product >> 64 ^ SECRET[1])


def fingerprint(record: bytes, seed: int = DEFAULT_SEED) -> int:
    """Return the 64-bit fingerprint of a packed state; never 0, which marks a free slot in a set of fingerprints."""
    return wyhash(record, seed) or 1


def edge_hash(source: int, action: int, target: int) -> int:
    """Return the 64-bit hash of an edge: source and target are fingerprints, `action` is the number of rule and binding."""
    return mix(mix(source ^ SECRET[0], action ^ SECRET[1]) ^ SECRET[2], target ^ SECRET[3])


def collision_probability(states: int) -> float:
    """Return the probability that any two of this many states share a 64-bit fingerprint (birthday bound)."""
    return states * (states - 1) / 2.0 / 2.0**64
