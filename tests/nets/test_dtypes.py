"""Values and result dtypes are NumPy's, for all dtypes of numbers and Python's own numbers.

Every operand of every row of the sample table is turned into every dtype, and so are those of
ufuncs, their methods and the operators. NumPy decides what a call accepts, and what it gives:
under vmap the loop over the examples, under jvp and vjp the call itself.
"""

import dataclasses
import functools
import itertools
import operator
import random
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import optree
import pytest

import functier as ft
import samples
from faults.planted import nets_of_programs as faulty
from functier.testing import operations
from nets._recast import (
    KINDS,
    STRONG,
    WEAK,
    Outcome,
    kind_of,
    recast,
    under_derivatives,
    under_vmap,
)
from nets.verdicts import Verdicts
from samples._batch import choices, free
from support.basics import silent
from support.checks import examples, leaves_of

REASONS: dict[str, str] = {
    "x and xp are complex": "NumPy drops their imaginary parts, with a warning",
    r"Cannot cast array data from dtype\('complex.*to dtype\('float": "NumPy drops the same",
    "ufunc 'floor' not supported for the input types": "NumPy takes quantiles that are complex",
    "numpy.roll: shift is complex": "NumPy drops the same",
    "IndexError: (only integers|arrays used as indices)": "NumPy cuts the fraction of a float off",
    "DataDependentError.*a boolean mask that differs": "the length of the result does",
    "DataDependentError.*the number of leading zeros differs": "the length of the result does",
    "DataDependentError.*the shape of the result of": "a mask as an index: the length differs",
    "TypeError: ufunc '(boxcox|boxcox1p|eval_gegenbauer|loggamma|poch)' not": "SciPy has no loop",
    r"scipy\.fft\.fht or ifht is singular": "SciPy gives a limit, with a warning",
    "the first coefficient of `a` is 0": "SciPy leaves leading zeros out, by their values",
    "has no derivative rule for complex vectors": "their phase is arbitrary",
    r"eig_banded of a complex tensor": "their phase is arbitrary",
    "LinAlgError: (svd|schur): the gradient depends on the phases": "LAPACK chooses them",
    r"scipy\.optimize\.root_scalar: the result has no derivative": "no slope: an expectile of 0",
    "LinAlgError: singular matrix: resolution failed": "SciPy divides by 0",
    "FloatingPointError: finite_difference": "no finite values on both sides of a parameter",
    r"scipy\.stats\.(tvar, tstd and tsem|linregress) of complex tensors": "SciPy takes squares",
}

