"""finite_difference: functions that transforms cannot look into, with derivatives by differences.

NOTE [black boxes]
    A black box is a function of leaves that gets plain arrays, one example at a time. Its
    derivative along tangents is a black box again, and so is its pullback: a second derivative
    is a difference of differences. Their values have fewer exact digits than those of the
    function, two thirds for each order, and the steps are chosen accordingly.
"""

import functools
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, ParamSpec, TypeVar, overload

import numpy as np

from .._control.effects import Effects
from .._core.errors import NoRuleError
from .._core.numpy_facts import PyTree, dtype_of, shape_of
from .._core.pytree import (
    check_callable,
    describe,
    flatten,
    is_value,
    name_of_function,
    paths,
    unflatten,
)
from .._core.tensor import Tensor
from .._core.tracebacks import checks_keywords, leave
from .._core.wrapper import Wrapper
from .._levels.cotangents import is_inexact
from .._levels.kept import owned
from .._levels.runs import within
from .apply import level_among
from .decorators import Loop
from .differences import START, Slope, copy_value, real_vector, real_view, step_along, unit_vector
from .function import call
from .function_context import Spec

P = ParamSpec("P")
R = TypeVar("R")


class Estimate(NamedTuple):
    """A derivative by differences, as `FiniteDifference.estimate` returns it.

    Attributes
    ----------
    output : pytree of arrays
        The result of the function.
    tangent : pytree of arrays
        Its derivative along the tangents, in the structure of `output`.
    error : pytree of arrays
        The estimate of the absolute error of each element of `tangent`.
    calls : int
        The number of calls of the function.
    """

    output: PyTree
    tangent: PyTree
    error: PyTree
    calls: int


class FiniteDifference(Wrapper[P, R]):
    """A function whose derivatives are finite differences, as `finite_difference` returns it."""

    __name__: str

    def __init__(self, fun: Callable[P, R], step: float | None, rtol: float):
        check_callable("finite_difference", fun)
        for name, x in (("step", 1.0 if step is None else step), ("rtol", rtol)):
            if not isinstance(x, (int, float)) or not x > 0:
                raise ValueError(
                    f"finite_difference: {name}={x!r} is not a positive number; write "
                    f"{name}=1e-3, or leave it out"
                )
        self.fun, self.step, self.rtol = fun, step, rtol
        functools.update_wrapper(self, fun)
        self.__name__ = name_of_function(fun)
        self.__qualname__ = getattr(fun, "__qualname__", self.__name__)

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        try:
            leaves, structure = flatten((args, kwargs), self.__name__)
            leaves, level = level_among(leaves, self.__name__)
            if level is None:
                return self.fun(*args, **kwargs)
            box = Given(self, structure)
            outs = list(box(*leaves))
            box.then = Effects([self.fun])
            return unflatten(box.form, outs)
        except BaseException as error:
            leave(error)
            raise

    def estimate(self, primals: tuple, tangents: tuple) -> Estimate:
        """Return the derivative along tangents, with an estimate of its error.

        Parameters
        ----------
        primals : tuple
            The arguments of the function: plain arrays, or pytrees of such.
        tangents : tuple
            The direction, in the structure and shapes of `primals`.

        Returns
        -------
        Estimate
            A tuple of ``output``, ``tangent``, ``error`` and ``calls``. An error is estimated,
            and nothing refused, also where the function is noisy or has no derivative.

        Raises
        ------
        TypeError
            If the tangents have other shapes than the primals.

        Examples
        --------
        >>> import math
        >>> found = finite_difference(math.exp).estimate((1.0,), (1.0,))
        >>> abs(found.tangent - math.e) < 10 * found.error < 1e-8, found.calls
        (np.True_, 9)
        """
        leaves, structure = flatten((primals, {}), self.__name__)
        own = [i for i, x in enumerate(leaves) if is_value(x) and is_inexact(x)]
        given = flatten((tangents, {}), self.__name__)[0]
        if len(given) != len(leaves) or any(
            [not is_value(given[i]) or shape_of(given[i]) != shape_of(leaves[i]) for i in own]
        ):
            raise TypeError(
                f"{self!r}.estimate: the tangents are {describe(tangents)}, but the primals are "
                f"{describe(primals)}; pass tangents of the structure and shapes of the primals"
            )
        box = Given(self, structure)
        slope, outs = Pushed(box, own).slope_of(leaves, [given[i] for i in own])
        tangent, error = (unflatten(box.form, split(v, outs)) for v in (slope.value, slope.error))
        return Estimate(unflatten(box.form, outs), tangent, error, box.calls)

    def _parts(self) -> tuple:
        return functools.partial(FiniteDifference, step=self.step, rtol=self.rtol), (self.fun,)

    def __repr__(self) -> str:
        return f"<finite_difference({self.__name__})>"


