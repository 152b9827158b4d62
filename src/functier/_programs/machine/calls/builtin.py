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

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from ...._cpython.objects import builtin_at
from ...entries import Mismatch
from ...graph import Form, exact
from ..compiler import engine
from . import abi, pool, threads
from .lines import DECLARATIONS, EVERY, Function
from .threads import PAUSE, PAUSE_LOCK, PAUSE_TEXT

ndarray = np.ndarray

ENTRY = "functier.call"
ON_STACK = 2048
"""The greatest number of bytes that are taken from the stack."""

MANY = 64
"""More values than these are passed in memory."""

TYPES: dict[type, str] = {
    ndarray: "@PyArray_Type", float: "@PyFloat_Type", int: "@PyLong_Type",
}  # fmt: skip
LLVM_TYPES: dict[type, str] = {float: "double", int: "i64", bool: "i8"}
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

    @property
    def many(self) -> bool:
        """Whether a part gets the pointers in a row in memory, and not one by one."""
        return len(self.inputs) + len(self.outputs) > MANY


class Wrapper(Function):
    """The function that Python calls.

    What it does with a value is a function for each form. Those are written in line where there
    are few values, and called in a loop where there are many: the time that LLVM takes for one
    long function grows faster than its length.

    Attributes
    ----------
    module : str
        The text.
    objects : dict of str to object
        Objects of Python that it refers to.
    """

    def __init__(self, signature: Signature):
        super().__init__()
        self.signature = signature
        self.objects: dict[str, Any] = {}
        self.heads: list[str] = []  # module level
        self.functions: dict[Any, str] = {}
        self.full = signature.arena_bytes > ON_STACK
        self.write()
        objects = [f"@functier.{key} = external global i8" for key in self.objects]
        # A part that needs much memory takes longer than code that is made in a hurry loses.
        hurry = " noinline optnone" if self.full else ""
        head = f"define ptr @{ENTRY}(ptr %self, ptr %args, i64 %n) nounwind{hurry}"
        more = [text for text, on in ((pool.TEXT, self.full), (EVERY, signature.many)) if on]
        self.module = "\n".join([DECLARATIONS, *more, *objects, *self.heads, self.text(head), ""])

    def reference(self, value: Any, prefix: str) -> str:
        """Return the name of an object of Python."""
        for key, known in self.objects.items():
            if known is value:
                return f"@functier.{key}"
        key = f"{prefix}{len(self.objects)}"
        self.objects[key] = value
        return f"@functier.{key}"

    def constant(self, kind: str, values: Sequence) -> str:
        """Return the name of a row of values in memory."""
        if not values:
            return "null"
        parts = ", ".join([f"{kind} {value}" for value in values])
        line = f"private constant [{len(values)} x {kind}] [{parts}]"
        for head in self.heads:
            if head.endswith(f"= {line}"):
                return head.split(" ", 1)[0]
        self.heads.append(f"@functier.row{len(self.heads)} = {line}")
        return f"@functier.row{len(self.heads) - 1}"

    # ---- what is done with each value ----

    def every(
        self, write: Callable, forms: Sequence[Form], objects: str, first: int, other: str
    ) -> str:
        """Do something with values, whose objects are somewhere, and return the status.

        A function for each form does it. It gets where the object of Python is, where the pointer
        to the value, and room for that. Its status is 0, or 2 where the fallback has to run, or 1
        where nothing follows but the `other` label. The number of the `first` pointer is given.
        """
        names = [self.function(write, form) for form in forms]
        if names and self.signature.many:
            given = [self.constant("ptr", names), objects, self.place(self.pointers, 8 * first)]
            given.append(self.place(self.rooms, self.size * first))
            pointers = ", ".join([f"ptr {own}" for own in given])
            call = f"call i32 @functier.every(i64 {len(names)}, i64 {self.size}, {pointers})"
            status = self.value(call)
            self.check(self.value(f"icmp ne i32 {status}, 1"), other)
            return status
        found = "0"
        for i, (name, form) in enumerate(zip(names, forms), first):
            given = [self.place(objects, 8 * (i - first)), self.place(self.pointers, 8 * i)]
            given.append("null" if form.kind is ndarray else self.place(self.rooms, self.size * i))
            status = self.value(f"call i32 {name}({', '.join([f'ptr {own}' for own in given])})")
            self.check(self.value(f"icmp ne i32 {status}, 1"), other)
            found = self.value(f"or i32 {found}, {status}")
        return found

    def function(self, write: Callable, form: Form) -> str:
        """Return the name of the function that does something with a value of a form."""
        key = write.__name__, exact(tuple(form))
        if key not in self.functions:
            name = self.functions[key] = f"@functier.{write.__name__}{len(self.functions)}"
            own = Function()
            write(own, form)
            how = "" if self.signature.many else " alwaysinline"
            parameters = "ptr %object, ptr %pointer, ptr %room"
            self.heads.append(own.text(f"define internal i32 {name}({parameters}) nounwind{how}"))
        return self.functions[key]

    def takes(self, own: Function, form: Form) -> None:
        """Check an argument, and note the pointer to its value."""
        x, kind, fits = own.value("load ptr, ptr %object"), form.kind, "true"
        if kind is bool:
            true = own.value(f"icmp eq ptr {x}, @Py_True")
            false = own.value(f"icmp eq ptr {x}, @Py_False")
            own.check(own.value(f"or i1 {true}, {false}"), "mismatch")
            own.add(f"store i8 {own.value(f'zext i1 {true} to i8')}, ptr %room")
            data = "%room"
        else:
            size_of(form)
            name = TYPES[kind] if kind in TYPES else self.reference(kind, "type")
            same = own.value(f"icmp eq ptr {own.field(x, abi.TYPE, 'ptr')}, {name}")
            own.check(same, "mismatch")
            if kind is ndarray:
                data, fits = self.array(own, x, form)
            elif kind is int:
                over = own.room(4)
                convert = "call i64 @PyLong_AsLongLongAndOverflow"
                own.add(f"store i64 {own.value(f'{convert}(ptr {x}, ptr {over})')}, ptr %room")
                fits = own.value(f"icmp eq i32 {own.value(f'load i32, ptr {over}')}, 0")
                data = "%room"
            else:
                data = own.place(x, abi.VALUE)
        own.add(f"store ptr {data}, ptr %pointer")
        own.add(f"ret i32 {own.value(f'select i1 {fits}, i32 0, i32 2')}")
        own.add("mismatch:", "ret i32 1")

    def array(self, own: Function, x: str, form: Form) -> tuple[str, str]:
        """Check the form of an array; return the pointer to its data, and if it is aligned."""
        # The number of dimensions is looked at before these are read.
        ndim = own.field(x, abi.NDIM, "i32")
        own.check(own.value(f"icmp eq i32 {ndim}, {len(form.shape)}"), "mismatch")
        expected = self.reference(form.dtype, "dtype")
        dtype = own.field(x, abi.DTYPE, "ptr")
        same = own.value(f"icmp eq ptr {dtype}, {expected}")
        own.add(f"br i1 {same}, label %on, label %slow", "slow:")
        alike = own.value(f"call i8 @PyArray_EquivTypes(ptr {dtype}, ptr {expected})")
        alike = own.value(f"icmp ne i8 {alike}, 0")
        own.add(f"br i1 {alike}, label %on, label %mismatch", "on:")
        wrong = []
        if form.shape:
            dims = own.field(x, abi.DIMS, "ptr")
            for i, size in enumerate(form.shape):
                wrong.append(own.value(f"xor i64 {own.field(dims, 8 * i, 'i64')}, {size}"))
        moving = [i for i, size in enumerate(form.shape) if size > 1 and 0 not in form.shape]
        if moving:
            strides = own.field(x, abi.STRIDES, "ptr")
            given = strides_of(form)
            for i in moving:
                found = own.field(strides, 8 * i, "i64")
                wrong.append(own.value(f"xor i64 {found}, {given[i]}"))
        if wrong:
            whole = wrong[0]
            for other in wrong[1:]:
                whole = own.value(f"or i64 {whole}, {other}")
            own.check(own.value(f"icmp eq i64 {whole}, 0"), "mismatch")
        flags = own.value(f"and i32 {own.field(x, abi.FLAGS, 'i32')}, {abi.ALIGNED}")
        return own.field(x, abi.DATA, "ptr"), own.value(f"icmp ne i32 {flags}, 0")

    def makes(self, own: Function, form: Form) -> None:
        """Make the array of an output, and note the pointer to its data; a number has its room."""
        itemsize = size_of(form)
        if form.kind is not ndarray:
            own.add("store ptr %room, ptr %pointer", "ret i32 0")
            return
        order, plain = strides_of(form), packed(form.shape, itemsize)
        moving = [i for i, size in enumerate(form.shape) if size > 1]
        strides = "null"
        if 0 not in form.shape and any([order[i] != plain[i] for i in moving]):
            if not is_dense(form.shape, order, itemsize):
                raise ValueError(f"strides {order} leave gaps in an output of {form.shape}")
            strides = self.constant("i64", order)
        made = own.value(
            f"call ptr @PyArray_New(ptr @PyArray_Type, i32 {len(form.shape)}, "
            f"ptr {self.constant('i64', form.shape)}, i32 {form.dtype.num}, ptr {strides}, "
            f"ptr null, i32 0, i32 0, ptr null)"
        )
        own.add(f"store ptr {made}, ptr %object")
        own.check(own.value(f"icmp ne ptr {made}, null"), "failed")
        own.add(f"store ptr {own.field(made, abi.DATA, 'ptr')}, ptr %pointer")
        own.add("ret i32 0", "failed:", "ret i32 1")

    def gives(self, own: Function, form: Form) -> None:
        """Make the number of an output."""
        if form.kind is ndarray:
            own.add("ret i32 0")
            return
        if form.kind not in MAKERS:
            call = (
                f"@PyArray_Scalar(ptr %room, ptr {self.reference(form.dtype, 'dtype')}, ptr null)"
            )
        else:
            kind = LLVM_TYPES[form.kind]
            value = own.value(f"load {kind}, ptr %room")
            if form.kind is bool:
                kind, value = "i64", own.value(f"zext i8 {value} to i64")
            call = f"@{MAKERS[form.kind]}({kind} {value})"
        made = own.value(f"call ptr {call}")
        own.add(f"store ptr {made}, ptr %object")
        failed = own.value(f"icmp eq ptr {made}, null")
        own.add(f"ret i32 {own.value(f'zext i1 {failed} to i32')}")

    def drops(self, own: Function, form: Form) -> None:
        """Let the object of an output go, if it is there."""
        own.add(f"call void @Py_DecRef(ptr {own.value('load ptr, ptr %object')})", "ret i32 0")

    # ---- the function ----

    def write(self) -> None:
        inputs, outputs = self.signature.inputs, self.signature.outputs
        if self.signature.single and len(outputs) != 1:
            raise ValueError("a single result is one output")
        forms = [*inputs, *outputs]
        numbers = [size_of(form) for form in forms if form.kind is not ndarray]
        self.size = max(numbers, default=0)
        self.size += -self.size % 16  # of the room of a number
        self.pointers = self.room(8 * len(forms) or 1)
        self.rooms = self.room(self.size * len(forms)) if numbers else "null"
        made = self.room(8 * len(outputs) or 1)
        self.check(self.value(f"icmp eq i64 %n, {len(inputs)}"), "mismatch")
        status = self.every(self.takes, inputs, "%args", 0, "mismatch")
        self.check(self.value(f"icmp eq i32 {status}, 0"), "again")
        self.add(f"call void @llvm.memset.p0.i64(ptr {made}, i8 0, i64 {8 * len(outputs)}, i1 0)")
        self.every(self.makes, outputs, made, len(inputs), "undo")
        self.run()
        self.every(self.gives, outputs, made, len(inputs), "undo")
        if self.signature.single:
            self.add(f"ret ptr {self.field(made, 0, 'ptr')}")
        else:
            found = self.value(f"call ptr @PyTuple_New(i64 {len(outputs)})")
            self.check(self.value(f"icmp ne ptr {found}, null"), "undo")
            if self.signature.many:
                self.add(f"call void @functier.fill(ptr {found}, ptr {made}, i64 {len(outputs)})")
            for i in range(0 if self.signature.many else len(outputs)):
                given = f"ptr {found}, i64 {i}, ptr {self.field(made, 8 * i, 'ptr')}"
                self.add(f"call i32 @PyTuple_SetItem({given})")
            self.add(f"ret ptr {found}")
        self.ends(made)

    def run(self) -> None:
        """Call the part."""
        size, long = self.signature.arena_bytes, self.signature.long
        arena = "null"
        if 0 < size <= ON_STACK:
            arena = self.room(size, 64)
        elif size:
            arena = self.value(f"call ptr @functier.take(i64 {size})")
            self.check(self.value(f"icmp ne ptr {arena}, null"), "full")
        given = [self.pointers]
        if not self.signature.many:
            count = len(self.signature.inputs) + len(self.signature.outputs)
            given = [self.field(self.pointers, 8 * i, "ptr") for i in range(count)]
        state = self.value("call ptr @PyEval_SaveThread()") if long else ""
        pointers = ", ".join([f"ptr {pointer}" for pointer in [*given, arena]])
        status = self.value(f"call i32 @part({pointers})")
        if long:
            self.add(f"call void @PyEval_RestoreThread(ptr {state})")
        if self.full:
            self.add(f"call void @functier.give(ptr {arena})")
        self.check(self.value(f"icmp eq i32 {status}, 0"), "refused")

    def ends(self, made: str) -> None:
        """Add all that ends without a result of the part."""
        outputs, first = self.signature.outputs, len(self.signature.inputs)
        self.add("mismatch:", "call void @PyErr_SetNone(ptr @functier.mismatch)", "ret ptr null")
        self.add("refused:")
        self.every(self.drops, outputs, made, first, "failed")
        error = self.value("call ptr @PyErr_Occurred()")
        self.check(self.value(f"icmp eq ptr {error}, null"), "failed")
        self.add("br label %again", "again:")
        vectorcall = "call ptr @PyObject_Vectorcall(ptr @functier.fallback, ptr %args, i64 %n, "
        self.add(f"ret ptr {self.value(f'{vectorcall}ptr null)')}")
        if self.full:
            self.add("full:", "call ptr @PyErr_NoMemory()", "br label %undo")
        self.add("undo:")
        self.every(self.drops, outputs, made, first, "failed")
        self.add("br label %failed", "failed:", "ret ptr null")


