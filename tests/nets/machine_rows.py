"""The rows of the samples as machine code, beside the same programs as NumPy calls.

Values, derivatives and batches of each row run with three sets of inputs: those of the row, others
near to them, and some with NaNs, infinities and zeros of both signs. Those that are `large` run
with longer axes, without elements, and with other strides: elementwise functions, reductions and
their like.

Whole numbers and truths have to be equal. A float may be as far from the same call in long doubles
as four times NumPy's, or as `ROUNDING` of the largest number that goes in or comes out.
"""

import functools
import random
import re
import warnings
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any
from unittest import mock

import numpy as np

import samples
from functier._programs.machine import backend
from functier._programs.program import Changed
from functier._programs.trace import trace
from support.bits import order_of
from support.nearness import outputs
from support.row_cases import cases

from .verdicts import Verdicts

ROUNDING = 1e-14 / np.finfo(float).eps
"""The rounding that is accepted in any case, in units of the dtype's eps."""

TIMES, ALONE = 4, 10
"""So many times NumPy's error; so many times `ROUNDING` where NumPy has no long doubles."""

EITHER = {np.maximum, np.minimum, np.fmax, np.fmin, np.max, np.min, np.clip}
"""Of zeros of both signs NumPy takes the one or the other, by their places in an array."""

SPECIAL = [np.nan, np.inf, -np.inf, 0.0, -0.0]

LARGE = (
    "by_value", "composite", "contraction", "elementwise", "indexing", "join", "neural",
    "reduction", "scipy_special", "shape", "sorting", "ufunc_methods",
)  # fmt: skip
"""The families whose rows are run with other sizes."""

MOST = 20_000
"""The most elements of an array with other sizes."""

REFUSALS = {
    "shares_memory|may_share_memory|global generator|lambda.*numpy.asarray": "traces refuse them",
    "^Numpys": "no step of it is the machine's",
    "^Fallback": "the machine code has given the call back to NumPy",
}

BY_ROUNDING = {
    r"elementwise\.i0-.*special": "its derivative at 0 is a mean of numbers that cancel",
    r".*prod.*\b1000\b": "a product of many numbers overflows, or not, by their order",
}
"""Calls whose infinities and NaNs are a matter of rounding, and why: they are left out."""

ENDLESS = "svd|eig|pinv|lstsq|least|rank|cond|norm|schur|roots|fit|orth|null|polar|sqrtm|logm|hyp"
"""Functions of LAPACK and SciPy that may iterate for ever where a number is infinite."""


# ---- inputs ----


def near_to(x: np.ndarray, draws: np.random.Generator, far: float = 0.02) -> np.ndarray:
    """Return other numbers, where floats are near to the given ones."""
    if x.dtype.kind not in "fc":
        return x
    y = alike(x)
    y[...] = x * (1 - draws.uniform(0, far, x.shape))
    return y


def with_special(x: np.ndarray, draws: np.random.Generator) -> np.ndarray:
    """Return the same numbers, half of them infinite, or zero, or none."""
    if x.dtype.kind != "f":
        return x
    y = alike(x)
    y[...] = np.where(draws.random(x.shape) < 0.5, draws.choice(SPECIAL, x.shape), x)
    return y


def alike(x: np.ndarray) -> np.ndarray:
    """Return memory for an array of the same form and strides."""
    if not x.size or 0 in x.strides:
        return np.copy(x)
    low, high = np.lib.array_utils.byte_bounds(x)
    start = x.__array_interface__["data"][0] - low
    return np.ndarray(x.shape, x.dtype, bytearray(high - low), start, x.strides)


def laid_out(x: np.ndarray, way: int) -> np.ndarray:
    """Return an equal array with other strides."""
    if way == 1:
        return np.ascontiguousarray(x.T).T
    if way in (2, 3, 4):
        step = (None, 2, -1, -3)[way - 1]
        wide = np.zeros([n * abs(step) for n in x.shape], x.dtype)
        y = wide[(*[slice(None, None, step)] * x.ndim, ...)]
        y[...] = x
        return y
    return np.ascontiguousarray(x)


def large_cases(row: Any, r: random.Random) -> Iterator[tuple[str, Callable, list]]:
    """The calls of a row with other sizes, of which NumPy takes the most."""
    draws = np.random.default_rng(r.randrange(2**32))
    lengths = sorted({n for x in row.leaves for n in x.shape if n > 1})
    sizes = [dict.fromkeys(lengths, 0)]
    for first, others in ((1000, 9), (33, 17), (8, 33)):
        chosen = r.choice(lengths) if lengths else 0
        sizes.append({n: first if n == chosen else others + i for i, n in enumerate(lengths)})
    for size in sizes if lengths else [{}]:
        most = max([np.prod([float(size.get(n, n)) for n in x.shape]) for x in row.leaves] or [0])
        if most > MOST:
            continue
        leaves = []
        for x in row.leaves:
            shape = tuple([size.get(n, n) for n in x.shape])
            y = np.resize(x, shape) if x.size else np.zeros(shape, x.dtype)
            leaves.append(laid_out(near_to(y, draws), r.randrange(5)))
        args, kwargs = put(row, leaves)
        new = replace(row, args=args, kwargs=kwargs)
        try:
            if max([x.size for x in outputs(new.call(*leaves))], default=0) > MOST:
                continue
            found = list(cases(new)) if row.vmap else [next(cases(new))]
        except Exception:  # NumPy has no such call
            continue
        for kind, f, args in found:
            args = [laid_out(np.asarray(x), r.randrange(5)) for x in args]
            yield f"{kind} with {[x.shape for x in args]}", f, args


