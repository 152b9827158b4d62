"""Code that tells what it reads: it does what the plain code does, and tells each thing first."""

import asyncio
import bisect
import copy
import dis
import gc
import importlib.util
import inspect
import json
import sys
import textwrap
import traceback
import types

import pytest

from functier._cpython import assembly
from functier._cpython import observed as module
from functier._cpython.assembly import ENDS
from functier._cpython.events import MISSING, Events
from functier._cpython.observed import observed
from support.basics import raises

pytestmark = pytest.mark.inside(
    "Observed code is compared with the code, instruction by instruction."
)

NAMES = [name for name in vars(Events) if not name.startswith("_")]


def short(x):
    """A value as a word of a test: no addresses."""
    if isinstance(x, types.CellType):
        return "cell"
    if isinstance(x, tuple):
        return "(" + ", ".join(map(short, x)) + ")"
    if isinstance(x, dict):
        return "{" + ", ".join(f"{k}: {short(v)}" for k, v in x.items()) + "}"
    named = getattr(x, "__name__", None)
    if isinstance(x, types.MethodType):
        return f"{short(x.__self__)}.{named}"
    if named is not None:
        return named
    if type(x).__module__ == "builtins":
        return "missing" if x is MISSING else repr(x).partition(" at 0x")[0]
    return f"a {type(x).__name__}"


class Log(Events):
    """Notes each event that depends on no version of Python.

    That is: not the truth of a bool, and not the call of a comprehension, a function until 3.11.
    """

    def __init__(self):
        self.lines = []


def noting(name):
    def note(self, *args):
        if name == "truth" and type(args[0]) is bool:
            return
        if name == "called" and getattr(args[0], "__name__", "")[-5:] == "comp>":
            return
        self.lines.append(" ".join([name, *map(short, args)]))

    return note


class Count(Events):
    """Counts events."""

    told = 0


def counting(self, *args):
    self.told += 1


for _name in NAMES:
    setattr(Log, _name, noting(_name))
    setattr(Count, _name, counting)


def copied(function, events):
    """A function with the same closure and defaults, whose code is observed."""
    made = types.FunctionType(
        observed(function.__code__, events), function.__globals__, function.__name__,
        function.__defaults__, function.__closure__,
    )  # fmt: skip
    made.__kwdefaults__ = function.__kwdefaults__
    return made


def outcome(function, args):
    """The result or the error of a call, and the places of the traceback in this file."""
    try:
        result = function(*args)
        if inspect.isgenerator(result):
            result = list(result)
        if inspect.iscoroutine(result):
            result = asyncio.run(result)
        return "result", result
    except Exception as error:
        places = traceback.extract_tb(error.__traceback__)
        where = [(x.name, x.lineno, x.end_lineno, x.colno, x.end_colno) for x in places]
        return type(error), str(error), where[1:], short(error.__cause__), short(error.__context__)


class Thing:
    """Has attributes and items, may be entered, called and awaited."""

    name = "n"
    __match_args__ = ("name",)

    def __init__(self, name="n"):
        self.name = name

    def __eq__(self, other):
        return type(other) is Thing and vars(other) == vars(self)

    __hash__ = None

    def method(self, *args, **kwargs):
        return args, kwargs

    def __enter__(self):
        return self

    def __exit__(self, *error):
        return error[0] is KeyError

    async def __aenter__(self):
        return self

    async def __aexit__(self, *error):
        return False

    def __aiter__(self):
        self.left = [1, 2]
        return self

    async def __anext__(self):
        if not self.left:
            raise StopAsyncIteration
        return self.left.pop()

    def __format__(self, spec):
        return f"thing {spec}"


CASES = []


def case(*args, tells=None):
    """A function of the table, its arguments, and the lines of its events if they are listed."""

    def add(function):
        CASES.append(pytest.param(function, args, tells, id=function.__name__))
        return function

    return add


def twice(x):
    return 2 * x


free = 5
written = 0


# ---- what each instruction tells ----


@case([1, 2], tells=["item [1, 2] 1", "operands 2 1"])
def items(x):
    return x[1] + 1


