"""Memory for parts: blocks that wait for the next call.

NOTE [blocks that are used again]
    A block lies behind its size and the address that was allocated. Blocks that nobody uses wait
    in a few slots, which all builtins share. A slot is emptied or filled in one step of the
    processor, so calls may run in several threads, or inside each other. None is used for a part
    that needs less than half of it: another one may need it all. New memory costs more than the
    work on it, as the system clears it page by page, so large blocks wait, too. All of them are at
    most a quarter of the memory of the computer.
"""

import ctypes
import os

SPARES = 4
"""The greatest number of blocks that are kept."""


def most() -> int:
    """Return the bytes of the largest block that is kept."""
    try:
        memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):  # on Windows
        memory = 1 << 32
    return max(memory // (4 * SPARES), 64 * 2**20)


LARGEST = most()

SLOTS = (ctypes.c_void_p * SPARES)()


def addresses() -> dict[str, int]:
    """Return the addresses that the text refers to."""
    return {"functier.spares": ctypes.addressof(SLOTS)}


def pool_text(largest: int) -> str:
    """Return the functions that take memory, and give it back: blocks up to a size are kept."""
    lines = [
        "@functier.spares = external global i8",
        "declare ptr @PyMem_RawMalloc(i64)",
        "declare void @PyMem_RawFree(ptr)",
        "define internal void @functier.free(ptr %block) nounwind noinline optnone {",
        "%place = getelementptr i8, ptr %block, i64 -16",
        "%raw = load ptr, ptr %place",
        "call void @PyMem_RawFree(ptr %raw)",
        "ret void",
        "}",
        *_take_lines(),
        *_give_lines(largest),
    ]
    return "\n".join(lines)


def _take_lines() -> list[str]:
    """Return the function that takes a block: a spare one that fits, or a new one."""
    lines = [
        "define internal ptr @functier.take(i64 %size) nounwind noinline optnone {",
        "%twice = shl i64 %size, 1",
        "%most = add i64 %twice, 65536",
    ]
    for i in range(SPARES):
        lines += [
            f"%slot{i} = getelementptr ptr, ptr @functier.spares, i64 {i}",
            f"%block{i} = atomicrmw xchg ptr %slot{i}, ptr null acq_rel",
            f"%some{i} = icmp ne ptr %block{i}, null",
            f"br i1 %some{i}, label %look{i}, label %next{i}",
            f"look{i}:",
            f"%place{i} = getelementptr i8, ptr %block{i}, i64 -8",
            f"%own{i} = load i64, ptr %place{i}",
            f"%large{i} = icmp uge i64 %own{i}, %size",
            f"%close{i} = icmp ule i64 %own{i}, %most",
            f"%fits{i} = and i1 %large{i}, %close{i}",
            f"br i1 %fits{i}, label %found{i}, label %back{i}",
            f"found{i}:",
            f"ret ptr %block{i}",
            f"back{i}:",
            f"%pair{i} = cmpxchg ptr %slot{i}, ptr null, ptr %block{i} acq_rel monotonic",
            f"%put{i} = extractvalue {{ ptr, i1 }} %pair{i}, 1",
            f"br i1 %put{i}, label %next{i}, label %drop{i}",
            f"drop{i}:",
            f"call void @functier.free(ptr %block{i})",
            f"br label %next{i}",
            f"next{i}:",
        ]
    lines += [
        "%whole = add i64 %size, 128",
        "%raw = call ptr @PyMem_RawMalloc(i64 %whole)",
        "%none = icmp eq ptr %raw, null",
        "br i1 %none, label %fail, label %good",
        "fail:",
        "ret ptr null",
        "good:",
        "%begin = ptrtoint ptr %raw to i64",
        "%later = add i64 %begin, 127",
        "%round = and i64 %later, -64",
        "%shift = sub i64 %round, %begin",
        "%block = getelementptr i8, ptr %raw, i64 %shift",
        "%a = getelementptr i8, ptr %block, i64 -16",
        "store ptr %raw, ptr %a",
        "%b = getelementptr i8, ptr %block, i64 -8",
        "store i64 %size, ptr %b",
        "ret ptr %block",
        "}",
    ]
    return lines


def _give_lines(largest: int) -> list[str]:
    """Return the function that gives a block back: to an empty place, if it is small enough."""
    lines = [
        "define internal void @functier.give(ptr %block) nounwind noinline optnone {",
        "%place = getelementptr i8, ptr %block, i64 -8",
        "%size = load i64, ptr %place",
        f"%keep = icmp ule i64 %size, {largest}",
        "br i1 %keep, label %slots, label %free",
        "slots:",
    ]
    for i in range(SPARES):
        lines += [
            f"%slot{i} = getelementptr ptr, ptr @functier.spares, i64 {i}",
            f"%pair{i} = cmpxchg ptr %slot{i}, ptr null, ptr %block acq_rel monotonic",
            f"%put{i} = extractvalue {{ ptr, i1 }} %pair{i}, 1",
            f"br i1 %put{i}, label %end, label %next{i}",
            f"next{i}:",
        ]
    lines += [
        f"%old = atomicrmw xchg ptr %slot{SPARES - 1}, ptr %block acq_rel",
        "%empty = icmp eq ptr %old, null",
        "br i1 %empty, label %end, label %freeold",
        "freeold:",
        "call void @functier.free(ptr %old)",
        "br label %end",
        "free:",
        "call void @functier.free(ptr %block)",
        "br label %end",
        "end:",
        "ret void",
        "}",
    ]
    return lines


TEXT = pool_text(LARGEST)
