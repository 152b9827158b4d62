"""The page `design/coverage-of-scipy.md`: SciPy's functions under each transform.

A function with a record has the entry that follows from it and from the sample table, as on NumPy's
page. Distributions, and functions of functions, have a call in `TRIALS`, whose entry is measured.
``python tests/support/scipy_coverage.py`` writes the page.
"""

import sys
import warnings
from collections import Counter
from collections.abc import Callable, Collection
from pathlib import Path
from typing import Any

PAGE = Path(__file__).resolve().parents[2] / "design" / "coverage-of-scipy.md"
if __name__ == "__main__":
    sys.path[0] = str(Path(__file__).resolve().parents[1])  # where the package `support` is

import numpy as np  # noqa: E402
import scipy  # noqa: E402

import functier as ft  # noqa: E402
import functier.scipy.integrate as si  # noqa: E402
import functier.scipy.interpolate as sip  # noqa: E402
import functier.scipy.optimize as so  # noqa: E402
import functier.scipy.sparse as sparse  # noqa: E402
import functier.scipy.sparse.linalg as sl  # noqa: E402
import functier.scipy.stats as st  # noqa: E402
from functier._core.numpy_facts import name_of  # noqa: E402
from functier.testing import operations  # noqa: E402
from support.coverage_page import verdict  # noqa: E402
from support.scipy_names import CONTINUOUS, DISCRETE, NAMES  # noqa: E402
from support.scipy_trials import TRIALS  # noqa: E402
from support.surface import called  # noqa: E402

HEAD = """\
# Coverage of SciPy

This page lists the functions of SciPy that `functier.scipy` has rules for, and how each behaves
under each transform. `python tests/support/scipy_coverage.py` writes it, and a test checks that it
is up to date. The words are those of NumPy's [page](coverage.md), except that *yes* under **vmap**
may mean SciPy's own loop: most functions of `scipy.linalg` take a stack of matrices and go through
it in Python. A distribution is measured in all its methods, by the argument, the parameters, `loc`
and `scale`.
"""

Trial = tuple[Callable, tuple]
METHODS = "pdf logpdf cdf sf logcdf logsf ppf isf"
XS = np.array([0.2, 0.9, 1.4, 2.3, 3.1, 3.6])
DENSE = np.array([[4.0, 1.0, 0.0], [1.0, 5.0, 0.5], [0.0, 0.5, 6.0]])
FORMATS = "csr csc coo dia bsr lil dok"
REFUSALS = ft.LevelError, ft.NoRuleError, ft.UnsupportedError
OF_NUMBERS = "pmf logpmf cdf sf logcdf"