def size_of(form: Form) -> int:
    """Return the bytes of an element; refuse dtypes that are not plain memory."""
    if form.kind in LLVM_TYPES:
        return 8
    dtype = form.dtype
    if dtype is None or dtype.kind not in abi.KINDS or not dtype.isnative:
        raise ValueError(f"a part has no values of {dtype or form.kind.__name__}")
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


def supported() -> str:
    """Return why there can be no builtins in this process; else nothing."""
    return abi.reason()


def make_builtin(
    text: str, signature: Signature, fallback: Callable,
    symbols: Mapping[str, int] | None = None, mismatch: type[BaseException] = Mismatch,
    opt: int = 1, name: str = "part", stored: bool = True,
    modules: Sequence[tuple[list[str], str]] = (),
) -> Any:  # fmt: skip
    """Make a builtin that runs a part.

    Parameters
    ----------
    text : str
        A module of LLVM with ``define i32 @part``, of pointers to the values of inputs, to those
        of outputs, and to memory. It returns 0 where the outputs are right. Where there are `many`
        values, it gets one pointer to the pointers of inputs and outputs.
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
    modules : sequence of tuple
        Names of functions that the text calls, and the text of the module that they are in.

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
    texts = [text, *[each for _, each in modules]]
    if any([threads.PARALLEL in each or PAUSE in each for each in texts]):
        signature = signature._replace(long=True)  # they take the lock meanwhile
    wrapper = Wrapper(signature)
    objects: dict[str, Any] = {"fallback": fallback, "mismatch": mismatch, **wrapper.objects}
    own = {f"functier.{key}": id(value) for key, value in objects.items()}
    known = {**(symbols or {}), **abi.addresses(), **pool.addresses(), **own}
    if any([threads.PARALLEL in each for each in texts]):
        known = {**threads.addresses(), **known}
    libraries = []
    for names, each in [*modules, ([ENTRY], f"{text}\n{wrapper.module}")]:
        libraries.append(engine.load(completed(each), names, known, opt, stored))
        known.update({name: libraries[-1][name] for name in names})
    owners = *libraries, pool.SLOTS, threads.TABLE, threads.ASK, *objects.values()
    return builtin_at(known[ENTRY], name, owners)


def completed(text: str) -> str:
    """Return a module with the functions of pauses and threads that it calls."""
    parallel, pauses = threads.PARALLEL in text, PAUSE in text
    parts = [text, PAUSE_LOCK * (parallel or pauses), PAUSE_TEXT * pauses, threads.TEXT * parallel]
    return "\n".join([part for part in parts if part])
