"""Texts of tensors in adopted code: NumPy's, refused, or a description for people."""

import logging
import re

import numpy as np
import pytest
from adopt_support import module_of

import functier as ft
from functier._adopt import texts
from functier._core import adopted
from turns import few, in_turn

HEAD = """
import collections, dataclasses, logging
import numpy as np

SEEN = []
WHOLE = False

class Vector(np.ndarray):
    pass

def note(text):
    SEEN.append(text)
    return text

class Shown:
    def __init__(self, x): self.x = x
    def __repr__(self): return "Shown(" + repr(self.x) + ", " + str([self.x]) + ")"

@dataclasses.dataclass
class Data:
    x: object

def f(x):
    v = np.stack([x, 2 * x])
    n = int(np.rint(x)) if WHOLE else 0
    note(%s)
    return x * 2.0
"""

NEEDED = [
    "str(x)", "repr(x)", "str([x, 3])", "repr([x, 2.0])", "str((x,))", "str({'a': x})",
    "repr({'a': [x, {'b': (x, 1)}]})", "str(collections.OrderedDict(a=x))",
    "str(collections.deque([x]))", "str(v)", "repr(v)", "str([v])", "str(v.tolist())",
    "repr(list(v))", "repr(np.asarray(x))", "str([np.asarray(x)])", "' '.join(map(str, v))",
    "' '.join(map(repr, [x, v]))", "repr(v.astype(np.float32) * np.float32(0.1))",
    "str(v[0].astype(np.float32) * np.float32(0.1))", "str(x * np.nan)", "repr([x * np.nan])",
    "repr([x > 0, x * 1j])", "str(v.view(Vector))", "repr([v.view(Vector)])",
    "list(map(str, [x]))[0]", "sorted(map(repr, [v]))[0]",
    "str([x.item()])", "repr([float(x)])",
    "str(np.array([x, 1.5], dtype=object))", "repr([np.array([[x, None]], dtype=object)])",
    "(lambda y: [y.__setitem__(0, x), repr(y)])(np.zeros(2))[1]",
]  # fmt: skip
"""Texts that code may look something up by, or read again: NumPy's, or refused."""

SHARED = [
    'f"{[x]}"', 'f"{x!r}"', 'f"{x!s}"', 'f"{v}"', '"%s" % x', '"%s" % [x]', '"%r" % x', '"%s" % v',
    '"%(a)s" % {"a": [x]}', '"{}".format([x])', '"{!r}".format(x)', 'format([x])', 'f"{x}"',
    '"{}".format(v)', 'f"{(v, x)}"', "ascii(x)",
    '"%s" % np.array([x, v, 2], dtype=object)',
]  # fmt: skip
"""Texts that are for people, too: NumPy's where examples share it, else a description."""

MADE = [
    "str(np.zeros(2))", "repr(np.ones(2))", 'f"{np.zeros(2)}"',
    '"%s %r" % (np.ones(2), np.ones(1))', "str([np.zeros((2, 1))])",
    "repr(np.array(['a', None], dtype=object))", "str(np.float64(0.1))", "'{}'.format(np.ones(3))",
    "str(np.ones(2).view(Vector))", "repr({'a': 0.5, 1: [None]})", "str(b'a', 'ascii') + str()",
]  # fmt: skip
"""Texts of what is made in a level, and met no tensor."""

WHOLE = ["str([n])", "repr({1: n})", 'f"{n}"', 'f"{[n]}"', '"%s" % n', '"{}".format((n, 2))']
"""Texts of whole numbers, which have no derivative: they are NumPy's, or refused."""

PEOPLE = ["repr(Shown(x))", "str(Shown([x]))", "f'{Shown(v)}'", "str(Data(x))", "f'{x:.3f}'"]
"""Texts that never stop a program; of a number alone, a format gives digits in all modes."""


def modules(folder, text):
    head = HEAD.replace("WHOLE =", "WHOLE = True #") if re.search(r"\bn\b", text) else HEAD
    text = head.replace("note(%s)", f"note({text})")
    return module_of(folder, text), module_of(folder, text)


def texts_of(module, call):
    module.SEEN.clear()
    call()
    return list(module.SEEN)


def same(found, wanted):
    assert set(map(repr, found)) == set(map(repr, wanted))


XS = np.array([0.7, -1.6, 2.3])
SAME = np.array([0.7, 0.7])


def plain_of(reference, xs):
    return [text for x in xs for text in texts_of(reference, lambda x=x: reference.f(x))]


