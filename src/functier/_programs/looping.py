"""Loops and memories in the source of a program: statements, and lists of what steps make."""

import itertools
import operator
from collections import Counter
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from .._mutation.stores import window_of
from .graph import Form, Graph, Node, instances_in, nodes_in
from .literals import array_text, shape_text
from .loops import Count, Loop, at, is_loop, is_result, memories_of, parts_of_count, times
from .spelling import SPELLINGS
from .stores import add, add_at, get, get_at, memory_of, put, put_at, whole


class Counting(NamedTuple):
    """A counter in the source: it is ``first + way * i`` in step `i` of `count`.

    `way` is 1 or -1. Where the number of steps is a value, `length` is its source, if it is known,
    and the counter begins at 0.
    """

    name: str
    count: int  # type: ignore[assignment]
    first: int = 0
    way: int = 1
    length: str = ""

    def __str__(self) -> str:
        """Return the source of what the counter goes through."""
        if self.length:
            return f"range({self.length})"
        low = self.first if self.way > 0 else self.first - self.count + 1
        text = f"range({low}, {low + self.count})" if low else f"range({self.count})"
        return text if self.way > 0 else f"reversed({text})"


def counting_of(loop: Loop, name: str) -> Counting:
    """Return a counter by which most elements have a plain index."""
    found = Counter([read for read in loop.reads for _ in (0, 1)])
    for node in loop.body.nodes:
        found.update(instances_in((node.args, node.kwargs), Count))
    for count, _ in found.most_common():
        if type(count.start) is int and count.step in (1, -1):
            return Counting(name, loop.count, count.start, count.step)
    return Counting(name, loop.count)


def text_of_count(count: Any, counters: list[Counting]) -> str:
    """Return the source of an integer that grows with counters, the innermost one last."""
    factors, level = [], len(counters)
    while type(count) is Count:
        level -= 1
        factors.append((count.step, counters[level]))
        count = count.start
    terms = []
    for step, counter in factors[::-1]:
        factor = step * counter.way
        count -= factor * counter.first
        if factor:
            terms.append((factor, counter.name))
    text = ""
    for factor, name in sorted(terms, key=lambda term: term[0] < 0):
        own = name if abs(factor) == 1 else f"{abs(factor)} * {name}"
        if not text:
            text = own if factor > 0 else f"{count} - {own}"
            count = count if factor > 0 else 0
        else:
            text += f" {'+' if factor > 0 else '-'} {own}"
    if not text:
        return str(count)
    return f"{text} {'+' if count > 0 else '-'} {abs(count)}" if count else text


