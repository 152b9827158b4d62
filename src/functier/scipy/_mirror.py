"""The mirror of SciPy: it makes the modules of this package when they are imported.

The twins, most of what the package needs, are imported with the first of these modules: rules of
SciPy's functions are in this package, too, and need none.
"""

from .._core.mirror import Mirror

MIRROR = Mirror("functier.scipy")
MIRROR.install()
