"""Products with second derivatives (hvp), and elementwise_grad."""

import functools
from collections.abc import Callable
from typing import Any, ParamSpec

import numpy as np

from .._core.border import check_leaf
from .._core.numpy_facts import PyTree, shape_of
from .._core.pytree import check_callable, describe, flatten, is_value, name_of_function, unflatten
from .._core.tensor import Tensor
from .._core.tracebacks import checks_keywords, leave
from .._cpython.frames import current_frame
from .._levels.level import Escape
from .._levels.memory import own_memory
from .._levels.options import check_choice
from .._levels.runs import Site, push_forward
from .grad import gradients
from .jvp import match_directions
from .options import Options
from .transformed import Transformed

P = ParamSpec("P")


@checks_keywords
def hvp(
    func: Callable,
    primals: tuple,
    tangents: tuple,
    *,
    has_aux: bool = False,
    escape: Escape = "dead",
) -> tuple:
    """Compute the value of a scalar function and a Hessian-vector product.

    Parameters
    ----------
    func : callable
        Returns a real scalar, or ``(scalar, aux)`` with `has_aux`.
    primals, tangents : tuple
        The arguments (arrays or pytrees), and a vector for each, of the same structure and
        shapes.
    has_aux : bool
        Whether `func` returns a second value.
    escape : {"dead", "passthrough"}
        What a tensor of the levels does once the call is over.

    Returns
    -------
    tuple
        ``(value, product)``, or ``(value, product, aux)``. The product is a tuple in the
        structure of `primals`.

    Raises
    ------
    TypeError, ValueError
        As `jvp` for the arguments, and as `grad` for the result of `func`.

    Notes
    -----
    The product is computed by forward over reverse mode, without the Hessian: one call of
    `func` with its gradient, and the directional derivative of both. That takes a small
    multiple of the time of `func` and of the memory of `grad`.

    If the second derivatives are continuous, the Hessian of a real function is symmetric, and
    the result is also the vector times the Hessian. Reverse over reverse mode,
    ``vjp(grad(func), x)[1](v)``, takes more time and memory.

    Examples
    --------
    >>> import numpy as np
    >>> value, (product,) = hvp(lambda x: np.sum(x**3), (np.array([1.0, 2.0]),), (np.ones(2),))
    >>> float(value), product
    (9.0, array([ 6., 12.]))
    """
    name, label = _names("hvp", func, escape)
    try:
        leaves, structure, directions = match_directions(
            label, primals, tangents, call="hvp(f, (x,), (t,))"
        )
        outer = [x for x in (*leaves, *directions) if isinstance(x, Tensor)]
        gradient = _gradient("hvp", func, len(primals), has_aux, escape)
        pairs, tree, rest = push_forward(
            Site(f"jvp({name})", escape, current_frame(2), outer),
            lambda inner: gradient(*unflatten(structure, inner)), leaves, directions, True,
        )  # fmt: skip
        product = unflatten(tree, own_memory([t for _, t in pairs], directions))
        return _with_aux(product, rest, has_aux)
    except BaseException as error:
        leave(error, label, func, primals)
        raise


@checks_keywords
def elementwise_grad(
    func: Callable[P, Any],
    argnums: int | tuple[int, ...] = 0,
    has_aux: bool = False,
    *,
    argnames: str | tuple[str, ...] | None = None,
    holomorphic: bool = False,
    allow_int: bool = False,
    escape: Escape = "dead",
) -> Callable[P, Any]:
    """Return a function that computes the derivative of an elementwise function.

    The derivative is the diagonal of the Jacobian. It comes from one backward pass, as the
    gradient of the sum of the result. Each element of the result of `func` has to depend on
    the same element of the arguments only; of this, only the shape is checked.

    Parameters
    ----------
    func : callable
        Returns an array, or ``(array, aux)`` with `has_aux`.
    argnums, has_aux, argnames, holomorphic, allow_int, escape
        As for `grad`.

    Returns
    -------
    callable
        The function returns the derivative, with the shape and dtype of the differentiated
        argument (a tuple if there are several); with `has_aux`, ``(derivative, aux)``.

    Raises
    ------
    TypeError, ValueError
        As `grad`; if the result is not a single array, or a differentiated argument has
        another shape.

    Examples
    --------
    >>> import numpy as np
    >>> elementwise_grad(np.square)(np.array([1.0, 2.0, 3.0]))
    array([2., 4., 6.])
    >>> elementwise_grad(elementwise_grad(np.sin))(np.zeros(2))
    array([-0., -0.])
    """
    _, label = _names("elementwise_grad", func, escape)

    @functools.wraps(func)
    def total(*args: Any, **kwargs: Any) -> tuple:
        out = func(*args, **kwargs)
        aux: Any = None
        if has_aux:
            if not isinstance(out, tuple) or len(out) != 2:
                raise TypeError(
                    f"{label}: has_aux=True needs a function that returns (output, aux); it "
                    f"returned {describe(out)}"
                )
            out, aux = out
        if not is_value(out):
            raise TypeError(
                f"{label}: the function returned {describe(out)}; return one array, each element "
                f"of which depends on the same element of the arguments"
            )
        check_leaf(label, "the result", out)
        return np.sum(out), (shape_of(out), aux)

    def check(grad: PyTree, value: tuple) -> Any:
        _, (shape, aux) = value
        for g in flatten(grad)[0]:
            if shape_of(g) != shape:
                remedy = f"pass numpy.broadcast_to(x, {shape})" if shape else "use grad"
                raise ValueError(
                    f"{label}: the function returned shape {shape} for an argument of shape "
                    f"{shape_of(g)}, so it does not work element by element; {remedy}, or jacrev "
                    f"for the whole Jacobian"
                )
        return (grad, aux) if has_aux else grad

    options = Options(argnums, True, argnames, holomorphic, allow_int, escape)
    call = gradients("elementwise_grad", total, options, check).__call__
    given = Options(argnums, has_aux, argnames, holomorphic, allow_int, escape)
    return Transformed(call, func, "elementwise_grad", given)


# ---- shared parts ----


def _names(transform: str, func: Any, escape: Any) -> tuple[str, str]:
    """Return the name of `func`, and the label of the transform of it, for messages."""
    check_choice(transform, func, "escape", escape)
    check_callable(transform, func)
    name = name_of_function(func)
    return name, f"{transform}({name})"


def _gradient(transform: str, func: Callable, n: int, has_aux: bool, escape: Escape) -> Callable:
    """Return a function for ``(gradients, value)`` with respect to all `n` arguments of `func`.

    Messages name `transform`.
    """
    options = Options(tuple(range(n)), has_aux, escape=escape)
    return gradients(transform, func, options, lambda gradient, value: (gradient, value))


def _with_aux(product: PyTree, rest: Any, has_aux: bool) -> tuple:
    """Return ``(value, product)`` or ``(value, product, aux)``."""
    return (rest[0], product, rest[1]) if has_aux else (rest, product)
