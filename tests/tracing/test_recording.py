"""A value that is not known yet: right when the program runs, or refused, and never a zero.

`linearize` records with tensors that have a form and no value. Here they are asked for their values
in all ways there are: by each row of the sample table, and by each way out of a tensor.
"""

import copy
import io
import math
import operator
import pickle
import statistics
import sys
from collections.abc import Callable

import numpy as np
import optree
import pytest

import functier as ft
import samples
from functier._levels.runs import run
from functier._mutation.array import settle
from functier._transforms.tracing.level import TraceLevel
from functier._transforms.tracing.program import Program
from support.basics import close, equal, in_thread, raises, silent
from support.nearness import outputs
from support.nearness import same as agree
from support.turns import families

pytestmark = pytest.mark.inside("The level that records for `linearize` has no public name.")

X = np.array([0.5, -1.5, 2.0])
T = np.array([1.0, 0.5, -2.0])

# ---- every operation ----


def recorded(call, values, unknown):
    """Return the results of a call with some values unknown, and their forms before."""

    def body(level, _):
        tensors = level.unknown([np.zeros(values[i].shape, values[i].dtype)[()] for i in unknown])
        given = list(values)
        for i, x in zip(unknown, tensors):
            given[i] = x
        leaves = [settle(x) for x in optree.tree_leaves(call(*given))]  # as transforms do
        mine = [type(x) is level.cls for x in leaves]
        forms = [(x.shape, x.dtype) if own else None for x, own in zip(leaves, mine)]
        steps = [x._extra if own else None for x, own in zip(leaves, mine)]
        return leaves, forms, Program([x._extra for x in tensors], steps)

    level = TraceLevel.prepare("trace(f)", "dead", sys._getframe(), [])
    leaves, forms, program = run(level, body)
    found = program([values[i] for i in unknown])
    return [x if form is None else y for x, y, form in zip(leaves, found, forms)], forms


REFUSALS = ft.LevelError, ValueError, np.linalg.LinAlgError
"""NumPy refuses zeros as weights, and as a matrix to invert."""


def check_recorded(row):
    """The number of times that the row was recorded; results are those of the call, forms too."""
    values, right = list(row.leaves), 0
    expected = outputs(row.call(*values))
    choices = {*((i,) for i in range(len(values))), tuple(range(len(values)))} - {()}
    for unknown in choices:
        try:
            results, forms = recorded(row.call, values, unknown)
        except REFUSALS:
            continue
        right += 1
        agree(results, expected, 1e-3 if any(y.dtype.itemsize < 8 for y in expected) else 1e-6)
        assert forms == [form and (y.shape, y.dtype) for y, form in zip(expected, forms)]
    return right


@pytest.mark.parametrize("family", families())
def test_every_operation_is_right_or_refused(family, rows_of):
    right = 0
    with silent():
        for name, row in rows_of(family).items():
            try:
                right += check_recorded(row)
            except Exception as error:
                error.add_note(name)
                raise
    assert right


@pytest.mark.parametrize("func", [np.unique, np.nonzero, np.repeat, np.where, operator.getitem])
def test_the_check_finds_a_form_that_zeros_have_told(monkeypatch, func):
    from functier.testing import operations

    named = samples.named().items()
    rows = [row for name, row in named if row.func is func or f".{func.__name__}-" in name]
    monkeypatch.setattr(operations()[func], "by_value", None)

    def found(row):
        try:
            check_recorded(row)
        except AssertionError:
            return True
        return False

    assert any(found(row) for row in rows)


# ---- every way to ask for a value ----


def with_rule(rule):
    """A function whose tangent is ``rule(x, t)``."""

    @ft.custom_jvp
    def f(x):
        return x * 1.0

    f.defjvp(lambda primals, tangents: (primals[0] * 1.0, rule(*primals, *tangents)))
    return f


