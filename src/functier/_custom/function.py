"""Function, a class of operations like torch.autograd.Function, and once_differentiable."""

import functools
import inspect
from collections.abc import Callable
from contextlib import suppress
from typing import Any, ClassVar

import numpy as np

from .._core.errors import LevelError
from .._core.numpy_facts import PLAIN, SCALARS
from .._core.pytree import flatten, is_value
from .._core.tensor import Tensor
from .._core.tracebacks import checks_keywords, leave
from .._cpython.code import mentions
from .._transforms.stop_gradient import stop_gradient
from .apply import apply
from .function_context import Context, Spec, is_ufunc, restore_attributes
from .function_rules import FunctionRules
from .rules import Rules

STATIC_METHODS = ("forward", "setup_context", "backward", "vjp", "jvp", "vmap")


class Function:
    """An operation with custom rules: subclass it, and call ``apply``.

    Use it for code that does not consist of NumPy functions (a C library, a solver, compiled
    code), for several operations with one formula for their derivative, or to save less for
    the backward pass. Plain NumPy code needs no `Function`: its derivatives are known.

    Subclasses define static methods:

    ``forward(*args)``
        Computes the result: an array, or a tuple of arrays. It takes any arguments. Arrays have
        derivatives; arrays inside containers are constants. With ``setup_context`` it gets plain
        arrays, whatever levels are around (or the tensors of a batch, if there is no ``vmap``).
    ``setup_context(ctx, inputs, output)``
        Saves on `ctx` the values that the derivatives need. It is called after ``forward``.
        Without it the signature is ``forward(ctx, *args)``, and ``forward`` runs on tensors of
        the levels around the innermost one, so under nested transforms it has to be NumPy
        code.
    ``backward(ctx, *grad_outputs)``, or ``vjp``
        Returns the gradient of each argument of ``forward``, or None.
    ``jvp(ctx, *tangents)``
        Returns the tangent of each output. It gets the tangents of the arguments, with None for
        an argument that is not an array.
    ``vmap(info, in_dims, *args)``
        Returns ``(output, out_dims)`` for a batch. There are ``info.batch_size`` examples along
        axis 0 of each argument whose entry in `in_dims` is 0; the others have the entry None.

    Attributes
    ----------
    generate_vmap_rule : bool or None
        Whether a batch can be computed without ``vmap``. With True and None all methods run
        on the tensors of the batch, for which they have to be NumPy code; a ``forward`` made
        by `sequential_vmap` loops over the examples. With False a batch raises an error.

    Raises
    ------
    TypeError
        If a method is not static, or a class has rules that exclude each other.
    NoRuleError
        At a call, or in the backward pass, if the rule that is needed is missing.
    RuntimeError, ValueError, TypeError
        If a rule returns a wrong result. The message names the class, the rule and the
        position.
    MutationError
        If a method writes to an array of the caller.

    See Also
    --------
    custom_vjp, custom_jvp, custom_vmap : rules for a function of pytrees, as in JAX.
    custom_op : the same rules for a function with a name that others can look up.

    Notes
    -----
    The interface is that of `torch.autograd.Function` with torch.func. One derivative rule
    serves both modes: without ``jvp`` the transpose of ``backward`` is used, and the other way
    round; for this the rule has to be NumPy code. Gradients of complex arguments are
    conjugated, as in PyTorch and `grad`.

    Saved values are kept until the backward pass has used them. At a level, a call costs about 25
    us in addition to the methods.

    Examples
    --------
    >>> import numpy as np
    >>> from functier import grad, vmap
    >>> class MyCube(Function):
    ...     @staticmethod
    ...     def forward(x):
    ...         return x**3, 3 * x**2
    ...
    ...     @staticmethod
    ...     def setup_context(ctx, inputs, output):
    ...         (x,), (_, dx) = inputs, output
    ...         ctx.save_for_backward(x, dx)
    ...
    ...     @staticmethod
    ...     def backward(ctx, grad_output, grad_dx):
    ...         x, dx = ctx.saved_tensors
    ...         return grad_output * dx + grad_dx * 6 * x
    >>> def cube(x):
    ...     return MyCube.apply(x)[0]
    >>> float(grad(grad(cube))(2.0))
    12.0
    >>> vmap(grad(cube))(np.array([1.0, 2.0]))
    array([ 3., 12.])
    """

    generate_vmap_rule: ClassVar[bool | None] = None
    _parameters: ClassVar[Any] = None
    _spec: ClassVar[Any] = None

    def __new__(cls, *args: Any, **kwargs: Any) -> Any:
        raise TypeError(
            f"{cls.__name__}(...): a Function has no instances; call {cls.__name__}.apply(...)"
        )

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        own = vars(cls)
        for method in STATIC_METHODS:
            if method in own and not isinstance(own[method], staticmethod):
                raise TypeError(
                    f"{cls.__name__}: {method} is not a static method; write @staticmethod above "
                    f"it, and leave out self"
                )
        if "forward" in own:
            cls._parameters = None
            if not is_ufunc(cls.forward):  # options like where= are not arguments here
                with suppress(TypeError, ValueError):  # of some functions written in C
                    cls._parameters = inspect.signature(cls.forward)
        if _given(cls, "backward") and _given(cls, "vjp"):
            raise TypeError(
                f"{cls.__name__}: it implements both backward and vjp, which are two names of one "
                f"rule; remove one of them"
            )
        if _given(cls, "vmap") and cls.generate_vmap_rule:
            raise TypeError(
                f"{cls.__name__}: it defines both a vmap static method and "
                f"generate_vmap_rule=True; remove one of them"
            )

    @staticmethod
    def forward(*args: Any, **kwargs: Any) -> Any:
        """Compute the result; subclasses override it."""
        raise NotImplementedError("a Function must implement the static method forward(*args)")

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> Any:
        """Save values on `ctx` for the derivative rules; subclasses override it."""

    @staticmethod
    def backward(ctx: Any, *grad_outputs: Any, **_: Any) -> Any:
        """Return the gradients of the arguments; subclasses override it."""

    @staticmethod
    def vjp(ctx: Any, *grad_outputs: Any, **_: Any) -> Any:
        """Return the gradients of the arguments; another name for `backward`."""

    @staticmethod
    def jvp(ctx: Any, *tangents: Any, **_: Any) -> Any:
        """Return the tangents of the outputs; subclasses override it."""

    @staticmethod
    def vmap(info: Any, in_dims: Any, *args: Any, **_: Any) -> Any:
        """Return the result for a batch, and its batch axes; subclasses override it."""
        raise NotImplementedError

    @classmethod
    def apply(cls, *args: Any, **kwargs: Any) -> Any:
        """Call the operation; transforms use its rules.

        Keyword arguments and defaults are those of ``forward``.
        """
        try:
            if cls.forward is Function.forward:
                raise NotImplementedError(
                    f"{cls.__name__} must implement the static method forward(*args)"
                )
            spec = _spec(cls)
            return call(spec, _by_position(cls, args, kwargs, spec.combined))
        except BaseException as error:
            leave(error)
            raise


