"""Filters that run forwards and backwards, so that they do not delay the signal."""

import numpy as np
import scipy.signal as signal  # type: ignore[import-untyped]

from ...._core.errors import UnsupportedError
from ...._core.numpy_facts import Value
from ...._rules.axes import as_array, normalize
from ..declare import declare_composite, dispatching
from .filters import as_row, check_sections


def _extended_signal(x: Value, edge: int, padtype: str | None) -> Value:
    """Return the signal with `edge` more samples at both ends of the last axis."""
    if padtype is None or edge < 1:
        return x
    first, last = x[..., :1], x[..., -1:]
    if padtype == "constant":
        before, after = (np.repeat(v, edge, axis=-1) for v in (first, last))
    else:
        before, after = x[..., edge:0:-1], x[..., -2 : -(edge + 2) : -1]
        if padtype == "odd":
            before, after = 2 * first - before, 2 * last - after
    return np.concatenate([before, x, after], axis=-1)


def _edge_of(padtype: str | None, padlen: int | None, n: int, ntaps: int) -> int:
    """Return the number of samples to add at each end, as SciPy does."""
    if padtype not in ("even", "odd", "constant", None):
        raise ValueError(
            f"Unknown value '{padtype}' given to padtype. "
            "padtype must be 'even', 'odd', 'constant', or None."
        )
    padlen = 0 if padtype is None else padlen
    edge = 3 * ntaps if padlen is None else padlen
    if n <= edge:
        raise ValueError(
            f"The length of the input vector x must be greater than padlen, which is {edge}."
        )
    return edge


def _run_both_ways(run: Value, x: Value, edge: int, padtype: str | None) -> Value:
    """Apply ``run(x, first)`` forwards and backwards; `first` is the sample for the state."""
    wide = _extended_signal(x, edge, padtype)
    y = run(wide, wide[..., :1])
    y = np.flip(run(np.flip(y, -1), y[..., -1:]), -1)
    return y[..., edge : np.shape(y)[-1] - edge]


@declare_composite(signal, "filtfilt")
def _filtfilt(
    b: Value,
    a: Value,
    x: Value,
    axis: int = -1,
    padtype: str | None = "odd",
    padlen: int | None = None,
    method: str = "pad",
    irlen: int | None = None,
) -> Value:
    b, a, x = as_row(b), as_row(a), as_array(x)
    if method not in ("pad", "gust"):
        raise ValueError("method must be 'pad' or 'gust'.")
    if method == "gust":
        raise UnsupportedError(
            "scipy.signal.filtfilt: method='gust' is not supported for tensors; write method='pad'"
        )
    (axis,) = normalize(axis, np.ndim(x))
    x = np.moveaxis(x, axis, -1)
    edge = _edge_of(padtype, padlen, np.shape(x)[-1], max(np.shape(a)[0], np.shape(b)[0]))
    state = dispatching(signal.lfilter_zi)(b, a)

    def run(x: Value, first: Value) -> Value:
        return dispatching(signal.lfilter)(b, a, x, zi=state * first)[0]

    return np.moveaxis(_run_both_ways(run, x, edge, padtype), -1, axis)


@declare_composite(signal, "sosfiltfilt")
def _sosfiltfilt(
    sos: Value, x: Value, axis: int = -1, padtype: str | None = "odd", padlen: int | None = None
) -> Value:
    sos, x = check_sections(sos), as_array(x)
    if not np.ndim(x):
        raise ValueError("x must be at least 1-D")
    (axis,) = normalize(axis, np.ndim(x))
    x, n = np.moveaxis(x, axis, -1), np.shape(sos)[0]
    ntaps = 0
    if padlen is None and padtype is not None:
        zeros = np.sum(np.equal(sos[:, 2::3], 0), axis=0)  # of the last coefficients
        ntaps = 2 * n + 1 - int(np.min(zeros))
    edge = _edge_of(padtype, padlen, np.shape(x)[-1], ntaps)
    state = dispatching(signal.sosfilt_zi)(sos)
    state = np.reshape(state, (n, *(1,) * (np.ndim(x) - 1), 2))

    def run(x: Value, first: Value) -> Value:
        return dispatching(signal.sosfilt)(sos, x, zi=state * first)[0]

    return np.moveaxis(_run_both_ways(run, x, edge, padtype), -1, axis)
