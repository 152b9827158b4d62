"""Calls that join arrays, split them, and put parts in or take them out."""

from typing import Any

from ..draw import Draw, Ref, Step, recipe


def with_length(d: Draw, shape: tuple, axis: int) -> tuple:
    """`shape` with another length along an axis."""
    found = list(shape)
    if -len(shape) <= axis < len(shape):
        found[axis] = d.size()
    return tuple(found)


@recipe("np.concatenate np.concat")
def concatenate(d: Draw, name: str) -> Step:
    x = d.x(nd=(1, 3))
    axis = d.axis(d.nd(x))
    if d.chance(0.15):
        return Step(name, ([x, d.new()],), {"axis": None})
    others = [d.new(with_length(d, d.form(x), axis)) for _ in range(d.int(0, 2))]
    parts: Any = [x, *others, *([x] if d.chance(0.2) else [])]
    parts = tuple(parts) if d.chance(0.5) else parts
    kwargs: dict[str, Any] = {"axis": axis}
    if d.chance(0.08):
        kwargs |= {"dtype": Ref("np.complex128"), "casting": "unsafe"}
    return Step(name, (parts,), kwargs)


@recipe("np.stack")
def stack(d: Draw, name: str) -> Step:
    x = d.x(nd=(0, 2))
    others = [d.new(d.form(x)) for _ in range(d.int(0, 2))]
    axis = d.int(-d.nd(x) - 1, d.nd(x))
    return Step(name, ([x, *others],), {"axis": axis} if d.chance(0.7) else {})


@recipe("np.hstack np.vstack np.dstack np.column_stack")
def stacks(d: Draw, name: str) -> Step:
    x = d.x(nd=(0, 3) if name != "np.column_stack" else (1, 2))
    shape = d.form(x)
    if d.chance(0.4) and shape:
        axis = {"np.hstack": 1 if len(shape) > 1 else 0, "np.vstack": 0}.get(name, 1)
        shape = with_length(d, shape, axis) if len(shape) > 1 else shape
    return Step(name, ([x, *(d.new(shape) for _ in range(d.int(0, 2)))],))


@recipe("np.append")
def append(d: Draw, name: str) -> Step:
    x = d.x()
    if d.chance(0.4) or not d.nd(x):
        return Step(name, (x, d.new() if d.chance(0.7) else 1.5))
    axis = d.axis(d.nd(x))
    return Step(name, (x, d.new(with_length(d, d.form(x), axis))), {"axis": axis})


@recipe("np.block")
def block(d: Draw, name: str) -> Step:
    x = d.x(nd=(2, 2))
    n, m = d.form(x)
    right, bottom, corner = d.new((n, 2)), d.new((1, m)), d.new((1, 2), "f")
    if d.chance(0.5):
        return Step(name, ([[x, right], [bottom, corner]],))
    return Step(name, ([x, right],))


@recipe("np.split np.array_split np.hsplit np.vsplit np.dsplit np.unstack")
def split(d: Draw, name: str) -> Step:
    low = {"np.vsplit": 2, "np.dsplit": 3}.get(name, 1)
    x = d.x(nd=(low, 3))
    if name == "np.unstack":
        return Step(name, (x,), {"axis": d.axis(d.nd(x))} if d.chance(0.7) else {})
    parts: Any = d.pick(1, 2, 3, [1], [1, 2], [-1], [2, 5], [])
    if name in ("np.split", "np.array_split") and d.chance(0.7):
        return Step(name, (x, parts), {"axis": d.axis(d.nd(x))})
    return Step(name, (x, parts))


@recipe("np.insert")
def insert(d: Draw, name: str) -> Step:
    x = d.x(nd=(1, 3))
    if d.chance(0.25):
        return Step(name, (x, d.int(0, d.value(x).size), d.pick(1.5, d.new((), "f"))))
    axis = d.axis(d.nd(x))
    shape = d.form(x)
    n = shape[axis] if -len(shape) <= axis < len(shape) else 0
    where: Any = d.int(-n, n)
    kind = d.rng.random()
    if kind < 0.3:
        where = [d.int(-n, n) for _ in range(d.int(1, 3))]
    elif kind < 0.4:
        where = Ref(d.pick("slice(None, None, 2)", "slice(1, 3)"))
    values: Any = d.pick(2.5, d.new((), "fc"), d.new((1,) * len(shape), "f"))
    if isinstance(where, int) and d.chance(0.4) and n:
        values = d.new([m for i, m in enumerate(shape) if i != axis % len(shape)], "f")
    return Step(name, (x, where, values), {"axis": axis})


@recipe("np.delete")
def delete(d: Draw, name: str) -> Step:
    x = d.x(nd=(1, 3))
    axis: Any = d.axis(d.nd(x)) if d.chance(0.75) else None
    shape = d.form(x)
    n = d.value(x).size
    if axis is not None:
        n = shape[axis] if -len(shape) <= axis < len(shape) else 0
    what: Any = d.int(-n, max(n - 1, 0))
    kind = d.rng.random()
    if kind < 0.4:
        what = [d.int(-n, max(n - 1, 0)) for _ in range(d.int(0, 3))]
    elif kind < 0.6:
        what = Ref(d.pick("slice(None, None, 2)", "slice(1, None)", "slice(None, None, -1)"))
    return Step(name, (x, what), {"axis": axis} if axis is not None else {})


@recipe("np.trim_zeros")
def trim_zeros(d: Draw, name: str) -> Step:
    x = d.x(nd=(1, 1), style="zeros")
    return Step(name, (x,), {"trim": d.pick("f", "b", "fb")} if d.chance(0.5) else {})
