"""The counting of verdicts itself: what is wrong, and too many refusals, fail a net."""

from nets.verdicts import Verdicts, lines_of
from support.basics import raises


def boom():
    raise ValueError("no such axis")


def never(result):
    raise AssertionError("1 is not 2")


def accept(result):
    pass


def test_each_verdict():
    counts = Verdicts("net", {"ValueError: no such": "axes are the user's"})

    assert counts.judge("a", lambda: 1, accept) == "right"
    assert counts.judge("b", boom, accept) == "refused"
    assert counts.judge("c", lambda: 1, never) == "wrong"
    assert counts.judge("d", lambda: 1 / 0, accept) == "wrong"
    assert counts.summary() == "net: 4 cases, 1 right, 1 refused, 2 wrong"
    raises(AssertionError, lambda: counts.settle(), "c: 1 is not 2")


def test_all_nets_together_are_told_by_their_reasons():
    first, second = Verdicts("first", {"ValueError": "axes"}), Verdicts("second", {"such": "axes"})
    for counts in (first, second):
        counts.judge("a", boom, accept)
    second.judge("b", lambda: 1, never)

    lines = lines_of([first.told(), "more of it", second.told()], by_reason=True)
    assert lines[2:4] == ["more of it", "second: 2 cases, 0 right, 1 refused, 1 wrong"]
    assert lines[5:] == ["all nets: 3 cases, 0 right, 2 refused, 1 wrong", "       2 axes"]
    assert lines_of([first.told()], by_reason=False)[0] == first.summary()


def test_too_many_refusals_fail():
    counts = Verdicts("net", {"no such axis": "axes are the user's"})
    for _ in range(19):
        counts.judge("a", lambda: 1, accept)
    counts.judge("b", boom, accept)
    counts.settle()
    counts.judge("b", boom, accept)
    raises(AssertionError, lambda: counts.settle(), "2 refused")


def test_counts_are_shown(verdicts):
    verdicts("an empty net")
