"""The layout of the arena: no two buffers in one place while both are alive, and linear work."""

import random
from types import SimpleNamespace

import pytest

from functier._programs.machine.parts.calling import ALIGNED, laid_out
from support.unrolled import lines_of

pytestmark = pytest.mark.inside("The places of buffers are drawn.")


class Part(SimpleNamespace):
    """A buffer, for the layout."""

    __hash__, __eq__ = object.__hash__, object.__eq__


def calls_of(count, seed, sizes=(0, 8, 64, 100, 1000, 4096, 80_000)):
    """Return calls that make and read buffers, most of them late ones."""
    draw = random.Random(seed)
    buffers, calls = [], []
    for _ in range(count):
        buffers.append(Part(kind="arena", size=draw.choice(sizes)))
        late = buffers[-draw.choice([2, 5, 50, len(buffers)]) :]
        used = [buffers[-1], *[draw.choice(late) for _ in range(draw.randrange(3))]]
        places = [SimpleNamespace(buffer=buffer) for buffer in used]
        calls.append(SimpleNamespace(places=places, scratch=None))
    return calls


def lives(calls):
    """Return from when until when each buffer is alive."""
    found = {}
    for time, call in enumerate(calls):
        for place in call.places:
            found.setdefault(place.buffer, [time, time])[1] = time
    return found


def check(calls, top):
    alive = lives(calls)
    rows = [(*time, x.offset, x.offset + max(x.size, 1)) for x, time in alive.items()]
    for i, (begin, end, low, high) in enumerate(rows):
        assert low % ALIGNED == 0
        assert high <= top
        for first, last, other_low, other_high in rows[:i]:
            if first <= end and begin <= last:
                assert high <= other_low or other_high <= low


@pytest.mark.parametrize("seed", range(5))
def test_buffers_that_are_alive_do_not_meet(seed):
    calls = calls_of(120, seed)

    check(calls, laid_out(calls))


def test_the_smallest_gap_is_taken_and_gaps_become_one():
    sizes = {"a": 128, "b": 64, "c": 64, "d": 64, "e": 64, "f": 128, "g": 256}
    buffers = {name: Part(kind="arena", size=size) for name, size in sizes.items()}
    uses = "abcd", "bd", "ebd", "fbd", "gd"
    calls = [
        SimpleNamespace(places=[SimpleNamespace(buffer=buffers[n]) for n in use],
                        scratch=None)
        for use in uses
    ]  # fmt: skip
    top = laid_out(calls)
    offsets = {name: buffer.offset for name, buffer in buffers.items()}

    assert offsets == {"a": 0, "b": 128, "c": 192, "d": 256, "e": 192, "f": 0, "g": 0}
    assert top == 320
    check(calls, top)


def test_the_work_for_a_buffer_is_the_same():
    few, some, many = [calls_of(n, 1, (64, 640, 6400)) for n in (200, 800, 3200)]
    a, b, c = [lines_of(lambda calls=calls: laid_out(calls)) for calls in (few, some, many)]

    assert (c - b) / 2400 <= 1.1 * (b - a) / 600
