"""Ways in which an object of any class can change, drawn from the libraries themselves.

A way is an object that is made of a few plain arguments, a statement that changes it, and a number
that is read of it. All classes of Python's library, NumPy and SciPy are tried, but for those of
`SYSTEM`; for each class the arguments, the changes and the reads that work are found by trying.
"""

import contextlib
import functools
import importlib
import inspect
import io
import itertools
import pkgutil
import random
import signal
import sys
import types
import warnings
import zlib
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

SYSTEM = frozenset(
    "aifc antigravity asynchat asyncio asyncore audioop bdb cgi cgitb chunk code concurrent "
    "cProfile crypt ctypes curses dbm distutils doctest ensurepip faulthandler fcntl fileinput "
    "ftplib gc getpass http idlelib imaplib imghdr imp importlib lib2to3 mailbox mailcap mmap "
    "modulefinder msilib multiprocessing netrc nis nntplib nt os ossaudiodev pathlib pdb pipes "
    "poplib posix posixpath profile pstats pty pydoc pydoc_data readline resource rlcompleter "
    "runpy select selectors shutil signal site smtpd smtplib sndhdr socket socketserver spwd "
    "sqlite3 ssl subprocess sunau syslog tarfile telnetlib tempfile termios test this threading "
    "tkinter trace tracemalloc tty turtle turtledemo unittest uu venv wave webbrowser winreg "
    "wsgiref xdrlib xmlrpc zipapp zipfile zipimport __main__".split()
)
"""Modules that ask or change the system, wait for others, run programs, or close open files."""

ROOTS = "numpy", "scipy"
ENDLESS = itertools.count, itertools.cycle, itertools.repeat
"""Iterators that are read by steps."""

UNTRIED = {"conftest", "f2py", "distutils", "datasets", "io", "tests", "testing"}

BLOCKED = frozenset(
    "acquire wait wait_for join get get_nowait run start serve_forever recv accept poll select "
    "unlink rmdir mkdir rename replace touch chmod symlink_to hardlink_to kill terminate exit "
    "quit close read readline readlines input dump tofile save fileno breakpoint enable disable "
    "activate shutdown detach open connect send exec_module load_module create_module mainloop "
    "settrace print_help print_usage error parse_args parse_known_args basicConfig handle_error "
    "interact cmdloop release notify barrier print_exc print_exception handleError emit handle "
    "write writelines".split()
)
"""Methods that wait, that write to the system, or that end the process."""

GIVEN = [
    "", "2.0", "2", "'2'", "b'2'", "[2.0, 5.0, 1.0]", "{'rate': 2.0}", "[('rate', 2.0)]", "two",
    "A", "M", "A, B", "'rate', 2.0", "2.0, 1.0", "2, 3", "1, 2, 3", "2024, 5, 6",
    "'d', [2.0, 5.0]", "'2', '3'", "M, A", "two, 2.0", "float", "float, [2.0, 5.0]",
    "'rate', 'other'", "A, A, 2", "two, [2.0, 5.0]", "A, M", "P", "P, A", "(A, A), M", "(3, 3)",
    "'<f8'", "[2, 5, 1]", "2 + 1j",
]  # fmt: skip
"""Arguments that classes are made of."""

OTHERS = {"2": "3", "two": "three", "A": "A + 1.0", "M": "M * 2.0"}
"""Parts of the arguments, and what they are after a change."""

HEAD = """
import importlib
import numpy as np
A, B = np.array([1.0, 2.0, 4.0]), np.array([2.0, 5.0, 1.0])
M, P = np.array([[4.0, 1.0, 0.0], [1.0, 3.0, 1.0], [0.0, 1.0, 2.0]]), np.arange(8.0).reshape(4, 2)
def two(*given): return 2.0
def three(*given): return 3.0
"""