LEFT_OUT: dict[str, str] = {
    r"quantile\.nanmedian.* wide": "NumPy's adds the two in the middle in their own dtype",
    r"lstsq\.lstsqresiduals": "a matrix whose rank depends on the precision",
    r"sorting\.partition": "the order of what is not sorted depends on the precision",
    r"scipy_stats_tests\.tmin-.* as bool": "SciPy asks for the least number of a dtype",
    r"shape\.(tril|triu).* as (uint|bool)": "NumPy's negates k, which wraps around or raises",
    r"quantile\.quantile-.\[\d\],d\[11\]-method=(inv|clo|ave).*: .*1 as float": "steps, at a step",
    r"quantile\..*: (1|0,1|0,1,2) as uint": "NumPy's own arithmetic of places overflows",
    r"histogram\..*(fd|auto|scott|stone|doane).*wide": "more bins than memory has room for",
    r"linalg\.(cond|norm|vector_norm|matrix_norm).*as arrays": "a norm's order is not an operand",
    r"(indexing\.(getitem|add_at)|by_value\._(hold|slope)).* as an? ": "our own, which get arrays",
    r"by_value\._hold-.*: 1 as complex": "our own, which gets truths",
    r"composite\.cov-.*: (2|.*,2) as float64": "NumPy writes to whole weights that are float64",
    r"by_value\..* as complex256": "NumPy's emath narrows it, by its values",
    r"polynomial\.polydiv-D": "which zeros lead, and are cut, depends on the precision",
    r"scipy_special\.ellipkinc.*: 1 as (a )?bool": "a pole: rounding shows",
    r"histogram\..*numbers as arrays: 0,1,2 as bool": "NumPy takes differences of the range",
    r"lstsq\..* wide": "ill-conditioned: rounding shows",
    r"constant\.<lambda>-d\[3\]: ": "memory that nobody has written to, times 0",
    r"constant\.<lambda>.* as an? ": "min_scalar_type of a tensor is that of its dtype",
    r"composite\.<lambda>-d\[2,3\]: 0 as bool": "piecewise calls functions that have no element",
    r"scipy_stats_tests\.(tmax|mode)-.* as bool": "SciPy refuses truths, or finds no least one",
    r"scipy_stats_tests\.fromstats.*bool": "a deviation that is a truth",
    r"scipy_stats_tests\.histograms-.* as (bool|u?int)": "SciPy's own code asks whole numbers",
    r"scipy_stats_tests\.bartlett.*uint": "SciPy's own differences wrap around, to NaN",
    r"scipy_special\..* wide": "SciPy's own functions do not return for numbers of any size",
    r"scipy_\w+\..* wide": "SciPy's own arithmetic of whole numbers overflows, or takes infinity",
    r"scipy_\w+\..* as an? ": "a number is no matrix, filter or sample; nor is it weak in SciPy",
    r"scipy_(signal|stats|stats_discrete)\..* as (uint|bool)": "SciPy's negative numbers wrap",
    r"scipy_ndimage\..* as (bool|u?int|float(16|128)|complex)": "SciPy has no such images",
    r"scipy_signal_rates\.forms-.*numbers as arrays": "SciPy asks for a number as it is",
    r"scipy_interpolate\..* as (bool|complex)": "SciPy leaves imaginary parts of places out",
    r"scipy_signal_rates\..* as (bool|u?int|float(16|128)|complex256)": "SciPy has other dtypes",
    r"scipy_spatial\..* as (bool|u?int|float(16|128)|complex)": "SciPy's integers overflow",
    r"scipy_sparse\..* as (complex256|float128)": "SciPy computes in double precision",
    r"scipy_sparse\.(spsolve|product|sparsesystem|exp).* as float16": "SciPy has no such matrices",
    r"scipy_stats\w*\..* as u?int(8|16)": "SciPy takes logarithms in half or single precision",
    r"scipy_stats_\w+\..* as (float128|complex)": "SciPy refuses some of them, by its ufuncs",
    r"scipy_stats\.(moment|iqr).* as complex": "Python's operators refuse some",
    r"scipy_(splines|rotation|places)\..* as (bool|u?int|float(16|128)|complex)": "SciPy has "
    "double precision",
    r"scipy_signal_designs\..* as (bool|u?int|float(16|128)|complex)": "SciPy calls float(x)",
    r"scipy_signal_designs\.forms-d\[3\],d\[\]": "float(x) of a tensor is no weak number",
    r"scipy_integrate\.(step|cumulative_simpson)-.*: 1 as complex": "SciPy adds to real numbers",
    r"scipy_fft\.fh?t.*numbers as arrays: .* as (float128|complex)": "SciPy has double precision",
    r"scipy_signal\.freqz-.* as (bool|int\d+) by float32": "SciPy computes in double precision",
    r"scipy_special_parameters\.(std|chd|fd)trby.*: \d as bool by": "1 has no quantile inside",
    r"scipy_special_parameters\.hyp2f1by.*: 3 as u?int": "infinite at 1",
    r"scipy_special_functions\.comb-.* as (bool|u?int\d+)": "SciPy's ufunc has single precision",
    r"scipy_special_functions\.sph_harm_y.*: \d as (float128|complex)": "SciPy has no such angles",
    r"scipy_linalg\w*\..* as (bool|u?int(8|16))": "SciPy computes in single precision",
    r"scipy_linalg_decompositions\.sl\.eigh-d.*: 0 as complex64": "rounding shows in one vector",
    r"scipy_linalg_decompositions\.sl\.eig_banded-.* as u?int": "two eigenvalues are equal",
    r"scipy_linalg_decompositions\.qr_multiply-.*: 1 as complex": "SciPy drops imaginary parts",
    r"scipy_linalg_functions\.solve_sylvester-.* as complex": "SciPy's own solution is wrong",
    r"scipy_linalg_functions\.solve_continuous_lyapunov-.*: 1 as complex": "so is this one",
    r"scipy_linalg_functions\.expm_cond-.* as u?int": "ill-conditioned: rounding shows",
    r"scipy_linalg_functions\.expm_cond-.* as float16": "SciPy's polynomials overflow",
    r"scipy_linalg_functions\..* as (float128|complex256)": "SciPy has single precision",
    r"scipy_linalg_functions\.tanhm-.* as uint": "SciPy's own negative numbers wrap",
    r"ufunc_methods\.obl_ang1": "SciPy's own function does not return in single precision",
}


