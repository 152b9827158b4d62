"""Draw a program with loops: the source of a function, and where its loops stand."""

import random
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from .texts import (
    ELEMENTS,
    GUARDS,
    HELPERS,
    INSIDE,
    OF_ARRAYS,
    OF_LISTS,
    REAL,
    REAL_SCALARS,
    ROWS,
    SCALARS,
    SWEEP,
    VECTORS,
)  # fmt: skip


class Span(NamedTuple):
    """A loop in the source: its lines, how many steps are alike at least, and if they are.

    Two steps are one where they swap values; the first ones differ that take what stood before
    the loop, as do those whose value is read by itself later.
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
        self.regular, self.swaps, self.before = True, False, 0
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
        self.before = max(self.before, len(names))
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
        delays, self.before = self.before, 0
        before = len(self.reads), len(self.numbers), len(self.counters)
        text, count, counter, low, high = self.header()
        counting, self.counting = self.counting, text.startswith("while")
        if self.counting:
            self.add(f"{counter} = 0")
        if count * self.work > 80:
            self.regular, self.counting = self.regular and regular, counting
            self.swaps, self.before = swaps, delays
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
        steps = (count - self.before) // 2 if self.swaps else count - self.before
        self.spans.append(Span(first, len(self.lines), steps, self.regular))
        self.swaps, self.before = self.swaps or swaps, max(delays, self.before)
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
            text = r.choice(OF_LISTS).format(name, count // 2)
            found += [text] if count else []
            if text.endswith("]"):
                self.spans = [s._replace(count=s.count // 2) for s in self.spans]
        for y, z, _ in self.rows:
            found.append(r.choice(OF_ARRAYS).format(y, z))
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
        spans = [
            Span(first + skipped + 1, last + skipped, count, regular and "if " not in helper)
            for first, last, count, regular in self.spans
        ]
        text = "\n".join(before + self.lines) + "\n"
        return Program(text, self.arguments(), spans, self.features)

    def arguments(self) -> tuple:
        g = np.random.default_rng(self.r.randrange(1 << 30))
        shapes = (self.m,), (self.m,), (), (2 * self.n + 2, self.m), (self.m, self.m)
        return tuple([values(shape, self.kind, g) for shape in shapes])


def values(shape: tuple, kind: str, g: np.random.Generator) -> Any:
    """Return values of a shape, none of them 0; of a number without axes a scalar of NumPy's."""
    found = np.round(g.uniform(-1.0, 1.0, shape), 2) + 0.003
    if kind == "complex":
        found = found + 1j * np.round(g.uniform(-1.0, 1.0, shape), 2)
    return np.asarray(found).astype(kind or "float64")[()]


def draw(seed: int, number: int) -> Program:
    return Draw(random.Random(hash((seed, number)))).program()
