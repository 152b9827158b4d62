"""A net of drawn programs of arrays as machine code, beside the same programs as NumPy calls.

    PYTHONPATH=tests:src python -m nets.kernels 200 --seed 3
    PYTHONPATH=tests:src python -m nets.kernels --seed 3 --number 17

A program is a list of steps on arrays: functions of elements, reductions, views, casts, reads and
writes at indices, contractions. Inputs have any strides, sizes 0 and 1, and may overlap. Each
program runs with two sets of values. Values that NumPy computes exactly have to be equal; the
others may differ by rounding, in proportion to the largest number of the program.
"""

import random
import sys
import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

import functier.numpy as fnp
from functier._programs.trace import trace

from .commands import main
from .verdicts import Verdicts

DTYPES = "ddddfflib?B"
ROUNDING, ROUNDING_SINGLE = 1e-12, 3e-5


class Value(NamedTuple):
    """An array of a program, and if NumPy has computed it exactly."""

    array: Any
    exact: bool


def in_memory(r: random.Random, array: np.ndarray) -> np.ndarray:
    """Return an array that is equal, with other strides."""
    way = r.randrange(6)
    if way == 0 and array.ndim > 1:
        return np.ascontiguousarray(array.T).T
    if way == 1 and array.ndim:
        wide = np.repeat(array, 2, -1)
        return wide[..., ::2]
    if way == 2 and array.ndim:
        return np.ascontiguousarray(array[::-1])[::-1]
    if way == 3 and array.ndim > 1 and array.shape[0]:
        return np.broadcast_to(array[:1].copy(), array.shape)
    if way == 4:
        whole = np.zeros((*array.shape, 3), array.dtype)
        whole[..., 1] = array
        return whole[..., 1]
    return array


