from typing import Any

from scipy.ndimage import *  # type: ignore[import-untyped]

def __getattr__(name: str) -> Any: ...