CHANGES = [
    "d[0] = 3.0", "d['rate'] = 3.0", "d[0, 0] = 3.0", "d[...] = 3.0", "d[:1] = [3.0, 7.0]",
    "del d[0]", "del d['rate']", "d += [3.0]", "d *= 3", "d |= {'rate': 3.0}", "d.rate = 3.0",
    "next(d)",
]  # fmt: skip
ARGUMENTS = [
    "", "3.0", "3", "'rate'", "'rate', 3.0", "0, 3.0", "[3.0]", "{'rate': 3.0}", "A", "three",
    "b'3'",
]  # fmt: skip
READS = [
    "d", "len(d)", "bool(d)", "float(d)", "int(d)", "abs(d)", "str(d)", "repr(d)", "[*d]",
    "tuple(d)", "d[0]", "d['rate']", "d[:2]", "d(0.5)", "d()", "d(A)", "d == 2.0", "0.5 in d",
    "2.0 in d", "next(d)", "next(iter(d))", "f'{d}'", "{**d}", "sorted(d)", "sum(d)", "max(d)",
    "np.asarray(d)", "np.sum(d)", "d + 1", "d @ A", "d * 2", "d.rate", "d.__dict__",
    "list(d.items())", "d < 3", "d[0, 0]", "np.max(np.array(d))", "[v for v in d]",
    "bytes(d)", "B[d]", "dict(d)", "iter(d).__next__()", "vars(d)", "getattr(d, 'rate', 2.0)",
    "d.__len__()", "complex(d)", "round(d)", "-d", "B * d",
]  # fmt: skip


FUNCTIONS = {
    "re.compile": ["'2'"], "itertools.count": ["2.0"], "itertools.cycle": ["[2.0, 5.0]"],
    "functools.lru_cache": ["two"], "functools.cache": ["lambda: A.sum()"], "iter": ["[2.0, 5.0]"],
    "types.MappingProxyType": ["{'rate': 2.0}"], "functools.partial": ["two, 2.0"],
    "operator.itemgetter": ["2"], "operator.methodcaller": ["'count', 2.0"],
    "memoryview": ["b'2'"], "ctypes.c_double": ["2.0"], "threading.local": [""],
    "threading.Event": [""], "slice": ["2"], "os.environ.copy": [""], "pathlib.PurePath": ["'2'"],
    "numpy.nditer": ["A"], "range": ["2"], "numpy.random.default_rng": ["2"],
    "numpy.random.RandomState": ["2"], "random.Random": ["2"], "numpy.vectorize": ["two"],
    "numpy.frompyfunc": ["two, 1, 1"], "scipy.stats.norm": ["2.0"],
    "scipy.stats.multivariate_normal": ["A, M"], "numpy.errstate": [""],
    "scipy.interpolate.make_interp_spline": ["A, B"],
    "scipy.sparse.linalg.aslinearoperator": ["M"],
    "scipy.sparse.linalg.splu": ["scipy.sparse.csc_array(M)"], "numpy.busdaycalendar": [""],
    "weakref.ref": ["two"], "contextvars.ContextVar": ["'rate'"], "vars": ["two"], "zip": ["A, B"],
    "concurrent.futures.Future": [""], "io.StringIO": ["'2'"], "map": ["abs, A"],
    "dict.keys": ["{'rate': 2.0}"], "dict.items": ["{'rate': 2.0}"],
    "dict.values": ["{'rate': 2.0}"], "numpy.broadcast": ["A, B"], "numpy.ndenumerate": ["A"],
    "numpy.ma.array": ["A"], "enumerate": ["A"], "numpy.rec.fromarrays": ["[A, B]"],
    "numpy.matrix": ["M"], "numpy.array": ["A", "M", "[2]"], "numpy.char.array": ["['2']"],
    "numpy.poly1d": ["A"], "reversed": ["[2]"], "datetime.timedelta": ["2"],
    "decimal.getcontext": [""], "collections.ChainMap": ["{'rate': 2.0}"],
    "logging.getLogger": ["'rate'"], "string.Template": ["'2'"],
    "scipy.optimize.LinearConstraint": ["M"],
    "scipy.spatial.transform.Rotation.from_euler": ["'x', 2.0"],
    "scipy.signal.ShortTimeFFT.from_window": ["'hann', 100.0, 8, 4"],
    "scipy.stats.gaussian_kde": ["A"], "ast.parse": ["'2'"], "json.JSONEncoder": [""],
    "zoneinfo.ZoneInfo": ["'UTC'"], "types.SimpleNamespace": [""],
}  # fmt: skip
"""Calls that make objects of classes without a public name, or of modules of the system."""


