from typing import Any

from scipy.linalg import *  # type: ignore[import-untyped]

def __getattr__(name: str) -> Any: ...
