"""vmap: the transform that adds a batch axis."""

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, replace
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, Literal, TypeVar, overload

import numpy as np

from .._core.numpy_facts import Function, PyTree
from .._core.pytree import (
    check_callable,
    flatten,
    name_of_function,
    unflatten,
)
from .._core.reached import places_of_modules
from .._core.tensor import Tensor
from .._core.tracebacks import checks_keywords, leave, second_call
from .._cpython.code import code_in, file_and_line
from .._cpython.frames import Place, current_frame, place_at
from .._levels.batch import BatchLevel, Randomness
from .._levels.level import Escape
from .._levels.memory import fix_unmapped, own_memory
from .._levels.options import check_choice, check_flag
from .._levels.runs import LevelContext, run
from .._levels.views import WRITERS
from .._levels.writes import arm
from .batch_axes import batch_size, mapped_leaves, unwrap_tree
from .chunks.chunk import Chunk
from .chunks.compute import check_chunking, check_count, in_chunks, in_loop, pieces_of
from .chunks.join import Join
from .chunks.streams import call_heard, check_modules, check_unmoved, find_generators
from .splitting import check_branches, in_groups, join_groups, take
from .transformed import Transformed

if TYPE_CHECKING:
    from .declared import BatchContext, Mapped

R = TypeVar("R")

ndarray = np.ndarray
Branches = Literal["error", "split"]


