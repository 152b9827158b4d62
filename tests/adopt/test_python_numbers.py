"""Numbers of Python after conversions in adopted code, beside Python itself; ties of rounding."""

import numpy as np
import pytest
from adopt_support import module_of

import functier as ft
from faults.planted import adoption as faulty

CONVERSIONS = {
    "float": "float(x)", "item": "np.asarray(x).item()", "exp and log": "math.exp(math.log(x))",
    "fsum": "math.fsum([x, 0.0])", "ldexp": "math.ldexp(x, 0)", "sqrt": "math.sqrt(x) ** 2",
    "complex": "complex(x).real", "max": "max(float(x), 0.0)", "negative": "-(-float(x))",
    "fabs": "math.fabs(x)", "tolist": "np.asarray(x).tolist()", "absolute": "abs(float(x))",
}  # fmt: skip
"""Expressions of a number of Python."""

AFTER = {
    "overflow": "y ** 400", "a quotient": "1.0 / (y - y)", "a remainder": "y % (y - y)",
    "a floor": "y // (y - y)", "a root": "abs((-y) ** 0.5)", "a negative power": "(y - y) ** -1.0",
    "of ints": "2 ** y + 3 // y", "divmod": "divmod(y, y - y)[0]", "a power of 0": "(y - y) ** 0",
    "reflected": "(-2.0) ** (y + 0.5)", "infinite": "y * 1e308 * 10.0 - y * 1e308 * 10.0",
    "a type": "y if isinstance(y, float) and not isinstance(y, np.floating) else 7.0",
    "one more": "float(y * 2.0) ** 400", "a comparison": "y if ~(y > 0) else 3.0 * y",
}  # fmt: skip
"""Computations with such a number: at overflow, at division by zero, at a branch."""

POINTS = 25.0, np.float64(25.0), 0.5
FORESEEN = "complex", "math domain error"
"""Parts of the messages that refuse."""

TEXT = """
def f{}(x):
    y = {}
    try:
        return {}
    except (OverflowError, ZeroDivisionError):
        return 2.0 * y
"""
WHOLE = {"int": "int(x)", "round": "round(x)", "of float": "int(float(x) + 0.5)"}
GROWING = {
    "a power": "10 ** y", "of it": "y ** 15", "a product": "y * 10**17", "a shift": "y << 58",
    "a sum": "y + (2**63 - 20)", "a difference": "-y - (2**63 - 10)",
    "a quotient": "y * 10**18 // 7", "by a function": "pow(10, y)", "in a loop": "power(y, 20)",
    "a sum of a list": "sum([y] * 9) * 10**16", "small": "y * y + 1",
    "a product of a list": "math.prod([y, 10**18])", "a negative": "-(y * 10**18)",
    "with floats": "2.0 ** y * y", "a part": "(10 ** y) % 7", "back": "(y << 60) >> 60",
    "an operator": "operator.mul(y, 10**18)", "by a method": "int.__mul__(y, 10**18)",
    "assigned": "assigned(y)",
}  # fmt: skip
"""Computations with a whole number, of which most exceed an int64 for the greater points."""

HELPERS = """
import operator
def power(y, n):
    z = 1
    for _ in range(n):
        z = z * y
    return z
def assigned(y):
    y *= 10**18
    y += 1
    return y
"""
REFUSALS = "exceeds an int64", "too large to convert to C long", "requires a 'int' object"
BATCHES = {
    "vmap": lambda f, x: ft.vmap(f)(x),
    "split": lambda f, x: ft.vmap(f, branches="split")(x),
    "nested": lambda f, x: ft.vmap(ft.vmap(f))(x.reshape(2, 2)).reshape(4),
    "jvp": lambda f, x: ft.vmap(lambda x: ft.jvp(f, (x,), (1.0,))[0])(x),
}
XS = np.array([3.25, 0.75, 25.5, 12.25])

