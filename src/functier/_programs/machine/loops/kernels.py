"""Loops over the elements of arrays, as routines, and over large arrays in blocks.

NOTE [the end of a row]
    The last step of a row begins so many lanes before its end, and computes some elements again.
    So a body is written once. What these lanes add to a sum is masked.

NOTE [blocks do not depend on threads]
    The blocks of a loop follow from its sizes alone. A block writes what it sums to a place of
    its own, and these numbers are summed when all blocks are done. So each number of threads
    gives equal results; one thread takes blocks where there are sums.
"""

import hashlib
from collections.abc import Callable
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from ..text.emitter import ATTRIBUTES, BOOL, INT64, Declarations, Emitter, Value
from ..text.routines import Kernel
from .bodies import Body, origin
from .nests import (
    RUN,
    SHORT,
    Apply,
    ArgReduce,
    Load,
    Nest,
    Pad,
    Reduce,
    Scatter,
    Stream,
    lanes_of,
    merged,
    ordered,
    reduction,
)


@lru_cache(4096)
def kernel_of(nest: Nest, native: int, contract: bool = False) -> Kernel:
    """Return the routine of a nest; its pointers are those of the streams."""
    nest = merged(nest)
    lanes, outlined = lanes_of(nest, native)
    return written(ordered(nest, max(lanes, 1)), lanes, outlined, contract)


@lru_cache(4096)
def written(nest: Nest, lanes: int, outlined: bool, contract: bool) -> Kernel:
    return Writer(nest, lanes, outlined, contract).kernel()