# ---- black boxes ----


class Box:
    """A function of leaves that is differentiated by differences; see NOTE [black boxes].

    `order` is how many derivatives it is away from the function of the user.
    """

    order = 0
    first: "Given"  # that of the function

    def __init__(self, owner: FiniteDifference):
        self.owner = owner
        self.__name__ = self.qualified_name = f"finite_difference({owner.__name__})"
        self.spec = Spec(
            self.__name__, self.computed, self.save, self.backward, self.jvp, self.vmap, whole=self
        )

    def __call__(self, *leaves: Any) -> tuple:
        return call(self.spec, leaves)

    def values(self, leaves: Sequence) -> list:
        """Return the results for plain leaves."""
        raise NotImplementedError

    def names(self, leaves: Sequence) -> list[str]:
        """Return the names of the leaves, for messages."""
        raise NotImplementedError

    def computed(self, *leaves: Any) -> tuple:
        for x in leaves:
            if isinstance(x, Tensor) and x.level.depth:
                raise NoRuleError(
                    f"{x.level}: {self.__name__} takes plain arrays, and this level has none; "
                    f"write functier.jvp or functier.vjp, which compute a product at once"
                )
        return tuple(self.values(leaves))

    # ---- rules ----

    def save(self, ctx: Any, inputs: tuple, output: tuple) -> None:
        ctx.save_for_backward(*[x if is_value(x) else None for x in inputs])
        ctx.constants = [None if is_value(x) else x for x in inputs]
        ctx.set_materialize_grads(False)

    def saved(self, ctx: Any) -> list:
        pairs = zip(ctx.saved_tensors, ctx.constants)
        return [constant if x is None else x for x, constant in pairs]

    def jvp(self, ctx: Any, *tangents: Any) -> tuple:
        own = [i for i, t in enumerate(tangents) if t is not None]
        return Pushed(self, own)(*self.saved(ctx), *[tangents[i] for i in own])

    def backward(self, ctx: Any, *cotangents: Any) -> tuple:
        own = [i for i, need in enumerate(ctx.needs_input_grad) if need]
        given = [i for i, g in enumerate(cotangents) if g is not None]
        inputs, found = self.saved(ctx), dict[int, Any]()
        if given:
            with self.first.then.again(self.__name__):
                grads = Pulled(self, own, given)(*inputs, *[owned(cotangents[i]) for i in given])
            found = dict(zip(own, grads))
        return tuple([found.get(i) for i in range(len(inputs))])

    def vmap(self, info: Any, in_dims: tuple, *leaves: Any) -> tuple:
        outs, _ = Loop(self)(info.batch_size, tuple([d == 0 for d in in_dims]), *leaves)
        return outs, (0,) * len(outs)

    # ---- differences ----

    def slope(self, leaves: list, outs: list, own: list, tangents: list, weights: Any) -> Slope:
        """Return the slope along tangents, of the results or of their sum with weights.

        `outs` are the results at `leaves`, and `own` the positions of those that move.
        """

        def vector(outs: list) -> np.ndarray:
            found = real_vector(inexact_of(outs))
            return found if weights is None else (weights[used] @ found[used])[None]

        def moved(s: float) -> np.ndarray:
            given = [copy_value(x) if type(x) is np.ndarray else x for x in leaves]
            for i, t in zip(own, tangents):
                given[i] = step_along(leaves[i], t, s)
            found = self.values(given)
            if list(map(shape_of, inexact_of(found))) != shapes:
                raise TypeError(
                    f"{self.__name__}: near the point the results have different shapes than at "
                    f"the point; return the same shapes for all values of the arguments"
                )
            return vector(found)

        used = None if weights is None else np.flatnonzero(weights)
        shapes = list(map(shape_of, inexact_of(outs)))
        values = [leaves[i] for i in own]
        dtypes = map(dtype_of, [*values, *inexact_of(outs)])
        eps = max([float(np.finfo(d).eps) for d in dtypes]) ** ((2 / 3) ** self.order)
        sizes = self.sizes(np.abs(real_vector(values)), np.abs(real_vector(tangents)))
        return Slope(moved, vector(outs), sizes, eps, self.owner.rtol)

    def sizes(self, x: np.ndarray, t: np.ndarray) -> list[float]:
        """Return the sizes of the input at which ladders of steps begin, in units of `t`."""
        x, t = x[t > 0], t[t > 0]
        if not t.size:
            return [1.0]
        unit = 1 / float(t.max())
        if self.owner.step is not None:
            return [self.owner.step / START * unit]
        typical = float(np.linalg.norm(x) / np.linalg.norm(t)) or unit
        least = float(np.where(x > 0, x / t, unit).min())
        ones = [] if unit / 8 < typical < unit * 8 else [unit]
        return [typical, *ones, min(least, unit) / 1000]

    def check(self, slope: Slope, of: Callable[[], str]) -> None:
        """Raise an error where a slope is not known well."""
        if slope.accepted.all():
            return
        with np.errstate(divide="ignore", invalid="ignore"):
            ratios = np.where(slope.accepted, 0, slope.error / slope.scale())
        i = int(np.argmax(ratios))
        accept = f", or pass rtol={4 * ratios[i]:.1g} to accept such errors" * bool(ratios[i] < 0.2)
        raise FloatingPointError(
            f"{self.__name__}: the differences {of()} do not settle, because the function "
            f"{slope.fault(i)} (the estimated error is {slope.error[i]:.1g}, the derivative "
            f"{slope.value[i]:.3g}); take the derivative at another point, or of a smoother "
            f"function{accept}"
        )


