"""Calls that sort, partition, and work on sets."""

from typing import Any

from ..draw import Draw, Step, recipe


@recipe("np.sort np.argsort np.partition np.argpartition")
def sort(d: Draw, name: str) -> Step:
    x = d.x(nd=(0, 3) if d.chance(0.1) else (1, 3))
    kwargs: dict[str, Any] = {}
    args: tuple = ()
    axis: Any = -1
    if d.chance(0.7):
        axis = kwargs["axis"] = None if d.chance(0.15) else d.axis(d.nd(x))
    if "partition" in name:
        shape = d.form(x)
        n = d.value(x).size if axis is None else 1
        if axis is not None and -len(shape) <= axis < len(shape):
            n = shape[axis]
        args = (d.int(-n, max(n - 1, 0)),)
        if d.chance(0.2) and n > 1:
            args = ((0, n - 1),)
    elif d.chance(0.3):
        kwargs["kind"] = d.pick("stable", "heapsort")
    elif d.chance(0.1):
        kwargs["stable"] = True
    if name == "np.argsort" and d.chance(0.3):
        return Step(f"{x}.argsort", args, kwargs)
    return Step(name, (x, *args), kwargs)


@recipe("np.sort_complex")
def sort_complex(d: Draw, name: str) -> Step:
    return Step(name, (d.x(nd=(1, 2), kinds="fci"),))


@recipe("np.lexsort")
def lexsort(d: Draw, name: str) -> Step:
    x = d.x(nd=(1, 2), kinds="fi", style="ties")
    other = d.new(d.form(x), "fi", "ties")
    return Step(name, ((x, other),), {"axis": d.axis(d.nd(x))} if d.chance(0.5) else {})


@recipe("np.unique np.unique_values np.unique_counts np.unique_inverse np.unique_all")
def unique(d: Draw, name: str) -> Step:
    x = d.x(nd=(1, 2), kinds="fi", style=d.pick("ties", "normal"))
    kwargs: dict[str, Any] = {}
    if name == "np.unique":
        for option in ("return_index", "return_inverse", "return_counts"):
            if d.chance(0.25):
                kwargs[option] = True
        if d.chance(0.3):
            kwargs["axis"] = d.axis(d.nd(x))
    return Step(name, (x,), kwargs)


@recipe("np.union1d np.intersect1d np.setdiff1d np.setxor1d np.isin")
def sets(d: Draw, name: str) -> Step:
    x = d.x(nd=(0, 2) if name == "np.isin" else (1, 1), kinds="fi", style="ties")
    y = d.new(d.shape((1, 1)), style="ties", dtype=d.value(x).dtype)
    kwargs = {"invert": True} if name == "np.isin" and d.chance(0.4) else {}
    return Step(name, (x, y), kwargs)
