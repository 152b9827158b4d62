"""Programs with the loops that functier gives, some in others: `scan`, `fori_loop`, `map` and more.

They take their loops from ``lo``, so that they run with Python loops, too.
"""

import numpy as np
from hypothesis import strategies as st

from .programs import Variable, below
from .vectors import Vectors, values

ENOUGH = 14
"""So many steps make a loop that is recorded by one of them."""

NROWS = 41

CHOICES = (
    "{v} = ft.cond({test}, lambda u: u * 0.5, lambda u: np.sin(u) * 0.3 + 0.1 * {w}, {v})",
    "{v} = ft.cond({test}, lambda: {v} * 0.5, lambda: {w} * 0.3)",
    "{v} = ft.switch(np.astype(np.minimum(np.floor(np.abs({e}) * 3), 2), int), "
    "[lambda u: u * 0.5, lambda u: u - 0.1 * u * u, np.sin], {v})",
    "{v}, {e} = lo.while_loop(lambda c: np.sum(np.abs(c[0])) > 0.4, "
    "lambda c: (c[0] * 0.5, c[1] * 0.9), ({v}, {e}))",
)  # fmt: skip
"""Statements whose loops and choices may differ from step to step."""

OF_COUNTER = (
    "{v} = {v} * 0.5 + 0.3 * xs[{i}]", "{e} = {e} * 0.5 + 0.1 * xs[{i}][0]",
    "{v} = {v} * 0.5 + 0.1 * xs[{i} - 1]", "{v} = {v} * 0.5 + 0.2 * xs[40 - {i}]",
    "{e} = {e} * 0.9 + 0.01 * {i}", "{v} = {v} * np.cos({i}) * 0.9",
    "{e} = 0.5 * {e} + {v}[0] / ({i} + 1.0)",
    "{v} = {v} * 0.5 + 0.1 * np.sum(xs[: {i} + 1])", "{v} = {v} * 0.5 + 0.5 ** {i}",
    "{e} = {e} * 0.5 + 0.1 * np.sum(xs[{i} : {i} + 2])", "{e} = {e} * 0.5 + 0.1 * xs[{i}, 1]",
)  # fmt: skip
"""Statements whose number changes from step to step alone."""

ASKING = (
    "if {i} % 3 == 1: {v} = {v} * 0.5", "if {i} == 7: {e} = {e} + 0.25",
    "{e} = {e} * (0.5 if isinstance({i}, int) else 0.25)", "{e} = {e} * 0.5 + LIST[{i} % 5]",
    "{v} = {v} * 0.5 + 0.3 * TABLE[{i}]", "{v} = {v} * 0.5 + 0.2 * TABLE[39 - {i}]",
    "{v} = 0.5 * {v} + 0.1 * COLUMNS[:, {i}]", "{v} = np.roll({v}, {i}) * 0.9",
    "{e} = {e} * 0.5 + 0.01 * len(str({i}))", "{e} = {e} * 0.5 + math.sin({i}) * 0.1",
    "{v} = {v} * 0.9 + 0.01 * np.arange({i} + 1).sum()", "{e} = {e} * 0.9 if {i} else {e} * 0.1",
)  # fmt: skip
"""Statements that ask for the number of the step."""

GUARDS = (
    "if {test}: {v} = {v} * 0.5", "if {test}: {e} = {e} + 0.1",
    "if np.real(t) > 2.05: {v} = {v} * 0.3", "if np.real(t) > 0.65: {e} = {e} * 0.5",
    "if np.real(t) > 0.15: {e} = 0.1 + {e} * 0.5",
    "{v} = {v} * (0.5 if {test} else 0.8)", "while np.sum(np.abs({v})) > 0.8: {v} = {v} * 0.5",
)  # fmt: skip
"""Statements that branch on values; t is a number of the carry that grows by 0.1."""

