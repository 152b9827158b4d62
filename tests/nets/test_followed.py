"""Messages that are followed literally: the program that a message asks for is right inside the
transform and outside of it.

Each row is a mistake, the words of its message, and the program after the message was followed.
The followed program must have the derivative or the batch of the plain one, and its plain call
must give what the mistaken program gives without functier, also for Python's own numbers.
"""

import importlib
import re
import sys
import textwrap
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pytest
import scipy.cluster._vq
import scipy.interpolate
import scipy.optimize
import scipy.signal
import scipy.spatial._hausdorff

import functier as ft
import functier.numpy as fnp
import functier.scipy.interpolate as fsi
import functier.scipy.optimize as fso
import functier.scipy.signal as fss
from support.mistake_runs import gradient, total
from support.mistakes import ROWS as MISTAKES

XS = np.arange(5.0)
YS = np.sin(XS)
V = np.array([0.3, 0.7])
M = np.arange(6.0).reshape(3, 2) / 10


class Row(NamedTuple):
    name: str
    wrong: Callable
    says: str
    right: Callable
    x: Any = 0.7


def grown(x):
    table = np.ones((2, 2))
    table[0, :] += x
    return table.sum()


def grown_inside(x):
    table = np.ones((2, 2))
    table = fnp.array(table)
    table[0, :] += x
    return table.sum()


def nearest(x):
    return scipy.cluster._vq.vq(x, M)[1].sum()


def nearest_with_rule(x):
    g = ft.custom_vjp(lambda x: scipy.cluster._vq.vq(x, M)[1].sum())

    def forward(x):
        code, distance = scipy.cluster._vq.vq(x, M)
        return g(x), (x - M[code]) / distance[:, None]

    g.defvjp(forward, lambda saved, t: (saved * t,))
    return g(x)


ROWS = [
    Row("float", lambda x: float(x) ** 2, r"write \(x \* 1\.0\) for float\(x\)",
        lambda x: (x * 1.0) ** 2),
    Row("complex", lambda x: abs(complex(x)), r"write x \+ 0j for complex\(x\)",
        lambda x: abs(x + 0j)),
    Row("an array of lists", lambda x: np.array([[x, 1.0], [0.0, x]]).sum(),
        r"write functier\.numpy\.array\(\[\[x, y\], \[y, x\]\]\) for numpy\.array",
        lambda x: fnp.array([[x, 1.0], [0.0, x]]).sum()),
    Row("asarray", lambda x: np.asarray(x).sum(),
        r"write functier\.numpy\.asarray\(x\) for numpy\.asarray\(x\)",
        lambda x: fnp.asarray(x).sum()),
    Row("CubicSpline", lambda x: scipy.interpolate.CubicSpline(XS, YS)(x),
        r"functier\.scipy\.interpolate\.CubicSpline for scipy\.interpolate\.CubicSpline(\n|$)",
        lambda x: fsi.CubicSpline(XS, YS)(x)),
    Row("CubicSpline by values", lambda y: scipy.interpolate.CubicSpline(XS, y)(0.5),
        r"functier\.scipy\.interpolate\.CubicSpline for scipy\.interpolate\.CubicSpline(\n|$)",
        lambda y: fsi.CubicSpline(XS, y)(0.5), YS),
    Row("interp1d", lambda x: scipy.interpolate.interp1d(XS, YS, kind="cubic")(x),
        r"functier\.scipy\.interpolate\.interp1d for scipy\.interpolate\.interp1d(\n|$)",
        lambda x: fsi.interp1d(XS, YS, kind="cubic")(x)),
    Row("lfilter", lambda b: scipy.signal.lfilter(b, np.array([1.0, -0.5]), XS).sum(),
        r"which scipy\.signal\.lfilter calls.*write functier\.scipy\.signal\.lfilter for scipy",
        lambda b: fss.lfilter(b, np.array([1.0, -0.5]), XS).sum(), V),
    Row("fsolve", lambda p: scipy.optimize.fsolve(lambda x: (x[0] - p, x[1] - p * p), V).sum(),
        r"functier\.scipy\.optimize\.fsolve for scipy\.optimize\.fsolve(\n|$)",
        lambda p: fso.fsolve(lambda x: (x[0] - p, x[1] - p * p), V).sum()),
    Row("root", lambda p: scipy.optimize.root(lambda x: (x[0] - p, x[1] - p * p), V).x.sum(),
        r"functier\.scipy\.optimize\.root for scipy\.optimize\.root(\n|$)",
        lambda p: fso.root(lambda x: (x[0] - p, x[1] - p * p), V).x.sum()),
    Row("butter", lambda x: scipy.signal.butter(2, x)[0].sum(),
        r"functier\.scipy\.signal\.butter for scipy\.signal\.butter(\n|$)",
        lambda x: fss.butter(2, x)[0].sum()),
    Row("a compiled function", nearest,
        r"g = functier\.custom_vjp\(lambda x: scipy\.cluster\.vq\(\.\.\.\)\) and g\(x\)",
        nearest_with_rule, M + 0.03),
    Row("a compiled function, by differences", nearest,
        r"g = functier\.finite_difference\(lambda x: scipy\.cluster\.vq\(\.\.\.\)\) and g\(x\)",
        lambda x: ft.finite_difference(nearest)(x), M + 0.03),
    Row("a row of an array", grown, r"table = functier\.numpy\.array\(table\) right after table",
        grown_inside),
]  # fmt: skip


