"""The public modules of the package, and the names that they show."""

import importlib
import re
from pathlib import Path

import functier as ft

PACKAGE = Path(ft.__file__).parent
MODULES = sorted(
    ".".join(["functier", *path.relative_to(PACKAGE).with_suffix("").parts])
    .removesuffix("__init__")
    .removesuffix(".")
    for path in PACKAGE.rglob("*.py")
    if not re.search(r"/_(?!_init__)", f"/{path.relative_to(PACKAGE).as_posix()}")
)
LISTED = sorted({*MODULES} - {"functier", "functier.numpy", "functier.ops", "functier.scipy"})
"""The modules whose names are those of their ``__all__``."""


def shown(name):
    """The public names of a module and what they are."""
    module = importlib.import_module(name)
    return {n: getattr(module, n) for n in dir(module)}
