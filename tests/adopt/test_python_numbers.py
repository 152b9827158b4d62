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
