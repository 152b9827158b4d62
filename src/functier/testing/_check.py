"""check: what transforms would refuse in a function, and where, before they are used."""

import traceback
import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from .._core.errors import FallbackWarning
from .._core.numpy_facts import PyTree
from .._core.pytree import name_of_function
from .._core.tracebacks import checks_keywords
from .._cpython.frames import file_at, function_at, is_of_library, is_own
from .._custom.differences import copy_value
from .._transforms.jvp import jvp
from .._transforms.vjp import vjp
from .._transforms.vmap import vmap
from ._numeric import Problem, random_like


class Refusal(NamedTuple):
    """A call that a transform refused.

    Attributes
    ----------
    transform : str
        ``grad``, ``jvp``, ``vmap`` or ``vmap(grad)``.
    where : str
        The file, the line and the function of the user that asked for it; and those of the
        library that it called.
    error : Exception
        Its message says what to write instead. A FallbackWarning is of a function that was
        applied in a loop over the examples.
    """

    transform: str
    where: str
    error: Exception


class Checked(NamedTuple):
    """The findings of `check`: true where nothing was refused; printed, a table.

    Attributes
    ----------
    transforms : tuple of str
        The transforms that were tried.
    refused : tuple of Refusal
        For each transform, the first thing that it refused.
    """

    transforms: tuple[str, ...]
    refused: tuple[Refusal, ...]

    def __bool__(self) -> bool:
        return not any([not isinstance(found.error, Warning) for found in self.refused])

    def __str__(self) -> str:
        rows = []
        for name in self.transforms:
            found = next((found for found in self.refused if found.transform == name), None)
            words = "runs"
            if found is not None:
                loop = isinstance(found.error, Warning)
                words = f"{'runs in a loop' if loop else 'is refused'} in {found.where}"
                words += f"\n    {type(found.error).__name__}: {found.error}"
            rows.append(f"{name:10}  {words}")
        return "\n".join(rows)


@checks_keywords
def check(f: Callable, *args: PyTree) -> Checked:
    """Find what transforms would refuse in a function, and where, before you use them.

    The function runs once under each of `grad`, `jvp`, `vmap` and `vmap(grad)`, with respect to all
    of its arguments that are floats: give it small ones. The batch has two examples that differ by
    one per cent.

    Parameters
    ----------
    f : callable
        A function of arrays or pytrees of arrays, of any shapes, which returns such.
    *args : pytree
        The arguments of `f`.

    Returns
    -------
    Checked
        It is true if nothing was refused. Printed, it is a table with the line where each transform
        stopped, and the message, which says what to write instead. ``refused`` has the same as
        data.

    Raises
    ------
    ValueError
        If none of the arguments, or of the results, is of a floating-point or complex dtype.
    Exception
        Whatever `f` raises without a transform.

    See Also
    --------
    functier.testing.gradcheck : Compare the derivatives with finite differences.
    functier.adopt : Make other people's code take tensors.

    Notes
    -----
    A transform stops at the first thing that it refuses; there may be more after it. The result
    says nothing about other inputs, for which `f` may take other branches.

    Examples
    --------
    >>> import numpy as np
    >>> import functier as ft
    >>> bool(ft.check(lambda x: np.sum(np.sin(x)), np.ones(3)))
    True
    >>> def area(r):
    ...     return np.pi * float(r) ** 2
    >>> found = ft.check(area, 1.0)
    >>> bool(found), [refusal.transform for refusal in found.refused]
    (False, ['grad', 'jvp', 'vmap', 'vmap(grad)'])
    >>> raise found.refused[0].error
    Traceback (most recent call last):
        ...
    functier.ConversionError: vjp(area): float(x), ... would lose the derivative of x; write ...
    """
    problem = Problem("check", f, args, "args")
    cotangents = [np.ones_like(y) for y in problem.value]

    def run(*leaves: Any) -> list:
        return problem(*leaves)

    def pulled(*leaves: Any) -> Any:
        return vjp(run, *leaves)[1](cotangents)

    run.__name__ = pulled.__name__ = name_of_function(f)  # for messages
    point = tuple(map(copy_value, problem.point))
    tangents = tuple(random_like(point, 0))
    ways: dict[str, Callable] = {
        "grad": lambda: pulled(*point),
        "jvp": lambda: jvp(run, point, tangents),
        "vmap": lambda: vmap(run)(*_two_examples(problem)),
        "vmap(grad)": lambda: vmap(pulled)(*_two_examples(problem)),
    }
    refused = []
    for name, way in ways.items():
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            try:
                way()
            except Exception as error:
                refused.append(Refusal(name, _place_of(error), error))
                continue
        for w in said:
            if isinstance(w.message, FallbackWarning):
                refused.append(Refusal(name, f"{w.filename}:{w.lineno}", w.message))
                break
    return Checked(tuple(ways), tuple(refused))


def _two_examples(problem: Problem) -> list:
    """Return batches of the point, and of one near it where the function runs there, too."""
    near = [copy_value((1.01 * x).astype(x.dtype)) for x in problem.point]
    try:
        problem(*map(copy_value, near))
    except Exception:  # outside of its domain
        near = problem.point
    return [np.stack([x, y]) for x, y in zip(problem.point, near)]


def _place_of(error: Exception) -> str:
    """Return the innermost line of the user, and the one of a library that it has led to."""
    places = [p for p in traceback.walk_tb(error.__traceback__) if not is_own(p[0])]
    mine = [n for n, (frame, _) in enumerate(places) if not is_of_library(frame)][-1:]
    shown = [places[n] for n in dict.fromkeys([*mine, len(places) - 1]) if n >= 0]
    words = [f"{file_at(frame)}:{line}, in {function_at(frame)}" for frame, line in shown]
    return ", by ".join(words) or "the function itself"
