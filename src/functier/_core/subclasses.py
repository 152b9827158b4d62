"""Tensors as instances of subclasses of NumPy's array: ``x.view(Vector)``.

NOTE [an instance over a tensor]
    An instance of a subclass of `numpy.ndarray` holds plain numbers. For a tensor there is an
    object that has the subclass's methods and attributes, and computes with the tensor. A file of
    `functier.numpy` makes it, and notes its class here. Such an object answers before the tensors
    beside it, as an instance of a subclass answers before arrays.
"""

from collections.abc import Callable, Iterable
from typing import Any, NoReturn

import numpy as np

from .errors import ConversionError

ndarray = np.ndarray


class OverTensors(set[type]):
    """The classes of such objects: see NOTE [an instance over a tensor].

    `kept` are subclasses whose plain instances, beside a tensor, count as instances over one: those
    of adopted modules. `makers` is empty until adopted code brings a function that makes an
    instance of a tensor, its subclass and the object that NumPy would take; it returns None where
    it cannot.
    """

    def __init__(self) -> None:
        self.kept: set[type] = set()
        self.makers: list[Callable[..., Any]] = []


OVER_TENSORS = OverTensors()
KEPT = OVER_TENSORS.kept


def answer(func: Callable, kinds: Iterable[type], args: tuple, kwargs: dict) -> Any:
    """Answer a call with tensors where another class has to: its result, or NotImplemented where
    NumPy has to ask that class; None where tensors answer.
    """
    kinds = set(kinds)
    if not OVER_TENSORS.isdisjoint(kinds):
        return NotImplemented
    if KEPT.isdisjoint(kinds):
        return None
    args, kwargs = beside_tensors(args, kwargs)
    return func(*args, **kwargs)


def beside_tensors(args: tuple, kwargs: dict) -> tuple[tuple, dict]:
    """Return arguments with objects over tensors for the instances of the classes `KEPT`."""
    return _promoted(args), {name: _promoted(x) for name, x in kwargs.items()}


def _promoted(x: Any) -> Any:
    if type(x) in (tuple, list):
        return type(x)([_promoted(v) for v in x])
    return OVER_TENSORS.makers[0](np.asarray(x), type(x), x) if type(x) in KEPT else x


def inside(x: Any) -> Any:
    """Return `x`, or the tensor in it where it is an instance of a subclass over a tensor."""
    return x.functier_tensor if type(x) in OVER_TENSORS else x


def inside_index(index: Any) -> Any:
    """Return an index with the tensors in such instances."""
    return tuple(map(inside, index)) if type(index) is tuple else inside(index)


def view_as(x: Any, *args: Any, **kwargs: Any) -> Any:
    """Return the values of a tensor as an instance of a subclass of NumPy's array, or raise.

    Where it cannot be one over the tensor, it holds plain numbers. That is for a vmap that runs
    examples apart, and for arrays that have met no tensor. It may share no memory, and can
    therefore not be written to.
    """
    args += of_view(x, **kwargs)
    if not args or args == (ndarray,):
        return x[...]
    kind = args[0]
    if not isinstance(kind, type) or not issubclass(kind, ndarray):
        _refuse(x, "x.view(dtype) reads the memory of an array as other numbers, which a tensor "
                "hides; write x[..., ::2] + 1j * x[..., 1::2] for x.view(complex), "
                "np.stack([x.real, x.imag], -1).reshape(*x.shape[:-1], -1) for the view of complex "
                "numbers as real ones, or x.reshape(shape) for another shape; other views of its "
                "bits have no derivative")  # fmt: skip
    try:
        if x.level.depth or getattr(x, "takes_writes", False):  # else its own class counts
            for make in OVER_TENSORS.makers if len(args) == 1 else ():
                made = make(x, kind)
                if made is not None:
                    return made
            found = x.level.convert(x, "numpy.asarray", None, None).view(*args)
            found.flags.writeable = False
            return found
    except ConversionError:
        pass
    _refuse(x, f"x.view({kind.__name__}) would put a tensor into a subclass of numpy.ndarray, "
            f"which holds plain numbers; write its methods as functions of x")  # fmt: skip


def of_view(x: Any, dtype: Any = None, type: Any = None) -> tuple:
    """Return the arguments of ``x.view(...)`` that were given by their names; without its dtype."""
    same = dtype is None or np.dtype(dtype) == x.dtype
    return (() if same else (dtype,)) + (() if type is None else (type,))


def _refuse(x: Any, why: str) -> NoReturn:
    raise TypeError(f"{x.level}: {why}")