@overload
def vmap(
    func: Callable[..., R], in_dims: Any = 0, out_dims: Any = 0,
    randomness: Randomness | None = None, *, chunk_size: int | None = None,
    axis_size: int | None = None, axis_name: Hashable = None, executor: Any = None,
    progress: bool = False, escape: Escape = "dead", branches: Branches = "error",
) -> "Mapped[R]": ...  # fmt: skip
@overload
def vmap(
    func: None = None, in_dims: Any = 0, out_dims: Any = 0,
    randomness: Randomness | None = None, *, chunk_size: int | None = None,
    axis_size: int | None = None, axis_name: Hashable = None, executor: Any = None,
    progress: bool = False, escape: Escape = "dead", branches: Branches = "error",
) -> "BatchContext": ...  # fmt: skip
@checks_keywords
def vmap(
    func: Callable | None = None,
    in_dims: Any = 0,
    out_dims: Any = 0,
    randomness: Randomness | None = None,
    *,
    chunk_size: int | None = None,
    axis_size: int | None = None,
    axis_name: Hashable = None,
    executor: Any = None,
    progress: bool = False,
    escape: Escape = "dead",
    branches: Branches = "error",
) -> Any:
    """Return a function that applies `func`, written for one example, to a whole batch.

    Parameters
    ----------
    func : callable, optional
        A function of arrays or pytrees of arrays, which returns arrays or pytrees of arrays.
        Keyword arguments are not mapped. Without `func` the result is a context manager
        (``with vmap() as B:``, where ``B(xs, in_dim=0)`` makes a tensor and
        ``B.unwrap(y, out_dim=0)`` returns its array) and a decorator.
    in_dims : int, None, or pytree of these
        The axis of each argument to map over; None for an argument that is the same
        for every example. A prefix of the tree of positional arguments.
    out_dims : int, None, or pytree of these
        The position of the batch axis in each result; None for a result that does not vary.
    randomness : {None, "error", "different", "same"}
        What a draw from a `functier.random` generator in `func` does: raise an error (None and
        "error"), return different numbers for each example, or return the same numbers for all.
        Others draw the same numbers for all. So it is an error, except with "same", if the
        functions of `numpy.random` or `random` draw, or a generator among the arguments; with
        "error" and "different" one that `func` reaches; with "different" one made without a seed.
    chunk_size : int, optional
        The number of examples to compute at once. It limits the memory for the intermediate
        values of `func`. The results are those of the whole batch, up to rounding.
    axis_size : int, optional
        The batch size. It is needed if no argument is mapped; otherwise it has to match the
        mapped arguments.
    axis_name : hashable, optional
        The name of the batch axis for `psum` and the other collectives.
    executor : concurrent.futures.Executor or the like, optional
        The executor that computes the chunks concurrently: threads, processes, or
        `get_executor()` of a `dask.distributed.Client`.
    progress : bool
        Whether to show a progress bar over the chunks (needs the extra `progress`, tqdm).
    escape : {"dead", "passthrough"}
        What a tensor of this level does once the call is over: raise an error on every use,
        or act as the value it wraps.
    branches : {"error", "split"}
        What an ``if``, a ``while``, ``range(int(n))``, an index of a list or the length of
        ``x[mask]`` does if the examples differ: raise an error, or run `func` once for each group
        of examples that take the same path, and put the results together. Code that asks for plain
        values (compiled code, strings) then runs for each example.

    Returns
    -------
    callable or context manager
        The function has the signature of `func`. Mapped arguments and results have an extra axis.

    Raises
    ------
    ValueError
        If nothing is mapped, batch sizes differ, `in_dims` or `out_dims` does not match the
        arguments or results, or a result that varies has ``out_dims=None``. The message names
        the argument by its path.
    TypeError
        If a chunk cannot be sent to the process that should compute it.
    DataDependentError
        If `func` asks for an answer that differs between examples, except with
        ``branches="split"``; also if `func` catches that error and returns.
    LevelError
        If `func` meets a tensor of another, unrelated level.

    Notes
    -----
    A chunk gets a view of each mapped argument, and its results are written into those of the
    whole batch. Each chunk costs about 20 us. Under `grad` or `vjp` the backward pass needs
    the intermediate values of all chunks, so chunks save no memory; use `checkpoint` there.
    For a result with ``out_dims=None``, all chunks have to return equal values. A collective
    over `axis_name` needs all examples, and raises an error in a chunk.

    Threads see the levels around the call and the context of the caller. Another process receives
    `func`, a chunk of each mapped argument, and the other arguments by pickle, so none of these can
    contain a tensor of a level around the call. It does not see ``numpy.errstate`` or other
    contexts. An executor has at most two chunks per worker at a time. After the first error no
    further chunk starts, and the error is raised once the running chunks are done (Dask does not
    wait for them). A call inside a chunk does not use the executor that computes this chunk, whose
    workers would then wait for themselves. Dask warns about chunks of more than 10 MB.

    With ``branches="split"``, a run that meets an answer that differs between its examples is
    thrown away, and the groups with equal answers run from the start; there are fewer than twice as
    many runs as paths. Side effects of `func` (prints, plain writes to arrays from outside) happen
    in every run. All paths have to return results of the same form. If single examples raise an
    exception, you get that of the first of them, as in a loop. More than 8 groups give a
    `FallbackWarning`.

    Examples
    --------
    >>> import numpy as np
    >>> xs, ys = np.ones((10, 2)), np.ones((15, 2))
    >>> vmap(lambda x: vmap(lambda y: x + y)(ys))(xs).shape
    (10, 15, 2)
    >>> from concurrent.futures import ThreadPoolExecutor
    >>> with ThreadPoolExecutor(2) as pool:
    ...     vmap(np.sum, chunk_size=4, executor=pool)(xs)
    array([2., 2., 2., 2., 2., 2., 2., 2., 2., 2.])
    >>> def root(x):
    ...     y = x
    ...     while abs(y * y - x) > 1e-9:
    ...         y = 0.5 * (y + x / y)
    ...     return y
    >>> vmap(root, branches="split")(np.array([1.0, 4.0, 100.0]))
    array([ 1.,  2., 10.])
    """
    if type(escape) is not str or escape != "dead":
        check_choice("vmap", func, "escape", escape)
    attributes: dict[str, Any] | None = None
    if progress is not False:
        check_flag("vmap", func, "progress", progress)
    if randomness is not None or axis_name is not None or axis_size is not None:
        said = "error" if randomness is None else randomness
        check_choice("vmap", func, "randomness", said)
        if isinstance(axis_name, tuple) or not isinstance(axis_name, Hashable):
            raise TypeError(
                f"vmap: axis_name={axis_name!r} is not a name; write a string, or another hashable "
                f"object that is not a tuple (a tuple stands for several names)"
            )
        if axis_size is not None:
            axis_size = check_count("vmap", "axis_size", axis_size, 0)
        attributes = {"randomness": said, "axis_name": axis_name, "size": axis_size}
    if type(branches) is not str or branches != "error":
        check_branches(func, branches, axis_name)
    in_parts = chunk_size is not None or executor is not None or progress
    if in_parts:
        chunk_size = check_chunking("vmap", chunk_size, executor, progress)
    if func is None:
        return (_Decorator if in_parts or branches != "error" else LevelContext)(
            BatchLevel,
            "vmap()",
            escape,
            lambda f: vmap(
                f, in_dims, out_dims, randomness, chunk_size=chunk_size, axis_size=axis_size,
                axis_name=axis_name, executor=executor, progress=progress, escape=escape,
                branches=branches,
            ),
            **(attributes or {}),
        )  # fmt: skip
    check_callable("vmap", func)
    label = f"vmap({name_of_function(func)})"
    if isinstance(in_dims, (np.ndarray, Tensor)) and in_dims.ndim:
        got = f"in_dims is a {type(in_dims).__name__}"
        raise TypeError(f"{label}: {got}; write an int or a tuple of ints; {second_call(label)}")
    mapping = _Mapping(func, label, in_dims, out_dims, escape, attributes, randomness, branches)
    if chunk_size is not None:
        call = _in_chunks(mapping, chunk_size, executor, progress)
    else:
        call = _in_groups(mapping) if branches == "split" else _whole(mapping)
    options = SimpleNamespace(
        in_dims=in_dims, out_dims=out_dims, randomness=randomness, chunk_size=chunk_size,
        axis_size=axis_size, axis_name=axis_name, executor=executor, progress=progress,
        escape=escape, branches=branches,
    )  # fmt: skip
    return Transformed(call, func, "vmap", options)


