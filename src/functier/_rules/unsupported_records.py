"""Functions of structured arrays: not supported.

NumPy imports `numpy.lib.recfunctions` on demand: `find` imports this file for the first
function from there.
"""

from numpy.lib import recfunctions as records

from .constructors import unsupported

for func in (
    records.append_fields, records.apply_along_fields, records.assign_fields_by_name,
    records.drop_fields, records.find_duplicates, records.join_by, records.merge_arrays,
    records.rec_append_fields, records.rec_drop_fields, records.rec_join,
    records.recursive_fill_fields, records.rename_fields, records.repack_fields,
    records.require_fields, records.stack_arrays, records.structured_to_unstructured,
    records.unstructured_to_structured,
):  # fmt: skip
    unsupported(
        func, "each field has its dtype, but a tensor has a single one; pass the fields as a "
        "dict or a tuple of arrays, {name: x[name] for name in x.dtype.names}",
    )  # fmt: skip
