"""Calls of compiled functions: Numba's for plain arguments, and Python's for tensors.

NOTE [what the Python function means]
    With tensors a compiled function gives what it gives without Numba, as with
    ``NUMBA_DISABLE_JIT=1``. Compiled code differs from that in details: it does not check
    indices, and its integers wrap. Numba's ``range`` cuts off the digits of floats, and so does
    `range_`, which is called in its place.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from .. import numpy as fnp
from .._core.ambient import AMBIENT
from .._core.errors import UnsupportedError
from .._core.numpy_facts import PLAIN, shape_of
from .._core.tensor import Tensor
from .._mutation.array import is_array, lend
from ..numpy._loops import element_of, stack_elements
from .calls import int_

ndarray = np.ndarray
ambient = AMBIENT.get


def dispatcher_of(x: Any) -> Any:
    """Return what compiles a function, which has the Python function as ``py_func``."""
    return getattr(x, "_dispatcher", x)


def call_over(base: Any, run: Callable) -> Callable:
    """Return the call of an adopted instance of a class of Numba's.

    ``run(x, args, kwargs, compiled)`` gives the result for tensors; ``compiled(x, *args)`` is
    Numba's call.
    """
    compiled = base.__call__

    def __call__(self: Any, *args: Any, **kwargs: Any) -> Any:
        for x in args:
            if type(x) not in PLAIN:
                break
        else:
            if not kwargs and ambient() is Tensor:
                return compiled(self, *args)
        loan = lend(args, kwargs)
        if loan is None:
            return _run(self, args, kwargs, compiled, run)
        return loan.returned(compiled(self, *loan.args, **loan.kwargs))

    return __call__


def _run(self: Any, args: tuple, kwargs: dict, compiled: Callable, run: Callable) -> Any:
    try:
        return run(self, args, kwargs, compiled)
    except Exception as error:
        func = vars(dispatcher_of(self))["py_func"]
        note = (
            f"{func.__module__}.{func.__qualname__} is compiled by Numba; a tensor is among its "
            f"arguments, so its Python function runs"
        )
        if isinstance(error, TypeError) and "interpreted as an integer" in str(error):
            note += "; Python takes integers there, and Numba floats, too: write prange(int(n))"
        if note not in getattr(error, "__notes__", ()):
            error.add_note(note)
        raise


# ---- what runs for tensors ----


def run_function(self: Any, args: tuple, kwargs: dict, compiled: Callable) -> Any:
    """Return the result of a function that ``jit`` compiles."""
    func = vars(self)["py_func"]
    if self._can_compile:
        result = func(*args, **kwargs)
        return _as_typed(self, result, args, kwargs) if _has_integer(result) else result
    bound = self._compiler.pysig.bind(*args, **kwargs)  # its types are declared
    bound.apply_defaults()
    types = [self.typeof_pyval(_example_of(x)) for x in bound.args]
    declared = self.typingctx.resolve_overload(func, self.nopython_signatures, types, {})
    if declared is None:
        raise TypeError(
            f"{func.__qualname__}: no declared signature takes arguments of these types: "
            f"{', '.join(map(str, types))}"
        )
    given = [_cast(x, kind) for x, kind in zip(bound.args, declared.args)]
    return _cast(func(*given), declared.return_type)


def range_(*args: Any) -> range:
    """Return ``range(*args)`` as in compiled code, which takes floats."""
    return range(*[int_(x) if _is_float(x) else x for x in args])


def _is_float(x: Any) -> bool:
    return type(x) is float or (hasattr(x, "dtype") and x.dtype.kind == "f" and not shape_of(x))


def _has_integer(x: Any) -> bool:
    if type(x) is tuple:
        return any(map(_has_integer, x))
    return type(x) is int or (hasattr(x, "dtype") and x.dtype.kind in "iu" and not shape_of(x))


def _as_typed(self: Any, result: Any, args: tuple, kwargs: dict) -> Any:
    """Return a result with integers as the type of what Numba returns: all branches have one."""
    types = [self.typeof_pyval(_example_of(x)) for x in args]
    words = {name: self.typeof_pyval(_example_of(x)) for name, x in kwargs.items()}
    try:
        folded = tuple(self._compiler.fold_argument_types(types, words)[1])
        self.compile(folded)
        kind = self.overloads[folded].signature.return_type
    except Exception:  # Numba does not know one of the arguments
        return result
    return _cast(result, kind)


def _example_of(x: Any) -> Any:
    """Return an argument as plain values of its dtype and its axes, by which Numba types it."""
    if type(x) is tuple:
        return tuple(map(_example_of, x))
    if not isinstance(x, Tensor):
        return x
    return np.zeros((1,) * len(shape_of(x)), x.dtype) if is_array(x) else x.dtype.type(0)


def _cast(x: Any, kind: Any) -> Any:
    """Return a number as one of a declared type, as compiled code converts it."""
    if type(x) is tuple and hasattr(kind, "types"):
        return tuple(map(_cast, x, kind.types))
    bits = getattr(kind, "bitwidth", None)
    if bits is None or shape_of(x) or type(x) is bool:
        return x
    name = str(kind)  # float64, int64
    if isinstance(x, (Tensor, np.generic)):
        return x if x.dtype == name else x.astype(name)[()]
    if type(x) in (int, float):
        return np.dtype(name).type(x).item()
    return x


def run_elements(self: Any, args: tuple, kwargs: dict, compiled: Callable) -> Any:
    """Return the result of a ufunc of Numba's: its function runs for each element."""
    func, nin = vars(dispatcher_of(self))["py_func"], self.nin
    outs = _outs(self, args[nin:], kwargs)
    values = [fnp.asanyarray(x) for x in args[:nin]]
    shape = np.broadcast_shapes(*map(shape_of, values))
    dtype = compiled(self, *[np.zeros(0, v.dtype) for v in values]).dtype
    if 0 in shape:
        result = fnp.zeros(shape, dtype)
    else:
        found = [func(*[element_of(v, index) for v in values]) for index in np.ndindex(shape)]
        result = stack_elements(found, shape, dtype)
    return _given_out(outs, [result if shape else result[()]])


