"""requires_grad, which asks if a value is differentiated, and hooks on its gradient."""

from collections.abc import Callable
from typing import Any

from .._core.border import check_leaf
from .._core.numpy_facts import dtype_of, shape_of
from .._core.pytree import describe, is_value, name_of_function
from .._core.tensor import Tensor
from .._levels.kept import join_edges
from .._levels.memory import separate_from_holders


def requires_grad(x: Any, level: type | None = None) -> bool:
    """Return True if a derivative is being taken with respect to a value that `x` depends on.

    Parameters
    ----------
    x : array or tensor
        For any other object the answer is False.
    level : type, optional
        The class of a level, such as that of ``with grad() as G`` or ``type(x)``. Only this
        level counts then.

    Raises
    ------
    EscapedTensorError
        If the level of `x` has ended.

    Examples
    --------
    >>> from functier import grad
    >>> def f(x):
    ...     print(requires_grad(x), requires_grad(x.elem()), requires_grad(3.0))
    ...     return x * x
    >>> float(grad(f)(2.0))
    True False False
    4.0
    """
    while isinstance(x, Tensor) and x.level.depth:
        inner: Any = x.level
        if not inner.live:
            x = inner.release(x, inner)
            continue
        if inner.differentiates and (level is None or type(x) is level):
            return True
        if inner.records:
            inner.unknown_value("requires_grad(x)")
        x = x._value
    return False


class HookHandle:
    """The handle that `register_hook` returns, and a context manager that removes the hook."""

    def __init__(self) -> None:
        self.active = True

    def remove(self) -> None:
        """Remove the hook; gradients pass unchanged from now on."""
        self.active = False

    def __enter__(self) -> "HookHandle":
        return self

    def __exit__(self, *exception: Any) -> None:
        self.remove()


def register_hook(x: Any, hook: Callable[[Any], Any]) -> HookHandle:
    """Call `hook` with the gradient of `x` when a backward pass reaches it.

    Parameters
    ----------
    x : tensor
        A tensor of a `grad` or `vjp` level: an argument of the differentiated function, or a
        value computed from it. The hook sees the part of the gradient that comes from
        computations after this call.
    hook : callable
        Takes the gradient, which it must not write to. Returns None, or a gradient of the
        same shape and dtype that replaces it.

    Returns
    -------
    HookHandle
        ``handle.remove()`` removes the hook.

    Raises
    ------
    TypeError
        If `x` is not a tensor of a reverse-mode level.

    Notes
    -----
    This is torch's ``tensor.register_hook``. It changes `x` itself: its node on the tape gets
    another node on top. A `Function` with such a ``backward`` changes no tensor, and works under
    every transform.

    Examples
    --------
    >>> from functier import grad
    >>> def f(x):
    ...     y = x * x
    ...     register_hook(y, print)
    ...     register_hook(x, lambda g: 10.0 * g)
    ...     return 3.0 * y * x
    >>> float(grad(f)(2.0))
    6.0
    144.0
    """
    if not callable(hook):
        raise TypeError(f"register_hook: the hook is a {type(hook).__name__}, not a function")
    if not isinstance(x, Tensor) or x.level.differentiates != "reverse":
        raise TypeError(
            f"register_hook: cannot register a hook on a value of type {type(x).__name__}, which "
            f"has no gradient; register it on a tensor of grad or vjp, inside the function"
        )
    handle, name = HookHandle(), name_of_function(hook)
    form = x.shape, x.dtype

    def rule(cotangents: tuple) -> list:
        (g,) = cotangents
        if handle.active and g is not None:
            new = hook(g)
            if new is not None:
                check_leaf("register_hook", lambda: f"what {name} returned", new)
                if not is_value(new) or (shape_of(new), dtype_of(new)) != form:
                    got = f"{dtype_of(new)}{[*shape_of(new)]}" if is_value(new) else describe(new)
                    raise ValueError(
                        f"register_hook: {name} returned {got}, but a gradient of shape "
                        f"{form[0]} and dtype {form[1]} was expected, or None"
                    )
                changed = [new]
                del new  # a reference here would count as a holder of the array
                return separate_from_holders(changed)
        return [g]

    (x._extra,) = join_edges([x._extra], rule, 1)
    return handle
