"""Memory of parts and blocks of loops: each call has its own, in threads and inside each other."""

import os
import threading

import numpy as np
import pytest

pytest.importorskip("llvmlite")

from functier._programs.machine.calls import pool, threads
from support.basics import in_threads
from support.hand_parts import make, refuse

pytestmark = pytest.mark.inside("Threads and blocks of memory of the pool are counted.")


@pytest.fixture(autouse=True)
def no_cache(monkeypatch):
    monkeypatch.setenv("FUNCTIER_CACHE", "0")


ARENA = """
define i32 @part(ptr %a, ptr %out, ptr %arena) nounwind {
entry:
  %x = load i64, ptr %a
  %place = ptrtoint ptr %arena to i64
  %rest = and i64 %place, 63
  store i64 %rest, ptr %out
  br label %fill
fill:
  %i = phi i64 [ 0, %entry ], [ %j, %fill ]
  %p = getelementptr i64, ptr %arena, i64 %i
  store volatile i64 %x, ptr %p
  %j = add i64 %i, 1
  %more = icmp slt i64 %j, COUNT
  br i1 %more, label %fill, label %look
look:
  %k = phi i64 [ 0, %fill ], [ %l, %right ]
  %q = getelementptr i64, ptr %arena, i64 %k
  %y = load volatile i64, ptr %q
  %same = icmp eq i64 %x, %y
  br i1 %same, label %right, label %wrong
right:
  %l = add i64 %k, 1
  %on = icmp slt i64 %l, COUNT
  br i1 %on, label %look, label %end
wrong:
  store i64 -1, ptr %out
  ret i32 0
end:
  %odd = and i64 %x, 1
  %status = trunc i64 %odd to i32
  ret i32 %status
}
"""


def filler(count, fallback=refuse):
    """Return a builtin that fills its memory with a number, and looks at it again."""
    x = np.int64(0)
    text = ARENA.replace("COUNT", str(count))
    return make(text, [x], [x], fallback, arena=8 * count, long=True, single=True)


@pytest.mark.parametrize("count", [1, 256, 257, 50_000])
def test_memory_is_aligned_and_nobody_elses(count):
    def fallback(x):
        assert call(np.int64(x - 1)) == 0  # another call, inside of this one
        return call(np.int64(x - 3)) if x > 2 else np.int64(0)

    call = filler(count, fallback)

    def work(number):
        for i in range(20):
            assert call(np.int64(number * 1000 + i)) == 0

    in_threads(work, range(6))


def blocks():
    return [block for block in pool.SLOTS if block]


def test_blocks_are_used_again_and_large_ones_are_freed(monkeypatch):
    monkeypatch.setattr(pool, "TEXT", pool.pool_text(2**26))
    small, middle = filler(1000), filler(30_000)
    for _ in range(3):
        small(np.int64(2))
        middle(np.int64(2))
    kept = blocks()
    assert 1 <= len(kept) <= pool.SPARES
    small(np.int64(2))
    middle(np.int64(2))
    assert blocks() == kept
    filler(2**23 + 1)(np.int64(2))
    assert blocks() == kept
    for count in (2**17, 2**14, 2**10, 2**16, 2**12, 2**18, 2**19):
        assert filler(count)(np.int64(2)) == 0
    assert len(blocks()) <= pool.SPARES


WAIT = """
define i32 @part(ptr %a, ptr %out, ptr %arena) nounwind {
  br label %again
again:
  %i = phi i64 [ 0, %0 ], [ %j, %again ]
  %x = load volatile double, ptr %a
  %set = fcmp une double %x, 0.0
  %j = add i64 %i, 1
  %late = icmp sgt i64 %j, 300000000000
  %stop = or i1 %set, %late
  br i1 %stop, label %end, label %again
end:
  store double %x, ptr %out
  %status = zext i1 %late to i32
  ret i32 %status
}
"""


def test_other_threads_run_meanwhile():
    x = np.zeros(1)
    call = make(WAIT, [x], [x], long=True, single=True)
    timer = threading.Timer(0.01, lambda: x.fill(5.0))
    timer.start()
    assert call(x) == [5.0]
    timer.join()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_a_forked_process_calls_it():
    call = filler(5000)
    call(np.int64(2))
    child = os.fork()
    if child == 0:
        os._exit(0 if call(np.int64(4)) == 0 else 1)
    assert os.waitpid(child, 0)[1] == 0


# ---- several cores ----

