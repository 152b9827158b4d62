"""Checkers: derivatives against finite differences, `vmap` against a loop, laws of levels.

They are for the rules that you write (`Function`, `custom_vjp`, `custom_jvp`, `custom_op`), and for
functions whose derivatives you rely on. `opcheck` has the laws of a rule, and `check_level` those
of a kind of level. `operations` is the table of all rules, for tests that break one. `arrays`,
`pytrees` and `with_tangents` are strategies of hypothesis, which the extra ``testing`` installs.
"""

# Imports `_core`, `_cpython`, `_custom`, `_levels`, `_programs` and `_transforms`.

from .._core.errors import GradcheckError
from ._gradcheck import gradcheck, gradgradcheck
from ._grads import check_grads
from ._levels import check_level, level_laws
from ._opcheck import check_vmap, opcheck
from ._operations import forget, operations
from ._strategies import arrays, pytrees, with_tangents

__all__ = [
    "GradcheckError", "arrays", "check_grads", "check_level", "check_vmap", "forget", "gradcheck",
    "gradgradcheck", "level_laws", "opcheck", "operations", "pytrees", "with_tangents",
]  # fmt: skip


def __dir__() -> list[str]:
    return sorted(__all__)
