"""The checks are checked: for each a planted fault that it has to find.

The faults stand on functions of our own, declared for one test; `test_planted_rules` has
those of the real table.
"""

import numpy as np
import pytest

import functier as ft
from faults.planted import levels as faulty
from functier.protocol import composite, elementwise, op, primitive
from samples._row import normal, row
from support import checks
from support.basics import bare, raises

pytestmark = pytest.mark.usefixtures("declarations")


MATRIX, VECTOR, COMPLEX = normal(2, 3), normal(3), normal(2, 3, dtype=complex)
SINGLE, SQUARE = MATRIX.astype(np.float32), normal(3, 3)


# ---- functions of our own, declared right, or with one wrong fact ----


def sine(**wrong):
    """sin x, one operand."""
    f = primitive(wrong.pop("function", lambda x: np.sin(x)))
    facts = {
        "vmap": lambda k, x: np.sin(x),
        "jvp": {"x": lambda t, x: t * np.cos(x)},
        "vjp": {"x": lambda g, x: g * np.cos(x)},
    }
    op(f, "x", **{**facts, **wrong})
    return f


def product(**wrong):
    """x y, broadcasting."""
    f = primitive(lambda x, y: np.multiply(x, y))
    f.nin = 2
    partials = wrong.pop("partials", (lambda g, y: g * y, lambda g, x: g * x))
    elementwise(f, *partials, **wrong)
    return f


def total(**wrong):
    """The sum over the last axis."""
    f = primitive(lambda x: np.sum(x, axis=-1))
    facts = {
        "vmap": lambda k, x: np.sum(x, axis=-1),
        "jvp": "linear",
        "vjp": {"x": lambda g, x_shape: np.broadcast_to(g[..., None], x_shape)},
    }
    op(f, "x", **{**facts, **wrong})
    return f


def turn(**wrong):
    """(1 + 2i) x: complex-linear."""
    f = primitive(lambda x: np.multiply(x, 1 + 2j))
    facts = {
        "vmap": lambda k, x: x * (1 + 2j),
        "jvp": "linear",
        "vjp": {"x": lambda g: g * (1 - 2j)},
    }
    op(f, "x", **{**facts, **wrong})
    return f


@pytest.mark.parametrize("function", [sine, product, total, turn])
def test_right_declarations_pass(function):
    operands = {product: (MATRIX, VECTOR), turn: (COMPLEX,)}.get(function, (MATRIX,))
    for form in (operands, [x.astype(np.result_type(x.dtype, np.complex64)) for x in operands]):
        this = row(function(), *form)
        for check in checks.checks_of(this).values():
            check(this)


# ---- the planted faults ----


def _mutating(x):
    """A kernel that writes to its operand."""
    y = np.sin(x)
    if isinstance(x, np.ndarray):
        x *= 2
    return y


def _mutating_saved(g, x):
    """A pullback that spoils what it has saved."""
    y = g * np.cos(x)
    if isinstance(x, np.ndarray):
        x += 1
    return y


def _mutating_cotangent(g, x):
    if not isinstance(g, np.ndarray):
        return g * np.cos(x)
    g *= np.cos(x)
    return g


def _guessing(k, x):
    """Takes an axis as long as the batch for the batch."""
    return np.sum(x, axis=-1 if np.shape(x)[0] != np.shape(x)[-1] else k)


def _unaligned(k, x, y):
    """Aligns the ranks only where NumPy would refuse the operands as they are."""
    try:
        return x * y
    except ValueError:
        return x * np.reshape(y, (*y.shape[:k], *[1] * (x.ndim - y.ndim), *y.shape[k:]))


def _wrong_sine_vmap():
    """A function whose batching rule is wrong, for use inside another one's rule."""
    return sine(vmap=lambda k, x: np.sin(x) * 1.001)


def _wrong_inside(g, x):
    return g * _INSIDE[0](x + np.pi / 2)


_INSIDE = []


