"""Loops over the elements of arrays, as routines: each is one nest with a straight body.

NOTE [the end of a row]
    The last step of a row begins so many lanes before its end, and computes some elements again.
    So a body is written once. What these lanes add to a sum is masked.
"""

import hashlib
from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np

from ..text.emitter import ATTRIBUTES, BOOL, INT64, Declarations, Emitter, Value
from ..text.routines import Kernel
from .bodies import Body, invariant, origin
from .nests import ArgReduce, Nest, Pad, Reduce, lanes_of, merged, ordered
from .sums import RUN, reduction


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

        hoisted = invariant(self, pointers) if n > width else {}
        self.origins = {x: origin(self, x, pointers) for x in self.nest.body if type(x) is Pad}

        def step(index: str) -> None:
            Body(self, index, pointers, hoisted).write()

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
