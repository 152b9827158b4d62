"""Functions that are not supported, each with the reason a user reads."""

import numpy as np
from numpy.lib import recfunctions, scimath

from ._families import unsupported

for func in (np.save, np.savez, np.savez_compressed, np.savetxt):
    unsupported(func, "a file holds plain arrays; return the value from the transform and save it")

for func in (np.busday_count, np.busday_offset, np.is_busday, np.datetime_as_string):
    unsupported(func, "dates are neither batched nor differentiated; use them outside")

for func in (
    scimath.sqrt, scimath.log, scimath.log2, scimath.log10, scimath.logn, scimath.power,
    scimath.arccos, scimath.arcsin, scimath.arctanh,
):  # fmt: skip
    unsupported(
        func, "its dtype depends on the data; write numpy.sqrt(x.astype(complex)), and the like"
    )

for func in (np.polymul, np.polydiv, np.roots, np.poly):
    unsupported(
        func, "the shape or dtype of its result depends on the data; for a product of "
        "polynomials use numpy.convolve",
    )  # fmt: skip

for name in recfunctions.__all__:
    unsupported(
        getattr(recfunctions, name),
        "records hold fields of several dtypes; pass the fields as a dict of arrays",
    )
for func in (recfunctions.recursive_fill_fields, recfunctions.assign_fields_by_name):
    unsupported(func, "it writes to its argument; build the fields as a dict of arrays")

for name in sorted(set(np.strings.__all__)):
    func = getattr(np.strings, name)
    if isinstance(func, np.ufunc) and getattr(np, name, None) is not func:
        unsupported(func, "text is neither batched nor differentiated; use it outside")
