"""The memory of a part: buffers whose lives do not overlap share bytes of one block."""

from bisect import bisect_left, insort
from heapq import heappop, heappush

from ..lowering.steps import Buffer
from .fusion import Call

ALIGNED = 64


def laid_out(calls: list[Call]) -> int:
    """Give each buffer its place in the block, and return the bytes of the block."""
    first: dict[Buffer, int] = {}
    last: dict[Buffer, int] = {}
    for time, call in enumerate(calls):
        used = [place.buffer for place in call.places]
        if call.scratch is not None:
            used.append(call.scratch)
        for buffer in used:
            if buffer.kind == "arena":
                first.setdefault(buffer, time)
                last[buffer] = time
    space = Space()
    active: list[tuple[int, int, int]] = []  # a heap: until when, from where, how much
    for buffer, time in first.items():
        while active and active[0][0] < time:
            space.free(*heappop(active)[1:])
        size = -(-max(buffer.size, 1) // ALIGNED) * ALIGNED
        buffer.offset = space.take(size)
        heappush(active, (last[buffer], buffer.offset, size))
    return space.top


class Space:
    """Bytes from 0 on, of which some are taken; the rest are gaps, and what is behind the last.

    Each call costs a search among the gaps, however many parts are taken.

    Attributes
    ----------
    top : int
        The number of bytes in use so far, gaps included.
    """

    def __init__(self) -> None:
        self.end = self.top = 0
        self.sizes: list[tuple[int, int]] = []  # of the gaps, and their beginnings, in order
        self.ends: dict[int, int] = {}  # of each gap, by its beginning
        self.begins: dict[int, int] = {}

    def take(self, size: int) -> int:
        """Return the beginning of the smallest gap that is large enough, or the end."""
        at = bisect_left(self.sizes, (size, 0))
        if at == len(self.sizes):
            begin, self.end = self.end, self.end + size
            self.top = max(self.top, self.end)
            return begin
        _, begin = self.sizes[at]
        end = self.close(begin)
        if begin + size < end:
            self.open(begin + size, end)
        return begin

    def free(self, begin: int, size: int) -> None:
        """Give bytes back, which become one gap with those beside them."""
        end = begin + size
        if begin in self.begins:
            before = self.begins[begin]
            self.close(before)
            begin = before
        if end in self.ends:
            end = self.close(end)
        if end == self.end:
            self.end = begin
        else:
            self.open(begin, end)

    def open(self, begin: int, end: int) -> None:
        self.ends[begin], self.begins[end] = end, begin
        insort(self.sizes, (end - begin, begin))

    def close(self, begin: int) -> int:
        """Take a gap out, and return its end."""
        end = self.ends.pop(begin)
        del self.begins[end]
        del self.sizes[bisect_left(self.sizes, (end - begin, begin))]
        return end
