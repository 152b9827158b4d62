"""A level that records each NumPy call on its tensors, with values that are known.

NOTE [an answer is guarded]
    Python code may ask a tensor for its truth or for a whole number, and choose by it what comes
    next. The program then holds for inputs with the same answers: each is a `Guard`. What would
    make a plain number of a value (``float(x)``) is refused, as the program could not follow it.

NOTE [the call as it is]
    A call of a public function of NumPy or SciPy is recorded as it is, since this level needs no
    derivative of it. So a program computes what plain NumPy computes, to the last bit.
"""

import operator
import sys
from collections.abc import Callable, Iterator
from types import CodeType, FrameType
from typing import Any

import numpy as np

from .._core.errors import LevelError
from .._core.numpy_facts import UFUNC_OF, home_of
from .._core.op import NO_VALUE, Call, Op
from .._core.pytree import is_value, like
from .._core.root import classes_in
from .._core.table import OPS, find
from .._core.tensor import Tensor
from .._core.types import Function, Value
from .._levels.level import Level
from .._mutation.array import Array, settle
from .graph import Graph, Guard, Node, form_of
from .stores import ProgramStore

ndarray = np.ndarray
new = object.__new__
HERE = __name__.partition(".")[0]
LIBRARIES = "numpy", "scipy"


FACTS = {np.shape, np.ndim, np.size, np.result_type, np.can_cast, np.iscomplexobj, np.isrealobj}
"""Functions that ask for the form of a value, which is that of every run."""


