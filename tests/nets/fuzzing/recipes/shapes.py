"""Calls that change the form of an array."""

from typing import Any

from ..draw import Draw, Ref, Step, recipe


@recipe("np.reshape")
def reshape(d: Draw, name: str) -> Step:
    x = d.x()
    size = d.value(x).size
    shapes = [(size,), (-1,), (1, size), (size, 1), (size, 1, 1)]
    for n in (2, 3, 4, 5):
        if size % n == 0 and size:
            shapes += [(n, size // n), (size // n, -1), (-1, n), (n, 1, size // n)]
    shape: Any = d.pick(*shapes) if d.chance(0.95) else (2, 7)
    if len(shape) == 1 and d.chance(0.5):
        shape = shape[0]
    kwargs = {"order": d.pick("F", "C")} if d.chance(0.25) else {}
    if d.chance(0.3):
        if d.chance(0.5) and isinstance(shape, tuple):
            return Step(f"{x}.reshape", shape, kwargs)
        return Step(f"{x}.reshape", (shape,), kwargs)
    return Step(name, (x, shape), kwargs)


@recipe("np.ravel")
def ravel(d: Draw, name: str) -> Step:
    x = d.x()
    kwargs = {"order": d.pick("F", "C")} if d.chance(0.3) else {}
    if d.chance(0.4):
        return Step(f"{x}.{d.pick('ravel', 'flatten')}", (), kwargs)
    return Step(name, (x,), kwargs)


@recipe("np.transpose np.permute_dims")
def transpose(d: Draw, name: str) -> Step:
    x = d.x()
    nd = d.nd(x)
    if d.chance(0.35):
        return Step("{0}.T", (x,)) if d.chance(0.5) else Step(name, (x,))
    axes = tuple(int(a) - (nd if d.chance(0.3) else 0) for a in d.rng.permutation(nd))
    if d.chance(0.3) and nd > 1:
        return Step(f"{x}.transpose", axes if d.chance(0.5) else (axes,))
    return Step(name, (x, axes))


@recipe("np.swapaxes np.moveaxis np.rollaxis")
def two_axes(d: Draw, name: str) -> Step:
    x = d.x(nd=(1, 3))
    nd = d.nd(x)
    if name == "np.moveaxis" and d.chance(0.3) and nd > 1:
        one, other = (tuple(int(a) for a in d.rng.permutation(nd)[:2]) for _ in range(2))
        return Step(name, (x, one, other))
    if name == "np.swapaxes" and d.chance(0.3):
        return Step(f"{x}.swapaxes", (d.axis(nd), d.axis(nd)))
    return Step(name, (x, d.axis(nd), d.axis(nd)))


@recipe("np.squeeze")
def squeeze(d: Draw, name: str) -> Step:
    x = (
        d.x()
        if d.before is not None
        else d.new([d.pick(1, 1, d.size()) for _ in range(d.int(0, 3))])
    )
    ones = [i for i, n in enumerate(d.form(x)) if n == 1]
    kwargs: dict[str, Any] = {}
    if d.chance(0.5):
        kwargs["axis"] = (
            tuple(ones) if d.chance(0.4) else d.pick(*ones) if ones else d.axis(d.nd(x))
        )
    return Step(f"{x}.squeeze", (), kwargs) if d.chance(0.3) else Step(name, (x,), kwargs)


@recipe("np.expand_dims")
def expand_dims(d: Draw, name: str) -> Step:
    x = d.x()
    nd = d.nd(x)
    axis: Any = d.int(-nd - 1, nd)
    return Step(name, (x, (0, -1) if d.chance(0.25) else axis))


@recipe("np.broadcast_to")
def broadcast_to(d: Draw, name: str) -> Step:
    x = d.x(nd=(0, 2))
    wide = [d.size() if n == 1 and d.chance(0.7) else n for n in d.form(x)]
    shape = tuple(d.shape((0, 1)) + tuple(wide))
    return Step(name, (x, shape))


@recipe("np.broadcast_arrays")
def broadcast_arrays(d: Draw, name: str) -> Step:
    x = d.x()
    return Step(name, (x, *(d.like(x, "fcib") for _ in range(d.int(1, 2)))))


@recipe("np.atleast_1d np.atleast_2d np.atleast_3d")
def atleast(d: Draw, name: str) -> Step:
    x = d.x()
    return Step(name, (x,)) if d.chance(0.7) else Step(name, (x, d.new()))


@recipe("np.flip np.fliplr np.flipud np.rot90 np.matrix_transpose np.linalg.matrix_transpose")
def flips(d: Draw, name: str) -> Step:
    if name in ("np.flip", "np.flipud"):
        x = d.x(nd=(1, 3))
    else:
        x = d.x(nd=(2, 3))
    nd = d.nd(x)
    kwargs: dict[str, Any] = {}
    if name == "np.flip" and d.chance(0.7):
        kwargs["axis"] = d.axes(nd)
    if name == "np.rot90":
        kwargs["k"] = d.int(-3, 5)
        if d.chance(0.5):
            kwargs["axes"] = tuple(int(a) for a in d.rng.permutation(nd)[:2])
    if name == "np.matrix_transpose" and d.chance(0.4):
        return Step("{0}.mT", (x,))
    return Step(name, (x,), kwargs)


@recipe("np.roll")
def roll(d: Draw, name: str) -> Step:
    x = d.x()
    if d.chance(0.25):
        return Step(name, (x, d.int(-4, 4)))
    if d.chance(0.3) and d.nd(x) > 1:
        axes = tuple(int(a) for a in d.rng.permutation(d.nd(x))[:2])
        return Step(name, (x, d.pick((1, -1), (2, 1), 1)), {"axis": axes})
    shift: Any = d.int(-4, 7)
    if d.chance(0.2) and x.text == d.main:
        shift = d.new((), "i", "-3:4", needs=d.main)
    return Step(name, (x, shift), {"axis": d.axis(d.nd(x))})


@recipe("np.tile")
def tile(d: Draw, name: str) -> Step:
    x = d.x(nd=(0, 2))
    return Step(name, (x, d.pick(2, 3, (2, 1), (1, 2), (2, 2, 1), 0, (1,), ())))


@recipe("np.repeat")
def repeat(d: Draw, name: str) -> Step:
    x = d.x()
    kwargs: dict[str, Any] = {} if d.chance(0.3) else {"axis": d.axis(d.nd(x))}
    axis = kwargs.get("axis")
    shape = d.form(x)
    n = d.value(x).size if axis is None else 1
    if axis is not None and -len(shape) <= axis < len(shape):
        n = shape[axis]
    counts: Any = d.int(0, 3) if d.chance(0.5) else [d.int(0, 2) for _ in range(n)]
    if d.chance(0.2):
        return Step(f"{x}.repeat", (counts,), kwargs)
    return Step(name, (x, counts), kwargs)


@recipe("np.resize")
def resize(d: Draw, name: str) -> Step:
    return Step(name, (d.x(nd=(0, 2)), d.pick((2, 3), 5, (1,), (3, 2, 2), (0,), 2)))


@recipe("np.diag np.diagflat")
def diag(d: Draw, name: str) -> Step:
    x = d.x(nd=(1, 2))
    return Step(name, (x,), {"k": d.int(-2, 2)} if d.chance(0.6) else {})


@recipe("np.diagonal np.trace np.linalg.diagonal np.linalg.trace")
def diagonal(d: Draw, name: str) -> Step:
    x = d.x(nd=(2, 3))
    kwargs: dict[str, Any] = {"offset": d.int(-2, 2)} if d.chance(0.5) else {}
    if "linalg" not in name and d.chance(0.5):
        axes = d.rng.permutation(d.nd(x))[:2]
        kwargs |= {"axis1": int(axes[0]) - (d.nd(x) if d.chance(0.4) else 0), "axis2": int(axes[1])}
    if name.endswith("trace") and d.chance(0.1):
        kwargs["dtype"] = Ref("np.float64")
    if "linalg" not in name and d.chance(0.25):
        return Step(f"{x}.{name.removeprefix('np.')}", (), kwargs)
    return Step(name, (x,), kwargs)


@recipe("np.tril np.triu")
def triangle(d: Draw, name: str) -> Step:
    x = d.x(nd=(1, 3))
    return Step(name, (x,), {"k": d.int(-2, 3)} if d.chance(0.6) else {})


MODES = "constant edge reflect symmetric wrap empty".split()


@recipe("np.pad")
def pad(d: Draw, name: str) -> Step:
    mode = d.pick(*MODES[:-1])
    x = d.x(nd=(1, 3), kinds="fci")
    nd = d.nd(x)
    width: Any = d.pick(1, 2, (1, 2), (0, 1), ((1, 2),))
    if d.chance(0.5):
        width = tuple((d.int(0, 3), d.int(0, 3)) for _ in range(nd))
    kwargs: dict[str, Any] = {"mode": mode}
    if mode == "constant" and d.chance(0.5):
        kwargs["constant_values"] = d.pick(1.5, (1, 2), 3)
    return Step(name, (x, width), kwargs)


@recipe("np.ediff1d np.diff")
def diff(d: Draw, name: str) -> Step:
    x = d.x(nd=(1, 3), kinds="fci" if d.chance(0.9) else "b")
    kwargs: dict[str, Any] = {}
    if name == "np.ediff1d":
        if d.chance(0.4):
            kwargs["to_end"] = d.new((2,), dtype=d.value(x).dtype)
        if d.chance(0.3):
            kwargs["to_begin"] = 0 if d.chance(0.4) else d.new((1,), dtype=d.value(x).dtype)
        return Step(name, (x,), kwargs)
    axis = d.axis(d.nd(x))
    kwargs = {"n": d.int(0, 3), "axis": axis} if d.chance(0.7) else {}
    axis = kwargs.get("axis", -1)
    shape = list(d.form(x))
    if -len(shape) <= axis < len(shape):
        shape[axis] = d.int(1, 2)
    if d.chance(0.2):
        kwargs["prepend"] = d.pick(0, d.new(shape, "f"))
    if d.chance(0.15):
        kwargs["append"] = 0.5
    return Step(name, (x,), kwargs)


@recipe("np.gradient")
def gradient(d: Draw, name: str) -> Step:
    x = d.x(nd=(1, 3), kinds="fc")
    kwargs: dict[str, Any] = {}
    args: tuple = ()
    shape = d.form(x)
    if d.chance(0.7):
        axis = kwargs["axis"] = d.axis(d.nd(x))
        if d.chance(0.4) and -len(shape) <= axis < len(shape):
            args = (d.new((shape[axis],), "f", "sorted"),)
        elif d.chance(0.4):
            args = (d.pick(2.0, 0.5),)
    elif d.chance(0.3):
        args = (0.5,)
    if d.chance(0.3):
        kwargs["edge_order"] = d.pick(1, 2)
    return Step(name, (x, *args), kwargs)


@recipe("np.trapezoid")
def trapezoid(d: Draw, name: str) -> Step:
    y = d.x(nd=(1, 3))
    axis = d.axis(d.nd(y)) if d.chance(0.6) else -1
    kwargs: dict[str, Any] = {"axis": axis} if axis != -1 or d.chance(0.5) else {}
    shape = d.form(y)
    if d.chance(0.3):
        kwargs["dx"] = 0.5
    elif d.chance(0.5) and -len(shape) <= axis < len(shape):
        kwargs["x"] = d.new(shape if d.chance(0.4) else (shape[axis],), "f", "sorted")
    return Step(name, (y,), kwargs)


@recipe("np.vander")
def vander(d: Draw, name: str) -> Step:
    kwargs: dict[str, Any] = {"N": d.int(0, 4)} if d.chance(0.6) else {}
    if d.chance(0.4):
        kwargs["increasing"] = True
    return Step(name, (d.x(nd=(1, 1)),), kwargs)


@recipe("np.lib.stride_tricks.sliding_window_view")
def sliding_window_view(d: Draw, name: str) -> Step:
    x = d.x(nd=(1, 3))
    if d.chance(0.6):
        axis = d.axis(d.nd(x))
        return Step(name, (x, d.int(1, 2)), {"axis": axis})
    return Step(name, (x, tuple(d.int(1, 2) for _ in range(d.nd(x)))))


@recipe("np.apply_over_axes np.apply_along_axis")
def apply(d: Draw, name: str) -> Step:
    x = d.x(nd=(1, 3), kinds="fc")
    func = Ref(d.pick("np.sum", "np.cumsum", "np.prod", "np.sort", "np.std"))
    axis = d.axis(d.nd(x))
    if name == "np.apply_along_axis":
        return Step(name, (func, axis, x))
    return Step(
        name, (Ref(d.pick("np.sum", "np.max", "np.mean")), x, d.pick(axis, [0, -1], [axis]))
    )


@recipe("np.linspace np.logspace np.geomspace")
def spaces(d: Draw, name: str) -> Step:
    style = "positive" if name != "np.linspace" else None
    x = d.x(nd=(0, 2), kinds="fc" if name == "np.linspace" else "f", style=style)
    y = d.like(x, "f", style) if d.chance(0.7) else d.pick(3.0, 2)
    kwargs: dict[str, Any] = {"num": d.int(0, 5)}
    if d.chance(0.3):
        kwargs["endpoint"] = False
    if d.chance(0.3):
        kwargs["axis"] = d.pick(0, -1)
    if name == "np.linspace" and d.chance(0.2):
        kwargs["retstep"] = True
    if name == "np.logspace" and d.chance(0.3):
        kwargs["base"] = 2.0
    return Step(name, (x, y), kwargs)


@recipe("np.meshgrid")
def meshgrid(d: Draw, name: str) -> Step:
    x = d.x(nd=(0, 1))
    others = [d.new(d.shape((0, 1)), "fci") for _ in range(d.int(0, 2))]
    kwargs: dict[str, Any] = {"indexing": d.pick("xy", "ij")} if d.chance(0.5) else {}
    if d.chance(0.3):
        kwargs["sparse"] = True
    return Step(name, (x, *others), kwargs)
