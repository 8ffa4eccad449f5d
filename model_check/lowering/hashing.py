"""Compiles the hashes of states and steps: wyhash and the hash of edges, as model_check/record/fingerprint.py defines them."""

from __future__ import annotations

from collections.abc import Callable

from llvmlite import ir

from kafka_spec.model_check.lowering.emit import Emitter
from kafka_spec.model_check.lowering.values import I32, I64, ONE, ZERO
from kafka_spec.model_check.record.fingerprint import SECRET

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
        """Return the hash of `record_bytes` bytes."""
        size, seed = self.record_bytes, self.seed
        if size <= 16:
            middle = (size >> 3) << 2
            first = self.b.or_(self.b.shl(self.read(record, 0, I32), I64(32)), self.read(record, middle, I32))
            last = self.read(record, size - 4 - middle, I32)
            last = self.b.or_(self.b.shl(self.read(record, size - 4, I32), I64(32)), last)
        else:
            left, at = size, 0
            if left >= 48:
                lanes = [seed, seed, seed]
                while left >= 48:
                    lanes = self.lanes([self.read(record, at + 8 * n) for n in range(6)], lanes)
                    at, left = at + 48, left - 48
                seed = self.b.xor(lanes[0], self.b.xor(lanes[1], lanes[2]))
            while left > 16:
                seed = self.pair(self.read(record, at), self.read(record, at + 8), seed)
                at, left = at + 16, left - 16
            first, last = self.read(record, at + left - 16), self.read(record, at + left - 8)
        return self.ended(first, last, seed, I64(size))

    def hash_on(self, row: ir.Value, begin: int, size: ir.Value, lanes: list[ir.Value]) -> ir.Value:
        """Return the hash of as many bytes as `size` says, given the running values after those before `begin`.

        These are one or more pieces of 48 bytes.
        """
        running = [self.slot(I64, lane) for lane in lanes]
        at, seed = self.slot(I64, I64(begin)), self.slot(I64)

        def pieces(of: int, least: int, body: Callable[[ir.Value], None]) -> None:
            """Emit a loop over pieces of so many bytes, as long as at least so many are left."""
            head, inside, on = (self.code.append_basic_block(name) for name in ("head", "piece", "on"))
            self.b.branch(head)
            self.b.position_at_end(head)
            now = self.b.load(at)
            self.b.cbranch(self.b.icmp_unsigned(">=", self.b.sub(size, now), I64(least)), inside, on)
            self.b.position_at_end(inside)
            body(self.at(row, now))
            self.b.store(self.b.add(now, I64(of)), at)
            self.b.branch(head)
            self.b.position_at_end(on)

        def six(piece: ir.Value) -> None:
            mixed = self.lanes([self.read(piece, 8 * n) for n in range(6)], [self.b.load(lane) for lane in running])
            for lane, value in zip(running, mixed, strict=True):
                self.b.store(value, lane)

        pieces(48, 48, six)
        one, two, three = (self.b.load(lane) for lane in running)
        self.b.store(self.b.xor(one, self.b.xor(two, three)), seed)
        pieces(16, 17, lambda piece: self.b.store(self.pair(self.read(piece, 0), self.read(piece, 8), self.b.load(seed)), seed))
        end = self.at(row, size)
        return self.ended(self.read(end, -16), self.read(end, -8), self.b.load(seed), size)

    def read(self, pointer: ir.Value, offset: int, type_: ir.IntType = I64) -> ir.Value:
        """Return some bytes as a number."""
        value = self.b.load(self.b.bitcast(self.at(pointer, offset), type_.as_pointer()))
        value.align = 1
        return value if type_ is I64 else self.b.zext(value, I64)

    def lanes(self, words: list[ir.Value], lanes: list[ir.Value]) -> list[ir.Value]:
        """Return the three running values of the hash after six words."""
        mixed = []
        for n, lane in enumerate(lanes):
            mixed.append(self.mix(self.b.xor(words[2 * n], _word(SECRET[n + 1])), self.b.xor(words[2 * n + 1], lane)))
        return mixed

    def pair(self, first: ir.Value, second: ir.Value, seed: ir.Value) -> ir.Value:
        """Return the running value of the hash after two words."""
        return self.mix(self.b.xor(first, _word(SECRET[1])), self.b.xor(second, seed))

    def ended(self, first: ir.Value, last: ir.Value, seed: ir.Value, size: ir.Value) -> ir.Value:
        """Return the hash, given its last two words, the running value and the bytes of all; never 0."""
        low, high = self.wide(self.b.xor(first, _word(SECRET[1])), self.b.xor(last, seed))
        result = self.mix(self.b.xor(low, self.b.xor(size, _word(SECRET[0]))), self.b.xor(high, _word(SECRET[1])))
        return self.b.select(self.b.icmp_signed("==", result, ZERO), ONE, result)


def _word(number: int) -> ir.Constant:
    return I64(number)
