"""The net on borders: odd values at every place where a value crosses one, the triangle that
NumPy reads of a Hermitian matrix, and the modules of `functier.numpy`.

The cases stand in `border_cases`. Each part is proven by putting an old behaviour back.
"""

import re
import subprocess
import sys
import textwrap

import numpy as np
import pytest

import functier as ft
from faults.planted import nets as faulty
from functier.testing import gradcheck
from nets import border_cases as cases
from nets.border_cases import KINDS, M, V, alike, attempt, dead, named, plainly
from nets.verdicts import Verdicts

REASONS = {
    r"numpy\.asarray\(x\)(, which [\w.]+ calls,)? would (turn|lose|be the same)": (
        "the odd value stands on the left, and its own class converts the tensor before anybody is "
        "asked"
    ),
    r"whose changes are not seen": (
        "a function that runs again in the backward pass uses an object that nobody can compare"
    ),
}
EXCUSED = {
    ("0-d object array", "hessian, result"): "its sum is the array in it, which has a Hessian",
    ("a 0-d object array", "hessian, result"): "the same",
    ("durations", "keyword"): "the product is a duration, as NumPy's",
    ("durations", "carry"): "the same",
    ("durations", "field"): "the same",
}
BESIDE = {
    "keyword", "keyword_of_grad", "unmapped", "constant_argument", "tangent", "cotangent",
    "tangent_of_linearize", "tangent_of_hvp", "cotangent_of_transpose", "argument_of_custom",
}  # fmt: skip
"""Places at which a container is a value, not a pytree."""

NAMED = object()
"""The outcome of a case that was refused by name."""


pytestmark = pytest.mark.usefixtures("quiet")

# ---- odd values ----


def accepted(kind, name, program, numbers):
    """The result of a program for an odd value; `NAMED`, or an error that does not say enough."""
    odd = KINDS[kind][0](numbers)
    got = attempt(lambda: program(odd, numbers))
    if not isinstance(got, Exception):
        return got, odd
    if kind not in cases.RIGHT:
        if named(kind, got) or type(got) in plainly(KINDS[kind][0](numbers)):
            return NAMED, odd
    raise got


def works(program, numbers):
    """Tell if a program works at all, for arrays of this shape."""
    return not isinstance(attempt(lambda: program(numbers, numbers)), Exception)


def meanings(kind, program, reference, odd, numbers):
    """The right results: what a loop makes of the value, or what its numbers give."""
    if reference is not program:
        yield attempt(lambda: reference(KINDS[kind][0](numbers), numbers))
    if kind == "masked array":
        yield attempt(lambda: program(odd.filled(0.0), numbers))
    else:
        yield attempt(lambda: program(numbers, numbers))


def check(kind, program, reference, numbers, got, odd):
    if got is NAMED:
        return
    assert not dead(got), "a tensor of a level that has ended came out"
    found = list(meanings(kind, program, reference, odd, numbers))
    right = [e for e in found if not isinstance(e, Exception) and alike(got, e, odd)]
    assert right, f"got {got!r:.150}, expected {found!r:.150}"


def odd_values(counts, kinds=tuple(KINDS)):
    """Judge all programs on some kinds of values."""
    for name, program, reference in cases.programs():
        for kind in kinds:
            if kind in cases.CONTAINERS and "operand" not in name and name not in BESIDE:
                continue
            for numbers in (V, M):
                if (kind, name) in EXCUSED:
                    continue
                if works(program, numbers):
                    counts.judge(
                        f"{kind} of shape {numbers.shape}: {name}",
                        lambda k=kind, n=name, p=program, x=numbers: accepted(k, n, p, x),
                        lambda out, k=kind, p=program, r=reference, x=numbers: check(
                            k, p, r, x, *out
                        ),
                    )


def test_odd_values(verdicts):
    counts = verdicts("odd values at a border", REASONS)
    odd_values(counts)
    counts.settle()


# ---- object arrays that hold tensors ----


def filled(counts):
    """Judge object arrays of tensors, also in containers and in each other."""
    for wrap in cases.FILLED:
        for name, program in cases.filled_programs():
            plain = attempt(lambda p=program: p(lambda x: x))
            if (wrap, name) in EXCUSED or isinstance(plain, Exception):
                continue
            counts.judge(
                f"{wrap}: {name}",
                lambda w=wrap, p=program: _filled(w, p),
                lambda got, w=wrap, plain=plain: _check_filled(got, w, plain),
            )


