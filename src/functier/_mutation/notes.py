"""Notes: what a level knows of the memory of its tensors, beyond what the memory itself tells.

Most levels note nothing, and have no object for it.
"""

from typing import Any


class Notes:
    """The notes of one level.

    Where its tensors may be written to, it has `taken`: weak references to views, by the arrays
    that own their memory (see `_levels.views`). All others are of any level: `partners` are copies
    that NumPy has as views (`copies`), `rows` those that become views at a write (`_levels.views`),
    `points` arrays without axes (`_levels.views`), and `laid` arrays that lie in another order than
    NumPy's (`_levels.lying`). The keys are the numbers of objects.
    """

    __slots__ = ("laid", "partners", "points", "rows", "taken")

    def __init__(self, taken: dict[int, list] | None = None):
        self.taken = taken
        self.partners: dict[int, Any] = {}
        self.rows: dict[int, Any] = {}
        self.points: dict[int, Any] = {}
        self.laid: dict[int, tuple] = {}

    def anew(self) -> "Notes | None":
        """Return what the next level of the same class begins with."""
        return None if self.taken is None else Notes({})


def notes_of(level: Any) -> Notes:
    """Return the notes of a level, which has some from now on."""
    if level.notes is None:
        level.notes = Notes()
    return level.notes
