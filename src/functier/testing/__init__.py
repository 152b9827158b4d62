"""Checkers: derivatives against finite differences, `vmap` against a loop.

They are for the rules that you write (`Function`, `custom_vjp`, `custom_jvp`, `custom_op`), and for
functions whose derivatives you rely on.
"""

# Imports `_core`, `_cpython`, `_custom`, `_levels`, `_programs` and `_transforms`.

from .._core.errors import GradcheckError
from ._gradcheck import gradcheck, gradgradcheck
from ._grads import check_grads
from ._opcheck import check_vmap, opcheck

__all__ = [
    "GradcheckError", "check_grads", "check_vmap", "gradcheck",
    "gradgradcheck", "opcheck",
]  # fmt: skip


def __dir__() -> list[str]:
    return sorted(__all__)
