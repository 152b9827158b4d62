"""Objects of SciPy see later writes to what they were made of as SciPy's do, and no others."""

from types import SimpleNamespace

import numpy as np
import pytest
import scipy

import functier as ft
import functier.numpy as fnp
import functier.scipy.interpolate
import functier.scipy.sparse
import functier.scipy.stats
from faults.planted import scipy as faulty

PLAIN = SimpleNamespace(np=np, scipy=scipy)
OURS = SimpleNamespace(np=fnp, scipy=ft.scipy)
T, X = np.array([0.0, 1.0, 2.0, 3.5, 5.0]), np.array([0.4, -0.7, 1.3, 0.2, -1.1])
N = np.arange(5)
AT = np.array([[1.3]])


def radial(m, y):
    o = m.scipy.interpolate.RBFInterpolator(T[:, None], y)
    y[0] = 9.0
    return o(AT)


def grid(method):
    def f(m, y):
        o = m.scipy.interpolate.RegularGridInterpolator((T,), y, method=method)
        y[1] = 9.0
        return o(AT)

    return f


def normal(m, y):
    mean, c = y * 1.0, m.np.diag(np.abs(y) + 1)
    o = m.scipy.stats.multivariate_normal(mean, cov=c)
    c[0, 0], mean[1] = 50.0, 3.0
    return o.logpdf(np.ones(5))


def student(m, y):
    c = m.np.diag(np.abs(y) + 1)
    o = m.scipy.stats.multivariate_t(np.zeros(5), c, 3.0)
    c[0, 0] = 50.0
    return o.logpdf(np.ones(5))


def rows(m, y, **options):
    return m.scipy.sparse.csr_array((y, N, np.arange(6)), shape=(5, 5), **options)


def written(make):
    """Whether a matrix sees a write to its values, and these a write to the matrix."""

    def f(m, y):
        a = make(m, y)
        y[0] = 9.0
        found = a.toarray()
        a.data[1] = 7.0
        return found, y

    return f


def moved(name, **options):
    """The same of a matrix of another format."""

    def f(m, y):
        a = rows(m, y)
        b = getattr(a, name)(**options)
        a.data[0] = 9.0
        return b.toarray(), y

    return f


def element(m, y):
    a = rows(m, y)
    a[0, 0] = 9.0
    a[[1, 2], [1, 2]] = 5.0
    return a.toarray(), y


CASES = {
    "RBFInterpolator": radial, "cubic": grid("cubic"), "linear": grid("linear"),
    "multivariate_normal": normal, "multivariate_t": student, "element of csr": element,
    "data of csr": written(rows), "copied data": written(lambda m, y: rows(m, y, copy=True)),
    "data of coo": written(lambda m, y: m.scipy.sparse.coo_array((y, (N, N)), shape=(5, 5))),
    "csr of places": written(lambda m, y: m.scipy.sparse.csr_array((y, (N, N)), shape=(5, 5))),
    "csr of a dense array": written(lambda m, y: m.scipy.sparse.csr_array(y[None])),
    "csr of csr": written(lambda m, y: m.scipy.sparse.csr_array(rows(m, y))),
    "tocsc": moved("tocsc"), "tocsr": moved("tocsr"), "tocsr copied": moved("tocsr", copy=True),
    "tocoo": moved("tocoo"), "tocoo shared": moved("tocoo", copy=False), "T": moved("transpose"),
    "tolil": moved("tolil"), "copy": moved("copy"),
}  # fmt: skip
"""Programs of a namespace and an array `y` of the function's own."""


def wrong(case):
    def run(module):
        return lambda x: case(module, x * 1.0)

    want = run(PLAIN)(X)
    found = {
        "jvp": ft.jvp(run(OURS), (X,), (X,))[0],
        "vjp": ft.vjp(run(OURS), X)[0],
        "vmap": ft.vmap(run(OURS))(np.stack([X, X])),
    }
    pairs = {
        how: zip(got, want) if isinstance(want, tuple) else [(got, want)]
        for how, got in found.items()
    }
    return [how for how, each in pairs.items() if not all(np.allclose(a, b) for a, b in each)]


@pytest.mark.parametrize("name", CASES)
def test_an_object_shares_what_scipys_shares(name):
    assert not wrong(CASES[name])


