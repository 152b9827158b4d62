"""Functions that are not supported, each with the reason that a message gives."""

from collections.abc import Callable

import numpy as np

from .constructors import unsupported

func: Callable
for func in (np.save, np.savez, np.savez_compressed, np.savetxt):
    unsupported(
        func,
        "a file holds plain arrays; write `return x` in the function and save the result of the "
        "transform, or, under derivatives alone, save functier.stop_gradient(x)",
    )

for func in (np.busday_count, np.busday_offset, np.is_busday, np.datetime_as_string):
    unsupported(func, "dates are neither batched nor differentiated; use them outside")

for func in (
    np.ma.array, np.ma.asarray, np.ma.asanyarray, np.ma.fix_invalid, np.ma.masked_equal,
    np.ma.masked_inside, np.ma.masked_invalid, np.ma.masked_outside, np.ma.masked_values,
    np.ma.masked_where,
):  # fmt: skip
    unsupported(
        func,
        "a masked array holds plain numbers; keep data and mask as two arrays, and write "
        "numpy.where(mask, fill, data)",
    )
