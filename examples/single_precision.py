"""A new kind of level: a function computed in double and in single precision at once.

    python examples/single_precision.py

A tensor of the level has its value in float64, and beside it the same value computed in float32.
`lost` calls a function at such a level and returns the digits that its result loses in single
precision. Rules are not needed, as `call.run` computes any operation on values one level out.
These values may be tensors: the last line takes a batch of `lost`.
"""

import numpy as np

from functier import vmap
from functier.protocol import Level, run


class Twofold(Level):
    """A level whose tensors have a value, and the same value in single precision."""

    def apply(self, op, call):
        values = call.run([self.lower(x) for x in call.operands])
        singles = call.run([self.single(x) for x in call.operands])
        if isinstance(values, (tuple, list)):
            return type(values)(map(self.pair, values, singles))
        return self.pair(values, singles)

    def single(self, x):
        """Return an operand in single precision; a number of Python is weak."""
        if type(x) is self.cls:
            return x.parts()[1]
        value = self.lower(x)
        is_double = getattr(value, "dtype", None) == np.float64
        return np.astype(np.asarray(value), np.float32) if is_double else value

    def pair(self, value, single):
        """Return the tensor of both; whole numbers and truth values leave the level."""
        return self.cls.join(value, single) if value.dtype.kind == "f" else value


def lost(f, x):
    """Return the decimal digits that ``f(x)`` loses, beyond those that float32 does not have."""

    def body(level):
        y = f(level.cls.join(x, np.astype(x, np.float32)))
        value, single = y.parts()
        error = np.abs(value - single) / np.abs(value)
        return np.log10(np.maximum(error / np.finfo(np.float32).eps, 1))

    return run(Twofold, "lost(f)", [x], body)


def short(x):
    return np.mean(x**2) - np.mean(x) ** 2


def careful(x):
    return np.mean((x - np.mean(x)) ** 2)


def main():
    x = 1000 + np.random.default_rng(0).normal(size=100)
    print("digits lost in single precision, of 7")
    print(f"  mean of squares, less square of mean  {lost(short, x):4.1f}")
    print(f"  mean of squared differences           {lost(careful, x):4.1f}")
    shifted = x + np.array([[-1000.0], [-900.0], [0.0]])
    digits = vmap(lambda x: lost(short, x))(shifted)
    print("  the first, shifted by -1000, -900, 0 ", digits.round(1))


if __name__ == "__main__":
    main()
