"""Modes: context managers that see calls before any hook, for one context.

NOTE [levels are told]
    While no mode is on, none is looked for: the fast paths check the class of their level, and
    the dispatch of plain tensors checks if a list is empty. A mode that is entered puts a
    layer, `ModeLevel`, over the live levels around it, and over each level that is entered while
    it is on. So the fast paths pass calls on to `Level.binary` and the like, which ask the
    modes. See NOTE [the state of a level is its class] in `_levels.states`.

NOTE [what is computed below the levels]
    NumPy does not dispatch calls on plain arrays. While a mode for operations is on, a plain
    array that enters a level is therefore replaced by a `ModeArray`, a view whose class
    inherits from `numpy.ndarray` and has NumPy's two protocol methods. Each array that is
    computed from it is a `ModeArray`, too. They leave a level as plain arrays, and the others
    act as plain arrays once the mode is off.
"""

import functools
from collections.abc import Callable, Generator, Iterable
from contextvars import ContextVar
from operator import getitem
from typing import Any, NamedTuple

import numpy as np

from .._core.blocks import CALLS, Manager, Observer
from .._core.foreign_operators import operate
from .._core.methods import INPLACE, METHODS, OPERATORS
from .._core.numpy_facts import PLAIN, Function, Index, PyTree, Value
from .._core.root import GETITEM, NOBODY, classes_in, endless, opts_out, tree_map
from .._core.table import OPS
from .._core.tensor import CANONICAL, Tensor, canonical
from .._levels.level import Level
from .._levels.lineage import AMBIENT, levels_of
from .._levels.memory import TO_PLAIN
from .._levels.states import Layer, next_layer
from .._levels.views import is_array
from .._mutation.array import make_writable

ndarray = np.ndarray


class State(NamedTuple):
    """The modes of one context, outermost first."""

    functions: tuple["TensorFunctionMode", ...] = ()
    operations: tuple["TensorDispatchMode", ...] = ()
    asked: tuple[
        "TensorFunctionMode", ...
    ] = ()  # those for functions whose handlers are running, innermost first
    in_handler: bool = False  # whether a handler for operations is running
    left: tuple | None = None  # in a handler: those that were left while they were off


STATE: ContextVar[State] = ContextVar("modes", default=State())  # noqa: B039  # it cannot be changed


BY_HAND: list[tuple[int, Callable]] = []
"""Functions that leave the modes which were entered without a ``with`` statement."""


class Mode(Manager[Any]):
    """The base class of the two kinds of modes; a class may be of both."""

    is_mode = True
    __slots__ = ()
    _by_hand = BY_HAND

    def __enter__(self) -> Any:
        super().__enter__()
        return self

    def _inside(self) -> Generator:
        TO_PLAIN[ModeArray] = owned_array
        state = STATE.get()
        if isinstance(self, TensorFunctionMode):
            state = state._replace(functions=(*state.functions, self))
        if isinstance(self, TensorDispatchMode):
            state = state._replace(operations=(*state.operations, self))
        levels, without = levels_of(AMBIENT.get()), functools.partial(_without, self)
        yield from MODES.observing(state, levels, without)


class TensorFunctionMode(Mode):
    """A context manager that sees every call on a tensor before any hook does.

    Subclasses define ``__tensor_function__(self, func, types, args=(), kwargs=None)``. `func`
    is the function of the call: a NumPy function or ufunc, a method, operator or property
    getter of `Tensor` (of any class and any level), or a function with
    `tensor_function_dispatch`. Calls through `functier.numpy` are seen even if no tensor is
    among the arguments. The handler computes the result by ``func(*args, **kwargs)``;
    ``NotImplemented`` passes the call to the next mode or hook.

    The innermost mode is asked first. It is off while its handler runs; ``with self:`` switches it
    on again there. It applies to the context (thread or task) that has entered it. While no mode is
    on, calls cost nothing extra.

    Attributes
    ----------
    nested : bool
        Whether the mode also sees the calls that a level makes on values one level out. The
        default is False.

    Notes
    -----
    NumPy does not dispatch a call on plain arrays alone: make the arrays with
    `functier.numpy`, or use a `TensorDispatchMode` to see the computations. A mode does not
    see tensors of a level that only another context has entered.

    Examples
    --------
    >>> import numpy as np
    >>> import functier as ft
    >>> class Names(TensorFunctionMode):
    ...     def __tensor_function__(self, func, types, args=(), kwargs=None):
    ...         print(func.__name__)
    ...         return func(*args, **(kwargs or {}))
    >>> with Names():
    ...     ft.vmap(lambda x: np.sin(x) + x.sum())(np.zeros((2, 3))).shape
    sin
    sum
    __add__
    (2, 3)
    """

    nested = False
    __slots__ = ()

    def __tensor_function__(
        self, func: Callable, types: Iterable, args: tuple = (), kwargs: Any = None
    ) -> Any:
        """Handle a call; subclasses override it."""
        return NotImplemented


