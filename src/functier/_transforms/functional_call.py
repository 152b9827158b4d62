"""Models as functions of their state: functional_call and stack_module_state.

A module is one of two things.

A pytree that can be called, such as a registered dataclass with ``__call__``. The names of
its state are the paths of its leaves with dots, ``layers.0.weight``; floating-point and
complex leaves are parameters, the other arrays buffers.

An object with ``named_parameters()`` and ``named_buffers()``, which give pairs of a dotted
name and an array. Each part of a name is an attribute, or the key or index of a container.
It is copied for a call: the module itself, the modules in its attributes, and the lists,
tuples and dicts that these are in; all else is shared. A ``copy.copy`` of a module must be
one with the same attributes.
"""

import copy
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from .._core.numpy_facts import dtype_of, shape_of
from .._core.pytree import describe, dotted_names, flatten, instead_of, is_value, unflatten
from .._core.tensor import Tensor
from .._levels.cotangents import is_inexact


def functional_call(
    module: Any,
    parameter_and_buffer_dicts: Mapping[str, Any] | Sequence[Mapping[str, Any]],
    args: Any = None,
    kwargs: Mapping[str, Any] | None = None,
    *,
    tie_weights: bool = True,
    strict: bool = False,
) -> Any:
    """The result of a module with other arrays in the place of its own.

    Parameters
    ----------
    module : callable
        A pytree that can be called, such as a dataclass of arrays (see
        `register_dataclass`), or an object with ``named_parameters()`` and
        ``named_buffers()``. It is left as it is, also by what the call assigns to it.
    parameter_and_buffer_dicts : dict of str to array, or sequence of such
        The arrays by their names, with dots: ``{"layers.0.weight": w}``.
    args : any, optional
        The positional arguments, a tuple, or the only one.
    kwargs : dict, optional
        The keyword arguments.
    tie_weights : bool
        Whether an array goes to every place where the module has the same object as at its
        name; otherwise to its name alone.
    strict : bool
        Whether all arrays of the module have to be given.

    Returns
    -------
    any
        What the module returns.

    Raises
    ------
    TypeError
        Where `module` is neither of both, or cannot be called.
    ValueError
        Where a name is unknown or in two dicts, with `strict` where one is missing, and with
        `tie_weights` where one array is given two values.

    Notes
    -----
    The signature is torch.func's, which ignores an unknown name unless `strict` is set. The
    call works on a copy, so that threads may call one module at once. The copy costs time
    in proportion to the modules and the containers in them, and no memory for arrays.

    Examples
    --------
    >>> import dataclasses
    >>> import numpy as np
    >>> import functier
    >>> @functier.register_dataclass
    ... @dataclasses.dataclass
    ... class Linear:
    ...     weight: np.ndarray
    ...     bias: np.ndarray
    ...     def __call__(self, x):
    ...         return self.weight @ x + self.bias
    >>> model = Linear(np.eye(2), np.zeros(2))
    >>> functional_call(model, {"bias": np.array([5.0, 6.0])}, np.ones(2))
    array([6., 7.])
    """
    label = f"functional_call({type(module).__name__})"
    if not callable(module):
        raise TypeError(f"{label}: the module cannot be called; give its class a __call__ method")
    given = _merge(label, parameter_and_buffer_dicts)
    short = getattr(type(module), "__functional_call__", None)
    new = short(module, given) if short and not strict else None
    if new is None:
        new = _State(label, module).replaced(given, tie_weights, strict)
    args = () if args is None else args if isinstance(args, tuple) else (args,)
    return new(*args, **(kwargs or {}))


