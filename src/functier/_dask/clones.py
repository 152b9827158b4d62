"""Clones of the forward pass, so that no chunk waits for a sum over all chunks.

NOTE [barriers]
    A sum over chunks is a barrier: what depends on it is computed after all chunks. A rule that
    multiplies a cotangent behind a barrier by a value of the forward pass would keep all chunks of
    that value in memory until then. So it gets a clone of the value, whose chunks are computed
    again, under other names. A clone has the data itself (arrays in memory, and what
    `persist` has computed) in common with the value, what functions return that are not known to
    be `pure`, such as those that draw, and the barriers before it.
    ``dask.config.set({"functier-clones": False})`` switches clones off.
"""

from collections.abc import Iterable, Iterator, Set
from functools import cached_property
from itertools import chain
from typing import Any

import dask
import numpy as np
from dask.array import Array
from dask.array.utils import meta_from_array
from dask.base import clone_key
from dask.blockwise import Blockwise
from dask.highlevelgraph import HighLevelGraph, Layer, MaterializedLayer

from .pure import are_pure

NO_PARENTS = {np.zeros_like, np.ones_like, np.empty_like, np.shape, np.ndim, np.size}
"""Functions whose results depend on the form of an array alone."""


def is_backward(x: Any) -> bool:
    """Return whether a Dask array is a cotangent."""
    return getattr(x, "backward", False)


def barrier_of(x: Any) -> Any:
    """Return the barrier behind which an array is computed, an array, if there is one."""
    return getattr(x, "barrier", None)


def arrays_in(values: Iterable) -> list[Any]:
    """Return the Dask arrays among arguments, also those in lists."""
    found = []
    for x in values:
        if isinstance(x, Array):
            found.append(x)
        elif type(x) in (list, tuple):
            found += arrays_in(x)
    return found


def cloned(args: tuple) -> tuple:
    """Return arguments with clones of those that a cotangent behind a barrier would keep."""
    given = arrays_in(args)
    if len(given) < 2 or not dask.config.get("functier-clones", True):
        return args
    for g in given:
        if is_backward(g) and g.barrier is not None:
            return _with_clones(args, g.barrier)
    return args


def _with_clones(args: Any, barrier: Any) -> Any:
    found = []
    for x in args:
        if type(x) in (list, tuple):
            x = _with_clones(x, barrier)
        elif isinstance(x, Array) and x.npartitions > 1 and not is_backward(x):
            x = x if barrier_of(x) is barrier else _clone(x, barrier)
        found.append(x)
    return type(args)(found)


class _Keys(Set):
    """The keys of layers, by the names of these: there may be very many keys."""

    def __init__(self, names: Iterable[str]):
        self.names = frozenset(names)

    def __contains__(self, key: Any) -> bool:
        return (key[0] if type(key) is tuple and key else key) in self.names

    def __iter__(self) -> Iterator[str]:
        return iter(self.names)

    def __len__(self) -> int:
        return len(self.names)


def _clone(x: Any, barrier: Any) -> Any:
    """Return `x` computed again behind a barrier; see NOTE [barriers]."""
    layers, parents = x.dask.layers, x.dask.dependencies
    own = barrier_of(x)
    chosen: set[str] = set()
    waiting = [x.name]
    while waiting:
        name = waiting.pop()
        if name in chosen or (own is not None and name == own.name) or _is_data(name, x.dask):
            continue
        chosen.add(name)
        waiting += parents[name]
    if not chosen:
        return x
    new, links = {**layers}, {**parents}
    made = barrier.__dict__.setdefault("functier_clones", {})  # by name and parents, and its names
    for name in chosen:
        if name not in made:
            made[name] = _names_in(name, layers[name])
    keys: Any = _Keys(chain.from_iterable([made[name] for name in chosen]))
    names = {name: clone_key(name, barrier.name) for name in keys}
    for name in chosen:
        other = names[name]
        links[other] = {names.get(p, p) for p in parents[name]}
        known = name, frozenset(links[other])
        if known not in made:
            layer = layers[name]
            if isinstance(layer, Blockwise):
                made[known] = layer.clone(keys, barrier.name)[0]
            else:
                made[known] = _Renamed(layer, keys, names, barrier.name)
        new[other] = made[known]
    clone = type(x)(
        HighLevelGraph(new, links), names[x.name], x.chunks, x.dtype, meta_from_array(x)
    )
    clone.barrier = own
    return clone


def _names_in(name: str, layer: Any) -> set[str]:
    """Return the name of a layer, and others that its keys have: some have two."""
    if isinstance(layer, Blockwise):
        return {name}
    return {name, *[key[0] if type(key) is tuple else key for key in layer]}


class _Renamed(MaterializedLayer):
    """A layer with other names for `keys`, also in its tasks, where Dask leaves them.

    Its tasks are made when Dask asks for them, as those of a `Blockwise` are.
    """

    def __init__(self, layer: Any, keys: Any, names: dict[str, str], seed: str):
        Layer.__init__(self, layer.annotations, layer.collection_annotations)
        self.given = layer, keys, names, seed

    @cached_property
    def mapping(self) -> dict:  # type: ignore[override]
        """The tasks by their keys."""
        layer, keys, names, seed = self.given

        def other(key: Any) -> Any:
            return (names[key[0]], *key[1:]) if type(key) is tuple else names[key]

        made = {}
        for key, task in layer.items():
            name = other(key)
            if hasattr(task, "substitute"):
                others = {k: other(k) for k in task.dependencies if k in keys}
                made[name] = task.substitute({key: name, **others}, key=name)
            else:
                made.update(MaterializedLayer({key: task}).clone(keys, seed)[0])
        return made

    def __len__(self) -> int:
        return len(self.given[0])

    def __reduce__(self) -> Any:
        return MaterializedLayer, (self.mapping, self.annotations, self.collection_annotations)

    def is_materialized(self) -> bool:
        """Tell if the tasks have been made."""
        return "mapping" in vars(self)


def _is_data(name: str, graph: HighLevelGraph) -> bool:
    """Return whether a layer has data, or what may not be the same when it is computed again."""
    layer: Any = graph.layers[name]
    if not graph.dependencies[name] and isinstance(layer, MaterializedLayer):
        key, task = next(iter(layer.mapping.items()))
        if not isinstance(key, tuple) or not (callable(task) or type(task) is tuple):
            return True
    own = vars(layer)
    if "functier_pure" not in own:
        tasks = [layer.task] if isinstance(layer, Blockwise) else layer.values()
        own["functier_pure"] = isinstance(layer, _Renamed) or are_pure(tasks)
    return not own["functier_pure"]


def note_parents(result: Any, func: Any, given: tuple) -> Any:
    """Note whether a result is a cotangent, and behind which barrier; it may be one itself."""
    if isinstance(result, (tuple, list)):
        for part in result:
            note_parents(part, func, given)
        return result
    if not hasattr(result, "barrier"):
        return result
    arrays = [] if func in NO_PARENTS else arrays_in(given)
    result.backward = any(map(is_backward, arrays))
    barriers = [b for b in map(barrier_of, arrays) if b is not None]
    result.barrier = barriers[0] if barriers else None
    if any([x.npartitions > result.npartitions for x in arrays]):
        meta = meta_from_array(result)
        result.barrier = Array(result.dask, result.name, result.chunks, result.dtype, meta)
    return result