def lines_of_loop(source: Any, node: Node) -> list[str]:
    """Return the lines of a loop, and give its results their names."""
    loop: Any = node.func
    carried, elements, rest = loop.parts()
    first, second = len(carried), len(carried) + len(elements)
    for x, arg in zip(rest, node.args[second:]):
        source.names[x] = source.operand(arg)
        source.outside[x] = arg
    lines: list[str] = []
    for x, arg, after in zip(carried, node.args, loop.body.outputs):
        text = source.expr(arg)
        if type(arg) is Node and arg in source.owned and source.uses[arg] == 1:
            source.names[x] = text
        else:
            source.names[x] = source.name_of_carried(after)
            lines.append(f"{source.names[x]} = {text}")
    lists = loop.body.outputs[loop.lasts :]
    source.lists |= dict.fromkeys(lists, "")
    if loop.ends == "arm":
        counting = Counting("", loop.count)  # which the source does not have
    elif loop.ends == "flag":
        counting = Counting(source.numbered(), loop.count)
    elif loop.ends:
        counting = Counting(source.counter(loop), loop.count, length=source.expr(node.args[-1]))
    else:
        counting = counting_of(loop, source.counter(loop))
    source.counters.append(counting)
    inside: list[str] = []
    for x, arg, read in zip(elements, node.args[first:second], loop.reads):
        index = text_of_count(read, source.counters)
        text = source.sequence(arg)
        last = source.takes_out(x) and is_last(source, arg, node, read)
        if last:
            source.taken_out.add(x)
        inside += source.element(x, f"{text}.pop()" if last else f"{text}[{index}]", arg)
    inside += [source.appended(x) for x in loop.body.inputs if x in source.lists]
    for x, after in zip(carried, loop.body.outputs):
        source.wanted.setdefault(after, source.names[x])
    inside += source.block(loop.body, carried)
    pairs = [(source.names[x], source.names[y]) for x, y in zip(carried, loop.body.outputs)]
    pairs = [(x, y) for x, y in pairs if x != y]
    results = [source.names[x] for x in carried]
    changing = {x for x, _ in pairs}
    for y in loop.body.outputs[first : loop.lasts]:
        if y not in source.owned or source.names[y] in changing:
            text, source.names[y] = source.names[y], source.name_of_carried(y)
            inside.append(f"{source.names[y]} = {text}")
        results.append(source.names[y])
    if pairs:
        inside.append(f"{', '.join([x for x, _ in pairs])} = {', '.join([y for _, y in pairs])}")
    source.counters.pop()
    made = [source.lists[y] for y in lists]
    source.results[node] = [*results, *made]
    lines += [f"{name} = []" for name in made]
    if loop.ends == "arm":
        lines.append(f"if {source.names[rest[0]]}:")
        inside = inside or ["pass"]
    elif loop.ends == "flag":
        source.results[node].append(counting.name)
        lines += [f"{counting.name} = 0", f"while {results[0]}:"]
        inside.append(f"{counting.name} += 1")
    else:
        lines.append(f"for {counting.name} in {counting}:")
    return [*lines, *[f"    {line}" for line in inside]]


def cut_early(source: Any, values: Node) -> list[str]:
    """Return the line that drops the end of a list, if that loop which reads it last does not
    begin with it.
    """
    nodes, place = source.graphs[-1].nodes, source.latest.get(values, -1)
    if not 0 <= place < len(nodes) or not is_loop(nodes[place]):
        return []
    node = nodes[place]
    for x, arg, read in zip(node.func.parts()[1], node.args[node.func.carried :], node.func.reads):
        if arg is values and source.takes_out(x) and is_last(source, arg, node, read):
            if read.start < arg.form.count - 1:
                return [f"del {source.names[values]}[{read.start + 1}:]"]
    return []


def is_last(source: Any, values: Any, loop: Node, read: Count) -> bool:
    """Return whether nobody reads a list after a loop, which takes its elements from the end on.

    Where the loop does not begin with the last one, nobody else may read the list before it. A list
    in a list, and that of a last step, are left alone: others may have them, too.
    """
    return (
        type(values) is Node and is_result(values) and type(read.start) is int
        and values.args[1] >= values.args[0].func.lasts
        and read.step == -1 and source.latest[values] == loop.number
        and sum([x is values for x in loop.args]) == 1
        and (read.start == values.form.count - 1 or source.uses[values] == 1)
    )  # fmt: skip


def result_of_loop(source: Any, node: Node) -> str:
    """Return the name of a result of a loop, or ""."""
    if not is_result(node):
        return ""
    return source.results[node.args[0]][node.args[1]]


ndarray = np.ndarray


def inside(node: Node, memory: Node) -> list[Node]:
    """Return an effect, or those of a loop on a memory."""
    if not is_loop(node):
        return [node]
    loop: Any = node.func
    own = [x for x, arg in zip(loop.body.inputs, node.args) if arg is memory]
    found = []
    for x in loop.body.nodes:
        if is_loop(x):
            found += [y for z in own for y in inside(x, z)]
        elif x.memory and x.args and x.args[0] in own:
            found.append(x)
    return found


