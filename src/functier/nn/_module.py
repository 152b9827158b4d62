"""Module: state with names, a forward method, hooks, and the form of a pytree.

NOTE [where a module has its state]
    Parameters, buffers and modules are in the ``__dict__`` under their names, so that reading
    them costs nothing. ``_kinds`` has the kind of each, in the order of definition. It is
    replaced and never changed, like the dicts of hooks: copies may share it.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import DTypeLike

from .._core.numpy_facts import Value, dtype_of, shape_of
from .._core.pytree import is_value, register_pytree_node
from .._core.tensor import Tensor
from .._core.tracebacks import leave
from ._hooks import RemovableHandle, note_place
from ._names import Names
from ._parameter import Parameter, is_parameter, note_change, plain_array
from ._structure import BUFFER, MODULE, PARAMETER, flatten, replace_arrays, unflatten

M = TypeVar("M", bound="Module")


class Keys(NamedTuple):
    """The names that `Module.load_state_dict` did not find, and those that it did not expect."""

    missing_keys: list[str]
    unexpected_keys: list[str]


class Module(Names):
    """The base class of networks and their layers.

    A subclass calls ``super().__init__()``, assigns `Parameter` arrays and other modules as
    attributes, which registers them, and defines ``forward``.

    Attributes
    ----------
    training : bool
        True during training; see `train` and `eval`.

    Raises
    ------
    AttributeError
        If a parameter, buffer or module is assigned before ``super().__init__()``.

    Notes
    -----
    The names are torch's. The state is NumPy arrays, which may be changed in place. A module is a
    pytree for every transform: parameters and buffers are its leaves, so that ``grad(loss)(module,
    x)`` is a module of gradients. `functier.functional_call` and `functier.stack_module_state` take
    modules, too. An exception that ``forward`` raises gets a note that names the module of the
    tree.

    The gradient with respect to a module is zero for its buffers, and for parameters with
    ``requires_grad=False``. To differentiate with respect to these, use `functier.functional_call`.
    With integer buffers, ``grad`` needs ``allow_int=True``.

    Examples
    --------
    >>> import numpy as np
    >>> from functier import grad
    >>> class Scale(Module):
    ...     def __init__(self):
    ...         super().__init__()
    ...         self.factor = Parameter([2.0, 3.0])
    ...     def forward(self, x):
    ...         return self.factor * x
    >>> model = Scale()
    >>> model(np.array([1.0, 10.0]))
    array([ 2., 30.])
    >>> grad(lambda m, x: np.sum(m(x)))(model, np.array([1.0, 10.0])).factor
    Parameter([ 1., 10.])
    """

    training: bool = True
    _kinds: dict[str, str]
    _frozen: frozenset = frozenset()
    _transient: frozenset = frozenset()
    _pre_hooks: dict = {}  # noqa: RUF012 (replaced, never changed)
    _hooks: dict = {}  # noqa: RUF012

    def __init__(self) -> None:
        vars(self)["_kinds"] = {}
        self.training = True

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        register_pytree_node(cls, flatten, unflatten)

    def __functional_call__(self, given: dict[str, Any], checked: bool = False) -> Any:
        """Return a copy with other arrays for `functier.functional_call`, or None where that has
        to look at the names, unless they are `checked`.
        """
        return replace_arrays(self, given, checked)

    def __getstate__(self) -> dict[str, Any]:
        """Return the attributes that copies and pickles have."""
        return {name: x for name, x in vars(self).items() if name != "_structure"}

    # ---- calls ----

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """Compute the result of the module. Every subclass defines this method."""
        raise NotImplementedError(
            f'Module [{type(self).__name__}] is missing the required "forward" function'
        )

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        try:
            if not self._pre_hooks and not self._hooks:
                return self.forward(*args, **kwargs)
            return self._hooked(args, kwargs)
        except Exception as error:
            note_place(error, self)
            leave(error)
            raise

    def _hooked(self, args: tuple, kwargs: dict) -> Any:
        for hook, with_kwargs in [*self._pre_hooks.values()]:
            found = hook(self, args, kwargs) if with_kwargs else hook(self, args)
            if found is None:
                continue
            if not with_kwargs:
                args = found if isinstance(found, tuple) else (found,)
            elif isinstance(found, tuple) and len(found) == 2:
                args, kwargs = found
            else:
                raise TypeError(
                    f"the forward pre-hook {hook} returned {type(found).__name__}; "
                    f"with_kwargs=True needs None or a tuple (args, kwargs)"
                )
        out, failed = None, True
        hooks = [*self._hooks.values()]
        try:
            out = self.forward(*args, **kwargs)
            failed = False
        finally:
            if failed:
                for hook, with_kwargs, always in hooks:
                    if always:
                        hook(self, args, *[kwargs] * with_kwargs, None)
        for hook, with_kwargs, _ in hooks:
            found = hook(self, args, *[kwargs] * with_kwargs, out)
            out = out if found is None else found
        return out

    def register_forward_pre_hook(
        self, hook: Callable, *, prepend: bool = False, with_kwargs: bool = False
    ) -> RemovableHandle:
        """Call ``hook(module, args)`` before ``forward``; its result, if any, replaces `args`.

        With `with_kwargs`, ``hook(module, args, kwargs)``, which returns None or both. `prepend`
        puts it in front of the others. The result has a ``remove`` method.
        """
        return RemovableHandle(self, "_pre_hooks", hook, prepend, with_kwargs)

    def register_forward_hook(
        self, hook: Callable, *, prepend: bool = False, with_kwargs: bool = False,
        always_call: bool = False,
    ) -> RemovableHandle:  # fmt: skip
        """Call ``hook(module, args, output)`` after ``forward``; its result, if any, replaces that.

        With `with_kwargs`, ``hook(module, args, kwargs, output)``. With `always_call`, also if
        ``forward`` raises; the output is then None. The result has a ``remove`` method.

        Examples
        --------
        >>> from functier import nn
        >>> layer = nn.ReLU()
        >>> with layer.register_forward_hook(lambda module, args, out: print(args, out)):
        ...     _ = layer(-2.0)
        (-2.0,) 0.0
        """
        return RemovableHandle(self, "_hooks", hook, prepend, with_kwargs, always_call)

    # ---- registration ----

    def __setattr__(self, name: str, value: Any) -> None:
        kind = vars(self).get("_kinds", {}).get(name)
        if is_parameter(value):
            self._register(name, value, PARAMETER, True)
        elif isinstance(value, Module):
            self._register(name, value, MODULE, True)
        elif kind is None:
            object.__setattr__(self, name, value)
            note_change()
        elif value is not None and (kind == MODULE or not is_value(value)):
            raise TypeError(
                f"{type(self).__name__}: cannot assign {type(value).__name__} as {kind} {name!r}; "
                f"assign {EXPECTED[kind]} or None, or delete the {kind} first"
            )
        else:
            before = vars(self)[name]
            if value is None or before is None:
                note_change()
            if kind == PARAMETER and isinstance(value, (np.ndarray, np.generic)):
                value = Parameter(value, getattr(before, "requires_grad", name not in self._frozen))
            vars(self)[name] = value

    def __delattr__(self, name: str) -> None:
        kinds = vars(self).get("_kinds", {})
        object.__delattr__(self, name)
        note_change()
        if name in kinds:
            vars(self)["_kinds"] = {n: k for n, k in kinds.items() if n != name}

    def _register(self, name: str, value: Any, kind: str, assigned: bool = False) -> None:
        state = vars(self)
        label = f"{type(self).__name__}.register_{kind}"
        if "_kinds" not in state:
            many = "" if kind == MODULE else "s"
            raise AttributeError(
                f"cannot assign {kind}{many} before Module.__init__() call: write "
                f"super().__init__() first in {type(self).__name__}.__init__"
            )
        if not isinstance(name, str):
            raise TypeError(f"{label}: the name is a {type(name).__name__}, not a str")
        if not name or "." in name:
            raise KeyError(f'{label}: {kind} name {name!r} can\'t be empty or contain "."')
        if name not in state["_kinds"] and hasattr(type(self) if assigned else self, name):
            raise KeyError(f"{label}: attribute {name!r} already exists")
        if value is not None and not FITS[kind](value):
            raise TypeError(
                f"{label}: {name!r} is {type(value).__name__}; pass {EXPECTED[kind]} or None"
            )
        state.pop(name, None)
        state[name] = value
        state["_kinds"] = {**state["_kinds"], name: kind}
        note_change()

    def register_parameter(self, name: str, param: Value) -> None:
        """Add a parameter; None registers a name only, which `parameters` leaves out."""
        self._register(name, param, PARAMETER)

    def register_buffer(self, name: str, tensor: Value, persistent: bool = True) -> None:
        """Add an array that is not trained; with `persistent`, `state_dict` includes it."""
        self._register(name, tensor if tensor is None else _as_array(tensor), BUFFER)
        change = self._transient - {name} if persistent else self._transient | {name}
        vars(self)["_transient"] = change
        note_change()

    def register_module(self, name: str, module: "Module | None") -> None:
        """Add a module; the same as assigning it as an attribute."""
        self._register(name, module, MODULE)

    add_module = register_module

    # ---- parameters, buffers and modules ----

    def named_modules(
        self, memo: set | None = None, prefix: str = "", remove_duplicate: bool = True
    ) -> Iterator[tuple[str, "Module"]]:
        """Yield this module and all modules in it, with their dotted names, each once."""
        memo = set() if memo is None else memo
        if id(self) in memo:
            return
        if remove_duplicate:
            memo.add(id(self))
        yield prefix, self
        for name, module in self._named_own(MODULE):
            yield from module.named_modules(memo, _join_names(prefix, name), remove_duplicate)

    def modules(self) -> Iterator["Module"]:
        """Return an iterator over this module and all modules in it, each once."""
        return (module for _, module in self.named_modules())

    def named_children(self) -> Iterator[tuple[str, "Module"]]:
        """Yield the modules registered here, with their names, each once."""
        seen = set()
        for name, module in self._named_own(MODULE):
            if id(module) not in seen:
                seen.add(id(module))
                yield name, module

    def children(self) -> Iterator["Module"]:
        """Return an iterator over the modules registered here, each once."""
        return (module for _, module in self.named_children())

    def named_parameters(
        self, prefix: str = "", recurse: bool = True, remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Any]]:
        """Yield the parameters with their dotted names; a shared one once, by its first name."""
        return self._named(PARAMETER, prefix, recurse, remove_duplicate)

    def parameters(self, recurse: bool = True) -> Iterator[Any]:
        """Yield the parameters in the order of definition, this module's first."""
        return (x for _, x in self.named_parameters(recurse=recurse))

    def named_buffers(
        self, prefix: str = "", recurse: bool = True, remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Any]]:
        """Yield the buffers with their dotted names."""
        return self._named(BUFFER, prefix, recurse, remove_duplicate)

    def buffers(self, recurse: bool = True) -> Iterator[Any]:
        """Yield the buffers."""
        return (x for _, x in self.named_buffers(recurse=recurse))

    def _named_own(self, kind: str) -> list[tuple[str, Any]]:
        state = vars(self)
        kinds = state.get("_kinds", {})
        return [(n, state[n]) for n, k in kinds.items() if k == kind and state[n] is not None]

    def _named(self, kind: str, prefix: str, recurse: bool, once: bool) -> Iterator:
        seen = set()
        every = self.named_modules(None, prefix, once) if recurse else [(prefix, self)]
        for path, module in every:
            for name, x in module._named_own(kind):
                if once and id(x) in seen:
                    continue
                seen.add(id(x))
                yield _join_names(path, name), x

    # ---- state ----

    def state_dict(self, *, prefix: str = "") -> dict[str, np.ndarray]:
        """Return the parameters and persistent buffers by their names, sharing memory.

        A shared array has an entry for each of its names. ``copy.deepcopy`` the dict to keep
        it.
        """
        return {name: plain_array(vars(owner)[key]) for name, owner, key in self._places(prefix)}

    def _places(self, prefix: str = "") -> list[tuple[str, "Module", str]]:
        """Return, for each name of `state_dict`, the module that has it, and its name there."""
        return [
            (_join_names(path, name), module, name)
            for path, module in self.named_modules(None, prefix.rstrip("."), False)
            for kind in (PARAMETER, BUFFER)
            for name, _ in module._named_own(kind)
            if name not in module._transient
        ]

    def load_state_dict(
        self, state_dict: Mapping[str, Any], strict: bool = True, assign: bool = False
    ) -> Keys:
        """Copy arrays into the parameters and buffers, in place.

        Parameters
        ----------
        state_dict : dict of str to array
            As `state_dict` gives it.
        strict : bool
            True to require exactly the names of `state_dict`.
        assign : bool
            True to replace the module's arrays by the given ones, with their dtypes.

        Returns
        -------
        Keys
            ``missing_keys`` and ``unexpected_keys``; with `strict`, both are empty.

        Raises
        ------
        ValueError
            For wrong names or shapes: one error with all of them, and nothing is loaded.
        """
        if not isinstance(state_dict, Mapping):
            raise TypeError(f"load_state_dict: a dict is needed, got {type(state_dict).__name__}")
        places = self._places()
        names = [name for name, _, _ in places]
        keys = Keys(
            [n for n in names if n not in state_dict], [n for n in state_dict if n not in names]
        )
        wrong = []
        if strict:
            wrong += [f"missing key {n!r}" for n in keys.missing_keys]
            wrong += [f"unexpected key {n!r}" for n in keys.unexpected_keys]
        given = [(n, m, key, _as_array(state_dict[n])) for n, m, key in places if n in state_dict]
        for name, module, key, x in given:
            own = vars(module)[key]
            if shape_of(x) != shape_of(own):
                wrong.append(f"{name!r} has shape {shape_of(x)}, but {shape_of(own)} in the model")
            elif not np.can_cast(dtype_of(x), dtype_of(own), "same_kind") and not assign:
                wrong.append(f"{name!r} has dtype {dtype_of(x)}, but {dtype_of(own)} in the model")
        if wrong:
            raise ValueError(
                f"load_state_dict({type(self).__name__}): nothing was loaded:\n  "
                + "\n  ".join(wrong)
            )
        for _, module, key, x in given:
            if assign:
                setattr(module, key, x)
            else:
                vars(module)[key][...] = x
        return keys

    # ---- modes and conversions ----

    def train(self: M, mode: bool = True) -> M:
        """Set `training` here and in all modules inside; return the module."""
        for module in self.modules():
            module.training = bool(mode)
        return self

    def eval(self: M) -> M:
        """Do the same as ``train(False)``."""
        return self.train(False)

    def requires_grad_(self: M, requires_grad: bool = True) -> M:
        """Set `requires_grad` of all parameters: see `Parameter`; return the module."""
        for module in self.modules():
            for name, x in module._named_own(PARAMETER):
                if is_parameter(x):
                    x.requires_grad = bool(requires_grad)
                else:
                    frozen = module._frozen - {name} if requires_grad else module._frozen | {name}
                    vars(module)["_frozen"] = frozen
                    note_change()
        return self

    def apply(self: M, fn: Callable[["Module"], Any]) -> M:
        """Call ``fn(module)`` for every module inside and then for this one, and return it."""
        for module in self.children():
            module.apply(fn)
        fn(self)
        return self

    def astype(self: M, dtype: DTypeLike) -> M:
        """Convert the floating-point and complex parameters and buffers; return the module.

        The module gets new arrays; shared ones stay shared. Other attributes stay as they are.
        """
        if np.dtype(dtype).kind not in "fc":
            raise TypeError(
                f"{type(self).__name__}.astype: dtype={np.dtype(dtype)} is not a floating-point "
                f"or complex dtype"
            )
        memo: dict[int, Any] = {}
        for module in self.modules():
            for kind in (PARAMETER, BUFFER):
                for name, x in module._named_own(kind):
                    if dtype_of(x).kind in "fc":
                        if id(x) not in memo:
                            y = plain_array(x).astype(dtype)
                            memo[id(x)] = Parameter(y, x.requires_grad) if is_parameter(x) else y
                        vars(module)[name] = memo[id(x)]
        return self

    def double(self: M) -> M:
        """Do the same as ``astype(numpy.float64)``."""
        return self.astype(np.float64)

    def float(self: M) -> M:
        """Do the same as ``astype(numpy.float32)``."""
        return self.astype(np.float32)

    def half(self: M) -> M:
        """Do the same as ``astype(numpy.float16)``."""
        return self.astype(np.float16)

    # ---- repr ----

    def extra_repr(self) -> str:
        """Return the options that `repr` shows in parentheses; subclasses may define it."""
        return ""

    def __repr__(self) -> str:
        extra = self.extra_repr()
        lines = extra.split("\n") if extra else []
        children = [
            f"({name}): " + repr(module).replace("\n", "\n  ")
            for name, module in vars(self).items()
            if vars(self).get("_kinds", {}).get(name) == MODULE
        ]
        name = type(self).__name__
        if len(lines) == 1 and not children:
            return f"{name}({extra})"
        if not lines and not children:
            return f"{name}()"
        return f"{name}(\n  " + "\n  ".join([*lines, *children]) + "\n)"


EXPECTED = {
    PARAMETER: "a functier.nn.Parameter",
    BUFFER: "an array",
    MODULE: "a Module",
}
FITS: dict[str, Callable[[Any], bool]] = {
    PARAMETER: lambda x: is_parameter(x) or isinstance(x, Tensor),
    BUFFER: is_value,
    MODULE: lambda x: isinstance(x, Module),
}


def _join_names(prefix: str, name: str) -> str:
    return f"{prefix}.{name}" if prefix else name


def _as_array(x: Value) -> Value:
    """Return a list or a number as an array."""
    return x if isinstance(x, Tensor) else plain_array(np.asarray(x))


register_pytree_node(Module, flatten, unflatten)
