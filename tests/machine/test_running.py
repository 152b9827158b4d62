"""Running sums in machine code are NumPy's, to the last bit."""

import numpy as np
import pytest

pytest.importorskip("llvmlite")

import functier as ft

LAYOUTS = {
    "c": lambda x: x,
    "fortran": np.asfortranarray,
    "reversed": lambda x: x[..., ::-1],
    "turned": lambda x: np.swapaxes(x, 0, -1),
}


def check(f, x):
    call = ft.compile(f, backend="llvm", warm=True)
    for _ in range(2):
        found, expected = call(x), f(x)
        assert found.dtype == expected.dtype and found.strides == expected.strides
        assert found.tobytes() == expected.tobytes()
    assert "NumPy's" not in call.explain()


@pytest.mark.parametrize("dtype", [float, "f4", int, "i4", bool])
@pytest.mark.parametrize("shape", [(7,), (9, 40), (41, 9), (3, 50, 2), (1, 3)], ids=str)
def test_running_sums(shape, dtype):
    x = (5.0 * np.random.default_rng(0).normal(size=shape)).astype(dtype)
    x[(0,) * x.ndim] = -0.0
    for layout in LAYOUTS.values():
        for axis in (None, *range(-x.ndim, x.ndim)):
            check(lambda x, axis=axis: np.cumsum(x, axis), layout(x))


def test_derivatives_and_answers():
    x = np.linspace(-1.0, 2.0, 30).reshape(5, 6)
    loss = ft.vmap(ft.grad(lambda x: np.sum(np.sin(np.cumsum(x)))))
    call = ft.compile(loss, backend="llvm", warm=True)
    np.testing.assert_allclose([call(x), call(x)], [loss(x)] * 2, rtol=1e-12)
    assert "the whole program" in call.explain()

    def chosen(x):
        y = np.cumsum(x * 0.5, 1)
        return y if y[-1, -1] > 1.0 else -y

    check(chosen, x)


def test_what_is_numpys():
    x = np.ones((2, 3))
    check(lambda x: np.cumsum(x, 0, "f4"), x / 3.0)
    for f in (lambda x: np.cumsum(x, dtype=complex), lambda x: np.cumsum(x[:0], 1)):
        call = ft.compile(f, backend="llvm", warm=True)
        for _ in range(2):
            assert np.array_equal(call(x), f(x))
        assert "NumPy's: cumsum" in call.explain()
