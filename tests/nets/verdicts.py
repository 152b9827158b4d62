"""Outcomes of the cases of a net: right, refused for a known reason, or wrong."""

import re
from collections import Counter
from collections.abc import Callable
from typing import Any


class Verdicts:
    """Counts of the cases of one net.

    Parameters
    ----------
    name : str
        The net, as the summary names it.
    reasons : dict of str to str
        The refusals that are foreseen: a regular expression that is searched for in
        ``"ErrorClass: message"``, and why a user has to accept this refusal.
    """

    def __init__(self, name: str, reasons: dict[str, str] | None = None):
        self.name, self.reasons = name, reasons or {}
        self.right = 0
        self.refused: Counter[str] = Counter()
        self.unclear: Counter[str] = Counter()
        self.wrong: list[str] = []
        self.rounded: list[str] = []
        self.seen: Counter[str] = Counter()
        self.last = ""

    @property
    def total(self) -> int:
        return self.right + self.refused.total() + len(self.wrong)

    def judge(self, case: Any, run: Callable[[], Any], check: Callable[[Any], None]) -> str:
        """Run one case and count it; the verdict.

        `run` gives a result or raises; `check` raises an `AssertionError` where the result is
        wrong. `case` is what a message shows, so that the case can be run again.
        """
        try:
            result = run()
        except Exception as error:
            return self.refuse(case, error)
        try:
            check(result)
        except AssertionError as error:
            lines = [line for line in str(error).splitlines() if line.strip()]
            self.wrong.append(f"{case}: {' | '.join(lines[:6])}")
            return "wrong"
        self.right += 1
        return "right"

    def foreseen(self, error: Exception) -> str | None:
        """Return the pattern of a refusal that is foreseen."""
        text = f"{type(error).__name__}: {error}"
        found = [x for x in self.reasons if re.search(x, text, re.DOTALL)]
        return found[0] if found else None

    def refuse(self, case: Any, error: Exception) -> str:
        """Count an error: refused where it is foreseen, else wrong."""
        text = f"{type(error).__name__}: {error}"
        pattern = self.foreseen(error)
        if pattern is not None:
            self.refused[pattern] += 1
            self.last = pattern
            return "refused"
        self.wrong.append(f"{case}: refused for no known reason: {text[:300]}")
        return "wrong"

    def summary(self) -> str:
        more = [f"{self.unclear.total()} unclear"] if self.unclear else []
        more += [f"{count} {what}" for what, count in self.seen.items()]
        more += [f"{len(self.rounded)} by rounding"] if self.rounded else []
        return ", ".join([
            f"{self.name}: {self.total} cases", f"{self.right} right",
            f"{self.refused.total()} refused", f"{len(self.wrong)} wrong", *more,
        ])  # fmt: skip

    def told(self, summary: str = "") -> tuple:
        """Return what the last lines of a run say of the net, also of one in another process."""
        refused: Counter[str] = Counter()
        for pattern, count in self.refused.items():
            refused[self.reasons.get(pattern, pattern)] += count
        return summary or self.summary(), self.right, dict(refused), len(self.wrong)

    def settle(self, most: float = 0.05) -> None:
        """Raise where a case is wrong, or where more than this part of them was refused.

        So it does where more than a thousandth differ by rounding.
        """
        shown = "\n".join(self.wrong[:20])
        assert not self.wrong, f"{self.summary()}\n{shown}"
        assert self.refused.total() <= most * self.total, f"{self.summary()}\n{self.refused}"
        assert len(self.rounded) <= self.total / 1000, "\n".join(self.rounded)


def lines_of(nets: list, by_reason: bool) -> list[str]:
    """Return what a run says of its nets: of each what it told, and the sum of all.

    `by_reason`: the refusals of each, and of all, by their reasons.
    """
    lines, cases, all_refused = [], Counter(), Counter()
    for told in nets:
        if isinstance(told, str):
            lines.append(told)
            continue
        summary, right, refused, wrong = told
        lines.append(summary)
        lines += _reasons(refused) if by_reason else []
        cases.update(right=right, refused=sum(refused.values()), wrong=wrong)
        all_refused.update(refused)
    if cases:
        parts = [f"{count} {verdict}" for verdict, count in cases.items()]
        lines.append(f"all nets: {cases.total()} cases, {', '.join(parts)}")
    return lines + (_reasons(all_refused) if by_reason else [])


def _reasons(refused: dict[str, int]) -> list[str]:
    """Return lines of refusals by their reasons, the most frequent one first."""
    return [f"{count:8} {why}" for why, count in Counter(refused).most_common() if count]


def is_excused(name: str, table: dict[str, str]) -> bool:
    """Tell if a table of functions by their families has that of the row `name`."""
    family, _, rest = name.partition(".")
    function = rest.partition("-")[0]
    return any(function.startswith(known) for known in table.get(family, "").split())
