"""Draw a program with given loops: the source of a function, and what its loops are like."""

import random
from collections.abc import Callable
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np

from ..looping.draw import values
from .texts import (
    ASKING,
    CHOICES,
    EFFECTS,
    ERRORS,
    GUARDS,
    HELPERS,
    INSIDE,
    OF_COUNTER,
    REAL,
    REAL_SCALARS,
    SCALARS,
    TESTS,
    VECTORS,
)  # fmt: skip

ENOUGH = 14
"""So many steps make a loop that is recorded by one of them."""

ROWS = 41


class Program(NamedTuple):
    """A drawn program: `f` takes `x`, `y`, `s`, `xs` and `A`.

    `regular` has the names of the bodies of loops without effects and guards.
    """

    text: str
    args: tuple
    regular: set[str]
    features: set[str]
    plain: dict[str, Any]


class Scope(NamedTuple):
    """The names that a function sees: of vectors, of numbers, and those that it may assign to."""

    vectors: list[str]
    scalars: list[str]
    own: set[str]
    counters: list[str]
    t: bool = False

    def inner(
        self, vectors: list[str], scalars: list[str], counters: list[str], t: bool
    ) -> "Scope":
        return Scope(
            self.vectors + vectors * 2, self.scalars + scalars * 2, {*vectors, *scalars},
            self.counters + counters * 2, t,
        )  # fmt: skip