@case([1, 2, 3], tells=["item [1, 2, 3] slice(0, 2, None)", "item [1, 2, 3] slice(0, 3, 2)"])
def slices(x):
    return x[0:2], x[0:3:2]


@case(Thing(), tells=["attribute a Thing 'name'", "attribute 'n' 'upper'", "called upper () {}"])
def methods(x):
    return x.name.upper()


@case(Thing(), tells=["attribute a Thing 'method'", "called a Thing.method (1, 2) {key: 3}"])
def keywords(x):
    return x.method(1, 2, key=3)


@case(3, tells=["called twice (3) {}", "called dict () {a: 1, b: 3}"])
def calls(x):
    return twice(x), dict(a=1, b=x)


@case(
    [3], {"end": ""},
    tells=[
        "contents [3]", "called twice (3) {}",
        "contents {end: ''}", "contents [3]", "called print (3) {end: ''}",
    ],
)  # fmt: skip
def stars(x, named):
    return twice(*x), print(*x, **named)


@case(iter([4]), tells=["contents <list_iterator object", "called twice (4) {}"])
def star_of_an_iterator(x):
    return twice(*x)


@case(2, 3, tells=["operands 2 3", "operands 2 3", "operands 2", "operands 2", "operands 3"])
def operators(x, y):
    return x * y, x < y, -x, ~x, +y


@case([], None, tells=["operands 1 []", "same None None", "same [] None", "same [] None"])
def identities(x, y):
    return 1 in x, y is None, x is y, (1 if x is None else 2)


@case([], 1, tells=["truth []", "truth 1", "truth []", "truth []", "truth 1"])
def truths(x, y):
    if x or y:
        return not x, x and y, 2 if y else 3


@case([1, 2], tells=["contents [1, 2]", "contents [1, 2]", "contents [1, 2]"])
def unpackings(x):
    a, b = x
    c, *d = x
    return a, b, c, d, [*x]


@case(
    [1, 2], {"a": 1},
    tells=[
        "contents [1, 2]", "contents {a: 1}", "operands len print",
        "contents [1, 2]", "operands (1, 2)",
    ],
)  # fmt: skip
def displays(x, named):
    return {*x}, {**named}, {len: 1, print: 2}, {(*x,): 4}


@case(
    free,
    tells=[
        "stores_cell cell 6", "called inner () {}",
        "cell cell", "cell cell", "operands 6 5", "stores_cell cell",
    ],
)  # fmt: skip
def cells(x):
    y = 6

    def inner():
        nonlocal y
        z = y + x
        del y
        return z

    return inner()


@case(tells=["stores_global 'written' 3", "called globals () {}", "stores_global 'written'"])
def global_names():
    global written
    written = 3
    globals()
    del written


@case({}, tells=["stores_item {} 'a' 1", "deletes_item {a: 1} 'a'"])
def stored_items(x):
    x["a"] = 1
    del x["a"]
    return x


@case([1, 2, 3], tells=["stores_item [1, 2, 3] slice(1, None, None) [7]"])
def stored_slices(x):
    x[1:] = [7]
    return x


@case(Thing(), tells=["stores_attribute a Thing 'more' 1", "deletes_attribute a Thing 'more'"])
def stored_attributes(x):
    x.more = 1
    del x.more


@case(
    tells=[
        "imports 'os.path' None 0", "attribute os 'path'",
        "imports 'json.decoder' ('JSONDecoder') 0", "attribute json.decoder 'JSONDecoder'",
    ],
)  # fmt: skip
def imports():
    import os.path as where
    from json.decoder import JSONDecoder

    return JSONDecoder, where


@case(Thing(), tells=["contents a Thing", "contents a Thing"])
def texts(x):
    return f"{x} {x:>3}"


@case(Thing(), tells=["contents a Thing", "called a Thing.__exit__ (None, None, None) {}"])
def contexts(x):
    with x as y:
        pass
    return y


@case([1, 2, 3], tells=["contents [1, 2, 3]", *["operands 2 1", "operands 2 2", "operands 2 3"]])
def comprehensions(x):
    return [2 * i for i in x]


