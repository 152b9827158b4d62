"""`export`: functions as a C library."""

import importlib
import os
import re
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from .._core.pytree import check_callable
from .._core.tracebacks import checks_keywords
from .._cpython.frames import current_frame
from .._programs.backends import has_llvm
from .._programs.compiled import Compiled
from .names import is_name_of_function

PACKAGE = __name__.partition(".")[0]


class Exported:
    """The files of a C library, which `export` has written.

    Attributes
    ----------
    header, object, static : pathlib.Path
        The header, the object file and the static library.
    shared : pathlib.Path or None
        The shared library, where a linker is installed.
    wheel : pathlib.Path or None
        The wheel, where one was asked for.
    functions : dict of str to callable
        The functions of the library in this process, by name: they run the code of the object
        file. Empty where it is for another processor.
    """

    def __init__(
        self, header: Path, object: Path, static: Path, functions: dict[str, Callable],
        shared: Path | None = None, wheel: Path | None = None,
    ):  # fmt: skip
        self.header, self.object, self.static, self.shared = header, object, static, shared
        self.wheel, self.functions = wheel, functions

    def __repr__(self) -> str:
        files = [self.header, self.object, self.static, self.shared, self.wheel]
        return f"<functier.Exported {', '.join([x.name for x in files if x is not None])}>"


@checks_keywords
def export(
    path: str | os.PathLike[str], func: Callable | Mapping[str, tuple], *args: Any,
    name: str | None = None, target: str = "native", cpu: str | None = None, exact: bool = True,
    max_steps: int | None = None, shared: bool | None = None, wheel: bool | str = False,
) -> Exported:  # fmt: skip
    """Write a function, or several, as a C library that needs neither Python nor NumPy.

    Parameters
    ----------
    path : str or path
        Where the files are written: ``"lib/model"`` makes ``lib/model.h``, ``lib/model.o``,
        ``lib/libmodel.a`` and, where there is a linker, ``lib/libmodel.so``.
    func : callable, or dict of str to tuple
        A function, a transform of one, or one that `compile` made. For several functions in one
        library, a dict of names in C, each with a tuple of a function and example arguments.
    *args : array, number or pytree
        Example arguments. Their shapes and dtypes are those of the C function: each array, NumPy
        scalar or Python float is a pointer among its parameters. Other arguments are built in.
    name : str, optional
        The name of the C function; by default the last part of `path`.
    target : str
        The processor: ``"native"`` for this one, ``"portable"`` for most of this architecture
        (x86-64-v3, armv8-a), or a triple of the installed LLVM such as
        ``"thumbv7em-none-eabihf"``.
    cpu : str, optional
        LLVM's name of the processor, for other targets than ``"native"``.
    exact : bool
        Whether the results have to be those of the machine code of `compile` to the last bit, for
        the native target.
        What Python leaves to NumPy's libraries is then refused: products of large matrices,
        systems of more than 100 unknowns, and choices by values that are rounded. Otherwise own
        code computes them where there is some, and last bits may differ.
    max_steps : int, optional
        How many steps loops with lists of values may have whose length depends on data. By
        default, four times as many as with the example.
    shared : bool, optional
        Whether to make a shared library; by default where there is a linker, and the code is for
        this processor.
    wheel : bool or str
        Whether to make a wheel, too: a package of the name of the files, whose functions take and
        return arrays, and which needs NumPy alone. A text is its version; ``True`` is "0.1.0".

    Returns
    -------
    Exported
        The paths of the files, and the functions to call from Python.

    Raises
    ------
    UnsupportedError
        If a part of a function would stay NumPy's: the lines are listed.
    ImportError
        If llvmlite is not installed.

    Notes
    -----
    The function is traced as by `trace`: what it reads besides its arguments is built in with its
    present value. Where Python code has chosen by a value, the C function checks that the choice
    is the same, and returns a status otherwise. The header says all that a caller has to know.

    Examples
    --------
    >>> import tempfile
    >>> import numpy as np
    >>> import functier as ft
    >>> def loss(w):
    ...     return np.sum(np.sin(w) * w)
    >>> path = tempfile.mkdtemp() + "/gradient"
    >>> made = ft.export(path, ft.grad(loss), np.ones(3), shared=False)
    >>> made
    <functier.Exported gradient.h, gradient.o, libgradient.a>
    >>> made.functions["gradient"](np.zeros(3))
    array([0., 0., 0.])
    """
    if not has_llvm():
        raise ImportError(
            "export: llvmlite is not installed; write pip install 'functier[compile]', or in a "
            "checkout pip install '.[compile]'"
        )
    goal = Path(path)
    given = named(goal, func, args, name)
    if max_steps is not None and (type(max_steps) is not int or max_steps < 1):
        raise ValueError(f"export: max_steps={max_steps!r} is not a positive integer")
    functions = {}
    for own, (each, *values) in given.items():
        check_callable("export", each)
        compiled = type(each) is Compiled
        plain = each.__wrapped__ if compiled else each
        functions[own] = plain, values, compiled and each.fastmath
    build: Any = importlib.import_module("functier._export.library").build
    version = sys.modules[PACKAGE].__version__
    return Exported(**build(
        goal, functions, current_frame(2), target, cpu, exact, max_steps, shared,
        released(wheel), version,
    ))  # fmt: skip


def released(wheel: bool | str) -> str:
    """Return the version of a wheel; nothing where there is none."""
    if type(wheel) is bool:
        return "0.1.0" if wheel else ""
    if type(wheel) is not str or not re.fullmatch(r"\d+(\.\d+)*((a|b|rc|\.post|\.dev)\d+)?", wheel):
        raise ValueError(f"export: wheel={wheel!r} is not a version; write one such as '1.0'")
    return wheel


def named(path: Path, func: Any, args: tuple, name: str | None) -> dict[str, tuple]:
    """Return the functions with their arguments, by names that C can have."""
    if isinstance(func, Mapping):
        if args or name is not None:
            raise TypeError(
                "export: arguments and a name are in the dict: {'name': (function, x), ...}"
            )
        if not func:
            raise ValueError("export: the dict has no functions")
        for own, pair in func.items():
            if type(pair) is not tuple or not pair:
                raise TypeError(f"export: {own!r} needs a tuple of a function and its arguments")
        found = dict(func)
    else:
        found = {name if name is not None else path.name: (func, *args)}
    taken: dict[str, str] = {}
    for own in (path.name, *found):
        if not is_name_of_function(own):
            raise ValueError(
                f"export: {own!r} cannot name a C function; pass another path or name="
            )
    for own in found:
        for symbol in (own, f"{own}_static", f"{own}_work_bytes", f"{own.upper()}_WORK"):
            if symbol in taken:
                raise ValueError(f"export: {own!r} and {taken[symbol]!r} both give {symbol}")
            taken[symbol] = own
    return found