def run_loops(self: Any, args: tuple, kwargs: dict, compiled: Callable) -> Any:
    """Return the result of a generalized ufunc: its function runs for each place of the loop."""
    builder = self.gufunc_builder
    func, nin = builder.py_func, len(builder.sin)
    if builder.writable_args:
        raise UnsupportedError(
            f"{func.__qualname__}: the function writes to its inputs, which a gufunc of tensors "
            f"cannot; return the new values instead"
        )
    outs = _outs(self, args[nin:], kwargs)
    values = [fnp.asanyarray(x) for x in args[:nin]]
    cores = [_core(shape_of(v), dims) for v, dims in zip(values, builder.sin)]
    loop = np.broadcast_shapes(*[
        shape_of(v)[: len(shape_of(v)) - len(dims)] for v, dims in zip(values, builder.sin)
    ])  # fmt: skip
    shown = [np.zeros((0, *core), v.dtype) for v, core in zip(values, cores)]
    given = [np.zeros((0, *_core(shape_of(x), d)), x.dtype) for x, d in zip(outs, builder.sout)]
    made = compiled(self, *shown, *given)  # of no examples: it has the shapes and the dtypes
    made = given or (made if type(made) is tuple else (made,))
    kinds = builder._sigs[-1].args
    found: list[list] = [[] for _ in made]
    for index in np.ndindex(loop):
        places = [
            fnp.array(element_of_loop(outs[k], index, dims))
            if outs
            else fnp.zeros(m.shape[1:], m.dtype)
            for k, (m, dims) in enumerate(zip(made, builder.sout))
        ]
        places = [p if p.ndim else p.reshape(1) for p in places]
        items = [element_of_loop(v, index, dims) for v, dims in zip(values, builder.sin)]
        func(*[_as_declared(x, kind) for x, kind in zip(items, kinds)], *places)
        for part, place, m in zip(found, places, made):
            part.append(place.reshape(m.shape[1:]))
    results = [
        stack_elements(part, loop, m.dtype) if part else fnp.zeros((*loop, *m.shape[1:]), m.dtype)
        for part, m in zip(found, made)
    ]
    return _given_out(outs, results)


def _core(shape: tuple[int, ...], dims: tuple) -> tuple[int, ...]:
    """Return the sizes of the core dimensions."""
    return shape[len(shape) - len(dims) :]


def element_of_loop(x: Any, index: tuple[int, ...], dims: tuple) -> Any:
    """Return what the function gets of `x`, which may be broadcast, at a place of the loop."""
    shape = shape_of(x)
    shape = shape[: len(shape) - len(dims)]
    own = index[len(index) - len(shape) :]
    return x[tuple([0 if n == 1 else i for i, n in zip(own, shape)])]


def _as_declared(x: Any, kind: Any) -> Any:
    """Return a number as an array of one element where the types say so."""
    return x.reshape(1) if getattr(kind, "ndim", 0) and not shape_of(x) else x


def _outs(self: Any, rest: tuple, kwargs: dict) -> tuple:
    """Return the arrays for the results that are given."""
    others = [name for name in kwargs if name != "out"]
    if others:
        raise UnsupportedError(
            f"{self.__name__}: a ufunc that Numba compiles takes tensors without the option "
            f"{others[0]}; leave it out"
        )
    out = kwargs.get("out")
    outs = rest or (out if type(out) is tuple else (out,))
    return tuple([x for x in outs if x is not None])


def _given_out(outs: tuple, results: list) -> Any:
    for out, result in zip(outs, results):
        out[...] = result
    found = outs or tuple(results)
    return found[0] if len(found) == 1 else found
