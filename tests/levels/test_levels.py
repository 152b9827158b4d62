"""Levels that have end_level, the ambient state, and what a level leaves behind;
levels as context managers.
"""

import copy
import gc
import math
import operator
import weakref
from contextlib import contextmanager

import numpy as np
import pytest

import functier as ft
from functier.protocol import primitive
from support.basics import equal, has_all, in_threads, message, raises

XS = np.arange(6.0).reshape(3, 2)


def end_level(transform, escape="dead"):
    """A tensor of a level that has ended; its value is XS."""
    box = []
    if transform == "vmap":
        ft.vmap(lambda x: box.append(x) or x, escape=escape)(XS)
    elif transform == "grad":
        ft.grad(lambda x: box.append(x) or x.sum(), escape=escape)(XS)
    elif transform == "vjp":
        ft.vjp(lambda x: box.append(x) or x, XS, escape=escape)
    else:
        ft.jvp(lambda x: box.append(x) or x, (XS,), (XS,), escape=escape)
    return box[0]


TRANSFORMS = ["vmap", "grad", "vjp", "jvp"]

USES = {
    "add": lambda x: x + 1,
    "radd": lambda x: 1 + x,
    "sub_array": lambda x: XS - x,
    "pow": lambda x: x**2,
    "rpow": lambda x: 2.0**x,
    "divmod": lambda x: divmod(x, 2.0),
    "matmul": lambda x: x @ XS.T,
    "rmatmul": lambda x: XS.T @ x,
    "neg": lambda x: -x,
    "abs": lambda x: abs(x),
    "eq": lambda x: x == 1.0,
    "lt": lambda x: x < 1.0,
    "function": lambda x: np.sum(x),
    "sequence": lambda x: np.concatenate([XS, x]),
    "ufunc": lambda x: np.sin(x),
    "ufunc2": lambda x: np.add(XS, x),
    "ufunc_method": lambda x: np.add.reduce(x),
    "ufunc_where": lambda x: np.sin(x, where=XS > 0),
    "method": lambda x: x.sum(),
    "reshape": lambda x: x.reshape(-1),
    "T": lambda x: x.T,
    "real": lambda x: x.real,
    "getitem": lambda x: x[0],
    "setitem": lambda x: operator.setitem(x, 0, 1.0),
    "fill": lambda x: x.fill(0.0),
    "len": len,
    "iter": lambda x: list(x),
    "contains": lambda x: 1.0 in x,
    "bool": bool,
    "int": int,
    "float": float,
    "complex": complex,
    "index": operator.index,
    "asarray": np.asarray,
    "array": lambda x: np.array([x]),
    "item": lambda x: x.item(0),
    "tolist": lambda x: x.tolist(),
    "sqrt": math.sqrt,
    "shape": lambda x: x.shape,
    "ndim": lambda x: x.ndim,
    "size": lambda x: x.size,
    "dtype": lambda x: x.dtype,
    "np_shape": np.shape,
    "np_ndim": np.ndim,
    "flat": lambda x: list(x.flat),
    "copy": copy.copy,
    "deepcopy": copy.deepcopy,
    "format": lambda x: f"{x:.3f}",
    "as_subclass": lambda x: x.as_subclass(ft.Tensor),
    "unwrap": lambda x: type(x).unwrap(x),
    "gradient": lambda x: type(x).gradient(x, x),
    "outer_vmap": lambda x: ft.vmap(lambda y: y + 1)(x),
    "outer_grad": lambda x: ft.grad(lambda y: np.sum(y * y))(x),
    "outer_jvp": lambda x: ft.jvp(lambda y: y * y, (x,), (x,)),
    "closure": lambda x: ft.grad(lambda y: np.sum(x * y))(XS),
}


@pytest.mark.parametrize("use", USES)
@pytest.mark.parametrize("transform", TRANSFORMS)
def test_every_use_of_a_dead_tensor_raises(transform, use):
    """B35, B38: with the level, the line that made it and the remedies."""
    x = end_level(transform)
    raises(
        ft.EscapedTensorError,
        lambda: USES[use](x),
        f"{transform}(<lambda>) | Tensor <- {transform}(<lambda>) | test_levels.py: | had ended",
        "x.elem() | escape='passthrough'",
    )


