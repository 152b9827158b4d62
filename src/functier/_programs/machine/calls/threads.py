"""Loops of machine code in blocks, on several cores, and pauses, in which Python looks at signals.

NOTE [slices]
    A long loop runs in slices, without Python's lock. After each of them it takes the lock, and
    lets Python run the handlers of signals: that of Ctrl-C raises. The loop then ends with a
    status, and the error is raised by the builtin.

NOTE [who may look at a task]
    A task lies on the stack of the call that waits for it. Helpers get the number of a slot, in
    memory that is never freed: a helper counts itself in, and looks into the slot for the task. The
    call empties the slot, and ends when all who were counted have left. A helper that comes late
    finds nothing, or helps a later task. So no interrupt, wherever it comes, leaves a helper with
    memory that has ended.

NOTE [two ends]
    Threads that work at neighbouring blocks of a new array touch the same new page at one time, and
    the system clears a large page for each of them. So every other thread begins at the end.
"""

import ctypes
import os
import threading
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache
from typing import Any

from ...._cpython.objects import builtin_at
from ..compiler import engine
from . import abi

PAUSE = "@functier.pause("
"""A text that has this calls the function of a pause, which returns 0 where a loop goes on."""

PAUSE_LOCK = """\
declare i32 @PyGILState_Ensure()
declare void @PyGILState_Release(i32)
"""

PAUSE_TEXT = """\
declare i32 @PyErr_CheckSignals()
define internal i32 @functier.pause() nounwind noinline {
  %lock = call i32 @PyGILState_Ensure()
  %found = call i32 @PyErr_CheckSignals()
  call void @PyGILState_Release(i32 %lock)
  ret i32 %found
}
"""


PARALLEL = "@functier.parallel("
"""A text that has this calls the function that runs a loop on several cores."""

SLOTS = 16
"""The greatest number of tasks at one time; any other task runs in its caller's thread."""

BYTES = 64
TABLE = (ctypes.c_uint8 * (BYTES * SLOTS))()
HELPERS = 64


