"""Texts of tensors: a line that begins with the form of an example, HTML, and formats;
texts by ``%``.
"""

import re
import subprocess
import sys
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest

import functier as ft
from faults.planted import levels as faulty
from support.basics import raises

XS = np.arange(6.0).reshape(2, 3)


def seen(run):
    """Return the text and the HTML of an argument inside a transform, and the tensor."""
    found = []

    def look(x):
        if not found:
            found.extend([repr(x), x._repr_html_(), x])
        return np.sum(x * x)

    run(look)
    return found


SEEN = {
    "vmap": (lambda f: ft.vmap(f)(XS), "float64[3] of 2 examples in vmap(look): array("),
    "grad": (lambda f: ft.grad(f)(XS[0]), "float64[3] in grad(look): array([0., 1., 2.])"),
    "jvp": (
        lambda f: ft.jvp(f, (XS[0],), (np.ones(3),)),
        "float64[3] in jvp(look): array([0., 1., 2.]), tangent array([1., 1., 1.])",
    ),
    "vmap of vmap": (
        lambda f: ft.vmap(ft.vmap(f))(XS),
        "float64[] of 2 x 3 examples in vmap(look) at depth 1, vmap(look) at depth 2: ",
    ),
    "vmap of grad": (
        lambda f: ft.vmap(ft.grad(f))(XS),
        "float64[3] in grad(look): float64[3] of 2 examples in vmap(look): array(",
    ),
    "grad of vmap": (
        lambda f: ft.grad(lambda x: ft.vmap(f)(x).sum())(XS),
        "float64[3] of 2 examples in vmap(look): float64[2, 3] in grad(<lambda>): array(",
    ),
    "linearize": (
        lambda f: ft.linearize(f, XS[0]), "tangent float64[3] in trace(look), not known yet"
    ),
    "one": (lambda f: ft.vmap(f)(np.array([2.0])), "float64[] of 1 example in vmap(look)"),
}  # fmt: skip


@pytest.mark.parametrize("name", SEEN)
def test_the_form_of_an_example_comes_first(name):
    run, words = SEEN[name]
    text, html, x = seen(run)

    assert text.startswith("float64[") and words in text
    cells = re.findall(r"<t[hd][^>]*>(?:<pre[^>]*>)?(.*?)(?:</pre>)?</t[hd]>", html, re.DOTALL)
    table = dict(zip(cells[::2], cells[1::2], strict=True))
    assert f"{table['example']} " in text and "value" in table
    assert ("tangent in jvp(look)" in table) == (name == "jvp") or name == "linearize"
    assert "<lambda>" not in html  # but escaped
    assert "which has ended" in repr(x) and ", ended" in x._repr_html_()


def test_html_has_levels_sizes_and_tangents():
    html = seen(lambda f: ft.vmap(lambda x: ft.jvp(f, (x,), (x,))[0])(XS))[1]
    for text in ("float64[3]", "jvp(look)", "forward mode", "tangent in jvp(look)",
                 "vmap(&lt;lambda&gt;)", "2 examples", "[3., 4., 5.]"):  # fmt: skip
        assert text in html
    assert seen(lambda f: f(ft.Tensor(XS)))[1] is None  # a plain one is shown by its text
    assert seen(lambda f: f(ft.Tensor(XS)))[0].startswith("Tensor(")


def test_tensors_that_were_written_to():
    def f(x):
        y = x * 1.0
        y[0] = x[1] * 2.0
        found.append((repr(y), y._repr_html_(), f"{y[0]:.1f}"))
        return y.sum()

    for run in (lambda: ft.grad(f)(XS[0]), lambda: ft.jvp(f, (XS[0],), (XS[0],)),
                lambda: ft.vmap(f)(np.stack([XS[0]] * 2))):  # fmt: skip
        found = []
        run()
        ((text, html, number),) = found
        assert "[2., 1., 2." in text and "[2., 1., 2." in html and number == "2.0"


def formatted(x):
    y = np.sum(x)
    return f"{y:.3f} {x[0]:8.2e}" and y * 1.0, f"{y:.3f}|{y:>8.1f}"


SAME = np.stack([XS[1]] * 2)
FORMATS = [
    lambda f: ft.grad(f, has_aux=True)(XS[1]),
    lambda f: ft.jvp(f, (XS[1],), (XS[0],), has_aux=True),
    lambda f: ft.hessian(f, has_aux=True)(XS[1]),
    lambda f: ft.linearize(f, XS[1], has_aux=True),
    lambda f: ft.vmap(lambda x: f(x)[0])(SAME),
    lambda f: ft.vmap(ft.grad(lambda x: f(x)[0]))(SAME),
    lambda f: ft.grad(lambda x: ft.vmap(lambda x: f(x)[0])(x).sum())(SAME),
    lambda f: ft.compile(ft.vmap(lambda x: f(x)[0]), backend="numpy")(SAME),
    lambda f: ft.compile(f, backend="numpy")(XS[1]),
    lambda f: ft.compile(ft.grad(lambda x: f(x)[0]), backend="numpy")(XS[1]),
    lambda f: ft.trace(ft.grad(lambda x: f(x)[0]))(XS[1]),
]


@pytest.mark.parametrize("run", FORMATS)
def test_a_format_gives_the_number(run):
    texts = []

    def f(x):
        value, text = formatted(x)
        texts.append(text)
        return value, text

    run(f)
    assert texts and set(texts) == {"12.000|    12.0"}