FOUND = (AssertionError, ValueError, IndexError, ft.FallbackWarning, ft.NoRuleError)
"""The errors of a check that has found a fault; anything else is a fault of the test."""

PLANTED = {
    "value: another kernel under a transform": (
        "value",
        lambda: row(sine(kernel=lambda x: np.sin(x) + 1e-6), MATRIX),
    ),
    "value: dtype of the kernel": (
        "value",
        lambda: row(sine(kernel=lambda x: np.sin(x).astype(float)), SINGLE),
    ),
    "value: a constant that is none": ("value", lambda: row(sine(), MATRIX, _diff=())),
    "value: no rule": ("value", lambda: row(sine(vjp={}), MATRIX)),
    "vmap: wrong by 0.1 %": (
        "vmap",
        lambda: row(sine(vmap=lambda k, x: np.sin(x) * 1.001), MATRIX),
    ),
    "vmap: ignores differing ranks": (
        "vmap",
        lambda: row(product(vmap=_unaligned), MATRIX, VECTOR),
    ),
    "vmap: right unless the batch is as long as a data axis": (
        "vmap",
        lambda: row(total(vmap=_guessing), MATRIX),
    ),
    "vmap: dtype": ("vmap", lambda: row(sine(vmap=lambda k, x: np.sin(x) * np.float64(1)), SINGLE)),
    "vmap: an operand that does not vary": (
        "vmap",
        lambda: row(product(vmap=lambda k, x, y: x * y[: len(x)]), MATRIX, MATRIX),
    ),
    "vmap: size 0": (
        "vmap",
        lambda: row(sine(vmap=lambda k, x: np.sin(x) if np.size(x) else 0 * x[:, 0]), MATRIX),
    ),
    "vmap: size 1": (
        "vmap",
        lambda: row(sine(vmap=lambda k, x: np.sin(x) * (1 + (len(x) == 1))), MATRIX),
    ),
    "vmap: one result in place of two": (
        "vmap",
        lambda: row(sine(function=lambda x: (np.sin(x), x)), MATRIX),
    ),
    "vmap_strided: reads memory": (
        "vmap_strided",
        lambda: row(sine(vmap=lambda k, x: np.sin(x) * (1 + (min(x.strides) < 0))), MATRIX),
    ),
    "vmap_nested: one batch axis only": (
        "vmap_nested",
        lambda: row(total(vmap=lambda k, x: np.sum(x, axis=2)), MATRIX),
    ),
    "refusal: returns": ("refusal", lambda: row(sine(), MATRIX, _vmap=False)),
    "warning: has a rule": ("warning", lambda: row(sine(), MATRIX, _loop=True)),
    "vmap: a loop that is not declared": ("vmap", lambda: row(sine(vmap=None), MATRIX)),
    "jvp: wrong by 0.1 %": (
        "jvp",
        lambda: row(sine(jvp={"x": lambda t, x: 1.001 * t * np.cos(x)}), MATRIX),
    ),
    "jvp: said to be linear": ("jvp", lambda: row(sine(jvp="linear"), MATRIX)),
    "jvp: said to be linear in both": ("jvp", lambda: row(product(jvp="linear"), MATRIX, VECTOR)),
    "jvp: a kink inside": ("jvp", lambda: row(sine(function=lambda x: np.sign(x) / 0), MATRIX)),
    "vjp: wrong by 0.1 %": (
        "vjp",
        lambda: row(sine(vjp={"x": lambda g, x: 1.001 * g * np.cos(x)}), MATRIX),
    ),
    "vjp: one operand of two": (
        "vjp",
        lambda: row(product(vjp={"x": lambda g, y: g * y, "y": lambda g: g}), MATRIX, VECTOR),
    ),
    "vjp: without the conjugate": (
        "vjp",
        lambda: row(turn(vjp={"x": lambda g: g * (1 + 2j)}), COMPLEX),
    ),
    "vjp: a derivative that is not holomorphic": (
        "vjp",
        lambda: row(product(holomorphic=False), COMPLEX, COMPLEX[0]),
    ),
    "vjp: spread along another axis": (
        "vjp",
        lambda: row(total(vjp={"x": lambda g, x_shape: np.broadcast_to(g[None], x_shape)}), SQUARE),
    ),
    "second: lost by both modes": (
        "second",
        lambda: row(
            sine(
                jvp={"x": lambda t, x: t * np.cos(bare(x))},
                vjp={"x": lambda g, x: g * np.cos(bare(x))},
            ),
            MATRIX,
        ),
    ),
    "second: lost by jvp": (
        "second",
        lambda: row(sine(jvp={"x": lambda t, x: t * np.cos(bare(x))}), MATRIX),
    ),
    "second: lost by vjp": (
        "second",
        lambda: row(sine(vjp={"x": lambda g, x: g * np.cos(bare(x))}), MATRIX),
    ),
    "mutation: kernel": ("mutation", lambda: row(sine(kernel=_mutating), MATRIX)),
    "mutation: batching rule": (
        "mutation",
        lambda: row(sine(vmap=lambda k, x: _mutating(x)), MATRIX),
    ),
    "mutation: what a pullback saved": (
        "mutation",
        lambda: row(sine(vjp={"x": _mutating_saved}), MATRIX),
    ),
    "mutation: the cotangent": (
        "mutation",
        lambda: row(sine(vjp={"x": _mutating_cotangent}), MATRIX),
    ),
    "vmap_of_derivatives: a function inside a rule": (
        "vmap_of_derivatives",
        lambda: row(sine(vjp={"x": _wrong_inside}), MATRIX),
    ),
    "vmap_of_derivatives: a function inside a jvp rule": (
        "vmap_of_derivatives",
        lambda: row(sine(jvp={"x": _wrong_inside}), MATRIX),
    ),
    "derivatives_of_vmap: lost by the batching rule": (
        "derivatives_of_vmap",
        lambda: row(sine(vmap=lambda k, x: np.sin(bare(x))), MATRIX),
    ),
    "derivatives_of_vmap: wrong by 0.1 %": (
        "derivatives_of_vmap",
        lambda: row(product(vmap=lambda k, x, y: 1.001 * x * y), MATRIX, MATRIX),
    ),
    "alone: the formula depends on what else is differentiated": (
        "alone",
        lambda: row(_confused(), VECTOR, VECTOR + 1),
    ),
}


