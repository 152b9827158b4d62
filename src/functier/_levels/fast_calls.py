"""Fast calls: functions that compute the commonest operations at the levels of one kind.

NOTE [whose operand is it]
    Both operands may be tensors of one level, or one of them; the other is then a plain value or
    a tensor of a level around. All other cases go to the slow path. Only this file makes the
    distinction, and each kind of level has the code for each case. A function call in between
    would cost 5 to 10 % of an operation. So the code of a kind is source text, which is put into
    a template and compiled when the first level of the kind is made.

A text refers to the operands and their classes by the names in the template; all other objects
that it needs are passed by name. Tracebacks show its lines.
"""

import linecache
import operator
import re
import sys
from collections.abc import Callable, Collection
from textwrap import dedent, indent
from typing import Any

import numpy as np

from .._core.errors import ConversionError, EscapedTensorError, hide_own
from .._core.methods import COMPARISON as COMPARING
from .._core.numpy_facts import VALUES
from .._core.tensor import Tensor
from .._cpython.code import title_of_code
from .._cpython.frames import (
    USERS,
    caller_of,
    code_at,
    current_frame,
    file_at,
    is_users,
    package_at,
)
from .._cpython.functions import BETWEEN, OWN_CODE, SOURCES
from .lineage import encloses, level_in
from .operands import is_anywhere, known
from .views import note_point

UNARY = """
def maker({parameters}):
    def call(x):
        try:
            cls = type(x)
            level = cls.level
            if type(level) is not KIND:
                return level.unary(func, x)
            y = new(cls)
            {body}
            return y
        except Escaped as error:
            hide_own(error)
            raise

    return call
"""

OF_LEVEL = """
level = {0}.level
if type(level) is not KIND:
    return level.binary(func, a, b)
"""

BINARY = """
def maker({parameters}):
    def call(a, b):
        try:
            cls, other = type(a), type(b)
            if other is cls:
                {of_a}
                {both}
            elif other in VALUES:
                {of_a}
                {left}
            elif cls in VALUES:
                {of_b}
                {right}
                cls = other
            elif encloses(other, cls):
                {of_a}
                {left_inner}
            elif encloses(cls, other):
                {of_b}
                {right_inner}
                cls = other
            else:
                return level_in(a, b).binary(func, a, b)
            z = new(cls)
            {result}
            return z
        except Escaped as error:
            hide_own(error)
            raise

    return call
"""

GETITEM = """
def maker({parameters}):
    def with_dots(x, index):
        cls = type(x)
        level = cls.level
        parts = index if type(index) is tuple else (index,)
        for part in parts:
            if type(part) not in PARTS and part is not Ellipsis and part is not None:
                return level.getitem(x, index)
        y = new(cls)
        {body}
        return note_point(level, x, y) if {without_axes} else y

    def call(x, index):
        try:
            cls = type(x)
            level = cls.level
            if type(level) is not KIND:
                return level.getitem(x, index)
            parts = index if type(index) is tuple else (index,)
            for part in parts:
                if type(part) not in PARTS:
                    if part is Ellipsis or part is None:
                        return with_dots(x, index)
                    return level.getitem(x, index)
            y = new(cls)
            {body}
            return y
        except Escaped as error:
            hide_own(error)
            raise

    return call
"""

WITHOUT_AXES = "isinstance(y._value, Tensor) and not y._value.ndim"
"""The question of `FastCalls.getitem` where a tensor has the axes of its value."""


COMPARED = [getattr(operator, name) for name in COMPARING]
PLAIN_NUMBERS = frozenset({float, int, np.float64})
COMPARISON = {
    "both": "return func(a._value, b._value)",
    "left": """
        if other not in PLAIN_NUMBERS:
            return level.binary(func, a, b)
        return func(a._value, b)
    """,
    "right": """
        if cls not in PLAIN_NUMBERS:
            return level.binary(func, a, b)
        return func(a, b._value)
    """,
    "left_inner": "return func(a._value, b)",
    "right_inner": "return func(a, b._value)",
    "result": "",
}
"""The comparisons of a kind whose tensors have derivatives, which truth values have not."""


EQUALITY = {
    case: re.sub(
        r"return (func.*)",
        r"found = \1\nif found is same or found is also or isinstance(found, Tensor):\n"
        r"    if file_at(current_frame(1)) not in USERS:\n"
        r"        meet(found, same, a, b)\nreturn found",
        dedent(text),
    )
    for case, text in COMPARISON.items()
}
"""Those that ask whether two numbers are the same, which the own code of a library must not."""


LIBRARIES = {"scipy"}
"""Libraries whose functions may run on tensors as they are, and not by copies alone."""


