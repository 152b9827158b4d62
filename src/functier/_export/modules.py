"""The module of a library: its routines, and for each function the entry that C calls."""

import re
from collections.abc import Sequence

import numpy as np

from .._programs.machine.calls.threads import PAUSE
from .._programs.machine.parts.calling import ALIGNED, texts_of
from .._programs.machine.text.routines import numbers
from .lowered import Check, Lowered

FAILED, CHANGED = 1, 2
"""The statuses of an entry whose part fails, and of one whose check does not hold."""

OWN = re.compile(r"@(part|piece\d+|constant\d+)\b")

NO_PAUSE = "define internal i32 @functier.pause() alwaysinline nounwind {\n  ret i32 0\n}"

COPY = "declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)"


def bytes_of(lowered: Lowered) -> int:
    """Return how much memory a call of a function needs; it may begin anywhere."""
    arena = 0 if lowered.text is None else lowered.text.arena
    return arena + ALIGNED if arena else 0


def module_of(functions: Sequence[Lowered]) -> str:
    """Return the text of a library. Routines that functions share are there once."""
    texts = {"memcpy": COPY}
    own: list[str] = []
    for each in functions:
        part = each.text
        if part is not None:
            for name, text in texts_of(part.calls).items():
                if texts.setdefault(name, text) != text:
                    raise ValueError(f"there are two bodies for {name}")
            own += [constant_of(f"{each.name}.constant{i}", x)
                    for i, x in enumerate(part.part.constants)]  # fmt: skip
            main = "\n".join(part.functions).replace(
                "define i32 @part", "define internal i32 @part"
            )
            own.append(OWN.sub(rf"@{each.name}.\1", main))
        own += [constant_of(f"{each.name}.held{i}", x) for i, x in enumerate(each.held)]
        own += [constant_of(f"{each.name}.captured{i}", x) for i, x in enumerate(each.captured)]
        own += [constant_of(f"{each.name}.result{i}", x.constant)
                for i, x in enumerate(each.results) if x.constant is not None]  # fmt: skip
        own.append(entry_of(each))
    whole = [*texts.values(), *own]
    if any(PAUSE in text for text in whole):
        whole.append(NO_PAUSE)
    return "\n".join(whole)


def static_of(lowered: Lowered) -> str:
    """Return the text of the entry that has memory of its own."""
    size, kinds = bytes_of(lowered), ["ptr"] * (len(lowered.inputs) + len(lowered.results))
    name = lowered.name
    given = ", ".join([f"{kind} %p{i}" for i, kind in enumerate(kinds)])
    head, work = [], "null"
    if size:
        work = f"@{name}.arena"
        head = [f"{work} = internal global [{size} x i8] zeroinitializer, align {ALIGNED}"]
    return "\n".join([
        *head, f"declare i32 @{name}({', '.join([*kinds, 'ptr'])})",
        f"define i32 @{name}_static({given}) nounwind {{",
        f"  %status = call i32 @{name}({', '.join([*filter(None, [given]), f'ptr {work}'])})",
        "  ret i32 %status", "}",
    ])  # fmt: skip


def constant_of(name: str, x: np.ndarray) -> str:
    """Return the line with the contents of an array, from its first element on."""
    if not x.size:
        return f"@{name} = private constant [1 x i8] zeroinitializer, align {ALIGNED}"
    steps = [step * (n - 1) for step, n in zip(x.strides, x.shape)]
    before = -sum([step for step in steps if step < 0])
    size = before + sum([step for step in steps if step > 0]) + x.itemsize
    memory = bytearray(size)
    view: np.ndarray = np.ndarray(x.shape, x.dtype, memory, before, x.strides)
    view[...] = x  # what lies between its elements is 0
    text = "".join([f"\\{byte:02x}" for byte in memory])
    line = f'constant [{size} x i8] c"{text}", align {ALIGNED}'
    if not before:
        return f"@{name} = private {line}"
    return (
        f"@{name}.all = private {line}\n"
        f"@{name} = internal alias i8, getelementptr (i8, ptr @{name}.all, i64 {before})"
    )


