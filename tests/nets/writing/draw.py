"""Draw a program: statements that NumPy takes, with the writes that are asked for.

Each statement is run by NumPy as it is drawn. One that NumPy refuses, or that gives large
numbers, is drawn again.
"""

import random
import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np

from . import writes
from .expressions import Expressions, Unfit
from .places import INDICES, VIEWS, view_text
from .program import Line, Program, names_in

LARGE = 30.0

LIKE = (
    "np.zeros_like(@)", "np.ones_like(@)", "fnp.zeros_like(@)", "np.full_like(@, 0.5)",
    "fnp.array(@)", "fnp.empty_like(@); #.fill(0.5)",
)  # fmt: skip
RESULTS = (
    "@.copy()", "np.copy(@)", "np.sin(@)", "@ * 0.5", "@.astype(@.dtype)", "np.tanh(@) + @",
    "np.array(@, like=@)",
)  # fmt: skip
"""Arrays like another one, `@`; the name of the new one is `#`."""


def new_texts(r: random.Random, shape: tuple[int, ...], dtype: str) -> list[str]:
    """Texts of arrays that are made of their shape."""
    of = f", dtype={dtype}" if dtype else ""
    texts = [
        f"fnp.zeros({shape}{of})", f"fnp.ones({shape}{of})",
        f"fnp.full({shape}, {r.choice([0.5, -1.5])}{of})",
    ]  # fmt: skip
    if not dtype:
        size = int(np.prod(shape))
        values = np.round(np.linspace(-1, 1, size), 2).reshape(shape).tolist()
        texts += [f"fnp.arange({size}.0).reshape({shape})", f"fnp.array({values})"]
        texts.append(
            f"fnp.eye({shape[0]})" if len(shape) == 2 else f"fnp.linspace(-1.0, 1.0, {size})"
        )
    return texts


