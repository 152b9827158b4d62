"""Constants for derivatives: stop_gradient for a value, no_grad for a block of code."""

from collections.abc import Collection, Iterator
from typing import Any

from .._core.blocks import block
from .._core.numpy_facts import PyTree, Value
from .._core.op import Op
from .._core.pytree import flatten, unflatten
from .._core.root import DISABLED
from .._core.tensor import Tensor
from .._levels.lineage import AMBIENT, levels_of
from .._levels.states import switch_off


def stop_gradient(x: Any) -> Any:
    """Return `x` as a constant: all derivatives of the result, of every order, are zero.

    Parameters
    ----------
    x : array or pytree of arrays
        Values of any levels. Other leaves are returned unchanged.

    Returns
    -------
    array or pytree of arrays
        The same values in the same memory, without their derivatives at any level of `grad`,
        `vjp` or `jvp`. They keep their batch axes under `vmap`, wherever its level is in the
        nesting. Outside all transforms the result is `x`.

    Notes
    -----
    This is JAX's ``lax.stop_gradient`` and torch's ``detach``. Derivatives are stored with
    the value, so it works in threads and generators, too.

    Examples
    --------
    >>> import numpy as np
    >>> from functier import grad
    >>> grad(lambda x: np.sum(x * stop_gradient(x)))(np.array([1.0, 2.0]))
    array([1., 2.])
    """
    return without_derivatives(x)


def without_derivatives(tree: PyTree, classes: Collection[type] | None = None) -> PyTree:
    """Return a pytree without the derivatives of its leaves, which keep their batch axes.

    `classes` are the levels whose derivatives are removed; None stands for all.
    """
    leaves, structure = flatten(tree)
    return unflatten(structure, [_stop(leaf, classes) for leaf in leaves])


def _stop(x: Value, classes: Collection[type] | None) -> Value:
    """Do as `without_derivatives` for one leaf."""
    if not isinstance(x, Tensor) or not x.level.depth:
        return x
    level: Any = x.level
    if not level.live:
        return _stop(level.release(x, level), classes)
    if level.records:  # its value is known later, and so is the constant
        mine = classes is None or type(x) in classes
        return level.apply_single(STOP, x, {}) if mine else x
    if level.differentiates:
        return _stop(x.elem(), classes) if classes is None or type(x) in classes else x
    inner, *extra = x.parts()
    value = _stop(inner, classes)
    return x if value is inner else type(x).join(value, *extra)


STOP = Op(stop_gradient, "x", family="constant")
"""The operation that a level records while the value is not known."""


def _is_differentiating(cls: type) -> bool:
    """Return True where a level differentiates, or records calls to be differentiated later."""
    level = vars(cls).get("level")
    kind = getattr(level, "kind", None)
    return kind is not None and (kind.differentiates is not None or kind.records)


@block
def no_grad() -> Iterator[None]:
    """Treat the results of a block, or of a decorated function, as constants.

    Inside the block, tensors of the `grad`, `vjp` and `jvp` levels around it act as the
    values they hold, so results are constants. `vmap` still applies. A transform that is
    called inside the block differentiates as usual.

    See Also
    --------
    stop_gradient : The same for one value; it is cheaper, and works in any thread.
    enable_grad : Differentiate again inside the block.

    Notes
    -----
    This is torch's ``no_grad``, with one difference: in torch, forward mode still differentiates in
    the block; here all modes agree. The block affects the levels of its context: a tensor from
    another thread is differentiated if it came without the context of that thread
    (`contextvars.copy_context`).

    Examples
    --------
    >>> import numpy as np
    >>> from functier import grad
    >>> def f(x):
    ...     with no_grad():
    ...         scale = np.max(np.abs(x))
    ...     return np.sum(x / scale)
    >>> grad(f)(np.array([1.0, -4.0]))
    array([0.25, 0.25])
    """
    around = [level.cls for level in levels_of(AMBIENT.get())]
    yield from switch_off([cls for cls in around if _is_differentiating(cls)])


@block
def enable_grad() -> Iterator[None]:
    """Differentiate again in a block inside a `no_grad` block.

    Examples
    --------
    >>> from functier import grad
    >>> def f(x):
    ...     with no_grad():
    ...         a = x * x
    ...         with enable_grad():
    ...             b = x * 3.0
    ...     return a + b
    >>> float(grad(f)(2.0))
    3.0
    """
    before = DISABLED.get()
    left = frozenset(c for c in before if not _is_differentiating(c))
    try:
        DISABLED.set(left)
        yield
    finally:
        DISABLED.set(before)
