"""`Level`, from which a kind of level outside of the package inherits, and `run`."""

from collections.abc import Callable, Iterable
from typing import Any, ClassVar, TypeVar

from .._core.numpy_facts import Value
from .._core.op import Call, Op
from .._cpython.frames import current_frame, outside
from .._levels import level, runs, stores

T = TypeVar("T")

PROMISED = {"apply", "batches", "cls", "differentiates", "guards", "lower", "records"}
"""The attributes of `Level` that packages may use."""


class Kind(type):
    """The class of kinds of level, of which `dir` shows what is promised, and what they add."""

    def __dir__(cls) -> list[str]:
        added = cls.__mro__[: cls.__mro__.index(Level)]
        return sorted({*dir(object), *PROMISED}.union(*map(vars, added)))


class Level(level.Level, metaclass=Kind):
    """A kind of level: how a transform computes an operation on its tensors.

    Every call of `run` makes a level, which is an instance of the kind, and a subclass of `Tensor`
    for its tensors, `cls`. The class inherits from that of the level around it, so NumPy asks the
    innermost level first. A tensor of the level has parts: a value one level out, and one thing
    that the kind stores beside it. ``cls.join(value, extra)`` makes a tensor, and ``x.parts()``
    gives both.

    Attributes
    ----------
    batches : bool
        Whether a tensor holds all examples along leading axes of its value.
    differentiates : {"forward", "reverse", "series"}, optional
        Whether `extra` is a tangent, a node of a tape, or a Taylor series of `jet`.
    records : bool
        Whether calls are recorded and made later, so that values are not known yet.
    guards : bool
        Whether the answers that Python code gets are recorded, as a recorded program needs.
    cls : type
        The class of the tensors of this level.

    Examples
    --------
    A level that counts the operations on its tensors:

    >>> import numpy as np
    >>> class Counting(Level):
    ...     def apply(self, op, call):
    ...         value = call.run([self.lower(x) for x in call.operands])
    ...         counts.append(op.name)
    ...         return self.cls.join(value)
    >>> counts = []
    >>> run(Counting, "counting", [3.0], lambda at: at.lower(np.sin(at.cls.join(3.0)) * 2))
    np.float64(0.2822400161197344)
    >>> counts
    ['numpy.sin', 'numpy.multiply']
    """

    batches: ClassVar[bool] = False
    differentiates: ClassVar[level.Direction | None] = None
    records: ClassVar[bool] = False
    guards: ClassVar[bool] = False
    instead = "return it from the function"  # as `run` has no other way out
    store: ClassVar[Any] = stores.RecordStore  # a write makes a tensor by operations
    cls: Any

    def apply(self, op: Op, call: Call) -> Any:
        """Return the result of an operation: a value, a tensor of this level, or a tuple.

        Parameters
        ----------
        op : Op
            The operation, with its rules and facts.
        call : Call
            The operands, at least one of which is a tensor of this level, and the parameters.
            ``call.run(values)`` computes the operation on values one level out.
        """
        raise NotImplementedError

    def lower(self, x: Any) -> Value:
        """Return the value of `x` one level out; other values are returned as they are.

        Raises
        ------
        LevelError
            If `x` belongs to a level that does not enclose this one.
        """
        return super().lower(x)


def run(kind: type[Level], label: str, leaves: Iterable, body: Callable[[Any], T]) -> T:
    """Call ``body(level)`` at a new level; the level ends with the call.

    Parameters
    ----------
    kind : type of Level
        The kind of the level.
    label : str
        The name of the level in messages, such as ``"jvp(f)"``.
    leaves : iterable
        The values that the function computes with: the level nests in the levels of these.
    body : callable
        Takes the level and returns the result, after lowering its tensors.

    Returns
    -------
    object
        The result of `body`.

    Raises
    ------
    LevelError
        If one of `leaves` belongs to a level that is not around the call.

    Examples
    --------
    >>> import functier
    >>> run(Level, "empty", [], lambda level: issubclass(level.cls, functier.Tensor))
    True
    """
    caller: Any = outside(current_frame(1), ("functier",))  # as `run` may be called by this package
    made = kind.prepare(label, "dead", caller, leaves)
    return runs.run(made, lambda at, _: body(at))
