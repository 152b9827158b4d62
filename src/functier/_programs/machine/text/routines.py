"""Routines, as text, and their operands: where an array lies, and how.

NOTE [routines know layouts, not names]
    A routine gets its operands as pointers, and has their shapes and strides in its code. So its
    text does not depend on the code that calls it: equal routines are equal text, have one name,
    and stand in a module once.
"""

import hashlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import NamedTuple

import numpy as np


class Operand(NamedTuple):
    """An array in memory, as a kernel sees it.

    Attributes
    ----------
    pointer : str
        The text of the pointer in the code, such as ``%in0``.
    dtype : numpy.dtype
        The type of its elements.
    shape, strides : tuple of int
        Sizes and steps, the steps in bytes.
    offset : int
        The bytes from the pointer to the first element.
    """

    pointer: str
    dtype: np.dtype
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    offset: int = 0

    def broadcast(self, shape: tuple[int, ...]) -> "Operand":
        """Return the operand with a larger shape, by steps of zero."""
        new = len(shape) - len(self.shape)
        strides = [
            0 if old == 1 and length != 1 else step
            for old, length, step in zip(self.shape, shape[new:], self.strides)
        ]
        return self._replace(shape=shape, strides=(0,) * new + tuple(strides))


def packed_strides(shape: Sequence[int], itemsize: int) -> tuple[int, ...]:
    """Return the strides of a new array in C order."""
    strides, step = [], itemsize
    for length in reversed(shape):
        strides.append(step)
        step *= max(length, 1)
    return tuple(reversed(strides))


class Kernel(NamedTuple):
    """A routine that code can call.

    Attributes
    ----------
    name : str
        The name of its function.
    texts : dict of str to str
        Definitions and declarations for the module, by name.
    scratch : int
        The bytes of memory that it needs during a call.
    status : bool
        True if it returns an `i32` that is not 0 where NumPy has to compute the result.
    """

    name: str
    texts: dict[str, str]
    scratch: int = 0
    status: bool = False

    def call(self, pointers: Sequence[str], scratch: str = "null") -> str:
        """Return the text of a call."""
        given = ", ".join([f"ptr {pointer}" for pointer in (*pointers, scratch)])
        return f"call {'i32' if self.status else 'void'} @{self.name}({given})"


