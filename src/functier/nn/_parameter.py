"""Parameter: an array that a module registers where it is assigned as an attribute."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from .._core.numpy_facts import Value

CHANGES = [0]
"""The number of changes to any module, not counting arrays that replace others."""


def note_change() -> None:
    CHANGES[0] += 1


class Parameter(np.ndarray):
    """An array that becomes a parameter of the module it is assigned to.

    Parameters
    ----------
    data : array_like
        Floating-point or complex; an array is not copied.
    requires_grad : bool
        Whether it is trained. If not, transforms of the module as a pytree treat it as a constant:
        its gradient is zero.

    Raises
    ------
    TypeError
        If `data` is of another dtype, unless ``requires_grad=False``.

    Notes
    -----
    It is a NumPy array, which may be changed in place. Results of NumPy's functions are plain
    arrays. Views and copies of it have this class, as NumPy does it, but a module does not register
    them, and their ``requires_grad`` is False; `copy.deepcopy` and `pickle` return a parameter.

    Examples
    --------
    >>> w = Parameter([1.0, 2.0])
    >>> w.requires_grad, type(w * 2.0).__name__
    (True, 'ndarray')
    """

    def __new__(cls, data: ArrayLike, requires_grad: bool = True) -> "Parameter":
        array = np.asarray(data)
        if requires_grad and array.dtype.kind not in "fc":
            raise TypeError(
                f"{cls.__name__}: only floating-point and complex arrays can require gradients, "
                f"not {array.dtype}; pass one of these, or requires_grad=False"
            )
        return make_parameter(array, requires_grad, cls)

    @property
    def requires_grad(self) -> bool:
        """True if the parameter is trained; False for views and copies of one."""
        return vars(self).get("_trained", False)

    @requires_grad.setter
    def requires_grad(self, value: bool) -> None:
        self._trained = bool(value)
        note_change()

    def __array_wrap__(
        self, array: np.ndarray, context: Any = None, return_scalar: bool = False
    ) -> Value:
        """Return a result of NumPy as a plain array, unless it was written to this one."""
        if array is self:
            return self
        return array[()] if return_scalar else array.view(np.ndarray)

    def __deepcopy__(self, memo: dict) -> np.ndarray:  # type: ignore[override]
        if not is_parameter(self):
            return self.copy()
        new = type(self)(plain_array(self).copy(), self.requires_grad)
        memo[id(self)] = new
        return new

    def __reduce__(self) -> Any:
        if not is_parameter(self):
            return np.ndarray.__reduce__(plain_array(self))
        return _restore, (type(self), plain_array(self), self.requires_grad)


def make_parameter(array: np.ndarray, requires_grad: bool, cls: Any = Parameter) -> Any:
    """Make a parameter of a plain array, which it keeps."""
    new = array.view(cls)
    new._trained, new._array = bool(requires_grad), array
    return new


def _restore(cls: type, data: np.ndarray, requires_grad: bool) -> Any:
    return cls(data, requires_grad)


def is_parameter(x: Value) -> bool:
    """Return whether `x` is a parameter, and not a view or copy of one."""
    return isinstance(x, Parameter) and "_trained" in vars(x)


def plain_array(x: Value) -> Value:
    """Return a parameter's memory as a plain array, and anything else as it is.

    It is the same object each time, the array that the parameter was made of: messages look
    leaves up by identity.
    """
    if not isinstance(x, Parameter):
        return x
    array = vars(x).get("_array")
    if array is None or array.shape != x.shape:
        return x.view(np.ndarray)
    return array
