"""What several test files share: strict equality, and tensors that record what they see."""

import copy
from typing import Any

import numpy as np

import functier as ft

LEVEL_ERRORS = (ft.LevelError, ft.EscapedTensorError)


def equal(actual: Any, expected: Any) -> None:
    """Equal in shape, dtype and every element; a tensor is no array."""
    assert not isinstance(actual, ft.Tensor), f"a tensor: {actual!r}"
    a, e = np.asarray(actual), np.asarray(expected)
    assert a.shape == e.shape, f"shape {a.shape}, expected {e.shape}"
    assert a.dtype == e.dtype, f"dtype {a.dtype}, expected {e.dtype}"
    np.testing.assert_array_equal(a, e)


def close(actual: Any, expected: Any, tolerance: float = 1e-12) -> None:
    """Like `equal`, up to rounding."""
    assert not isinstance(actual, ft.Tensor), f"a tensor: {actual!r}"
    a, e = np.asarray(actual), np.asarray(expected)
    assert a.shape == e.shape, f"shape {a.shape}, expected {e.shape}"
    assert a.dtype == e.dtype, f"dtype {a.dtype}, expected {e.dtype}"
    np.testing.assert_allclose(a, e, rtol=tolerance, atol=tolerance)


def recorder() -> type[ft.Tensor]:
    """A fresh subclass of Tensor whose hooks note every call in lists on the class."""

    class Recorder(ft.Tensor):
        functions: list = []  # noqa: RUF012
        operations: list = []  # noqa: RUF012

        @classmethod
        def __tensor_function__(cls, func, types, args=(), kwargs=None):
            cls.functions.append(func)
            return super().__tensor_function__(func, types, args, kwargs)

        @classmethod
        def __tensor_dispatch__(cls, func, types, args=(), kwargs=None):
            shapes = tuple(a.shape for a in args if hasattr(a, "shape"))
            cls.operations.append((func, shapes))
            return super().__tensor_dispatch__(func, types, args, kwargs)

    Recorder.functions, Recorder.operations = [], []
    return Recorder


def message(error: Any) -> str:
    """The text of the exception that `pytest.raises` caught."""
    return str(error.value)


def has_all(text: str, *parts: str) -> None:
    """Every part stands in the text."""
    missing = [p for p in parts if p not in text]
    assert not missing, f"{missing} not in {text!r}"


def deep(x: Any) -> Any:
    return copy.deepcopy(x)