@pytest.mark.parametrize("transform", TRANSFORMS)
def test_a_dead_tensor_still_shows_and_gives_its_value(transform):
    """B37: its repr and its elem."""
    x = end_level(transform)
    equal(x.elem(), XS)
    equal(ft.unwrap(x), XS)
    has_all(repr(x), transform, "array([[0., 1.]")
    assert f"{x}" == repr(x) == str(x)
    assert isinstance(x, ft.Tensor)
    raises(ft.EscapedTensorError, lambda: hash(x))


def test_the_message_names_the_line_that_made_the_level():
    """B35: the line of the with statement."""
    with ft.vmap() as B:
        x = B(XS)
    line = test_the_message_names_the_line_that_made_the_level.__code__.co_firstlineno + 2
    with pytest.raises(ft.EscapedTensorError, match=rf"test_levels.py:{line}$"):
        x + 1


@pytest.mark.parametrize(
    "call",
    [
        lambda f: ft.grad(f)(XS[0]),
        lambda f: ft.value_and_grad(f)(XS[0]),
        lambda f: ft.vjp(f, XS[0]),
        lambda f: ft.jvp(f, (XS[0],), (XS[0],)),
        lambda f: ft.jacrev(f)(XS[0]),
        lambda f: ft.jacfwd(f)(XS[0]),
        lambda f: ft.vmap(f)(XS),
        lambda f: ft.vmap(f, chunk_size=2)(XS),
        lambda f: ft.linearize(f, XS[0]),
        lambda f: ft.trace(f)(XS[0]),
    ],
)
def test_the_message_names_the_line_of_the_call(call):
    kept = []
    call(lambda x: kept.append(x) or np.sum(x * 2.0))
    with pytest.raises(
        ft.EscapedTensorError, match=rf"test_levels.py:{call.__code__.co_firstlineno}$"
    ):
        kept[0] + 1


def test_the_message_names_every_level_of_the_chain():
    box = []

    def inner(y):
        box.append(y)
        return y.sum()

    def outer(x):
        return ft.grad(inner)(x)

    ft.vmap(outer)(XS)
    raises(ft.EscapedTensorError, lambda: box[0] * 2, "Tensor <- vmap(outer) <- grad(inner)")
    assert ft.depth_of(box[0]) == 2


def test_elem_of_a_dead_tensor_is_the_dead_tensor_one_level_out():
    """B37: where the outer level has ended as well."""
    box = []
    ft.vmap(lambda x: ft.grad(lambda y: box.append(y) or y.sum())(x))(XS)
    outer = box[0].elem()
    raises(ft.EscapedTensorError, lambda: outer + 1, "a tensor of vmap(<lambda>)")
    equal(outer.elem(), XS)


PASSES = {
    "add": (lambda x: x + 1, XS + 1),
    "rsub": (lambda x: 1 - x, 1 - XS),
    "array": (lambda x: XS - x, XS - XS),
    "itself": (lambda x: x * x, XS * XS),
    "matmul": (lambda x: x @ XS.T, XS @ XS.T),
    "neg": (lambda x: -x, -XS),
    "lt": (lambda x: x < 2, XS < 2),
    "sin": (np.sin, np.sin(XS)),
    "sum": (lambda x: np.sum(x, axis=0), XS.sum(axis=0)),
    "method": (lambda x: x.sum(axis=1), XS.sum(axis=1)),
    "reduce": (np.add.reduce, np.add.reduce(XS)),
    "sequence": (lambda x: np.concatenate([x, XS]), np.concatenate([XS, XS])),
    "T": (lambda x: x.T, XS.T),
    "getitem": (lambda x: x[1], XS[1]),
    "iter": (lambda x: np.stack(list(x)), XS),
    "asarray": (np.asarray, XS),
    "array_list": (lambda x: np.array(x.tolist()), XS),
    "shape": (lambda x: x.shape, (3, 2)),
    "ndim": (lambda x: x.ndim, 2),
    "size": (lambda x: x.size, 6),
    "len": (len, 3),
    "float": (lambda x: float(x[1, 1]), 3.0),
    "item": (lambda x: x.item(3), 3.0),
    "vmap": (lambda x: ft.vmap(lambda y: y + 1)(x), XS + 1),
    "grad": (lambda x: ft.grad(lambda y: np.sum(x * y))(XS), XS),
    "grad_of": (lambda x: ft.grad(lambda y: np.sum(y * y))(x), 2 * XS),
    "jvp_of": (lambda x: ft.jvp(lambda y: y * y, (x,), (x,))[1], 2 * XS * XS),
}


