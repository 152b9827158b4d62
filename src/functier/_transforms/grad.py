"""Reverse mode: grad, value_and_grad, grad_and_value and vjp, on the tape."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Literal, ParamSpec, TypeVar, overload

import numpy as np

from .._core.numpy_facts import PLAIN, Function, PyTree
from .._core.pytree import check_callable, name_of_function, unflatten
from .._core.tensor import Tensor
from .._core.tracebacks import checks_keywords, leave
from .._cpython.frames import current_frame
from .._levels.backward import backward
from .._levels.checks import split_aux
from .._levels.cotangents import (
    complex_derivatives,
    fill_zeros,
    one,
)
from .._levels.grad import GradLevel
from .._levels.level import Escape
from .._levels.memory import TO_PLAIN, own_memory
from .._levels.options import check_choice
from .._levels.runs import LevelContext, outer_tensors, run
from .arguments import (
    choose,
    choose_complex,
    derivatives,
    fix_arguments,
    insert_arguments,
    resolve_argnums,
)
from .options import Options
from .transformed import Transformed

if TYPE_CHECKING:
    from .declared import (
        AnyGradientContext,
        BothGradients,
        Gradient,
        GradientAndValue,
        GradientAndValueContext,
        GradientContext,
        SecondGradient,
        ValueAndGradient,
        ValueContext,
    )

P = ParamSpec("P")
R = TypeVar("R")
A = TypeVar("A")
B = TypeVar("B")

ndarray = np.ndarray


def gradients(
    transform: str,
    func: Function | None,
    options: Options,
    pack: Callable[[PyTree, Any], Any] | None,
) -> Any:
    """Return the function that a transform to a gradient returns, or a context manager.

    `pack` combines the gradient and the value, or ``(value, aux)``; None for `grad`.
    """
    escape, has_aux = options.escape, options.has_aux
    holomorphic, allow_int = options.holomorphic, options.allow_int
    check_choice(transform, func, "escape", escape)
    if has_aux is not False or holomorphic is not False or allow_int is not False:
        options.check_flags(transform, func)
    if func is None:
        return LevelContext(
            GradLevel,
            f"{transform}()",
            escape,
            lambda f: gradients(transform, f, options, pack),
            holomorphic=holomorphic,
        )
    check_callable(transform, func)
    label = f"{transform}({name_of_function(func)})"
    argnums = resolve_argnums(label, func, options.argnums, options.argnames)
    several = options.argnames is not None or isinstance(argnums, tuple)
    select = choose_complex if holomorphic else choose

    def differentiate(level: GradLevel, given: tuple) -> tuple:
        """Return the gradients, the value, and the second result, or None without `has_aux`."""
        args, kwargs, leaves, structure, keys = given
        tracked = level.track(leaves)
        nodes = [x._extra for x in tracked]
        tree = unflatten(structure, tracked)
        if several:
            inner, kwargs = insert_arguments(args, kwargs, argnums, keys, tree)
        else:
            inner = list(args)
            inner[keys[0]] = tree
        if kwargs or len(inner) > 1:
            inner, kwargs = fix_arguments(inner, kwargs, keys, leaves)
        del tracked, tree
        level.arguments = [(inner, kwargs), None, None]
        out = func(*inner, **kwargs)
        level.arguments = None  # so that their memory is free
        del inner, kwargs
        aux = None
        if has_aux:
            out, aux = split_aux(level, out)
        value, node = level.scalar(out, holomorphic)
        del out
        roots = [(node, one(value))]
        del node
        grads = backward(roots, nodes)
        if holomorphic:
            grads = complex_derivatives(grads)
        value = TO_PLAIN[type(value)](value) if type(value) in TO_PLAIN else value
        return own_memory(fill_zeros(grads, leaves)), value, aux

    def transformed(*args: Any, **kwargs: Any) -> Any:
        try:
            leaves, structure, keys = select(label, args, argnums, kwargs, allow_int)
            outer: Sequence[Tensor] = ()
            given = (*args, kwargs) if kwargs else args
            for arg in given:  # this loop avoids the call, which costs 5 % of a small gradient
                if type(arg) not in PLAIN:
                    outer = outer_tensors(leaves, given, () if allow_int else keys, label)
                    break
            level = GradLevel.prepare(label, escape, current_frame(1), outer)
            grads, value, aux = run(level, differentiate, (args, kwargs, leaves, structure, keys))
            grad = derivatives(structure, grads) if allow_int else unflatten(structure, grads)
            if pack is None:
                return (grad, aux) if has_aux else grad
            return pack(grad, (value, aux) if has_aux else value)
        except BaseException as error:
            leave(error, label, func, args, kwargs)
            raise

    return Transformed(transformed, func, transform, options)


@overload
def grad(
    func: Callable[P, Any], argnums: Literal[0] = 0, has_aux: Literal[False] = False,
    *, argnames: None = None, holomorphic: bool = False,
    allow_int: Literal[False] = False, escape: Escape = "dead",
) -> "Gradient[P]": ...  # fmt: skip
@overload
def grad(
    func: Callable[P, tuple[Any, R]], argnums: Literal[0] = 0, *, has_aux: Literal[True],
    argnames: None = None, holomorphic: bool = False,
    allow_int: Literal[False] = False, escape: Escape = "dead",
) -> "GradientAndValue[P, R]": ...  # fmt: skip
@overload
def grad(  # type: ignore[overload-overlap]  # of all options
    func: Callable[P, Any], argnums: Literal[1], has_aux: Literal[False] = False,
    *, argnames: None = None, holomorphic: bool = False,
    allow_int: Literal[False] = False, escape: Escape = "dead",
) -> "SecondGradient[P]": ...  # fmt: skip
@overload
def grad(  # type: ignore[overload-overlap]  # of all options
    func: Callable[P, Any], argnums: tuple[Literal[0], Literal[1]], has_aux: Literal[False] = False,
    *, argnames: None = None, holomorphic: bool = False,
    allow_int: Literal[False] = False, escape: Escape = "dead",
) -> "BothGradients[P]": ...  # fmt: skip
@overload
def grad(
    func: Callable[P, Any], argnums: int | tuple[int, ...] = 0, has_aux: bool = False,
    *, argnames: str | tuple[str, ...] | None = None,
    holomorphic: bool = False, allow_int: bool = False, escape: Escape = "dead",
) -> "Callable[P, Any]": ...  # fmt: skip
@overload
def grad(
    func: None = None, argnums: Literal[0] = 0, has_aux: Literal[False] = False,
    *, argnames: None = None, holomorphic: bool = False,
    allow_int: Literal[False] = False, escape: Escape = "dead",
) -> "GradientContext": ...  # fmt: skip
@overload
def grad(
    func: None = None, argnums: int | tuple[int, ...] = 0, has_aux: bool = False,
    *, argnames: str | tuple[str, ...] | None = None,
    holomorphic: bool = False, allow_int: bool = False, escape: Escape = "dead",
) -> "AnyGradientContext": ...  # fmt: skip
@checks_keywords
def grad(
    func: Callable | None = None,
    argnums: int | tuple[int, ...] = 0,
    has_aux: bool = False,
    *,
    argnames: str | tuple[str, ...] | None = None,
    holomorphic: bool = False,
    allow_int: bool = False,
    escape: Escape = "dead",
) -> Any:
    """Return a function that computes the gradient of a scalar function.

    Parameters
    ----------
    func : callable, optional
        Returns a real scalar, or ``(scalar, aux)`` with `has_aux`. Without `func` the
        result is a context manager (``with grad() as G:``, where ``x = G(x0)`` is a
        variable and ``G.gradient(y, x)`` returns the gradient) and a decorator.
    argnums : int or tuple of int
        The positions of the arguments to differentiate with respect to; each is an array or
        a pytree. Negative numbers count from the last argument of the call.
    has_aux : bool
        Whether `func` returns a second value, which may be of any type. If it is a pytree,
        its tensors are replaced by the values they hold; otherwise it is returned as it is.
    argnames : str or tuple of str, optional
        The names of the arguments to differentiate with respect to, instead of `argnums`.
        The caller may pass them by keyword or by position (to a builtin without a signature,
        by keyword only). A str gives the gradient, a tuple a tuple of gradients.
    holomorphic : bool
        Whether to return the complex derivative ``f'(z)`` of a complex scalar with respect
        to complex inputs. `func` has to be holomorphic in them; this is not checked.
    allow_int : bool
        Whether to accept inputs of an integer or boolean dtype. `func` gets them unchanged,
        as constants, and their gradient is zeros of their shape and dtype float64 (where JAX
        has the dtype float0). The option has no effect in a ``with`` block.
    escape : {"dead", "passthrough"}
        What a tensor of this level does once the call is over.

    Returns
    -------
    callable or context manager
        The function returns the gradient, with the shapes, dtypes and pytree structure of
        the differentiated argument; a tuple of gradients if `argnums` is a tuple; and
        ``(gradient, aux)`` with `has_aux`. For complex inputs of a real function the gradient
        is the conjugate Wirtinger derivative, so ``z - lr * grad(f)(z)`` descends (PyTorch's
        convention).

    Raises
    ------
    TypeError
        If an input is not a floating-point array, or the output is not a real scalar; with
        `holomorphic`, if one of them is not complex.
    ValueError
        If the output is not a scalar, or `argnums` or `argnames` does not match the call.
    NoRuleError
        If the function uses an operation that has no derivative rule.

    Examples
    --------
    >>> import numpy as np
    >>> grad(lambda x: np.sum(np.sin(x)))(np.zeros(3))
    array([1., 1., 1.])
    >>> float(grad(grad(lambda x: x**3))(2.0))
    12.0
    >>> complex(grad(lambda z: z**3, holomorphic=True)(1 + 1j))
    6j
    >>> float(grad(lambda x, *, scale: scale * x**2, argnames="scale")(3.0, scale=2.0))
    9.0
    """
    options = Options(argnums, has_aux, argnames, holomorphic, allow_int, escape)
    return gradients("grad", func, options, None)


@overload
def value_and_grad(
    func: Callable[P, R], argnums: Literal[0] = 0, has_aux: bool = False,
    *, argnames: None = None, holomorphic: bool = False,
    allow_int: Literal[False] = False, escape: Escape = "dead",
) -> "ValueAndGradient[P, R]": ...  # fmt: skip
@overload
def value_and_grad(
    func: Callable[P, R], argnums: int | tuple[int, ...] = 0, has_aux: bool = False,
    *, argnames: str | tuple[str, ...] | None = None,
    holomorphic: bool = False, allow_int: bool = False, escape: Escape = "dead",
) -> "Callable[P, tuple[R, Any]]": ...  # fmt: skip
@overload
def value_and_grad(
    func: None = None, argnums: int | tuple[int, ...] = 0, has_aux: bool = False,
    *, argnames: str | tuple[str, ...] | None = None,
    holomorphic: bool = False, allow_int: bool = False, escape: Escape = "dead",
) -> "ValueContext": ...  # fmt: skip
@checks_keywords
def value_and_grad(
    func: Callable | None = None,
    argnums: int | tuple[int, ...] = 0,
    has_aux: bool = False,
    *,
    argnames: str | tuple[str, ...] | None = None,
    holomorphic: bool = False,
    allow_int: bool = False,
    escape: Escape = "dead",
) -> Any:
    """Return a function that computes the value and the gradient of a scalar function.

    Parameters
    ----------
    func : callable, optional
        Returns a real scalar, or ``(scalar, aux)`` with `has_aux`. Without `func` the result
        is a context manager and a decorator, as that of `grad`.
    argnums : int or tuple of int
        The positions of the arguments to differentiate with respect to; each is an array or
        a pytree.
    has_aux : bool
        Whether `func` returns ``(scalar, aux)``.
    argnames : str or tuple of str, optional
        The names of the arguments to differentiate with respect to, instead of `argnums`;
        see `grad`.
    holomorphic : bool
        Whether to return the complex derivative with respect to complex inputs. `func` has to
        be holomorphic in them; this is not checked.
    allow_int : bool
        Whether to accept inputs of an integer or boolean dtype, as constants; their gradient is
        zeros of dtype float64.
    escape : {"dead", "passthrough"}
        What a tensor of this level does once the call is over.

    Returns
    -------
    callable or context manager
        The function returns ``(value, gradient)``; with `has_aux`, ``((value, aux), gradient)``,
        as in JAX. The
        gradient is that of `grad`, with the shapes, dtypes and pytree structure of the
        differentiated argument.

    Raises
    ------
    TypeError, ValueError, NoRuleError
        As `grad`.

    Examples
    --------
    >>> value, slope = value_and_grad(lambda x: x * x)(3.0)
    >>> float(value), float(slope)
    (9.0, 6.0)
    """
    options = Options(argnums, has_aux, argnames, holomorphic, allow_int, escape)
    return gradients("value_and_grad", func, options, lambda gradient, value: (value, gradient))


@overload
def grad_and_value(
    func: Callable[P, R], argnums: Literal[0] = 0, has_aux: bool = False,
    *, argnames: None = None, holomorphic: bool = False,
    allow_int: Literal[False] = False, escape: Escape = "dead",
) -> "GradientAndValue[P, R]": ...  # fmt: skip
@overload
def grad_and_value(
    func: Callable[P, R], argnums: int | tuple[int, ...] = 0, has_aux: bool = False,
    *, argnames: str | tuple[str, ...] | None = None,
    holomorphic: bool = False, allow_int: bool = False, escape: Escape = "dead",
) -> "Callable[P, tuple[Any, R]]": ...  # fmt: skip
@overload
def grad_and_value(
    func: None = None, argnums: int | tuple[int, ...] = 0, has_aux: bool = False,
    *, argnames: str | tuple[str, ...] | None = None,
    holomorphic: bool = False, allow_int: bool = False, escape: Escape = "dead",
) -> "GradientAndValueContext": ...  # fmt: skip
@checks_keywords
def grad_and_value(
    func: Callable | None = None,
    argnums: int | tuple[int, ...] = 0,
    has_aux: bool = False,
    *,
    argnames: str | tuple[str, ...] | None = None,
    holomorphic: bool = False,
    allow_int: bool = False,
    escape: Escape = "dead",
) -> Any:
    """Return a function that computes the gradient and the value of a scalar function.

    Parameters
    ----------
    func : callable, optional
        Returns a real scalar, or ``(scalar, aux)`` with `has_aux`. Without `func` the result
        is a context manager and a decorator, as that of `grad`.
    argnums : int or tuple of int
        The positions of the arguments to differentiate with respect to; each is an array or
        a pytree.
    has_aux : bool
        Whether `func` returns ``(scalar, aux)``.
    argnames : str or tuple of str, optional
        The names of the arguments to differentiate with respect to, instead of `argnums`;
        see `grad`.
    holomorphic : bool
        Whether to return the complex derivative with respect to complex inputs. `func` has to
        be holomorphic in them; this is not checked.
    allow_int : bool
        Whether to accept inputs of an integer or boolean dtype, as constants; their gradient is
        zeros of dtype float64.
    escape : {"dead", "passthrough"}
        What a tensor of this level does once the call is over.

    Returns
    -------
    callable or context manager
        The function returns ``(gradient, value)``; with `has_aux`, ``(gradient, (value, aux))``,
        as in torch.func. The
        gradient is that of `grad`, with the shapes, dtypes and pytree structure of the
        differentiated argument.

    Raises
    ------
    TypeError, ValueError, NoRuleError
        As `grad`.

    Examples
    --------
    >>> slope, value = grad_and_value(lambda x: x * x)(3.0)
    >>> float(slope), float(value)
    (6.0, 9.0)
    """
    options = Options(argnums, has_aux, argnames, holomorphic, allow_int, escape)
    return gradients("grad_and_value", func, options, lambda gradient, value: (gradient, value))
