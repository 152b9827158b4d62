"""Tensors in the graph of a Dask array, whose derivative nobody would see.

A graph grows by layers, each of which is looked at once: all that it refers to is, but for what
libraries have.
"""

from types import FunctionType, ModuleType
from typing import Any
from weakref import WeakValueDictionary

from .._core.errors import ConversionError
from .._core.reached import KNOWN, inside
from .._core.tensor import Tensor
from .._cpython.collector import containers_among

CLEAN: WeakValueDictionary[int, Any] = WeakValueDictionary()
"""The layers in which no tensor was found, by their numbers."""


def find_tensor(root: Any) -> Tensor | None:
    """Return a tensor of a level that an object refers to, if there is one."""
    seen: dict[int, Any] = {}
    waiting = [root]
    while waiting:
        x = waiting.pop()
        if isinstance(x, Tensor):
            if x.level.depth:
                return x
            continue
        if id(x) in seen or isinstance(x, (ModuleType, type)) or _is_of_library(x):
            continue
        seen[id(x)] = x
        waiting += containers_among(inside(x))
    return None


def _is_of_library(x: Any) -> bool:
    """Return whether `x` is a function of a library, which refers to no tensor of a user."""
    if type(x) is not FunctionType or x.__closure__:
        return False
    return (x.__module__ or "").partition(".")[0] in LIBRARIES


LIBRARIES = {*KNOWN, "dask", "distributed", "tlz", "toolz", "cloudpickle"}


def check_hidden(root: Any, what: str) -> None:
    """Raise where an object refers to a tensor of a level."""
    found = find_tensor(root)
    if found is not None:
        raise ConversionError(
            f"{what} holds a tensor of {found.level}, which Dask would compute later, without its "
            f"derivative or batch; write the function of NumPy for that of dask.array; pass the "
            f"array x to the transform, too, and write x.map_blocks(f, w) with each w that f "
            f"reads; or return y.compute() for y"
        )


def check_graph(x: Any) -> Any:
    """Return a Dask array; raise where its graph has a tensor in it."""
    for name, layer in x.dask.layers.items():
        if CLEAN.get(id(layer)) is not layer:
            check_hidden(layer, f"the graph of a Dask array ({name.rpartition('-')[0]})")
            CLEAN[id(layer)] = layer
    return x
