"""Calls of `numpy.linalg` on matrices that are far from singular."""

from typing import Any

import numpy as np

from ..draw import Draw, Ref, Step, Unfit, recipe


def square(d: Draw, style: str, kinds: str = "fc") -> Ref:
    """Square matrices, stacked perhaps."""
    n = d.int(1, 4)
    if d.before is not None:
        return d.x(nd=(2, 3), kinds=kinds, style=style)
    lead = d.shape((0, 1))
    if d.chance(0.02):
        return d.new((*lead, 0, 0), kinds, "normal")
    return d.new((*lead, n, n), kinds, style, dtype=_double(d, kinds))


def _double(d: Draw, kinds: str) -> Any:
    """Mostly double precision: what is badly conditioned says little in another."""
    kind = d.pick(*(kinds + "f" * 3))
    wide, narrow = {"f": ("float64", "float32"), "c": ("complex128", "complex64")}[kind]
    return wide if d.chance(0.85) else narrow


@recipe("np.linalg.inv np.linalg.det np.linalg.slogdet np.linalg.pinv")
def of_square(d: Draw, name: str) -> Step:
    x = square(d, "dominant")
    if name.endswith("pinv"):
        shape = (*d.shape((0, 1)), d.int(1, 4), d.int(1, 4))
        if d.before is None and d.chance(0.5) and len(d.operands) == 1 and x.text in d.operands:
            d.operands.clear()
            x = d.new(shape, "fc", "normal", dtype=_double(d, "fc"))
        return Step(name, (x,), {"hermitian": False} if d.chance(0.2) else {})
    return Step(name, (x,))


@recipe("np.linalg.solve")
def solve(d: Draw, name: str) -> Step:
    x = square(d, "dominant")
    shape = d.form(x)
    n = shape[-1]
    kind = d.rng.random()
    if kind < 0.4:
        other: tuple = (n,)
    else:
        other = (*d.sub(shape[:-2]), n, max(d.size(), 1))
    return Step(name, (x, d.new(other, "fc", "normal", dtype=_double(d, "fc"))))


@recipe("np.linalg.cholesky")
def cholesky(d: Draw, name: str) -> Step:
    x = square(d, "spd")
    return Step(name, (x,), {"upper": True} if d.chance(0.3) else {})


@recipe("np.linalg.eigh np.linalg.eigvalsh")
def eigh(d: Draw, name: str) -> Step:
    x = square(d, "hermitian")
    call = Step(name, (x,), {"UPLO": d.pick("L", "U")} if d.chance(0.4) else {})
    if name.endswith("eigh") and d.value(x).dtype.kind == "c":  # the phases are LAPACK's choice
        return Step("(lambda w, v: (w, np.abs(v)))(*{0})", (Ref(call.text()),))
    return call


@recipe("np.linalg.eig np.linalg.eigvals")
def eig(d: Draw, name: str) -> Step:
    x = square(d, "normal")
    a = d.value(x)
    if a.shape[-1] == a.shape[-2]:
        spread_out(d, x, eigenvalues(a))
    return Step(name, (x,))


@recipe("np.linalg.svd np.linalg.svdvals")
def svd(d: Draw, name: str) -> Step:
    shape = (*d.shape((0, 1)), d.int(1, 4), d.int(1, 4))
    x = d.x(nd=(2, 3), kinds="fc") if d.before else d.new(shape, "fc", "normal",
                                                         dtype=_double(d, "fc"))  # fmt: skip
    spread_out(d, x, singular_values(d.value(x)))
    if name.endswith("svdvals"):
        return Step(name, (x,))
    kwargs = d.pick({"full_matrices": False}, {"compute_uv": False}, {})
    call = Step(name, (x,), kwargs)
    if "compute_uv" in kwargs:
        return call
    if d.value(x).dtype.kind == "c":  # nor are phases told by the matrix
        kwargs["full_matrices"] = False
        return Step("(lambda u, s, v: (np.abs(u), s, np.abs(v)))(*{0})", (Ref(call.text()),))
    m, n = d.form(x)[-2:]
    if m == n or kwargs:
        return call
    # The columns that complete a basis are any that do: only what they span is.
    k = min(m, n)
    text = (
        "(lambda u, s, v: (u[..., :{0}], s, v[..., :{0}, :], u[..., {0}:] @ u[..., {0}:].mT))(*{1})"
    )
    return Step(text, (k, Ref(call.text())))


def spread_out(d: Draw, x: Ref, values: Any) -> Ref:
    """`x`, unless two of these values are nearly equal, or one is nearly zero."""
    values = np.sort_complex(np.atleast_1d(values))
    gaps = np.abs(np.diff(values, axis=-1))
    if np.any(gaps < 0.05) or np.any(np.abs(values) < 0.05) or not np.isfinite(values).all():
        raise Unfit
    return x


