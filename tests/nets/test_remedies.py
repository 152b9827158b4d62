"""The net of messages: each remedy is followed by a program, and none loses what it is about.

The tables in `_core.remedies` say what a message proposes; `mistakes` and `misuses` have a
program for each entry. Here these run under more transforms than they were written for, and the
sources are searched for what no message may say.
"""

import ast
import functools
import re
from collections import defaultdict
from pathlib import Path

import numpy as np
import pytest

import functier as ft
from functier._core import errors as _errors
from functier._core import hidden as _hidden
from functier._core import remedies as _remedies
from functier.random import _sampling
from support.mistake_runs import expected, gradient, named, run, slope, total
from support.mistakes import NUMBERS, ROWS, Mistake, mistakes
from support.misuses import ROWS as MISUSES

pytestmark = pytest.mark.inside("Texts of remedies are read from the tables.")

PACKAGE = Path(ft.__file__).parent


@functools.cache
def trees():
    """The syntax tree of each file of the package."""
    return {path: ast.parse(path.read_text()) for path in sorted(PACKAGE.rglob("*.py"))}


# ---- the programs of the tables under other transforms ----


def twice(xs):
    return np.stack([xs, xs[::-1]])


def jacobian(f, x):
    """The derivative by differences, with the axes of `x` last."""
    columns = []
    for i in np.ndindex(x.shape):
        t = np.zeros(x.shape)
        t[i] = 1.0
        columns.append(slope(f, x, t if x.ndim else 1.0))
    out = np.stack(columns, -1)
    return out.reshape(out.shape[:-1] + x.shape)


MORE = {
    "vmap vmap": (
        lambda f, xs: ft.vmap(ft.vmap(f))(twice(xs)),
        lambda f, xs: np.stack([expected("vmap", f, x) for x in twice(xs)]),
    ),
    "grad vmap": (
        lambda f, xs: ft.grad(total(ft.vmap(f)))(xs),
        lambda f, xs: np.stack([gradient(f, x) for x in xs]),
    ),
    "jvp vmap": (
        lambda f, xs: ft.jvp(ft.vmap(f), (xs,), (np.ones_like(xs),))[1],
        lambda f, xs: np.stack([slope(f, x, np.ones_like(x)) for x in xs]),
    ),
    "vmap jvp": (
        lambda f, xs: ft.vmap(lambda x: ft.jvp(f, (x,), (np.ones_like(x),))[1])(xs),
        lambda f, xs: np.stack([slope(f, x, np.ones_like(x)) for x in xs]),
    ),
    "linearize": (
        lambda f, xs: ft.linearize(f, xs[0])[1](np.ones_like(xs[0])),
        lambda f, xs: slope(f, xs[0], np.ones_like(xs[0])),
    ),
    "jacfwd": (lambda f, xs: ft.jacfwd(f)(xs[0]), lambda f, xs: jacobian(f, xs[0])),
    "jacrev": (lambda f, xs: ft.jacrev(f)(xs[0]), lambda f, xs: jacobian(f, xs[0])),
}
"""Transforms of a program by name, each with its result in plain NumPy, by differences."""


def modes_of(row):
    """The transforms that a row is for: where derivatives are among its own, all."""
    found = list(row.modes)
    if "vmap" in row.modes:
        found.append("vmap vmap")
    if "vmap grad" in row.modes:
        found += ["grad vmap", "jvp vmap", "vmap jvp"]
    if "jvp" in row.modes and "vmap grad" in row.modes:
        found += ["linearize", "jacfwd", "jacrev"]
    return found


def outcome(mode, f, xs):
    return MORE[mode][0](named(f), xs) if mode in MORE else run(mode, f, xs)


def wanted(mode, f, xs):
    return MORE[mode][1](f, xs) if mode in MORE else expected(mode, f, xs)


def same(result, expected):
    pairs = zip(*[v if isinstance(v, tuple) else (v,) for v in (result, expected)], strict=True)
    for r, e in pairs:
        assert not isinstance(r, ft.Tensor) or type(r) is ft.Tensor, f"{type(r)}"
        np.testing.assert_allclose(np.asarray(r), e, rtol=1e-5, atol=1e-7)