class Draw:
    """A program that is being drawn."""

    def __init__(self, r: random.Random):
        self.r = r
        self.m = r.choice([2, 3])
        self.kind = r.choice(["", "", "", "", "", "float32", "complex"])
        self.real = "np.real" if self.kind == "complex" else ""
        self.lines: list[str] = []
        self.depth, self.made, self.work = 1, 0, 1
        self.features: set[str] = set()
        self.regular: set[str] = set()
        self.is_regular = True
        self.scope = Scope(["x", "y"], ["s"], {"x", "y", "s"}, [])
        self.results: list[str] = []

    # ---- parts ----

    def fresh(self, letter: str) -> str:
        self.made += 1
        return f"{letter}{self.made}"

    def add(self, text: str) -> None:
        for line in text.split("\n"):
            self.lines.append("    " * self.depth + line)

    def odd(self, feature: str) -> None:
        self.is_regular = False
        self.features.add(feature)

    def target(self, names: list[str]) -> str:
        own = [name for name in names if name in self.scope.own]
        return self.r.choice(own) if own else self.r.choice(names)

    def fill(self, text: str, **more: Any) -> str:
        """Return a statement or expression with names for its places; {{v}} is assigned to."""
        r, scope = self.r, self.scope
        given: dict[str, Any] = {
            "v": self.target(scope.vectors), "w": r.choice(scope.vectors),
            "e": self.target(scope.scalars), "m": self.m, "real": self.real,
            "a": r.choice(["0.3", *scope.scalars, *scope.counters]),
            "c": r.choice(["0.3", "0.5", "-0.4", "0.8"]),
        }  # fmt: skip
        if "{test}" in text:
            given["test"] = r.choice(TESTS).format(**given)
        return text.format(**given | more)

    def vector(self) -> str:
        return self.fill(self.r.choice(VECTORS if self.kind == "complex" else VECTORS + REAL))

    def scalar(self) -> str:
        many = SCALARS if self.kind == "complex" else SCALARS + REAL_SCALARS
        return self.fill(self.r.choice(many))

    def can(self, text: str) -> bool:
        """Tell if the function assigns to what a statement assigns to."""
        scope = self.scope
        for place, names in (("{v}", scope.vectors), ("{e}", scope.scalars)):
            if place in text and not scope.own & {*names}:
                return False
        return True

    def statement(self, texts: Any, **more: Any) -> bool:
        text = self.r.choice([text for text in texts if self.can(text)] or [""])
        if not text:
            return False
        self.add("\n".join(self.fill(text, **more).split("; ")))
        return True

    # ---- statements of a step ----

    def update(self) -> None:
        own = self.scope.own
        names = [name for name in own if name in self.scope.vectors]
        others = [name for name in own if name in self.scope.scalars and name != "t"]
        if names and (self.r.random() < 0.6 or not others):
            self.add(f"{self.r.choice(sorted(names))} = {self.vector()}")
        elif others:
            self.add(f"{self.r.choice(sorted(others))} = {self.scalar()}")

    def rotate(self) -> None:
        """Let values become tensors one step after the other, or change places."""
        names = sorted([name for name in self.scope.own if name in self.scope.vectors])
        if len(names) < 2:
            return self.update()
        self.r.shuffle(names)
        last = self.vector() if self.r.random() < 0.7 else names[0]
        self.add(f"{', '.join(names)} = {', '.join(names[1:])}, {last}")
        return None

    def inside(self) -> None:
        if self.statement(INSIDE):
            self.features.add("inside")

    def choose(self) -> None:
        if self.statement(CHOICES):
            self.odd("choices")

    def counter(self) -> None:
        if self.scope.counters:
            self.statement(OF_COUNTER, i=self.r.choice(self.scope.counters))

    def asking(self) -> None:
        if self.scope.counters and self.statement(ASKING, i=self.r.choice(self.scope.counters)):
            self.odd("asking")

    def guard(self) -> None:
        texts = [text for text in GUARDS if self.scope.t or "(t)" not in text]
        if self.statement(texts):
            self.odd("guards")

    def error(self) -> None:
        if self.scope.t and self.kind == "":
            if self.statement(ERRORS, d=self.r.choice([0.3, 0.9, 1.2, 2.0, 3.5])):
                self.odd("guards")

    def python(self) -> None:
        """Draw a Python loop in the step."""
        k = self.fresh("k")
        self.add(f"for {k} in range({self.r.choice([1, 2, 3])}):")
        with self.indented():
            self.update()

    @contextmanager
    def indented(self) -> Any:
        self.depth += 1
        before = len(self.lines)
        yield
        if len(self.lines) == before:
            self.add("pass")
        self.depth -= 1

    # ---- loops ----

    def steps(self) -> int:
        r = self.r
        if self.work > 1:
            return (
                r.choice([0, 1, 3, 9, 10, 11, 14, 15]) if self.work < 20 else r.choice([2, 9, 14])
            )
        return r.choice([0, 1, 2, 3, 6, 7, 8, 9, 10, 11, 12, 14, 15, 16, 17, 20, 24, 33, 40])

    def carried(self) -> tuple[list[str], list[str], list[str], list[str]]:
        """Return the names of a carry, its first values, and which are vectors and numbers."""
        r = self.r
        names, first, vectors, scalars = [], [], [], []
        of = {"complex": ", complex", "float32": ", np.float32"}.get(self.kind, "")
        for what in r.choice(["v", "v", "e", "ve", "ve", "vve", "vv", "vvv", "vee", "vet", "vt"]):
            name = "t" if what == "t" else self.fresh(what)
            names.append(name)
            if what == "v":
                vectors.append(name)
                zeros = [f"np.zeros({self.m}{of})", f"np.full({self.m}, 0.25{of})"]
                first.append(r.choice([*self.scope.vectors * 2, *zeros, self.vector()]))
            elif what == "e":
                scalars.append(name)
                first.append(r.choice([*self.scope.scalars * 2, "0.0", "0.5", self.scalar()]))
            else:
                scalars.append(name)
                first.append("0.0")
        if r.random() < 0.15:
            names.append(self.fresh("n"))
            first.append(r.choice(["1", "0", "np.int64(2)", "True", "np.arange(3)"]))
        if self.kind and any([x[0].isdigit() for x in first]):
            self.odd("numbers of Python beside other dtypes")  # arrays do not keep them
        return names, first, vectors, scalars

    def packed(self, names: list[str], form: str, keys: list[str]) -> str:
        if form == "bare":
            return names[0]
        if form == "dict":
            return "{" + ", ".join(f"{k!r}: {name}" for k, name in zip(keys, names)) + "}"
        if form == "nested":
            return f"(({names[0]}, [{', '.join(names[1:])}]), None)"
        return f"({', '.join(names)},)"

    def taken(self, name: str, names: list[str], form: str, keys: list[str]) -> str:
        """Return the statement that takes a carry apart."""
        if form == "dict":
            return "; ".join(f"{own} = {name}[{k!r}]" for k, own in zip(keys, names))
        return f"{self.packed(names, form, keys)} = {name}".replace(", None)", ", _)")

    def loop(self) -> None:
        r = self.r
        kind = r.choice(["scan", "scan", "scan", "fori", "fori", "fori", "map", "while", "assoc"])
        n = self.steps()
        if n * self.work > 160 or (kind == "assoc" and self.work > 1):
            return self.update()
        if kind == "assoc":
            return self.associative(n)
        before, regular = self.is_regular, {*self.regular}
        self.is_regular, self.work = True, self.work * max(n, 1)
        name = {"map": self.map, "scan": self.scan}.get(kind, self.counting)(n, kind)
        self.work //= max(n, 1)
        if not n:
            self.regular = regular  # the loops in a loop without steps do not run
        elif self.is_regular and n >= ENOUGH and kind != "while":
            self.regular.add(name)
        self.is_regular = self.is_regular and before
        return None

    def associative(self, n: int) -> None:
        fn = self.r.choice(["np.add", "np.multiply", "lambda a, b: a + b + 0.1 * a * b"])
        name = self.fresh("ys")
        self.add(f"{name} = lo.associative_scan({fn}, xs[:{n}])")
        self.results.append(name)

    def body(self, name: str, arguments: str, scope: Scope, returned: Callable[[], str],
             taken: str, effect: tuple | None) -> None:  # fmt: skip
        """Draw the function that makes a step."""
        r, outer, results = self.r, self.scope, self.results
        self.add(f"def {name}({arguments}):")
        self.scope, self.results = scope, []
        with self.indented():
            texts = effect[1].split("; ") if effect else []
            while texts and texts[0].startswith("nonlocal"):
                self.add(texts.pop(0))
            if taken:
                self.add(taken)
            if scope.t:
                self.add("t = t + 0.1")
            kinds = [self.update, self.update, self.update, self.rotate, self.inside, self.python]
            kinds += [self.counter] * 2
            kinds += [self.asking, self.choose, self.guard, self.guard, self.error] * (
                r.random() < 0.3
            )
            kinds += [self.loop] * (self.depth < 5)
            for _ in range(r.choice([1, 2, 2, 3])):
                r.choice(kinds)()
            if texts:
                self.odd("effects")
                text = "\n".join(texts)
                if "{v}" in text and not scope.own & {*scope.vectors}:
                    text = text.replace("{v} = ", "_ = ")
                if "{e}" in text and not scope.own & {*scope.scalars}:
                    text = text.replace("{e} = ", "_ = ")
                self.add(self.fill(text))
            self.add(f"return {returned()}")
        self.scope, self.results = outer, results

    def effect(self) -> tuple | None:
        if self.r.random() > 0.2:
            return None
        first, text, last = self.r.choice(EFFECTS)
        if first:
            self.add(self.fill(first))
        return first, text, last

    def called(self, name: str) -> str:
        return f"ft.checkpoint({name})" if self.r.random() < 0.12 else name

    def finish(self, names: list[str], vectors: list[str], scalars: list[str],
               effect: tuple | None) -> None:  # fmt: skip
        """Let the function go on with the carry after a loop."""
        self.scope.vectors.extend(vectors)
        self.scope.scalars.extend([name for name in scalars if name != "t"])
        self.results += names
        if effect and effect[2]:
            self.results.append(self.fresh("z"))
            self.add(f"{self.results[-1]} = {effect[2]}")
        if self.r.random() < 0.3:  # a variable of the step may be another one in a backward pass
            self.update()

    def counting(self, n: int, kind: str) -> str:
        """Draw a fori_loop, or a while_loop."""
        r = self.r
        name, i = self.fresh("body"), self.fresh("i")
        names, first, vectors, scalars = self.carried()
        if kind == "while":
            names, first = [*names, i], [*first, "0"]
        form = "bare" if len(names) == 1 else r.choice(["tuple", "tuple", "dict", "nested"])
        keys = r.sample(["a", "b", "c", "d", "e"], len(names))
        scope = self.scope.inner(vectors, scalars, [i], "t" in names)
        effect = self.effect()
        taken = self.taken("c", names, form, keys)
        after = [f"{x} + 1" if x == i or (x[0] == "n" and r.random() < 0.5) else x for x in names]
        if len(vectors) == 2 and r.random() < 0.15:
            a, b = [names.index(x) for x in vectors]
            after[a], after[b] = after[b], after[a]
        packed = self.packed(after, form, keys)
        init = self.packed(first, form, keys)
        self.body(name, "c" if kind == "while" else f"{i}, c", scope, lambda: packed, taken, effect)
        result = self.fresh("r")
        more = ""
        if self.made % 3 == 0:
            self.odd("lengths that are values")  # those of some steps are answers
            more = f" + 2 * np.sum(np.real({self.scope.vectors[0]}) > 0.2)"
        if kind == "while":
            self.features.add("while")
            test = self.fresh("test")
            self.add(f"def {test}(c):")
            with self.indented():
                self.add(taken)
                self.add(f"return {i} < {n}{more}")
            self.add(f"{result} = lo.while_loop({test}, {self.called(name)}, {init})")
        else:
            low = r.choice([0, 0, 1])
            end = f"{low + n}{more}"
            self.add(f"{result} = lo.fori_loop({low}, {end}, {self.called(name)}, {init})")
        self.add(self.taken(result, names, form, keys))
        self.finish(names, vectors, scalars, effect)
        return name

    def scan(self, n: int, kind: str) -> str:
        r = self.r
        name = self.fresh("body")
        names, first, vectors, scalars = self.carried()
        form = "bare" if len(names) == 1 else r.choice(["tuple", "tuple", "dict", "nested"])
        keys = r.sample(["a", "b", "c", "d"], len(names))
        row, c = self.fresh("row"), self.fresh("q")
        given, argument, more = r.choice([
            ("None", "_", ([], [])), (f"xs[:{n}]", row, ([row], [])),
            (f"xs[1:{n} + 1]", row, ([row], [])),
            (f"(xs[:{n}], COLUMN[:{n}])", "both", ([row], [c])),
            (f"TABLE[:{n}]", row, ([row], [])), (f"COLUMN[:{n}]", c, ([], [c])),
            (f"dict(a=xs[:{n}], b=xs[:{n}, 0])", "pair", ([row], [c])),
            (f"np.arange({n})", c, ([], [c])),
        ])  # fmt: skip
        scope = self.scope.inner(vectors, scalars, [], "t" in names)
        scope.vectors.extend(more[0] * 2)
        scope.scalars.extend(more[1] * 2)
        effect = self.effect()
        taken = self.taken("c", names, form, keys)
        if argument == "both":
            taken += f"\n{row}, {c} = both"
        if argument == "pair":
            taken += f"\n{row}, {c} = pair['a'], pair['b']"
        after = [f"{x} + 1" if x[0] == "n" and r.random() < 0.5 else x for x in names]
        what = r.choice(["None", "leaf", "leaf", "tuple", "dict", "number", "row", "sum"])

        def returned() -> str:
            own = r.choice(vectors + scalars)
            other = r.choice(scope.vectors)
            number = r.choice(["0.5", "1", f"({own}, 2.0)"])
            ys = {
                "None": "None", "leaf": own, "tuple": f"({own}, {other})",
                "dict": f"dict(p={own}, q=[{other}])", "row": other, "number": number,
                "sum": f"np.sum({other} * {own})",
            }[what]  # fmt: skip
            return f"{self.packed(after, form, keys)}, {ys}"

        self.body(name, f"c, {argument}", scope, returned, taken, effect)
        result, ys = self.fresh("r"), self.fresh("ys")
        more_given = f", length={n}" if given == "None" else ""
        if r.random() < 0.3:
            more_given += ", reverse=True"
        init = self.packed(first, form, keys)
        self.add(f"{result}, {ys} = lo.scan({self.called(name)}, {init}, {given}{more_given})")
        self.add(self.taken(result, names, form, keys))
        if what in ("leaf", "row", "sum") and self.made % 3 == 0:
            self.add(f"{ys}[:1] = 0.5")
        self.finish([*names, ys], vectors, scalars, effect)
        return name

    def map(self, n: int, kind: str) -> str:
        name, row = self.fresh("body"), self.fresh("row")
        v, e = self.fresh("v"), self.fresh("e")
        scope = self.scope.inner([row, v], [e], [], False)
        scope.own.discard(row)
        effect = self.effect()
        source = self.r.choice(["xs", "xs", "TABLE"])
        returned = self.r.choice([v, e, f"({v}, {e})", f"dict(a={e}, b={v})"])
        taken = f"{v}, {e} = {row} * 0.5, np.sum({row}) * 0.1"
        self.body(name, row, scope, lambda: returned, taken, effect)
        ys = self.fresh("ys")
        self.add(f"{ys} = lo.map({self.called(name)}, {source}[:{n}])")
        self.finish([ys], [], [], effect)
        return name

    def in_branch(self) -> None:
        """Draw a loop in a branch of `cond`."""
        v = self.fresh("v")
        n = self.steps()
        fn = self.fresh("arm")
        self.add(f"def {fn}(u):")
        with self.indented():
            self.add(f"return lo.fori_loop(0, {n}, lambda i, c: {'c * 0.9 + 0.01 * i'}, u)")
        test = self.fill("{test}")
        self.add(
            f"{v} = ft.cond({test}, {fn}, lambda u: u * 0.5, {self.r.choice(self.scope.vectors)})"
        )
        self.scope.vectors.append(v)
        self.results.append(v)

    # ---- the whole ----

    def program(self) -> Program:
        r = self.r
        for _ in range(r.choice([0, 1])):
            name = self.fresh("v")
            self.add(f"{name} = {self.vector()}")
            self.scope.vectors.append(name)
        for _ in range(r.choice([1, 1, 1, 2])):
            self.loop()
        if r.random() < 0.1:
            self.in_branch()
        if r.random() < 0.1:
            self.add("for turn in range(2):")
            with self.indented():
                self.loop()
        self.add(f"return ({', '.join(self.results) or 'x * s'},)")
        text = "\n".join([r.choice(HELPERS), "def f(x, y, s, xs, A):", *self.lines]) + "\n"
        g = np.random.default_rng(r.randrange(1 << 30))
        m = self.m
        shapes = (m,), (m,), (), (ROWS, m), (m, m)
        args = tuple([values(shape, self.kind, g) for shape in shapes])
        plain = {
            "TABLE": values((ROWS, m), self.kind, g), "COLUMN": values((ROWS,), self.kind, g),
            "COLUMNS": values((m, ROWS), self.kind, g),
        }  # fmt: skip
        return Program(text, args, self.regular, self.features, plain)


def draw(seed: int, number: int) -> Program:
    return Draw(random.Random(hash((seed, number)))).program()