EFFECTS = (
    ("history = []", "history.append({v})", "0.1 * sum(history)"),
    ("history = []", "history.append({v}); {v} = 0.5 * {v} + 0.1 * history[len(history) // 2]",
     "history[-1]"),
    ("count = 0", "nonlocal count; count += 1", "0.01 * count"),
    ("count = 0", "nonlocal count; count += 1; {e} = {e} * 0.5 + 0.01 * count", "0.01 * count"),
    ("last = 0.5", "nonlocal last; {e} = {e} * 0.5 + 0.1 * last; last = {e}", "last"),
    ("box = dict(n=0)", "box['n'] = box['n'] + 1; {e} = 0.5 * {e} + 0.01 * box['n']",
     "0.01 * box['n']"),
    ("box = Box()", "box.n = box.n + 1; box.last = {v}; {e} = 0.5 * {e} + 0.01 * box.n",
     "box.last * box.n"),
    ("it = iter(LIST * 99)", "{e} = 0.5 * {e} + next(it)", "next(it)"),
    ("it = itertools.count()", "{e} = 0.5 * {e} + 0.01 * next(it)", "0.01 * next(it)"),
    ("it = (0.1 * k for k in range(9999))", "{e} = 0.5 * {e} + 0.01 * next(it)",
     "0.01 * next(it)"),
    ("flat = np.arange(9999.0).flat", "{e} = 0.5 * {e} + 0.001 * next(flat)",
     "0.001 * next(flat)"),
    ("buf = np.zeros(3)", "buf[0] += 1; {e} = 0.5 * {e} + 0.01 * buf[0]", "0.01 * np.sum(buf)"),
    ("buf = np.zeros(3)", "np.add(buf, 1, out=buf); {e} = 0.5 * {e} + 0.01 * buf[1]",
     "buf[0] / 99"),
    ("buf = np.zeros(3)", "np.add.at(buf, [0, 0], 1); {e} = 0.5 * {e} + 0.01 * buf[0]",
     "0.01 * np.sum(buf)"),
    ("buf = np.zeros(3)", "buf[1:].fill(buf[1] + 1); {e} = 0.5 * {e} + 0.01 * buf[1]",
     "0.01 * np.sum(buf)"),
    ("pair = (np.zeros(3), 1)", "pair[0][0] += 1; {e} = 0.5 * {e} + 0.01 * pair[0][0]",
     "0.01 * np.sum(pair[0])"),
    ("board = fnp.zeros({m}, A.dtype)", "board += {v}; {v} = {v} * 0.5 + 0.01 * board",
     "board * 0.1"),
    ("board = fnp.zeros(3, A.dtype)",
     "board[1] = board[1] * 0.5 + {e}; {e} = 0.5 * {e} + 0.2 * board[1]", "np.sum(board)"),
    ("own = ft.random.default_rng(5)", "{v} = 0.5 * {v} + 0.1 * own.normal(size={m})",
     "own.normal()"),
    ("", "{v} = 0.5 * {v} + 0.1 * rng.uniform(size={m})", "rng.normal()"),
    ("", "{v} = 0.5 * {v} + 0.1 * ft.random.default_rng(3).normal(size={m})", ""),
    ("", "HISTORY.append(len(HISTORY))", "0.01 * len(HISTORY)"),
    ("", "BOX['n'] += 1", ""), ("", "BUFFER[0] += 1", "0.01 * BUFFER[0]"),
    ("", "{e} = 0.5 * {e} + 0.01 * next(TICKS)", ""),
    ("def tick(n=[0]):\n    n[0] += 1\n    return n[0]", "{e} = 0.5 * {e} + 0.01 * tick()", ""),
    ("def tick():\n    tick.n = getattr(tick, 'n', 0) + 1\n    return tick.n",
     "{e} = 0.5 * {e} + 0.01 * tick()", "0.01 * tick()"),
)  # fmt: skip
"""For each effect: code before the loop, a statement of a step, and code that reads it later."""

ERRORS = (
    "with np.errstate(divide='raise'): {e} = {e} * 0.5 + 0.001 / np.round({d} - t, 3)",
    "{v} = np.linalg.solve(np.eye({m}) * np.round({d} - t, 3) * 10, {v}) * 0.1",
    "{e} = {e} * 0.5 + LIST[int(np.round(({d} - t) * 10)) if np.real(t) > {d} - 0.45 else 0]",
    "assert np.real(t) < {d}, 'it is too late'",
)  # fmt: skip
"""Statements that raise in a later step."""