# ---- what functions do ----


@case(Thing())
def swallowing(x):
    with x:
        raise KeyError(1)
    return "after"


@case(Thing())
def passing_through_with(x):
    with x, x:
        raise ValueError([1][0], twice(1))


@case(2)
@case(0)
@case("a")
def tried(x):
    found = []
    try:
        try:
            found.append(1 / x)
        except ZeroDivisionError as error:
            found.append(error.args)
            raise KeyError("k") from error
        else:
            found.append("else")
        finally:
            found.append("finally")
    except (KeyError, IndexError) as error:
        found.append(short(error.__cause__))
    return found


@case()
def raised_class():
    raise ValueError


@case()
def groups():
    try:
        raise ExceptionGroup("g", [ValueError(1), TypeError(2)])
    except* ValueError as group:
        found = group.exceptions
    except* TypeError as group:
        found = found, group.exceptions
    return short(found)


@case(3)
@case("no")
def generators(n):
    def numbers():
        sent = yield from range(n)
        try:
            yield sent
        finally:
            yield "finally"

    return [*numbers(), *(2 * i for i in numbers() if i)]


@case()
def thrown():
    def numbers():
        while True:
            try:
                yield 1
            except KeyError as error:
                yield error.args

    def outer():
        yield from numbers()

    made = outer()
    return next(made), made.throw(KeyError(1)), next(made), made.close()


@case(Thing())
async def asynchronous(x):
    found = []
    async with x as y:
        async for i in y:
            found.append(i)
    await asyncio.sleep(0)
    return found, [2 * i async for i in x], await asyncio.gather(asyncio.sleep(0, 3))


@case([1, 2, 3])
@case([])
@case(["go", "north"])
@case({"a": 1, "b": [2]})
@case(Thing("other"))
@case(Thing())
@case(3)
def matched(x):
    match x:
        case []:
            return "empty"
        case ["go", where]:
            return where
        case [first, *rest] if rest:
            return first, rest
        case {"a": 1, **rest}:
            return rest
        case Thing("n") | Thing(name="m"):
            return "named"
        case Thing(name=other):
            return other
        case int(n) if (m := n + 1) > 3:
            return m


@case(2)
def classes(x):
    class Base:
        y = x

        def __init__(self, z=1):
            self.z = z

        def method(self):
            return self.z, __class__.__name__

        @property
        def doubled(self):
            return 2 * self.z

        @classmethod
        def make(cls, **named):
            return cls(**named)

    class Inner(Base):
        y = tuple([i + x for i in range(Base.y)])

        def method(self):
            return super().method()[0], super().doubled, [super().doubled]

    return Inner.make(z=4).method(), Base().method(), Inner.y, Inner.__qualname__


@case(3)
def loops(n):
    found = []
    for i in range(n):
        for j in range(n):
            if j == 2:
                break
            if i == j:
                continue
            found.append((i, j))
        else:
            found.append("else")
    while n:
        n -= 1
        if n == 1:
            break
    else:
        return None
    return found, n


@case([1, 2, 3])
def comprehensions_with_closures(x):
    i = 7
    return [(lambda: i)() for i in x], {i: j for i in x for j in x if i < j}, {i % 2 for i in x}, i


@case(4)
def decorated(x):
    @twice.__call__
    @(lambda f: f(3))
    def y(z, *, w=x):
        return z + w

    return y


@case(1)
@case(2)
def asserted(x):
    assert x == 2, f"it is {x!r} {x!s:>3}"
    return x


@case()
def unbound():
    if not free:
        later = 1
    return later


@case()
def unbound_cell():
    def inner():
        return later

    inner()
    later = 1


@case(Thing())
def missing_attribute(x):
    return (
        x
        .absent(1)
    )  # fmt: skip


@case(3)
def called_wrongly(x):
    return twice(x, x=x)


@case(3)
def starred_wrongly(x):
    return twice(*x)


@case(3)
def double_starred_wrongly(x):
    return twice(**x)