REFUSED = {
    "examples that differ": lambda f: ft.vmap(f)(XS),
    "in a derivative": lambda f: ft.vmap(ft.grad(f))(XS),
    "around one": lambda f: ft.grad(lambda x: ft.vmap(f)(x).sum())(XS),
    "signs of zero": lambda f: ft.vmap(f)(np.array([[0.0], [-0.0]])),
}


@pytest.mark.parametrize("run", REFUSED.values(), ids=REFUSED)
def test_a_format_that_would_not_hold_is_refused(run):
    with pytest.raises(ft.ConversionError, match=r"format\(x\)"):
        run(lambda x: formatted(x if x.size > 1 else np.append(x, x))[0])


def test_groups_of_examples_have_their_own_text():
    texts = []

    def f(x):
        texts.append(f"{x[0]:.1f}")
        return np.sum(x * x)

    slopes = ft.vmap(ft.grad(f), branches="split")(XS)
    np.testing.assert_array_equal(slopes, 2 * XS)
    assert texts == ["0.0", "3.0"]


def test_a_text_is_no_way_to_another_answer():
    """A format of the digits alone, or of an array, gets NumPy's answer or an error."""
    with pytest.raises(TypeError, match="unsupported format string"):
        ft.grad(lambda x: [np.sum(x), f"{x:.2f}"][0])(XS[0])
    texts = []
    ft.grad(lambda x: [x, texts.append(f"{x}")][0])(1.5)
    assert texts == ["float64[] in grad(<lambda>): 1.5"]


# Texts by ``%``: digits for people, as in an f-string with a format; remainders stay numbers


TEXTS = {
    "one number": lambda x: "%.3f" % x,  # noqa: UP031
    "several": lambda x: "%g and %5.1e of %s" % (x, x * 2, "it"),  # noqa: UP031
    "by name": lambda x: "%(a).2f" % {"a": x},  # noqa: UP031
    "a whole number": lambda x: "%d" % x,  # noqa: UP031
    "bytes": lambda x: b"%.3f" % x,
}


def augmented(x):
    text = "%.4f"
    text %= x
    return text


TEXTS["augmented"] = augmented


@pytest.mark.parametrize("name", TEXTS)
def test_a_number_is_written_for_people(name):
    seen = []

    def f(x):
        seen.append(TEXTS[name](x))
        return x**2

    x = np.float64(1.2345678)
    assert ft.grad(f)(x) == 2 * x and ft.jvp(f, (x,), (1.0,))[1] == 2 * x
    assert ft.grad(ft.grad(f))(x) == 2.0
    assert ft.vmap(f)(np.array([x, x])).tolist() == [x**2, x**2]
    assert set(seen) == {TEXTS[name](x)}
    seen.clear()
    ft.vmap(ft.grad(f), branches="split")(np.array([x, 2.5]))
    assert {TEXTS[name](x), TEXTS[name](2.5)} <= set(seen)


@pytest.mark.parametrize(
    "a", [5.0, 5, np.float64(5), np.float32(5), np.longdouble(5), np.int64(5), np.array([5.0, 4.0]),
          Decimal(5), Fraction(5, 1), [5.0, 4.0]],
    ids=lambda a: type(a).__name__,
)  # fmt: skip
def test_a_remainder_keeps_the_derivative_or_raises(a):
    for f in (lambda x: np.sum(a % x), lambda x: np.sum(x % a), lambda x: np.sum(divmod(a, x)[1])):
        try:
            found = ft.grad(f)(np.float64(1.3))
        except (TypeError, ft.LevelError):
            continue
        slope = (f(np.float64(1.3 + 1e-6)) - f(np.float64(1.3 - 1e-6))) / 2e-6
        assert np.isclose(found, float(slope))


def test_other_conversions_are_refused():
    for f in (lambda x: float(x) % 2, lambda x: np.float64(x), lambda x: "%s" % float(x)):  # noqa: UP031
        raises(ft.ConversionError, lambda: ft.grad(f)(1.3))
    with pytest.raises((TypeError, ft.ConversionError)):
        ft.jvp(lambda z: len("%g" % z) * z, (1 + 2j,), (1.0 + 0j,))  # noqa: UP031


def test_a_planted_fault_is_found(monkeypatch):
    faulty.percent_is(True, monkeypatch)
    raises(pytest.fail.Exception, test_other_conversions_are_refused)
    faulty.percent_is(False, monkeypatch)
    raises(ft.ConversionError, lambda: test_a_number_is_written_for_people("one number"))


def test_a_python_without_the_private_table_of_operators():
    program = """
import dis, opcode
signs = [sign for _, sign in vars(opcode).pop("_nb_ops")]
from functier._cpython.frames import NUMBERS
print(*[signs[i] for found in NUMBERS.values() for i in sorted(found)])
"""
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == ["%", "%=", "**", "**="]


def test_a_notebook_shows_what_a_transform_transforms():
    shown = ft.vmap(ft.grad(smaller))._repr_html_()

    assert "functier.vmap(grad(smaller))" in shown and "def smaller(x):" in shown
    assert "x &lt; 3" in shown and "<details" in shown
    assert ft.vmap(np.sin)._repr_html_() == "<code>&lt;functier.vmap(sin)&gt;</code>"


def smaller(x):
    return np.where(x < 3, x, 3.0)
