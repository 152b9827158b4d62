"""Implicit differentiation: custom_root and custom_linear_solve.

NOTE [a solution is differentiated level by level]
    A solution is differentiated at the innermost level first. There the function is
    evaluated once more, at the solution without its derivatives at that level. The level's
    derivatives of the result say how the equation changes with the values that the function
    closes over, and a linear solve turns them into derivatives of the solution. The solution
    without these derivatives, and the result of the linear solve, are solutions of equations
    at the levels around, where the same is done. A solver runs while all these levels are
    switched off (`no_dispatch`): it sees their tensors as values, and they record none of
    its steps.

NOTE [below the batch]
    Batch levels inside a level keep their axes, so that the function may close over their
    tensors too. `_Batches.sink` takes a value out of these levels, with all batch axes in
    front, and `_Batches.rise` puts it back.
"""

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

from .._core.blocks import block
from .._core.errors import LevelError
from .._core.numpy_facts import PyTree, Value, dtype_of, shape_of
from .._core.pytree import (
    check_callable,
    describe,
    flatten,
    name_of_function,
    paths,
    same_structure,
    unflatten,
)
from .._core.tensor import Tensor
from .._core.tracebacks import checks_keywords
from .._levels.cotangents import cast_from_rule, fit, zeros
from .._levels.jvp import fit_tangent
from .._levels.kept import join_edges, owned
from .._levels.level import Level
from .._levels.lineage import AMBIENT, levels_of
from .._levels.states import resume, switch_off
from .._transforms.stop_gradient import without_derivatives
from .._transforms.tracing.linearize import linearize
from .._transforms.vjp import vjp
from .._transforms.vmap import vmap
from .effects import Effects

Func = Callable[[PyTree], PyTree]
Solver = Callable[[Func, PyTree], Any]


@checks_keywords
def custom_root(
    f: Func, initial_guess: PyTree, solve: Solver, tangent_solve: Solver, has_aux: bool = False
) -> Any:
    """Find a root of `f`, and differentiate it by the implicit function theorem.

    `solve` may use any method, also one that cannot be differentiated: transforms do not see
    its steps, and the backward pass saves none of them. The derivative comes from
    ``f(x) = 0`` alone. With respect to the values that `f` closes over it is
    ``dx = -A^-1 df``, with the Jacobian ``A`` of `f` at the root.

    Parameters
    ----------
    f : callable
        Takes an array or a pytree of arrays, and returns one of the same structure and shapes.
        It may close over tensors of any level; the root is differentiated with respect to
        these.
    initial_guess : array or pytree of arrays
        The start value for `solve`; the root does not depend on it.
    solve : callable
        ``solve(f, initial_guess)`` returns the root; ``(root, aux)`` with `has_aux`. Its
        arguments have no derivatives, so without `vmap` they are plain arrays. Under `vmap`
        they are a batch; `while_loop` then runs until it has ended for every example.
    tangent_solve : callable
        ``tangent_solve(g, y)`` returns the ``x`` with ``g(x) = y`` for a linear ``g``,
        which is `f` linearized at the root, or its transpose. For a scalar, write
        ``lambda g, y: y / g(1.0)``; for a vector, ``lambda g, y:
        np.linalg.solve(jacfwd(g)(y), y)``. Jacobians batch their directions, so ``y`` is a
        tensor there, as under `vmap`. Wrap a solver for plain arrays in `sequential_vmap`:
        ``lambda g, y: sequential_vmap(lambda y: cg(g, y))(y)``. `linearize` records the calls
        of this function.
    has_aux : bool
        Whether `solve` returns a second value, which is returned without derivatives.

    Returns
    -------
    array or pytree of arrays
        The root, with the structure of `initial_guess`; ``(root, aux)`` with `has_aux`.

    Raises
    ------
    ValueError
        If `f` or `tangent_solve` returns another structure or other shapes.

    Notes
    -----
    Derivatives of every order are right; one of order n takes n linear solves, and its cost
    does not depend on the number of steps of `solve`. `f` is linearized as soon as the root
    is found. `tangent_solve` runs in the backward pass, and what it closes over has the values of
    then, or an error is raised. The signature is JAX's.

    Examples
    --------
    >>> from functier import grad
    >>> def newton(f, x):
    ...     for _ in range(10):
    ...         x = x - f(x) / grad(f)(x)
    ...     return x
    >>> def cube_root(a):
    ...     return custom_root(lambda x: x**3 - a, 1.0, newton, lambda g, y: y / g(1.0))
    >>> float(cube_root(8.0)), round(float(grad(cube_root)(8.0)), 6)
    (2.0, 0.083333)
    """
    label = f"custom_root({name_of_function(f)})"
    for given in (f, solve, tangent_solve):
        check_callable("custom_root", given)
    levels = _differentiating()
    aux: list = []  # of the solve for the value, and then of those for derivatives
    find_root = _without_aux(label, solve, levels, aux) if has_aux else solve
    solvers = Solvers(label, tangent_solve, tangent_solve, (f, tangent_solve))

    def root(nesting: Nesting) -> PyTree:
        off = nesting.off
        if not nesting.around:
            with _switch_off(off):
                return _lower(off, find_root(f, _lower(off, initial_guess)))
        x = root(nesting.next_outward())
        return _attach(solvers, nesting, f, x, lambda: linearize(f, x)[1], lambda: _transpose(f, x))

    x = root(Nesting(levels, []))
    return (x, aux[0]) if has_aux else x


