"""custom_vjp, custom_jvp and custom_vmap: rules for a function of pytrees.

All three return the class `Custom`, so that a function can have several of these rules.
`_custom.pytree_rules` turns them into rules of leaves, and `_custom.apply` applies these.
"""

import functools
import inspect
from collections.abc import Callable
from contextlib import suppress
from typing import Any, ParamSpec, TypeVar, overload
from weakref import WeakKeyDictionary

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
from .._core.tracebacks import checks_keywords, leave
from .._core.wrapper import Wrapper
from .apply import apply, level_among
from .linear_rules import check_rule
from .pytree_rules import PytreeCall

P = ParamSpec("P")
R = TypeVar("R")

UNCHECKED: WeakKeyDictionary["Custom", int] = WeakKeyDictionary()
"""The checks of a jvp rule that are left: 1: if it is linear; 2, as at first: its form, too.

It is not an attribute, as a function that changes an object is not made a program.
"""


class Custom(Wrapper[P, R]):
    """A function with custom derivative and batching rules.

    `custom_vjp`, `custom_jvp` and `custom_vmap` return it.
    """

    __name__: str
    _fwd: Callable | None = None
    _bwd: Callable | None = None
    _jvp: Callable | None = None
    _partials: tuple | None = None
    _batch: Callable | None = None

    def __init__(self, fun: Callable[P, R], kind: str, argnums: Any = (), argnames: Any = ()):
        check_callable(kind, fun)
        self.fun, self._kind = fun, kind
        functools.update_wrapper(self, fun)
        self.__name__ = name_of_function(fun)
        self.__qualname__ = getattr(fun, "__qualname__", self.__name__)  # NumPy 2.1's ufuncs
        self._label = f"{kind}({self.__name__})"
        self._signature: Any = None
        if not isinstance(fun, np.ufunc):  # NumPy's versions differ in its signature
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
            Takes the arguments of the function, and returns ``(out, residuals)``: the result,
            and a pytree of the values that `bwd` needs.
        bwd : callable
            ``bwd(residuals, cotangent)``. The cotangent has the structure and shapes of
            ``out``. Returns a tuple with the cotangent of each argument, where None stands for
            zero (also within pytrees). Non-differentiated arguments (`nondiff_argnums`) come
            before the residuals, and have no cotangent.
        """
        for rule in (fwd, bwd):
            check_callable(f"{self._label}.defvjp", rule)
        self._fwd, self._bwd = fwd, bwd

    def defjvp(self, jvp: Callable) -> Callable:
        """Give the function a rule for forward mode; also a decorator.

        Parameters
        ----------
        jvp : callable
            ``jvp(primals, tangents)`` takes tuples of the arguments and of their tangents
            (zeros for an argument that does not vary), and returns ``(out, tangent_out)``. It
            has to be linear in the tangents. Non-differentiated arguments come before the two.

        Raises
        ------
        ValueError
            At the first use, if its result has another structure or shape than that of the
            function, and in reverse mode, if the rule is not linear. For the latter it is called
            with plain numbers, of one example, three times; its draws are repeated.
        """
        check_callable(f"{self._label}.defjvp", jvp)
        self._jvp, self._partials = jvp, None
        UNCHECKED.pop(self, None)
        return jvp

    def defjvps(self, *jvps: Callable | None) -> None:
        """Give the function a rule for forward mode, one part for each argument.

        Parameters
        ----------
        *jvps : callable or None
            For each argument a function ``jvp(tangent, out, *primals)``, which returns its
            share of the tangent of the result, or None where the derivative is zero.
        """
        if self.nondiff:
            raise TypeError(
                f"{self._label}.defjvps: a function with nondiff_argnums cannot have a rule for "
                f"each argument; write defjvp(rule)"
            )
        for rule in jvps:
            if rule is not None:
                check_callable(f"{self._label}.defjvps", rule)
        self._jvp, self._partials = None, jvps
        UNCHECKED.pop(self, None)

    def def_vmap(self, rule: Callable) -> Callable:
        """Give the function a rule for batches; also a decorator.

        Parameters
        ----------
        rule : callable
            ``rule(axis_size, in_batched, *args)``. `in_batched` is a tuple of bools in the
            structure of `args`: True for an array that is a batch along its axis 0.
            Returns ``(out, out_batched)``, the result and a pytree of bools for it, or a
            prefix of one.
        """
        check_callable(f"{self._label}.def_vmap", rule)
        self._batch = rule
        return rule

    # ---- calls ----

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        try:
            if self._fwd is self._jvp is self._partials is self._batch is None:
                rule = {"custom_jvp": "defjvp(rule)", "custom_vmap": "def_vmap(rule)"}
                raise NoRuleError(
                    f"{self._label}: the function was called before it had a rule; write "
                    f"{self.__name__}.{rule.get(self._kind, 'defvjp(fwd, bwd)')} first"
                )
            if kwargs or len(args) < self._places:
                args = self._by_position(args, kwargs)  # type: ignore[assignment]
            parts = [flatten(x, self.__name__, f"args[{n}]") for n, x in enumerate(args)]
            leaves, level = level_among([leaf for part, _ in parts for leaf in part], self.__name__)
            if level is None:
                return self.fun(*args)  # type: ignore[call-arg]  # kwargs are among them
            call = PytreeCall(self, parts)
            outs, structure = apply(call, leaves)
            if call.has_jvp and (left := UNCHECKED.get(self, 2)) > call.wanted:
                UNCHECKED[self] = 0  # the rule may call it
                try:
                    if check_rule(call, leaves, outs, structure, not call.wanted):
                        left = call.wanted
                finally:
                    UNCHECKED[self] = left
            return unflatten(structure, outs)
        except BaseException as error:
            leave(error)
            raise

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

    def _parts(self) -> tuple:
        return object.__new__, (Custom,), vars(self)  # which may hold the object

    def __repr__(self) -> str:
        return f"<{self._label}>"


def _positions(label: str, argnums: Any, argnames: Any, places: list, variable: bool) -> tuple:
    """Return the positions that nondiff_argnums and nondiff_argnames name."""
    argnums = argnums if isinstance(argnums, (tuple, list)) else (argnums,)
    argnames = (argnames,) if isinstance(argnames, str) else tuple(argnames)
    found = []
    for n in argnums:
        if isinstance(n, bool) or not isinstance(n, (int, np.integer)):
            raise TypeError(f"{label}: nondiff_argnums={argnums!r}; write an int or several ints")
        if not -len(places) <= n < len(places) and not (variable and n >= 0):
            raise ValueError(
                f"{label}: nondiff_argnums={argnums!r}, but the function has {len(places)} "
                f"positional arguments; count them from 0"
            )
        found.append(int(n) if n >= 0 else int(n) + len(places))
    for name in argnames:
        if name not in places:
            raise ValueError(
                f"{label}: nondiff_argnames has {name!r}, which is not a positional argument; "
                f"name some of {places}"
            )
        found.append(places.index(name))
    return tuple(sorted({*found}))


# ---- the decorators ----


@overload
def custom_vjp(
    fun: Callable[P, R], nondiff_argnums: Any = (), nondiff_argnames: Any = ()
) -> Custom[P, R]: ...
@overload
def custom_vjp(
    fun: None = None, nondiff_argnums: Any = (), nondiff_argnames: Any = ()
) -> Callable[[Callable[P, R]], Custom[P, R]]: ...
@checks_keywords
def custom_vjp(
    fun: Callable | None = None, nondiff_argnums: Any = (), nondiff_argnames: Any = ()
) -> Any:
    """Make a function with a custom rule for reverse mode; also a decorator.

    Parameters
    ----------
    fun : callable, optional
        A function of arrays or pytrees of arrays, which returns arrays or pytrees of arrays.
        Without `fun` the result is a decorator.
    nondiff_argnums, nondiff_argnames : int or str, or several
        Positional arguments that are not differentiated, by position or name. They may be of
        any type, such as functions or options. The rules get them first.

    Returns
    -------
    Custom
        A callable with the arguments of `fun`. Give it its rule with ``defvjp(fwd, bwd)``
        before the first call; ``defjvp``, ``defjvps`` and ``def_vmap`` add others. Rules get
        all arguments by position, including defaults.

    Raises
    ------
    NoRuleError
        At a call, if the function has no rule yet; in forward mode, if there is no
        ``defjvp`` and `bwd` uses something that cannot be transposed.
    TypeError, ValueError
        If a rule returns a wrong structure or wrong shapes. The message names the function,
        the rule and the path of the argument.
    LevelError
        If the function closes over a tensor of a level that its arguments have.

    See Also
    --------
    custom_jvp, custom_vmap

    Notes
    -----
    The signature is JAX's. Unlike in JAX, forward mode works too: `bwd` is linear in the
    cotangent, and its transpose is the jvp. `vmap` runs `fwd` and `bwd` for the whole batch
    at once, in any nesting. Levels around the one that is handled differentiate the code of
    `fwd` and `bwd`; if `fwd` calls the function itself, they use its rule again.

    Complex cotangents follow PyTorch, as everywhere in functier: the gradient of a real loss
    is the conjugate Wirtinger derivative, so for a holomorphic ``f`` it is ``g *
    np.conj(df)``, where JAX's `bwd` would return ``g * df``. A complex cotangent for a real
    argument is an error, as its imaginary part would be lost; return ``np.real(c)`` if that
    is meant.

    Residuals live until the backward pass has used them. In addition to `fwd` and `bwd`, a
    call costs about 15 us per level.

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


