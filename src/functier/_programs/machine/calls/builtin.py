"""A builtin of Python for a part: it checks the arguments, makes the results, and calls the code.

NOTE [a call of a builtin]
    The arguments are compared with their forms; nothing has happened yet where one differs, and
    `mismatch` is raised. Arrays for the results are made, and memory for the part is taken. The
    part runs, without Python's lock where it is long. A status that is not 0, or an array that is
    not aligned, ends in a call of the fallback with the same arguments: it is right for all.

NOTE [what a builtin keeps]
    Its ``self`` is a tuple of all that its code refers to: the library, the fallback, dtypes, the
    description that Python reads. All of it ends with the builtin, and none earlier.
"""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np

from ...._cpython.objects import builtin_at
from ...entries import Mismatch
from ...graph import Form
from ..compiler import engine
from . import abi, pool, threads
from .threads import PAUSE, PAUSE_LOCK, PAUSE_TEXT

ndarray = np.ndarray

ENTRY = "functier.call"
ON_STACK = 2048
"""The greatest number of bytes that are taken from the stack."""

LLVM_TYPES = {float: "double", int: "i64", bool: "i8"}
MAKERS = {float: "PyFloat_FromDouble", int: "PyLong_FromLongLong", bool: "PyBool_FromLong"}


class Signature(NamedTuple):
    """The forms of a part, and how it is called.

    Attributes
    ----------
    inputs, outputs : tuple of Form
        The kind of each is that of an array, of a number of NumPy's, or float, int or bool.
    arena_bytes : int
        So much memory the part needs, aligned to 64 bytes.
    long : bool
        Whether other threads of Python run meanwhile.
    single : bool
        Whether the result is the only output, and not a tuple.
    """

    inputs: tuple[Form, ...]
    outputs: tuple[Form, ...]
    arena_bytes: int = 0
    long: bool = False
    single: bool = False