class Writer:
    """The text of a nest while it is written."""

    def __init__(self, nest: Nest, lanes: int, outlined: bool, contract: bool):
        self.nest = nest
        self.declarations = Declarations()
        inner = nest.space[-1] if nest.space else 1
        width = 0
        while 2 <= inner and max(width, 1) * 2 <= min(lanes, inner):
            width = max(width, 1) * 2
        self.width = width
        self.e = Emitter(width, "v", self.declarations, outlined, contract)
        self.s = Emitter(0, "s", self.declarations, outlined, contract)  # for addresses
        self.s.lines = self.e.lines
        self.head: list[str] = []
        self.count = 0
        self.refuses = False
        self.done = ""
        self.indices: dict[int, str] = {}

    def start(self, label: str) -> None:
        self.e.start(label)
        self.s._memo.clear()

    def line(self, text: str) -> None:
        self.e.line(text)

    def let(self, text: str) -> str:
        """Append a scalar instruction, and return its name."""
        return self.s.emit(text, INT64, memo=False).text

    def move(self, pointer: str, index: str, stride: int) -> str:
        """Return a pointer moved by an index times a stride."""
        if not stride:
            return pointer
        if index.isdigit():
            far = int(index) * stride
            return pointer if not far else self.let(f"getelementptr i8, ptr {pointer}, i64 {far}")
        step = self.s.emit(f"mul nsw i64 {index}, {stride}", INT64).text
        return self.let(f"getelementptr i8, ptr {pointer}, i64 {step}")

    def slot(self, emitter: Emitter, dtype: np.dtype) -> str:
        """Return a variable, which the passes turn into a register."""
        self.count += 1
        name = f"%slot{self.count}"
        self.head.append(f"  {name} = alloca {emitter.type(dtype)}")
        return name

    def set(self, slot: str, value: Value) -> None:
        self.line(f"store {self.e.typed(value)}, ptr {slot}")

    def get(self, slot: str, dtype: np.dtype) -> Value:
        return self.e.emit(f"load {self.e.type(dtype)}, ptr {slot}", dtype, memo=False)

    def kernel(self) -> Kernel:
        nest = self.nest
        lines = [x for x in nest.body if type(x) in (Reduce, ArgReduce)]
        self.sums = [reduction(self, x) for x in lines]
        self.start("entry")
        self.status = self.slot(self.e, BOOL)
        for found in self.sums:
            if found.fills or 0 in nest.space:
                empty = 0 in nest.space and found.line.func is np.add
                self.fill(found.line.stream, 0 if empty else found.start)
        if 0 not in nest.space:
            self.level(0, [f"%p{i}" for i in range(len(nest.streams))])
        e = self.e
        if self.refuses:
            flag = e.any(self.get(self.status, BOOL))
            code = self.let(f"zext i1 {flag} to i32")
            self.line(f"ret i32 {code}")
            self.head.append(f"  store {e.typed(e.constant(False, BOOL))}, ptr {self.status}")
        else:
            self.line("ret void")
            self.head = [text for text in self.head if f"{self.status} " not in text]
        kind = "i32" if self.refuses else "void"
        given = [f"ptr {'noalias ' * s.alone}%p{i}" for i, s in enumerate(nest.streams)]
        body = "\n".join(["entry:", *self.head, *e.lines[1:]])
        text = f"({', '.join([*given, 'ptr %scratch'])}) noinline {ATTRIBUTES} {{\n{body}\n}}"
        name = f"nest_{hashlib.sha256(text.encode()).hexdigest()[:20]}"
        texts = {**self.declarations, name: f"define internal {kind} @{name}{text}"}
        return Kernel(name, texts, 0, self.refuses)

    def fill(self, stream: int, value: Any) -> None:
        """Write a number to all elements of a result."""
        dtype, n = self.nest.streams[stream].dtype, self.nest.streams[stream].size
        if not n:
            return
        width = 1
        while width * 2 <= min(n, 32):
            width *= 2
        emitter = Emitter(width if width > 1 else 0, f"f{stream}.", self.declarations)
        emitter.lines = self.e.lines
        number = emitter.constant(value, dtype)

        def step(index: str) -> None:
            emitter.store(number, self.move(f"%p{stream}", index, dtype.itemsize))

        self.row(n, width, step)

    def row(self, n: int, width: int, step: Any, start: str = "0", end: str = "") -> None:
        """Write a loop over a row; see NOTE [the end of a row]."""
        if n <= width:
            step("0")
            return

        def lanes(done: str) -> None:
            index = done
            if n % width:
                inside = self.let(f"icmp ult i64 {done}, {n - width}")
                index = self.let(f"select i1 {inside}, i64 {done}, i64 {n - width}")
                self.done = done
            step(index)

        self.counted(start, end or str(n), width, lanes)

    def counted(self, start: str, end: str, far: int, body: Callable[[str], None]) -> None:
        """Write a loop over an index: from a start, in steps of `far`, while it is below an end."""
        self.count += 1
        name, before = self.count, self.e.block
        self.line(f"br label %row{name}")
        self.start(f"row{name}")
        place, index = len(self.e.lines), f"%done{name}"
        body(index)
        after = self.let(f"add nuw nsw i64 {index}, {far}")
        more = self.let(f"icmp ult i64 {after}, {end}")
        phi = f"  {index} = phi i64 [ {start}, %{before} ], [ {after}, %{self.e.block} ]"
        self.e.lines.insert(place, phi)
        self.line(f"br i1 {more}, label %row{name}, label %end{name}")
        self.start(f"end{name}")

    def level(self, k: int, pointers: list[str]) -> None:
        """Write the loop of an axis, and those inside."""
        nest = self.nest
        begin = [s for s in self.sums if s.level == k]
        for found in begin:
            found.begin()
        if k + 1 < len(nest.space):

            def step(index: str) -> None:
                moved = [self.move(p, index, s.strides[k]) for p, s in zip(pointers, nest.streams)]
                self.indices[k] = index
                self.level(k + 1, moved)

            self.row(nest.space[k], 1, step)
        else:
            self.inner(k, pointers)
        for found in begin:
            found.finish(pointers)

    def inner(self, k: int, pointers: list[str]) -> None:
        """Write the loop of the last axis."""
        n = self.nest.space[-1] if self.nest.space else 1
        width = max(self.width, 1)
        long = [s for s in self.sums if s.paired and s.level >= 0]

        self.origins = {x: origin(self, x, pointers) for x in self.nest.body if type(x) is Pad}

        def step(index: str) -> None:
            Body(self, index, pointers).write()

        if not long:
            self.row(n, width, step)
            return

        def part(start: str, end: str) -> None:
            for found in long:
                found.reset()
            self.row(n, width, step, start, end)
            for found in long:
                found.flush()

        block = RUN * width
        if n <= 2 * block:
            part("0", str(n))
            return

        def blocks(start: str) -> None:
            far = self.let(f"add nuw nsw i64 {start}, {block}")
            less = self.let(f"icmp ult i64 {far}, {n}")
            part(start, self.let(f"select i1 {less}, i64 {far}, i64 {n}"))

        self.counted("0", str(n), block, blocks)