def by_function(rule):
    class Ruled(ft.Function):
        @staticmethod
        def forward(x):
            return x * 1.0

        @staticmethod
        def setup_context(ctx, inputs, output):
            ctx.save_for_forward(*inputs)

        @staticmethod
        def jvp(ctx, t):
            return rule(ctx.saved_tensors[0], t)

    return Ruled.apply


class Looking(ft.modes.TensorDispatchMode):
    """A mode that shows what it sees."""

    def __init__(self):
        self.seen = []

    def __tensor_dispatch__(self, func, types, args=(), kwargs=None):
        self.seen += [np.array(a) for a in args if isinstance(a, np.ndarray)]
        return func(*args, **(kwargs or {}))


def seen(x, t):
    """Tell if a mode is shown zeros."""
    with Looking() as mode:
        t * x + np.sum(t)
    return sum(float(not np.any(a)) for a in mode.seen)


def fill_buffer(x, t):
    y = np.zeros(3)
    y[:] = t
    return y


def set_item(x, t):
    t[0] = 1.0
    return t


def scanned(x, t):
    return ft.scan(lambda c, a: (c + a, c * 2.0), t[0], t)[1]


def printed(x, t):
    out = io.StringIO()
    print(t, file=out)
    return float("0." in out.getvalue())


def with_generator(draw):
    return lambda x, t: draw(ft.random.default_rng(0), t)


def by_index(x, t):
    """An index that is known later: a whole number, and no form depends on it."""
    return np.take(x, (t > 0).astype(int))


def hooked(x, t):
    ft.register_hook(t, print)
    return t


def checkpointed(x, t):
    return ft.checkpoint(lambda t: np.sin(x) * t)(t)


def differentiated(x, t):
    return ft.grad(lambda v: np.sum(v * v))(t)


def vmapped(x, t):
    return ft.vmap(lambda a, b: a * b)(x, t)


def vmapped_branch(x, t):
    f = lambda a, b: ft.cond(a > 0, lambda b: 2.0 * b, lambda b: -b, b)  # noqa: E731
    return ft.vmap(f)(x, t)


@ft.custom_vmap
def doubled(t):
    return 2.0 * t


@doubled.def_vmap
def _doubled(size, batched, t):
    return 2.0 * t, batched[0]


