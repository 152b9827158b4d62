from typing import Any

from scipy.integrate import *  # type: ignore[import-untyped]

def __getattr__(name: str) -> Any: ...