class Drawn:
    """A program of a seed and a number: steps, and the values of its inputs."""

    def __init__(self, seed: int, number: int):
        self.r = random.Random(hash((seed, number)))
        self.g = np.random.default_rng([seed, number])
        r = self.r
        self.sizes = [r.choice([0, 1, 2, 3, 4, 5, 7, 8, 9, 16, 17, 33, 70]) for _ in range(3)]
        if r.random() < 0.8:
            self.sizes = [n or 2 for n in self.sizes]
        self.inputs = [self.input() for _ in range(r.randint(1, 3))]
        if r.random() < 0.2:  # two that share memory
            first = self.inputs[0]
            self.inputs.append(first[::-1] if first.ndim else first)
        self.steps: list[tuple[str, Callable]] = []
        self.values = [Value(x, True) for x in self.inputs]
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            if number % 4 == 3:
                self.step(["sweeps"])
            for _ in range(r.randint(2, 12)):
                self.step()
        made = range(len(self.inputs), len(self.values))
        count = min(r.randint(1, 3), len(made))
        self.returned = sorted({*r.sample(made, count), len(self.values) - 1})

    def numbers(self, shape: tuple, dtype: str) -> np.ndarray:
        array = self.g.integers(0 if dtype in "B?" else -4, 5, shape).astype(dtype)
        if dtype in "df" and self.r.random() < 0.15:
            odd = self.g.choice([np.nan, np.inf, -np.inf, -0.0], shape)
            array = np.where(self.g.random(shape) < 0.1, odd, array).astype(dtype)
        return np.asarray(array)

    def input(self) -> np.ndarray:
        r = self.r
        shape = tuple(r.choice(self.sizes) for _ in range(r.choice([0, 1, 1, 2, 2, 2, 3])))
        return in_memory(r, self.numbers(shape, r.choice(DTYPES)))

    def again(self) -> list[np.ndarray]:
        """Return inputs of the same forms with other numbers."""
        found = []
        for x in self.inputs:
            new = self.numbers(x.shape, x.dtype.char)
            if 0 in x.strides or not x.size:
                found.append(x)
                continue
            low, high = np.lib.array_utils.byte_bounds(x)
            start = x.__array_interface__["data"][0] - low
            y: np.ndarray = np.ndarray(x.shape, x.dtype, bytearray(high - low), start, x.strides)
            y[...] = new
            found.append(y)
        return found

    # ---- steps ----

    def pick(self, kinds: str = "fiub", exact: bool = False) -> int:
        """Return the number of a value whose dtype is of one of these kinds."""
        fits = [
            i for i, v in enumerate(self.values)
            if np.asarray(v.array).dtype.kind in kinds and (v.exact or not exact)
        ]  # fmt: skip
        if not fits:
            raise LookupError
        return self.r.choice(fits[-6:] if self.r.random() < 0.6 else fits)

    def shape(self, i: int) -> tuple:
        return np.shape(self.values[i].array)

    def alike(self, i: int, kinds: str = "fiub", exact: bool = False) -> int:
        """Return a value that broadcasts with another one."""
        for _ in range(6):
            j = self.pick(kinds, exact)
            try:
                if np.prod(np.broadcast_shapes(self.shape(i), self.shape(j))) < 20000:
                    return j
            except ValueError:
                pass
        return i

    def step(self, names: list[str] | None = None) -> None:
        names = names or [name for name in dir(self) if name.startswith("draw_")]
        for _ in range(20):
            name = self.r.choice(names)
            try:
                text, run, exact = getattr(self, name)()
                result = run([v.array for v in self.values])
            except (LookupError, ValueError, TypeError, OverflowError):
                continue
            array = np.asarray(result)
            if array.dtype.char not in "dflibB?hHIL" or array.size > 20000:
                continue
            with np.errstate(all="ignore"):
                if array.dtype.kind == "f" and array.size and np.nanmax(np.abs(array)) > 1e6:
                    exact = False
            self.steps.append((text, run))
            self.values.append(Value(result, exact))
            return

    def both(self, i: int, j: int) -> bool:
        return self.values[i].exact and self.values[j].exact

    def draw_unary(self) -> Any:
        func = self.r.choice([np.sin, np.cos, np.exp, np.tanh, np.arctan, np.log1p, np.expm1])
        i = self.pick("f")
        return f"{func.__name__}({i})", lambda v: func(v[i] * 0.5), False

    def draw_exact_unary(self) -> Any:
        func = self.r.choice([np.negative, np.absolute, np.square, np.sign])
        i = self.pick("fi")
        return f"{func.__name__}({i})", lambda v: func(v[i]), self.values[i].exact

    def draw_discrete(self) -> Any:
        func = self.r.choice([np.floor, np.isnan, np.isfinite, np.logical_not, is_below])
        i = self.pick("f", True)
        return f"{func.__name__}({i})", lambda v: func(v[i]), True

    def draw_binary(self) -> Any:
        func = self.r.choice([np.add, np.subtract, np.multiply, np.maximum, np.minimum])
        i = self.pick("fiu")
        j = self.alike(i, "fiu")
        return f"{func.__name__}({i}, {j})", lambda v: func(v[i], v[j]), self.both(i, j)

    def draw_number(self) -> Any:
        func = self.r.choice([np.add, np.subtract, np.multiply, np.maximum])
        i, x = self.pick("f"), self.r.choice([2.0, -1.5, 3, 0.25])
        return f"{func.__name__}({i}, {x})", lambda v: func(v[i], x), self.values[i].exact

    def draw_divide(self) -> Any:
        i = self.pick("f")
        j = self.alike(i, "f")
        return f"{i} / {j}", lambda v: v[i] / (v[j] * v[j] + 1.0), False

    def draw_compare(self) -> Any:
        func = self.r.choice([np.less, np.equal, np.greater_equal, np.not_equal])
        i = self.pick(exact=True)
        j = self.alike(i, exact=True)
        return f"{func.__name__}({i}, {j})", lambda v: func(v[i], v[j]), True

    def draw_logic(self) -> Any:
        func = self.r.choice([np.logical_and, np.logical_or, np.logical_xor])
        i = self.pick("b")
        j = self.alike(i, "b")
        return f"{func.__name__}({i}, {j})", lambda v: func(v[i], v[j]), True

    def draw_where(self) -> Any:
        i = self.pick("b")
        j = self.alike(i)
        k = self.alike(j)
        return f"where({i}, {j}, {k})", lambda v: np.where(v[i], v[j], v[k]), self.both(j, k)

    def draw_cast(self) -> Any:
        dtype = self.r.choice("dfli")
        i = self.pick("iub" if dtype in "li" else "fiub")
        same = self.values[i].exact
        return f"astype({i}, {dtype})", lambda v: np.astype(v[i], dtype), same

    def axes(self, i: int) -> Any:
        ndim = len(self.shape(i))
        choices: list[Any] = [None]
        if ndim:
            choices += [self.r.randrange(ndim), -1]
            choices.append(tuple(self.r.sample(range(ndim), self.r.randint(0, ndim))))
        return self.r.choice(choices)

    def draw_sum(self) -> Any:
        func = self.r.choice([np.sum, np.sum, np.max, np.min])
        i = self.pick("fiu")
        axis, keep = self.axes(i), self.r.random() < 0.4
        exact = self.values[i].exact
        return (
            f"{func.__name__}({i}, {axis}, {keep})",
            lambda v: func(v[i], axis=axis, keepdims=keep), exact,
        )  # fmt: skip

    def draw_logical(self) -> Any:
        func = self.r.choice([np.any, np.all])
        i = self.pick("b")
        axis = self.axes(i)
        return f"{func.__name__}({i}, {axis})", lambda v: func(v[i], axis=axis), True

    def draw_mean(self) -> Any:
        i = self.pick("f")
        axis = self.axes(i)
        return f"mean({i}, {axis})", lambda v: np.mean(v[i], axis=axis), False

    def draw_extremum(self) -> Any:
        func = self.r.choice([np.argmax, np.argmin])
        i = self.pick("fi", True)
        axis = self.r.choice([None, -1, 0])
        return f"{func.__name__}({i}, {axis})", lambda v: func(v[i], axis=axis), True

    def draw_view(self) -> Any:
        i, r = self.pick(), self.r
        shape, exact = self.shape(i), self.values[i].exact
        if not shape:
            raise LookupError
        size = int(np.prod(shape))
        parts = tuple([r.choice([slice(None), slice(None, None, -1), slice(1, None), slice(0, 2)])
                       for _ in shape])  # fmt: skip
        order = r.sample(range(len(shape)), len(shape))
        ways: dict[str, Callable] = {
            "transpose": lambda v: np.transpose(v[i], order),
            "flat": lambda v: np.reshape(v[i], (-1,)),
            "row": lambda v: np.reshape(v[i], (1, size)),
            "expand": lambda v: np.expand_dims(v[i], r_axis),
            "slice": lambda v: v[i][parts],
            "first": lambda v: v[i][0],
            "wide": lambda v: np.broadcast_to(v[i], (2, *shape)),
            "copy": lambda v: np.copy(v[i]),
            "repeat": lambda v: np.repeat(v[i], 2, -1),
        }
        r_axis = r.randint(0, len(shape))
        name = r.choice(list(ways))
        return f"{name}({i})", ways[name], exact

    def draw_join(self) -> Any:
        i, r = self.pick(), self.r
        same = [j for j in range(len(self.values)) if self.shape(j) == self.shape(i)]
        many = [r.choice(same) for _ in range(r.randint(2, 3))]
        exact = all([self.values[j].exact for j in many])
        if r.random() < 0.5 or not self.shape(i):
            return f"stack({many})", lambda v: np.stack([v[j] for j in many]), exact
        axis = r.randrange(len(self.shape(i)))
        return (
            f"concatenate({many}, {axis})",
            lambda v: np.concatenate([v[j] for j in many], axis), exact,
        )  # fmt: skip

    def places(self, n: int, *shape: int) -> np.ndarray:
        return self.g.integers(-n, n, shape)

    def draw_read(self) -> Any:
        i = self.pick()
        shape, exact = self.shape(i), self.values[i].exact
        if not shape or not shape[0]:
            raise LookupError
        a = self.places(shape[0], 5)
        if len(shape) > 1 and shape[-1] and self.r.random() < 0.5:
            b = self.places(shape[-1], self.r.choice([1, 5]))
            return f"{i}[a, ..., b]", lambda v: v[i][a, ..., b], exact
        if self.r.random() < 0.3:
            return f"take({i})", lambda v: np.take(v[i], a, axis=0), exact
        return f"{i}[a]", lambda v: v[i][a], exact

    def draw_computed_read(self) -> Any:
        i, j = self.pick(), self.pick("i", True)
        shape = self.shape(i)
        if not shape or not shape[-1] or self.values[j].array.size > 400:
            raise LookupError
        n = shape[-1]
        return f"{i}[..., {j} % n]", lambda v: v[i][..., v[j] % n], self.values[i].exact

    def draw_write(self) -> Any:
        i, r = self.pick("fi"), self.r
        shape = self.shape(i)
        if not shape or 0 in shape:
            raise LookupError
        parts = tuple(
            [r.choice([slice(None), slice(0, 2), 0, slice(None, None, -1)]) for _ in shape]
        )
        others = tuple([r.choice([slice(None), -1, slice(0, 1)]) for _ in shape])
        target = np.shape(np.empty(shape)[parts])
        fits = [k for k, x in enumerate(self.values) if broadcasts(np.shape(x.array), target)]
        fits = [k for k in fits if np.can_cast(
            self.values[k].array.dtype, self.values[i].array.dtype, "same_kind")]  # fmt: skip
        if not fits:
            raise LookupError
        j = r.choice(fits)
        adds = r.random() < 0.5

        def run(v: list) -> Any:
            a = fnp.array(v[i])
            if adds:
                a[parts] += v[j]
            else:
                a[parts] = v[j]
            a[others] = a[others] * 2
            return fnp.copy(a) + 0

        return f"write({i}, {parts}, {j}, {others})", run, self.both(i, j)

    def sweeps(self) -> Any:
        """Draw writes to windows of one array, of what other windows have then."""
        r, i = self.r, self.pick("f")
        shape = self.shape(i)
        fits = [axis for axis, n in enumerate(shape) if n > 2]
        if not fits:
            raise LookupError
        axis = r.choice(fits)
        n, lead = shape[axis] - 2, (slice(None),) * axis
        windows = [(*lead, slice(k, k + n)) for k in range(3)]
        turned = (*lead, slice(n + 1, 1, -1) if n > 1 else slice(2, 1, -1))
        rounds = [[r.choice(windows), r.choice([*windows, turned]), r.choice(windows)]
                  for _ in range(r.randint(2, 4))]  # fmt: skip
        adds, seen = [r.random() < 0.7 for _ in rounds], r.random() < 0.5

        def run(v: list) -> Any:
            a, total = fnp.array(v[i]), 0.0
            for (target, one, other), add in zip(rounds, adds):
                value = a[one] - a[target] * 2 + a[other]
                total = total + a[target] * value
                if add:
                    a[target] += value
                else:
                    a[target] = value
            return total + a[windows[1]] if seen else fnp.copy(a) + 0

        return f"sweeps({i}, {rounds}, {adds}, {seen})", run, self.values[i].exact

    def draw_product(self) -> Any:
        i = self.pick("f")
        shape = self.shape(i)
        fits = [
            k for k, x in enumerate(self.values)
            if shape and len(np.shape(x.array)) in (1, 2) and x.array.dtype.kind == "f"
            and np.shape(x.array)[0] == shape[-1] and len(shape) < 3
        ]  # fmt: skip
        if not fits:
            raise LookupError
        j = self.r.choice(fits)
        return f"{i} @ {j}", lambda v: v[i] @ v[j], self.both(i, j)

    # ---- the function ----

    def rounding(self) -> float:
        """Return how much results may differ, as a part of the largest number."""
        single = any([np.asarray(v.array).dtype.char == "f" and not v.exact for v in self.values])
        return ROUNDING_SINGLE if single else ROUNDING

    def call(self, *inputs: Any) -> tuple:
        values = list(inputs)
        for _, run in self.steps:
            values.append(run(values))
        return tuple([values[i] for i in self.returned])

    def text(self) -> str:
        lines = [f"{i}: {x.dtype}{x.shape}, {x.strides}" for i, x in enumerate(self.inputs)]
        lines += [f"{i + len(self.inputs)}: {text}" for i, (text, _) in enumerate(self.steps)]
        return "\n".join([*lines, f"returned: {self.returned}"])


