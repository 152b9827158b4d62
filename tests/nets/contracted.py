"""A net of contractions and linear systems as machine code: drawn programs against NumPy.

    PYTHONPATH=tests:src python -m nets.contracted 1000 --seed 3

A program has some calls, each with operands of its own, and some that share a matrix. It runs as
it is, under `vmap`, or under `grad`; with NaNs, infinities, and matrices without an inverse.
"""

import sys
from collections.abc import Sequence
from typing import Any

import numpy as np

import functier as ft

from .commands import main
from .verdicts import Verdicts

SIZES = [1, 2, 3, 5, 8, 9, 17]
SUBSCRIPTS = [
    "ij,jk", "ij,kj->ik", "ji,jk->ki", "bij,bjk->bik", "bij,bkj->ikb", "ij,ij->j", "ij,ij", "i,j",
    "ijk,jkl->il", "bi,bij->bj", "aij,jb->bai", "ij,j->i", "...i,i", "ij,k->ik",
]  # fmt: skip


class Draw:
    """A drawn program: its function, and the arrays that it takes."""

    def __init__(self, seed: Sequence[int]):
        self.rng = np.random.default_rng(seed)
        self.dtype = np.dtype(self.rng.choice(["f8", "f8", "f8", "f4"]))
        self.arrays: list[np.ndarray] = []
        self.calls: list[Any] = []
        self.text: list[str] = []
        for _ in range(self.rng.integers(1, 4)):
            self.rng.choice([self.contraction, self.einsum, self.system])()
        self.mode = str(self.rng.choice(["value", "value", "vmap", "grad"]))
        if self.mode == "grad" or self.rng.random() < 0.85:
            return
        for x in self.arrays:  # special values, and matrices without an inverse
            if x.size and x.flags.writeable:
                x[tuple(self.rng.integers(0, x.shape))] = self.rng.choice([np.nan, np.inf, 0.0])
                if x.ndim > 1 and self.rng.random() < 0.5:
                    x[..., -1, :] = x[..., 0, :]

    def size(self) -> int:
        return int(self.rng.choice(SIZES))

    def array(self, *shape: int) -> int:
        """Draw an array with a layout, and return its number."""
        rng = self.rng
        order, how = rng.permutation(len(shape)), rng.integers(0, 6)
        large = [shape[k] * (2 if how == 0 else 1) for k in order]
        step = {0: 2, 1: -1}.get(int(how), 1)
        x = rng.normal(size=large).astype(self.dtype)[(slice(None, None, step),) * len(shape)]
        x = x.transpose(np.argsort(order))
        if how == 2 and shape:
            x = np.broadcast_to(x.take([0], int(rng.integers(len(shape)))), shape)
        self.arrays.append(x)
        return len(self.arrays) - 1

    def square(self, *batch: int) -> int:
        """Draw matrices that have an inverse."""
        n = self.size()
        number = self.array(*batch, n, n)
        x = self.arrays[number] + (n + 1) * np.eye(n, dtype=self.dtype)
        self.arrays[number] = x.swapaxes(-1, -2) if self.rng.random() < 0.5 else x
        return number

    def call(self, text: str, *operands: int) -> None:
        names = [f"x[{k}]" for k in operands]
        self.text.append(text.format(*names))

    def contraction(self) -> None:
        m, n, k = self.size(), self.size(), self.size()
        batch = [self.size()] * int(self.rng.integers(0, 2))
        one = [1] * len(batch) if self.rng.random() < 0.3 else batch
        choice = self.rng.integers(0, 8)
        if choice == 0:
            self.call("np.dot({0}, {1})", self.array(m, k), self.array(k, n))
        elif choice == 1:
            self.call("{0} @ {1}", self.array(*batch, m, k), self.array(k))
        elif choice == 2:
            self.call("{0} @ {1}", self.array(k), self.array(*batch, k, n))
        elif choice == 3:
            self.call("np.inner({0}, {1})", self.array(*batch, k), self.array(n, k))
        elif choice == 4:
            self.call("np.vecdot({0}, {1})", self.array(*batch, k), self.array(*one, k))
        elif choice == 5:
            self.call("np.tensordot({0}, {1}, ([1, 0], [0, 1]))", self.array(k, m),
                      self.array(m, k, n))  # fmt: skip
        elif choice == 6:
            a = self.array(m, k)
            self.call("{0} @ {0}.T + {0}.sum()", a)
        else:
            self.call("np.tanh({0}) @ {1}", self.array(*batch, m, k), self.array(*one, k, n))

    def einsum(self) -> None:
        text = str(self.rng.choice(SUBSCRIPTS))
        sizes = {x: self.size() for x in text if x.isalpha()}
        parts = text.partition("->")[0].replace("...", "").split(",")
        numbers = [self.array(*[sizes[x] for x in part]) for part in parts]
        self.call(f"np.einsum({text!r}, {{0}}, {{1}})", *numbers)

    def system(self) -> None:
        batch = [self.size()] * int(self.rng.integers(0, 2))
        a = self.square(*batch)
        n = self.arrays[a].shape[-1]
        turn = "{0}.mT" if self.rng.random() < 0.5 else "{0}"
        b = self.array(n) if self.rng.random() < 0.5 else self.array(*batch, n, self.size())
        each = [
            f"np.linalg.solve({turn}, {{1}})", f"np.linalg.inv({turn})", "np.linalg.det({0})",
            f"np.linalg.slogdet({turn})[1]", "np.linalg.slogdet({0})[0]",
            "np.linalg.cholesky({0} @ {0}.mT)", "{0} @ np.linalg.inv({0})",
        ]  # fmt: skip
        for k in self.rng.permutation(len(each))[: self.rng.integers(1, 5)]:
            self.call(each[k], a, b)

    def function(self) -> Any:
        """Return the function of the arrays."""
        body = f"[{', '.join(self.text)}]"
        space = {"np": np}
        f: Any = eval(f"lambda *x: {body}", space)
        if self.mode == "value":
            return f
        if self.mode == "vmap":
            return ft.vmap(
                lambda x0, *rest: f(x0 + 0, *rest), (0, *[None] * (len(self.arrays) - 1))
            )
        places = tuple(range(len(self.arrays)))
        return ft.grad(lambda *x: sum([np.sum(y / (1 + np.abs(y))) for y in f(*x)]), places)

    def given(self) -> list[np.ndarray]:
        if self.mode != "vmap":
            return self.arrays
        first = np.stack([self.arrays[0], self.arrays[0][::1] * self.dtype.type(1.25)])
        return [first, *self.arrays[1:]]


