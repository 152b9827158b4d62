"""Copies of SciPy's Python code that run on the twins.

NOTE [the code stays SciPy's]
    Filter design, linear systems, waveforms and their kin are long Python code over NumPy: each
    has its own forms of arguments, and few have a formula that is worth a rule. Where a tensor
    takes part, a copy of SciPy's function runs: its code, whose names mean the twins. Calls of
    ``float``, ``isinstance`` and the like are those of adopted code. So values, checks and errors
    are SciPy's, and each step is an operation with its rules. What has a record is dispatched as
    ever, also inside a copy. Code that a copy calls in C refuses tensors by itself.
"""

import functools
from types import CellType, FunctionType, ModuleType
from typing import Any

from .. import numpy as fnp
from .._adopt.meanings import code_with, meanings
from .._adopt.twins import NUMBERS
from .._core.errors import UnsupportedError
from .._core.root import classes_in
from .._cpython.functions import TwinOf, cells_of, copy_of_function, note_own, read_code
from .._cpython.objects import Slot
from ..numpy import _namespaces as _numpy
from ._private import CLASSES_OF, COPIED, SYSTEMS

COMPILED = {
    "binary_dilation", "binary_erosion", "distance_transform_bf", "distance_transform_cdt",
    "distance_transform_edt",
}  # fmt: skip
"""Functions of such modules that give their arrays to compiled code."""

MATHEMATICS: dict[int, Any] = {
    id(getattr(module, name)): twin
    for module, twins in NUMBERS.items()
    for name, twin in vars(twins).items()
    if name[0] != "_"
}
"""The twins of the functions of `math` and `cmath`, by the numbers of the originals."""
GLOBALS: dict[tuple[int, TwinOf], dict[str, Any]] = {}
"""The globals of copies, by the number of the module's own and by what gives the twins."""
COPIES: dict[tuple[int, TwinOf], FunctionType] = {}
"""Copies of functions, by the number of the original and the same."""
CLASSES: dict[int, Any] = {}
"""Copies of classes, by the number of the original."""


def copy_of(func: Any, twin_of: TwinOf) -> Any:
    """Return SciPy's code of a function, run on twins; None where that would not do."""
    return copy_function(func, twin_of) if is_copied(func) else None


def is_copied(func: Any) -> bool:
    """Return whether SciPy's code of a function may run on twins."""
    own = isinstance(func, FunctionType) and _is_of(func, COPIED)
    return own and func.__name__ not in COMPILED


def _is_of(value: Any, modules: tuple[str, ...]) -> bool:
    """Return whether the name of an object, its module included, begins so."""
    return f"{value.__module__}.{value.__name__}".startswith(modules)


def is_copied_class(value: type) -> bool:
    """Return whether a class of SciPy has a copy."""
    return _is_of(value, CLASSES_OF) and not issubclass(value, (BaseException, Warning))


def plain_only(func: Any) -> Any:
    """Return compiled code that a copy calls: of tensors it raises."""

    @functools.wraps(func, updated=())
    def call(*args: Any, **kwargs: Any) -> Any:
        if classes_in(*args, *kwargs.values()):
            raise UnsupportedError(
                f"{func.__module__}.{func.__name__} is compiled code, which takes no tensors; "
                f"write what it computes with functions of NumPy, or call it outside transforms"
            )
        return func(*args, **kwargs)

    return call


def takes_copies(func: Any) -> bool:
    """Return whether a function takes instances of copies."""
    return isinstance(func, FunctionType) and _is_of(func, SYSTEMS)


def holds_copies(args: tuple) -> bool:
    """Return whether an argument is an instance of a copy, which may hold tensors."""
    return any([type(type(x)) is ClassCopy for x in args])


def copy_function(
    func: FunctionType, twin_of: TwinOf, cls: Any = None, xp: Any = fnp
) -> FunctionType:
    """Return a function with the code of `func`, whose globals and calls mean the twins.

    `cls` is the copy of the class that it is a method of, `xp` what NumPy means in it.
    """
    made = COPIES.get((id(func), twin_of))
    if made is None:
        names = copy_globals(func.__globals__, twin_of, xp)
        cells = [
            CellType(cls) if name == "__class__" else _copy_cell(cell, twin_of, cls)
            for name, cell in cells_of(func).items()
        ]
        own = read_code(func)
        code = code_with(meanings(names, [own], whole=False), own)
        COPIES[id(func), twin_of] = made = copy_of_function(func, names, tuple(cells) or None, code)
        note_own(code)
    return made