def inexact_of(values: Sequence) -> list:
    """Return the values of a floating-point or complex dtype."""
    return [x for x in values if is_value(x) and is_inexact(x)]


class Given(Box):
    """The function of the user, for arguments of one structure."""

    form: Any = None  # the structure of the result, known after a call
    calls = 0
    then: Effects  # what the function closes over

    def __init__(self, owner: FiniteDifference, structure: Any):
        super().__init__(owner)
        self.structure, self.first = structure, self

    def values(self, leaves: Sequence) -> list:
        args, kwargs = unflatten(self.structure, list(leaves))
        self.calls += 1
        # outside of levels, where adopted code makes arrays that compiled code takes
        result = within(Tensor, functools.partial(self.owner.fun, *args, **kwargs))
        outs, self.form = flatten(result, self.__name__, "the result")
        # The next call may fill the same arrays again.
        return [copy_value(y) if isinstance(y, np.ndarray) else y for y in outs]

    def names(self, leaves: Sequence) -> list[str]:
        args, kwargs = unflatten(self.structure, list(leaves))
        return [*paths(args, "args"), *paths(kwargs, "kwargs")]


class Derived(Box):
    """A derivative of a black box by the leaves in `own`; it has `more` leaves than the box."""

    def __init__(self, inner: Box, own: list[int], more: int):
        self.inner, self.own, self.more, self.order = inner, own, more, inner.order + 1
        super().__init__(inner.owner)
        self.first = inner.first

    def names(self, leaves: Sequence) -> list[str]:
        return [*self.inner.names(leaves[: -self.more]), *["a (co)tangent"] * self.more]


class Pushed(Derived):
    """The derivative along tangents, the last leaves, for all results."""

    def __init__(self, inner: Box, own: list[int]):
        super().__init__(inner, own, len(own))

    def values(self, leaves: Sequence) -> list:
        slope, outs = self.slope_of(list(leaves[: -self.more]), list(leaves[-self.more :]))
        self.inner.check(slope, lambda: "along the tangents")
        return split(slope.value, outs)

    def slope_of(self, leaves: list, tangents: list) -> tuple[Slope, list]:
        """Return the slope, and the results of the function."""
        outs = self.inner.values(leaves)
        return self.inner.slope(leaves, outs, self.own, tangents, None), outs


def split(vector: np.ndarray, outs: list) -> list:
    """Return the tangents of results that have these coordinates; of others it is zero."""
    found, start = [], 0
    for y in outs:
        t = np.zeros(shape_of(y), dtype_of(y) if is_value(y) and is_inexact(y) else float)
        if is_value(y) and is_inexact(y):
            view = real_view(t)
            view[...] = vector[start : start + view.size]
            start += view.size
        found.append(t[()])
    return found


