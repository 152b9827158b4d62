"""A point with a pattern that its Jacobian has to fit, and what SciPy's arrays cannot hold."""

from typing import Any

from ..._core.errors import ConversionError
from ..._core.tensor import Tensor
from ..points import Point, Settings
from .colouring import Pattern

WRITE_DENSE = (
    "SciPy's arrays hold plain numbers: write jacfwd, or give a pattern and form='data', which "
    "returns the entries as an array"
)


class PatternPoint(Point):
    """A point at which a pattern may be required of the Jacobian."""

    pattern: Pattern | None = None

    def require(self, pattern: Pattern | None) -> None:
        """Require that the Jacobian has the shape of `pattern`."""
        self.pattern = pattern
        self.check()

    def check(self) -> None:
        """Raise an error where the required pattern has another shape than the Jacobian."""
        pattern, n = self.pattern, self.n
        m = None if self.form is None else self.form[0]
        if pattern is not None and not pattern.fits(m, n):
            has = f"{n} columns" if m is None else f"the shape ({m}, {n})"
            raise ValueError(
                f"{self.settings.label}: the pattern {pattern.describe()}, but the Jacobian has "
                f"{has}; pass a pattern with a row for each element of the result, and a column "
                f"for each of the input"
            )

    def note_results(self, sizes: list[int], results: list, aux: Any) -> None:
        super().note_results(sizes, results, aux)
        self.check()


def refuse_tensor(x: Any, settings: Settings) -> None:
    """Raise an error where `x` is a tensor of a level around: SciPy needs plain numbers."""
    if isinstance(x, Tensor):
        if not type(x).level.depth:
            raise TypeError(
                f"{settings.label}: SciPy's arrays cannot contain a {type(x).__name__}; pass "
                f"x.elem(), or a pattern and form='data', which returns the entries as an array"
            )
        raise type(x).level.refusal(
            ConversionError,
            f"{settings.label} would take tensors out of their level; {WRITE_DENSE}",
        )
