"""Rules for the linear systems of `scipy.linalg`."""

from typing import Any

import numpy as np
import scipy.linalg as sl  # type: ignore[import-untyped]

from ...._core.types import Value
from ..declare import declare_composite


@declare_composite(sl, "inv")
def _inv(a: Value, overwrite_a: bool = False, check_finite: bool = True, **structure: Any) -> Value:
    return np.linalg.inv(a)