@case([0, 1, 2])
def walrus(x):
    return [y for i in x if (y := i * 2)], (z := len(x)), z


@case(3)
def recursive(n):
    def down(k):
        return 1 / 0 if k == 0 else down(k - 1)

    return down(n)


def large(n):
    """A function with more constants, names and distances than a byte counts."""
    lines = [f"    y += {1000 + i} if x.a{i % 300} > {i} else twice({2000 + i})" for i in range(n)]
    body = "\n".join(lines)
    text = f"def large(x):\n  y = 0\n  for i in x:\n{body}\n  return y"
    space = {"twice": twice}
    exec(text, space)
    return space["large"]


class Many(list):
    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return int(name[1:])


CASES.append(pytest.param(large(20), (Many([1, 2]),), None, id="large"))
CASES.append(pytest.param(large(600), (Many([1, 2]),), None, id="larger"))


KEPT = "argcount name qualname filename firstlineno flags names varnames cellvars freevars"


@pytest.mark.parametrize(("function", "args", "tells"), CASES)
def test_observed_code_does_the_same_and_tells(function, args, tells):
    log = Log()
    made = copied(function, log)

    plain = outcome(function, copy.deepcopy(args))
    assert outcome(made, copy.deepcopy(args)) == plain
    if tells is not None:
        assert log.lines == tells
    for name in KEPT.split():
        assert getattr(made.__code__, f"co_{name}") == getattr(function.__code__, f"co_{name}")


@pytest.mark.skipif(sys.version_info < (3, 12), reason="it is a call and an attribute")
def test_super_is_told():
    class Sub(Thing):
        def method(self):
            return super().method(1)

    log = Log()
    Sub.method = copied(Sub.method, log)

    assert Sub().method() == ((1,), {})
    assert log.lines == [
        "cell cell",
        "super_attribute Sub a Sub 'method'",
        "called a Sub.method (1) {}",
    ]


@pytest.mark.skipif(sys.version_info < (3, 12), reason="it is a call and an attribute")
def test_another_super_is_refused():
    space = {"super": lambda *args: Thing()}
    exec("class Sub:\n def method(self):\n  return super().name", space)

    assert space["Sub"]().method() == "n"
    space["Sub"].method = copied(space["Sub"].method, Events())
    raises(NotImplementedError, lambda: space["Sub"]().method(), "the name super is not Python's")


def test_classes_that_are_raised_and_calls_at_the_end_of_with_are_told():
    log = Log()

    def raising(x):
        with x:
            raise KeyError from ValueError

    copied(raising, log)(Thing())
    assert log.lines[:3] == ["contents a Thing", "called KeyError () {}", "called ValueError () {}"]
    assert log.lines[3].startswith("called a Thing.__exit__ (KeyError, KeyError(), ")


def test_docstrings_and_lambdas_without_constants_keep_what_they_are():
    def documented(x):
        """Says so."""
        return x.name

    def outer():
        return lambda x: x.name

    assert copied(documented, Events()).__doc__ == "Says so."
    assert copied(outer, Events())().__doc__ is None


def test_an_event_may_raise():
    """It passes through the code at that place, and is caught as any exception is."""

    class Stop(BaseException):
        pass

    class Stopping(Events):
        def item(self, owner, key):
            raise Stop

    def reading(x):
        try:
            return (
                x[0]
            )  # fmt: skip
        finally:
            x.append("finally")

    x = [1]
    with pytest.raises(Stop) as caught:
        copied(reading, Stopping())(x)
    line = reading.__code__.co_firstlineno + 3
    assert [entry.lineno + 1 for entry in caught.traceback][1] == line
    assert x == [1, "finally"]


class Stop(BaseException):
    """Raised by an event."""


class Stopping(Count):
    """Raises at one event."""

    def __init__(self, last):
        self.last = last


def stopping(self, *args):
    self.told += 1
    if self.told == self.last:
        raise Stop