LARGE = 1 << 17
"""The least number of elements of a loop that is cut into blocks."""

BLOCK = 1 << 15
"""About so many elements has a block."""

WORK = 1 << 22
"""From so many instructions on, about, it pays to ask other threads."""

ROWS = 16
UNIT = 64


class Cut(NamedTuple):
    """The axis that is cut, the steps along it of a block, and the arrays with sums over it."""

    axis: int
    step: int
    summed: tuple[int, ...]


def routine_of(nest: Nest, native: int, contract: bool = False, threads: int = 1) -> Kernel:
    """Return the routine of a nest, whose pointers are those of the streams."""
    if np.prod(nest.space, dtype=float) < LARGE:
        return kernel_of(nest, native, contract)
    joined = merged(nest)
    lanes, outlined = lanes_of(joined, native)
    whole = ordered(joined, max(lanes, 1))
    cut = cut_of(whole)
    if work_of(whole) < WORK:
        threads = 1
    if cut is None or (threads == 1 and not cut.summed):
        return kernel_of(nest, native, contract)
    kernels = [
        written(block_of(whole, cut, n), lanes, outlined, contract) for n in steps(whole, cut)
    ]
    return spread(whole, cut, kernels, native, threads)


def work_of(nest: Nest) -> float:
    """Return about how many instructions a loop takes, for each number by itself."""
    heavy = [line for line in nest.body if type(line) is Apply and line.func not in SHORT]
    return float(np.prod(nest.space, dtype=float)) * (len(nest.body) + 10 * len(heavy))


