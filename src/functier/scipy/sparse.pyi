from typing import Any

from scipy.sparse import *  # type: ignore[import-untyped]

def __getattr__(name: str) -> Any: ...