class Wrapper:
    """The text of the function that Python calls.

    Attributes
    ----------
    text : str
        The text.
    objects : dict of str to object
        Objects of Python that it refers to.
    """

    def __init__(self, signature: Signature):
        self.signature = signature
        self.objects: dict[str, Any] = {}
        self.heads: list[str] = []  # module level
        self.first: list[str] = []  # memory on the stack
        self.lines: list[str] = []
        self.undo: list[str] = []  # what a failure takes back, the latest first
        self.count = 0
        self.odd: list[str] = []  # conditions without which the fallback runs
        self.full = signature.arena_bytes > ON_STACK
        self.write()
        objects = [f"@functier.{key} = external global i8" for key in self.objects]
        # A part that needs much memory takes longer than code that is made in a hurry loses.
        hurry = " noinline optnone" if self.full else ""
        head = f"define ptr @{ENTRY}(ptr %self, ptr %args, i64 %n) nounwind{hurry} {{"
        parts = [DECLARATIONS, pool.TEXT if self.full else "", *objects, *self.heads, head]
        self.text = "\n".join([*parts, "entry:", *self.first, *self.lines, "}", ""])

    # ---- lines ----

    def add(self, *lines: str) -> None:
        self.lines += lines

    def value(self, line: str) -> str:
        """Add an instruction, and return the name of its value."""
        self.count += 1
        self.lines.append(f"%v{self.count} = {line}")
        return f"%v{self.count}"

    def label(self) -> str:
        self.count += 1
        return f"l{self.count}"

    def check(self, condition: str, other: str) -> None:
        """Go on where a condition holds, and to the other label where it does not."""
        label = self.label()
        self.add(f"br i1 {condition}, label %{label}, label %{other}", f"{label}:")

    def field(self, pointer: str, offset: int, kind: str) -> str:
        """Return a part of a structure."""
        place = self.value(f"getelementptr i8, ptr {pointer}, i64 {offset}")
        return self.value(f"load {kind}, ptr {place}")

    def room(self, size: int, align: int = 16) -> str:
        """Return memory on the stack."""
        self.count += 1
        name = f"%v{self.count}"
        self.first.append(f"{name} = alloca [{size} x i8], align {align}")
        return name

    def reference(self, value: Any, prefix: str) -> str:
        """Return the name of an object of Python."""
        for key, known in self.objects.items():
            if known is value:
                return f"@functier.{key}"
        key = f"{prefix}{len(self.objects)}"
        self.objects[key] = value
        return f"@functier.{key}"

    def numbers(self, values: tuple[int, ...]) -> str:
        """Return the name of integers in memory."""
        if not values:
            return "null"
        name = f"@functier.numbers{len(self.heads)}"
        parts = ", ".join([f"i64 {value}" for value in values])
        line = f"private constant [{len(values)} x i64] [{parts}]"
        for head in self.heads:
            if head.endswith(f"= {line}"):
                return head.split(" ", 1)[0]
        self.heads.append(f"{name} = {line}")
        return name

    # ---- the function ----

    def write(self) -> None:
        signature = self.signature
        if signature.single and len(signature.outputs) != 1:
            raise ValueError("a single result is one output")
        self.check(self.value(f"icmp eq i64 %n, {len(signature.inputs)}"), "mismatch")
        pointers = [self.input(i, form) for i, form in enumerate(signature.inputs)]
        if self.odd:
            fit = self.odd[0]
            for other in self.odd[1:]:
                fit = self.value(f"and i1 {fit}, {other}")
            self.check(fit, "again")
        arrays: dict[int, str] = {}
        for i, form in enumerate(signature.outputs):
            if form.kind is ndarray:
                arrays[i], data = self.new_array(form)
            else:
                data = self.room(size_of(form))
            pointers.append(data)
        self.run(pointers)
        results = []
        for i, form in enumerate(signature.outputs):
            results.append(arrays[i] if i in arrays else self.new_number(pointers, i, form))
        if signature.single:
            self.add(f"ret ptr {results[0]}")
        else:
            made = self.made(f"call ptr @PyTuple_New(i64 {len(results)})")
            for i, result in enumerate(results):
                self.add(f"call i32 @PyTuple_SetItem(ptr {made}, i64 {i}, ptr {result})")
            self.add(f"ret ptr {made}")
        self.ends(arrays)

    def input(self, number: int, form: Form) -> str:
        """Check an argument, and return the pointer to its value."""
        place = self.value(f"getelementptr ptr, ptr %args, i64 {number}")
        x = self.value(f"load ptr, ptr {place}")
        kind = form.kind
        if kind is bool:
            true = self.value(f"icmp eq ptr {x}, @Py_True")
            false = self.value(f"icmp eq ptr {x}, @Py_False")
            self.check(self.value(f"or i1 {true}, {false}"), "mismatch")
            room = self.room(1)
            self.add(f"store i8 {self.value(f'zext i1 {true} to i8')}, ptr {room}")
            return room
        own = self.field(x, abi.TYPE, "ptr")
        if kind is ndarray:
            self.check(self.value(f"icmp eq ptr {own}, @PyArray_Type"), "mismatch")
            return self.array(x, form)
        if kind is float or kind is int:
            name = "@PyFloat_Type" if kind is float else "@PyLong_Type"
        elif issubclass(kind, np.generic):
            size_of(form)
            name = self.reference(kind, "type")
        else:
            raise ValueError(f"a part takes no values of {kind.__name__}")
        self.check(self.value(f"icmp eq ptr {own}, {name}"), "mismatch")
        if kind is not int:
            return self.value(f"getelementptr i8, ptr {x}, i64 {abi.VALUE}")
        room, over = self.room(8), self.room(4)
        found = self.value(f"call i64 @PyLong_AsLongLongAndOverflow(ptr {x}, ptr {over})")
        self.add(f"store i64 {found}, ptr {room}")
        flag = self.value(f"load i32, ptr {over}")
        self.odd.append(self.value(f"icmp eq i32 {flag}, 0"))
        return room

    def array(self, x: str, form: Form) -> str:
        """Check the form of an array, and return the pointer to its data."""
        size_of(form)
        wrong = [self.value(f"xor i32 {self.field(x, abi.NDIM, 'i32')}, {len(form.shape)}")]
        # The number of dimensions is looked at before these are read.
        self.check(self.value(f"icmp eq i32 {wrong.pop()}, 0"), "mismatch")
        expected = self.reference(form.dtype, "dtype")
        dtype = self.field(x, abi.DTYPE, "ptr")
        slow, on = self.label(), self.label()
        same = self.value(f"icmp eq ptr {dtype}, {expected}")
        self.add(f"br i1 {same}, label %{on}, label %{slow}", f"{slow}:")
        alike = self.value(f"call i8 @PyArray_EquivTypes(ptr {dtype}, ptr {expected})")
        alike = self.value(f"icmp ne i8 {alike}, 0")
        self.add(f"br i1 {alike}, label %{on}, label %mismatch", f"{on}:")
        if form.shape:
            dims = self.field(x, abi.DIMS, "ptr")
            for i, size in enumerate(form.shape):
                wrong.append(self.value(f"xor i64 {self.field(dims, 8 * i, 'i64')}, {size}"))
        moving = [i for i, size in enumerate(form.shape) if size > 1 and 0 not in form.shape]
        if moving:
            strides = self.field(x, abi.STRIDES, "ptr")
            given = strides_of(form)
            for i in moving:
                found = self.field(strides, 8 * i, "i64")
                wrong.append(self.value(f"xor i64 {found}, {given[i]}"))
        if wrong:
            whole = wrong[0]
            for other in wrong[1:]:
                whole = self.value(f"or i64 {whole}, {other}")
            self.check(self.value(f"icmp eq i64 {whole}, 0"), "mismatch")
        flags = self.value(f"and i32 {self.field(x, abi.FLAGS, 'i32')}, {abi.ALIGNED}")
        self.odd.append(self.value(f"icmp ne i32 {flags}, 0"))
        return self.field(x, abi.DATA, "ptr")

    def made(self, call: str) -> str:
        """Add a call that returns an object, or fails; the object is dropped at later failures."""
        found = self.value(call)
        self.check(self.value(f"icmp ne ptr {found}, null"), f"undo{len(self.undo)}")
        self.undo.append(found)
        return found

    def new_array(self, form: Form) -> tuple[str, str]:
        """Make the array of an output; return it, and the pointer to its data."""
        itemsize = size_of(form)
        order = strides_of(form)
        plain = packed(form.shape, itemsize)
        moving = [i for i, size in enumerate(form.shape) if size > 1]
        strides = "null"
        if 0 not in form.shape and any([order[i] != plain[i] for i in moving]):
            if not is_dense(form.shape, order, itemsize):
                raise ValueError(f"strides {order} leave gaps in an output of {form.shape}")
            strides = self.numbers(order)
        made = self.made(
            f"call ptr @PyArray_New(ptr @PyArray_Type, i32 {len(form.shape)}, "
            f"ptr {self.numbers(form.shape)}, i32 {form.dtype.num}, ptr {strides}, ptr null, "
            f"i32 0, i32 0, ptr null)"
        )
        return made, self.field(made, abi.DATA, "ptr")

    def run(self, pointers: list[str]) -> None:
        """Call the part."""
        size, long = self.signature.arena_bytes, self.signature.long
        arena = "null"
        if 0 < size <= ON_STACK:
            arena = self.room(size, 64)
        elif size:
            arena = self.value(f"call ptr @functier.take(i64 {size})")
            label = self.label()
            good = self.value(f"icmp ne ptr {arena}, null")
            self.add(f"br i1 {good}, label %{label}, label %full", f"{label}:")
        state = self.value("call ptr @PyEval_SaveThread()") if long else ""
        given = ", ".join([f"ptr {pointer}" for pointer in [*pointers, arena]])
        status = self.value(f"call i32 @part({given})")
        if long:
            self.add(f"call void @PyEval_RestoreThread(ptr {state})")
        if self.full:
            self.add(f"call void @functier.give(ptr {arena})")
        self.check(self.value(f"icmp eq i32 {status}, 0"), "refused")

    def new_number(self, pointers: list[str], i: int, form: Form) -> str:
        """Make the number of an output."""
        place = pointers[len(self.signature.inputs) + i]
        if form.kind not in MAKERS:
            dtype = self.reference(form.dtype, "dtype")
            return self.made(f"call ptr @PyArray_Scalar(ptr {place}, ptr {dtype}, ptr null)")
        kind = LLVM_TYPES[form.kind]
        value = self.value(f"load {kind}, ptr {place}")
        if form.kind is bool:
            kind, value = "i64", self.value(f"zext i8 {value} to i64")
        return self.made(f"call ptr @{MAKERS[form.kind]}({kind} {value})")

    def ends(self, arrays: dict[int, str]) -> None:
        """Add all that ends without a result of the part."""
        self.add("mismatch:", "call void @PyErr_SetNone(ptr @functier.mismatch)", "ret ptr null")
        self.add("refused:", *[f"call void @Py_DecRef(ptr {own})" for own in arrays.values()])
        error = self.value("call ptr @PyErr_Occurred()")
        none = self.value(f"icmp eq ptr {error}, null")
        self.add(f"br i1 {none}, label %again, label %undo0", "again:")
        vectorcall = "call ptr @PyObject_Vectorcall(ptr @functier.fallback, ptr %args, i64 %n, "
        self.add(f"ret ptr {self.value(f'{vectorcall}ptr null)')}")
        if self.full:
            self.add("full:", "call ptr @PyErr_NoMemory()", f"br label %undo{len(arrays)}")
        for i in range(len(self.undo), 0, -1):
            self.add(f"undo{i}:", f"call void @Py_DecRef(ptr {self.undo[i - 1]})")
            self.add(f"br label %undo{i - 1}")
        self.add("undo0:", "ret ptr null")