class RecordLevel(Level):
    """A level of `trace`: `_value` is the value, `_extra` the node that computes it."""

    batches, differentiates, records, guards = False, None, False, True
    store = ProgramStore
    serves = False
    instead = "return it from the function"

    def begin(self, leaves: list[Value]) -> list[Tensor]:
        """Return tensors of the inputs."""
        self.nodes: list[Node] = []
        self.answers: list[Guard] = []
        self.inputs = [self.add(Node(None, (), {}, form_of(x))) for x in leaves]
        return [self.tensor(x, node) for x, node in zip(leaves, self.inputs)]

    def add(self, node: Node) -> Node:
        self.nodes.append(node)
        return node

    def tensor(self, value: Value, node: Node) -> Any:
        x = new(self.cls)
        x._value, x._extra = value, node
        return x

    def result(self, value: Any, node: Node) -> Any:
        """Return the tensor, or tensors, of the result of a node."""
        if isinstance(value, (tuple, list)):
            parts = [
                self.result(v, self.add(Node(operator.getitem, (node, i), {}, form_of(v))))
                for i, v in enumerate(value)
            ]
            return like(value, parts)
        return self.tensor(value, node) if is_value(value) else value

    def symbol(self, x: Any) -> Any:
        """Return an argument with a node for each tensor of this level."""
        kind = type(x)
        if kind is self.cls:
            return x._extra
        if kind is Array:
            return self.symbol(settle(x))
        if kind is tuple or kind is list:
            return kind([self.symbol(part) for part in x])
        if kind is dict:
            return {name: self.symbol(part) for name, part in x.items()}
        if kind is slice:
            return slice(*[self.symbol(part) for part in (x.start, x.stop, x.step)])
        if isinstance(x, Tensor):
            return self.lower(x)
        return x

    def concrete(self, x: Any) -> Any:
        """Return an argument with its value for each tensor of this level."""
        kind = type(x)
        if kind is tuple or kind is list:
            return kind([self.concrete(part) for part in x])
        if kind is dict:
            return {name: self.concrete(part) for name, part in x.items()}
        if kind is slice:
            return slice(*[self.concrete(part) for part in (x.start, x.stop, x.step)])
        return self.lower(x) if isinstance(x, Tensor) else x

    def record(self, func: Callable, args: tuple, kwargs: dict) -> Any:
        """Call a function on the values, and note the call."""
        args = tuple([list(x) if isinstance(x, Iterator) else x for x in args])  # read once
        value = func(*self.concrete(args), **self.concrete(kwargs))
        node = Node(func, self.symbol(args), self.symbol(kwargs), form_of(value), self.where_now())
        return self.result(value, self.add(node))

    # ---- operations ----

    def unary(self, func: Function, x: Tensor) -> Value:
        return self.record(UFUNC_OF.get(func, func), (x,), {})

    def function(self, func: Function, args: tuple, kwargs: dict) -> Any:
        inner: Any = (*classes_in(*args, *kwargs.values()), self.cls)[0]
        if inner is not self.cls and issubclass(inner, self.cls):
            return inner.level.function(func, args, kwargs)
        if func in FACTS:
            return func(*self.concrete(settle(args)), **self.concrete(settle(kwargs)))
        op = OPS.get(func) or find(func)
        if op is None or op.family == "writing" or kwargs.get("out") is not None:
            return super().function(func, args, kwargs)
        args, kwargs = settle(args), settle(kwargs)
        body = getattr(func, "body", None)
        if body is not None:
            return body(*args, **kwargs)
        kwargs = {
            k: v for k, v in kwargs.items()
            if v is not NO_VALUE and k[:10] != "overwrite_" and (k != "out" or v is not None)
        }  # fmt: skip
        if op.body is None or self.is_public(func):
            if op.by_value:
                self.guard_form(op, op.bind(args, kwargs))
            return self.record(func, args, kwargs)
        return op.body(*args, **kwargs)

    def is_public(self, func: Any) -> bool:
        """Tell if a function is one of a library, which a program may call."""
        owner = getattr(func, "__self__", None)
        if isinstance(owner, np.ufunc):
            return bool(home_of(owner))
        module = getattr(func, "__module__", None) or ""
        return module.partition(".")[0] in LIBRARIES

    def apply(self, op: Op, call: Call) -> Value:
        raise LevelError(f"{op.name} has no call to record")

    def missing(self, func: Function, args: tuple, kwargs: dict) -> Any:
        return self.record(func, args, kwargs)

    # ---- answers ----

    def guard_form(self, op: Op, call: Call) -> None:
        """Note the values of the operands on which the form of a result depends."""
        for i in call.telling():
            x = call.operands[i]
            if type(x) is self.cls:
                self.guard(x, f"the form of the result of {op.name}")

    def guard(self, x: Tensor, how: str) -> None:
        """Note that the program holds for this value of `x` alone."""
        self.answers.append(Guard(x._extra, how, np.array(x._value), self.where_now()))

    def guard_inside(self, x: Tensor) -> None:
        """Note the values of all examples of a tensor of an inner level."""
        value: Any = x
        while type(value) is not self.cls:
            value = settle(value) if type(value) is Array else value._value
        self.guard(value, "the values of all examples")

    def convert(self, x: Tensor, how: str | Function, *args: Any) -> Any:
        if how is bool or how is int or how == "__index__":
            found = super().convert(x, how)
            name = how if isinstance(how, str) else how.__name__
            self.answers.append(Guard(x._extra, name, found, self.where_now()))
            return found
        return super().convert(x, how, *args)

    def elem(self, x: Tensor) -> Any:
        raise self.refusal(LevelError, "x.elem() would take a value out of the program")

    # ---- where it happened ----

    def where_now(self) -> tuple[CodeType, int] | None:
        """Return the code and the instruction of the user's line that runs now, or None."""
        frame: FrameType | None = sys._getframe(2)
        while frame is not None:
            module = frame.f_globals.get("__name__", "")
            if module == f"{HERE}._programs.trace":
                return None
            if module.partition(".")[0] not in (HERE, "numpy", "scipy"):
                return frame.f_code, frame.f_lasti
            frame = frame.f_back
        return None

    def graph(self, outputs: list) -> Graph:
        """Return what was recorded, with these outputs."""
        return Graph(self.nodes, self.inputs, [self.symbol(y) for y in outputs], self.answers)
