"""Levels: minting, and what all levels do.

A level is a class. `Level` is the object in its attribute ``level``: what a transform
does to an operation. Knows no transform.

NOTE [is this tensor mine]
    ``type(x) is cls`` and nothing else. A tensor of an inner level is an instance of
    every outer level's class, so ``isinstance`` must never decide it.

NOTE [nothing large on a class]
    A class is freed by the cyclic collector only, which does not see bytes. Values and
    tapes hang on instances; a level object holds names, sizes and numbers.
"""

from collections.abc import Callable, Iterable
from operator import getitem
from operator import index as as_index
from types import CodeType, FrameType, FunctionType
from typing import Any, ClassVar, Literal

import numpy as np

from .._core.border import one_value, operand
from .._core.errors import ConversionError, LevelError, MutationError
from .._core.hints import augmented_assignment, explain
from .._core.methods import PROPERTIES, methods_of
from .._core.numpy_facts import PLAIN, UFUNC_OF, dtype_of, name_of, shape_of
from .._core.observers import LEVELS
from .._core.op import Call, Op
from .._core.pytree import flatten, unflatten
from .._core.root import classes_in, opts_out
from .._core.table import OPS, find, load, no_rule
from .._core.tensor import CANONICAL, Tensor
from .lineage import AMBIENT, chain, enclosing_level, generator_of, line_of
from .spares import ALONE, LevelType, is_alone, note, verified

ndarray = np.ndarray
Escape = Literal["dead", "passthrough"]
Direction = Literal["forward", "reverse"]

ENDED: dict[str, type["Level"]] = {}
"""The class of a level object whose level has ended, by escape mode; `_levels.ended` fills it."""


