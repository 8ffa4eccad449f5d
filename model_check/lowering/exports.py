"""Exports functions and counters from the module of code."""

from __future__ import annotations

from llvmlite import ir

from kafka_spec.model_check.lowering.compiler import Compiler
from kafka_spec.model_check.lowering.emit import Emitter
from kafka_spec.model_check.lowering.values import I64, WORD, ZERO


class Export(Emitter):
    """Exports a compiled function of the engine from the module; the function cannot fault."""

    def __init__(self, compiler: Compiler, name: str, inner: ir.Function) -> None:
        type_ = inner.function_type
        code = ir.Function(compiler.module, ir.FunctionType(type_.return_type, type_.args[:-1]), name)
        super().__init__(compiler, code, None)
        result = self.b.call(inner, [*code.args, self.slot(I64, ZERO)])
        self.b.ret_void() if isinstance(type_.return_type, ir.VoidType) else self.b.ret(result)


class Tallied(Emitter):
    """Writes the counters of coverage to an array: tallied(counts)."""

    def __init__(self, compiler: Compiler) -> None:
        code = ir.Function(compiler.module, ir.FunctionType(ir.VoidType(), [WORD]), "tallied")
        super().__init__(compiler, code, None)
        for number, cell in enumerate(compiler.tallies.values()):
            self.b.store(self.b.load(cell), self.b.gep(code.args[0], [I64(number)]))
        self.b.ret_void()
