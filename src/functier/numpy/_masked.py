"""Masked arrays over tensors, in which nothing is masked, and the functions of `numpy.ma`.

NOTE [nothing is masked]
    Code makes masked arrays of all that it gets, and most have no mask. Over a tensor there are
    such arrays alone. What would mask an element is refused by its name: a mask that has a True, a
    division by zero, a logarithm of a negative number.
"""

import sys
from typing import Any, NoReturn

import numpy as np

from .._control.masks import bare, narrow
from .._core.ambient import AMBIENT
from .._core.root import classes_in, tree_map
from .._core.subclasses import OVER_TENSORS
from .._core.tensor import Tensor
from .._mutation.array import settle
from ._matrix import ArrayMeta
from ._namespaces import TWINS
from ._subclasses import GUARDS, MADE, Instance, tensor_of

fnp: Any = sys.modules["functier.numpy"]
original = np.ma.MaskedArray
nomask = np.ma.nomask
OPERATORS = "add sub mul truediv floordiv pow eq ne lt le gt ge"
DOMAINS: dict[np.ufunc, Any] = np.ma.core.ufunc_domain  # type: ignore[attr-defined]


def _holds(condition: Any) -> bool:
    """Return whether a condition holds for an element, in any example."""
    return bool(np.any(bare(narrow(settle(condition)))[0]))


def _refuse(name: str) -> NoReturn:
    raise TypeError(
        f"{name} would mask elements, and a masked array over a tensor has no mask; write "
        f"numpy.where(mask, fill, data), or leave these elements out before"
    )


def unmasked(x: Any, mask: Any = nomask, name: str = "numpy.ma.array") -> Any:
    """Return an array as a masked array, in which nothing may be masked."""
    if mask is not nomask and _holds(mask):
        _refuse(name)
    made: Any = object.__new__(Unmasked)
    made.functier_tensor = x
    return made


class Unmasked(Instance):
    """A masked array over a tensor: see NOTE [nothing is masked]."""

    functier_kind = original
    __class__ = property(lambda self: original)  # type: ignore[assignment]
    _mask = recordmask = nomask
    data = _data = baseclass = property(lambda self: self.functier_tensor)
    fill_value = property(lambda self: np.ma.default_fill_value(self.functier_tensor.dtype))

    @property
    def mask(self) -> Any:
        """That nothing is masked."""
        return nomask

    @mask.setter
    def mask(self, value: Any) -> None:
        if _holds(value):
            _refuse("x.mask = ...")

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **kwargs: Any) -> Any:
        operands = [tensor_of(x) for x in inputs]
        if ufunc in DOMAINS and method == "__call__":
            _check_domain(ufunc, operands)
        found = super().__array_ufunc__(ufunc, method, *inputs, **kwargs)
        if ufunc is np.power and _holds(~np.isfinite(tensor_of(found))):
            _refuse("x ** y")
        return found

    def __setitem__(self, index: Any, value: Any) -> None:
        if np.ma.is_masked(value):
            _refuse("x[...] = numpy.ma.masked")
        super().__setitem__(index, value)

    def filled(self, fill_value: Any = None) -> Any:
        """Return the array."""
        return self.functier_tensor[...]

    def compressed(self) -> Any:
        """Return all elements, in one axis."""
        return np.ravel(self.functier_tensor)

    def count(self, axis: Any = None, keepdims: Any = False) -> Any:
        """Return the number of elements."""
        return np.ma.ones(self.shape).count(axis, keepdims)

    def harden_mask(self) -> Any:
        """Return the array, which has no mask; so do the functions that follow."""
        return self

    soften_mask = shrink_mask = unshare_mask = harden_mask


def _check(x: Any) -> None:
    """Raise where a masked array that meets a tensor has a mask."""
    if np.ma.is_masked(x):
        raise TypeError(
            "an operand is a numpy.ma.MaskedArray with a mask, which no transform knows of; pass "
            "x.filled(value), or x.data and x.mask as two arguments, and write "
            "numpy.where(mask, 0, data) in the function"
        )


MADE[original] = Unmasked
OVER_TENSORS.add(Unmasked)
GUARDS[original] = _check


def _check_domain(ufunc: np.ufunc, operands: list) -> None:
    """Raise where a function masks an element, as `numpy.ma` would for these operands."""
    domain = DOMAINS[ufunc]
    if domain is None:
        return
    if ufunc.nin == 2:
        outside = np.abs(operands[0]) * np.finfo(float).tiny >= np.abs(operands[1])
    else:
        outside = domain(*operands)
    if _holds(outside):
        _refuse(f"numpy.{ufunc.__name__}")


# ---- functions ----


