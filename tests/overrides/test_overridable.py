"""Every function that can be overridden is: on a class that is no tensor, and on a tensor."""

import inspect
import itertools

import numpy as np
import numpy.lib.recfunctions
import pytest

import functier as ft
from functier import overrides
from functier.overrides import _listing as _listing
from support.rows import run_each
from support.surface import surface

pytestmark = pytest.mark.inside("The list of functions is compared with NumPy's.")

DUMMIES = overrides.get_testing_overrides()
BY_NAME = {overrides.resolve_name(f): f for f in DUMMIES}
Parameter = inspect.Parameter


class Duck(overrides.TensorLike):
    """Answers each function by its dummy."""

    @classmethod
    def __tensor_function__(cls, func, types, args=(), kwargs=None):
        dummy = DUMMIES.get(func)
        return NotImplemented if dummy is None else dummy(*args, **(kwargs or {}))


class DuckTensor(ft.Tensor):
    """Does so, too, and is a tensor."""

    __tensor_function__ = vars(Duck)["__tensor_function__"]


def calls(func, duck):
    """Argument lists for a function, a duck or a list with one in each place."""
    required, names = 0, []
    for p in inspect.signature(DUMMIES[func]).parameters.values():
        if p.kind is Parameter.KEYWORD_ONLY:
            names += [p.name] if p.default is Parameter.empty else []
        elif p.kind is Parameter.VAR_POSITIONAL or (
            p.default is Parameter.empty and p.kind is not Parameter.VAR_KEYWORD
        ):
            required += 1
    for args in itertools.product((duck, [duck], [[duck]]), repeat=required):
        yield args, dict.fromkeys(names, 1)


def answers(func, duck):
    """Tell if a call of the function with some of these arguments returns -1."""
    for args, kwargs in calls(func, duck):
        try:
            out = func(*args, **kwargs)
            if type(out) is int and out == -1:
                return True
            if out is duck:  # what reorders in place writes the answer there
                return bool((duck.elem() == -1).all())
        except (TypeError, ValueError, AttributeError):
            continue
    return False


def test_every_overridable_function_on_a_duck_type():
    """E32, E27, E30: what is listed really dispatches; the answer comes from its dummy"""

    def check(name):
        func = BY_NAME[name]
        duck = DuckTensor(np.ones(2)) if overrides.is_tensor_method_or_property(func) else Duck()
        assert answers(func, duck)

    run_each({str(v): v for v in sorted(BY_NAME)}, check)


def test_the_check_finds_a_function_that_does_not_dispatch():
    DUMMIES[len] = lambda *args: -1
    try:
        DUMMIES[len].__signature__ = inspect.Signature([Parameter("x", Parameter.POSITIONAL_ONLY)])
        assert not answers(len, Duck())
    finally:
        del DUMMIES[len]


def test_the_list_is_what_numpy_lets_others_override():
    """E27, E28: by namespace; nothing of NumPy's public surface is missing"""
    table = overrides.get_overridable_functions()
    for space in (np, np.linalg, np.fft, ft.Tensor):
        assert len(table[space]) > 15
    listed = {f for functions in table.values() for f in functions}
    by_like = {f for f in surface().values() if "like" in _listing.signature_of(f).parameters}
    assert by_like <= overrides.get_ignored_functions()
    assert {*surface().values()} - by_like <= listed
    assert np.sum in table[np] and np.add in table[np] and np.linalg.inv in table[np.linalg]
    assert {ft.Tensor.sum, ft.Tensor.__add__, ft.Tensor.T.__get__} <= {*table[ft.Tensor]}
    for functions in table.values():
        assert len(functions) == len({*functions})


def test_the_first_names_of_a_namespace():
    """E29: those of numpy.fft, in order."""
    table = overrides.get_overridable_functions()
    assert [f.__name__ for f in table[np.fft][:5]] == ["fft", "fft2", "fftn", "fftshift", "hfft"]


def test_what_is_ignored_cannot_be_overridden():
    """E31: every public function of NumPy is ignored or has a dummy, and none is both."""
    ignored = overrides.get_ignored_functions()
    assert {np.array, np.asarray, np.zeros, np.arange, np.isscalar, np.random.normal} <= ignored
    assert ft.Tensor.shape.__get__ in ignored and ft.Tensor.item in ignored
    assert not ignored & {*DUMMIES}
    public = {
        f
        for f in vars(np).values()
        if callable(f) and not isinstance(f, type) and getattr(f, "__name__", "_")[0] != "_"
    }
    assert public <= ignored | {*DUMMIES}


@pytest.mark.parametrize(("func", "text"), [
    (np.add, "(x1, x2, /, out=None, *, where=True, casting='same_kind', order='K', dtype=None, "
             "subok=True, signature=None)"),
    (np.matmul, "(x1, x2, /, out=None, *, axes=<no value>, axis=<no value>, keepdims=False, "
                "casting='same_kind', order='K', dtype=None, subok=True, signature=None)"),
    (np.outer, "(a, b, out=None)"),
    (np.linalg.norm, "(x, ord=None, axis=None, keepdims=False)"),
    (ft.Tensor.__add__, "(self, other, /)"), (ft.Tensor.T.__get__, "(self, /)"),
    (ft.Tensor.reshape, "(self, /, *shape, order='C', copy=None)"),
    (ft.Tensor.cumsum, "(self, axis=None, dtype=None, out=None)"),
])  # fmt: skip
def test_dummies_have_the_documented_signatures(func, text):
    """E30: they take what the function takes, and return -1."""
    dummy = DUMMIES[func]
    signature = inspect.signature(dummy)
    assert str(signature) == text
    assert dummy.__name__ == func.__name__
    with pytest.raises(TypeError):
        dummy(no_such_parameter=1)
    names = [p.name for p in signature.parameters.values() if p.default is Parameter.empty]
    assert dummy(*[0] * len(names)) == -1


def test_signatures_agree_with_numpys():
    """E30: NumPy knows most by itself; the rest comes from the documentation"""
    for func, dummy in DUMMIES.items():
        if overrides.is_tensor_method_or_property(func):
            continue
        try:
            expected = inspect.signature(func)
        except ValueError:
            continue
        assert inspect.signature(dummy) == expected


def test_signatures_that_are_made_by_hand_agree_with_numpys(monkeypatch):
    """E30: those of ufuncs, made as for a NumPy that does not tell them"""
    if np.lib.NumpyVersion(np.__version__) < "2.4.0":
        pytest.skip("NumPy tells the signatures of its ufuncs from 2.4 on")
    known = {f: inspect.signature(f) for f in DUMMIES if isinstance(f, np.ufunc)}

    def refuse(func):
        raise ValueError

    monkeypatch.setattr(_listing.inspect, "signature", refuse)
    made = {f: _listing.signature_of(f) for f in known}
    monkeypatch.undo()
    assert len(known) > 80 and made == known


def test_dispatch_does_not_check_signatures():
    """E10, E11: an override is called as it is, and its own error is the error"""

    def add(x, y):
        return "added"

    class Lean(overrides.TensorLike):
        @classmethod
        def __tensor_function__(cls, func, types, args=(), kwargs=None):
            return add(*args, **kwargs) if func is np.add else NotImplemented

    assert np.add(Lean(), 1) == "added"
    with pytest.raises(TypeError, match=r"add\(\) got an unexpected keyword argument 'where'"):
        np.add(Lean(), 1, where=True)