@checks_keywords
def custom_linear_solve(
    matvec: Func,
    b: PyTree,
    solve: Solver,
    transpose_solve: Solver | None = None,
    symmetric: bool = False,
    has_aux: bool = False,
) -> Any:
    """Solve ``matvec(x) = b``, and differentiate the solution implicitly.

    Parameters
    ----------
    matvec : callable
        A linear function that takes an array or pytree, and returns one of the same structure
        and shapes. It may close over tensors of any level; the solution is differentiated with
        respect to these.
    b : array or pytree of arrays
        The right-hand side, of any level.
    solve : callable
        ``solve(matvec, b)`` returns the solution; ``(solution, aux)`` with `has_aux`. Its
        arguments have no derivatives.
    transpose_solve : callable, optional
        ``transpose_solve(vecmat, b)`` does the same for the transposed function. Reverse mode
        needs it.
    symmetric : bool
        Whether the function is its own transpose, so that `solve` serves for both.
    has_aux : bool
        Whether `solve` returns a second value, which is returned without derivatives.

    Returns
    -------
    array or pytree of arrays
        The solution, with the structure and shapes of `b`; ``(solution, aux)`` with `has_aux`.

    Raises
    ------
    TypeError
        In reverse mode, if `transpose_solve` is missing.
    ValueError
        If a solver or `matvec` returns another structure or other shapes.

    Notes
    -----
    The derivative is ``dx = A^-1 (db - dA x)``, and its transpose for cotangents, so each
    derivative takes one further solve. The solver for it, and a symmetric `matvec`, run in the
    backward pass. What they close over has the values of then, or an error is raised. The
    signature is JAX's.

    Examples
    --------
    >>> import numpy as np
    >>> from functier import grad
    >>> A, b = np.array([[3.0, 1.0], [1.0, 2.0]]), np.array([1.0, 0.0])
    >>> def conjugate_gradients(matvec, b):
    ...     x, r = np.zeros(2), b
    ...     p = r
    ...     for _ in range(2):
    ...         q = matvec(p)
    ...         step = (r @ r) / (p @ q)
    ...         x, r, old = x + step * p, r - step * q, r
    ...         p = r + (r @ r) / (old @ old) * p
    ...     return x
    >>> def f(s):
    ...     return custom_linear_solve(
    ...         lambda x: s * (A @ x), b, conjugate_gradients, symmetric=True
    ...     )[0]
    >>> float(f(1.0)).__round__(6), float(grad(f)(1.0)).__round__(6)
    (0.4, -0.4)
    """
    label = f"custom_linear_solve({name_of_function(matvec)})"
    for given in (matvec, solve, transpose_solve or solve):
        check_callable("custom_linear_solve", given)
    levels = _differentiating()
    aux: list = []  # of the solve for the value, and then of those for derivatives
    solve_transposed = solve if symmetric else transpose_solve
    functions = matvec, solve, solve_transposed
    if has_aux:
        solve = _without_aux(label, solve, levels, aux)
        if solve_transposed is not None:
            solve_transposed = _without_aux(label, solve_transposed, levels, [])
    solvers = Solvers(label, solve, solve_transposed, functions)
    x = _solve_linear(solvers, Nesting(levels, []), matvec, b, symmetric)
    return (x, aux[0]) if has_aux else x


# ---- the two equations at one level ----


class Solvers(NamedTuple):
    """The solvers for a linear function and for its transpose; messages begin with `label`."""

    label: str
    solve: Solver
    solve_transposed: Solver | None
    functions: tuple  # of the caller, which run again in a backward pass

    def transpose(self) -> "Solvers":
        """Return the solvers for the transposed function."""
        assert self.solve_transposed is not None
        return Solvers(self.label, self.solve_transposed, self.solve, self.functions)


class Nesting(NamedTuple):
    """The levels to differentiate at, innermost first, and those inside, which are off."""

    around: list[Level]
    off: list[Level]

    def next_outward(self) -> "Nesting":
        """Return the nesting with the innermost level off, too."""
        return Nesting(self.around[1:], [*self.off, self.around[0]])


