"""Texts of tensors in adopted code: those of the plain run, or refused; see `text_table`."""

import contextlib
import linecache
import re
from pathlib import Path

import numpy as np
import pytest
from adopt_support import module_of
from text_table import (
    ANSWERS,
    EXACT,
    MODES,
    NOT_FOLLOWED,
    NUMBERS,
    SHORT,
    SHOWN,
    SLOPES,
    THEMSELVES,
    outcomes,
)

import functier as ft
from faults.planted import adoption as faulty
from support.basics import calls_of, raises, silent
from support.turns import in_turn

WAYS = [*EXACT, *SHORT]
READ = {**NUMBERS, **ANSWERS}
TOLD = {**SHOWN, **NOT_FOLLOWED}


def some(cases, use, mode):
    """Return a part of the ways, another one for each use and mode."""
    step = 30 if mode == "compile" else 4  # whose programs take long to make
    return cases[(len(use) + 3 * len(mode)) % step :: step]


@pytest.mark.share(9)
@pytest.mark.parametrize(("use", "mode"), in_turn(READ, MODES))
def test_no_text_changes_an_answer(use, mode):
    found = outcomes(some(WAYS, use, mode), READ[use], mode)
    assert "wrong" not in found.values(), found
    if mode in SLOPES:
        assert {found[way] for way in SHORT if way in found} <= {"right", "refused"}


@pytest.mark.share(9)
@pytest.mark.parametrize(("use", "mode"), in_turn(TOLD, MODES))
def test_people_read_the_text_of_the_plain_run(use, mode):
    found = outcomes(some(WAYS, use, mode), TOLD[use], mode)
    assert "wrong" not in found.values(), found


@pytest.mark.share(9)
@pytest.mark.parametrize(("use", "mode"), in_turn(THEMSELVES, MODES))
def test_a_number_itself_is_shown(use, mode):
    found = outcomes(["0"], THEMSELVES[use], mode)["0"]
    assert found == "right" if mode == "grad" and use != "raised" else found != "wrong"


STRAIGHT = [
    "str(x)", "repr(x)", 'f"{x}"', '"{}".format(x)', '"%s" % x', '"%r" % (x,)', '"%s %d" % (x, 3)',
    '"%.17g" % x', 'f"{x:.17g}"', "str([x, 2.0])", "str(v)", 'f"{[x]}"', "'value ' + str(x) + '!'",
    'f"a {x} " f"b {x!r}"', "'{0!r} {1}'.format(x, 3)",
]  # fmt: skip
ROUND_ABOUT = [
    "'  '.join(map(str, v))", "' '.join([f'{u}' for u in v])", "' '.join(repr(u) for u in v)",
    "str(Shown(x))", "repr([Data(x)])", "written(x)", "Shown(x).describe()", "str(x).rjust(20)",
    "np.array2string(v, precision=17)", "ascii(x)", "percent(x, '%.17g')", "pprint.pformat([x])",
]  # fmt: skip


@pytest.mark.parametrize("use", SHOWN)
def test_what_is_handed_straight_to_people_is_shown(use):
    assert set(outcomes(STRAIGHT, SHOWN[use], "grad").values()) == {"right"}
    assert set(outcomes(ROUND_ABOUT, SHOWN[use], "grad").values()) == {"refused"}


@pytest.mark.parametrize("use", NOT_FOLLOWED)
def test_what_is_not_handed_straight_to_people_is_refused(use):
    assert set(outcomes(STRAIGHT, NOT_FOLLOWED[use], "grad").values()) == {"refused"}


@pytest.mark.parametrize("use", [use for use in NUMBERS if use != "evaluated"])
def test_digits_that_are_read_again_are_refused(use):
    assert set(outcomes(STRAIGHT, NUMBERS[use], "jvp").values()) == {"refused"}


