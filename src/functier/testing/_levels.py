"""check_level: laws that every kind of level has to pass."""

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import numpy as np

from .._core.errors import EscapedTensorError, GradcheckError
from .._core.pytree import flatten
from .._core.tracebacks import checks_keywords
from .._transforms.grad import grad
from .._transforms.vmap import vmap

X = np.array([[0.5, -1.5, 2.0], [3.0, 0.25, -0.5]])


class Kind(NamedTuple):
    """A kind of level: how it calls a function, and what the result is by NumPy alone."""

    call: Callable
    plain: Callable

    def compare(self, *functions: Callable) -> None:
        """Compare results of functions at a level with those without."""
        for f in functions:
            agree(self.call(f, X.copy()), self.plain(f, X.copy()))


class Broken(Exception):
    """An error that the law on errors raises in a function."""


def agree(found: Any, wanted: Any) -> None:
    """Raise an error if results differ in number, shape, dtype or values."""
    pairs = flatten(found)[0], flatten(wanted)[0]
    if len(pairs[0]) != len(pairs[1]):
        raise GradcheckError(f"{len(pairs[0])} results, expected {len(pairs[1])}")
    for f, w in zip(*pairs):
        f, w = np.asarray(f), np.asarray(w)
        if (f.shape, f.dtype) != (w.shape, w.dtype):
            raise GradcheckError(f"{f.dtype}{f.shape}, expected {w.dtype}{w.shape}")
        if not np.allclose(f, w, rtol=1e-6, atol=1e-9):
            raise GradcheckError(f"{f}, expected {w}")


def operators(kind: Kind) -> None:
    """Operators and ufuncs give NumPy's values, with plain operands on either side."""
    c = np.array([1.0, 2.0, 3.0])
    kind.compare(lambda x: np.sin(x) * 2.0 + x, lambda x: c - x, lambda x: x / c, lambda x: -x)


def functions(kind: Kind) -> None:
    """Functions of arrays give NumPy's values: sums, sorting, joins, items and methods."""
    kind.compare(
        lambda x: np.sum(x, axis=-1), lambda x: np.sort(x), lambda x: np.stack([x, x]),
        lambda x: x[..., ::-1], lambda x: x.mean(), lambda x: np.where(x > 0, x, 0.0),
    )  # fmt: skip


def results(kind: Kind) -> None:
    """Functions with several results give all of them."""
    kind.compare(lambda x: np.divmod(x, 0.75)[0], lambda x: np.split(x, 3, axis=-1)[1])


def dtypes(kind: Kind) -> None:
    """Truth values and whole numbers are of NumPy's dtypes."""
    kind.compare(lambda x: x > 0, lambda x: np.argmax(x, axis=-1))


def writes(kind: Kind) -> None:
    """A write changes an array and its views."""

    def write(x: Any) -> Any:
        y = np.multiply(x, 1.0)
        view = y[..., :2]
        y[..., 0] = 5.0
        return np.multiply(view, 1.0)

    kind.compare(write)


def itself(kind: Kind) -> None:
    """A level inside another of its kind takes the values of both."""

    def nested(call: Callable) -> Callable:
        return lambda x: call(lambda y: np.multiply(y, 3.0), np.multiply(x, 2.0))

    agree(kind.call(nested(kind.call), X[None] * 1.0), kind.plain(nested(kind.plain), X[None]))


def batch(kind: Kind) -> None:
    """A batch of calls is a loop of calls."""
    xs = np.stack([X, -X])
    found = vmap(lambda x: kind.call(np.exp, x))(xs)
    agree(found, np.stack([kind.plain(np.exp, x) for x in xs]))


def derivative(kind: Kind) -> None:
    """A result has a derivative by the argument."""
    agree(grad(lambda x: np.sum(kind.call(np.exp, x)))(X), kind.plain(np.exp, X))


def escape(kind: Kind) -> None:
    """A tensor that is kept raises an error once the level has ended."""
    kept: list = []

    def keep(x: Any) -> Any:
        kept.append(x)
        return np.multiply(x, 1.0)

    kind.call(keep, X.copy())
    try:
        np.multiply(kept[0], 2.0)
    except EscapedTensorError:
        return
    raise GradcheckError("a tensor that was kept can be used after the call")


def errors(kind: Kind) -> None:
    """An error in the function leaves the call as it is."""

    def fail(x: Any) -> Any:
        raise Broken

    try:
        kind.call(fail, X.copy())
    except Broken:
        return
    raise GradcheckError("an error that the function raised was lost")


def argument(kind: Kind) -> None:
    """The argument stays as it was."""
    x = X.copy()
    kind.call(np.exp, x)
    agree(x, X)


LAWS: dict[str, Callable[[Kind], None]] = {
    law.__name__: law
    for law in (
        operators, functions, results, dtypes, writes, itself, batch, derivative, escape, errors,
        argument,
    )
}  # fmt: skip


def directly(f: Callable, x: Any) -> Any:
    """Call a function without a level."""
    return f(x)


def level_laws() -> dict[str, str]:
    """Return the laws of a kind of level: their names, each with what it says.

    Returns
    -------
    dict
        A sentence for each name that the argument `laws` of `check_level` takes.

    Examples
    --------
    >>> level_laws()["batch"]
    'A batch of calls is a loop of calls.'
    """
    return {name: law.__doc__ or "" for name, law in LAWS.items()}


@checks_keywords
def check_level(
    call: Callable, *, plain: Callable = directly, laws: Iterable[str] = tuple(LAWS)
) -> None:
    """Check that a kind of level passes the laws that hold for all kinds.

    The laws compare what functions give at a level with what they give without one: operators,
    functions, several results, dtypes, writes; in a level of the same kind, in a batch and under a
    derivative. A tensor that is kept has to raise an error later, an error of the function has
    to arrive, and the argument has to stay as it was.

    Parameters
    ----------
    call : callable
        ``call(f, x)`` calls the function `f` with the array `x` at a new level, and returns the
        result of `f` one level out.
    plain : callable
        ``plain(f, x)`` returns the same by NumPy alone: by default ``f(x)``. For a kind that
        batches it is a loop.
    laws : iterable of str
        The names of the laws to check: by default all of `level_laws`.

    Raises
    ------
    GradcheckError
        If a law fails: the message says which, and what came instead.

    Examples
    --------
    >>> from functier.protocol import Level, run
    >>> class Counting(Level):
    ...     def apply(self, op, call):
    ...         value = call.run([self.lower(x) for x in call.operands])
    ...         if isinstance(value, (tuple, list)):
    ...             return type(value)(map(self.cls.join, value))
    ...         return self.cls.join(value)
    >>> def counted(f, x):
    ...     body = lambda level: level.lower(f(level.cls.join(x)))
    ...     return run(Counting, "counted(f)", [x], body)
    >>> check_level(counted)
    """
    kind = Kind(call, plain)
    for name in laws:
        if name not in LAWS:
            raise ValueError(
                f"check_level: laws={name!r}; write some of {', '.join(LAWS)}, or leave laws "
                f"out for all"
            )
        law = LAWS[name]
        try:
            law(kind)
        except Exception as error:
            raise GradcheckError(
                f"check_level: the law {name!r} fails: {law.__doc__} {type(error).__name__}: "
                f"{error}"
            ) from error