class Level:
    """What a transform does to the operations on the tensors of one class.

    Subclasses implement `apply` (every bound operation), `fast_calls` (what elementwise
    operations do on the hot path) and, where they can do something with it, `missing` (a
    function without a record).
    """

    # The facts that each kind states. A level that has ended does none of it; what it did, its
    # kind goes on stating: `level.kind.batches`.
    batches: ClassVar[bool]  # a tensor holds all examples, along the first axes of `_value`
    differentiates: ClassVar[Direction | None]  # `_extra` is the tangent, or the node on the tape
    records: ClassVar[bool]  # calls are noted and made later; `_value` has the form alone

    instead = (
        "return it from the function, or ask for {}(..., escape='passthrough') to go on with its "
        "value (x.elem() shows it)"
    )  # of using a tensor once the level has ended
    live = True
    methods: ClassVar[dict[str, Callable] | None] = None
    generator: tuple[int, int] | None = None
    forwards_methods = False  # a method is passed on itself, not the function that it means
    alone = ALONE  # references to a class that nobody holds
    serves = True  # whether a later level may have the class
    in_generator = False  # a generator has entered this level or one around it
    parent: "Level | None" = None  # the level around it that shares its tensors
    label: str
    escape: Escape
    outer: type[Tensor]
    made: tuple[CodeType, int]

    def __init__(self, enclosing: type[Tensor], label: str, key: Any = None):
        """Mint the class of a level nested in `enclosing`."""
        load()  # before the fast paths look a rule up
        self.depth = enclosing.level.depth + 1
        self.home: dict[type, Level] = enclosing.level.spare  # where it waits to be used again
        self.spare: dict[type, Level] = {}
        self.label = label
        self.kind = kind = type(self)
        self.key = key
        if kind.methods is None:
            kind.methods = methods_of(kind.fast_calls())
        names = {"__slots__": (), "level": self, **kind.methods}
        self.cls: Any = LevelType(label, (enclosing,), names)
        if key is not None and key is not kind:
            self.forward()
        self.serves = kind.serves and verified(_Bare)
        note(self)

    @classmethod
    def prepare(
        kind, label: str, escape: Escape, frame: FrameType, leaves: Iterable = (),
        lexical: bool = False,
    ) -> Any:  # fmt: skip
        """Make a level under the enclosing one, with a class that nobody knows.

        It is not ambient yet: see `_levels.life`.
        """
        outer = enclosing = AMBIENT.get()
        parent = outer.level
        key: Any = kind
        if parent.in_generator or not parent.live:
            enclosing = enclosing_level(outer, frame)
            parent = enclosing.level
        for leaf in leaves:
            cls = type(leaf)
            if cls is ndarray or cls is enclosing:
                continue
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
            if level.in_generator:
                level.in_generator = False
            if level.label != label:
                level.label = label
                type.__setattr__(level.cls, "__name__", label)
                type.__setattr__(level.cls, "__qualname__", label)
        level.escape, level.outer = escape, outer
        level.made = frame.f_code, frame.f_lasti  # the line is worked out when it is asked for
        if lexical:
            level.generator = generator_of(frame)
            level.in_generator = level.generator is not None or outer.level.in_generator
        elif outer.level.in_generator:
            level.in_generator = True
        if LEVELS:
            for show in LEVELS[:]:
                show(level)
        level.place(parent)
        return level

    @classmethod
    def fast_calls(kind) -> dict[Callable, Callable]:
        """Functions of the operands for the commonest ufuncs and operators, by these.

        They are asked in the place of `unary`, `binary` and `getitem`, by `__array_ufunc__`
        and as methods of the level's class, and hand on to these what they do not know.
        """
        return {}

    def place(self, outer: "Level") -> None:
        """Take note of the level around this one, which is being entered."""

    def end(self) -> None:
        """End the level: its class is dead or passes through from here on.

        The level object changes its class, which no type cache has to hear of. That is done
        first, as nothing can interrupt it.
        """
        self.__class__ = ENDED[self.escape]  # type: ignore[assignment]
        inner = AMBIENT.set(self.outer).old_value
        if inner is not self.cls or not self.outer.level.live:
            self.settle(inner)

    def settle(self, inner: Any) -> None:
        """Make ambient what is around, where levels do not end in order, as generators' do.

        `inner` was ambient when this level ended.
        """
        outer = inner
        if inner is self.cls:
            outer = self.outer
            while not outer.level.live:
                outer = outer.level.outer
        AMBIENT.set(outer)

    # ---- operations ----

    def unary(self, func: Any, x: Any) -> Any:
        """An operator (as a function of `operator`) or a ufunc of one operand."""
        return self.function(UFUNC_OF.get(func, func), (x,), {})

    def binary(self, func: Any, a: Any, b: Any) -> Any:
        if opts_out(a) or opts_out(b):
            return NotImplemented
        a, b = [np.asarray(v) if type(v) is list else v for v in (a, b)]
        return self.function(UFUNC_OF.get(func, func), (a, b), {})

    def getitem(self, x: Any, index: Any) -> Any:
        return self.function(getitem, (x, index), {})

    def method(self, func: Callable, args: tuple, kwargs: dict) -> Any:
        return self.function(*CANONICAL[func](*args, **kwargs))

    def reorder(self, x: Any, func: Callable, args: tuple, kwargs: dict) -> Any:
        """A method that reorders `x` in place: `x` takes over what the result holds."""
        y = self.method(func, (x, *args), kwargs)
        x._value = y._value
        if hasattr(y, "_extra"):
            x._extra = y._extra
        return x

    def property(self, name: str, x: Any) -> Any:
        return self.function(PROPERTIES[name], (x,), {})

    def dispatch(self, cls: type, func: Callable, args: tuple, kwargs: dict) -> Any:
        """What the lower hook of a level class does."""
        return self.function(func, args, kwargs)

    def function(self, func: Callable, args: tuple, kwargs: dict) -> Any:
        """Bind the call and hand it to the innermost level among its operands."""
        op = OPS.get(func) or find(func)
        if kwargs and kwargs.get("out") is not None:
            raise self.no_out(func)
        if op is None:
            inner: Any = (*classes_in(*args, *kwargs.values()), self.cls)[0]
            return inner.level.missing(func, args, kwargs)
        try:
            if kwargs and op.body is None and isinstance(kwargs.get("initial"), Tensor):
                float(kwargs["initial"])  # NumPy wants a number; a tensor says what to write
            if op.single and args and type(args[0]) is self.cls:
                given = op.static(args, kwargs)
                if given is not None:
                    return self.apply_single(op, args[0], given)
            if op.body is not None:
                place = op.out_place
                if place is not None and len(args) > place and args[place] is not None:
                    raise self.no_out(func)
                return op.body(*args, **kwargs)
            call = op.bind(args, kwargs)
            if "out" in call.given:  # by position
                raise self.no_out(func)
            cls = self.cls
            for operand in call.operands:
                kind = type(operand)
                if kind is not cls and kind not in PLAIN and issubclass(kind, cls):
                    cls = kind
            return self.apply(op, call) if cls is self.cls else cls.level.apply(op, call)
        except LevelError as error:
            raise self.named(error) from None

    def refusal(self, kind: type[LevelError], text: str) -> LevelError:
        """An error of `kind` that names this level: its classes and where it was made."""
        return kind(f"{self} ({chain(self.cls)}, made at {self.where()}): {text}", named=True)

    def named(self, error: LevelError) -> LevelError:
        """An error of a rule, which knows no level, with the name of this one."""
        return error if error.named else self.refusal(type(error), str(error))

    def no_out(self, func: Callable) -> LevelError:
        return self.refusal(
            MutationError,
            f"{name_of(func)}(..., out=) would write to an array that is no tensor of this "
            f"level; write {augmented_assignment() or f'y = {name_of(func)}(...) without out='}",
        )

    def apply(self, op: Op, call: Call) -> Any:
        raise NotImplementedError

    def apply_single(self, op: Op, x: Any, given: dict) -> Any:
        """`apply` for the commonest call: one operand, a tensor of this level."""
        return self.apply(op, Call(op, given, op.lead, [x], True))

    def missing(self, func: Callable, args: tuple, kwargs: dict) -> Any:
        raise no_rule(str(self), Op(func, "x", "x"), "x")

    def lower(self, x: Any) -> Any:
        """What `x` is one level out; the check that its level encloses this one."""
        kind = type(x)
        if kind is self.cls:
            return x._value
        if kind in PLAIN or not isinstance(x, Tensor):
            return x if kind in PLAIN else operand(self, x)
        level = kind.level
        if not level.depth or (level.live and issubclass(self.cls, kind)):
            return x
        return self.lower(level.release(x, self))

    def release(self, x: Any, other: "Level") -> Any:
        """Answer a level that met `x` and is not nested in this one."""
        raise LevelError(
            f"{other} met a tensor of {self}, whose level is not among its own: "
            f"{chain(other.cls)} and {chain(type(x))} are not in one chain. The tensor's "
            f"level was made at {self.where()}; pass the value in as an argument, or "
            f"return it from {self} first",
            named=True,
        )

    # ---- the form of a tensor, and leaving ----

    def make(self, cls: type, data: Any, *args: Any, **options: Any) -> Any:
        raise NotImplementedError

    def elem(self, x: Any) -> Any:
        return x._value

    def unwrap(self, x: Any) -> Any:
        return x._value if type(x) is self.cls else self.lower(one_value(self, x))

    def gradient(self, output: Any, inputs: Any) -> Any:
        raise self.refusal(
            LevelError,
            "gradient(y, x) needs a level of grad(); write G.gradient(y, x) with the class of "
            "`with grad() as G`",
        )

    def as_subclass(self, x: Any, cls: type) -> Any:
        raise self.refusal(
            LevelError,
            f"x.as_subclass({cls.__name__}) would take x out of its level; pass a "
            f"{cls.__name__} to the transform, and compute with what the function is given",
        )

    def shape(self, x: Any) -> tuple[int, ...]:
        return shape_of(x._value)

    def dtype(self, x: Any) -> Any:
        return dtype_of(x._value)

    def forward(self) -> None:
        """Let tensors of this level have the methods and attributes of the class inside.

        Only where a user's class has been met: `__getattr__` costs each attribute 10 ns.
        """
        type.__setattr__(self.cls, "__getattr__", forward_attribute)

    def attribute(self, x: Any, name: str) -> Any:
        """What the user's class inside of `x` has under a name, with `x` in `self`'s place."""
        value = x
        while isinstance(value, Tensor) and value.level.depth:
            value = value._value
        if isinstance(value, Tensor):
            for cls in type(value).__mro__:
                member = vars(cls).get(name)
                if isinstance(member, (FunctionType, property)):
                    return member.__get__(x, type(x))
            found = getattr(value, name)
            if not isinstance(found, (np.ndarray, Tensor)):
                return found
            raise self.refusal(
                LevelError,
                f"x.{name} is an array that a {type(value).__name__} holds beside its value, of "
                f"which the transform knows nothing; pass it to the function as an argument",
            )
        raise AttributeError(f"a tensor of {self} has no attribute {name!r}")

    def setitem(self, x: Any, index: Any, value: Any) -> None:
        raise self.refusal(
            MutationError,
            "x[...] = v would change a tensor in place; write x = numpy.where(mask, v, x), or "
            "build the array from its parts with numpy.concatenate or numpy.stack",
        )

    def write(self, x: Any, name: str) -> Any:
        raise self.refusal(
            MutationError,
            f"x.{name}(...) changes x in place; compute a new array, with numpy.{name} where "
            f"there is one, or numpy.where",
        )

    def convert(self, x: Any, how: Any, *args: Any) -> Any:
        """Truth, ``int`` and indexing read the value; what loses the level raises."""
        if how is bool or how is int:
            return how(x._value)
        if how == "__index__":
            return self.index(x._value)
        asked, remedy = explain(how if isinstance(how, str) else how.__name__)
        raise self.refusal(
            ConversionError,
            f"{asked} would turn a tensor of this level into a plain value and lose what the "
            f"transform knows of it; write {remedy}",
        )

    def index(self, value: Any) -> int:
        """A value as an index; an error in Python's words, of its kind, for what is none."""
        try:
            return as_index(value)
        except TypeError as error:
            if isinstance(value, Tensor):  # its level has said so
                raise
            raise TypeError(
                f"{self}: {error}, and neither can a tensor of its value; write int(x) for x, as "
                f"in range(int(x))"
            ) from None

    def repr(self, x: Any) -> str:
        return f"{self.cls.__name__}[depth {self.depth}]({x._value!r})"

    def where(self) -> str:
        """The file and line of the call or the ``with`` that made this level."""
        code, instruction = self.made
        return f"{code.co_filename}:{line_of(code, instruction)}"

    def __repr__(self) -> str:
        return self.label


