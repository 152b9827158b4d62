from typing import Any

from scipy.signal import *  # type: ignore[import-untyped]

def __getattr__(name: str) -> Any: ...
