"""custom_vjp, custom_jvp and custom_vmap: rules for a function of pytrees.

One class, `Custom`, so that a function may have several of these rules. `_custom.apply` applies
them to the flat form of a call, which `_custom.pytree_rules` makes.
"""

import functools
import inspect
import sys
from collections.abc import Callable
from contextlib import suppress
from types import MethodType
from typing import Any

import numpy as np

from .._core.errors import NoRuleError
from .._core.numpy_facts import dtype_of, shape_of
from .._core.pytree import (
    check_callable,
    describe,
    flatten,
    name_of_function,
    same_structure,
    unflatten,
)
from .apply import apply, level_among
from .pytree_rules import PytreeCall


class Custom:
    """A function with derivative and batching rules of its own.

    What `custom_vjp`, `custom_jvp` and `custom_vmap` return; it has the methods of all.
    """

    __name__: str
    __qualname__: str
    _fwd: Callable | None = None
    _bwd: Callable | None = None
    _jvp: Callable | None = None
    _partials: tuple | None = None
    _batch: Callable | None = None

    def __init__(self, fun: Callable, kind: str, argnums: Any = (), argnames: Any = ()):
        check_callable(kind, fun)
        self.fun, self._kind = fun, kind
        functools.update_wrapper(self, fun)
        self.__name__ = name_of_function(fun)
        self.__qualname__ = getattr(fun, "__qualname__", self.__name__)  # NumPy 2.1's ufuncs
        self._label = f"{kind}({self.__name__})"
        self._signature: Any = None
        if not isinstance(fun, np.ufunc):  # NumPy's versions differ in what they say of it
            with suppress(TypeError, ValueError):  # of some functions written in C
                self._signature = inspect.signature(fun)
        every = self._signature.parameters if self._signature else {}
        places = [
            n
            for n, p in every.items()
            if p.kind
            in (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
        ]
        variable = not self._signature or any(
            p.kind is inspect.Parameter.VAR_POSITIONAL for p in every.values()
        )
        self._places = len(places)
        self.nondiff = _positions(self._label, argnums, argnames, places, variable)

    # ---- rules ----

    def defvjp(self, fwd: Callable, bwd: Callable) -> None:
        """Give the function a rule for reverse mode.

        Parameters
        ----------
        fwd : callable
            With the arguments of the function; returns ``(out, residuals)``, the result and
            a pytree of what `bwd` needs.
        bwd : callable
            ``bwd(residuals, cotangent)`` with the cotangent of ``out``, of its structure and
            shapes; returns a tuple with the cotangent of each argument, or None for zero
            (also within the tuple's pytrees). Non-differentiated arguments
            (`nondiff_argnums`) come before the residuals, and have no cotangent.
        """
        for rule in (fwd, bwd):
            check_callable(f"{self._label}.defvjp", rule)
        self._fwd, self._bwd = fwd, bwd

    def defjvp(self, jvp: Callable) -> Callable:
        """Give the function a rule for forward mode; usable as a decorator.

        Parameters
        ----------
        jvp : callable
            ``jvp(primals, tangents)`` with tuples of the arguments and of their tangents,
            zeros where an argument does not vary; returns ``(out, tangent_out)``. It has to
            be linear in the tangents. Non-differentiated arguments come before the two.
        """
        check_callable(f"{self._label}.defjvp", jvp)
        self._jvp, self._partials = jvp, None
        return jvp

    def defjvps(self, *jvps: Callable | None) -> None:
        """Give the function a rule for forward mode, one part for each argument.

        Parameters
        ----------
        *jvps : callable or None
            For each argument ``jvp(tangent, out, *primals)``, which returns its share of the
            tangent of the result; None for an argument by which it is constant.
        """
        if self.nondiff:
            raise TypeError(f"{self._label}.defjvps: nondiff_argnums needs defjvp(rule)")
        for rule in jvps:
            if rule is not None:
                check_callable(f"{self._label}.defjvps", rule)
        self._jvp, self._partials = None, jvps

    def def_vmap(self, rule: Callable) -> Callable:
        """Give the function a rule for batches; usable as a decorator.

        Parameters
        ----------
        rule : callable
            ``rule(axis_size, in_batched, *args)``: where `in_batched`, a tuple of pytrees of
            the structure of `args`, has True, the array is a batch along its axis 0.
            Returns ``(out, out_batched)``, the result and a pytree of bools for it, or for
            parts of it.
        """
        check_callable(f"{self._label}.def_vmap", rule)
        self._batch = rule
        return rule

    # ---- calls ----

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if self._fwd is self._jvp is self._partials is self._batch is None:
            rule = {"custom_jvp": "defjvp(rule)", "custom_vmap": "def_vmap(rule)"}
            raise NoRuleError(
                f"{self._label}: the function was called before it had a rule; write "
                f"{self.__name__}.{rule.get(self._kind, 'defvjp(fwd, bwd)')} first"
            )
        if kwargs or len(args) < self._places:
            args = self._by_position(args, kwargs)
        parts = [flatten(x, self.__name__, f"args[{n}]") for n, x in enumerate(args)]
        leaves, level = level_among([leaf for part, _ in parts for leaf in part], self.__name__)
        if level is None:
            return self.fun(*args)
        outs, structure = apply(PytreeCall(self, parts), leaves)
        return unflatten(structure, outs)

    def _by_position(self, args: tuple, kwargs: dict) -> tuple:
        if self._signature is None:
            raise TypeError(f"{self._label}: the function has no signature; pass all by position")
        bound = self._signature.bind(*args, **kwargs)
        if bound.kwargs:
            raise TypeError(
                f"{self._label}: the rules get all arguments by position, but "
                f"{list(bound.kwargs)} can only be passed by keyword; declare them before the *"
            )
        bound.apply_defaults()
        return bound.args

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        return self if instance is None else MethodType(self, instance)

    def __reduce__(self) -> Any:
        found: Any = sys.modules.get(self.__module__)
        for part in self.__qualname__.split("."):
            found = getattr(found, part, None)
        if found is self:
            return self.__qualname__
        return _restore, (vars(self),)

    def __repr__(self) -> str:
        return f"<{self._label}>"


def _restore(state: dict) -> Custom:
    custom = object.__new__(Custom)
    vars(custom).update(state)
    return custom


def _positions(label: str, argnums: Any, argnames: Any, places: list, variable: bool) -> tuple:
    """The positions that nondiff_argnums and nondiff_argnames name."""
    argnums = argnums if isinstance(argnums, (tuple, list)) else (argnums,)
    argnames = (argnames,) if isinstance(argnames, str) else tuple(argnames)
    found = []
    for n in argnums:
        if isinstance(n, bool) or not isinstance(n, (int, np.integer)):
            raise TypeError(f"{label}: nondiff_argnums={argnums!r}; write an int or several ints")
        if not -len(places) <= n < len(places) and not (variable and n >= 0):
            raise ValueError(
                f"{label}: nondiff_argnums={argnums!r}, but the function has "
                f"{len(places)} positional arguments"
            )
        found.append(int(n) if n >= 0 else int(n) + len(places))
    for name in argnames:
        if name not in places:
            raise ValueError(
                f"{label}: nondiff_argnames has {name!r}, which is none of the positional "
                f"arguments {places}"
            )
        found.append(places.index(name))
    return tuple(sorted({*found}))


# ---- the decorators ----


def custom_vjp(
    fun: Callable | None = None, nondiff_argnums: Any = (), nondiff_argnames: Any = ()
) -> Any:
    """A function with a rule for reverse mode of its own; usable as a decorator.

    Parameters
    ----------
    fun : callable, optional
        A function of arrays or pytrees that returns such. Without it the result is a
        decorator.
    nondiff_argnums, nondiff_argnames : int or str, or several
        Positional arguments by which it is not differentiated, by position or name:
        functions, options, anything. The rules get them first.

    Returns
    -------
    Custom
        Called as `fun`. ``defvjp(fwd, bwd)`` has to give it its rule before the first call;
        ``defjvp``, ``defjvps`` and ``def_vmap`` may give it others. Rules get all arguments
        by position, defaults filled in.

    Raises
    ------
    NoRuleError
        At a call, where the function has no rule yet; in forward mode, where there is no
        ``defjvp`` and `bwd` uses something that cannot be transposed.
    TypeError, ValueError
        Where a rule returns another structure or other shapes than it should; the message
        names the function, the rule and the argument's path.
    LevelError
        Where the function closes over a tensor of a level among its arguments'.

    See Also
    --------
    custom_jvp, custom_vmap

    Notes
    -----
    The signature is JAX's. Beyond JAX, forward mode works too: `bwd` is linear in the
    cotangent, so the transpose of what it does at zero is the jvp. `vmap` runs `fwd` and
    `bwd` for the whole batch at once, in any nesting. Levels around the one that is handled
    differentiate `fwd` and `bwd` as they are written; a `fwd` that calls the function
    itself has its rule used there again.

    Complex cotangents follow PyTorch, as all of functier: the gradient of a real loss is
    the conjugate Wirtinger derivative, so for a holomorphic ``f`` it is ``g *
    np.conj(df)``. JAX's `bwd` would return ``g * df`` for its own. A complex cotangent
    for a real argument is an error, as its imaginary part would be lost: return
    ``np.real(c)`` where it has no meaning.

    Residuals live until the backward pass has used them. What the rule costs beside `fwd`
    and `bwd` is about 15 us a call and level.

    Examples
    --------
    >>> import numpy as np
    >>> from functier import grad, jvp
    >>> @custom_vjp
    ... def clipped(x):
    ...     return np.clip(x, -1.0, 1.0)
    >>> clipped.defvjp(lambda x: (clipped(x), None), lambda _, g: (g,))
    >>> grad(lambda x: np.sum(clipped(x) * 3.0))(np.array([0.5, 2.0]))
    array([3., 3.])
    >>> jvp(clipped, (np.array([0.5, 2.0]),), (np.ones(2),))[1]
    array([1., 1.])
    """
    return _decorate("custom_vjp", fun, nondiff_argnums, nondiff_argnames)


def custom_jvp(
    fun: Callable | None = None, nondiff_argnums: Any = (), nondiff_argnames: Any = ()
) -> Any:
    """A function with a rule for forward mode of its own; usable as a decorator.

    Reverse mode uses the transpose of the rule, so this one is enough for both. See
    `custom_vjp` for the parameters, the result and the errors.

    Notes
    -----
    The signature is JAX's. ``defjvp(rule)`` takes ``rule(primals, tangents)``, which returns
    ``(out, tangent_out)`` and is linear in the tangents; ``defjvps`` takes one part for each
    argument. In reverse mode the rule runs once, in the forward pass, and the tape of what
    it does with the tangents is kept.

    Examples
    --------
    >>> import numpy as np
    >>> from functier import grad
    >>> @custom_jvp
    ... def log1pexp(x):
    ...     return np.log1p(np.exp(x))
    >>> @log1pexp.defjvp
    ... def rule(primals, tangents):
    ...     (x,), (t,) = primals, tangents
    ...     return log1pexp(x), t * (1.0 - 1.0 / (1.0 + np.exp(x)))
    >>> float(grad(log1pexp)(0.0))
    0.5
    """
    return _decorate("custom_jvp", fun, nondiff_argnums, nondiff_argnames)


def custom_vmap(fun: Callable | None = None) -> Any:
    """A function with a rule for batches of its own; usable as a decorator.

    Parameters
    ----------
    fun : callable
        A function of arrays or pytrees that returns such.

    Returns
    -------
    Custom
        Called as `fun`. ``def_vmap(rule)`` has to give it its rule before the first call:
        ``rule(axis_size, in_batched, *args)`` returns ``(out, out_batched)``.

    Raises
    ------
    NoRuleError
        At a call, where the function has no rule yet.
    TypeError, ValueError
        Where `out_batched` does not fit the result, or the batch is not its axis 0.

    See Also
    --------
    sequential_vmap : a loop over the examples.

    Notes
    -----
    The signature is JAX's. The batch is always axis 0, whatever `in_dims` was. A batch level
    around the one that is handled batches the rule as it is written, or by the rule again
    where the rule calls the function. A derivative of the function, batched, is the derivative of
    the rule; reverse mode computes the function twice then. Together with ``defvjp`` the
    derivative is `bwd`, batched.

    Examples
    --------
    >>> import numpy as np
    >>> from functier import vmap
    >>> @custom_vmap
    ... def solved(a, b):
    ...     return np.linalg.solve(a, b)
    >>> @solved.def_vmap
    ... def rule(axis_size, in_batched, a, b):
    ...     if in_batched[0]:
    ...         b = np.broadcast_to(b, (axis_size, 2))
    ...         return np.linalg.solve(a, b[..., None])[..., 0], True
    ...     return np.linalg.solve(a, b.T).T, True  # one factorization for the batch
    >>> vmap(solved, (None, 0))(np.eye(2), np.ones((3, 2))).shape
    (3, 2)
    """
    return _decorate("custom_vmap", fun)


def sequential_vmap(fun: Callable) -> Custom:
    """A function that `vmap` applies to one example after the other, in a loop.

    For what is not written in NumPy functions that can be batched: code that branches on
    values, or a call of another library.

    Parameters
    ----------
    fun : callable
        A function of arrays or pytrees that returns such, of the same shapes for each
        example.

    Returns
    -------
    Custom
        Called as `fun`. It takes as long as the loop, and no warning is given.

    Examples
    --------
    >>> import numpy as np
    >>> from functier import vmap
    >>> @sequential_vmap
    ... def sign(x):
    ...     return 1.0 if x > 0 else -1.0
    >>> vmap(sign)(np.array([3.0, -2.0]))
    array([ 1., -1.])
    """
    custom = Custom(fun, "sequential_vmap")
    custom.def_vmap(_Loop(custom))
    return custom


class _Loop:
    """The batching rule of a loop over the examples."""

    def __init__(self, custom: Custom):
        self.custom = custom

    def __call__(self, axis_size: int, in_batched: tuple, *args: Any) -> tuple:
        leaves, structure = flatten(args)
        flags = flatten(in_batched)[0]

        def example(i: int) -> Any:
            if axis_size:
                row = [x[i] if flag else x for x, flag in zip(leaves, flags)]
            else:  # one of zeros shows the form of the result
                row = [
                    np.zeros(shape_of(x)[1:], dtype_of(x)) if flag else x
                    for x, flag in zip(leaves, flags)
                ]
            return self.custom(*unflatten(structure, row))

        first = example(0)
        outs, form = flatten(first)
        rows = [outs]
        for i in range(1, axis_size):
            own = example(i)
            row = flatten(own)[0]
            if not same_structure(own, first) or list(map(shape_of, row)) != list(
                map(shape_of, outs)
            ):
                raise ValueError(
                    f"{self.custom.__name__}: example {i} gave {describe(own)}, but the first one "
                    f"{describe(first)}; all have to be of one structure and shapes"
                )
            rows.append(row)
        columns = [np.stack(column)[:axis_size] for column in zip(*rows)]
        return unflatten(form, columns), True


def _decorate(kind: str, fun: Callable | None, *nondiff: Any) -> Any:
    if fun is None:
        return lambda f: Custom(f, kind, *nondiff)
    return Custom(fun, kind, *nondiff)
