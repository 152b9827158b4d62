"""A level that records each NumPy call on its tensors, with values that are known.

NOTE [an answer is guarded]
    Python code may ask a tensor for its truth or for a whole number, and choose by it what comes
    next. The program then holds for inputs with the same answers: each is a `Guard`. What would
    make a plain number of a value (``float(x)``) is refused, as the program could not follow it.
    An error that NumPy raises is an answer too, as Python code may catch it.

NOTE [arrays that are written to]
    Plain arrays are constants of the program, with what they have when they are used. A small one
    is copied. A large one is not, so that a second copy of a user's data is not kept; a trace in
    which its contents change is refused.

NOTE [the call as it is]
    A call of a public function of NumPy or SciPy is recorded as it is, since this level needs no
    derivative of it. So a program computes what plain NumPy computes, to the last bit.
"""

import operator
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from .._core.errors import LevelError, MutationError
from .._core.numpy_facts import UFUNC_OF, Value
from .._core.numpy_private import SETTINGS
from .._core.op import Call, Op
from .._core.pytree import is_value, like
from .._core.root import classes_in, dispatch_lists
from .._core.sharing import sharing_of
from .._core.table import find
from .._core.tensor import Tensor
from .._cpython.frames import Frame, current_frame
from .._cpython.sources import finder_of_places
from .._levels.kept import owned as kept_of
from .._mutation.array import Array, plain_arguments, settle
from ..protocol import Level
from .captured import way_to
from .draws import draw, has_made, note_made
from .graph import CONTAINERS, SCALARS, Form, Graph, Guard, Node, form_of, mapped, mark_first
from .guards import digest
from .integers import asked, number, settled
from .literals import COPIED, copy_of, owned
from .questions import ANSWERS, HERE, fails, is_internal, is_writeable, takes_items, text
from .quick import FACTS, LENGTHS, SPELLED, fast_calls, is_whole, public_call
from .repeated import repeat
from .sampled import Sampled, Samples
from .stores import ProgramStore, is_fresh
from .watching import (
    ANYWHERE,
    Quiet,
    is_followed,
    is_of_rooms,
    is_quiet,
    runs_alone,
    unwatched,
    watched,
)
from .wholes import follow, whole

ndarray = np.ndarray
place_of = finder_of_places(is_internal, HERE, f"{HERE}._programs.trace")

NOTHING: dict = {}
"""The arguments by name of calls that have none."""

OPERATORS = frozenset(UFUNC_OF)
PYTHONS = {bool, int, float, complex}


