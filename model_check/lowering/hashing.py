"""Compiles the hashes of states and steps: wyhash and the hash of edges, as model_check/fingerprint.py defines them."""

from __future__ import annotations

from llvmlite import ir

from kafka_spec.model_check.fingerprint import SECRET
from kafka_spec.model_check.lowering.emit import Emitter
from kafka_spec.model_check.lowering.values import I32, I64, ONE, ZERO

I128 = ir.IntType(128)


class Hashing(Emitter):
    """Emits the hash of a record of `record_bytes` bytes under the value `seed`, and that of a step."""

    record_bytes: int
    seed: ir.Value

    def edge_hash(self, source: ir.Value, action: ir.Value, target: ir.Value) -> ir.Value:
        """Return the hash of a step, given the fingerprints of its states."""
        xor = self.b.xor
        start = self.mix(xor(source, _word(SECRET[0])), xor(action, _word(SECRET[1])))
        return self.mix(xor(start, _word(SECRET[2])), xor(target, _word(SECRET[3])))

    def mix(self, a: ir.Value, b: ir.Value) -> ir.Value:
        """Return both halves of a product of 128 bits, combined."""
        low, high = self.wide(a, b)
        return self.b.xor(low, high)

    def wide(self, a: ir.Value, b: ir.Value) -> tuple[ir.Value, ir.Value]:
        """Return the lower and the upper half of a product of 128 bits."""
        product = self.b.mul(self.b.zext(a, I128), self.b.zext(b, I128))
        return self.b.trunc(product, I64), self.b.trunc(self.b.lshr(product, I128(64)), I64)

    def hash(self, record: ir.Value) -> ir.Value:
        """Return the fingerprint of a record."""
        size, seed, b = self.record_bytes, self.seed, self.b

        def read(offset: int, type_: ir.IntType = I64) -> ir.Value:
            value = b.load(b.bitcast(self.at(record, offset), type_.as_pointer()))
            value.align = 1
            return value if type_ is I64 else b.zext(value, I64)

        if size <= 16:
            middle = (size >> 3) << 2
            first = b.or_(b.shl(read(0, I32), I64(32)), read(middle, I32))
            last = b.or_(b.shl(read(size - 4, I32), I64(32)), read(size - 4 - middle, I32))
        else:
            left, at = size, 0
            if left >= 48:
                lanes = [seed, seed, seed]
                while left >= 48:
                    for lane in range(3):
                        words = b.xor(read(at + 16 * lane), _word(SECRET[lane + 1])), b.xor(read(at + 16 * lane + 8), lanes[lane])
                        lanes[lane] = self.mix(*words)
                    at, left = at + 48, left - 48
                seed = b.xor(lanes[0], b.xor(lanes[1], lanes[2]))
            while left > 16:
                seed = self.mix(b.xor(read(at), _word(SECRET[1])), b.xor(read(at + 8), seed))
                at, left = at + 16, left - 16
            first, last = read(at + left - 16), read(at + left - 8)
        low, high = self.wide(b.xor(first, _word(SECRET[1])), b.xor(last, seed))
        result = self.mix(b.xor(low, _word(SECRET[0] ^ size)), b.xor(high, _word(SECRET[1])))
        return b.select(b.icmp_signed("==", result, ZERO), ONE, result)


def _word(number: int) -> ir.Constant:
    return I64(number)
