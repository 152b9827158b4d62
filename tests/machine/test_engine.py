"""Text becomes machine code that runs, or an error; its memory ends with the library."""

import ctypes
import gc
import math
import multiprocessing
import os
import sys
import threading
import weakref
from concurrent.futures import ProcessPoolExecutor

import pytest

pytest.importorskip("llvmlite")

from functier._programs.machine.compiler import engine
from support.basics import in_threads

pytestmark = pytest.mark.inside("The compiler of text has no public name.")

ADD = """
declare i64 @outside(i64)
@far = external global i8
define i64 @add(i64 %x) nounwind { %y = add i64 %x, NUMBER
  ret i64 %y }
define i64 @call(i64 %x) nounwind { %y = call i64 @outside(i64 %x)
  ret i64 %y }
define ptr @place() nounwind { ret ptr @far }
define double @sine(double %x) nounwind { %y = call double @sin(double %x)
  ret double %y }
declare double @sin(double)
"""
NAMES = ["add", "call", "place", "sine"]
OUTSIDE = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_int64)(lambda x: 3 * x)
FAR = 0x7FEDCBA987654321
SYMBOLS = {"outside": ctypes.cast(OUTSIDE, ctypes.c_void_p).value, "far": FAR, "unused": 1}


@pytest.fixture(autouse=True)
def no_cache(monkeypatch):
    monkeypatch.setenv("FUNCTIER_CACHE", "0")


def load(number=1, opt=1):
    return engine.load(ADD.replace("NUMBER", str(number)), NAMES, SYMBOLS, opt)


def run(library, name, x, kind=ctypes.c_int64):
    return ctypes.CFUNCTYPE(kind, kind)(library[name])(x)


@pytest.mark.parametrize("opt", range(2))
def test_code_runs_with_addresses_from_outside(opt):
    library = load(5, opt)
    assert run(library, "add", 2) == 7
    assert run(library, "call", 4) == 12
    assert ctypes.CFUNCTYPE(ctypes.c_uint64)(library["place"])() == FAR
    assert run(library, "sine", 0.5, ctypes.c_double) == pytest.approx(0.479425538604203)
    assert not library.cached


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("define i32 @f() { ret i64 0 }", "doesn't match function result type"),
        ("define i32 @f() { %a = add i32 %b, 0\n ret i32 %a }", "undefined value"),
        (
            "declare void @nobody()\ndefine void @f() { call void @nobody()\n ret void }",
            "address: nobody",
        ),
        ("define void @g() { ret void }", "link"),
        ("define i32 @f() {\nb:\n %x = add i32 %y, 1\n %y = add i32 %x, 1\n ret i32 %x }", "LLVM"),
    ],
)
def test_bad_text_is_refused(text, message, capfd):
    with pytest.raises(RuntimeError, match=message):
        engine.load(text, ["f"])
    assert capfd.readouterr().err == ""
    assert run(load(), "add", 1) == 2  # and what comes next works


def test_symbols_that_a_text_does_not_declare_are_left_out():
    class Many(dict):
        def __iter__(self):
            raise AssertionError("all symbols are looked at")

    text = '@"a.b" = external global [2 x i64]\ndeclare noalias ptr @m(i64)\n@own = global i8 0'
    symbols = Many({"a.b": 1, "m": 2, "own": 3, "other": 4})
    assert engine.needed(text, symbols) == {"a.b": 1, "m": 2}


def test_libraries_do_not_share_names():
    libraries = [load(number) for number in range(40)]  # more than one linker
    assert [run(library, "add", 1) for library in libraries] == list(range(1, 41))
    del libraries[::2]
    assert [run(library, "add", 1) for library in libraries] == list(range(2, 41, 2))


def test_a_library_ends_when_it_is_dropped(monkeypatch):
    ended = []
    kind = engine.llvm.ResourceTracker
    dispose = kind._dispose
    monkeypatch.setattr(kind, "_dispose", lambda self: (ended.append(1), dispose(self)))
    library = load()
    watch = weakref.ref(library)
    del library
    gc.collect()
    assert watch() is None and ended == [1]


def grown(make, count):
    """Return the bytes that a call of `make` keeps."""

    def pages():
        with open("/proc/self/statm") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGESIZE")

    for _ in range(count // 2):
        make()
    gc.collect()
    before = pages()
    for _ in range(count):
        make()
    gc.collect()
    return (pages() - before) / count


def kept(what, **fault):
    """Return the bytes that each load, or each link, keeps in this process."""
    os.environ["FUNCTIER_CACHE"] = "0"
    for name, value in fault.items():
        setattr(engine, name, value)
    if what == "loads":
        numbers = iter(range(10**6))
        return grown(lambda: load(next(numbers)), 200)
    code = engine.compile_object(ADD.replace("NUMBER", "1"))
    return grown(lambda: engine.link(code, NAMES, SYMBOLS), 500)


def nothing(passes):
    """Free no pass manager: a fault."""


@pytest.mark.slow
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads the memory of Linux")
@pytest.mark.parametrize(
    ("what", "fault", "least", "most"),
    [
        ("loads", {}, -math.inf, 3_400),
        ("links", {}, -math.inf, 2_000),
        ("loads", {"free": nothing}, 3_400, math.inf),
        ("links", {"SHARED": 10**9}, 5_000, math.inf),
    ],
)
def test_memory_of_old_libraries_is_freed(what, fault, least, most):
    """Each case has a process to itself: another one may have free memory that hides growth."""
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(1, context) as pool:
        assert least < pool.submit(kept, what, **fault).result() < most


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_a_forked_process_runs_code_and_compiles():
    library, stop = load(1), threading.Event()

    def compile_on():
        while not stop.is_set():
            load(7, 0)

    thread = threading.Thread(target=compile_on)  # it holds locks when the process forks
    thread.start()
    try:
        for _ in range(3):
            child = os.fork()
            if child == 0:
                right = run(library, "add", 1) == 2 and run(load(2), "add", 1) == 3
                os._exit(0 if right else 1)
            assert os.waitpid(child, 0)[1] == 0
    finally:
        stop.set()
        thread.join()


def test_several_threads_load():
    found = in_threads(lambda number: run(load(number, 0), "add", 0), range(12))
    assert found == [*range(12)]
