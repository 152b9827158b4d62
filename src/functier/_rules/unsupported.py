"""Functions that are not supported, each with the reason that a message gives.

Functions of structured arrays: not supported.
NumPy imports `numpy.lib.recfunctions` on demand: `find` imports this file for the first
function from there.

Functions of text that are not ufuncs: not supported.
NumPy imports `numpy.strings` and `numpy.char` on demand: `find` imports this file for the
first function from there. Their ufuncs (`numpy.strings.str_len`) batch as any ufunc does.
"""

from collections.abc import Callable

import numpy as np
import numpy.char as char
import numpy.strings as strings
from numpy.lib import recfunctions as records

from .constructors import unsupported

func: Callable
for func in (np.save, np.savez, np.savez_compressed, np.savetxt):
    unsupported(func, "a file holds plain arrays; return the value from the transform and save it")

for func in (np.busday_count, np.busday_offset, np.is_busday, np.datetime_as_string):
    unsupported(func, "dates are neither batched nor differentiated; use them outside")


for func in (
    records.append_fields, records.apply_along_fields, records.assign_fields_by_name,
    records.drop_fields, records.find_duplicates, records.join_by, records.merge_arrays,
    records.rec_append_fields, records.rec_drop_fields, records.rec_join,
    records.recursive_fill_fields, records.rename_fields, records.repack_fields,
    records.require_fields, records.stack_arrays, records.structured_to_unstructured,
    records.unstructured_to_structured,
):  # fmt: skip
    unsupported(
        func, "each field has its dtype, but a tensor has a single one; pass the fields as a "
        "dict or a tuple of arrays, {name: x[name] for name in x.dtype.names}",
    )  # fmt: skip


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