class Routine:
    """The text of one function while it is written.

    Its parameters are pointers. `instruction` adds a line with a result, `line` one without.
    """

    def __init__(self, parameters: Sequence[str], status: bool = False):
        self.parameters, self.status = list(parameters), status
        self.lines: list[str] = []
        self.texts: dict[str, str] = {}
        self.count = 0
        self.block = "entry"
        self.scratch = 0

    def fresh(self) -> str:
        """Return a new number for a name."""
        self.count += 1
        return str(self.count)

    def line(self, text: str) -> None:
        """Add an instruction that has no result."""
        self.lines.append(f"  {text}")

    def instruction(self, text: str) -> str:
        """Add an instruction, and return the name of its result."""
        name = f"%v{self.fresh()}"
        self.line(f"{name} = {text}")
        return name

    def start(self, block: str) -> None:
        """Begin a block of instructions."""
        self.lines.append(f"{block}:")
        self.block = block

    def declare(self, name: str, text: str) -> None:
        """Declare a function of the outside world, or one of LLVM's."""
        self.texts[name] = text

    def intrinsic(self, name: str, result: str, *operands: tuple[str, str]) -> str:
        """Call one of LLVM's functions; operands are pairs of type and value."""
        kinds = ", ".join([kind for kind, _ in operands])
        self.declare(name, f"declare {result} @{name}({kinds})")
        given = ", ".join([f"{kind} {value}" for kind, value in operands])
        return self.instruction(f"call {result} @{name}({given})")

    def reserve(self, size: int) -> int:
        """Return where `size` bytes of the scratch memory begin."""
        begin = self.scratch
        self.scratch += (size + 63) // 64 * 64
        return begin

    @contextmanager
    def loop(self, count: int | str, carried: Sequence[tuple[str, str]] = ()) -> Iterator["Loop"]:
        """Write a loop with an index from 0; `carried` are pairs of type and first value.

        A loop of one step is written without jumps. A count in the code may be 0 or less; one that
        is known has to be at least 1.
        """
        loop = Loop(carried)
        if count == 1:
            loop.values = [value for _, value in carried]
            yield loop
            loop.results = loop.new
            return
        number = self.fresh()
        head, done, before = f"loop{number}", f"done{number}", self.block
        if isinstance(count, int):
            self.line(f"br label %{head}")
        else:
            some = self.instruction(f"icmp sgt i64 {count}, 0")
            self.line(f"br i1 {some}, label %{head}, label %{done}")
        self.start(head)
        place = len(self.lines)
        loop.index = f"%i{number}"
        loop.values = [f"%c{number}.{k}" for k in range(len(carried))]
        yield loop
        last = self.instruction(f"add nuw nsw i64 {loop.index}, 1")
        more = self.instruction(f"icmp slt i64 {last}, {count}")
        self.line(f"br i1 {more}, label %{head}, label %{done}")
        phis = [f"  {loop.index} = phi i64 [ 0, %{before} ], [ {last}, %{self.block} ]"]
        for name, (kind, first), new in zip(loop.values, carried, loop.new):
            phis.append(f"  {name} = phi {kind} [ {first}, %{before} ], [ {new}, %{self.block} ]")
        self.lines[place:place] = phis
        latch = self.block
        self.start(done)
        loop.results = loop.new
        if not isinstance(count, int):
            loop.results = [
                self.instruction(f"phi {kind} [ {first}, %{before} ], [ {new}, %{latch} ]")
                for (kind, first), new in zip(carried, loop.new)
            ]

    def address(self, pointer: str, terms: Sequence[tuple[str | int, int]], offset: int = 0) -> str:
        """Return a pointer moved by the sum of indices times strides in bytes."""
        for index, stride in terms:
            if isinstance(index, int) or index == "0":
                offset += int(index) * stride
            elif stride:
                step = self.instruction(f"mul nsw i64 {index}, {stride}")
                pointer = self.instruction(f"getelementptr i8, ptr {pointer}, i64 {step}")
        if offset:
            pointer = self.instruction(f"getelementptr i8, ptr {pointer}, i64 {offset}")
        return pointer

    def kernel(self, result: str = "") -> Kernel:
        """Return the finished function."""
        self.line(f"ret i32 {result}" if self.status else "ret void")
        given = ", ".join([f"ptr noalias %{name}" for name in (*self.parameters, "scratch")])
        body = "\n".join(self.lines)
        text = f"({given}) {ATTRIBUTES} {{\nentry:\n{body}\n}}"
        name = f"routine_{hashlib.sha256(text.encode()).hexdigest()[:20]}"
        kind = "i32" if self.status else "void"
        texts = {**self.texts, name: f"define internal {kind} @{name}{text}"}
        return Kernel(name, texts, self.scratch, self.status)


class Loop:
    """A loop while it is written: its index, the values of this step, of the next, and the last."""

    def __init__(self, carried: Sequence[tuple[str, str]]):
        self.index = "0"
        self.values: list[str] = []
        self.new: list[str] = [value for _, value in carried]
        self.results: list[str] = []


ATTRIBUTES = (
    'noinline nounwind "prefer-vector-width"="512" "min-legal-vector-width"="512" '
    'alignstack(64) "stackrealign"'
)


class Numbers(NamedTuple):
    """The text of arithmetic with one dtype."""

    dtype: np.dtype
    name: str
    real: bool

    def vector(self, lanes: int) -> str:
        """Return the type of so many lanes."""
        return self.name if lanes == 1 else f"<{lanes} x {self.name}>"

    def zero(self, lanes: int) -> str:
        if lanes > 1:
            return "zeroinitializer"
        return "0.0" if self.real else "0"

    @property
    def size(self) -> int:
        return self.dtype.itemsize


def numbers(dtype: np.dtype) -> Numbers | None:
    """Return the arithmetic of a dtype; None for one that routines do not know."""
    if dtype.kind in "iu":
        return Numbers(dtype, f"i{8 * dtype.itemsize}", False)
    names = {np.dtype(np.float64): "double", np.dtype(np.float32): "float"}
    name = names.get(dtype) if dtype.isnative else None
    return None if name is None else Numbers(dtype, name, True)
