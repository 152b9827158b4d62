"""The net on foreign arrays: each is converted as NumPy does it, or refused by name."""

import re

import numpy as np
import pytest

import functier as ft
from faults.planted import nets as faulty
from nets import foreign_cases as cases
from nets.border_cases import attempt
from nets.foreign_cases import CONTAINERS, KINDS, LABELLED, V
from nets.verdicts import Verdicts

REASONS = {
    r"(pandas|xarray|scipy|numpy|foreign_cases)\.[\w.]*[A-Za-z]+.*; (write|pass) ": "it is named",
    r"is a(n object| structured) array, wh|holds a |an xarray\.Dataset into": "it is named",
    "arrays or pytrees of arrays|(; |: )(write|pass|return) ": "it says what to write",
    "dtype|has no derivative": "it has no numbers",
    r"(operand type\(s\) for|supported between) .*'[\w.]*(Decimal|Fraction|set|bytes)'": "Python's",
    r"operand type\(s\) for .*'[\w.]*(Exchange|csr_\w+|float)'": "Python names both classes",
    r"all returned NotImplemented.*(Decimal|Fraction|Sparse|Exchange|\{)": "NumPy names both",
    "would write a tensor to a plain array": "s += x writes to the array in the object",
    "non-broadcastable output operand with shape": "NumPy's, where the array is too small",
    "loop of ufunc does not support": "NumPy's, for an object array",
    "values should be integer|Cannot broadcast np.ndarray|truth value of an array": "pandas' own",
}
"""Texts of errors that refuse a foreign object, and why each is enough."""

EXCUSED = {
    ("sparse matrix", "the result"): "the sum of a constant is a number",
    ("sparse array", "the result"): "the same",
    ("sparse matrix", "argument of vmap, not mapped"): "x * s is a product of matrices",
    ("Fraction", "s ** x"): "a Fraction makes a float of itself, as it does beside an array",
}
MEANINGS = {"s += x": lambda s, x: (s + x) * 1.0}
"""The programs that are compared with, where `s` itself is not changed."""
HALF = AttributeError, KeyError, SystemError, RecursionError, AssertionError
"""Errors that nobody chose."""


pytestmark = pytest.mark.usefixtures("quiet")
AS_NUMPY = object()


def outcome(run, plain, kind):
    """The result; `AS_NUMPY` where NumPy alone raises the same error."""
    got = attempt(lambda: run(KINDS[kind](V)))
    if not isinstance(got, Exception):
        return got
    if plain is not None and not isinstance(got, ft.LevelError):
        alone = attempt(lambda: plain(KINDS[kind](V)))
        if type(alone) is type(got) or (isinstance(alone, Exception) and not isinstance(got, HALF)):
            return AS_NUMPY
    if isinstance(got, HALF) and not isinstance(got, ft.LevelError):
        raise SystemError(f"half: {type(got).__name__}")
    raise got


def has_levels(value):
    flat = value.flat if isinstance(value, np.ndarray) and value.dtype.hasobject else [value]
    return any(isinstance(v, ft.Tensor) and v.level.depth for v in flat)


def check(got, meaning, kind):
    """Compare with the same program of the array that NumPy makes of the object."""
    if got is AS_NUMPY:
        return
    assert not has_levels(got), "a tensor of a level that has ended came out"
    given = KINDS[kind](V)
    given = given.toarray() if "sparse" in kind else np.asarray(given)
    wanted = attempt(lambda: meaning(given))
    assert not isinstance(wanted, Exception), f"{got!r:.80}, where an array gives {wanted!r:.150}"
    assert np.shape(got) == np.shape(wanted), f"{got!r:.80}, expected {wanted!r:.80}"
    a, b = np.asarray(got), np.asarray(wanted)
    assert a.dtype == b.dtype, f"{a.dtype}, expected {b.dtype}"
    equal = attempt(lambda: np.array_equal(a, b, equal_nan=a.dtype.kind in "fc"))
    assert equal is True, f"{got!r:.80}, expected {wanted!r:.80}"


def table(counts, kinds=tuple(KINDS), some=slice(None)):
    for name, run, plain, meaning in list(cases.programs(MEANINGS))[some]:
        for kind in kinds:
            if kind in CONTAINERS and ("argument" in name or "result" in name):
                continue
            if (kind, name) in EXCUSED or (kind, name.partition(", ")[0]) in EXCUSED:
                continue
            counts.judge(
                f"{kind}: {name}",
                lambda r=run, p=plain, k=kind: outcome(r, p, k),
                lambda got, m=meaning, k=kind: check(got, m, k),
            )


def test_foreign_arrays(verdicts, full):
    counts = verdicts("foreign arrays", REASONS)
    table(counts, some=slice(None) if full else slice(0, None, 2))
    counts.settle(most=0.7)
    assert counts.right > 1000


# ---- the remedies ----


@pytest.mark.parametrize("kind", [k for k in LABELLED if "array" not in k[-6:] or "data" in k])
def test_the_code_of_a_refusal_gives_an_array(kind):
    x = LABELLED[kind](V)
    uses = lambda v: np.where(v > 1, v, x), lambda v: np.add(v, x)  # functions take a series
    tried = [attempt(lambda f=f: ft.grad(lambda v: np.sum(f(v)))(V)) for f in uses]
    refused = "\n".join(str(error) for error in tried if isinstance(error, TypeError))
    code = re.search(r"; (?:write|pass) ([^;,]+?)(?: where it comes from|,|$)", refused)

    made = eval(code[1].replace("value", "0.0"), {"x": x, "numpy": np})

    assert type(made) is np.ndarray and made.dtype.kind in "biufc"
    assert np.shape(ft.grad(lambda v: np.sum(np.add.outer(v, made)))(V)) == (2,)


def test_tensors_with_labels():
    """Xarray holds tensors as they are, pandas one by one: both can be taken out again."""
    da, series = cases.xr.DataArray, cases.pd.Series
    for wrap in (lambda x: da(x, dims="i"), lambda x: series([x[0], x[1]])):
        with pytest.raises(TypeError) as error:
            ft.vmap(lambda x, w=wrap: w(2 * x))(cases.ROWS)
        code = re.search(r"write (.+) where it comes from", str(error.value))[1]
        found = ft.vmap(lambda x, w=wrap, c=code: eval(c, {"x": w(2 * x), "numpy": np}))
        np.testing.assert_array_equal(found(cases.ROWS), 2 * cases.ROWS)


# ---- the net finds what was wrong ----


def planted(kinds):
    counts = Verdicts("planted", REASONS)
    table(counts, kinds)
    return counts.wrong


def test_finds_buffers_that_are_not_converted(monkeypatch):
    faulty.buffers_that_are_not_converted(monkeypatch)
    for kind in ("memoryview", "array.array", "deque", "__array_interface__ only"):
        assert len(planted((kind,))) > 10


def test_finds_objects_in_object_arrays(monkeypatch):
    faulty.objects_in_object_arrays(monkeypatch)
    for kind in ("sparse matrix", "sparse array"):
        assert planted((kind,))


def test_finds_labels_that_are_taken_for_arrays(monkeypatch):
    faulty.labels_that_are_taken_for_arrays(monkeypatch)
    for kind in ("series", "frame", "data array", "dataset"):
        assert len(planted((kind,))) > 5
