"""Reading by index in all its forms, and the functions that choose elements."""

from typing import Any

from ..draw import Draw, Ref, Step, Unfit, recipe


def piece(d: Draw, n: int) -> str:
    """A slice of an axis of length `n`."""
    low = d.pick("", "", d.int(-n - 1, n + 1))
    high = d.pick("", "", d.int(-n - 1, n + 1))
    step = d.pick("", "", ":2", ":-1", ":-2", ":1")
    return f"{low}:{high}{step}"


def one_axis(d: Draw, n: int, arrays: list, varies: bool) -> str:
    """An index of one axis of length `n`; `arrays` has the shape of those before.

    `varies`: an index may be an operand, as the array is one.
    """
    kind = d.rng.random()
    if kind < 0.35:
        return piece(d, n)
    if kind < 0.6 or not n:
        return str(d.int(-n, max(n - 1, 0))) if n else ":"
    if kind < 0.75:
        shape = arrays[0] if arrays and d.chance(0.8) else d.pick((2,), (3,), (1,), (2, 2), (0,))
        arrays.append(shape)
        return str(d.rng.integers(-n, n, shape).tolist()) if 0 not in shape else "np.zeros(0, int)"
    if kind < 0.9:
        shape = arrays[0] if arrays and d.chance(0.8) else d.pick((2,), (3,), (1,), ())
        arrays.append(shape)
        if not varies:
            return str(d.rng.integers(-n, n, shape).tolist())
        return repr(d.new(shape, "i", f"{-n}:{n}", needs=d.main))
    if arrays:
        return ":"
    mask = [bool(d.chance(0.5)) for _ in range(n)]
    arrays.append((sum(mask),))
    return f"np.array({mask})"


@recipe("x[index]")
def getitem(d: Draw, name: str) -> Step:
    x = d.x(nd=(0, 3))
    shape = d.form(x)
    if d.chance(0.06):
        mask = d.mask(shape[: d.int(0, len(shape))], constant=True, shared=True)
        return Step("{0}[{1}]", (x, mask))
    parts, arrays = [], []  # type: ignore[var-annotated]
    used = d.int(0, len(shape))
    cut = d.int(0, used) if d.chance(0.3) else None
    for i in range(used):
        if i == cut:
            parts.append("...")
        axis = i if cut is None or i < cut else len(shape) - used + i
        parts.append(one_axis(d, shape[axis], arrays, x.text == d.main))
    if d.chance(0.25):
        parts.insert(d.int(0, len(parts)), "None")
    if not parts:
        parts = [d.pick("()", "...", "None")]
    return Step("{0}[" + ", ".join(parts).replace("{", "").replace("}", "") + "]", (x,))


@recipe("np.take")
def take(d: Draw, name: str) -> Step:
    x = d.x(nd=(1, 3))
    axis: Any = d.axis(d.nd(x)) if d.chance(0.7) else None
    shape = d.form(x)
    n = d.value(x).size
    if axis is not None:
        n = shape[axis] if -len(shape) <= axis < len(shape) else 1
    if not n:  # NumPy looks at no index where the result has no element
        raise Unfit
    kwargs: dict[str, Any] = {"axis": axis} if axis is not None else {}
    wild = d.chance(0.3)
    if wild:
        kwargs["mode"] = d.pick("wrap", "clip")
    style = f"{-2 * n - 2}:{2 * n + 2}" if wild else f"{-n}:{n}"
    method = d.chance(0.2)
    facts = {"needs": d.main}  # `np.take` does not dispatch on the index
    literal = x.text != d.main or d.chance(0.3)
    shape = d.pick((), (2,), (2, 3), (1,), (0,))
    if literal:
        index: Any = [d.int(-n, max(n - 1, 0)) for _ in range(d.int(1, 3))]
        index = index if len(index) > 1 else index[0]
    else:
        index = d.new(shape, "i", style, dtype="int64", **facts)
    return Step(f"{x}.take", (index,), kwargs) if method else Step(name, (x, index), kwargs)


@recipe("np.take_along_axis")
def take_along_axis(d: Draw, name: str) -> Step:
    x = d.x(nd=(1, 3))
    axis: Any = d.axis(d.nd(x))
    shape = list(d.form(x))
    n = shape[axis] if -len(shape) <= axis < len(shape) else 1
    if n != 1 or shape:
        other = [m if d.chance(0.8) else 1 for m in shape]
        if -len(shape) <= axis < len(shape):
            other[axis] = d.int(0, 4)
    index = d.new(other, "i", f"{-n}:{n}", dtype="int64")
    if d.chance(0.15):
        index = Ref(f"np.argsort({x}, axis={axis})")
    return Step(name, (x, index), {"axis": axis})


@recipe("np.where")
def where(d: Draw, name: str) -> Step:
    x = d.x()
    mask = d.mask(d.over(d.form(x))) if d.chance(0.7) else Ref(f"({x} == {x})")
    y: Any = d.like(x, "fcib") if d.chance(0.7) else d.pick(0, 1.5)
    return Step(name, (mask, x, y) if d.chance(0.6) else (mask, y, x))


