from typing import Any

from scipy.spatial import *  # type: ignore[import-untyped]

def __getattr__(name: str) -> Any: ...
