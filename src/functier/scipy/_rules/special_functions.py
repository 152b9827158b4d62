"""Rules of the Python functions of `scipy.special`, which do not dispatch.

The citations are those of `special`.
"""

import cmath
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import special  # type: ignore[import-untyped]

from ..._core.errors import UnsupportedError
from ..._core.numpy_facts import Shape, Value, align, dtype_of, sum_to
from ..._rules.axes import as_array, normalize
from ..._rules.constructors import check_values
from ..._rules.elementwise import softmax_share
from ...protocol import Rule
from .declare import declare, declare_composite, dispatching
from .special_formulas import complete_rule, lists_as_arrays, lower


def strong(x: Value) -> Value:
    """Return an operand as SciPy converts it: an array, also for a Python number."""
    x = as_array(x)
    return x if np.ndim(x) else np.reshape(x, ())


def _declare_elementwise(name: str, params: str, operands: str, **rules: Callable) -> None:
    """Declare a function of each element by its derivatives, which are complex-linear."""
    func = getattr(special, name, None)
    if func is None:
        return
    names = operands.split()
    partials: Any = {n: Rule(complete_rule(rule), names, True) for n, rule in rules.items()}
    for n, rule in rules.items():
        partials[n].defaults = Rule(rule, names).defaults
    call = dispatching(func)
    declare(
        special,
        name,
        params,
        operands,
        family="elementwise",
        vmap=lambda k, *xs, **options: call(*align(k, xs), **options),
        jvp=partials,
        vjp=partials,
    )


# ---- sums of exponentials: the derivative of the logarithm is a softmax ----


def _weights(
    ans: Value, a: Value, b: Value | None, axis: Any, keepdims: bool, signed: bool
) -> Value:
    """Return ``exp(a)`` over the sum of all ``b * exp(a)``, for each element of `a`.

    An infinite element that is the sum has the share 1, and one of minus infinity has 0.
    """
    shape = _full_shape(a, b)
    total, sign = ans if signed else (ans, None)
    total = _expand(total, shape, axis, keepdims)
    if dtype_of(a).kind == "c":
        share = np.exp(a - total)
    else:
        share = softmax_share(np.exp, 1.0, total, a)
    if b is not None:  # so that elements may cancel
        share = np.where(np.isinf(total) & np.isfinite(a) & (np.real(total) < 0), np.inf, share)
    if sign is None:
        return share
    return share * np.conjugate(_expand(sign, shape, axis, keepdims))


def _expand(x: Value, shape: Shape, axis: Any, keepdims: bool) -> Value:
    """Return a sum along axes of an array of `shape` with these axes."""
    return x if keepdims else np.expand_dims(x, normalize(axis, len(shape)))


def _full_shape(a: Value, b: Value | None) -> Shape:
    return np.shape(a) if b is None else np.broadcast_shapes(np.shape(a), np.shape(b))


def _factors(saved: tuple, of_b: bool) -> Value:
    """Return the derivative of the logarithm of the sum by `a` or by `b`."""
    ans, a, b, *options = saved
    a, b = lists_as_arrays(a, b)
    weights = _weights(ans, a, b, *options)
    if of_b or b is None:
        return weights
    return b * np.where(np.equal(b, 0), 0.0, weights)  # SciPy drops an infinity that counts 0 times


def _sum_jvp(of_b: bool) -> Callable:
    def rule(
        t: Value,
        ans: Value,
        a: Value,
        b: Value | None = None,
        axis: Any = None,
        keepdims: bool = False,
        return_sign: bool = False,
    ) -> Value:
        factors = _factors((ans, a, b, axis, keepdims, return_sign), of_b)
        total = ans[0] if return_sign else ans
        moved = np.broadcast_to(t * factors, _full_shape(*lists_as_arrays(a, b)))
        moved = np.reshape(np.sum(moved, axis=axis, keepdims=keepdims), np.shape(total))
        if not return_sign:
            return moved
        turned = 1j * np.imag(moved) if dtype_of(ans[1]).kind == "c" else 0.0
        return np.real(moved), ans[1] * turned

    return rule


