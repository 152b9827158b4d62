"""Models as functions of their state: functional_call and stack_module_state.

A module is one of two kinds of objects:

A pytree that can be called, such as a registered dataclass with ``__call__``. The names of
its arrays are the paths of its leaves with dots, ``layers.0.weight``. Floating-point and
complex leaves are parameters, and the other arrays are buffers.

A `functier.nn.Module`. A call works on a copy of the module, of the modules registered in it, and
of the lists and dicts among their attributes; everything else is shared.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from .._core.numpy_facts import Structure, Value, dtype_of, shape_of
from .._core.pytree import describe, dotted_names, flatten, instead_of, is_value, unflatten
from .._core.tensor import Tensor
from .._core.tracebacks import checks_keywords
from .._levels.cotangents import is_inexact


@checks_keywords
def functional_call(
    module: Any,
    parameter_and_buffer_dicts: Mapping[str, Any] | Sequence[Mapping[str, Any]],
    args: Any = None,
    kwargs: Mapping[str, Any] | None = None,
    *,
    tie_weights: bool = True,
    strict: bool = False,
) -> Any:
    """Call a module with other arrays in place of those that it holds.

    Parameters
    ----------
    module : callable
        A pytree that can be called, such as a dataclass of arrays (see
        `register_dataclass`), or a `functier.nn.Module`. It stays unchanged, even if the call
        assigns to it.
    parameter_and_buffer_dicts : dict of str to array, or sequence of such
        The arrays by their names, with dots: ``{"layers.0.weight": w}``.
    args : any, optional
        The positional arguments, a tuple, or the only one.
    kwargs : dict, optional
        The keyword arguments.
    tie_weights : bool
        Whether an array also replaces the same object under other names in the module; otherwise it
        replaces only the one under its name.
    strict : bool
        Whether there has to be an array for every name in the module.

    Returns
    -------
    any
        The result of the module.

    Raises
    ------
    TypeError
        If `module` is of neither kind, or cannot be called.
    ValueError
        If a name is unknown or in two dicts; with `strict`, if a name is missing; with
        `tie_weights`, if two names of one array are given different values.

    Notes
    -----
    The signature is torch.func's. (torch ignores an unknown name unless `strict` is set.)
    The call works on a copy of the module, so several threads may call one module at once.
    The copy takes time in proportion to the number of modules, and no memory for arrays.

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
        new = _State(label, module).replace(given, tie_weights, strict)
    args = () if args is None else args if isinstance(args, tuple) else (args,)
    return new(*args, **(kwargs or {}))