class TensorDispatchMode(Mode):
    """A context manager that sees the computations that remain once the levels have acted.

    Subclasses define ``__tensor_dispatch__(self, func, types, args=(), kwargs=None)``. `func` is
    a canonical operation: a NumPy function, a ufunc or a method of one, or
    `operator.getitem`; composite functions arrive as their parts. Operands are arrays or
    tensors of level 0, with all batch axes. The mode also sees the computations of
    derivatives. The handler computes the result by ``func(*args, **kwargs)``;
    ``NotImplemented`` passes the call to the next mode or hook. Order, switching and cost are
    those of `TensorFunctionMode`.

    Notes
    -----
    While such a mode is on, arrays inside levels are instances of a subclass of `numpy.ndarray`,
    and an array that a transform returns may still be one. The mode does not see computations on
    NumPy scalars and Python numbers.

    Examples
    --------
    >>> import numpy as np
    >>> import functier as ft
    >>> class Names(TensorDispatchMode):
    ...     def __tensor_dispatch__(self, func, types, args=(), kwargs=None):
    ...         print(func.__name__, [np.shape(a) for a in args])
    ...         return func(*args, **(kwargs or {}))
    >>> with Names():
    ...     out = ft.vmap(lambda x, w: x @ w, (0, None))(np.zeros((5, 3)), np.zeros((3, 2)))
    dot [(5, 3), (3, 2)]
    """

    __slots__ = ()

    def __tensor_dispatch__(
        self, func: Callable, types: Iterable, args: tuple = (), kwargs: Any = None
    ) -> Any:
        """Handle a call; subclasses override it."""
        return NotImplemented


def _without(mode: Mode, state: State) -> State:
    """Return `state` without the last entry of `mode`, for modes that do not end in order."""
    functions, operations = [*state.functions], [*state.operations]
    for modes in functions, operations:
        for i in reversed(range(len(modes))):
            if modes[i] is mode:
                del modes[i]
                break
    on = len(functions) < len(state.functions) or len(operations) < len(state.operations)
    if not on and state.left is not None:  # it is off while its handler runs
        return state._replace(left=(*state.left, mode))
    return state._replace(functions=tuple(functions), operations=tuple(operations))


# ---- asking ----

FACTS = frozenset({
    np.shape, np.ndim, np.size, np.result_type, np.can_cast, np.common_type, np.min_scalar_type,
    np.iscomplexobj, np.isrealobj, np.may_share_memory, np.shares_memory,
})  # fmt: skip
"""Functions that return the form of a value, and are not operations for modes."""


def ask(func: Callable, args: tuple, kwargs: dict) -> Any:
    """Return the answer of the modes for functions, or `NOBODY` where none is on."""
    state = STATE.get()
    functions, asked = state.functions, state.asked
    if not functions or func in FACTS:
        return _ask_in_handler(func, args, kwargs) if state.in_handler else NOBODY
    types = classes_in(args, kwargs)
    while functions:
        mode, functions = functions[-1], functions[:-1]
        asked = (*asked, mode)
        inside = state._replace(functions=functions, asked=asked)
        cls = type(mode)
        try:
            answer = _inside(inside, mode.__tensor_function__, func, types, args, kwargs)
        except RecursionError as error:
            raise endless(error, cls, func) from None
        if answer is not NotImplemented:
            return answer
    return _inside(inside, func, *args, **kwargs)


def _inside(state: State, call: Callable, /, *args: Any, **kwargs: Any) -> Any:
    """Return the result of a call for which the modes are those of `state`."""
    before = STATE.get()
    try:
        STATE.set(state._replace(left=()))
        return call(*args, **kwargs)
    finally:
        for mode in getattr(STATE.set(before).old_value, "left", None) or ():
            STATE.set(_without(mode, STATE.get()))


def _ask_in_handler(func: Callable, args: tuple, kwargs: dict) -> Any:
    """In a handler for operations: the hooks for functions have had their turn."""
    types = classes_in(args, kwargs)
    if not types or not issubclass(types[0], Tensor) or types[0].level.depth:
        return NOBODY
    if func in FACTS:
        return Tensor.level.dispatch(types[0], func, args, kwargs)
    func, args, kwargs = canonical(func, args, kwargs)
    return lower(types[0], func, types, args, kwargs)


