"""Programs with Python loops, some in others, whose steps are alike or differ."""

import numpy as np
from hypothesis import strategies as st

from .programs import Variable
from .vectors import Vectors

ROWS = (
    "{y}[{i} + 1] = np.tanh({y}[{i}] + {v})", "{y}[{i}] += {v} * {c}",
    "{y}[{i}, 1:] = {y}[{i}, :-1] * {c}", "{y}[:, 0] += {a}", "{y}[{i}][0] = {e}",
    "{y}[1:] = {y}[:-1] * 0.5", "{y}[{i}, ::-1] *= {v}",
    "{y}[{i}], {y}[{i} + 1] = {y}[{i} + 1].copy(), {y}[{i}].copy()",
    "{y}[{n} - {i}] = {y}[{i}] * {c}", "r = {y}[{i}]\nr[...] = r * 0.5 + {v}",
    "r = {y}[{i}:]\nr[0] += {v}\nr *= 0.9", "{y}[1:-1] = {y}[:-2] + {y}[2:] * 0.3", "{y} *= 0.9",
    "{v} = {y}[{i}] * {c}", "{e} = np.sum({y}[{i}:])",
    "{y}[{i}:{i} + 2] = {y}[{i}:{i} + 2][::-1] * 0.5", "{y}[{i} + 1, 0] = {y}[{i}, -1] + {e}",
    "{y}.T[0] *= {c}", "{y}[{i}:{i} + 2, 0] += {e}", "{z}[{i}] = {y}[{i}] * 0.5 + {v}",
    "{z}[{i}] += {z}[{i} - 1] * 0.3", "{v} = {z}[{i}] + {y}[{i}] * {c}",
    "{y}[{i}] = {v}\n{v} = {y}[{i}] + {w}",
)  # fmt: skip
"""Statements for a writable matrix of `n` + 1 rows, and its view without the first row."""

ELEMENTS = (
    "{y}[{i} + 1] = np.sin({y}[{i}]) + {e} * 0.1", "{y}[{i} + 1] += {y}[{i}] * {c}",
    "{y}[{i}] = {e}", "{y}[{n} - {i}] = {y}[{i}] * 0.5", "{y}[{i}:{i} + 2] *= {c}",
    "{y}[1:] = {y}[:-1] * 0.5 + {a}", "{y}[::2] += {e}", "{y} += 0.1 * {a}", "{y} *= 0.9",
    "{e} = {y}[{i}] + 0.1 * {e}", "{y}[{i}:{i} + 2] = {y}[{i}:{i} + 2][::-1]",
    "{e} = np.sum({y}[:{i} + 1])", "{y}[{i}:] += {e} * 0.1",
    "{y}[1:-1] = 0.5 * ({y}[:-2] + {y}[2:])", "{z}[{i}] = {y}[{i}] * {c} + {e}",
    "{z}[{i}] += {y}[{i} + 1]", "{y}[{i}] -= {z}[{i}] * 0.5", "{e} = {z}[{i}] - {y}[{i}]",
    "{y}[{i}] = {y}[{i} + 1] + {y}[{i} - 1]",
)  # fmt: skip
SWEEP = (
    "for {p} in range(1, 5):\n    for {q} in range(1, 5):\n"
    "        {g}[{p}, {q}] = ({g}[{p} - 1, {q}] + {g}[{p}, {q} - 1] + {g}[{p}, {q}] "
    "+ {g}[{p} + 1, {q}]) / 4.0"
)
OF_LISTS = (
    "np.stack({0})", "{0}[-1]", "sum({0})", "np.sum(np.stack({0}), 0)", "{0}", "{0}[{1}]",
)  # fmt: skip
OF_ARRAYS = "{0}.copy()", "np.sum({0})", "{0} * 0.5", "{0}", "{0}[-1]", "{1} * {0}[1:]"
INDEXED = "{v} = {v} * {w}[k]", "{e} = {e} * 0.5 + {v}[k]", "{v} = xs[k] + {v}"
DRAWS = (
    "{v} = {v} + 0.1 * {source}.normal(size={m})", "{v} = {v} * {source}.uniform()",
    "{v} = {v} + {source}.random({m})",
)  # fmt: skip
HEADERS = {
    "range({n})": (0, 1), "range(1, {n})": (1, 1), "range({n} - 1, -1, -1)": (0, 1),
    "range(0, 2 * {n}, 2)": (0, 2), "enumerate(xs[:{n}])": (0, 1), "while": (0, 1),
    "xs[:{n}]": (), "zip(xs[:{n}], xs[1:{n} + 1])": (), "table": (), "vectors": (),
    "list": (), "triangle": (0, 1),
}  # fmt: skip
"""The iterables of loops; those that count have the first number and the step."""


