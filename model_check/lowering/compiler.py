"""Compiles the functions of a spec to LLVM.

Depends on the language of spec/language and the packed form of states. The oracle runs the same source as Python. In the compiled
code every integer has 64 bits, and every index and every store is checked (emit.py): no value is silently truncated, wrapped or
read out of range.

Theory of operation. A function is compiled once for each packed form of its arguments, a trigger of a machine once for a model.
`trusted` functions (model_check/code/kernel.py) are the engine's: they may use arrays, `while` loops and arithmetic that wraps, and
are not checked. The compiler of a body is split by kind of construct; each class extends the one before it: arithmetic,
expressions, writers, calls, statements.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any

from kafka_spec.model_check.lowering.firing import FiringCompiler
from kafka_spec.model_check.lowering.statements import Body
from kafka_spec.model_check.lowering.unit import Unit
from kafka_spec.model_check.lowering.values import Compiled, Shape, Still
from kafka_spec.model_check.record.layout import Packed
from kafka_spec.spec import language
from kafka_spec.spec.language.source import definition_of
from kafka_spec.spec.vocabulary.table import Machine


class Compiler(Unit):
    """Compiles the functions of one module on demand, each once for each shape of its arguments."""

    def function(self, function: Callable[..., Any], shapes: tuple[Shape, ...], trusted: bool = False) -> Compiled:
        """Return the function compiled for arguments of these shapes."""
        key = (function, tuple(map(identity_of, shapes)))
        if key not in self.functions:
            source = trusted_source(function) if trusted else language.source_of(function)
            self.functions[key] = compiled = self.declare(function.__name__, shapes, source.results, inline=not source.writes)
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
    """Return what two equal shapes have in common: packed forms are told apart by identity."""
    if isinstance(shape, Still):
        return "still", id(shape.packed)
    return id(shape) if isinstance(shape, Packed) else shape


def trusted_source(function: Callable[..., Any]) -> language.Source:
    """Return the source of one of the engine's own functions, which the linter does not check."""
    definition, code = definition_of(function), function.__code__
    assert isinstance(definition.tree, ast.FunctionDef)
    return language.Source(
        function=function,
        tree=definition.tree,
        text=definition.text,
        place=code.co_filename,
        parameters=language.parameters_of(function),
        calls=(),
        writes=True,
        fires=(),
        code=code,
        names=(),
        results=max(language.results_of(definition.tree), default=0),
    )
