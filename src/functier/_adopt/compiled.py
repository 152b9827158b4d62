"""Functions of an adopted module that Numba compiles: for tensors their Python function runs.

NOTE [a compiled function stays the same object]
    Other modules, containers and other compiled functions may have it. So the object itself gets
    another class while its module is adopted: one whose call looks for tensors first. Without a
    tensor the call is Numba's.

NOTE [what Numba reads]
    Numba compiles at the first call with new types, and then reads the code and the globals of
    the Python function. While the module is adopted it is given a function with the code and the
    globals as they were: `FunctionIdentity.from_function` is where all of Numba takes a function.
    Its caches look at the code, too, and have that function instead.
"""

import functools
import sys
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager, nullcontext
from types import CellType, FunctionType, ModuleType
from typing import Any
from weakref import WeakKeyDictionary, WeakSet

from .._cpython.collector import known_containers
from .._cpython.frames import current_frame, globals_at
from .._cpython.functions import read_code
from .kernels import call_over, dispatcher_of, run_elements, run_function, run_loops
from .meanings import ALIASES
from .search import RECORDS
from .twins import original_of

COMPILER = "numba"

NEEDED = {
    "numba.core.registry": "CPUDispatcher",
    "numba.core.bytecode": "FunctionIdentity",
    "numba.core.compiler_lock": "global_compiler_lock",
    "numba.np.ufunc.dufunc": "DUFunc",
    "numba.np.ufunc.gufunc": "GUFunc",
}
"""The parts of Numba that an adoption needs, by their modules."""

COMPILED = "CPUDispatcher", "DUFunc", "GUFunc"
_CLASSES: dict[Any, type] = {}
_ADOPTED: WeakSet[Any] = WeakSet()
_VIEWS: dict[int, ModuleType] = {}
_CLONES: WeakKeyDictionary[FunctionType, FunctionType] = WeakKeyDictionary()
_PATCHED: list[tuple[Any, str, Any]] = []


def _parts() -> dict[str, Any] | None:
    """Return the parts of Numba by their names, or None where it has not been imported."""
    found = {}
    for module, name in NEEDED.items():
        part = getattr(sys.modules.get(module), name, None)
        if part is None:
            return None
        found[name] = part
    return found


def compiler_lock() -> AbstractContextManager:
    """Return the lock that Numba holds while it compiles: names may not change meanwhile."""
    parts = _parts()
    return nullcontext() if parts is None else parts["global_compiler_lock"]


# ---- the functions that are compiled ----


def adopt_compiled(namespaces: Iterable[int]) -> None:
    """Have the compiled functions with these globals take tensors."""
    parts = _parts()
    if parts is None:
        return
    _install(parts)
    wanted = set(namespaces)
    for x in known_containers():
        if type(x) in _CLASSES and id(python_function(x).__globals__) in wanted:
            _adopt(x)


def release_compiled(namespaces: Iterable[int]) -> None:
    """Undo it: the names of these modules are those that they were."""
    gone = set(namespaces)
    for x in list(_ADOPTED):
        if id(python_function(x).__globals__) in gone:
            _release(x)
    for func in list(_CLONES):
        if id(func.__globals__) in gone:
            _CLONES.pop(func, None)
    for number in gone:
        _VIEWS.pop(number, None)
    if not RECORDS:
        while _PATCHED:
            owner, name, before = _PATCHED.pop()
            if before is None:
                delattr(owner, name)
            else:
                setattr(owner, name, before)


def _install(parts: dict[str, Any]) -> None:
    """Change the places where Numba takes a function, and where a compiled one is made."""
    if not _CLASSES:
        dispatcher, ufunc, gufunc = (parts[name] for name in COMPILED)
        _CLASSES[dispatcher] = _class_over(dispatcher, run_function, py_func=_PY_FUNC)
        _CLASSES[ufunc] = _class_over(ufunc, run_elements)
        _CLASSES[gufunc] = _class_over(gufunc, run_loops, _reduce_states=_states)
    if not _PATCHED:
        identity = parts["FunctionIdentity"]
        _patch(identity, "from_function", classmethod(_taken(vars(identity)["from_function"])))
        for cls in _CLASSES:
            _patch(cls, "__init__", _made(cls.__init__))


def _patch(owner: Any, name: str, new: Any) -> None:
    _PATCHED.append((owner, name, vars(owner).get(name)))
    setattr(owner, name, new)


def _taken(take: Any) -> Callable:
    """Return the method by which Numba takes a function."""

    def from_function(cls: Any, pyfunc: Any) -> Any:
        return take.__func__(cls, as_before(pyfunc))

    return from_function


def _made(make: Callable) -> Callable:
    """Return the method that makes a compiled function: one of an adopted module is adopted."""

    @functools.wraps(make)
    def __init__(self: Any, *args: Any, **kwargs: Any) -> None:
        make(self, *args, **kwargs)
        if type(self) in _CLASSES and id(python_function(self).__globals__) in RECORDS:
            _adopt(self)

    return __init__


def _class_over(base: Any, run: Callable, **attributes: Any) -> type:
    """Return the class of adopted instances of a class of Numba's."""
    return type(base)(
        base.__name__,
        (base,),
        {
            "__slots__": (),
            "__module__": base.__module__,
            "__doc__": base.__doc__,
            "__call__": call_over(base, run),
            "_reduce_class": lambda self: base,  # a pickle knows nothing of functier
            **attributes,
        },
    )


def python_function(x: Any) -> Any:
    """Return the Python function of a compiled one."""
    return vars(dispatcher_of(x))["py_func"]


