"""Functions of other libraries, which do not dispatch: callables that ask tensors first.

Also the classes of their results.
"""

import functools
from collections.abc import Callable, Collection, Iterable
from typing import Any

from .numpy_facts import attributed
from .pytree import is_value, register_pytree_node
from .root import dispatch_lists
from .types import Function

DISPATCHING: dict[Function, Function] = {}
"""The callables that `dispatching` has made, by the functions that they compute."""


def dispatching(func: Function) -> Function:
    """Return a function that computes `func`, and asks the tensors among its arguments first.

    Its operation is that of `func`. Rules call it on values one level down.
    """
    made = DISPATCHING.get(func)
    if made is None:

        @functools.wraps(func, updated=())
        def call(*args: Any, **kwargs: Any) -> Any:
            return dispatch_lists(func, args, kwargs)

        made = DISPATCHING[func] = call
    return made


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
