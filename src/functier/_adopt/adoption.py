"""`adopt`: the adopted modules and their later imports, and how an adoption is undone.

NOTE [adoptions are counted]
    A module has one record, `Bindings`, however many adoptions it is in: the last one that is
    undone restores it. One lock is held while names change, so blocks of several threads may
    overlap.
"""

import sys
import threading
from collections.abc import Callable
from importlib import import_module
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec
from types import FunctionType, ModuleType, TracebackType
from typing import Any

from .._cpython import facts
from .._cpython.frames import running_code
from ..progress import during
from .bindings import Bindings
from .compiled import COMPILER, adopt_compiled, compiler_lock, release_compiled
from .contents import Others
from .reach import Reach
from .search import functions_of, import_name, module_behind
from .twins import load_twins


class Finder(MetaPathFinder):
    """The first finder while something is adopted: it finds modules by the other finders.

    Parameters
    ----------
    covers : function
        Tells if the module of a name is to be adopted.
    adopt : function
        Is given the module, when its code has run.
    """

    def __init__(self, covers: Callable[[str], bool], adopt: Callable[[ModuleType], None]):
        self.covers, self.adopt = covers, adopt

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        if not self.covers(name):
            return None
        for finder in list(sys.meta_path):
            find = getattr(finder, "find_spec", None)
            if finder is self or find is None:
                continue
            spec = find(name, path, target)
            if spec is not None:
                if hasattr(spec.loader, "exec_module"):
                    spec.loader = Loader(spec, spec.loader, self.adopt)
                return spec
        return None

    def install(self) -> None:
        if self not in sys.meta_path:
            sys.meta_path.insert(0, self)

    def remove(self) -> None:
        if self in sys.meta_path:
            sys.meta_path.remove(self)


class Loader:
    """A loader that runs a module by another loader, which the module then has."""

    def __init__(self, spec: ModuleSpec, loader: Any, adopt: Callable[[ModuleType], None]):
        self.spec, self.loader, self.adopt = spec, loader, adopt

    def __getattr__(self, name: str) -> Any:
        return getattr(self.loader, name)

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        return self.loader.create_module(spec)

    def exec_module(self, module: Any) -> None:
        self.spec.loader = module.__loader__ = self.loader
        self.loader.exec_module(module)
        self.adopt(module)


NEEDED = (
    facts.callers, facts.variables, facts.names, facts.objects, facts.referents, facts.bytecode,
)  # fmt: skip
"""The facts about an interpreter that adopted code needs."""

REFUSED = ("numpy", "functier", "builtins")

_LOCK = threading.RLock()
_ADOPTED: dict[int, Bindings] = {}
_ACTIVE: "list[Adoption]" = []


class Adoption:
    """Some adopted modules, until `undo` or the end of a ``with`` block."""

    def __init__(self, modules: list[ModuleType], dependencies: bool = True):
        facts.need(*NEEDED)
        self.names = tuple(dict.fromkeys(import_name(m) for m in modules))
        self.modules: list[ModuleType] = []
        self.reach = Reach(self.names) if dependencies else None
        text = f"adopt({', '.join(self.names)})"
        with (
            during(text, lambda: len(self.modules), unit=" modules"), compiler_lock(), _LOCK,
        ):  # fmt: skip
            load_twins()
            found = [m for name in self.names for m in _loaded(name)]
            given = list({id(m): m for m in (*modules, *found)}.values())
            _add(self, given, self.reach.add(given) if self.reach else [])
            _ACTIVE.append(self)
            _FINDER.install()

    @property
    def left(self) -> dict[str, str]:
        """The modules that are called and names in adopted ones that stay as they are, and why."""
        with _LOCK:
            found = self.reach.summary() if self.reach else {}
            for module in self.modules:
                record = _ADOPTED.get(id(module))
                for name, why in record.left.items() if record else ():
                    found[f"{import_name(module)}: {name}"] = why
        return dict(sorted(found.items()))

    def undo(self) -> None:
        """Restore the modules, unless another adoption has them; do nothing the second time."""
        with compiler_lock(), _LOCK:
            if self not in _ACTIVE:
                return
            _ACTIVE.remove(self)
            if not _ACTIVE:
                _FINDER.remove()
            last = []
            for module in self.modules:
                record = _ADOPTED[id(module)]
                record.count -= 1
                if not record.count:
                    last.append(_ADOPTED.pop(id(module)))
            if last:
                found = functions_of([record.module for record in last])
                for record in last:
                    record.unbind(found[id(record.namespace)][0])
                release_compiled(id(record.namespace) for record in last)
                running = running_code(last)  # later than this, no call begins to run such code
                if running is not None:
                    for record in last:
                        record.remove_aliases(running)

    def __enter__(self) -> "Adoption":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.undo()

    def __repr__(self) -> str:
        what = ", ".join(self.names)
        with _LOCK:
            if self not in _ACTIVE:
                return f"<functier.adopt({what}): undone>"
            sizes = [_ADOPTED[id(module)].size() for module in self.modules]
            given = len([m for m in self.modules if _is_inside(import_name(m), self)])
        names, functions = [sum(n) for n in zip(*sizes)]
        others = f" and {len(sizes) - given} that they call" if len(sizes) > given else ""
        return (
            f"<functier.adopt({what}): {given} modules{others}, {names} names bound, "
            f"{functions} functions>"
        )

    def __str__(self) -> str:
        """Return a table: what is adopted of each package, and what is left, and why."""
        rows: dict[str, tuple[int, ...]] = {}
        with _LOCK:
            for module in self.modules if self in _ACTIVE else ():
                root = import_name(module).partition(".")[0]
                counts = (1, *_ADOPTED[id(module)].size())
                rows[root] = tuple(map(sum, zip(rows.get(root, (0, 0, 0)), counts)))
        left = self.left if rows else {}
        width = max(map(len, ("left alone", *rows, *left)))
        lines = [repr(self)[1:-1]]
        if rows:
            lines.append(f"{'adopted':{width}}  modules  names  functions")
        for root, (modules, names, functions) in rows.items():
            lines.append(f"{root:{width}}  {modules:7}  {names:5}  {functions:9}")
        if left:
            lines.append(f"{'left alone':{width}}  why")
        return "\n".join([*lines, *[f"{name:{width}}  {why}" for name, why in left.items()]])


