"""show_levels: the tree of levels, what each handled, and its picture."""

from xml.etree import ElementTree

import numpy as np
import pytest

import functier as ft
from functier.debug import show_levels
from support.basics import in_thread, raises

XS = np.arange(6.0).reshape(2, 3)


def f(x):
    return np.sum(np.sin(x))


def lines(tree):
    return [line.lstrip("│├└─ ") for line in str(tree).splitlines()]


CASES = {
    "vmap of grad": (
        lambda: show_levels(ft.vmap(ft.grad(f)), XS),
        ["vmap(f)  2 examples: cos, multiply, sin, sum", "grad(f)  reverse mode: sin, sum"],
    ),
    "jvp": (lambda: show_levels(ft.jvp, f, (XS,), (XS,)), ["jvp(f)  forward mode: sin, sum"]),
    "contiguous": (
        lambda: show_levels(ft.vmap(ft.vmap(f)), np.ones((4, 2, 3))),
        ["vmap(f)  4 examples", "vmap(f)  4 x 2 examples: sin, sum"],
    ),
    "siblings": (
        lambda: show_levels(lambda x: ft.grad(f)(x) + ft.vmap(np.cos)(x), XS[0]),
        ["grad(f)  reverse mode: sin, sum", "vmap(cos)  3 examples: cos"],
    ),
    "a loop": (
        lambda: show_levels(lambda: [ft.grad(f)(x) for x in XS]),
        ["grad(f)  reverse mode  2 times: sin 2, sum 2"],
    ),
    "a composite": (
        lambda: show_levels(ft.grad(np.var), XS[0]),
        ["grad(var)  reverse mode: divide, mean, multiply, subtract, sum"],
    ),
    "linearize": (
        lambda: show_levels(ft.linearize, np.sin, 1.0),
        ["trace(sin)  recorded: multiply", "linearize(sin)  forward mode: sin"],
    ),
    "indexing": (
        lambda: show_levels(ft.grad(lambda x: x[0] * x[1]), XS[0]),
        ["grad(<lambda>)  reverse mode: indexing 2, multiply"],
    ),
    "no levels": (lambda: show_levels(np.sin, 1.0), []),
}


@pytest.mark.parametrize("name", CASES)
def test_the_tree(name):
    call, expected = CASES[name]
    tree = call()

    assert lines(tree) == ["Tensor  plain arrays", *expected]


def test_every_line_hangs_where_it_belongs():
    call = lambda x: ft.vmap(lambda x: ft.grad(f)(x) + ft.jvp(f, (x,), (x,))[1])(x) + ft.grad(f)(x)  # noqa: E731
    tree = show_levels(lambda: call(XS))

    heads = [line.partition("  ")[0] if "─" not in line else line[: line.index("─") + 1]
             for line in str(tree).splitlines()]  # fmt: skip
    assert heads == ["Tensor", "├─", "│  ├─", "│  └─", "└─"]
    (outer, last) = tree.root.inner.values()
    assert [node.name for node in outer.inner.values()] == ["grad(f)", "jvp(f)"]
    assert last.calls["numpy.sin"] == 1


def test_results_are_those_of_the_call_and_nothing_stays():
    plain = ft.vmap(ft.grad(f))(XS)
    tree = show_levels(ft.vmap(ft.grad(f)), XS)

    np.testing.assert_array_equal(tree.result, plain)
    raises(ZeroDivisionError, lambda: show_levels(ft.grad(lambda x: 1 / 0), 1.0))
    kinds = []
    ft.grad(lambda x: [x, kinds.append(type(type(x).level).__name__)][0])(1.0)
    assert kinds == ["GradLevel"]
    raises(TypeError, lambda: show_levels(3), "show_levels: func is a int")


def test_levels_around_the_call_are_in_the_tree():
    trees = []

    def outer(x):
        trees.append(show_levels(lambda: ft.vmap(np.sin)(x)))
        return np.sum(x * x)

    ft.grad(outer)(XS[0])
    assert lines(trees[0])[1:] == ["grad(outer)  reverse mode: sin", "vmap(sin)  3 examples: sin"]