def meet(found: Any, same: bool, *operands: Any) -> None:
    """Refuse the code of NumPy and SciPy that computes another formula at a single number.

    There the derivative of that formula is not that of the function. A constant may be such.
    A level around may have several numbers, of which one is enough, or note the question.
    """
    frame = current_frame(2)
    if is_users(file_at(frame)):  # asked once for a file
        return
    while id(code := code_at(frame)) in BETWEEN:
        frame = caller_of(frame)
    if SOURCES:  # a trace has been made: to look up a code takes as long as the rest
        code = SOURCES.get(code, code)
    if id(code) not in OWN_CODE and package_at(frame) not in LIBRARIES:
        return
    if isinstance(found, Tensor) and found.ndim:
        return
    for x in operands if is_anywhere(found, same) else ():
        while isinstance(x, Tensor):
            level = type(x).level
            if level.differentiates and level.moves(x):
                raise level.refusal(
                    ConversionError,
                    f"{title_of_code(code)} computes another formula where two numbers are the "
                    f"same, which are here, and its derivative is not that of the function; pass "
                    f"a number beside that one, or one that is not differentiated: "
                    f"functier.stop_gradient(x)",
                )
            x = x._value


SAME: dict[Callable, tuple] = {operator.eq: (True, np.True_), operator.ne: (False, np.False_)}
"""The results of the operators for numbers that are the same."""
MET = "\nif isinstance(x, Tensor) or isinstance(y, Tensor): meet(z, same, a, b)"
"""The end of these operators of a level that does not differentiate, for values `x` and `y`."""


class FastCalls:
    """Makers of the fast calls of one kind of level.

    A maker takes `parameters`, which are a function and facts about it, and returns the fast
    call. `names` are the objects that the texts refer to.
    """

    def __init__(self, kind: type, **names: Any):
        asked = {"meet": meet, "USERS": USERS, "file_at": file_at}
        self.kind = kind
        self.names = {"Tensor": Tensor, "current_frame": current_frame, **asked, **names}

    def unary(self, parameters: str, body: str) -> Callable:
        """Return the maker of calls ``y = func(x)`` for a tensor `x` of `level`."""
        return self._maker("unary", UNARY, {"parameters": parameters, "body": body})

    def binary(self, parameters: str, bodies: dict[str, str]) -> Callable:
        """Return the maker of calls with two operands: ``z = func(a, b)``.

        Tensors of `level` are `both` operands, or the `left`, or the `right` one; the other is
        then a plain value. Where a tensor of a level around needs other code than a plain
        value, it is in `left_inner` and `right_inner`. The `result` comes after each of these.
        """
        return self._ladder("binary", VALUES, parameters, bodies)

    def comparisons(self) -> dict[Callable, Callable]:
        """Return the calls of the operators that compare, of a level that differentiates."""
        names = {"PLAIN_NUMBERS": PLAIN_NUMBERS}
        make = self._ladder("comparison", VALUES, "func", COMPARISON, **names)
        equality = self._ladder("equality", VALUES, "func, same, also", EQUALITY, **names)
        return {f: equality(f, *SAME[f]) if f in SAME else make(f) for f in COMPARED}

    def product(self, parameters: str, bodies: dict[str, str]) -> Callable:
        """Return the maker of products of matrices, whose operands cannot be numbers."""
        return self._ladder("product", {np.ndarray}, parameters, bodies)

    def getitem(
        self, parameters: str, parts: Collection[Any], body: str, without_axes: str
    ) -> Callable:
        """Return the maker of calls ``y = x[index]`` for a tensor `x` of `level`, at an index
        whose parts are of the types `parts`, an Ellipsis or None. Then a `y` that is `without_axes`
        may be an array in NumPy, and no scalar.
        """
        texts = {"parameters": parameters, "body": body, "without_axes": without_axes}
        return self._maker(
            "getitem", GETITEM, texts, PARTS=parts, note_point=note_point, Tensor=Tensor,
            known=known,
        )  # fmt: skip

    def _ladder(
        self, name: str, values: Collection[Any], parameters: str, bodies: dict[str, str],
        **names: Any,
    ) -> Callable:  # fmt: skip
        texts = {
            "left_inner": bodies["left"], "right_inner": bodies["right"], **bodies,
            "parameters": parameters, "of_a": OF_LEVEL.format("cls"),
            "of_b": OF_LEVEL.format("other"),
        }  # fmt: skip
        names |= {"VALUES": values, "encloses": encloses, "level_in": level_in}
        return self._maker(name, BINARY, texts, **names)

    def _maker(self, name: str, template: str, texts: dict[str, str], **names: Any) -> Callable:
        """Return the function that a template defines, with `texts` inserted.

        In the call stack it is a function of the kind's module, in a file beside it. By that
        messages and debugging tell the frames of functier from those of the user.
        """
        source = re.sub(r"( *)\{(\w+)\}", lambda at: _indent(texts[at[2]], at[1]), template)
        module = self.kind.__module__
        file = f"{sys.modules[module].__file__} ({name} of {self.kind.__name__})"
        linecache.cache[file] = len(source), None, source.splitlines(True), file
        space: dict[str, Any] = {"__name__": module, "KIND": self.kind, "new": object.__new__}
        space |= {"Escaped": EscapedTensorError, "hide_own": hide_own}
        space |= names | self.names
        exec(compile(source, file, "exec"), space)
        return space["maker"]


def _indent(text: str, margin: str) -> str:
    return indent(dedent(text).strip(), margin)