def lower(
    cls: type[Tensor], func: Function, types: Iterable[type], args: tuple, kwargs: dict
) -> Any:
    """Compute an operation on tensors of level 0, by the modes or else by the lower hook."""
    return ask_operations(
        func, types, args, kwargs, lambda: cls.__tensor_dispatch__(func, types, args, kwargs)
    )


def ask_operations(
    func: Callable, types: Iterable, args: tuple, kwargs: dict, compute: Callable[[], Any]
) -> Any:
    """Return the answer of the modes for operations, or else ``compute()``."""
    state = STATE.get()
    operations = state.operations if func not in FACTS else ()
    while operations:
        mode, operations = operations[-1], operations[:-1]
        inside = state._replace(functions=(), operations=operations, in_handler=True)
        answer = _inside(inside, mode.__tensor_dispatch__, func, types, args, kwargs)
        if answer is not NotImplemented:
            return answer
        state = inside
    return _inside(state, compute)


def _begin(level: Level) -> None:
    """Let a level that begins, and those around it, ask the modes of this context."""
    if STATE.get()._replace(left=None) != State():
        for around in levels_of(level.cls):
            ASKING.lay(around)


def is_looking() -> bool:
    """Return True where a mode for operations is on in this context, or its handler runs."""
    state = STATE.get()
    return bool(state.operations) or state.in_handler


# ---- levels that ask ----


class ModeLevel(Level):
    """The behaviour of levels while a mode is on: they ask the mode first."""

    forwards_methods = True

    def unary(self, func: Function, x: Value) -> Value:
        spelled = OPERATORS[func][0] if func in OPERATORS else func
        answer = ask(spelled, (x,), {})
        return next_layer(ModeLevel, self).unary(func, x) if answer is NOBODY else answer

    def binary(self, func: Function, a: Value, b: Value) -> Value:
        if func not in OPERATORS:
            answer = ask(func, (a, b), {})
        elif opts_out(a) or opts_out(b):
            return operate(func, a, b)
        elif isinstance(a, Tensor):
            answer = ask(OPERATORS[func][0], (a, b), {})
        else:
            answer = ask(OPERATORS[func][1], (b, a), {})
        return next_layer(ModeLevel, self).binary(func, a, b) if answer is NOBODY else answer

    def getitem(self, x: Tensor, index: Index) -> Value:
        answer = ask(GETITEM, (x, index), {})
        return next_layer(ModeLevel, self).getitem(x, index) if answer is NOBODY else answer

    def method(self, func: Function, args: tuple, kwargs: dict) -> Any:
        answer = ask(func, args, kwargs)
        return (
            next_layer(ModeLevel, self).method(func, args, kwargs) if answer is NOBODY else answer
        )

    def property(self, name: str, x: Tensor) -> Any:
        answer = ask(getattr(Tensor, name).__get__, (x,), {})
        return next_layer(ModeLevel, self).property(name, x) if answer is NOBODY else answer

    def setitem(self, x: Tensor, index: Index, value: Value) -> None:
        if ask(Tensor.__setitem__, (x, index, value), {}) is NOBODY:
            next_layer(ModeLevel, self).setitem(x, index, value)

    def augment(self, func: Function, x: Tensor, value: Value) -> Any:
        answer = ask(INPLACE[func], (x, value), {}) if is_array(x) else NOBODY
        below = next_layer(ModeLevel, self)
        return below.augment(func, x, value) if answer is NOBODY else answer

    def function(self, func: Callable, args: tuple, kwargs: dict) -> Any:
        answer = ask(func, args, kwargs)
        if answer is not NOBODY:
            return answer
        state = STATE.get()
        again = tuple(dict.fromkeys(m for m in reversed(state.asked) if m.nested))
        state = state._replace(functions=again, asked=())
        if self.records:  # it computes only forms, and modes should not see these numbers
            state = state._replace(operations=())
        return _inside(state, next_layer(ModeLevel, self).function, func, args, kwargs)

    # ---- what enters and leaves; see NOTE [what is computed below the levels] ----

    def insert(self, leaves: Any, dims: Any, args: Any) -> list:
        return ModeLevel._wrap_arrays(self, next_layer(ModeLevel, self).insert(leaves, dims, args))

    def track(self, *leaves: Any) -> list:
        return ModeLevel._wrap_arrays(self, next_layer(ModeLevel, self).track(*leaves))

    def _wrap_arrays(self, inner: list) -> list:
        """Replace arrays inside tensors by `ModeArray`s while a mode for operations is on."""
        if is_looking():
            for x in inner:
                if type(x) is self.cls:
                    x._value = as_mode_array(x._value)
                    if type(getattr(x, "_extra", None)) is ndarray:  # a tangent
                        x._extra = as_mode_array(x._extra)
        return inner

    def unwrap(self, x: Value, *args: Any, **kwargs: Any) -> Any:
        return as_plain(next_layer(ModeLevel, self).unwrap(x, *args, **kwargs))

    def scalar(self, *args: Any) -> Any:
        value, node = next_layer(ModeLevel, self).scalar(*args)
        return as_plain(value), node


