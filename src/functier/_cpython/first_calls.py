"""Functions that get other code at their first call.

NOTE [the first call]
    Most functions of a package never run, and changing code takes most of the time of an adoption.
    So a function gets code that waits: it has the parameters, the variables and the place of the
    function's own. Its first call has the other code made, which all functions with it get, and
    calls a function of that code with what it was given. Who reads the code of a function by this
    room has it made as well.
"""

import sys
from collections.abc import Callable, Iterable
from functools import lru_cache, wraps
from types import CodeType, FunctionType
from typing import Any

from .code import WAITING, made_code
from .frames import code_at, current_frame, globals_at

SUSPENDED = 0x2A0
"""The flags of generators and coroutines, which begin later than they are called."""
MORE, WORDS = 4, 8
"""The flags of code that takes any arguments, and any keywords."""
KEPT = "co_filename co_name co_qualname co_firstlineno".split()
"""The attributes that waiting code has of the code that it stands for."""


FRAMES = "currentframe", "f_back"
"""Names of what code may reach its callers by, from frame to frame."""


def is_waiting(code: CodeType) -> bool:
    """Tell if code waits for a first call."""
    return id(code) in WAITING


def may_wait(code: CodeType) -> bool:
    """Tell if code can be made at the first call."""
    return not code.co_flags & SUSPENDED and not any([name in FRAMES for name in code.co_names])


def wait(code: CodeType, first: str, make: Callable[[CodeType], CodeType]) -> CodeType:
    """Return code that stands for another one until `make` has returned the one that is to run.

    The global of the name `first` is called with this code, and returns `function_of_caller`.
    """
    positional, only, named = code.co_argcount, code.co_posonlyargcount, code.co_kwonlyargcount
    more, words = bool(code.co_flags & MORE), bool(code.co_flags & WORDS)
    free = code.co_freevars
    made, keywords = _waiting(positional, only, named, more, words, len(free))
    variables = code.co_varnames[: positional + named + more + words]
    renamed: dict[Any, Any] = dict(zip(keywords, variables[positional:]))
    renamed[keywords] = tuple(renamed.values())
    renamed[0.5] = code
    consts = [c if isinstance(c, CodeType) else renamed.get(c, c) for c in made.co_consts]
    made = made.replace(
        co_names=(first,), co_varnames=variables, co_freevars=free, co_consts=tuple(consts),
        **{name: getattr(code, name) for name in KEPT},
    )  # fmt: skip
    WAITING[id(made)] = made, code, make
    return made


@lru_cache(None)
def _waiting(
    positional: int, only: int, named: int, more: bool, words: bool, free: int
) -> tuple[CodeType, tuple[str, ...]]:
    """Return waiting code with these numbers of parameters, and the names of its keywords."""
    before = [f"p{i}" for i in range(positional)]
    keywords = tuple([f"k{i}" for i in range(named)])
    cells = [f"c{i:04}" for i in range(free)]
    taken = [*before[:only], *["/"] * bool(only), *before[only:]]
    taken += ["*m"] * more + ["*"] * (named and not more) + [*keywords] + ["**w"] * words
    given = [*before, *["*m"] * more, *[f"{k}={k}" for k in keywords], *["**w"] * words]
    text = (
        f"def outer({', '.join(cells)}):\n"
        f"    def waiting({', '.join(taken)}): "
        f"return first(0.5, lambda: ({''.join([f'{c}, ' for c in cells])}))({', '.join(given)})\n"
    )
    outer = _code_in(compile(text, "<functier waiting>", "exec"))
    return _code_in(outer), keywords


def _code_in(code: CodeType) -> CodeType:
    return next(x for x in code.co_consts if isinstance(x, CodeType))


def function_of_caller(make: Callable[[dict], CodeType], cells: Any) -> Any:
    """Return a function of the code that is to run instead of the caller's caller.

    `cells` is a function that closes over the same variables. `make` makes the code where nobody
    waits for it, as in a copy that another process has loaded.
    """
    frame = current_frame(2)
    code, names = code_at(frame), globals_at(frame)
    made = made_code(code) if is_waiting(code) else make(names)
    return FunctionType(made, names, None, None, cells.__closure__)


@wraps(sys._getframe)
def caller_at(depth: int = 0, /) -> Any:
    """Do as `sys._getframe`, for code whose callers may wait."""
    return sys._getframe(depth_of(depth) + 1)


LOOKING = {"_getframe": caller_at}
"""The functions of `sys` that look at callers, and what adopted code calls for them."""


def depth_of(depth: int) -> int:
    """Return how far the n-th caller of who asks a function for it is, with what waits among them.

    Code that looks at its callers' frames at will is none that waits: see `may_wait`.
    """
    frame, found = current_frame(2), 0
    while frame is not None and depth > 0:
        frame, found = frame.f_back, found + 1
        depth -= frame is None or not is_waiting(code_at(frame))
    return found + max(depth, 0)


def stop_waiting(numbers: Iterable[int]) -> None:
    """Forget waiting code with these numbers, which no function has any more."""
    for number in numbers:
        WAITING.pop(number, None)