def is_of_numba(kind: type) -> bool:
    """Return whether a class is that of functions that Numba compiles."""
    if str(kind.__module__).partition(".")[0] != COMPILER:
        return False
    parts = _parts() or {}
    return any([parts[name] in kind.__mro__ for name in COMPILED if name in parts])


def _cache_of(x: Any) -> Any:
    """Return what keeps compiled code on disk, if there is such a thing."""
    owner = dispatcher_of(x)
    cache = vars(owner).get("_cache", vars(owner).get("cache"))
    return cache if hasattr(cache, "_py_func") else None


def compiled_in(namespace: dict) -> list[FunctionType]:
    """Return the Python functions with these globals of adopted compiled functions."""
    return [f for f in map(python_function, list(_ADOPTED)) if f.__globals__ is namespace]


def _adopt(x: Any) -> None:
    cache = _cache_of(x)
    if cache is not None:
        cache._py_func = clone_of(python_function(x))
    x.__class__ = _CLASSES[type(x)]
    _ADOPTED.add(x)
    record = RECORDS.get(id(python_function(x).__globals__))
    if record is not None:  # else it is told when it binds the module
        record.take_floats(python_function(x))


def _release(x: Any) -> None:
    _ADOPTED.discard(x)
    cache = _cache_of(x)
    if cache is not None:
        cache._py_func = python_function(x)
    x.__class__ = type(x).__mro__[1]


def _py_func(self: Any) -> Any:
    """Return the Python function: for Numba, as it was before the adoption."""
    func = vars(self)["py_func"]
    reader = globals_at(current_frame(1)).get("__name__", "")
    return as_before(func) if reader.partition(".")[0] == COMPILER else func


_PY_FUNC = property(_py_func)


def _states(self: Any) -> dict[str, Any]:
    """Return what a pickle has of a function of `guvectorize`."""
    states = super(type(self), self)._reduce_states()
    return states | {"py_func": as_before(states["py_func"])}


# ---- functions as they were ----


def as_before(func: Any) -> Any:
    """Return a function of an adopted module with its code and its globals as they were."""
    if type(func) is not FunctionType or id(func.__globals__) not in RECORDS:
        return func
    _view_of(func.__globals__, set())
    return clone_of(func)


def clone_of(func: FunctionType) -> FunctionType:
    """Return the same, always the same one: Numba knows a recursive function by it."""
    found = _CLONES.get(func)
    if found is None:
        _CLONES[func] = found = _clone(func)
    return found


def _clone(func: FunctionType) -> FunctionType:
    record = RECORDS.get(id(func.__globals__))
    pair = None if record is None else record.codes.get(id(read_code(func)))
    code = read_code(func) if pair is None else pair[1]
    names = vars(_view(func.__globals__))
    cells = tuple([_cell_before(cell) for cell in func.__closure__ or ()])
    values = func.__defaults__
    defaults = None if values is None else tuple(map(before, values))
    made = FunctionType(code, names, func.__name__, defaults, cells or None)
    words = func.__kwdefaults__
    made.__kwdefaults__ = None if words is None else {k: before(v) for k, v in words.items()}
    made.__qualname__, made.__module__ = func.__qualname__, func.__module__
    made.__doc__, made.__annotations__ = func.__doc__, func.__annotations__
    made.__dict__.update(func.__dict__)
    return made


def _cell_before(cell: CellType) -> CellType:
    """Return a cell with what a function closed over before; the same cell if it still does."""
    try:
        value = cell.cell_contents
    except ValueError:  # empty
        return cell
    old = before(value)
    return cell if old is value else CellType(old)


def before(value: Any) -> Any:
    """Return the object that a twin stands for; tuples and lists may hold twins."""
    kind = type(value)
    if kind is tuple or kind is list:
        parts = kind(map(before, value)) if len(value) < 1000 else value
        return value if all([a is b for a, b in zip(parts, value)]) else parts
    if kind is ModuleType and id(vars(value)) in RECORDS:
        return _view(vars(value))
    original = original_of(value)
    return value if original is None else original


def _view(namespace: dict) -> ModuleType:
    """Return the module whose names are those of an adopted module as they were."""
    found = _VIEWS.get(id(namespace))
    if found is None:
        found = _VIEWS[id(namespace)] = ModuleType(namespace.get("__name__", ""))
    return found


def _view_of(namespace: dict, seen: set[int]) -> None:
    """Bring the names of such a module up to date, and those of the modules among them."""
    seen.add(id(namespace))
    record = RECORDS[id(namespace)]
    names, fresh = vars(_view(namespace)), {}
    for name, value in list(namespace.items()):
        if name in ALIASES:
            continue
        old, new = record.names.get(name, (None, names))
        if new is value:
            value = old
        elif name not in record.names and name not in record.had:
            if type(value) is ModuleType and id(vars(value)) in RECORDS.keys() - seen:
                _view_of(vars(value), seen)
            value = before(value)
        fresh[name] = value
    for name in names.keys() - fresh.keys():
        del names[name]
    names.update(fresh)


# ---- versions of Numba that are not known ----

LEFT = (
    "and others are compiled by a version of Numba that functier does not know, so the module "
    "stays as it is; import it without Numba (NUMBA_DISABLE_JIT=1 does for jit)"
)


def names_left(namespace: dict) -> list[str]:
    """Return the names of compiled functions, where Numba has not the parts that are needed."""
    if COMPILER not in sys.modules or _parts() is not None:
        return []
    return [
        name
        for name, value in namespace.items()
        if type(value).__module__.partition(".")[0] == COMPILER and callable(value)
    ]
