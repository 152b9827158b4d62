"""Modules made of modules: Sequential, ModuleList, ModuleDict."""

import operator
from collections.abc import Iterable, Iterator, Mapping, MutableMapping
from typing import Any, Self

from .._core.numpy_facts import Value
from ._module import Module
from ._structure import MODULE


class _Listed(Module):
    """A base of modules that hold others, by ``"0"``, ``"1"``, and so on, or by other names."""

    def _all(self) -> list[Module]:
        return [module for _, module in self._named_own(MODULE)]

    def _name(self, index: int) -> str:
        names = [name for name, _ in self._named_own(MODULE)]
        i = operator.index(index)
        if not -len(names) <= i < len(names):
            raise IndexError(f"{type(self).__name__}: index {i} is out of range of {len(names)}")
        return names[i]

    def __len__(self) -> int:
        return len(self._all())

    def __iter__(self) -> Iterator[Module]:
        return iter(self._all())

    def __getitem__(self, index: int | slice) -> Any:
        if isinstance(index, slice):
            new = type(self)()
            for name, module in self._named_own(MODULE)[index]:
                new.register_module(name if type(self) is Sequential else str(len(new)), module)
            return new
        return vars(self)[self._name(index)]

    def __setitem__(self, index: int, module: Module) -> None:
        self.register_module(self._name(index), module)

    def __delitem__(self, index: int | slice) -> None:
        names = [name for name, _ in self._named_own(MODULE)]
        gone = names[index] if isinstance(index, slice) else [self._name(index)]
        left = [(name, vars(self)[name]) for name in names if name not in gone]
        for name in names:
            delattr(self, name)
        numbered = all(name.isdigit() for name in names)
        for i, (name, module) in enumerate(left):
            self.register_module(str(i) if numbered else name, module)

    def append(self, module: Module) -> Self:
        """Add a module at the end, and return this one."""
        self.register_module(str(len(self)), module)
        return self

    def extend(self, modules: Iterable[Module]) -> Self:
        """Add modules at the end, and return this one."""
        for module in modules:
            self.append(module)
        return self

    def insert(self, index: int, module: Module) -> Self:
        """Insert a module before position `index`, and return this one."""
        every = self._all()
        every.insert(index, module)
        for name, _ in self._named_own(MODULE):
            delattr(self, name)
        return self.extend(every)


class Sequential(_Listed):
    """Modules, each called with the result of the one before.

    Parameters
    ----------
    *args : Module, or one dict of str to Module
        They are registered as ``"0"``, ``"1"``, and so on, or by the keys.

    Examples
    --------
    >>> from functier import nn
    >>> Sequential(nn.Linear(2, 3), nn.ReLU())
    Sequential(
      (0): Linear(in_features=2, out_features=3, bias=True)
      (1): ReLU()
    )
    """

    def __init__(self, *args: Any):
        super().__init__()
        if len(args) == 1 and isinstance(args[0], (list, tuple)):
            raise TypeError(
                f"Sequential: the argument is a {type(args[0]).__name__}; write "
                f"Sequential(*modules), with each module as an argument"
            )
        named = args[0] if len(args) == 1 and isinstance(args[0], Mapping) else None
        items = enumerate(args) if named is None else named.items()
        for name, module in items:
            self.register_module(str(name), module)

    def forward(self, input: Value) -> Value:
        for module in self._all():
            input = module(input)
        return input


class ModuleList(_Listed):
    """A list of modules, which are registered as ``"0"``, ``"1"``, and so on.

    Parameters
    ----------
    modules : iterable of Module, optional

    Examples
    --------
    >>> from functier import nn
    >>> layers = ModuleList(nn.Linear(2, 2) for _ in range(3))
    >>> len(layers), [name for name, _ in layers[1:].named_parameters()]
    (3, ['0.weight', '0.bias', '1.weight', '1.bias'])
    """

    def __init__(self, modules: Iterable[Module] = ()):
        super().__init__()
        self.extend(modules)


class ModuleDict(Module, MutableMapping[str, Module]):
    """A dict of modules, which are registered by their keys.

    Parameters
    ----------
    modules : dict of str to Module, or iterable of pairs, optional

    Examples
    --------
    >>> from functier import nn
    >>> ModuleDict({"act": nn.Tanh()})["act"]
    Tanh()
    """

    def __init__(self, modules: Mapping[str, Module] | Iterable[tuple[str, Module]] = ()):
        super().__init__()
        self.update(modules)

    def __getitem__(self, key: str) -> Module:
        return dict(self._named_own(MODULE))[key]

    def __setitem__(self, key: str, module: Module) -> None:
        self.register_module(key, module)

    def __delitem__(self, key: str) -> None:
        self[key]
        delattr(self, key)

    def __len__(self) -> int:
        return len(self._named_own(MODULE))

    def __iter__(self) -> Iterator[str]:
        return iter([name for name, _ in self._named_own(MODULE)])

    __eq__, __hash__ = Module.__eq__, Module.__hash__  # as other modules, not as dicts