def _given(cls: type[Function], method: str) -> bool:
    return getattr(cls, method) is not getattr(Function, method)


def _spec(cls: Any) -> Spec:
    """Return the function and rules that the class defines now."""
    key = (
        cls.forward, cls.setup_context, cls.backward, cls.vjp, cls.jvp, cls.vmap,
        cls.generate_vmap_rule,
    )  # fmt: skip
    cached = cls.__dict__.get("_spec")
    if cached is not None and cached[0] == key:
        return cached[1]
    own = {name: getattr(cls, name) if _given(cls, name) else None for name in STATIC_METHODS}
    setup = own["setup_context"]
    spec = Spec(
        cls.__name__,
        cls.forward,
        setup,
        own["backward"] or own["vjp"],
        own["jvp"],
        own["vmap"],
        cls.generate_vmap_rule,
        setup is None,
        any(mentions(f, "mark_dirty") for f in (cls.forward, setup)),
    )
    cls._spec = key, spec
    return spec


def _by_position(cls: type[Function], args: tuple, kwargs: dict, combined: bool) -> tuple:
    """Return the arguments by position; with ``setup_context``, also those with defaults."""
    signature = cls._parameters
    if signature is None:
        if kwargs:
            raise TypeError(f"{cls.__name__}.apply: forward has no signature; pass all by position")
        return args
    if not kwargs and (combined or len(args) >= len(signature.parameters)):
        return args
    return bound(cls.__name__, signature, (None, *args) if combined else args, kwargs, combined)


def bound(
    name: str, signature: inspect.Signature, args: tuple, kwargs: dict, combined: bool = False
) -> tuple:
    """Return the arguments of a call by position, with defaults, for a function's `signature`."""
    given = signature.bind(*args, **kwargs)
    if given.kwargs:
        raise NotImplementedError(
            f"{name}: kwarg-only Tensor args are not supported, and the rules get all arguments by "
            f"position; declare {', '.join(given.kwargs)} before the * in forward"
        )
    if combined:
        return given.args[1:]
    given.apply_defaults()
    return given.args


