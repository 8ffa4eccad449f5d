"""From the functions of a spec to machine code, through LLVM.

Knows the language of spec/lint.py, the packed form of states, and no protocol. The same source that the oracle runs as Python
becomes native code in which every integer has 64 bits, every index and every store is checked (model_check/emit.py): nothing
is ever truncated, wrapped or read out of range in silence.

Theory of operation. A function is compiled once for each way its arguments are packed, a trigger of a machine once for a model.
`trusted` functions (model_check/kernel.py) are the engine's own: they also have arrays, `while` loops and arithmetic that
wraps, and are not checked.
"""

from __future__ import annotations

import ast
import functools
import inspect
import textwrap
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NoReturn

from llvmlite import ir

from kafka_spec.model_check.emit import (
    FAULT_KINDS,
    I1,
    I8,
    I64,
    ONE,
    POINTER,
    ZERO,
    Buffer,
    Compiled,
    Emitter,
    Fault,
    K,
    Ref,
    Shape,
    Value,
    llvm_type,
    reshaped,
    shape_of,
)
from kafka_spec.model_check.firing import Firing
from kafka_spec.model_check.layout import Packed, put
from kafka_spec.spec import domain, lint
from kafka_spec.spec.domain import Record, Scalar
from kafka_spec.spec.domain import Sequence as SequenceType
from kafka_spec.spec.table import Machine, SpecError


