"""Implicit differentiation: the solution of an equation, whatever found it.

NOTE [a solution is differentiated level by level]
    A solution is differentiated at the innermost level first. There the function is
    evaluated once more, at the solution without that level's part: what the level then
    knows of the result is how the equation moves with what the function closes over, and
    a linear solve makes it the solution's own derivative. The solution without that part,
    and the linear solve, are solutions of equations at the levels around, where the same
    is done. A solver runs while all these levels are off (`no_dispatch`): it sees their
    tensors as values, and they see none of its steps.

NOTE [below the batch]
    Batch levels inside of a level keep their axes, so that the function may close over
    their tensors too. `_Batches.sink` takes a value out of these levels, with all batch
    axes in front, and `_Batches.rise` puts it back.
"""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from .._core.blocks import block
from .._core.errors import LevelError
from .._core.numpy_facts import dtype_of, shape_of
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
from .._levels.cotangents import cast_from_rule, fit, zeros
from .._levels.jvp import fit_tangent
from .._levels.level import Level
from .._levels.lineage import AMBIENT, levels_of
from .._levels.states import resume, switch_off
from .._levels.tape import join_edges
from .._tracing.linearize import linearize
from .._transforms.grad import vjp
from .._transforms.stop_gradient import without_derivatives
from .._transforms.vmap import vmap

new = object.__new__
Func = Callable[[Any], Any]
Solver = Callable[[Func, Any], Any]


def custom_root(
    f: Func, initial_guess: Any, solve: Solver, tangent_solve: Solver, has_aux: bool = False
) -> Any:
    """A root of `f`, differentiated by the implicit function theorem.

    `solve` may be any method, also one that cannot be differentiated: no transform sees
    its steps, and none of them is kept for the backward pass. The derivative comes from
    ``f(x) = 0`` alone: for what `f` closes over, ``dx = -A^-1 df`` with the Jacobian ``A``
    of `f` at the root.

    Parameters
    ----------
    f : callable
        From an array or a pytree of arrays to one of the same structure and shapes. It may
        close over tensors of any level; by these the root is differentiated.
    initial_guess : array or pytree of arrays
        Where `solve` begins; the root does not depend on it.
    solve : callable
        ``solve(f, initial_guess)`` returns the root; ``(root, aux)`` with `has_aux`. Its
        arguments have no part of any `grad` or `jvp` level, so without `vmap` they are
        plain arrays. Under `vmap` they are a batch: `while_loop` goes on while one
        example needs it.
    tangent_solve : callable
        ``tangent_solve(g, y)`` returns the ``x`` with ``g(x) = y`` for a linear ``g``,
        which is `f` linearized at the root, or its transpose. For a scalar ``lambda g, y:
        y / g(1.0)``; for a vector ``lambda g, y: np.linalg.solve(jacfwd(g)(y), y)``. Jacobians
        batch their directions: there ``y`` is a tensor, as under `vmap`. A solver that knows
        plain arrays only goes into `sequential_vmap`: ``lambda g, y: sequential_vmap(lambda
        y: cg(g, y))(y)``. `linearize` records what this function does.
    has_aux : bool
        Whether `solve` returns a second value, which is passed out untouched.

    Returns
    -------
    array or pytree of arrays
        The root, of the structure of `initial_guess`; ``(root, aux)`` with `has_aux`.

    Raises
    ------
    ValueError
        Where `f` or `tangent_solve` returns another structure or other shapes.

    Notes
    -----
    Derivatives of each order are right, and one of order n costs n linear solves. `f` is
    linearized when the root has been found; `tangent_solve` runs in the backward pass, before
    which nobody may write to what it closes over. What a derivative costs does not depend on
    the steps of `solve`. The signature is JAX's.

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
    solved = _without_aux(label, solve, levels, aux) if has_aux else solve

    def root(around: list, off: list) -> Any:
        if not around:
            with _switched_off(off):
                return _lower(off, solved(f, _lower(off, initial_guess)))
        level, *around = around
        x = root(around, [*off, level])
        return _attach(
            label, level, f, x,
            lambda: linearize(f, x)[1],
            lambda: _transpose(f, x),
            tangent_solve, tangent_solve, around, off,
        )  # fmt: skip

    x = root(levels, [])
    return (x, aux[0]) if has_aux else x


def custom_linear_solve(
    matvec: Func,
    b: Any,
    solve: Solver,
    transpose_solve: Solver | None = None,
    symmetric: bool = False,
    has_aux: bool = False,
) -> Any:
    """The solution of ``matvec(x) = b``, differentiated as one, whatever found it.

    Parameters
    ----------
    matvec : callable
        A linear function of an array or pytree, to one of the same structure and shapes. It
        may close over tensors of any level; by these the solution is differentiated.
    b : array or pytree of arrays
        The right-hand side, of any level.
    solve : callable
        ``solve(matvec, b)`` returns the solution; ``(solution, aux)`` with `has_aux`. It
        gets values without a part of any `grad` or `jvp` level.
    transpose_solve : callable, optional
        ``transpose_solve(vecmat, b)``, the same for the transposed function. Reverse mode
        needs it.
    symmetric : bool
        The function is its own transpose, and `solve` does for both.
    has_aux : bool
        Whether `solve` returns a second value, which is passed out untouched.

    Returns
    -------
    array or pytree of arrays
        Of the structure and shapes of `b`; ``(solution, aux)`` with `has_aux`.

    Raises
    ------
    TypeError
        In reverse mode, where there is no `transpose_solve`.
    ValueError
        Where a solver or `matvec` returns another structure or other shapes.

    Notes
    -----
    ``dx = A^-1 (db - dA x)``, and for cotangents the transpose: one further solve for each
    derivative. The solver for it, and a symmetric `matvec`, run in the backward pass, before
    which nobody may write to what they close over. The signature is JAX's.

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
    back = solve if symmetric else transpose_solve
    if has_aux:
        solve = _without_aux(label, solve, levels, aux)
        back = back and _without_aux(label, back, levels, [])
    x = _linear(label, matvec, b, solve, back, symmetric, levels, [])
    return (x, aux[0]) if has_aux else x