def call(spec: Spec, args: tuple) -> Any:
    """Call a function with rules, under transforms or outside all of them."""
    leaves: list = []
    parts: list | None = None
    for k, x in enumerate(args):
        if type(x) not in PLAIN and not is_value(x):
            inner, structure = flatten(x)
            if any(isinstance(y, Tensor) or (spec.nested and _is_array(y)) for y in inner):
                if parts is None:
                    parts = [(1, None)] * k
                if not spec.nested:
                    inner = [_constant(y) for y in inner]
                leaves += inner
                parts.append((len(inner), structure))
                continue
        leaves.append(x)
        if parts is not None:
            parts.append((1, None))
    outs, form = FunctionRules(spec, parts, len(args)).apply(leaves)
    for j, k in form.dirty:
        outs[j] = _take_over(spec.name, args[k], outs[j], k)
    return form.build(outs)


def _is_array(x: Any) -> bool:
    return type(x) is np.ndarray or (is_value(x) and type(x) not in SCALARS)


def _take_over(name: str, x: Any, y: Any, k: int) -> Any:
    """`x`, an argument that was changed in place, which takes over what `y` holds."""
    if x is not y:
        if type(x) is not type(y) or not isinstance(x, Tensor):
            raise LevelError(
                f"{name}: argument {k}, of type {type(x).__name__}, was marked dirty, but its new "
                f"value is of type {type(y).__name__}, which it cannot hold; pass a tensor of that "
                f"level (x + 0 * y), or return a new array from forward",
                named=True,
            )
        x._value = y._value
        if hasattr(y, "_extra"):
            x._extra = y._extra
    return x


def _constant(x: Any) -> Any:
    return stop_gradient(x) if isinstance(x, Tensor) else x


# ---- once differentiable ----


@checks_keywords
def once_differentiable(backward: Callable) -> Callable:
    """Mark a ``backward`` that cannot be differentiated because it is not NumPy code.

    It runs on values without derivatives. A first derivative works in any nesting; a second
    derivative through the result raises an error.

    Parameters
    ----------
    backward : callable
        ``backward(ctx, *grad_outputs)`` of a `Function`. Write the decorator below
        ``@staticmethod``.

    Raises
    ------
    RuntimeError
        In the backward pass of a second derivative (in forward mode: immediately).

    Examples
    --------
    >>> import math
    >>> from functier import grad
    >>> class Sin(Function):
    ...     @staticmethod
    ...     def forward(x):
    ...         return math.sin(x)
    ...
    ...     @staticmethod
    ...     def setup_context(ctx, inputs, output):
    ...         ctx.save_for_backward(*inputs)
    ...
    ...     @staticmethod
    ...     @once_differentiable
    ...     def backward(ctx, g):
    ...         return g * math.cos(*ctx.saved_tensors)
    >>> grad(Sin.apply)(0.0)
    np.float64(1.0)
    >>> grad(grad(Sin.apply))(0.0)
    Traceback (most recent call last):
        ...
    RuntimeError: trying to differentiate twice the backward of Sin, which is marked with \
@once_differentiable; write it in NumPy functions, or as a Function, and take the mark away; \
forward mode needs no derivative of it where there is a jvp
    """

    @functools.wraps(backward)
    def once(ctx: Context, *grads: Any) -> Any:
        outs, kind = apply(_Once(backward, ctx, len(grads)), [*grads, *ctx._residuals[1]])
        return outs[0] if kind is None else tuple(outs)

    return once


class _Once(Rules):
    """The rules of a backward function without a derivative.

    The leaves are `n` gradients and the saved arrays of the context.
    """

    has_vjp = True

    def __init__(self, backward: Callable, ctx: Context, n: int):
        self.backward, self.ctx, self.n, self.name = backward, ctx, n, ctx._name
        self.n_saved = len(ctx.saved_tensors)  # which the context forgets later

    def run(self, leaves: list) -> tuple[list, Any]:
        ctx, kept = self.ctx, leaves[self.n :]
        ctx = ctx.replace(tuple(kept[: self.n_saved]), restore_attributes(ctx._residuals[0], kept))
        result = self.backward(ctx, *leaves[: self.n])
        return (list(result), tuple) if isinstance(result, (tuple, list)) else ([result], None)

    def fwd(self, leaves: list) -> tuple[list, Any, list, Any]:
        return *apply(self, leaves), [], None

    def bwd(self, saved: list, how: Any, cotangents: list) -> list:
        raise RuntimeError(
            f"trying to differentiate twice the backward of {self.name}, which is marked with "
            f"@once_differentiable; write it in NumPy functions, or as a Function, and take the "
            f"mark away; forward mode needs no derivative of it where there is a jvp"
        )