def adopt(*modules: Any, dependencies: bool = True) -> Adoption:
    """Make NumPy code that you cannot edit work under transforms.

    In these modules, names that are NumPy, one of its functions, `math` or one of its functions are
    bound to functier's twins: global names, imports inside functions, default arguments, attributes
    of classes, what functions close over, lists, dicts and partial functions, and attributes of
    objects that forward to NumPy. Calls of ``float``, ``int``, ``complex``, ``max``, ``min``,
    ``sorted``, ``map``, ``isinstance``, ``hasattr``, ``type`` and of NumPy's types of numbers take
    tensors. Everywhere else these names stay what they were, as in ``dtype=float``. In functions
    with `functools.lru_cache`, tensors bypass the cache. Other modules notice nothing.

    Parameters
    ----------
    *modules : module, str, function or class
        Modules or their names; a function or a class stands for the module that defines it. A
        package includes its submodules, even those that are imported later.
    dependencies : bool, default True
        Whether to adopt the modules that these call, too, and the ones that those call, even if
        they are imported later: Python modules of packages that use NumPy, SciPy or `math`.
        Libraries with compiled code, Python's own libraries, and those with few numerical modules
        are left alone without a warning, and so is what cannot be bound: the attribute ``left`` of
        the result lists them.

    Returns
    -------
    Adoption
        Its method ``undo()`` restores the modules; in a ``with`` statement, the end of the block
        does. Adoptions are counted: if several adopt the same module, the last undo restores it.
        Its attribute ``left`` is a dict of what stays as it is, and why. Printed, it is a table of
        what is adopted in each package, and what is left alone.

    Raises
    ------
    ValueError
        For `numpy`, `functier`, `builtins` and their submodules.
    TypeError
        For an object that belongs to no module.

    Warns
    -----
    UserWarning
        If a module among the arguments keeps a function of NumPy where it cannot be replaced, such
        as in a set, or contains code that cannot be changed.

    Notes
    -----
    Code that a call has compiled or copied before is not changed: functions in C or Cython, and
    objects that were made by another module. A function that Numba compiles runs as Python code
    where a tensor is among its arguments, and as compiled code elsewhere. A 0-d tensor answers
    ``isinstance`` as the NumPy scalar of its dtype, and ``type(x)`` is the class that the value has
    without the transform, or in a loop over the batch. ``float(x)`` keeps the derivative. ``max``
    and ``min`` have Python's meaning: the first of equal values, and no later NaN. Functions of
    `math` raise their errors if one example of a batch would.

    Examples
    --------
    >>> import sys, types
    >>> import functier as ft
    >>> module = types.ModuleType("model")
    >>> sys.modules["model"] = module
    >>> exec("import math\\ndef area(r): return math.pi * math.pow(max(float(r), 0.0), 2)",
    ...      vars(module))
    >>> with ft.adopt("model") as adoption:
    ...     float(ft.grad(module.area)(1.0))
    6.283185307179586
    >>> adoption
    <functier.adopt(model): undone>

    It is enough to name a module that calls this one; ``dependencies=False`` adopts it alone.

    >>> caller = types.ModuleType("caller")
    >>> sys.modules["caller"] = caller
    >>> exec("from model import area\\ndef half(r): return area(r) / 2", vars(caller))
    >>> with ft.adopt("caller") as adoption:
    ...     adoption
    ...     float(ft.grad(caller.half)(1.0))
    <functier.adopt(caller): 1 modules and 1 that they call, 1 names bound, 2 functions>
    3.141592653589793
    >>> with ft.adopt("caller", dependencies=False):
    ...     ft.grad(caller.half)(1.0)
    Traceback (most recent call last):
        ...
    functier.ConversionError: ...
    >>> del sys.modules["model"], sys.modules["caller"]
    """
    if not modules:
        raise TypeError("adopt: no module was given; write functier.adopt('package.module')")
    found = [_module_of(x) for x in modules]
    for module in found:
        name = import_name(module)
        if name.partition(".")[0] in REFUSED:
            raise ValueError(
                f"adopt: {name} is what adopted code calls, and cannot be adopted; "
                f"give the module that calls it"
            )
    return Adoption(found, dependencies)


