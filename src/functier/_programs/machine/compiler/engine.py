"""Text of LLVM becomes machine code in memory, for the processor that it runs on.

NOTE [what a text may refer to]
    Functions and data outside of the text are named in it, and their addresses are given at each
    load. So a text holds no address, and its object code can be stored. Text that is equal has
    equal object code: whoever writes a text writes it the same way each time.
"""

import os
import re
import sys
import threading
from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Any

import llvmlite  # type: ignore[import-untyped]
import llvmlite.binding as llvm  # type: ignore[import-untyped]
import numpy as np

from . import cache
from .targets import TARGET

DECLARED = re.compile(r'\n(?:declare [^@\n]*@"?([\w.$-]+)|@"?([\w.$-]+)"? = external )')
"""The names that a text refers to outside of it."""

PASSES = "always_inliner", "sroa", "simplify_cfg", "instruction_combine"
"""The passes of level 1: variables become registers, and instructions are simplified."""

SHARED = 16
"""The number of libraries that share a linker, which is freed with the last of them."""


class Library:
    """Machine code in memory, which is freed when the library is dropped.

    ``library["name"]`` is the address of a function or a variable. Whoever keeps an address has
    to keep the library as well.

    Attributes
    ----------
    cached : bool
        Whether the object code came from the disk.
    """

    __slots__ = ("__weakref__", "_owner", "_tracker", "cached")

    def __init__(self, tracker: Any, owner: Any, cached: bool):
        self._tracker, self._owner, self.cached = tracker, owner, cached

    def __getitem__(self, name: str) -> int:
        return self._tracker[name]


@lru_cache(1)
def host() -> tuple[str, str, str]:
    """Return the triple, the name of the processor and its features."""
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    return (
        llvm.get_process_triple(), llvm.get_host_cpu_name(),
        llvm.get_host_cpu_features().flatten(),
    )  # fmt: skip


def vector_bytes() -> int:
    """Return the bytes of a vector of the processor that code is written for."""
    target = TARGET.get()
    return own_vector_bytes() if target is None else target.vector


@lru_cache(1)
def own_vector_bytes() -> int:
    """Return the bytes of a vector of this processor."""
    features = host()[2].split(",")
    return 64 if "+avx512f" in features else 32 if "+avx2" in features else 16


def identity(opt: int) -> tuple[str, ...]:
    """Return all that object code depends on, apart from its text."""
    version = ".".join(map(str, llvm.llvm_version_info))
    python = f"{sys.implementation.cache_tag} {np.__version__}"  # texts read their objects
    return llvmlite.__version__, version, python, *host(), *options(), f"O{opt}", *PASSES


def options() -> tuple[str, str]:
    """Return the model of relocation and that of code.

    Addresses outside may be far away. Where objects have tables for these, small code is best;
    Windows has none.
    """
    return ("default", "jitdefault") if os.name == "nt" else ("pic", "small")


@lru_cache(4)
def machine(opt: int) -> Any:
    """Return the target machine of this processor; at level 0 it compiles in a hurry."""
    triple, cpu, features = host()
    reloc, model = options()
    return llvm.Target.from_triple(triple).create_target_machine(
        cpu=cpu, features=features, opt=2 * opt, reloc=reloc, codemodel=model, jit=True
    )


class Linker:
    """A maker of libraries: it puts object code into memory."""

    def __init__(self) -> None:
        self.lock = threading.RLock()
        self.count = 0

    def __call__(self, builder: Any) -> tuple[Any, Any]:
        """Return a library, and its owner."""
        with self.lock:
            if self.count % SHARED == 0:
                # The newer one of LLVM's two: the other one keeps memory of dropped libraries.
                self.owner = llvm.create_lljit_compiler(
                    machine(1), use_jit_link=True, suppress_errors=True
                )
            self.count += 1
            return builder.link(self.owner, f"functier{self.count}"), self.owner

    def hold(self) -> None:
        """Wait until no thread is at work in LLVM, before the process forks."""
        self.lock.acquire()
        llvm.ffi.lib._lock.__enter__()

    def release(self) -> None:
        llvm.ffi.lib._lock.__exit__()
        self.lock.release()


LINKER = Linker()
if hasattr(os, "register_at_fork") and hasattr(llvm.ffi.lib, "_lock"):
    os.register_at_fork(
        before=LINKER.hold, after_in_parent=LINKER.release, after_in_child=LINKER.release
    )


