"""The LLVM module under construction: its constants, its faults, and access to its functions.

Does not depend on the language of specs: the subclass (compiler.py) compiles functions. Code that emits a call requests the callee
here, and does not depend on the compiler.
"""

from __future__ import annotations

import abc
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from llvmlite import ir

from kafka_spec.model_check.llvm.machine_code import KNOWN
from kafka_spec.model_check.lowering.values import FAULT_KINDS, I8, I64, Compiled, Fault, Shape, llvm_type
from kafka_spec.model_check.record.layout import Packed, put_initial
from kafka_spec.spec.vocabulary.table import Machine

Tally = tuple[str | int, ...]
"""What coverage counts: a kind, then the names of what it is of."""


class Unit(abc.ABC):
    """One module of LLVM code; `constants` are the names of `k` in the order of its values."""

    def __init__(
        self,
        root: Packed,
        constants: Iterable[str],
        literals: dict[str, int] | None = None,
        machines: Iterable[Machine] = (),
        checked: bool = True,
        covering: bool = False,
    ) -> None:
        self.module = ir.Module("kafka_spec")
        self.machines = {machine.name: machine for machine in machines}
        """The tables that `fire` uses, by machine: a spec that replaces a machine replaces it in every call."""
        self.checked = checked
        """False omits the checks, to measure their cost."""
        self.covering = covering
        """Whether the code counts what it runs."""
        self.tallies: dict[Tally, ir.GlobalVariable] = {}
        """What is counted, each with its counter, in the order of first use."""
        self.root = root
        self.constants = tuple(constants)
        """The names of `k`."""
        self.known = ir.GlobalVariable(self.module, ir.ArrayType(I64, len(self.constants)), KNOWN)
        """The values of `k`, which are not known here: who loads the code sets them, or has code generated for them."""
        self.known.initializer = ir.Constant(self.known.value_type, None)
        self.literals = literals or {}
        """The names that trusted functions read as numbers, such as the size of a record."""
        self.faults: dict[Fault, int] = {}
        self.functions: dict[tuple[Any, ...], Compiled] = {}
        self.emitted: dict[str, Compiled] = {}
        """The functions of the module that are emitted and not compiled, by the names under which trusted functions call them."""
        self.rows: dict[tuple[str, int], int] | None = None
        """For each row of the machines, by machine and place in its table: its place among the bytes that tell which rows were
        taken; None: that is not recorded."""
        self._templates: dict[int, ir.GlobalVariable] = {}

    def fault_code(self, kind: str, place: str, message: str) -> int:
        """Return the number of a fault; the number modulo 4 is the kind."""
        number = self.faults.setdefault(Fault(kind, place, message), len(self.faults) + 1)
        return number * 4 + FAULT_KINDS[kind]

    def fault_of(self, code: int) -> Fault:
        """Return the fault with this number."""
        return list(self.faults)[code // 4 - 1]

    def template(self, packed: Packed) -> ir.GlobalVariable:
        """Return a constant with the initial bytes of a record."""
        if id(packed) not in self._templates:
            record = bytearray(packed.size)
            put_initial(packed, record, 0)
            type_ = ir.ArrayType(I8, packed.size)
            variable = ir.GlobalVariable(self.module, type_, f"fresh.{len(self._templates)}")
            variable.initializer = ir.Constant(type_, record)
            variable.global_constant, variable.linkage = True, "internal"
            self._templates[id(packed)] = variable
        return self._templates[id(packed)]

    def tally(self, counted: Tally) -> ir.GlobalVariable:
        """Return the counter of something."""
        if counted not in self.tallies:
            variable = ir.GlobalVariable(self.module, I64, f"tally.{len(self.tallies)}")
            variable.initializer, variable.linkage = I64(0), "internal"
            self.tallies[counted] = variable
        return self.tallies[counted]

    def intrinsic(self, name: str, result: ir.Type, arguments: Sequence[ir.Type]) -> ir.Function:
        """Return the declaration of an LLVM intrinsic."""
        known = self.module.globals.get(name)
        return known or ir.Function(self.module, ir.FunctionType(result, arguments), name)

    @abc.abstractmethod
    def function(self, function: Callable[..., Any], shapes: tuple[Shape, ...], trusted: bool = False) -> Compiled:
        """Return the function compiled for arguments of these shapes."""

    @abc.abstractmethod
    def fire(self, machine: Machine, trigger: str, s: Packed, entity: int) -> Compiled:
        """Return the function that selects and runs a row of a machine's table for a trigger."""

    def declare(self, name: str, shapes: tuple[Shape, ...], results: int, inline: bool) -> Compiled:
        """Declare a function of the module; `results` is the number of integers it returns."""
        result = ir.VoidType() if results == 0 else I64 if results == 1 else ir.LiteralStructType([I64] * results)
        arguments = [*(llvm_type(shape) for shape in shapes if shape != "k"), I64.as_pointer()]
        code = ir.Function(self.module, ir.FunctionType(result, arguments), f"{name}.{len(self.functions)}")
        code.linkage = "internal"
        code.attributes.add("nounwind")
        code.attributes.add("alwaysinline" if inline else "inlinehint")
        return Compiled(code, results)
