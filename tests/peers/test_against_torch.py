"""Complex values and cotangents beside PyTorch's, where it is installed (the extra ``bench``):
from complex numbers to real ones, from real to complex, and from complex to complex.
"""

import inspect
import warnings

import numpy as np
import optree
import pytest

import functier as ft
import samples
from functier.testing import operations
from support.basics import silent
from support.checks import directions, function_of, leaves_of

torch = pytest.importorskip("torch", reason="PyTorch is not installed")

OWNERS = {"numpy": torch, "numpy.linalg": torch.linalg, "numpy.fft": torch.fft}

OPTIONS = {
    "axis": "dim",
    "axes": "dim",
    "keepdims": "keepdim",
    "k": "diagonal",
    "ddof": "correction",
}
"""NumPy's names of parameters, and PyTorch's."""


def promoted(function):
    """With operands of one dtype, which some of PyTorch's functions insist on."""

    def call(a, b):
        dtype = torch.promote_types(a.dtype, b.dtype)
        return function(a.to(dtype), b.to(dtype))

    return call


SPELLED = {
    "angle": lambda z, deg=False: torch.rad2deg(torch.angle(z)) if deg else torch.angle(z),
    "conjugate": torch.conj_physical,
    "copy": lambda x, order=None: x.clone(),
    "dot": promoted(lambda a, b: torch.tensordot(a, b, ([-1], [-2 if b.ndim > 1 else -1]))),
    "matmul": promoted(torch.matmul),
    "power": torch.pow,
    "sign": torch.sgn,
    "solve": promoted(torch.linalg.solve),
    "split": torch.tensor_split,
    "vdot": lambda a, b: torch.vdot(a.ravel(), b.ravel()),
    "cov": lambda x, y=None: torch.cov(x if y is None else torch.stack([x, y])),
    "var": lambda x, dim=None, correction=0: torch.var(x, dim, correction=correction),
    "std": lambda x, dim=None, correction=0: torch.std(x, dim, correction=correction),
    "trace": lambda x, offset=0: torch.diagonal(x, offset, dim1=-2, dim2=-1).sum(-1),
    "matrix_transpose": lambda x: x.transpose(-2, -1),
    "transpose": lambda x, dim=None: x.permute(dim or tuple(range(x.ndim))[::-1]),
    "matvec": lambda a, x: (a @ x[..., None])[..., 0],
    "vecmat": lambda x, a: (x.conj()[..., None, :] @ a)[..., 0, :],
    "vecdot": torch.linalg.vecdot,
    "repeat": lambda x, n, dim=None: torch.repeat_interleave(x, torch.tensor(n), dim),
}
"""The names that PyTorch spells in another way."""


def counterpart(func):
    """PyTorch's function of the name and the module of NumPy's, or None."""
    module, _, name = operations()[func].name.rpartition(".")
    if module not in OWNERS:
        return None
    return SPELLED.get(name) or getattr(OWNERS[module], name, None)


def is_complex(row):
    """Tell if a row has complex operands or results, of double precision."""
    values = [*row.leaves, *map(np.asarray, leaves_of(row)(*row.leaves))]
    return {x.dtype.char for x in values} <= set("dD?lq") and any(
        x.dtype.kind == "c" for x in values
    )


def theirs(row):
    """The row's call with PyTorch's function, as a separate row."""
    options = {OPTIONS.get(name, name): value for name, value in row.kwargs.items()}
    return type(row)(counterpart(row.func), row.args, options, row.diff, row.order)


def rows():
    with silent():
        return {
            name: row
            for name, row in samples.named().items()
            if row.order and row.differentiated() and counterpart(row.func) and is_complex(row)
        }


ROWS = rows()


def test_there_is_something_to_compare():
    assert len(ROWS) > 150


@pytest.mark.parametrize("name", list(ROWS))
def test_value_and_vjp(name):
    row = ROWS[name]
    own = theirs(row)
    wanted = row.differentiated()
    f, points = function_of(row)
    with silent():
        value, pullback = ft.vjp(f, *points)
        cotangents = list(directions(value, 100))
        operands = [torch.tensor(x, requires_grad=i in wanted) for i, x in enumerate(row.leaves)]
        try:
            results = [y for y in optree.tree_leaves(own.call(*operands)) if differentiable(y)]
            given = [torch.tensor(c) for c in cotangents]
            pulled = torch.autograd.grad(results, [operands[i] for i in wanted], given)
        except Exception as error:
            pytest.skip(f"PyTorch does not do this: {type(error).__name__} {error}")
        close(value, results)
        close(pullback(cotangents), pulled)


# ---- what no row of one call compares: gauges, mixed operands, programs ----


