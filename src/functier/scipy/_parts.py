"""Tensors in plain parts: the values and derivatives that one has, and a tensor of such parts.

NOTE [parts]
    A routine of SciPy computes with plain numbers. What it computes for the value of a function is
    computed for each of its derivatives, too: these are the parts of the tensor that the function
    returns. A part has a path, with one entry for each level that differentiates, innermost first:
    0 for the value, 1 for the tangent, and one more than the number of a node for the derivative
    by the value of that node.
    All batch axes are in front, those of the outermost level first, then the axes of the value,
    then those of the nodes.

NOTE [the nodes of a part]
    Only nodes that were made before the function ran count, so the tape of each call is dropped.
    The derivative by such a node is what a backward pass brings there.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np

from .._control.masks import narrow
from .._core.ambient import AMBIENT
from .._core.errors import ConversionError, LevelError
from .._core.numpy_facts import Shape, Value, dtype_of, shape_of
from .._core.tensor import Tensor
from .._levels.backward import Stretch
from .._levels.cotangents import cast
from .._levels.lineage import levels_of
from .._mutation.array import Array, settle
from .._transforms.vmap import vmap

Path = tuple[int, ...]
Parts = dict[Path, np.ndarray]


class NewBatch(BaseException):
    """A result has a batch axis that earlier results did not have: begin again.

    It leaves the caller's function and SciPy, whose ``except Exception`` is not for it.
    `layout` is that of the parts.
    """

    def __init__(self, layout: "Layout"):
        self.layout = layout


class Layout:
    """The levels around the caller, and how tensors of these are taken apart and put together.

    `order` is the number of the levels that differentiate. `used` has the batch levels whose axes
    the parts have; where a result has another one, `parts` notes it and raises `NewBatch`.
    """

    def __init__(self) -> None:
        self.stretch = Stretch()
        self.nodes: dict[int, tuple[Any, np.dtype]] = {}
        self.used: set[type] = set()
        # The classes of levels, innermost first; one for contiguous batch levels. Its level is
        # a different one where it runs again.
        self.classes: list[Any] = []
        self.grouped: dict[type, list[Any]] = {}
        grouped: set[Any] = set()
        for level in levels_of(AMBIENT.get()):
            if level.off or level in grouped:
                continue
            if level.batches:
                self.grouped[level.cls] = level.group()
                grouped.update(self.grouped[level.cls])
            self.classes.append(level.cls)
        # A level of series has as many derivatives as coefficients.
        orders = [getattr(v, "order", 1) for v in self.stages if v.differentiates]
        self.order, self.zero = sum(orders), (0,) * len(orders)

    @property
    def stages(self) -> list[Any]:
        return [cls.level for cls in self.classes]

    # ---- taking apart ----

    def parts(self, x: Any) -> Parts:
        """Return the parts of a value, for the examples that the running function is for."""
        found: Parts = {}
        self._take(0, narrow(settle(x)), (), found)
        return found

    def _take(self, i: int, x: Any, path: Path, found: Parts) -> None:
        x = _standing(x)
        if i == len(self.classes):
            found[path] = self._end(x)
            return
        level = self.classes[i].level
        mine = type(x) is level.cls
        if level.batches:
            self._take(i + 1, self._sink(level, x), path, found)
        elif level.records:
            if mine:
                level.unknown_value("a function of SciPy that calls a function")
            self._take(i + 1, x, path, found)
        elif level.guards:
            if mine:
                what = "a function of SciPy that calls a function chooses by values"
                if level.reads is not None:
                    level.reads.unwatched(f"{what}, which no program follows here")
                raise level.refusal(
                    ConversionError,
                    f"{what}, which a program cannot follow; call it outside, and trace or compile "
                    f"the function that it calls",
                )
            self._take(i + 1, x, path, found)
        elif not mine:
            self._take(i + 1, x, (*path, 0), found)
        elif level.differentiates == "series":
            raise level.refusal(
                ConversionError,
                "a function of SciPy that calls a function has derivatives, and no Taylor series; "
                "write nested jvp, or the steps in NumPy",
            )
        elif level.differentiates == "forward":
            for n, part in enumerate(x.parts()):
                self._take(i + 1, part, (*path, n), found)
        else:
            self._take(i + 1, x.elem(), (*path, 0), found)
            for key, derivative in self._derivatives(x):
                self._take(i + 1, derivative, (*path, key), found)

    def _end(self, x: Any) -> Any:
        """Return a part as the plain array that it is."""
        if isinstance(x, Tensor):
            if x.level.depth:
                raise LevelError(
                    f"a function of SciPy met a tensor of {x.level}, whose level is not around "
                    f"its call; pass the value in as an argument of the transform"
                )
            x = x.elem()
        return np.asarray(x)

    def _sink(self, level: Any, x: Any) -> Any:
        """Return a value with the axes of a batch level, and of those that share its tensors."""
        group = self.grouped[level.cls]
        if isinstance(x, Tensor) and any(type(x) is part.cls for part in group):
            if level.cls not in self.used:
                self.used.add(level.cls)
                raise NewBatch(self)
        if level.cls not in self.used:
            return x
        sizes = tuple([1 if part.size is None else part.size for part in group])
        value = level.lift(x)
        return np.broadcast_to(value, (*sizes, *shape_of(value)[len(sizes) :]))

    def _derivatives(self, x: Any) -> Iterator[tuple[int, Value]]:
        """Yield the nodes that a tensor of a grad level depends on, and its derivatives there."""
        value, node = x.parts()
        inputs, shape = self.stretch.reached(node), shape_of(value)
        kept: list[int] = []

        def pull(g: Value) -> list:
            found = self.stretch.pull(node, g, inputs)
            kept[:] = found
            return [*found.values()]

        if not shape:
            rows = pull(dtype_of(value).type(1))
        else:
            size = int(np.prod(shape))
            rows = vmap(pull)(np.eye(size, dtype=dtype_of(value)).reshape(size, *shape))
            rows = [np.reshape(row, (*shape, *shape_of(row)[1:])) for row in rows]
        for number, row in zip(kept, rows):
            self.nodes[number + 1] = inputs[number], dtype_of(row)
            yield number + 1, row

    # ---- putting together ----

    def batch_shape(self) -> Shape:
        """Return the lengths of the batch axes that parts have."""
        shape: Shape = ()
        for level in self.stages if self.used else ():
            if level.batches and level.cls in self.used:
                group = self.grouped[level.cls]
                sizes = tuple([1 if part.size is None else part.size for part in group])
                shape = (*sizes, *shape)
        return shape

    def tensor(self, parts: Parts) -> Any:
        """Return the tensor of some parts, those that are missing being zero."""
        return self._put(0, (), parts)

    def constant(self, values: Any) -> Any:
        """Return values of all examples without derivatives."""
        return self.tensor({self.zero: values})

    def _put(self, i: int, path: Path, parts: Parts) -> Any:
        if i == len(self.classes):
            return parts[path][()]
        level = self.classes[i].level
        if level.records or level.guards:
            return self._put(i + 1, path, parts)
        if level.batches:
            value = self._put(i + 1, path, parts)
            return level.cls.join(value) if level.cls in self.used else value
        value = self._put(i + 1, (*path, 0), parts)
        at = len(path)
        keys = {p[at] for p in parts if p[:at] == path} - {0}
        if not keys:
            return value
        rows = {key: self._put(i + 1, (*path, key), parts) for key in sorted(keys)}
        if level.differentiates == "forward":
            return level.cls.join(value, rows[1])
        dtypes = [self.nodes[key][1] for key in rows]
        ndim = len(shape_of(value))

        def pull(cotangents: tuple, *derivatives: Value) -> list:
            (g,) = cotangents
            if g is None:
                return [None] * len(derivatives)
            products = [np.tensordot(g, d, ndim) if ndim else g * d for d in derivatives]
            return [cast(c, dtype) for c, dtype in zip(products, dtypes)]

        parents = [self.nodes[key][0] for key in rows]
        (node,) = Stretch.replace(parents, pull, 1, tuple(rows.values()))
        return level.cls.join(value, node)


def _standing(x: Any) -> Any:
    """Return a tensor of a level that is switched off, or has ended, as what it stands for."""
    x = settle(x) if type(x) is Array else x
    while isinstance(x, Tensor) and x.level.depth:
        if x.level.off:
            x = x.elem()
        elif not x.level.live:
            x = x.level.release(x, x.level)
        else:
            break
    return x
