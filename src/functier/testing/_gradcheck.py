"""gradcheck and gradgradcheck: whole Jacobians of all modes against finite differences."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .._core.errors import GradcheckError
from .._core.numpy_facts import PyTree, Value, shape_of
from .._core.pytree import flatten
from .._core.tracebacks import checks_keywords
from .._custom.differences import real_vector, unit_vector
from .._transforms.jvp import jvp
from .._transforms.vjp import vjp
from .._transforms.vmap import vmap
from ._numeric import (
    Comparison,
    Differences,
    Problem,
    check_forms,
    compare,
    random_like,
)

FORWARD, REVERSE = "forward mode (jvp)", "reverse mode (vjp)"


@checks_keywords
def gradcheck(
    func: Callable,
    inputs: PyTree,
    *,
    eps: float | None = None,
    atol: float | None = None,
    rtol: float | None = None,
    raise_exception: bool = True,
    nondet_tol: float = 0.0,
    check_undefined_grad: bool = True,
    check_grad_dtypes: bool = True,
    check_batched_grad: bool = False,
    check_batched_forward_grad: bool = False,
    check_forward_ad: bool = True,
    check_backward_ad: bool = True,
    fast_mode: bool = False,
) -> bool:
    """Compare the derivatives of `func` with finite differences.

    Parameters
    ----------
    func : callable
        A function of arrays or pytrees that returns such. Inputs and results that are not
        floating-point or complex are ignored.
    inputs : tuple, or one argument
        The arguments of `func`.
    eps : float, optional
        The step of the central differences, which are taken in the inputs' precision. By
        default the cube root of the machine epsilon of the coarsest dtype among inputs and
        results: 6e-6 in double, 5e-3 in single, 0.1 in half precision; times the square root
        of an input that is larger than 1.
    atol, rtol : float, optional
        The tolerance of an element: ``atol + rtol * abs(numerical)``. By default both are that cube
        root, too, so that an error of 0.01 per cent is found in double precision. Without `eps`,
        elements that differ are compared again with differences of the sixth order.
    raise_exception : bool
        True to raise at a failure; else the result is False.
    nondet_tol : float
        The difference that is allowed between two runs on the same inputs.
    check_undefined_grad : bool
        True to also pull back each result alone, where the rules get no cotangents for the others.
    check_grad_dtypes : bool
        True to require that (co)tangents have the shape and dtype of their inputs and results, and
        that results under a transform have those of a plain call.
    check_batched_grad, check_batched_forward_grad : bool
        True to compare `vmap` over cotangents (tangents) with a loop.
    check_forward_ad, check_backward_ad : bool
        The modes to check.
    fast_mode : bool
        Compare products with random vectors, one for each input (and, in reverse mode, each
        pair of input and result), instead of whole Jacobians: this takes a few calls instead
        of two for each input element and one for each result element. It finds the same
        faults, but its messages name no elements.

    Returns
    -------
    bool
        True where all agree.

    Raises
    ------
    GradcheckError
        If derivatives differ: the message names the mode, the paths of the input and the
        result, and the element that differs most, and shows both Jacobians. Also where `func`
        is not deterministic, or changes its inputs. It is an `AssertionError`.
    ValueError
        If there is nothing to differentiate.

    Notes
    -----
    The options are those of `torch.autograd.gradcheck` but for ``masked``, which is about sparse
    tensors. Forward mode and dtypes are checked by default. A complex number is checked as its real
    and its imaginary part, also in `fast_mode`. Near a kink, or where the function changes a lot
    over `eps`, finite differences are meaningless: check at another point. Functions that read one
    triangle of a matrix, such as `numpy.linalg.eigh`, are checked as they are, on any matrix: their
    gradient is in that triangle.

    Examples
    --------
    >>> import numpy as np
    >>> gradcheck(lambda x, y: np.sin(x) @ y, (np.ones((2, 3)), np.ones(3)))
    True
    """
    options: dict[str, Any] = {
        "eps": eps, "nondet_tol": nondet_tol, "undefined": check_undefined_grad,
        "dtypes": check_grad_dtypes, "fast": fast_mode,
    }  # fmt: skip
    try:
        problem = Problem("gradcheck", func, _as_tuple(inputs), "inputs")
        tolerances = tolerances_of(problem, atol, rtol)
        check_deterministic(problem, nondet_tol)
        check_problem(
            problem,
            {FORWARD: check_forward_ad, REVERSE: check_backward_ad},
            *tolerances,
            **options,
        )
        if check_batched_forward_grad and check_forward_ad:
            check_batched(problem, FORWARD, problem.point, make_push(problem), *tolerances)
        if check_batched_grad and check_backward_ad:
            check_batched(problem, REVERSE, problem.value, make_pull(problem), *tolerances)
    except GradcheckError:
        if raise_exception:
            raise
        return False
    return True


@checks_keywords
def gradgradcheck(
    func: Callable,
    inputs: PyTree,
    grad_outputs: PyTree = None,
    *,
    eps: float | None = None,
    atol: float | None = None,
    rtol: float | None = None,
    gen_non_contig_grad_outputs: bool = False,
    raise_exception: bool = True,
    nondet_tol: float = 0.0,
    check_undefined_grad: bool = True,
    check_grad_dtypes: bool = True,
    check_batched_grad: bool = False,
    check_fwd_over_rev: bool = True,
    check_rev_over_rev: bool = True,
    check_fwd_over_fwd: bool = True,
    check_rev_over_fwd: bool = True,
    fast_mode: bool = False,
) -> bool:
    """Compare second derivatives of `func` with finite differences of the first ones.

    The first derivative of either mode is a function of the inputs and of a cotangent (a tangent),
    which is checked as by `gradcheck`. A wrong first derivative passes if its own derivative is
    consistent with it, so call both.

    Parameters
    ----------
    func, inputs, eps, atol, rtol, raise_exception, nondet_tol
        As of `gradcheck`.
    grad_outputs : pytree of arrays, optional
        The cotangent, with one array for each floating-point or complex result; by default
        random ones.
    gen_non_contig_grad_outputs : bool
        True for random ones that are not contiguous in memory.
    check_undefined_grad, check_grad_dtypes, check_batched_grad, fast_mode
        As of `gradcheck`, for the outer derivative.
    check_fwd_over_rev, check_rev_over_rev, check_fwd_over_fwd, check_rev_over_fwd : bool
        The pairs of modes to check: the outer one over the inner one.

    Returns
    -------
    bool
        True where all agree.

    Raises
    ------
    GradcheckError, ValueError
        As `gradcheck`; the mode is that of the pair.

    Notes
    -----
    The options are those of `torch.autograd.gradgradcheck` but for ``masked``. It has no
    pairs over forward mode. All four are checked by default.

    Examples
    --------
    >>> import numpy as np
    >>> gradgradcheck(lambda x: np.sum(x**3), np.array([1.0, 2.0]))
    True
    """
    options: dict[str, Any] = {
        "eps": eps, "nondet_tol": nondet_tol, "undefined": check_undefined_grad,
        "dtypes": check_grad_dtypes, "fast": fast_mode,
    }  # fmt: skip
    try:
        first = Problem("gradgradcheck", func, _as_tuple(inputs), "inputs")
        cotangents = _cotangents(first, grad_outputs, gen_non_contig_grad_outputs)
        for name, given, forward, reverse in (
            ("reverse", cotangents, check_fwd_over_rev, check_rev_over_rev),
            ("forward", random_like(first.point, 1), check_fwd_over_fwd, check_rev_over_fwd),
        ):
            if not (forward or reverse):
                continue
            problem = derivative_problem(first, name, given)
            tolerances = tolerances_of(problem, atol, rtol)
            modes = {f"forward over {name} mode": forward, f"reverse over {name} mode": reverse}
            over_forward, over_reverse = modes
            check_deterministic(problem, nondet_tol)
            check_problem(problem, modes, *tolerances, **options)
            if check_batched_grad and reverse:
                check_batched(problem, over_reverse, problem.value, make_pull(problem), *tolerances)
            if check_batched_grad and forward:
                check_batched(problem, over_forward, problem.point, make_push(problem), *tolerances)
    except GradcheckError:
        if raise_exception:
            raise
        return False
    return True


def _as_tuple(inputs: PyTree) -> tuple:
    return tuple(inputs) if isinstance(inputs, (tuple, list)) else (inputs,)


def tolerances_of(problem: Problem, atol: float | None, rtol: float | None) -> tuple[float, float]:
    return (
        problem.step if atol is None else float(atol),
        problem.step if rtol is None else float(rtol),
    )


def _cotangents(problem: Problem, grad_outputs: PyTree, gaps: bool) -> list:
    if grad_outputs is None:
        return random_like(problem.value, 2, gaps)
    given = flatten(grad_outputs)[0]
    shapes, wanted = [shape_of(g) for g in given], [shape_of(y) for y in problem.value]
    if shapes != wanted:
        raise ValueError(
            f"{problem.label}: grad_outputs have the shapes {shapes}, but the results "
            f"{problem.outputs} have {wanted}; pass one array for each"
        )
    return [np.asarray(g).astype(np.result_type(y)) for g, y in zip(given, problem.value)]


def derivative_problem(first: Problem, name: str, given: list) -> Problem:
    """Return the derivative of a problem in one mode, as a problem of its inputs and `given`."""
    n, reverse = len(first.point), name == "reverse"

    def pulled(*xs: Value) -> list:
        return list(vjp(first, *xs[:n])[1](list(xs[n:])))

    def pushed(*xs: Value) -> list:
        return list(jvp(first, xs[:n], xs[n:])[1])

    problem = Problem("", pulled if reverse else pushed, (*first.point, *given), "")
    noun, of = ("cotangent", first.inputs) if reverse else ("tangent", first.outputs)
    problem.label = first.label
    problem.inputs = first.inputs + [f"{noun}[{i}]" for i in range(len(given))]
    problem.outputs = [f"the {name} derivative for {path}" for path in of]
    return problem


def make_push(problem: Problem) -> Callable[[Sequence], list]:
    """Return the function from a tangent to the tangent of the results."""
    return lambda tangents: list(jvp(problem, tuple(problem.point), tuple(tangents))[1])


def make_pull(problem: Problem) -> Callable[[Sequence], list]:
    """Return the function from a cotangent to those of the inputs; `problem` runs once."""
    pullback = vjp(problem, *problem.point)[1]
    return lambda cotangents: list(pullback(list(cotangents)))


# ---- the parts of a check ----


def check_deterministic(problem: Problem, nondet_tol: float) -> None:
    """Raise where the function, run again, gives another result."""
    _check_repeat(problem, "the function", problem.value, problem(*problem.point), nondet_tol)


def _check_repeat(
    problem: Problem, what: str, first: Sequence, second: Sequence, tol: float
) -> None:
    a, b = real_vector(first), real_vector(second)
    if a.shape != b.shape or not np.allclose(a, b, rtol=0, atol=tol, equal_nan=True):
        size = float(np.nanmax(np.abs(a - b))) if a.shape == b.shape else np.inf
        raise GradcheckError(
            f"{problem.label}: {what} is not deterministic: two runs on the same inputs differ by "
            f"{size:.3g}; seed its random numbers inside, or allow for it with nondet_tol"
        )


def check_problem(
    problem: Problem,
    modes: dict[str, bool],
    atol: float,
    rtol: float,
    *,
    eps: float | None,
    nondet_tol: float,
    undefined: bool,
    dtypes: bool,
    fast: bool,
) -> None:
    """Check the derivatives of one function: forward mode first, then reverse mode."""
    (forward, check_forward), (reverse, check_reverse) = modes.items()
    seeds = random_like(problem.point, 3), random_like(problem.value, 4)
    if check_forward:
        value, moved = jvp(problem, tuple(problem.point), tuple(seeds[0]))
        if dtypes:
            check_forms(problem.label, f"the value under {forward}", problem.outputs, value,
                        problem.value)  # fmt: skip
            check_forms(problem.label, f"the tangent of {forward}", problem.outputs, moved, value)
        _check_repeat(problem, forward, moved, make_push(problem)(seeds[0]), nondet_tol)
    if check_reverse:
        value, pullback = vjp(problem, *problem.point)
        pulled = list(pullback(seeds[1]))
        if dtypes:
            check_forms(problem.label, f"the value under {reverse}", problem.outputs, value,
                        problem.value)  # fmt: skip
            check_forms(problem.label, f"the cotangent of {reverse}", problem.inputs, pulled,
                        problem.point)  # fmt: skip
        _check_repeat(
            problem, f"a second pass of {reverse}", pulled, pullback(seeds[1]), nondet_tol
        )
        _check_repeat(problem, reverse, pulled, make_pull(problem)(seeds[1]), nondet_tol)
    if fast:
        _check_products(problem, modes, atol, rtol, eps)
    else:
        rows, columns = problem.rows(), problem.columns()
        numerical = Differences(problem, problem.jacobian, eps)
        for mode, on in modes.items():
            if on:
                analytical = jacobian_of(problem, mode == forward)
                how = Comparison(problem.label, mode, rows, columns, atol, rtol)
                numerical.against(lambda n: compare(n, analytical, how))
    if undefined and check_reverse and len(problem.value) > 1:
        _check_alone(problem, reverse, seeds[1], rtol)


def jacobian_of(problem: Problem, forward: bool) -> np.ndarray:
    """Return the whole Jacobian, by a product with each unit vector."""
    product = make_push(problem) if forward else make_pull(problem)
    given, found = problem.point, problem.value
    if not forward:
        given, found = found, given
    sizes = [real_vector([x]).size for x in given]
    units = [unit_vector(given, i, k) for i, size in enumerate(sizes) for k in range(size)]
    rows = [real_vector(product(u)) for u in units]
    made = np.stack(rows) if rows else np.zeros((0, real_vector(found).size))
    return made.T if forward else made


def _check_products(
    problem: Problem, modes: dict[str, bool], atol: float, rtol: float, eps: float | None
) -> None:
    """Check products with random vectors, for each input alone."""
    (forward, check_forward), (reverse, check_reverse) = modes.items()
    tangents, value = random_like(problem.point, 5), problem.value
    directions, columns = _alone(tangents), [(p, "a random direction") for p in problem.inputs]

    def differences(h: float) -> np.ndarray:
        return np.stack([problem.difference(d, h) for d in directions], 1)

    products = Differences(problem, differences, eps)
    if check_forward:
        push = make_push(problem)
        pushed = np.stack([real_vector(push(d)) for d in directions], 1)
        how = Comparison(problem.label, forward, problem.rows(), columns, atol, rtol)
        products.against(lambda n: compare(n, pushed, how))
    if check_reverse:  # of a random cotangent of each result
        pull, weights = make_pull(problem), _alone(random_like(value, 6))
        pulled = np.array(
            [
                [real_vector([g]) @ real_vector([t]) for g, t in zip(pull(w), tangents)]
                for w in weights
            ]
        )
        rows = [(path, "its product with a random cotangent") for path in problem.outputs]
        vectors = np.stack([real_vector(w) for w in weights])
        atol *= max(1.0, float(np.linalg.norm(vectors, axis=1).max()))  # a sum of many errors
        how = Comparison(problem.label, reverse, rows, columns, atol, rtol)
        products.against(lambda n: compare(vectors @ n, pulled, how))


def _alone(values: list) -> list[list]:
    """Return a list for each value, with zeros for the others."""
    return [[x if i == j else x * 0 for i, x in enumerate(values)] for j in range(len(values))]


def _check_alone(problem: Problem, mode: str, cotangents: list, rtol: float) -> None:
    """Compare the pullback of one result alone with that of the result beside zeros."""
    pull = make_pull(problem)
    for j, (path, c) in enumerate(zip(problem.outputs, cotangents)):
        whole = pull([c if i == j else y * 0 for i, y in enumerate(problem.value)])
        alone = vjp(lambda *xs: problem(*xs)[j], *problem.point)[1](c)
        how = Comparison(
            problem.label, f"{mode} of {path} alone, without cotangents of the other results,",
            [(path, "a random cotangent")], problem.columns(), rtol, rtol, ("with zeros", "alone"),
        )  # fmt: skip
        compare(real_vector(whole)[None], real_vector(alone)[None], how)


def check_batched(
    problem: Problem, mode: str, like: Sequence, product: Callable, atol: float, rtol: float
) -> None:
    """Compare `vmap` over two random (co)tangents with a loop."""
    several = [random_like(like, seed) for seed in (7, 8)]
    loop = [real_vector(product(s)) for s in several]
    stacked = [np.stack(column) for column in zip(*several)]
    batched = vmap(lambda *s: product(s))(*stacked)
    names = problem.outputs if like is problem.point else problem.inputs
    forms = problem.value if like is problem.point else problem.point
    for i, one in enumerate(loop):
        own = [np.asarray(y)[i][()] for y in batched]
        check_forms(problem.label, f"vmap of {mode}", names, own, forms)
        columns = problem.rows() if like is problem.point else problem.columns()
        how = Comparison(
            problem.label, f"vmap of {mode}, example {i},",
            [("the product", "a random (co)tangent")], columns, atol, rtol, ("loop", "batched"),
        )  # fmt: skip
        compare(one[None], real_vector(own)[None], how)
