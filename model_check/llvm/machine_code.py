"""Generates machine code from the text of LLVM modules, caches it (code_cache.py), and loads it.

Does not depend on specs or on files.
"""

from __future__ import annotations

import ctypes
import enum
import functools
import hashlib
import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import llvmlite
import llvmlite.binding as llvm

from kafka_spec.model_check.exploration import EngineError
from kafka_spec.model_check.llvm import disk_cache
from kafka_spec.model_check.llvm.disk_cache import CodeOrigin
from kafka_spec.model_check.within import within

KNOWN = "k"
"""The variable of a module with the values of `k`."""


class Tier(enum.IntEnum):
    """How much is done for the speed of code."""

    QUICK = 0
    """Compiles fast and runs slowly: for a control plane in a fifth of the time, and a search takes three times as long."""
    FAST = 1
    """Fast code, for all values of `k`."""
    FIXED = 2
    """Fast code for one `k`: its values are constants of the code."""


UNROLLED = 600
"""LLVM's cost up to which a loop with a known number of turns, such as one over all members, is written out, in place of 150: a
search of kip_320 takes a tenth less time. It is a setting of the process, for LLVM has no other place for it."""


@functools.cache
def _machine(quick: bool = False) -> llvm.TargetMachine:
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    llvm.set_option("", f"-unroll-threshold={UNROLLED}")
    target = llvm.Target.from_default_triple()
    features = llvm.get_host_cpu_features().flatten()
    return target.create_target_machine(cpu=llvm.get_host_cpu_name(), features=features, opt=0 if quick else 2, jit=True)


LARGE = 500_000
"""Characters of a module above which LLVM's own pipeline does not pay: for the successor function of a control plane with 40
rules it takes 7 s, while a few passes take 0.3 s and the search is as fast."""


class CodeText:
    """The text of a module of code. Its digest is known; the text is written when it is needed."""

    def __init__(self, digest: bytes, write: Callable[[], str]) -> None:
        self.digest = digest
        self._write = write

    @functools.cached_property
    def text(self) -> str:
        """The text.

        Raises:
            EngineError: the text has another digest, so what the compiler wrote before was of other inputs.
        """
        text = self._write()
        if digest_of(text) != self.digest:
            raise EngineError("the compiler has written other code for equal inputs; remove the folder of compiled code")
        return text


def text_known(text: str) -> CodeText:
    """Return a text that is there."""
    return CodeText(digest_of(text), lambda: text)


def digest_of(text: str) -> bytes:
    """Return the digest by which a text is known."""
    return hashlib.sha256(text.encode()).digest()


@dataclass(frozen=True)
class Loaded:
    """Machine code in this process."""

    engine: llvm.ExecutionEngine
    tier: Tier


def load(code: CodeText, k: Sequence[int] = (), tier: Tier = Tier.FAST, fresh: bool = False) -> Loaded:
    """Return the loaded machine code of a module, set to values of `k`.

    Args:
        code: the module.
        k: the values, in the order of the module's names.
        tier: what to generate, unless the cache has a better one.
        fresh: neither read nor write the cache.

    Raises:
        Stopped: the time for it is spent.
    """
    for known in () if fresh else sorted(Tier, reverse=True)[: len(Tier) - tier]:
        if (machine_code := disk_cache.read(_origin(code, known, k))) is not None:
            return Loaded(_link(machine_code, k, known), known)
    machine_code = within(lambda: _generate(fixed(code.text, k) if tier == Tier.FIXED else code.text, tier == Tier.QUICK))
    if not fresh:
        disk_cache.write(_origin(code, tier, k), machine_code)
    return Loaded(_link(machine_code, k, tier), tier)


def fixed(text: str, k: Sequence[int]) -> str:
    """Return the text of a module in which the values of `k` are constants."""
    before, mark, after = text.partition(f'@"{KNOWN}" = global [{len(k)} x i64] zeroinitializer')
    assert mark, "the module has no such values"
    values = ", ".join(f"i64 {value}" for value in k)
    return f'{before}@"{KNOWN}" = internal constant [{len(k)} x i64] [{values}]{after}'


