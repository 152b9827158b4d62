"""Draw a program of one to four NumPy calls, with its operands, from a seed."""

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import optree

from .values import LAYOUTS, Operand, dtype_of_kinds, make


class Unfit(Exception):
    """A recipe cannot use what the call before it has made."""


class Ref:
    """A piece of program text that stands for a value: an operand or a result."""

    def __init__(self, text: str):
        self.text = text

    def __repr__(self) -> str:
        return self.text


@dataclass
class Step:
    """One call: a function's name (or a template with ``{0}``), and its arguments."""

    func: str
    args: tuple = ()
    kwargs: dict = field(default_factory=dict)

    def text(self) -> str:
        if "{" in self.func:
            return self.func.format(*map(repr, self.args))
        given = [*map(repr, self.args), *(f"{k}={v!r}" for k, v in self.kwargs.items())]
        return f"{self.func}({', '.join(given)})"


NAMES = "abcdefghijklm"
SIZES, SIZE_WEIGHTS = (0, 1, 2, 3, 4, 5), (0.03, 0.15, 0.32, 0.3, 0.15, 0.05)
STYLES = {
    "normal": 0.66, "ties": 0.1, "zeros": 0.07, "positive": 0.07, "equal": 0.02, "nan": 0.02,
    "inf": 0.02, "large": 0.04,
}  # fmt: skip


