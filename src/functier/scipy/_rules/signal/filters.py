"""Filters along one axis: `lfilter`, cascades of second-order sections, and initial states.

NOTE [the derivatives of a filter]
    A filter of the transposed direct form II has the state ``z`` (Oppenheim and Schafer,
    *Discrete-Time Signal Processing*, 2010, section 6.3.4)::

        y[n] = b[0] x[n] + z[0]      z[i] = b[i + 1] x[n] - a[i + 1] y[n] + z[i + 1]

    where `a` and `b` are divided by ``a[0]``. It is linear in the signal, the state and `b`. A
    change ``da`` has the effect of the numerator ``-da`` on the signal `y`. In reverse mode the
    cotangent runs backwards through the recursion alone: ``q[n] = g[n] - a[1] q[n + 1] - ...``,
    where the cotangent of the final state follows the last sample. The cotangents of the signal
    and of the coefficients are correlations with `q`, that of the initial state is its beginning.
"""

import warnings
from collections.abc import Callable

import numpy as np
import scipy.signal as signal  # type: ignore[import-untyped]

from ...._core.errors import FallbackWarning
from ...._core.numpy_facts import Value
from ...._rules.axes import as_array, normalize
from ...._rules.constructors import check_values
from ...._rules.linalg.contract import conj
from ....protocol import op, primitive
from ..declare import declare_composite


def loop_examples(k: int, func: Callable, name: str, reason: str, *operands: Value) -> Value:
    """Call a function that returns a tuple for one example after the other, with a warning."""
    warnings.warn(
        f"functier.vmap: {reason}, so {name} is applied to one example after the other",
        FallbackWarning,
        stacklevel=2,
    )
    batch = np.broadcast_shapes(*[np.shape(v)[:k] for v in operands])

    def example(index: tuple) -> Value:
        own = []
        for x in operands:
            if 0 in batch:
                own.append(np.ones(x.shape[k:], x.dtype))
            else:
                own.append(x[tuple(i if n > 1 else 0 for i, n in zip(index, x.shape[:k]))])
        return func(*own)

    rows = [example(index) for index in np.ndindex(*batch)] or [example(())]
    columns = [np.stack(column) for column in zip(*rows)]
    return tuple(np.reshape(c[:0] if 0 in batch else c, batch + np.shape(c)[1:]) for c in columns)


# ---- the filter along the last axis ----


@primitive
def filtered(b: Value, a: Value, x: Value, zi: Value) -> tuple:
    """Return the filtered signal and the final state; the state has ``max(P, Q) - 1`` numbers."""
    if not x.size:  # SciPy leaves the final state unset
        dtype = np.result_type(b, a, x, zi)
        return np.zeros(x.shape, dtype), zi.astype(dtype)
    return signal.lfilter(b, a, x, -1, zi)


def _no_state(b: Value, a: Value, x: Value) -> Value:
    """Return the state of a filter before its first sample."""
    size = max(np.shape(b)[-1], np.shape(a)[-1]) - 1
    return np.zeros((*np.shape(x)[:-1], size), np.result_type(b, a, x))


def _extended(coefficients: Value, size: int) -> Value:
    """Return coefficients with zeros after them."""
    lacking = size - np.shape(coefficients)[-1]
    if lacking <= 0:
        return coefficients
    return np.concatenate([coefficients, np.zeros(lacking, np.result_type(coefficients))])


def _shifted_sum(b: Value, x: Value, size: int) -> Value:
    """Return ``sum(b[k] x[n - k])``, with `size` more elements than the signal."""
    length, lead = np.shape(x)[-1] + size, np.shape(x)[:-1]
    zeros = np.zeros((*lead, size), np.result_type(x))
    wide = np.concatenate([zeros, x, zeros], axis=-1)
    return sum(
        b[..., k : k + 1] * wide[..., size - k : size - k + length] for k in range(np.shape(b)[-1])
    )