@pytest.mark.parametrize("text", few([*NEEDED, *SHARED, *WHOLE, *MADE], 3))
def test_examples_have_numpys_text(text, tmp_path):
    module, reference = modules(tmp_path, text)
    with ft.adopt(module):
        same(texts_of(module, lambda: module.f(XS[0])), plain_of(reference, XS[:1]))
        wanted = plain_of(reference, SAME)
        same(texts_of(module, lambda: ft.vmap(module.f)(SAME)), wanted)
        nested = np.stack([SAME, SAME])
        same(texts_of(module, lambda: ft.vmap(ft.vmap(module.f))(nested)), wanted)
        found = texts_of(module, lambda: ft.vmap(module.f, branches="split")(XS))
        assert set(map(repr, plain_of(reference, XS))) == set(map(repr, found[-3:]))
        outer = lambda xs: ft.vmap(module.f, branches="split")(xs)  # noqa: E731
        if text not in SHARED and len(set(plain_of(reference, XS))) > 1:
            with pytest.raises(ft.ConversionError, match="split"):
                ft.vmap(module.f)(XS)
        if text in WHOLE or text in MADE:
            same(texts_of(module, lambda: ft.grad(module.f)(0.7)), plain_of(reference, [0.7]))
            ft.jvp(outer, (XS,), (XS,))


MODES = {
    "grad": lambda f: ft.grad(f)(0.7),
    "jvp": lambda f: ft.jvp(f, (0.7,), (1.0,)),
    "vmap of grad": lambda f: ft.vmap(ft.grad(f))(SAME),
    "grad of vmap": lambda f: ft.grad(lambda x: np.sum(ft.vmap(f)(x)))(SAME),
    "split of grad": lambda f: ft.vmap(ft.grad(f), branches="split")(XS),
    "twice": lambda f: ft.grad(ft.grad(f))(0.7),
    "trace": lambda f: ft.trace(f)(0.7),
}


@pytest.mark.parametrize(("text", "mode"), in_turn(NEEDED, MODES))
def test_a_text_that_would_lose_a_derivative_is_refused(text, mode, tmp_path):
    module, _ = modules(tmp_path, text)
    with ft.adopt(module), pytest.raises(ft.ConversionError, match=r"stop_gradient|write x"):
        MODES[mode](module.f)


@pytest.mark.parametrize(
    ("text", "mode"),
    in_turn([*SHARED, *PEOPLE, "print([x], v)", "print(x)", "print(x, x)"], [*MODES, "vmap"]),
)
def test_people_get_a_description(text, mode, tmp_path, capsys):
    module, _ = modules(tmp_path, text)
    with ft.adopt(module):
        run = {**MODES, "vmap": lambda f: ft.vmap(f)(XS)}[mode]
        if mode in ("trace", "vmap") and ":.3f" in text:
            pytest.skip("a program has other values in other calls, and an example another text")
        found = (
            " ".join(map(str, texts_of(module, lambda: run(module.f)))) + capsys.readouterr().out
        )
    assert re.search(r"float64\[2?\] (in|of)|0.700", found), found


def test_what_is_printed_or_logged_splits_nothing(tmp_path, capsys, caplog):
    module, _ = modules(tmp_path, "[print(x, [v]), logging.warning('%s %s', x, [v])]")
    with ft.adopt(module), caplog.at_level(logging.WARNING):
        ft.vmap(module.f, branches="split")(XS)
        ft.grad(module.f)(0.7)
    out = capsys.readouterr().out
    assert out.count("float64[] ") == 2 and "3 examples" in out and "in grad(f)" in out
    assert len(caplog.messages) == 2 and "3 examples" in caplog.messages[0]


READ_AGAIN = {
    "eval": "return eval(repr(x), {'np': np}) * 2",
    "of a list": "return sum(eval(str([x, 2 * x]), {'np': np}))",
    "of an f-string": "return eval(f'{[x]}', {'np': np})[0] ** 2",
    "by percent": "return float('%s' % x) * 3",
    "of an array": "return np.fromstring(str(np.stack([x, x]))[1:-1], sep=' ').sum()",
    "json": "import json; return json.loads(json.dumps([float(str(x)), 2]))[0]",
}


@pytest.mark.parametrize("name", READ_AGAIN)
def test_a_number_is_read_again(name, tmp_path):
    text = f"import numpy as np\ndef f(x):\n    {READ_AGAIN[name]}\n"
    module, reference = module_of(tmp_path, text), module_of(tmp_path, text)
    xs = np.array([0.7, -1.3, 2.5])
    with ft.adopt(module):
        found = ft.vmap(module.f, branches="split")(xs)
        np.testing.assert_array_equal(found, [reference.f(x) for x in xs])
        with pytest.raises((ft.ConversionError, SyntaxError, ValueError)):
            ft.grad(module.f)(0.7)


def test_a_memory_by_texts_never_has_a_derivative_of_another_number(tmp_path):
    text = """
    CACHE = {}
    def square(v):
        key = %s
        if key not in CACHE:
            CACHE[key] = v * v
        return CACHE[key]
    def f(x):
        return square([x, 3 * x - 2][0]) + square([3 * x - 2][0])
    """
    for key in ("str(v)", "repr([v])", "str({v: 1}.keys()) if 0 else str((v, v))"):
        module = module_of(tmp_path, text % key)
        with ft.adopt(module), pytest.raises(ft.ConversionError):
            ft.grad(module.f)(1.0)