def said(error):
    return "\n".join([str(error), *getattr(error, "__notes__", ())])


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_a_message_is_followed(row):
    x = np.asarray(row.x)
    with pytest.raises((ft.LevelError, TypeError, ValueError)) as caught:
        ft.grad(total(row.wrong))(row.x)
    assert re.search(row.says, said(caught.value)), said(caught.value)

    np.testing.assert_allclose(ft.grad(total(row.right))(row.x), gradient(row.right, x), 1e-6)
    np.testing.assert_allclose(row.right(row.x), row.wrong(row.x), 1e-12)


def test_vmap_of_arguments_of_two_sizes():
    w, xs = np.arange(3.0), np.arange(30.0).reshape(10, 3)
    f = lambda w, x: x @ w  # noqa: E731
    with pytest.raises(ValueError, match=re.escape("write in_dims=(None, 0) or in_dims=(0, None)")):
        ft.vmap(f)(w, xs)
    np.testing.assert_allclose(ft.vmap(f, in_dims=(None, 0))(w, xs), xs @ w)
    with pytest.raises(ValueError, match=re.escape("write in_dims=(0, None) or in_dims=(None, 0)")):
        ft.vmap(lambda x, w: x @ w)(xs, w)
    with pytest.raises(ValueError, match=re.escape("write in_dims=(0, None, 1)")):
        ft.vmap(lambda x, c, y: x * c + y, in_dims=(0, 0, 1))(w, 2.0, xs)


@pytest.mark.parametrize("call", [float, np.asarray])
def test_a_compiled_function_says_what_the_user_wrote(call):
    def f(x):
        return call(x) * 2

    said = r"^compile\(f\) runs the function as it is: .*would be the same in each call"
    with pytest.warns(RuntimeWarning, match=said):
        assert ft.compile(f)(2.0) == 4.0


def test_a_typed_view_of_a_compiled_function():
    f = lambda x: scipy.spatial._hausdorff.directed_hausdorff(x, M, 0)[0]  # noqa: E731
    with pytest.raises(TypeError) as caught:
        ft.vmap(f)(np.stack([M, M + 1]))
    assert "write g = functier.sequential_vmap(lambda x: " in said(caught.value)
    result = ft.vmap(ft.sequential_vmap(f))(np.stack([M, M + 1]))
    np.testing.assert_allclose(result, [f(M), f(M + 1)])


def test_an_adopted_package_has_the_place(tmp_path, monkeypatch):
    home = tmp_path / "site-packages"
    home.mkdir()
    source = "import scipy.special as s\n\n\ndef f(x):\n    return s.lqn(2, x)[0].sum() + x\n"
    (home / "adopted_place.py").write_text(textwrap.dedent(source))
    monkeypatch.syspath_prepend(home)
    library = importlib.import_module("adopted_place")
    try:
        with ft.adopt("adopted_place"), pytest.raises(ft.ConversionError) as caught:
            ft.grad(lambda x: library.f(x))(0.5)
    finally:
        del sys.modules["adopted_place"]
    assert "write in line 5 of adopted_place.py: " in str(caught.value)


def numbers_of(x):
    return [x, x.item()] if not x.ndim else [x]


@pytest.mark.parametrize("row", MISTAKES, ids=lambda row: row.remedy)
def test_the_plain_call_of_a_followed_program(row):
    for x in numbers_of(row.xs[0]):
        try:
            wanted = row.wrong(x)
        except Exception:  # a call for NumPy's numbers alone
            continue
        np.testing.assert_allclose(np.asarray(row.right(x)), np.asarray(wanted), 1e-12)
