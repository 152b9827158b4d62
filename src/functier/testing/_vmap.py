"""check_vmap: the results of vmap against those of a loop over the examples."""

from collections.abc import Callable
from itertools import product
from typing import Any, NamedTuple

import numpy as np

from .._core.errors import GradcheckError
from .._core.numpy_facts import Function, PyTree, Value, dtype_of, shape_of
from .._core.pytree import (
    flatten,
    name_of_function,
    paths,
    prefix_leaves,
    same_structure,
    unflatten,
)
from .._core.tracebacks import checks_keywords
from .._transforms.vmap import vmap


@checks_keywords
def check_vmap(
    func: Callable, args: PyTree, in_dims: PyTree = 0, out_dims: PyTree = 0, *,
    all_subsets: bool = False, atol: float | None = None, rtol: float | None = None,
    raise_exception: bool = True, **options: Any,
) -> bool:  # fmt: skip
    """Compare ``vmap(func)`` with a loop over the examples.

    Parameters
    ----------
    func : callable
        A function of one example, which takes and returns arrays or pytrees.
    args : tuple, or one argument
        The arguments of ``vmap(func)``: batches, whose size is the number of examples.
    in_dims, out_dims : int, None, or pytree of these
        As of `vmap`.
    all_subsets : bool
        True to map every subset of the arrays that `in_dims` maps, with the first example of the
        others: a batched and a plain operand can take a different path from two batched ones. For n
        arrays that makes ``2**n - 1`` checks.
    atol, rtol : float, optional
        The tolerances of an element. By default the machine epsilon of the coarsest dtype to the
        power 2/3 (4e-11 in double, 2e-5 in single precision), since a product of matrices may sum
        in a different order from a product of vectors.
    raise_exception : bool
        True to raise at a failure; else the result is False.
    **options
        Other options of `vmap`, such as ``chunk_size``.

    Returns
    -------
    bool
        True if structure, shapes, dtypes and elements are the same.

    Raises
    ------
    GradcheckError
        If results differ: the message names the axes that were mapped, the path of the
        result, and the example and the element that differs most, and shows both.

    Notes
    -----
    An operation without a batching rule runs in a loop, with a warning, which passes this
    check. For an empty batch the shapes and dtypes are compared.

    Examples
    --------
    >>> import numpy as np
    >>> check_vmap(np.dot, (np.ones((3, 2)), np.eye(2)), in_dims=(0, 1), all_subsets=True)
    Traceback (most recent call last):
        ...
    ValueError: vmap(dot): args[1] has size 2 along its batch axis, but the level has batch \
size 3; map over axes of one size, or write in_dims=(0, None) or in_dims=(None, 1): None \
is for what is the same for all examples
    >>> check_vmap(np.dot, (np.ones((3, 2)), np.ones((2, 3))), in_dims=(0, 1), all_subsets=True)
    True
    """
    label = f"check_vmap({name_of_function(func)})"
    args = tuple(args) if isinstance(args, (tuple, list)) else (args,)
    leaves, structure = flatten(args)
    spec = tuple(in_dims) if isinstance(in_dims, list) else in_dims
    dims = prefix_leaves(spec, args, label, "in_dims", True)
    mapped = [i for i, d in enumerate(dims) if d is not None]
    case = Case(label, func, args, leaves, structure, dims, out_dims, atol, rtol, options)
    plans = (
        [*product((True, False), repeat=len(mapped))] if all_subsets else [(True,) * len(mapped)]
    )
    try:
        for plan in plans if all_subsets else plans[:1]:
            if any(plan) or not mapped:
                chosen = {i for i, on in zip(mapped, plan) if on}
                _check(case, chosen)
    except GradcheckError:
        if raise_exception:
            raise
        return False
    return True


class Case(NamedTuple):
    """A call of `check_vmap`: its arguments, and the leaves that they have."""

    label: str
    func: Function
    args: tuple
    leaves: list
    structure: Any
    dims: list
    out_dims: PyTree
    atol: float | None
    rtol: float | None
    options: dict[str, Any]