@overload
def custom_jvp(
    fun: Callable[P, R], nondiff_argnums: Any = (), nondiff_argnames: Any = ()
) -> Custom[P, R]: ...
@overload
def custom_jvp(
    fun: None = None, nondiff_argnums: Any = (), nondiff_argnames: Any = ()
) -> Callable[[Callable[P, R]], Custom[P, R]]: ...
@checks_keywords
def custom_jvp(
    fun: Callable | None = None, nondiff_argnums: Any = (), nondiff_argnames: Any = ()
) -> Any:
    """Make a function with a custom rule for forward mode; also a decorator.

    Reverse mode uses the transpose of the rule, so one rule serves both.

    Parameters
    ----------
    fun : callable, optional
        A function of arrays or pytrees of arrays, which returns arrays or pytrees of arrays.
        Without `fun` the result is a decorator.
    nondiff_argnums, nondiff_argnames : int or str, or several
        Positional arguments that are not differentiated, by position or name. The rules get
        them first.

    Returns
    -------
    Custom
        A callable with the arguments of `fun`. Give it its rule with ``defjvp(rule)`` or
        ``defjvps(*parts)`` before the first call.

    Raises
    ------
    NoRuleError, TypeError, ValueError, LevelError
        As `custom_vjp`.

    Notes
    -----
    The signature is JAX's. ``defjvp(rule)`` takes ``rule(primals, tangents)``, which returns
    ``(out, tangent_out)`` and is linear in the tangents; ``defjvps`` takes one part for each
    argument. In reverse mode the rule runs once, in the forward pass, and the tape of its
    operations on the tangents is saved.

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


@overload
def custom_vmap(fun: Callable[P, R]) -> Custom[P, R]: ...
@overload
def custom_vmap(fun: None = None) -> Callable[[Callable[P, R]], Custom[P, R]]: ...
@checks_keywords
def custom_vmap(fun: Callable | None = None) -> Any:
    """Make a function with a custom rule for batches; also a decorator.

    Parameters
    ----------
    fun : callable
        A function of arrays or pytrees of arrays, which returns arrays or pytrees of arrays.

    Returns
    -------
    Custom
        A callable with the arguments of `fun`. Give it its rule with ``def_vmap(rule)`` before
        the first call: ``rule(axis_size, in_batched, *args)`` returns ``(out, out_batched)``.

    Raises
    ------
    NoRuleError
        At a call, if the function has no rule yet.
    TypeError, ValueError
        If `out_batched` does not match the result, or the batch axis is not axis 0.

    See Also
    --------
    sequential_vmap : Loop over the examples.

    Notes
    -----
    The signature is JAX's. The batch axis is always axis 0, whatever `in_dims` was. A batch
    level around the one that is handled batches the code of the rule; if the rule calls the
    function, it uses the rule again. The batched derivative of the function is the derivative
    of the rule, for which reverse mode computes the function twice. With ``defvjp`` it is
    `bwd`, batched.

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


