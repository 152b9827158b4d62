"""show_levels: the tree of levels of a call, and the operations that each level handled.

A level that begins gets a layer, as under `debug_nans` (NOTE [watched levels] in `_watching`): the
fast paths pass each call on to `Level.function`, which counts it here. An operation of the user
goes to the innermost level; its rule makes calls on values one level out, which the next level
counts.
"""

import textwrap
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextvars import ContextVar
from typing import Any, overload

from .._core.blocks import Block, Observer, block
from .._core.cards import Box, picture
from .._core.pytree import check_callable
from .._core.root import classes_in
from .._core.table import find
from .._levels.conversions import facts_of
from .._levels.level import Level
from .._levels.lineage import AMBIENT, levels_of
from .._levels.states import Layer, next_layer
from ._calls import title

WIDTH = 72
"""The greatest number of letters in a line of a picture."""

SEEN: ContextVar["Recording | None"] = ContextVar("seen", default=None)


class LevelNode:
    """A level in the tree: how often it began, and how often it handled each function."""

    def __init__(self, name: str, facts: str = ""):
        self.name, self.facts, self.times = name, facts, 0
        self.calls: Counter[str] = Counter()
        self.inner: dict[str, LevelNode] = {}

    @property
    def title(self) -> str:
        """The name, what the level does, and how often it began if that is more than once."""
        times = f"  {self.times} times" if self.times > 1 else ""
        return f"{self.name}{'  ' + self.facts if self.facts else ''}{times}"

    @property
    def handled(self) -> str:
        """The functions that the level handled, the commonest first."""
        found = sorted(self.calls.items(), key=lambda item: (-item[1], item[0]))
        names = [(name.removeprefix("numpy."), n) for name, n in found]
        return ", ".join([name if n == 1 else f"{name} {n}" for name, n in names])

    def box(self) -> Box:
        """Return the node as a box of a picture."""
        inner = [node.box() for node in self.inner.values()]
        return [self.title, *textwrap.wrap(self.handled, WIDTH)], inner

    def lines(self, first: str = "", rest: str = "") -> Iterator[str]:
        """Yield the lines of the tree as text."""
        yield f"{first}{self.title}{': ' + self.handled if self.calls else ''}"
        nodes = list(self.inner.values())
        for node in nodes:
            last = node is nodes[-1]
            yield from node.lines(
                rest + ("└─ " if last else "├─ "), rest + ("   " if last else "│  ")
            )


class LevelTree:
    """The levels of a call: see `show_levels`."""

    def __init__(self, root: LevelNode, result: Any):
        self.root, self.result = root, result

    def __repr__(self) -> str:
        return "\n".join(self.root.lines())

    def _repr_svg_(self) -> str:
        return picture(self.root.box())


class Recording:
    """The nodes of the tree that a context sees, by the levels that are live."""

    def __init__(self) -> None:
        self.root = LevelNode("Tensor", "plain arrays")
        self.nodes: dict[int, tuple[Any, LevelNode]] = {}
        self.lock = threading.RLock()  # an executor's threads share it

    def begin(self, level: Any) -> LevelNode:
        """Return the node of a level that begins; levels of one name share one."""
        outer = [one for one in levels_of(level.cls) if one is not level]
        parent = self.node(outer[0]) if outer else self.root
        node = parent.inner.setdefault(level.label, LevelNode(level.label))
        node.times += 1
        node.facts = "" if level.kind.batches else facts_of(level)
        self.nodes[id(level)] = level, node
        return node

    def node(self, level: Any) -> LevelNode:
        """Return the node of a live level."""
        known = self.nodes.get(id(level))
        return self.begin(level) if known is None else known[1]

    def note(self, level: Any, func: Callable) -> None:
        """Count a call at a level."""
        with self.lock:
            node = self.node(level)
            if level.kind.batches:  # whose size is known now
                for one in level.kind.group(level):
                    self.node(one).facts = facts_of(one)
            node.calls[title(func)] += 1


class Shown(Level):
    """The behaviour of levels that are shown: they count the calls that they handle."""

    def function(self, func: Callable, args: tuple, kwargs: dict) -> Any:
        seen = SEEN.get()
        if seen is not None:
            op = find(func)
            if op is None or op.body is None:  # whose parts come as calls
                inner: Any = (*classes_in(*args, *kwargs.values()), self.cls)[0]
                seen.note(inner.level if issubclass(inner, self.cls) else self, func)
        return next_layer(Shown, self).function(func, args, kwargs)


SHOWING = Layer("Shown", 2, lambda kind: Shown)


def _show_level(level: Any) -> None:
    """Show a level that begins, if this context looks."""
    seen = SEEN.get()
    if seen is not None:
        SHOWING.lay(level)
        with seen.lock:
            seen.begin(level)


SHOWER = Observer(SEEN, SHOWING.lift, level=_show_level)


@block
def _showing(seen: Recording) -> Iterator[LevelTree]:
    body = SHOWER.observing(seen, levels_of(AMBIENT.get())[::-1])
    try:
        next(body)
        yield LevelTree(seen.root, None)
    finally:
        body.close()


@overload
def show_levels() -> Block[LevelTree]: ...
@overload
def show_levels(func: Callable, /, *args: Any, **kwargs: Any) -> LevelTree: ...
def show_levels(func: Callable | None = None, /, *args: Any, **kwargs: Any) -> Any:
    """Call a function, and return the tree of its levels with the operations of each.

    Parameters
    ----------
    func : callable, optional
        A transform of a function, such as ``vmap(grad(loss))``, or a function that calls
        transforms. Without it, the result is a context manager that gives the tree of the levels
        in a block.
    *args, **kwargs
        Its arguments.

    Returns
    -------
    LevelTree
        Printed, it is a tree as text: a line for each level with its batch size or its mode, how
        often it began, and how often it handled each NumPy function. A notebook shows a picture.
        ``result`` is what `func` returned. ``root`` is the node for the code outside all levels;
        each node has a ``name``, ``facts``, ``times``, ``calls``, and ``inner``, the nodes of the
        levels inside it.

    Notes
    -----
    An operation goes to the innermost level among its operands. The rule of that level makes calls
    on the values one level out, which the level there handles, and so on. So an operation inside
    ``vmap(grad(f))`` is counted at ``grad(f)``, and the calls of its derivative rule at the level
    of `vmap`. Calls that reach plain arrays are not counted, and neither are writes. Inside the
    call, all operations take the slow paths. A function that `functier.compile` made runs as it is,
    as under any debugger.

    Examples
    --------
    >>> import numpy as np
    >>> import functier as ft
    >>> def loss(w, x):
    ...     return np.sum(np.tanh(x @ w))
    >>> tree = show_levels(ft.vmap(ft.grad(loss), (None, 0)), np.ones(3), np.ones((5, 3)))
    >>> print(tree)
    Tensor  plain arrays
    └─ vmap(loss)  5 examples: multiply 3, matmul, subtract, sum, tanh
       └─ grad(loss)  reverse mode: matmul, sum, tanh
    >>> tree.result.shape
    (5, 3)
    >>> with show_levels() as tree, ft.vmap() as B:
    ...     total = B.unwrap(np.sum(B(np.ones((2, 3)))))
    >>> print(tree)
    Tensor  plain arrays
    └─ vmap()  2 examples: sum
    """
    seen = Recording()
    if func is None and not args and not kwargs:
        return _showing(seen)
    check_callable("show_levels", func)
    call: Any = func
    with _showing(seen) as tree:
        tree.result = call(*args, **kwargs)
    return tree