class Memories:
    """The memories of a graph as a person sees them, in the `outer` one of those around it.

    `outside` has what the inputs of the graph are there.

    Attributes
    ----------
    shapes : dict
        For each memory the shape that its array is written with.
    starts : dict
        For each memory the write that fills it at first, which makes the array.
    skipped : set
        Nodes that need no line: makings of such memories, and writes that are overwritten.
    """

    def __init__(self, graph: Graph, outer: Any = None, outside: Any = ()):
        pairs = [(x, outside[x]) for x in graph.inputs if x in outside]
        inputs = {x: outer.shapes[arg] for x, arg in pairs if arg in outer.shapes}
        self.shapes: dict[Node, tuple[int, ...]] = {**inputs}
        self.starts: dict[Node, Node] = {}
        self.skipped: set[Node] = set()
        effects: dict[Node, list[Node]] = {node: [] for node in inputs}
        for node in graph.nodes:
            if node.memory and node.func is memory_of:
                effects[node] = []
            elif node.memory and node.args and node.args[0] in effects:
                effects[node.args[0]].append(node)
            elif is_loop(node):
                for memory in memories_of(node) & effects.keys():
                    effects[memory].append(node)
        for memory, own in effects.items():
            if memory in inputs:
                continue
            self.shapes[memory] = shape_of(memory, [x for y in own for x in inside(y, memory)])
            whole = 0
            while whole < len(own) and own[whole].func is put and is_whole(own[whole]):
                whole += 1
            if whole:
                self.starts[memory] = own[whole - 1]
                self.skipped |= {memory, *own[: whole - 1]}


def is_whole(node: Node) -> bool:
    """Return whether a write fills a memory."""
    memory, layout, parts = node.args[:3]
    return parts is None and is_contiguous(layout) and layout[0] == 0 and (
        int(np.prod(layout[1])) == memory.form.shape[0]
    )  # fmt: skip


def is_contiguous(layout: Any) -> bool:
    step = 1
    for n, stride in zip(reversed(layout[1]), reversed(layout[2])):
        if stride != step:
            return False
        step *= n
    return True


def shape_of(memory: Node, effects: list[Node]) -> tuple[int, ...]:
    """Return the shape in which a memory is written out: that of its first whole array."""
    flat = memory.form.shape
    for node in effects:
        if len(node.args) > 2 and type(node.args[1]) is tuple:
            offset, shape, _ = node.args[1]
            whole = offset == 0 and int(np.prod(shape)) == flat[0] and is_contiguous(node.args[1])
            if whole and shape != flat:
                return shape
    return flat


def index_of(shape: tuple[int, ...], layout: Any) -> tuple | None:
    """Return the basic index of an array of `shape` that shows a layout; None if there is none."""
    offset, window, strides = layout
    steps, size = [], 1
    for n in reversed(shape):
        steps.append(size)
        size *= n
    steps.reverse()
    if not size or 0 in window:
        return None
    index: list[Any] = []
    axis = 0
    for n, step in zip(shape, steps):
        start = offset // step % n
        if axis < len(window) and window[axis] > 1 and strides[axis] % step == 0:
            jump = strides[axis] // step
            stop = start + (window[axis] - 1) * jump
            if jump > 0 and stop < n:
                stop += 1
                index.append(
                    slice(start or None, None if stop == n else stop, None if jump == 1 else jump)
                )
                axis += 1
                continue
        left = len(window) - axis
        if left and window[axis] == 1 and left >= len(shape) - len(index):
            index.append(slice(start or None, None if start + 1 == n else start + 1))
            axis += 1
            continue
        index.append(start)
    while index and index[-1] == slice(None):
        index.pop()
    return tuple(index) if shows(shape, tuple(index), layout) else None


