"""Strategies of hypothesis for arrays, pytrees and their tangents."""

from typing import TYPE_CHECKING, Any

import numpy as np

from .._core.pytree import flatten, unflatten
from ._numeric import is_inexact

if TYPE_CHECKING:
    from hypothesis.strategies import SearchStrategy


def hypothesis() -> tuple:
    """Return the modules of strategies, in general and for NumPy."""
    import hypothesis.extra.numpy

    return hypothesis.strategies, hypothesis.extra.numpy


def arrays(
    *, dtype: Any = np.float64, min_dims: int = 0, max_dims: int = 2, max_side: int = 3,
    low: float = -2.0, high: float = 2.0,
) -> "SearchStrategy":  # fmt: skip
    """Return a hypothesis strategy that draws arrays of moderate size and values.

    Parameters
    ----------
    dtype : dtype
        The dtype: floating point, complex or of integers.
    min_dims, max_dims : int
        The least and the largest number of axes.
    max_side : int
        The largest size of an axis; each has one element at least.
    low, high : float
        The bounds of the elements, or of their real and imaginary parts.

    Returns
    -------
    hypothesis.strategies.SearchStrategy
        A strategy of arrays.

    Notes
    -----
    It needs hypothesis: ``pip install "functier[testing]"``.

    Examples
    --------
    >>> from functier.testing import check_grads
    >>> from hypothesis import given, settings
    >>> @settings(max_examples=5, deadline=None)
    ... @given(arrays(min_dims=1))
    ... def test_sum(x):
    ...     check_grads(np.sum, (x,), order=1)
    >>> test_sum()
    """
    st, npst = hypothesis()
    shapes = npst.array_shapes(min_dims=min_dims, max_dims=max_dims, max_side=max_side)
    whole = np.dtype(dtype).kind in "iu"
    numbers: SearchStrategy[Any] = (
        st.integers(int(low), int(high)) if whole else st.integers(int(64 * low), int(64 * high))
    )  # in steps that every dtype holds: what is drawn is short to read

    @st.composite
    def draw(draw: Any) -> np.ndarray:
        shape = draw(shapes)

        def part() -> np.ndarray:
            return draw(npst.arrays(np.int64, shape, elements=numbers)) / (1 if whole else 64)

        is_complex = np.dtype(dtype).kind == "c"
        return np.asarray(part() + 1j * part() if is_complex else part()).astype(dtype)

    return draw()


def pytrees(leaves: "SearchStrategy", *, max_leaves: int = 4) -> "SearchStrategy":
    """Return a hypothesis strategy that draws nested tuples, lists and dicts of leaves.

    Parameters
    ----------
    leaves : SearchStrategy
        What draws a leaf, such as `arrays`.
    max_leaves : int
        About how many leaves there are at most.

    Returns
    -------
    hypothesis.strategies.SearchStrategy
        A strategy of pytrees.

    Examples
    --------
    >>> from functier.testing import check_grads
    >>> from hypothesis import given, settings
    >>> @settings(max_examples=5, deadline=None)
    ... @given(pytrees(arrays()))
    ... def test_identity(tree):
    ...     check_grads(lambda tree: tree, (tree,), order=1)
    >>> test_identity()
    """
    st, _ = hypothesis()

    def nest(inner: Any) -> Any:
        few = st.lists(inner, min_size=1, max_size=2)
        names = st.sampled_from(["a", "b"])
        return few | few.map(tuple) | st.dictionaries(names, inner, min_size=1, max_size=2)

    return st.recursive(leaves, nest, max_leaves=max_leaves)


def with_tangents(values: "SearchStrategy") -> "SearchStrategy":
    """Return a hypothesis strategy that draws a value and a tangent of the same form.

    Parameters
    ----------
    values : SearchStrategy
        What draws an array or a pytree.

    Returns
    -------
    hypothesis.strategies.SearchStrategy
        A strategy of pairs. A leaf of integers has a tangent of zeros.

    Examples
    --------
    The derivative is linear in the tangent:

    >>> from functier import jvp
    >>> from hypothesis import given, settings
    >>> @settings(max_examples=5, deadline=None)
    ... @given(with_tangents(arrays()))
    ... def test_jvp(pair):
    ...     x, t = pair
    ...     twice = jvp(np.sin, (x,), (2 * t,))[1]
    ...     np.testing.assert_allclose(twice, 2 * jvp(np.sin, (x,), (t,))[1])
    >>> test_jvp()
    """
    st, npst = hypothesis()
    eighths = st.integers(-16, 16)

    @st.composite
    def draw(draw: Any) -> tuple:
        value = draw(values)
        leaves, structure = flatten(value)

        def tangent(x: Any) -> Any:
            if not is_inexact(x):
                return np.zeros_like(x)
            numbers = draw(npst.arrays(np.int64, np.shape(x), elements=eighths)) / 8
            return np.asarray(numbers).astype(np.asarray(x).dtype)

        return value, unflatten(structure, [tangent(x) for x in leaves])

    return draw()
