"""Levels: how their classes are created, and the behaviour that all of them share.

A level is a class. The `Level` in its attribute ``level`` says how a transform computes an
operation. This file knows no transform.

NOTE [is this tensor mine]
    Ask ``type(x) is cls``, nothing else. A tensor of an inner level is an instance of the
    class of every outer level, so ``isinstance`` must never decide it.

NOTE [the module of a class]
    Code asks ``type(x).__module__`` for the library whose functions take `x`: that is NumPy.

NOTE [nothing large on a class]
    Only the cyclic collector frees a class, and it does not count bytes. Values and tapes
    belong to instances; a level object has names, sizes and numbers.
"""

from collections.abc import Iterable
from operator import getitem
from typing import Any, ClassVar, Literal

import numpy as np

from .._core.agreement import settle_masks
from .._core.blocks import LEVELS
from .._core.border import one_value
from .._core.errors import LevelError
from .._core.methods import PROPERTIES, methods_of
from .._core.numpy_facts import PLAIN, UFUNC_OF, Function, Index, Shape, Value, dtype_of
from .._core.op import Call, Op
from .._core.root import classes_in, dispatch_lists
from .._core.subclasses import KEPT, OVER_TENSORS, beside_tensors, inside_index
from .._core.table import OPS, PENDING, find, load, no_rule
from .._core.tensor import CANONICAL, Tensor
from .._cpython.frames import Frame, Place, code_at, generator_of, line_behind, place_at
from .._mutation.array import Array, alias_of, name_out, settle, view_of, write_out
from .._mutation.copies import tie_to
from .._mutation.items import augment, keeps_dtype, reshape_window
from .._mutation.memory import Notes
from .._mutation.selection import Selection, choice_of, has_mask
from . import operands, views, writes
from .conversions import check_shuffle, convert, has_text, index, table_of, text_of
from .likeness import class_of
from .lineage import AMBIENT, enclosing_level, forgotten, levels_of, meeting, name_beside
from .lying import place
from .operands import LISTS, answer_special, by_ufunc, check_static, drop_labels, known, stack_lists
from .raised import REFUSALS, check_answered, name_error, note_levels
from .spares import ALONE, LevelType, facts_hold, is_alone, record_counts
from .views import WRITERS, note_item, point, window
from .writes import arm, call_undispatched

ndarray = np.ndarray
Escape = Literal["dead", "passthrough"]
Direction = Literal["forward", "reverse", "series"]

ENDED: dict[str, type["Level"]] = {}
"""The class of a level object whose level has ended, by escape mode; `_levels.states` fills it."""


