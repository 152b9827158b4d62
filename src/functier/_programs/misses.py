"""Calls of a compiled function that no program fits: when a trace pays.

NOTE [storms]
    A call that no program fits is a miss, and costs a trace. The trace pays if later calls use the
    program. So a miss makes a debt, and hits pay it back. Where the debt is too large, the plain
    function runs for some calls. Then programs are tried again. Until the debt is paid, the next
    miss makes the plain function run for twice as many calls. So traces take less and less of the
    time.
"""

COST, LIMIT, FIRST = 16, 128, 8
"""The hits that pay for a trace, the largest debt, and the calls of the first rest."""


class Misses:
    """The debt of a compiled function: see NOTE [storms].

    Attributes
    ----------
    debt : int
        0 where all traces are paid for.
    left : int
        The calls that the plain function is to serve.
    rests : int
        How often it has begun to do so.
    """

    def __init__(self) -> None:
        self.debt = self.left = self.rests = 0
        self.length = FIRST

    def rest(self) -> bool:
        """Count a call; tell if the plain function is to serve it."""
        if self.left > 0:
            self.left -= 1
            return True
        self.debt -= 1  # as for a hit; a miss adds more
        if self.debt <= 0:
            self.debt, self.length = 0, FIRST
        return False

    def add(self, cost: int = COST) -> bool:
        """Count a trace; tell if the first rest begins."""
        self.debt += cost
        if self.debt < LIMIT:
            return False
        self.debt = LIMIT - COST + 1  # so that one more miss is too much
        self.left, self.length = self.length, 2 * self.length
        self.rests += 1
        return self.rests == 1
