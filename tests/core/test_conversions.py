"""Uses that would leave a level or write to a tensor: conversions, item assignment, `out=`."""

import math
import operator

import numpy as np
import pytest

import functier as ft
from support.basics import bare, equal, everywhere, has_all, message, raises, same

A = np.array([[1.0, -2.0, 3.0], [0.5, 4.0, -1.5]])
B = np.array([[2.0, 0.5, -1.0], [3.0, 1.5, 2.5]])


class Sub(ft.Tensor):
    """A user's subclass: results have its type."""


# ---- item assignment and writing ----


def test_item_assignment_writes_to_a_plain_tensor():
    for cls in (ft.Tensor, Sub):
        a = A.copy()
        x = cls(a)
        x[0, 1] = 9.0
        x[1] = Sub([1.0, 2.0, 3.0])
        x[x == 3.0] = -1.0
        equal(a, np.array([[1.0, 9.0, -1.0], [1.0, 2.0, -1.0]]))


def test_item_assignment_in_levels():
    """The tensor is the level's own copy of the array: the caller's is unchanged."""

    before, wanted = A.copy(), A.copy()
    wanted[0] = 1.0
    wanted[1] *= 2.0
    for level, args in ((ft.grad(), (A,)), (ft.jvp(), (A, A))):
        with level as T:
            x = T(*args)
            x[0] = 1.0
            x[1] *= 2.0
            equal(bare(x), wanted)
    with ft.vmap() as V:
        v = V(A)
        v[0] = 1.0
        v *= 2.0
        equal(bare(v), np.stack([A[:, 0] * 0 + 2, A[:, 1] * 2, A[:, 2] * 2], 1))
    equal(A, before)


def test_methods_that_write():
    """`fill` and `put` do to a plain tensor, and to one of each level, what they do to an array."""

    def use(x):
        x.fill(3.0)
        x.put([0], 7.0)
        y = np.zeros(x.shape)
        y.fill(3.0)
        y.put([0], 7.0)
        equal(bare(x).reshape(-1, *y.shape)[0], y)

    before = A.copy()
    everywhere(use)
    equal(A, before)


def test_a_level_tensor_cannot_be_written_into_a_plain_tensor():
    x = ft.tensor(A.copy())
    with ft.grad() as G, pytest.raises(ft.LevelError):
        x[0, 0] = G(1.0)
    same(x, A)


@pytest.mark.parametrize("call", [
    lambda x, out: np.sin(x, out=out),
    lambda x, out: np.add(x, 1.0, out=out),
    lambda x, out: np.sum(x, out=out),
    lambda x, out: np.add.reduce(x, out=out),
    lambda x, out: x.sum(out=out),
    lambda x, out: np.stack([x, x], out=out),
    lambda x, out: np.sum(x, None, None, out),
    lambda x, out: np.var(x, None, None, out),
    lambda x, out: np.std(x, 0, None, out),
    lambda x, out: np.nansum(x, 0, None, out),
    lambda x, out: np.nanstd(x, 0, None, out),
    lambda x, out: np.ptp(x, None, out),
])  # fmt: skip
def test_a_plain_out_raises_in_levels(call):
    """`out` is unchanged; an array that was made inside the level is written to."""
    out = np.zeros((2, 3))

    def use(x):
        raises(ft.MutationError, lambda: call(x, out), "out=")

    with ft.vmap() as V, ft.grad() as G, ft.jvp() as F:
        for x in (V(A), G(A), F(A, A)):
            use(x)
    equal(out, np.zeros((2, 3)))


def test_out_of_a_plain_tensor():
    out = np.zeros((2, 3))
    assert np.add(Sub(A), 1.0, out=out) is out
    equal(out, A + 1.0)
    target = Sub(np.zeros((2, 3)))
    assert np.add(A, Sub(B), out=target) is target
    same(target, A + B)
    row = Sub(np.zeros(3))
    assert np.sum(Sub(A), axis=0, out=row) is row
    same(row, A.sum(0))