WAYS: dict[str, Callable] = {
    "elem": lambda x, t: t.elem(),
    "unwrap": lambda x, t: ft.unwrap(t),
    "unwrap of the class": lambda x, t: type(t).unwrap(t),
    "unwrap all": lambda x, t: ft.unwrap(t, levels=None),
    "unwrap in a list": lambda x, t: ft.unwrap([t])[0],
    "unwrap all in a vmap": lambda x, t: ft.vmap(lambda a: a * 0 + ft.unwrap(a, None)[0])(t),
    "float": lambda x, t: float(t[0]),
    "complex": lambda x, t: complex(t[0]).real,
    "int": lambda x, t: int(t[0]),
    "bool": lambda x, t: float(bool(t[0] > 0)),
    "index": lambda x, t: x[t[0].astype(int)],
    "operator.index": lambda x, t: operator.index(t[0].astype(int)),
    "math": lambda x, t: math.sin(t[0]),
    "math.floor": lambda x, t: math.floor(t[0]),
    "round": lambda x, t: round(t[0]),
    "round to digits": lambda x, t: round(t[0], 1),
    "statistics": lambda x, t: statistics.mean(t),
    "max of Python": lambda x, t: max(t),
    "sorted": lambda x, t: np.stack(sorted(t)),
    "sum of Python": lambda x, t: sum(t),
    "contains": lambda x, t: float(2.0 in t),
    "a condition": lambda x, t: t if t[0] > 0 else -t,
    "asarray": lambda x, t: np.asarray(t),
    "array": lambda x, t: np.array([t, t])[0],
    "ascontiguousarray": lambda x, t: np.ascontiguousarray(t),
    "fromiter": lambda x, t: np.fromiter(t, float),
    "frombuffer": lambda x, t: np.frombuffer(t),
    "memoryview": lambda x, t: np.asarray(memoryview(t)),
    "from_dlpack": lambda x, t: np.from_dlpack(t),
    "tobytes": lambda x, t: np.frombuffer(t.tobytes()),
    "tolist": lambda x, t: np.array(t.tolist()),
    "item": lambda x, t: t[0].item(),
    "flat": lambda x, t: np.stack(list(t.flat)),
    "iteration": lambda x, t: np.stack(list(t)),
    "unpacking": lambda x, t: np.stack([*t]),
    "format": lambda x, t: float(f"{t[0]:.3f}"),
    "str": lambda x, t: float("0." in str(t)),
    "repr": lambda x, t: float("0." in repr(t)),
    "print": printed,
    "array2string": lambda x, t: float("0." in np.array2string(t)),
    "array_repr in a vmap": lambda x, t: ft.vmap(lambda a: a * ("0." in repr(a)))(t),
    "copy": lambda x, t: copy.copy(t),
    "deepcopy": lambda x, t: copy.deepcopy([t])[0],
    "pickle": lambda x, t: pickle.loads(pickle.dumps(t)),
    "pickle 0": lambda x, t: pickle.loads(pickle.dumps(t, 0)),
    "x[t] of an array": lambda x, t: x[t > 0].sum(),
    "a mask": lambda x, t: np.sum(t[t > 0]),
    "how many a mask chooses": lambda x, t: float(len(t[t > 0])),
    "how many are not zero": lambda x, t: float(len(np.flatnonzero(t))),
    "how many are unique": lambda x, t: float(np.size(np.unique(t))),
    "where alone": lambda x, t: float(len(np.where(t)[0])),
    "an index that comes later": by_index,
    "zeros of a shape": lambda x, t: np.sum(np.zeros(t[0].astype(int) + 1)),
    "arange": lambda x, t: np.sum(np.arange(t[0])),
    "linspace": lambda x, t: np.sum(np.linspace(0, 1, t[0].astype(int))),
    "full": lambda x, t: np.full(3, t[0]),
    "reshape": lambda x, t: x.reshape(t[0].astype(int), 3)[0],
    "repeat": lambda x, t: np.sum(np.repeat(x, np.abs(t).astype(int))),
    "roll": lambda x, t: np.roll(x, t[0].astype(int)),
    "split": lambda x, t: np.split(x, t[0].astype(int))[0],
    "axis": lambda x, t: np.sum(x, axis=t[0].astype(int) - 1),
    "range": lambda x, t: float(len(range(t[0].astype(int)))),
    "a list": lambda x, t: [1.0, 2.0, 3.0][t[0].astype(int)],
    "where": lambda x, t: np.where(t > 0, t, -t),
    "select": lambda x, t: np.select([t > 0.7, t > 0], [t, x], -t),
    "sort": lambda x, t: np.sort(t),
    "sort in place": lambda x, t: t.sort() or t,
    "argmax": lambda x, t: np.argmax(t) * 1.0,
    "clip": lambda x, t: np.clip(t, 0, 1),
    "isclose": lambda x, t: np.isclose(t, x) * 1.0,
    "allclose": lambda x, t: np.allclose(t, 0) * 1.0,
    "array_equal": lambda x, t: np.array_equal(t, np.zeros(3)) * 1.0,
    "any": lambda x, t: np.any(t) * 1.0,
    "equal": lambda x, t: (t == 0) * 1.0,
    "sign": lambda x, t: np.sign(t),
    "initial": lambda x, t: np.sum(x, initial=t[0]),
    "putmask": lambda x, t: np.putmask(x.copy(), t > 0, 0.0),
    "written to an array": fill_buffer,
    "copyto": lambda x, t: np.copyto(np.zeros(3), t),
    "out": lambda x, t: np.add(t, t, out=np.zeros(3)),
    "setitem": set_item,
    "norm": lambda x, t: np.linalg.norm(t),
    "solve": lambda x, t: np.linalg.solve(np.diag(x), t),
    "solve by it": lambda x, t: np.linalg.solve(np.diag(t), x),
    "rank": lambda x, t: np.linalg.matrix_rank(np.diag(t)) * 1.0,
    "cond": lambda x, t: ft.cond(t[0] > 0, lambda t: t, lambda t: -t, t),
    "switch": lambda x, t: ft.switch(t[0].astype(int), [np.sin, np.cos], x),
    "while_loop": lambda x, t: ft.while_loop(lambda v: np.sum(v) < 1, lambda v: v + 1, t),
    "fori_loop": lambda x, t: ft.fori_loop(0, t[0].astype(int), lambda i, y: y + 1, x),
    "scan": scanned,
    "normal": with_generator(lambda rng, t: rng.normal(t)),
    "gamma": with_generator(lambda rng, t: rng.gamma(np.abs(t) + 1)),
    "a size": with_generator(lambda rng, t: np.sum(rng.normal(size=t[0].astype(int)))),
    "choice": with_generator(lambda rng, t: rng.choice(t)),
    "choice by p": with_generator(lambda rng, t: rng.choice(3, p=np.abs(t) / np.sum(np.abs(t)))),
    "permutation": with_generator(lambda rng, t: rng.permutation(t)),
    "NumPy's normal": lambda x, t: np.random.default_rng(0).normal(t),
    "NumPy's choice": lambda x, t: np.random.default_rng(0).choice(t),
    "psum": lambda x, t: ft.vmap(lambda a: ft.psum(a, "i"), axis_name="i")(t),
    "pmax": lambda x, t: ft.vmap(lambda a: ft.pmax(a, "i"), axis_name="i")(t),
    "all_gather": lambda x, t: ft.vmap(lambda a: ft.all_gather(a, "i"), axis_name="i")(t)[0],
    "psum_scatter": lambda x, t: ft.vmap(
        lambda a, b: ft.psum_scatter(a * b, "i"), (None, 0), axis_name="i"
    )(t, x),
    "vmap": vmapped,
    "a branch in a vmap": vmapped_branch,
    "custom_vmap": lambda x, t: ft.vmap(doubled)(t),
    "grad": differentiated,
    "grad by another value": lambda x, t: ft.grad(lambda v: np.sum(v * t))(x),
    "jvp": lambda x, t: ft.jvp(np.sin, (x,), (t,))[1],
    "linearize": lambda x, t: ft.linearize(np.sin, x)[1](t),
    "linearize at it": lambda x, t: ft.linearize(np.sin, t)[1](x),
    "linear_transpose": lambda x, t: ft.linear_transpose(lambda v: x * v, x)(t)[0],
    "checkpoint": checkpointed,
    "stop_gradient": lambda x, t: ft.stop_gradient(t),
    "requires_grad": lambda x, t: float(ft.requires_grad(t)),
    "a hook": hooked,
    "a mode": seen,
    "a tensor": lambda x, t: ft.tensor(t).elem(),
    "a thread": lambda x, t: in_thread(lambda: float(t[0])),
    "a sum in a thread": lambda x, t: in_thread(lambda: t * x),
    "as_subclass": lambda x, t: t.as_subclass(ft.Tensor).elem(),
    "a class": lambda x, t: type("Sub", (ft.Tensor,), {})(t).elem(),
    "make": lambda x, t: type(t)(x),
    "shape": lambda x, t: float(t.ndim + t.size + len(t) + t.shape[0]),
    "dtype": lambda x, t: float(t.dtype.itemsize),
    "shares_memory": lambda x, t: np.shares_memory(t, x) * 1.0,
}
"""Each asks for the value of a tangent; the result is added to it, or is it."""

