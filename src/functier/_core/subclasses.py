"""Views of a tensor by another class or dtype: ``x.view(...)`` with an argument."""

from typing import Any, NoReturn

import numpy as np

from .errors import ConversionError


def view_as(x: Any, *args: Any) -> Any:
    """Return the values of a tensor as a subclass of NumPy's array, or raise.

    Such an array holds plain numbers. So this is for a vmap that runs examples apart, and for
    arrays that have met no tensor. It may share no memory, and can therefore not be written to.
    """
    kind = args[0]
    if not isinstance(kind, type) or not issubclass(kind, np.ndarray):
        _refuse(x, "x.view(dtype) is about the memory of an array, which a tensor hides; write "
                "x.astype(dtype) for another dtype")  # fmt: skip
    try:
        if x.level.depth or x.level.taken is not None:  # not a plain tensor, whose class counts
            found = x.level.convert(x, "numpy.asarray", None, None).view(*args)
            found.flags.writeable = False
            return found
    except ConversionError:
        pass
    _refuse(x, f"x.view({kind.__name__}) would put a tensor into a subclass of numpy.ndarray, "
            f"which holds plain numbers; write its methods as functions of x")  # fmt: skip


def _refuse(x: Any, why: str) -> NoReturn:
    raise TypeError(f"{x.level}: {why}")
