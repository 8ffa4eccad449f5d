"""Compiles the functions of a spec to LLVM.

Depends on the language of spec/language and the packed form of states. The oracle runs the same source as Python. In the compiled
code every integer has 64 bits, and every index and every store is checked (emit.py): no value is silently truncated, wrapped or
read out of range.

Theory of operation. A function is compiled once for each packed form of its arguments, a trigger of a machine once for a model.
`trusted` functions (model_check/code/kernel.py) are the engine's own: they may use arrays, `while` loops and arithmetic that
wraps, and are not checked. What is compiled is the tree of a function (spec/language/tree.py); function.py says which module
compiles what.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from kafka_spec.model_check.lowering.firing import FiringCompiler
from kafka_spec.model_check.lowering.statements import Body
from kafka_spec.model_check.lowering.unit import Unit
from kafka_spec.model_check.lowering.values import Compiled, Shape, Still
from kafka_spec.model_check.record.layout import Packed
from kafka_spec.spec import language
from kafka_spec.spec.vocabulary.table import Machine


class Compiler(Unit):
    """Compiles the functions of one module on demand, each once for each shape of its arguments."""

    def function(self, function: Callable[..., Any], shapes: tuple[Shape, ...], trusted: bool = False) -> Compiled:
        """Return the function compiled for arguments of these shapes."""
        key = (function, tuple(map(identity_of, shapes)))
        if key not in self.functions:
            source = language.extended_source_of(function, self.literals) if trusted else language.source_of(function)
            inline = not (trusted or source.writes)
            self.functions[key] = compiled = self.declare(function.__name__, shapes, source.results, inline=inline)
            Body(self, source, compiled, shapes, trusted).compile()
        return self.functions[key]

    def fire(self, machine: Machine, trigger: str, s: Packed, entity: int) -> Compiled:
        """Return the function that selects and runs a row of a machine's table for a trigger."""
        machine = self.machines.get(machine.name, machine)
        key = ("fire", machine.name, trigger)
        if key not in self.functions:
            shapes: tuple[Shape, ...] = (s, "k", *["int"] * entity)
            self.functions[key] = compiled = self.declare(f"fire.{machine.name}.{trigger}", shapes, 1, inline=False)
            FiringCompiler(self, machine, trigger, compiled, shapes).compile()
        return self.functions[key]


def identity_of(shape: Shape) -> object:
    """Return what two equal shapes have in common: packed forms are distinguished by identity."""
    if isinstance(shape, Still):
        return "still", id(shape.packed)
    return id(shape) if isinstance(shape, Packed) else shape