class Pulled(Derived):
    """The cotangents of the leaves in `own`; the last leaves are those of the results `given`."""

    def __init__(self, inner: Box, own: list[int], given: list[int]):
        super().__init__(inner, own, len(given))
        self.given = given

    def values(self, leaves: Sequence) -> list:
        base = list(leaves[: -self.more])
        outs = self.inner.values(base)
        cotangents = [np.zeros_like(y) if is_value(y) else y for y in outs]
        for i, g in zip(self.given, leaves[-self.more :]):
            cotangents[i] = g
        weights = real_vector(inexact_of(cotangents))
        grads = [np.zeros(shape_of(base[i]), dtype_of(base[i])) for i in self.own]
        for i, g in zip(self.own, grads if weights.any() else ()):
            view = real_view(g)
            for k in range(view.size):
                (t,) = unit_vector([base[i]], 0, k)
                slope = self.inner.slope(base, outs, [i], [t], weights)
                name = lambda i=i, k=k: (  # noqa: E731
                    f"with respect to element {k} of {self.inner.names(base)[i]}"
                )
                self.inner.check(slope, name)
                view[k] = slope.value[0]
        return [g[()] for g in grads]


# ---- the public function ----


@overload
def finite_difference(
    fun: Callable[P, R], *, step: float | None = None, rtol: float = 1e-3
) -> FiniteDifference[P, R]: ...
@overload
def finite_difference(
    fun: None = None, *, step: float | None = None, rtol: float = 1e-3
) -> Callable[[Callable[P, R]], FiniteDifference[P, R]]: ...
@checks_keywords
def finite_difference(
    fun: Callable | None = None, *, step: float | None = None, rtol: float = 1e-3
) -> Any:
    """Make a function whose derivatives are finite differences; also a decorator.

    Use it for code that transforms cannot look into: compiled extensions, simulators, calls of
    other programs. A function made of NumPy's functions does not need it: its derivatives are
    exact.

    Parameters
    ----------
    fun : callable, optional
        A function of arrays or pytrees of arrays, of any shapes, which returns the same. It gets
        plain arrays, one example at a time, whatever transforms are around. Numbers that are not
        floats, strings and other objects are constants. Without `fun` the result is a decorator.
    step : float, optional
        The largest step. The default is a tenth of the size of the input; if the differences do not
        settle, it is 0.1, and finally a thousandth of the smaller one.
    rtol : float
        The largest estimated error of a derivative that is accepted, relative to its size or to
        the change of the function over the largest step, whichever is larger.

    Returns
    -------
    FiniteDifference
        A callable with the arguments of `fun`. Its method ``estimate(primals, tangents)``
        returns a derivative along tangents with an estimate of its error, and the number of
        calls of `fun`.

    Raises
    ------
    FloatingPointError
        If the estimated error of a derivative is larger than `rtol`. The message says whether the
        function jumps, has a kink or is noisy, and names the argument and the element.
    TypeError
        If `fun` returns other shapes near a point than at it.
    ValueError
        If `step` or `rtol` is not a positive number.

    See Also
    --------
    custom_vjp : A rule that you write, if you know the derivative.
    sequential_vmap : A loop over the examples alone.
    functier.testing.gradcheck : Compare derivatives with finite differences.

    Notes
    -----
    A derivative along one direction takes 9 to 13 calls if the function is smooth, and up to 73 if
    it is noisy. A gradient takes that many for each element of the inputs. So write `jvp` if one
    direction is enough, and `jacfwd` for a Jacobian. The differences are central, with steps that
    shrink by a factor of 1.7, and are extrapolated to a step of zero. Calls that raise a ValueError
    or an ArithmeticError away from the point are left out. The estimate is for the function as
    computed: it does not see the error of a solver inside it.

    `vmap` loops over the examples. Derivatives of derivatives are differences of differences;
    orders 1 to 3 have about 10, 6 and 4 exact digits. In a compiled program a call is one step, and
    so is each derivative.

    Examples
    --------
    >>> import math
    >>> import numpy as np
    >>> from functier import grad, vmap
    >>> gamma = finite_difference(math.gamma)
    >>> round(float(grad(gamma)(4.0)), 9)
    7.536706011
    >>> vmap(grad(gamma))(np.array([1.0, 4.0])).round(6)
    array([-0.577216,  7.536706])
    >>> grad(finite_difference(abs))(0.0)
    Traceback (most recent call last):
        ...
    FloatingPointError: ...
    """
    if fun is None:
        return lambda f: FiniteDifference(f, step, rtol)
    return FiniteDifference(fun, step, rtol)