SQUARES = """
define internal i32 @kernel(ptr %frame, i64 %start, i64 %stop) nounwind {
entry:
  %place = getelementptr ptr, ptr %frame, i64 1
  %a = load ptr, ptr %frame
  %out = load ptr, ptr %place
  br label %loop
loop:
  %i = phi i64 [ %start, %entry ], [ %j, %loop ]
  %p = getelementptr double, ptr %a, i64 %i
  %q = getelementptr double, ptr %out, i64 %i
  %x = load double, ptr %p
  %y = fmul double %x, %x
  %old = load double, ptr %q
  %negative = fcmp olt double %x, 0.0
  store double %y, ptr %q
  %j = add i64 %i, 1
  %more = icmp slt i64 %j, %stop
  %on = select i1 %negative, i1 false, i1 %more
  br i1 %on, label %loop, label %end
end:
  %status = zext i1 %negative to i32
  ret i32 %status
}
define i32 @part(ptr %a, ptr %out, ptr %arena) nounwind {
  %frame = alloca [2 x ptr]
  %place = getelementptr ptr, ptr %frame, i64 1
  store ptr %a, ptr %frame
  store ptr %out, ptr %place
  %status = call i32 @functier.parallel(ptr @kernel, ptr %frame, i64 COUNT, i64 STEP, i64 THREADS)
  ret i32 %status
}
"""


def squares(count, step, number, fallback=refuse):
    """Return a builtin that squares on several cores."""
    text = SQUARES.replace("COUNT", str(count)).replace("STEP", str(step))
    x = np.zeros(count)
    return make(text.replace("THREADS", str(number)), [x], [x], fallback, single=True)


@pytest.mark.parametrize(
    ("count", "step", "number"),
    [(1, 1, 2), (10, 100, 4), (100, 100, 4), (101, 100, 4), (5000, 7, 3), (5000, 100, 1)],
)
def test_blocks_cover_everything_once(count, step, number):
    call = squares(count, step, number)
    x = np.arange(1.0, count + 1)
    for _ in range(20):
        assert (call(x) == x * x).all()


def test_a_status_of_one_block_is_that_of_all():
    call = squares(5000, 10, 3, lambda x: "fallback")
    for place in (0, 5, 2500, 4999):
        x = np.ones(5000)
        x[place] = -1
        assert call(x) == "fallback"
    assert (call(np.ones(5000)) == 1).all()


def test_more_calls_at_one_time_than_slots():
    call = squares(3000, 16, 3)

    def work(number):
        x = np.arange(3000.0) + number
        for _ in range(20):
            assert (call(x) == x * x).all()

    in_threads(work, range(threads.SLOTS + 5))
    assert not any(threads.TABLE)  # no slot is taken, and nobody is counted in


def test_an_error_while_helpers_are_asked_for(monkeypatch):
    def interrupted(slot, count):
        ask(slot, count)
        raise KeyboardInterrupt

    ask = threads.ASK
    monkeypatch.setattr(threads, "ASK", interrupted)
    call = squares(5000, 10, 3)
    for _ in range(30):
        with pytest.raises(KeyboardInterrupt):
            call(np.ones(5000))
    assert not any(threads.TABLE)
    monkeypatch.undo()
    monkeypatch.setenv("FUNCTIER_CACHE", "0")
    call = squares(5000, 10, 3)
    assert (call(np.ones(5000)) == 1).all()


def test_helpers_that_come_late_do_nothing(monkeypatch):
    helper = threads.helper()
    for slot in range(threads.SLOTS):
        assert helper(slot) == 0
    assert not any(threads.TABLE)
    late = []
    monkeypatch.setattr(threads, "ASK", lambda slot, count: late.append(slot))
    call = squares(5000, 10, 3)
    assert (call(np.full(5000, 2.0)) == 4).all()
    assert [helper(slot) for slot in late] == [0]


def test_the_end_of_the_interpreter(monkeypatch):
    class Ended:
        def submit(self, *args):
            raise RuntimeError("cannot schedule new futures after interpreter shutdown")

    call = squares(5000, 10, 3)
    monkeypatch.setattr(threads.POOL, "executor", Ended())
    assert (call(np.full(5000, 2.0)) == 4).all()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_a_forked_process_has_its_own_helpers():
    call, x = squares(5000, 10, 3), np.arange(5000.0)
    assert (call(x) == x * x).all()
    child = os.fork()
    if child == 0:
        os._exit(0 if (call(x) == x * x).all() else 1)
    assert os.waitpid(child, 0)[1] == 0