def _check(case: Case, chosen: set) -> None:
    """Compare one choice of the leaves that are mapped."""
    label, func, args, leaves, structure, dims, out_dims, atol, rtol, options = case
    given, axes, sizes = [], [], []
    for i, (x, d) in enumerate(zip(leaves, dims)):
        on = i in chosen
        given.append(x if on or d is None else np.take(x, 0, d))
        axes.append(d if on else None)
        sizes += [np.shape(x)[d]] if on else []
    names = paths(args, "args")
    texts = [f"{p} over axis {d}" if d is not None else f"{p} not" for p, d in zip(names, axes)]
    label = f"{label}, mapping {', '.join(texts)}"
    batched = vmap(func, unflatten(structure, axes), out_dims, **options)(
        *unflatten(structure, given)
    )
    n = sizes[0] if sizes else options.get("axis_size", 1)
    examples = [
        func(
            *unflatten(structure, [x if d is None else _pick(x, j, d) for x, d in zip(given, axes)])
        )
        for j in range(max(n, 1))
    ]
    if not same_structure(examples[0], batched):
        raise GradcheckError(f"{label}: the results of vmap and of a loop differ in structure")
    where = paths(examples[0], "the result")
    outs = prefix_leaves(out_dims, examples[0], label, "out_dims")
    columns = zip(*(flatten(e)[0] for e in examples))
    for path, d, column, found in zip(where, outs, columns, flatten(batched)[0]):
        if d is None:
            wanted = np.asarray(column[0])
        else:
            wanted = np.stack(column, d)
            if n == 0:
                wanted = np.take(wanted, [], d)
        _compare(f"{label}: {path}", np.asarray(found), wanted, d, atol, rtol)


def _pick(x: Value, j: int, d: int) -> Value:
    """Return example `j`, or zeros for an empty batch."""
    if np.shape(x)[d] == 0:
        return np.zeros([s for i, s in enumerate(np.shape(x)) if i != d % np.ndim(x)], dtype_of(x))
    return np.take(x, j, d)


def _compare(
    label: str, found: np.ndarray, wanted: np.ndarray, d: int | None, atol: float | None,
    rtol: float | None,
) -> None:  # fmt: skip
    form, own = (wanted.dtype, wanted.shape), (dtype_of(found), shape_of(found))
    if own != form:
        raise GradcheckError(
            f"{label} is {own[0]} of shape {own[1]} under vmap, {form[0]} of shape {form[1]} in a "
            f"loop"
        )
    if wanted.dtype.kind in "fc":
        near = float(np.finfo(wanted.dtype).eps) ** (2 / 3)
        atol, rtol = near if atol is None else atol, near if rtol is None else rtol
        wrong = ~np.isclose(found, wanted, rtol, atol, equal_nan=True)
    else:
        wrong = found != wanted
    if not wrong.any():
        return
    size = np.zeros(wanted.shape)
    if wanted.dtype.kind in "iufc":
        with np.errstate(invalid="ignore"):
            size = np.nan_to_num(
                np.abs(np.subtract(found, wanted, dtype=np.result_type(found, 1.0)))
            )
    index = np.unravel_index(np.argmax(np.where(wrong, size, -1)), wanted.shape)
    place = [int(i) for i in index]
    example = "" if d is None else f"example {place.pop(d)}, "
    with np.printoptions(threshold=64, edgeitems=3, linewidth=96):
        shown = [str(v).replace("\n", "\n    ") for v in (wanted, found)]
    raise GradcheckError(
        f"{label} differs in {int(wrong.sum())} of {wrong.size} elements, most in {example}element "
        f"{tuple(place)}:\n  loop {wanted[index].item()!r}, vmap {found[index].item()!r}\n"
        f"  loop:\n    {shown[0]}\n  vmap:\n    {shown[1]}"
    )