def _filled(wrap, program):
    got = attempt(lambda: program(cases.FILLED[wrap]))
    if not isinstance(got, Exception):
        return got
    if re.search("numpy.stack|object array", str(got)):
        return NAMED
    if isinstance(got, (TypeError, ValueError, RuntimeError)) and re.search(cases.FORM, str(got)):
        return NAMED
    if type(got) in plainly(cases.FILLED[wrap](V)) and not isinstance(got, ft.LevelError):
        return NAMED
    raise got


def _check_filled(got, wrap, expected):
    if got is not NAMED:
        assert not dead(got), "a tensor of a level that has ended came out"
        if wrap in cases.OTHER_FORM:
            return
        assert alike(got, expected), f"got {got!r:.150}, expected {expected!r:.150}"


def test_object_arrays_of_tensors(verdicts):
    counts = verdicts("object arrays of tensors", REASONS)
    filled(counts)
    counts.settle()


# ---- complex (co)tangents of real values ----


def complex_rules(counts):
    """Judge rules of a user that return something complex for what is real."""
    for name, program in cases.OTHERS.items():
        if name in cases.RULES:
            for factor in (1j, 1.0 + 1j, np.complex64(1j)):
                counts.judge(
                    f"{name}, times {factor}",
                    lambda f=factor, p=program: _filled_complex(p, f),
                    lambda got: _is_named(got),
                )


def _filled_complex(program, factor):
    got = attempt(lambda: program(V * factor, V))
    if isinstance(got, Exception):
        if isinstance(got, (TypeError, ValueError)) and "complex" in str(got):
            return NAMED
        raise got
    return got


def _is_named(got):
    assert got is NAMED, f"accepted: {got!r:.150}"


def test_complex_results_of_rules(verdicts):
    counts = verdicts("complex results of rules for real values")
    complex_rules(counts)
    counts.settle()


# ---- one triangle ----

HERMITIAN = {
    "eigvalsh": (np.linalg.eigvalsh, ({}, {"UPLO": "U"}, {"UPLO": "l"})),
    "eigh": (np.linalg.eigh, ({}, {"UPLO": "U"})),
    "cholesky": (np.linalg.cholesky, ({}, {"upper": True})),
    "svd": (np.linalg.svd, ({"hermitian": True}, {"hermitian": True, "compute_uv": False})),
    "pinv": (np.linalg.pinv, ({"hermitian": True},)),
}


def triangles(counts, seeds):
    """Judge what reads one triangle, on matrices of any kind, by finite differences."""
    for seed in seeds:
        for name, (func, options) in HERMITIAN.items():
            for given in options:
                for kind in ("Hermitian", "any", "one triangle"):
                    rng = np.random.default_rng(seed)
                    upper = given.get("upper") or given.get("UPLO", "L") in "uU"
                    a = matrix(rng, kind, bool(upper))
                    counts.judge(
                        f"{name}({given}) of {kind}, seed {seed}: {a.shape} {a.dtype}",
                        lambda f=func, g=given, a=a: gradcheck(lambda x: f(x, **g), (a,)),
                        lambda _: None,
                    )


def matrix(rng, kind, upper):
    """A positive definite matrix with distant eigenvalues, or a triangle of one and the rest."""
    n, lead = int(rng.integers(1, 5)), ((), (2,))[int(rng.integers(2))]
    a = rng.normal(size=(*lead, n, n))
    if rng.random() < 0.5:
        a = a + 1j * rng.normal(size=a.shape)
    q = np.linalg.qr(a)[0]
    a = q * (1.0 + np.arange(n)) @ q.conj().mT
    if kind != "Hermitian":
        own = np.triu(a) if upper else np.tril(a)
        other = np.tril(rng.normal(size=a.shape), -1)
        a = own + (other if upper else other.mT) * (kind == "any")
    return a


def test_one_triangle(verdicts, full):
    counts = verdicts("functions of one triangle")
    triangles(counts, range(40 if full else 4))
    counts.settle()


# ---- the modules of functier.numpy ----

