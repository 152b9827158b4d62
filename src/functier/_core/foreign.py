"""The results of functions of other libraries, as nodes of pytrees."""

import functools
from collections.abc import Callable, Collection, Iterable
from typing import Any

from .numpy_facts import attributed
from .pytree import is_value, register_pytree_node


def register_result(cls: Any, facts: Collection[str] = ()) -> Callable[[Iterable, dict], Any]:
    """Make results with attributes nodes of pytrees: all numbers of one leave a transform.

    Attributes in `facts`, and those that are no numbers, belong to the structure. Return the
    function that makes such a result of its items and its attributes.
    """
    n = len(cls._fields)

    def flatten(result: Any) -> tuple:
        attributes = vars(result)
        data = {k: v for k, v in attributes.items() if is_value(v) and k not in facts}
        rest = tuple((k, v) for k, v in attributes.items() if k not in data)
        return (*result, *data.values()), (tuple(data), rest), (*cls._fields, *data)

    def unflatten(aux: tuple, children: Iterable) -> Any:
        (keys, rest), values = aux, tuple(children)
        return attributed(cls, values[:n], {**dict(zip(keys, values[n:])), **dict(rest)})

    register_pytree_node(cls, flatten, unflatten)
    return functools.partial(attributed, cls)
