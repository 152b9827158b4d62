"""Progress: what is shown in a terminal, and where nothing is."""

import io
import os
import subprocess
import sys
import threading
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from multiprocessing import get_context

import numpy as np
import pytest

import functier as ft
from functier import progress
from functier.scipy.integrate import quad, solve_ivp
from functier.scipy.optimize import root

pytest.importorskip("tqdm", reason="the extra progress is not installed")

XS = np.ones(3)
BARS = sys.modules[progress.bar.__module__]


class Terminal(io.StringIO):
    """A terminal, in a block that writes to it; pytest changes the stream between its phases."""

    def isatty(self):
        return True

    def __enter__(self):
        sys.stderr, self.before = self, sys.stderr
        return self

    def __exit__(self, *exception):
        sys.stderr = self.before


@pytest.fixture
def screen(monkeypatch):
    """A terminal, and no patience."""
    monkeypatch.delenv(BARS.VARIABLE, raising=False)
    monkeypatch.setattr(BARS, "PATIENCE", 1e-3)
    monkeypatch.setattr(BARS, "PAUSE", 1e-3)
    return Terminal()


def wait(seconds=0.15):  # longer than tqdm's pause
    """Wait as a function does that computes for long; a trace makes no call of it."""
    threading.Event().wait(seconds)


def slow(t, y, p):
    wait(0.005)
    return -p * y


def until(screen, text, call):
    """Call until the text is on the screen: the thread that shows it may come late."""
    for _ in range(5):
        with screen:
            call()
        if text in screen.getvalue():
            return
    raise AssertionError(f"{text!r} is not in {screen.getvalue()!r}")


def test_a_loop_shows_how_far_it_is(screen):
    with screen:
        assert [wait() or n for n in progress.bar(range(3), "fit", " epochs")] == [0, 1, 2]

    assert "fit: " in screen.getvalue() and "3/3 [" in screen.getvalue()
    with screen:
        assert [wait() or n for n in progress.bar(range(3))] == [0, 1, 2]
    assert "None" not in screen.getvalue()
    assert " epochs/s]" in screen.getvalue() or "s/ epochs]" in screen.getvalue()


def test_a_block_shows_what_it_counts(screen):
    found = []
    with screen, progress.during("roots", lambda: len(found), total=3, unit=" roots"):
        found.append(1)
        until(screen, "1/3", wait)
    with screen, progress.during("text alone"):
        wait()

    assert "roots:  33%" in screen.getvalue() and "text alone [00:00]" in screen.getvalue()
    assert screen.getvalue().endswith("\r")  # nothing is left there
    assert not [t for t in threading.enumerate() if t.daemon and "_watch" in t.name]


def test_one_block_is_shown_at_a_time_and_an_error_ends_it(screen):
    with screen, pytest.raises(ZeroDivisionError), progress.during("outer"):
        with progress.during("inner"):
            wait()
        1 / 0  # noqa: B018
    with screen, progress.during("later"):
        wait()

    assert "outer" in screen.getvalue() and "later" in screen.getvalue()
    assert "inner" not in screen.getvalue()


def test_a_quick_block_shows_nothing(screen, monkeypatch):
    monkeypatch.setattr(BARS, "PATIENCE", 60.0)
    with screen, progress.during("quick"):
        ft.compile(ft.grad(lambda x: np.sum(x * x)))(XS)

    assert screen.getvalue() == ""


# ---- what shows it ----


def test_compiling_shows_its_stages(screen):
    def f(x):
        for _ in range(40):
            x = np.sin(x) + np.tanh(np.sum(np.outer(x, x) @ x))
        return np.sum(x * x)

    def twice():
        compiled = ft.compile(f)
        assert compiled(XS) == compiled(XS)

    until(screen, "compile(f): recording: ", twice)
    until(screen, " calls [", twice)
    pytest.importorskip("llvmlite", reason="the extra compile is not installed")
    until(screen, "compile(f): machine code [", twice)
    until(screen, "trace(f): recording: ", lambda: ft.trace(f)(XS))


@pytest.mark.slow
def test_adopting_shows_modules(screen):
    def adopt():
        ft.adopt("scipy.stats", dependencies=False).undo()

    until(screen, "adopt(scipy.stats): ", adopt)
    until(screen, " modules [", adopt)