class Level:
    """The computation of operations on the tensors of one class, for a transform.

    Subclasses implement `apply` (every bound operation), `fast_calls` (elementwise operations
    on the hot path) and, where possible, `missing` (a function without a record).
    """

    # Facts that each kind states. For a level that has ended all are off; its kind still states
    # them: `level.kind.batches`.
    batches: ClassVar[bool]  # a tensor holds all examples, along the first axes of `_value`
    differentiates: ClassVar[Direction | None]  # `_extra` is the tangent, or the node on the tape
    records: ClassVar[bool]  # calls are noted and made later; `_value` has the form alone
    guards: ClassVar[bool]  # answers that Python code gets are noted, `guard`, and draws, `draw`

    instead = (
        "{way}, or ask for {transform}(..., escape='passthrough') to go on with its value "
        "(x.elem() shows it)"
    )  # of using a tensor once the level has ended
    live = True
    off = False  # `no_dispatch` has switched it off in this context
    notes: Notes | None = None  # of the memory of its tensors, where it has any
    arguments: list[Any] | None = None  # those of the function that runs: see `writes`
    store: ClassVar[Any]  # the class of the stores of this kind: see `stores`
    methods: ClassVar[dict[str, Function] | None] = None
    own_methods: ClassVar[dict[str, Any]] = {}  # that the tensors of a kind have besides
    quiet: Any = None  # of a kind: whether it calls no code of users; then the trace's answer
    generator: tuple[int, int] | None = None
    class_of = class_of
    forwards = False  # a user's class has been met, whose attributes tensors have
    forwards_methods = False  # a method is passed on itself, not the function that it means
    alone = ALONE  # references to a class that nobody holds
    serves = True  # a later level may have the class
    unanswered: Exception | None = None  # the error for an answer, which the function may catch
    in_generator = False  # a generator has entered this level or one around it
    parent: "Level | None" = None  # the level around it with the same tensors
    label: str
    escape: Escape
    outer: type[Tensor]
    made: Place

    def __init__(self, enclosing: type[Tensor], label: str, key: Any = None):
        """Create the class of a level nested in `enclosing`."""
        if None in PENDING:
            load()  # before the fast paths look a rule up
        self.depth = enclosing.level.depth + 1
        self.home: dict[type, Level] = enclosing.level.spare  # where it waits to be used again
        self.spare: dict[type, Level] = {}
        self.arguments = None
        self.label = label
        self.kind = kind = type(self)
        self.key = key
        if kind.methods is None:
            kind.methods = {**methods_of(kind.fast_calls()), **kind.own_methods}
        self.quiet = enclosing.level.quiet if kind.quiet else self.quiet
        methods = kind.methods if self.quiet is None else self.quiet.methods(kind.methods)
        names = {"__slots__": (), "level": self, "__module__": "numpy", **methods}
        self.cls: Any = LevelType(label, (enclosing,), names)
        if key is not None and key is not kind:
            if key[1] == "forwards":
                self.forward_attributes()
            else:
                arm(self)
        self.serves = kind.serves and facts_hold(_Bare)
        record_counts(self)

    @classmethod
    def prepare(
        kind, label: str, escape: Escape, frame: Frame, leaves: Iterable = (),
        lexical: bool = False,
    ) -> Any:  # fmt: skip
        """Make a level inside the enclosing one, with a class that nobody refers to.

        It is not ambient yet: see `_levels.runs`.
        """
        outer = enclosing = AMBIENT.get()
        parent = outer.level
        key: Any = (kind, "writes") if WRITERS and (id(code_at(frame)), label) in WRITERS else kind
        if parent.in_generator or not parent.live:
            enclosing = enclosing_level(outer, frame)
            parent = enclosing.level
        for leaf in leaves:
            cls = type(leaf)
            if cls is ndarray or cls is enclosing:
                continue
            if cls is Array:
                leaf = settle(leaf)
                cls = type(leaf)
            if cls in PLAIN or not issubclass(cls, Tensor):
                continue
            while not cls.level.live:
                leaf = cls.level.release(leaf, parent)
                cls = type(leaf) if isinstance(leaf, Tensor) else Tensor
            if cls.level.depth > parent.depth and issubclass(cls, enclosing):
                enclosing, parent = cls, cls.level
            elif not cls.level.depth and cls is not Tensor:
                key = kind, "forwards"
        level = parent.spare.pop(key, None)
        if level is None or not level.serves or not is_alone(level):
            level = kind(enclosing, label, key)
        else:
            level.__class__ = kind
            if level.notes is not None:
                level.notes = None if level.notes.taken is None else Notes({})
            if level.in_generator:
                level.in_generator = False
            if level.label != label:
                level.label = label
                type.__setattr__(level.cls, "__name__", label)
                type.__setattr__(level.cls, "__qualname__", label)
        level.escape, level.outer = escape, outer
        level.made = place_at(frame)  # the line is worked out when it is asked for
        if lexical:
            level.generator = generator_of(frame)
            level.in_generator = level.generator is not None or outer.level.in_generator
        elif outer.level.in_generator:
            level.in_generator = True
        if LEVELS:
            for show in LEVELS[:]:
                show(level)
        level.nest_in(parent)
        return level

    @classmethod
    def fast_calls(kind) -> dict[Function, Function]:
        """Return functions of the operands for the commonest ufuncs and operators.

        `__array_ufunc__` and the operators of the level's class call them instead of `unary`,
        `binary` and `getitem`, to which they pass on the cases that they do not know.
        """
        return {}

    def nest_in(self, outer: "Level") -> None:
        """Prepare a new level inside the level `outer`."""

    def end(self) -> None:
        """End the level: from here on its class is dead or passes through.

        The level object changes its class, which invalidates no type cache. That comes first, as
        nothing can interrupt it.
        """
        self.__class__ = ENDED[self.escape]  # type: ignore[assignment]
        inner = AMBIENT.set(self.outer).old_value
        if inner is not self.cls or not self.outer.level.live:
            self.restore_ambient(inner)

    def restore_ambient(self, inner: type[Tensor]) -> None:
        """Set the ambient level where levels do not end in order, as those of generators.

        `inner` was ambient when this level ended.
        """
        outer = inner
        if inner is self.cls:
            outer = self.outer
            while not outer.level.live:
                outer = outer.level.outer
        AMBIENT.set(outer)

    # ---- operations ----

    def answers_operators(self, x: Tensor) -> bool:
        """Return whether an operator of another library's matrix is the tensor's to compute."""
        return True

    def unary(self, func: Function, x: Tensor) -> Value:
        """Compute an operator (as a function of `operator`) or a ufunc of one operand."""
        return self.function(UFUNC_OF.get(func, func), (x,), {})

    def binary(self, func: Function, a: Value, b: Value) -> Value:
        if KEPT and (type(a) in KEPT or type(b) in KEPT):
            return func(*beside_tensors((a, b), {})[0])
        if (answer := answer_special(func, a, b)) is not None:
            return answer
        return by_ufunc(self, func, a, b)

    def getitem(self, x: Tensor, index: Index) -> Value:
        index = inside_index(index) if OVER_TENSORS else index
        index = known(index) if type(index) is tuple else known((index,))[0]
        choice = choice_of(index, x.ndim) if has_mask(index) else None
        if choice is not None and choice.mask.level.batches:
            shared = settle_masks(index)
            if shared is index or choice_of(shared, x.ndim) is not None:
                return Selection.of(choice.shown(x), choice, alias_of(choice.mask))
            index = shared
        return note_item(x, index, self.function(getitem, (x, index), {}))

    def method(self, func: Function, args: tuple, kwargs: dict) -> Any:
        return self.function(*CANONICAL[func](*args, **kwargs))

    def reorder(self, x: Tensor, func: Function, args: tuple, kwargs: dict) -> Any:
        """Call a method that reorders `x` in place; it returns None, as NumPy's does."""
        x[...] = self.method(func, (x, *args), kwargs)  # type: ignore[index]

    def missing_attribute(self, x: Tensor, name: str) -> Any:
        """An attribute that the class does not have: that of a user's class inside."""
        if any([level.forwards for level in levels_of(self.cls)]):
            return operands.forward_attribute(x, name)
        raise AttributeError(f"{type(x).__name__!r} object has no attribute {name!r}")

    def property(self, name: str, x: Tensor) -> Any:
        return self.function(PROPERTIES[name], (x,), {})

    def dispatch(self, cls: type[Tensor], func: Function, args: tuple, kwargs: dict) -> Any:
        """Compute an operation for the lower hook of the level's class."""
        return self.function(func, args, kwargs)

    called = call_undispatched

    def function(self, func: Function, args: tuple, kwargs: dict) -> Any:
        """Bind the call and hand it to the innermost level among its operands."""
        try:
            op = OPS.get(func) or find(func)
            if len(args) > 2 and op is not None:
                args, kwargs = name_out(op, args, kwargs)
            written = kwargs and kwargs.get("out") is not None
            if op is None and not written:
                inner: Any = (*classes_in(*args, *kwargs.values()), self.cls)[0]
                return inner.level.missing(func, args, kwargs)
            if written or op is None:
                return write_out(func, args, kwargs)
            if op.foreign or kwargs:
                check_given(op, args, kwargs)
            if op.single and args and type(args[0]) is self.cls:
                given = op.static(args, kwargs)
                if given is not None:
                    if op.views or op.boxes or op.order:
                        return views.view_result(self, op, args[0], given)
                    return self.apply_single(op, args[0], given)
            for value in (*args, *kwargs.values()) if kwargs else args:
                if type(value) is list or type(value) is tuple:
                    if op.variadic is None or any([type(v) in LISTS for v in value]):
                        args, kwargs = stack_lists(func, op, args, kwargs)
                    break
            if op.body is not None:
                if (found := operands.meaning(self, func, args, kwargs)) is not None:
                    return found
                args, kwargs = drop_labels(self, func, args, kwargs)
                return views.note_made(op, args, kwargs, op.body(*args, **kwargs))
            if op.views and func is np.astype and keeps_dtype(*args, **kwargs):
                return args[0]
            call = op.bind(args, kwargs)
            cls = self.cls
            for operand in call.operands:
                kind = type(operand)
                if kind is not cls and kind not in PLAIN:
                    if issubclass(kind, cls):
                        cls = kind
                    elif kind is Array:
                        return call_settled(op, func, settle(args), settle(kwargs))
                    elif (found := operands.meaning(self, func, args, kwargs)) is not None:
                        return found
            result = self.apply(op, call) if cls is self.cls else cls.level.apply(op, call)
            return views.note_result(op, args, result, kwargs)
        except REFUSALS as error:
            raise self.name_error(error) from error.__cause__

    def refusal(self, kind: type[LevelError], text: str) -> LevelError:
        """Return an error of `kind` that names this level, with a note on where it was made."""
        return self.note_levels(kind(f"{self}: {text}", named=True))

    note_levels, name_error = note_levels, name_error
    check_answered, forgotten = check_answered, forgotten

    def apply(self, op: Op, call: Call) -> Value:
        raise NotImplementedError

    def apply_single(self, op: Op, x: Tensor, given: dict) -> Value:
        """Compute the commonest call: one operand, a tensor of this level."""
        return self.apply(op, Call(op, given, op.lead, [x], True))

    def missing(self, func: Function, args: tuple, kwargs: dict) -> Any:
        raise no_rule(str(self), Op(func, "x", "x"), "x")

    def lower(self, x: Any) -> Value:
        """Return the value of `x` one level out; check that its level encloses this one."""
        kind = type(x)
        if kind is self.cls:
            return x._value
        if kind in PLAIN or not isinstance(x, Tensor):
            return x if kind in PLAIN else operands.foreign(self, x)
        level = kind.level
        if not level.depth or (level.live and issubclass(self.cls, kind)):
            return x if kind is not Array else self.lower(settle(x))
        return self.lower(level.release(x, self))

    def release(self, x: Tensor, other: "Level") -> Value:
        """Answer the level `other`, which met `x` and is not nested in this one."""
        error = LevelError(meeting(other, self), named=True)
        raise self.note_levels(other.note_levels(error))

    # ---- the form of a tensor, and leaving ----

    def make(self, cls: type, data: Any, *args: Any, **options: Any) -> Any:
        raise NotImplementedError

    def elem(self, x: Tensor) -> Value:
        return x._value

    def unwrap(self, x: Any) -> Any:
        x = settle(x) if type(x) is Array else x
        return x._value if type(x) is self.cls else self.lower(one_value(self, x))

    def gradient(self, output: Any, inputs: Any) -> Any:
        raise self.refusal(
            LevelError,
            "gradient(y, x) needs a level of grad(); write G.gradient(y, x) with the class of "
            "`with grad() as G`",
        )

    def as_subclass(self, x: Tensor, cls: type[Tensor]) -> Any:
        raise self.refusal(
            LevelError,
            f"x.as_subclass({cls.__name__}) would take x out of its level; pass a "
            f"{cls.__name__} to the transform, and compute with what the function is given",
        )

    def shape(self, x: Tensor) -> Shape:
        try:  # as `shape_of`, without the call
            return x._value.shape
        except AttributeError:
            return np.shape(x._value)

    def dtype(self, x: Tensor) -> np.dtype:
        try:
            return x._value.dtype
        except AttributeError:
            return dtype_of(x._value)

    def setitem(self, x: Tensor, index: Index, value: Value) -> None:
        writes.write(self, x, index, value)

    def snapshot(self, x: Tensor) -> Tensor:
        """Return a tensor equal to `x`, which was written to, that no later write changes."""
        return view_of(x).snapshot()

    def reshape(self, x: Tensor, shape: Any) -> None:
        """``x.shape = shape``: that of this tensor alone, and not of its other views."""
        view = writes.memory_view(self, x)
        writes.set_view(x, view.at(reshape_window(view.window, shape)))

    def add_at(self, x: Tensor, index: Index, value: Value) -> None:
        """``numpy.add.at(x, index, value)``."""
        writes.write(self, x, index, value, add=True)

    def augment(self, func: Function, x: Tensor, value: Value) -> Any:
        """Compute ``x op= value``, which writes to `x` where NumPy has an array."""
        if not views.is_array(x):
            return NotImplemented
        writes.memory_view(self, x)
        return augment(x, func, value)

    check_shuffle, convert, has_text, index = check_shuffle, convert, has_text, index
    attribute, taken_out = operands.attribute_inside, operands.taken_out
    forward_attributes = operands.forward_attributes
    place, window, point, tie, repr, card = place, window, point, tie_to, text_of, table_of

    def where(self) -> str:
        """Return the user's line with the call or the ``with`` that made this level.

        A transform that others are made of is called by functier; the user's line is further out.
        """
        return line_behind(self.made, [level.made for level in levels_of(self.cls)])

    def __repr__(self) -> str:
        return name_beside(self)


class _Bare(Level):
    """A level without behaviour, to count the references to its class."""

    serves = False

    def __init__(self) -> None:
        super().__init__(Tensor, "")


def call_settled(op: Op, func: Function, args: tuple, kwargs: dict) -> Any:
    """Call `func`, which may not dispatch, with snapshots of what has been written to."""
    return dispatch_lists(func, args, kwargs) if op.foreign else func(*args, **kwargs)


def check_given(op: Op, args: tuple, kwargs: dict) -> None:
    """Raise where a tensor is given for what has to be a plain value."""
    if op.foreign:
        check_static(op, op.bind(args, kwargs))
    if op.body is None and isinstance(kwargs.get("initial"), Tensor):
        float(kwargs["initial"])  # NumPy needs a number; a tensor raises
