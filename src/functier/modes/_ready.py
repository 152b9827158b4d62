"""Modes that are ready to use: a log of all calls, and a count of their operations."""

import math
from collections.abc import Callable, Iterable
from contextvars import ContextVar
from typing import Any, TextIO

import numpy as np

from .._core.numpy_facts import Function, Value, dtype_of, name_of, shape_of
from .._core.tensor import Tensor
from ._asking import TensorDispatchMode, TensorFunctionMode

DEPTH: ContextVar[int] = ContextVar("depth", default=0)


class LoggingMode(TensorFunctionMode, TensorDispatchMode):
    """Record a readable trace of all calls and of the levels that handle them.

    There is one line for each call: the level that handles it (or the class of level 0, or
    ``numpy``), its name, and the form of its arguments. The calls that a level makes to compute
    it follow with an indent; the lines of ``numpy`` are the final computations.

    Parameters
    ----------
    file : text file, optional
        A file that the lines are also written to as they come.
    operations : bool
        Whether to record the lines of ``numpy``.

    Attributes
    ----------
    lines : list of str
        The lines of the trace; ``str(mode)`` joins them.

    Examples
    --------
    >>> import numpy as np
    >>> import functier as ft
    >>> def scaled(row):
    ...     return ft.grad(lambda x: np.sum(np.sin(x)))(row) * 2
    >>> with LoggingMode() as log:
    ...     out = ft.vmap(scaled)(np.ones((4, 3)))
    >>> print(log)
    grad(<lambda>): numpy.sin(f8[3])
      vmap(scaled): numpy.sin(f8[3])
        numpy: numpy.sin(f8[4, 3])
    grad(<lambda>): numpy.sum(f8[3])
      vmap(scaled): numpy.sum(f8[3])
        numpy: numpy.sum(f8[4, 3], axis=(1,))
    vmap(scaled): numpy.cos(f8[3])
      numpy: numpy.cos(f8[4, 3])
    vmap(scaled): numpy.multiply(f8[3], f8[3])
      numpy: numpy.multiply(f8[1, 3], f8[4, 3])
    vmap(scaled): Tensor.__mul__(f8[3], 2)
      numpy: numpy.multiply(f8[4, 3], 2)
    """

    nested = True

    def __init__(self, file: TextIO | None = None, *, operations: bool = True):
        self.lines: list[str] = []
        self.file, self.operations = file, operations

    def __tensor_function__(
        self, func: Callable, types: Any, args: tuple = (), kwargs: Any = None
    ) -> Any:
        first = types[0] if types else None
        if first is None:
            who = "numpy"
        elif issubclass(first, Tensor) and first.level.depth:
            who = str(first.level)
        else:
            who = first.__name__
        return self.log(who, func, args, kwargs or {})

    def __tensor_dispatch__(
        self, func: Callable, types: Any, args: tuple = (), kwargs: Any = None
    ) -> Any:
        if not self.operations:
            return func(*args, **(kwargs or {}))
        return self.log("numpy", func, args, kwargs or {})

    def log(self, who: str, func: Callable, args: tuple, kwargs: dict) -> Any:
        """Record a line for a call, make the call, and return its result."""
        depth = DEPTH.get()
        given = [form(x) for x in args] + [f"{name}={form(x)}" for name, x in kwargs.items()]
        name = name_of(func).removeprefix("functier.")
        if name.startswith(("_rules.", "scipy._rules.", "ops.")):  # not NumPy's
            name = func.__name__.lstrip("_")
        line = f"{'  ' * depth}{who}: {name}({', '.join(given)})"
        self.lines.append(line)
        if self.file is not None:
            print(line, file=self.file)
        try:
            DEPTH.set(depth + 1)
            return func(*args, **kwargs)
        finally:
            DEPTH.set(depth)

    def __str__(self) -> str:
        return "\n".join(self.lines)


def form(x: Any) -> str:
    """Return the form of a value for a trace: ``f8[3, 2]`` for an array, a number as it is."""
    if isinstance(x, (list, tuple)):
        inner = ", ".join(form(v) for v in x)
        comma = "," if isinstance(x, tuple) and len(x) == 1 else ""
        return f"[{inner}]" if isinstance(x, list) else f"({inner}{comma})"
    if isinstance(x, (np.ndarray, Tensor)):
        return f"{dtype_of(x).str.lstrip('<>|=')}{[*shape_of(x)]}"
    text = getattr(x, "__name__", None) or f"{x!r}"
    return text if len(text) < 40 else type(x).__name__


# ---- floating-point operations ----


