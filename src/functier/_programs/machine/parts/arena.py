"""The memory of a part: buffers whose lives do not overlap share bytes of one block."""

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
    top = 0
    active: list[tuple[int, int, int]] = []
    for buffer, time in first.items():
        size = -(-max(buffer.size, 1) // ALIGNED) * ALIGNED
        active = [block for block in active if block[2] >= time]
        best, at = None, 0
        for begin, end, _ in active:  # the smallest gap that is large enough
            if begin - at >= size and (best is None or begin - at < best[1]):
                best = at, begin - at
            at = max(at, end)
        place = at if best is None else best[0]
        buffer.offset = place
        active.append((place, place + size, last[buffer]))
        active.sort()
        top = max(top, place + size)
    return top