REFUSED = {
    "a name": "text = f'{x}'; print(text)",
    "a name inside": "print(text := f'{x}')",
    "a file": "print(f'{x}', file=FILE)",
    "words": "print(f'{x}', **WORDS)",
    "a table": "print(TABLE.setdefault(f'{x}', 1.0))",
    "a function of this name": "(lambda print: print(f'{x}'))(float)",
    "the result of print": "FUNCTIONS[0](f'{x}')",
    "an operator": "print(READER % f'{x}')",
    "a comparison": "raise ValueError(f'{x}' == '0.7')",
    "a part": "print(f'{x}'[:3])",
    "an exception in a list": "raise [ValueError][0](f'{x}')",
    "a method of an error": "ValueError('a').add_note(f'{x}')",
    "a helper that keeps it": "print(keep(f'{x}'))",
    "a cast": "raise ValueError(float(f'{x}'))",
    "a list in a name": "texts = [f'{u}' for u in v]; print(texts)",
    "a loop": "for text in [f'{x}']: print(text)",
    "an exception that is read": "float(str(ValueError(f'{x}')))",
    "the cause of a test": "assert f'{x}' == '0.7'",
    "a condition": "print('a' if f'{x}' == '0.7' else 'b')",
    "letters": "print(*[KEPT.append(text) for text in f'{x}'])",
    "a cast in a format": "print('%s' % (float(f'{x}'),))",
    "a sum": "print('a' + (READER + f'{x}'))",
    "a text of another name": "print(LOUD(f'{x}'))",
    "a lambda": "print((lambda: f'{x}')())",
    "an unknown keyword": "print(f'{x}', **{'file': FILE})",
    "a long double": "'%.17lf %.2f' % (x, x)",
    "a width that is given": "'%.*f %.2f' % (20, x, x)",
    "a place": "print(TABLE.get(f'{x}', 1.0))",
    "an element": "print({f'{x}': 1.0}['0.7'])",
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_followed_is_refused(name, tmp_path):
    text = f"""
    import io
    import numpy as np
    FILE, WORDS, TABLE, FUNCTIONS, KEPT = io.StringIO(), {{"end": ""}}, {{}}, [print], []
    class Reader:
        def __mod__(self, text): return float(text)
        __add__ = __mod__
    READER, LOUD = Reader(), lambda text: text + "!"
    def keep(text):
        KEPT.append(text)
        return text
    def f(x):
        v = np.stack([x, x])
        {REFUSED[name]}
        return x
    """
    module = module_of(tmp_path, text)
    with ft.adopt(module), pytest.raises(ft.ConversionError, match=r"print\(f'\{x\}'\)"):
        ft.grad(module.f)(0.7)


CATCHING = """
import contextlib, warnings
import numpy as np
TABLE = {"0.7": 3.0}

class Block:
    def __enter__(self):
        return self
    def __exit__(self, kind, error, trace):
        self.text = error.args[0]
        return True

@contextlib.contextmanager
def block(kept):
    try: yield
    except ValueError as error: kept.append(error.args[0])

def bad(x):
    raise ValueError(f"{x}")

def read(call, *args):
    try: return call(*args)
    except Exception as error: return float(str(error))

def f(x):
"""
CAUGHT = {
    "by its name": "try: raise ValueError(f'{x}')\nexcept ValueError as e: return float(str(e))",
    "its arguments": "try: bad(x)\nexcept ValueError as e: return TABLE[e.args[0]]",
    "an assertion": "try: assert x > 9, f'{x}'\nexcept Exception as e: return float(e.args[0])",
    "of a helper": "try: bad(x)\nexcept ValueError as e: return x * (str(e) == '0.7')",
    "by a caller": "return read(bad, x)",
    "in a list": "return read(lambda v: [bad(u) for u in [v]], x)",
    "its context": "try:\n    try: bad(x)\n    except ValueError: {}[1]\n"
    "except KeyError as e: return float(str(e.__context__))",
    "by a block": "with Block() as b: raise ValueError(f'{x}')\nreturn float(b.text)",
    "by a generator": "kept = []\nwith block(kept): bad(x)\nreturn float(kept[0])",
    "in a block": "try:\n    with np.errstate(all='ignore'): bad(x)\n"
    "except ValueError as e: return float(str(e))",
    "a warning": "with warnings.catch_warnings(record=True) as w:\n"
    "    warnings.simplefilter('always')\n    warnings.warn(f'{x}')\n"
    "return float(str(w[0].message))",
    "a group": "try: bad(x)\nexcept* ValueError as e: y = float(str(e.exceptions[0]))\nreturn y",
    "by SciPy": "return read(so.brentq, lambda u: bad(x), 0.0, 1.0)",
}


def function_that_catches(name, tmp_path):
    lines = f"import scipy.optimize as so\n{CAUGHT[name]}".replace("\n", "\n    ")
    return module_of(tmp_path, f"{CATCHING}    {lines}\n")


@pytest.mark.parametrize("name", CAUGHT)
def test_the_text_of_an_exception_that_code_may_read_is_refused(name, tmp_path):
    module = function_that_catches(name, tmp_path)
    module.f(0.7)
    with ft.adopt(module, dependencies=False):
        for slope in (ft.grad(module.f), ft.grad(ft.grad(module.f)), ft.jacfwd(module.f)):
            raises(ft.ConversionError, lambda: slope(0.7), "text")


def test_exceptions_that_code_reads_are_found(tmp_path, monkeypatch):
    faulty.exceptions_that_code_reads(monkeypatch)
    module = function_that_catches("by a caller", tmp_path)
    with ft.adopt(module, dependencies=False):
        assert ft.grad(lambda x: x + module.f(x))(0.7) == 1.0


UNREAD = {
    "nothing": "return bad(x)",
    "without a name": "try: bad(x)\nexcept ValueError: return x * 3.0",
    "another statement": "try: y = 3.0\nexcept ValueError as e: pass\nreturn bad(x)",
    "in its else": "try: y = 3.0\nexcept ValueError as e: pass\nelse: bad(x)",
    "in the handler": "try: {}[1]\nexcept KeyError as e: raise ValueError(f'{x}') from e",
    "settings of NumPy": "with np.errstate(all='ignore'): return bad(x)",
    "at last": "try: return bad(x)\nfinally: x = 3.0",
}


@pytest.mark.parametrize("name", UNREAD)
def test_the_text_of_an_exception_that_nobody_reads_is_shown(name, tmp_path):
    lines = UNREAD[name].replace("\n", "\n    ")
    module = module_of(tmp_path, f"{CATCHING}    {lines}\n")
    with ft.adopt(module):
        try:
            assert ft.grad(module.f)(0.7) == 3.0
        except ValueError as error:  # which is outside of the transform
            assert str(error) == "0.7"


@pytest.mark.parametrize("source", ["", "def f(x):\n    print(f'a {x}')\n"])
def test_without_the_source_that_runs_nothing_is_shown(source, tmp_path, capsys):
    module = module_of(tmp_path, "def f(x):\n    print(f'{x}')\n    return x * x\n")
    with ft.adopt(module):
        ft.grad(module.f)(0.7)
        Path(module.__file__).write_text(source)
        linecache.checkcache(module.__file__)
        raises(ft.ConversionError, lambda: ft.grad(module.f)(0.7))
    assert capsys.readouterr().out == "0.7\n"


@pytest.mark.parametrize("planted", [False, True])
def test_a_source_of_the_same_layout_decides_nothing(planted, tmp_path, monkeypatch):
    if planted:
        faulty.source_of_the_same_layout_decides_nothing(monkeypatch)
    module = module_of(tmp_path, "def f(x):\n    float(f'{x}')\n    return x * x\n")
    file = Path(module.__file__)
    file.write_text(file.read_text().replace("float", "print"))
    asks = contextlib.nullcontext() if planted else pytest.raises(ft.ConversionError)
    with ft.adopt(module), asks:
        ft.grad(module.f)(0.7)


def test_the_remedies_work(tmp_path, capsys):
    text = """
    import functier, numpy as np
    TABLE = {"0.5": 3.0}
    def detached(x): return x * TABLE[str(functier.stop_gradient(x))]
    def rounded(x): return x * TABLE[f"{x:.6g}"]
    def shown(x): print(f"{x}"); return x * 3.0
    """
    module = module_of(tmp_path, text)
    with ft.adopt(module):
        for f in (module.detached, module.rounded, module.shown):
            assert ft.grad(f)(np.float64(0.5)) == 3.0
        assert ft.vmap(module.detached, branches="split")(np.array([0.5])).tolist() == [1.5]
    assert capsys.readouterr().out == "0.5\n"


def test_whole_numbers_have_texts(tmp_path):
    text = """
    import numpy as np
    def f(x): return x * {"1": 10.0, "2": 20.0}[f"{int(x):d}"] * len(f"{int(x + 1e18):d}") / 19
    def g(x): return x * {"1.0": 10.0, "2.0": 20.0}[f"{np.sign(x) * 1}"]
    def h(x): return x * {"1": 10.0, "2": 20.0}["%s" % np.rint(x).astype(int)]
    """
    module, xs = module_of(tmp_path, text), np.array([1.0, 2.0])
    with ft.adopt(module):
        for f in (module.f, module.h):
            assert ft.vmap(f, branches="split")(xs).tolist() == [10.0, 40.0]
            assert ft.vmap(ft.grad(f), branches="split")(xs).tolist() == [10.0, 20.0]
            with pytest.raises((ft.ConversionError, ft.DataDependentError)):
                ft.vmap(f)(xs)
        raises(ft.ConversionError, lambda: ft.grad(module.g)(1.0))


OF_PYTHON = {
    "a number": "repr(float(x))",
    "of math": "repr(math.sin(x))",
    "converted twice": "repr([np.float64(float(x)), float(np.float64(x))])",
    "its class": "[type(float(x)), type(x), type(v.item(0)), isinstance(float(x), np.floating)]",
    "as strings": "[str(float(x) * 2), '%s' % (float(x) + 1)]",
}
OF_EITHER = {
    "computed": "repr(float(x) * 2)",
    "in a list": "str([float(x), x])",
    "chosen": "repr(max(x, 0))",
    "an element": "repr([v.item(1), v[1]])",
    "rounded": "repr([round(float(x), 1), round(x, 1)])",
}


@pytest.mark.parametrize("name", [*OF_PYTHON, *OF_EITHER])
def test_a_number_of_pythons_is_known(name, tmp_path):
    way = {**OF_PYTHON, **OF_EITHER}[name]
    text = f"""
    import math
    import numpy as np
    SEEN = []
    def f(x):
        v = np.stack([x, 2 * x])
        repr(x)
        SEEN.append({way})
        return x
    """
    module, reference = module_of(tmp_path, text), module_of(tmp_path, text)
    same = np.array([0.7, 0.7])
    with ft.adopt(module):
        if name in OF_EITHER:
            with pytest.raises(ft.ConversionError, match=r"write float\(x\) or numpy.float64\(x\)"):
                ft.vmap(module.f)(same)
        else:
            ft.vmap(module.f)(same)
            reference.f(same[0])
            assert module.SEEN == reference.SEEN


def test_other_code_has_a_description(tmp_path):
    module = module_of(tmp_path, "def f(g, x): return g(x)")
    seen = []

    def write(x):
        seen.append(f"{[x]} {x!r} {[x]!s}")
        return x * x

    with ft.adopt(module):
        assert ft.grad(lambda x: module.f(write, x))(0.5) == 1.0
    assert seen[0].count("float64[] in grad") == 3


def test_what_is_shown_splits_nothing_and_records_nothing(tmp_path, capsys):
    module = module_of(tmp_path, "def f(x):\n    print(x, str([x]))\n    return x * x\n")
    with ft.adopt(module):
        ft.vmap(module.f, branches="split")(np.array([0.5, 0.7]))
        assert capsys.readouterr().out.count("float64[] of 2 examples") == 2
        g = ft.compile(module.f)
        assert g(0.5) == 0.25 and g(0.7) == 0.7 * 0.7
        assert len(re.findall(r"float64\[\]", capsys.readouterr().out)) == 2


WAYS_OF_FAULTS = [
    'f"{x}"',
    'f"{x:.17g}"',
    "str(x)",
    'f"{x:.3f}"',
    '"%s %d" % (x, 3)',
    '"%s" % (x,)',
]


@pytest.mark.parametrize("fault", faulty.FAULTS)
def test_a_planted_fault_is_found(fault, monkeypatch):
    plant, use = faulty.FAULTS[fault]
    before = outcomes(WAYS_OF_FAULTS, use, "grad")
    plant(monkeypatch)
    assert outcomes(WAYS_OF_FAULTS, use, "grad") != before


STORMLESS = """
def in_assert(x):
    y = x + 2.0
    assert y > 0, f"negative: {y:.3g}"
    return y * y
def named(x):
    label = f"x = {x:.3g}"
    return x * x if label else x
def rounded(x): return (x - 10.0 * round(x / 10.0)) ** 2
def whole(x): return x * int(x / 10.0 + 1.0)
def sized(x): return x * x if not (hasattr(x, "size") and x.size > 1) else x
"""


@pytest.mark.parametrize("name", ["in_assert", "named", "rounded", "whole", "sized"])
@pytest.mark.parametrize("order", [0, 1, 2])
def test_what_a_text_or_a_question_does_not_tell_is_no_answer(name, order, tmp_path):
    module = module_of(tmp_path, STORMLESS)
    with ft.adopt(module):
        f = getattr(module, name)
        for _ in range(order):
            f = ft.grad(f)
        fast = ft.compile(f)
        for i in range(10):
            x = 1.0 + 0.1 * i
            assert fast(x) == pytest.approx(f(x))
        assert len(fast.programs) == 1


@pytest.mark.parametrize("order", [0, 1])
def test_a_text_that_is_read_is_an_answer_and_nothing_else_is(order, tmp_path):
    module = module_of(tmp_path, 'def f(x):\n    return x * len(f"{x:.3g}")\n')
    with ft.adopt(module):
        f = ft.grad(module.f) if order else module.f
        fast = ft.compile(f)
        found = [fast(x) == pytest.approx(f(x)) for x in (0.5, 0.25, 0.2500001, 0.5, 7.0)]
        assert all(found)
        assert len(fast.programs) == 3
        assert "a key" not in fast.explain()


CHOICES = """
import numpy as np
def rounded(x):
    d = x - 10.0 * round(x / 10.0)
    return d * d
def sized(x):
    if hasattr(x, "size") and x.size > 1:
        raise ValueError
    return x * x
def formatted(x):
    label = f"x = {x:.3g}"
    return x * x if label else x
"""


@pytest.mark.parametrize("name", ["rounded", "sized", "formatted"])
def test_a_value_that_changes_no_choice_needs_no_new_trace(name, tmp_path):
    module = module_of(tmp_path, CHOICES)
    with ft.adopt(module), silent():
        compiled = ft.compile(ft.grad(getattr(module, name)))
        numbers = iter(np.linspace(1.0, 2.0, 20))
        for _ in range(6):
            compiled(float(next(numbers)))
        assert calls_of(lambda: compiled(float(next(numbers)))) < 300
