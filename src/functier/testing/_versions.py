"""show_versions: the versions of what functier uses, for a report of a problem."""

import os
import platform
import sys
from importlib import metadata

from .._programs.machine.compiler.cache import SUFFIX, VARIABLE, folder

EXTRAS = {"scipy": "scipy", "llvmlite": "compile", "tqdm": "progress"}
"""The packages that are looked for where they are needed, and the extras that bring them."""


def show_versions() -> None:
    """Print the versions of functier and of what it uses, and where its cache is.

    ``python -m functier`` does the same.

    Examples
    --------
    >>> import functier
    >>> functier.show_versions()  # doctest: +ELLIPSIS
    functier ...
    Python ...
    numpy ...
    """
    print(f"functier {sys.modules['functier'].__version__}")
    print(f"Python {platform.python_version()}, {platform.platform()}")
    for name in ("numpy", "optree", *EXTRAS):
        try:
            print(f"{name} {metadata.version(name)}")
        except metadata.PackageNotFoundError:
            print(f"{name} is not installed (extra {EXTRAS.get(name, '')})")
    print(f"cache of machine code: {_cache()}")


def _cache() -> str:
    place = folder()
    if place is None:
        given = os.environ.get(VARIABLE)
        return f"off ({VARIABLE}={given})" if given else "off (there is no home)"
    sizes = [path.stat().st_size for path in place.glob(f"*{SUFFIX}")]
    return f"{place}, {len(sizes)} files, {sum(sizes) / 2**20:.1f} MB"
