"""A tensor as a plain value, some levels out, and as text: most conversions are refused.

NOTE [a hash is an answer]
    ``x in {2.0}``, ``{2.0: y}[x]`` and ``set(v)`` find a number by its hash before they compare it.
    So the hash of a number is that of its value, where all examples share it; where they differ,
    it is an answer that differs. An array has none, as in NumPy. A NaN has that of the object, as
    NumPy's has: a NaN is equal to no number.

NOTE [equal numbers with other derivatives]
    A cache that finds an equal number returns what was computed for another one: its value is
    right, its derivative is that of the other number, or missing. Nobody can tell a cache from
    another dict. So no number with a derivative has a hash; integers have none to lose.

Looks of a tensor of a level: a line of text, and a table of HTML for notebooks.
Both begin with the form of an example, which is what a function computes with.
"""

import ast
import functools
from operator import index as as_index
from typing import Any

import numpy as np

from .._core.agreement import examples_of, varying_levels
from .._core.cards import table
from .._core.errors import ConversionError, DataDependentError, MutationError
from .._core.hints import Use, explain
from .._core.numpy_facts import Function, Value, dtype_of, is_lazy, shape_of
from .._core.pytree import SNAPSHOTS, flatten, unflatten
from .._core.remedies import ADOPTION, BY_EXPRESSION, GENERAL, calls_shuffle
from .._core.tensor import Tensor
from .._cpython.frames import Frame, is_foreign, module_at
from .._mutation.array import is_array, settle
from .lineage import name_beside


def depth_of(x: Any) -> int:
    """Return the number of levels around the value of `x`: 0 for a plain value.

    Parameters
    ----------
    x : any
        A value, usually a tensor or an array.

    Returns
    -------
    int

    Examples
    --------
    >>> import numpy as np
    >>> from functier import grad, vmap
    >>> seen = []
    >>> def f(x):
    ...     seen.append(depth_of(x))
    ...     return x * x
    >>> slopes = vmap(grad(f))(np.ones(3))
    >>> seen, depth_of(slopes)
    ([2], 0)
    """
    x = settle(x)
    return x.level.depth if isinstance(x, Tensor) else 0


def unwrap(x: Any, levels: int | None = 1) -> Any:
    """Return the value of `x` some levels out, for inspection.

    The value has lost its derivatives, or has the batch axis in front: print it, but compute with
    `x`. To make a constant, use `stop_gradient`.

    Parameters
    ----------
    x : array or pytree of arrays
        Tensors of any levels, which may have ended.
    levels : int, optional
        How many times to go one level out, as ``x.elem()`` does, at most to the plain value.
        None goes to the plain value.

    Returns
    -------
    array or pytree of arrays
        The values, in the same memory. A `Tensor` that belongs to no level, or an instance of a
        subclass, stays as it is; ``x.elem()`` is its array.

    Examples
    --------
    >>> import numpy as np
    >>> from functier import grad, vmap
    >>> def f(x):
    ...     print(depth_of(unwrap(x)), unwrap(x * 2.0, levels=None))
    ...     return x * x
    >>> _ = vmap(grad(f))(np.arange(3.0))
    1 [0. 2. 4.]
    """
    if levels is None:
        steps = -1
    elif isinstance(levels, bool) or not isinstance(levels, (int, np.integer)) or levels < 0:
        raise ValueError(
            f"unwrap: levels={levels!r}; write how many levels to take off, or None for all"
        )
    else:
        steps = int(levels)
    leaves, structure = flatten(x)
    return unflatten(structure, [_unwrap_leaf(leaf, steps) for leaf in leaves])


def _unwrap_leaf(x: Any, steps: int) -> Any:
    while steps and isinstance(x, Tensor) and x.level.depth:
        x = x.elem()
        steps -= 1
    return x