def trials() -> dict[str, Trial]:
    """A call of each name that has no record: a function, and where it stands."""
    found: dict[str, Trial] = {
        "integrate.quad": (lambda a, b: si.quad(lambda t: np.exp(-a * t), 0.0, b)[0], (0.7, 2.0)),
        "integrate.quad_vec": (
            lambda a, b: si.quad_vec(lambda t: np.exp(-a * t), 0.0, b)[0], (0.7, 2.0),
        ),
        "integrate.fixed_quad": (
            lambda a, b: si.fixed_quad(lambda t: np.exp(-a * t), 0.0, b)[0], (0.7, 2.0),
        ),
        "integrate.dblquad": (
            lambda a, b: si.dblquad(lambda y, x: np.exp(-a * x) * y, 0.0, b, 0.0, 1.0)[0],
            (0.7, 2.0),
        ),
        "integrate.tplquad": (
            lambda a, b: si.tplquad(lambda z, y, x: a * x * z, 0.0, b, 0.0, 1.0, 0.0, 1.0)[0],
            (0.7, 2.0),
        ),
        "integrate.nquad": (
            lambda a, b: si.nquad(lambda x, y: np.exp(-a * x) * y, [[0.0, b], [0.0, 1.0]])[0],
            (0.7, 2.0),
        ),
        "integrate.solve_ivp": (
            lambda a, b: si.solve_ivp(
                lambda t, y: -a * y, (0.0, 1.0), [b], t_eval=[1.0], rtol=1e-8, atol=1e-10
            ).y[0, 0],
            (0.7, 2.0),
        ),
        "integrate.odeint": (
            lambda a, b: si.odeint(lambda y, t: -a * y, b, np.array([0.0, 1.0]))[1, 0],
            (0.7, 2.0),
        ),
        "integrate.solve_bvp": (
            lambda a, b: si.solve_bvp(
                lambda x, y: np.stack([y[1], a * y[0]]), lambda y, z: np.stack([y[0], z[0] - b]),
                XS, np.ones((2, 6)),
            ).y[0, 3],
            (0.7, 2.0),
        ),
        "optimize.root_scalar": (
            lambda a: so.root_scalar(lambda x: x**3 - a, bracket=(0.1, 3.0)).root, (2.0,),
        ),
        "optimize.fsolve": (lambda a: so.fsolve(lambda x: x**3 - a, 1.0)[0], (2.0,)),
        "optimize.root": (lambda a: so.root(lambda x: x**3 - a, 1.0).x[0], (2.0,)),
        "optimize.newton": (lambda a: so.newton(lambda x: x**3 - a, 1.0), (2.0,)),
        "stats.gaussian_kde": (
            lambda x, d: st.gaussian_kde(np.stack([d, d + 1.0, d + 2.5])).logpdf(x)[0], (0.4, 0.2),
        ),
        "stats.multivariate_normal": (
            lambda x, m: st.multivariate_normal.logpdf(np.stack([x, x]), np.stack([m, m])),
            (0.3, 0.1),
        ),
        "stats.multivariate_t": (
            lambda x, m: st.multivariate_t.logpdf(np.stack([x, x]), np.stack([m, m]), df=4.0),
            (0.3, 0.1),
        ),
        "stats.dirichlet": (
            lambda x, a: st.dirichlet.logpdf(np.stack([x, 1 - x]), np.stack([a, 2 * a])),
            (0.3, 1.5),
        ),
    }  # fmt: skip
    for name in ("brentq", "brenth", "ridder", "bisect", "toms748"):
        solver = getattr(so, name)
        found[f"optimize.{name}"] = (
            lambda a, solver=solver: solver(lambda x: x**3 - a, 0.1, 3.0), (2.0,),
        )  # fmt: skip
    for name in ("fmin", "fmin_powell", "fmin_cg", "fmin_bfgs", "fmin_ncg"):
        found[f"optimize.{name}"] = (lambda a, name=name: smallest(name, a), (0.7,))
    least = {
        "minimize": lambda a: so.minimize(lambda x: np.sum((x - a) ** 2), np.ones(1)).x[0],
        "minimize_scalar": lambda a: so.minimize_scalar(lambda x: (x - a) ** 2).x,
        "least_squares": lambda a: so.least_squares(lambda x: x**2 - a, np.ones(1)).x[0],
        "leastsq": lambda a: so.leastsq(lambda x: x**2 - a, np.ones(1))[0][0],
        "curve_fit": lambda a: so.curve_fit(lambda x, m: m * x, XS, a * XS**2)[0][0],
        "fixed_point": lambda a: so.fixed_point(lambda x: np.cos(a * x), 0.5),
    }
    found |= {f"optimize.{name}": (call, (0.7,)) for name, call in (least | conditions()).items()}
    found |= {f"interpolate.{name}": (call, (0.8, 1.3)) for name, call in interpolants().items()}
    found |= {f"sparse.{name}": (call, (0.8,)) for name, call in matrices().items()}
    return found | TRIALS