def test_other_threads_are_not_in_the_tree():
    def call(x):
        in_thread(lambda: ft.grad(np.cos)(1.0))
        return f(x)

    assert "cos" not in str(show_levels(ft.vmap(call), XS))


def test_it_works_beside_other_debuggers_and_with_programs():
    with ft.debug.debug_nans():
        assert "sin" in str(show_levels(ft.grad(f), XS[0]))
    with ft.modes.FlopCounterMode():
        assert "sin" in str(show_levels(ft.grad(f), XS[0]))
    compiled = ft.compile(ft.grad(f), backend="numpy")
    assert lines(show_levels(compiled, XS[0]))[1:] == ["grad(f)  reverse mode: sin, sum"]
    with pytest.raises(ft.LevelError, match="a mode or a debugger is on"):
        ft.trace(lambda x: show_levels(np.sin, x).result)(1.0)


# ---- blocks, and the picture ----


def test_a_block_gives_the_tree_of_its_levels():
    with show_levels() as tree, ft.vmap() as B, ft.grad() as G:
        x = G(B(XS))
        slope = B.unwrap(G.gradient(np.sum(x * x), x))

    np.testing.assert_array_equal(slope, 2 * XS)
    assert lines(tree)[1:] == [
        "vmap()  2 examples: multiply 3, add, sum",
        "grad()  reverse mode: multiply, sum",
    ]
    assert lines(show_levels(np.sin, 1.0)) == ["Tensor  plain arrays"]


def boxes(picture):
    """The boxes of a picture, as (left, top, right, bottom), and its texts with their places."""
    svg = ElementTree.fromstring(picture)
    assert all("http" not in value for one in svg.iter() for value in one.attrib.values())
    number = lambda one, *names: [float(one.get(name)) for name in names]  # noqa: E731
    found = [number(one, "x", "y", "width", "height") for one in svg if one.tag.endswith("rect")]
    texts = [(*number(one, "x", "y"), one.text) for one in svg if one.tag.endswith("text")]
    return [(x, y, x + w, y + h) for x, y, w, h in found], texts, number(svg, "width", "height")


def clashes(picture):
    """Yield the pairs of boxes that overlap in part, and the texts that leave their box."""
    found, texts, (width, height) = boxes(picture)
    for i, a in enumerate(found):
        if a[2] > width or a[3] > height:
            yield a
        for b in found[:i]:
            apart = a[0] >= b[2] or b[0] >= a[2] or a[1] >= b[3] or b[1] >= a[3]
            inside = b[0] < a[0] and b[1] < a[1] and a[2] < b[2] and a[3] < b[3]
            if not apart and not inside:
                yield a, b
    for x, y, text in texts:
        around = [one for one in found if one[0] < x < one[2] and one[1] < y < one[3]]
        if not around or x + 7.2 * len(text) > max(around)[2]:
            yield text


def test_the_picture_has_a_box_for_each_level_inside_that_of_the_enclosing_one():
    many = lambda x: ft.grad(lambda x: sum([g(x).sum() for g in GS]))(x) + ft.vmap(np.cos)(x)  # noqa: E731
    tree = show_levels(lambda: ft.vmap(many)(XS))
    picture = tree._repr_svg_()
    found, texts, _ = boxes(picture)

    assert len(found) == len(lines(tree)) == 4 and "grad(<lambda>)" in "".join(
        [t for *_, t in texts]
    )
    assert not [*clashes(picture)]
    assert [*clashes(picture.replace('height="', 'height="9'))]
    assert [*clashes(picture.replace("grad(", "grad of a function with a long name(" * 9))]


GS = np.sin, np.cos, np.tan, np.exp, np.sinh, np.cosh, np.tanh, np.arctan, np.arcsinh, np.square