def numbers(*shape, seed=0):
    rng = np.random.default_rng(seed + 10 * len(shape))
    return rng.normal(size=shape) + 1j * rng.normal(size=shape)


V, W, M, N = numbers(4), numbers(4, seed=1), numbers(3, 3), numbers(3, 3, seed=1)
T, X = numbers(2, 3, 2), np.linspace(0.5, 2.0, 4)
R = np.array([[2.0, 1.0, 0.0], [-1.0, 2.0, 0.5], [0.3, 0.0, -1.0]])  # eigenvalues 2 ± i, -1
HOLED = np.array([1 + 1j, 0.0, 2 - 1j])


def hermitian(linalg):
    def call(a):
        return linalg(a + a.conj().swapaxes(-2, -1))

    return call


def definite(linalg):
    def call(a):
        return linalg(a @ a.conj().swapaxes(-2, -1))

    return call


def projector(vectors):
    """Of the first vector: what of it no phase changes."""
    v = vectors[..., :1]
    return v @ v.conj().swapaxes(-2, -1)


def both(function):
    return lambda *operands: (np_or_torch(function, np), np_or_torch(function, torch), operands)


def np_or_torch(function, xp):
    return lambda *operands: function(xp, *operands)


PROGRAMS = {
    # complex to real
    "squared modulus": both(lambda xp, z: (z * z.conj()).real)(V),
    "abs at 0": both(lambda xp, z: xp.abs(z))(HOLED),
    "angle": both(lambda xp, z: xp.angle(z))(V),
    "angle of a product": both(lambda xp, z, w: xp.angle(z * w.conj()))(V, W),
    "hypot of parts": both(lambda xp, z: xp.hypot(z.real, z.imag))(V),
    "eigvalsh": both(lambda xp, a: hermitian(xp.linalg.eigvalsh)(a))(M),
    "eigh, projector": both(lambda xp, a: projector(hermitian(xp.linalg.eigh)(a)[1]))(M),
    "svdvals": both(lambda xp, a: xp.linalg.svdvals(a))(M[:2]),
    "nuclear norm": both(lambda xp, a: xp.linalg.norm(a, "nuc"))(M),
    "spectral norm": both(lambda xp, a: xp.linalg.norm(a, 2))(M),
    "norm of the columns": both(lambda xp, a: xp.linalg.norm(a, 1))(M),
    "norm of the rows": both(lambda xp, a: xp.linalg.norm(a, xp.inf))(M),
    "Frobenius norm": both(lambda xp, a: xp.linalg.norm(a))(M),
    "vector norm, 1": both(lambda xp, z: xp.linalg.norm(z, 1))(V),
    "vector norm, 3": both(lambda xp, z: xp.linalg.norm(z, 3))(V),
    "vector norm, 1.5": both(lambda xp, z: xp.linalg.norm(z, 1.5))(V),
    "vector norm, inf": both(lambda xp, z: xp.linalg.norm(z, xp.inf))(V),
    "vector norm at 0": both(lambda xp, z: xp.linalg.norm(z))(0 * V),
    "condition": both(lambda xp, a: xp.linalg.cond(a))(M),
    "slogdet": both(lambda xp, a: xp.linalg.slogdet(a)[1])(M),
    "variance": both(lambda xp, z: xp.mean(xp.abs(z - xp.mean(z)) ** 2))(V),
    "spectrum": both(lambda xp, x: xp.abs(xp.fft.rfft(x)) ** 2)(X),
    "irfft": both(lambda xp, z: xp.fft.irfft(z, 5))(V[:3]),
    "hfft": both(lambda xp, z: xp.fft.hfft(z))(V),
    "irfftn": both(lambda xp, z: xp.fft.irfftn(z))(T),
    # real to complex
    "by a complex number": both(lambda xp, x: x * (1 + 2j))(X),
    "complex exponential": both(lambda xp, x: xp.exp(1j * x) * x)(X),
    "plus a complex vector": both(lambda xp, x, z: x + z)(X, V),
    "complex power": both(lambda xp, x, z: x ** z)(X, V),
    "by complex eigenvalues": both(lambda xp, a: xp.linalg.eigvals(a)[..., 0])(R),
    "real matrix, complex vector": both(lambda xp, a, z: xp.einsum("ij,j->i", a + 0j, z))(
        R, V[:3]
    ),
    "rfftn": both(lambda xp, x: xp.fft.rfftn(x))(R),
    "ihfft": both(lambda xp, x: xp.fft.ihfft(x))(X),
    # complex to complex
    "a real factor": both(lambda xp, z, x: z * x / (1 + x))(V, X),
    "divided by a conjugate": both(lambda xp, z, w: z / w.conj())(V, W),
    "Wirtinger": both(lambda xp, z: z**2 * z.conj() + xp.abs(z) * 1j)(V),
    "parts": both(lambda xp, z: z.real * z.imag + 1j * z.real)(V),
    "where": both(lambda xp, z, w: xp.where(xp.abs(z) > 1, z * w, w.conj()))(V, W),
    "prod with a zero": both(lambda xp, z: xp.prod(z, 0))(HOLED),
    "cumprod with a zero": both(lambda xp, z: xp.cumprod(z, 0))(HOLED),
    "singular det": both(lambda xp, a: xp.linalg.det(a))(np.outer(V[:2], W[:2])),
    "inv": both(lambda xp, a: xp.linalg.inv(a))(M),
    "solve": both(lambda xp, a, b: xp.linalg.solve(a, b))(M, N),
    "pinv": both(lambda xp, a: xp.linalg.pinv(a))(M[:2]),
    "negative matrix_power": both(lambda xp, a: xp.linalg.matrix_power(a, -2))(M),
    "multi_dot": both(lambda xp, a, b: xp.linalg.multi_dot([a, b, a]))(M, N),
    "cholesky": both(lambda xp, a: definite(xp.linalg.cholesky)(a))(M),
    "qr, R of its own phase": both(
        lambda xp, a: xp.linalg.qr(a)[1] * xp.linalg.qr(a)[1].diagonal().conj()[:, None]
    )(M),
    "qr, projector": both(lambda xp, a: projector(xp.linalg.qr(a)[0]))(M[:, :2]),
    "svd, U V": both(lambda xp, a: (lambda u, s, v: u[:, :2] @ v[:2])(*xp.linalg.svd(a)))(M[:, :2]),
    "svd, projector": both(lambda xp, a: projector(xp.linalg.svd(a)[0]))(M),
    "eig, projector": both(lambda xp, a: projector(xp.linalg.eig(a)[1]))(M),
    "eigvals": both(lambda xp, a: xp.linalg.eigvals(a))(M),
    "sign": both(lambda xp, z: (xp.sign if xp is np else xp.sgn)(z))(HOLED[::2].copy()),
    "slogdet, phase": both(lambda xp, a: xp.linalg.slogdet(a)[0])(M),
    "lstsq": both(lambda xp, a, b: xp.linalg.lstsq(a, b)[0])(M[:, :2], N[:, :1]),
    "tensordot": both(lambda xp, a, b: xp.tensordot(a, b, 1))(T, V[:2]),
    "vecdot": both(lambda xp, a, b: xp.linalg.vecdot(a, b))(M, N),
    "fft, ifft": both(lambda xp, z: xp.fft.ifft(xp.fft.fft(z) ** 2))(V),
    "einsum": both(lambda xp, a, b: xp.einsum("ij,jk,kl->il", a, b.conj(), a))(M, N),
}  # fmt: skip
"""Each a function in NumPy, the same in PyTorch, and operands."""


