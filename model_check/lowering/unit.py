"""The LLVM module under construction: its constants, its faults, and where its functions are asked for.

Knows no language: how a function of a spec becomes code is the subclass's (compiler.py), so what emits code can ask for a
callee without knowing how it is compiled.
"""

from __future__ import annotations

import abc
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from llvmlite import ir

from kafka_spec.model_check.layout import Packed, put
from kafka_spec.model_check.lowering.values import FAULT_KINDS, I8, I64, Compiled, Fault, Shape, llvm_type
from kafka_spec.spec.table import Machine


class Unit(abc.ABC):
    """One module of LLVM code; `constants` are the names of `k` in the order of its array."""

    def __init__(
        self,
        root: Packed,
        constants: Iterable[str],
        literals: dict[str, int] | None = None,
        machines: Iterable[Machine] = (),
        checked: bool = True,
    ) -> None:
        self.module = ir.Module("kafka_spec")
        self.machines = {machine.name: machine for machine in machines}
        """The tables that `fire` uses: a version that replaces a machine replaces it everywhere."""
        self.checked = checked
        """False leaves the checks out, to measure what they cost."""
        self.root = root
        self.constants = tuple(constants)
        """The names of `k`; the code reads the values at run time, and here nobody knows them."""
        self.literals = literals or {}
        """Names that trusted functions read as numbers, such as the size of a record."""
        self.faults: dict[Fault, int] = {}
        self.functions: dict[tuple[Any, ...], Compiled] = {}
        self._templates: dict[int, ir.GlobalVariable] = {}

    def fault_code(self, kind: str, place: str, message: str) -> int:
        """Return the number of a fault; its remainder by 4 is its kind."""
        number = self.faults.setdefault(Fault(kind, place, message), len(self.faults) + 1)
        return number * 4 + FAULT_KINDS[kind]

    def fault_of(self, code: int) -> Fault:
        """Return the fault of a number."""
        return list(self.faults)[code // 4 - 1]

    def template(self, packed: Packed) -> ir.GlobalVariable:
        """Return the bytes of a fresh record."""
        if id(packed) not in self._templates:
            record = bytearray(packed.size)
            put(packed, packed.type.fresh(), record, 0)
            type_ = ir.ArrayType(I8, packed.size)
            variable = ir.GlobalVariable(self.module, type_, f"fresh.{len(self._templates)}")
            variable.initializer = ir.Constant(type_, record)
            variable.global_constant, variable.linkage = True, "internal"
            self._templates[id(packed)] = variable
        return self._templates[id(packed)]

    def intrinsic(self, name: str, result: ir.Type, arguments: Sequence[ir.Type]) -> ir.Function:
        """Return the declaration of an LLVM intrinsic."""
        known = self.module.globals.get(name)
        return known or ir.Function(self.module, ir.FunctionType(result, arguments), name)

    @abc.abstractmethod
    def function(self, function: Callable[..., Any], shapes: tuple[Shape, ...], trusted: bool = False) -> Compiled:
        """Return the function compiled for arguments of these shapes."""

    @abc.abstractmethod
    def fire(self, machine: Machine, trigger: str, s: Packed, entity: int) -> Compiled:
        """Return the function that lets a machine's table pick and run the row of a trigger."""

    def declare(self, name: str, shapes: tuple[Shape, ...], results: int, inline: bool) -> Compiled:
        """Declare a function of the module: `results` is how many integers it returns."""
        result = ir.VoidType() if results == 0 else I64 if results == 1 else ir.LiteralStructType([I64] * results)
        arguments = [*(llvm_type(shape) for shape in shapes), I64.as_pointer()]
        code = ir.Function(self.module, ir.FunctionType(result, arguments), f"{name}.{len(self.functions)}")
        code.linkage = "internal"
        code.attributes.add("nounwind")
        code.attributes.add("alwaysinline" if inline else "inlinehint")
        return Compiled(code, results)