LOST = "lose the derivative of x"
SAME = "be the same in each call of the program"
"""The reasons why a tensor cannot be made a plain number, as messages say them."""
PICKLED = "pickle.dumps"
"""The conversion that a function may try in vain: Dask does for a name, and takes another one."""
CACHED: type = type(functools.lru_cache(len))
"""The class of the functions that `functools.lru_cache` makes."""


def convert(level: Any, x: Tensor, how: str | Function, *args: Any) -> Any:
    """Convert a tensor: ``bool``, ``int``, indices, formats read the value, ``hash`` that of a
    number without a derivative; all else raises.
    """
    if how is bool or how is int:
        return how(x._value)
    if how is hash:
        return hash_of(level, x)
    if how == "format" and args[0] and level.kind.differentiates and not level.kind.records:
        return f"{x._value:{args[0]}}"  # a call would seem to come from adopted code
    if how == "__index__":
        return level.index(x._value)
    asked, remedy, writing = explain(
        how if isinstance(how, str) else how.__name__, kind=x.dtype.kind, lone=is_lone(x)
    )
    before = level.unanswered
    error = level.refusal(
        MutationError if writing else ConversionError,
        f"{asked} would {SAME if level.kind.guards else LOST}; write {remedy}",
    )
    if how == PICKLED and not level.kind.guards:
        level.unanswered = before
    raise error


def is_lone(x: Any) -> bool:
    """Tell whether `stop_gradient` gives a plain value: no batch and no program has `x`."""
    while isinstance(x, Tensor) and not (x.level.kind.batches or x.level.kind.guards):
        x = x._value
    return not isinstance(x, Tensor)


def has_text(level: Any, x: Tensor) -> bool:
    """Tell whether the text of a number is its value: of a whole one, which may name something."""
    return x.dtype.kind in "iub"


def index(level: Any, value: Value) -> int:
    """Return a value as an index; raise Python's error where it is not one."""
    try:
        return as_index(value)
    except TypeError as error:
        if isinstance(value, Tensor):  # its level has raised
            raise
        raise TypeError(
            f"{level}: {error}, and neither can a tensor of its value; write int(x) for x, as "
            f"in range(int(x))"
        ) from None


# ---- hashes ----


def hash_of(level: Any, x: Tensor) -> int:
    """Return the hash of a number of a level; see NOTE [a hash is an answer]."""
    if is_array(x) or is_lazy(x):
        raise TypeError(
            f"{level}: unhashable type: 'numpy.ndarray', which a tensor of shape {x.shape} is "
            f"without the transform, too; write x[()] for the number in an array without axes, "
            f"or tuple(x) for the numbers in one of one axis"
        )
    values = examples_of(x, differentiated=x.dtype.kind in "biu")
    if values is None:
        asked, remedy = explain_hash(True)
        raise level.refusal(
            ConversionError,
            f"{asked} would find an equal number in a set, a dict or a cache, and equal numbers "
            f"may have different derivatives; write {remedy}",
        )
    flat = values.reshape(-1)
    if flat.size and (flat == flat[0]).all():
        return hash(flat[0])
    if flat.size and (flat != flat).all():
        return object.__hash__(x)
    asked, remedy = explain_hash(False)
    why = "differs from example to example" if flat.size else "has no example to answer it"
    error = level.refusal(
        DataDependentError,
        f"{asked} {why}, so a set, a dict or a cache cannot find x; write {remedy}; or "
        f"vmap(..., branches='split') to run groups of examples separately",
    )
    varying = varying_levels(x, float)  # by their bits
    if varying:
        varying[0].level.run_apart(x, float, error)
    raise error


