"""Checkers: derivatives against finite differences, `vmap` against a loop.

For the rules that you write (`Function`, `custom_vjp`, `custom_jvp`, `custom_op`), and for
functions whose derivatives you rely on.
"""

# Imports `_core`, `_levels` and `_transforms`.

from .._core.errors import GradcheckError as GradcheckError
from ._gradcheck import gradcheck as gradcheck
from ._gradcheck import gradgradcheck as gradgradcheck
from ._grads import check_grads as check_grads
from ._grads import check_jvp as check_jvp
from ._grads import check_vjp as check_vjp
from ._opcheck import opcheck as opcheck
from ._vmap import check_vmap as check_vmap