@checks_keywords
def sequential_vmap(fun: Callable[P, R]) -> Custom[P, R]:
    """Make a function that `vmap` applies to one example after the other.

    Use it for code that cannot be batched: code that branches on values, or that calls another
    library.

    Parameters
    ----------
    fun : callable
        A function of arrays or pytrees of arrays, which returns arrays or pytrees of the same
        shapes for each example.

    Returns
    -------
    Custom
        A callable with the arguments of `fun`. `vmap` loops over the examples, without a
        warning.

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
    custom.def_vmap(Loop(custom))
    return custom


class Loop:
    """The batching rule of a loop over the examples."""

    def __init__(self, custom: Any):
        self.custom = custom

    def __call__(self, axis_size: int, in_batched: tuple, *args: Any) -> tuple:
        leaves, structure = flatten(args)
        flags = flatten(in_batched)[0]

        def example(i: int) -> Any:
            if axis_size:
                row = [x[i] if flag else x for x, flag in zip(leaves, flags)]
            else:  # an example of zeros gives the form of the result
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
                    f"{self.custom.__name__}: example {i} returned {describe(own)}, but example 0 "
                    f"{describe(first)}; return one structure and the same shapes for all"
                )
            rows.append(row)
        return unflatten(form, [np.stack(column)[:axis_size] for column in zip(*rows)]), True


def _decorate(kind: str, fun: Callable | None, *nondiff: Any) -> Any:
    if fun is None:
        return lambda f: Custom(f, kind, *nondiff)
    return Custom(fun, kind, *nondiff)
