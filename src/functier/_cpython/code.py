"""Code objects: what a function of Python reads, makes and calls."""

from types import CodeType

Code = CodeType
