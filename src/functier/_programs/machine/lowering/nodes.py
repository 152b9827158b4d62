"""Nodes of a program as steps of a part. Each function of NumPy has a rule.

A rule takes the `Lowering` and a node, and returns its value. It raises `Unknown` where NumPy has
to compute the node.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from ...._core.numpy_facts import UFUNC_OF
from ...._core.numpy_private import CLIP
from ...graph import Form, Node
from ...loops import Loop, Series
from ...passes import uniform
from ...stores import memory_of
from ..compiler.targets import Absent
from ..elementary import knows, rule_of
from .steps import APART, Buffer, Growing, Literal, Part, Place, Ref, Step, Unknown, strides_out

ndarray = np.ndarray
RULES: dict[Any, Callable] = {}

FLOAT, BOOL, INT = np.dtype(float), np.dtype(bool), np.dtype(np.int64)
KINDS = {float: FLOAT, bool: BOOL}
"""Python's numbers that values of a program may be."""

DTYPES = frozenset(np.dtype(char) for char in "?bhilqBHILQfd")


def rule(*funcs: Any) -> Callable:
    """Register the rule of some functions."""

    def register(write: Callable) -> Callable:
        for func in funcs:
            RULES[func] = write
        return write

    return register


def dtype_of(form: Any) -> np.dtype:
    """Return the dtype of a value of the program; `Unknown` if the machine has none for it."""
    if type(form) is not Form:
        raise Unknown("it has several results")
    kind = form.kind
    if kind is ndarray or issubclass(kind, np.generic):
        dtype = form.dtype
        if dtype not in DTYPES or not dtype.isnative:
            raise Unknown(f"it has the dtype {dtype}")
        return dtype
    if kind not in KINDS:
        raise Unknown(f"its result is of {kind.__name__}")
    return KINDS[kind]


def array_of(form: Any) -> Form:
    """Return the form of a value, and of the array that a list is in a part."""
    if type(form) is not Series:
        dtype_of(form)
        return form
    one = array_of(form.form)
    dtype = dtype_of(one)
    size = dtype.itemsize * int(np.prod(one.shape, dtype=int))
    return Form((form.count, *one.shape), dtype, (size, *strides_out(one)), ndarray)


def is_array(x: Any) -> bool:
    return type(x) is Node and type(x.form) is Form and x.form.kind is ndarray


def is_whole(x: Any) -> bool:
    """Tell whether an argument is an integer of Python's, which has as many digits as it needs.

    That is a node, or one that grows with the steps of a loop.
    """
    if type(x) is Growing:
        return True
    return type(x) is Node and type(x.form) is Form and x.form.kind is int


