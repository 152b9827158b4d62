"""The methods that observed code calls before it reads or writes something."""

from collections.abc import Collection, Mapping
from typing import Any, ClassVar

MISSING: Any = object()
"""The value of a cell that is deleted."""


class Events:
    """Listens to code: each method is called before the code does something.

    A method may raise, and then the code raises there. A name is as in the source, or mangled.
    Conditions that Python itself makes may be told as well, such as the truth of a bool.

    Attributes
    ----------
    inert : collection of type, optional
        The types of operands that tell nothing: neither an operator of such operands alone is told,
        nor a call of one of the `known` functions with such arguments alone.
    known : dict, optional
        These functions, by their types, whose instances are hashed by their identity.
    """

    inert: ClassVar[Collection[type]]
    known: ClassVar[Mapping[type, Collection]]

    def attribute(self, owner: Any, name: str) -> None:
        """``owner.name``, ``from owner import name``, and the owner of a method."""

    def super_attribute(self, kind: type, owner: Any, name: str) -> None:
        """``super(kind, owner).name``, from 3.12 on. Before, it is a call and an attribute."""

    def cell(self, cell: Any) -> None:
        """A variable of a closure: its cell, before the contents are read."""

    def item(self, owner: Any, key: Any) -> tuple | None:
        """``owner[key]``, also with a slice; it may be another owner or key that is returned."""

    def operands(self, *values: Any) -> tuple | None:
        """The operands of an operator or comparison, and what a set or dict will hash.

        An operator that makes a new value may get other operands: those that are returned.
        """

    def same(self, a: Any, b: Any) -> None:
        """``a is b``."""

    def truth(self, value: Any) -> None:
        """``if value``, and whatever else asks if it is true."""

    def contents(self, value: Any) -> None:
        """All of a value may be read: it is iterated, matched, formatted, entered or awaited."""

    def called(self, callee: Any, args: Any, kwargs: dict[str, Any]) -> tuple | None:
        """``callee(*args, **kwargs)``. `args` is a tuple, or what cannot become one.

        The call may get others, which are returned: a tuple as long, and a dict of these names.
        """

    def stores_attribute(self, owner: Any, name: str, value: Any) -> None:
        """``owner.name = value``."""

    def deletes_attribute(self, owner: Any, name: str) -> None:
        """``del owner.name``."""

    def stores_item(self, owner: Any, key: Any, value: Any) -> None:
        """``owner[key] = value``, also with a slice; ``owner += value`` has the key None."""

    def deletes_item(self, owner: Any, key: Any) -> None:
        """``del owner[key]``."""

    def stores_global(self, name: str, value: Any = MISSING) -> None:
        """``name = ...`` or ``del name`` of a global variable."""

    def stores_cell(self, cell: Any, value: Any = MISSING) -> None:
        """``name = value`` or ``del name`` of a variable of a closure."""

    def imports(self, name: str, fromlist: Any, level: int) -> None:
        """``import name``."""