FORMS = {"str", "repr", "print", "array2string", "array_repr in a vmap"}
"""Ways to show a tensor, without its numbers, of which jvp shows some."""

WRONG_FORM = TypeError, AttributeError, BufferError, ValueError, pickle.PicklingError
"""The errors of Python for a method that a tensor does not have; jvp has a value there."""


def check_way(rule, name=""):
    """Tell if the value came where it was known; else the call was refused."""
    right = 0
    for f in (with_rule(rule), by_function(rule)):
        for x in (X, np.array([1.0, 2.0, 3.0])):
            try:
                _, jvp_fn = ft.linearize(f, x)
            except (ft.LevelError, *WRONG_FORM):
                continue
            for t in (T, 3.0 * x):
                try:
                    expected = ft.jvp(f, (x,), (t.copy(),))[1]
                except WRONG_FORM:  # a plain array can do less
                    continue
                if name in FORMS:
                    expected = np.zeros(3)
                close(jvp_fn(t), expected)
                right += 1
    return right > 0


def rule_of(ask):
    """A tangent of the right form out of what somebody asked for."""

    def rule(x, t):
        y = ask(x, t)
        return x * 0.0 + (0.0 if y is None else y)

    return rule


@pytest.mark.parametrize("name", WAYS)
def test_every_way_to_ask_is_right_or_refused(name):
    with silent():
        check_way(rule_of(WAYS[name]), name)