@pytest.mark.parametrize("use", PASSES)
@pytest.mark.parametrize("transform", TRANSFORMS)
def test_a_passthrough_tensor_acts_as_its_value(transform, use):
    """B34: in each use, also in other transforms."""
    x = end_level(transform, "passthrough")
    f, expected = PASSES[use]
    equal(f(x), expected)


def test_passthrough_scalars_convert():
    """B34: to Python's numbers, and into formatted text."""
    with ft.grad(escape="passthrough") as G:
        x = G(2.5)
        n = G(4.0)
    assert (bool(x), int(x), float(x), complex(x)) == (True, 2, 2.5, 2.5 + 0j)
    assert math.sqrt(n) == 2.0 and f"{x:.2f}" == "2.50"


def test_passthrough_makes_no_new_instance():
    """B38: an ended class makes no tensors with this escape either."""
    with ft.vmap(escape="passthrough") as B:
        pass
    raises(ft.EscapedTensorError, lambda: B(XS), "had ended")


def test_passthrough_of_an_inner_level_still_has_the_outer_one():
    """B34: what comes out of it is a tensor of the outer level, which is live."""

    def outer(x):
        with ft.grad(escape="passthrough") as G:
            y = G(x)
        z = y * y
        assert type(z) is type(x)
        return z

    equal(ft.vmap(outer)(XS), XS * XS)


@pytest.mark.parametrize("transform", TRANSFORMS)
@pytest.mark.parametrize("escape", ["dead", "passthrough"])
def test_no_tensor_is_made_of_a_level_that_has_ended(transform, escape):
    cls = type(end_level(transform, escape))
    with pytest.raises(ft.EscapedTensorError) as error:
        cls(XS)
    has_all(message(error), transform, f"Tensor <- {transform}(", "test_levels.py:", "a new level")


MEETINGS = {
    "add": lambda x, y: x + y,
    "radd": lambda x, y: y + x,
    "divmod": lambda x, y: divmod(x, y + 1)[1],
    "matmul": lambda x, y: x @ y.T,
    "ufunc": lambda x, y: np.add(x, y),
    "outer": lambda x, y: np.add.outer(x, y),
    "method": lambda x, y: x.dot(y.T),
    "where": lambda x, y: np.sum(x, where=y[0] > 1),
    "sequence": lambda x, y: np.concatenate([x, y[0]]),
}


def meeting(use, inner, escape):
    """`use` of a tensor of a live level and one of a level inside it that has ended."""

    def outer(x):
        box = []
        if inner == "vmap":
            ft.vmap(lambda y: box.append(y) or y, escape=escape)(XS)
        else:
            ft.grad(lambda y: box.append(y) or np.sum(y), escape=escape)(XS)
        return use(x, box[0])

    return outer


@pytest.mark.parametrize("use", MEETINGS)
@pytest.mark.parametrize("inner", ["vmap", "grad"])
def test_an_ended_inner_level_meets_a_live_outer_one(inner, use):
    use = MEETINGS[use]
    raises(ft.EscapedTensorError, lambda: ft.vmap(meeting(use, inner, "dead"))(XS))
    with pytest.raises(ft.EscapedTensorError):
        ft.grad(lambda x: np.sum(meeting(use, inner, "dead")(x)))(XS[0])
    equal(ft.vmap(meeting(use, inner, "passthrough"))(XS), np.stack([use(x, XS) for x in XS]))
    through = ft.vjp(meeting(use, inner, "passthrough"), XS[0])[0]
    equal(through, use(XS[0], XS))


def test_a_function_without_a_record_meets_an_ended_inner_level():
    @primitive
    def unknown(x, y):
        return x + y

    raises(ft.EscapedTensorError, lambda: ft.vmap(meeting(unknown, "vmap", "dead"))(XS))
    with pytest.warns(ft.FallbackWarning, match="unknown"):
        out = ft.vmap(meeting(unknown, "vmap", "passthrough"))(XS)
    equal(out, XS[:, None] + XS)


# ---- the ambient state ----


def test_the_tensors_of_a_call_that_raised_are_dead():
    box = []

    def f(x):
        box.append(x)
        raise ZeroDivisionError

    raises(ZeroDivisionError, lambda: ft.vmap(f)(XS))
    raises(ft.EscapedTensorError, lambda: box[0] + 1)


# ---- what stays in memory ----