class Lowering(Part):
    """The steps of one part, from the nodes of a graph.

    Attributes
    ----------
    shared : dict
        What rules keep for later nodes of the part, such as factors of a matrix.
    counts : tuple of int
        The steps of the loops around, the outermost first.
    """

    counts: tuple[int, ...] = ()

    def __init__(self) -> None:
        super().__init__()
        self.shared: dict[Any, Any] = {}

    def lower(self, node: Node) -> None:
        """Add the steps of a node. Nothing is added where it is unknown."""
        mark = len(self.steps), len(self.inputs), len(self.constants), len(self.shared)
        try:
            if node.errors and node.may_raise:
                raise Unknown("np.errstate is to raise there")
            found = self.rule_for(node)(self, node)
            if type(found) is not tuple and type(node.form) is Form:
                self.check(found, node.form)
            self.values[node] = found
        except (Unknown, Absent) as error:
            del self.steps[mark[0] :]
            for x in self.inputs[mark[1] :]:
                del self.values[x]
            del self.inputs[mark[1] :]
            if len(self.constants) > mark[2]:
                del self.constants[mark[2] :]
                self.known = {k: v for k, v in self.known.items() if v.place.buffer.index < mark[2]}
            for key in [*self.shared][mark[3] :]:
                del self.shared[key]
            if type(error) is Absent:
                raise Unknown(str(error)) from None
            raise

    def stays(self, node: Node) -> bool:
        """Return whether no write follows a read of a memory."""
        return False

    def rule_for(self, node: Node) -> Callable:
        func: Any = node.func
        try:
            found = RULES.get(Loop if type(func) is Loop else func)
        except TypeError:
            found = None
        if found is not None:
            return found
        if isinstance(func, np.ufunc):
            return elementwise
        owner = getattr(func, "__self__", None)
        if isinstance(owner, np.ufunc) and (owner, func.__name__) in RULES:
            return RULES[owner, func.__name__]
        raise Unknown("the machine does not know the function")

    def check(self, value: Any, form: Form) -> None:
        """Make sure that a value has the form of the trace."""
        dtype = dtype_of(form)
        assert value.dtype == dtype, f"{value.dtype} is not {dtype}"
        assert type(value) is Literal or value.shape == form.shape, (value.shape, form.shape)

    # ---- arguments ----

    def value(self, x: Any) -> Any:
        """Return the value of an argument: a `Ref`, or a `Literal` for a number."""
        if type(x) is Node:
            if is_whole(x):
                raise Unknown("it takes a Python integer")
            found = self.values.get(x)
            if found is None:
                if x.func is memory_of:
                    raise Unknown("it takes a memory")
                found = self.values[x] = self.input(x)
            if type(found) is tuple:
                raise Unknown("it takes a result that has parts")
            return found
        if type(x) is ndarray:
            if x.dtype not in DTYPES or not x.dtype.isnative:
                raise Unknown(f"a constant has the dtype {x.dtype}")
            number = uniform(x)
            if number is None and x.ndim == 0 and x.dtype.kind == "b":
                number = x[()]
            return Literal(number.item(), x.dtype) if number is not None else self.constant(x)
        if isinstance(x, np.generic):
            if x.dtype not in DTYPES:
                raise Unknown(f"a constant has the dtype {x.dtype}")
            return Literal(x.item(), x.dtype)
        if type(x) is float or type(x) is bool:
            return Literal(x, KINDS[type(x)])
        if type(x) is int and -(2**63) <= x < 2**63:
            return Literal(x, INT)
        raise Unknown(f"it takes {type(x).__name__}")

    def operand(self, x: Any, want: np.dtype) -> Any:
        """Return the value of an operand of a ufunc, which may be an integer of Python's."""
        if not is_whole(x):
            return self.value(x)
        if want.kind != "f" and want != INT:
            raise Unknown("it takes an integer, which may not fit")
        if type(x) is Growing:
            return self.counter(x, want)
        if x not in self.values:
            self.values[x] = Ref((), INT, Place(Buffer(0, "input", len(self.inputs)), 0, ()), ())
            self.inputs.append(x)
        if want.kind == "f" and want != FLOAT:  # NumPy rounds twice
            return self.element("cast", [self.values[x]], (), FLOAT, (INT,))
        return self.values[x]

    def counter(self, x: Growing, want: np.dtype) -> Ref:
        """Return a number that grows with steps, in memory: see `loops`."""
        raise NotImplementedError

    def index(self, level: int) -> Ref:
        """Return the counter of a loop around, in memory."""
        raise NotImplementedError

    def input(self, node: Node) -> Ref:
        """Return the value of a node that something else computes."""
        form = array_of(node.form)
        dtype = dtype_of(form)
        where = form.strides if form.strides is not None else ()
        place = Place(Buffer(0, "input", len(self.inputs)), 0, where)
        self.inputs.append(node)
        return Ref(form.shape, dtype, place, ())

    def routine(self, kernel: Any, inputs: list[Ref], places: list[Place]) -> Step:
        """Add the call of a routine, which gets places of inputs and of outputs."""
        place = places[0] if places else inputs[0].place
        return self.add(Step("call", kernel, inputs, (), BOOL, place, info=places))

    def ref(self, x: Any) -> Ref:
        """Return the value of an argument as an array in memory."""
        found = self.value(x)
        if type(found) is Literal:
            shape = x.form.shape if type(x) is Node else np.shape(x)
            return self.copied(found, shape)
        return found