def conditions() -> dict[str, Callable]:
    """A call of each function for problems with conditions, for searches and for many equations."""
    wide = np.array([[1.0, 2.0], [0.5, 1.0], [3.0, 0.1]])
    box = [(-2.0, 2.0)]

    def square(a: object) -> Callable:
        return lambda x: np.sum((x - a) ** 2)

    found: dict[str, Callable] = {
        "nnls": lambda a: so.nnls(a * wide, np.ones(3))[0][0],
        "lsq_linear": lambda a: so.lsq_linear(a * wide, np.ones(3)).x[0],
        "linprog": lambda a: so.linprog(-a * np.ones(2), wide, np.ones(3)).fun,
        "fmin_l_bfgs_b": lambda a: so.fmin_l_bfgs_b(
            square(a), np.ones(1), lambda x: 2 * (x - a)
        )[0][0],
        "fmin_tnc": lambda a: so.fmin_tnc(
            square(a), np.ones(1), lambda x: 2 * (x - a), disp=0
        )[0][0],
        "differential_evolution": lambda a: so.differential_evolution(square(a), box, rng=1).x[0],
        "dual_annealing": lambda a: so.dual_annealing(square(a), box, rng=1, maxiter=2).x[0],
        "basinhopping": lambda a: so.basinhopping(square(a), np.ones(1), niter=1, rng=1).x[0],
        "shgo": lambda a: so.shgo(square(a), box).x[0],
        "direct": lambda a: so.direct(square(a), box, locally_biased=True, vol_tol=1e-30).x[0],
    }  # fmt: skip
    for name in "newton_krylov broyden1 broyden2 anderson diagbroyden".split():
        solver = getattr(so, name)
        found[name] = lambda a, solver=solver: solver(
            lambda x: x - 0.3 * np.cos(x) * a, np.zeros(2), f_tol=1e-12
        )[0]
    return found


def smallest(name: str, a: object) -> object:
    options = {"fprime": lambda x: 2 * (x - a)} if name == "fmin_ncg" else {}
    return getattr(so, name)(lambda x: np.sum((x - a) ** 2), np.ones(1), disp=False, **options)[0]


def interpolants() -> dict[str, Callable]:
    """A call of each kind of interpolant, by a value of its table and the place of reading."""
    tables = (
        "CubicSpline", "PchipInterpolator", "Akima1DInterpolator", "interp1d",
        "InterpolatedUnivariateSpline", "make_interp_spline",
    )  # fmt: skip
    found: dict[str, Callable] = {
        name: lambda a, q, name=name: getattr(sip, name)(XS, a * XS**2)(q) for name in tables
    }
    knots, grid = np.arange(8.0), (np.arange(3.0), np.arange(4.0))
    found |= {
        "UnivariateSpline": lambda a, q: sip.UnivariateSpline(XS, a * XS**2, s=0)(q),
        "splev": lambda a, q: sip.splev(q, sip.splrep(XS, a * XS**2)),
        "splrep": lambda a, q: sip.splev(q, sip.splrep(XS, a * XS**2)),
        "pchip_interpolate": lambda a, q: sip.pchip_interpolate(XS, a * XS**2, q),
        "CubicHermiteSpline": lambda a, q: sip.CubicHermiteSpline(XS, a * XS**2, 2 * a * XS)(q),
        "PPoly": lambda a, q: sip.PPoly(a * np.ones((3, 2)), np.arange(3.0))(q),
        "BSpline": lambda a, q: sip.BSpline(knots, a * np.arange(5.0), 2)(q + 2.0),
        "interpn": lambda a, q: sip.interpn(grid, a * np.eye(3, 4), np.stack([q, q + 0.4]))[0],
        "RegularGridInterpolator": lambda a, q: sip.RegularGridInterpolator(grid, a * np.eye(3, 4))(
            np.stack([q, q + 0.4])
        )[0],
    }
    return found