def with_numbers(row: Any) -> Any:
    """The row with each float among its arguments as an array of no axes; None without one."""
    leaves, structure = optree.tree_flatten((row.args, row.kwargs))
    first = len(optree.tree_leaves(row.args))
    made = [i for i, x in enumerate(leaves[:first]) if type(x) is float]
    old = [i for i, x in enumerate(leaves) if isinstance(x, np.ndarray)]
    if not made or not old:
        return None
    places = sorted(made + old)
    args, kwargs = optree.tree_unflatten(
        structure, [np.array(x) if i in made else x for i, x in enumerate(leaves)]
    )
    return dataclasses.replace(
        row,
        args=args,
        kwargs=kwargs,
        diff=tuple(places.index(old[i]) for i in row.differentiated()),
        shared=tuple(places.index(i) for i in [*made, *[old[i] for i in row.shared]]),
    )


def all_rows() -> dict[str, Any]:
    rows = samples.named()
    others = {f"{name}, numbers as arrays": with_numbers(row) for name, row in rows.items()}
    return rows | {name: row for name, row in others.items() if row is not None}


ROWS = all_rows()


def integer(kind: str) -> bool:
    return kind in STRONG and STRONG[kind].kind in "iu"


# ---- the sample rows ----


@functools.cache
def row_cases() -> list[tuple]:
    """The cases of every row."""
    return [case for name in ROWS for case in cases_of(name)]


def cases_of(name: str) -> list[tuple]:
    """(row, positions, kind, rest, wide): what is turned into what, and the other operands."""
    found: list[tuple] = []
    row = ROWS[name]
    numbers = [i for i, x in enumerate(row.leaves) if x.dtype.kind in "biufc"]
    data = tuple(i for i in numbers if row.leaves[i].dtype.kind in "fc")
    places = [(i,) for i in numbers] + ([data] if len(data) > 1 else [])
    for where, kind in itertools.product(places, KINDS):
        if not applies(row, where, kind):
            continue
        found.append((name, where, kind, "", False))
        if integer(kind) and set(where) <= set(data):
            found.append((name, where, kind, "", True))
        if set(data) - set(where):
            found.append((name, where, kind, "float32", False))
    left_out = re.compile("|".join(LEFT_OUT))
    return [case for case in found if not left_out.match(shown(case))]


def applies(row: Any, where: tuple, kind: str) -> bool:
    """Tell if there is a number to take, and no negative one that would become another."""
    leaves = [row.leaves[i] for i in where]
    if kind in WEAK:
        return all(x.size for x in leaves)
    return kind[0] != "u" or not any(np.any(x < 0) for x in leaves if x.dtype.kind == "i")


def shown(case: tuple) -> str:
    name, where, kind, rest, wide = case
    places = ",".join(map(str, where))
    return f"{name}: {places} as {kind}{rest and ' by ' + rest}{' wide' * wide}"


def judge_row(counts: Any, case: tuple, draw: random.Random, full: bool) -> None:
    name, where, kind, rest, wide = case
    row = ROWS[name]
    kinds = {i: kind for i in where}
    for i, x in enumerate(row.leaves):
        if rest and i not in where and x.dtype.kind in "fc":
            kinds[i] = rest if x.dtype.kind == "f" else "complex64"
    one: list = list(row.leaves)
    for i, own in kinds.items():
        one[i] = recast(one[i], own, wide)
        if own in STRONG and one[i].ndim == 0 and draw.random() < 0.5:
            one[i] = one[i][()]  # NumPy's own number
    f = leaves_of(row)
    double = not wide and not (rest and kind in WEAK)  # which may equal what float32 rounds
    lenient = kind in WEAK and any(row.leaves[i].ndim for i in where)
    if row.vmap:
        dims = plans(row, one)
        for d in dims if full else dims[:1] + draw.sample(dims[1:], min(1, len(dims[1:]))):
            many = [examples(row, i, 3) if v == 0 else None for i, v in enumerate(d)]
            many = [
                recast(x, kinds[i], wide) if x is not None and i in kinds else x
                for i, x in enumerate(many)
            ]
            under_vmap(counts, shown(case), f, one, many, d, row.loop, lenient)
    inexact = {i for i, x in enumerate(row.leaves) if {x.dtype.kind, kind_of(one[i])} <= {"f", "c"}}
    wanted = tuple(i for i in row.differentiated() if i in inexact)
    if wanted and row.order:
        places = [wanted, *((i,) for i in wanted)] if len(wanted) > 1 else [wanted]
        for at in places if full else [draw.choice(places)]:
            under_derivatives(counts, shown(case), f, one, at, double, lenient)


