"""Messages that say what to write: what they say works, or they should say another thing."""

import ctypes
import ctypes.util
import decimal
import json

import numpy as np
import pytest

import functier as ft
from support.basics import silent


def text(call):
    """Return the message and the notes of the error that a call raises."""
    with silent(), pytest.raises(Exception) as error:
        call()
    return "\n".join([str(error.value), *getattr(error.value, "__notes__", ())])


def in_block(use):
    with ft.grad() as G:
        x = G(2.0)
        y = x * x
    return use(G, y, x)


def without_x():
    with ft.grad() as G:
        G.gradient(G(2.0) * 2.0)


def unwrap_outer():
    with ft.vmap() as outer, ft.vmap() as inner:
        outer.unwrap(outer(np.ones(2)) + inner(np.ones(3)))


def with_function():
    with ft.vmap(np.sum):
        pass


def step():
    return ft.optim.adam({"w": 1.0}, {"w": 1.0}, ft.optim.adam_init({"w": 1.0}), lr=0.1)


def cube_root():
    c = ctypes.CDLL(ctypes.util.find_library("m")).cbrt
    f = ft.custom_vjp(lambda x: c(float(x)))
    f.defvjp(lambda x: (f(x), x), lambda x, g: (g,))
    return ft.vmap(f)(np.ones(2))


def without_rule():
    cube = np.frompyfunc(lambda x: x**3, 1, 1)
    return ft.grad(lambda x: cube(x))(2.0)


def powered():
    from functier.scipy import stats

    return ft.grad(lambda d: stats.nct.sf(2.0, 38.0, d))(1.8)


SAYS = {
    "a decimal": (lambda: ft.grad(lambda x: x * x)(decimal.Decimal("1.5")), "float(x)"),
    "lr": (step, "learning_rate"),
    "an index": (lambda: ft.grad(lambda i: np.arange(3.0)[i])(1.0), "int"),
    "json": (lambda: ft.grad(lambda x: json.dumps(x))(1.0), "stop_gradient"),
    "a float for json": (lambda: ft.grad(lambda x: json.dumps(float(x)))(1.0), "stop_gradient"),
    "gradient without x": (without_x, "gradient(y, x)"),
    "deriv": (lambda: ft.deriv, "grad"),
    "a function of C": (cube_root, "def_vmap"),
    "a ufunc": (without_rule, "custom_vjp"),
    "unwrap": (unwrap_outer, ".unwrap("),
    "a block": (with_function, "vmap()"),
    "a distribution": (powered, "finite_difference"),
}


@pytest.mark.parametrize("call, says", [pytest.param(*row, id=name) for name, row in SAYS.items()])
def test_a_message_says_what_to_write(call, says):
    assert says in text(call)


def zeta():
    from functier.scipy import special

    return ft.grad(special.zeta)(2.5)


def stable():
    from functier.scipy import stats

    return ft.grad(lambda a: stats.levy_stable.pdf(0.3, a, 0.0))(1.5)


def masks():
    x = np.ones((3, 7))
    return ft.vmap(lambda mask: x[:, mask].sum(-1))(np.arange(28).reshape(4, 7) % 3 > 0)


def plot():
    pyplot = pytest.importorskip("matplotlib.pyplot")
    figure, axes = pyplot.subplots()
    try:
        ft.grad(lambda x: (axes.plot([0, 1], [0, x]), x)[1])(2.0)
    finally:
        pyplot.close(figure)


SAYS_NOT = {
    "jvp of an integer": (lambda: ft.jvp(lambda x, y: x * y, (3.0, 5), (1.0, 0)), "argnums"),
    "a mask": (masks, "functier.tensor"),
    "a distribution of functier": (stable, "write functier.scipy.stats.levy_stable.pdf"),
    "a private name": (zeta, "_riemann_zeta"),
    "a plot": (plot, "finite_difference"),
    "an ended block": (lambda: in_block(lambda G, y, x: G.gradient(y, x)), "return it from"),
    "an index": (lambda: ft.grad(lambda i: np.arange(3.0)[i])(1.0), "functier.tensor"),
}


@pytest.mark.parametrize(
    "call, says", [pytest.param(*row, id=name) for name, row in SAYS_NOT.items()]
)
def test_a_message_says_nothing_that_does_not_work(call, says):
    assert says not in text(call)


def test_in_adopted_code_a_python_float_is_no_number_of_numpys(adopted):
    text = "import numpy as np\ndef f(x): return 2 * x if isinstance(x, np.floating) else 3 * x\n"
    assert ft.value_and_grad(adopted(text).f)(1.0) == (3.0, 3.0)


@pytest.mark.slow
def test_editors_complete_the_options_of_vmap():
    script = pytest.importorskip("jedi").Script("import functier as ft\nft.vmap(abs, chunk")
    assert "chunk_size=" in [c.name for c in script.complete()]


@pytest.mark.slow
def test_editors_complete_public_names_of_modules():
    script = pytest.importorskip("jedi").Script("import functier as ft\nft.optim.")
    assert {c.name for c in script.complete() if c.name[0] != "_"} <= set(ft.optim.__all__)