class Compiler:
    """Collects the functions of one module; `constants` are the names of `k` in the order of its array."""

    def __init__(
        self,
        root: Packed,
        constants: Mapping[str, int],
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
        self.constants = constants
        """Names and values of `k`; the code reads the values at run time."""
        self.literals = literals or {}
        """Names that trusted functions read as numbers, such as the size of a record."""
        self.faults: dict[Fault, int] = {}
        self._functions: dict[tuple[Any, ...], Compiled] = {}
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

    def function(self, function: Callable[..., Any], shapes: tuple[Shape, ...], trusted: bool = False) -> Compiled:
        """Return the function compiled for arguments of these shapes."""
        key = (function, tuple(id(shape) if isinstance(shape, Packed) else shape for shape in shapes))
        if key not in self._functions:
            source = trusted_source(function) if trusted else lint.source_of(function)
            results = _results(source)
            self._functions[key] = compiled = self._declare(function.__name__, shapes, results, inline=not source.writes)
            body = _Body(self, source, compiled, shapes, trusted)
            body.compile()
        return self._functions[key]

    def fire(self, machine: Machine, trigger: str, s: Packed, entity: int) -> Compiled:
        """Return the function that lets a machine's table pick and run the row of a trigger."""
        machine = self.machines.get(machine.name, machine)
        key = ("fire", machine.name, trigger)
        if key not in self._functions:
            shapes: tuple[Shape, ...] = (s, "k", *["int"] * entity)
            self._functions[key] = compiled = self._declare(f"fire.{machine.name}.{trigger}", shapes, 1, inline=False)
            Firing(self, machine, trigger, compiled, shapes).compile()
        return self._functions[key]

    def _declare(self, name: str, shapes: tuple[Shape, ...], results: int, inline: bool) -> Compiled:
        result = ir.VoidType() if results == 0 else I64 if results == 1 else ir.LiteralStructType([I64] * results)
        arguments = [*(llvm_type(shape) for shape in shapes), I64.as_pointer()]
        code = ir.Function(self.module, ir.FunctionType(result, arguments), f"{name}.{len(self._functions)}")
        code.linkage = "internal"
        code.attributes.add("nounwind")
        code.attributes.add("alwaysinline" if inline else "inlinehint")
        return Compiled(code, results)


def _results(source: lint.Source) -> int:
    """Return how many integers a function returns."""
    counts = {
        len(node.value.elts) if isinstance(node.value, ast.Tuple) else 0 if node.value is None else 1
        for node in ast.walk(source.tree)
        if isinstance(node, ast.Return)
    }
    if len(counts) > 1:
        raise SpecError(f"{source.place}: {source.function.__name__} returns now {min(counts)}, now {max(counts)} values")
    return counts.pop() if counts else 0


@functools.cache
def trusted_source(function: Callable[..., Any]) -> lint.Source:
    """Return the source of one of the engine's own functions, unchecked."""
    text = textwrap.dedent(inspect.getsource(function))
    tree = ast.parse(text).body[0]
    assert isinstance(tree, ast.FunctionDef)
    parameters = tuple(argument.arg for argument in tree.args.args)
    return lint.Source(function, tree, text, function.__code__.co_filename, parameters, (), True, ())


class _Body(Emitter):
    """Compiles the body of one function."""

    def __init__(
        self, compiler: Compiler, source: lint.Source, compiled: Compiled, shapes: tuple[Shape, ...], trusted: bool
    ) -> None:
        super().__init__(compiler, compiled.code, compiled.code.args[-1])
        self.source = source
        self.compiled = compiled
        self.trusted = trusted
        self.jumps: list[tuple[ir.Block, ir.Block]] = []
        self.names: dict[str, Value] = {}
        """Parameters that are references, and local names for references."""
        self.stale: set[str] = set()
        """Names for items that may have moved since."""
        self.slots: dict[str, ir.Value] = {}
        """Local variables that hold integers."""
        for name, shape, argument in zip(source.parameters, shapes, compiled.code.args, strict=False):
            value = reshaped(shape, argument)
            if isinstance(value, Ref) and value.packed is not compiler.root:
                value = Ref(value.packed, value.pointer, moving=True)
            if isinstance(value, Ref | Buffer | K):
                self.names[name] = value
            else:
                self.slots[name] = self.slot(I64, value)

    def place(self, node: ast.AST) -> str:
        file, _, line = self.source.place.rpartition(":")
        return f"{file}:{int(line) + getattr(node, 'lineno', 1) - 1}" if file else self.source.place

    def refuse(self, node: ast.AST, message: str) -> NoReturn:
        raise SpecError(f"{self.place(node)}: in {self.source.function.__name__}: {message}")

    def compile(self) -> None:
        self.block(self.source.tree.body)
        if not self.b.block.is_terminated:
            if self.compiled.results > 1:
                self.refuse(self.source.tree, "it may end without returning a value")
            self.b.ret(ZERO) if self.compiled.results else self.b.ret_void()

    # statements

    def block(self, statements: list[ast.stmt]) -> None:
        for statement in statements:
            if self.b.block.is_terminated:
                return
            self.statement(statement)

    def statement(self, node: ast.stmt) -> None:
        match node:
            case ast.Expr(value=ast.Constant()) | ast.Pass():
                pass
            case ast.Expr(value=ast.Call() as called):
                self.call(called)
            case ast.Assign(targets=[ast.Tuple(elts=targets)], value=value):
                self.unpack(node, targets, value)
            case ast.Assign(targets=[target], value=value) | ast.AnnAssign(target=target, value=ast.expr() as value):
                self.assign(target, self.value(value))
            case ast.AugAssign(target=target, op=op, value=value):
                if isinstance(target, ast.Name):
                    self.assign(target, self.arithmetic(node, op, self.named_number(target), self.number(value)))
                else:
                    # like Python: the place once, then its value, then the other operand
                    ref = self.reference(target)
                    if not isinstance(ref.packed.type, Scalar):
                        self.refuse(target, "a number is needed here, and this is a record or a sequence")
                    before = self.load(ref.packed, ref.pointer)
                    self.write(target, ref, self.arithmetic(node, op, before, self.number(value)))
            case ast.If(test=test, body=body, orelse=orelse):
                self.branch(test, body, orelse)
            case ast.For(target=ast.Name(id=name), iter=ast.Call(args=bounds), body=body):
                limits = [self.number(bound) for bound in bounds]
                start, stop = (ZERO, limits[0]) if len(limits) == 1 else limits
                self.after_moves(body)

                def inside(now: ir.Value) -> None:
                    self.variable(name, now)
                    self.block(body)

                self.loop(start, stop, inside, self.jumps)
            case ast.While(test=test, body=body) if self.trusted:
                head, inside_block, out = (self.code.append_basic_block(n) for n in ("while", "inside", "out"))
                self.b.branch(head)
                self.b.position_at_end(head)
                self.b.cbranch(self.test(test), inside_block, out)
                self.b.position_at_end(inside_block)
                self.jumps.append((head, out))
                self.block(body)
                self.jumps.pop()
                if not self.b.block.is_terminated:
                    self.b.branch(head)
                self.b.position_at_end(out)
            case ast.Continue():
                self.b.branch(self.jumps[-1][0])
            case ast.Break():
                self.b.branch(self.jumps[-1][1])
            case ast.Return(value=None):
                self.b.ret_void()
            case ast.Return(value=ast.Tuple(elts=parts)):
                result: ir.Value = ir.Constant(self.code.function_type.return_type, ir.Undefined)
                for index, part in enumerate(parts):
                    result = self.b.insert_value(result, self.number(part), index)
                self.b.ret(result)
            case ast.Return(value=ast.expr() as value):
                self.b.ret(self.number(value))
            case _:
                self.refuse(node, f"{type(node).__name__} cannot be compiled")

    def branch(self, test: ast.expr, body: list[ast.stmt], orelse: list[ast.stmt]) -> None:
        yes, on = self.code.append_basic_block("yes"), self.code.append_basic_block("on")
        no = self.code.append_basic_block("no") if orelse else on
        self.b.cbranch(self.test(test), yes, no)
        ends = []
        for block, statements in ((yes, body), (no, orelse)):
            if statements:
                self.b.position_at_end(block)
                self.block(statements)
                if not self.b.block.is_terminated:
                    ends.append(self.b.branch(on))
        self.b.position_at_end(on)
        if orelse and not ends:
            self.b.unreachable()

    def variable(self, name: str, value: ir.Value) -> None:
        if name not in self.slots:
            self.slots[name] = self.slot(I64)
        self.b.store(value, self.slots[name])

    def unpack(self, node: ast.stmt, targets: list[ast.expr], value: ast.expr) -> None:
        if isinstance(value, ast.Tuple):
            values: Sequence[Value] = [self.value(part) for part in value.elts]
        elif isinstance(value, ast.Call):
            values = self.call(value)
        else:
            self.refuse(node, "only a tuple or the result of a function can be taken apart")
        if len(values) != len(targets):
            self.refuse(node, f"{len(targets)} names for {len(values)} values")
        for target, part in zip(targets, values, strict=True):
            self.assign(target, part)

    def assign(self, target: ast.expr, value: Value) -> None:
        match target:
            case ast.Name(id=name) if isinstance(value, Ref | Buffer):
                if name in self.slots or (name in self.names and shape_of(self.names[name]) != shape_of(value)):
                    self.refuse(target, f"{name} stands for different things; give each a name of its own")
                if name in self.names and self.b.block is not self.entry:
                    self.refuse(target, f"{name} is given to another record on the way; use two names")
                self.names[name] = value
                self.stale.discard(name)
            case ast.Name(id=name):
                if name in self.names:
                    self.refuse(target, f"{name} stands for different things; give each a name of its own")
                self.variable(name, self.integer(target, value))
            case ast.Subscript(value=of, slice=index) if self.trusted and isinstance(buffer := self.value(of), Buffer):
                cell = self.b.gep(buffer.pointer, [self.number(index)])
                self.b.store(self.b.trunc(self.integer(target, value), ir.IntType(buffer.bits)), cell)
            case _:
                self.write(target, self.reference(target), value)

    def write(self, target: ast.expr, ref: Ref, value: Value) -> None:
        """Store a value in a field or an item."""
        if not isinstance(ref.packed.type, Scalar):
            self.refuse(target, "an assignment would share a record; copy it with assign(), append(), ...")
        if ref.packed.type.machine:
            self.refuse(target, "this is the state of a machine; change it with fire()")
        self.store(ref.packed, ref.pointer, self.integer(target, value), self.place(target), ast.unparse(target))

    # expressions

    def integer(self, node: ast.AST, value: Value) -> ir.Value:
        if isinstance(value, Ref | Buffer | K):
            self.refuse(node, "a number is needed here, and this is a record or a sequence")
        return value

    def number(self, node: ast.expr) -> ir.Value:
        return self.integer(node, self.value(node))

    def named_number(self, node: ast.Name) -> ir.Value:
        return self.integer(node, self.named(node, node.id))

    def value(self, node: ast.expr) -> Value:
        match node:
            case ast.Constant(value=int() as number):
                return I64(int(number))
            case ast.Name(id=name):
                return self.named(node, name)
            case ast.Attribute(value=ast.Name(id=name), attr=attr) if isinstance(self.names.get(name), K):
                return self.constant(node, self.names[name], attr)
            case ast.Attribute(value=ast.Name(id=name), attr=attr) if name not in self.names and name not in self.slots:
                return I64(int(lint.resolve(self.source.function, name)[attr]))
            case ast.Subscript(value=of, slice=index) if self.trusted and isinstance(buffer := self.value(of), Buffer):
                raw = self.b.load(self.b.gep(buffer.pointer, [self.number(index)]))
                return raw if buffer.bits == 64 else self.b.zext(raw, I64)
            case ast.Attribute() | ast.Subscript():
                ref = self.reference(node)
                return self.load(ref.packed, ref.pointer) if isinstance(ref.packed.type, Scalar) else ref
            case ast.BinOp(left=left, op=op, right=right):
                return self.arithmetic(node, op, self.number(left), self.number(right))
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                return self.arithmetic(node, ast.Sub(), ZERO, self.number(operand))
            case ast.UnaryOp(op=ast.UAdd(), operand=operand):
                return self.number(operand)
            case ast.UnaryOp(op=ast.Invert(), operand=operand):
                return self.b.not_(self.number(operand))
            case ast.UnaryOp(op=ast.Not()) | ast.Compare():
                return self.b.zext(self.test(node), I64)
            case ast.BoolOp(op=op, values=values):
                return self.either(isinstance(op, ast.And), values)
            case ast.IfExp(test=test, body=body, orelse=orelse):
                return self.choice(self.test(test), body, orelse)
            case ast.Call():
                results = self.call(node)
                if len(results) != 1:
                    self.refuse(node, f"one value is needed here, and the function returns {len(results)}")
                return results[0]
        self.refuse(node, f"{type(node).__name__} cannot be compiled")

    def named(self, node: ast.AST, name: str) -> Value:
        if name in self.slots:
            return self.b.load(self.slots[name])
        if name in self.stale:
            self.refuse(node, f"items may have moved since {name} was named; name it after that, or read what you need before")
        if name in self.names:
            return self.names[name]
        if self.trusted and name in self.compiler.literals:
            return I64(self.compiler.literals[name])
        value = lint.resolve(self.source.function, name)
        if not isinstance(value, int):
            self.refuse(node, f"{name} is no number")
        return I64(int(value))

    def constant(self, node: ast.AST, k: Value, name: str) -> ir.Value:
        assert isinstance(k, K)
        if name not in self.compiler.constants:
            known = ", ".join(self.compiler.constants)
            self.refuse(node, f"k.{name} is neither a bound nor a decision of this spec; it has {known}")
        return self.b.load(self.b.gep(k.pointer, [I64(list(self.compiler.constants).index(name))]))

    def reference(self, node: ast.expr) -> Ref:
        """Return where a field or an item stands."""
        match node:
            case ast.Attribute(value=of, attr=attr):
                ref = self.value(of)
                if not isinstance(ref, Ref) or ref.packed.fields is None or attr not in ref.packed.fields:
                    fields = ", ".join(ref.packed.fields) if isinstance(ref, Ref) and ref.packed.fields else "no fields"
                    self.refuse(node, f"{ast.unparse(of)} has no field {attr}; it has {fields}")
                offset, packed = ref.packed.fields[attr]
                return Ref(packed, self.at(ref.pointer, offset), ref.moving)
            case ast.Subscript(value=of, slice=index):
                ref = self.value(of)
                if not isinstance(ref, Ref) or ref.packed.item is None:
                    self.refuse(node, f"{ast.unparse(of)} has no items")
                return self.checked_item(ref, self.number(index), self.place(node))
        self.refuse(node, f"{ast.unparse(node)} is no field and no item")

    def arithmetic(self, node: ast.AST, op: ast.operator, left: ir.Value, right: ir.Value) -> ir.Value:
        b = self.b
        if isinstance(op, ast.FloorDiv | ast.Mod):
            return self.division(node, isinstance(op, ast.Mod), left, right)
        if isinstance(op, ast.LShift | ast.RShift):
            return self.shift(node, isinstance(op, ast.LShift), left, right)
        plain = {ast.Add: b.add, ast.Sub: b.sub, ast.Mult: b.mul, ast.BitAnd: b.and_, ast.BitOr: b.or_, ast.BitXor: b.xor}
        if self.trusted or isinstance(op, ast.BitAnd | ast.BitOr | ast.BitXor):
            return plain[type(op)](left, right)
        safe = {ast.Add: b.sadd_with_overflow, ast.Sub: b.ssub_with_overflow, ast.Mult: b.smul_with_overflow}
        both = safe[type(op)](left, right)
        self.note(b.not_(b.extract_value(both, 1)), node, "a number leaves 64 bits")
        return b.extract_value(both, 0)

    def note(self, ok: ir.Value, node: ast.AST, message: str) -> None:
        """Record a fault if the check fails, and go on."""
        with self.check(ok, "error", self.place(node), message):
            pass

    def shift(self, node: ast.AST, left_shift: bool, value: ir.Value, by: ir.Value) -> ir.Value:
        if self.trusted:
            return self.b.shl(value, by) if left_shift else self.b.lshr(value, by)
        self.note(self.b.icmp_unsigned("<", by, I64(63)), node, "a shift by less than 0 or more than 62")
        by = self.b.and_(by, I64(63))
        if not left_shift:
            return self.b.ashr(value, by)
        shifted = self.b.shl(value, by)
        self.note(self.b.icmp_signed("==", self.b.ashr(shifted, by), value), node, "a number leaves 64 bits")
        return shifted

    def division(self, node: ast.AST, remainder: bool, left: ir.Value, right: ir.Value) -> ir.Value:
        if self.trusted:
            return self.b.urem(left, right) if remainder else self.b.udiv(left, right)
        zero = self.b.icmp_signed("==", right, ZERO)
        self.note(self.b.not_(zero), node, "a division by zero")
        too_large = self.b.and_(self.b.icmp_signed("==", left, I64(-1 << 63)), self.b.icmp_signed("==", right, I64(-1)))
        self.note(self.b.not_(too_large), node, "a number leaves 64 bits")
        right = self.b.select(self.b.or_(zero, too_large), ONE, right)
        quotient, rest = self.b.sdiv(left, right), self.b.srem(left, right)
        uneven = self.b.icmp_signed("!=", rest, ZERO)
        apart = self.b.icmp_signed("<", self.b.xor(rest, right), ZERO)
        floor = self.b.and_(uneven, apart)
        if remainder:
            return self.b.select(floor, self.b.add(rest, right), rest)
        return self.b.select(floor, self.b.sub(quotient, ONE), quotient)

    def test(self, node: ast.expr) -> ir.Value:
        """Return whether an expression is true, as one bit."""
        match node:
            case ast.UnaryOp(op=ast.Not(), operand=operand):
                return self.b.not_(self.test(operand))
            case ast.Compare(left=left, ops=[op], comparators=[right]):
                return self.comparison(op, self.number(left), self.number(right))
            case ast.Compare(left=left, ops=ops, comparators=comparators):
                return self.chain(self.number(left), list(zip(ops, comparators, strict=True)))
            case ast.BoolOp(op=op, values=values):
                return self.short_circuit(isinstance(op, ast.And), values)
        return self.b.icmp_signed("!=", self.number(node), ZERO)

    def comparison(self, op: ast.cmpop, left: ir.Value, right: ir.Value) -> ir.Value:
        symbols = {ast.Eq: "==", ast.NotEq: "!=", ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">="}
        return self.b.icmp_signed(symbols[type(op)], left, right)

    def chain(self, left: ir.Value, rest: list[tuple[ast.cmpop, ast.expr]]) -> ir.Value:
        """`a < b < c`: each operand evaluated once, and only while the ones before hold."""
        result = self.slot(I1, I1(0))
        out = self.code.append_basic_block("compared")
        for index, (op, operand) in enumerate(rest):
            right = self.number(operand)
            true = self.comparison(op, left, right)
            if index == len(rest) - 1:
                self.b.store(true, result)
                self.b.branch(out)
            else:
                on = self.code.append_basic_block("compare")
                self.b.cbranch(true, on, out)
                self.b.position_at_end(on)
            left = right
        self.b.position_at_end(out)
        return self.b.load(result)

    def short_circuit(self, every: bool, values: list[ast.expr]) -> ir.Value:
        result = self.slot(I1, I1(0 if every else 1))
        out = self.code.append_basic_block("decided")
        for index, value in enumerate(values):
            true = self.test(value)
            if index == len(values) - 1:
                self.b.store(true, result)
                self.b.branch(out)
            else:
                on = self.code.append_basic_block("undecided")
                self.b.cbranch(true, *((on, out) if every else (out, on)))
                self.b.position_at_end(on)
        self.b.position_at_end(out)
        return self.b.load(result)

    def either(self, every: bool, values: list[ast.expr]) -> ir.Value:
        """`a and b`, `a or b` as values: the operand that decides."""
        result = self.slot(I64)
        out = self.code.append_basic_block("decided")
        for index, value in enumerate(values):
            number = self.number(value)
            self.b.store(number, result)
            if index == len(values) - 1:
                self.b.branch(out)
            else:
                on = self.code.append_basic_block("undecided")
                true = self.b.icmp_signed("!=", number, ZERO)
                self.b.cbranch(true, *((on, out) if every else (out, on)))
                self.b.position_at_end(on)
        self.b.position_at_end(out)
        return self.b.load(result)

    def choice(self, test: ir.Value, body: ast.expr, orelse: ast.expr) -> ir.Value:
        result = self.slot(I64)
        with self.b.if_else(test) as (yes, no):
            with yes:
                self.b.store(self.number(body), result)
            with no:
                self.b.store(self.number(orelse), result)
        return self.b.load(result)

    # calls

    def call(self, node: ast.Call) -> Sequence[ir.Value]:
        assert isinstance(node.func, ast.Name)
        name = node.func.id
        if self.trusted and (engine := getattr(self, f"engine_{name}", None)):
            return list(engine(*node.args) or [])
        callee = lint.resolve(self.source.function, name)
        if callee in lint.WRITERS:
            getattr(self, f"write_{lint.WRITERS[callee]}")(node)
            self.after_moves([node])
            return []
        if callee in lint.BUILTINS:
            return [self.builtin(node, lint.BUILTINS[callee])]
        if getattr(callee, "__fires__", False):
            fired = self.fire(node)
            self.after_moves([node])
            return [fired]
        arguments = [self.value(argument) for argument in node.args]
        shapes = tuple(shape_of(value) for value in arguments)
        results = self.invoke(self.compiler.function(callee, shapes, self.trusted), arguments)
        self.after_moves([node])
        return results

    def after_moves(self, code: Sequence[ast.AST]) -> None:
        """Forget the names of items if the code may move items: in Python they mean the old item, here its old place."""
        if self.trusted or not any(self.may_move(node) for part in code for node in ast.walk(part)):
            return
        self.stale |= {name for name, value in self.names.items() if isinstance(value, Ref) and value.moving}

    def may_move(self, node: ast.AST) -> bool:
        """Whether a node is a call that may move items of a sequence."""
        if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Name):
            return False
        callee = lint.resolve(self.source.function, node.func.id)
        if callee in lint.MOVERS or getattr(callee, "__fires__", False):
            return True
        return lint.is_function(callee) and callee not in lint.WRITERS and lint.source_of(callee).moves

    def builtin(self, node: ast.Call, name: str) -> ir.Value:
        if name == "len":
            ref = self.value(node.args[0])
            if not isinstance(ref, Ref) or ref.packed.item is None:
                self.refuse(node, "len() is of a sequence or an array")
            return self.length(ref)
        result, *others = (self.number(argument) for argument in node.args)
        for other in others:
            closer = self.b.icmp_signed("<" if name == "min" else ">", other, result)
            result = self.b.select(closer, other, result)
        return result

    def fire(self, node: ast.Call) -> ir.Value:
        match node.args:
            case [state, k, ast.Name(id=machine), ast.Tuple(elts=parts), ast.Constant(value=str() as trigger)]:
                s = self.value(state)
                assert isinstance(s, Ref)
                entity = [self.number(part) for part in parts]
                table = lint.resolve(self.source.function, machine)
                compiled = self.compiler.fire(table, trigger, s.packed, len(entity))
                return self.invoke(compiled, [s, self.value(k), *entity])[0]
        self.refuse(node, "write fire(s, k, MACHINE, (entity, ...), 'trigger')")

    def sequence(self, node: ast.Call) -> Ref:
        ref = self.value(node.args[0])
        if not isinstance(ref, Ref) or not isinstance(ref.packed.type, SequenceType):
            self.refuse(node, f"{ast.unparse(node.args[0])} is no sequence")
        return ref

    def record(self, node: ast.expr) -> Ref:
        ref = self.value(node)
        if not isinstance(ref, Ref) or ref.packed.fields is None:
            self.refuse(node, f"{ast.unparse(node)} is no record")
        return ref

    def write_append(self, node: ast.Call) -> None:
        ref = self.sequence(node)
        type_, place = ref.packed.type, self.place(node)
        assert isinstance(type_, SequenceType)
        fields = {keyword.arg: self.number(keyword.value) for keyword in node.keywords}
        numbers = [self.number(argument) for argument in node.args[1:]]
        length = self.length(ref)
        room = self.b.icmp_signed("<", length, I64(type_.capacity))
        with self.check(room, "bound" if type_.bound else "domain", place, type_.bound or f"{type_.place} is full"):
            item = self.item(ref, length)
            if isinstance(item.packed.type, Scalar):
                if len(numbers) != 1 or fields:
                    self.refuse(node, "append one number here")
                if type_.distinct:
                    self.loop(ZERO, length, lambda now: self.differs(ref, now, numbers[0], place))
                self.store(item.packed, item.pointer, numbers[0], place, type_.place)
            else:
                self.append_record(node, item, fields)
            self.set_length(ref, self.b.add(length, ONE))

    def differs(self, ref: Ref, index: ir.Value, number: ir.Value, place: str) -> None:
        item = self.item(ref, index)
        other = self.b.icmp_signed("!=", self.load(item.packed, item.pointer), number)
        with self.check(other, "domain", place, "the number stands there already, and the items are distinct"):
            pass

    def append_record(self, node: ast.Call, item: Ref, fields: dict[str | None, ir.Value]) -> None:
        type_, place = item.packed.type, self.place(node)
        assert isinstance(type_, Record) and item.packed.fields is not None
        self.refresh(item)
        for name, number in fields.items():
            if name is None or name not in item.packed.fields:
                self.refuse(node, f"{type_.cls.__name__} has no field {name}")
            offset, packed = item.packed.fields[name]
            if not isinstance(packed.type, Scalar) or packed.type.machine:
                self.refuse(node, f"{type_.cls.__name__}.{name} cannot be set here; append sets numbers")
            self.store(packed, self.at(item.pointer, offset), number, place, f"{type_.cls.__name__}.{name}")
        if type_.tags is not None:
            self.check_tag(item, type_, place)

    def check_tag(self, item: Ref, type_: Record, place: str) -> None:
        """Refuse a field that means nothing in this kind of message."""
        assert type_.tags is not None and item.packed.fields is not None
        tag, members = type_.tags
        offset, packed = item.packed.fields[tag]
        kind = self.load(packed, self.at(item.pointer, offset))
        for name, (at, field) in item.packed.fields.items():
            if name == tag or not isinstance(field.type, Scalar):
                continue
            number = self.load(field, self.at(item.pointer, at))
            ok = self.b.icmp_signed("==", number, I64(field.type.initial))
            for value, names in members.items():
                if name in names:
                    ok = self.b.or_(ok, self.b.icmp_signed("==", kind, I64(value)))
            with self.check(ok, "domain", place, f"{name} means nothing in this kind of {type_.cls.__name__}"):
                pass

    def write_truncate(self, node: ast.Call) -> None:
        ref, to = self.sequence(node), self.number(node.args[1])
        assert ref.packed.item is not None
        size = I64(ref.packed.item.size)
        with self.check(self.b.icmp_signed("<=", ZERO, to), "error", self.place(node), "a truncation below 0"):
            length = self.length(ref)
            with self.b.if_then(self.b.icmp_signed("<", to, length)):
                self.clear(self.item(ref, to).pointer, self.b.mul(self.b.sub(length, to), size))
                self.set_length(ref, to)

    def write_pop_first(self, node: ast.Call) -> None:
        ref = self.sequence(node)
        assert ref.packed.item is not None
        size = I64(ref.packed.item.size)
        length = self.length(ref)
        some = self.b.icmp_signed("<", ZERO, length)
        with self.check(some, "error", self.place(node), "nothing to take from an empty sequence"):
            left = self.b.sub(length, ONE)
            self.move(self.item(ref, ZERO).pointer, self.item(ref, ONE).pointer, self.b.mul(left, size))
            self.clear(self.item(ref, left).pointer, size)
            self.set_length(ref, left)

    def write_reset(self, node: ast.Call) -> None:
        target = self.record(node.args[0])
        self.refuse_machines(node, target)
        self.refresh(target)

    def refuse_machines(self, node: ast.AST, ref: Ref) -> None:
        """Refuse to write a machine's state as part of a record."""
        if domain.has_machine(ref.packed.type):
            self.refuse(node, "the record holds the state of a machine; change that with fire()")

    def write_assign(self, node: ast.Call) -> None:
        target, source = self.record(node.args[0]), self.record(node.args[1])
        assert isinstance(target.packed.type, Record) and isinstance(source.packed.type, Record)
        if target.packed.type.cls is not source.packed.type.cls:
            self.refuse(node, "the two are different records")
        self.refuse_machines(node, target)
        self.move(target.pointer, source.pointer, target.packed.size)

    # what the engine's own functions may do besides

    def engine_prefetch(self, array: ast.expr, index: ast.expr) -> None:
        buffer = self.value(array)
        assert isinstance(buffer, Buffer)
        cell = self.b.bitcast(self.b.gep(buffer.pointer, [self.number(index)]), POINTER)
        i32 = ir.IntType(32)
        prefetch = self.compiler.intrinsic("llvm.prefetch.p0", ir.VoidType(), [POINTER, i32, i32, i32])
        self.b.call(prefetch, [cell, i32(1), i32(1), i32(1)])

    def engine_copy_record(self, to: ast.expr, index: ast.expr, source: ast.expr, other: ast.expr) -> None:
        size = self.compiler.literals["RECORD_BYTES"]
        target, origin = self.value(to), self.value(source)
        assert isinstance(target, Buffer) and isinstance(origin, Buffer)
        target_at = self.at(target.pointer, self.b.mul(self.number(index), I64(size)))
        self.copy(target_at, self.at(origin.pointer, self.b.mul(self.number(other), I64(size))), size)