def _filtered_vmap(k: int, b: Value, a: Value, x: Value, zi: Value) -> tuple:
    if any(n != 1 for n in np.shape(a)[:k]):
        reason = "the denominator of the filter differs from example to example"
        return loop_examples(k, filtered, "scipy.signal.lfilter", reason, b, a, x, zi)
    batch = np.broadcast_shapes(*[np.shape(v)[:k] for v in (b, x, zi)])
    a = np.reshape(a, np.shape(a)[k:])
    zi = np.broadcast_to(zi, batch + np.shape(zi)[k:])
    if all(n == 1 for n in np.shape(b)[:k]):
        x = np.broadcast_to(x, batch + np.shape(x)[k:])
        return filtered(np.reshape(b, np.shape(b)[k:]), a, x, zi)
    size = np.shape(zi)[-1]
    form = np.shape(b)[:k] + (1,) * (np.ndim(x) - k - 1) + np.shape(b)[k:]
    driven = _shifted_sum(np.reshape(b, form), x, size) / a[0]
    n = np.shape(x)[-1]
    driven = np.broadcast_to(driven, batch + np.shape(driven)[k:])
    y, zf = filtered(_extended(a[:1], size + 1), a, driven[..., :n], zi)
    return y, zf + driven[..., n:]


def _jvp_b(t: Value, b: Value, a: Value, x: Value) -> tuple:
    return filtered(t, a, x, _no_state(t, a, x))


def _jvp_a(t: Value, ans: Value, b: Value, a: Value, zi: Value) -> tuple:
    y, zf = ans
    change = t[0] / a[0]
    moved, state = filtered(_extended(-t, np.shape(zi)[-1] + 1), a, y, zi * change)
    return moved, state - zf * change


def _jvp_x(t: Value, b: Value, a: Value) -> tuple:
    return filtered(b, a, t, _no_state(b, a, t))


def _jvp_zi(t: Value, b: Value, a: Value, x: Value) -> tuple:
    return filtered(b, a, np.zeros_like(x), t)


def _run_back(g: tuple, a: Value) -> Value:
    """Return the cotangent `q` of the note, one sample for each of the signal and of the state."""
    on_y, later = g[0], np.flip(g[1], -1)
    a = conj(a)
    state = np.zeros((*np.shape(on_y)[:-1], 0), np.result_type(on_y, a))
    if (
        np.shape(a)[-1] > 1
    ):  # the state that has run up to these samples: see `scipy.signal.lfiltic`
        state = -filtered(a, a[:1], later, np.zeros_like(later[..., : np.shape(a)[-1] - 1]))[1]
    return np.flip(np.concatenate([later, filtered(a[:1], a, np.flip(on_y, -1), state)[0]], -1), -1)


def _correlated(q: Value, x: Value, size: int) -> Value:
    """Return ``sum(conj(x[n]) q[n + k])`` for each k < `size`, and all signals."""
    n, x = np.shape(x)[-1], conj(x)
    rows = [np.sum(x * q[..., k : k + n]) for k in range(size)]
    return np.stack(rows)


def _vjp_b(g: tuple, b: Value, a: Value, x: Value) -> Value:
    return _correlated(_run_back(g, a), x, np.shape(b)[-1]) / conj(a[0])


def _vjp_a(g: tuple, ans: Value, a: Value, zi: Value) -> Value:
    return _on_a(g, ans, a, zi, _run_back(g, a))


def _on_a(g: tuple, ans: Value, a: Value, zi: Value, q: Value) -> Value:
    y, zf = ans
    states = np.sum(conj(zi) * q[..., : np.shape(zi)[-1]]) - np.sum(conj(zf) * g[1])
    first = np.eye(1, np.shape(a)[-1], dtype=np.result_type(a))[0]
    return (states * first - _correlated(q, y, np.shape(a)[-1])) / conj(a[0])


def _vjp_x(g: tuple, b: Value, a: Value) -> Value:
    return _on_x(g, b, a, _run_back(g, a))


def _on_x(g: tuple, b: Value, a: Value, q: Value) -> Value:
    b, q = conj(b), np.flip(q, -1)
    past = np.shape(g[1])[-1]
    c = filtered(b, conj(a[:1]), q, np.zeros_like(q[..., : np.shape(b)[-1] - 1]))[0]
    return np.flip(c[..., past:], -1)


def _vjp_zi(g: tuple, a: Value) -> Value:
    return _run_back(g, a)[..., : np.shape(g[1])[-1]]


def _all_cotangents(g: tuple, ans: Value, b: Value, a: Value, x: Value, zi: Value) -> tuple:
    q = _run_back(g, a)
    on_b = _correlated(q, x, np.shape(b)[-1]) / conj(a[0])
    return on_b, _on_a(g, ans, a, zi, q), _on_x(g, b, a, q), q[..., : np.shape(zi)[-1]]