def put(row: Any, operands: list) -> tuple:
    """Return the arguments of a row with other operands."""
    caught: list = []
    catch = samples.Row(lambda *a, **k: caught.append((a, k)), row.args, row.kwargs)
    catch.call(*operands)
    return caught[0]


# ---- comparison ----


def largest(values: Any) -> float:
    """Return the largest finite number of some arrays."""
    most = 0.0
    for x in values:
        x = np.abs(np.asarray(x)) if np.asarray(x).dtype.kind in "fc" else np.zeros(())
        most = max(most, float(np.max(x, initial=0.0, where=np.isfinite(x))))
    return most


def error_of(x: np.ndarray, y: np.ndarray) -> float:
    """Return the largest difference of finite numbers; infinite ones have to be equal."""
    apart = np.abs(np.where(np.isfinite(y), x - y, 0))
    return float(np.max(apart, initial=0.0))


class Judge:
    """Compares results of one program with NumPy's.

    Parameters
    ----------
    eps : float
        That of the coarsest float of the program.
    precisely : callable
        A function of the inputs that gives the results in long doubles, or None.
    numpys : callable
        The program as NumPy calls.
    either : bool
        Tell if zeros of results may have either sign.
    """

    def __init__(self, eps: float, precisely: Callable, numpys: Callable):
        self.eps, self.precisely, self.numpys = eps, precisely, numpys
        self.either = False

    def check(self, found: Any, expected: Any, inputs: list) -> None:
        """Raise where results differ by more than rounding."""
        assert len(found) == len(expected), f"{len(found)} results, expected {len(expected)}"
        scale = largest([*inputs, *expected])
        precise = functools.cache(lambda: self.precisely(*inputs))
        for i, (x, y) in enumerate(zip(found, expected)):
            assert type(x) is type(y), f"{type(x)}, expected {type(y)}"
            shares = [any(np.may_share_memory(z, a) for a in inputs) for z in (x, y)]
            assert not shares[0] or shares[1], "a result shares the memory of an input"
            x, y = np.asarray(x), np.asarray(y)
            assert (x.shape, x.dtype) == (y.shape, y.dtype), f"{form(x)}, expected {form(y)}"
            assert order_of(x) == order_of(y), "another order in memory"
            if x.dtype.kind not in "fc":
                assert np.array_equal(x, y), f"{shown(x)}, expected {shown(y)}"
                continue
            odd = ~np.isfinite(y) | ~np.isfinite(x)
            same = np.array_equal(x[odd], y[odd], equal_nan=True)
            assert same, f"{shown(x[odd])}, expected {shown(y[odd])}"
            for part, (a, b) in enumerate(zip(parts(x), parts(y))):
                other = (a == 0) & (b == 0) & (np.signbit(a) != np.signbit(b))
                assert self.by_rounding(i, part, inputs, other), (
                    f"signs of zeros: {shown(b[other])}"
                )
            room = ROUNDING * max(self.eps, np.finfo(y.dtype).eps) * scale
            if error_of(x, y) <= 0.75 * room:
                continue
            exact = precise()
            exact = None if exact is None else np.asarray(exact[i])
            if exact is None or exact.shape != y.shape or error_of(exact, y) > 1e7 * room:
                bound, apart = ALONE * room, error_of(x, y)
            else:
                bound, apart = max(TIMES * error_of(y, exact), room), error_of(x, exact)
            assert apart <= bound, f"{apart:.2g} apart, at most {bound:.2g}: {shown(x)}, {shown(y)}"

    def by_rounding(self, i: int, part: int, inputs: list, zeros: np.ndarray) -> bool:
        """Tell if some zeros of a result have their sign from NumPy's rounding."""
        if not zeros.any() or self.either:
            return True
        draws, found = np.random.default_rng(0), []
        for far in (0.0, *[1e-14] * 8):
            y = self.numpys(*[near_to(x, draws, far) for x in inputs])[i]
            y = parts(np.asarray(y))[part]
            found.append(np.where(y == 0, np.signbit(y), 2)[zeros])
        return bool(np.all(np.ptp(found, axis=0)))


def parts(x: np.ndarray) -> list[np.ndarray]:
    return [x.real, x.imag] if x.dtype.kind == "c" else [x]


def form(x: np.ndarray) -> str:
    return f"{x.dtype}{list(x.shape)}"


def shown(x: np.ndarray) -> str:
    return re.sub(r"\s+", " ", str(x.ravel()[:4]))