class Pool:
    """Threads that help, which begin when they are asked for."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.executor: ThreadPoolExecutor | None = None

    def ask(self, slot: int, count: int) -> None:
        """Ask for helpers with the task of a slot."""
        with self.lock:
            if self.executor is None:
                self.executor = ThreadPoolExecutor(HELPERS, "functier")
        try:
            for _ in range(count):
                self.executor.submit(helper(), slot)
        except RuntimeError:  # the interpreter ends: the call works alone
            pass

    def renew(self) -> None:
        """Begin anew in a forked process, which has no other threads."""
        ctypes.memset(TABLE, 0, len(TABLE))
        self.__init__()  # type: ignore[misc]


POOL = Pool()
ASK = POOL.ask
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=POOL.renew)


@lru_cache(1)
def rest() -> int:
    """Return the address of the function that lets other threads run."""
    if os.name == "nt":
        function = ctypes.windll.kernel32.SwitchToThread  # type: ignore[attr-defined]
    else:
        function = ctypes.CDLL(None).sched_yield
    return ctypes.cast(function, ctypes.c_void_p).value or 0


def addresses() -> dict[str, int]:
    """Return the addresses that the text refers to."""
    own = {"ask": id(ASK), "slots": ctypes.addressof(TABLE), "rest": rest()}
    return {**abi.addresses(), **{f"functier.{name}": place for name, place in own.items()}}


LOCK = threading.Lock()


@lru_cache(1)
def made() -> Any:
    library = engine.load(HELPER, ["functier.help"], addresses())
    return builtin_at(library["functier.help"], "help", (library,))


def helper() -> Any:
    """Return the builtin that works at the task of a slot."""
    with LOCK:
        return made()


FIELDS = "kernel frame count step taken status first last members".split()
"""The parts of a task: the kernel, its frame, the count, the step, the blocks taken, the status;
the blocks taken from the beginning and from the end, and the threads."""

PLACES = "\n".join(
    [f"  %{name}.place = getelementptr i64, ptr %task, i64 {i}" for i, name in enumerate(FIELDS)]
)
ZEROS = "\n".join([f"  store i64 0, ptr %{name}.place" for name in FIELDS[4:]])

WORK = f"""\
@functier.slots = external global i8
define internal void @functier.work(ptr %task) nounwind noinline {{
{PLACES}
  %kernel = load ptr, ptr %kernel.place
  %frame = load ptr, ptr %frame.place
  %count = load i64, ptr %count.place
  %step = load i64, ptr %step.place
  %more = add i64 %count, %step
  %most = sub i64 %more, 1
  %blocks = udiv i64 %most, %step
  %final = sub i64 %blocks, 1
  %member = atomicrmw add ptr %members.place, i64 1 monotonic
  %odd = trunc i64 %member to i1
  %side = select i1 %odd, ptr %last.place, ptr %first.place
  br label %again
again:
  %before = atomicrmw add ptr %taken.place, i64 1 monotonic
  %some = icmp slt i64 %before, %blocks
  br i1 %some, label %block, label %end
block:
  %place = atomicrmw add ptr %side, i64 1 monotonic
  %turned = sub i64 %final, %place
  %number = select i1 %odd, i64 %turned, i64 %place
  %start = mul i64 %number, %step
  %whole = add i64 %start, %step
  %less = icmp slt i64 %whole, %count
  %stop = select i1 %less, i64 %whole, i64 %count
  %found = call i32 %kernel(ptr %frame, i64 %start, i64 %stop)
  %right = icmp eq i32 %found, 0
  br i1 %right, label %again, label %bad
bad:
  %old = atomicrmw or ptr %status.place, i32 %found monotonic
  %all = atomicrmw add ptr %taken.place, i64 %blocks monotonic
  br label %end
end:
  ret void
}}
"""

HELPER = f"""\
{WORK}
declare ptr @PyEval_SaveThread()
declare void @PyEval_RestoreThread(ptr)
declare i64 @PyLong_AsLongLong(ptr)
declare ptr @PyLong_FromLongLong(i64)
define ptr @functier.help(ptr %self, ptr %args, i64 %n) nounwind {{
  %x = load ptr, ptr %args
  %number = call i64 @PyLong_AsLongLong(ptr %x)
  %offset = mul i64 %number, {BYTES}
  %slot = getelementptr i8, ptr @functier.slots, i64 %offset
  %active = getelementptr i8, ptr %slot, i64 16
  %in = atomicrmw add ptr %active, i64 1 seq_cst
  %task = load atomic ptr, ptr %slot seq_cst, align 8
  %none = icmp eq ptr %task, null
  br i1 %none, label %end, label %work
work:
  %state = call ptr @PyEval_SaveThread()
  call void @functier.work(ptr %task)
  %out = atomicrmw sub ptr %active, i64 1 seq_cst
  call void @PyEval_RestoreThread(ptr %state)
  br label %ret
end:
  %none.out = atomicrmw sub ptr %active, i64 1 seq_cst
  br label %ret
ret:
  %result = call ptr @PyLong_FromLongLong(i64 0)
  ret ptr %result
}}
"""

TEXT = f"""\
{WORK}
@functier.ask = external global i8
declare i32 @functier.rest()
define internal i32 @functier.parallel(ptr %kernel, ptr %frame, i64 %count, i64 %step,
    i64 %threads) nounwind noinline {{
entry:
  %task = alloca [9 x i64], align 64
  %pair = alloca [2 x ptr], align 8
{PLACES}
  store ptr %kernel, ptr %kernel.place
  store ptr %frame, ptr %frame.place
  store i64 %count, ptr %count.place
  store i64 %step, ptr %step.place
{ZEROS}
  %more = icmp sgt i64 %count, %step
  %others = sub i64 %threads, 1
  %any = icmp sgt i64 %others, 0
  %shared = and i1 %more, %any
  br i1 %shared, label %look, label %alone
look:
  %number = phi i64 [ 0, %entry ], [ %after, %taken ]
  %offset = mul i64 %number, {BYTES}
  %slot = getelementptr i8, ptr @functier.slots, i64 %offset
  %claim = getelementptr i8, ptr %slot, i64 8
  %tried = cmpxchg ptr %claim, i64 0, i64 1 seq_cst seq_cst
  %mine = extractvalue {{ i64, i1 }} %tried, 1
  br i1 %mine, label %begin, label %taken
taken:
  %after = add i64 %number, 1
  %left = icmp slt i64 %after, {SLOTS}
  br i1 %left, label %look, label %alone
alone:
  call void @functier.work(ptr %task)
  %status.alone = load i32, ptr %status.place
  ret i32 %status.alone
begin:
  store atomic ptr %task, ptr %slot seq_cst, align 8
  %lock = call i32 @PyGILState_Ensure()
  %x = call ptr @PyLong_FromLongLong(i64 %number)
  %y = call ptr @PyLong_FromLongLong(i64 %others)
  %pair1 = getelementptr ptr, ptr %pair, i64 1
  store ptr %x, ptr %pair
  store ptr %y, ptr %pair1
  %asked = call ptr @PyObject_Vectorcall(ptr @functier.ask, ptr %pair, i64 2, ptr null)
  call void @Py_DecRef(ptr %x)
  call void @Py_DecRef(ptr %y)
  %error = icmp eq ptr %asked, null
  br i1 %error, label %stop, label %go
stop:
  store atomic i32 2, ptr %status.place seq_cst, align 8
  store atomic i64 %count, ptr %taken.place seq_cst, align 8
  br label %on
go:
  call void @Py_DecRef(ptr %asked)
  br label %on
on:
  call void @PyGILState_Release(i32 %lock)
  call void @functier.work(ptr %task)
  store atomic ptr null, ptr %slot seq_cst, align 8
  %active = getelementptr i8, ptr %slot, i64 16
  br label %wait
wait:
  %count.in = load atomic i64, ptr %active seq_cst, align 8
  %alive = icmp ne i64 %count.in, 0
  br i1 %alive, label %pause, label %done
pause:
  %rested = call i32 @functier.rest()
  br label %wait
done:
  store atomic i64 0, ptr %claim seq_cst, align 8
  %status = load atomic i32, ptr %status.place monotonic, align 4
  ret i32 %status
}}
"""