class Looping(Vectors):
    """A program with loops; `counters` has the lowest and highest value of each, and its steps."""

    def __init__(self, draw):
        super().__init__(draw)
        self.n = self.choice([6, 8, 4, 7, 5, 9, 12, 10, 3, 2, 1, 0])
        self.counters, self.lists, self.rows, self.grids = {}, [], [], []
        self.swaps, self.before, self.counting = False, 0, False
        self.is_odd = self.chance(35)
        self.names |= {"t": Variable(kind="number"), "dt": Variable(kind="number")}

    def kinds(self):
        if not self.depth:
            return [self.loop, self.loop, self.update]
        found = [
            self.update, self.update, self.update, self.rotate, self.swap, self.augment, self.time,
            self.quiet, self.draw_numbers, self.transform,
        ]  # fmt: skip
        found += [self.write] * 4 * bool(self.rows) + [self.sweep] * bool(self.grids)
        found += [self.guard, self.index, self.leave] * self.is_odd
        return found + [self.loop, self.loop] * (self.depth < 3)

    def rotated(self, count):
        self.before = max(self.before, count)

    def swap(self):
        self.swaps = True
        a, b = self.sample(self.vectors(own=True), 2)
        self.add(f"{a}, {b} = {b}, {a}")

    def augment(self):
        self.add(self.fill("{e} = {e} + {a} * 0.1"))

    def time(self):
        """Count the time in Python's numbers."""
        self.add(self.choice(["t += dt", "t = t + 0.25", "t = 0.5 * t + dt"]))

    def guard(self):
        self.odd("guards")
        with self.nested(self.fill("if {test}:")):
            self.update()
        if self.chance(40):
            with self.nested("else:"):
                self.update()

    def index(self):
        self.odd("guards")
        self.add(self.fill("k = int(np.floor(np.abs({real}({e})) * 3)) % {m}"))
        self.add(self.pick(INDEXED))

    def quiet(self):
        how = self.choice(["all='ignore'", "divide='ignore'", "divide='raise'"])
        with self.nested(f"with np.errstate({how}):"):
            self.add(self.fill("{v} = np.log(np.abs({v}) + 0.1) * 0.3"))

    def draw_numbers(self):
        source = self.choice(["rng", "own"])
        self.features[f"draws of {source}"] += 1
        self.add(self.pick(DRAWS, source=source))

    def write(self):
        usable = [i for i, (low, high, _) in self.counters.items() if low >= 0 and high < self.n]
        if self.rows and usable:
            y, z, shape = self.choice(self.rows)
            self.features["writes"] += 1
            texts = ROWS if len(shape) == 2 else ELEMENTS
            self.add(self.pick(texts, y=y, z=z, i=self.choice(usable)))

    def sweep(self):
        if self.grids:
            self.features["writes"] += 1
            p, q = self.fresh("i"), self.fresh("j")
            self.add(SWEEP.format(g=self.choice(self.grids), p=p, q=q))
            self.work *= 4

    def leave(self):
        """Leave a loop, or a step."""
        if not self.counters:
            return
        self.odd("guards")
        i = [*self.counters][-1]
        text = self.choice(["if {test}: break", "if {test}: continue", "if {i} % 2: continue",
                            "if {i} == 5: break"])  # fmt: skip
        if self.counting:  # else its counter would stay
            text = text.replace("continue", "break")
        self.add(self.fill(text, i=i))

    # ---- loops ----

    def header(self):
        """Return what a loop runs over, its names, its steps, and its counter if it has one."""
        n, i, row, c = self.n, self.fresh("i"), self.fresh("row"), self.fresh("c")
        if self.depth:
            n = min(n, self.choice([4, 3, 2, 5]))
        over = self.choice(list(HEADERS))
        outer = [name for name, (low, _, _) in self.counters.items() if low >= 0]
        if over == "list" and self.lists:
            name, count, what = self.choice(self.lists)
            over = self.choice([name, f"reversed({name})", f"{name}[::2]"])
            self.names[row] = Variable((self.m,) if what == "v" else (), own=False)
            return over, row, count if "::2" not in over else (count + 1) // 2, None
        if over == "triangle" and outer:
            self.regular, name = False, self.choice(outer)
            high = self.counters[name][1]
            return f"range({name})", i, max(high // 2, 1), (i, 0, high)
        if over in ("list", "triangle"):
            over = "range({n})"
        if HEADERS[over]:
            first, step = HEADERS[over]
            if "enumerate" in over:
                self.names[row] = Variable((self.m,), own=False)
            names = f"{i}, {row}" if "enumerate" in over else i
            last = first + step * (n - 1 - first)
            return over.format(n=n), names, max(n - first, 0), (i, first, max(last, 0))
        vector = Variable((self.m,), own=False)
        g = np.random.default_rng(self.made)
        if over == "table":
            self.names[c] = Variable(kind="number")
            return tuple(np.round(g.uniform(-0.9, 0.9, n), 2).tolist()), c, n, None
        self.names[row] = vector
        if over == "vectors":
            table = np.round(g.uniform(-0.9, 0.9, (n, self.m)), 2).tolist()
            return f"np.array({table}).reshape({n}, {self.m})", row, n, None
        if "zip" in over:
            self.names[c] = vector
            return over.format(n=n), f"{row}, {c}", n, None
        return over.format(n=n), row, n, None

    def loop(self):
        """Draw a loop, and the statements of its step."""
        kept = self.regular, self.swaps, self.before, self.counting, dict(self.counters)
        self.regular, self.swaps, self.before = True, False, 0
        work, append, what = self.work, "", self.choice("ve")
        facts = [0, False]
        names = dict(self.names)
        over, target, count, counter = self.header()
        if count * self.work > 80:
            self.names = names
            self.regular, self.swaps, self.before = kept[:3]
            return
        self.work *= max(count, 1)
        self.counting = over == "while"
        if self.counting:
            self.add(f"{target} = 0")
            text = f"while {target} < {count}:"
        else:
            text = f"for {target} in {over}:"
        if not self.depth and self.chance(35):
            append = self.fresh("out")
            self.add(f"{append} = []")
        with self.nested(text, lambda: tuple(facts)):
            if counter:
                self.count(*counter, count)
            self.draw_statements(1, 3)
            if append:
                own = self.vectors(own=True) if what == "v" else self.scalars(own=True)
                new = self.vector() if what == "v" else self.scalar()
                self.add(f"{append}.append({self.choice([*own, new])})")
            if self.counting:
                self.add(f"{target} += 1")
            steps = count - self.before
            facts[:] = steps // 2 if self.swaps else steps, self.regular
        self.names, self.work, self.counters = names, work, kept[4]
        if append and self.regular:
            self.lists.append((append, count, what))
        self.regular, self.counting = self.regular and kept[0], kept[3]
        self.swaps, self.before = self.swaps or kept[1], max(self.before, kept[2])

    def count(self, i, low, high, count):
        """Make names of what a step reads by its number."""
        self.counters[i] = low, high, count
        self.names[i] = Variable(kind="counter")
        self.names[f"0.3 ** {i}"] = self.names[f"({i} + 1)"] = Variable(kind="number")
        last = 2 * self.n + 1
        found = [f"xs[{i}]"] * (high <= last) + [f"xs[{i} + 1]"] * (high < last)
        found += [f"xs[2 * {i}]"] * (2 * high <= last) + [f"xs[{high} - {i}]"]
        found += [f"xs[{i} - 1]"] * (low > 0)
        for name, size, what in self.lists:
            if what == "v" and size > high:
                found += [f"{name}[{i}]", f"{name}[{size} - 1 - {i}]"]
        self.names |= dict.fromkeys(found, Variable((self.m,), own=False))

    # ---- the whole ----

    def make_arrays(self):
        """Make what is written to."""
        n, m = self.n, self.m
        of = {"complex": ", complex", "float32": ", np.float32"}.get(self.kind, "")
        for kind in self.choice([(), ("rows",), ("elements",), ("rows", "elements"), ("grid",)]):
            y, z = self.fresh("y"), self.fresh("z")
            if kind == "grid":
                outer = "np.outer(np.arange(1.0, 7.0), np.full(6, 0.1))"
                self.add(f"{y} = fnp.array({outer} * s)")
                self.grids.append(y)
                continue
            shape = (n + 1, m) if kind == "rows" else (n + 1,)
            made = f"fnp.zeros({shape}{of})" if kind == "rows" else f"fnp.full({n} + 1, 0.5{of})"
            self.add(f"{y} = {made}\n{y}[0] = {'x' if kind == 'rows' else 's'}\n{z} = {y}[1:]")
            self.rows.append((y, z, shape))

    def results(self):
        found, halved = ["x", "y", "s"], False
        for name, count, _ in self.lists:
            text = self.choice(OF_LISTS).format(name, count // 2)
            halved |= text.endswith("]")
            found += [text] if count else []
        found += [self.choice(OF_ARRAYS).format(y, z) for y, z, _ in self.rows]
        return ", ".join([*found, *[f"{g} * 1.0" for g in self.grids], "t"]), halved


@st.composite
def looping(draw):
    """Return programs with one to three loops, some with others inside."""
    drawing = Looping(draw)
    drawing.add("t, dt = 0.0, 0.125")
    drawing.make_arrays()
    drawing.draw_statements(1, 4)
    result, halved = drawing.results()
    if drawing.features["draws of own"]:
        drawing.block.insert(0, type(drawing.block[0])("own = ft.random.default_rng(5)"))
    return drawing.program(
        ["x", "y", "s", "xs", "A"], result, drawing.arguments(2 * drawing.n + 2),
        helpers=drawing.helper, halved=halved,
    )  # fmt: skip
