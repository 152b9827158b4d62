"""The table of operations, for tests of rules."""

from collections.abc import Mapping
from types import MappingProxyType

from .._core.numpy_facts import Function
from .._core.op import Op
from .._core.table import OPS, UNSUPPORTED, load


def operations() -> Mapping[Function, Op]:
    """Return the records of all operations that have been declared, by their functions.

    Returns
    -------
    mapping of callable to `functier.protocol.Op`
        A view, which follows later declarations: those for a module of SciPy come with the first
        call of one of its functions.

    See Also
    --------
    functier.registry : The names of all operations, and which rules they have.

    Examples
    --------
    >>> import numpy as np
    >>> record = operations()[np.cbrt]
    >>> record.name, record.family, list(record.vjp)
    ('numpy.cbrt', 'elementwise', ['x'])
    """
    load()
    return MappingProxyType(OPS)


def forget(func: Function) -> None:
    """Remove the declaration of a function, as a test does at its end with one that it made.

    Parameters
    ----------
    func : callable
        A function for which `functier.protocol` has declared rules, or that it has none.

    Raises
    ------
    KeyError
        If nothing is declared for the function.

    Examples
    --------
    >>> import numpy as np
    >>> from functier.protocol import linear, primitive
    >>> twice = primitive(lambda x: x + x)
    >>> record = linear(twice, "x", vjp={"x": lambda g: g + g})
    >>> twice in operations()
    True
    >>> forget(twice)
    >>> twice in operations()
    False
    """
    del (UNSUPPORTED if func in UNSUPPORTED else OPS)[func]
