"""checkpoint: recompute intermediate values in the backward pass instead of saving them.

NOTE [a region of the tape]
    The nodes that a function records while it runs have numbers above the number at its
    start. So the nodes below this number that its results reach are exactly what it depends
    on: its arguments, and the tensors that it closes over. Once the function has returned,
    its results get one node that leads to these directly, and the nodes between are dropped.
    The backward pass of that node runs the function again, and takes the new tape backward
    down to the number at its start. This second run is a region too, so the levels around
    keep no more of it than of the first run.
"""

import functools
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple, ParamSpec, TypeVar, overload

import numpy as np

from .._core.blocks import block
from .._core.border import check_objects
from .._core.errors import MutationError
from .._core.keywords import checks_keywords
from .._core.numpy_facts import SCALARS
from .._core.pytree import check_callable, flatten, name_of_function, unflatten
from .._core.tensor import Tensor
from .._core.tracebacks import leave
from .._core.types import Function, PyTree, Scalar, Shape, Value
from .._levels.backward import backward
from .._levels.kept import join_edges
from .._levels.lineage import AMBIENT, inward
from .._levels.states import resume
from .._levels.stretch import Stretch
from .._levels.tape import Given, Node, node_numbers
from .._mutation.array import was_written
from .._mutation.memory import CHOSEN, REGION, clock
from .._transforms.chunks.streams import record_draws, replay_draws
from .._transforms.transformed import Transformed
from .masks import AMONG, among

P = ParamSpec("P")
R = TypeVar("R")


