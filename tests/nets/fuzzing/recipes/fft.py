"""Calls of `numpy.fft`."""

from typing import Any

from ..draw import Draw, Step, Unfit, recipe

NORMS = ("forward", "ortho", "backward")


@recipe("np.fft.fft np.fft.ifft np.fft.rfft np.fft.irfft np.fft.hfft np.fft.ihfft")
def one_axis(d: Draw, name: str) -> Step:
    real = name in ("np.fft.rfft", "np.fft.ihfft")
    x = d.x(nd=(1, 3), kinds="fib" if real else "fcib")
    kwargs: dict[str, Any] = {}
    if 0 in d.form(x):  # NumPy fills nothing up with memory that nobody has written to
        raise Unfit
    if d.chance(0.4):
        kwargs["n"] = d.int(1, 6)
    if d.chance(0.6):
        kwargs["axis"] = d.axis(d.nd(x))
    if d.chance(0.4):
        kwargs["norm"] = d.pick(*NORMS)
    return Step(name, (x,), kwargs)


@recipe(
    "np.fft.fft2 np.fft.ifft2 np.fft.rfft2 np.fft.irfft2 np.fft.fftn np.fft.ifftn "
    "np.fft.rfftn np.fft.irfftn"
)
def several(d: Draw, name: str) -> Step:
    real = "rfft" in name and "irfft" not in name
    x = d.x(nd=(2, 3), kinds="fi" if real else "fci")
    if 0 in d.form(x):
        raise Unfit
    nd = d.nd(x)
    kwargs: dict[str, Any] = {}
    if d.chance(0.5):
        axes = [int(a) for a in d.rng.permutation(nd)[: 2 if name.endswith("2") else d.int(1, nd)]]
        kwargs["axes"] = tuple(a - (nd if d.chance(0.3) else 0) for a in axes)
    if d.chance(0.3):
        kwargs["s"] = tuple(d.int(1, 4) for _ in kwargs.get("axes", (0, 1)))
        kwargs.setdefault("axes", (-2, -1))
    if d.chance(0.4):
        kwargs["norm"] = d.pick(*NORMS)
    return Step(name, (x,), kwargs)


@recipe("np.fft.fftshift np.fft.ifftshift")
def shift(d: Draw, name: str) -> Step:
    x = d.x(nd=(1, 3))
    axes = d.axes(d.nd(x)) or 0
    return Step(name, (x,), {"axes": axes} if d.chance(0.6) else {})
