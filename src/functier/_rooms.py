"""The one table of rooms: those that answer hooks, and those that declare operations.

It is imported with the package. The rooms are imported when they are needed.
"""

from ._core import hooks
from ._core.table import PENDING

ANSWERS = {
    "_control.batches": {"loop_over_chunks": "loop_over_chunks"},
    "_dask": {
        "chunked_as": "chunked_as", "lazy_argument": "as_argument", "lazy_attribute": "attribute",
        "lazy_one": "one", "lazy_positions": "positions", "set_lazy_item": "set_item",
        "take_in": "taken_in",
    },
    "_levels.lying": {"note_layout": "note_laid"},
    "_levels.views": {"note_copy": "note_lost"},
    "_mutation.functions": {"at_body": "at_body"},
    "_mutation.stores": {"add_in_memory": "add_in_memory"},
    "_rules.complex_parts": {"complex_of": "complex_of"},
    "_rules.elementwise": {"slope": "slope"},
    "debug._leaks": {"place_of": "place_of"},
    "numpy._array_api": {"array_namespace": "namespace_of"},
    "progress._bars": {"bar_of_chunks": "bar_of_chunks"},
    "scipy._copies": {"is_copied": "is_copied"},
    "scipy._sparse_tensor": {"operate_sparse": "operate"},
    "scipy._namespaces": {"scipy_twin": "twin_of"},
}  # fmt: skip
"""For each module, its hooks, and the functions that answer them."""

for module, functions in ANSWERS.items():
    for hook, function in functions.items():
        getattr(hooks, hook).place = f"{module}.{function}"

SCIPY = "special", "linalg", "fft", "fftpack", "stats", "signal", "ndimage", "spatial", "optimize"
"""SciPy's modules with a file of declarations."""

PENDING[None] = f"{__package__}._rules", f"{__package__}._mutation.functions"
PENDING.update({f"scipy.{name}": (f"{__package__}.scipy._rules.{name}",) for name in SCIPY})