op(
    filtered,
    "b a x zi",
    "b a x zi",
    vmap=_filtered_vmap,
    jvp={"b": _jvp_b, "a": _jvp_a, "x": _jvp_x, "zi": _jvp_zi},
    vjp={"b": _vjp_b, "a": _vjp_a, "x": _vjp_x, "zi": _vjp_zi},
    joint=_all_cotangents,
)


# ---- SciPy's functions ----


def as_row(values: Value) -> Value:
    """Return coefficients as an array; a number is one coefficient."""
    values = as_array(values)
    return values if np.ndim(values) else np.reshape(values, (1,))


@declare_composite(signal, "lfilter")
def _lfilter(b: Value, a: Value, x: Value, axis: int = -1, zi: Value = None) -> Value:
    b, a, x = as_row(b), as_row(a), as_array(x)
    for name, c in (("b", b), ("a", a)):
        if np.ndim(c) != 1 or not np.size(c):
            raise ValueError(
                f"scipy.signal.lfilter: {name} must be a 1-D array of at least one coefficient; "
                f"got shape {np.shape(c)}"
            )
    if not np.ndim(x):
        raise ValueError("x must be at least 1-D")
    _check_type(np.result_type(b, a, x, *([] if zi is None else [as_array(zi)])))
    (axis,) = normalize(axis, np.ndim(x))
    x = np.moveaxis(x, axis, -1)
    state = _no_state(b, a, x)
    if zi is not None:
        state = _check_state(as_array(zi), axis, np.shape(state))
    y, zf = filtered(b, a, x, state)
    y = np.moveaxis(y, -1, axis)
    return y if zi is None else (y, np.moveaxis(zf, -1, axis))


def _check_state(zi: Value, axis: int, wanted: tuple) -> Value:
    """Return an initial state with its axis last, repeated for all signals."""
    if np.ndim(zi) != len(wanted):
        raise ValueError(
            f"scipy.signal.lfilter: zi must have as many axes as x, {len(wanted)}; got shape "
            f"{np.shape(zi)}"
        )
    moved = np.moveaxis(zi, axis, -1)
    own = np.shape(moved)
    if own[-1] != wanted[-1] or any(n not in (1, m) for n, m in zip(own, wanted)):
        raise ValueError(
            f"scipy.signal.lfilter: zi must have {wanted[-1]} numbers along axis {axis} and "
            f"otherwise the shape of x; got shape {np.shape(zi)}"
        )
    return np.broadcast_to(moved, wanted)


def _check_type(dtype: np.dtype) -> None:
    if dtype.char not in "fdgFDG":
        raise NotImplementedError(f"input type '{dtype}' not supported")


def _is_nonzero(x: Value) -> bool:
    return not np.any(np.equal(x, 0))


@declare_composite(signal, "lfilter_zi")
def steady_state(b: Value, a: Value) -> Value:
    b, a = as_row(b), as_row(a)
    for name, c in (("Numerator b", b), ("Denominator a", a)):
        if np.ndim(c) != 1:
            raise ValueError(f"{name} must be 1-D.")
    if not np.size(a):
        raise ValueError("There must be at least one nonzero `a` coefficient.")
    message = "scipy.signal.lfilter_zi: the first coefficient of `a` is 0; leave leading zeros out"
    lead = check_values(a[:1], _is_nonzero, message)
    size = max(np.shape(a)[0], np.shape(b)[0])
    if size < 2:
        raise ValueError(
            "scipy.signal.lfilter_zi: b and a have one coefficient each, so there is no state"
        )
    b, a = _extended(b / lead, size), _extended(a / lead, size)
    dtype = np.result_type(a, b)
    shift = np.eye(size - 1, dtype=dtype) - np.eye(size - 1, k=1, dtype=dtype)
    system = shift + np.reshape(a[1:], (-1, 1)) * np.eye(1, size - 1, dtype=dtype)
    return np.linalg.solve(system, b[1:] - a[1:] * b[0])


# ---- second-order sections ----


def check_sections(sos: Value) -> Value:
    """Return an array of sections, or raise if it is not one."""
    sos = as_array(sos)
    sos = sos if np.ndim(sos) >= 2 else np.reshape(sos, (1, -1))
    if np.ndim(sos) != 2:
        raise ValueError("sos array must be 2D")
    if np.shape(sos)[1] != 6:
        raise ValueError("sos array must be shape (n_sections, 6)")
    return check_values(sos, _has_leading_ones, "sos[:, 3] should be all ones")


def _has_leading_ones(sos: Value) -> bool:
    return not np.any(np.not_equal(sos[..., 3], 1))


