"""Forward mode: jvp, on tangents."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Literal, TypeVar, overload

import numpy as np

from .._core.numpy_facts import Structure, dtype_of, shape_of
from .._core.pytree import check_callable, flatten, name_of_function, paths, unflatten
from .._core.tensor import Tensor
from .._core.tracebacks import checks_keywords, leave
from .._cpython.frames import current_frame
from .._levels.checks import check_inputs, match
from .._levels.cotangents import is_inexact
from .._levels.jvp import JvpLevel
from .._levels.level import Escape
from .._levels.memory import own_memory, show_plain
from .._levels.options import check_choice, check_flag
from .._levels.runs import LevelContext, Site, push_forward
from .arguments import without_integers

if TYPE_CHECKING:
    from .declared import DualContext

R = TypeVar("R")
A = TypeVar("A")


def match_directions(
    label: str,
    primals: Any,
    tangents: Any,
    call: str = "jvp(f, (x,), (t,))",
    allow_int: bool = False,
) -> tuple[list, Structure, list]:
    """Return the leaves of the primals, checked, their structure, and a direction for each.

    With `allow_int` integers are constants, whose directions are zeros.
    """
    if type(primals) is not tuple or type(tangents) is not tuple:
        for name, given in (("primals", primals), ("tangents", tangents)):
            if not isinstance(given, (tuple, list)):
                raise TypeError(
                    f"{label}: {name} is a {type(given).__name__}; write a tuple with one entry "
                    f"for each argument, {call}"
                )
        primals, tangents = tuple(primals), tuple(tangents)
    if not primals:
        block = ", or write `with functier.jvp() as J:`" * label.startswith("jvp(")
        raise ValueError(f"{label}: no primals were given; call {call}{block}")
    leaves, structure = flatten(primals, label, "primals")
    check_inputs(label, leaves, paths, primals, "primals", integers=allow_int)
    moving = [x if is_inexact(x) or not allow_int else np.zeros(shape_of(x)) for x in leaves]
    directions = match(label, moving, structure, tangents, "tangent", "primals")
    if not allow_int:
        return leaves, structure, directions
    for i, (x, t) in enumerate(zip(leaves, directions)):
        if not is_inexact(x) and np.any(t):
            raise ValueError(
                f"{label}: the tangent of {paths(primals, 'primals')[i]} is not zero, and a value "
                f"of dtype {dtype_of(x)} is a constant; pass zeros, or x.astype(float) for x"
            )
    directions = [t for x, t in zip(leaves, directions) if is_inexact(x)]
    return *without_integers(leaves, structure), directions


@overload
def jvp(
    func: Callable[..., R], primals: tuple[Any, ...], tangents: tuple[Any, ...], *,
    strict: bool = False, has_aux: Literal[False] = False, allow_int: bool = False,
    escape: Escape = "dead",
) -> tuple[R, R]: ...  # fmt: skip
@overload
def jvp(
    func: Callable[..., tuple[R, A]], primals: tuple[Any, ...], tangents: tuple[Any, ...], *,
    strict: bool = False, has_aux: Literal[True], allow_int: bool = False, escape: Escape = "dead",
) -> tuple[R, R, A]: ...  # fmt: skip
@overload
def jvp(func: None = None, *, escape: Escape = "dead") -> "DualContext": ...
@checks_keywords
def jvp(
    func: Callable | None = None,
    primals: tuple = (),
    tangents: tuple = (),
    *,
    strict: bool = False,
    has_aux: bool = False,
    allow_int: bool = False,
    escape: Escape = "dead",
) -> Any:
    """Compute the value of `func` and its Jacobian-vector product.

    Parameters
    ----------
    func : callable, optional
        A function of arrays or pytrees of arrays, which returns arrays or pytrees of arrays.
        Without `func` the result is a context manager: ``with jvp() as J:``, where
        ``x = J(primal, tangent)`` is a variable and ``J.unwrap(y)`` returns
        ``(primal, tangent)``.
    primals, tangents : tuple
        The arguments, and a direction for each, of the same structure and shapes. A direction
        of integers or booleans is cast to the dtype of its primal.
    strict : bool
        Whether to raise an error if an output does not depend on any of the primals.
    has_aux : bool
        Whether `func` returns ``(output, aux)``.
    allow_int : bool
        Whether to accept primals of an integer or boolean dtype, as constants; their tangents
        have to be zeros.
    escape : {"dead", "passthrough"}
        What a tensor of this level does once the call is over.

    Returns
    -------
    tuple
        ``(output, tangent_out)``, or ``(output, tangent_out, aux)``. Each tangent has the
        shape and dtype of its output; the tangent of an integer output is zero.

    Raises
    ------
    TypeError
        If `primals` or `tangents` is not a tuple, or a primal is not a floating-point array.
    ValueError
        If a tangent does not have the structure or the shape of its primal; with `strict`,
        if an output does not depend on the primals.
    NoRuleError
        If the function uses an operation that has no derivative rule.

    Examples
    --------
    >>> y, t = jvp(lambda x: x * x, (3.0,), (1.0,))
    >>> float(y), float(t)
    (9.0, 6.0)
    """
    check_choice("jvp", func, "escape", escape)
    if func is None:
        return LevelContext(JvpLevel, "jvp()", escape, _no_decorator)
    check_callable("jvp", func)
    check_flag("jvp", func, "allow_int", allow_int)
    label = f"jvp({name_of_function(func)})"
    try:
        leaves, structure, directions = match_directions(
            label, primals, tangents, allow_int=allow_int
        )
        outer = [x for x in (*leaves, *directions) if isinstance(x, Tensor)]
        pairs, out_structure, aux = push_forward(
            Site(label, escape, current_frame(2), outer),
            lambda inner: func(*unflatten(structure, inner)),
            leaves,
            directions,
            has_aux,
            strict,
        )
        results = show_plain([p for p, _ in pairs])
        value = unflatten(out_structure, results)
        given = (*leaves, *directions, *results)
        tangent = unflatten(out_structure, own_memory([t for _, t in pairs], given))
        return (value, tangent, aux) if has_aux else (value, tangent)
    except BaseException as error:
        leave(error, label, func, primals)
        raise


def _no_decorator(func: Callable) -> Callable:
    raise TypeError("jvp() without a function is a context manager; call jvp(f, primals, tangents)")