class _Bare(Level):
    """A level that does nothing, to count the references to its class."""

    serves = False

    def __init__(self) -> None:
        super().__init__(Tensor, "")


def has_methods(x: Any) -> bool:
    """Whether `x` is of a user's class, which may have methods and attributes of its own."""
    return isinstance(x, Tensor) and type(x) is not Tensor and not x.level.depth


def forward_attribute(x: Any, name: str) -> Any:
    """`__getattr__` of a level that has met a user's class; see `Level.attribute`."""
    if name.startswith("__") or name in Tensor.__slots__:
        raise AttributeError(f"{type(x).__name__!r} object has no attribute {name!r}")
    return x.level.attribute(x, name)


def depth_of(x: Any) -> int:
    """The number of levels around the value of `x`: 0 for a plain value.

    Examples
    --------
    >>> import numpy as np
    >>> from functier import grad, vmap
    >>> seen = []
    >>> def f(x):
    ...     seen.append(depth_of(x))
    ...     return x * x
    >>> slopes = vmap(grad(f))(np.ones(3))
    >>> seen, depth_of(slopes)
    ([2], 0)
    """
    return x.level.depth if isinstance(x, Tensor) else 0


def unwrap(x: Any, levels: int | None = 1) -> Any:
    """The value of `x` so many levels out, for a look at it.

    The value has lost its derivatives, or has the axis of the batch in front: print it, and
    compute with `x`. A constant is made by `stop_gradient`.

    Parameters
    ----------
    x : array or pytree of arrays
        Of any levels, also of ended ones.
    levels : int, optional
        How many times to go one level out, as ``x.elem()`` does; to the plain value at most,
        and with None to that.

    Returns
    -------
    array or pytree of arrays
        The values, in the same memory. A `Tensor`, or an instance of a subclass, that no level
        is around stays as it is; ``x.elem()`` is its array.

    Examples
    --------
    >>> import numpy as np
    >>> from functier import grad, vmap
    >>> def f(x):
    ...     print(depth_of(unwrap(x)), unwrap(x * 2.0, levels=None))
    ...     return x * x
    >>> _ = vmap(grad(f))(np.arange(3.0))
    1 [0. 2. 4.]
    """
    if levels is None:
        steps = -1
    elif isinstance(levels, bool) or not isinstance(levels, (int, np.integer)) or levels < 0:
        raise ValueError(
            f"unwrap: levels={levels!r}; write how many levels to take off, or None for all"
        )
    else:
        steps = int(levels)
    leaves, structure = flatten(x)
    return unflatten(structure, [_unwrapped(leaf, steps) for leaf in leaves])


def _unwrapped(x: Any, steps: int) -> Any:
    while steps and isinstance(x, Tensor) and x.level.depth:
        x = x.elem()
        steps -= 1
    return x