def plans(row: Any, one: list) -> list[tuple]:
    """The operands that are batched: of those that may vary and are arrays, any."""
    able = [i for i in free(row) if hasattr(one[i], "dtype")]
    found = []
    for choice in choices(len(able), (0,)) if able else []:
        dims: list = [None] * len(one)
        for i, d in zip(able, choice):
            dims[i] = d
        found.append(tuple(dims))
    return found


# ---- ufuncs, their methods, and operators ----

UFUNCS = sorted(
    {f for f in vars(np).values() if isinstance(f, np.ufunc) and f.signature is None},
    key=lambda f: f.__name__,
)
OPERATORS = [
    *(operator.add, operator.sub, operator.mul, operator.truediv, operator.floordiv, operator.mod),
    *(operator.pow, divmod, operator.lshift, operator.rshift, operator.and_, operator.or_),
    *(operator.xor, operator.lt, operator.le, operator.eq, operator.ne, operator.gt, operator.ge),
]
SINGLE = [operator.neg, operator.pos, operator.abs, operator.invert]
UFUNC_METHODS: dict[str, Callable] = {
    "reduce": lambda f, x: f.reduce(x),
    "reduce, all": lambda f, x: f.reduce(x, axis=None),
    "reduce in double": lambda f, x: f.reduce(x, axis=-1, dtype=float),
    "accumulate": lambda f, x: f.accumulate(x, axis=-1),
    "reduceat": lambda f, x: f.reduceat(x, [0, 2, 1], axis=-1),
}
SHAPES = ((), (3,), (2, 3))


def numbers(kind: str, shape: tuple, seed: int) -> Any:
    """Numbers of a dtype, the least and the largest whole ones among them."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=shape) * 2
    if kind not in WEAK and STRONG[kind].kind == "c":
        x = x + 1j * rng.normal(size=shape)
    y = recast(np.asarray(x), kind)
    if integer(kind) and y.size > 2:
        info = np.iinfo(y.dtype)
        y.flat[0], y.flat[1] = info.min, info.max
    return y


def ufunc_cases() -> list[tuple]:
    """(what, function, kinds of its operands): ufuncs, methods and operators."""
    found: list[tuple] = []
    for f in UFUNCS:
        for kinds in itertools.product(KINDS, repeat=f.nin):
            if all(k in WEAK for k in kinds):
                continue
            found.append(("ufunc", f, kinds))
            if f.nin == 2 and f.nout == 1 and not set(kinds) & set(WEAK):
                found.append(("outer", f.outer, kinds))
        if f.nin == 2 and f.nout == 1:
            found += [(name, f, (kind,)) for name in UFUNC_METHODS for kind in STRONG
                      if not (name == "reduce in double" and STRONG[kind].kind == "c")]  # fmt: skip
    for g in OPERATORS:
        pairs = itertools.product(KINDS, repeat=2)
        found += [("operator", g, kinds) for kinds in pairs if not set(kinds) <= set(WEAK)]
    return found + [("operator", g, (kind,)) for g in SINGLE for kind in STRONG]


def judge_ufunc(counts: Any, case: tuple, draw: random.Random, full: bool) -> None:
    what, func, kinds = case
    method = UFUNC_METHODS.get(what)
    name = f"{what} {getattr(func, '__name__', func)} of {', '.join(kinds)}"

    def f(*xs: Any) -> list:
        with np.errstate(all="ignore"):
            y = method(func, *xs) if method else func(*xs)
        return list(y) if isinstance(y, tuple) else [y]

    shapes = list(itertools.product(SHAPES if not method else SHAPES[1:], repeat=len(kinds)))
    for shape in shapes if full else draw.sample(shapes, 1):
        one = [numbers(k, s, 5 + i) for i, (k, s) in enumerate(zip(kinds, shape))]
        many = [None if k in WEAK else numbers(k, (4, *s), 9 + i)
                for i, (k, s) in enumerate(zip(kinds, shape))]  # fmt: skip
        able = [(0, None) if k in STRONG else (None,) for k in kinds]
        dims = [d for d in itertools.product(*able) if 0 in d]
        for d in dims if full else draw.sample(dims, 1):
            under_vmap(counts, f"{name} {shape}", f, one, many, d, False, False)
        inexact = tuple(i for i, x in enumerate(one) if kind_of(x) in "fc")
        if inexact and differentiable(func, what):
            under_derivatives(counts, f"{name} {shape}", f, one, inexact, False, False)


def differentiable(func: Any, what: str) -> bool:
    """Tell if the first derivative exists: of a ufunc that has rules."""
    owner = getattr(func, "__self__", func) if what != "operator" else None
    op = operations().get(owner)
    return what == "operator" or bool(op and (op.constant or op.vjp))


# ---- the nets ----


def part(cases: list, share: float, seed: int) -> list:
    """A slice of the cases, drawn by a seed."""
    return random.Random(seed).sample(cases, int(len(cases) * share))


def test_rows(full, verdicts):
    """Every operand of the sample rows as every dtype, alone and with all the others."""
    counts, draw = verdicts("dtypes of rows", REASONS), random.Random(1)
    with silent():
        for case in row_cases() if full else part(row_cases(), 0.0125, 2):
            judge_row(counts, case, draw, full)
    counts.settle()


def test_ufuncs(full, verdicts):
    """Ufuncs, their methods and the operators, for every pair of dtypes and Python's numbers."""
    counts, draw = verdicts("dtypes of ufuncs", REASONS), random.Random(1)
    with silent():
        for case in ufunc_cases() if full else part(ufunc_cases(), 0.05, 3):
            judge_ufunc(counts, case, draw, full)
    counts.settle()