class Drawing(Expressions):
    """A program that is being drawn.

    `space` has the values of the names so far. `memory` says which names share their elements,
    `level` what the elements of a memory depend on: 2 on a main argument, 1 on another one, 0 on
    neither. Those in `safe` take any value in a transform. `kind` says how a name was made.
    """

    def __init__(self, r: random.Random):
        super().__init__(r)
        self.lines: list[Line] = []
        self.memory: dict[str, int] = {}
        self.level: dict[int, int] = {}
        self.safe: set[int] = set()
        self.kind: dict[str, str] = {}
        self.count, self.last = 0, 0
        self.outside = self.single = False
        self.draw_arguments()

    # ---- names ----

    def draw_arguments(self) -> None:
        r = self.r
        n, m = r.choice([2, 3, 4]), r.choice([2, 3])
        g = np.random.default_rng(r.randrange(1 << 30))
        args = {"x": g.normal(size=r.choice([(n,), (n, m), (n,), (n, m), (2, n, m)]))}
        args["y"] = g.normal(size=r.choice([(n,), (m, n), (n, m), (m,), ()]))
        if r.random() < 0.6:
            args["c"] = g.normal(size=r.choice([(), (n,), (m,), (n, m)]))
        if r.random() < 0.4:
            args["k"] = g.integers(-2, 2, r.choice([(), (2,), (3,)]))
        self.args = {name: np.asarray(np.round(v, 2)) for name, v in args.items()}
        self.main = ("x", "y")
        for name in self.args:
            self.add(name, "argument", 2 if name in self.main else 1, name in self.main)

    def add(self, name: str, kind: str, level: int, safe: bool) -> None:
        memory = len(self.level)
        self.memory[name], self.level[memory], self.kind[name] = memory, level, kind
        self.safe.discard(memory)
        if safe and (level == 2 or not isinstance(self.space.get(name), np.generic)):
            self.safe.add(memory)

    def fresh(self, letter: str = "a") -> str:
        self.count += 1
        return f"{letter}{self.count}"

    def depends(self, text: str) -> int:
        used = [self.level[self.memory[n]] for n in names_in(text) if n in self.memory]
        return max(used, default=0)

    def arrays(self, safe: bool = False) -> list[str]:
        return [
            n for n, v in self.space.items()
            if type(v) is np.ndarray and v.dtype.kind in "fci" and n in self.memory
            and v.flags.writeable and n != "k" and (not safe or self.memory[n] in self.safe)
        ]  # fmt: skip

    # ---- statements ----

    def restart(self) -> None:
        self.space = {"np": np, "fnp": np} | {n: v.copy() for n, v in self.args.items()}

    def run(self, line: Line) -> bool:
        """Run a statement; False, and nothing happened, where it does not fit."""
        before = dict(self.space)
        try:
            exec(line.text, self.space)
            self.space.pop("__builtins__", None)
            for value in self.space.values():
                if isinstance(value, (np.ndarray, np.generic)) and value.dtype.kind in "fc":
                    if not value.size or value.size > 64 or not np.all(np.abs(value) < LARGE):
                        raise Unfit
        except Exception:
            self.space = before
            if line.tags or "for " in line.text:  # it may have written something
                self.restart()
                for each in self.lines:
                    exec(each.text, self.space)
                self.space.pop("__builtins__", None)
            return False
        self.lines.append(line)
        return True

    def new(self, text: str, kind: str, safe: bool, letter: str = "a") -> str:
        """Make a variable of an expression; its name."""
        name = self.fresh(letter)
        level = 0 if "_like(" in text else self.depends(text)
        text = text.replace("#", name)
        if not self.run(Line(f"{name} = {text}", made=name)):
            raise Unfit
        value = self.space[name]
        if type(value) is np.ndarray:
            for other in self.memory:
                before = self.space.get(other)
                if type(before) is np.ndarray and np.shares_memory(before, value):
                    self.memory[name], self.kind[name] = self.memory[other], kind
                    return name
        memories = [self.memory[n] for n in names_in(text) if n in self.memory]
        fresh = bool(memories) and not level and self.safe.issuperset(memories)
        self.add(name, kind, level, safe or level == 2 or fresh)
        return name

    def create(self, ndim: int | None = None, complex_: bool | None = None) -> str:
        """Make an array that may be written to."""
        r = self.r
        if complex_ is None:
            complex_ = r.random() < 0.12
        rank = r.choice([1, 2]) if ndim is None else ndim
        shape = tuple([r.choice([2, 3, 4]) for _ in range(rank)])
        if ndim == 2 and r.random() < 0.4:
            shape = shape[:1] * 2
        odd = r.random() if ndim is None and not complex_ else 1.0
        dtype = (
            "complex" if complex_ else "int" if odd < 0.06 else "np.float32" if odd < 0.08 else ""
        )
        self.single |= dtype == "np.float32"
        made = new_texts(r, shape, dtype)
        results = []
        names = [n for n in self.arrays(True) if self.level[self.memory[n]] != 1]
        if dtype in ("", "complex"):
            kind = "c" if complex_ else "fi"
            like = [
                n for n in names if self.space[n].dtype.kind in kind
                and (ndim is None or self.space[n].ndim == ndim)
            ]  # fmt: skip
            if like:
                n = r.choice(like)
                made += [text.replace("@", n) for text in LIKE]
                results += [text.replace("@", n) for text in RESULTS]
            if complex_ and names:
                n = r.choice(names)
                results += [f"{n} * (1 + 0.5j)", f"np.exp(1j * {n})"]
        for _ in range(5):
            text = r.choice(made + results)
            name = self.new(text, "made" if text in made else "result", text in made)
            if ndim is None or np.ndim(self.space[name]) == ndim:
                return name
        raise Unfit

    def target(self, kind: str, ndim: int) -> str:
        """A name whose array was made in a way: a kind of view, or the whole of an array."""
        r = self.r
        if kind == "element":
            ndim = 0
        known = [n for n in self.arrays(True) if self.space[n].ndim >= max(ndim, 1)]
        if kind == "base":
            known = [n for n in known if self.kind[n] in ("made", "result", "argument")]
            return r.choice(known) if known and r.random() < 0.7 else self.create(max(ndim, 1))
        there = [n for n in known if self.kind[n] == kind]
        if there and r.random() < 0.4:
            return r.choice(there)
        if r.random() < 0.03:
            known = [n for n in self.arrays() if self.space[n].ndim >= ndim] or known
        for _ in range(8):
            needs_complex = kind in ("real", "imag")
            bases = [n for n in known if (self.space[n].dtype.kind == "c") >= needs_complex]
            if bases and r.random() < 0.8:
                near = [n for n in bases if self.memory[n] == self.last]
                base = r.choice(near if near and r.random() < 0.5 else bases)
            else:
                more = {"row": 1, "computed": 1, "iterated": 1, "ravel": 0}.get(
                    kind, r.choice([0, 0, 1])
                )
                base = self.create(min(max(ndim, 1) + more, 3), needs_complex or None)
            text = view_text(r, kind, base, self.space[base], self.space)
            if text is None:
                continue
            try:
                with np.errstate(all="ignore"):
                    seen = eval(text, self.space)
            except Exception:
                continue
            if type(seen) is not np.ndarray or seen.ndim < ndim or not seen.size:
                continue
            if not np.shares_memory(seen, self.space[base]) or not seen.flags.writeable:
                continue
            self.last = self.memory[base]
            return self.new(text, kind, False, "v")
        raise Unfit

    def write(self, write: str, place: str) -> None:
        """Draw a write of a kind; `place` is a kind of view or of index."""
        for _ in range(12):
            view = place
            if place in INDICES:
                view = self.r.choice(["base", "base", *VIEWS])
            if view == "element" and write not in writes.OF_ELEMENTS:
                continue
            index = place if place in INDICES else self.r.choice(INDICES)
            try:
                target = self.target(view, writes.RANK.get(write, 0))
                text = self.text_of(write, target, index)
            except (Unfit, ValueError, IndexError):
                continue
            tags = [(write, view)]
            if write in writes.INDEXED:
                tags.append((write, index))
            if self.run(Line(text, tuple(tags))):
                memory = self.memory[target]
                self.outside |= memory not in self.safe
                self.level[memory] = max(self.level[memory], self.depends(text))
                return
        raise Unfit

    def text_of(self, write: str, target: str, index: str) -> str:
        return writes.WRITES[write](self, target, index)

    # ---- the other statements ----

    def read(self) -> None:
        self.new(self.expression(2), "result", False, "s")

    def alias(self) -> None:
        old = self.r.choice(self.arrays())
        text = self.r.choice(["@", "@", "@[...]", "fnp.asarray(@)"]).replace("@", old)
        self.kind[self.new(text, "alias", False, "b")] = self.kind[old]

    def arithmetic(self) -> None:
        scalars = [
            n for n, v in self.space.items() if isinstance(v, np.floating) and n in self.kind
        ]
        if scalars and self.r.random() < 0.4:
            name = self.r.choice(scalars)
            if self.r.random() < 0.5:
                self.new(name, "result", False, "t")
            text = f"{name} {self.r.choice(['+=', '*=', '-='])} {self.fit(())}"
            level = self.depends(text)
            if self.run(Line(text)):
                self.add(name, "result", level, level == 2)
            return
        self.new(self.expression(3), "result", False)

    def loop(self) -> None:
        name = self.r.choice([n for n in self.arrays(True) if self.space[n].ndim])
        n = len(self.space[name])
        row = self.space[name].shape[1:]
        e = self.fit(row)
        if names_in(e) & {name}:
            e = "0.5"
        text = self.r.choice([
            f"for i in range({n} - 1):\n    {name}[i + 1] = np.sin({name}[i]) + {e}",
            f"for i in range({n} - 1):\n    {name}[i + 1] += 0.5 * {name}[i] * {e}",
            f"for i in range({n} - 2, -1, -1):\n    {name}[i] -= 0.3 * np.cos({name}[i + 1])",
            f"for row in {name}:\n    row *= {e}" if row else "",
            f"for row in {name}:\n    row[...] = np.cos(row) + {e}" if row else "",
            f"for i in range({n}):\n    {name}[i, :-1] += {name}[i, 1:]" if row else "",
        ])  # fmt: skip
        if text and self.run(Line(text, (("setitem", "loop"),))):
            memory = self.memory[name]
            self.level[memory] = max(self.level[memory], self.depends(text))

    def look(self) -> None:
        """Take a view of what has one already, or may be written to next."""
        self.target(self.r.choice(["slice", "slice", "step", "row", *VIEWS]), 0)

    def forget(self) -> None:
        made = [n for n in self.arrays() if n not in self.args and self.kind[n] in VIEWS]
        if made:
            name = self.r.choice(made)
            if self.run(Line(f"del {name}")):
                del self.memory[name], self.kind[name]