def stack_module_state(models: Sequence[Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """The state of several models of one form, stacked: for an ensemble under `vmap`.

    Parameters
    ----------
    models : sequence of modules
        As `functional_call` takes them: of one class, one structure, and the same shapes and
        dtypes.

    Returns
    -------
    params, buffers : dict of str to array
        The arrays of all models along a new axis 0, by their names. Of arrays that a model
        has in several places, the first name stands for all. Leaves of a pytree that are
        no arrays are in none of the dicts.

    Raises
    ------
    TypeError
        Where models are of different classes, or are no modules.
    ValueError
        Where there is none, or they differ in their structure, in names, shapes, dtypes,
        in which arrays are tied, or in ``training``.

    Notes
    -----
    The signature is torch.func's. ``vmap(functional_call, in_dims=(None, 0, None))(models[0],
    (params, buffers), x)`` is every model's result for ``x``.

    Examples
    --------
    >>> import dataclasses
    >>> import numpy as np
    >>> import functier
    >>> @functier.register_dataclass
    ... @dataclasses.dataclass
    ... class Scale:
    ...     factor: float
    ...     def __call__(self, x):
    ...         return self.factor * x
    >>> models = [Scale(np.array(2.0)), Scale(np.array(3.0))]
    >>> params, buffers = stack_module_state(models)
    >>> functier.vmap(functional_call, (None, 0, None))(models[0], (params, buffers), 10.0)
    array([20., 30.])
    """
    models = list(models)
    if not models:
        raise ValueError("stack_module_state: no models were given; pass at least one")
    first = models[0]
    label = f"stack_module_state({type(first).__name__})"
    for i, model in enumerate(models):
        if type(model) is not type(first):
            raise TypeError(
                f"{label}: models[{i}] is a {type(model).__name__}, models[0] a "
                f"{type(first).__name__}; stack models of one class"
            )
        if getattr(model, "training", None) != getattr(first, "training", None):
            raise ValueError(
                f"{label}: models[{i}] has training={model.training}, models[0] "
                f"{first.training}; put all models into one mode"
            )
    states = [_State(label, model) for model in models]
    for i, state in enumerate(states[1:], 1):
        states[0].compare(state, f"models[{i}]")
    stacked = [
        {name: np.stack([state.arrays[name] for state in states]) for name in names}
        for names in (states[0].params, states[0].buffers)
    ]
    return stacked[0], stacked[1]


def _merge(label: str, dicts: Any) -> dict[str, Any]:
    """The arrays of one dict or of several."""
    if isinstance(dicts, Mapping):
        return dict(dicts)
    if not isinstance(dicts, Sequence) or not all(isinstance(d, Mapping) for d in dicts):
        raise TypeError(
            f"{label}: parameter_and_buffer_dicts is a {type(dicts).__name__}; pass a dict from "
            f"names to arrays, or a tuple of such"
        )
    found: dict[str, Any] = {}
    for part in dicts:
        for name in part:
            if name in found:
                raise ValueError(f"{label}: {name!r} is in two of the dicts; give each name once")
        found.update(part)
    return found


# ---- the state of a module ----


class _State:
    """The arrays of a module by their names, and how to replace them."""

    def __init__(self, label: str, module: Any):
        self.label, self.module = label, module
        self.structure: Any = None
        if hasattr(module, "named_parameters") and hasattr(module, "named_buffers"):
            parts = [_pairs(module.named_parameters), _pairs(module.named_buffers)]
            kinds = [[name for name, _ in part] for part in parts]
            items = [pair for part in parts for pair in part]
        else:
            self.leaves, self.structure = flatten(module)
            if len(self.leaves) == 1 and self.leaves[0] is module:
                raise TypeError(
                    f"{label}: the module is neither a pytree nor has named_parameters() and "
                    f"named_buffers(); {instead_of(module)}"
                )
            items = list(zip(dotted_names(module), self.leaves))
            kinds = [[n for n, x in items if is_value(x) and is_inexact(x)],
                     [n for n, x in items if is_value(x) and not is_inexact(x)]]  # fmt: skip
        self.arrays = dict(items)
        if len(self.arrays) != len(items):
            twice = [name for name, _ in items if [n for n, _ in items].count(name) > 1]
            raise ValueError(f"{label}: {twice[0]!r} is the name of two arrays; rename a key")
        self.ties: dict[str, str] = {}  # each name, and the first one of the same object
        seen: dict[int, str] = {}
        for name, x in items:
            is_array = isinstance(x, (np.ndarray, Tensor))
            self.ties[name] = seen.setdefault(id(x), name) if is_array else name
        self.params, self.buffers = [[n for n in kind if self.ties[n] == n] for kind in kinds]

    def replaced(self, given: dict[str, Any], tie_weights: bool, strict: bool) -> Any:
        """A module with the arrays that were given."""
        unknown = [name for name in given if name not in self.arrays]
        if unknown:
            raise ValueError(
                f"{self.label}: the module has no array {unknown[0]!r}; it has {list(self.arrays)}"
            )
        missing = [n for n, x in self.arrays.items() if is_value(x) and n not in given]
        if tie_weights:
            groups = {self.ties[name] for name in given}
            missing = [name for name in missing if self.ties[name] not in groups]
            given = self.tied(given)
        if strict and missing:
            raise ValueError(
                f"{self.label}: strict=True needs all arrays of the module; {missing[0]!r} is "
                f"missing"
            )
        if self.structure is not None:
            leaves = [given.get(name, x) for name, x in self.arrays.items()]
            return unflatten(self.structure, leaves)
        swap = {id(self.arrays[n]): x for n, x in given.items()} if tie_weights else {}
        new = _copy_module(self.module, swap, {})
        self.complete(new, given)
        return new

    def tied(self, given: dict[str, Any]) -> dict[str, Any]:
        """The arrays for all names, those of one object getting the same."""
        chosen: dict[str, tuple[str, Any]] = {}
        for name, x in given.items():
            other, y = chosen.setdefault(self.ties[name], (name, x))
            if y is not x:
                raise ValueError(
                    f"{self.label}: {other!r} and {name!r} are one array in the module, and were "
                    f"given two; give one of them, or pass tie_weights=False"
                )
        return {n: chosen[first][1] for n, first in self.ties.items() if first in chosen}

    def complete(self, new: Any, given: dict[str, Any]) -> None:
        """Set what `new`, a copy of the module, has not got with its copy."""
        own = dict(_pairs(new.named_parameters)) | dict(_pairs(new.named_buffers))
        for name, x in given.items():
            if own.get(name) is not x:
                *owners, last = name.split(".")
                owner = new
                for part in owners:
                    owner = _part(owner, part)
                if isinstance(owner, dict):
                    owner[_key(owner, last)] = x
                elif isinstance(owner, list):
                    owner[int(last)] = x
                else:
                    setattr(owner, last, x)

    def compare(self, other: "_State", name: str) -> None:
        """Raise where another model of the class is of another form."""
        if list(self.arrays) != list(other.arrays):
            raise ValueError(
                f"{self.label}: {name} has the arrays {list(other.arrays)}, models[0] "
                f"{list(self.arrays)}; stack models of one structure"
            )
        if self.structure != other.structure:
            raise ValueError(
                f"{self.label}: {name} has the structure {describe(other.module)}, models[0] "
                f"{describe(self.module)}; stack models of one structure"
            )
        if self.ties != other.ties:
            raise ValueError(
                f"{self.label}: {name} has one array in the places "
                f"{_groups(other.ties)}, models[0] in {_groups(self.ties)}; tie the same arrays "
                f"in all models"
            )
        for n, x in self.arrays.items():
            y = other.arrays[n]
            if not is_value(x):
                if x is not y:
                    raise ValueError(
                        f"{self.label}: {n!r} of {name} is {y!r}, of models[0] {x!r}, and no "
                        f"array; make it a meta field of the class, or the same in all models"
                    )
            elif not is_value(y) or (shape_of(x), dtype_of(x)) != (shape_of(y), dtype_of(y)):
                raise ValueError(
                    f"{self.label}: {n!r} of {name} is {describe(y)}, dtype {dtype_of(y)}, of "
                    f"models[0] {describe(x)}, dtype {dtype_of(x)}; stack arrays of one form"
                )


def _groups(ties: dict[str, str]) -> list[list[str]]:
    groups: dict[str, list[str]] = {}
    for name, first in ties.items():
        groups.setdefault(first, []).append(name)
    return [names for names in groups.values() if len(names) > 1]


def _pairs(named: Callable[..., Iterable]) -> list[tuple[str, Any]]:
    """The names and arrays of ``named_parameters`` or ``named_buffers``, tied ones too."""
    try:
        return list(named(remove_duplicate=False))
    except TypeError:  # it has no such option
        return list(named())


def _copy_module(x: Any, swap: dict[int, Any], memo: dict[int, Any]) -> Any:
    """A module with copies of its modules and their containers, and other arrays in them."""
    key = id(x)
    if key in swap:
        return swap[key]
    if key in memo:
        return memo[key]
    if isinstance(x, (dict, list)):
        new: Any = copy.copy(x)
        memo[key] = new
        for k, value in list(new.items() if isinstance(new, dict) else enumerate(new)):
            new[k] = _copy_module(value, swap, memo)
        return new
    if isinstance(x, tuple):
        items = [_copy_module(value, swap, memo) for value in x]
        return type(x)(*items) if hasattr(x, "_fields") else type(x)(items)
    if hasattr(x, "named_parameters") and not isinstance(x, type):
        new = copy.copy(x)
        memo[key] = new
        for name, value in getattr(x, "__dict__", {}).items():
            vars(new)[name] = _copy_module(value, swap, memo)
        for name in _slots(type(x)):
            if hasattr(x, name):
                object.__setattr__(new, name, _copy_module(getattr(x, name), swap, memo))
        return new
    return x


def _slots(cls: type) -> list[str]:
    found: list[str] = []
    for c in cls.__mro__:
        slots = vars(c).get("__slots__", ())
        found += [slots] if isinstance(slots, str) else [*slots]
    return [name for name in found if name not in ("__dict__", "__weakref__")]


def _part(owner: Any, part: str) -> Any:
    if isinstance(owner, dict):
        return owner[_key(owner, part)]
    return owner[int(part)] if isinstance(owner, (list, tuple)) else getattr(owner, part)


def _key(owner: dict, part: str) -> Any:
    """The key of a dict that a name writes as `part`."""
    return next((k for k in owner if str(k) == part), part)