def index_of_steps(shape: tuple[int, ...], layout: Any, counts: Sequence[int]) -> tuple | None:
    """Return the index for a place that moves with the steps of loops, if there is one.

    `counts` are the numbers of their steps, that of the innermost loop last.
    """
    depth = len(parts_of_count(layout[0])[1])
    counts = counts[len(counts) - depth :]
    corners = [*itertools.product(*[(0, n - 1) for n in counts])]
    units = [tuple([int(k == n) for k in range(len(counts))]) for n in range(len(counts))]
    known = {now: ends_of(shape, layout, now) for now in {*corners, *units}}
    if any([ends is None for ends in known.values()]):
        return None
    first: Any = known[corners[0]]
    found = []
    for k, axis in enumerate(first):
        ends = []
        for j, x in enumerate(axis):
            steps = [known[unit][k][j] - x for unit in units]  # type: ignore[index]
            for now, other in known.items():
                if other[k][j] != x + sum(map(operator.mul, steps, now)):  # type: ignore[index]
                    return None
            ends.append(nested(x, steps))
        found.append(ends[0] if len(ends) == 1 else slice(*ends))
    return tuple(found)


def nested(start: int, steps: Sequence[int]) -> Any:
    """Return an integer that grows with some loops, if it does."""
    found: Any = start
    for step in steps:
        found = Count(found, step)
    return found if any(steps) else start


def ends_of(shape: tuple[int, ...], layout: Any, now: tuple[int, ...]) -> list | None:
    """Return the numbers in the index of a place at some steps, for each axis of an array."""
    index = index_of(shape, (at(layout[0], now), *layout[1:]))
    if index is None or any([type(x) is slice and x.step is not None for x in index]):
        return None
    whole = [*index, *[slice(None)] * (len(shape) - len(index))]
    return [
        (x.start or 0, n if x.stop is None else x.stop) if type(x) is slice else (x,)
        for x, n in zip(whole, shape)
    ]  # fmt: skip


def shows(shape: tuple[int, ...], index: tuple, layout: Any) -> bool:
    """Return whether an index of an array gives the window of a layout."""
    probe = np.empty(shape, np.int8)
    found = probe[index] if index else probe
    if type(found) is not ndarray:
        found = probe[(*index, ...)]
    start = found.__array_interface__["data"][0] - probe.__array_interface__["data"][0]
    offset, window, strides = layout
    return found.shape == window and start == offset and all(
        [n == 1 or a == b for n, a, b in zip(window, found.strides, strides)]
    )  # fmt: skip


def part_of(source: Any, memory: Node, layout: Any, parts: Any) -> str:
    """Return the expression of a part of a memory as a view; "" where it is not simple."""
    name, shape = source.names[memory], source.memories.shapes[memory]
    if parts is not None:
        if type(layout[0]) is Count or instances_in(parts, Count) or any(nodes_in(parts)):
            return ""
        flat = np.empty(memory.form.shape, np.int8)
        view = window_of(flat, layout)[whole(parts)]
        start = view.__array_interface__["data"][0] - flat.__array_interface__["data"][0]
        layout = (start, view.shape, view.strides)
        if not view.size:
            layout = 0, view.shape, (0,) * view.ndim
    if type(layout[0]) is Count:
        counts = [counter.count for counter in source.counters]
        index = index_of_steps(shape, layout, counts)
    else:
        index = index_of(shape, layout)
    if index is None:
        return ""
    return f"{name}[{source.index(index)}]" if index else name


# ---- effects as statements ----


