"""An exception may come at any moment, and the state is what it was before.

Time-outs and Ctrl-C raise where nobody expects it. A transform then leaves nothing behind, and a
level whose ``with`` block was left never answers again.
"""

import contextlib
import contextvars
import gc
import subprocess
import sys
from contextlib import ExitStack

import numpy as np
import pytest

import functier as ft
from functier._control import masks as _masks
from functier._core.blocks import CALLS, LEVELS, OPERATIONS, RULES
from functier._core.root import DISABLED
from functier._levels import second_look
from functier._levels import states as _states
from functier._levels.level import ENDED
from functier._levels.lineage import AMBIENT
from functier._transforms import grad as _grad
from functier._transforms import vmap as _vmap
from functier._transforms.chunks import streams as _streams
from functier.debug import _leaks, _watching
from functier.modes import _asking as _asking
from nets.interrupts import Hits, by_signal, by_thread, interrupted, until_it_comes
from nets.verdicts import Verdicts

# Python reports what is raised in a finalizer, such as that of a WeakSet, and drops it.
pytestmark = [
    pytest.mark.inside("All of the state that an interruption might leave is compared."),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]

XS = np.arange(1.0, 4.0)


@pytest.fixture(autouse=True)
def all_frames(monkeypatch):
    """The last frame of a traceback says where an interruption came: it must not be hidden."""
    monkeypatch.setenv("FUNCTIER_TRACEBACKS", "full")


MATRIX = np.array([[2.0, 0.3], [0.3, 1.0]])


def state():
    """The state of this context and of the process that a call might leave behind."""
    return {
        "ambient": AMBIENT.get(),
        "disabled": DISABLED.get(),
        "resumed": _states.RESUMED.get(),
        "modes": _asking.STATE.get(),
        "watch": _watching.WATCH.get(),
        "running": _watching.RUNNING.get(),
        "leaks": _leaks.ENTERED.get(),
        "among": _masks.AMONG.get(),
        "chunk": _streams.CHUNK.get(),
        "passes": {**second_look.NOTED},
    }


def listeners():
    """The numbers of those that watch levels or ask modes, after one more use.

    Entries that an interruption leaves in these lists do nothing, and go with the next user.
    """
    in_debugging()
    in_mode()
    in_check_leaks()
    return [len(told) for told in (LEVELS, RULES, CALLS, OPERATIONS)]


def still_right():
    """Tell if transforms give what they always do."""
    one = ft.vmap(lambda x: x + 1.0)(np.zeros((3, 2)))
    two = ft.grad(lambda x: np.sum(x * x))(XS)
    return type(one) is np.ndarray and one.tolist() == [[1.0, 1.0]] * 3 and (two == 2 * XS).all()


@ft.checkpoint
def block(x):
    return np.tanh(np.sin(x))


@ft.custom_vjp
def doubled(x):
    return 2.0 * x


doubled.defvjp(lambda x: (2.0 * x, None), lambda _, g: (2.0 * g,))


def loss(x):
    return np.sum(np.sin(x) * x)


TRANSFORMS = {
    "vmap": lambda: ft.vmap(lambda x: x * 2.0)(np.ones((1, 2))),
    "grad": lambda: ft.grad(loss)(XS),
    "jvp": lambda: ft.jvp(np.sin, (XS,), (XS,)),
    "vjp": lambda: ft.vjp(np.sin, XS)[1](XS),
    "vmap of grad": lambda: ft.vmap(ft.grad(loss))(np.ones((2, 3))),
    "hessian": lambda: ft.hessian(loss)(XS),
    "jacrev": lambda: ft.jacrev(np.sin)(XS),
    "linearize": lambda: ft.linearize(np.sin, XS)[1](XS),
    "chunks": lambda: ft.vmap(lambda x: x * 2.0, chunk_size=2)(XS),
    "checkpoint": lambda: ft.grad(lambda x: np.sum(block(x)))(XS),
    "checkpoint after the call": lambda: ft.vjp(block, XS)[1](XS),
    "custom_vjp": lambda: ft.grad(lambda x: np.sum(doubled(x)))(XS),
    "custom_root": lambda: ft.grad(
        lambda a: ft.custom_root(
            lambda y: y * y - a, 1.0, lambda f, y: np.sqrt(a), lambda g, b: b / g(1.0)
        )
    )(2.0),
    "cond": lambda: ft.vmap(lambda x: ft.cond(x > 2, np.sin, np.cos, x))(XS),
    "scan": lambda: ft.grad(lambda x: ft.scan(lambda c, y: (c * y, c), 1.0, x)[0])(XS),
    "while_loop": lambda: ft.vmap(lambda x: ft.while_loop(lambda y: y < 9, lambda y: y * 2, x))(XS),
    "random": lambda: ft.vmap(
        lambda x: x + ft.random.default_rng(0).normal(), randomness="different"
    )(XS),
}
"""Calls that leave nothing behind, whatever interrupts them."""


