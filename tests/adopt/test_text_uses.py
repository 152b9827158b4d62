"""Texts of tensors that adopted code makes for people answer; what is read again is refused."""

import logging
import re

import numpy as np
import pytest
from adopt_support import module_of

import functier as ft
from functier._adopt import joined, text_uses, texts
from turns import few, in_turn

HEAD = """
import decimal, json, logging, re, sys, warnings
import numpy as np

SEEN = []
LOGGER = logging.getLogger("adopted")

class Wrong(Exception):
    def __init__(self, text, where=None):
        self.text = text
    def __str__(self):
        return "wrong: " + self.text

class Library:
    Wrong = Wrong

def note(text):
    SEEN.append(f"{text}")

def caught(error):
    SEEN.append(f"{error}")

def f(x):
    v = np.stack([x, 2 * x])
%s
    return x * x
"""

SHOWN = [
    "print('value ' + str(x))", "print(str(x), repr(v))", "print(str([x, v]))",
    "print(' '.join(['a', str(x)]))", "print('a', sep=str(x), end=str(v) + '.')",
    "warnings.warn('value ' + str(x) + ' given')", "warnings.warn(str(x), UserWarning, 2)",
    "LOGGER.warning(str(x))", "LOGGER.warning('value ' + repr(x))", "logging.warning(str([x]))",
    "LOGGER.warning('%%s %%s', 'a' + str(x), 1)", "sys.stdout.write('a' + str(x))",
    "caught(ValueError(str(x)))", "caught(ValueError('a ' + str(x) + ' ' + repr(v)))",
    "caught(Wrong('a ' + str(x) + '.', where='f'))", "caught(Library.Wrong(str(x)))",
    "text = 'value ' + str(x); caught(ValueError(text))", "text = str(x); print('a ' + text)",
    "text = 'value '; text += str(x); caught(Wrong(text, where=text))",
    "note('value ' + str(x))", "note(f'{str(x)} a')", "note('%%s a' %% str(x))",
    "note('%%s, %%s' %% (str(x), repr(v)))", "note('a {}'.format(str(x)))", "note(f'{str(x):>9}')",
    "note('a ' + str((x, v)) + ' b')", "note(('A ' + repr(x)).lower())",
]  # fmt: skip
"""Texts for people, who get a description where several texts differ."""

ASKED = [
    ("'torch' in (str(type(x)) + str(x)).lower()", False),
    ("'numpy' in (str(type(v)) + str(v)).lower()", True),
    ("'torch' in str(x).lower()", False), ("'torch' in 'a' + str(v)", False),
    ("str(x) == 'auto'", False), ("'a' + str(x) != 'a'", True), ("str(x) != ''", True),
    ("'a' + str(x) == 'auto'", False),
    ("str(x).upper() in ('AUTO', 'NONE')", False), ("'b0' in 'ab' + str(x) + 'b0'", True),
    ("'torch' in str([x, (v, None, 'a')])", False),
    ("'numpy' in 'a' + repr(v)", False), ("isinstance('a' + str(x), str)", True),
]  # fmt: skip
"""Questions about words, whose answers are the same for all numbers."""

READ = [
    "float(str(x))", "float(repr(x))", "float('0' + str(x))", "float(str(x) + 'e3')",
    "eval(str([x, x]))[0]", "eval('1' + str(x))", "decimal.Decimal(str(x))",
    "decimal.Decimal('0' + str(x))", "json.loads(str(x))", "json.loads('[' + str(x) + ']')",
    "{'0.7': 1.0}[str(x)]", "{'a0.7': 1.0}.get('a' + str(x), 2.0)", "'a0.7' in {'a' + str(x)}",
    "'0.7' in 'a' + str(x)", "'nan' in str(x)", "'a0' in 'a' + str(x)",
    "'float' in 'a' + repr([x])", "'tr' in 'a' + str([x, True])",
    "'(' in 'a' + str([{x}])", "'7.' in str(x) + '.'",
    "'' in {'a' + str(x): 1}", "str(x) == '0.7'", "'a' + str(x) == 'a0.7'",
    "'a' + str(x) == 'a' + str(x)", "len('a' + str(x))", "('a' + str(x))[1:]",
    "list('a' + str(x))", "('a' + str(x)).split('a')", "('a' + str(x)).replace('a', '')",
    "re.findall(r'[0-9.]+', 'a' + str(x))", "re.sub('a', '', 'a' + str(x))",
    "int('1' + str(x))", "complex('1' + str(x))", "np.float64('1' + str(x))",
    "np.array(['1' + str(x)]).astype(float)", "('a' + str(x)).encode()",
    "bytes('1' + str(x), 'ascii')",
    "' '.join([str(x), '1']).split()", "' '.join(map(str, [x]))", "repr(('a' + str(x), 1))",
    "str(['a' + str(x)])", "str(float('0' + str(x)))", "'a' + str(x) < 'b'", "hash('a' + str(x))",
    "print('1' + str(x)) or float('1' + str(x))", "sorted(['a' + str(x), 'a'])",
    "(lambda text: float(text))(str(x))", "np.fromstring('1' + str(x), sep=' ')",
    "('%%s' if x > 9 else str(x)).strip()", "'1' + str(x) if x > 9 else float('1' + str(x))",
]  # fmt: skip
"""Texts that are read as a number again, or by which something is looked up."""