for _name in NAMES:
    setattr(Stopping, _name, stopping)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")  # coroutines that nobody awaits
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize(("function", "args", "tells"), [x for x in CASES if x.id != "larger"])
def test_each_event_may_raise(function, args, tells):
    """Handlers find the stack that they need, wherever it is."""
    plain, last, stopped = outcome(function, copy.deepcopy(args)), 0, True
    while stopped and last < 50:
        last += 1
        stop = Stopping(last)
        made = copied(function, stop)
        try:
            found = outcome(made, copy.deepcopy(args))
        except (Stop, BaseExceptionGroup):
            continue
        stopped = stop.told >= last
        assert stopped or found == plain
    assert last > 1
    gc.collect()  # of these coroutines, whose warnings are no other test's


def test_lines_are_traced_as_before():
    def lines_of(function, args):
        found = []

        def trace(frame, event, arg):
            if frame.f_code.co_filename != __file__ or frame.f_code.co_name in EVENTS:
                return None
            found.append((event, frame.f_code.co_name, frame.f_lineno))
            return trace

        before = sys.gettrace()
        sys.settrace(trace)
        try:
            function(*args)
        finally:
            sys.settrace(before)
        return found

    assert lines_of(copied(loops, Events()), [3]) == lines_of(loops, [3])
    assert lines_of(copied(tried, Events()), [0]) == lines_of(tried, [0])


EVENTS = {"note", *NAMES}


# ---- every instruction ----

QUIET = """
    ASYNC_GEN_WRAP BUILD_CONST_KEY_MAP BUILD_LIST BUILD_SLICE BUILD_STRING BUILD_TUPLE CACHE
    CALL_INTRINSIC_2 CHECK_EG_MATCH CHECK_EXC_MATCH CLEANUP_THROW COPY COPY_FREE_VARS DELETE_FAST
    DELETE_NAME END_ASYNC_FOR END_FOR END_SEND ENTER_EXECUTOR EXIT_INIT_CHECK EXTENDED_ARG FOR_ITER
    GET_ANEXT IMPORT_STAR INTERPRETER_EXIT JUMP_BACKWARD JUMP_BACKWARD_NO_INTERRUPT JUMP_FORWARD
    KW_NAMES LIST_APPEND LIST_TO_TUPLE LOAD_ASSERTION_ERROR LOAD_BUILD_CLASS LOAD_CLOSURE LOAD_CONST
    LOAD_FAST LOAD_FAST_AND_CLEAR LOAD_FAST_CHECK LOAD_FAST_LOAD_FAST LOAD_FROM_DICT_OR_GLOBALS
    LOAD_GLOBAL LOAD_LOCALS LOAD_NAME MAKE_CELL MAKE_FUNCTION NOP POP_EXCEPT POP_TOP PRECALL
    PREP_RERAISE_STAR PRINT_EXPR PUSH_EXC_INFO PUSH_NULL RERAISE RESERVED RESUME RETURN_CONST
    RETURN_GENERATOR RETURN_VALUE SEND SETUP_ANNOTATIONS SET_FUNCTION_ATTRIBUTE STORE_FAST
    STORE_FAST_LOAD_FAST STORE_FAST_STORE_FAST STORE_NAME SWAP YIELD_VALUE
""".split()
"""Those that read nothing but local and global names, and iterators whose beginning is told."""


def test_every_instruction_is_known():
    told = {*module.TOLD, *(dis.opname[x] for x in module.BY_ARGUMENT if x >= 0)}
    told |= {"CALL", "CALL_KW", "CALL_FUNCTION_EX"}
    real = {x for x, n in dis.opmap.items() if n < 256 and not x.startswith("INSTRUMENTED")}
    if sys.version_info >= (3, 13):  # they get a bool
        real -= {"UNARY_NOT", "POP_JUMP_IF_TRUE", "POP_JUMP_IF_FALSE"}

    assert not told & {*QUIET}
    assert not real - told - {*QUIET}


def test_other_versions_of_python_are_refused(monkeypatch):
    monkeypatch.setattr(module, "KNOWN", False)

    with pytest.raises(NotImplementedError, match="the code of items cannot be rewritten"):
        observed(items.__code__, Events())