class Counting(ft.modes.TensorFunctionMode):
    def __tensor_function__(self, func, types, args=(), kwargs=None):
        return func(*args, **(kwargs or {}))


def in_level():
    with ft.vmap() as B:
        B.unwrap(B(XS) * 2.0)


def in_levels():
    with ft.vmap() as B0, ft.grad() as G:
        x = G(2.0)
        G.gradient(x * x, x)
        B0(XS) + 1.0


def in_mode():
    with Counting():
        ft.vmap(lambda x: x * 2.0)(XS)


def in_stack():
    with ExitStack() as stack:
        B = stack.enter_context(ft.vmap())
        stack.enter_context(ft.no_grad())
        B(XS) * 2.0


def in_no_grad():
    with ft.no_grad():
        np.max(np.abs(XS))


def in_debugging():
    with ft.debug.debug_nans(), ft.debug.detect_anomaly():
        ft.grad(lambda x: np.sum(x * x))(XS)


def in_check_leaks():
    with ft.debug.check_leaks():
        ft.vmap(lambda x: x * 2.0)(XS)


def in_no_dispatch():
    with ft.vmap() as B:
        x = B(XS)
        with ft.no_dispatch(B):
            np.sin(x)


BLOCKS = {
    "vmap": in_level,
    "vmap and grad": in_levels,
    "a mode": in_mode,
    "no_grad": in_no_grad,
    "no_dispatch": in_no_dispatch,
    "debugging": in_debugging,
}
"""``with`` blocks; two more, which are slow to check, have separate tests."""

WAYS = {"signal": by_signal, "thread": by_thread}
START = contextvars.ContextVar("start", default=0)


def check(counts, name, before):
    """One case: the state is what it was, and transforms are right."""

    def same(_):
        now = state()
        changed = {k: (before[k], now[k]) for k in before if before[k] != now[k]}
        assert not changed, f"left behind: {changed}"
        assert still_right(), "a later transform is wrong"

    verdict = counts.judge(name, lambda: None, same)
    if verdict == "wrong":  # or every later case would be, too
        AMBIENT.set(before["ambient"])
        DISABLED.set(before["disabled"])
        _asking.STATE.set(before["modes"])
    return verdict


def sweep(counts, bodies, times, way, seed=0):
    """Interrupt each body so many times; where the exceptions came."""
    hits = Hits()
    for body in bodies.values():
        body()
    before, listening = state(), listeners()
    with WAYS[way](seed) as arm:
        for name, body in bodies.items():
            for _ in range(times):
                interrupted(arm, body, hits)
                check(counts, name, before)
    assert listeners() == listening
    return hits


@pytest.mark.parametrize("way", WAYS)
def test_transforms_leave_nothing_behind(verdicts, full, way):
    counts = verdicts(f"interrupted transforms, by {way}")
    hits = sweep(counts, TRANSFORMS, 320 if full else 12, way)
    counts.name += f" ({hits.inside} in functier's own frames)"

    counts.settle()
    assert hits.inside > hits.outside / 9


@pytest.mark.parametrize("way", WAYS)
def test_blocks_leave_nothing_behind(verdicts, full, way):
    counts = verdicts(f"interrupted with blocks, by {way}")
    hits = sweep(counts, BLOCKS, 400 if full else 20, way)
    counts.name += f" ({hits.inside} in functier's own frames)"

    counts.settle()


def test_a_stack_of_blocks_leaves_nothing_behind(verdicts, full):
    """An interruption in contextlib's own code leaves the exits to its frames for a while."""
    counts = verdicts("interrupted ExitStack")
    before = state()
    with by_signal(3) as arm:
        for _ in range(120 if full else 10):
            interrupted(arm, in_stack, Hits())
            gc.collect()
            check(counts, "an ExitStack", before)
    counts.settle()


def test_check_leaks_leaves_nothing_behind(verdicts, full):
    counts = verdicts("interrupted check_leaks")
    sweep(counts, {"check_leaks": in_check_leaks}, 60 if full else 5, "signal")
    counts.settle()


def test_caught_inside_the_function(verdicts, full):
    """Code after the handler of the exception is differentiated as ever."""
    counts, hits = verdicts("caught inside the differentiated function"), Hits()
    inner = [
        in_no_grad,
        TRANSFORMS["vmap"],
        TRANSFORMS["hessian"],
        in_level,
        in_mode,
        lambda: block(XS),
    ]
    with by_signal(1) as arm:
        for i in range(1800 if full else 60):
            body = inner[i % len(inner)]

            def f(x, body=body):
                interrupted(arm, body, hits)
                return np.sum(x * x)

            case = lambda f=f: ft.vmap(ft.grad(f))(np.stack([XS, XS]))  # noqa: E731
            counts.judge(i, case, lambda g: np.testing.assert_array_equal(g, [2 * XS] * 2))
    counts.settle()