# ---- functions of elements ----


def elementwise(low: Lowering, node: Node) -> Any:
    """The rule of ufuncs."""
    func: Any = node.func
    if node.kwargs or func.signature or func.nout != 1 or len(node.args) != func.nin:
        raise Unknown("the ufunc has options, or several results")
    return apply(low, func, node.args, node.form)


def weak(x: Any) -> Any:
    """Return the dtype of an argument, or the type of a Python number, as NumPy promotes."""
    if type(x) is Node:
        return x.form.dtype if x.form.dtype is not None else KINDS.get(x.form.kind, x.form.kind)
    if type(x) is bool:
        return BOOL
    if type(x) is Growing:
        return int
    return type(x) if type(x) in (int, float, complex) else x.dtype


RESOLVED: dict[Any, Any] = {}


def resolved(func: np.ufunc, given: tuple) -> tuple:
    """Return the dtypes of the loop of a ufunc."""
    key = func, given
    if key not in RESOLVED:
        try:
            RESOLVED[key] = func.resolve_dtypes((*given, None))
        except TypeError as error:
            raise Unknown(f"the ufunc has no loop: {error}") from None
    return RESOLVED[key]


def apply(low: Lowering, func: np.ufunc, args: tuple, form: Form, checked: bool = False) -> Any:
    """Add a ufunc of elements."""
    dtype = dtype_of(form)
    given = tuple([weak(x) for x in args])
    python = all([type(x) is not Node or x.form.dtype is None for x in args]) and form.dtype is None
    if python:
        given = tuple([np.dtype(t) if type(t) is type else t for t in given])
    *wants, result = resolved(func, given)
    if rule_of(func) is None or not knows(func, tuple(wants)):
        raise Unknown("the machine does not know the ufunc for these dtypes")
    if result != dtype:
        raise Unknown(f"the ufunc gives {result}")
    for i, (x, want) in enumerate(zip(args, wants)):
        if type(x) is int and not fits(x, want):
            if func not in COMPARISONS or want.kind == "f":
                raise Unknown("it takes an integer that the dtype does not hold")
            ends = [want.type(0), x] if i else [x, want.type(0)]
            return Literal(bool(func(*ends)), dtype)  # whatever the other operand is
    values = [low.operand(x, want) for x, want in zip(args, wants)]
    found = low.element(func, values, form.shape, dtype, tuple(wants), form.strides)
    found.steps[0].checked = checked
    return found


COMPARISONS = frozenset({
    np.less, np.less_equal, np.greater, np.greater_equal, np.equal, np.not_equal,
})  # fmt: skip


def fits(x: int, dtype: np.dtype) -> bool:
    """Return whether an array of a dtype holds an integer, without two roundings of it."""
    if dtype.kind == "f":
        return dtype == FLOAT or int(float(x)) == x
    ends = (0, 1) if dtype.kind == "b" else (np.iinfo(dtype).min, np.iinfo(dtype).max)
    return ends[0] <= x <= ends[1]


def of_operator(func: Any) -> Callable:
    """Return the rule of an operator of Python."""

    def write(low: Lowering, node: Node) -> Any:
        args = node.args
        python = all(
            [type(x) in NUMBERS or (type(x) is Node and x.form.dtype is None) for x in args]
        )
        own = func
        if python and func not in SAFE:
            raise Unknown("the operator of Python's numbers may raise")
        if python and any(map(is_whole, args)) and not is_rounded(func, args):
            raise Unknown("Python computes it exactly")
        if func is np.power and any([type(x) is Growing for x in args]):
            raise Unknown("NumPy computes powers of 2 in a different way")
        if func is np.power and not python:
            own, args = power(args)
        return apply(low, own, args, node.form, python and func in CHECKED)

    return write