def head_of(kind: str) -> str:
    """Return the source that has the class, or the function, as ``K``."""
    module, _, name = f"builtins.{kind}".rpartition(".")
    while module.removeprefix("builtins.") and not is_module(module.removeprefix("builtins.")):
        module, _, first = module.rpartition(".")
        name = f"{first}.{name}"
    module = module.removeprefix("builtins.")
    return f"{HEAD}K = importlib.import_module({module!r}).{name}\n"


@functools.cache
def is_module(name: str) -> bool:
    try:
        importlib.import_module(name)
    except ImportError:
        return False
    return True


class Way(NamedTuple):
    """An object of a class, a change, and a number that is read of it."""

    kind: str
    make: str
    change: str
    read: str

    def __str__(self) -> str:
        return f"{self.kind}: d = {self.make}; {self.change}; {self.read}"

    def source(self) -> str:
        return (
            f"{head_of(self.kind)}d = {self.make}\n"
            f"def f(x):\n    value = {self.read}\n    return np.sum(x * x) * value\n"
            f"def change():\n    global d\n    {self.change}\n"
        )


def modules() -> Iterator[types.ModuleType]:
    """Yield the public modules of Python's library, NumPy and SciPy."""
    names = sorted({*sys.stdlib_module_names} - SYSTEM)
    names = [name for name in names if name[0] != "_"]
    for root in ROOTS:
        with contextlib.suppress(ImportError):
            package = importlib.import_module(root)
            inside = {x.name for x in pkgutil.iter_modules(package.__path__)} - UNTRIED
            names += [root, *[f"{root}.{name}" for name in sorted(inside) if name[0] != "_"]]
    for name in names:
        with contextlib.suppress(Exception):
            yield importlib.import_module(name)


OTHERWISE = (
    BaseException, type, io.IOBase, random.SystemRandom, np.ndarray, np.longdouble, np.clongdouble,
)  # fmt: skip
"""Classes of what has no number or asks the system, and those that show memory as it was found."""


def kinds() -> dict[str, type]:
    """Return the classes that have a public name, each by the first one."""
    found: dict[int, tuple[str, type]] = {}
    for module in modules():
        for name, x in sorted(vars(module).items()):
            if isinstance(x, type) and name[0] != "_" and not inspect.isabstract(x):
                home = x.__module__.partition(".")[0]
                if home not in SYSTEM and not issubclass(x, OTHERWISE):
                    found.setdefault(id(x), (f"{module.__name__}.{name}", x))
    return dict(sorted(found.values()))


@contextlib.contextmanager
def limited(seconds: float) -> Iterator[None]:
    """End a block after some time, where there are signals; it tells people nothing."""

    def end(*given: Any) -> None:
        raise TimeoutError

    streams = sys.stdout, sys.stderr
    before = signal.signal(signal.SIGALRM, end) if hasattr(signal, "setitimer") else None
    try:
        if before is not None:
            signal.setitimer(signal.ITIMER_REAL, seconds)
        with (
            warnings.catch_warnings(action="ignore"), np.errstate(all="ignore"),
            contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()),
        ):  # fmt: skip
            yield
    finally:
        if before is not None:
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.signal(signal.SIGALRM, before)
        sys.stdout, sys.stderr = streams  # a signal may come while they are put back


def number_of(value: Any, read: str) -> str | None:
    """Return the source of a number that depends on what is read."""
    if isinstance(value, (bool, int, float, np.generic)) or type(value) is np.ndarray:
        dtype = np.asarray(value).dtype
        if dtype.kind not in "biuf" or dtype.itemsize > 8:  # the bits of a long double are no value
            return None
        if not np.all(np.isfinite(value)) or np.any(np.abs(np.asarray(value, float)) > 1e15):
            return None
        return f"np.sum({read})" if np.ndim(value) else f"({read}) * 1.0"
    if isinstance(value, str):
        return None if " at 0x" in value or len(value) > 2000 else f"sum(map(ord, {read}))"
    if isinstance(value, bytes):
        return f"sum({read})"
    if isinstance(value, (list, tuple)) and value and len(value) < 100:
        if all(type(v) in (int, float, bool, np.float64) and abs(v) < 1e15 for v in value):
            return f"sum({read})"
    if isinstance(value, (list, tuple, dict, set, frozenset)):
        return f"len({read})"
    return None