@recipe("np.select np.piecewise")
def select(d: Draw, name: str) -> Step:
    x = d.x(kinds="fi")
    if name == "np.piecewise":
        funcs = d.pick(
            "[np.sin, np.square]", "[np.negative, 0.5]", "[lambda v: v * v, np.exp, np.cos]"
        )
        return Step(name, (x, [Ref(f"{x} < 0"), Ref(f"{x} > 0.5")], Ref(funcs)))
    masks = [d.mask(d.sub(d.form(x))), Ref(f"{x} > 0.3")]
    kwargs = {"default": 1.5} if d.chance(0.4) else {}
    return Step(name, (masks, [x, d.new(d.sub(d.form(x)), dtype=d.value(x).dtype)]), kwargs)


@recipe("np.choose")
def choose(d: Draw, name: str) -> Step:
    x = d.x(kinds="fci")
    index = d.new(d.over(d.form(x)), "i", "0:3")
    kwargs = {"mode": d.pick("wrap", "clip")} if d.chance(0.4) else {}
    return Step(name, (index, [x, d.like(x, "fci"), d.new((), "f")]), kwargs)


@recipe("np.compress np.extract")
def compress(d: Draw, name: str) -> Step:
    x = d.x(nd=(1, 3))
    if name == "np.extract":
        return Step(name, (d.mask(d.form(x), constant=True, shared=True), x))
    axis: Any = d.axis(d.nd(x)) if d.chance(0.7) else None
    shape = d.form(x)
    n = d.value(x).size
    if axis is not None:
        n = shape[axis] if -len(shape) <= axis < len(shape) else 1
    mask = [d.chance(0.5) for _ in range(max(n - d.int(0, 1), 0))]
    return Step(name, (mask, x), {"axis": axis} if axis is not None else {})


@recipe("np.interp")
def interp(d: Draw, name: str) -> Step:
    x = d.x(nd=(0, 2), kinds="f")
    n = d.int(1, 5)
    xp = d.new((n,), "f", "sorted", dtype="float64")
    fp = d.new((n,), "fc", "normal")
    kwargs = {"left": -1.0, "right": 2.0} if d.chance(0.3) else {}
    if d.chance(0.15):
        kwargs = {"period": 1.7}
    return Step(name, (x, xp, fp), kwargs)


@recipe("np.digitize np.searchsorted")
def bins(d: Draw, name: str) -> Step:
    x = d.x(nd=(0, 2), kinds="fi")
    edges = d.new((d.int(0, 5),), "f", "sorted", dtype="float64")
    if name == "np.digitize":
        return Step(name, (x, edges), {"right": True} if d.chance(0.4) else {})
    return Step(name, (edges, x), {"side": "right"} if d.chance(0.4) else {})


@recipe("np.bincount")
def bincount(d: Draw, name: str) -> Step:
    n = d.int(0, 5)
    weights = d.x(nd=(1, 1), kinds="fi")
    x = d.new(d.form(weights), "i", "0:4", shared=True)
    return Step(name, (x,), {"weights": weights, "minlength": n})


@recipe("np.histogram np.histogram_bin_edges")
def histogram(d: Draw, name: str) -> Step:
    x = d.x(nd=(1, 2), kinds="fi")
    kwargs: dict[str, Any] = {"bins": d.pick(2, 3, 4)}
    if d.chance(0.6):
        kwargs["range"] = d.pick((-2.0, 2.0), (0.0, 1.0))
    if d.chance(0.3) and name == "np.histogram":
        kwargs["density"] = True
    if d.chance(0.5):
        kwargs["weights"] = d.new(d.form(x), "fi", "positive")
    return Step(name, (x,), kwargs)


@recipe("np.histogram2d np.histogramdd")
def histograms(d: Draw, name: str) -> Step:
    n = d.int(1, 5)
    kwargs: dict[str, Any] = {"bins": d.pick(2, 3, (2, 3))}
    if d.chance(0.5):
        kwargs["range"] = [(-2.0, 2.0), (-1.0, 1.0)]
    if d.chance(0.5):
        kwargs["weights"] = d.new((n,), "f", "positive")
    if d.chance(0.2):
        kwargs["density"] = True
    if name == "np.histogramdd":
        return Step(name, (d.x(nd=(2, 2), kinds="f", shape=(n, 2)),), kwargs)
    return Step(name, (d.x(nd=(1, 1), kinds="f", shape=(n,)), d.new((n,), "f")), kwargs)


@recipe("np.ravel_multi_index np.unravel_index")
def multi(d: Draw, name: str) -> Step:
    shape = d.shape((0, 2))
    if name == "np.unravel_index":
        return Step(name, (d.x(kinds="i", style="0:12", shape=shape), (3, 4)))
    first = d.x(kinds="i", style="0:3", shape=shape)
    return Step(name, ((first, d.new(shape, "i", "0:4")), (3, 4)))


@recipe("np.packbits np.unpackbits")
def bits(d: Draw, name: str) -> Step:
    kwargs: dict[str, Any] = {}
    if name == "np.packbits":
        x = d.x(nd=(1, 3), kinds="b")
    else:
        x = (
            d.new(d.shape((1, 3)), style="0:256", dtype="uint8")
            if d.before is None
            else d.x(kinds="u")
        )
    if d.chance(0.7):
        kwargs["axis"] = d.axis(d.nd(x))
    if d.chance(0.3):
        kwargs["bitorder"] = "little"
    return Step(name, (x,), kwargs)


@recipe("np.nonzero np.argwhere np.flatnonzero")
def nonzero(d: Draw, name: str) -> Step:
    return Step(name, (d.x(nd=(1, 3), style="zeros"),))