def _module_of(x: Any) -> ModuleType:
    """Return a module, the one of a name, or the one that a function or class is defined in."""
    if isinstance(x, ModuleType):
        return x
    if isinstance(x, str):
        if x.partition(".")[0] in REFUSED and x not in sys.modules:
            return ModuleType(x)  # refused
        module: Any = module_behind(x, import_module(x))
    else:
        name = getattr(x, "__module__", None) if callable(x) else None
        module = module_behind(name, sys.modules.get(name)) if isinstance(name, str) else None
        if module is None and isinstance(x, FunctionType):
            module = _owner_of(x.__globals__)
    if not isinstance(module, ModuleType):
        raise TypeError(
            f"adopt: {x!r} is not a module and belongs to none; give a module, its name, or a "
            f"function or a class that is defined in it"
        )
    return module


def _owner_of(namespace: dict) -> ModuleType | None:
    """Return the module with these globals, whatever name they have."""
    for module in list(sys.modules.values()):
        if isinstance(module, ModuleType) and vars(module) is namespace:
            return module
    return None


def _loaded(name: str) -> list[ModuleType]:
    """Return the modules inside a package that have been imported."""
    # a copy: a list of items is made while other threads may import
    modules = sys.modules.copy()
    found = [module_behind(k, m) for k, m in modules.items() if k.startswith(f"{name}.")]
    return [
        m for m in found if isinstance(m, ModuleType) and import_name(m).startswith(f"{name}.")
    ]  # fmt: skip


def _add(adoption: Adoption, given: list[ModuleType], others: list[ModuleType]) -> None:
    """Bind what is in the modules and not bound yet, and count them; warn of the given ones."""
    modules = [*given, *others]
    found = functions_of(modules)
    rest = Others([id(vars(module)) for module in modules])
    adopt_compiled(found)
    try:
        for module in modules:
            record = _ADOPTED.setdefault(id(module), Bindings(module))
            if module not in adoption.modules:
                adoption.modules.append(module)
                record.count += 1
            record.bind(*found[id(vars(module))], rest)
        for module in given:
            _ADOPTED[id(module)].warn()
    except BaseException:  # a warning may be an error
        if adoption not in _ACTIVE:
            _ACTIVE.append(adoption)
            adoption.undo()
        raise


def _covers(name: str) -> bool:
    """Return whether a module that is imported now may belong to an adoption."""
    return name == COMPILER or any([
        _is_inside(name, adoption) or (adoption.reach is not None and adoption.reach.awaits(name))
        for adoption in list(_ACTIVE)
    ])  # fmt: skip


def _is_inside(name: str, adoption: Adoption) -> bool:
    return any([name == given or name.startswith(f"{given}.") for given in adoption.names])


def _imported(module: ModuleType) -> None:
    """Adopt a module whose code has just run, or has run again, and what it calls."""
    with _LOCK:
        if module.__name__ == COMPILER:
            adopt_compiled(())
            return
        load_twins()
        name = import_name(module)
        for adoption in _ACTIVE:
            given = [module] if _is_inside(name, adoption) else []
            awaited = adoption.reach is not None and adoption.reach.awaits(name)
            others = adoption.reach.add([module]) if adoption.reach and (given or awaited) else []
            again = not given and module in adoption.modules
            if given or others or again:
                _add(adoption, given, [*others, module] if again else others)


_FINDER = Finder(_covers, _imported)
