"""The batch axes of the arguments and results of vmap."""

from collections.abc import Sequence

from .._core.numpy_facts import PyTree, Structure
from .._core.pytree import flatten, places, prefix_leaves
from .._levels.axes import check_axis, check_mapped, wrong_size
from .._levels.batch import BatchLevel
from .chunks.join import leaf_dims


def mapped_leaves(
    label: str, args: tuple, in_dims: PyTree, axis_size: int | None
) -> tuple[Sequence, Structure, list]:
    """Return the leaves of the arguments, their structure, and the axis to map for each."""
    if isinstance(in_dims, (tuple, list)) and len(in_dims) != len(args):
        raise _wrong_length(label, in_dims, args)
    leaves, structure = flatten(args, label, "args")
    spec = tuple(in_dims) if isinstance(in_dims, list) else in_dims
    dims = prefix_leaves(spec, args, label, "in_dims", True)
    if type(in_dims) is not int:
        for leaf, dim in zip(leaves, dims):
            check_axis(label, "in_dims", dim, leaf, args)
    if axis_size is None and dims.count(None) == len(dims):
        raise ValueError(
            f"{label}: no argument is mapped (in_dims={in_dims!r}, {len(args)} positional "
            f"arguments); give at least one array an axis to map over, or write axis_size"
        )
    return leaves, structure, dims


def batch_size(label: str, leaves: Sequence, dims: list, args: tuple, axis_size: int | None) -> int:
    """Return the batch size, checked to be the same in all mapped leaves."""
    found, reason = axis_size, f"axis_size is {axis_size}"
    for leaf, dim in zip(leaves, dims):
        if dim is not None:
            check_mapped(label, leaf, dim, args, dims)
            size = leaf.shape[dim]
            if found is None:
                found, reason = size, f"the level has batch size {size}"
            elif size != found:
                raise wrong_size(label, leaf, args, size, reason, dims, axis_size)
    return found  # type: ignore[return-value]


def unwrap_tree(level: BatchLevel, out: PyTree, out_dims: PyTree) -> tuple[list, tuple]:
    """Return the leaves of a result without the level, and its structure with their axes."""
    results, structure = flatten(out, level, "the result")
    dims, where = [out_dims] * len(results), places(out, "the result", len(results))
    if type(out_dims) is not int:
        dims = leaf_dims(out_dims, out, results, level.label)
        for dim, path in zip(dims, where):
            check_axis(level, "out_dims", dim, None, path)
    return [level.unwrap(*r) for r in zip(results, dims, where)], (structure, dims)


def _wrong_length(label: str, in_dims: tuple | list, args: tuple) -> ValueError:
    return ValueError(
        f"{label}: in_dims={in_dims!r} has {len(in_dims)} entries for {len(args)} positional "
        f"arguments; write one entry for each (None for an argument that is not mapped)"
    )