MODES = {
    "grad": lambda f: ft.grad(f)(np.float64(0.7)),
    "jvp": lambda f: ft.jvp(f, (np.float64(0.7),), (np.float64(1.0),)),
    "vmap of grad": lambda f: ft.vmap(ft.grad(f))(np.array([0.7, 0.7])),
    "twice": lambda f: ft.grad(ft.grad(f))(np.float64(0.7)),
    "split of grad": lambda f: ft.vmap(ft.grad(f), branches="split")(np.array([0.7, 0.9])),
    "vmap": lambda f: ft.vmap(f)(np.array([0.7, 0.9])),
    "trace": lambda f: ft.trace(f)(np.float64(0.7)),
}
DIFFERENTIATED = [name for name in MODES if name not in ("vmap", "trace")]


def module_with(folder, statement):
    return module_of(folder, HEAD.replace("%s", "    " + statement).replace("%%", "%"))


@pytest.mark.parametrize(("statement", "mode"), in_turn(SHOWN, MODES))
@pytest.mark.filterwarnings("always")
def test_people_get_a_text(statement, mode, tmp_path, capsys, caplog, recwarn):
    module = module_with(tmp_path, statement)
    with ft.adopt(module), caplog.at_level(logging.WARNING):
        MODES[mode](module.f)
    found = [*module.SEEN, capsys.readouterr().out, *caplog.messages]
    found = " ".join([*found, *[str(w.message) for w in recwarn]])
    assert re.search(r"float64\[2?\] (in|of)", found), found


@pytest.mark.parametrize(("asked", "mode"), in_turn(ASKED, MODES))
def test_questions_about_words_have_answers(asked, mode, tmp_path):
    question, answer = asked
    module = module_with(tmp_path, f"SEEN.append({question})")
    module.f(np.float64(0.7))
    with ft.adopt(module):
        MODES[mode](module.f)
    assert set(module.SEEN) == {answer}


@pytest.mark.parametrize(("text", "mode"), in_turn(READ, DIFFERENTIATED))
def test_what_is_read_again_is_refused(text, mode, tmp_path):
    module = module_with(tmp_path, f"SEEN.append({text})")
    with ft.adopt(module), pytest.raises((ft.ConversionError, TypeError)) as info:
        MODES[mode](module.f)
    if isinstance(info.value, ft.ConversionError):  # else C code has met no text
        assert "stop_gradient" in str(info.value)


@pytest.mark.parametrize("mode", DIFFERENTIATED)
@pytest.mark.parametrize("text", ["float('1' + str(x))", "len('a' + str(x))", "hash('a' + str(x))"])
def test_no_function_catches_the_error_for_good(text, mode, tmp_path):
    statement = f"try: {text}\n    except Exception: pass"
    module = module_with(tmp_path, statement)
    with ft.adopt(module), pytest.raises(ft.ConversionError, match="stop_gradient"):
        MODES[mode](module.f)


@pytest.mark.parametrize("text", few([t for t in READ if "map" not in t], 3))
def test_examples_are_right_or_refused(text, tmp_path):
    module = module_with(tmp_path, f"SEEN.append({text})")
    reference = module_with(tmp_path, f"SEEN.append({text})")

    def seen(module, call):
        try:
            call()
        except Exception:
            return None
        return list(map(repr, module.SEEN))

    with ft.adopt(module):
        for xs, options in (
            ([0.7, 0.7], {}),
            ([0.7, 0.9], {}),
            ([0.7, 0.9], {"branches": "split"}),
        ):
            module.SEEN.clear(), reference.SEEN.clear()
            xs = np.array(xs)
            found = seen(module, lambda xs=xs, o=options: ft.vmap(module.f, **o)(xs))
            wanted = seen(reference, lambda xs=xs: [reference.f(x) for x in xs])
            assert found is None or wanted is None or set(found[-2:]) == set(wanted)


def test_a_memory_by_joined_texts_is_refused(tmp_path):
    text = """
    CACHE = {}
    def square(v):
        key = "key " + str(v)
        if key not in CACHE:
            CACHE[key] = v * v
        return CACHE[key]
    def f(x):
        return square(x) + square(3 * x - 2)
    """
    module = module_of(tmp_path, text)
    with ft.adopt(module), pytest.raises(ft.ConversionError, match="stop_gradient"):
        ft.grad(module.f)(1.0)


def test_a_text_outlives_its_level(tmp_path):
    module = module_with(tmp_path, "SEEN.append('a ' + str(x))")
    with ft.adopt(module):
        ft.grad(module.f)(0.7)
        (text,) = module.SEEN
        assert "grad(f): 0.7" in f"{text}" and repr(text) == repr(str(text))
        with pytest.raises(ft.ConversionError):
            float(text)
        assert ft.grad(lambda x: x * x)(0.7) == 1.4  # nothing is noted of the level that ended


FAULTS = {
    "all are shown": (texts, "use_of_text", lambda frame, own: "shown", "float('0' + str(x))"),
    "any callee shows": (text_uses, "_is_for_people", lambda value: True, "len(str(x))"),
    "any callee is str": (text_uses, "_callee", lambda *args: print, "len(str(x))"),
    "no letters": (joined.Text, "may_be", lambda *args, **words: False, "'0.7' in 'a' + str(x)"),
    "a word has digits": (
        texts, "letters_of", lambda *args: frozenset(), "'a' + str(x) == 'a0.7'",
    ),
    "no refusal": (joined.Text, "__float__", lambda text: 0.7, "float('0' + str(x))"),
}  # fmt: skip


@pytest.mark.parametrize("fault", FAULTS)
def test_a_planted_fault_is_found(fault, tmp_path, monkeypatch):
    place, name, value, text = FAULTS[fault]
    monkeypatch.setattr(place, name, value)
    if fault == "any callee is str":
        monkeypatch.setattr(texts, "str_", print)
    with pytest.raises((AssertionError, pytest.fail.Exception, ValueError)):
        test_what_is_read_again_is_refused(text, "grad", tmp_path)
