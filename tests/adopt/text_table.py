"""Texts of numbers in code: ways to make them, ways to use them, and what comes of each pair.

An answer that a text leads to is that of the plain run, with its derivative, or it is refused. A
text that is shown is that of the plain run, or a description.
"""

import contextlib
import io
import itertools
import linecache
import logging
import sys
import types
import warnings

import numpy as np

import functier as ft

HEAD = """
import collections, dataclasses, decimal, io, json, logging, math, pprint, re, string, sys
import types, warnings
import numpy as np

LOGGER = logging.getLogger("adopted")
TABLES, SEEN, WANTED = {}, [], []

class Vector(np.ndarray):
    pass

class Shown:
    log = LOGGER
    def __init__(self, x): self.x = x
    def __repr__(self): return "Shown(" + repr(self.x) + ")"
    def __format__(self, spec): return format(self.x, spec)
    def describe(self): return f"it is {self.x}"

@dataclasses.dataclass
class Data:
    x: object

class Plain(ValueError):
    pass

class Warned(UserWarning):
    pass

class Wrong(ValueError):
    def __init__(self, text):
        super().__init__("wrong: " + text)

class Wronged(ValueError):
    def __init__(self, text):
        ValueError.__init__(self, f"wrong: {text}")

class Careful(UserWarning):
    def __init__(self, text):
        super().__init__("careful: " + text)

def written(x):
    return "the value %s" % x

def percent(x, form):
    return form % x

def printed(*args, **options):
    file = io.StringIO()
    print(*args, file=file, **options)
    return file.getvalue()

def number(text):
    text = text.decode() if isinstance(text, bytes) else text
    return float(re.findall(r"[-+]?[0-9][0-9.]*(?:e[-+][0-9]+)?", text.replace("float64", ""))[0])
"""

EXACT = [
    "str(x)", "repr(x)", 'f"{x}"', 'f"{x!r}"', 'f"{x!s:>30}"', 'f"{x:>30}"', '"{}".format(x)',
    '"{0!r} {1}".format(x, 3)', '"%s" % x', '"%r" % (x,)', '"%s %d" % (x, 3)', '"%.17g" % x',
    '"%.16e and %.2f" % (x, 3)', '"%*.*f" % (30, 25, x)', 'percent(x, "%.15e")',
    'b"%.17g" % x', 'f"{x:.15e}"', 'f"{x:.17g}"', 'f"{x:.20f}"', '"{:.25}".format(x)',
    'f"{x:=+30.16n}"', 'f"{x:.16%}"', "format(x)", 'format(x, ".17g")', 'x.__format__("")',
    "x.__str__()", "x.__repr__()", 'x.__format__(".17e")', "str([x, 2.0])", "repr({1: (x,)})",
    'f"{[x]}"', "str(v)", "repr(v)", "str([v])", "str(v.tolist())", "str(x.item())",
    "repr(float(x))", "repr(math.fabs(x))", "ascii(x)", "'  '.join(map(str, v))",
    "' '.join([f'{u}' for u in v])", "' '.join(repr(u) for u in v)", "list(map(str, v))[0]",
    "str(np.array([x, None], dtype=object))", "str(v.view(Vector))", "f'{v.view(Vector)}'",
    "str(collections.OrderedDict(a=x))", "str(collections.deque([x]))",
    "str(types.SimpleNamespace(x=x))", "str(Shown(x))", "f'{Shown(v)}'", 'f"{Shown(x):.20f}"',
    "repr([Data(x)])", "Shown(x).describe()", "written(x)", '"{x}".format_map({"x": x})',
    '"%(a)s" % {"a": x}', "'value ' + str(x) + '!'", "str(x).rjust(20)", "pprint.pformat([x])",
    'string.Template("$x").substitute(x=x)', 'string.Formatter().format("{}", x)',
    'string.Formatter().format("{:.17g}", x)',
    "printed(x)", "printed('a', f'{x}', end='')", "np.array2string(v, precision=17)",
    "np.array_str(v)", "np.array_repr(v)", "np.array2string(x)", "np.format_float_positional(x)",
    "np.format_float_scientific(x)", "np.vectorize(str)(v)[0]", "sorted(map(str, v))[0]",
    "str(x)[:]", "(str if x < 99 else repr)(x)", "(f'{x}' if x < 99 else 'large')",
    "str(ValueError(x))", "Data.__repr__(Data(x))",
]  # fmt: skip
"""Ways to make a text with all digits of a number."""

SHORT = [
    'f"{x:.3f}"', '"%.3f" % x', '"%g, %d" % (x, x)', '"{:10.4e}".format(x)', 'format(x, ".14g")',
    'f"{x:%}"', 'f"{x:.5}"', "f'{x:<12.4f}'", 'percent(x, "%5.1f")', 'b"%.3e" % x',
    'percent((x, 2), "%-8.3g %s")', 'string.Formatter().format("{:.4f}", x)', 'f"{float(x):.4f}"',
    '"%(a).2f" % {"a": x}', "f'{v[0]:{3}.{2}f}'",
]  # fmt: skip
"""Ways to make one with a few digits: they round, and the derivative of a rounding is zero."""

