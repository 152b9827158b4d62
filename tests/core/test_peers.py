"""Names of other libraries are answered with the one that functier has."""

import re
from importlib import import_module

import numpy as np
import pytest

import functier as ft
from functier._core.peers import ATTRIBUTES, KEYWORDS, NAMES, OF_MODULES
from functier._core.tensor import Tensor


@pytest.mark.parametrize("name", NAMES)
def test_the_module_answers_with_its_own_name(name):
    assert not hasattr(ft, name)
    with pytest.raises(AttributeError, match=re.escape(f"write {NAMES[name]}")):
        getattr(ft, name)


@pytest.mark.parametrize("module", OF_MODULES)
def test_other_modules_answer_too(module):
    home = import_module(module)
    for name, own in OF_MODULES[module].items():
        assert not hasattr(home, name)
        with pytest.raises(
            AttributeError, match=re.escape(f"{module!r} has no attribute '{name}'")
        ):
            getattr(home, name)
        with pytest.raises(AttributeError, match=re.escape(f"write {own}")):
            getattr(home, name)
    with pytest.raises(AttributeError, match=rf"^module '{module}' has no attribute 'wombat'$"):
        getattr(home, "wombat")  # noqa: B009


def test_what_is_named_exists():
    others = [text for names in OF_MODULES.values() for text in names.values()]
    for text in [*NAMES.values(), *ATTRIBUTES.values(), *others]:
        for path in re.findall(r"\bfunctier\.([\w.]+)", text):
            found = ft
            for part in path.rstrip(".").split("."):
                found = getattr(found, part)


def test_another_unknown_name_has_no_hint():
    with pytest.raises(AttributeError, match=r"^module 'functier' has no attribute 'wombat'$"):
        _ = ft.wombat


@pytest.mark.parametrize(
    "transform", [ft.vmap, ft.grad, ft.jacrev, ft.jacfwd, ft.hessian, ft.elementwise_grad]
)
@pytest.mark.parametrize("name", KEYWORDS)
def test_keywords(transform, name):
    with pytest.raises(TypeError, match=f"^{transform.__name__}.. has no argument '{name}'; ") as e:
        transform(np.sin, **{name: 0})
    own = re.search(r"; write (\w+)=$", str(e.value))
    if own:
        transform(np.sin, **{own[1]: 0 if own[1] != "chunk_size" else 1})
    else:
        assert "it has func, " in str(e.value)


@pytest.mark.parametrize("name", ATTRIBUTES)
def test_attributes(name):
    def of_tensor(x):
        assert not hasattr(x, name)
        with pytest.raises(AttributeError, match=re.escape(f"no x.{name}; write ")):
            getattr(x, name)
        return x

    def of_written(x):
        x[0] = 1.0
        return of_tensor(x)

    x = np.ones(2)
    ft.jvp(of_tensor, (x,), (x,))
    ft.vmap(of_tensor)(x)
    ft.vmap(of_written)(np.ones((3, 2)))
    of_tensor(ft.tensor(x))
    assert name not in dir(ft.tensor(x))


def test_a_users_class_may_have_such_an_attribute():
    class Mine(Tensor):
        grad = 3.0

    assert Mine(np.ones(2)).grad == 3.0
