"""Digits that a format gives of a number: adopted code may show them, and not read them again."""

import numpy as np
import pytest
from adopt_support import module_of

import functier as ft
from functier._core import adopted

HEAD = """
import numpy as np

SEEN = []

def read(texts):
    return [float(text) for text in texts]

def f(x):
    v = np.stack([x, 3 * x])
    places = 6
    y = %s
    return x * x + y
"""

READ = [
    'float(f"{x:.18f}")', 'float("{:.18f}".format(x))', 'float(format(x, ".9e"))',
    'float(("{:." + str(places) + "f}").format(x * 3))', 'np.float64(f"{x:.3f}")',
    'float(f"{x:12.4f}")', 'float(f"{x:<12.4f}")', 'sum(read([f"{u:.5f}" for u in v]))',
    'sum(map(float, [f"{u:.5f}" for u in v]))', 'np.float32(f"{x:g}")',
    'float("{0:.4f} {1}".format(x, 1).split()[0])', 'float(f"{float(x):.4f}")',
]  # fmt: skip
"""Digits that are read again."""

KEPT = [
    'float("0.5")', 'SEEN.append(f"{x:.3f}") or 0.0', 'float(f"{2.5:.3f}")', "float('inf') * 0 + 1",
    'int(f"{int(x * 4):d}")', 'float(f"{int(x * 4):d}")', 'len(f"{x:.3f}") * 1.0',
]  # fmt: skip
"""Digits that have no derivative, and such as are shown."""

MODES = {
    "grad": lambda f: ft.grad(f)(0.7),
    "jvp": lambda f: ft.jvp(f, (0.7,), (1.0,)),
    "vmap of grad": lambda f: ft.vmap(ft.grad(f))(np.array([0.7, 0.7])),
    "grad of vmap": lambda f: ft.grad(lambda v: np.sum(ft.vmap(f)(v)))(np.array([0.7, 0.7])),
    "split of grad": lambda f: ft.vmap(ft.grad(f), branches="split")(np.array([0.7, 0.9])),
    "twice": lambda f: ft.grad(ft.grad(f))(0.7),
    "linearize": lambda f: ft.linearize(f, 0.7)[1](1.0),
}


def module_with(folder, text):
    return module_of(folder, HEAD % text)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("text", READ)
def test_digits_are_not_read_again(text, mode, tmp_path):
    module = module_with(tmp_path, text)
    with ft.adopt(module), pytest.raises(ft.ConversionError, match=r"stop_gradient|linearize"):
        MODES[mode](module.f)


@pytest.mark.parametrize("text", READ)
def test_examples_and_numbers_are_read_again(text, tmp_path):
    module, reference = module_with(tmp_path, text), module_with(tmp_path, text)
    xs = np.array([0.7, 0.9])
    with ft.adopt(module):
        assert module.f(0.7) == reference.f(0.7)
        found = ft.vmap(module.f, branches="split")(xs)
        assert found.tolist() == [reference.f(x) for x in xs]


@pytest.mark.parametrize("mode", [name for name in MODES if name != "linearize"])
@pytest.mark.parametrize("text", KEPT)
def test_other_digits_are_read(text, mode, tmp_path):
    module = module_with(tmp_path, text)
    with ft.adopt(module):
        MODES[mode](module.f)


def test_the_remedy_works(tmp_path):
    module = module_with(tmp_path, "float(f'{functier.stop_gradient(x):.3f}')")
    module.functier = ft
    with ft.adopt(module):
        assert ft.grad(module.f)(0.5) == 1.0
        with pytest.raises(ValueError, match="could not convert"):
            ft.grad(lambda x: module.read(["a", f"{x:.3f}"])[0] * x)(0.5)


def test_what_is_noted_is_bounded_and_ends_with_its_level(tmp_path, monkeypatch):
    monkeypatch.setattr(adopted, "MOST_DIGITS", 3)
    module = module_with(tmp_path, "[f'{x + i:.3f}' for i in range(9)] and 0.0")
    with ft.adopt(module):
        ft.grad(module.f)(0.5)
        assert len(adopted.DIGITS) <= 3
        assert module.read(["8.500"]) == [8.5]
        ft.grad(lambda x: x * sum(module.read(["8.500"])))(0.5)


def test_a_planted_fault_is_found(tmp_path, monkeypatch):
    from functier._levels import conversions

    monkeypatch.setattr(conversions, "note_digits", lambda text, level: text)
    with pytest.raises(pytest.fail.Exception):
        test_digits_are_not_read_again(READ[0], "grad", tmp_path)