def explain_hash(derivative: bool) -> tuple[str, str]:
    """Return who asked for a hash, and what to write: two parts of a message.

    `derivative` is true where a derivative is what keeps the number from having one.
    """
    general = GENERAL["hash"].format()
    if derivative:
        general += ", or functier.stop_gradient(x) as the key of a table of constants"
    try:
        use = Use("hash", False)
        asked = f"hash(x), which {use.library} calls," if use.library else "hash(x)"
        if isinstance(use.node, ast.Call) and use.callee is CACHED:
            args = ", ".join(map(ast.unparse, [*use.node.args, *use.node.keywords]))
            name = ast.unparse(use.node.func)
            return asked, BY_EXPRESSION["cached function"].format(name=name, args=args)
        frame = use.inside[-1] if use.inside else None
        if frame and is_foreign(frame) and Use("hash", False, (frame, [])).callee is CACHED:
            return asked, ADOPTION.format(name=module_at(frame))
    except Exception:  # the error that is being made must come out
        return "hash(x)", general
    return asked, general


def check_shuffle(level: Any, frame: Frame) -> None:
    """Raise where `frame`, which asks for the length of a tensor, calls NumPy's shuffle."""
    if calls_shuffle(frame):
        raise level.refusal(
            MutationError,
            "numpy.random.shuffle(x) would draw one order for all examples, and NumPy's "
            "generators know of no level; write x = rng.permutation(x), with rng of "
            "functier.random",
        )


MODES = {"forward": "forward mode", "reverse": "reverse mode"}


def _form_of(x: Any) -> tuple[tuple[int, ...], Any]:
    """Return the shape and the dtype of an example of `x`, also where its level has ended."""
    if type(x) in SNAPSHOTS:  # of an array that was written to
        x = SNAPSHOTS[type(x)](x)
    if not isinstance(x, Tensor) or not x.level.depth:
        return shape_of(x), dtype_of(x)
    shape, dtype = _form_of(x._value)
    level: Any = x.level
    return (shape[level.k :] if level.kind.batches else shape), dtype


def form_of(x: Tensor) -> str:
    """Return ``float64[3]`` for an example of `x`."""
    shape, dtype = _form_of(x)
    return f"{dtype}{[*shape]}"


def facts_of(level: Any) -> str:
    """Return what a level does, in a few words."""
    kind = level.kind
    if kind.batches:
        sizes = ["?" if one.size is None else str(one.size) for one in kind.group(level)]
        return f"{' x '.join(sizes)} {'example' if sizes == ['1'] else 'examples'}"
    return "recorded" if kind.records or kind.guards else MODES.get(kind.differentiates, "")


def names_of(level: Any) -> str:
    """Return the name of a level, and of those around it that share its tensors."""
    levels = level.kind.group(level) if level.kind.batches else [level]
    return ", ".join([name_beside(one, *levels) for one in levels])


def text_of(level: Any, x: Tensor) -> str:
    """Return a line such as ``float64[3] of 5 examples in vmap(f): array(...)``."""
    of = f" of {facts_of(level)}" if level.kind.batches else ""
    text = f"{form_of(x)}{of} in {names_of(level)}"
    if not level.live:
        text += ", which has ended"
    if level.kind.records:
        return f"{text}, not known yet"
    tangent = f", tangent {x._extra!r}" if level.kind.differentiates == "forward" else ""
    return f"{text}: {x._value!r}{tangent}"


def table_of(level: Any, x: Tensor) -> str:
    """Return a table with the form of an example, the levels, the tangent, and all values."""
    rows = [("example", form_of(x))]
    value: Any = x
    while isinstance(value, Tensor) and (type(value) in SNAPSHOTS or value.level.depth):
        if type(value) in SNAPSHOTS:  # of an array that was written to
            value = SNAPSHOTS[type(value)](value)
            continue
        inner: Any = value.level
        rows.append((names_of(inner), facts_of(inner) + ("" if inner.live else ", ended")))
        if inner.kind.differentiates == "forward" and not inner.kind.records:
            rows.append((f"tangent in {names_of(inner)}", repr(value._extra)))
        if inner.kind.records:
            value = "not known yet"
            break
        value = value._value
    rows.append(("value", value if isinstance(value, str) else repr(value)))
    return table(rows)