def size_of(form: Form) -> int:
    """Return the bytes of an element; refuse dtypes that are not plain memory."""
    if form.kind in LLVM_TYPES:
        return 8
    dtype = form.dtype
    if dtype.kind not in abi.KINDS or not dtype.isnative:
        raise ValueError(f"a part has no values of {dtype}")
    return dtype.itemsize


def packed(shape: tuple[int, ...], itemsize: int) -> tuple[int, ...]:
    """Return the strides of an array without gaps in C order."""
    strides = []
    for size in reversed(shape):
        strides.append(itemsize)
        itemsize *= size
    return tuple(reversed(strides))


def strides_of(form: Form) -> tuple[int, ...]:
    if form.strides is None:
        return packed(form.shape, form.dtype.itemsize)
    return form.strides


def is_dense(shape: tuple[int, ...], strides: tuple[int, ...], itemsize: int) -> bool:
    """Tell whether strides fill memory without gaps, forwards, in some order of the dimensions."""
    for stride, size in sorted(zip(strides, shape)):
        if size > 1:
            if stride != itemsize:
                return False
            itemsize *= size
    return True


DECLARATIONS = """\
@PyArray_Type = external global i8
@PyFloat_Type = external global i8
@PyLong_Type = external global i8
@Py_True = external global i8
@Py_False = external global i8
@functier.fallback = external global i8
@functier.mismatch = external global i8
declare ptr @PyErr_NoMemory()
declare ptr @PyErr_Occurred()
declare void @PyErr_SetNone(ptr)
declare void @PyEval_RestoreThread(ptr)
declare ptr @PyEval_SaveThread()
declare ptr @PyFloat_FromDouble(double)
declare ptr @PyBool_FromLong(i64)
declare i64 @PyLong_AsLongLongAndOverflow(ptr, ptr)
declare ptr @PyLong_FromLongLong(i64)
declare ptr @PyObject_Vectorcall(ptr, ptr, i64, ptr)
declare ptr @PyTuple_New(i64)
declare i32 @PyTuple_SetItem(ptr, i64, ptr)
declare void @Py_DecRef(ptr)
declare ptr @PyArray_New(ptr, i32, ptr, i32, ptr, ptr, i32, i32, ptr)
declare ptr @PyArray_Scalar(ptr, ptr, ptr)
declare i8 @PyArray_EquivTypes(ptr, ptr)"""