def _start(source: Any, node: Node) -> list[str] | None:
    """Return the lines that make an array with its first content."""
    memory, layout, _, value = node.args
    name, shape, dtype = source.names[memory], source.memories.shapes[memory], memory.form.dtype
    kind = "" if dtype == np.float64 else f", {source.expr(dtype)}"
    if type(value) is Node and type(value.form) is Form:
        same = value.form.dtype == dtype and value.form.shape == shape == layout[1]
        if same and value.form.kind is ndarray:
            return [f"{name} = {source.expr(value)}.copy()"]
    elif type(value) is ndarray and value.dtype == dtype and value.size == memory.form.shape[0]:
        text = array_text(value.reshape(shape))
        return [f"{name} = {text or f'{source.expr(value)}.reshape({shape}).copy()'}"]
    elif isinstance(value, (int, float)) and type(value) in (int, float, bool):
        text = array_text(np.full(shape, value, dtype)) if shape else ""
        return [f"{name} = {text or f'np.full({shape_text(shape)}, {source.expr(value)}{kind})'}"]
    target = name if layout[1] == shape else f"{name}.reshape({layout[1]})"
    return [
        f"{name} = np.empty({shape_text(shape)}{kind})",
        f"{target}[...] = {source.expr(value)}",
    ]


def _memory(source: Any, node: Node) -> list[str]:
    shape, dtype = source.memories.shapes[node], node.form.dtype
    kind = "" if dtype == np.float64 else f", {source.expr(dtype)}"
    return [f"{source.names[node]} = np.empty({shape_text(shape)}{kind})"]


def _window(source: Any, node: Node) -> str:
    """Return the expression of the window of an effect, as a view."""
    memory, layout = node.args[:2]
    text = part_of(source, memory, layout, None)
    if text:
        return text
    offset, shape, strides = layout
    name, size = source.names[memory], memory.form.dtype.itemsize
    steps = tuple([n * size for n in strides])
    kind = source.expr(memory.form.dtype)
    return f"np.ndarray({shape}, {kind}, {name}, {source.expr(times(offset, size))}, {steps})"


def _target(source: Any, node: Node) -> tuple[str, bool]:
    """Return the expression of what an effect reads or writes, and if it has an index."""
    memory, layout, parts = node.args[:3]
    text = part_of(source, memory, layout, parts)
    if text:
        return text, text.endswith("]")
    window = _window(source, node)
    return (f"{window}[{source.index(parts)}]", True) if parts else (window, False)


def _get(source: Any, node: Node) -> list[str]:
    text, at_index = _target(source, node)
    own, kind = source.names[node], node.form.kind
    if kind is not ndarray:
        number = at_index and node.args[2] is not None and "..." not in text
        return [f"{own} = {text if number else f'{text}[()]'}"]
    if not node.form.shape:
        return [f"{own} = np.array({text})"]
    return [f"{own} = {text}.copy({'' if part_of(source, *node.args) else repr('K')})"]


def _put(source: Any, node: Node) -> list[str] | None:
    if source.memories.starts.get(node.args[0]) is node:
        return _start(source, node)
    text, indexed = _target(source, node)
    value = source.expr(node.args[3])
    return [f"{text if indexed else f'{text}[...]'} = {value}"]


def _add(source: Any, node: Node) -> list[str]:
    text, indexed = _target(source, node)
    if not indexed and not text.isidentifier():
        text = f"{text}[...]"
    return [f"{text} += {source.expr(node.args[3])}"]


def _flat(source: Any, memory: Node) -> str:
    name = source.names[memory]
    return name if len(source.memories.shapes[memory]) == 1 else f"{name}.reshape(-1)"


def _get_at(source: Any, node: Node) -> list[str]:
    memory, places = node.args
    return [f"{source.names[node]} = {_flat(source, memory)}[{source.expr(places)}]"]


def _put_at(source: Any, node: Node) -> list[str]:
    memory, places, value = node.args
    return [f"{_flat(source, memory)}[{source.expr(places)}] = {source.expr(value)}"]


def _add_at(source: Any, node: Node) -> list[str]:
    memory, places, value = node.args
    where, what = source.expr(places), source.expr(value)
    spread = f"np.broadcast_to({what}, np.shape({where}))"
    return [f"np.add.at({_flat(source, memory)}, {where}, {spread})"]


SPELLINGS.update({
    memory_of: _memory, get: _get, put: _put, add: _add,
    get_at: _get_at, put_at: _put_at, add_at: _add_at,
})  # fmt: skip
