"""Where derivatives end: stop_gradient for a value, no_grad for a block of code."""

from collections.abc import Collection, Iterator
from typing import Any

from .._core.blocks import block
from .._core.op import Op
from .._core.pytree import flatten, unflatten
from .._core.root import DISABLED
from .._core.tensor import Tensor
from .._levels.lineage import AMBIENT, levels_of
from .._levels.states import switch_off


def stop_gradient(x: Any) -> Any:
    """`x` as a constant: every derivative of the result is zero, of each order.

    Parameters
    ----------
    x : array or pytree of arrays
        Of any levels. Leaves that are no arrays come back as they are.

    Returns
    -------
    array or pytree of arrays
        The same values in the same memory, without what any level of `grad`, `vjp` or `jvp`
        knows of them. They keep their batch under `vmap`, wherever its level is in the
        nesting. Outside of all transforms it is `x`.

    Notes
    -----
    JAX's ``lax.stop_gradient`` and torch's ``detach``. What a level knows of a value is with
    the value, so this works in threads and generators, too.

    Examples
    --------
    >>> import numpy as np
    >>> from functier import grad
    >>> grad(lambda x: np.sum(x * stop_gradient(x)))(np.array([1.0, 2.0]))
    array([1., 2.])
    """
    return without(x)


def without(tree: Any, classes: Collection[type] | None = None) -> Any:
    """A pytree without what the levels `classes` know of its leaves, which keep their batch.

    None stands for all levels that differentiate.
    """
    leaves, structure = flatten(tree)
    return unflatten(structure, [_stop(leaf, classes) for leaf in leaves])


def _stop(x: Any, classes: Collection[type] | None) -> Any:
    if not isinstance(x, Tensor) or not x.level.depth:
        return x
    level: Any = x.level
    if not level.live:
        return _stop(level.release(x, level), classes)
    if level.records:  # the constant is taken of the value that is known later
        mine = classes is None or type(x) in classes
        return level.apply_single(STOP, x, {}) if mine else x
    if level.differentiates:
        return _stop(x._value, classes) if classes is None or type(x) in classes else x
    value = _stop(x._value, classes)
    if value is x._value:
        return x
    y = object.__new__(type(x))
    y._value = value
    return y


STOP = Op(stop_gradient, "x", family="constant")
"""The operation that is recorded where the value is not known yet."""


def _is_differentiating(cls: type) -> bool:
    """Whether a level differentiates, or records what is differentiated later."""
    level = vars(cls).get("level")
    kind = getattr(level, "kind", None)
    return kind is not None and (kind.differentiates is not None or kind.records)


@block
def no_grad() -> Iterator[None]:
    """A block, or as a decorator a function, whose operations are not differentiated.

    Inside, tensors of the levels of `grad`, `vjp` and `jvp` around the block count as the
    values they hold, so results are constants. `vmap` goes on. A transform that is called
    inside differentiates as ever.

    See Also
    --------
    stop_gradient : the same for one value; cheaper, and right in any thread.
    enable_grad : switches it back inside.

    Notes
    -----
    torch's; but there forward mode goes on in the block, and here all derivatives agree. The
    levels around are those of this context: a tensor that another thread handed over
    without its context (`contextvars.copy_context`) is differentiated.

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
    """A block inside of a `no_grad` block whose operations are differentiated again.

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
