"""Dask arrays inside transforms: a class of them that has what rules use and Dask lacks.

`_levels` loads it by its name where a level meets a Dask array.

Imports `_cpython`, `_core`, `_rules`, `_mutation`, `_levels`, `_transforms`.
"""

from .functions import chunked_as as chunked_as
from .functions import one as one
from .functions import positions as positions
from .operations import as_argument as as_argument
from .operations import attribute as attribute
from .operations import set_item as set_item
from .operations import taken_in as taken_in