def long_doubles(f: Callable) -> Callable:
    """Return a function that runs `f` in long doubles, or returns None where NumPy cannot."""

    def run(*inputs: Any) -> Any:
        kinds = {"f": np.longdouble, "c": np.clongdouble}
        given = [np.asarray(x) for x in inputs]
        given = [x.astype(kinds.get(x.dtype.kind, x.dtype)) for x in given]
        try:
            return f(*given)
        except Exception:
            return None

    return run


def coarsest(graph: Any) -> float:
    """Return the eps of the coarsest float that a program computes."""
    found = [0.0]
    for node in graph.nodes:
        dtype = getattr(node.form, "dtype", None)
        if node.func is not None and dtype is not None and dtype.kind in "fc":
            found.append(float(np.finfo(dtype).eps))
    return max(found)


# ---- the net ----


class Counted(backend.Fallback):
    """Counts the calls of parts that NumPy has run."""

    total = 0

    def __call__(self, *args: Any) -> Any:
        Counted.total += 1
        return super().__call__(*args)


class MachineRows:
    """Runs rows and counts."""

    def __init__(self, counts: Verdicts, seed: int = 0):
        self.counts, self.seed = counts, seed
        self.parts = self.calls = self.skipped = 0

    def run(self, name: str, row: Any, large: bool = False) -> None:
        """Compare the cases of a row."""
        with (
            warnings.catch_warnings(), np.errstate(all="ignore"),
            mock.patch.object(backend, "Fallback", Counted),
        ):  # fmt: skip
            warnings.simplefilter("ignore")
            r = random.Random(f"{self.seed} {name}")
            for kind, f, args in large_cases(row, r) if large else cases(row):
                self.case(f"{name} {kind}", f, [np.asarray(x) for x in args], large)

    def case(self, name: str, f: Callable, args: list, large: bool) -> None:
        try:
            f(*args)
        except Exception:  # the row has no such call
            self.skipped += 1
            return
        try:
            program = trace(f)(*args)
        except Exception as error:
            self.counts.refuse(name, error)
            return
        graph, numpys = program._graph, program._run
        extrema = any([node.func in EITHER for node in graph.nodes if callable(node.func)])
        named = " ".join([getattr(node.func, "__name__", "") for node in graph.nodes])
        endless = re.search(ENDLESS, named) is not None
        judge = Judge(coarsest(graph), long_doubles(f), numpys)
        try:
            machine = backend.MachineProgram(graph, program.name)
        except Exception as error:
            self.counts.refuse(f"{name}: no machine code", error)
            return
        self.parts += machine.parts
        if machine.run is None:
            self.counts.refused["^Numpys"] += 1
            return
        draws = np.random.default_rng(random.Random(f"{self.seed} {name}").randrange(2**32))
        ways: list[Callable] = [lambda x, _: x, near_to, with_special]
        before = Counted.total
        for i, way in enumerate(ways[1:] if large else ways):
            inputs = [way(x, draws) for x in args]
            if any([re.match(pattern, f"{name} {way.__name__}") for pattern in BY_ROUNDING]):
                continue
            if endless and way is with_special:
                continue
            judge.either = extrema and way is with_special
            if not self.call(name, machine.run, numpys, judge, inputs, way.__name__):
                return
            if i == 0 and Counted.total - before >= machine.parts:
                self.counts.refused["^Fallback"] += 1
                return
        self.counts.right += 1

    def call(
        self, name: str, machine: Callable, numpys: Callable, judge: Judge, inputs: list, way: str
    ) -> bool:
        """Compare one call; return if it is right."""
        kept = [x.copy() for x in inputs]
        self.calls += 1
        expected, raised = outcome(numpys, inputs)
        found, error = outcome(machine, inputs)
        try:
            if type(error) is Changed:  # an answer that rounding changes: NumPy's program runs
                return True
            assert (error is None) is (raised is None), f"{error!r}, expected {raised!r}"
            if raised is None:
                judge.check(found, expected, inputs)
            for x, y in zip(inputs, kept):
                same = x.tobytes() == y.tobytes()
                assert same, "an input has been written to"
        except AssertionError as problem:
            self.counts.wrong.append(f"{name}, {way}: {problem}"[:600])
            return False
        return True

    def summary(self) -> str:
        fell = self.counts.refused["^Fallback"]
        return (
            f"{self.counts.summary()} ({fell} gave the call back); {self.calls} calls, "
            f"{self.parts} parts, {self.skipped} without such a call"
        )

    def settle(self) -> None:
        """Raise where a case is wrong."""
        self.counts.settle(1.0)


def outcome(run: Callable, inputs: list) -> tuple:
    """Return the results and the error of a call."""
    try:
        return run(*inputs), None
    except (Exception, Changed) as error:
        return None, error


def net(seed: int = 0) -> MachineRows:
    return MachineRows(Verdicts("machine rows", REFUSALS), seed)


def drawn(share: float, seed: int, rows: dict, large: bool = False) -> dict:
    """Return a share of some rows, which does not depend on the other rows.

    Of those that are run with other sizes, where `large` is true.
    """
    return {
        name: row
        for name, row in rows.items()
        if random.Random(f"{seed}: {name}").random() < share
        and (not large or name.partition(".")[0] in LARGE)
    }