def stack_module_state(models: Sequence[Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Stack the arrays of several models of one form, for an ensemble under `vmap`.

    Parameters
    ----------
    models : sequence of modules
        Modules as `functional_call` takes them, of one class and one structure, with the same
        shapes and dtypes.

    Returns
    -------
    params, buffers : dict of str to array
        The arrays of all models along a new axis 0, by their names. An array that a model
        holds under several names is listed under the first of them. The dicts contain no
        leaves of a pytree other than arrays.

    Raises
    ------
    TypeError
        If the models are of different classes, or one of them is not a module.
    ValueError
        If `models` is empty, or the models differ in structure, names, shapes, dtypes, tied
        arrays, or ``training``.

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


def _merge(label: str, dicts: Any) -> dict[str, Value]:
    """Return the arrays of one dict or of several."""
    if isinstance(dicts, Mapping):
        return dict(dicts)
    if not isinstance(dicts, Sequence) or not all(isinstance(d, Mapping) for d in dicts):
        raise TypeError(
            f"{label}: parameter_and_buffer_dicts is a {type(dicts).__name__}; pass a dict from "
            f"names to arrays, or a tuple of such"
        )
    found: dict[str, Value] = {}
    for part in dicts:
        for name in part:
            if name in found:
                raise ValueError(f"{label}: {name!r} is in two of the dicts; give each name once")
        found.update(part)
    return found


# ---- the state of a module ----


class _State:
    """The arrays of a module by their names, and methods to replace them.

    `structure` is None for a `functier.nn.Module`.
    """

    def __init__(self, label: str, module: Any):
        self.label, self.module = label, module
        self.structure: Structure = None
        if hasattr(type(module), "__functional_call__"):
            every = module.named_parameters, module.named_buffers
            parts = [list(named(remove_duplicate=False)) for named in every]
            kinds = [[name for name, _ in part] for part in parts]
            items = [pair for part in parts for pair in part]
        else:
            self.leaves, self.structure = flatten(module)
            if len(self.leaves) == 1 and self.leaves[0] is module:
                raise TypeError(
                    f"{label}: the module is neither a pytree nor a functier.nn.Module; "
                    f"{instead_of(module)}"
                )
            items = list(zip(dotted_names(module), self.leaves))
            kinds = [[n for n, x in items if is_value(x) and is_inexact(x)],
                     [n for n, x in items if is_value(x) and not is_inexact(x)]]  # fmt: skip
        self.arrays = dict(items)
        if len(self.arrays) != len(items):
            twice = [name for name, _ in items if [n for n, _ in items].count(name) > 1]
            raise ValueError(f"{label}: {twice[0]!r} is the name of two arrays; rename a key")
        self.ties: dict[str, str] = {}  # from each name to the first one of the same object
        seen: dict[int, str] = {}
        for name, x in items:
            is_array = isinstance(x, (np.ndarray, Tensor))
            self.ties[name] = seen.setdefault(id(x), name) if is_array else name
        self.params, self.buffers = [[n for n in kind if self.ties[n] == n] for kind in kinds]

    def replace(self, given: dict[str, Value], tie_weights: bool, strict: bool) -> Any:
        """Return a module with the arrays in `given`."""
        unknown = [name for name in given if name not in self.arrays]
        if unknown:
            raise ValueError(
                f"{self.label}: the module has no array {unknown[0]!r}; it has {list(self.arrays)}"
            )
        missing = [n for n, x in self.arrays.items() if is_value(x) and n not in given]
        if tie_weights:
            groups = {self.ties[name] for name in given}
            missing = [name for name in missing if self.ties[name] not in groups]
            given = self.tie(given)
        if strict and missing:
            raise ValueError(
                f"{self.label}: strict=True needs all arrays of the module, but {missing[0]!r} "
                f"is missing; pass it too"
            )
        if self.structure is not None:
            leaves = [given.get(name, x) for name, x in self.arrays.items()]
            return unflatten(self.structure, leaves)
        return self.module.__functional_call__(given, True)

    def tie(self, given: dict[str, Value]) -> dict[str, Value]:
        """Return `given` with each array under all names of the object that it replaces."""
        values: dict[str, tuple[str, Value]] = {}
        for name, x in given.items():
            other, y = values.setdefault(self.ties[name], (name, x))
            if y is not x:
                raise ValueError(
                    f"{self.label}: {other!r} and {name!r} are one array in the module, but two "
                    f"arrays were given for them; give one of them, or pass tie_weights=False"
                )
        return {n: values[first][1] for n, first in self.ties.items() if first in values}

    def compare(self, other: "_State", name: str) -> None:
        """Raise an error where another model of the class has another form."""
        if list(self.arrays) != list(other.arrays):
            raise ValueError(
                f"{self.label}: {name} has the arrays {list(other.arrays)}, but models[0] has "
                f"{list(self.arrays)}; stack models of one structure"
            )
        if self.structure != other.structure:
            raise ValueError(
                f"{self.label}: {name} has the structure {describe(other.module)}, but models[0] "
                f"has {describe(self.module)}; stack models of one structure"
            )
        if self.ties != other.ties:
            raise ValueError(
                f"{self.label}: {name} has one array under the names {_groups(other.ties)}, but "
                f"models[0] under {_groups(self.ties)}; tie the same arrays in all models"
            )
        for n, x in self.arrays.items():
            y = other.arrays[n]
            if not is_value(x):
                if x is not y:
                    raise ValueError(
                        f"{self.label}: {n!r} of {name} is {y!r}, but {x!r} in models[0], and not "
                        f"an array; make it a meta field of the class, or equal in all models"
                    )
            elif not is_value(y) or (shape_of(x), dtype_of(x)) != (shape_of(y), dtype_of(y)):
                raise ValueError(
                    f"{self.label}: {n!r} of {name} is {describe(y)} and dtype {dtype_of(y)}, but "
                    f"{describe(x)} and dtype {dtype_of(x)} in models[0]; stack arrays of one "
                    f"shape and dtype"
                )


def _groups(ties: dict[str, str]) -> list[list[str]]:
    groups: dict[str, list[str]] = {}
    for name, first in ties.items():
        groups.setdefault(first, []).append(name)
    return [names for names in groups.values() if len(names) > 1]
