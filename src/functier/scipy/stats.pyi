from typing import Any

from scipy.stats import *  # type: ignore[import-untyped]

def __getattr__(name: str) -> Any: ...
