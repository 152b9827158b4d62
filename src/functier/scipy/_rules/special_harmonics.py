"""Rules of Legendre polynomials and spherical harmonics in `scipy.special`, from SciPy 1.15 on.

NOTE [axes of derivatives]
    With ``diff_n=d`` the first axis of a result has the derivatives up to the order d. Functions
    of all degrees, and of all orders, have axes for these after it. The rules give the
    derivatives of all of them at once, by formulas that do not divide by 0 at the poles. The
    citations are those of `special`.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import special  # type: ignore[import-untyped]

from ..._core.errors import UnsupportedError
from ..._core.numpy_facts import Shape, Value, align, dtype_of, sum_to
from ..._rules.axes import as_array
from ...protocol import Rule, unsupported
from .declare import declare, declare_composite, dispatching
from .special_functions import strong

# ---- functions of one variable ----


def _declare_rows(name: str, params: str, arrays: str, slopes: Callable, lead: int = 1) -> None:
    """Declare a function with `lead` new axes by the derivatives in its last variable.

    ``slopes(*params, diff_n)`` are the derivatives of the whole result.
    """
    func = getattr(special, name, None)
    if func is None:
        return
    call = dispatching(func)
    names, operands = params.split(), arrays.split()
    variable = names[-1]

    def jvp(t: Value, ans: Value, *saved: Value) -> Value:
        return np.astype(t * slopes(*saved), dtype_of(ans), copy=False)

    def vjp(g: Value, dtype: np.dtype, shape: Shape, *saved: Value) -> Value:
        total = np.sum(g * slopes(*saved), axis=tuple(range(lead)))
        return np.astype(sum_to(total, shape), dtype, copy=False)

    def kernel(*xs: Value, **options: Any) -> Value:
        # Operands come by name where others are before them.
        return call(*xs, *[options.pop(n) for n in names[len(xs) :]], **options)

    def vmap(k: int, *xs: Value, **options: Any) -> Value:
        given = dict(zip(names, xs)) | options
        given |= dict(zip(operands, align(k, [given[n] for n in operands])))
        return np.moveaxis(kernel(**given), range(lead, lead + k), range(k))

    needs = (*names, "diff_n")
    on_tangent = Rule((jvp, "ans", *needs), names)
    on_cotangent = Rule((vjp, f"{variable}_dtype", f"{variable}_shape", *needs), names)
    for rule in (on_tangent, on_cotangent):
        rule.defaults = {"diff_n": 0}
    declare(
        special,
        name,
        f"{params} diff_n",
        arrays,
        kernel=kernel,
        vmap=vmap,
        jvp={variable: on_tangent},
        vjp={variable: on_cotangent},
    )


def _legendre_slopes(n: Value, z: Value, diff_n: int) -> Value:
    """DLMF 18.9.15."""
    n, z = np.astype(strong(n), np.int64), as_array(z)
    rows = []
    for k in range(1, diff_n + 2):
        part = special.eval_jacobi(np.maximum(n - k, 0), float(k), float(k), z)
        rows.append(np.where(n < k, 0.0, special.poch(n + 1, k) * 0.5**k * part))
    return np.stack(rows)


def _ladder(n: Value, m: Value) -> tuple:
    """Return the factors of the harmonics of the orders m + 1 and m - 1: DLMF 14.10.5, 14.30.1."""
    n, m = np.astype(n, np.float64), np.astype(m, np.float64)
    up, down = (n - m) * (n + m + 1), (n + m) * (n - m + 1)
    return np.sqrt(np.maximum(up, 0)) / 2, np.sqrt(np.maximum(down, 0)) / 2


def _polar_slopes(n: Value, m: Value, theta: Value, diff_n: int) -> Value:
    func = dispatching(special.sph_legendre_p)
    n, m = strong(n), strong(m)
    up, down = _ladder(n, m)
    above, below = (func(n, m + i, theta, diff_n=diff_n) for i in (1, -1))
    turned = np.where(np.less(np.sin(theta), 0), -1.0, 1.0)  # SciPy's are even around 0 and pi
    return turned * (up * above - down * below)


def _orders(n: int, m: int | None, *at: Value) -> list:
    """Return the degrees up to n, and the orders up to m and from -m on, to broadcast."""
    rank = max(np.ndim(x) for x in at)
    degrees = np.arange(n + 1)
    if m is None:
        return [np.reshape(degrees, (-1,) + (1,) * rank)]
    size = 2 * abs(m) + 1
    orders = (np.arange(size) + abs(m)) % size - abs(m)
    return [np.reshape(degrees, (-1, 1) + (1,) * rank), np.reshape(orders, (-1,) + (1,) * rank)]


def _all_legendre_slopes(n: int, z: Value, diff_n: int) -> Value:
    (degrees,) = _orders(n, None, z)
    return _legendre_slopes(degrees, z, diff_n)


def _all_polar_slopes(n: int, m: int, theta: Value, diff_n: int) -> Value:
    degrees, orders = _orders(n, m, theta)
    return _polar_slopes(degrees, orders, theta, diff_n)


_declare_rows("legendre_p", "n z", "n z", _legendre_slopes)
_declare_rows("legendre_p_all", "n z", "z", _all_legendre_slopes, 2)
_declare_rows("sph_legendre_p", "n m theta", "n m theta", _polar_slopes)
_declare_rows("sph_legendre_p_all", "n m theta", "theta", _all_polar_slopes, 3)

for _name in ("assoc_legendre_p", "assoc_legendre_p_all"):
    if hasattr(special, _name):
        unsupported(
            getattr(special, _name),
            "its derivatives are infinite at the ends; write (-1)**m * (1 - z*z)**(m / 2) * "
            "scipy.special.poch(n + 1, m) / 2**m * scipy.special.eval_jacobi(n - m, m, m, z) for "
            "0 <= m <= n",
        )

# ---- harmonics of two angles ----


def _refuse_derivatives(name: str, diff_n: int) -> None:
    if diff_n:
        raise UnsupportedError(
            f"scipy.special.{name} with diff_n={diff_n} is not supported inside a transform; "
            f"differentiate scipy.special.{name}(n, m, theta, phi) by functier instead"
        )


@declare_composite(special, "sph_harm_y")
def _harmonics(n: Value, m: Value, theta: Value, phi: Value, *, diff_n: int = 0) -> Value:
    _refuse_derivatives("sph_harm_y", diff_n)
    m = strong(m)
    return dispatching(special.sph_legendre_p)(n, m, theta)[0] * np.exp(1j * (m * as_array(phi)))


@declare_composite(special, "sph_harm_y_all")
def _all_harmonics(n: int, m: int, theta: Value, phi: Value, *, diff_n: int = 0) -> Value:
    _refuse_derivatives("sph_harm_y_all", diff_n)
    theta, phi = as_array(theta), as_array(phi)
    whole = dispatching(special.sph_harm_y)(*_orders(n, m, theta, phi), theta, phi)
    single = {dtype_of(theta).char, dtype_of(phi).char} == {"f"}
    return np.astype(whole, np.complex64) if single else whole  # nearer than SciPy's