# ---- conversions ----


def test_conversions_of_a_plain_tensor():
    x = Sub(2.5)
    assert (float(x), int(x), complex(x), bool(x)) == (2.5, 2, 2.5 + 0j, True)
    assert operator.index(Sub(3)) == 3 and [10, 20, 30][Sub(1)] == 20
    assert range(5)[Sub(2)] == 2
    assert x.item() == 2.5 and Sub(A).item(1) == -2.0 and Sub(A).item((1, 1)) == 4.0
    assert Sub(A).tolist() == A.tolist()
    equal(np.asarray(Sub(A)), A)
    assert np.asarray(Sub(A)) is not None and np.shares_memory(np.asarray(Sub(A)), A)
    equal(np.array(Sub(A), dtype=np.float32), A.astype(np.float32))
    assert not np.shares_memory(np.array(Sub(A)), A)
    assert math.sin(x) == math.sin(2.5)
    assert f"{x:.1f}" == "2.5" and f"{Sub(3):d}" == "3"
    assert round(Sub(2.567), 1).elem() == 2.6


def test_truth_of_many_elements_is_numpys_error():
    raises(ValueError, lambda: bool(Sub(A)), "ambiguous")


def test_repr():
    assert repr(ft.tensor([1.0, 2.0])) == "Tensor([1., 2.])"
    assert repr(Sub([[1], [2]])) == "Sub([[1],\n     [2]])"


LOSING = {
    "float": float,
    "complex": complex,
    "asarray": np.asarray,
    "array": lambda x: np.array([x, x]),
    "item": lambda x: x.item(),
    "tolist": lambda x: x.tolist(),
    "sin": math.sin,
    "assign": lambda x: operator.setitem(np.zeros((3, *x.shape)), slice(None), x),
}


@pytest.mark.parametrize("use", LOSING)
@pytest.mark.parametrize("transform", ["grad", "jvp", "vmap"])
def test_conversions_that_lose_the_level_raise(transform, use):
    with ft.vmap() as V, ft.grad() as G, ft.jvp() as F:
        x = {"vmap": lambda: V(A[0]), "grad": lambda: G(2.5), "jvp": lambda: F(2.5, 1.0)}
        with pytest.raises(ft.ConversionError) as error:
            LOSING[use](x[transform]())
        has_all(message(error), f"{transform}(): ", "levels: Tensor <- vmap()", "; write ")
        has_all(message(error), "test_conversions.py:")
        assert "elem()" not in message(error)


def fill(x):
    out = np.zeros(3)
    out[0] = x
    return out.sum()


@pytest.mark.parametrize("run", [
    lambda: ft.vmap(fill)(A[0]),
    lambda: ft.grad(fill)(2.5),
    lambda: ft.vjp(fill, 2.5),
    lambda: ft.jvp(fill, (2.5,), (1.0,)),
    lambda: ft.linearize(fill, 2.5),
    lambda: ft.jacfwd(fill)(2.5),
    lambda: ft.jacrev(fill)(2.5),
    lambda: ft.vmap(ft.grad(fill))(A[0]),
])  # fmt: skip
def test_assigning_to_one_element_of_an_array_ends_in_the_error_of_the_level(run):
    """NumPy makes "setting an array element with a sequence" of any error of a conversion."""
    with pytest.raises(ft.MutationError, match=r"write out = functier\.numpy\.array") as error:
        run()
    assert error.value.__cause__ is None and error.value.__suppress_context__
    assert any(frame.name == "fill" for frame in error.traceback)


def test_an_element_of_an_iterator_ends_in_the_error_of_the_level():
    with pytest.raises(ft.ConversionError, match=r"numpy\.stack") as error:
        ft.grad(lambda x: np.sum(np.fromiter([x, x], float)))(2.5)
    assert error.value.__cause__ is None and error.value.__suppress_context__