def matrices() -> dict[str, Callable]:
    """A call of what makes a sparse matrix, and of what solves with one, by a factor of values."""
    rows, columns = np.nonzero(DENSE)
    values = DENSE[rows, columns]

    def matrix(a: object, kind: str = "csr_matrix") -> Any:
        whole = sparse.coo_matrix((values * a, (rows, columns)), shape=(3, 3))
        return getattr(sparse, kind)(whole)

    def use(made: Any) -> object:
        return (made.tocsr()[:3, :3] @ XS[:3])[0]

    classes = [f"{f}_{k}" for f in FORMATS.split() for k in ("matrix", "array")]
    found: dict[str, Callable] = {
        kind: lambda a, kind=kind: use(matrix(a, kind)) for kind in classes
    }
    for name in ("hstack", "vstack", "block_diag"):
        found[name] = lambda a, name=name: use(getattr(sparse, name)([matrix(a), matrix(a)]))
    found |= {
        "bmat": lambda a: use(sparse.bmat([[matrix(a), None], [None, matrix(a)]])),
        "diags": lambda a: use(sparse.diags([a * XS[:3]], [0])),
        "spdiags": lambda a: use(sparse.spdiags(np.stack([a * XS[:3]]), [0], 3, 3)),
        "kron": lambda a: use(sparse.kron(matrix(a), np.eye(2))),
        "tril": lambda a: use(sparse.tril(matrix(a))),
        "triu": lambda a: use(sparse.triu(matrix(a))),
        "find": lambda a: sparse.find(matrix(a))[2][0],
        "linalg.spsolve": lambda a: sl.spsolve(matrix(a), XS[:3])[0],
        "linalg.spsolve_triangular": lambda a: sl.spsolve_triangular(
            sparse.tril(matrix(a)).tocsr(), XS[:3]
        )[0],
        "linalg.splu": lambda a: sl.splu(matrix(a, "csc_matrix")).solve(XS[:3])[0],
        "linalg.factorized": lambda a: sl.factorized(matrix(a, "csc_matrix"))(XS[:3])[0],
        "linalg.LinearOperator": lambda a: sl.cg(
            sl.LinearOperator((3, 3), lambda x: a * x, dtype=float), XS[:3]
        )[0][0],
        "linalg.aslinearoperator": lambda a: sl.aslinearoperator(matrix(a)).matvec(XS[:3])[0],
        "linalg.norm": lambda a: sl.norm(matrix(a)),
        "linalg.expm": lambda a: use(sl.expm(matrix(a, "csc_matrix"))),
        "linalg.inv": lambda a: use(sl.inv(matrix(a, "csc_matrix"))),
        "linalg.matrix_power": lambda a: use(sl.matrix_power(matrix(a), 2)),
        "linalg.expm_multiply": lambda a: sl.expm_multiply(matrix(a), XS[:3])[0],
        "linalg.eigsh": lambda a: sl.eigsh(matrix(a), 1)[0][0],
        "linalg.svds": lambda a: sl.svds(matrix(a), 1)[1][0],
    }
    for name in "cg cgs bicg bicgstab gmres lgmres minres qmr gcrotmk tfqmr".split():
        solver = getattr(sl, name)
        found[f"linalg.{name}"] = lambda a, solver=solver: solver(matrix(a), XS[:3])[0][0]
    return found


def measured(call: Callable, at: tuple) -> tuple[str, str, str, str]:
    """Return the words for vmap, jvp and vjp of a call, and what is refused."""
    words, refused = [], []
    many = [np.stack([x, x * 1.01]) for x in map(np.asarray, at)]
    with warnings.catch_warnings(record=True) as caught, np.errstate(all="ignore"):
        warnings.simplefilter("always")
        try:
            ft.vmap(call)(*many)
            loop = any(issubclass(w.category, ft.FallbackWarning) for w in caught)
            words.append("loop" if loop else "yes")
        except REFUSALS:
            words.append("no")
        for mode in (ft.jacfwd, ft.jacrev):
            outcome = []
            for i in range(len(at)):
                try:
                    outcome.append(np.any(mode(call, i)(*map(float, at))))
                except REFUSALS:
                    refused.append(i)
            words.append("yes" if any(outcome) else "zero" if outcome else "no")
    return (*words, ", ".join(map(str, dict.fromkeys(refused))))  # type: ignore[return-value]


