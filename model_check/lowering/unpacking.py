"""Compiles `unpack`, which restores records from the rows of a codec, and checks each by its fingerprint.

Does not know what a row looks like: that is the codec's matter.
"""

from __future__ import annotations

from abc import ABC, abstractmethod

from llvmlite import ir

from kafka_spec.model_check.layout import Layout
from kafka_spec.model_check.lowering.compiler import Compiler
from kafka_spec.model_check.lowering.hashing import Hashing
from kafka_spec.model_check.lowering.values import I64, POINTER, WORD, ZERO


class Unpack(Hashing, ABC):
    """unpack(rows, size, marks, known, count, seed, states): restores records from rows of so many bytes.

    Returns the first whose fingerprint is another, or that has no row, or -1. If no fingerprints are known, they are written.
    """

    def __init__(self, compiler: Compiler, layout: Layout) -> None:
        types = [POINTER, I64, WORD, I64, I64, I64, POINTER]
        code = ir.Function(compiler.module, ir.FunctionType(I64, types), "unpack")
        super().__init__(compiler, code, None)
        rows, size, marks, known, count, self.seed, states = code.args
        self.begin(layout)
        read = self.slot(I64, ZERO)

        def record(now: ir.Value) -> None:
            state, start, mark = self.at(states, self.b.mul(now, I64(layout.size))), self.b.load(read), self.b.gep(marks, [now])
            with self.b.if_then(self.b.icmp_unsigned(">=", start, size), likely=False):
                self.b.ret(now)
            self.clear(state, I64(layout.size))
            used = self.restore(state, self.at(rows, start))
            found = self.hash(state)
            with self.b.if_then(self.b.icmp_signed("==", known, ZERO)):
                self.b.store(found, mark)
            with self.b.if_then(self.b.icmp_signed("!=", found, self.b.load(mark)), likely=False):
                self.b.ret(now)
            self.b.store(self.b.add(start, used), read)

        self.loop(ZERO, count, record)
        self.b.ret(I64(-1))

    @abstractmethod
    def begin(self, layout: Layout) -> None:
        """Allocate the place in the row."""

    @abstractmethod
    def restore(self, state: ir.Value, row: ir.Value) -> ir.Value:
        """Emit the writing of one record over zeros; return the bytes of its row."""