CASES = [(y, after) for y in CONVERSIONS.values() for after in AFTER.values()]
RUNS = {
    "value_and_grad": lambda f, x: ft.value_and_grad(f)(x)[0],
    "jvp": lambda f, x: ft.jvp(f, (x,), (1.0,))[0],
    "nested": lambda f, x: ft.jvp(lambda v: ft.value_and_grad(f)(v)[0], (x,), (1.0,))[0],
}


def run(folder):
    """Compare all; return how many are right, and the messages of those that are refused."""
    text = "".join([TEXT.format(i, *case) for i, case in enumerate(CASES)])
    text = f"import math\nimport numpy as np\n{text}"
    module, reference = module_of(folder, text), module_of(folder, text)
    right, refused, wrong = 0, [], []
    with ft.adopt(module):
        for i, case in enumerate(CASES):
            f, plain = getattr(module, f"f{i}"), getattr(reference, f"f{i}")
            for x in POINTS:
                for how, transform in RUNS.items():
                    try:
                        found = transform(f, x)
                    except (ft.ConversionError, TypeError, ValueError) as error:
                        refused.append(str(error))
                        continue
                    if np.allclose(found, plain(x), rtol=1e-12, equal_nan=True):
                        right += 1
                    else:
                        wrong.append((case, how, x, found, plain(x)))
    return right, refused, wrong


@pytest.mark.filterwarnings("ignore")
def test_what_is_computed_after_a_conversion_is_pythons(tmp_path):
    right, refused, wrong = run(tmp_path)
    assert not wrong, wrong[:3]
    unforeseen = [text for text in refused if not any(part in text for part in FORESEEN)]
    assert not unforeseen, unforeseen[:3]
    assert right > 10 * len(refused)


@pytest.mark.filterwarnings("ignore")
def test_numbers_of_numpy_in_place_of_pythons_are_found(tmp_path, monkeypatch):
    faulty.numbers_of_numpy_in_place_of_pythons(monkeypatch)
    assert run(tmp_path)[2]


def test_in_adopted_code_a_python_float_is_no_number_of_numpys(tmp_path):
    text = "import numpy as np\ndef f(x): return 2 * x if isinstance(x, np.floating) else 3 * x\n"
    module = module_of(tmp_path, text)
    with ft.adopt(module):
        assert ft.value_and_grad(module.f)(1.0) == (3.0, 3.0)


def run_whole(folder):
    """Compare whole numbers of a batch; return how many are right, the refusals, and the wrong."""
    cases = [(y, after) for y in WHOLE.values() for after in GROWING.values()]
    text = "".join(
        [f"def f{i}(x):\n    y = {y}\n    return ({z}) * 1.0\n" for i, (y, z) in enumerate(cases)]
    )
    text = f"import math\nimport numpy as np\n{HELPERS}{text}"
    module, reference = module_of(folder, text), module_of(folder, text)
    right, refused, wrong = 0, [], []
    with ft.adopt(module):
        for i, case in enumerate(cases):
            plain = [getattr(reference, f"f{i}")(float(x)) for x in XS]
            for how, transform in BATCHES.items():
                try:
                    found = transform(getattr(module, f"f{i}"), XS)
                except (ft.DataDependentError, OverflowError, TypeError) as error:
                    refused.append((case, how, str(error)))
                    continue
                if np.allclose(found, plain, rtol=1e-12):
                    right += 1
                else:
                    wrong.append((case, how, found, plain))
    return right, refused, wrong


def test_whole_numbers_of_a_batch_never_wrap(tmp_path):
    right, refused, wrong = run_whole(tmp_path)
    assert not wrong, wrong[:3]
    assert not [x for x in refused if not any(part in x[-1] for part in REFUSALS)]
    assert right > 60


def test_whole_numbers_that_wrap_are_found(tmp_path, monkeypatch):
    faulty.whole_numbers_that_wrap(monkeypatch)
    assert run_whole(tmp_path)[2]