def test_the_ways_are_of_both_sorts():
    """Some are right and some are refused; a way that does neither asks nothing."""
    with silent():
        right = {name for name, ask in WAYS.items() if check_way(rule_of(ask), name)}
    assert {"where", "copy", "iteration", "vmap", "scan", "a mode", "checkpoint"} <= right
    assert not {"elem", "unwrap", "float", "a condition", "a mask", "pickle", "gamma"} & right


def old_unwrap(self, x):
    return x._value


def old_convert(self, x, how, *args):
    return how(x._value) if how in (bool, int, float) else np.asarray(x._value)


PLANTED = {
    "elem": ("elem", old_unwrap),
    "unwrap of the class": ("unwrap", old_unwrap),
    "unwrap all": ("elem", old_unwrap),
    "a tensor": ("elem", old_unwrap),
    "bool": ("convert", old_convert),
    "float": ("convert", old_convert),
    "asarray": ("convert", old_convert),
    "how many are unique": ("check_form", lambda self, op, call: None),
    "how many a mask chooses": ("check_form", lambda self, op, call: None),
    "repr": ("repr", lambda self, x: repr(x._value)),
    "array_repr in a vmap": ("repr", lambda self, x: repr(x._value)),
}
"""A way, and a method of the level that gives it the zeros."""


@pytest.mark.parametrize("name", PLANTED)
def test_the_check_finds_who_gives_zeros(monkeypatch, name):
    method, wrong = PLANTED[name]
    monkeypatch.setattr(TraceLevel, method, wrong)
    if name in ("elem", "unwrap of the class", "a tensor"):  # which no plain array has
        ask = lambda x, t: WAYS[name](x, t) if isinstance(t, ft.Tensor) else t  # noqa: E731
    else:
        ask = WAYS[name]
    with pytest.raises(AssertionError), np.errstate(all="ignore"):
        check_way(rule_of(ask), name)


# ---- messages ----


def test_what_the_refusals_say():
    unwrapped = with_rule(lambda x, t: ft.unwrap(t))
    raises(
        ft.ConversionError, lambda: ft.linearize(unwrapped, X),
        "trace(f)", "x.elem()", "tangent of linearize", "not known yet", "call jvp(...)",
    )  # fmt: skip
    masked = with_rule(lambda x, t: np.sum(t[t > 0]) * x)
    raises(
        ft.ConversionError, lambda: ft.linearize(masked, X),
        "getitem", "the form of whose result depends on indices",
    )  # fmt: skip
    made = with_rule(lambda x, t: type(t)(x))
    raises(ft.LevelError, lambda: ft.linearize(made, X), "out of a value", "return the value")


def test_a_custom_operation_that_unwraps_its_tangent():
    @ft.custom_op("tests::recorded_tangent", mutates_args=())
    def f(x: np.ndarray) -> np.ndarray:
        return x * 1.0

    f.register_jvp(lambda ctx, t: ft.unwrap(t))
    equal(ft.jvp(f, (X,), (T,))[1], T)
    raises(ft.ConversionError, lambda: ft.linearize(f, X), "not known yet")
