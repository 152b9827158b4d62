from typing import Any

from scipy.fft import *  # type: ignore[import-untyped]

def __getattr__(name: str) -> Any: ...