@dataclass(slots=True)
class _Mapping:
    """A function to map, the axes to map, and the attributes of the level for the batch."""

    func: Function
    label: str
    in_dims: PyTree
    out_dims: PyTree
    escape: Escape
    attributes: dict[str, Any] | None
    randomness: Randomness | None  # as the caller has written it
    branches: str = "error"
    split_from: Sequence[Any] | None = None  # the arrays of which groups of examples are parts

    @property
    def axis_size(self) -> int | None:
        return self.attributes["size"] if self.attributes else None


def _whole(mapping: _Mapping) -> Function:
    """Return the mapped function for a whole batch."""
    func, label, in_dims, out_dims = mapping.func, mapping.label, mapping.in_dims, mapping.out_dims
    escape, attributes, axis_size = mapping.escape, mapping.attributes, mapping.axis_size
    simple = type(in_dims) is int or (
        type(in_dims) is tuple and all(d is None or type(d) is int for d in in_dims)
    )
    leading = type(out_dims) is int and not out_dims
    said = mapping.randomness
    watched, looks = func if said in ("error", "different") else None, said != "same"
    flat: dict[int, list] = {}  # the axes for each number of bare arrays

    def batch(level: BatchLevel, call: tuple) -> tuple:
        """Return the result with its batch axis and None, or its leaves and their structure.

        The second item is None for a bare array, and otherwise the structure and the axes.
        """
        args, kwargs, leaves, structure, dims, given = call
        seen = watched or kwargs or structure is not None
        generators = find_generators(given, watched) if seen else ()
        inner = level.insert(leaves, dims, args)
        level.arguments = [(inner, kwargs), mapping.split_from or leaves, None]
        if None in dims:
            fix_unmapped(inner, level.arguments[1], dims)
        if structure is not None:
            inner = unflatten(structure, inner)
        before = places_of_modules() if looks else None
        if said == "different":
            out = call_heard(level, func, inner, kwargs)
        else:
            out = func(*inner, **kwargs)
        if generators:
            check_unmoved(level, generators, args, kwargs)
        if looks and before != places_of_modules():
            check_modules(level, before, func, args, kwargs)
        if leading and (type(out) is level.cls or type(out) is ndarray):
            return level.unwrap(out), None
        return unwrap_tree(level, out, out_dims)

    def vmapped(*args: Any, **kwargs: Any) -> Any:
        try:
            dims: Any
            for arg in args:
                if type(arg) is not ndarray and not isinstance(arg, Tensor):
                    leaves, structure, dims = mapped_leaves(label, args, in_dims, axis_size)
                    break
            else:
                leaves, structure, dims = args, None, flat.get(len(args))
                if dims is None:
                    leaves, structure, dims = mapped_leaves(label, args, in_dims, axis_size)
                    if simple:
                        structure = None
                        flat[len(args)] = dims
            if axis_size is not None:
                batch_size(label, leaves, dims, args, axis_size)
            given = (*leaves, *flatten(kwargs, label, "kwargs")[0]) if kwargs else leaves
            level = BatchLevel.prepare(label, escape, current_frame(1), given)
            if attributes is not None:
                _give_attributes(level, attributes)
            result, tree = run(level, batch, (args, kwargs, leaves, structure, dims, given))
            if tree is not None:
                return unflatten(tree[0], _separate_results(result, given, tree[1]))
            if type(result) is ndarray:
                flags = result.flags
                if flags.owndata and flags.writeable:
                    return result.copy() if any([v is result for v in given]) else result
            elif isinstance(result, Tensor) and result.level.batches:
                return result  # checked when it leaves the outermost level
            return _separate_results([result], given, (0,))[0]
        except BaseException as error:
            leave(error, label, func, args, kwargs)
            raise

    return vmapped


def _give_attributes(level: BatchLevel, attributes: dict[str, Any]) -> None:
    """Give a level what its transform says of it."""
    vars(level).update(attributes)
    if level.notes is None and (id(level.made[0]), level.label) in WRITERS:  # of another run
        level.serves = False
        arm(level)
    if level.axis_name is not None:  # a second run may look the level up by its name
        level.serves = False