def _confused():
    f = primitive(lambda x, y: np.multiply(x, y))
    composite(f, lambda x, y: x * y * (1 if type(x) is type(y) else 1.001))
    return f


@pytest.mark.parametrize("fault", PLANTED)
def test_planted_fault_is_found(fault):
    name, make = PLANTED[fault]
    _INSIDE[:] = [_wrong_sine_vmap()]
    this = make()
    check, applies = checks.CHECKS[name]

    assert applies(this)
    with np.errstate(all="ignore"), pytest.raises(FOUND):
        check(this)


def test_every_check_has_a_planted_fault():
    assert {name for name, _ in PLANTED.values()} == set(checks.CHECKS)


# ---- faults of the engine ----


def test_batch_axis_that_is_not_moved_is_found(monkeypatch):
    faulty.batch_axis_that_is_not_moved(monkeypatch)

    with pytest.raises((AssertionError, ValueError)):
        checks.check_vmap(row(np.sin, SQUARE))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_cotangent_that_is_not_cast_is_found(monkeypatch, dtype):
    faulty.cotangent_that_is_not_cast(monkeypatch)

    raises(AssertionError, lambda: checks.check_vjp(row(np.multiply, SINGLE, MATRIX)))


def test_cotangent_that_is_not_summed_is_found(monkeypatch):
    faulty.cotangent_that_is_not_summed(monkeypatch)

    raises(AssertionError, lambda: checks.check_vjp(row(np.multiply, MATRIX, VECTOR)))
