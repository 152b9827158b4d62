"""Calls of the functions on polynomials."""

from typing import Any

from ..draw import Draw, Step, recipe


@recipe("np.polyval")
def polyval(d: Draw, name: str) -> Step:
    p = d.x(nd=(1, 1))
    return Step(name, (p, d.new(d.shape((0, 2)))))


@recipe("np.polyadd np.polysub np.polymul")
def arithmetic(d: Draw, name: str) -> Step:
    p = d.x(nd=(1, 1), kinds="fci" if d.chance(0.9) else "b")
    return Step(name, (p, d.new((max(d.size(), 1),), "fci")))


@recipe("np.polydiv")
def polydiv(d: Draw, name: str) -> Step:
    u = d.x(nd=(1, 1), kinds="fc", style="normal")
    return Step(name, (u, d.new((d.int(1, 3),), "fc", "above")))


@recipe("np.polyder np.polyint")
def calculus(d: Draw, name: str) -> Step:
    p = d.x(nd=(1, 1), kinds="fci")
    kwargs: dict[str, Any] = {"m": d.int(0, 3)} if d.chance(0.6) else {}
    if name == "np.polyint" and d.chance(0.3):
        kwargs["k"] = 1.5
    return Step(name, (p,), kwargs)


@recipe("np.poly")
def poly(d: Draw, name: str) -> Step:
    if d.before is None and d.chance(0.2):
        return Step(name, (d.new((2, 2), "f", "hermitian", dtype="float64"),))
    return Step(name, (d.x(nd=(1, 1), kinds="fci"),))


@recipe("np.roots")
def roots(d: Draw, name: str) -> Step:
    return Step(name, (d.x(nd=(1, 1), kinds="fc", style="above"),))


@recipe("np.polyfit")
def polyfit(d: Draw, name: str) -> Step:
    n, degree = d.int(3, 5), d.int(0, 2)
    x = (
        d.new((n,), "f", "sorted", dtype="float64")
        if d.before is None
        else d.x(nd=(1, 1), kinds="f")
    )
    n = d.form(x)[0]
    y = d.new((n,) if d.chance(0.6) else (n, 2), "fc", "normal", dtype="float64")
    kwargs: dict[str, Any] = {}
    if d.chance(0.3):
        kwargs["w"] = d.new((n,), "f", "positive", dtype="float64")
    return Step(name, (x, y, degree), kwargs)


@recipe("np.polynomial.polynomial.polyval2d np.polynomial.polynomial.polygrid2d")
def polyval2d(d: Draw, name: str) -> Step:
    x = d.x(nd=(0, 1), kinds="fc")
    y = d.new(d.form(x) if "val" in name else d.shape((0, 1)), "f")
    return Step(name, (x, y, d.new((d.int(1, 3), d.int(1, 3)), "fc", "normal")))