# ---- the two equations at one level ----


def _linear(
    label: str,
    matvec: Func,
    b: Any,
    solve: Solver,
    back: Solver | None,
    symmetric: bool,
    around: list[Level],
    off: list[Level],
) -> Any:
    """The solution of a linear equation, differentiated at the levels `around`, innermost
    first, while those inside of them are `off`.
    """
    if not around:
        with _switched_off(off):
            b = _lower(off, b)
            x = _lower(off, solve(matvec, b))
        _same_forms(label, "the solver", x, b)
        return x
    level, *around = around
    x = _linear(label, matvec, b, solve, back, symmetric, around, [*off, level])
    given, structure = flatten(b)

    def residual(x: Any) -> Any:
        products = matvec(x)
        _same_forms(label, "the function", products, b)
        return unflatten(structure, [p - y for p, y in zip(flatten(products)[0], given)])

    return _attach(
        label, level, residual, x,
        lambda: matvec, lambda: matvec if symmetric else _transpose(matvec, x),
        solve, back, around, off,
    )  # fmt: skip


def _attach(
    label: str,
    level: Any,
    f: Func,
    x: Any,
    forward: Callable[[], Func],
    backward: Callable[[], Func],
    solve: Solver,
    back: Solver | None,
    around: list[Level],
    off: list[Level],
) -> Any:
    """The root `x` of `f`, which has no part of `level`, with its derivative there.

    `forward` and `backward` make the linearized function and its transpose.
    """
    with _switched_off(off):
        residual = _lower(off, f(x))
    _same_forms(label, "the function", residual, x)
    batches, ambient = _Batches(level), AMBIENT.get()
    values, structure = flatten(x)
    moved = [batches.sink(r) for r in flatten(residual)[0]]
    mine = [i for i, r in enumerate(moved) if type(r) is level.cls]
    if not mine:
        return x
    values, inside = [batches.sink(v) for v in values], [*off, level]

    def solution(function: Any, solver: Any, other: Any, right: list) -> list:
        b = unflatten(structure, right)
        with _switched_off(inside):
            u = _linear(label, function, b, solver, other, False, around, inside)
        return [-v for v in flatten(u)[0]]

    def real(found: Any, value: Any) -> Any:
        return cast_from_rule(
            label, lambda: "what the linear solver returned", found, dtype_of(value)
        )

    def linearized(make: Callable[[], Func]) -> Func:
        with _switched_off(inside):
            return make()

    if level.differentiates == "forward":
        right = [batches.rise(r._extra if type(r) is level.cls else zeros(r)) for r in moved]
        tangents = map(batches.sink, solution(linearized(forward), solve, back, right))
        pairs = [level.pair(v, fit_tangent(real(t, v), v)) for v, t in zip(values, tangents)]
        return unflatten(structure, [batches.rise(y) for y in pairs])

    forms = [(shape_of(v), dtype_of(v)) for v in values]
    # Now, as what `f` closes over may be written to before the backward pass.
    linear = linearized(backward) if back is not None else None

    def transposed(*right: Any) -> list:
        return solution(linear, back, solve, list(right))

    def pulled(cotangents: tuple) -> list:
        if back is None:
            raise TypeError(
                f"{label}: reverse mode solves with the transposed function; give "
                f"transpose_solve, or symmetric=True"
            )
        right = [np.zeros(*form) if g is None else g for g, form in zip(cotangents, forms)]
        if batches.groups:
            solved = batches.inside(label, ambient, transposed, right)
        else:
            solved = transposed(*right)
        return [fit(real(solved[i], values[i]), *forms[i]) for i in mine]

    tracked = []
    for value, node in zip(
        values, join_edges([moved[i]._extra for i in mine], pulled, len(values))
    ):
        y = new(level.cls)
        y._value, y._extra = value, node
        tracked.append(batches.rise(y))
    return unflatten(structure, tracked)


