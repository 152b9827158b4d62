"""Exceptions from outside, at moments nobody chooses: by a signal, or from another thread."""

import contextlib
import ctypes
import random
import signal
import sys
import threading
import time
from pathlib import Path

import functier as ft

PACKAGE = str(Path(ft.__file__).parent)


class Interrupt(Exception):
    """The exception that the handler, or the other thread, raises."""


class Hits:
    """Counts of exceptions that came in functier's own frames, and elsewhere."""

    def __init__(self):
        self.inside = self.outside = 0

    def count(self, error):
        """Note the frame in which `error` was raised."""
        trace = error.__traceback__
        while trace.tb_next is not None:
            trace = trace.tb_next
        frame = trace.tb_frame
        if frame.f_code.co_name == "_raise":  # the handler itself: who was interrupted?
            frame = frame.f_back
        if frame is not None and frame.f_code.co_filename.startswith(PACKAGE):
            self.inside += 1
        else:
            self.outside += 1


def _raise(*_):
    raise Interrupt


@contextlib.contextmanager
def by_signal(seed):
    """A function that has an exception come after a random time, by a timer."""
    rng = random.Random(seed)
    before = signal.signal(signal.SIGALRM, _raise)
    try:
        yield lambda least, most: signal.setitimer(signal.ITIMER_REAL, rng.uniform(least, most))
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


@contextlib.contextmanager
def by_thread(seed):
    """The same by another thread, as time-outs do it in libraries."""
    rng, wanted, over = random.Random(seed), threading.Event(), threading.Event()
    target, delay = ctypes.c_ulong(threading.get_ident()), []

    def work():
        while True:
            wanted.wait()
            wanted.clear()
            if over.is_set():
                return
            time.sleep(delay[0])
            ctypes.pythonapi.PyThreadState_SetAsyncExc(target, ctypes.py_object(Interrupt))
            delay.clear()

    thread = threading.Thread(target=work, daemon=True)
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    thread.start()

    def arm(least, most):
        if not delay:  # else one is still to come, and a second one would come after the body
            delay.append(rng.uniform(least, most))
            wanted.set()

    try:
        yield arm
    finally:
        sys.setswitchinterval(interval)
        over.set()
        wanted.set()
        thread.join()


def interrupted(arm, body, hits, least=5e-5, most=1e-3):
    """Run ``body()`` again and again until the exception comes; count where it came."""
    try:
        until_it_comes(arm, body, least, most)
    except Interrupt as error:
        hits.count(error)


def until_it_comes(arm, body, least, most):
    """Run ``body()`` again and again; Python drops what is raised in a finalizer, so ask again."""
    while True:
        arm(least, most)
        late = time.monotonic() + 0.2
        while time.monotonic() < late:
            body()