def entry_of(lowered: Lowered) -> str:
    """Return the function that C calls."""
    given = [f"ptr noalias %in{i}" for i in range(len(lowered.inputs))]
    given += [f"ptr noalias %result{k}" for k in range(len(lowered.results))]
    lines = []
    if lowered.text is not None:
        lines = call_of(lowered)
    for k, x in enumerate(lowered.results):
        if x.constant is not None and x.size:
            lines.append(
                f"  call void @llvm.memcpy.p0.p0.i64(ptr %result{k}, "
                f"ptr @{lowered.name}.result{k}, i64 {x.constant.nbytes}, i1 false)"
            )
    lines += ["  ret i32 0", f"failed:\n  ret i32 {FAILED}"]
    if lowered.text is None:
        lines.pop()
    if lowered.checks:
        lines += [f"changed:\n  ret i32 {CHANGED}"]
    parameters = ", ".join([*given, "ptr %work"])
    return "\n".join([f"define i32 @{lowered.name}({parameters}) nounwind {{", *lines, "}"])


def call_of(lowered: Lowered) -> list[str]:
    """Return the lines that call the part, and look at its checks."""
    pointers = [f"ptr @{lowered.name}.held{i}" for i in range(len(lowered.held))]
    pointers += [f"ptr %in{i}" for i in range(len(lowered.inputs))]
    pointers += [f"ptr @{lowered.name}.captured{i}" for i in range(len(lowered.captured))]
    lines = []
    for i, output in enumerate(lowered.outputs):
        if type(output) is int:
            pointers.append(f"ptr %result{output}")
        else:
            lines.append(f"  %seen{i} = alloca [16 x i8], align 16")
            pointers.append(f"ptr %seen{i}")
    work = "%work"
    if bytes_of(lowered):
        work = "%arena"
        lines += [
            "  %address = ptrtoint ptr %work to i64", f"  %after = add i64 %address, {ALIGNED - 1}",
            f"  %begin = and i64 %after, -{ALIGNED}", "  %far = sub i64 %begin, %address",
            "  %arena = getelementptr i8, ptr %work, i64 %far",
        ]  # fmt: skip
    lines += [
        f"  %status = call i32 @{lowered.name}.part({', '.join([*pointers, f'ptr {work}'])})",
        "  %bad = icmp ne i32 %status, 0", "  br i1 %bad, label %failed, label %next",
        "next:",
    ]  # fmt: skip
    for n, check in enumerate(lowered.checks):
        lines += compared(n, check)
        lines += [f"  br i1 %wrong{n}, label %changed, label %next{n}", f"next{n}:"]
    return lines


def compared(n: int, check: Check) -> list[str]:
    """Return the lines that tell if an answer is another one."""
    dtype, answer = check.dtype, check.answer
    if dtype.kind == "b":
        return [
            f"  %found{n} = load i8, ptr %seen{check.number}",
            f"  %wrong{n} = icmp {'eq' if answer else 'ne'} i8 %found{n}, 0",
        ]
    kind = numbers(dtype)
    assert kind is not None
    lines = [f"  %found{n} = load {kind.name}, ptr %seen{check.number}"]
    if check.how == "bool":
        test = (
            ("fcmp oeq" if answer else "fcmp une")
            if kind.real
            else ("icmp eq" if answer else "icmp ne")
        )
        return [*lines, f"  %wrong{n} = {test} {kind.name} %found{n}, {kind.zero(1)}"]
    if not kind.real:
        return [*lines, f"  %wrong{n} = icmp ne {kind.name} %found{n}, {int(answer)}"]
    # The answer is the integer that the number is when its fraction is cut off.
    low, high = (float(answer) - 1, float(answer) + 1)
    below = f"fcmp {'ole' if answer <= 0 else 'olt'} {kind.name} %found{n}, "
    below += hexed(low if answer <= 0 else float(answer))
    above = f"fcmp {'oge' if answer >= 0 else 'ogt'} {kind.name} %found{n}, "
    above += hexed(high if answer >= 0 else float(answer))
    return [
        *lines, f"  %below{n} = {below}", f"  %above{n} = {above}",
        f"  %odd{n} = fcmp uno {kind.name} %found{n}, {kind.zero(1)}",
        f"  %out{n} = or i1 %below{n}, %above{n}", f"  %wrong{n} = or i1 %out{n}, %odd{n}",
    ]  # fmt: skip


def hexed(x: float) -> str:
    """Return a number as LLVM writes it to the last bit."""
    return f"0x{np.float64(x).view(np.uint64):016X}"