def _solve_linear(
    solvers: Solvers, nesting: Nesting, matvec: Func, b: PyTree, symmetric: bool = False
) -> PyTree:
    """Return the solution of a linear equation, differentiated at the levels of `nesting`."""
    label, off = solvers.label, nesting.off
    if not nesting.around:
        with _switch_off(off):
            b = _lower(off, b)
            x = _lower(off, solvers.solve(matvec, b))
        _check_forms(label, "the solver", x, b)
        return x
    x = _solve_linear(solvers, nesting.next_outward(), matvec, b, symmetric)
    right_sides, structure = flatten(b)

    def residual(x: PyTree) -> PyTree:
        products = matvec(x)
        _check_forms(label, "the function", products, b)
        return unflatten(structure, [p - y for p, y in zip(flatten(products)[0], right_sides)])

    return _attach(
        solvers, nesting, residual, x,
        lambda: matvec, lambda: matvec if symmetric else _transpose(matvec, x),
    )  # fmt: skip


def _attach(
    solvers: Solvers,
    nesting: Nesting,
    f: Func,
    x: PyTree,
    linearize_f: Callable[[], Func],
    transpose_f: Callable[[], Func],
) -> PyTree:
    """Return the root `x` of `f` with its derivatives at the innermost level of `nesting`.

    `linearize_f` and `transpose_f` return the linearized function and its transpose.
    """
    label, off = solvers.label, nesting.off
    level: Any = nesting.around[0]
    with _switch_off(off):
        residual = _lower(off, f(x))
    _check_forms(label, "the function", residual, x)
    batches, ambient = _Batches(level), AMBIENT.get()
    values, structure = flatten(x)
    residuals = [batches.sink(r) for r in flatten(residual)[0]]
    places = [i for i, r in enumerate(residuals) if type(r) is level.cls]
    if not places:
        return x
    values, outward = [batches.sink(v) for v in values], nesting.next_outward()

    def solve(solvers: Solvers, function: Func, right_sides: list) -> list:
        b = unflatten(structure, right_sides)
        with _switch_off(outward.off):
            u = _solve_linear(solvers, outward, function, b)
        return [-v for v in flatten(u)[0]]

    if level.differentiates == "series":
        function, order = _made(outward, linearize_f), level.order
        terms: list[list] = [[None] * order for _ in values]
        for k in range(1, order + 1):  # one more is right after each step
            right = [level.coefficient(r, k) for r in residuals]
            right = [batches.rise(zeros(v) if r is None else r) for r, v in zip(right, values)]
            for v, t, own in zip(values, map(batches.sink, solve(solvers, function, right)), terms):
                own[k - 1] = fit_tangent(_cast(label, t, v), v)
            made = [level.tensor(v, own) for v, own in zip(values, terms)]
            x = unflatten(structure, [batches.rise(y) for y in made])
            with _switch_off(off):
                residuals = [batches.sink(r) for r in flatten(_lower(off, f(x)))[0]]
        return x

    if level.differentiates == "forward":
        right = [
            batches.rise(r.parts()[1] if type(r) is level.cls else zeros(r)) for r in residuals
        ]
        tangents = map(batches.sink, solve(solvers, _made(outward, linearize_f), right))
        pairs = [
            level.pair(v, fit_tangent(_cast(label, t, v), v)) for v, t in zip(values, tangents)
        ]
        return unflatten(structure, [batches.rise(y) for y in pairs])

    forms = [(shape_of(v), dtype_of(v)) for v in values]
    # Now, because arrays that `f` closes over may be written to before the backward pass.
    transposed = _made(outward, transpose_f) if solvers.solve_transposed is not None else None

    def solve_transposed(*right_sides: Value) -> list:
        return solve(solvers.transpose(), transposed, list(right_sides))  # type: ignore[arg-type]

    then = Effects(solvers.functions)

    def pull(cotangents: tuple) -> list:
        if transposed is None:
            raise TypeError(
                f"{label}: reverse mode solves with the transposed function; pass "
                f"transpose_solve=..., or symmetric=True"
            )
        right = [np.zeros(*form) if g is None else owned(g) for g, form in zip(cotangents, forms)]
        with then.again(label):
            if batches.groups:
                found = batches.inside(label, ambient, solve_transposed, right)
            else:
                found = solve_transposed(*right)
        return [fit(_cast(label, found[i], values[i]), *forms[i]) for i in places]

    tracked = []
    parents = [residuals[i].parts()[1] for i in places]
    for value, node in zip(values, join_edges(parents, pull, len(values))):
        tracked.append(batches.rise(level.cls.join(value, node)))
    return unflatten(structure, tracked)


def _made(nesting: Nesting, linear_function: Callable[[], Func]) -> Func:
    """Make a linear function outside of the levels that `nesting` switches off."""
    with _switch_off(nesting.off):
        return linear_function()