def _array(data: Any, dtype: Any = None, copy: Any = False, order: Any = None, mask: Any = nomask,
           **options: Any) -> Any:  # fmt: skip
    return unmasked(_taken(tree_map(tensor_of, data), copy, dtype, order=order or "K"), mask)


def _taken(x: Any, copy: Any, *args: Any, **options: Any) -> Any:
    return (fnp.array if copy else fnp.asarray)(x, *args, **options)


def _where(condition: Any, a: Any, copy: bool = True) -> Any:
    return unmasked(_taken(tensor_of(a), copy), tensor_of(condition), "numpy.ma.masked_where")


def _invalid(a: Any, mask: Any = nomask, copy: bool = True, fill_value: Any = None) -> Any:
    data = _taken(tensor_of(a), copy)
    unmasked(data, mask, "numpy.ma.fix_invalid")  # which raises where the mask has a True
    return unmasked(data, ~np.isfinite(data), "numpy.ma.masked_invalid")


OWN: dict[str, Any] = {
    "array": _array,
    "asarray": lambda a, dtype=None, order=None: _array(a, dtype, order=order or "C"),
    "asanyarray": lambda a, dtype=None, order=None: _array(a, dtype),
    "masked_where": _where,
    "masked_invalid": lambda a, copy=True: _invalid(a, copy=copy),
    "fix_invalid": _invalid,
    "getmask": lambda a: nomask,
    "getmaskarray": lambda arr: np.zeros(np.shape(tensor_of(arr)), bool),
    "getdata": lambda a, subok=True: fnp.asarray(tensor_of(a)),
    "filled": lambda a, fill_value=None: fnp.asarray(tensor_of(a)),
    "compressed": lambda x: np.ravel(tensor_of(x)),
    "count": lambda a, *args, **options: np.ma.ones(np.shape(tensor_of(a))).count(*args, **options),
    "is_masked": lambda x: False,
    "isMaskedArray": lambda x: type(x) is Unmasked,
}
"""The functions of `numpy.ma` that say something of masks."""


def _twin(plain: Any, own: Any, wraps: bool) -> Any:
    def call(*args: Any, **kwargs: Any) -> Any:
        if AMBIENT.get() is Tensor or not classes_in(*args, *kwargs.values()):
            found = plain(*args, **kwargs)
            return found if any(found is x for x in args) else beside_tensors(found)
        if not wraps:
            return own(*args, **kwargs)
        found = own(*tree_map(tensor_of, args), **tree_map(tensor_of, kwargs))
        return tree_map(lambda x: unmasked(x) if np.ndim(x) else x, found)

    call.__wrapped__ = plain  # type: ignore[attr-defined]
    call.__name__ = call.__qualname__ = name_of = getattr(plain, "__name__", "function")
    call.__doc__ = f"`numpy.ma.{name_of}`, for arrays in which nothing is masked, too."
    return call


class MaskedMeta(ArrayMeta):
    """The class of the twin of `numpy.ma.MaskedArray`."""

    original = original

    def __call__(
        cls, data: Any = None, mask: Any = nomask, dtype: Any = None, **options: Any
    ) -> Any:
        if AMBIENT.get() is Tensor or not classes_in(data, mask):
            return beside_tensors(original(data, mask, dtype, **options))
        return _array(data, dtype, options.get("copy", False), mask=tensor_of(mask))


def _operator(name: str) -> Any:
    """Return an operator of NumPy's masked arrays that leaves tensors to these."""
    plain = getattr(original, name)

    def call(self: Any, other: Any) -> Any:
        kind = type(other)
        if issubclass(kind, Tensor) or kind in OVER_TENSORS:
            return NotImplemented
        return plain(self, other)

    return call


def beside_tensors(x: Any) -> Any:
    """Return a new masked array, which leaves operators to tensors in a level of adopted code."""
    if type(x) is original and original in OVER_TENSORS.kept and AMBIENT.get() is not Tensor:
        x.__class__ = MaskedArray
    return x


MaskedArray: Any = MaskedMeta(
    "MaskedArray",
    (original,),
    {"__doc__": original.__doc__, "__module__": "functier.numpy.ma"}
    | {f"__{name}__": _operator(f"__{name}__") for name in OPERATORS.split()},
)
TWINS[id(original)] = MaskedArray
for _name in np.ma.__all__:
    _plain, _same = getattr(np.ma, _name), getattr(np, _name, None)
    _own = OWN.get(_name) or (None if isinstance(_same, np.ufunc) else getattr(fnp, _name, None))
    if callable(_plain) and _own is not None and not isinstance(_plain, type):
        TWINS.setdefault(id(_plain), _twin(_plain, _own, _name not in OWN))