class RecordLevel(Level):
    """A level of `trace`: `_value` is the value, `_extra` the node that computes it."""

    batches, differentiates, records, guards, wholes = False, None, False, True, None
    store = ProgramStore
    serves = False
    instead = "return it from the function"
    follow, whole = follow, whole
    own_methods = ANSWERS
    text, is_writeable = text, is_writeable
    note_made, has_made, draw = note_made, has_made, draw
    forwards_methods = True
    careful = False  # whether it trusts nothing to be finite as it was in the trace
    watch: Any = None  # that of the trace
    note: Any = None  # the function of the watch, which is off at times
    reads: Any = None  # what the trace reads besides its arguments, if that is watched
    here: Any = ANYWHERE  # where the watch went off: the frame, then the place that this is
    fast_calls: Any = classmethod(fast_calls)

    def __init__(self, enclosing: type[Tensor], label: str, key: Any = None):
        self.quiet = Quiet(self)
        super().__init__(enclosing, label, key)

    def begin(self, leaves: list[Value]) -> list[Tensor]:
        """Return tensors of the inputs."""
        self.nodes: list[Node] = []
        self.answers: list[Guard] = []
        self.asked: set[str] = set()
        self.trusted: list[Node] = []  # what was finite, and has to be so: see `is_trusted`
        self.arrays: dict[int, tuple] = {}
        self.form = form_of(np.empty(()))  # of the last array
        self.movable: dict[Node, list[Tensor]] = {}
        self.settings = np.geterr()
        self.known = object() if SETTINGS(None) is True else SETTINGS(None)
        self.sources: dict[int, Any] = {}
        self.known_values: dict[Node, ndarray] = {}  # of which the program asks, one for each node
        self.streams: dict[int, Node] = {}
        self.captured: dict[int, tuple[ndarray, Tensor]] = {}
        self.lifted: dict[tuple, Tensor] = {}  # for arrays from outside, and views of them
        self.samples = Samples(self)
        self.inputs = [self.add(Node(None, (), {}, form_of(x))) for x in leaves]
        return [self.tensor(x, node) for x, node in zip(leaves, self.inputs)]

    def add(self, node: Node) -> Node:
        if node.func is not None and self.known is not SETTINGS(None):
            now = np.geterr()
            if now != self.settings:
                node.errors = tuple(sorted(set(now.items()) - set(self.settings.items())))
        self.nodes.append(node)
        return node

    def noted(
        self, func: Callable, args: tuple, value: Any, kwargs: dict[str, Any] = NOTHING
    ) -> Node:
        """Return the node of a call."""
        if type(value) is ndarray:
            form = self.form  # most are like the one before, and one object saves memory
            shape, dtype, strides = value.shape, value.dtype, value.strides
            if form.dtype is not dtype or form.shape != shape or form.strides != strides:
                self.form = form = Form(shape, dtype, strides, ndarray)
        else:
            form = form_of(value)
        return self.add(Node(func, args, kwargs, form, self.where_now()))

    def tensor(self, value: Value, node: Node) -> Any:
        return self.cls.join(value, node)

    def result(self, value: Any, node: Node) -> Any:
        """Return the tensor, or tensors, of the result of a node."""
        if isinstance(value, (tuple, list)):
            parts = [
                self.result(v, self.add(Node(operator.getitem, (node, i), {}, form_of(v))))
                for i, v in enumerate(value)
            ]
            return like(value, parts)
        self.forward_attributes(value)
        return self.tensor(value, node) if is_value(value) else value

    def symbol(self, x: Any) -> Any:
        """Return an argument with a node for each tensor of this level."""
        kind = type(x)
        if kind is self.cls:
            return self.samples.seen(x)
        if kind is Array:
            return self.symbol(settle(x))
        if kind in CONTAINERS:
            return mapped(x, self.symbol)
        if isinstance(x, Tensor):
            return self.symbol(self.lower(x))
        return self.constant(x) if isinstance(x, ndarray) else kept_of(x)

    def constant(self, x: ndarray) -> ndarray | Node:
        """Return an array with the contents that `x` has now: see NOTE [arrays that are written
        to]; or the input of one that is read at each call.
        """
        if x.dtype.hasobject:
            return x
        if self.reads is not None and self.reads.those_of(x):
            tensor = self.lift(x)
            if tensor is not None:
                return self.symbol(tensor)
            self.reads.array(x, type(x) is ndarray)
        found = self.arrays.get(id(x))
        if x.nbytes > COPIED:
            if found is None:
                self.arrays[id(x)] = x, x, digest(x)
            return x
        if found is not None and found[1].tobytes() == x.tobytes():
            return found[1]
        copied = copy_of(x)
        self.arrays[id(x)] = x, copied, 0  # with `x`, whose id no other array gets then
        return copied

    @unwatched
    def lift(self, x: ndarray) -> Any:
        """Return a tensor for an array of floats from outside, or for a view of one.

        None is for an array of anything else, and for views that have no simple way.
        """
        if x.dtype.kind not in "fc" or type(x) is not ndarray:
            return None
        for base in self.reads.those_of(x):
            place = id(base), x.__array_interface__["data"][0], x.shape, x.strides, x.dtype
            if place in self.lifted:
                return self.lifted[place]
            way = [] if x is base else way_to(x, base)
            if way is None:
                continue
            if id(base) not in self.captured:
                node = Node(None, (), {}, form_of(base))
                self.captured[id(base)] = base, self.tensor(base, node)
            tensor: Any = self.captured[id(base)][1]
            for func, part in way:
                tensor = self.record(func, (tensor, part), {})
            self.lifted[place] = tensor
            return tensor
        return None

    def whole_array(self, x: ndarray) -> Any:
        """Return a tensor for a plain array, of which each step of a loop reads another part."""
        found = self.lift(x) if self.reads.those_of(x) else None
        return self.record(np.asarray, (x,), {}) if found is None else found

    def check_constants(self) -> None:
        """Raise where a large plain array was written to after it had been used."""
        for x, copied, before in self.arrays.values():
            if x is copied and digest(x) != before:
                raise self.refusal(
                    MutationError,
                    f"a plain array of shape {x.shape} was used, and written to later; copy it "
                    f"before it is written to, or make it with functier.numpy",
                )

    def concrete(self, x: Any) -> Any:
        """Return an argument with its value for each tensor of this level."""
        return mapped(x, lambda y: self.lower(y) if isinstance(y, Tensor) else y)

    def perform(self, func: Callable, *args: Any) -> None:
        """Call a function for its effect, now and each time that the program runs."""
        func(*self.concrete(args))
        self.add(Node(func, self.symbol(args), {}, form_of(None), self.where_now(), True, True))

    def record(self, func: Callable, args: tuple, kwargs: dict) -> Any:
        """Call a function on the values, and note the call."""
        if any([isinstance(x, Iterator) for x in args]):  # it is read once
            args = tuple([
                watched(self, list, (x,), {}) if isinstance(x, Iterator) else x for x in args
            ])  # fmt: skip
        args, kwargs = settled(self, func, args, kwargs)
        given = self.concrete(args)
        try:
            named = self.concrete(kwargs) if kwargs else kwargs
            if runs_alone(func, given, named):
                value = func(*given, **named)
            else:
                value = watched(self, func, given, named)
        except Exception as error:
            self.note_error(error, func, args, kwargs)
            raise
        node = self.noted(func, self.symbol(args), value, self.symbol(kwargs))
        if func is operator.getitem and type(value) is ndarray:
            index = args[1] if type(args[1]) is tuple else (args[1],)
            self.movable[node] = [part for part in index if type(part) is self.cls]
        return self.result(value, node)

    def note_error(self, error: Exception, func: Callable, args: tuple, kwargs: dict) -> None:
        """Note that a call has raised, which is an answer: Python code may catch the error."""
        given = type(error), func, self.symbol(args), self.symbol(kwargs)
        node = self.add(Node(fails, given, {}, form_of(True), self.where_now()))
        self.answers.append(Guard(node, "bool", True, node.place))

    # ---- operations ----

    @unwatched
    def unary(self, func: Callable, x: Tensor) -> Value:
        if type(x.parts()[0]) is not ndarray and func in OPERATORS:
            return self.record(func, (x,), {})
        return self.record(UFUNC_OF.get(func, func), (x,), {})

    @unwatched
    def binary(self, func: Callable, a: Value, b: Value) -> Value:
        """Record an operator of numbers as it is: a ufunc of them may round in another way."""
        if func in OPERATORS:
            plain = [x.parts()[0] if type(x) is self.cls else x for x in (a, b)]
            both = type(plain[0]) in SCALARS and type(plain[1]) in SCALARS
            power = func is operator.pow and {type(a), type(b)} <= {self.cls, ndarray, *SCALARS}
            if both or power:  # the ufunc of some powers is another one
                return self.record(func, (a, b), {})
        return super().binary(func, a, b)

    def method(self, func: Callable, args: tuple, kwargs: dict) -> Any:
        """Record a function of Python's numbers as it is, which may differ from NumPy's."""
        if func is Tensor.copy and type(self.concrete(args[0])) in PYTHONS:
            return args[0]
        own = PYTHON.get(func)
        if own is None or kwargs or type(self.concrete(args[0])) not in SCALARS:
            return super().method(func, args, kwargs)
        if own is round and len(args) == 1:
            return self.convert(args[0], round)
        return self.record(own, args[::-1] if func is REFLECTED else args, kwargs)

    @unwatched
    def function(self, func: Callable, args: tuple, kwargs: dict) -> Any:
        made = public_call(self, func, args, kwargs)
        if made is not NotImplemented:
            return made
        inner: Any = (*classes_in(*args, *kwargs.values()), self.cls)[0]
        if inner is not self.cls and issubclass(inner, self.cls):
            return watched(self, inner.level.function, (func, args, kwargs), {})
        if func in FACTS:
            return func(*self.concrete(settle(args)), **self.concrete(settle(kwargs)))
        op = find(func)
        if op is not None:
            args, kwargs = plain_arguments(op, args, kwargs)
        asks = sharing_of(func) == "asked"
        if op is None or op.family == "writing" or asks or kwargs.get("out") is not None:
            return watched(self, super().function, (func, args, kwargs), {})
        if func is np.nan_to_num and not op.bind(args, kwargs).given.get("copy", True):
            return super().function(func, args, kwargs)  # it writes to its argument
        if any([type(x) is Array for x in (*args, *kwargs.values())]):
            # They may have a level inside; SciPy's functions do not dispatch by themselves.
            of = owned if str(getattr(func, "__module__", "")).startswith("scipy.") else settle
            return watched(self, dispatch_lists, (func, of(args), of(kwargs)), {})
        args, kwargs = settle(args), settle(kwargs)
        body = getattr(func, "body", None)
        if body is not None:
            return self.parts_of(body, args, kwargs)
        if func in SPELLED and not kwargs and len(args) == 2 and isinstance(args[0], np.generic):
            if type(self.concrete(args[1])) in SCALARS:  # its operator, which has called the ufunc
                return self.record(SPELLED[func], args, kwargs)
        if func is np.astype and type(self.concrete(args[0])) in PYTHONS:
            return self.record(np.asarray, args, {})  # which takes Python's numbers, too
        if op.body is None or (is_whole(self, func) and not is_followed(func, args, kwargs)):
            if op.by_value:
                self.guard_form(op, op.bind(args, kwargs))
            made = self.record(func, args, kwargs)
            if func in LENGTHS and classes_in(*args[LENGTHS[func]], *kwargs.values()):
                self.guard_sizes(made)
            return made
        return self.parts_of(op.body, args, kwargs)

    def parts_of(self, body: Callable, args: tuple, kwargs: dict) -> Any:
        """Return the result of a function that is made of others, which are recorded."""
        if is_of_rooms(body) and is_quiet(args) and is_quiet([*kwargs.values()]):
            return body(*args, **kwargs)
        return watched(self, body, args, kwargs)

    def apply(self, op: Op, call: Call) -> Value:
        raise LevelError(f"{op.name} has no call to record; call it before, and pass the result in")

    def missing(self, func: Callable, args: tuple, kwargs: dict) -> Any:
        return self.record(func, args, kwargs)

    # ---- answers ----

    def guard_form(self, op: Op, call: Call) -> None:
        """Note the values of the operands on which the form of a result depends."""
        for i in call.telling():
            x = call.operands[i]
            if type(x) is self.cls:
                name = "x[...]" if op.func is operator.getitem else f"{op.name}(...)"
                self.guard(x, f"which sets the shape of {name}")

    def guard(self, x: Tensor, how: str) -> np.ndarray:
        """Note that the program holds for this value of `x` alone; return it."""
        value, node = x.parts()
        known = self.known_values.setdefault(node, np.array(value))
        self.answers.append(Guard(node, how, known, self.where_now()))
        return known

    def guard_sizes(self, made: Any) -> None:
        """Note the sizes of the results of a function that is made of others."""
        for y in made if type(made) in (tuple, list) else (made,):
            self.answers.append(Guard(y.parts()[1], "size", y.size, self.where_now()))

    def guard_place(self, x: Tensor) -> None:
        """Note the indices that tell which part of an array `x` shows, as it is written to."""
        waiting, seen = [x.parts()[1]], set()
        while waiting:
            node = waiting.pop()
            if node in seen or node.func is None or is_fresh(node):
                continue
            seen.add(node)
            source = node.args[0].form.dtype if node.func is np.imag and node.args else None
            if source is not None and source.kind != "c":
                raise ValueError(
                    f"{self}: assignment destination is read-only: the imaginary part of a real "
                    f"array; write y = x.copy() first"
                )
            for part in self.movable.get(node, ()):
                self.guard(part, "which selects a view that is written to")
            waiting += node.parents()

    def guard_inside(self, x: Tensor) -> None:
        """Note the value of a tensor, or those of all examples of one of an inner level."""
        if type(x) is self.cls:
            self.guard(x, "which a set or a dict uses as a key")
            return
        value: Any = x
        while type(value) is not self.cls:
            value = settle(value) if type(value) is Array else value.parts()[0]
        self.guard(value, "with all of its examples")

    def convert(self, x: Tensor, how: str | Callable, *args: Any) -> Any:
        value, node = x.parts()
        if how is bool or how is int or how is round or how == "__index__":
            try:
                found = round(value) if how is round else super().convert(x, how)
            except (ValueError, OverflowError) as error:  # of a NaN, or of infinity
                self.note_error(error, how if callable(how) else operator.index, (x,), {})
                raise
            name = how if isinstance(how, str) else how.__name__
            self.answers.append(Guard(node, name, found, self.where_now()))
            return found
        if how == "format":
            return self.text(x, "format", *args)
        if how == "numpy.asarray" and x.dtype.kind in "biu" and takes_items():
            return self.guard(x, "which selects items of an array")
        if type(value) is int and (how is float or how is complex):
            return how(number(self, x))
        if self.samples.have_plain(x):
            return self.samples.answer(value, how, *args)
        return super().convert(x, how, *args)

    def repr(self, x: Tensor) -> str:
        if self.live and type(x) is self.cls and type(x.parts()[0]) is int:
            return repr(number(self, x))
        return Level.repr(self, x)  # also of a level that has ended

    def refuse_observer(self) -> None:
        """Raise where a mode or a debugger is on, as a later call would make no calls for it."""
        raise self.refusal(
            LevelError,
            "a mode or a debugger is on, and later calls of the program would not have it; trace "
            "outside of its with block, or put that around a call of functier.compile(f), which "
            "runs f itself then",
        )

    def elem(self, x: Tensor) -> Any:
        return self.unwrap(x, "x.elem(), as no_dispatch has it,")

    def unwrap(self, x: Any, what: str = "unwrap") -> Any:
        how = "return x from the function, or print it by functier.debug.show(x)"
        raise self.refusal(LevelError, f"{what} would take a value out of the program; {how}")

    # ---- loops that the function says are loops ----

    plain = asked  # an argument with its integers as they are, which is an answer

    @property
    def repeats(self) -> bool:
        """True where a step may be recorded for all: what the function reads is watched."""
        return self.reads is not None and self.live

    @unwatched
    def sample(self, *given: Any) -> Sampled | None:
        return self.samples.begin(*given)

    @unwatched
    def repeat(self, samples: list[Sampled], *given: Any) -> Any:
        return repeat(self, samples, *given)

    # ---- where it happened ----

    def where_now(self) -> Any:
        """Return the place of the user's line that runs; it is one as long as the watch is off."""
        here = self.here
        if here is ANYWHERE:
            return place_of(current_frame(1))
        if type(here) is Frame:
            self.here = here = place_of(here)
        return here

    def graph(self, outputs: list) -> Graph:
        """Return what was recorded, with these outputs."""
        mark_first(self.nodes)
        self.check_constants()
        returned = [self.returned(y) if type(y) is ndarray else self.symbol(y) for y in outputs]
        self.answers, returned = self.samples.settle(self.nodes, self.answers, returned)
        extra = [x.parts()[1] for _, x in self.captured.values()]
        inputs = [*self.inputs, *extra]
        nodes = [*inputs, *self.nodes[len(self.inputs) :]]
        found = Graph(nodes, inputs, returned, self.answers)
        found.reasons = self.samples.reasons
        return found

    def trust(self, values: list, finite: bool) -> None:
        """Note values that were finite, or that there was one that was not: see `is_trusted`."""
        self.careful = self.careful or not finite
        self.trusted += [x.parts()[1] for x in values]

    def returned(self, x: ndarray) -> Any:
        """Return what stands for a plain array that the function returns."""
        return found if type(found := self.constant(x)) is Node else copy_of(x)


_methods: Any = Tensor
REFLECTED = _methods.__rdivmod__
PYTHON: dict[Any, Callable] = {
    _methods.__round__: round, _methods.__divmod__: divmod, REFLECTED: divmod,
}  # fmt: skip
"""Methods by which Python calls functions of numbers."""