def refused(row, mode):
    """The text of the error that the wrong program ends with."""
    try:
        result = outcome(mode, row.wrong, row.xs)
    except ft.LevelError as error:
        return str(error)
    same(result, wanted(mode, row.wrong, row.xs))  # it happened to be right
    return "; write " + row.text.format_map(defaultdict(str))


def says_so(row):
    def check(text):
        assert re.search(row.pattern, text), f"{text} does not say {row.pattern}"
        assert "elem()" not in text

    return check


def judge(counts, rows, some=slice(None)):
    cases = [(row, mode) for row in rows for mode in modes_of(row)]
    for row, mode in cases[some]:
        case = f"{row.remedy} under {mode}"
        counts.judge(f"{case}, wrong", lambda row=row, mode=mode: refused(row, mode), says_so(row))
        goal = wanted(mode, row.wrong, row.xs)
        counts.judge(
            f"{case}, followed",
            lambda row=row, mode=mode: outcome(mode, row.right, row.xs),
            lambda result, goal=goal: same(result, goal),
        )


REASONS: dict[str, str] = {}
"""Nothing is refused: each remedy is right wherever its message is given."""


def test_remedies_followed_under_every_transform(verdicts, full):
    counts = verdicts("remedies", REASONS)

    judge(counts, ROWS, slice(None) if full else slice(0, None, 3))

    counts.settle()


PLANTED = mistakes(
    {"value": "x.elem() for {name}(x)", "mean": "numpy.mean(x) for {name}(x)"},
    ("value", lambda x: float(x) ** 2, lambda x: x.elem() ** 2, NUMBERS, ("vmap",)),
    ("value", lambda x: float(x) ** 2, lambda x: x.elem() ** 2, NUMBERS, ("grad",)),
    ("value", lambda x: float(x) ** 2, lambda x: x.elem() ** 2, NUMBERS, ("jvp",)),
    ("mean", lambda x: x.item() ** 2, lambda x: np.mean(x), NUMBERS, ("vmap",)),
)


@pytest.mark.parametrize("row", PLANTED, ids=lambda row: f"{row.remedy}-{row.modes[0]}")
def test_a_remedy_that_loses_the_level_is_found(verdicts, row):
    """Each message used to end in "or x.elem() for the value"."""
    from nets.verdicts import Verdicts

    counts = Verdicts("planted", REASONS)
    judge(counts, [row])
    assert any("followed" in wrong for wrong in counts.wrong)
    assert any(", wrong" in wrong for wrong in counts.wrong)  # and the message does not say it


# ---- each entry has a program ----

TABLES = {
    "GENERAL": _remedies.GENERAL,
    "BY_EXPRESSION": _remedies.BY_EXPRESSION,
    "CALLS": _remedies.CALLS,
}


ADOPTED = "GENERAL['str']", "GENERAL['repr']"
"""Remedies for adopted code alone, which `adopt/test_texts` follows."""


def unfollowed(tables, rows):
    """The entries of the tables that no program follows."""
    followed = {(id(row.table), row.remedy) for row in rows}
    found = [f"{n}[{k!r}]" for n, t in tables.items() for k in t if (id(t), k) not in followed]
    return [name for name in found if name not in ADOPTED]


def test_each_remedy_is_followed_by_a_program():
    assert not unfollowed(TABLES, ROWS)
    assert all(target in _remedies.CALLS for target in _remedies.SAME.values())


def test_a_remedy_without_a_program_is_found(monkeypatch):
    monkeypatch.setitem(_remedies.CALLS, "numpy.poly1d", "numpy.polyval(x, v)")
    assert unfollowed(TABLES, ROWS) == ["CALLS['numpy.poly1d']"]


def messages():
    found = []
    for row in MISUSES:
        with pytest.raises(row.error) as error:
            row.wrong()
        found.append(str(error.value))
    return found


def unsaid(texts):
    """Those of some texts that no message of a misuse has."""
    said = messages()
    return [text for text in texts if not any(text in message for message in said)]