NUMBERS = {
    "read": "number(@)",
    "assigned": "[number(text) for text in [@]][0]",
    "in a name": "(lambda text: number(text))(@)",
    "evaluated": "np.sum(np.ravel(eval(@, {'np': np, 'array': np.array})))",
    "from a text": "np.fromstring(@.strip('[] '), sep=' ')[0]",
    "a decimal number": "float(decimal.Decimal(@.strip()))",
    "by float": "float(@)",
    "by a type": "np.float64(@)",
    "printed, too": "(print(@), number(@))[1]",
    "by a walrus": "(print(text := @), number(text))[1]",
    "joined": "number(f'''{@} a''' + 'b')",
    "a list": "[@, number(@)][1]",
}
"""Uses as a number, which has a derivative; the text is `@`."""

ANSWERS = {
    "its length": "len(@) * x",
    "is it equal": "(3.0 if @ == WANTED[0] else 5.0) * x",
    "looked up": "{WANTED[0]: 3.0}.get(@, 5.0) * x",
    "a part": "(3.0 if '7' in @ else 5.0) * x",
    "smaller": "(3.0 if @ < WANTED[0] + '0' else 5.0) * x",
    "a cache": "TABLES.setdefault(@, 3.0 + x) * x - (3.0 + x) * x + x",
    "its hash": "(3.0 if hash(@) == hash(WANTED[0]) else 5.0) * x",
    "caught": "CAUGHT",
    "kept": "(SEEN.append(@), x)[1]",
    "in a set": "(3.0 if {@} & set(WANTED) else 5.0) * x",
    "the largest": "(3.0 if max([@], key=len) == WANTED[0] else 5.0) * x",
}
"""Uses that choose a factor of `x`."""

SHOWN = {
    "printed": "print(@)",
    "joined": "print('a ' + @ + ' b', f'''c {@} d''', '%s %s' % ('e', @), '{}!'.format(@))",
    "with words": "print('a', @, sep='-', end=chr(10))",
    "logged": "LOGGER.warning('%s', @)",
    "logged, joined": "logging.warning('value: ' + @)",
    "by an attribute": "Shown.log.error(f'''{@}''')",
    "warned": "warnings.warn(f'''careful: {@}''')",
    "raised": "raise ValueError('wrong: ' + @)",
    "asserted": "assert x > 99, @",
    "asserted by a name": "text = 'wrong: ' + @; assert x > 99, text",
    "a subclass": "raise Plain('wrong: %s' % @) from None",
    "warned by a class": "warnings.warn(@, category=Warned, stacklevel=2)",
    "in a handler": "try: {}[1]\n    except KeyError as error: print('missing', @)",
}
"""Statements that show a text to people."""

NOT_FOLLOWED = {
    "to a stream": "print(@, file=sys.stderr)",
    "a class of its own": "raise Wrong(@)",
    "by its parent": "raise Wronged(@)",
    "warned by its class": "warnings.warn(@, category=Careful)",
    "a warning": "warnings.warn(UserWarning(@))",
    "by a choice": "print(@ if x < 99 else 'large', 'a' if x > 99 else 'b')",
    "one by one": "print(*(@ for i in range(2)))",
    "in a list": "print([@])",
    "in a name": "text = @; print(text)",
    "asserted and read": "text = @; SEEN.append(text); assert x > 99, text",
    "asserted and caught": "text = @\n    try: assert x > 99, text\n    except: raise",
    "asserted and closed over": "text = @; g = lambda: text; assert x > 99, text",
}
"""Statements that show it, too, which nobody knows before they are done."""

THEMSELVES = {
    "printed": "print('loss', x, [v])", "logged": "LOGGER.warning('%s %.17g', x, x)",
    "raised": "raise ValueError('wrong', x)", "starred": "print(*v)",
    "mapped": "print(*map(str, v), sep=', ')", "in a loop": "[print(x) for i in range(99)]",
}  # fmt: skip
"""Statements that show a number itself."""

STATEMENTS = {*SHOWN.values(), *NOT_FOLLOWED.values(), *THEMSELVES.values()}

X, TWO, EQUAL = np.float64(0.7), np.array([0.7, 0.9]), np.array([0.7, 0.7])
SLOPES = {
    "grad": lambda f: ft.grad(f)(X),
    "jvp": lambda f: ft.jvp(f, (X,), (1.0,))[1],
    "vmap of grad": lambda f: ft.vmap(ft.grad(f))(EQUAL),
    "grad of vmap": lambda f: ft.grad(lambda v: np.sum(ft.vmap(f)(v)))(EQUAL),
    "twice": lambda f: ft.grad(lambda y: y * ft.grad(lambda x: f(x + 0 * y))(X))(X / X),
    "split of grad": lambda f: ft.vmap(ft.grad(f), branches="split")(TWO),
}
VALUES = {
    "vmap": lambda f: ft.vmap(f)(TWO),
    "vmap of equal ones": lambda f: ft.vmap(f)(EQUAL),
    "split": lambda f: ft.vmap(f, branches="split")(TWO),
    "trace": lambda f: [ft.trace(f)(X)(x) for x in TWO],
    "compile": lambda f: [g(x) for g in [ft.compile(f)] for x in TWO],
}
MODES = {**SLOPES, **VALUES}
APART = "split of grad", "vmap", "split", "trace", "compile"
"""Modes with two numbers."""


