"""Processors that code is made for, and object code for them."""

from typing import Any

import llvmlite.binding as llvm  # type: ignore[import-untyped]

from .._programs.machine.compiler import engine
from .._programs.machine.compiler.targets import Target

KNOWN = {
    "x86_64": ("x86-64-v3", "", 32), "aarch64": ("generic", "+neon", 16),
    "arm64": ("generic", "+neon", 16),
}  # fmt: skip
"""For each architecture, the processor that `portable` is for, its features, bytes of a vector."""

CPUS = {"thumbv7em": "cortex-m4", "thumbv7m": "cortex-m3", "armv7": "cortex-a9"}
"""Processors of other triples, where the user names none."""

PLAIN = frozenset({"generic", "x86-64", "x86-64-v2", "x86-64-v3"})
"""Processors whose code others of the architecture run, if their vectors are as long."""

SYSTEMS = frozenset({"freebsd", "linux", "netbsd", "none", "openbsd", "windows"})
"""Systems, which follow the architecture in a triple without a vendor."""


def target_of(name: str, cpu: str | None, exact: bool) -> Target:
    """Return a target: ``"native"``, ``"portable"``, or a triple of LLVM's.

    Raises
    ------
    ValueError
        If the installed LLVM has no such target.
    """
    triple, own, features = engine.host()
    arch = triple.partition("-")[0]
    if name == "native":
        if cpu is not None:
            raise ValueError("export: cpu= is for a target that is a triple or 'portable'")
        return Target(triple, own, features, engine.own_vector_bytes(), exact)
    if name == "portable":
        if arch not in KNOWN:
            raise ValueError(f"export: there is no portable target for {arch}; write its triple")
        known, features, vector = KNOWN[arch]
        return Target(triple, cpu or known, features if cpu is None else "", vector, exact)
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    try:
        llvm.Target.from_triple(name)
    except RuntimeError as error:
        raise ValueError(f"export: target={name!r} is not known: {str(error).strip()}") from None
    arch = name.partition("-")[0]
    known, features, vector = KNOWN.get(arch, (CPUS.get(arch, "generic"), "", 16))
    target = Target(whole(name), cpu or known, features if cpu is None else "", vector, exact)
    layout = str(machine_of(target).target_data)
    if not layout.startswith("e"):
        raise ValueError(f"export: target={name!r} stores the highest byte of a number first")
    return target


def whole(triple: str) -> str:
    """Return a triple with its vendor, without which LLVM takes the system for it."""
    arch, _, rest = triple.partition("-")
    return f"{arch}-unknown-{rest}" if rest.partition("-")[0] in SYSTEMS else triple


def machine_of(target: Target) -> Any:
    """Return LLVM's machine of a target, for code that may be linked into any program."""
    return llvm.Target.from_triple(target.triple).create_target_machine(
        cpu=target.cpu, features=target.features, opt=2, reloc="pic", codemodel="small",
    )  # fmt: skip


def runs_here(target: Target) -> bool:
    """Return whether this process can run the code of a target."""
    triple, own, _ = engine.host()
    plain = target.cpu in PLAIN and target.vector <= engine.own_vector_bytes()
    return target.triple == triple and (target.cpu == own or plain)


def compiled(text: str, target: Target) -> bytes:
    """Return the object code of a text."""
    return engine.compile_object(text, target=machine_of(target))


def is_elf(target: Target) -> bool:
    """Return whether object code for a target has the format of Linux."""
    words = "darwin", "macos", "windows", "apple", "ios"
    return not any(word in target.triple for word in words)


def elf_of(text: str, target: Target) -> bytes:
    """Return object code whose symbols can be read: in the format of Linux."""
    arch, *_ = target.triple.split("-")
    if not is_elf(target):
        target = target._replace(triple=f"{arch.replace('arm64', 'aarch64')}-unknown-linux-gnu")
    return compiled(text, target)
