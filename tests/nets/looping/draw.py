"""Draw a program with loops: the source of a function, and where its loops stand."""

import random
import re
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

VECTORS = (
    "np.tanh({v} + {w})", "{v} * {c} + 0.1 * np.sin({w})", "np.sin({v}) - {w} / 3",
    "A @ {v} * 0.3", "{v} @ A + {w}", "np.roll({v}, 1) * {c}", "{v} + {a} * np.cos({w})",
    "np.linalg.solve(A + 4 * np.eye({m}), {v})", "{v}[::-1] * {c} + {w}", "np.cumsum({v}) * 0.2",
    "{v} / (1.0 + np.sum(np.abs({v})))", "{v} * np.cos({a})", "{v} * {a} + {w}",
    "np.concatenate([{v}[1:], {w}[:1]])", "np.stack([{e}] * {m})", "helper({v}, {w})",
    "np.exp(-np.abs({v})) + {w}", "0.5 * ({v} + {w})", "{v} - {v} * 0.1 + {a}",
    "np.outer({v}, {w})[0] * 0.5", "np.einsum('ij,j->i', A, {v}) * {c}",
)  # fmt: skip
REAL = (
    "np.where({v} > {c}, {v}, {w} * 0.5)", "np.maximum({v}, {w})", "np.sort({v})",
    "np.abs({v}) ** 0.5", "{v} * ({w} > {c})", "np.clip({v}, -1.0, {a})", "{v} ** 2 * 0.3",
)  # fmt: skip
"""Expressions of vectors that complex numbers do not have."""

SCALARS = (
    "np.sin({e}) + {a}", "{e} * {c} + np.sum({v})", "np.cos({e} + {a})", "0.9 * {e} + {v}[0]",
    "np.sum({v} * {w})", "np.dot({v}, {w}) * {c}", "{e} / (1.5 + np.abs({e}))", "{e} + 0.01 * {a}",
    "np.mean({v}) - {e} * {c}", "{v}[-1] * {e}", "np.sqrt(1.0 + np.abs({e}))",
)  # fmt: skip
REAL_SCALARS = (
    "np.max({v}) * {c}",
    "np.where({e} > {c}, {e}, {a})",
    "min(max({c}, 0.1), 0.7) * {e}",
)

HELPERS = (
    "def helper(v, w):\n    return np.tanh(v) * 0.5 + w",
    "def helper(v, w):\n    u = v * 0.5\n    return inner(u) - w\ndef inner(u):\n"
    "    return np.sin(u) + 0.2 * u",
    "def helper(v, w):\n    for k in range(4):\n        v = v * 0.5 + 0.1 * np.sin(w * k)\n"
    "    return v",
    "def helper(v, w):\n    if np.sum(np.abs(v)) > 0.8:\n        return v * 0.5\n"
    "    return v + w * 0.1",
)  # fmt: skip

GUARDS = (
    "{real}({e}) > {c}", "np.any({real}({v}) > 0.9)", "{real}({e}) > {c} and {real}({v}[0]) < 0.5",
    "not {real}({e}) > 0.4", "np.all({real}({v}) < {c})", "-0.5 < {real}({e}) < {c}",
)  # fmt: skip
INSIDE = (
    "{v} = {v} - 0.1 * ft.grad(lambda u: np.sum({real}(np.sin(u) * {w})))({v})",
    "{e} = ft.jvp(lambda u: np.sum(u * np.cos(u)), ({v},), ({w},))[1]",
    "{v} = ft.vmap(lambda u: u * {c} + np.sin({e}))({v})",
    "{v} = ft.checkpoint(helper)({v}, {w})",
    "{v} = ft.vjp(np.sin, {v})[1]({w})[0]",
)  # fmt: skip
"""Statements with a transform."""