MODULES = """
import importlib, pkgutil, sys, types, warnings
warnings.simplefilter("ignore")
import numpy
import functier.numpy as fnp
{fault}
skipped = ("tests", "conftest", "f2py", "distutils", "_", "typing.mypy_plugin", "core", "matlib")
names = [
    m.name.removeprefix("numpy.") for m in pkgutil.walk_packages(numpy.__path__, "numpy.")
    if not any(part.startswith(skipped) for part in m.name.split(".")[1:])
]
for name in names:
    try:
        theirs = importlib.import_module("numpy." + name)
    except ImportError:
        continue
    before = {{n: m for n, m in sys.modules.items() if n.partition(".")[0] == "numpy"}}
    try:
        ours = importlib.import_module("functier.numpy." + name)
    except Exception as error:
        print("WRONG", name, type(error).__name__, error)
        continue
    after = {{n: m for n, m in sys.modules.items() if n.partition(".")[0] == "numpy"}}
    problems = [n for n in before if after.get(n) is not before[n]]
    found = fnp
    for part in name.split("."):
        found = getattr(found, part)
    if found is not ours:
        problems.append("the attribute is another module")
    try:
        assert importlib.reload(ours) is ours
    except Exception as error:
        problems.append(repr(error))
    for n in dir(theirs):
        a, b = [getattr(m, n, None) for m in (theirs, ours)]
        if a is None or isinstance(a, types.ModuleType) or n.startswith("__"):
            continue
        if isinstance(b, type) and (b == a or vars(b).get("original") is a):  # a twin
            continue
        if isinstance(b, types.FunctionType) and b.__code__ is getattr(a, "__code__", None):
            continue  # NumPy's code with twins for its globals
        if a is not b and getattr(b, "__wrapped__", None) is not a and n != "default_rng":
            problems.append(n)
    print("WRONG" if problems else "RIGHT", name, problems[:5])
"""
HANDED_THROUGH = """
fnp.__path__ = numpy.__path__
sys.meta_path[:] = [f for f in sys.meta_path if type(f).__name__ != "_Finder"]
"""


def modules(counts, fault=""):
    """Judge every public module inside of NumPy's, imported by way of `functier.numpy`."""
    program = MODULES.format(fault=textwrap.dedent(fault))
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    lines = [line for line in done.stdout.splitlines() if line[:5] in ("RIGHT", "WRONG")]
    for line in lines:
        counts.judge(line[6:], lambda: line, lambda line: _is_right(line))
    assert len(lines) > 15, done.stderr[-2000:]


def _is_right(line):
    assert line.startswith("RIGHT"), line


def test_modules_of_numpy(verdicts):
    counts = verdicts("modules of functier.numpy")
    modules(counts)
    counts.settle()


# ---- the net finds what was wrong ----


def planted(judge, *args):
    counts = Verdicts("planted", REASONS)
    judge(counts, *args)
    return counts.wrong


def test_finds_classes_taken_for_arrays(monkeypatch):
    faulty.classes_taken_for_arrays(monkeypatch)
    kinds = ("matrix", "masked array", "subclass with operators")
    found = planted(odd_values, kinds)
    for kind in kinds:
        assert sum(line.startswith(kind) for line in found) > 20


def test_finds_object_arrays_of_tensors(monkeypatch):
    faulty.object_arrays_of_tensors(monkeypatch)
    assert len(planted(filled)) > 20


def test_finds_arrays_of_arrays(monkeypatch):
    faulty.arrays_of_arrays(monkeypatch)
    assert planted(odd_values, ("0-d object array",))


def test_finds_structured_arrays(monkeypatch):
    faulty.structured_arrays(monkeypatch)
    assert planted(odd_values, ("structured array", "recarray"))


def test_finds_half_a_protocol(monkeypatch):
    faulty.half_a_protocol(monkeypatch)
    assert len(planted(odd_values, ("ufuncs only",))) > 20


def test_finds_containers_in_themselves(monkeypatch):

    faulty.containers_in_themselves(monkeypatch)
    assert planted(odd_values, ("a container in itself",))


@pytest.mark.parametrize("home", ["pytree_rules", "function_rules"])
def test_finds_real_parts_that_nobody_asked_for(monkeypatch, home):
    faulty.real_parts_that_nobody_asked_for(monkeypatch, home)
    assert planted(complex_rules)


@pytest.mark.parametrize("name", ["complete_hermitian", "fold_triangle"])
def test_finds_the_other_triangle(monkeypatch, name):

    faulty.the_other_triangle(monkeypatch, name)
    found = planted(triangles, range(4))
    assert any("eigh" in line for line in found) and any("cholesky" in line for line in found)


def test_finds_a_second_numpy():
    assert len(planted(modules, HANDED_THROUGH)) > 5