def singular_values(x: Any) -> Any:
    fine = np.isfinite(x).all() and x.dtype.char != "e"
    return np.linalg.svdvals(x) if fine else np.nan


def eigenvalues(x: Any) -> Any:
    fine = np.isfinite(x).all() and x.dtype.char != "e"
    return np.linalg.eigvals(x) if fine else np.nan


@recipe("np.linalg.qr")
def qr(d: Draw, name: str) -> Step:
    n = d.int(1, 4)
    shape = (*d.shape((0, 1)), max(n, d.int(1, 4)) if d.chance(0.8) else 2, n)
    x = d.x(nd=(2, 3), kinds="fc") if d.before else d.new(shape, "fc", "normal",
                                                         dtype=_double(d, "fc"))  # fmt: skip
    spread_out(d, x, singular_values(d.value(x)[..., :, : d.form(x)[-2]]))
    call = Step(name, (x,), {"mode": d.pick("reduced", "r", "complete")} if d.chance(0.5) else {})
    if call.kwargs.get("mode") == "complete":
        n = d.form(x)[-1]
        text = "(lambda q, r: (q[..., :{0}], r, q[..., {0}:] @ np.conj(q[..., {0}:]).mT))(*{1})"
        return Step(text, (n, Ref(call.text())))
    return call


@recipe("np.linalg.norm")
def norm(d: Draw, name: str) -> Step:
    x = d.x(nd=(0, 3), kinds="fci")
    nd = d.nd(x)
    kwargs: dict[str, Any] = {"keepdims": True} if d.chance(0.3) else {}
    kind = d.rng.random()
    if kind < 0.25 or not nd:
        return Step(name, (x,), kwargs)
    if kind < 0.65:
        order = d.pick(None, 1, 2, 3, 0.5, Ref("np.inf"), Ref("-np.inf"), 0, -1, 2.5)
        return Step(name, (x, order), {**kwargs, "axis": d.axis(nd)})
    order = d.pick(None, "fro", "nuc", 1, 2, -1, -2, Ref("np.inf"), Ref("-np.inf"))
    if nd > 1:
        axes = tuple(int(a) - (nd if d.chance(0.4) else 0) for a in d.rng.permutation(nd)[:2])
        if order in (2, -2, "nuc"):
            spread_out(d, x, singular_values(np.moveaxis(d.value(x), axes, (-2, -1)) * 1.0))
        return Step(name, (x, order), {**kwargs, "axis": axes})
    return Step(name, (x, order), kwargs)


@recipe("np.linalg.vector_norm")
def vector_norm(d: Draw, name: str) -> Step:
    x = d.x(nd=(0, 3), kinds="fc")
    kwargs: dict[str, Any] = {"axis": d.axes(d.nd(x))} if d.chance(0.7) else {}
    if d.chance(0.5):
        kwargs["ord"] = d.pick(1, 2, 3, Ref("np.inf"), Ref("-np.inf"), 0.5, 0)
    if d.chance(0.3):
        kwargs["keepdims"] = True
    return Step(name, (x,), kwargs)


@recipe("np.linalg.matrix_norm")
def matrix_norm(d: Draw, name: str) -> Step:
    x = d.x(nd=(2, 3), kinds="fc")
    kwargs: dict[str, Any] = {"keepdims": True} if d.chance(0.3) else {}
    if d.chance(0.7):
        kwargs["ord"] = d.pick("fro", "nuc", 1, 2, -1, -2, Ref("np.inf"), Ref("-np.inf"))
        if kwargs["ord"] in (2, -2, "nuc"):
            spread_out(d, x, singular_values(d.value(x)))
    return Step(name, (x,), kwargs)


@recipe("np.linalg.cond np.linalg.matrix_rank")
def cond(d: Draw, name: str) -> Step:
    x = square(d, "dominant")
    if name.endswith("rank"):
        return Step(name, (x,))
    return Step(name, (x,), {"p": d.pick(None, 1, -1, 2, -2, "fro", Ref("np.inf"))}
                if d.chance(0.7) else {})  # fmt: skip


@recipe("np.linalg.lstsq")
def lstsq(d: Draw, name: str) -> Step:
    m, n = d.int(1, 4), d.int(1, 3)
    x = d.x(nd=(2, 2), kinds="fc", shape=(m, n))
    y = d.new((m,) if d.chance(0.5) else (m, 2), dtype=d.value(x).dtype, style="normal")
    return Step(name, (x, y))


@recipe("np.linalg.tensorinv np.linalg.tensorsolve")
def tensor(d: Draw, name: str) -> Step:
    x = d.x(nd=(4, 4), shape=(2, 2, 2, 2), kinds="fc", style="normal")
    spread_out(d, x, singular_values(d.value(x).reshape(4, 4)))
    if name.endswith("inv"):
        return Step(name, (x,))
    return Step(name, (x, d.new((2, 2), "fc", "normal")))
