"""Functions of one number, and their Taylor coefficients to 50 digits, which mpmath has computed.

``python tests/taylor/coefficients.py`` writes the table `coefficients.txt` again, with mpmath: in
each row the function, the point, and the coefficients of the powers `POWERS`.
"""

from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np

TABLE = Path(__file__).with_suffix(".txt")
POWERS = 9, 20

FUNCTIONS: dict[str, tuple[Callable, str, float, float]] = {
    "exp": (np.exp, "exp(x)", -3, 3),
    "exp2": (np.exp2, "mpf(2)**x", -3, 3),
    "expm1": (np.expm1, "expm1(x)", -3, 3),
    "log": (np.log, "log(x)", 0.1, 5),
    "log1p": (np.log1p, "log1p(x)", -0.8, 4),
    "log2": (np.log2, "log(x) / log(2)", 0.1, 5),
    "log10": (np.log10, "log10(x)", 0.1, 5),
    "sqrt": (np.sqrt, "sqrt(x)", 0.1, 5),
    "cbrt": (np.cbrt, "x**(mpf(1) / 3)", 0.1, 5),
    "reciprocal": (np.reciprocal, "1 / x", 0.2, 4),
    "power": (lambda x: x**2.75, "x**mpf(2.75)", 0.1, 5),
    "power of -3": (lambda x: x**-3.0, "x**-3", 0.2, 4),
    "power of 23": (lambda x: x**23, "x**23", -3, 3),
    "exponent": (lambda x: 2.5**x, "mpf(2.5)**x", -3, 3),
    "both": (lambda x: x**x, "x**x", 0.2, 4),
    "sin": (np.sin, "sin(x)", -7, 7),
    "cos": (np.cos, "cos(x)", -7, 7),
    "tan": (np.tan, "tan(x)", -1.4, 1.4),
    "arcsin": (np.arcsin, "asin(x)", -0.9, 0.9),
    "arccos": (np.arccos, "acos(x)", -0.9, 0.9),
    "arctan": (np.arctan, "atan(x)", -3, 3),
    "arctan2": (lambda x: np.arctan2(x, 1 + x * x), "atan(x / (1 + x * x))", -2, 2),
    "sinh": (np.sinh, "sinh(x)", -3, 3),
    "cosh": (np.cosh, "cosh(x)", -3, 3),
    "tanh": (np.tanh, "tanh(x)", -3, 3),
    "arcsinh": (np.arcsinh, "asinh(x)", -3, 3),
    "arccosh": (np.arccosh, "acosh(x)", 1.2, 5),
    "arctanh": (np.arctanh, "atanh(x)", -0.8, 0.8),
    "sinc": (np.sinc, "sincpi(x)", -4, 4),
    "i0": (np.i0, "besseli(0, x)", 0.1, 5),
    "hypot": (lambda x: np.hypot(x, 1 + x), "sqrt(x * x + (1 + x)**2)", -2, 2),
    "logaddexp": (lambda x: np.logaddexp(x, 2 * x), "log(exp(x) + exp(2 * x))", -2, 2),
}


def points(name: str) -> np.ndarray:
    """The twelve points of a function."""
    _, _, low, high = FUNCTIONS[name]
    return np.linspace(low, high, 12) + 0.013


def rows() -> Iterator[tuple[str, float, list[float]]]:
    """The rows of the table."""
    for line in TABLE.read_text("utf-8").splitlines():
        name, *numbers = line.split("\t")
        yield name, float(numbers[0]), [float(c) for c in numbers[1:]]


def main() -> None:
    import mpmath

    lines = []
    for name, (_, text, _, _) in FUNCTIONS.items():
        for x in points(name):
            with mpmath.workdps(100):
                at, known = mpmath.mpf(float(x)), dict(vars(mpmath))
                found = mpmath.taylor(lambda x: eval(text, {**known, "x": x}), at, max(POWERS))
                exact = [mpmath.nstr(found[k], 20) for k in POWERS]
            lines.append("\t".join([name, repr(float(x)), *exact]))
    TABLE.write_text("\n".join(lines) + "\n", "utf-8")


if __name__ == "__main__":
    main()
