"""Meanings of names in adopted code: the aliases that it looks up, and the code that does.

The one table is `ALIASES`. An alias stands for a builtin, a type of numbers or a ufunc that is
called, for a module whose attribute is asked for, and for the functions that values go through.
"""

import functools
import sys
from types import ModuleType
from typing import Any

import numpy as np

from .. import numpy as fnp
from .._core.ambient import AMBIENT
from .._core.tensor import Tensor
from .._cpython.call_sites import CodeTable, stored_globals
from .._cpython.code import Code, loads_in, names_of
from .._cpython.first_calls import function_of_caller
from .._cpython.functions import unheard
from .._cpython.rewriting import Conversions, Names, rewrite
from .caches import cache, lru_cache
from .callers import MEMBERS
from .calls import BUILTINS, CALLERS, KINDS, Owner, callee, made_writable, owner
from .complex_mathematics import CMATH
from .kernels import range_
from .mathematics import MATH
from .memories import keepers, keeps, returned
from .operators import UFUNC_CALLERS, UFUNCS
from .twins import CLASSES, MODULES, is_public, load_module

PREFIX = "_functier "


def variant(module: ModuleType, members: dict[str, Any], doc: str) -> ModuleType:
    """Return a module with some members, and those of another one where it has none.

    It is a module, so that a trace notes what a name means in it, and not all that it has.
    """
    made = ModuleType(module.__name__, doc)

    def load(name: str) -> Any:
        value = vars(made)[name] = getattr(module, name)
        return value

    vars(made).update(members, __file__=__file__, __getattr__=load)
    return made


CLASSES_OF_NUMPY = variant(
    fnp, dict(zip(("ndarray", "matrix"), CLASSES)),
    """The namespace `functier.numpy` with NumPy's own classes: ``type(x) is np.ndarray``.

    Calls of `isinstance` need no twin of it.
    """,
)  # fmt: skip
CALLEES = variant(
    fnp,
    {name: UFUNC_CALLERS[ufunc] for name, ufunc in UFUNCS.items()}
    | {name: CALLERS[kind] for name, kind in KINDS.items()},
    """The namespace `functier.numpy` where an attribute is called: ``np.float64(x)``.

    That of a ufunc may be asked for a method, too: ``np.maximum.reduce(xs)``.
    """,
)
OF_PYTHON = {
    module: variant(module, members, "A module of Python where an attribute is called.")
    for module, members in (
        (functools, {"lru_cache": lru_cache, "cache": cache}), *MEMBERS.items()
    )
}  # fmt: skip

CALLEE, OWNER, MADE, RETURNED = [f"{PREFIX}{x}" for x in ("callee", "owner", "made", "returned")]
FIRST, RANGE = f"{PREFIX}first", f"{PREFIX}range"
"""The aliases of the functions that what is called, what has a method, what arithmetic has made,
and what a function that keeps something returns go through.
"""

ALIASES: dict[str, Any] = {
    CALLEE: callee,
    OWNER: owner,
    MADE: made_writable,
    RETURNED: returned,
    RANGE: range_,
    f"{PREFIX}numpy": CALLEES,
    f"{PREFIX}numpy as classes": CLASSES_OF_NUMPY,
    **{f"{PREFIX}{module.__name__}": twin for module, twin in OF_PYTHON.items()},
}
"""The aliases that globals of adopted modules have, and their objects."""

_CALLED: dict[int, str] = {}
for _builtin, _twin in (
    *BUILTINS.items(), *CALLERS.items(), *UFUNC_CALLERS.items(), (np.ndarray, fnp.ndarray),
    (np.matrix, fnp.matrix),
    *[(getattr(m, name), twin) for m, twins in MEMBERS.items() for name, twin in twins.items()],
):  # fmt: skip
    _alias = f"{PREFIX}{_builtin.__name__}"
    if isinstance(_builtin, np.ufunc) or _builtin.__module__ != "builtins":
        _alias = f"{PREFIX}numpy.{_builtin.__name__}"
    _CALLED[id(_builtin)] = _alias
    ALIASES[_alias] = _twin


def alias_of_call(value: Any) -> str | None:
    """Return the alias for calls of an object: a builtin, a type of numbers, or a ufunc."""
    return _CALLED.get(id(value))


def alias_of_owner(value: Any, name: str, called: bool, asked: bool) -> str | None:
    """Return the alias for NumPy where its attribute `name` means another than in its twin."""
    if type(value) is ModuleType and value in OF_PYTHON:
        return f"{PREFIX}{value.__name__}" if name in vars(OF_PYTHON[value]) else None
    if value is np or value is fnp:
        if (name in UFUNCS and (called or asked)) or (name in KINDS and called):
            return f"{PREFIX}numpy"
        if name in ("ndarray", "matrix") and not called and not asked:
            return f"{PREFIX}numpy as classes"
    return None


def alias_of_module(name: str) -> str | None:
    """Return the name by which rewritten code imports the twin of a module, or None.

    An import statement returns the outermost package, so ``functier.numpy`` would not do.
    """
    root, _, rest = name.partition(".")
    twin: Any = {"math": MATH, "cmath": CMATH}.get(name)
    if twin is not None:
        pass
    elif name == "numpy" or is_public(name) or name in MODULES:
        try:
            twin = load_module(MODULES.get(name, f"functier.{name}"))
        except ImportError:  # the statement is in code that does not run here
            return None
        if rest:
            alias_of_module(name.rpartition(".")[0])
    else:
        return None
    alias = f"functier-{root}{'.' if rest else ''}{rest}"
    sys.modules[alias] = twin
    return alias


_REWRITTEN = CodeTable()
"""The meanings of the names of code, and the code that they led to: for a later adoption."""


def is_known(code: Code) -> bool:
    """Return whether an earlier adoption has changed code."""
    return _REWRITTEN.get(code) is not None


def new_code(code: Code, names: Names) -> Code:
    """Return code that looks up other names; it may be made inside a level."""
    facts = names.conversions is None, names.facts(code)
    known = _REWRITTEN.get(code)
    if known is not None and known[0] == facts:
        return known[1] or code
    level = AMBIENT.get()
    try:
        AMBIENT.set(Tensor)
        with unheard():
            new = rewrite(code, names)
    finally:
        AMBIENT.set(level)
    _REWRITTEN.put(code, (facts, None if new is code else new))
    return new


def meanings(namespace: dict, codes: list[Code], whole: bool = True) -> Names:
    """Return what names mean to the code of a module; `whole` also converts what it calls."""

    def keeps_something(code: Code) -> bool:
        return keeps(code, namespace, names.keepers)

    names = Names(
        namespace, alias_of_call, alias_of_owner, alias_of_module,
        Conversions(CALLEE, OWNER, MADE, Owner.methods, RETURNED, keeps_something),
    )  # fmt: skip
    names.stored = set().union(*map(stored_globals, codes))
    if whole:
        names.keepers = keepers(codes, namespace)
    else:
        names.conversions = None
    return names


def code_with(names: Names, code: Code) -> Code:
    """Return the code that runs instead of another one, whose names have the aliases then."""
    made = new_code(code, names)
    for inner in loads_in(made):
        names.namespace.update({n: ALIASES[n] for n in names_of(inner) if n in ALIASES})
    return made


def first(code: Code, cells: Any) -> Any:
    """Return the function that runs instead of the caller, at its first call."""
    return function_of_caller(lambda space: code_with(meanings(space, [code]), code), cells)


ALIASES[FIRST] = first
