"""A text with a tensor in it, which is for people: it becomes a plain one when it is shown.

NOTE [a text that is no str]
    C code reads a text by its memory: ``re.findall``, `eval` and `Decimal` would find digits, and
    the number would have lost its derivative. So this class does not inherit from `str`, and these
    raise. Python code may join it and write it in small letters, show it, and ask if a word is in
    it, where the answer is the same for all numbers.
"""

import sys
from typing import Any, NamedTuple, NoReturn

import numpy as np

from .._core.adopted import TEXTS
from .._core.tensor import Tensor

FOR_PEOPLE = {"__repr__", "__str__", "__format__", "__rich__", "_repr_html_"}
"""Methods that make a text for people."""

DIGITS = frozenset("0123456789.+-einfaj()[], \n")
"""The letters of NumPy's text of numbers."""

PLAIN = frozenset({int, float, complex, bool, str, type(None)})


class Gap(NamedTuple):
    """The text of a tensor in a text."""

    shown: str  # to people
    letters: frozenset[str] | None  # that it may have; None where it may have any


def letters_of(x: Any, form: Any, depth: int = 9) -> frozenset[str] | None:
    """Return the letters that ``form(x)`` may have, also for other numbers; None if any."""
    kind = type(x)
    if kind in (list, tuple) and depth:
        found = [letters_of(item, repr, depth - 1) for item in x]
        return None if None in found else frozenset("[](), ").union(*found)  # type: ignore[arg-type]
    if kind in PLAIN:
        return frozenset(form(x))
    if not isinstance(x, Tensor) and kind is not np.ndarray and not isinstance(x, np.number):
        return None
    usual = np.get_printoptions()
    standard = not usual["formatter"] and (usual["nanstr"], usual["infstr"]) == ("nan", "inf")
    if not standard or x.dtype.kind not in "iufc":
        return None
    if form is str:
        return DIGITS
    named = "" if 0 < x.size < usual["threshold"] else "shape"
    return DIGITS.union("np.array dtype=", x.dtype.name, named)


class Text:
    """A text with gaps, in which a tensor is shown.

    Parameters
    ----------
    parts : list of str or Gap
        What it is made of.
    error : LevelError
        Is raised where the text would be read in another way.
    level : Level
        The level that then refuses what its function returns, if that catches the error.
    """

    __slots__ = "error", "level", "parts"
    __class__: Any = property(lambda self: str)  # for `isinstance`

    def __init__(self, parts: list[str | Gap], error: Exception, level: Any):
        self.parts, self.error, self.level = parts, error, level

    def with_parts(self, parts: list[str | Gap]) -> "Text":
        """Return another text that is refused like this one."""
        return Text(parts, self.error, self.level)

    # ---- for people ----

    def __str__(self) -> str:
        return "".join([part.shown if isinstance(part, Gap) else part for part in self.parts])

    def __repr__(self) -> str:
        if sys._getframe(1).f_code in TEXTS:
            self.refuse()
        return repr(str(self))

    def __format__(self, spec: str) -> str:
        return format(str(self), spec)

    # ---- as a text ----

    def __add__(self, other: Any) -> Any:
        return self._join(self, other)

    def __radd__(self, other: Any) -> Any:
        return self._join(other, self)

    def _join(self, *texts: Any) -> Any:
        parts: list[str | Gap] = []
        for text in texts:
            if type(text) is not Text and type(text) is not str:
                return NotImplemented
            parts += text.parts if isinstance(text, Text) else [text]
        made = self.with_parts(parts)
        return str(made) if sys._getframe(2).f_code.co_name in FOR_PEOPLE else made

    def lower(self) -> "Text":
        """Return the text in small letters."""
        return self._in_case(str.lower)

    def upper(self) -> "Text":
        """Return the text in capital letters."""
        return self._in_case(str.upper)

    def _in_case(self, case: Any) -> "Text":
        made: list[str | Gap] = []
        for part in self.parts:
            if isinstance(part, Gap):
                letters = part.letters and frozenset(map(case, part.letters))
                made.append(Gap(case(part.shown), letters))
            else:
                made.append(case(part))
        return self.with_parts(made)

    def __contains__(self, word: Any) -> bool:
        if type(word) is not str:
            self.refuse()
        fixed = "".join(["\0" if isinstance(part, Gap) else part for part in self.parts])
        if "\0" not in word and word in fixed:
            return True
        if self.may_be(word, whole=False):
            self.refuse()
        return False

    def __eq__(self, other: Any) -> bool:
        if type(other) is not str or self.may_be(other, whole=True):
            self.refuse()
        return False

    def may_be(self, word: str, whole: bool) -> bool:
        """Tell if `word` may be the text, or in it unless it is to be the `whole`."""
        items: list[tuple[Any, bool]] = []  # the letters of an item, and if it may repeat or lack
        for part in self.parts:
            if isinstance(part, str):
                items += [(letter, False) for letter in part]
            else:
                known = [] if part.letters is None else [(part.letters, False)]
                items += [*known, (part.letters, True)]
        end = len(items)

        def past(places: set[int]) -> set[int]:
            found = set(places)
            for i in sorted(places):
                while i < end and items[i][1]:
                    i += 1
                    found.add(i)
            return found

        places = past({0} if whole else set(range(end + 1)))
        for letter in word:
            after = set()
            for i in places - {end}:
                letters, repeats = items[i]
                if letters is None or letter in letters:
                    after.add(i if repeats else i + 1)
            places = past(after)
        return end in places if whole else bool(places)

    # ---- refused ----

    def refuse(self, *_: Any) -> NoReturn:
        """Raise the error, which the function cannot catch for good."""
        if self.level.live:
            self.level.unanswered = self.error
        raise self.error

    def __getattr__(self, name: str) -> Any:
        if hasattr(str, name):
            self.refuse()
        raise AttributeError(f"'str' object has no attribute {name!r}", name=name, obj="")

    __hash__ = __len__ = __iter__ = __getitem__ = refuse  # type: ignore[assignment]
    __float__ = __int__ = __complex__ = __index__ = __array__ = refuse
    __lt__ = __le__ = __gt__ = __ge__ = __mul__ = __rmul__ = __mod__ = refuse


Text.__name__ = Text.__qualname__ = "text of a tensor, whose derivative would be lost"