def draw(seed: Sequence[int], targets: Sequence[tuple[str, str]]) -> Program:
    """The program of a seed, with these writes (kind of write, kind of view or index)."""
    with warnings.catch_warnings(), np.errstate(all="raise", under="ignore"):
        warnings.simplefilter("error")
        for attempt in range(50):
            r = random.Random(hash((*seed, attempt)))
            try:
                return _draw(r, targets)
            except Unfit:
                continue
    raise Unfit


def _draw(r: random.Random, targets: Sequence[tuple[str, str]]) -> Program:
    d = Drawing(r)
    d.restart()
    d.create()
    todo: list[Any] = [lambda t=t: d.write(*t) for t in targets]
    others = [d.read, d.read, d.arithmetic, d.arithmetic, d.create, d.loop, d.look, d.forget]
    todo += [r.choice(others) for _ in range(r.choice([2, 3, 4]))]
    if r.random() < 0.4:  # some views are taken before the first write
        for _ in range(r.choice([2, 3])):
            d.look()
    todo.append(d.alias)
    if r.random() < 0.5:
        todo.append(d.alias)
    r.shuffle(todo)
    for step in todo:
        try:
            step()
        except (Unfit, IndexError):
            if step in others:
                continue
            raise Unfit from None
    while len(d.lines) < 8:
        r.choice([d.read, d.arithmetic, d.alias])()
    names = [
        n for n in d.memory
        if isinstance(d.space.get(n), (np.ndarray, np.generic)) and n != "k"
        and (n not in d.args or r.random() < 0.5)
    ]  # fmt: skip
    if r.random() < 0.4:
        names = r.sample(names, max(1, len(names) // 2))
    return Program(d.args, d.main, d.lines, names or ["x"], d.outside, d.single)