def test_the_remedy_works(tmp_path):
    text = """
    import functier, numpy as np
    def f(x):
        return x * {"[np.float64(2.0)]": 3.0}.get(repr([functier.stop_gradient(x)]), 1.0)
    """
    module = module_of(tmp_path, text)
    with ft.adopt(module):
        assert ft.grad(module.f)(np.float64(2.0)) == 3.0
        xs = np.array([2.0, 4.0])
        assert ft.vmap(ft.grad(module.f), branches="split")(xs).tolist() == [3.0, 1.0]


OF_PYTHON = {
    "a number": "repr(float(x))",
    "in a list": "str([float(x), x])",
    "an element": "repr([v.item(1), v[1]])",
    "of math": "repr(math.sin(x))",
    "converted twice": "repr([np.float64(float(x)), float(np.float64(x))])",
    "its class": "[type(float(x)), type(x), type(v.item(0)), isinstance(float(x), np.floating)]",
    "rounded": "repr([round(float(x), 1), round(x, 1)])",
    "complex": "repr([complex(x), x * 1j])",
    "as strings": "[str(float(x) * 2), '%s' % (float(x) + 1)]",
}


@pytest.mark.parametrize("name", OF_PYTHON)
def test_a_number_of_pythons_is_known(name, tmp_path):
    text = "import math\nimport numpy as np\nSEEN = []\ndef f(x):\n    v = np.stack([x, 2 * x])\n"
    text += "" if name != "in a list" else "    SEEN.append(repr(x))\n"
    text += f"    SEEN.append({OF_PYTHON[name]})\n    return x\n"
    module, reference = module_of(tmp_path, text), module_of(tmp_path, text)
    with ft.adopt(module):
        if name in ("in a list", "an element", "rounded", "complex"):
            with pytest.raises(ft.ConversionError, match="a number of Python's"):
                ft.vmap(module.f)(SAME)
        else:
            same(texts_of(module, lambda: ft.vmap(module.f)(SAME)), plain_of(reference, SAME))


def test_what_is_computed_with_a_number_of_pythons_is_refused_with_a_remedy(tmp_path):
    text = """
    import math
    import numpy as np
    SEEN = []
    def f(x): SEEN.append(repr(float(x) * 2)); return x
    def g(x): SEEN.append(repr(float(float(x) * 2))); return x
    def h(x): SEEN.append(str([np.float64(math.sin(x) * 2)])); return x
    def k(x): SEEN.append(str([max(x, 0.0)])); return x
    def people(x): SEEN.append(f"{[float(x) * 2]}"); return x
    """
    module, reference = module_of(tmp_path, text), module_of(tmp_path, text)
    with ft.adopt(module):
        for f in (module.f, module.k):
            with pytest.raises(ft.ConversionError, match=r"write float\(x\) or numpy.float64\(x\)"):
                ft.vmap(f, branches="split")(np.array([1.0, -1.0]))
        for name in "gh":
            f = getattr(module, name)
            module.SEEN.clear(), reference.SEEN.clear()
            ft.vmap(f)(SAME), getattr(reference, name)(SAME[0])
            assert module.SEEN == reference.SEEN
        assert "2 examples" in texts_of(module, lambda: ft.vmap(module.people)(SAME))[0]
        assert ft.vmap(lambda x: x * 2)(SAME).tolist() == [1.4, 1.4]


def test_other_code_has_a_description(tmp_path):
    module, _ = modules(tmp_path, "str([x])")
    seen = []
    with ft.adopt(module):
        ft.vmap(lambda x: (seen.append(f"{[x]} {x!r} {[x]!s}"), x)[1])(SAME)
    assert seen[0].count("float64[] of 2 examples") == 3


FAULTS = {
    "a description": (adopted, "text_for", lambda *args: None),
    "any text": (texts, "text_of", lambda x, form, needed: None),
    "the first example": (
        texts, "text_of", lambda x, form, needed: form(texts.settle(x)._value[0]),
    ),
}  # fmt: skip


@pytest.mark.parametrize("fault", FAULTS)
def test_a_planted_fault_is_found(fault, tmp_path, monkeypatch):
    from functier._core import tensor

    place, name, value = FAULTS[fault]
    monkeypatch.setattr(place, name, value)
    if place is adopted:
        monkeypatch.setattr(tensor, name, value)
    else:
        monkeypatch.setitem(adopted.METHODS, "__repr__", value)
    with pytest.raises((AssertionError, pytest.fail.Exception, TypeError)):
        test_examples_have_numpys_text("str([x, 3])", tmp_path)