def _cast(label: str, found: Value, value: Value) -> Value:
    """Return what the linear solver has found for `value`, in its dtype."""
    return cast_from_rule(label, lambda: "the result of the linear solver", found, dtype_of(value))


def _transpose(f: Func, x: PyTree) -> Func:
    """Return the transpose of `f` linearized at `x`."""
    pullback = vjp(f, x)[1]
    return lambda g: pullback(g)[0]


def _without_aux(label: str, solve: Solver, levels: list[Level], aux: list) -> Solver:
    """Return a solver that appends the second result to `aux`, without derivatives at `levels`."""

    def solve_and_keep(f: Func, given: PyTree) -> PyTree:
        result = solve(f, given)
        if not isinstance(result, tuple) or len(result) != 2:
            raise TypeError(
                f"{label}: has_aux=True needs a solver that returns (x, aux); it returned "
                f"{describe(result)}"
            )
        aux.append(_lower(levels, result[1]))
        return result[0]

    return solve_and_keep


def _check_forms(label: str, who: str, result: Any, x: PyTree) -> None:
    """Raise an error where a result does not have the structure and the shapes of `x`."""
    if not same_structure(result, x):
        raise ValueError(
            f"{label}: {who} returned the structure {describe(result)}, but {describe(x)} was "
            f"expected, the structure of its argument"
        )
    for y, v, path in zip(flatten(result)[0], flatten(x)[0], paths(x, "the result")):
        if shape_of(y) != shape_of(v):
            raise ValueError(
                f"{label}: {path} of {who} has shape {shape_of(y)}, but shape {shape_of(v)} was "
                f"expected, the shape of its argument"
            )


# ---- levels ----


def _differentiating() -> list[Level]:
    """Return the levels of grad and jvp around the caller, innermost first."""
    return [level for level in levels_of(AMBIENT.get()) if level.differentiates]


@block
def _switch_off(levels: list[Level]) -> Iterator[None]:
    yield from switch_off([level.cls for level in levels])


def _lower(levels: list[Level], tree: PyTree) -> PyTree:
    """Return `tree` without the derivatives of its tensors at `levels`."""
    return without_derivatives(tree, [level.cls for level in levels]) if levels else tree


class _Batches:
    """The batch levels inside a level: see NOTE [below the batch].

    `groups` has a class and the batch sizes of each group of contiguous levels, innermost
    first.
    """

    def __init__(self, level: Level):
        self.groups: list[tuple[type[Tensor], tuple[int, ...]]] = []
        done: set[Level] = set()
        for inner in levels_of(AMBIENT.get()):
            if inner.depth <= level.depth:
                break
            if inner.batches and inner not in done:
                group = inner.group()
                done.update(group)
                sizes = [1 if part.size is None else part.size for part in group]
                self.groups.append((inner.cls, tuple(sizes)))

    def sink(self, x: Value) -> Value:
        """Return a value without these levels, with their batch axes in front."""
        for cls, sizes in self.groups:
            level = cls.level  # runs again in a backward pass
            value = level.lift(x)
            x = np.broadcast_to(value, (*sizes, *shape_of(value)[len(sizes) :]))
        return x

    def rise(self, value: Value) -> Value:
        """Return a value with batch axes in front as a tensor of these levels."""
        for cls, _ in reversed(self.groups):
            value = cls.join(value)
        return value

    def inside(
        self, label: str, ambient: type, f: Callable[..., list], values: list, extra: int = 0
    ) -> list:
        """Return the results of `f` at the levels that were ambient, from and to sunk values.

        Values may be tensors of unrelated batch levels, such as that of a Jacobian, whose unit
        vectors come later. Each of their batch axes gets a `vmap` inside, as the last of
        `extra`.
        """
        other: list[Any] = [type(v) for v in values if _is_unrelated(type(v), ambient)]
        if not other:
            with resume(ambient):
                for _ in range(extra):
                    f = vmap(f)
                return [self.sink(y) for y in f(*map(self.rise, values))]
        level = other[0].level
        if not level.batches:
            raise LevelError(
                f"{label}: {level} differentiates its cotangents outside the vmap that it was "
                f"called in; use forward mode there, or call it without vmap",
                named=True,
            )
        place = sum(len(sizes) for _, sizes in self.groups) + extra
        arrays = [np.moveaxis(level.unwrap(v), 0, place) for v in values]
        results = self.inside(label, ambient, f, arrays, extra + 1)
        rows = [np.moveaxis(y, place, 0) for y in results]
        return level.insert(rows, [0] * len(rows), label)


def _is_unrelated(cls: Any, ambient: type) -> bool:
    """Return True where a class is that of a level which is not around `ambient`."""
    return issubclass(cls, Tensor) and cls.level.depth > 0 and not issubclass(ambient, cls)