ROWS = (
    "{y}[{i} + 1] = np.tanh({y}[{i}] + {v})", "{y}[{i}] += {v} * {c}", "{y}[{i}, 1:] = {y}[{i}, :-1] * {c}",
    "{y}[:, 0] += {a}", "{y}[{i}][0] = {e}", "{y}[1:] = {y}[:-1] * 0.5", "{y}[{i}, ::-1] *= {v}",
    "{y}[{i}], {y}[{i} + 1] = {y}[{i} + 1].copy(), {y}[{i}].copy()", "{y}[{n} - {i}] = {y}[{i}] * {c}",
    "r = {y}[{i}]; r[...] = r * 0.5 + {v}", "r = {y}[{i}:]; r[0] += {v}; r *= 0.9",
    "{y}[1:-1] = {y}[:-2] + {y}[2:] * 0.3", "{y} *= 0.9", "{v} = {y}[{i}] * {c}", "{e} = np.sum({y}[{i}:])",
    "{y}[{i}:{i} + 2] = {y}[{i}:{i} + 2][::-1] * 0.5", "{y}[{i} + 1, 0] = {y}[{i}, -1] + {e}",
    "{y}.T[0] *= {c}", "{y}[{i}:{i} + 2, 0] += {e}", "{z}[{i}] = {y}[{i}] * 0.5 + {v}",
    "{z}[{i}] += {z}[{i} - 1] * 0.3", "{v} = {z}[{i}] + {y}[{i}] * {c}", "{y}[{i}] = {v}; {v} = {y}[{i}] + {w}",
)  # fmt: skip
"""Statements for a writable matrix of `n` + 1 rows, and its view without the first row."""

ELEMENTS = (
    "{y}[{i} + 1] = np.sin({y}[{i}]) + {e} * 0.1", "{y}[{i} + 1] += {y}[{i}] * {c}", "{y}[{i}] = {e}",
    "{y}[{n} - {i}] = {y}[{i}] * 0.5", "{y}[{i}:{i} + 2] *= {c}", "{y}[1:] = {y}[:-1] * 0.5 + {a}",
    "{y}[::2] += {e}", "{y} += 0.1 * {a}", "{y} *= 0.9", "{e} = {y}[{i}] + 0.1 * {e}",
    "{y}[{i}:{i} + 2] = {y}[{i}:{i} + 2][::-1]", "{e} = np.sum({y}[:{i} + 1])", "{y}[{i}:] += {e} * 0.1",
    "{y}[1:-1] = 0.5 * ({y}[:-2] + {y}[2:])", "{z}[{i}] = {y}[{i}] * {c} + {e}", "{z}[{i}] += {y}[{i} + 1]",
    "{y}[{i}] -= {z}[{i}] * 0.5", "{e} = {z}[{i}] - {y}[{i}]", "{y}[{i}] = {y}[{i} + 1] + {y}[{i} - 1]",
)  # fmt: skip

SWEEP = (
    "for {i} in range(1, {m} - 1):\n    for {j} in range(1, {m} - 1):\n"
    "        {g}[{i}, {j}] = ({g}[{i} - 1, {j}] + {g}[{i}, {j} - 1] + {g}[{i}, {j}] "
    "+ {g}[{i} + 1, {j}]) / 4.0"
)


class Span(NamedTuple):
    """A loop in the source: its lines, how many steps it has, and if these are alike.

    Two steps are one where they swap values.
    """

    first: int
    last: int
    count: int
    regular: bool


class Program(NamedTuple):
    """A drawn program: `f` takes `x`, `y`, `s`, `xs` and `A`."""

    text: str
    args: tuple
    spans: list[Span]
    features: set[str]


