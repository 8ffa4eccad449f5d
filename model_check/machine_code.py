"""Generates machine code from the text of LLVM modules, caches it (code_cache.py), and loads it.

Does not depend on specs or on files.
"""

from __future__ import annotations

import functools
import hashlib
import inspect
from collections.abc import Callable

import llvmlite
import llvmlite.binding as llvm

from kafka_spec.model_check import code_cache
from kafka_spec.model_check.code_cache import CodeOrigin
from kafka_spec.model_check.exploration import EngineError


@functools.cache
def _machine() -> llvm.TargetMachine:
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    target = llvm.Target.from_default_triple()
    features = llvm.get_host_cpu_features().flatten()
    return target.create_target_machine(cpu=llvm.get_host_cpu_name(), features=features, opt=2, jit=True)


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


def load(code: CodeText, anew: bool = False) -> tuple[llvm.ExecutionEngine, bool]:
    """Return the loaded machine code of a module, and whether it is from the cache; `anew` does not read or write the cache."""
    if anew:
        return _link(_generate(code.text)), False
    origin = CodeOrigin(code.digest, digest_of(_compiler()))
    machine_code = code_cache.read(origin)
    if machine_code is not None:
        return _link(machine_code), True
    machine_code = _generate(code.text)
    code_cache.write(origin, machine_code)
    return _link(machine_code), False


@functools.cache
def _compiler() -> str:
    """Return the other inputs of code generation besides the text: versions, processor, and this module's calls of LLVM."""
    versions = f"{llvmlite.__version__} {llvm.llvm_version_info}"
    processor = f"{llvm.get_host_cpu_name()} {llvm.get_host_cpu_features().flatten()}"
    calls = "\n".join(inspect.getsource(function) for function in (_machine, _few_passes, _generate))
    return f"{versions} {processor} {LARGE}\n{calls}"


def _few_passes() -> llvm.ModulePassManager:
    """Return the passes for a large module: those that pay and whose time is linear in its length."""
    passes = llvm.create_new_module_pass_manager()
    passes.add_sroa_pass()
    passes.add_simplify_cfg_pass()
    passes.add_instruction_combine_pass()
    passes.add_dead_store_elimination_pass()
    passes.add_simplify_cfg_pass()
    passes.add_aggressive_dce_pass()
    return passes


def _generate(code: str) -> bytes:
    """Return the optimised machine code of a module."""
    module = llvm.parse_assembly(code)
    module.verify()
    options = llvm.create_pipeline_tuning_options(speed_level=2)
    options.loop_vectorization = options.slp_vectorization = False
    builder = llvm.create_pass_builder(_machine(), options)
    passes = builder.getModulePassManager() if len(code) < LARGE else _few_passes()
    passes.run(module, builder)
    machine_code: bytes = _machine().emit_object(module)
    return machine_code


def _link(machine_code: bytes) -> llvm.ExecutionEngine:
    _machine()  # initialises LLVM
    machine = llvm.Target.from_default_triple().create_target_machine(jit=True)
    engine = llvm.create_mcjit_compiler(llvm.parse_assembly(""), machine)
    engine.add_object_file(llvm.ObjectFileRef.from_data(machine_code))
    engine.finalize_object()
    return engine
