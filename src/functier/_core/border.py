"""The border of a transform: values that are one array of numbers may cross it.

NOTE [what is refused]
    A transform cuts axes off, puts them on, and computes with ufuncs. A class whose operators
    mean something else (`numpy.matrix`), that holds more than its values (a mask, labels) or
    whose elements are values by themselves (records, tensors in an object array) would come
    out as other numbers, silently. So it is refused where it comes in or goes out, or
    meets a tensor, and the message says what to write. Other subclasses of `numpy.ndarray`
    (`numpy.memmap`), and arrays of other libraries that speak both of NumPy's protocols, are
    arrays like any other.

NOTE [what is converted]
    What NumPy converts without losing anything is converted beside a tensor, too: lists and
    other sequences, buffers (`memoryview`, `array.array`), and what has ``__array__`` or
    ``__array_interface__``.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .errors import ConversionError, LevelError, MutationError
from .flat import Flat
from .numpy_facts import PLAIN, SCALARS, Value, dtype_of
from .subclasses import OVER_TENSORS
from .tensor import Tensor

ndarray = np.ndarray
OBJECT = np.dtype(object)

CLASSES = {
    "MaskedArray": (
        "whose mask no transform knows about; pass x.filled(value), or x.data and x.mask as two "
        "arguments, and write numpy.where(mask, 0, data) in the function"
    ),
    "matrix": (
        "whose * is the product of whole matrices; pass numpy.asarray(x), and write @ for the "
        "product"
    ),
    "chararray": "whose operators strip spaces; pass numpy.asarray(x)",
}
"""NumPy's classes that are not plain arrays, each with the reason and the remedy."""

INTERFACES = "__array__", "__array_interface__", "__array_struct__"

OPERATORS = (
    "add", "radd", "sub", "rsub", "mul", "rmul", "truediv", "rtruediv", "pow", "rpow", "matmul",
    "rmatmul",
)  # fmt: skip


def label_error(text: str) -> TypeError:
    """Return the error for an operand with labels, which a function of NumPy may drop."""
    error = TypeError(text)
    error.labelled = True  # type: ignore[attr-defined]
    return error


def without_labels(func: Callable, args: tuple, kwargs: dict) -> tuple[tuple, dict] | None:
    """Return the arguments of a function of NumPy as it takes them: labelled arrays as arrays.

    None stands for what keeps labels, which are methods of the first argument, and for labelled
    arrays that are not of numbers.
    """
    if args and is_labelled(args[0]) and getattr(func, "__name__", "") in LABELLED_METHODS:
        return None
    try:
        return tuple(map(_without_labels, args)), {k: _without_labels(v) for k, v in kwargs.items()}
    except TypeError as error:
        if not hasattr(error, "labelled"):
            raise
        return None


def is_labelled(x: Any) -> bool:
    """Tell whether `x` is an array of another library with labels, which NumPy's functions drop."""
    if type(x) in PLAIN or isinstance(x, (Tensor, ndarray)) or not hasattr(x, "__array__"):
        return False
    return code_for_array(x) is not None


def _without_labels(x: Any) -> Any:
    if type(x) in (list, tuple):
        return type(x)(map(_without_labels, x))
    if not is_labelled(x):
        return x
    made = np.asarray(x)
    if made.dtype.kind not in "biufc":
        raise label_error("labels of other things than numbers")
    return made


LABELLED_METHODS = {
    "all",
    "any",
    "argmax",
    "argmin",
    "argsort",
    "clip",
    "compress",
    "copy",
    "cumprod",
    "cumsum",
    "diff",
    "dot",
    "max",
    "mean",
    "min",
    "nonzero",
    "prod",
    "ptp",
    "ravel",
    "repeat",
    "round",
    "searchsorted",
    "sort",
    "squeeze",
    "std",
    "sum",
    "swapaxes",
    "take",
    "transpose",
    "var",
}
"""Functions of NumPy that may call the method of their first argument, which keeps its labels."""


