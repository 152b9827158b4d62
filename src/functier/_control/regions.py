"""Regions of the tape: what a function recorded is dropped, and recorded again when it is needed.

NOTE [a region of the tape]
    The nodes that a function records while it runs have numbers above the number at its
    start. So the nodes below this number that its results reach are exactly what it depends
    on: its arguments, and the tensors that it closes over. Once the function has returned,
    its results get one node that leads to these directly, and the nodes between are dropped.
    The backward pass of that node runs the function again, and takes the new tape backward
    down to the number at its start. This second run is a region too, so the levels around
    keep no more of it than of the first run.

NOTE [sums go through a region]
    Code after a region may have added to the cotangent of what the region depends on. The second
    backward pass starts from these sums, so contributions are added in the order of the tape,
    as without a region, and a gradient has the same bits.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from .._core.blocks import block
from .._core.border import check_objects
from .._core.errors import MutationError
from .._core.numpy_facts import SCALARS, Function, PyTree, Scalar, Shape, Value
from .._core.pytree import flatten, unflatten
from .._core.tensor import Tensor
from .._levels.backward import Stretch, backward
from .._levels.kept import join_edges
from .._levels.lineage import AMBIENT, inward
from .._levels.states import resume
from .._levels.tape import Continued, Given, Node, node_numbers
from .._mutation.array import was_written
from .._mutation.memory import CHOSEN, REGION, clock
from .._transforms.chunks.streams import record_draws, replay_draws
from .masks import AMONG, Mask, among

Place: TypeAlias = tuple[int, ...]
"""The place of a tensor in a pytree: the number of a leaf, then that of a part of each tensor."""


def region(
    label: str, func: Function, *given: PyTree, pull: "Callable[..., list] | None" = None
) -> PyTree:
    """Return ``func(*given)``, and keep only the ends of its tape at every grad level.

    `given` has to contain everything that may be written to before `func` runs again, as a
    pullback keeps copies of it. `pull` runs it again otherwise than in one piece, and takes what
    `_pull` does. See NOTE [a region of the tape].
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
            f"{label}: the function wrote to its argument, which would happen a second time when "
            f"it runs again; make a copy first, y = x.copy(), write to that and return it"
        )

    for cls, ends in find_ends(label, out, stretch.start).items():
        tensors = [*ends.values()]
        boundary = [*stretch.reached(*[y.parts()[1] for y in tensors]).values()]
        rerun = Rerun(
            label, func, ambient, mask, writers, drawn, cls,
            [(node[0], None) for node in boundary],  # the numbers suffice
            [*ends], [y.shape for y in tensors],
            [Sample.of(y.elem()) for y in tensors],
        )  # fmt: skip
        rule = Continued(pull or _pull, rerun)
        rule.parents = [node[0] for node in boundary]
        nodes = join_edges(boundary, rule, len(tensors), (Given(given), ()), cls.level, label)
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
        if not isinstance(x, np.ndarray) and type(x) not in SCALARS:
            return None
        x = np.asarray(x)
        with np.errstate(all="ignore"):
            total = np.add.reduce(x, axis=None)
        return cls(x.flat[:: max(1, x.size // SAMPLE_SIZE)], total, x.size)

    def is_close(self, other: "Sample | None") -> bool:
        """Return True where rounding alone can explain the difference to `other`."""
        if other is None:
            return True
        if self.elements.dtype.kind not in "fc":
            return bool(np.array_equal(self.elements, other.elements) and self.total == other.total)
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

    `boundary` has the nodes that it starts from; `places`, `forms` and `samples` describe the
    tensors of the level in its results.
    """

    label: str
    func: Function
    ambient: type[Tensor]
    mask: Mask | None
    writers: tuple
    drawn: record_draws
    cls: type[Tensor]
    boundary: list[Node]
    places: list[Place]
    forms: list[Shape]
    samples: list[Sample | None]

    def run(self, draws: replay_draws, func: Function, *args: Any) -> Any:
        """Return ``func(*args)``, where the level is live, with what was ambient the first time."""
        with draws, among(self.mask), protect(self.writers):
            return func(*args)


def different_forms(label: str, forms: list, before: list) -> RuntimeError:
    """Return the error of a second run whose results have other shapes."""
    return RuntimeError(
        f"{label}: the function ran again for the backward pass and returned results of the "
        f"shapes {forms}, but {before} the first time; let it depend on its arguments only"
    )


def different_numbers(label: str) -> RuntimeError:
    """Return the error of a second run whose results have other numbers."""
    return RuntimeError(
        f"{label}: the function ran again for the backward pass and returned different numbers "
        f"from the first time. Either it draws from a generator that is not from functier.random, "
        f"or an array that it closes over was written to; pass such an array as an argument"
    )


def _are_close(samples: list[Sample | None], tensors: list[Tensor]) -> bool:
    """Return True where the values of tensors agree with samples of the first run."""
    return all(s is None or s.is_close(Sample.of(y.elem())) for s, y in zip(samples, tensors))


def find_ends(label: str, out: PyTree, start: int) -> dict[type[Tensor], dict[Place, Tensor]]:
    """Return the tensors in `out`, and inside these, that were recorded after `start`.

    They are grouped by the classes of their grad levels, each at the first of its places.
    """
    found: dict[type[Tensor], dict[Place, Tensor]] = {}
    seen = set()
    for i, leaf in enumerate(flatten(out, label, "the result")[0]):
        check_objects(label, "the result", leaf)
        for place, x in walk(leaf, i):
            if x.level.differentiates == "reverse" and id(x) not in seen:
                seen.add(id(x))
                _, node = x.parts()
                if node[0] > start and node[1] is not None:
                    found.setdefault(type(x), {})[place] = x
    return found


def walk(x: Value, i: int) -> Iterator[tuple[Place, Tensor]]:
    """Yield leaf `i`, `x`, and the tensors that it consists of, if it is one, with their places."""
    waiting: list[tuple[Place, Any]] = [((i,), x)]
    while waiting:
        place, x = waiting.pop()
        if isinstance(x, Tensor):
            yield place, x
            for k, part in enumerate(x.parts()):  # also the tangent of a jvp level
                waiting.append(((*place, k), part))  # a node is not a tensor


def _pull(rerun: Rerun, cotangents: tuple, given: tuple, sums: Sequence) -> list:
    """Return the cotangents of the nodes that a region starts from, by a second run.

    They are added to the `sums` that there are so far, each an array or None.
    """
    label = rerun.label

    def pull(given: tuple, cotangents: tuple, sums: Sequence) -> list:
        with resume(rerun.ambient):
            start = next(node_numbers)
            out = rerun.run(replay_draws(rerun.drawn), rerun.func, *given)
            tensors = [*find_ends(label, out, start).get(rerun.cls, {}).values()]
            del out
            if [y.shape for y in tensors] != rerun.forms:
                raise different_forms(label, [y.shape for y in tensors], rerun.forms)
            if not _are_close(rerun.samples, tensors):
                raise different_numbers(label)
            roots = [(node, g) for node, g in zip(rerun.boundary, sums) if g is not None]
            roots += [(y.parts()[1], g) for y, g in zip(tensors, cotangents) if g is not None]
            del tensors
        return backward(roots, rerun.boundary, start)  # where the cotangents' levels are ambient

    return region(label, pull, given, cotangents, sums)
