"""Functions of text that are not ufuncs: not supported.

NumPy imports `numpy.strings` and `numpy.char` on demand: `find` imports this file for the
first function from there. Their ufuncs (`numpy.strings.str_len`) batch as any ufunc does.
"""

import numpy.char as char
import numpy.strings as strings

from .constructors import unsupported

for func in (
    strings.multiply, strings.mod, strings.replace, strings.expandtabs, strings.center,
    strings.ljust, strings.rjust, strings.zfill, strings.partition, strings.rpartition,
    strings.upper, strings.lower, strings.swapcase, strings.capitalize, strings.title,
    strings.decode, strings.encode, strings.translate,
    char.join, char.split, char.rsplit, char.splitlines, char.equal, char.not_equal,
    char.greater, char.greater_equal, char.less, char.less_equal,
):  # fmt: skip
    unsupported(
        func, "text is neither batched nor differentiated, except by ufuncs; use it outside of "
        "the transform",
    )  # fmt: skip