SOURCES = (
    ("None", "_", "", 0, 0), ("xs[:{n}]", "{row}", "", 1, 0), ("xs[1:{n} + 1]", "{row}", "", 1, 0),
    ("(xs[:{n}], COLUMN[:{n}])", "both", "{row}, {q} = both", 1, 1),
    ("TABLE[:{n}]", "{row}", "", 1, 0), ("COLUMN[:{n}]", "{q}", "", 0, 1),
    ("dict(a=xs[:{n}], b=xs[:{n}, 0])", "pair", "{row}, {q} = pair['a'], pair['b']", 1, 1),
    ("np.arange({n})", "{q}", "", 0, 1),
)  # fmt: skip
"""Forms of a scan: its input, the argument of a step, its parts, and their names."""


class Giving(Vectors):
    """A program with given loops; `alike` has the bodies without effects and guards."""

    def __init__(self, draw):
        super().__init__(draw)
        self.alike, self.results, self.odd_step = set(), [], False

    # ---- statements of a step ----

    def kinds(self):
        if not self.depth:
            return [self.loop, self.loop, self.loop, self.update, self.loop_in_branch, self.turns]
        found = [self.update, self.update, self.update, self.rotate, self.transform, self.python,
                 self.count, self.count]  # fmt: skip
        found += [self.ask, self.choose, self.guard, self.guard, self.fail] * self.odd_step
        return found + [self.loop] * (self.depth < 5)

    def can(self, text):
        """Tell if the function assigns to what a statement assigns to, and has what it reads."""
        return (
            ("{v}" not in text or self.vectors(own=True))
            and ("{e}" not in text or self.scalars(own=True))
            and ("{i}" not in text or self.of(kind="counter"))
            and (("(t)" not in text and " t" not in text) or "t" in self.names)
        )

    def some(self, texts, feature="", **given):
        able = [text for text in texts if self.can(text)]
        if able:
            self.add("\n".join(self.pick(able, **given).split("; ")))
            if feature:
                self.odd(feature)

    def python(self):
        """Draw a Python loop in the step."""
        with self.nested(f"for {self.fresh('k')} in range({self.choice([1, 2, 3])}):"):
            self.update()

    def count(self):
        self.some(OF_COUNTER)

    def ask(self):
        self.some(ASKING, "asking")

    def choose(self):
        self.some(CHOICES, "choices")

    def guard(self):
        self.some(GUARDS, "guards")

    def fail(self):
        if self.kind == "":
            self.some(ERRORS, "guards", d=self.choice([0.3, 0.9, 1.2, 2.0, 3.5]))

    def turns(self):
        with self.nested("for turn in range(2):"):
            self.loop()

    def loop_in_branch(self):
        """Draw a loop in a branch of `cond`."""
        arm, v = self.fresh("arm"), self.fresh("v")
        with self.nested(f"def {arm}(u):"):
            text = f"return ft.fori_loop(0, {self.steps()}, lambda i, c: c * 0.9 + 0.01 * i, u)"
            self.add(text)
        self.add(self.fill(f"{v} = ft.cond({{test}}, {arm}, lambda u: u * 0.5, {{w}})"))
        self.names[v] = Variable((self.m,))
        self.results.append(v)

    # ---- loops ----

    def steps(self):
        if self.work >= 20:
            return self.choice([2, 9, 14])
        few = [14, 15, 3, 9, 10, 11, 1, 0]
        return self.choice(few if self.work > 1 else [*few, 2, 6, 7, 8, 12, 16, 17, 20, 24, 33, 40])

    def carried(self):
        """Make the names of a carry; return them, and its first values."""
        of = {"complex": ", complex", "float32": ", np.float32"}.get(self.kind, "")
        zeros = [f"np.zeros({self.m}{of})", f"np.full({self.m}, 0.25{of})"]
        names, first = {}, []
        for what in self.choice(["v", "e", "ve", "vve", "vv", "vvv", "vee", "vet", "vt"]):
            names["t" if what == "t" else self.fresh(what)] = Variable((self.m,) * (what == "v"))
            if what == "t":
                first.append("0.0")
            elif what == "v":
                first.append(self.choice([*self.vectors(), *zeros, self.vector()]))
            else:
                first.append(self.choice([*self.scalars(), "0.0", "0.5", self.scalar()]))
        if self.chance(15):
            names[self.fresh("n")] = Variable(kind="any")
            first.append(self.choice(["1", "0", "np.int64(2)", "True", "np.arange(3)"]))
        if self.kind and any([x[0].isdigit() for x in first]):
            self.odd("numbers of Python beside other dtypes")  # arrays do not keep them
        return names, first

    def packed(self, names, form):
        names = list(names)
        if form == "bare":
            return names[0]
        if form == "dict":
            return "{" + ", ".join([f"'k{i}': {name}" for i, name in enumerate(names)]) + "}"
        if form == "nested":
            return f"(({names[0]}, [{', '.join(names[1:])}]), None)"
        return f"({', '.join(names)},)"

    def taken(self, name, names, form):
        """Return the statement that takes a carry apart."""
        if form == "dict":
            return "\n".join([f"{own} = {name}['k{i}']" for i, own in enumerate(names)])
        return f"{self.packed(names, form)} = {name}".replace(", None)", ", _)")

    def loop(self):
        kind = self.choice(["fori", "scan", "fori", "scan", "map", "while", "assoc"])
        n = self.steps()
        if n * self.work > 160 or (kind == "assoc" and self.work > 1):
            return
        if kind == "assoc":
            fn, name = self.choice(["np.add", "lambda a, b: a + b + 0.1 * a * b"]), self.fresh("ys")
            self.add(f"{name} = lo.associative_scan({fn}, xs[:{n}])")
            self.results.append(name)
            return
        self.features[kind] += 1
        kept, alike = self.regular, {*self.alike}
        self.regular, self.work = True, self.work * max(n, 1)
        name = self.loop_of(kind, n)
        self.work //= max(n, 1)
        if not n:
            self.alike = alike  # the loops in a loop without steps do not run
        elif self.regular and n >= ENOUGH and kind != "while":
            self.alike.add(name)
        self.regular = self.regular and kept

    def body(self, name, arguments, own, taken, returned, effect):
        """Draw the function that makes a step, with separate names."""
        outer, results = dict(self.names), self.results
        self.names = {n: v._replace(own=False) for n, v in outer.items()} | own
        self.results = []
        with self.nested(f"def {name}({arguments}):"):
            texts = effect[1].split("; ") if effect else []
            while texts and texts[0].startswith("nonlocal"):
                self.add(texts.pop(0))
            self.add("\n".join([*filter(None, taken), *["t = t + 0.1"] * ("t" in own)]) or "pass")
            odd, self.odd_step = self.odd_step, self.chance(30)
            self.draw_statements(1, 3)
            self.odd_step = odd
            if texts:
                self.odd("effects")
                text = "\n".join(texts)
                if not self.vectors(own=True):
                    text = text.replace("{v} = ", "_ = ")
                if not self.scalars(own=True):
                    text = text.replace("{e} = ", "_ = ")
                self.add(self.fill(text))
            self.add(f"return {returned()}")
        self.names, self.results = outer, results

    def loop_of(self, kind, n):
        """Draw a loop of a kind, its step, and what takes its results apart; return its body."""
        name, result = self.fresh("body"), self.fresh("r")
        effect = self.choice(EFFECTS) if self.chance(20) else None
        if effect and effect[0]:
            self.add(self.fill(effect[0]))
        called = f"ft.checkpoint({name})" if self.chance(12) else name
        if kind == "map":
            return self.mapped(name, called, n, effect)
        names, first = self.carried()
        i, own = self.fresh("i"), dict(names)
        if kind == "while":
            names[i], first = Variable(kind="counter"), [*first, "0"]
        if kind != "scan":
            own[i] = Variable(kind="counter", own=False)
        form = "bare" if len(names) == 1 else self.choice(["tuple", "dict", "nested"])
        taken = [self.taken("c", names, form)]
        grows = {x for x in names if x == i or (x[0] == "n" and self.chance(50))}
        after = self.packed([f"{x} + 1" if x in grows else x for x in names], form)
        more, init = "", self.packed(first, form)
        if kind != "scan" and self.chance(30):
            self.odd("lengths that are values")  # those of some steps are answers
            more = f" + 2 * np.sum(np.real({self.choice(self.vectors())}) > 0.2)"
        if kind == "scan":
            self.scan(name, called, n, effect, (names, own, form, taken, after, init, result))
        else:
            arguments = "c" if kind == "while" else f"{i}, c"
            self.body(name, arguments, own, taken, lambda: after, effect)
            if kind == "while":
                test = self.fresh("test")
                with self.nested(f"def {test}(c):"):
                    self.add(f"{taken[0]}\nreturn {i} < {n}{more}")
                self.add(f"{result} = lo.while_loop({test}, {called}, {init})")
            else:
                low = self.choice([0, 1])
                self.add(f"{result} = lo.fori_loop({low}, {low + n}{more}, {called}, {init})")
            self.add(self.taken(result, names, form))
        self.names |= {x: v for x, v in names.items() if x[0] in "ve"}
        self.results += [x for x in names]
        self.finish(effect)
        return name

    def scan(self, name, called, n, effect, carry):
        names, own, form, taken, after, init, result = carry
        row, q, ys = self.fresh("row"), self.fresh("q"), self.fresh("ys")
        given, argument, apart, rows, numbers = [
            x.format(n=n, row=row, q=q) if isinstance(x, str) else x for x in self.choice(SOURCES)
        ]
        own |= {row: Variable((self.m,), own=False)} if rows else {}
        own |= {q: Variable(own=False)} if numbers else {}
        what = self.choice(["leaf", "None", "tuple", "dict", "number", "row", "sum"])

        def returned():
            mine = self.choice([x for x in names if x[0] in "vet"])
            other = self.choice(self.vectors())
            found = {
                "None": "None", "leaf": mine, "tuple": f"({mine}, {other})",
                "dict": f"dict(p={mine}, q=[{other}])", "row": other, "number": f"({mine}, 2.0)",
                "sum": f"np.sum({other} * {mine})",
            }[what]  # fmt: skip
            return f"{after}, {found}"

        self.body(name, f"c, {argument}", own, [*taken, apart], returned, effect)
        more = f", length={n}" if given == "None" else ""
        more += ", reverse=True" if self.chance(30) else ""
        self.add(f"{result}, {ys} = lo.scan({called}, {init}, {given}{more})")
        self.add(self.taken(result, names, form))
        if what in ("leaf", "row", "sum") and self.chance(30):
            self.add(f"{ys}[:1] = 0.5")
        self.results.append(ys)

    def mapped(self, name, called, n, effect):
        row, v, e, ys = [self.fresh(letter) for letter in ("row", "v", "e", "ys")]
        own = {row: Variable((self.m,), own=False), v: Variable((self.m,)), e: Variable()}
        returned = self.choice([v, e, f"({v}, {e})", f"dict(a={e}, b={v})"])
        taken = [f"{v}, {e} = {row} * 0.5, np.sum({row}) * 0.1"]
        self.body(name, row, own, taken, lambda: returned, effect)
        self.add(f"{ys} = lo.map({called}, {self.choice(['xs', 'TABLE'])}[:{n}])")
        self.results.append(ys)
        self.finish(effect)
        return name

    def finish(self, effect):
        if effect and effect[2]:
            self.results.append(self.fresh("z"))
            self.add(f"{self.results[-1]} = {effect[2]}")
        if self.chance(30):  # a variable of the step may be another one in a backward pass
            self.update()


@st.composite
def giving(draw):
    """Return programs with given loops; `plain` has the arrays outside of each."""
    drawing = Giving(draw)
    drawing.draw_statements(1, 3)
    g, m = np.random.default_rng(draw(below(1000))), drawing.m
    plain = {
        "TABLE": values((NROWS, m), drawing.kind, g), "COLUMN": values((NROWS,), drawing.kind, g),
        "COLUMNS": values((m, NROWS), drawing.kind, g),
    }  # fmt: skip
    return drawing.program(
        ["x", "y", "s", "xs", "A"], f"({', '.join(drawing.results) or 'x * s'},)",
        drawing.arguments(NROWS), helpers=drawing.helper, alike=drawing.alike, plain=plain,
    )  # fmt: skip