@pytest.mark.parametrize(
    ("label", "loss"),
    [("scipy.integrate.solve_ivp: derivatives:", lambda p: end(p, "forward")),
     ("scipy.integrate.solve_ivp: backward pass:", lambda p: end(p, "adjoint")),
     ("scipy.integrate.quad [", lambda p: quad(lambda x: slow(0.0, x, p), 0.0, 1.0)[0]),
     ("scipy.optimize.root: Jacobian [", lambda p: root(lambda x: slow(0.0, x - 1, p), XS).x[0]),
     ("scipy.optimize.root: ", lambda p: root(lambda x: slow(0.0, x - 1, p), XS).x[0])],
)  # fmt: skip
@pytest.mark.slow
def test_derivatives_of_solvers_show_it(screen, label, loss):
    until(screen, label, lambda: ft.grad(loss)(1.0))


def end(p, derivative):
    found = solve_ivp(slow, (0.0, 0.1), XS, args=(p,), derivative=derivative, rtol=1.0, atol=1.0)
    return found.y[0, -1]


# ---- where nothing is shown ----


def loop(_=None):
    """The text that a loop and a block show, in a terminal that is new."""
    BARS.PATIENCE, before = 1e-3, BARS.PATIENCE
    with Terminal() as screen:
        for _ in progress.bar(range(2), "loop"):
            with progress.during("block"):
                wait()
    BARS.PATIENCE = before
    return screen.getvalue()


@pytest.mark.slow
def test_workers_and_a_switch_are_silent(monkeypatch):
    monkeypatch.setenv(BARS.VARIABLE, "1")
    assert "loop" in loop()
    with ThreadPoolExecutor(1) as threads, ProcessPoolExecutor(1, get_context("spawn")) as others:
        assert [*threads.map(loop, [0]), *others.map(loop, [0])] == ["", ""]
    monkeypatch.setenv(BARS.VARIABLE, "0")
    assert loop() == ""
    monkeypatch.undo()
    monkeypatch.setitem(sys.modules, "tqdm.auto", None)
    assert loop() == ""


@pytest.mark.parametrize("stream", [None, io.StringIO()])
def test_a_stream_that_nobody_sees_is_silent(monkeypatch, stream):
    monkeypatch.setattr(sys, "stderr", stream)
    items = range(3)

    assert progress.bar(items, "loop") is items
    with progress.during("block"):
        assert threading.active_count() == len(threading.enumerate())
    assert stream is None or stream.getvalue() == ""


def test_the_switch_is_for_bars_that_are_asked_for_too(screen, monkeypatch):
    f = ft.vmap(np.sin, chunk_size=1, progress=True)
    with screen:
        f(XS)
    assert "3/3" in screen.getvalue()
    monkeypatch.setenv(BARS.VARIABLE, "0")
    with Terminal() as silent:
        f(XS)
    assert silent.getvalue() == ""


def test_notebooks_are_seen(monkeypatch):
    stream = io.StringIO()
    monkeypatch.setattr(sys, "stderr", type("OutStream", (io.StringIO,), {})())
    assert not BARS._is_seen()
    monkeypatch.setattr(type(sys.stderr), "__module__", "ipykernel.iostream")
    assert BARS._is_seen()
    monkeypatch.setattr(sys, "stderr", stream)
    assert not BARS._is_seen()


PROGRAM = """\
import sys, time
from functier import progress
BARS = sys.modules[progress.bar.__module__]
BARS.PATIENCE = BARS.PAUSE = 0.01
for _ in progress.bar(range(2), "loop"):
    time.sleep(0.2)
with progress.during("block"):
    time.sleep(0.5)
"""


def test_a_terminal_has_it_and_a_pipe_has_not():
    pty = pytest.importorskip("pty", reason="there are no terminals of this kind")
    import fcntl
    import termios

    ours, theirs = pty.openpty()
    size = (24).to_bytes(2, sys.byteorder) + (80).to_bytes(2, sys.byteorder) + bytes(4)
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, size)
    command = [sys.executable, "-c", PROGRAM]
    env = {name: text for name, text in os.environ.items() if name != BARS.VARIABLE}
    with subprocess.Popen(command, stderr=theirs, stdout=subprocess.PIPE, env=env) as process:
        os.close(theirs)
        text = everything(ours)
        out = process.stdout.read()
    os.close(ours)

    assert process.returncode == 0 and out == b""
    assert "loop: 100%" in text and "block [00:00]" in text
    done = subprocess.run(command, env=env, capture_output=True)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")


def everything(handle):
    """The text of a terminal until all programs have left it."""
    found = b""
    while True:
        try:
            part = os.read(handle, 4096)
        except OSError:  # of Linux, at the end
            part = b""
        if not part:
            return found.decode()
        found += part