# ---- the library of Python ----

TEXT = """Code that tells what it reads, before it reads it: a copy of a code object that calls the
methods of an observer. It gives the same results,   exceptions and lines of tracebacks."""


def of_dataclasses(m):
    @m.dataclass(order=True)
    class Point:
        x: int
        y: list = m.field(default_factory=list)

    @m.dataclass(frozen=True, slots=True)
    class Fixed:
        z: int = 3

    less, made = Point(1) < Point(2), m.replace(Point(1), x=4)
    return Fixed(), less, made, m.asdict(Point(1, [2])), len(m.fields(Point))


def of_enum(m):
    class Colour(m.Enum):
        RED = 1
        BLUE = m.auto()

    class Access(m.Flag):
        READ = m.auto()
        WRITE = m.auto()

    return [*Colour], Colour(2), Colour["RED"].value, Access.READ | Access.WRITE, ~Access.READ


def of_contextlib(m):
    found = []

    @m.contextmanager
    def entered(x):
        found.append(x)
        try:
            yield x
        finally:
            found.append(-x)

    with m.ExitStack() as stack, m.suppress(KeyError):
        stack.enter_context(entered(1))
        stack.callback(found.append, 2)
        raise KeyError
    return found


def of_json(m):
    decoder = m.JSONDecoder()
    decoder.parse_string = m.py_scanstring
    decoder.scan_once = json.scanner.py_make_scanner(decoder)
    return decoder.decode('{"a": [1, 2.5, null, "b\\u00e4"], "c": {"d": true}}')


SOURCE = inspect.getsource(textwrap)

BEHAVIOURS = {
    "ast": lambda m: m.unparse(m.parse(SOURCE)),
    "collections": lambda m: (m.Counter(TEXT).most_common(4), m.ChainMap({1: 2}, {3: 4})[3]),
    "contextlib": of_contextlib,
    "copy": lambda m: m.deepcopy({"a": [1, {2, 3}], "b": Thing().name}),
    "dataclasses": of_dataclasses,
    "difflib": lambda m: (
        [*m.ndiff(TEXT.split(), TEXT[9:].split())],
        m.get_close_matches("tell", TEXT.split()),
    ),
    "enum": of_enum,
    "fractions": lambda m: (
        m.Fraction("1.25") + m.Fraction(3, 7) ** -2,
        m.Fraction(3.14159).limit_denominator(100),
    ),
    "functools": lambda m: m.singledispatch(twice)(3),
    "heapq": lambda m: ([*m.merge([1, 4], [2, 3])], m.nsmallest(3, [5, 1, 4], key=lambda x: -x)),
    "json.decoder": of_json,
    "pprint": lambda m: m.pformat({"a": [*range(50)], "b": {"c": TEXT}}, width=40),
    "re._parser": lambda m: str(m.parse(r"(?P<a>\d+)?(?:b|[^c-e]{2,3})*?(?=f)(?P=a)")),
    "shlex": lambda m: m.split("a 'b c' \"d\" e\\ f # g"),
    "statistics": lambda m: (
        m.mean([1, 2, 4]), m.median([3, 1]), m.stdev([1.5, 2, 4]), m.quantiles(range(9)),
        m.NormalDist(1, 2).cdf(0.5), m.linear_regression([1, 2, 3], [2, 4, 7]),
    ),
    "string": lambda m: (
        m.Formatter().format("{0!r:>5} {a[1]}", 3, a=[1, 2]), m.Template("$x").substitute(x=1)
    ),
    "textwrap": lambda m: (m.wrap(TEXT, 30), m.dedent("  a\n   b"), m.shorten(TEXT, 40)),
    "tokenize": lambda m: [*m.generate_tokens(iter(SOURCE.splitlines(True)).__next__)],
    "typing": lambda m: (m.Optional[m.List[int]], m.Union[int, m.Any, str]),
}  # fmt: skip


def code_of(name):
    return importlib.util.find_spec(name).loader.get_code(name)