def _in_chunks(mapping: _Mapping, chunk_size: int, executor: Any, progress: bool) -> Function:
    """Return the mapped function for a batch in parts of `chunk_size` examples."""
    label, in_dims, axis_size = mapping.label, mapping.in_dims, mapping.axis_size
    attributes = mapping.attributes

    def vmapped(*args: Any, **kwargs: Any) -> Any:
        try:
            leaves, structure, dims = mapped_leaves(label, args, in_dims, axis_size)
            size = batch_size(label, leaves, dims, args, axis_size)
            call: Any = _Part(mapping, place_at(current_frame(1)))
            call, width = in_loop(call, dims, size, chunk_size, progress or executor)
            parts = [
                (lambda start, stop, leaf=leaf: leaf)
                if dim is None
                else pieces_of(leaf, dim % leaf.ndim, size, width)
                for leaf, dim in zip(leaves, dims)
            ]

            def arguments(start: int, stop: int) -> tuple[tuple, dict]:
                return unflatten(structure, [part(start, stop) for part in parts]), kwargs

            join = Join(label, mapping.out_dims)
            randomness = attributes["randomness"] if attributes else "error"
            return in_chunks(
                call, size, width, arguments, join,
                executor=executor, progress=progress, randomness=randomness,
            )  # fmt: skip
        except BaseException as error:
            leave(error)
            raise

    return vmapped


def _in_groups(mapping: _Mapping) -> Function:
    """Return the mapped function for a batch whose examples take several paths."""
    label, in_dims, out_dims = mapping.label, mapping.in_dims, mapping.out_dims
    attributes = mapping.attributes

    def vmapped(*args: Any, **kwargs: Any) -> Any:
        try:
            axis_size = mapping.axis_size
            leaves, structure, dims = mapped_leaves(label, args, in_dims, axis_size)
            size = batch_size(label, leaves, dims, args, axis_size)
            made = place_at(current_frame(1))

            def call(chunk: Chunk, examples: np.ndarray, token: object) -> PyTree:
                given = {**(attributes or {"randomness": "error", "axis_name": None})}
                given |= {"size": len(examples), "made": made, "branches": token}
                parts = list(leaves)
                if len(examples) < size:
                    parts = [
                        leaf if dim is None else take(leaf, examples, dim)
                        for leaf, dim in zip(leaves, dims)
                    ]
                whole = _whole(replace(mapping, attributes=given, split_from=leaves))
                return whole(*unflatten(structure, parts), **kwargs)

            randomness = attributes["randomness"] if attributes else "error"
            found = in_groups(label, call, size, randomness)
            return found[0][1] if len(found) == 1 else join_groups(label, found, out_dims)
        except BaseException as error:
            leave(error)
            raise

    return vmapped


class _Part:
    """A mapped function for a part of a batch; it can be pickled if the function can."""

    def __init__(self, mapping: _Mapping, made: Place):
        self.mapping, self.made = mapping, made

    def __call__(self, chunk: Chunk, *args: Any, **kwargs: Any) -> PyTree:
        attributes = {
            **(self.mapping.attributes or {"randomness": "error", "axis_name": None}),
            "size": chunk.stop - chunk.start, "made": self.made,
        }  # fmt: skip
        if attributes["axis_name"] is not None:
            attributes["chunk"] = chunk
        part = replace(self.mapping, attributes=attributes)
        whole = _in_groups(part) if part.branches == "split" else _whole(part)
        return whole(*args, **kwargs)

    def __getstate__(self) -> dict:
        return {"mapping": self.mapping, "made": file_and_line(self.made)}

    def __setstate__(self, state: dict) -> None:
        self.mapping = state["mapping"]
        self.made = code_in(*state["made"]), 0


class _Decorator(LevelContext):
    """`vmap` in parts without a function: a decorator, but not a context manager."""

    def __enter__(self) -> Any:
        raise TypeError(
            "vmap(chunk_size=...) and vmap(branches='split') cannot be context managers: a with "
            "block runs once, and these options run a function for every part of a batch; write "
            "a decorator, or vmap(f, ...), or leave the option out"
        )


def _separate_results(results: list, given: Sequence, dims: Sequence) -> list:
    """Copy results that share memory with each other or with the arguments in `given`.

    Results at nested levels are checked when they leave the outermost one.
    """
    places = [
        i
        for i, (x, dim) in enumerate(zip(results, dims))
        if dim is not None and not (isinstance(x, Tensor) and x.level.batches)
    ]
    for i, x in zip(places, own_memory([results[i] for i in places], given)):
        results[i] = x
    return results