def test_assigning_to_one_element_inside_a_with_block():
    a = np.zeros(2)
    with pytest.raises(ft.MutationError, match=r"write a = functier\.numpy\.array"), ft.grad() as G:
        a[0] = G(2.5)
    equal(a, np.zeros(2))


def test_another_value_error_stays_what_it_is():
    def wrong(x):
        try:
            raise KeyError("first")
        except KeyError as error:
            raise ValueError("second") from error

    for run in (lambda: ft.vmap(wrong)(A), lambda: ft.grad(wrong)(2.5)):
        with pytest.raises(ValueError, match="second") as error:
            run()
        assert isinstance(error.value.__cause__, KeyError)


def test_code_that_tries_one_way_after_another_does_not_hide_the_error():
    def careful(x):
        y = np.empty(1)  # a plain array
        try:
            y[x > 0] = np.sin(x[x > 0])
        except TypeError:  # a Python float has no items
            y = np.sin(x)
        return np.sum(y)

    with pytest.raises(ft.MutationError, match=r"write y = functier\.numpy\.array"):
        ft.grad(careful)(np.array([1.0]))


@pytest.mark.parametrize("use", [
    range, operator.index, lambda x: [1, 2, 3][x], lambda x: np.arange(3.0)[:x],
    lambda x: np.linspace(0, 1, x), lambda x: np.zeros((x,)),
])  # fmt: skip
@pytest.mark.parametrize("transform", ["grad", "jvp", "both"])
def test_a_float_as_an_index_raises_what_python_raises(transform, use):
    run = {
        "grad": lambda: ft.grad(use)(2.0),
        "jvp": lambda: ft.jvp(use, (2.0,), (1.0,)),
        "both": lambda: ft.grad(lambda x: ft.jvp(use, (x,), (1.0,))[1])(2.0),
    }
    with pytest.raises(TypeError, match=r"cannot be interpreted as an integer.*write int\(x\)"):
        run[transform]()


def test_the_length_of_an_array_may_be_read_from_the_value():
    assert ft.grad(lambda x: np.sum(np.zeros(int(x)) + x))(3.0) == 3.0
    raises(TypeError, lambda: ft.grad(lambda x: np.sum(np.zeros(x) + x))(3.0), "integer")


@pytest.mark.parametrize("enter", [ft.grad, ft.jvp])
def test_truth_int_and_index_read_the_value_under_derivatives(enter):
    def make(cls, value):
        return cls(value, 1.0) if enter is ft.jvp else cls(value)

    with enter() as G:
        x = make(G, 2.5)
        assert bool(x) is True and int(x) == 2 and bool(x > 3) is False
        assert not make(G, 0.0)
        assert range(9)[int(x)] == 2
        assert (x > 2) and not (x < 2) and (x == 2.5) and (x != 2)
    f = lambda x: x * x if x > 0 else -x  # noqa: E731
    assert ft.grad(f)(3.0) == 6.0 and ft.grad(f)(-3.0) == -1.0
    assert ft.jvp(f, (-3.0,), (2.0,))[1] == -2.0


@pytest.mark.parametrize(
    "how",
    [bool, int, operator.index, lambda x: 1 if x > 0 else 2],
    ids=["bool", "int", "index", "if"],
)
def test_truth_int_and_index_raise_where_the_examples_differ(how):
    with pytest.raises(ft.DataDependentError) as error:
        ft.vmap(how)(np.array([0, 1, 2]) if how is operator.index else np.array([0.0, 1.5, 2.0]))
    has_all(message(error), "vmap(", "from example to example", "; write ")


def test_grad_of_a_branch_inside_vmap_raises():
    f = lambda x: x if x > 0 else -x  # noqa: E731
    raises(ft.DataDependentError, lambda: ft.vmap(ft.grad(f))(A[0]), "numpy.where")