TEXTS = {
    *_hidden.MEMORY.values(),
    *[text for name, text in _hidden.LAYOUT.items() if name not in _hidden.FORM],
    _sampling.DRAW_REMEDIES["vmap"],
    _sampling.FORWARD.format("jacfwd"),
} - {_hidden.MEMORY[name] for name in ("resize", "setfield", "setflags")}  # see tests/mutation


def test_each_text_of_the_other_tables_is_followed():
    assert not unsaid(TEXTS)
    assert unsaid(["x.newbyteorder() for x"])


# ---- what no message may say ----

ALLOWED = {
    ("hidden", "use x.elem()."): "a plain tensor, of no level: its value has all there is",
    ("points", "pass x.elem(), or a pattern"): "the same: a sparse Jacobian by a plain tensor",
    ("lying", "pass x.elem(), its plain array"): "a user's class, of no level",
    ("level", "x.elem() here"): "the call that is refused, and no proposal",
    ("recorder", "x.elem(), as no_dispatch has it"): "the same, in a program",
    ("level", "(x.elem() shows it)"): "the level has ended, and nothing is known of x any more",
}


def sentences(tree):
    """The texts of a module other than docstrings, with ``{}`` where something is put in."""
    docs = {
        id(node.value)
        for body in (getattr(n, "body", ()) for n in ast.walk(tree))
        if isinstance(body, list)
        for node in body
        if isinstance(node, ast.Expr)
    }
    inside = {id(v) for n in ast.walk(tree) if isinstance(n, ast.JoinedStr) for v in n.values}
    inside |= docs
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            parts = [v.value if isinstance(v, ast.Constant) else "{}" for v in node.values]
            yield "".join(map(str, parts))
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            if id(node) not in inside:
                yield node.value


def proposed(trees):
    """The texts that propose the value under a level, with the module."""
    return [(p.stem, text) for p, t in trees.items() for text in sentences(t) if "elem()" in text]


def beside(found, allowed):
    """Those of some texts that are not allowed."""
    return [(p, text) for p, text in found if not any(m == p and t in text for m, t in allowed)]


def test_no_message_proposes_the_value_under_a_level():
    found = proposed(trees())
    assert not beside(found, ALLOWED)
    for reason in ALLOWED:  # and no reason outlives its message
        assert beside(found, ALLOWED.keys() - {reason})


OLD = """
raise self.refusal(
    ConversionError,
    f"{how}(x) would turn a tensor of this level into a plain value; {instead()}, or x.elem() for "
    f"the value one level out",
)
"""


def test_a_message_that_proposes_it_is_found():
    assert beside(proposed({Path("_levels/level.py"): ast.parse(OLD)}), ALLOWED)


# ---- each error of a level says what to write ----

KINDS = {
    name
    for name, cls in vars(_errors).items()
    if isinstance(cls, type) and issubclass(cls, _errors.LevelError)
}
VERBS = (
    "write", "return", "pass", "compute", "call", "draw", "give", "make", "use", "take", "enter",
    "map", "index", "trace",
)  # fmt: skip
CLAUSE = re.compile(
    rf"(; |: |, or |, )({'|'.join(VERBS)})\b|; \{{\}}|\}} \{{\}}$|operation \{{\}}$"
)


def raised(tree):
    """The texts with which errors of a level are made, with the line."""
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call):
            continue
        named = getattr(node.func, "id", getattr(node.func, "attr", ""))
        args = node.args
        if named == "refusal" and len(args) == 2:
            args = args[1:]
        elif named not in KINDS or not args:
            continue
        if isinstance(args[0], ast.JoinedStr | ast.Constant):
            for text in sentences(ast.Module([ast.Assign([], args[0])], [])):
                yield node.lineno, text
                break


def silent(trees):
    return [
        f"{path.stem}:{line}: {text}"
        for path, tree in trees.items()
        for line, text in raised(tree)
        if not CLAUSE.search(text)
    ]


def test_each_error_of_a_level_says_what_to_write():
    assert sum(1 for tree in trees().values() for _ in raised(tree)) > 40
    assert not silent(trees())


def test_an_error_that_says_nothing_is_found():
    text = "raise self.refusal(LevelError, f'{x} is of another level')"
    assert silent({Path("x.py"): ast.parse(text)})
    assert isinstance(ROWS[0], Mistake)
