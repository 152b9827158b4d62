"""Texts of tensors: a line that begins with the form of an example, HTML, and formats."""

import re

import numpy as np
import pytest

import functier as ft

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
        lambda f: ft.vmap(ft.vmap(f))(XS), "float64[] of 2 x 3 examples in vmap(look), vmap(look): "
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
