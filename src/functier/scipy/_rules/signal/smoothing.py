"""Medians of neighbourhoods."""

import math
from typing import Any

import numpy as np
import scipy.ndimage as ndimage  # type: ignore[import-untyped]
import scipy.signal as signal  # type: ignore[import-untyped]

from ...._core.numpy_facts import Value
from ...._rules.axes import as_array
from ..declare import declare_composite, dispatching


@declare_composite(signal, "medfilt2d")
def _medfilt2d(input: Value, kernel_size: Any = 3) -> Value:
    image = as_array(input)
    signal.medfilt2d(np.zeros((1,) * np.ndim(image), image.dtype), kernel_size)  # SciPy's errors
    sizes = np.broadcast_to(np.ravel(3 if kernel_size is None else kernel_size), 2).tolist()
    rank = math.prod(sizes) // 2
    return dispatching(ndimage.rank_filter)(image, rank, size=sizes, mode="constant")