def cut_of(nest: Nest) -> Cut | None:
    """Return how a nest is cut into blocks, if it can be."""
    space, streams = nest.space, nest.streams
    axis = 0 if space[0] >= ROWS else max(range(len(space)), key=space.__getitem__)
    n, elements = space[axis], int(np.prod(space))
    step = step_of(n, BLOCK * n // elements, UNIT if axis == len(space) - 1 else 1)
    if step >= n:
        return None
    reduced = {line.stream for line in nest.body if type(line) is Reduce}
    for line in nest.body:
        if type(line) is Scatter or (type(line) is Pad and line.bounds[axis] != (0, n)):
            return None
        if type(line) is ArgReduce and not streams[line.stream].strides[axis]:
            return None
    summed = []
    for i, stream in enumerate(streams):
        far = stream.strides[axis]
        if not stream.writes:
            continue
        if i in reduced and not far:
            summed.append(i)
            if 8 * stream.size * -(-n // step) > elements:
                return None
        elif not stream.alone or not far:
            return None
        elif i in reduced and far * n != stream.size * stream.dtype.itemsize:
            return None  # the part of a block does not lie side by side
    return Cut(axis, step, tuple(summed))


def step_of(n: int, most: int, unit: int) -> int:
    """Return the steps of a block: a divisor, if there is one near, so that all are alike."""
    count = -(-n // max(most, unit))
    for k in range(count, min(2 * count, count + 4096) + 1):
        if n % k == 0 and n // k % unit == 0:
            return n // k
    return -(-max(most, 1) // unit) * unit


def steps(nest: Nest, cut: Cut) -> list[int]:
    """Return the steps of a block, and of the last one where it has fewer."""
    rest = nest.space[cut.axis] % cut.step
    return [cut.step, rest] if rest else [cut.step]


def block_of(nest: Nest, cut: Cut, step: int) -> Nest:
    """Return the nest of one block."""
    n = nest.space[cut.axis]
    space = [step if k == cut.axis else size for k, size in enumerate(nest.space)]
    streams = [
        s._replace(size=s.size if i in cut.summed else s.size // n * step)
        for i, s in enumerate(nest.streams)
    ]
    body = []
    for line in nest.body:
        if type(line) is Pad:
            bounds = [(0, step) if k == cut.axis else b for k, b in enumerate(line.bounds)]
            line = line._replace(bounds=tuple(bounds))
        body.append(line)
    return Nest(tuple(space), tuple(streams), tuple(body))


def spread(nest: Nest, cut: Cut, kernels: list[Kernel], native: int, threads: int) -> Kernel:
    """Return the routine that runs blocks, and sums what they have summed."""
    n, count = nest.space[cut.axis], -(-nest.space[cut.axis] // cut.step)
    texts = {name: text for kernel in kernels for name, text in kernel.texts.items()}
    numbers = range(len(nest.streams))
    block = ["entry:", f"  %number = udiv i64 %start, {cut.step}"]
    main = ["entry:", f"  %frame = alloca [{len(numbers)} x ptr]"]
    ends = []
    scratch = 0
    for i, stream in enumerate(nest.streams):
        index, far, place = "%start", stream.strides[cut.axis], f"%p{i}"
        if i in cut.summed:
            index, far, place = "%number", stream.size * stream.dtype.itemsize, f"%sums{i}"
            main.append(f"  {place} = getelementptr i8, ptr %scratch, i64 {scratch}")
            scratch += -(-far * count // 64) * 64
            (func,) = [x.func for x in nest.body if type(x) is Reduce and x.stream == i]
            end = kernel_of(sums_of(stream, func, count), native)
            texts.update(end.texts)
            ends.append(f"  {end.call([place, f'%p{i}'])}")
        main.append(f"  %f{i} = getelementptr ptr, ptr %frame, i64 {i}")
        main.append(f"  store ptr {place}, ptr %f{i}")
        block.append(f"  %f{i} = getelementptr ptr, ptr %frame, i64 {i}")
        block.append(f"  %b{i} = load ptr, ptr %f{i}")
        block.append(f"  %o{i} = mul i64 {index}, {far}")
        block.append(f"  %p{i} = getelementptr i8, ptr %b{i}, i64 %o{i}")
    block.append("  %size = sub i64 %stop, %start")
    block.append(f"  %whole = icmp eq i64 %size, {cut.step}")
    block.append(f"  br i1 %whole, label %k0, label %k{len(kernels) - 1}")
    given = [f"%p{i}" for i in numbers]
    for k, kernel in enumerate(kernels):
        block += [
            f"k{k}:",
            f"  {'%s' + str(k) + ' = ' if kernel.status else ''}{kernel.call(given)}",
        ]
        block.append(f"  ret i32 {f'%s{k}' if kernel.status else 0}")
    of_block = "\n".join(block)
    name = f"block_{hashlib.sha256(of_block.encode()).hexdigest()[:20]}"
    head = f"define internal i32 @{name}(ptr %frame, i64 %start, i64 %stop) noinline {ATTRIBUTES}"
    texts[name] = f"{head} {{\n{of_block}\n}}"
    if threads > 1:
        task = f"ptr @{name}, ptr %frame, i64 {n}, i64 {cut.step}, i64 {threads}"
        main.append(f"  %status = call i32 @functier.parallel({task})")
    else:
        main += in_order(name, n, cut.step)
    main += [*ends, "  ret i32 %status"]
    text = "\n".join(main)
    pointers = ", ".join([f"ptr %p{i}" for i in numbers])
    text = f"({pointers}, ptr %scratch) noinline {ATTRIBUTES} {{\n{text}\n}}"
    name = f"spread_{hashlib.sha256(text.encode()).hexdigest()[:20]}"
    texts[name] = f"define internal i32 @{name}{text}"
    return Kernel(name, texts, scratch, True)


def sums_of(stream: Stream, func: np.ufunc, count: int) -> Nest:
    """Return the nest that sums the results of blocks."""
    dtype, m = stream.dtype, stream.size
    far = dtype.itemsize
    given = Stream(dtype, (m * far, far)), Stream(dtype, (0, far), True, m)
    return Nest((count, m), given, (Load(0), Reduce(func, 1, 0)))


def in_order(name: str, n: int, step: int) -> list[str]:
    """Return a loop over the blocks, which ends with the status."""
    return [
        "  br label %again",
        "again:",
        "  %start = phi i64 [ 0, %entry ], [ %next, %again ]",
        "  %before = phi i32 [ 0, %entry ], [ %status, %again ]",
        f"  %next = add nuw nsw i64 %start, {step}",
        f"  %less = icmp slt i64 %next, {n}",
        f"  %stop = select i1 %less, i64 %next, i64 {n}",
        f"  %found = call i32 @{name}(ptr %frame, i64 %start, i64 %stop)",
        "  %status = or i32 %before, %found",
        "  br i1 %less, label %again, label %end",
        "end:",
    ]
