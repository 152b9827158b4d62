"""checkpoint: recompute in the backward pass what a function would have saved.

NOTE [a region of the tape]
    What a function records while it runs has numbers above the one at its start, so the
    nodes below that number which its results reach are all that it depends on: arguments,
    and what it closes over. Once it has returned, the results get one node that leads
    there directly, and what is between goes. The backward pass of that node runs the
    function again, and its tape down to the same number. It is a region itself, for the
    levels around, so that they keep no more of it than of the first run.
"""

import functools
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple, ParamSpec, TypeVar, overload

import numpy as np

from .._chunks.streams import record_draws, replay_draws
from .._core.blocks import block
from .._core.border import check_objects
from .._core.errors import MutationError
from .._core.numpy_facts import SCALARS, shape_of
from .._core.pytree import check_callable, flatten, name_of_function, unflatten
from .._core.tensor import Tensor
from .._levels.backward import backward
from .._levels.lineage import AMBIENT
from .._levels.states import resume
from .._levels.tape import Given, Node, find_reached, join_edges, node_numbers
from .._mutation.array import was_written
from .._mutation.memory import REGION, clock
from .masks import AMONG, among

P = ParamSpec("P")
R = TypeVar("R")


@overload
def checkpoint(func: Callable[P, R]) -> Callable[P, R]: ...
@overload
def checkpoint(func: None = None) -> Callable[[Callable[P, R]], Callable[P, R]]: ...
def checkpoint(func: Any = None) -> Any:
    """`func`, whose intermediate values are computed again in the backward pass.

    Reverse mode keeps what each operation needs until the backward pass. Of a checkpointed
    function it keeps the arguments and the results only, and runs the function a second
    time when the backward pass comes there. A chain of n equal parts, each of them
    checkpointed, needs memory for n arguments and one part.

    Parameters
    ----------
    func : callable
        A function of arrays or pytrees that returns such; it may close over tensors. It has
        to do the same when it runs again: draws from a `functier.random` generator are
        repeated, those from NumPy's are not. Its arguments may be written to once a call of
        `vjp` is over; an array that it closes over may not, before the backward pass.

    Returns
    -------
    callable
        With the signature and the results of `func`, under every transform. Forward mode
        and `vmap` keep nothing anyway; they are not changed.

    Raises
    ------
    RuntimeError
        In the backward pass, where the second run gave results of another form, or other
        numbers (of large results some are compared, and their sum).

    Notes
    -----
    A backward pass that is differentiated in turn (``grad(grad(f))``) is a checkpointed
    function too, of the cotangents and of what `func` depends on; each further order costs
    a further run.

    Examples
    --------
    >>> import numpy as np
    >>> from functier import grad
    >>> @checkpoint
    ... def block(x):
    ...     return np.sin(np.sin(np.sin(x)))
    >>> float(grad(lambda x: block(block(x)))(0.0))
    1.0
    """
    if func is None:
        return checkpoint
    check_callable("checkpoint", func)
    label = f"checkpoint({name_of_function(func)})"

    @functools.wraps(func)
    def checkpointed(*args: Any, **kwargs: Any) -> Any:
        return region(label, lambda args, kwargs: func(*args, **kwargs), args, kwargs)

    return checkpointed


def region(label: str, func: Callable, *given: Any) -> Any:
    """The result of ``func(*given)``, of whose tape its ends are kept, at every grad level.

    All that may be written to before `func` runs again is in `given`, of which a pullback
    keeps copies.
    """
    ambient, asked, start = AMBIENT.get(), AMONG.get(), next(node_numbers)
    leaves, structure = flatten(given)
    leaves = [x.level.snapshot(x) if was_written(x) else x for x in leaves]
    given = unflatten(structure, leaves)
    with record_draws() as drawn, running_again():
        out = func(*given)
    if any(map(was_written, leaves)):
        raise MutationError(
            f"{label}: the function wrote to its argument, which it would do once more when it "
            f"runs again; make a copy first, y = x.copy(), write to that and return it"
        )

    def again(given: tuple) -> Any:
        with replay_draws(drawn), among(asked), running_again():
            return func(*given)

    for cls, tensors in ends(label, out, start).items():
        boundary = list(find_reached([y._extra for y in tensors], start).values())
        forms = [shape_of(y._value) for y in tensors]
        marks = [Mark.of(y._value) for y in tensors]
        goals: list[Node] = [(node[0], None) for node in boundary]  # a number tells all
        kept = (Given(given),)
        pulled = functools.partial(_pull, label, again, ambient, cls, goals, forms, marks)
        for y, node in zip(tensors, join_edges(boundary, pulled, len(tensors), kept)):
            y._extra = node
    return out