def is_rounded(func: Any, args: tuple) -> bool:
    """Return whether an operator makes floats of Python's integers before it computes."""
    kinds = [x.form.kind if type(x) is Node else type(x) for x in args]
    return float in kinds and func in (np.add, np.subtract, np.multiply, np.divide, np.power)


NUMBERS = frozenset({float, bool, int, Growing})


def is_python(x: Any) -> bool:
    """Return whether an operand is a number of Python's."""
    return x.form.dtype is None if type(x) is Node else type(x) in NUMBERS


CHECKED = {np.divide, np.power}
SAFE = {
    np.add, np.subtract, np.multiply, np.negative, np.positive, np.absolute, np.less,
    np.less_equal, np.greater, np.greater_equal, np.equal, np.not_equal, np.divide, np.power,
}  # fmt: skip


def power(args: tuple) -> tuple:
    """Return the ufunc that the operator of an array takes for a power, and its operands."""
    base, exponent = args
    if is_array(base) and type(exponent) in (int, float) and base.form.dtype.kind == "f":
        own = {2: np.square, 0.5: np.sqrt, -1: np.reciprocal, 1: np.positive}.get(exponent)
        if own is not None:
            return own, (base,)
    if is_array(base) and exponent == 2 and type(exponent) is int:
        return np.square, (base,)
    return np.power, args


for _operator, _ufunc in UFUNC_OF.items():
    if _ufunc is not np.matmul:
        RULES[_operator] = of_operator(_ufunc)


@rule(np.where)
def _where(low: Lowering, node: Node) -> Any:
    if len(node.args) != 3 or node.kwargs:
        raise Unknown("np.where of one operand gives places")
    dtype = dtype_of(node.form)
    values = [low.value(x) for x in node.args]
    wants = (BOOL, dtype, dtype)
    return low.element(np.where, values, node.form.shape, dtype, wants, node.form.strides)


@rule(np.astype)
def _astype(low: Lowering, node: Node) -> Any:
    if len(node.args) != 2 or not set(node.kwargs) <= {"copy"}:
        raise Unknown("np.astype has options")
    return cast(low, node, node.args[0])


def cast(low: Lowering, node: Node, x: Any) -> Any:
    """Add a cast to the dtype of a node."""
    dtype, value = dtype_of(node.form), low.value(x)
    if value.dtype.kind == "f" and dtype.kind in "iu":
        pass  # numbers out of range are refused
    return low.element("cast", [value], node.form.shape, dtype, (value.dtype,), node.form.strides)


@rule(np.copy)
def _copy(low: Lowering, node: Node) -> Any:
    if not set(node.kwargs) <= {"order"}:
        raise Unknown("np.copy has options")
    value = low.value(node.args[0])
    found = low.copied(value, node.form.shape, node.form.strides)
    if node.kwargs.get("order") == "C":
        found.steps[0].info = APART
    return found


@rule(np.zeros_like, np.ones_like)
def _like(low: Lowering, node: Node) -> Any:
    return Literal(0 if node.func is np.zeros_like else 1, dtype_of(node.form))


@rule(np.clip)
def _clip(low: Lowering, node: Node) -> Any:
    if len(node.args) != 3 or node.kwargs or any([x is None for x in node.args[1:]]):
        raise Unknown("np.clip has options")
    x, least, most = node.args
    if dtype_of(node.form).kind in "iu":  # NumPy leaves out the bounds that bound nothing
        ends = np.iinfo(dtype_of(node.form))
        below = type(least) is int and least <= ends.min
        above = type(most) is int and most >= ends.max
        if below or above:
            func = np.positive if below and above else np.minimum if below else np.maximum
            return apply(low, func, (x, *[least] * (not below), *[most] * (not above)), node.form)
    return apply(low, CLIP, node.args, node.form)
