"""Arrays that the tape of a derivative keeps, as they were when it kept them.

NOTE [a derivative reads what it has kept]
    A tape copies the plain arrays that its rules keep. It has fingerprints of large ones, which
    may miss a change, and nothing of those inside tensors, such as arguments. If the function
    refills these, the derivative reads the new content. So while `writes` is on, each rule on a
    tape has fingerprints of the arrays that it keeps, and compares them with what it is given
    when it runs. It reports exactly the arrays that a derivative reads: not those of an addition,
    which keeps nothing, and not those of a part of the tape that the result does not depend on.
    A pullback owns copies, which were made when the function returned; they are compared in the
    same way.
"""

from collections.abc import Iterable, Sequence
from hashlib import blake2b
from typing import Any, NamedTuple

import numpy as np

from .._core.errors import MutationError
from .._core.numpy_facts import Value
from .._cpython.frames import Frame, globals_at, variables_at
from .._levels.kept import SMALL, Copies
from .._levels.memory import owner_of
from ._calls import Given, Location, keeping

ndarray = np.ndarray


class _Search(Copies):
    """A walk through values to the arrays that a pullback would copy, without a copy."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[ndarray] = []
        self.inside = 0  # how many tensors are around the value
        self.plain: set[int] = set()  # ids of arrays that are in no tensor

    def value(self, x: Any) -> Any:
        if isinstance(x, ndarray):
            self.found.append(x)
            if not self.inside:
                self.plain.add(id(x))
            return x
        if getattr(type(x), "takes_writes", False):
            return x  # its writes are followed
        return super().value(x)

    def tensor(self, x: Any) -> Any:
        self.inside += 1
        x = super().tensor(x)
        self.inside -= 1
        return x

    def tape(self, roots: list) -> list:
        return roots  # its rules look at what they keep themselves


def search(x: Any) -> _Search:
    found = _Search()
    found.value(x)
    return found


class Kept(NamedTuple):
    """An array that a rule keeps: what to call it, what to write, and what it held."""

    text: str
    advice: str
    shape: tuple[int, ...]
    content: bytes

    @classmethod
    def of(cls, x: ndarray, place: str, here: Location) -> "Kept":
        given = here.arrays.get(id(owner_of(x)))
        if given is None:
            text, advice = place or "an array", "write to a copy of it"
            shape = x.shape
        else:
            variable, is_view, is_operand, shape = given
            text = f"a view of the memory of {variable}" if is_view else variable
            text, copy = text or place or "an array", f"{variable or 'the array'}.copy()"
            advice = f"pass {copy} to the operation" if is_operand else f"write to a copy, {copy}"
        return cls(f"{text}, {x.dtype} of shape {shape},", advice, x.shape, content_of(x))

    def change(self, x: ndarray) -> str | None:
        """Return a phrase on how `x` differs from the array that was kept, or None."""
        content = content_of(x)
        if x.shape == self.shape and content == self.content:
            return None
        if x.shape == self.shape and is_small(x):
            before = np.frombuffer(self.content, x.dtype).reshape(x.shape)
            after = np.frombuffer(content, x.dtype).reshape(x.shape)
            first = np.argwhere(before != after)[:1]
            for i in map(tuple, first.tolist()):
                return f": element {i} was {before[i].item()!r} and is {after[i].item()!r}"
        return ""


def is_small(x: ndarray) -> bool:
    return x.size <= SMALL and x.dtype.kind in "biufc"


def content_of(x: ndarray) -> bytes:
    """Return the bytes of a small array, and a checksum of those of a large one."""
    data = np.ascontiguousarray(x).tobytes()
    return data if is_small(x) else blake2b(data, digest_size=16).digest()


def fingerprints(saved: Iterable, names: Sequence[str], here: Location) -> list[list[Kept]]:
    """Return fingerprints of the arrays in each value that a rule keeps, if they are asked for.

    `names` are those of the values for the operation, where they are known.
    """
    if not keeping():
        return []
    found = []
    for i, x in enumerate(saved):
        name = names[i] if i < len(names) else ""
        place = "its result" if name == "ans" else f"its operand {name!r}" if name else ""
        found.append([Kept.of(array, place, here) for array in search(x).found])
    return found if any(found) else []


def check_kept(kept: list[list[Kept]], values: Iterable, reader: str, here: Location) -> None:
    """Raise where an array that `reader` kept and is about to read has changed since."""
    for before, x in zip(kept, values):
        for one, array in zip(before, search(x).found if before else ()):
            change = one.change(array)
            if change is not None:
                lines = "\n  from ".join(here.lines())
                raise MutationError(
                    f"{reader} would read {one.text} which was written to after {here.what} had "
                    f"kept it{change}\n  at {lines}\n  {one.advice}, or make the array inside "
                    f"the function with functier.numpy, which tracks writes",
                    named=True,
                ) from None


def name_arrays(frames: Iterable[Frame], *given: Value) -> dict[int, Given]:
    """Return descriptions of the arrays in `given`, with the names that `frames` have for them.

    The keys are the ids of the arrays that own the memory.
    """
    found = search(given)
    wanted = {id(owner_of(x)): x for x in found.found}
    views: dict[int, str] = {}
    names: dict[int, str] = {}
    for frame in frames if wanted else ():
        for variables in (variables_at(frame), globals_at(frame)):
            for name, value in [*variables.items()]:
                if isinstance(value, ndarray):
                    owner = id(owner_of(value))
                    if owner in wanted:
                        same = value is wanted[owner]
                        (names if same else views).setdefault(owner, name)
        if len(names) == len(wanted):
            break
    return {
        owner: Given(
            names.get(owner) or views.get(owner, ""),
            owner not in names and owner in views,
            id(x) in found.plain,
            x.shape,
        )
        for owner, x in wanted.items()
    }
