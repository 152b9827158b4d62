"""A net of threads that call compiled functions while one of them changes what these read.

    PYTHONPATH=tests:src python -m nets.threads 20 --seed 3

A number is a world of functions that read one value in several ways, and share a function that
they call. Eight threads call them, compiled and plain. First in rounds, with a change between two
barriers; then freely, while one of them goes on changing. Each result has to be that of a value
which was there during the call: of no earlier one, as of a program that is stale, and of no later
one. So threads trace one function at the same time, and call others whose code a trace replaces.
"""

import random
import sys
import threading
import time
import traceback
from typing import Any

import numpy as np

import functier as ft
from support.basics import HANG

from .commands import main
from .verdicts import Verdicts

SOURCE = """
import types
import numpy as np

class Box:
    def __init__(self, rate):
        self.rate = rate
    def scaled(self, x):
        return shared(x) * self.rate

def shared(x, depth=2):
    if not depth:
        return np.sin(x)
    try:
        return sum(part * 0.5 for part in [shared(x, depth - 1), np.sin(x)])
    finally:
        depth = None

def make():
    kept = 2.0
    def change(value):
        nonlocal kept
        kept = value
    return lambda x: shared(x) * kept, change

def by_default(x, given=2.0):
    return shared(x) * given

def two(x):
    return 2.0 * x

def three(x):
    return 3.0 * x

def by_code(x):
    return inner(shared(x))

inner, CODES = types.FunctionType(two.__code__, globals()), {2.0: two.__code__, 3.0: three.__code__}
rate, fixed, fresh, table, box = 2.0, np.full(3, 2.0), np.full(3, 2.0), {"rate": [2.0]}, Box(2.0)
by_cell, change_cell = make()

FUNCTIONS = {
    "a global": lambda x: shared(x) * rate,
    "a cell": by_cell,
    "an attribute": lambda x: box.scaled(x),
    "an item": lambda x: shared(x) * table["rate"][0],
    "an array": lambda x: shared(x) * fixed,
    "another array": lambda x: shared(x) * fresh,
    "a default": by_default,
    "code": by_code,
    "a branch": lambda x: shared(x) * (3.0 if rate > 2.5 else 2.0),
}

def change(value):
    global rate, fresh
    rate = box.rate = table["rate"][0] = value
    fixed[...] = value
    fresh = np.full(3, value)
    by_default.__defaults__ = (value,)
    inner.__code__ = CODES[value]
    change_cell(value)
"""

WAYS: dict[str, Any] = {
    "itself": (lambda f: f, lambda x: np.sin(x)),
    "grad": (lambda f: ft.grad(lambda x: np.sum(f(x))), np.cos),
    "vmap": (lambda f: lambda x: ft.vmap(f)(np.stack([x, x]))[1], np.sin),
}
VALUES = 2.0, 3.0
LOCK = threading.Lock()


class Threads:
    """Runs numbers of a seed and counts."""

    def __init__(self, counts: Verdicts, seed: int, rounds: int = 12, calls: int = 60):
        self.counts, self.seed, self.rounds, self.calls = counts, seed, rounds, calls
        self.traced = 0

    def run(self, number: int) -> None:
        before = sys.getswitchinterval()
        sys.setswitchinterval(1e-5)
        try:
            World(self, number).run()
        finally:
            sys.setswitchinterval(before)

    def summary(self) -> str:
        return f"{self.counts.summary()}; {self.traced} traces"


class World:
    """The functions of a number, and the threads that call them."""

    def __init__(self, net: Threads, number: int):
        self.net, self.number = net, number
        self.space: dict[str, Any] = {"__name__": "user_world"}
        exec(compile(SOURCE, "<world>", "exec"), self.space)
        r = random.Random(hash((net.seed, number)))
        functions = self.space["FUNCTIONS"]
        self.calls = [
            (f"{name}, {way}", WAYS[way][0](functions[name]), WAYS[way][1])
            for name in r.sample([*functions], 4) for way in r.sample([*WAYS], 2)
        ]  # fmt: skip
        backend = r.choice(("numpy", "auto"))
        self.compiled = [ft.compile(f, backend=backend) for _, f, _ in self.calls]
        self.begun = self.done = 0  # how many changes have
        self.barrier = threading.Barrier(8)
        self.calling = 7

    def run(self) -> None:
        threads = [threading.Thread(target=self.work, args=(k,), daemon=True) for k in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(HANG)
        assert not any([thread.is_alive() for thread in threads]), "a thread hangs"
        self.net.traced += sum([c._traced for c in self.compiled])

    def work(self, k: int) -> None:
        r = random.Random(hash((self.net.seed, self.number, k)))
        try:
            for _ in range(self.net.rounds):
                if not k:
                    self.change()
                self.barrier.wait(HANG)
                for i in r.sample(range(len(self.calls)), 4):
                    self.call(i, r)
                self.barrier.wait(HANG)
            if k:
                for _ in range(self.net.calls):
                    self.call(r.randrange(len(self.calls)), r)
            else:
                while self.calling:
                    self.change()
                    time.sleep(r.choice((0.0, 0.001, 0.02)))
        except BaseException:
            self.wrong(traceback.format_exc())
            self.barrier.abort()
        finally:
            with LOCK:
                self.calling -= k > 0

    def change(self) -> None:
        self.begun += 1
        self.space["change"](VALUES[self.begun % 2])
        self.done += 1

    def call(self, i: int, r: random.Random) -> None:
        """Call a function, compiled or plain, and look at the result."""
        name, f, plain = self.calls[i]
        x = np.full(3, r.choice((0.5, 1.5)))
        first = self.done
        found = (self.compiled[i] if r.random() < 0.75 else f)(x)
        last = self.begun
        there = {VALUES[n % 2] for n in range(first, last + 1)}
        if any([np.allclose(found, value * plain(x), 1e-12) for value in there]):
            with LOCK:
                self.net.counts.right += 1
        else:
            self.wrong(f"{name}: {found}, and the values were {there}")

    def wrong(self, text: str) -> None:
        head = f"# python -m nets.threads --seed {self.net.seed} --number {self.number}: "
        with LOCK:
            self.net.counts.wrong.append(head + text)


def net(seed: int, **given: Any) -> Threads:
    return Threads(Verdicts("threads"), seed, **given)


if __name__ == "__main__":
    sys.exit(main(__doc__, net, 20))