# ---- a matrix of a plain array of the user's ----

INDEX, ENDS = [0, 1, 2], [0, 1, 2, 3]
MAKERS = {
    "csr": lambda sp, d: sp.csr_array((d, INDEX, ENDS), shape=(3, 3)),
    "csc": lambda sp, d: sp.csc_matrix((d, INDEX, ENDS), shape=(3, 3)),
    "coo": lambda sp, d: sp.coo_array((d, (INDEX, INDEX)), shape=(3, 3)),
    "dia": lambda sp, d: sp.dia_array((d[None], [0]), shape=(3, 3)),
    "bsr": lambda sp, d: sp.bsr_array((d[:, None, None], INDEX, ENDS), shape=(3, 3)),
}


def refill(a, d, x):
    d[0] = 7.0


def refill_after_a_look(a, d, x):
    looked = a.data
    d[0] = 7.0
    assert looked.size


def refill_after_use(a, d, x):
    a @ x
    d[0] = 7.0


def write_number(a, d, x):
    a.data[..., 0] = 4.0


def scale(a, d, x):
    a.data *= 2.0


def write(a, d, x):
    a.data[..., 0] = x[0] * 5.0


def multiply(a, d, x):
    a.data *= x[0]


def set_diagonal(a, d, x):
    a.setdiag(x * 5.0)


def set_element(a, d, x):
    a[0, 0] = x[0] * 5.0


def set_number(a, d, x):
    a[0, 0] = 5.0


CHANGES = {
    f.__name__: f
    for f in (
        refill, refill_after_a_look, refill_after_use, write_number, scale, write, multiply,
        set_diagonal, set_element, set_number,
    )
}  # fmt: skip
REFUSED = ft.MutationError, ft.ConversionError, ft.UnsupportedError


def of_plain(m, make, change, mine):
    """A program of a matrix of a plain array, which is the user's, or the matrix's alone."""

    def f(x):
        d = np.array([1.0, 2.0, 3.0])
        a = make(m.scipy.sparse, d if mine else d.copy())
        change(a, d, x)
        return np.sum(a @ x) + (np.sum(d) * x[1] if mine else 0.0)

    return f


@pytest.mark.parametrize("mine", [True, False])
@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("format", MAKERS)
def test_a_matrix_of_a_plain_array_is_right_or_refused(format, change, mine):
    given = MAKERS[format], CHANGES[change], mine
    try:
        want = of_plain(PLAIN, *given)(X[:3])
    except (TypeError, ValueError, AttributeError, NotImplementedError):
        return  # SciPy refuses it, too
    f = of_plain(OURS, *given)
    xs = np.stack([X[:3], 2.0 * X[:3]])
    wanted = {"grad": want, "jvp": want, "vmap": [want, of_plain(PLAIN, *given)(xs[1])]}
    runs = {
        "grad": lambda: ft.value_and_grad(f)(X[:3])[0],
        "jvp": lambda: ft.jvp(f, (X[:3],), (X[:3],))[0],
        "vmap": lambda: ft.vmap(f)(xs),
    }
    for how, run in runs.items():
        try:
            found = run()
        except REFUSED:
            assert format in ("dia", "bsr") or (mine and change in TENSORS) or change == "multiply"
        except ValueError as error:  # of dia and bsr, whose data are computed
            assert format in ("dia", "bsr") and "read-only" in str(error)
        except TypeError as error:
            assert format == "coo" and "item assignment" in str(error)
        else:
            np.testing.assert_allclose(found, wanted[how], err_msg=how)


TENSORS = "write", "multiply", "set_diagonal", "set_element"


# ---- planted faults ----


@pytest.mark.parametrize("name", faulty.PLANTED)
def test_a_planted_fault_is_found(name, monkeypatch):
    faulty.PLANTED[name](monkeypatch)

    assert wrong(CASES[name])


def test_a_matrix_that_takes_the_array_for_its_own_is_found(monkeypatch):
    faulty.matrix_that_takes_the_array_for_its_own(monkeypatch)
    for change in ("refill_after_a_look", "write", "scale"):
        with pytest.raises(AssertionError):
            test_a_matrix_of_a_plain_array_is_right_or_refused("csr", change, True)
