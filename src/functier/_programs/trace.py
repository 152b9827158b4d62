"""`trace`: a function at some arguments as a program."""

import inspect
import keyword
import re
import sys
from collections.abc import Callable
from typing import Any

import numpy as np

from .._core.errors import LevelError, RandomnessError
from .._core.pytree import check_callable, flatten, name_of_function, paths, unflatten
from .._core.tensor import Tensor
from .._levels.life import run
from .._mutation.array import settle
from .graph import Graph
from .passes import optimized
from .program import Program
from .recorder import RecordLevel

DYNAMIC = float, complex


def is_dynamic(x: Any) -> bool:
    """Tell if a leaf of the arguments is an input of the program; others are part of it."""
    return isinstance(x, (np.ndarray, np.generic)) or type(x) in DYNAMIC


def trace(func: Callable) -> Callable[..., Program]:
    """Make a function that records a call of `func` as a flat program of NumPy calls.

    Parameters
    ----------
    func : callable
        A function of arrays, numbers or pytrees; also a transform of one, such as
        ``functier.vmap(functier.grad(f))``.

    Returns
    -------
    callable
        ``trace(func)(*args)`` calls `func` and returns the `Program` for arguments of this form.
        Arrays, NumPy scalars, and Python's float and complex numbers are its inputs. Other
        arguments are part of it.

    Raises
    ------
    ConversionError
        Where the function makes a plain number of a value, as ``float(x)`` does.
    LevelError
        Where it is called inside another transform.
    RandomnessError
        Where the function draws from NumPy's global generator.

    Notes
    -----
    What the function reads besides its arguments is taken as it is now: closed-over arrays,
    globals, files, attributes. Where Python code asks for the truth of a value, or for a whole
    number, the program checks in each call that the answer is the same.

    Examples
    --------
    >>> import numpy as np
    >>> import functier as ft
    >>> def f(x):
    ...     return np.sum(np.sin(x) * x)
    >>> program = ft.trace(ft.grad(f))(np.ones(3))
    >>> program(np.zeros(3))
    array([0., 0., 0.])
    """
    check_callable("trace", func)

    def traced(*args: Any) -> Program:
        return record(func, args, sys._getframe(1))[0]

    return traced


def record(func: Callable, args: tuple, frame: Any) -> tuple[Program, Any]:
    """Return the program of a call, and its result."""
    name = name_of_function(func)
    label = f"trace({name})"
    leaves, structure = flatten(args, label, "the arguments")
    for x in leaves:
        if isinstance(x, Tensor) and x.level.depth:
            raise LevelError(
                f"{label}: an argument is a tensor of {x.level}, and a trace is outermost; trace "
                f"the transform of the function, functier.trace(functier.vmap(f))",
                named=True,
            )
    level = RecordLevel.prepare(label, "dead", frame, [])
    before = global_state()
    graph, values, out = run(level, _record, (func, leaves, structure))
    if global_state() != before:
        raise RandomnessError(
            f"{label}: the function draws from NumPy's global generator, whose numbers would be "
            f"the same in each call of the program; draw before, and pass the numbers in",
            named=True,
        )
    dynamic = [is_dynamic(x) for x in leaves]
    program = Program(
        identifier(name), optimized(graph), structure, leaves, dynamic, out,
        names_of_leaves(func, args),
    )  # fmt: skip
    return program, unflatten(out, values)


def _record(level: RecordLevel, given: tuple) -> tuple[Graph, list, Any]:
    func, leaves, structure = given
    places = [i for i, x in enumerate(leaves) if is_dynamic(x)]
    inner = list(leaves)
    for i, x in zip(places, level.begin([leaves[i] for i in places])):
        inner[i] = x
    result = func(*unflatten(structure, inner))
    outputs, out = flatten(settle(result), level, "the result")
    values = [level.lower(y) if isinstance(y, Tensor) else y for y in outputs]
    return level.graph(outputs), values, out


def global_state() -> Any:
    """Return the place in the stream of NumPy's global generator, if that has been loaded."""
    random = sys.modules.get("numpy.random")
    if random is None:
        return None
    state = random.get_state(legacy=False)["state"]
    return state["pos"], state["key"].tobytes()


def identifier(text: str) -> str:
    """Return a name for the function of a program: ``grad_f`` for ``grad(f)``."""
    found = re.sub(r"\W+", "_", text).strip("_")
    odd = not found or found[0].isdigit() or keyword.iskeyword(found)
    return f"program_{found}".rstrip("_") if odd else found


def names_of_leaves(func: Callable, args: tuple) -> list[str]:
    """Return a name for each leaf of the arguments: that of its parameter, and its path."""
    try:
        parameters = list(inspect.signature(func).parameters)
    except (TypeError, ValueError):
        parameters = []
    found = []
    for i, arg in enumerate(args):
        root = parameters[i] if i < len(parameters) else f"x{i}"
        for path in paths(arg, root):
            found.append(re.sub(r"\W+", "_", path).strip("_"))
    return found