def supported() -> str:
    """Return why there can be no builtins in this process; else nothing."""
    return abi.reason()


def make_builtin(
    text: str, signature: Signature, fallback: Callable,
    symbols: Mapping[str, int] | None = None, mismatch: type[BaseException] = Mismatch,
    opt: int = 1, name: str = "part", stored: bool = True,
) -> Any:  # fmt: skip
    """Make a builtin that runs a part.

    Parameters
    ----------
    text : str
        A module of LLVM with ``define i32 @part``, of pointers to the values of inputs, to those
        of outputs, and to memory. It returns 0 where the outputs are right.
    signature : Signature
        The forms.
    fallback : callable
        A function of the same arguments, with the same results.
    symbols : mapping of str to int, optional
        Addresses of what the text declares.
    mismatch : type of exception
        What is raised where an argument has another form.
    opt : int
        The level of optimisation, as in `load`.
    name : str
        The name of the builtin.
    stored : bool
        Whether its code is stored on the disk.

    Returns
    -------
    builtin
        A function of as many arguments as there are inputs, by position.

    Raises
    ------
    RuntimeError
        If LLVM refuses the text, or this process has no builtins.
    """
    missing = supported()
    if missing:
        raise RuntimeError(missing)
    parallel, pauses = threads.PARALLEL in text, PAUSE in text
    if parallel or pauses:
        text = f"{text}\n{PAUSE_LOCK}"
        signature = signature._replace(long=True)  # they take the lock meanwhile
    if pauses:
        text = f"{text}\n{PAUSE_TEXT}"
    if parallel:
        text = f"{text}\n{threads.TEXT}"
        symbols = {**(symbols or {}), **threads.addresses()}
    wrapper = Wrapper(signature)
    objects: dict[str, Any] = {"fallback": fallback, "mismatch": mismatch, **wrapper.objects}
    own = {f"functier.{key}": id(value) for key, value in objects.items()}
    known = {**(symbols or {}), **abi.addresses(), **pool.addresses(), **own}
    library = engine.load(f"{text}\n{wrapper.text}", [ENTRY], known, opt, stored)
    owners = library, pool.SLOTS, threads.TABLE, threads.ASK, *objects.values()
    return builtin_at(library[ENTRY], name, owners)