def _sum_vjp(of_b: bool) -> Rule:
    def rule(
        g: Value,
        shape: Shape,
        ans: Value,
        a: Value,
        b: Value | None = None,
        axis: Any = None,
        keepdims: bool = False,
        return_sign: bool = False,
    ) -> Value:
        factors = _factors((ans, a, b, axis, keepdims, return_sign), of_b)
        if return_sign:
            g, turn = g
            if dtype_of(ans[1]).kind == "c":
                g = g - 1j * np.imag(np.conjugate(turn) * ans[1])
        full = _full_shape(*lists_as_arrays(a, b))
        whole = _expand(g, full, axis, keepdims) * np.conjugate(factors)
        return sum_to(np.broadcast_to(whole, full), shape)

    needs = ("ans", "a", "b", "axis", "keepdims", "return_sign")
    complete = Rule((rule, "b_shape" if of_b else "a_shape", *needs), ())
    complete.defaults = {"b": None, "axis": None, "keepdims": False, "return_sign": False}
    return complete


def _sum_vmap(k: int, a: Value, axis: Any = None, b: Value | None = None, **options: Any) -> Value:
    a, *rest = align(k, (a,) if b is None else (a, b))
    if np.ndim(a) == k:  # in SciPy, a number has one axis here
        a = np.expand_dims(a, k)
        rest = [np.expand_dims(b, k) for b in rest if np.ndim(b)]
    axis = tuple(k + i for i in normalize(axis, np.ndim(a) - k))
    if any(0 in np.shape(v)[:k] for v in (a, *rest)):  # where SciPy does not take several axes
        total = np.sum(
            np.multiply(a, *rest or [1.0]), axis, keepdims=options.get("keepdims", False)
        )
        return (np.abs(total), total) if options.get("return_sign") else total
    return dispatching(special.logsumexp)(a, axis, *rest, **options)


declare(
    special,
    "logsumexp",
    "a axis b keepdims return_sign",
    "a b",
    vmap=_sum_vmap,
    jvp={"a": _sum_jvp(False), "b": _sum_jvp(True)},
    vjp={"a": _sum_vjp(False), "b": _sum_vjp(True)},
)


def _softmax_vmap(func: Callable) -> Callable:
    call = dispatching(func)

    def rule(k: int, x: Value, axis: Any = None) -> Value:
        n = np.ndim(x) - k  # of a number NumPy takes axis 0, too
        axes = normalize(axis if n or axis not in (0, -1) else None, n)
        return call(x, axis=tuple(k + i for i in axes))

    return rule


def _softmax_jvp(t: Value, ans: Value, axis: Any = None) -> Value:
    moved = ans * t
    return moved - ans * np.sum(moved, axis=axis, keepdims=True)


def _softmax_vjp(g: Value, ans: Value, axis: Any = None) -> Value:
    return _softmax_jvp(g, np.conjugate(ans), axis)


def _log_softmax_jvp(t: Value, ans: Value, axis: Any = None) -> Value:
    return t - np.sum(np.exp(ans) * t, axis=axis, keepdims=True)


def _log_softmax_vjp(g: Value, ans: Value, axis: Any = None) -> Value:
    return g - np.exp(np.conjugate(ans)) * np.sum(g, axis=axis, keepdims=True)


for _name, _jvp, _vjp in (
    ("softmax", _softmax_jvp, _softmax_vjp),
    ("log_softmax", _log_softmax_jvp, _log_softmax_vjp),
):
    declare(
        special, _name, "x axis", vmap=_softmax_vmap(getattr(special, _name)), jvp={"x": _jvp},
        vjp={"x": _vjp},
    )  # fmt: skip

# ---- gamma functions ----


@declare_composite(special, "multigammaln")
def _multigammaln(a: Value, d: int) -> Value:
    if np.ndim(d) or np.floor(d) != d:
        raise ValueError("d should be a positive integer (dimension)")
    size = int(d)
    message = f"condition a > 0.5 * (d-1) ({0.5 * (d - 1)}) not met"
    a = check_values(strong(a), lambda a: np.all(a > 0.5 * (d - 1)), message)
    halves = np.reshape(np.arange(size) / 2, (-1,) + (1,) * np.ndim(a))
    halves = np.astype(halves, dtype_of(a) if dtype_of(a).kind == "f" else np.float64)
    constant = np.float64(d * (d - 1) * 0.25 * np.log(np.pi))
    return constant + np.sum(special.gammaln(a - halves), axis=0)


@declare_composite(special, "comb")
def _comb(N: Value, k: Value, *, exact: bool = False, repetition: bool = False) -> Value:
    _refuse_exact("comb(N, k)", exact)
    N, k = strong(N), strong(k)
    if repetition:  # with one set of nothing, where SciPy's `binom` is NaN
        nothing = np.equal(N, 0) & np.equal(k, 0)
        return np.where(nothing, 1.0, special.binom(np.where(nothing, 1, N + k - 1), k))
    exists = (k <= N) & (N >= 0) & (k >= 0)
    return np.where(exists, special.binom(np.where(exists, N, 1), np.where(exists, k, 0)), 0)