ASKING = Layer("Moded", 1, lambda kind: ModeLevel)
MODES = Observer(STATE, ASKING.lift, level=_begin, call=ask, operation=lower)


# ---- arrays that ask ----


class ModeArray(ndarray):
    """An array below the levels; see NOTE [what is computed below the levels]."""

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **kwargs: Any) -> Any:
        outs = kwargs.get("out") or ()
        if any(not _is_ours(x) for x in (*inputs, *outs)):
            return NotImplemented
        return compute_below(
            ufunc if method == "__call__" else getattr(ufunc, method), inputs, kwargs
        )

    def __array_function__(self, func: Callable, types: Any, args: Any, kwargs: Any) -> Any:
        if not all(issubclass(t, ndarray) for t in types):
            return NotImplemented
        return compute_below(func, args, kwargs)

    def __getitem__(self, index: Index) -> Value:
        return compute_below(getitem, (self, index), {})


def _is_ours(x: Value) -> bool:
    """Return True where an operand leaves the call to `ModeArray`."""
    return type(x) in PLAIN or isinstance(x, ndarray) or not hasattr(x, "__array_ufunc__")


def _method(meaning: Callable) -> Callable:
    def call(self: ModeArray, *args: Any, **kwargs: Any) -> Any:
        return compute_below(*meaning(self, *args, **kwargs))

    return call


for _name in METHODS:
    if not _name.startswith("__"):
        setattr(ModeArray, _name, _method(CANONICAL[getattr(Tensor, _name)]))


def as_mode_array(x: Value) -> Value:
    """Return a plain array as a `ModeArray` while a mode for operations is on."""
    return x.view(ModeArray) if type(x) is ndarray and is_looking() else x


def as_plain(result: PyTree) -> PyTree:
    """Return `result` with plain arrays for each `ModeArray`."""
    return tree_map(lambda x: plain_view(x) if type(x) is ModeArray else x, result)


def plain_view(x: ModeArray) -> ndarray:
    """Return the array that `x` is a view of if it shows all of it, else a plain view."""
    base: Any = x.base
    whole = type(base) is ndarray and base.dtype is x.dtype and base.shape == x.shape
    if whole and base.__array_interface__ == x.__array_interface__:
        return base
    return x.view(ndarray)


def owned_array(x: ModeArray) -> ndarray:
    """Return the array that `x` is a view of, or a copy that owns its memory."""
    array = plain_view(x)
    return array if array is x.base else np.array(x)


def compute_below(func: Callable, args: tuple, kwargs: dict) -> Any:
    """Compute an operation on `ModeArray` arrays."""
    if not is_looking():
        return func(*as_plain(args), **as_plain(kwargs))
    op = OPS.get(func)
    if op is not None and op.body is not None and op.body is not func:
        return op.body(*args, **kwargs)
    out = ask_operations(func, (), args, kwargs, lambda: func(*as_plain(args), **as_plain(kwargs)))
    return tree_map(as_mode_array, out)


def ask_through(func: Callable, make: Callable, finish: Callable, args: tuple, kwargs: dict) -> Any:
    """Ask the modes for a call of `func` through `functier.numpy`; `make` makes it if none answers.

    ``finish(answer, given)`` is what an answer becomes inside a level.
    """
    answer = CALLS[0](func, args, kwargs)
    if answer is not NOBODY:
        return answer if AMBIENT.get() is Tensor else finish(answer, (args, kwargs))
    if not is_looking() or classes_in(args, kwargs):
        return make(*args, **kwargs)
    if isinstance(func, np.ufunc) or hasattr(func, "_implementation"):
        given, options = tree_map(as_mode_array, (args, kwargs))
        if any(type(x) is ModeArray for x in _leaves((given, options))):
            return make(*given, **options)
    made = ask_operations(func, (), args, kwargs, lambda: make(*args, **kwargs))
    return tree_map(as_mode_array, made if make is func else make_writable(made))


def _leaves(tree: PyTree) -> list:
    found: list = []
    tree_map(found.append, tree)
    return found
