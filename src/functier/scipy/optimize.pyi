from typing import Any

from scipy.optimize import *  # type: ignore[import-untyped]

def __getattr__(name: str) -> Any: ...