def _denominator(section: Value) -> Value:
    """Return the denominator of a section, whose first coefficient is 1 and no variable."""
    return np.concatenate([np.ones(1, np.result_type(section)), section[4:]])


@declare_composite(signal, "sosfilt")
def cascade(sos: Value, x: Value, axis: int = -1, zi: Value = None) -> Value:
    sos, x = check_sections(sos), as_array(x)
    if not np.ndim(x):
        raise ValueError("x must be at least 1-D")
    (axis,) = normalize(axis, np.ndim(x))
    n, form = np.shape(sos)[0], list(np.shape(x))
    form[axis] = 2
    given, zi = zi is not None, as_array(0.0 if zi is None else zi)
    if given and np.shape(zi) != (n, *form):
        raise ValueError(
            f"scipy.signal.sosfilt: zi must have shape {(n, *form)}, for {n} sections and axis "
            f"{axis} of x; got {np.shape(zi)}"
        )
    dtype = np.result_type(sos, x, *([zi] if given else []))
    _check_type(dtype)
    sos, y = np.astype(sos, dtype, copy=False), np.moveaxis(np.astype(x, dtype), axis, -1)
    states = []
    for i in range(n):
        b, a = sos[i, :3], _denominator(sos[i])
        state = np.moveaxis(np.astype(zi[i], dtype), axis, -1) if given else _no_state(b, a, y)
        y, final = filtered(b, a, y, state)
        states.append(np.moveaxis(final, -1, axis))
    y = np.moveaxis(y, -1, axis)
    if not given:
        return y
    return y, np.stack(states) if states else np.zeros((0, *form), dtype)


@declare_composite(signal, "sosfilt_zi")
def steady_states(sos: Value) -> Value:
    sos = as_array(sos)
    if np.ndim(sos) != 2 or np.shape(sos)[1] != 6:
        raise ValueError("sos must be shape (n_sections, 6)")
    if sos.dtype.kind in "biu":
        sos = np.astype(sos, float)
    scale, states = 1.0, []
    for i in range(np.shape(sos)[0]):
        b, a = sos[i, :3], sos[i, 3:]
        states.append(scale * steady_state(b, a))
        scale = scale * (np.sum(b) / np.sum(a))
    return np.stack(states) if states else np.zeros((0, 2), sos.dtype)


# ---- polynomials from zeros and poles, digital filters from analog ones ----


@declare_composite(signal, "zpk2tf")
def _zpk2tf(z: Value, p: Value, k: Value) -> tuple:
    z, p = as_row(z), as_row(p)
    dtype = np.result_type(np.real(z), np.real(p), k)  # that of p, too, as SciPy has it
    k = np.astype(as_array(k), float if dtype.kind in "iu" else dtype)
    if np.ndim(z) > 1:
        gains = [k[0] if np.size(k) == 1 and np.ndim(k) else k[i] if np.ndim(k) else k
                 for i in range(np.shape(z)[0])]  # fmt: skip
        b = np.stack([gains[i] * np.poly(z[i]) for i in range(np.shape(z)[0])])
    else:
        b = k * np.poly(z)
    return (b if np.ndim(b) else np.reshape(b, (1,))), as_row(np.poly(p))


def _bilinear_matrix(degree: int) -> np.ndarray:
    """Return the coefficients of ``(z - 1)**i * (z + 1)**(degree - i)``, a row for each i."""
    rows = []
    for i in range(degree + 1):
        row = np.ones(1)
        for sign in [-1.0] * i + [1.0] * (degree - i):
            row = np.convolve(row, [1.0, sign])
        rows.append(row)
    return np.stack(rows)


@declare_composite(signal, "bilinear")
def _bilinear(b: Value, a: Value, fs: Value = 1.0) -> tuple:
    b, a = as_row(b), as_row(a)
    if np.ndim(fs):
        raise ValueError("Sampling frequency fs must be a single scalar.")
    signal.bilinear(np.ones(np.shape(b)), np.ones(np.shape(a)))  # SciPy's errors
    degree = max(np.size(b), np.size(a)) - 1
    found = []
    for c in (b, a):
        n = np.size(c)
        powers = np.arange(n - 1, -1, -1)
        rows = _bilinear_matrix(degree)[powers]
        found.append(np.sum(np.reshape(c * (2.0 * fs) ** powers, (-1, 1)) * rows, axis=0))
    return found[0] / found[1][0], found[1] / found[1][0]
