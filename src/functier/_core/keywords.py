"""Keywords of transforms: an unknown one is answered with the one it has."""

import functools
import inspect
from collections.abc import Callable
from typing import Any, TypeVar

from .peers import KEYWORDS
from .tracebacks import leave

F = TypeVar("F", bound=Callable[..., Any])


def checks_keywords(transform: F) -> F:
    """Decorate a transform, so that an unknown keyword is answered with the one it has."""
    known = inspect.signature(transform).parameters.keys()

    @functools.wraps(transform)
    def call(*args: Any, **kwargs: Any) -> Any:
        try:
            if not kwargs.keys() <= known:
                name = next(n for n in kwargs if n not in known)
                own = KEYWORDS.get(name)
                hint = f"; write {own}=" if own in known else f"; it has {', '.join(known)}"
                raise TypeError(f"{transform.__name__}() has no argument {name!r}{hint}")
            return transform(*args, **kwargs)
        except BaseException as error:
            leave(error)
            raise

    return call  # type: ignore[return-value]
