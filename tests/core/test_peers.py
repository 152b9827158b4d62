"""Names of other libraries are answered with the one that functier has."""

import inspect
import re
from importlib import import_module

import numpy as np
import pytest

import functier as ft
from functier._core.peers import ATTRIBUTES, KEYWORDS, LEFT_OUT, NAMES, OF_MODULES, PRIMALS
from support.basics import raises

pytestmark = pytest.mark.inside("Names of other libraries are in tables, and each has to exist.")


@pytest.mark.parametrize("name", NAMES)
def test_the_module_answers_with_its_own_name(name):
    assert not hasattr(ft, name)
    raises(AttributeError, lambda: getattr(ft, name), f"write {NAMES[name]}")


@pytest.mark.parametrize("module", OF_MODULES)
def test_other_modules_answer_too(module):
    home = import_module(module)
    for name, own in OF_MODULES[module].items():
        assert not hasattr(home, name)
        raises(AttributeError, lambda: getattr(home, name), f"{module!r} has no attribute '{name}'")
        raises(AttributeError, lambda: getattr(home, name), f"write {own}")
    with pytest.raises(AttributeError, match=rf"^module '{module}' has no attribute 'wombat'$"):
        getattr(home, "wombat")  # noqa: B009


@pytest.mark.parametrize("module", ["functier", *OF_MODULES])
def test_an_import_answers_too(module):
    known = OF_MODULES.get(module, NAMES)
    for name, own in known.items():
        with pytest.raises(ImportError) as error:
            exec(f"from {module} import {name}")
        assert str(error.value) == f"cannot import name {name!r} from {module!r}; write {own}"
        with pytest.raises(ImportError, match="; write "):
            exec(f"def f():\n    from {module} import {name} as g\nf()")
    with pytest.raises(ImportError, match=r"^cannot import name 'wombat'"):
        exec(f"from {module} import wombat")


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


OTHERS = {
    "adopt", "depth_of", "enable_grad", "no_dispatch", "no_grad", "ravel_pytree",
    "register_dataclass", "register_hook", "register_pytree_node", "registry", "requires_grad",
    "show_versions", "stack_module_state", "stop_gradient", "unwrap",
}  # fmt: skip
"""The public functions that are not transforms."""

TRANSFORMS = [
    getattr(ft, name) for name in dir(ft)
    if name not in OTHERS and callable(getattr(ft, name))
    and not isinstance(getattr(ft, name), type)
]  # fmt: skip


def refusal(transform, name):
    """Return what a transform says about a keyword, after its own name."""
    with pytest.raises(TypeError) as caught:
        transform(**{name: 0})
    trace, text = caught.value.__traceback__, str(caught.value)
    assert trace.tb_next is None  # this file's line, and none of functier's
    start = f"{transform.__name__}() "
    assert text.startswith(start)
    return text.removeprefix(start)


@pytest.mark.parametrize("transform", TRANSFORMS, ids=lambda f: f.__name__)
def test_each_transform_answers_an_unknown_keyword_by_itself(transform):
    parameters = inspect.signature(transform).parameters
    for name in [*KEYWORDS, *LEFT_OUT, "wombat"]:
        if name in parameters:
            continue
        said = refusal(transform, name)
        assert said.startswith(f"has no argument {name!r}; ")
        own = re.search(r"write (\w+)=$|write its (\w+) by position$", said)
        if own:
            parameter = parameters[own[1] or own[2]]
            assert (parameter.kind in (0, 2)) == bool(own[2])
        else:
            assert re.search("; (it has |leave it out: |it differentiates )", said)
    for name, parameter in parameters.items():
        if parameter.kind in (0, 2):  # by position only
            assert refusal(transform, name).startswith(f"takes {name!r} by position; ")


@pytest.mark.parametrize(
    ("transform", "name", "said"),
    [
        (ft.vmap, "in_axes", "has no argument 'in_axes'; write in_dims="),
        (ft.jacrev, "argnum", "has no argument 'argnum'; write argnums="),
        (ft.grad, "fun", "has no argument 'fun'; write func="),
        (ft.grad, "hasaux", "has no argument 'hasaux'; write has_aux="),
        (ft.custom_vjp, "func", "has no argument 'func'; write fun="),
        (ft.cond, "true_fn", "has no argument 'true_fn'; write true_fun="),
        (ft.linearize, "inputs", "has no argument 'inputs'; write its primals by position"),
        (ft.vjp, "primals", "takes 'primals' by position; write it without primals="),
        (
            ft.hvp,
            "argnum",
            "has no argument 'argnum'; it differentiates with respect to all its primals; "
            "write hvp(lambda x: f(x, y), (x,), (t,))",
        ),
        (
            ft.checkpoint,
            "static_argnums",
            "has no argument 'static_argnums'; leave it out: a function gets what is neither an "
            "array nor a float as it is",
        ),
        (ft.linear_transpose, "wombat", "has no argument 'wombat'; it has func"),
    ],
)
def test_the_answer_to_a_keyword(transform, name, said):
    assert refusal(transform, name) == said


def test_the_calls_that_are_named_instead_of_argnums_work():
    def f(x, y):
        return x * y

    names = {"f": f, "x": 2.0, "y": 3.0, "t": 1.0, "loss": lambda z: z * z}
    for name, call in PRIMALS.items():
        assert eval(call, {name: getattr(ft, name), **names}) is not None


def test_the_order_of_elements_is_no_axis():
    for call in (lambda x: x.flatten(1), lambda x: x.ravel(1), lambda x: np.reshape(x, -1, 1)):
        with pytest.raises(TypeError, match=re.escape("write x.reshape(*x.shape[:1], -1)")):
            ft.vmap(call)(np.ones((4, 2, 3)))
    with pytest.raises(TypeError, match=re.escape("or x.reshape(shape)")):
        ft.vmap(lambda x: x.view(3, 2))(np.ones((4, 2, 3)))


@pytest.mark.parametrize("name", ATTRIBUTES)
def test_attributes(name):
    def of_tensor(x):
        assert not hasattr(x, name)
        raises(AttributeError, lambda: getattr(x, name), f"no x.{name}; write ")
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
    class Mine(ft.Tensor):
        grad = 3.0

    assert Mine(np.ones(2)).grad == 3.0