@pytest.mark.parametrize("program", PROGRAMS.values(), ids=PROGRAMS)
def test_programs(program):
    f, g, points = program
    value, pullback = ft.vjp(f, *points)
    operands = [torch.tensor(x, requires_grad=True) for x in points]
    results = g(*operands)
    cotangents = directions([value], 100)

    close(value, results)
    close(
        pullback(*cotangents), torch.autograd.grad(results, operands, torch.tensor(cotangents[0]))
    )


def test_cond_of_a_batch():
    """PyTorch has it under vmap; its gradients of this raise."""

    def f(xp, choose):
        return lambda x: choose(x > 0, lambda x: xp.sqrt(x), lambda x: 3 * x * x)(x)

    xs = np.array([4.0, 0.0, -1.0])
    own = ft.vmap(f(np, lambda p, yes, no: lambda *args: ft.cond(p, yes, no, *args)))
    theirs = torch.vmap(f(torch, lambda p, yes, no: lambda *args: torch.cond(p, yes, no, args)))
    close(own(xs), theirs(torch.tensor(xs)))


@pytest.mark.parametrize("chunk_size", [1, 3, 5, 7])
def test_chunks(chunk_size):
    """Of arguments with other batch axes, and under a gradient."""

    def f(xp):
        return lambda x, y, w: (xp.sin(x) * w, (xp.sum(x * y), y))

    xs, ys, w = np.sin(np.arange(10.0)).reshape(2, 5), np.arange(5.0), np.array([1.0, -2.0])
    form = {"in_dims": (1, 0, None), "out_dims": (1, (0, 0)), "chunk_size": chunk_size}
    given = [torch.tensor(a) for a in (xs, ys, w)]
    close(ft.vmap(f(np), **form)(xs, ys, w), torch.vmap(f(torch), **form)(*given))
    own = ft.grad(lambda xs: np.sum(ft.vmap(f(np), **form)(xs, ys, w)[0] ** 3))(xs)
    theirs = torch.func.grad(
        lambda xs: torch.sum(torch.vmap(f(torch), **form)(xs, *given[1:])[0] ** 3)
    )(given[0])
    close(own, theirs)