def has_tensors(x: Value, arrays: bool = False) -> bool:
    """Return whether an object array holds a tensor of a level; with `arrays`, also if an array."""
    waiting, seen = [x], set()
    while waiting:
        value = waiting.pop()
        if isinstance(value, Tensor):
            if value.level.depth:
                return True
            continue
        if isinstance(value, ndarray):
            if arrays and value is not x and value.ndim:
                return True
            parts: Any = value.flat if value.dtype.hasobject and not value.dtype.names else ()
        elif isinstance(value, dict):
            parts = value.values()
        else:
            parts = value if isinstance(value, (list, tuple)) else ()
        if parts and id(value) not in seen:
            seen.add(id(value))
            waiting.extend(parts)
    return False


def unfit(x: Any) -> tuple[Callable[[str], Exception], str] | None:
    """Return why `x` is not one array of values, as an error class and its text, or None.

    See NOTE [what is refused].
    """
    kind = type(x)
    if kind in SCALARS or isinstance(x, Tensor):
        return None
    if kind in OVER_TENSORS and not issubclass(kind, ndarray):
        return TypeError, (
            f"is a {name_of_class(x.__class__)} of a tensor, whose class a transform would not "
            f"keep; pass numpy.asarray(x), and make the {x.__class__.__name__} inside"
        )
    if isinstance(x, ndarray):
        reason = None if kind is ndarray else _of_class(kind)
        if reason is not None:
            return TypeError, f"is a {name_of_class(kind)}, {reason}"
        dtype = x.dtype
        if dtype.names is not None:
            return TypeError, (
                "is a structured array, whose fields are separate values; pass them as a "
                "dict of arrays, {name: x[name] for name in x.dtype.names}"
            )
        if dtype.hasobject:
            if has_tensors(x, arrays=True):
                return ConversionError, describe_objects(x)
            return _of_elements(x)
        return None
    instead = code_for_array(x)
    if instead:
        reason, write = instead
        error = label_error if hasattr(x, "__array__") else TypeError
        return error, f"is a {name_of_class(kind)}, {reason}; write {write} where it comes from"
    if hasattr(kind, "__array_ufunc__"):
        for name in ("__array_ufunc__", "__array_function__"):
            if getattr(kind, name, None) is None:
                return TypeError, (
                    f"is a {name_of_class(kind)}, which speaks one of NumPy's two protocols only "
                    f"(it has no {name}), so that its labels or units would come out wrong; write "
                    f"numpy.asarray(x) where it comes from"
                )
    return None


def _of_elements(x: ndarray) -> tuple[type[Exception], str] | None:
    """Return why an object array of arrays does not count as one of numbers."""
    for kind, element in {type(v): v for v in x.flat}.items():
        found = None if kind in SCALARS else code_for_array(element)
        if found is not None:
            return TypeError, (
                f"holds a {name_of_class(kind)}, {found[0]}; write {found[1]} where it comes from"
            )
    return None


def code_for_array(x: Any) -> tuple[str, str] | None:
    """Return why an object of another library is refused, and the code that makes an array of it.

    None stands for objects that NumPy converts, and for those that no code is known for.
    """
    kind = type(x)
    for base in kind.__mro__:
        library = base.__module__.partition(".")[0]
        if library == "pandas" and hasattr(kind, "to_numpy"):
            return "whose labels and missing values no transform knows about", _of_pandas(x)
        if library == "xarray" and hasattr(kind, "dims"):
            dataset = hasattr(kind, "to_dataarray") and not hasattr(kind, "data")
            return (
                "whose axis names and labels no transform knows about",
                "x.to_dataarray().data" if dataset else "x.data",
            )
        if library in ("scipy", "functier") and hasattr(kind, "toarray"):
            return "which stores only some elements", "x.toarray()"
    if hasattr(kind, "__dlpack__") and not is_convertible(x):
        return "which NumPy does not convert by itself", "numpy.from_dlpack(x)"
    return None


