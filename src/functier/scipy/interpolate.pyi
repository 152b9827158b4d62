from typing import Any

from scipy.interpolate import *  # type: ignore[import-untyped]

def __getattr__(name: str) -> Any: ...