def differentiable(y):
    return y.dtype.is_floating_point or y.dtype.is_complex


def close(actual, expected):
    actual, expected = optree.tree_leaves(actual), optree.tree_leaves(expected)
    assert len(actual) == len(expected)
    for a, b in zip(actual, expected):
        b = b.detach().resolve_conj().resolve_neg().numpy()
        assert (np.shape(a), np.result_type(a)) == (b.shape, b.dtype)
        np.testing.assert_allclose(np.asarray(a), b, rtol=1e-7, atol=1e-9)


# ---- checkers ----


def test_gradcheck_has_the_options_of_torchs():
    for name in ("gradcheck", "gradgradcheck"):
        theirs = inspect.signature(getattr(torch.autograd, name)).parameters
        ours = inspect.signature(getattr(ft.testing, name)).parameters
        assert set(theirs) - set(ours) == {"masked"}
        assert [n for n in theirs if n in ours] == [n for n in ours if n in theirs]


@pytest.mark.parametrize("factor", [1.0, 1.01])
@pytest.mark.parametrize("fast", [False, True])
def test_gradcheck_decides_as_torchs(factor, fast):
    class Sine(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return torch.sin(x)

        @staticmethod
        def backward(ctx, g):
            return g * torch.cos(ctx.saved_tensors[0]) * factor

    @ft.custom_vjp
    def sine(x):
        return np.sin(x)

    sine.defvjp(lambda x: (sine(x), x), lambda x, g: (g * np.cos(x) * factor,))
    x = np.linspace(0.0, 1.0, 6).reshape(2, 3)
    point = torch.tensor(x, requires_grad=True)
    options = {"fast_mode": fast, "raise_exception": False}
    theirs = torch.autograd.gradcheck(Sine.apply, point, **options)

    assert ft.testing.gradcheck(sine, x, **options) is theirs is (factor == 1.0)
    assert torch.autograd.gradgradcheck(Sine.apply, point, **options)
    assert ft.testing.gradgradcheck(sine, x, **options)


@pytest.mark.parametrize("outer", ["error", "same", "different"])
@pytest.mark.parametrize("inner", ["error", "same", "different"])
def test_randomness_decides_as_torchs(outer, inner):
    rng = ft.random.default_rng(0)
    ours = ft.vmap(ft.vmap(lambda x: x + rng.normal(), randomness=inner), randomness=outer)
    theirs = torch.vmap(
        torch.vmap(lambda x: x + torch.randn(()), randomness=inner), randomness=outer
    )
    if "error" in (outer, inner):
        with pytest.raises(ft.RandomnessError):
            ours(np.zeros((3, 4)))
        with pytest.raises(RuntimeError, match="random"):
            theirs(torch.zeros(3, 4))
    else:
        result, other = ours(np.zeros((3, 4))), theirs(torch.zeros(3, 4, dtype=torch.float64))
        assert len(np.unique(result)) == len(torch.unique(other))
        for axis in (0, 1):
            first, last = np.take(result, 0, axis), np.take(result, -1, axis)
            alike = torch.equal(other.select(axis, 0), other.select(axis, -1))
            assert np.array_equal(first, last) == alike


@pytest.mark.parametrize("name", ["sqrt(x) * 0", "where", "log(x) * x", "sin(x)", "norm"])
def test_anomalies_are_where_torchs_are(name):
    f = {
        "sqrt(x) * 0": lambda xp, x: xp.sum(xp.sqrt(x) * 0.0),
        "where": lambda xp, x: xp.sum(xp.where(x > 0, xp.sqrt(x), x)),
        "log(x) * x": lambda xp, x: xp.sum(xp.where(x > 0, xp.log(x + (x == 0)) * x, x)),
        "sin(x)": lambda xp, x: xp.sum(xp.sin(x)),
        "norm": lambda xp, x: xp.linalg.norm(x - x),
    }[name]
    x = np.array([0.0, 1.0])
    theirs = ours = False
    with torch.autograd.set_detect_anomaly(True), warnings.catch_warnings(action="ignore"):
        try:
            f(torch, torch.tensor(x, requires_grad=True)).backward()
        except RuntimeError as error:
            theirs = "returned nan values" in str(error)
    with ft.debug.detect_anomaly(), np.errstate(all="ignore"):
        try:
            ft.grad(lambda x: f(np, x))(x)
        except ft.NonFiniteError:
            ours = True
    assert ours is theirs
