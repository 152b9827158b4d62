"""vjp: the value of a function, and a function for products from its tape."""

from collections.abc import Callable
from typing import Any, Literal, TypeVar, overload

import numpy as np

from .._core.numpy_facts import BIG
from .._core.pytree import check_callable, flatten, name_of_function, paths, unflatten
from .._core.tracebacks import checks_keywords, leave
from .._cpython.frames import current_frame
from .._levels.backward import backward
from .._levels.checks import check_inputs, match
from .._levels.cotangents import fill_zeros, form_like, form_of, zeros_of
from .._levels.kept import copy_tape
from .._levels.level import Escape
from .._levels.memory import own_memory, show_plain
from .._levels.options import check_choice, check_flag
from .._levels.runs import Site, outer_tensors, record
from .arguments import derivatives, without_integers

R = TypeVar("R")
A = TypeVar("A")
B = TypeVar("B")

ndarray = np.ndarray


@overload
def vjp(
    func: Callable[..., R], primal: B, /, *, has_aux: Literal[False] = False,
    allow_int: bool = False, escape: Escape = "dead",
) -> tuple[R, Callable[[Any], tuple[B]]]: ...  # fmt: skip
@overload
def vjp(
    func: Callable[..., R], *primals: Any, has_aux: Literal[False] = False,
    allow_int: bool = False, escape: Escape = "dead",
) -> tuple[R, Callable[[Any], tuple[Any, ...]]]: ...  # fmt: skip
@overload
def vjp(
    func: Callable[..., tuple[R, A]], *primals: Any, has_aux: Literal[True],
    allow_int: bool = False, escape: Escape = "dead",
) -> tuple[R, Callable[[Any], tuple[Any, ...]], A]: ...  # fmt: skip
@overload
def vjp(
    func: Callable[..., Any], *primals: Any, has_aux: bool, allow_int: bool = False,
    escape: Escape = "dead",
) -> tuple[Any, ...]: ...  # fmt: skip
@checks_keywords
def vjp(
    func: Callable, *primals: Any, has_aux: bool = False, allow_int: bool = False,
    escape: Escape = "dead",
) -> tuple:  # fmt: skip
    """Compute the value of `func`, and return a function for vector-Jacobian products.

    Parameters
    ----------
    func : callable
        A function of arrays or pytrees of arrays, which returns arrays or pytrees of arrays.
    *primals : array or pytree of arrays
        The arguments of `func`, floating-point or complex.
    has_aux : bool
        Whether `func` returns ``(output, aux)``.
    allow_int : bool
        Whether to accept primals of an integer or boolean dtype, as constants; their results
        are zeros of dtype float64.
    escape : {"dead", "passthrough"}
        What a tensor of this level does once the call is over.

    Returns
    -------
    tuple
        ``(output, vjp_fn)``, or ``(output, vjp_fn, aux)``. ``vjp_fn(cotangents)`` takes cotangents
        with the structure, shapes and dtypes of the output (it casts integers to these dtypes), and
        returns a tuple with one result for each primal. It may be called several times, also with
        batched cotangents, and it keeps the tape in memory. It has copies of the data it needs from
        `primals`, from results and from arrays that `func` closes over, so all of these may be
        written to.

    Raises
    ------
    TypeError, ValueError
        If a primal is not a floating-point array, or the cotangents do not match the output.

    Examples
    --------
    >>> import numpy as np
    >>> y, pullback = vjp(lambda x: x**2, np.array([1.0, 2.0]))
    >>> pullback(np.ones(2))
    (array([2., 4.]),)
    """
    check_choice("vjp", func, "escape", escape)
    check_callable("vjp", func)
    check_flag("vjp", func, "allow_int", allow_int)
    label = f"vjp({name_of_function(func)})"
    try:
        if not primals:
            raise ValueError(f"{label}: no primals were given; call vjp(func, x, ...)")
        leaves, structure = flatten(primals, label, "primals")
        check_inputs(label, leaves, paths, primals, "primals", integers=allow_int)
        if allow_int:
            leaves, structure = without_integers(leaves, structure)
        results, roots, inputs, out_structure, aux = record(
            Site(label, escape, current_frame(2), outer_tensors(leaves)),
            lambda inner: func(*unflatten(structure, inner)),
            leaves,
            has_aux,
        )
        roots = copy_tape(roots)
        value = unflatten(out_structure, show_plain(results))
        forms = [form_of(x) for x in leaves]
        results = [form_like(y) if type(y) is ndarray and y.size > BIG else y for y in results]

        def vjp_fn(cotangents: Any) -> tuple:
            """Return the vector-Jacobian products for `cotangents`, one for each primal."""
            try:
                given = match(label, results, out_structure, cotangents, "cotangent", "output")
                pairs = [(node, g) for node, g in zip(roots, given) if node is not None]
                grads = backward(pairs, inputs, given=True)
                full = [
                    zeros_of(f) if g is None else g if type(f) is tuple else fill_zeros([g], [f])[0]
                    for g, f in zip(grads, forms)
                ]
                return derivatives(structure, own_memory(full, given))
            except BaseException as error:
                leave(error)
                raise

        return (value, vjp_fn, aux) if has_aux else (value, vjp_fn)
    except BaseException as error:
        leave(error, label, func, primals)
        raise