def source_of(name, way, use):
    """Return the source of a function that makes a text in one way, and uses it in another."""
    if use == "CAUGHT":
        lines = "try: y = 3.0 * x + 0 * len(@)\n    except Exception: y = 5.0 * x"
    else:
        lines = use if use in STATEMENTS else f"y = {use}"
    lines = lines.replace("@", f"({way})")
    body = f"    y, v = 0.0, np.stack([x, 2 * x])\n    {lines}\n    return x * x + y\n"
    text = f"def text_of_{name}(x):\n    v = np.stack([x, 2 * x])\n    return {way}\n"
    return f"def {name}(x):\n{body}{text}"


def module_of(ways, use):
    """Return a module with a function for each way."""
    module = types.ModuleType(f"texts_{next(_numbers)}")
    sys.modules[module.__name__] = module
    sources = [source_of(f"f{i}", way, use) for i, way in enumerate(ways)]
    text, name = "\n".join([HEAD, *sources]), f"<{module.__name__}>"
    linecache.cache[name] = len(text), None, text.splitlines(keepends=True), name
    exec(compile(text, name, "exec"), vars(module))
    return module


_numbers = itertools.count()


def run(module, call):
    """Return what a call gives, and all that it shows: printed, logged, warned of, raised."""
    module.SEEN.clear(), module.TABLES.clear()
    out, log, errors, found = io.StringIO(), io.StringIO(), [], None
    handler = logging.StreamHandler(log)
    logging.getLogger().addHandler(handler)
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(out):
            with warnings.catch_warnings(record=True) as warned:
                warnings.simplefilter("always")
                try:
                    found = call()
                except Exception as error:
                    errors.append(error)
    finally:
        logging.getLogger().removeHandler(handler)
    said = [str(w.message) for w in warned if " runs the function as it is: " not in str(w.message)]
    made = [out.getvalue(), log.getvalue(), *said]
    return found, errors, {line for text in made for line in text.splitlines()}


def plain_run(module, f, mode, use):
    """Return what `run` does of the plain function, for all numbers of a mode, or of its slope."""
    found, errors, lines, seen = [], [], set(), []
    for x in TWO if mode in APART else [0.7]:
        y, raised, shown = run(module, lambda x=x: f(np.float64(x)))
        if use in NUMBERS.values() and mode in SLOPES and not raised:
            near = [run(module, lambda x=x, d=d: f(np.float64(x + d)))[0] for d in (-1e-6, 1e-6)]
            y = (near[1] - near[0]) / 2e-6
        elif use in ANSWERS.values() and mode in SLOPES and not raised:
            y = 2 * x + (y - x * x) / x
        found, errors, lines = [*found, y], errors + raised, lines | shown
        seen += map(repr, module.SEEN)
    return found, errors, lines, seen


def outcomes(ways, use, mode):
    """Return what comes of each way: "right", "refused", "raised" or "wrong".

    What is shown may also be "described". Ways that the plain run does not take are left out.
    """
    plain, adopted = module_of(ways, use), module_of(ways, use)
    made = {}
    with ft.adopt(adopted, dependencies=False):
        for i, way in enumerate(ways):
            text, errors, _ = run(
                plain, lambda i=i: getattr(plain, f"text_of_f{i}")(np.float64(0.7))
            )
            plain.WANTED[:] = adopted.WANTED[:] = [text]
            if not errors:
                made[way] = outcome(plain, adopted, f"f{i}", way, use, mode)
    return {way: found for way, found in made.items() if found}


def outcome(plain, adopted, name, way, use, mode):
    """Return what comes of one way, or None where the plain run raises another error."""
    wanted, errors, lines, seen = plain_run(plain, getattr(plain, name), mode, use)
    shows = use in STATEMENTS
    if errors and not (shows and isinstance(errors[0], (ValueError, AssertionError))):
        return None
    if way in SHORT and use in NUMBERS.values() and mode in SLOPES:
        wanted = [2 * x for x in (TWO if mode in APART else [0.7])]
    found, raised, shown = run(adopted, lambda: MODES[mode](getattr(adopted, name)))
    if raised and isinstance(raised[0], ft.LevelError):
        return "refused"
    if raised and not (errors and type(raised[0]).__name__ == type(errors[0]).__name__):
        return "raised"
    if shows:
        texts = set(map(str, errors)), set(map(str, raised))
        if shown <= lines and texts[1] <= texts[0]:
            return "right"
        return "described" if "float64[" in str((shown, texts)) else "wrong"
    same = np.allclose(found, wanted if np.ndim(found) else wanted[0], 1e-4)
    return "right" if same and set(map(repr, adopted.SEEN)) <= set(seen) else "wrong"