class Draw:
    """The pool that recipes draw from: numbers, shapes, axes, operands, the result before."""

    def __init__(self, rng: np.random.Generator):
        self.rng = rng
        self.operands: dict[str, Operand] = {}
        self.values: dict[str, Any] = {}
        self.before: Ref | None = None
        self.main = ""  # the operand that the program begins with

    # ---- numbers ----

    def chance(self, p: float) -> bool:
        return bool(self.rng.random() < p)

    def pick(self, *options: Any) -> Any:
        return options[int(self.rng.integers(len(options)))]

    def int(self, low: int, high: int) -> int:
        """From `low` to `high`, both included."""
        return int(self.rng.integers(low, high + 1))

    def size(self) -> int:
        return int(self.rng.choice(SIZES, p=SIZE_WEIGHTS))

    def shape(self, nd: tuple[int, int] = (0, 3)) -> tuple[int, ...]:
        return tuple(self.size() for _ in range(self.int(*nd)))

    def positive_shape(self, nd: tuple[int, int] = (0, 3)) -> tuple[int, ...]:
        return tuple(max(n, 1) for n in self.shape(nd))

    def sub(self, shape: Sequence[int]) -> tuple[int, ...]:
        """A shape that broadcasts with `shape`; rarely one that does not."""
        if self.chance(0.45):
            return tuple(shape)
        if self.chance(0.02):
            return (*shape[:-1], 7)
        found = [1 if self.chance(0.3) else n for n in shape]
        return tuple(found[self.int(0, len(found)) :]) if self.chance(0.5) else tuple(found)

    def over(self, shape: Sequence[int]) -> tuple[int, ...]:
        """Like `sub`, or a shape with more axes, or one that has more where `shape` has 1."""
        if self.chance(0.8):
            return self.sub(shape)
        wider = [self.size() if n == 1 else n for n in shape]
        return (self.size(), *wider) if self.chance(0.5) and len(shape) < 3 else tuple(wider)

    def axis(self, nd: int) -> int:
        """One axis, counted from either end; rarely one that there is not."""
        if nd == 0 or self.chance(0.01):
            return self.pick(nd, -nd - 1)
        return self.int(-nd, nd - 1)

    def axes(self, nd: int, none: bool = True) -> Any:
        """One axis, a tuple of them, or None for all."""
        kind = self.rng.random()
        if none and kind < 0.12:
            return None
        if kind < 0.7 or nd == 0:
            return self.axis(nd)
        count = self.int(0 if self.chance(0.2) else 1, nd)
        chosen = self.rng.permutation(nd)[:count]
        return tuple(int(a) - (nd if self.chance(0.4) else 0) for a in chosen)

    # ---- operands ----

    def new(
        self,
        shape: Sequence[int] | None = None,
        kinds: str = "fcib",
        style: str | None = None,
        nd: tuple[int, int] = (0, 3),
        **facts: Any,
    ) -> Ref:
        """A fresh operand."""
        shape = self.shape(nd) if shape is None else tuple(shape)
        dtype = facts.pop("dtype", None) or dtype_of_kinds(self.rng, kinds)
        if style is None:
            style = str(self.rng.choice(list(STYLES), p=list(STYLES.values())))
        operand = Operand(NAMES[len(self.operands)], np.empty(0), style, **facts)
        operand.value = make(self.rng, shape, dtype, style)
        if self.chance(0.25):
            operand.layout = self.pick(*LAYOUTS)
        plain = style in STYLES or style in ("unit", "above")
        if operand.layout == "broadcast":
            if plain and shape and max(shape) > 1:
                self._spread(operand)
            else:
                operand.layout = "C"
        self.operands[operand.name] = operand
        self.values[operand.name] = operand.value
        self.main = self.main or operand.name
        return Ref(operand.name)

    def _spread(self, operand: Operand) -> None:
        """Make an operand's values equal along an axis, by a stride of zero."""
        shape, dtype, style = operand.value.shape, operand.value.dtype, operand.style
        axis = self.pick(*[i for i, n in enumerate(shape) if n > 1])
        narrow = (*shape[:axis], 1, *shape[axis + 1 :])

        def again(rng: np.random.Generator) -> np.ndarray:
            return np.broadcast_to(make(rng, narrow, dtype, style), shape)

        operand.again, operand.value = again, again(self.rng)

    def x(
        self,
        nd: tuple[int, int] = (0, 3),
        kinds: str = "fcib",
        style: str | None = None,
        shape: Sequence[int] | None = None,
        **facts: Any,
    ) -> Ref:
        """The operand that a call is about: the result of the call before, or a fresh one."""
        if self.before is None:
            return self.new(shape, kinds, style, nd, **facts)
        ref, self.before = self.before, None
        value = np.asarray(self.values[ref.text])
        if value.dtype.kind not in kinds or not nd[0] <= value.ndim <= nd[1]:
            raise Unfit
        if shape is not None and value.shape != tuple(shape):
            raise Unfit
        return self._fit(ref, value, style)

    def _fit(self, ref: Ref, value: np.ndarray, style: str | None) -> Ref:
        """The result of the call before, brought into the domain of the next."""
        if style in (None, *STYLES) and style != "positive":
            return ref
        if style in ("positive", "unit", "above") and value.dtype.kind == "f":
            low = {"positive": 0.25, "unit": 0.0, "above": 1.25}[style]  # type: ignore[index]
            text = f"({low} + {ref} * {ref} * 0.5)" if low else f"(0.9 * np.tanh({ref}))"
        elif style == "dominant" and value.shape[-1] == value.shape[-2]:
            text = f"({ref} + {value.shape[-1] + 3} * np.eye({value.shape[-1]}))"
        else:
            raise Unfit
        self.values[text] = np.asarray(self.evaluate(text))
        return Ref(text)

    def value(self, ref: Ref) -> np.ndarray:
        return np.asarray(self.values[ref.text])

    def form(self, ref: Ref) -> tuple[int, ...]:
        return self.value(ref).shape

    def nd(self, ref: Ref) -> int:
        return self.value(ref).ndim

    def like(self, ref: Ref, kinds: str | None = None, style: str | None = None) -> Ref:
        """A fresh operand that broadcasts with `ref`; of its dtype mostly."""
        value = self.value(ref)
        if kinds is None and self.chance(0.6):
            return self.new(self.over(value.shape), style=style, dtype=value.dtype)
        return self.new(self.over(value.shape), kinds or "fcib", style)

    def mask(self, shape: Sequence[int], **facts: Any) -> Ref:
        return self.new(shape, "b", "normal", **facts)

    def evaluate(self, text: str) -> Any:
        return eval(text, {"np": np, **{k: v for k, v in self.values.items() if k.isidentifier()}})


RECIPES: dict[str, Callable[[Draw, str], Step]] = {}
"""Drawers of a call, by the function's name as a user writes it."""


def recipe(names: str) -> Callable:
    """Register what draws calls of the functions of these names."""

    def register(draw: Callable[[Draw, str], Step]) -> Callable:
        for name in names.split():
            assert name not in RECIPES, name
            RECIPES[name] = draw
        return draw

    return register


# ---- programs ----


