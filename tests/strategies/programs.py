"""Programs that are drawn: statements over an environment of names with types.

A statement is a text, with the statements of its block. Places of a template, such as ``{v}``, are
filled with names whose type fits; the rest of a text is NumPy code as it is read.
"""

import functools
import linecache
from collections import Counter
from contextlib import contextmanager
from typing import NamedTuple

import numpy as np
from hypothesis import event
from hypothesis import strategies as st

import functier as ft
import functier.numpy as fnp


class Statement(NamedTuple):
    """A statement of NumPy code, and those of its block; a loop has facts about its steps."""

    text: str
    block: tuple = ()
    loop: tuple = ()


class Variable(NamedTuple):
    """The type of a name.

    `shape` is that of an array; `kind` says what it is: an array, a Python number, a list, a
    counter. `view_of` names the array whose memory it shows, and `written` says that a statement
    has written to it. Inside a function, a name of another one is not its `own`.
    """

    shape: tuple = ()
    kind: str = "array"
    view_of: str = ""
    written: bool = False
    own: bool = True


def lines_of(statements, depth=0):
    """Return the lines of statements; this is the one way in which a program becomes text."""
    for statement in statements:
        yield from ["    " * depth + line for line in statement.text.split("\n")]
        yield from lines_of(statement.block, depth + 1)


def count_of(statements):
    """Return the number of statements, blocks included."""
    return sum([1 + count_of(statement.block) for statement in statements])


class Program:
    """A drawn program: a function `f` of some arguments, which are given at one point.

    `features` counts what it contains, and `about` has what a law needs to know of it.
    """

    numbers = 0

    def __init__(self, statements, parameters, result, args, features, helpers="", **about):
        self.statements, self.parameters, self.result = tuple(statements), parameters, result
        self.args, self.features, self.helpers, self.about = args, features, helpers, about
        Program.numbers += 1
        self.file = f"<drawn {Program.numbers}>"

    def __getattr__(self, name):
        try:
            return self.__dict__["about"][name]
        except KeyError:
            raise AttributeError(name) from None

    def __repr__(self):
        return f"\n{self.text}"

    @functools.cached_property
    def text(self):
        head = Statement(
            f"def f({', '.join(self.parameters)}):",
            (*self.statements, Statement(f"return {self.result}")),
        )
        lines = "\n".join([*lines_of([head]), ""])
        return f"{self.helpers}\n{lines}" if "helper" in lines else lines

    @property
    def size(self):
        return count_of(self.statements)

    @property
    def loops(self):
        """Return the first and the last line of the block of each loop, and its facts."""
        found = []

        def walk(statements, line):
            for statement in statements:
                first = line + statement.text.count("\n") + 1
                line = walk(statement.block, first)
                if statement.loop:
                    found.append((first, line - 1, *statement.loop))
            return line

        walk(self.statements, self.text[: self.text.index("def f(")].count("\n") + 2)
        return found

    def function(self, **names):
        """Return the function, whose global names are these; it has a source that can be read."""
        linecache.cache[self.file] = len(self.text), None, self.text.splitlines(True), self.file
        space = {"__name__": "drawn", "np": np, "fnp": fnp, "ft": ft, **names}
        exec(compile(self.text, self.file, "exec"), space)
        return space["f"]

    def __del__(self):
        linecache.cache.pop(self.file, None)


@functools.cache
def below(count):
    return st.integers(0, count - 1)


class Places(dict):
    """The places of one template: each is drawn when it is needed, and is the same name twice."""

    def __init__(self, drawing, given):
        super().__init__(given)
        self.drawing = drawing

    def __missing__(self, key):
        self[key] = found = self.drawing.place(key)
        return found


class Drawing:
    """A program that is being drawn.

    A kind of statement is one method, which adds statements and names; `kinds` lists those that may
    come next.
    """

    def __init__(self, draw):
        self.draw = draw
        self.block = []
        self.names = {}
        self.features = Counter()
        self.made = self.depth = 0

    # ---- draws ----

    def choice(self, options):
        """Return one of some options; a failing program shrinks to the first ones."""
        return options[self.draw(below(len(options)))]

    def chance(self, percent):
        return self.draw(below(100)) >= 100 - percent

    def sample(self, options, count):
        options = list(options)
        return [options.pop(self.draw(below(len(options)))) for _ in range(count)]

    # ---- names ----

    def fresh(self, letter):
        self.made += 1
        return f"{letter}{self.made}"

    def name(self, letter, *type_, **more):
        """Make a name with a type."""
        name = self.fresh(letter)
        self.names[name] = Variable(*type_, **more)
        return name

    def of(self, shape=None, kind="array", own=None):
        """Return the names of a type, the latest first."""
        return [
            name for name, v in reversed(self.names.items())
            if v.kind == kind and shape in (None, v.shape) and own in (None, v.own)
        ]  # fmt: skip

    @contextmanager
    def scope(self):
        """Forget the names of a block at its end: it may not have run."""
        before = dict(self.names)
        yield
        self.names = {n: v for n, v in self.names.items() if n in before}

    # ---- texts ----

    def place(self, key):
        """Return what a place of a template is filled with."""
        raise NotImplementedError(key)

    def fill(self, text, **given):
        """Return a template with names for its places."""
        return text.format_map(Places(self, given))

    def pick(self, texts, **given):
        return self.fill(self.choice(texts), **given)

    # ---- statements ----

    def add(self, text, *features):
        self.features.update(features)
        self.block.append(Statement(text))

    @contextmanager
    def nested(self, text, loop=lambda: ()):
        """Draw the block of a statement; one without statements passes."""
        outer, self.block = self.block, []
        self.depth += 1
        try:
            yield
        finally:
            block, self.block = self.block or [Statement("pass")], outer
            self.depth -= 1
        self.block.append(Statement(text, tuple(block), loop()))

    def kinds(self):
        """Return the kinds of statements that may come next, the simplest first."""
        raise NotImplementedError

    def draw_statements(self, least, most):
        """Draw so many statements. Each has its span of draws, which a failing program loses."""
        for i in range(most):
            if not self.draw(statement(self, i >= least and most)):
                break

    def program(self, *given, **more):
        """Return the program, and let hypothesis count what it contains."""
        self.features["nested blocks"] = depth_of(self.block)
        made = Program(self.block, *given, self.features, **more)
        event("statements", f"{made.size // 5 * 5} or more")
        for feature in self.features:
            event(feature)
        return made


@st.composite
def statement(draw, drawing, last):
    """Draw a statement of some kind; where it may be the `last` one, return if there is another."""
    if last and not draw(below(last)):
        return False
    outer, drawing.draw = drawing.draw, draw
    kind = drawing.choice(drawing.kinds())
    drawing.features[kind.__name__.rstrip("_")] += 1
    kind()
    drawing.draw = outer
    return True


def depth_of(statements):
    return max([1 + depth_of(x.block) for x in statements if x.block], default=0)