@block
def running_again() -> Iterator[None]:
    """Inside, what was made before may not be written to, as it would be once more later."""
    before = REGION.get()
    try:
        REGION.set(next(clock))
        yield
    finally:
        REGION.set(before)


SAMPLE = 64
"""About so many elements of a result are compared one by one, and the others by their sum."""


class Mark(NamedTuple):
    """Some numbers of an array, by which a second run is compared with the first."""

    some: np.ndarray
    total: Any
    size: int

    @classmethod
    def of(cls, x: Any) -> "Mark | None":
        while isinstance(x, Tensor):
            if x.level.records:
                return None  # its numbers are known later
            x = x._value
        if type(x) is not np.ndarray and type(x) not in SCALARS:
            return None
        x = np.asarray(x)
        with np.errstate(all="ignore"):
            total = np.add.reduce(x, axis=None)
        return cls(x.flat[:: max(1, x.size // SAMPLE)], total, x.size)

    def fits(self, other: "Mark | None") -> bool:
        """Whether the difference to another one can be that of rounding."""
        if other is None:
            return True
        with np.errstate(all="ignore"):
            eps = float(np.finfo(self.some.dtype).eps)
            sizes = np.abs(self.some[np.isfinite(self.some)])
            error = np.sqrt(eps) * float(sizes.max(initial=0)) + 1000 * eps
            pairs = (self.some, other.some, error), (self.total, other.total, error * self.size)
            return all(np.allclose(a, b, rtol=0, atol=e, equal_nan=True) for a, b, e in pairs)


def ends(label: str, out: Any, start: int) -> dict[type, list]:
    """The tensors in `out`, also those inside of others, that were recorded after `start`,
    by their grad level.
    """
    found: dict[type, dict[int, Any]] = {}
    for leaf in flatten(out, label, "the result")[0]:
        check_objects(label, "the result", leaf)
        for x in inside(leaf):
            if x.level.differentiates == "reverse":
                node = x._extra
                if node[0] > start and node[1] is not None:
                    found.setdefault(type(x), {})[id(x)] = x
    return {cls: list(tensors.values()) for cls, tensors in found.items()}


def inside(x: Any) -> Iterator[Tensor]:
    """`x` and the tensors that it is made of, where it is a tensor."""
    waiting = [x]
    while waiting:
        x = waiting.pop()
        if isinstance(x, Tensor):
            yield x
            waiting.append(x._value)
            if hasattr(x, "_extra"):  # the tangent of a jvp level; a node is no tensor
                waiting.append(x._extra)


def _pull(
    label: str,
    run: Callable[[tuple], Any],
    ambient: type,
    cls: type,
    boundary: list[Node],
    forms: list,
    marks: list,
    cotangents: tuple,
    given: tuple,
) -> list:
    """The cotangents of the nodes in `boundary`, by a second run."""

    def again(given: tuple, cotangents: tuple) -> list:
        with resume(ambient):
            start = next(node_numbers)
            tensors = ends(label, run(given), start).get(cls, [])
            if [shape_of(y._value) for y in tensors] != forms:
                raise RuntimeError(
                    f"{label}: the function ran again for the backward pass and gave results "
                    f"of the shapes {[shape_of(y._value) for y in tensors]}, the first time "
                    f"{forms}; let it depend on its arguments only"
                )
            if not all(m is None or m.fits(Mark.of(y._value)) for m, y in zip(marks, tensors)):
                raise RuntimeError(
                    f"{label}: the function ran again for the backward pass and gave other "
                    f"numbers than the first time: it draws from another generator than one of "
                    f"functier.random, or an array that it closes over has been written to; "
                    f"pass such an array as an argument"
                )
            pairs = [(y._extra, g) for y, g in zip(tensors, cotangents) if g is not None]
            del tensors
        return backward(pairs, boundary, start)  # where the cotangents' levels are ambient

    return region(label, again, given, cotangents)
