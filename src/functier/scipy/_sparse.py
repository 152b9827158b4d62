"""Twins for `scipy.sparse`: its classes, and functions that make matrices."""

from types import FunctionType
from typing import Any

import scipy.sparse as sp  # type: ignore[import-untyped]
from scipy.sparse import csgraph

from ._sparse_making import (
    find,
    is_matrix_of,
    issparse,
    kron,
    kronsum,
    of_blocks,
    of_diagonals,
    of_plain,
    spdiags,
    twin_class,
)

FORMATS = "csr", "csc", "coo", "dia", "bsr", "lil", "dok"
CLASSES = [f"{format}_{kind}" for format in FORMATS for kind in ("matrix", "array")]
BLOCKS = "hstack", "vstack", "bmat", "block_array", "block_diag", "tril", "triu"
OF_GRAPHS = (
    "pass functier.stop_gradient of the weights, and compute what is differentiated from the "
    "nodes or predecessors that it returns"
)


def _twins() -> list[tuple[Any, Any]]:
    """Return the pairs for all names of the module."""
    made = {name: twin_class(getattr(sp, name)) for name in (*CLASSES, "spmatrix", "sparray")}
    made |= {name: of_blocks(getattr(sp, name)) for name in BLOCKS}
    made |= {name: of_diagonals(getattr(sp, name)) for name in ("diags", "diags_array")}
    made |= {"spdiags": spdiags, "kron": kron, "kronsum": kronsum, "find": find}
    made["issparse"] = issparse
    made["isspmatrix"] = is_matrix_of(sp.isspmatrix)
    for format in FORMATS:
        name = f"isspmatrix_{format}"
        made[name] = is_matrix_of(getattr(sp, name), format)
    for name in sp.__all__:
        if name not in made and isinstance(getattr(sp, name), FunctionType):
            made[name] = of_plain(getattr(sp, name))
    graphs = [getattr(csgraph, name) for name in csgraph.__all__]
    compiled = [x for x in graphs if not isinstance(x, (type, FunctionType))]
    return [
        *((getattr(sp, name), twin) for name, twin in made.items()),
        *((func, of_plain(func, OF_GRAPHS)) for func in compiled),
    ]


TWINS: list[tuple[Any, Any]] = _twins()
"""Pairs of an object of SciPy and its twin."""