def optimised(text: str, opt: int, target: Any = None) -> tuple[Any, Any]:
    """Return a module of a text after the passes of a level, and the context that it lives in.

    `target` is a target machine of LLVM's; None for this processor.
    """
    target = target or machine(opt)
    context = llvm.create_context()  # types and constants end with it
    try:
        module = llvm.parse_assembly(text, context)
        module.triple = target.triple
        module.data_layout = str(target.target_data)
        module.verify()
    except RuntimeError as error:
        raise RuntimeError(f"LLVM refuses a module: {error}") from None
    if opt:
        tuning = llvm.create_pipeline_tuning_options(speed_level=opt)
        builder = llvm.create_pass_builder(target, tuning)
        passes = llvm.create_new_module_pass_manager()
        for name in PASSES:
            getattr(passes, f"add_{name}_pass")()
        passes.run(module, builder)
        free(passes)
    return module, context


def free(passes: Any) -> None:
    """Free a pass manager, where llvmlite does not.

    Its class takes the method that frees from a base that does nothing.
    """
    if type(passes)._dispose is llvm.ffi.ObjectRef._dispose:
        llvm.newpassmanagers.NewPassManager._dispose(passes)
        passes.detach()


def compile_object(text: str, opt: int = 1, target: Any = None) -> bytes:
    """Return the object code of a text, for this processor or a target machine."""
    module, _context = optimised(text, opt, target)
    return (target or machine(opt)).emit_object(module)


def link(
    code: bytes, names: Iterable[str], symbols: Mapping[str, int], cached: bool = False
) -> Library:
    """Put object code into memory.

    Parameters
    ----------
    code : bytes
        Object code for this processor.
    names : iterable of str
        The functions and variables whose addresses are wanted.
    symbols : mapping of str to int
        Addresses of names that the code refers to. Other names are looked up in the process.
    """
    builder = llvm.JITLibraryBuilder().add_object_img(code).add_current_process()
    for name in names:
        builder.export_symbol(name)
    for name, address in symbols.items():
        builder.import_symbol(name, address)
    try:
        tracker, owner = LINKER(builder)
    except RuntimeError as error:
        raise RuntimeError(f"LLVM does not link a module: {error}") from None
    return Library(tracker, owner, cached)


def declared(text: str) -> dict[str, None]:
    """Return the names that a text declares."""
    return dict.fromkeys([one or other for one, other in DECLARED.findall(f"\n{text}")])


def needed(text: str, symbols: Mapping[str, int]) -> dict[str, int]:
    """Return the addresses of what a text declares; those of the process are left out."""
    return {name: symbols[name] for name in declared(text) if name in symbols}


def unknown(text: str, symbols: Mapping[str, int]) -> list[str]:
    """Return what a text declares, and nobody defines."""
    return [
        name for name in declared(text)
        if name not in symbols and not name.startswith("llvm.")
        and llvm.address_of_symbol(name) is None
    ]  # fmt: skip


def load(
    text: str, names: Iterable[str], symbols: Mapping[str, int] | None = None, opt: int = 1,
    stored: bool = True,
) -> Library:  # fmt: skip
    """Compile a text, and put it into memory.

    Parameters
    ----------
    text : str
        A module of LLVM, without a triple and a data layout.
    names : iterable of str
        The functions and variables whose addresses are wanted.
    symbols : mapping of str to int, optional
        Addresses of what the text declares. Names that are not here are those of the process,
        such as the functions of the C library.
    opt : {0, 1}
        The level of optimisation. At 1 there are `PASSES` alone: a text has
        vectors and common subexpressions already, and LLVM's other passes take half of the time
        that compiling takes, for code that is a twentieth faster at most.
    stored : bool
        Whether object code is taken from the disk, and written there.

    Returns
    -------
    Library

    Raises
    ------
    RuntimeError
        If LLVM refuses the text, or a name has no address.
    """
    names, found = list(names), needed(text, symbols or {})
    key = cache.key_of(text, identity(opt)) if stored and cache.folder() else None
    if key is not None:
        code = cache.read(key)
        if code is not None:
            try:
                return link(code, names, found, cached=True)
            except RuntimeError:
                pass  # the file has changed: it is written again
    code = compile_object(text, opt)
    try:
        library = link(code, names, found)
    except RuntimeError:
        lost = unknown(text, found)
        if not lost:
            raise
        raise RuntimeError(f"these have no address: {', '.join(lost)}") from None
    if key is not None:
        cache.write(key, code)
    return library