def of_distribution(name: str, at: tuple, methods: str) -> tuple[str, str, str, str]:
    """Return the words for all methods of a distribution, and the gaps by method and parameter."""
    own = getattr(st, name)
    x, *shapes = at
    discrete = methods is OF_NUMBERS
    parameters = ["x", *(own.shapes or "").replace(" ", "").split(","), "loc", "scale"]
    parameters = [p for p in parameters if p]
    found, gaps = [], []
    for method in methods.split():
        place = 0.4 if method in ("ppf", "isf") else x
        free = [float(s) for s in shapes if isinstance(s, float)]
        whole = [s for s in shapes if not isinstance(s, float)]
        call = getattr(own, method)
        if discrete:
            if not free:
                continue
            words = measured(lambda *s, call=call: call(place, *whole, *s), tuple(free))
            names = parameters[1 + len(whole) :]
        else:
            words = measured(lambda *a, call=call: call(*a), (float(place), *free, 0.1, 1.2))
            names = parameters
        found.append(words[:3])
        for i in filter(None, words[3].split(", ")):
            gaps.append(f"`{method}` by {names[int(i)]}")
    if not found:
        return "yes", "zero", "zero", "all parameters are whole numbers"
    columns = [worst(column) for column in zip(*found)]
    note = f"no derivative of {', '.join(gaps)}" if gaps else ""
    return (*columns, note)  # type: ignore[return-value]


def worst(words: tuple) -> str:
    return next(w for w in ("no", "refuses", "loop", "yes", "zero") if w in words)


def public(func: Callable) -> str:
    """Return the name of a function with a record, without ``scipy.``, or nothing."""
    name = name_of(func)
    if not name.startswith("scipy.") or func not in operations():
        return ""
    if name.count(".") != 2 and not name.startswith("scipy.spatial.distance."):
        return ""
    return name.removeprefix("scipy.").replace("._", ".")  # a private ufunc of one


def entries(only: Collection[str] | None = None) -> dict[str, tuple[str, str, str, str]]:
    """The words and the note of each name, or of some, without ``scipy.``."""

    def asked(name: str) -> bool:
        return bool(name) and (only is None or name in only)

    found: dict[str, tuple] = {}
    for func, rows in called().items():
        if asked(public(func)):
            found[public(func)] = verdict(func, operations()[func], rows)
    for name, (call, at) in trials().items():
        if asked(name) and has(name):
            *words, gaps = measured(call, at)
            found[name] = (*words, f"no derivative by argument {gaps}" if gaps else "")
    for table, methods in ((CONTINUOUS, METHODS), (DISCRETE, OF_NUMBERS)):
        for name, at in table.items():
            if asked(f"stats.{name}"):
                found[f"stats.{name}"] = of_distribution(name, at, methods)
    if "special.psi" in found:
        found["special.digamma"] = found["special.psi"]
    return dict(sorted(found.items()))


def has(name: str) -> bool:
    """Tell if this SciPy has a name."""
    found = scipy
    for part in name.split("."):
        found = getattr(found, part, None)
    return found is not None


def version() -> str:
    return ".".join(scipy.__version__.split(".")[:2])


def page(found: dict[str, tuple]) -> str:
    counts: Counter = Counter()
    by_module: dict[str, list[str]] = {}
    for name, (*words, note) in found.items():
        counts.update(zip(("vmap", "jvp", "vjp"), words))
        module, _, rest = name.partition(".")
        by_module.setdefault(module, []).append(f"| `{rest}` | {' | '.join(words)} | {note} |")
    lines = [
        HEAD,
        f"SciPy {version()}, {len(found)} names:",
        "",
        "| | yes | zero | loop | refuses |",
    ]
    lines.append("|---|---|---|---|---|")
    for mode in ("vmap", "jvp", "vjp"):
        cells = [str(counts[mode, word]) for word in ("yes", "zero", "loop", "refuses")]
        lines.append(f"| {mode} | {' | '.join(cells)} |")
    for module, rows in by_module.items():
        lines += ["", f"## scipy.{module}", "", "| name | vmap | jvp | vjp | note |"]
        lines += ["|---|---|---|---|---|", *rows]
    return "\n".join(lines) + "\n"


def promised() -> list[str]:
    """The names of `NAMES` that this SciPy has."""
    return [
        f"{module}.{name}"
        for module, names in NAMES.items()
        for name in names.split()
        if has(f"{module}.{name}")
    ]


if __name__ == "__main__":
    PAGE.write_text(page(entries()))