def test_while_the_exception_is_handled(verdicts, full):
    """Already in the ``except`` clause, where its traceback holds all frames, blocks have ended."""
    counts = verdicts("inside the except clause")
    with by_signal(2) as arm:
        for i in range(600 if full else 40):
            body, got = list(BLOCKS.values())[i % len(BLOCKS)], []
            try:
                until_it_comes(arm, body, 5e-5, 5e-4)
            except Exception:
                got.append(still_right() and AMBIENT.get() is ft.Tensor and not DISABLED.get())
            counts.judge(body.__name__, lambda got=got: got, lambda got: assert_true(got == [True]))
    counts.settle()


def assert_true(condition):
    assert condition


def test_variables_of_the_user_stay_set(verdicts, full):
    """A transform runs the function in the caller's context, not in a copy of it."""

    def f(x):
        START.set(START.get() + 1)
        return np.sum(x * x)

    for n, call in enumerate(
        [lambda: ft.grad(f)(XS), lambda: ft.vmap(f)(XS), lambda: ft.jvp(f, (XS,), (XS,))]
    ):
        START.set(10 * n)
        call()
        assert START.get() == 10 * n + 1


def test_a_left_level_never_answers():
    """A level whose exit did not run at all is as dead as one that was left."""
    context = ft.vmap()
    end = context.__exit__  # a with statement asks for it first, and holds it
    x = context.__enter__()(XS)
    assert AMBIENT.get() is type(x)
    del end  # as where an exception comes before its first line

    with pytest.raises(ft.EscapedTensorError):
        x + 1.0
    assert AMBIENT.get() is ft.Tensor
    assert still_right()


# ---- the checks are checked: the old ways of leaving are found ----


def set_before_try(level, body, given=()):
    """The transform's old life: state is set before the ``try``, and a method ends it."""
    AMBIENT.set(level.cls)
    try:
        return body(level, given)
    finally:
        level.end()


@contextlib.contextmanager
def old_no_grad():
    token = DISABLED.set(DISABLED.get() | {AMBIENT.get()})
    try:
        yield
    finally:
        DISABLED.reset(token)


class OldContext:
    """The old ``with vmap()``: an exit that is a plain function."""

    def __enter__(self):
        self.level = ft.vmap()._form[0].prepare("vmap()", "dead", sys._getframe(1))
        AMBIENT.set(self.level.cls)
        return self.level.cls

    def __exit__(self, *error):
        self.level.__class__ = ENDED["dead"]
        AMBIENT.set(ft.Tensor)


def found(bodies, times):
    """Tell if a sweep finds anything wrong."""
    counts = Verdicts("planted")
    for seed in range(4):
        sweep(counts, bodies, times, "signal", seed)
        if counts.wrong:
            return True
    return False


def test_planted_life_is_found(monkeypatch):
    for module in (_vmap, _grad):
        monkeypatch.setattr(module, "run", set_before_try)
    assert found({k: TRANSFORMS[k] for k in ("vmap", "grad")}, 300)


def test_planted_block_is_found():
    def body():
        with OldContext() as B:
            B(XS) * 2.0

    assert found({"with": body}, 300)


def test_planted_no_grad_is_found():
    def body():
        with old_no_grad():
            pass

    assert found({"no_grad": body}, 600)


# ---- the first call of a process ----

FIRST = """
import signal, sys
import numpy as np, functier as ft

class Late(Exception):
    pass

def late(*_):
    raise Late

signal.signal(signal.SIGALRM, late)
try:
    signal.setitimer(signal.ITIMER_REAL, float(sys.argv[1]))
    ft.vmap(ft.grad(lambda x: np.sum(np.sin(x))))(np.ones((2, 3)))
except Late:
    pass
signal.setitimer(signal.ITIMER_REAL, 0)
x = np.array([0.3, 0.5, 0.7])
assert np.allclose(ft.grad(lambda x: np.sum(np.cumsum(np.sin(x))))(x), np.cos(x) * [3, 2, 1])
assert ft.vmap(lambda x: np.median(x) + x @ x)(np.ones((2, 3))).tolist() == [4, 4]
assert np.allclose(ft.hessian(lambda x: np.sum(x**3))(x), np.diag(6 * x))
"""


def test_an_interrupted_first_call(verdicts, full):
    """The first transform loads all declarations; where that was interrupted, the next does."""
    counts = verdicts("interrupted first calls")
    for i in range(80 if full else 4):
        delay = str(0.001 + 0.0009 * (i * 7 % 40))
        run = subprocess.run(
            [sys.executable, "-c", FIRST, delay], capture_output=True, text=True, check=False
        )
        counts.judge(delay, lambda r=run: r, lambda r: assert_true(r.returncode == 0))
    counts.settle()