@dataclass
class Program:
    """A drawn program: its operands, its calls and its text."""

    operands: dict[str, Operand]
    steps: list[Step]
    names: list[str]
    results: list[str] = field(default_factory=list)
    between: list[np.generic] = field(default_factory=list)  # the largest of each result

    def __post_init__(self) -> None:
        self._compiled: Callable | None = None

    def text(self) -> str:
        lines = [f"def f({', '.join(self.operands)}):"]
        lines += [f"    r{i} = {step.text()}" for i, step in enumerate(self.steps)]
        return "\n".join([*lines, f"    return {', '.join(self.results)}"])

    def casts(self) -> list[np.generic]:
        """Numbers of the dtypes less than double that the text names, or a call has made."""
        text = self.text()
        named = [getattr(np, n)(1) for n in ("float16", "float32", "complex64") if n in text]
        return [*named, *(v for v in self.between if v.dtype.char in "efF")]

    @property
    def function(self) -> Callable:
        """The program as a function of its operands, to the tuple of its array results."""
        if self._compiled is None:
            space: dict[str, Any] = {"np": np}
            exec(self.text(), space)
            f = space["f"]
            self._compiled = lambda *xs: tuple(
                y for y in optree.tree_leaves(f(*xs)) if not isinstance(y, str)
            )
        return self._compiled

    def point(self) -> list[np.ndarray]:
        return [op.value for op in self.operands.values()]


class Refused(Exception):
    """NumPy itself refuses what was drawn."""

    def __init__(self, program: Program, cause: Exception):
        self.program, self.cause = program, cause


RARE = set(
    "np.unique np.unique_values np.unique_counts np.unique_inverse np.unique_all np.union1d "
    "np.intersect1d np.setdiff1d np.setxor1d np.trim_zeros np.nonzero np.argwhere np.flatnonzero "
    "np.extract".split()
)
"""The shapes of their results depend on the data, so that every batch is refused."""


LAST = {"np.polydiv", "np.spacing"}
"""Functions that nothing follows: their results may be nothing but rounding errors."""


LAPACK, WILD = ("np.linalg", "np.poly", "np.roots"), {"nan", "inf", "large", "zeros", "ties"}
"""Functions that may not end where a number is infinite, and those that make such numbers."""


def tame(operands: Iterable[Operand]) -> bool:
    """Tell if what is made of these will be finite, and a matrix of them not singular."""
    return not any(op.style in WILD or op.layout == "broadcast" for op in operands)


def one(d: Draw, names: Sequence[str]) -> tuple[str, Step]:
    """A call of one of the functions that can take what there is."""
    for _ in range(12):
        name = names[int(d.rng.integers(len(names)))]
        if name in RARE and len(names) > 1 and d.chance(0.85):
            continue
        kept = d.before, dict(d.operands), dict(d.values), d.main
        try:
            return name, RECIPES[name](d, name)
        except Unfit:
            d.before, d.operands, d.values, d.main = kept
    raise Unfit


def program(rng: np.random.Generator, only: Sequence[str] | None = None) -> Program:
    """Draw a program; `only`: the functions that its first call may be of.

    Raises
    ------
    Refused
        Where NumPy raises.
    """
    every = list(RECIPES)
    d = Draw(rng)
    length = 1 if d.chance(0.65) else d.int(2, 4)
    drawn = Program(d.operands, [], [], ["r0"])
    for i in range(length):
        try:
            name, step = one(d, only or every) if i == 0 else one(d, every)
            if name.startswith(LAPACK) and not tame(d.operands.values()):
                raise Unfit
        except Unfit:
            if i == 0:
                raise
            d.operands = drawn.operands
            break
        drawn.operands = dict(d.operands)
        drawn.steps.append(step)
        drawn.names.append(name)
        drawn.results = [f"r{i}"]
        try:
            value = d.evaluate(step.text())
        except Exception as error:
            raise Refused(drawn, error) from None
        d.values[f"r{i}"] = value
        drawn.between += [
            v.dtype.type(np.max(np.abs(v), initial=1, where=np.isfinite(v)))
            for v in optree.tree_leaves(value)
            if hasattr(v, "dtype") and v.dtype.kind in "fc"
        ]  # fmt: skip
        d.before = follow(d, f"r{i}", value)
        if d.before is None or name in LAST:
            break
    if len(drawn.steps) > 1 and d.chance(0.2):
        drawn.results = ["r0", *drawn.results]
    return drawn


def follow(d: Draw, name: str, value: Any) -> Ref | None:
    """An array among the results of a call, for the next one to take."""
    leaves = [(name, value)]
    if isinstance(value, (tuple, list)):
        leaves = [(f"{name}[{i}]", v) for i, v in enumerate(value)]
    leaves = [
        (t, v) for t, v in leaves
        if isinstance(v, (np.ndarray, np.generic)) and v.dtype.kind in "fciub"
        and v.ndim <= 4 and v.size <= 150 and v.itemsize <= 16
    ]  # fmt: skip
    if not leaves:
        return None
    text, found = d.pick(*leaves)
    d.values[text] = found
    return Ref(text)


def functions_in(text: str) -> list[str]:
    """The NumPy names that stand in a piece of program text."""
    return re.findall(r"np\.[\w.]+", text)
