"""linearize and linear_transpose: a linear map as a function, for many calls.

NOTE [a derivative that is recorded]
    `linearize` is `jvp` with tangents that are not known yet. They are tensors of a
    `TraceLevel`, and the `JvpLevel` of the call is nested in that level. So primals are
    computed once, on values, as in any jvp. Each operation of a rule on a tangent comes to the
    trace level, which computes it for zeros (it needs the forms only) and records it as a step.
    A step refers to the steps whose results it takes, so a step that no result needs is freed,
    and tangents that `jvp` knows to be zero make no steps.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from ..._core.numpy_facts import dtype_of
from ..._core.pytree import check_callable, flatten, is_value, name_of_function, paths, unflatten
from ..._core.tensor import Tensor
from ..._core.tracebacks import checks_keywords, leave
from ..._cpython.frames import current_frame
from ..._levels.backward import backward
from ..._levels.checks import check_inputs, match
from ..._levels.cotangents import form_like, zeros
from ..._levels.kept import copy_tape
from ..._levels.level import Escape
from ..._levels.memory import own_memory
from ..._levels.options import check_choice
from ..._levels.runs import Site, outer_tensors, push_forward, record, run
from .level import TraceLevel
from .program import Program

NOT_LINEAR = (
    "the function is not linear: subtract its value at 0, or use linearize or vjp for the "
    "derivative at a point"
)


@checks_keywords
def linearize(
    func: Callable, *primals: Any, has_aux: bool = False, escape: Escape = "dead"
) -> tuple:
    """Return the value of `func`, and its derivative there as a function of tangents.

    Parameters
    ----------
    func : callable
        A function of arrays or pytrees that returns such; it is called once.
    *primals : array or pytree of arrays
        Where to evaluate it; floating-point or complex.
    has_aux : bool
        Whether `func` returns ``(output, aux)``.
    escape : {"dead", "passthrough"}
        What a tensor of this level does once the call is over. A tangent inside a rule raises an
        error with either option, because its value is known only in the calls of `jvp_fn`.

    Returns
    -------
    tuple
        ``(output, jvp_fn)``, or ``(output, jvp_fn, aux)``. ``jvp_fn(*tangents)`` takes the
        structures, shapes and dtypes of the primals and returns the tangent of the output. It is
        the tangent of `jvp`, for the cost of the operations on tangents alone. The function may be
        called many times, on batched tangents, inside other transforms, and after the level has
        ended.

    Raises
    ------
    TypeError, ValueError
        If a primal is not a floating-point array, or the tangents do not fit.
    ConversionError
        If a rule asks for the value of a tangent, or for a shape that depends on it, such as the
        number of elements that a mask selects.
    NoRuleError
        If the function uses an operation that has no derivative rule.

    Notes
    -----
    `jvp_fn` keeps copies of the values that the derivative needs. Recording it takes the time of
    two `jvp` on large arrays, and of five to eight on small ones; each call takes a third of one.

    Examples
    --------
    >>> import numpy as np
    >>> y, jvp_fn = linearize(np.sin, np.array([0.0, 1.0]))
    >>> jvp_fn(np.array([1.0, 0.0]))
    array([1., 0.])
    >>> from functier import vmap
    >>> vmap(jvp_fn)(np.eye(2)).shape
    (2, 2)
    """
    check_choice("linearize", func, "escape", escape)
    check_callable("linearize", func)
    name = name_of_function(func)
    label = f"linearize({name})"
    try:
        if not primals:
            raise ValueError(f"{label}: no primals were given; call linearize(func, x, ...)")
        leaves, structure = flatten(primals, label, "primals")
        check_inputs(label, leaves, paths, primals, "primals")
        frame, outer = current_frame(2), outer_tensors(leaves)

        def call(inner: list) -> Any:
            return func(*unflatten(structure, inner))

        # "dead": a tangent has no value to pass through.
        level = TraceLevel.prepare(f"trace({name})", "dead", frame, outer)
        at = (Site(label, escape, frame, outer), call, leaves, has_aux)
        results, out_structure, aux, program, known = run(level, _record_tangents, at)
        del at
        program.copy_constants()
        given = [form_like(x) for x in leaves]
        forms = [form_like(y) for y in results]

        def jvp_fn(*tangents: Any) -> Any:
            """Return the tangent of the output for `tangents`, one for each primal."""
            try:
                directions = match(label, given, structure, tangents, "tangent", "primals")
                found = program([_with_form(t) for t in directions])
                for i, form in enumerate(forms):
                    if found[i] is None:
                        found[i] = np.copy(known[i]) if i in known else zeros(form)
                return unflatten(out_structure, own_memory(found, directions))
            except BaseException as error:
                leave(error)
                raise

        value = unflatten(out_structure, results)
        del leaves, results
        return (value, jvp_fn, aux) if has_aux else (value, jvp_fn)
    except BaseException as error:
        leave(error, label, func, primals)
        raise


def _record_tangents(level: TraceLevel, given: tuple) -> tuple:
    """Record the tangents of a function.

    Return its results, their structure, the rest, the program of the tangents, and by position
    the tangents that are constants other than 0.
    """
    site, call, leaves, has_aux = given
    tangents = level.unknown([zeros(x) for x in leaves])
    inputs = [t.parts()[1] for t in tangents]
    pairs, structure, aux = push_forward(site, call, leaves, tangents, has_aux)
    program = Program(inputs, [t.parts()[1] if type(t) is level.cls else None for _, t in pairs])
    known = {
        i: np.copy(t) for i, (_, t) in enumerate(pairs)
        if type(t) is not level.cls and (isinstance(t, Tensor) or np.any(t))
    }  # fmt: skip
    return [p for p, _ in pairs], structure, aux, program, known


def _with_form(value: Any) -> Any:
    """Return a Python number as a NumPy scalar, which has a shape and can be indexed."""
    return dtype_of(value).type(value) if type(value) in (float, complex) else value


@checks_keywords
def linear_transpose(func: Callable, *primals: Any) -> Callable[[Any], tuple]:
    """Return the transpose of a linear function.

    Parameters
    ----------
    func : callable
        A function of arrays or pytrees that returns such, and is linear in all of them.
    *primals : array, pytree of arrays, or anything with a shape and a dtype
        Arguments, for their forms; their values are not used.

    Returns
    -------
    callable
        ``transpose(cotangents)`` takes the structure, shapes and dtypes of the output and
        returns a tuple with one result for each primal: for ``func = lambda x: A @ x``,
        ``(A.T @ c,)``. Complex numbers are not conjugated, here as in JAX (a `vjp`
        multiplies by the conjugate transpose).

    Raises
    ------
    TypeError
        If a primal does not have a floating-point or complex dtype, or a result is not an array.
    ValueError
        If the checks find that `func` is not linear, or the cotangents do not fit.

    Notes
    -----
    `func` is called three times, with zeros and with small and large random numbers, and its
    transpose is applied once. This detects a ``func(0)`` that is not 0, and a ``func(x)`` that
    differs from the derivative at 0 times `x`: nearly every function that is not linear. Inside
    another transform, where values may be unknown, nothing is checked.

    Examples
    --------
    >>> import numpy as np
    >>> transpose = linear_transpose(np.cumsum, np.zeros(3))
    >>> transpose(np.array([1.0, 1.0, 1.0]))
    (array([3., 2., 1.]),)
    """
    check_callable("linear_transpose", func)
    label = f"linear_transpose({name_of_function(func)})"
    try:
        if not primals:
            raise ValueError(f"{label}: no primals were given; call linear_transpose(func, x, ...)")
        leaves, structure = flatten(primals, label, "primals")
        leaves = [zeros(x) if is_value(x) or hasattr(x, "dtype") else x for x in leaves]
        check_inputs(label, leaves, paths, primals, "primals")
        pull_back, forms, out_structure = transpose_at_zero(
            label, lambda inner: func(*unflatten(structure, inner)), leaves, NOT_LINEAR
        )

        def transpose(cotangents: Any) -> tuple:
            """Apply the transpose to `cotangents`: a result for each primal."""
            try:
                matched = match(label, forms, out_structure, cotangents, "cotangent", "output")
                return unflatten(structure, own_memory(pull_back(matched), matched))
            except BaseException as error:
                leave(error)
                raise

        return transpose
    except BaseException as error:
        leave(error, label, func, primals)
        raise


def transpose_at_zero(
    label: str, func: Callable[[list], Any], leaves: list, remedy: str, rtol: float = 0.0
) -> tuple[Callable[[list], list], list, Any]:
    """Return the transpose of a function of zeros, and the forms and structure of its result.

    It raises where the function is not linear; see Notes of `linear_transpose`.
    """
    site = Site(label, "dead", current_frame(3), [])
    results, roots, inputs, out_structure, _ = record(site, func, leaves)
    roots = copy_tape(roots)
    given, forms = [form_like(x) for x in leaves], [form_like(y) for y in results]

    def pull_back(cotangents: list) -> list:
        pairs = [(n, np.conjugate(c)) for n, c in zip(roots, cotangents) if n is not None]
        grads = backward(pairs, inputs)
        return [zeros(x) if g is None else np.conjugate(g) for g, x in zip(grads, given)]

    if not any(isinstance(y, Tensor) for y in results):
        for i, y in enumerate(results):
            if np.any(np.not_equal(y, 0)):
                where = paths(unflatten(out_structure, results), "the result")[i]
                raise ValueError(f"{label}: {where} is not 0 where the primals are; {remedy}")
        _probe(label, func, given, forms, pull_back, remedy, rtol)
    return pull_back, forms, out_structure


def _probe(
    label: str,
    func: Callable,
    given: list,
    forms: list,
    pull_back: Callable,
    remedy: str,
    rtol: float,
) -> None:
    """Raise where ``c @ func(u)`` is not ``transpose(c) @ u``; u is small, and then large."""
    rng = np.random.default_rng(0)
    points = [_draw(rng, x) for x in given]
    weights = [_draw(rng, y) for y in forms]
    back = pull_back(weights)  # tensors, where a collective is over a level around
    eps = max([np.finfo(x.dtype).eps for x in (*given, *forms) if x.dtype.kind in "fc"])
    for far in (1, -1024 if eps < 1e-4 else -8):  # on both sides of a threshold
        values = flatten(func([far * u for u in points]))[0]
        if any(isinstance(y, Tensor) for y in (*values, *back)):
            return
        products = [np.multiply(c, y) for c, y in zip(weights, values)]
        again = [np.multiply(g, far * u) for g, u in zip(back, points)]
        difference = sum(np.sum(p).real for p in products) - sum(np.sum(p).real for p in again)
        scale = sum(np.sum(np.abs(p)) for p in (*products, *again))
        if not abs(difference) <= max(np.sqrt(eps), rtol) * scale:
            raise ValueError(
                f"{label}: its value is not its derivative at 0 applied to x; {remedy}"
            )


def _draw(rng: "np.random.Generator", form: np.ndarray) -> Any:
    """Draw numbers of a form; zeros for an integer result, which has no derivative."""
    if form.dtype.kind not in "fc":
        return zeros(form)
    x = rng.normal(size=form.shape)
    x = x + np.sign(x)  # not near 0
    if form.dtype.kind == "c":
        x = x + 1j * rng.normal(size=form.shape)
    return np.asarray(x).astype(form.dtype)[()]
