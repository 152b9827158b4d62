"""Programs in which a selection is made by a mask that differs among examples, and is written to.

A loop over the examples, which calls the program with plain NumPy, says what is right.
"""

import itertools
from collections.abc import Iterator

import numpy as np

import functier as ft

from ..verdicts import Verdicts
from .cases import texts

XS = np.array([[1.2, -0.5, 0.4, 0.9], [-0.3, 0.8, 1.5, -0.2], [0.6, 0.7, 0.1, 1.1]])

MASKS = texts("x > 0; abs(x) < 1.0; (x > 0) & (x < 1.3); ~(x < 0); np.isfinite(x) ^ (x < 0)")
USES = texts("""
x[m]; x[m] * 2; np.sin(x[m]); np.outer(x, x)[m]; x[m][x[m] > 0.3]; np.where(x[m] > 0.5, x[m], 0.1);
y[m]; x[m] + y[m]; np.outer(x, x)[m][:, 1]; y[:, None][m, 0]; x[m].copy(); x[m] ** 2
""")
CHANGES = texts("""
m[0] = False; m[:] = x < 0.5; m &= x > 0.5; m |= x > -1; m ^= True; np.logical_not(m, out=m);
m[1:] = m[:-1].copy(); np.copyto(m, x < 0.7); m.fill(True); m[::-1][0] = True;
m.reshape(2, 2)[0] = 1; np.put(m, [1], False); m[m] = x[m] > 0.5
""")
MODES = {
    "vmap": lambda f: ft.vmap(f)(XS),
    "split": lambda f: ft.vmap(f, branches="split")(XS),
    "vmap(value_and_grad)": lambda f: ft.vmap(ft.value_and_grad(f))(XS)[0],
    "grad(vmap)": lambda f: ft.value_and_grad(lambda x: np.sum(ft.vmap(f)(x)))(XS)[0],
    "vmap(vmap)": lambda f: ft.vmap(ft.vmap(f))(np.stack([XS, XS]))[1],
    "compile(vmap)": lambda f: ft.compile(ft.vmap(f), backend="numpy")(XS),
}


def cases(full: bool) -> Iterator[tuple[str, str, str, str]]:
    """All cases: a mask, a use, a change and a mode; of a slice each use has each change once."""
    for n, (use, change) in enumerate(itertools.product(USES, CHANGES)):
        for mask in MASKS if full else [MASKS[n % len(MASKS)]]:
            for mode in MODES if full else [[*MODES][n % len(MODES)]]:
                yield mask, use, change, mode


def program(mask: str, use: str, change: str) -> dict:
    space = {"np": np}
    lines = (
        "def f(x):", f"    y, m = x * 1.0, {mask}", "    y[0] = 0.5", f"    s = {use}",
        f"    {change}", "    return np.sum(s) + np.max(s) * np.sum(np.where(m, x, 0.5))",
    )  # fmt: skip
    exec("\n".join(lines), space)
    return space["f"]


def judge(counts: Verdicts, mask: str, use: str, change: str, mode: str) -> str:
    f = program(mask, use, change)
    with np.errstate(all="ignore"):
        wanted = [f(x) for x in XS]

    def check(found) -> None:
        right = np.sum(wanted) if mode == "grad(vmap)" else wanted
        np.testing.assert_allclose(found, right, rtol=1e-12)

    return counts.judge(f"{mode}: {mask} | {use} | {change}", lambda: MODES[mode](f), check)