def _copy_cell(cell: CellType, twin_of: TwinOf, cls: Any) -> CellType:
    """Return what a decorated function closes over, a copy where that is SciPy's function."""
    value = cell.cell_contents
    if isinstance(value, FunctionType) and _is_of(value, COPIED):
        return CellType(copy_function(value, twin_of, cls))
    return cell


def copy_globals(names: dict[str, Any], twin_of: TwinOf, xp: Any = fnp) -> dict[str, Any]:
    """Return the globals of a module of SciPy, with twins of what has one, also in tables.

    It does not ask whose arrays it has: their namespace is `xp`.
    """
    made = GLOBALS.get((id(names), twin_of))
    if made is None:
        made = GLOBALS[id(names), twin_of] = dict(names)
        meant: dict[str, Any] = {
            "array_namespace": lambda *arrays: xp, "is_numpy": lambda given: True, "np_compat": xp,
            "_namespace": lambda given: xp, "np": xp,
        }  # fmt: skip

        def twin(value: Any, name: str) -> Any:
            if name in meant:
                return meant[name]
            if isinstance(value, ModuleType) and value in NUMBERS:
                return NUMBERS[value]
            if isinstance(value, ModuleType) and value.__name__.startswith("numpy"):
                return _numpy.twin_of(value, name)
            if id(value) in MATHEMATICS:
                return MATHEMATICS[id(value)]
            if isinstance(value, ModuleType) or callable(value):
                owner = (getattr(value, "__module__", None) or "").split(".")[:2]
                return twin_of(value, f"{owner[-1]}.{name}")
            if any(value is x for x in _numpy.INDEXERS):
                return _numpy.twin_of(value, name)
            if type(value) is dict:
                return {k: twin(v, name) for k, v in value.items()}
            if type(value) in (list, tuple):
                return type(value)([twin(v, name) for v in value])
            return value

        for name, value in names.items():
            if name[:2] != "__":
                made[name] = twin(value, name)
    return made


def copy_class(original: type, path: str, twin_of: TwinOf, package: str) -> Any:
    """Return a class that inherits from a class of SciPy, with copies of its methods.

    Its other bases are the copies of the bases.
    """
    if id(original) in CLASSES:
        return CLASSES[id(original)]
    bases = tuple([twin_of(base, base.__name__) for base in original.__bases__])
    if id(original) in CLASSES:  # it was made with a base
        return CLASSES[id(original)]
    names = {"__doc__": original.__doc__, "__module__": package, "__qualname__": path}
    made: Any = ClassCopy(original.__name__, bases, {**names, "original": original})
    CLASSES[id(original)] = made
    for name, member in vars(original).items():
        if name not in LEFT_OUT and type(member) is not Slot:
            setattr(made, name, _copy_member(member, twin_of, made))
    return made


LEFT_OUT = {"__dict__", "__weakref__", "__slots__", "__module__", "__qualname__", "__doc__"}
"""Attributes of a class that its copy has by itself."""


class ClassCopy(type):
    """The class of copies of SciPy's classes: an instance of SciPy's class is one of the copy."""

    original: type

    def __instancecheck__(cls, x: Any) -> bool:
        return super().__instancecheck__(x) or cls.original in type(x).__mro__

    def __subclasscheck__(cls, other: type) -> bool:
        return super().__subclasscheck__(other) or cls.original in other.__mro__


def _copy_member(member: Any, twin_of: TwinOf, cls: type) -> Any:
    if isinstance(member, FunctionType):
        return copy_function(member, twin_of, cls)
    if isinstance(member, (staticmethod, classmethod)):
        func: Any = member.__func__
        if isinstance(func, FunctionType):
            func = copy_function(func, twin_of, cls)
        return type(member)(func)
    if isinstance(member, property):
        parts: list[Any] = [member.fget, member.fset, member.fdel]
        parts = [
            copy_function(f, twin_of, cls) if isinstance(f, FunctionType) else f for f in parts
        ]
        return property(parts[0], parts[1], parts[2], member.__doc__)
    return member