def label_of(x: Any) -> str:
    """Name the class of an object of `code_for_array`, and what else has to be rewritten."""
    product = any(base.__name__ == "spmatrix" for base in type(x).__mro__)
    return f"a {name_of_class(type(x))}" + (", and @ for its *" if product else "")


def _of_pandas(x: Any) -> str:
    """Return the code for the array of numbers in an object of pandas."""
    try:
        data = x.to_numpy()
    except ConversionError:
        return "a.to_numpy() for the labelled array `a` that it is computed from,"
    if data.dtype.kind in "biufc":
        return "x.to_numpy()"
    if data.dtype.kind in "mM":
        return "x.to_numpy().astype(float)"
    if has_tensors(data, arrays=True):
        whole = "numpy.stack(list(x))"
        return whole if data.ndim == 1 else "numpy.stack(list(x.to_numpy().flat)).reshape(x.shape)"
    try:
        x.to_numpy(float)
    except (TypeError, ValueError):
        return 'x.select_dtypes("number").to_numpy()' if data.ndim == 2 else "its numbers"
    return "x.to_numpy(float)"


def is_convertible(x: Any) -> bool:
    """Return whether NumPy makes an array of `x`, another object; see NOTE [what is converted]."""
    return isinstance(x, Sequence) or any([hasattr(x, name) for name in INTERFACES])


def describe_objects(x: ndarray) -> str:
    """Describe an object array that holds tensors, and say what to write instead."""
    if x.ndim == 1:
        write = "numpy.stack(list(a)), which is one array"
    elif x.ndim:
        write = "numpy.stack(list(a.flat)).reshape(a.shape), which is one array"
    else:
        write = "a[()] for the tensor in it, and numpy.stack([t, u]) for one array of several"
    return (
        "is an object array of tensors or arrays, which are separate values, so their derivative "
        f"and batch would be lost; for such an array a write {write}"
    )


def _of_class(kind: type) -> str | None:
    """Return why a subclass of `numpy.ndarray` is refused, and what to write instead."""
    for base in kind.__mro__:
        if base.__module__.partition(".")[0] == "numpy" and base.__name__ in CLASSES:
            return CLASSES[base.__name__]
    if getattr(kind, "__array_ufunc__", None) is ndarray.__array_ufunc__:
        for name in OPERATORS:
            name = f"__{name}__"
            if getattr(kind, name) is not getattr(ndarray, name):
                return f"whose {name} is another than NumPy's; pass numpy.asarray(x)"
    return None


def name_of_class(kind: type) -> str:
    """``numpy.matrix``, as a message names a class."""
    module = kind.__module__.partition(".")[0]
    inside = ".ma" if kind.__name__ == "MaskedArray" else ""
    return f"{module}{inside}.{kind.__name__}" if module != "builtins" else kind.__name__


def name_of_kind(x: Any) -> str:
    """Return the name of the class of `x`, with its library where that has arrays of its kind."""
    kind = type(x)
    name = name_of_class(kind) if hasattr(kind, "__dlpack__") else kind.__name__
    return "jax.Array" if name == "jaxlib.ArrayImpl" else name


def check_leaf(label: object, where: str | Callable[..., str], x: Value) -> None:
    """Raise where `x`, which stands at `where`, is not one array of values."""
    found = unfit(x)
    if found is not None:
        kind, text = found
        raise refusal(kind, f"{label}: {where if isinstance(where, str) else where()} {text}")


def operand(label: object, x: Value) -> Value:
    """Return `x`, an operand beside a tensor; raise where it is not one array of values."""
    check_leaf(label, "an operand", x)
    return x


def converted(x: Value) -> Value:
    """Return the array that NumPy makes of an operand; see NOTE [what is converted].

    Lists and tuples stay, as tensors may be in them; the elements of a tensor are one.
    """
    if type(x) is Flat:
        return x.base.reshape(-1)
    if type(x) in PLAIN or isinstance(x, (Tensor, ndarray, list, tuple, str, np.generic)):
        return x
    return np.asarray(x) if not hasattr(x, "__array_ufunc__") and is_convertible(x) else x