@overload
def checkpoint(func: Callable[P, R]) -> Callable[P, R]: ...
@overload
def checkpoint(func: None = None) -> Callable[[Callable[P, R]], Callable[P, R]]: ...
@checks_keywords
def checkpoint(func: Any = None) -> Any:
    """Return `func` with its intermediate values recomputed in the backward pass.

    Reverse mode saves the values that the derivative of each operation needs. For a
    checkpointed function it saves only the arguments and the results, and runs the function
    again when the backward pass reaches it. A chain of n equal parts, each of them
    checkpointed, needs memory for n arguments and one part.

    Parameters
    ----------
    func : callable
        A function of arrays or pytrees of arrays, which returns arrays or pytrees of arrays.
        It may close over tensors. Both runs have to do the same: draws from a
        `functier.random` generator are repeated, draws from a NumPy generator are not. Its
        arguments may be written to after the call of `vjp`; an array that it closes over may
        be written to only after the backward pass.

    Returns
    -------
    callable
        A function with the signature and the results of `func`. Only reverse mode treats it
        differently: forward mode and `vmap` save nothing anyway.

    Raises
    ------
    RuntimeError
        In the backward pass, if the second run returned results of another form or other
        numbers. (For large results, a sample of the elements and their sum are compared.)

    Notes
    -----
    A backward pass that is differentiated itself, as in ``grad(grad(f))``, is checkpointed
    too. Each further order of derivatives costs a further run.

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

    def checkpointed(*args: Any, **kwargs: Any) -> Any:
        try:
            return region(label, lambda args, kwargs: func(*args, **kwargs), args, kwargs)
        except BaseException as error:
            leave(error, label, func, args, kwargs)
            raise

    return Transformed(checkpointed, func, "checkpoint", None)


def region(label: str, func: Function, *given: PyTree) -> PyTree:
    """Return ``func(*given)``, and keep only the ends of its tape at every grad level.

    `given` has to contain everything that may be written to before `func` runs again, as a
    pullback keeps copies of it. See NOTE [a region of the tape].
    """
    writers = CHOSEN.get()
    ambient, mask, stretch = AMBIENT.get(), AMONG.get(), Stretch()
    leaves, structure = flatten(given)
    leaves = [x.level.snapshot(x) if was_written(x) else x for x in leaves]
    given = unflatten(structure, leaves)
    with record_draws() as drawn, protect(writers):
        out = func(*given)
    if any(map(was_written, leaves)):
        raise MutationError(
            f"{label}: the function wrote to its argument, which it would do once more when it "
            f"runs again; make a copy first, y = x.copy(), write to that and return it"
        )

    def run_again(given: tuple) -> PyTree:
        with replay_draws(drawn), among(mask), protect(writers):
            return func(*given)

    for cls, tensors in find_ends(label, out, stretch.start).items():
        boundary = [*stretch.reached(*[y.parts()[1] for y in tensors]).values()]
        rerun = Rerun(
            label, run_again, ambient, cls,
            [(node[0], None) for node in boundary],  # the numbers suffice
            [y.shape for y in tensors],
            [Sample.of(y.elem()) for y in tensors],
        )  # fmt: skip
        rule, saved = functools.partial(_pull, rerun), (Given(given),)
        nodes = join_edges(boundary, rule, len(tensors), saved, cls.level, label)
        for y, node in zip(tensors, nodes):
            y._extra = node
    return out


@block
def protect(writers: tuple) -> Iterator[None]:
    """Inside, what was made before may not be written to, as it would be once more later."""
    region, before = REGION.get(), CHOSEN.get()
    try:
        REGION.set(next(clock))
        CHOSEN.set(writers)
        yield
    finally:
        REGION.set(region)
        CHOSEN.set(before)


SAMPLE_SIZE = 64
"""The approximate number of elements of a result that are compared one by one."""


class Sample(NamedTuple):
    """Some elements of an array and its sum, which a second run has to reproduce."""

    elements: np.ndarray
    total: Scalar
    size: int

    @classmethod
    def of(cls, x: Value) -> "Sample | None":
        """Return the sample of a result, or None where its numbers are not known."""
        for part in inward(x):
            if part.level.records:
                return None  # its numbers are known later
            x, *_ = part.parts()
        if type(x) is not np.ndarray and type(x) not in SCALARS:
            return None
        x = np.asarray(x)
        with np.errstate(all="ignore"):
            total = np.add.reduce(x, axis=None)
        return cls(x.flat[:: max(1, x.size // SAMPLE_SIZE)], total, x.size)

    def is_close(self, other: "Sample | None") -> bool:
        """Return True where rounding alone can explain the difference to `other`."""
        if other is None:
            return True
        with np.errstate(all="ignore"):
            eps = float(np.finfo(self.elements.dtype).eps)
            sizes = np.abs(self.elements[np.isfinite(self.elements)])
            error = np.sqrt(eps) * float(sizes.max(initial=0)) + 1000 * eps
            pairs = (
                (self.elements, other.elements, error),
                (self.total, other.total, error * self.size),
            )
            return all(np.allclose(a, b, rtol=0, atol=e, equal_nan=True) for a, b, e in pairs)


class Rerun(NamedTuple):
    """A region of the tape at one grad level, and how to run it again.

    `boundary` has the nodes that it starts from; `forms` and `samples` describe its results.
    """

    label: str
    call: Callable[[tuple], PyTree]
    ambient: type[Tensor]
    cls: type[Tensor]
    boundary: list[Node]
    forms: list[Shape]
    samples: list[Sample | None]


def _are_close(samples: list[Sample | None], tensors: list[Tensor]) -> bool:
    """Return True where the values of tensors agree with samples of the first run."""
    return all(s is None or s.is_close(Sample.of(y.elem())) for s, y in zip(samples, tensors))


def find_ends(label: str, out: PyTree, start: int) -> dict[type[Tensor], list[Tensor]]:
    """Return the tensors in `out`, and inside these, that were recorded after `start`.

    They are grouped by the classes of their grad levels.
    """
    found: dict[type[Tensor], dict[int, Tensor]] = {}
    for leaf in flatten(out, label, "the result")[0]:
        check_objects(label, "the result", leaf)
        for x in walk(leaf):
            if x.level.differentiates == "reverse":
                _, node = x.parts()
                if node[0] > start and node[1] is not None:
                    found.setdefault(type(x), {})[id(x)] = x
    return {cls: list(tensors.values()) for cls, tensors in found.items()}


def walk(x: Value) -> Iterator[Tensor]:
    """Yield `x` and the tensors that it consists of, if it is a tensor."""
    waiting = [x]
    while waiting:
        x = waiting.pop()
        if isinstance(x, Tensor):
            yield x
            waiting += x.parts()  # also the tangent of a jvp level; a node is not a tensor


def _pull(rerun: Rerun, cotangents: tuple, given: tuple) -> list:
    """Return the cotangents of the nodes that a region starts from, by a second run."""
    label, forms = rerun.label, rerun.forms

    def pull(given: tuple, cotangents: tuple) -> list:
        with resume(rerun.ambient):
            start = next(node_numbers)
            tensors = find_ends(label, rerun.call(given), start).get(rerun.cls, [])
            if [y.shape for y in tensors] != forms:
                raise RuntimeError(
                    f"{label}: the function ran again for the backward pass and returned results "
                    f"of the shapes {[y.shape for y in tensors]}, but {forms} the "
                    f"first time; let it depend on its arguments only"
                )
            if not _are_close(rerun.samples, tensors):
                raise RuntimeError(
                    f"{label}: the function ran again for the backward pass and returned other "
                    f"numbers than the first time. Either it draws from a generator that is not "
                    f"of functier.random, or an array that it closes over was written to; pass "
                    f"such an array as an argument"
                )
            roots = [(y.parts()[1], g) for y, g in zip(tensors, cotangents) if g is not None]
            del tensors
        return backward(roots, rerun.boundary, start)  # where the cotangents' levels are ambient

    return region(label, pull, given, cotangents)
