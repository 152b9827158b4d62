"""A function at one point, and the products of its Jacobian there with vectors."""

from collections.abc import Callable
from math import prod
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np

from .._core.numpy_facts import dtype_of, shape_of
from .._core.tensor import Tensor
from .._cpython.frames import Frame
from .._levels.checks import REAL_RESULT, refuse
from .._levels.cotangents import cast
from .._levels.level import Escape
from .._levels.runs import Site, pull_rows, push_batch, record
from .arguments import Argnums, choose, choose_complex, choose_real, resolve_argnums
from .jacobian import check_options, result_paths, split_call
from .transformed import Transformed

ndarray = np.ndarray

COMPLEX_IN_REVERSE = (
    "a reverse product of it is half of the derivative: write mode='fwd' for a real input, "
    "holomorphic=True for a complex one"
)


class Settings(NamedTuple):
    """The settings of one transformed function."""

    transform: str
    func: Callable
    name: str
    argnums: Argnums
    mode: str
    has_aux: bool
    holomorphic: bool
    symmetric: bool
    chunk: int | None
    escape: Escape

    @property
    def label(self) -> str:
        return f"{self.transform}({self.name})"

    def transformed(self, call: Callable, given: dict[str, Any]) -> Transformed:
        """Return the transformed function, for the arguments that the transform was given."""
        return Transformed(call, given.pop("func"), self.transform, SimpleNamespace(**given))

    @classmethod
    def checked(
        cls, transform: str, func: Callable, argnums: Any, argnames: Any,
        prepare: Callable[[str], Callable], mode: str, has_aux: bool, holomorphic: bool,
        symmetric: bool, chunk: int | None, escape: Escape,
    ) -> "Settings":  # fmt: skip
        """Return the settings of a transform of `func`, or raise where an option is wrong.

        ``prepare(label)`` returns the function that is differentiated: `func`, or its gradient.
        """
        name = check_options(transform, func, escape, chunk)
        label = f"{transform}({name})"
        chosen, found = prepare(label), resolve_argnums(label, func, argnums, argnames)
        return cls(
            transform, chosen, name, found, mode, has_aux, holomorphic, symmetric, chunk, escape
        )


class Point:
    """A function at one point, and the products of its Jacobian there.

    The Jacobian is a matrix of `m` rows, one for each element of the result, and `n` columns,
    one for each element of the differentiated arguments. The elements are those of one leaf
    after the other, each in C order.
    """

    def __init__(self, settings: Settings, args: tuple, kwargs: dict, frame: Frame):
        self.settings, self.frame = settings, frame
        select: Callable = choose_real if settings.mode != "rev" else choose
        if settings.holomorphic:
            select = choose_complex
        self.leaves, _, self.outer, self.call = split_call(
            settings.label, settings.func, args, kwargs, settings.argnums, select
        )
        self.n = sum(prod(shape_of(x)) for x in self.leaves)
        self.aux: Any = None
        self.form: tuple[int, np.dtype] | None = None
        self.tape: tuple | None = None

    @property
    def m(self) -> int:
        if self.form is None:
            self.record_tape()
        assert self.form is not None
        return self.form[0]

    def note_results(self, sizes: list[int], results: list, aux: Any) -> None:
        """Note the sizes and dtypes of the results of the function."""
        if self.form is None:
            dtype = np.result_type(*map(dtype_of, results)) if results else np.dtype(float)
            self.form, self.aux = (sum(sizes), dtype), aux

    def forward(self, seeds: ndarray) -> Any:
        """Return the products with `seeds`, shape (k, n), as an array of shape (k, m)."""
        settings = self.settings
        site = Site(settings.label, settings.escape, self.frame, self.outer)
        basis = _split_seeds(seeds, self.leaves)
        rows, structure, aux = push_batch(
            settings.label, site, self.call, self.leaves, basis, settings.has_aux
        )
        if settings.holomorphic:
            refuse(settings.label, rows, False, REAL_RESULT, result_paths, structure, rows)
        sizes = [prod(shape_of(r)[1:]) for r in rows]
        self.note_results(sizes, rows, aux)
        return _join_leaves([r.reshape(len(seeds), n) for r, n in zip(rows, sizes)], len(seeds))

    def record_tape(self) -> tuple:
        """Return the results, their nodes, and the nodes of the inputs; record them once."""
        if self.tape is None:
            settings = self.settings
            site = Site(settings.label, settings.escape, self.frame, self.outer)
            results, roots, inputs, structure, aux = record(
                site, self.call, self.leaves, settings.has_aux
            )
            wrong = REAL_RESULT if settings.holomorphic else COMPLEX_IN_REVERSE
            where = result_paths, structure, results
            refuse(settings.label, results, not settings.holomorphic, wrong, *where)
            self.tape = results, roots, inputs
            self.note_results([prod(shape_of(y)) for y in results], results, aux)
        return self.tape

    def reverse(self, seeds: ndarray) -> Any:
        """Return the products of `seeds`, shape (k, m), with the Jacobian: shape (k, n)."""
        if self.settings.symmetric:
            return self.forward(seeds)
        results, roots, inputs = self.record_tape()
        k, basis = len(seeds), _split_seeds(seeds, results)
        site = Site(self.settings.label, "dead", self.frame, self.outer)
        rows = pull_rows(site, list(roots), basis, inputs)
        if self.settings.holomorphic:
            rows = [r if r is None else np.conjugate(r) for r in rows]
        parts = []
        for row, x in zip(rows, self.leaves):
            size = prod(shape_of(x))
            part = np.zeros((k, size), dtype_of(x)) if row is None else row.reshape(k, size)
            parts.append(part)
        out = _join_leaves(parts, k)
        _, dtype = self.form  # type: ignore[misc]
        own = dtype_of(out)
        return out if own.kind == "c" != dtype.kind else cast(out, dtype)


def _split_seeds(seeds: ndarray, values: list) -> list:
    """Return the part of `seeds` for each value, shape (k, *value.shape)."""
    start, parts = 0, []
    for x in values:
        shape = shape_of(x)
        stop = start + prod(shape)
        part = seeds[:, start:stop].reshape(len(seeds), *shape)
        parts.append(part.astype(dtype_of(x), copy=False))
        start = stop
    return parts


def _join_leaves(parts: list, k: int) -> Any:
    """Return `k` rows of all leaves together; the arrays of a lazy library are computed."""
    out = np.concatenate(parts, axis=1) if len(parts) > 1 else parts[0] if parts else None
    if out is None:
        return np.zeros((k, 0))
    return out if isinstance(out, (ndarray, Tensor)) else np.asarray(out)