def test_level_classes_are_freed():
    """B26: a class that could not be used again goes with the last that referred to it."""
    refs, escaped = [], []

    def f(x):
        refs.append(weakref.ref(type(x)))
        escaped.append(x)
        return x.sum()

    ft.vmap(f)(XS)
    ft.grad(f)(XS)
    ft.jvp(f, (XS,), (XS,))
    assert None not in [r() for r in refs]
    escaped.clear()
    gc.collect()
    assert [r() for r in refs] == [None] * 3


def test_values_do_not_hang_on_classes():
    """An ended level's class may live on; the arrays of the call must not."""
    classes, arrays = [], []

    class Big(np.ndarray):
        pass

    def f(x):
        classes.append(type(x))
        return (x * x).sum()

    for call in (ft.vmap(f), ft.grad(f), lambda v: ft.jvp(f, (v,), (np.ones(1000),))):
        big = np.zeros(1000).view(Big)
        arrays.append(weakref.ref(big))
        call(big)
        del big
    gc.disable()
    try:
        assert [r() for r in arrays] == [None] * 3
    finally:
        gc.enable()


def test_many_threads_at_once():
    def work(n):
        g = ft.vmap(ft.grad(lambda x: np.sum(x * x * n)))
        return [bool(np.all(g(XS) == 2 * n * XS)) for _ in range(20)]

    assert in_threads(work, range(1, 5)) == [[True] * 20] * 4


# ---- Levels as context managers: the imperative style of the essay ----


XS_WITH = np.arange(20.0).reshape(10, 2)
YS = 100 * np.arange(30.0).reshape(15, 2)
SUMS = XS_WITH[:, None] + YS[None]


def test_the_snippet_of_the_essay():
    """B23: two blocks in one statement, whose sum is unwrapped twice."""

    def program(xs, ys):
        with ft.vmap() as BatchTensor0, ft.vmap() as BatchTensor1:
            x = BatchTensor0(xs)
            y = BatchTensor1(ys)
            z = x + y
            assert type(z) is BatchTensor1 and z.shape == (2,)
            return z.elem().elem()

    equal(program(XS_WITH, YS), SUMS)


def test_returning_the_tensor_itself_gives_a_dead_tensor():
    """B23, B35: without elem it raises after the block, and says where that is."""

    def program(xs, ys):
        with ft.vmap() as BatchTensor0, ft.vmap() as BatchTensor1:
            return BatchTensor0(xs) + BatchTensor1(ys)

    out = program(XS_WITH, YS)
    with pytest.raises(ft.EscapedTensorError, match=r"test_levels.py:\d+$"):
        out + 1
    equal(out.elem().elem(), SUMS)


def test_in_dim_and_out_dim():
    """B23: the axis that is mapped on the way in and on the way out."""
    with ft.vmap() as B0:
        x = B0(XS_WITH.T, in_dim=1)
        assert x.shape == (2,)
        equal(x.elem(), XS_WITH)
        equal(B0.unwrap(x * 2, out_dim=-1), 2 * XS_WITH.T)
        equal(B0.unwrap(x * 2), 2 * XS_WITH)


def test_unwrap_gives_every_example_to_a_value_that_does_not_vary():
    with ft.vmap() as B:
        B(XS_WITH)
        equal(B.unwrap(np.array([1.0, 2.0])), np.tile([1.0, 2.0], (10, 1)))
        equal(B.unwrap(np.array([1.0, 2.0]), out_dim=None), np.array([1.0, 2.0]))


def test_unwrap_of_the_outer_value_in_the_inner_level():
    with ft.vmap() as B0, ft.vmap() as B1:
        x, y = B0(XS_WITH), B1(YS)
        rows = B1.unwrap(x)
        assert type(rows) is B0 and rows.shape == (15, 2)
        equal(B0.unwrap(rows), np.repeat(XS_WITH[:, None], 15, axis=1))
        equal(B0.unwrap(B1.unwrap(x * y)), XS_WITH[:, None] * YS[None])


def test_the_helper_of_contextlib_nests_like_the_with_statement():
    @contextmanager
    def batch(xs):
        with ft.vmap() as B:
            yield B(xs)

    with batch(XS_WITH) as x, batch(YS) as y:
        assert type(y).__bases__ == (type(x),)
        equal((x + y).elem().elem(), SUMS)
    raises(ft.EscapedTensorError, lambda: x + 1)


def test_one_context_manager_can_be_entered_again():
    batch = ft.vmap()
    with batch as A, batch as B:
        assert B.__bases__ == (A,)
        equal((A(XS_WITH) + B(YS)).elem().elem(), SUMS)
    with batch as C:
        assert C.__bases__ == (ft.Tensor,)