class Contracted:
    """Runs numbers of a seed and counts."""

    def __init__(self, counts: Verdicts, seed: int):
        self.counts, self.seed = counts, seed
        self.parts = 0

    def run(self, number: int) -> None:
        """Compile one program, and compare its results with those of NumPy."""
        draw = Draw((self.seed, number))
        f, given = draw.function(), draw.given()
        case = f"seed {self.seed}, number {number}, {draw.mode}: {'; '.join(draw.text)}"
        with np.errstate(all="ignore"):
            expected = outcome(f, given)
            compiled = ft.compile(f, backend="llvm", warm=True)
            outcome(compiled, [x + 0 * x for x in given])  # the first call gives the trace's values
            outcome(compiled, given)
            self.counts.judge(
                case, lambda: outcome(compiled, given), lambda found: same(found, expected)
            )
        lines = compiled.explain().splitlines()
        self.parts += any(["compiled parts: " in x and not x.endswith(" 0") for x in lines])

    def summary(self) -> str:
        return f"{self.counts.summary()}; {self.parts} of them with machine code"


def outcome(f: Any, given: Sequence[np.ndarray]) -> Any:
    """Return the results of a call, or the error of NumPy."""
    try:
        return list(f(*given))
    except np.linalg.LinAlgError as error:
        return f"LinAlgError: {error}"


def same(found: Any, expected: Any) -> None:
    """Assert that results are equal up to rounding."""
    if type(found) is str or type(expected) is str:
        assert found == expected, (found, expected)
        return
    assert len(found) == len(expected)
    for x, y in zip(found, expected):
        assert type(x) is type(y) and x.dtype == y.dtype and x.shape == y.shape, (x, y)
        assert np.array_equal(np.isnan(x), np.isnan(y)), (x, y)
        with np.errstate(all="ignore"):
            size = np.max(np.abs(y), initial=1, where=np.isfinite(y))
        bound = 2000 * float(np.finfo(y.dtype).eps)
        assert np.allclose(x, y, rtol=bound, atol=bound * size, equal_nan=True), (x, y)


def net(seed: int) -> Contracted:
    return Contracted(Verdicts("contracted"), seed)


if __name__ == "__main__":
    sys.exit(main(__doc__, net))
