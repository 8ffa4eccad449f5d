"""Machine code: made from LLVM's text, kept in a cache folder, loaded.

Knows no spec. A cache entry stands under the digest of everything it came from (the code before optimisation, the versions
of LLVM and llvmlite, the processor), so a stale one cannot be met; it carries a checksum, so a damaged one is rebuilt; and
where the folder cannot be used, work goes on without it, with a warning.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import os
import tempfile
import warnings
from pathlib import Path

import llvmlite
import llvmlite.binding as llvm


class CacheWarning(UserWarning):
    """The cache of compiled code could not be used as it is."""


@functools.cache
def _machine() -> llvm.TargetMachine:
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    target = llvm.Target.from_default_triple()
    features = llvm.get_host_cpu_features().flatten()
    return target.create_target_machine(cpu=llvm.get_host_cpu_name(), features=features, opt=2, jit=True)


LARGE = 500_000
"""Characters of a module from which on LLVM's own pipeline costs more than it brings: the loops of its passes over the
successor function take 7 s for a control plane of 40 rules, where a few passes take 0.3 s, and the search is as fast."""


def cache_folder() -> Path:
    """Return where compiled code is kept: $KAFKA_SPEC_CACHE, or kafka-spec in the user's cache folder."""
    if chosen := os.environ.get("KAFKA_SPEC_CACHE"):
        return Path(chosen)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "kafka-spec"


def load(code: str) -> tuple[llvm.ExecutionEngine, bool]:
    """Return the loaded machine code of a module, and whether it came from the cache."""
    cpu = llvm.get_host_cpu_name() + llvm.get_host_cpu_features().flatten()
    origin = f"{llvmlite.__version__} {llvm.llvm_version_info} {cpu}\n{code}"
    digest = hashlib.sha256(origin.encode()).hexdigest()
    path = cache_folder() / f"{digest[:32]}.o"
    machine_code = _read(path)
    if found := machine_code is not None:
        return _link(machine_code), found
    machine_code = _generate(code)
    _write(path, machine_code)
    return _link(machine_code), False


def _few_passes() -> llvm.ModulePassManager:
    """Return the passes for a large module: those that pay, in a time that grows with its length alone."""
    passes = llvm.create_new_module_pass_manager()
    passes.add_sroa_pass()
    passes.add_simplify_cfg_pass()
    passes.add_instruction_combine_pass()
    passes.add_new_gvn_pass()
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


def _read(path: Path) -> bytes | None:
    """Return the machine code in a cache file, or None where there is none that is whole."""
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        return None
    except OSError as error:
        warnings.warn(f"compiled code cannot be read from {path}: {error}; compiling anew", CacheWarning, stacklevel=2)
        return None
    digest, machine_code = content[:32], content[32:]
    if hashlib.sha256(machine_code).digest() != digest:
        warnings.warn(f"compiled code in {path} is damaged; compiling anew", CacheWarning, stacklevel=2)
        return None
    return machine_code


def _write(path: Path, machine_code: bytes) -> None:
    """Keep machine code in a cache file, whole or not at all."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile(dir=path.parent, delete=False) as file:
            file.write(hashlib.sha256(machine_code).digest() + machine_code)
        Path(file.name).replace(path)
    except OSError as error:
        with contextlib.suppress(OSError, UnboundLocalError):
            Path(file.name).unlink()
        warnings.warn(f"compiled code cannot be kept in {path.parent}: {error}; set KAFKA_SPEC_CACHE", CacheWarning, stacklevel=2)