def _transpose(f: Func, x: Any) -> Func:
    pullback = vjp(f, x)[1]
    return lambda g: pullback(g)[0]


def _without_aux(label: str, solve: Solver, levels: list[Level], aux: list) -> Solver:
    """A solver whose second result goes to the list `aux`, without a part of `levels`."""

    def solved(f: Func, given: Any) -> Any:
        result = solve(f, given)
        if not isinstance(result, tuple) or len(result) != 2:
            raise TypeError(
                f"{label}: has_aux=True needs a solver that returns (x, aux); it returned "
                f"{describe(result)}"
            )
        aux.append(_lower(levels, result[1]))
        return result[0]

    return solved


def _same_forms(label: str, who: str, result: Any, x: Any) -> None:
    """Raise where a result has not the structure and the shapes of `x`."""
    if not same_structure(result, x):
        raise ValueError(
            f"{label}: {who} returned the structure {describe(result)}, but {describe(x)} was "
            f"expected, that of its argument"
        )
    for y, v, path in zip(flatten(result)[0], flatten(x)[0], paths(x, "the result")):
        if shape_of(y) != shape_of(v):
            raise ValueError(
                f"{label}: {path} of {who} has shape {shape_of(y)}, but shape {shape_of(v)} was "
                f"expected, that of its argument"
            )


# ---- levels ----


def _differentiating() -> list[Level]:
    """The levels of grad and jvp around the caller, innermost first."""
    return [level for level in levels_of(AMBIENT.get()) if level.differentiates]


@block
def _switched_off(levels: list[Level]) -> Iterator[None]:
    yield from switch_off([level.cls for level in levels])


def _lower(levels: list[Any], tree: Any) -> Any:
    """`tree` without what `levels` know of its tensors."""
    return without_derivatives(tree, [level.cls for level in levels]) if levels else tree


class _Batches:
    """The batch levels inside of a level: see NOTE [below the batch]."""

    def __init__(self, level: Level):
        self.groups: list[tuple[Any, tuple]] = []  # innermost first, and the sizes of each
        done: set[Any] = set()
        for inner in levels_of(AMBIENT.get()):
            if inner.depth <= level.depth:
                break
            if inner.batches and inner not in done:
                group = inner.group()
                done.update(group)
                sizes = [1 if part.size is None else part.size for part in group]
                self.groups.append((inner.cls, tuple(sizes)))

    def sink(self, x: Any) -> Any:
        for cls, sizes in self.groups:
            level = cls.level  # live again, where the backward pass runs it
            value = level.lift(x)
            x = np.broadcast_to(value, (*sizes, *shape_of(value)[len(sizes) :]))
        return x

    def rise(self, value: Any) -> Any:
        for cls, _ in reversed(self.groups):
            y = new(cls)
            y._value = value
            value = y
        return value

    def inside(
        self, label: str, ambient: type, f: Callable[..., list], values: list, extra: int = 0
    ) -> list:
        """The results of `f` at the levels that were ambient, from and to sunk values.

        Values may be tensors of batch levels elsewhere: of a Jacobian, whose unit vectors
        come later. Each of their batch axes gets a `vmap` inside, as the last of `extra`.
        """
        other: list[Any] = [type(v) for v in values if _stranger(type(v), ambient)]
        if not other:
            with resume(ambient):
                for _ in range(extra):
                    f = vmap(f)
                return [self.sink(y) for y in f(*map(self.rise, values))]
        level = other[0].level
        if not level.batches:
            raise LevelError(
                f"{label}: its cotangents are differentiated by {level}, outside of the vmap "
                f"that it was called in; use forward mode there, or call it without vmap",
                named=True,
            )
        place = sum(len(sizes) for _, sizes in self.groups) + extra
        moved = [np.moveaxis(level.unwrap(v), 0, place) for v in values]
        results = self.inside(label, ambient, f, moved, extra + 1)
        rows = [np.moveaxis(y, place, 0) for y in results]
        return level.insert(rows, [0] * len(rows), label)


def _stranger(cls: Any, ambient: type) -> bool:
    return issubclass(cls, Tensor) and cls.level.depth > 0 and not issubclass(ambient, cls)
