"""Expressions of a program: what it reads and computes."""

import random
from typing import Any

import numpy as np


class Unfit(Exception):
    """The draw does not fit; draw again."""


class Expressions:
    """Draws expressions of the names in `space`."""

    def __init__(self, r: random.Random):
        self.r = r
        self.space: dict[str, Any] = {}

    def numbers(self) -> list[str]:
        """The names of float and complex values."""
        return [
            n for n, v in self.space.items()
            if isinstance(v, (np.ndarray, np.generic)) and v.dtype.kind in "fc"
        ]  # fmt: skip

    def atom(self) -> str:
        r = self.r
        name = r.choice(self.numbers())
        value = self.space[name]
        if not np.ndim(value) or r.random() < 0.5:
            return name
        return f"{name}[{self.part(value.shape)}]"

    def part(self, shape: tuple[int, ...]) -> str:
        """A basic index."""
        r = self.r
        parts = [
            r.choice([str(r.randrange(-n, n)), ":", "1:", ":-1", "::-1", str(r.randrange(n))])
            for n in shape[: r.randint(1, len(shape))]
        ]
        return ", ".join(parts)

    def expression(self, depth: int) -> str:
        r = self.r
        if depth <= 0 or r.random() < 0.2:
            return self.atom()
        e = self.expression(depth - 1)
        which = r.randrange(20)
        if which < 3:
            return f"np.sin({e})"
        if which < 5:
            return f"np.tanh(0.5 * {e})"
        if which < 7:
            return f"({e} * {r.choice([0.5, -1.5, 2.0])})"
        if which < 12:
            return f"({e} {r.choice(['+', '-', '*'])} {self.expression(depth - 2)})"
        return [
            f"np.sum({e})", f"np.mean({e}, axis=0)", f"np.flip({e})", f"np.cos({e})",
            f"np.cumsum({e})", f"({e}) ** 2", f"np.sum({e}, axis=-1)", f"np.square({e})",
        ][which - 12]  # fmt: skip

    def value(self, text: str) -> Any:
        try:
            return eval(text, self.space)
        except Exception:
            raise Unfit from None

    def fit(self, shape: tuple[int, ...], real: bool = True, exact: bool = False) -> str:
        """An expression that broadcasts to a shape, or has it."""
        r = self.r
        if not exact and r.random() < 0.1:
            return str(r.choice([0.0, 1.5, -0.5, 2.0]))
        for _ in range(10):
            text = self.expression(r.choice([0, 1, 1, 2]))
            try:
                found = self.value(text)
            except Unfit:
                continue
            if real and np.iscomplexobj(found):
                continue
            if np.shape(found) == shape:
                return text
            if not exact:
                try:
                    if np.broadcast_shapes(np.shape(found), shape) == shape:
                        return text
                except ValueError:
                    pass
        name = r.choice([n for n in self.numbers() if self.space[n].dtype.kind == "f"])
        n = np.ndim(self.space[name])
        element = f"{name}[{', '.join(['0'] * n)}]" if n else name
        if exact and shape:
            ramp = np.round(np.linspace(-1, 1, int(np.prod(shape))), 2).reshape(shape)
            return f"({element} * np.array({ramp.tolist()}))"
        return element

    def fit_to(self, target: Any, **given: Any) -> str:
        """An expression that may be written to an array."""
        return self.fit(np.shape(target), not np.iscomplexobj(target), **given)
