"""Names of NumPy and SciPy with an underscore: all are in one table each, and in this release."""

import ast
import functools
import re
import sys

import numpy as np
import pytest
import scipy
import scipy.cluster.vq
import scipy.fft
import scipy.integrate
import scipy.interpolate
import scipy.ndimage
import scipy.signal
import scipy.sparse.linalg
import scipy.spatial
import scipy.stats
from test_structure import PACKAGE

from functier._core import numpy_private
from functier._rooms import ANSWERS
from functier.scipy import _private as scipy_private
from support.rows import run_each
from support.sources import Package, is_document, tree_of

pytestmark = pytest.mark.inside("Private names of NumPy and SciPy are listed in tables.")

TABLES = {"_core.numpy_private": numpy_private.PRIVATE, "scipy._private": scipy_private.PRIVATE}
NAMES = {**numpy_private.PRIVATE, **scipy_private.PRIVATE}
PREFIXES = scipy_private.COPIED + scipy_private.CLASSES_OF

PLACES = np.arange(6.0)
EXAMPLES = {
    "UnivariateSpline": lambda cls: cls(PLACES, PLACES),
    "interp1d": lambda cls: cls(PLACES, PLACES, fill_value=0.0, bounds_error=False),
    "RegularGridInterpolator": lambda cls: cls([PLACES], PLACES, method="cubic"),
    "PPoly": lambda cls: cls(np.ones((2, 1)), [0.0, 1.0]),
    "Delaunay": lambda cls: cls(np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0]])),
    "gaussian_kde": lambda cls: cls(PLACES),
    "ttest_1samp": lambda test: test(PLACES, 0.0),
    "LinearOperator": lambda cls: cls((2, 2), matvec=np.copy, rmatvec=np.copy),
}
"""The way in which an instance is made of a class, or the result of a function."""


def exists(name):
    before, _, attribute = name.partition("().")
    found = numpy_private.look_up(before)
    if attribute:
        return hasattr(EXAMPLES[before.rpartition(".")[2]](found), attribute)
    return found is not None


SINCE = {
    "scipy.interpolate.PPoly()._asarray": "1.17",
    "scipy._lib.array_api_extra": "1.15",
    "scipy.signal._spline_filters": "1.15",
    "scipy.signal._polyutils": "1.16",
}
"""The releases of SciPy from which on there is a name that the oldest supported one has not."""


def is_later(name):
    return version(SINCE.get(name, "0")) > version(scipy.__version__)


def version(text):
    return tuple(map(int, text.split(".")[:2])) if "." in text else ()


@pytest.mark.parametrize("name", sorted(NAMES))
def test_a_name_is_in_this_release(name):
    assert exists(name) or is_later(name)


@pytest.mark.parametrize("prefix", sorted({*PREFIXES}))
def test_modules_of_code_that_is_copied_are_in_this_release(prefix):
    found = any(f"{module}.".startswith(prefix) for module in sys.modules)
    if not found:  # or functions of one
        module, _, name = prefix.rpartition(".")
        found = any(n.startswith(name) for n in vars(sys.modules.get(module, object)))
    assert found or is_later(prefix)


# ---- no other name is read ----

OURS = Package(PACKAGE)
OTHERS = {
    "_fields", "_make", "_replace", "_getframe", "_current_frames",  # of Python
    "_can_compile", "_compiler", "_dispose", "_lock", "_sigs",  # of Numba and LLVM
}  # fmt: skip


@functools.cache
def defined():
    """The names with an underscore that functier itself gives to something."""
    found = set()
    for path in OURS.files:
        for node in ast.walk(tree_of(path)):
            if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
                found.add(node.name)
            elif isinstance(node, (ast.Attribute, ast.Name)) and isinstance(node.ctx, ast.Store):
                found.add(getattr(node, "attr", None) or node.id)
            elif isinstance(node, (ast.arg, ast.keyword)):
                found.add(node.arg)
            elif isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__slots__":
                found |= {n.value for n in ast.walk(node.value) if isinstance(n, ast.Constant)}
    return found


def private_names(tree, known):
    """The private names of other packages that a file reads: a path, or an attribute."""
    documents = {node.value for node in ast.walk(tree) if is_document(node)}
    for node in ast.walk(tree):
        names = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and not node.level:
            names = [f"{node.module}.{alias.name}" for alias in node.names]
        elif isinstance(node, ast.Attribute):
            path = re.sub(r"^np\.", "numpy.", ast.unparse(node))
            own = re.fullmatch("_[A-Za-z]\\w*", node.attr) and node.attr not in known
            names = [f"numpy.{node.attr}" if own else path]
        elif isinstance(node, ast.Constant) and node not in documents:
            names = re.findall(r"\b(?:numpy|scipy)\.[\w.]*", str(node.value))
        for name in names:
            if re.match(r"(numpy|scipy)\b.*\._[A-Za-z]", name):
                yield name


def test_private_names_are_in_the_tables():
    def check(path):
        ends = {name.rpartition(".")[2] for name in NAMES} | OTHERS
        for name in private_names(tree_of(path), defined()):
            in_table = name in NAMES or name.rpartition(".")[2] in ends or name.startswith(PREFIXES)
            ours = "scipy._rules", *ANSWERS
            assert in_table or name.startswith(ours), name

    run_each({OURS.name_of(v): v for v in OURS.files}, check)


@pytest.mark.parametrize(
    "text",
    [
        "import numpy._core", "from scipy.special import _ufuncs", "np._core.umath", "x._strange",
        "find('scipy.signal._strange')",
    ],
)  # fmt: skip
def test_a_private_name_is_found(text):
    assert list(private_names(ast.parse(text), defined()))
