"""Rules that a package brings for its ufunc: functier finds them by an entry point.

    python examples/package_rules.py

The package `kinks` has one function, ``logcosh(x) = log cosh x``, a ufunc that Numba compiles. Its
module `kinks._functier` declares the derivative, ``tanh x``, and its entry point tells functier
where that is. Users of the package import neither: they call `grad`. The program writes the three
files to a temporary folder, as an installer would, and uses the package from there.

Without Numba the program says so and ends.
"""

import sys
import tempfile
from importlib.util import find_spec
from pathlib import Path

import numpy as np

from functier import grad, hessian, protocol, vmap

FILES = {
    "kinks/__init__.py": """
import math
from numba import vectorize

@vectorize(["float64(float64)"])
def logcosh(x):
    return abs(x) + math.log1p(math.exp(-2 * abs(x))) - math.log(2)
""",
    "kinks/_functier.py": """
import numpy as np
from functier.protocol import elementwise
from . import logcosh

elementwise(logcosh, lambda g, x: g * np.tanh(x))
""",
    "kinks-1.0.dist-info/METADATA": "Metadata-Version: 2.1\nName: kinks\nVersion: 1.0\n",
    "kinks-1.0.dist-info/entry_points.txt": "[functier.rules]\nkinks = kinks._functier\n",
}


def main():
    if find_spec("numba") is None:
        print("skipped: Numba is not installed; python -m pip install numba")
        return
    with tempfile.TemporaryDirectory() as folder:
        for name, text in FILES.items():
            path = Path(folder, name)
            path.parent.mkdir(exist_ok=True)
            path.write_text(text)
        sys.path.insert(0, folder)
        from kinks import logcosh

        x = np.linspace(-2, 2, 5)
        print(f"version {protocol.__version__} of the protocol")
        print("first derivatives  ", vmap(grad(logcosh))(x))
        print("second derivatives ", np.diag(hessian(lambda x: logcosh(x).sum())(x)))
        off = np.abs(vmap(grad(grad(logcosh)))(x) - 1 / np.cosh(x) ** 2).max()
        print(f"largest difference to 1 / cosh(x)^2: {off:.0e}")


if __name__ == "__main__":
    main()