@functools.lru_cache(100_000)
def code_of(text: str, mode: str = "eval") -> types.CodeType:
    return compile(text, "<trial>", mode)


class Trial:
    """The reads and changes of the objects of one class that are made of some arguments."""

    def __init__(self, kind: str, given: str) -> None:
        self.kind, self.make, self.given = kind, f"K({given})", given
        self.space: dict[str, Any] = {}
        exec(head_of(kind), self.space)
        d = self.fresh()
        names = [n for n in dir(d) if n[0] != "_" and n not in BLOCKED]
        called = [n for n in names if callable(inspect.getattr_static(d, n, None))]
        plain = [n for n in names if n not in called]
        self.reads = [
            *READS,
            *[f"d.{n}" for n in plain],
            *[f"d.{n}({a})" for n in called for a in ("", "0.5", "A")],
        ]
        if isinstance(d, ENDLESS):
            self.reads = ["next(d)", "str(d)", "next(iter(d))"]
        changes = [f"d.{n} = {v}" for n in plain for v in ("3.0", "'3'", "[3.0]", "three", "B")]
        changes += [*CHANGES, *[f"d.{n}({a})" for n in called for a in ARGUMENTS]]
        changes.sort(key=lambda change: zlib.crc32(f"{kind}{change}".encode()))
        self.changes = [*self.rebound(), *changes]

    def fresh(self) -> Any:
        self.space["d"] = d = eval(code_of(self.make), self.space)
        if isinstance(d, (type, types.ModuleType)) or d is None:
            raise TypeError
        return d

    def rebound(self) -> list[str]:
        """Return the statements that make another object."""
        new = self.given
        for old, other in OTHERS.items():
            new = (
                new.replace(old, other)
                if old not in ("A", "M") or new in ("A", "M", "A, B")
                else new
            )
        return [f"d = K({new})"] if new != self.given else []

    def numbers(self, reads: list[str]) -> dict[str, Any]:
        """Return the numbers that some reads give now, and the source of each."""
        found = {}
        for read in reads:
            with contextlib.suppress(Exception):
                source = number_of(eval(code_of(read), self.space), read)
                if source is not None:
                    found[source] = float(eval(code_of(source), self.space))
        return found

    def ways(self, most: int) -> Iterator[Way]:
        """Yield ways by which numbers change."""
        first = self.numbers(self.reads)
        self.fresh()
        second = self.numbers(self.reads)
        before = {source: x for source, x in first.items() if second.get(source) == x}
        self.fresh()
        reads, seen = (
            [r for r in self.reads if not before.keys().isdisjoint(self.numbers([r]))],
            set[str](),
        )
        for change in self.changes if before else ():
            with contextlib.suppress(Exception):
                self.fresh()
                exec(code_of(change, "exec"), self.space)
                after = self.numbers(reads)
                differ = [s for s in before if after.get(s, before[s]) != before[s]]
                drawn = [(s in seen, zlib.crc32(f"{change}{s}".encode()), s) for s in differ]
                for _, _, source in sorted(drawn)[:2]:
                    seen.add(source)
                    yield Way(self.kind, self.make, change, source)
                    most -= 1
            if most <= 0:
                return


def ways(part: int = 1, first: int = 0, most: int = 8) -> Iterator[Way]:
    """Yield the ways of each `part`-th class, at most so many of a class and its arguments."""
    every = {**dict.fromkeys(kinds(), GIVEN), **FUNCTIONS}
    for kind, arguments in itertools.islice(every.items(), first, None, part):
        made = tried = 0
        for given in arguments:
            found: list[Way] = []
            with contextlib.suppress(Exception, SystemExit), limited(1.0):
                trial = Trial(kind, given)
                tried += 1
                found.extend(trial.ways(most))
            made += bool(found)
            yield from found
            if made == 2 or tried == 5:
                break
