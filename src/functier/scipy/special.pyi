from typing import Any

from scipy.special import *  # type: ignore[import-untyped]

def __getattr__(name: str) -> Any: ...