@functools.cache
def gradient_cases() -> list[str]:
    """Rows whose one operand has no axes, and is differentiated."""
    return [
        name
        for name, row in ROWS.items()
        if row.differentiated() == (0,) and row.order and row.leaves[0].ndim == 0
        and row.leaves[0].dtype.kind == "f"
    ]  # fmt: skip


def judge_gradient(counts: Any, name: str) -> None:
    """The gradient for a number, Python's or NumPy's, is a number of its dtype."""
    row = ROWS[name]

    def f(x: Any) -> Any:
        return sum(np.sum(np.real(y)) for y in leaves_of(row)(x, *row.leaves[1:]))

    for x in float(row.leaves[0]), row.leaves[0][()]:
        value = Outcome(lambda x=x: f(x))
        if value.error is None and kind_of(value.result) == "f":
            run = Outcome(lambda x=x: ft.grad(f)(x)).get
            counts.judge(f"gradient of {name} at {x!r}", run, is_number)


def is_number(g: Any) -> None:
    assert isinstance(g, (float, np.floating)), f"{type(g).__name__} {g!r}"


def test_gradients_of_numbers_are_numbers(verdicts):
    counts = verdicts("gradients of numbers", REASONS)
    with silent():
        for name in gradient_cases():
            judge_gradient(counts, name)
    counts.settle()


# ---- rules that gave other dtypes and numbers than NumPy are found ----


@pytest.mark.parametrize("pattern", faulty.FAULTS_OF_DTYPES)
def test_a_planted_fault_is_found(pattern, monkeypatch):
    """The cases are right as they are, and wrong with the fault."""
    cases = [case for case in row_cases() if re.match(pattern, shown(case))]
    cases = random.Random(4).sample(cases, min(len(cases), 120))
    before, after = Verdicts("before"), Verdicts("after")
    with silent():
        for case in cases:
            judge_row(before, case, random.Random(1), True)
        faulty.FAULTS_OF_DTYPES[pattern](monkeypatch)
        for case in cases:
            judge_row(after, case, random.Random(1), True)

    assert before.right and not before.wrong
    assert after.wrong


def test_a_planted_fault_of_a_ufunc_is_found(monkeypatch):
    """The exponent is a whole number."""
    faulty.fault_of_a_ufunc(monkeypatch)
    counts = Verdicts("ufuncs")
    with silent():
        for case in ufunc_cases():
            if case[:2] == ("ufunc", np.power) and case[2][-1] in ("bool", "int8"):
                judge_ufunc(counts, case, random.Random(1), True)

    assert counts.wrong


def test_an_array_for_the_gradient_of_a_number_is_found(monkeypatch):
    faulty.an_array_for_the_gradient_of_a_number(monkeypatch)
    counts = Verdicts("numbers")
    with silent():
        for name in gradient_cases():
            judge_gradient(counts, name)

    assert any("atleast_1d" in text for text in counts.wrong)