class Draw:
    """A program that is being drawn.

    `vectors` and `scalars` are names, `lists` have the values of so many steps of a loop, and
    `rows` are arrays to write to with a view of each; `reads` are vectors that a step reads.
    """

    def __init__(self, r: random.Random):
        self.r = r
        self.m = r.choice([2, 3, 3, 4])
        self.n = r.choice([0, 1, 2, 3, 4, 5, 6, 6, 7, 8, 8, 9, 10, 12])
        self.kind = r.choice(["", "", "", "", "", "", "float32", "complex"])
        self.vectors, self.scalars = ["x", "y"], ["s"]
        self.lists: list[tuple[str, int, str]] = []
        self.rows: list[tuple[str, str, tuple]] = []
        self.grids: list[str] = []
        self.reads: list[str] = []
        self.numbers: list[str] = ["0.1", "0.7"]
        self.counters: list[tuple[str, int, int, int]] = []  # and the lowest, highest, and steps
        self.lines: list[str] = []
        self.spans: list[Span] = []
        self.features: set[str] = set()
        self.made = 0
        self.regular, self.swaps = True, False
        self.work = 1
        self.depth = 0
        self.counting = False

    # ---- parts ----

    def fresh(self, letter: str) -> str:
        self.made += 1
        return f"{letter}{self.made}"

    def add(self, text: str) -> None:
        for line in text.split("\n"):
            self.lines.append("    " * (1 + self.depth) + line)

    def fill(self, text: str, **more: Any) -> str:
        """Return a statement or expression with names for its places."""
        r = self.r
        vectors = self.vectors + self.reads * 2
        given = {
            "v": r.choice(self.vectors), "w": r.choice(vectors), "e": r.choice(self.scalars),
            "a": r.choice(self.numbers), "c": r.choice(["0.3", "0.5", "-0.4", "0.8"]),
            "m": self.m, "n": self.n, "real": "np.real" if self.kind == "complex" else "",
        }  # fmt: skip
        text = text.format(**given | more)
        if "helper(" in text or "helper)" in text:
            self.features.add("helper")
        return text

    def vector(self) -> str:
        return self.fill(self.r.choice(VECTORS if self.kind == "complex" else VECTORS + REAL))

    def scalar(self) -> str:
        many = SCALARS if self.kind == "complex" else SCALARS + REAL_SCALARS
        return self.fill(self.r.choice(many))

    # ---- statements ----

    def update(self) -> None:
        self.add(f"{self.r.choice(self.vectors)} = {self.vector()}")

    def update_scalar(self) -> None:
        self.add(f"{self.r.choice(self.scalars)} = {self.scalar()}")

    def rotate(self) -> None:
        """Carry the values of the steps before."""
        names = self.r.sample(self.vectors, min(len(self.vectors), self.r.choice([2, 2, 3])))
        self.add(f"{', '.join(names)} = {', '.join(names[1:])}, {self.vector()}")

    def swap(self) -> None:
        self.swaps = True
        a, b = self.r.sample(self.vectors, 2)
        self.add(f"{a}, {b} = {b}, {a}")

    def augment(self) -> None:
        name = self.r.choice(self.scalars)
        self.add(f"{name} = {name} + {self.fill('{a} * {e}')}")

    def time(self) -> None:
        """Count the time in Python's numbers."""
        self.add(self.r.choice(["t += dt", "t = t + 0.25", "t = 0.5 * t + dt"]))
        if "t" not in self.numbers:
            self.numbers.append("t")

    def guard(self) -> None:
        self.features.add("guards")
        self.regular = False
        test = self.fill(self.r.choice(GUARDS))
        self.add(f"if {test}:")
        self.inside([self.update, self.update_scalar])
        if self.r.random() < 0.4:
            self.add("else:")
            self.inside([self.update, self.update_scalar])

    def index(self) -> None:
        self.features.add("guards")
        self.regular = False
        name = self.r.choice(self.scalars)
        real = self.fill("{real}")
        self.add(f"k = int(np.floor(np.abs({real}({name})) * 3)) % {self.m}")
        self.add(self.fill(self.r.choice(
            ["{v} = {v} * {w}[k]", "{e} = {e} * 0.5 + {v}[k]", "{v} = xs[k] + {v}"]
        )))  # fmt: skip

    def quiet(self) -> None:
        how = self.r.choice(["all='ignore'", "divide='ignore'", "invalid='ignore', over='warn'"])
        if self.r.random() < 0.3:
            how = "divide='raise'"
            self.features.add("raising")
        self.add(f"with np.errstate({how}):")
        name = self.r.choice(self.vectors)
        self.inside([lambda: self.add(f"{name} = np.log(np.abs({name}) + 0.1) * 0.3"), self.update])

    def draws(self) -> None:
        source = self.r.choice(["rng", "own"])
        self.features.add("draws" if source == "rng" else "own draws")
        name = self.r.choice(self.vectors)
        self.add(self.r.choice([
            f"{name} = {name} + 0.1 * {source}.normal(size={self.m})",
            f"{name} = {name} * {source}.uniform()", f"{name} = {name} + {source}.random({self.m})",
        ]))  # fmt: skip

    def transform(self) -> None:
        self.features.add("inside")
        self.add(self.fill(self.r.choice(INSIDE)))

    def write(self) -> None:
        usable = [c for c in self.counters if c[1] >= 0 and c[2] < self.n]
        if not self.rows or not usable:
            return self.update()
        y, z, shape = self.r.choice(self.rows)
        text = self.r.choice(ROWS if len(shape) == 2 else ELEMENTS)
        i = self.r.choice(usable)[0]
        self.features.add("writes")
        for part in self.fill(text, y=y, z=z, i=i).split("; "):
            self.add(part)
        return None

    def sweep(self) -> None:
        if self.grids:
            self.features.add("writes")
            i, j = self.fresh("i"), self.fresh("j")
            self.add(SWEEP.format(g=self.r.choice(self.grids), i=i, j=j, m=6))
            self.work *= 4

    def early(self) -> None:
        """Leave a loop, or a step."""
        self.features.add("guards")
        self.regular = False
        test = self.fill(self.r.choice(GUARDS))
        i = self.counters[-1][0] if self.counters else "0"
        text = self.r.choice([f"if {test}: break", f"if {test}: continue", f"if {i} % 2: continue",
                              f"if {i} == 5: break"])  # fmt: skip
        if not self.counters:
            return self.update()
        if self.counting:  # else its counter would stay
            text = text.replace("continue", "break")
        self.add(text)
        return None

    def inside(self, kinds: list[Callable]) -> None:
        self.depth += 1
        self.r.choice(kinds)()
        self.depth -= 1

    # ---- loops ----

    def header(self) -> tuple[str, int, str, int, int]:
        """Return the text of a loop, its steps, its counter or "", and where that is."""
        r, n = self.r, self.n
        i = self.fresh("i")
        row, c = self.fresh("row"), self.fresh("c")
        outer = [x for x in self.counters if x[1] >= 0]
        kinds = ["range"] * 4 + [
            "from",
            "down",
            "even",
            "rows",
            "pairs",
            "table",
            "vectors",
            "while",
        ]
        kinds += ["enumerate"] + ["list"] * (3 * bool(self.lists)) + ["triangle"] * bool(outer)
        kind = r.choice(kinds)
        if self.depth:
            n = min(n, r.choice([2, 3, 4, 5]))
        if kind == "from":
            return f"for {i} in range(1, {n}):", max(n - 1, 0), i, 1, n - 1
        if kind == "down":
            return f"for {i} in range({n} - 1, -1, -1):", n, i, 0, n - 1
        if kind == "even":
            return f"for {i} in range(0, {2 * n}, 2):", n, i, 0, 2 * n - 2
        if kind == "rows":
            self.reads.append(row)
            return f"for {row} in xs[:{n}]:", n, "", 0, 0
        if kind == "pairs":
            self.reads += [row, c]
            return f"for {row}, {c} in zip(xs[:{n}], xs[1:{n} + 1]):", n, "", 0, 0
        if kind == "enumerate":
            self.reads.append(row)
            return f"for {i}, {row} in enumerate(xs[:{n}]):", n, i, 0, n - 1
        if kind == "table":
            values = [round(r.uniform(-0.9, 0.9), 2) for _ in range(n)]
            self.numbers += [c] * 3
            return f"for {c} in {tuple(values)}:", n, "", 0, 0
        if kind == "vectors":
            self.reads.append(row)
            values = [
                tuple([round(r.uniform(-0.9, 0.9), 2) for _ in range(self.m)]) for _ in range(n)
            ]
            return f"for {row} in np.array({values}).reshape({n}, {self.m}):", n, "", 0, 0
        if kind == "list":
            name, count, what = r.choice(self.lists)
            self.reads += [row] * 3 if what == "v" else []
            self.numbers += [row] * 3 if what == "e" else []
            text = r.choice([f"for {row} in {name}:", f"for {row} in reversed({name}):",
                             f"for {row} in {name}[::2]:"])  # fmt: skip
            return text, count if "::2" not in text else (count + 1) // 2, "", 0, 0
        if kind == "triangle":
            self.regular = False
            name, _, high, _ = r.choice(outer)
            return f"for {i} in range({name}):", max(high // 2, 1), i, 0, high
        if kind == "while":
            return f"while {i} < {n}:", n, i, 0, n - 1
        return f"for {i} in range({n}):", n, i, 0, n - 1

    def loop(self) -> None:
        """Draw a loop, and the statements of its step."""
        r = self.r
        regular, self.regular = self.regular, True
        swaps, self.swaps = self.swaps, False
        before = len(self.reads), len(self.numbers), len(self.counters)
        text, count, counter, low, high = self.header()
        counting, self.counting = self.counting, text.startswith("while")
        if self.counting:
            self.add(f"{counter} = 0")
        if count * self.work > 80:
            self.regular, self.counting = self.regular and regular, counting
            self.swaps = swaps
            del self.reads[before[0] :], self.numbers[before[1] :]
            return self.update()
        self.work *= max(count, 1)
        append = ""
        if r.random() < 0.35 and not self.depth:
            append = self.fresh("out")
            self.add(f"{append} = []")
        self.add(text)
        first = len(self.lines)
        self.depth += 1
        if counter:
            self.counters.append((counter, low, high, count))
            self.reads += self.elements(counter, low, high, count)
            self.numbers += [counter, f"0.1 * {counter}", f"({counter} + 1)", f"0.3 ** {counter}"]
        self.body(count)
        what = r.choice("ve")
        if append:
            name = r.choice(self.vectors if what == "v" else self.scalars)
            own = r.choice([name, name, self.vector() if what == "v" else self.scalar()])
            self.add(f"{append}.append({own})")
        if self.counting:
            self.add(f"{counter} += 1")
        self.counting = counting
        self.depth -= 1
        steps = count // 2 if self.swaps else count
        self.spans.append(Span(first, len(self.lines), steps, self.regular))
        self.swaps = self.swaps or swaps
        del self.reads[before[0] :], self.numbers[before[1] :], self.counters[before[2] :]
        self.work //= max(count, 1)
        if append and self.regular:
            self.lists.append((append, count, what))
        self.regular = self.regular and regular
        return None

    def elements(self, i: str, low: int, high: int, count: int) -> list[str]:
        """Return what a step reads by its number."""
        last = 2 * self.n + 1
        found = [f"xs[{i}]"] if high <= last else []
        found += [f"xs[{i} + 1]"] * (high < last) + [f"xs[2 * {i}]"] * (2 * high <= last)
        found += [f"xs[{high} - {i}]"] + [f"xs[{i} - 1]"] * (low > 0)
        for name, size, what in self.lists:
            if what == "v" and size > high:
                found += [f"{name}[{i}]", f"{name}[{size} - 1 - {i}]"] * 2
        return found

    def body(self, count: int) -> None:
        r = self.r
        kinds = [
            self.update, self.update, self.update, self.update_scalar, self.update_scalar,
            self.rotate, self.swap, self.augment, self.time, self.quiet, self.draws, self.transform,
            self.write, self.write, self.sweep,
        ]  # fmt: skip
        kinds += [self.guard, self.index, self.early] * (r.random() < 0.35)
        kinds += [self.loop] * (2 if self.depth < 3 else 0)
        start = len(self.lines)
        for _ in range(r.choice([1, 2, 2, 3])):
            r.choice(kinds)()
        if len(self.lines) == start or ": " in self.lines[-1]:
            self.update()

    # ---- the whole ----

    def arrays(self) -> None:
        """Make what is written to."""
        for _ in range(self.r.choice([0, 1, 1, 2])):
            y, z = self.fresh("y"), self.fresh("z")
            n, m = self.n, self.m
            of = {"complex": ", complex", "float32": ", np.float32"}.get(self.kind, "")
            if self.r.random() < 0.5:
                self.add(f"{y} = fnp.zeros(({n} + 1, {m}){of})")
                self.add(f"{y}[0] = x")
                self.rows.append((y, z, (n + 1, m)))
            else:
                self.add(f"{y} = fnp.full({n} + 1, 0.5{of})")
                self.add(f"{y}[0] = s")
                self.rows.append((y, z, (n + 1,)))
            self.add(f"{z} = {y}[1:]")
        if self.r.random() < 0.1:
            g = self.fresh("g")
            self.add(f"{g} = fnp.array(np.outer(np.arange(1.0, 7.0), np.full(6, 0.1)) * s)")
            self.grids.append(g)

    def result(self) -> str:
        r = self.r
        found = r.sample(self.vectors, 2) + r.sample(self.scalars, 1)
        for name, count, _ in self.lists:
            if count:
                found.append(r.choice([f"np.stack({name})", f"{name}[-1]", f"{name}[{count // 2}]",
                                       f"sum({name})", f"np.sum(np.stack({name}), 0)", name]))  # fmt: skip
        for y, z, _ in self.rows:
            found.append(
                r.choice(
                    [f"{y}.copy()", f"np.sum({y})", f"{y} * 0.5", y, f"{y}[-1]", f"{z} * {y}[1:]"]
                )
            )
        found += [f"{g} * 1.0" for g in self.grids]
        return ", ".join(found + ["t"] * (r.random() < 0.5))

    def program(self) -> Program:
        r = self.r
        for _ in range(r.choice([0, 1, 2])):
            name = self.fresh("v")
            self.add(f"{name} = {self.vector()}")
            self.vectors.append(name)
        for _ in range(r.choice([0, 0, 1])):
            name = self.fresh("e")
            self.add(f"{name} = {self.scalar()}")
            self.scalars.append(name)
        self.add("t, dt = 0.0, 0.125")
        self.arrays()
        for _ in range(r.choice([1, 1, 2, 2, 3])):
            self.work = 1
            self.loop()
            if r.random() < 0.3:
                r.choice([self.update, self.update_scalar])()
        self.add(f"return {self.result()}")
        head = ["own = ft.random.default_rng(5)"] if "own draws" in self.features else []
        helper = r.choice(HELPERS) if "helper" in self.features else ""
        if "if " in helper:
            self.features.add("guards")
        before = [*helper.split("\n"), "def f(x, y, s, xs, A):", *["    " + x for x in head]]
        skipped = len(before)
        spans = [s._replace(first=s.first + skipped + 1, last=s.last + skipped,
                            regular=s.regular and "if " not in helper) for s in self.spans]  # fmt: skip
        return Program(
            "\n".join(before + self.lines) + "\n", self.arguments(), spans, self.features
        )

    def arguments(self) -> tuple:
        g = np.random.default_rng(self.r.randrange(1 << 30))
        shapes = (self.m,), (self.m,), (), (2 * self.n + 2, self.m), (self.m, self.m)
        return tuple([values(shape, self.kind, g) for shape in shapes])


def values(shape: tuple, kind: str, g: np.random.Generator) -> Any:
    """Return values of a shape; of a number without axes a scalar of NumPy's."""
    found = np.round(g.uniform(-1.0, 1.0, shape), 2)
    if kind == "complex":
        found = found + 1j * np.round(g.uniform(-1.0, 1.0, shape), 2)
    return np.asarray(found).astype(kind or "float64")[()]


def draw(seed: int, number: int) -> Program:
    return Draw(random.Random(hash((seed, number)))).program()


def names_in(text: str) -> set[str]:
    return set(re.findall(r"[a-z_]\w*", text))