def one_value(label: object, x: Value) -> Value:
    """Return `x`, the argument of ``unwrap``; raise where it is not one value."""
    if not isinstance(x, Tensor):
        check_leaf(label, "x", x)
        if not _is_number(x):
            raise TypeError(
                f"{label}: unwrap(x) got a {type(x).__name__}, but takes one tensor, array or "
                f"number; write [unwrap(v) for v in x] for several"
            )
    return x


def _is_number(x: Any) -> bool:
    """Return whether `x` is a number or an array of numbers."""
    if type(x) in SCALARS:
        return np.result_type(type(x)).kind in "biufc"
    return hasattr(x, "__array_ufunc__") and getattr(x, "dtype", OBJECT).kind in "biufc"


def one_array(label: object, data: Any) -> ndarray:
    """Return the array that NumPy makes of `data`, a list of numbers, for a tensor of a level."""
    made = np.asarray(data)
    if made.dtype == OBJECT:
        raise TypeError(
            f"{label}: a tensor of the level is made of one array, and not of a "
            f"{type(data).__name__}; pass the arrays in it one by one"
        )
    return made


def check_objects(label: object, where: str | Callable[..., str], x: Any) -> None:
    """Raise where `x`, any object, is an object array that holds tensors."""
    if isinstance(x, ndarray) and x.dtype.hasobject and not x.dtype.names and has_tensors(x):
        where = where if isinstance(where, str) else where()
        raise refusal(ConversionError, f"{label}: {where} {describe_objects(x)}")


def refusal(kind: Callable[..., Exception], text: str) -> Exception:
    """Return an error whose text already names a transform."""
    return ConversionError(text, named=True) if kind is ConversionError else kind(text)


def without_derivative(x: Value) -> ConversionError:
    """The error for a result of dtype object beside a tensor that is differentiated."""
    if isinstance(x, ndarray) and has_tensors(x):
        return ConversionError(f"the result of an operation {describe_objects(x)}")
    if isinstance(x, Tensor):
        return ConversionError(
            "an operand is an object array of tensors, which are separate values, so their "
            "derivative and batch would be lost; write numpy.stack(list(a)) for such an array a"
        )
    return ConversionError(
        f"the result of an operation has dtype {dtype_of(x)}, which has no derivative; make arrays "
        f"of numbers of the operands, with a.astype(float)"
    )


def unexpected(label: object, form: str, more: tuple, options: dict) -> TypeError:
    """The error for arguments that a level's class does not take."""
    given = [*map(_show, more), *[f"{name}={_show(value)}" for name, value in options.items()]]
    return TypeError(
        f"{label}: {form[0]} was called with {', '.join(given)}, which it does not take; write "
        f"{form}, where {form[0]} is the class that the with statement gives"
    )


def _show(x: Any) -> str:
    """Return an argument as a message shows it; of a large one only the class."""
    text = repr(x) if type(x) in SCALARS or isinstance(x, str) else ""
    return text if 0 < len(text) < 40 else f"a {type(x).__name__}"


def check_reach(home: Any, value: Any, x: Any) -> None:
    """Raise where the level of `value` is not one that the array `x`, made in `home`, is in."""
    cls = type(value)
    if issubclass(home, cls) and cls.level.live:
        return
    if not cls.level.live:
        raise cls.level.refusal(
            LevelError,
            "a tensor whose level has ended cannot be written to an array; write "
            "what the transform has returned",
        )
    around = f"{home.level}" if home.level.depth else "the function outside of all levels"
    raise MutationError(
        f"a value of {cls.level} cannot be written to an array that was made outside of it, in "
        f"{around}; make the array inside, b = functier.numpy.array(a), or return the value",
        named=True,
    )