def broadcasts(shape: tuple, target: tuple) -> bool:
    try:
        return np.broadcast_shapes(shape, target) == target
    except ValueError:
        return False


def largest(values: list) -> float:
    """Return the largest finite number of some arrays."""
    found = 1.0
    for x in values:
        x = np.asarray(x)
        if x.dtype.kind == "f" and np.isfinite(x).any():
            found = max(found, float(np.abs(x[np.isfinite(x)]).max()))
    return found


def is_below(x: Any) -> Any:
    """Return where a number has the sign -; that of a NaN is not kept by machine code."""
    return np.signbit(np.where(np.isnan(x), 1.0, x))


def outcome(run: Any, inputs: list) -> Any:
    """Return the results, or the kind of the error of NumPy's that there is instead."""
    try:
        return run(*inputs)
    except (OverflowError, ValueError) as error:
        return [type(error).__name__]


class Kernels:
    """Runs numbers of a seed and counts."""

    def __init__(self, counts: Verdicts, seed: int):
        self.counts, self.seed = counts, seed
        self.parts = self.mixed = self.nothing = 0

    def run(self, number: int) -> None:
        from functier._programs.machine.backend import MachineProgram

        drawn = Drawn(self.seed, number)
        if not drawn.steps:
            return
        text = f"# python -m nets.kernels --seed {self.seed} --number {number}:\n{drawn.text()}\n# "
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            program = trace(drawn.call)(*drawn.inputs)
            numpys = program._run
            machine = MachineProgram(program._graph, "kernel")
            self.mixed += bool(machine.reasons)
            if machine.run is None:
                self.nothing += 1
                return
            self.parts += machine.parts
            exact = [drawn.values[i].exact for i in drawn.returned]
            scale = largest([v.array for v in drawn.values]) * drawn.rounding()
            for inputs in (drawn.inputs, drawn.again()):
                before = [x.copy() for x in inputs]
                wanted = outcome(numpys, inputs)
                self.counts.judge(
                    text, lambda given=inputs: outcome(machine.run, given),
                    lambda found, wanted=wanted: compare(found, wanted, exact, scale),
                )  # fmt: skip
                for x, y in zip(before, inputs):
                    if not np.array_equal(x, y, equal_nan=x.dtype.kind == "f"):
                        self.counts.wrong.append(f"{text}: an input has been written to")
            if type(wanted) is tuple and any([f.calls for f in machine.fallbacks]):
                self.counts.wrong.append(f"{text}a part never runs")

    def summary(self) -> str:
        return (
            f"{self.counts.summary()}; {self.parts} parts, {self.mixed} with NumPy calls, "
            f"{self.nothing} without parts"
        )

    def settle(self) -> None:
        """Raise where a case is wrong."""
        self.counts.settle()


def compare(found: tuple, expected: tuple, exact: list[bool], room: float) -> None:
    """Raise where results differ by more than rounding."""
    assert len(found) == len(expected), f"{len(found)} results, not {len(expected)}"
    for x, y, same in zip(found, expected, exact):
        assert type(x) is type(y), f"{type(x)}, not {type(y)}"
        a, b = np.asarray(x), np.asarray(y)
        assert (a.shape, a.dtype) == (b.shape, b.dtype), f"{a.dtype}{a.shape}: {b.dtype}{b.shape}"
        if a.dtype.kind != "f":
            assert np.array_equal(a, b), f"{a}\n{b}"
            continue
        most = 0.0 if same else room * largest([b])
        near = (a == b) | (np.isnan(a) & np.isnan(b)) | (np.abs(a - b) <= most)
        assert near.all(), f"{np.asarray(a)[~near][:4]} and {np.asarray(b)[~near][:4]}"


def net(seed: int) -> Kernels:
    return Kernels(Verdicts("kernels"), seed)


if __name__ == "__main__":
    sys.exit(main(__doc__, net))