@pytest.mark.parametrize("name", BEHAVIOURS)
def test_the_library_of_python_does_the_same(name):
    spec, count = importlib.util.find_spec(name), Count()
    made = importlib.util.module_from_spec(spec)
    exec(observed(code_of(name), count), vars(made))

    count.told = 0
    assert repr(BEHAVIOURS[name](made)) == repr(BEHAVIOURS[name](importlib.import_module(name)))
    assert count.told


def codes(code):
    """A code object and all those inside."""
    yield code
    for x in code.co_consts:
        if isinstance(x, types.CodeType):
            yield from codes(x)


def named_call(every, after):
    """Tell if the names of arguments, and a call, come next."""
    rest = [x for x in every if x.offset > after.offset and x.opname != "EXTENDED_ARG"]
    return after.opname == "LOAD_CONST" and rest[0].opname == "CALL_KW"


def without_calls(code):
    """The instructions of `dis` and their places in the source, without the calls of events.

    The value of a jump is the number of the instruction that it goes to.
    """
    found, at, inside, last = [], [], False, ""
    every = [*dis.get_instructions(code)]
    for each, after in zip(every, [*every[1:], None]):
        told = getattr(each.argval, "__self__", None)
        if each.opname == "LOAD_CONST" and isinstance(told, (Events, module._Calls)):
            replaces = each.argval.__name__ in (
                "operates",
                "reads",
                "changes",
                "calls",
                "calls_spread",
            )
            inside, last = True, "UNPACK_SEQUENCE" if replaces else "POP_TOP"
            if not module.EMPTY_ABOVE:
                found.pop()
                at.pop()
        elif each.opname != "EXTENDED_ARG" and not inside:
            value = each.argval.co_name if hasattr(each.argval, "co_name") else each.argval
            found.append([each.opname, value, each.positions, each.opcode in dis.hasjrel])
            at.append(each.offset)
        named = each.opname == last == "UNPACK_SEQUENCE" and named_call(every, after)
        last = "LOAD_CONST" if inside and named else last
        inside = inside and (each.opname != last or named)
    for each in found:
        if each[3]:
            each[1] = bisect.bisect_left(at, each[1])
    return found


def expected(code):
    """The instructions of a plain code object, as those of an observed one should be."""
    found, numbers = [], []
    bits = {"LOAD_ATTR", "LOAD_SUPER_ATTR"} if sys.version_info >= (3, 12) else set()
    flagged = {x.offset for x in dis.get_instructions(code) if x.opname in bits and x.arg & 1}
    bools = "COMPARE_OP" if sys.version_info >= (3, 13) else None
    flagged |= {x.offset for x in dis.get_instructions(code) if x.opname == bools and x.arg & 16}
    offsets = [x.offset for x in dis.get_instructions(code) if x.opname != "EXTENDED_ARG"]
    for (name, value, *rest), offset in zip(without_calls(code), offsets):
        numbers.append(len(found))
        if name == "LOAD_METHOD" or (offset in flagged and name != "COMPARE_OP"):
            found.append(["LOAD_ATTR" if name == "LOAD_METHOD" else name, value, *rest])
            found += [[*x, *rest] for x in PLACE]
        elif offset in flagged:
            found += [[name, value.removeprefix("bool(").rstrip(")"), *rest]]
            found += [["TO_BOOL", None, *rest]]
        else:
            found.append([name, value, *rest])
    numbers.append(len(found))
    for each in found:
        if each[3]:
            each[1] = numbers[each[1]]
    return found


PLACE = [["PUSH_NULL", None], ["SWAP", 2]][: 1 if module.EMPTY_ABOVE else 2]