class FlopCounterMode(TensorDispatchMode):
    """Count floating-point operations by function.

    The count includes all batch axes and derivatives. A multiplication and an addition count
    as one operation each, so a matrix product of shapes (m, k) and (k, n) counts as
    ``2 m k n``. An elementwise function, even a sine, counts as one for each element of its
    result, a reduction as one for each element of its operand, and moving data as zero.
    Functions of `numpy.linalg` are estimated by the leading terms of the usual algorithms
    (Golub and Van Loan, Matrix Computations), a Fourier transform by ``5 n log2(n)``.

    Attributes
    ----------
    counts : dict of str to list
        ``[calls, operations]`` by the name of the function.
    total : int
        All operations.

    Notes
    -----
    ``print(mode)`` and ``mode.table()`` show the table, the most expensive function first.
    Computations on NumPy scalars and Python numbers are not counted.

    Examples
    --------
    >>> import numpy as np
    >>> import functier as ft
    >>> x, w = np.ones((32, 8)), np.ones((8, 4))
    >>> with FlopCounterMode() as flops:
    ...     out = ft.vmap(lambda row: np.tanh(row @ w))(x)
    >>> flops.total == 2 * 32 * 8 * 4 + 32 * 4
    True
    >>> print(flops)
    function    calls  operations  share
    numpy.dot       1       2,048  94.1%
    numpy.tanh      1         128   5.9%
    total           2       2,176
    """

    def __init__(self) -> None:
        self.counts: dict[str, list[int]] = {}

    @property
    def total(self) -> int:
        return sum(n for _, n in self.counts.values())

    def __tensor_dispatch__(
        self, func: Callable, types: Iterable, args: tuple = (), kwargs: Any = None
    ) -> Any:
        result = func(*args, **(kwargs or {}))
        count = self.counts.setdefault(name_of(func).removeprefix("_operator."), [0, 0])
        count[0] += 1
        count[1] += operations(func, args, kwargs or {}, result)
        return result

    def table(self) -> str:
        """Return the counts as text, the largest first, without functions that count as zero."""
        rows = sorted(self.counts.items(), key=lambda row: -row[1][1])
        rows = [(name, count) for name, count in rows if count[1]]
        calls, total = sum(c for _, (c, _) in rows), self.total
        lines = [("function", "calls", "operations", "share")]
        lines += [(name, f"{c:,}", f"{n:,}", f"{n / total:.1%}") for name, (c, n) in rows]
        lines.append(("total", f"{calls:,}", f"{total:,}", ""))
        widths = [max(len(line[i]) for line in lines) for i in range(4)]
        return "\n".join(
            "  ".join([line[0].ljust(widths[0]), *map(str.rjust, line[1:], widths[1:])]).rstrip()
            for line in lines
        )

    __str__ = table


def operations(func: Function, args: tuple, kwargs: dict, result: Value) -> int:
    """Return the number of floating-point operations of a call; see `FlopCounterMode`.

    Products other than `numpy.matmul` and `numpy.dot`, such as `numpy.einsum`, come in parts.
    """
    name = func.__name__
    owner = getattr(func, "__self__", None)
    if isinstance(owner, np.ufunc):
        return _size(result) if name == "outer" else _size(args[0])
    if func in (np.matmul, np.dot):
        return 2 * _size(result) * (shape_of(args[0]) or (1,))[-1]
    module = getattr(func, "__module__", "")
    if module == "numpy.linalg" and name in LINALG:
        *batch, m, n = shape_of(args[0])
        columns = _size(args[1]) // (math.prod(batch) * m or 1) if name == "solve" else 0
        return int(math.prod(batch) * LINALG[name](max(m, n), min(m, n), columns))
    if module == "numpy.fft" and name.endswith("fft"):  # those of more axes come in parts
        axis = args[2] if len(args) > 2 else kwargs.get("axis", -1)
        n, size = max((shape_of(x)[axis], _size(x)) for x in (args[0], result))
        return int((2.5 if "rfft" in name or "hfft" in name else 5.0) * size * math.log2(n or 1))
    if name in REDUCTIONS:
        return _size(args[0])
    if isinstance(func, np.ufunc) or name in ("where", "clip"):
        return max(map(_size, result)) if isinstance(result, tuple) else _size(result)
    return 0


def _size(x: Value) -> int:
    return math.prod(shape_of(x))


LINALG: dict[str, Callable[[int, int, int], float]] = {
    "solve": lambda m, n, k: 2 / 3 * n**3 + 2 * n**2 * k,
    "inv": lambda m, n, k: 2 * n**3,
    "det": lambda m, n, k: 2 / 3 * n**3,
    "slogdet": lambda m, n, k: 2 / 3 * n**3,
    "cholesky": lambda m, n, k: n**3 / 3,
    "qr": lambda m, n, k: 2 * m * n**2 - 2 / 3 * n**3,
    "svd": lambda m, n, k: 14 * m * n**2 + 8 * n**3,
    "pinv": lambda m, n, k: 16 * m * n**2 + 8 * n**3,
    "eigh": lambda m, n, k: 9 * n**3,
    "eigvalsh": lambda m, n, k: 4 / 3 * n**3,
    "eig": lambda m, n, k: 25 * n**3,
    "eigvals": lambda m, n, k: 10 * n**3,
}
"""The leading terms for matrices of m rows and n columns, where m is the larger number."""

REDUCTIONS = {
    "sum", "prod", "mean", "max", "min", "amax", "amin", "cumsum", "cumprod", "argmax", "argmin",
    "count_nonzero",
}  # fmt: skip