@declare_composite(special, "perm")
def _perm(N: Value, k: Value, exact: bool = False) -> Value:
    _refuse_exact("perm(N, k)", exact)
    N, k = strong(N), strong(k)
    exists = (k <= N) & (N >= 0) & (k >= 0)
    first = np.where(exists, N - k + 1, 1)
    return np.where(exists, special.poch(first, np.where(exists, k, dtype_of(k).type(0))), 0)


def _refuse_exact(call: str, exact: bool) -> None:
    if exact:
        raise UnsupportedError(
            f"scipy.special.{call[:-1]}, exact=True) takes plain integers only; write "
            f"scipy.special.{call}, or int(x) for a tensor x of one number"
        )


def _factorial_slope(g: Value, ans: Value, n: Value, k: Any, extend: str | None) -> Value:
    """Differentiate ``Gamma(n / k + 1)`` times ``k ** (n / k)``: DLMF 5.2.2."""
    at = n if extend == "complex" else np.where(np.less(n, 0), 0.0, n)  # it is 0 where n is less
    growth = cmath.log(k)
    growth = growth if growth.imag else growth.real
    return g * ans * ((growth + special.psi(at / k + 1)) / k)


def _declare_factorial(name: str, params: str, step: int) -> None:
    call = dispatching(getattr(special, name))

    def slope(g: Value, ans: Value, n: Value, extend: str | None = None) -> Value:
        return _factorial_slope(g, ans, n, step, extend)

    def multiple_slope(g: Value, ans: Value, n: Value, k: Any, extend: str | None = None) -> Value:
        return _factorial_slope(g, ans, n, k, extend)

    rule = {"n": Rule(slope if step else multiple_slope, ["n"], True)}

    def vmap(count: int, n: Value, **options: Any) -> Value:
        if 0 in np.shape(n)[:count]:  # which SciPy returns as it is
            whole = np.int64 if options.get("exact") else np.float64
            return np.astype(n, np.result_type(whole, n), copy=False)
        return call(n, **options)

    declare(special, name, params, "n", vmap=vmap, jvp=rule, vjp=rule)


_declare_factorial("factorial", "n exact extend", 1)
_declare_factorial("factorial2", "n exact extend", 2)
_declare_factorial("factorialk", "n k exact extend", 0)
declare(
    special,
    "stirling2",
    "N K exact",
    "N K",
    family="constant",
    constant=True,  # it takes integers alone
    vmap=lambda k, *xs, **options: dispatching(special.stirling2)(*align(k, xs), **options),
)

# ---- Bessel functions ----


def _declare_spherical(name: str, signs: tuple[int, int]) -> None:
    """Declare a spherical Bessel function and its derivative: DLMF 10.51.1, 10.51.4.

    `signs` are those of the functions of the orders n - 1 and n + 1 in the derivative.
    """
    func = dispatching(getattr(special, name))

    def slope(g: Value, n: Value, z: Value, derivative: bool = False) -> Value:
        below = np.where(np.equal(n, 0), 0, n * func(lower(n), z, derivative))
        above = (n + 1) * func(n + 1, z, derivative)
        return g * ((signs[0] * below + signs[1] * above) / (2 * n + 1))

    _declare_elementwise(name, "n z derivative", "n z", z=slope)


_declare_spherical("spherical_jn", (1, -1))
_declare_spherical("spherical_yn", (1, -1))
_declare_spherical("spherical_in", (1, 1))
_declare_spherical("spherical_kn", (-1, -1))


# ---- the Dirichlet function ----


def _diric_slope(g: Value, x: Value, n: Value) -> Value:
    """Differentiate the Chebyshev polynomial of ``cos(x / 2)`` that it is: DLMF 18.5.2, 18.9.19."""
    whole = np.equal(n, np.floor(n)) & (n > 0)
    order = np.astype(as_array(np.where(whole, n, 1)), np.int64)
    steep = special.eval_gegenbauer(np.maximum(order - 2, 0), 2.0, np.cos(x / 2))
    slope = np.where(order > 1, -np.sin(x / 2) * steep / order, 0.0)
    return g * np.where(whole, slope, np.nan)


_declare_elementwise("diric", "x n", "x n", x=_diric_slope)
