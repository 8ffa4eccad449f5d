"""Compiles the choice of a record or a container: a value of a packed type from its number (spec/language/domain/counting.py)."""

from __future__ import annotations

from llvmlite import ir

from kafka_spec.model_check.lowering.emit import Emitter
from kafka_spec.model_check.lowering.values import I8, I64, POINTER, ZERO, Ref, Value
from kafka_spec.model_check.record.actions import ActionNumbers
from kafka_spec.model_check.record.layout import Packed
from kafka_spec.spec.language.domain import Array, Scalar, count_of


class Wholes(Emitter):
    """Makes values of types from their numbers; the types are at bounds that are compiled in."""

    actions: ActionNumbers

    def chosen(self, rule: int, name: str, number: ir.Value) -> Value:
        """Return what a parameter of a rule is for a number: the number itself, or the value that it numbers."""
        packed = self.actions.wholes[rule].get(name)
        return number if packed is None else self.whole(packed, number)

    def whole(self, packed: Packed, number: ir.Value) -> Ref:
        """Return a reference to local bytes that hold the value of a number; nothing changes them."""
        local = self.b.bitcast(self.slot(ir.ArrayType(I8, max(1, packed.size))), POINTER)
        self.clear(local, I64(packed.size))
        self._write(packed, local, number)
        return Ref(packed, local, still=True)

    def _write(self, packed: Packed, at: ir.Value, number: ir.Value) -> None:
        """Write the value of a number into zeroed bytes."""
        if isinstance(packed.type, Scalar):
            narrow = self.b.trunc(self.b.add(number, I64(packed.type.low)), ir.IntType(8 * packed.size))
            self.b.store(narrow, self.b.bitcast(at, narrow.type.as_pointer())).align = 1
        elif packed.fields is not None:
            left = self.slot(I64)
            self.b.store(number, left)
            for offset, field in reversed(list(packed.fields.values())):
                self._write(field, self.at(at, offset), self._digit(left, field))
        elif isinstance(packed.type, Array):
            self._items(packed, at, number, packed.type.length)
        else:
            self._sequence(packed, at, number)

    def _digit(self, left: ir.Value, packed: Packed) -> ir.Value:
        """Take the number of a part from a cell that holds the number of the whole."""
        count, number = I64(count_of(packed.type, "")), self.b.load(left)
        self.b.store(self.b.udiv(number, count), left)
        return self.b.urem(number, count)

    def _items(self, packed: Packed, at: ir.Value, number: ir.Value, length: int) -> None:
        """Write so many items, the last first."""
        item, left = packed.item, self.slot(I64)
        assert item is not None
        self.b.store(number, left)

        def write(now: ir.Value) -> None:
            index = self.b.sub(I64(length - 1), now)
            self._write(item, self.at(at, self.b.mul(index, I64(item.size))), self._digit(left, item))

        self.loop(ZERO, I64(length), write)

    def _sequence(self, packed: Packed, at: ir.Value, number: ir.Value) -> None:
        """Write a sequence: shorter ones have the lower numbers."""
        assert packed.item is not None and packed.head is not None
        count, first = count_of(packed.item.type, ""), 0
        for length in range(packed.type.capacity + 1):  # type: ignore[union-attr]
            end = first + count**length
            above, below = self.b.icmp_unsigned(">=", number, I64(first)), self.b.icmp_unsigned("<", number, I64(end))
            with self.b.if_then(self.b.and_(above, below)):
                self.set_length(Ref(packed, at), I64(length))
                self._items(packed, self.at(at, packed.head.size), self.b.sub(number, I64(first)), length)
            first = end