def _origin(code: CodeText, tier: Tier, k: Sequence[int], suffix: str = "o") -> CodeOrigin:
    values = list(k) if tier == Tier.FIXED else ""
    return CodeOrigin(code.digest, digest_of(f"{_compiler()}\n{tier.name} {values}"), suffix)


def searched(code: CodeText, k: Sequence[int]) -> int:
    """Return how many states earlier searches with these values found before they had code for them, as the cache records."""
    reported = disk_cache.read(_origin(code, Tier.FIXED, k, "n"))
    return int(reported) if reported else 0


def note_searched(code: CodeText, k: Sequence[int], states: int) -> None:
    """Keep in the cache how many states searches with these values have found without code for them."""
    disk_cache.write(_origin(code, Tier.FIXED, k, "n"), str(states).encode())


@functools.cache
def _compiler() -> str:
    """Return the other inputs of code generation besides the text: versions, processor, and this module's calls of LLVM."""
    versions = f"{llvmlite.__version__} {llvm.llvm_version_info}"
    processor = f"{llvm.get_host_cpu_name()} {llvm.get_host_cpu_features().flatten()}"
    calls = "\n".join(inspect.getsource(function) for function in (_machine, _few_passes, _generate))
    return f"{versions} {processor} {LARGE} {UNROLLED}\n{calls}"


def _few_passes(quick: bool) -> llvm.ModulePassManager:
    """Return the passes for a large module: those that pay and whose time is linear in its length.

    Putting guards and properties where they are called makes a search a third faster, and the code twice as long. What they read
    is then read once for several of them, and what constants decide is dropped. Their loops over members are written out before,
    while they are short.
    """
    passes = llvm.create_new_module_pass_manager()

    def simplify() -> None:
        passes.add_sroa_pass()
        passes.add_simplify_cfg_pass()
        passes.add_instruction_combine_pass()

    simplify()
    if not quick:
        passes.add_loop_unroll_pass()
        simplify()
        passes.add_always_inliner_pass()
        simplify()
        passes.add_post_order_function_attributes_pass()
        passes.add_ipsccp_pass()
        simplify()
        passes.add_new_gvn_pass()
        passes.add_instruction_combine_pass()
        passes.add_simplify_cfg_pass()
        passes.add_global_dead_code_eliminate_pass()
    passes.add_dead_store_elimination_pass()
    passes.add_simplify_cfg_pass()
    passes.add_aggressive_dce_pass()
    return passes


def _generate(code: str, quick: bool) -> bytes:
    """Return the machine code of a module; `quick`: with few optimisations."""
    module = llvm.parse_assembly(code)
    module.verify()
    options = llvm.create_pipeline_tuning_options(speed_level=2)
    options.loop_vectorization, options.slp_vectorization = False, True  # loops over members are short, and unrolled
    machine = _machine(quick)
    builder = llvm.create_pass_builder(machine, options)
    passes = builder.getModulePassManager() if len(code) < LARGE and not quick else _few_passes(quick)
    passes.run(module, builder)
    machine_code: bytes = machine.emit_object(module)
    return machine_code


def _link(machine_code: bytes, k: Sequence[int], tier: Tier) -> llvm.ExecutionEngine:
    _machine()  # initialises LLVM
    machine = llvm.Target.from_default_triple().create_target_machine(jit=True)
    engine = llvm.create_mcjit_compiler(llvm.parse_assembly(""), machine)
    engine.add_object_file(llvm.ObjectFileRef.from_data(machine_code))
    engine.finalize_object()
    if k and tier != Tier.FIXED:
        values = (ctypes.c_int64 * len(k))(*k)
        ctypes.memmove(engine.get_global_value_address(KNOWN), values, ctypes.sizeof(values))
    return engine