def deepest(code):
    """Return the most places of the stack that are filled, by `dis` alone, also where errors go."""
    found, given = list(dis.get_instructions(code)), dis.stack_effect(RETURN_GENERATOR)
    number = {use.offset: n for n, use in enumerate(found)}
    begins = any(use.opcode == RETURN_GENERATOR for use in found) and not given
    waiting, depths, most = [(0, int(begins))], {}, 0
    while waiting:
        n, depth = waiting.pop()
        most = max(most, depth)
        if n in depths:
            assert depths[n] == depth, found[n]
            continue
        depths[n] = depth
        use = found[n]
        arg = use.arg if use.opcode >= dis.HAVE_ARGUMENT else None
        waiting += [
            (number[row.target], row.depth + 1 + row.lasti)
            for row in dis._parse_exception_table(code) if row.start <= use.offset < row.end
        ]  # fmt: skip
        if use.opcode in dis.hasjrel:
            jumped = depth + dis.stack_effect(use.opcode, arg, jump=True)
            waiting.append((number[use.argval], jumped))
        if use.opcode not in ENDS:
            waiting.append((n + 1, depth + dis.stack_effect(use.opcode, arg, jump=False)))
    return most


RETURN_GENERATOR = dis.opmap["RETURN_GENERATOR"]


def taken_apart_twice(code):
    """Return the reason why a code object differs from one put together of its instructions."""
    made = assembly.put_together(code, assembly.take_apart(code))
    for name in ("code", "exceptiontable", "stacksize", "consts"):
        assert getattr(made, f"co_{name}") == getattr(code, f"co_{name}")
    assert list(made.co_positions()) == list(code.co_positions())


@pytest.mark.parametrize(
    "name",
    [
        *["textwrap", "shlex", "contextlib", "asyncio.locks"],
        *[
            pytest.param(name, marks=pytest.mark.slow)
            for name in [*BEHAVIOURS, "argparse", "asyncio.base_events", "tarfile", "inspect"]
        ],
    ],
)
def test_code_is_what_it_was_besides_the_calls(name):
    for plain, made in zip(codes(code_of(name)), codes(observed(code_of(name), Events()))):
        taken_apart_twice(plain)
        assert deepest(plain) <= plain.co_stacksize
        assert deepest(made) <= made.co_stacksize
        assert without_calls(made) == expected(plain)
        assert len(made.co_code) > len(plain.co_code) or without_calls(made) == without_calls(plain)


# ---- planted faults ----


def test_a_wrong_jump_is_refused(monkeypatch):
    """Jumps of more than a byte that lose what is above it."""
    code = large(600).__code__
    monkeypatch.setattr(assembly, "_long", lambda argument: 0)

    raises(NotImplementedError, lambda: observed(code, Events()), "cannot be rewritten")


def test_a_stack_that_is_too_small_is_found(monkeypatch):
    code = code_of("shlex")
    assert all(deepest(made) <= made.co_stacksize for made in codes(observed(code, Events())))
    none = property(lambda self: 0, lambda self, extra: None)
    monkeypatch.setattr(module._Copy, "extra", none, raising=False)
    assert any(deepest(made) > made.co_stacksize for made in codes(observed(code, Events())))


def test_a_lost_range_of_a_handler_is_refused(monkeypatch):
    rows, made = assembly._rows, module.Listing

    def losing(instructions, places, handlers):
        return made(instructions, places, handlers[1:])

    with monkeypatch.context() as patch:
        patch.setattr(module, "Listing", losing)
        raises(NotImplementedError, lambda: observed(tried.__code__, Events()), "its stack differs")

    monkeypatch.setattr(assembly, "_rows", lambda table: [*rows(table)][1:])
    with pytest.raises(NotImplementedError, match="when it is put together"):
        observed(tried.__code__, Events())


def test_a_call_that_leaves_something_on_the_stack_is_refused(monkeypatch):
    call = module._call
    monkeypatch.setattr(module, "_call", lambda count: call(count - 1))

    raises(NotImplementedError, lambda: observed(items.__code__, Events()), "its stack differs")


def test_the_copy_of_an_empty_place_is_refused(monkeypatch):
    monkeypatch.setitem(module.BY_OPCODE, dis.opmap["LOAD_GLOBAL"], ("contents", 1))
    monkeypatch.setitem(module.BY_OPCODE, dis.opmap["LOAD_FAST"], ("contents", 1))

    with pytest.raises(NotImplementedError, match="it reads something that is not an object"):
        observed(calls.__code__, Events())
