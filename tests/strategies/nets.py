"""Laws that drawn programs obey: each is checked on many draws, which are counted.

A law is a function with the decorator `net`. It becomes a test, and a failing draw shrinks to a
program of a few lines::

    @net("branches", REASONS, examples=(60, 3000), program=branching())
    def test_a_batch_is_what_a_loop_gives(judge, program):
        f = program.function()
        judge(lambda: ft.vmap(f)(XS), lambda found: close(found, [f(x) for x in XS]))

The profile of hypothesis says if the draws are the same each time. ``python -m strategies`` runs
nets for hours.
"""

from collections import Counter

import hypothesis
import optree
import pytest
from hypothesis import HealthCheck, Phase, event, given, settings

from nets.verdicts import Verdicts
from support.basics import silent

from .programs import Program

NETS = {}
"""All nets that have been imported, by their names."""


class Judge:
    """Counts the outcome of one draw, and raises where it is wrong."""

    def __init__(self, counts):
        self.counts = counts

    def __repr__(self):
        return "judge"

    def __call__(self, run, check, reasons=None):
        """Compare the result of ``run()``; `reasons` are more refusals that are foreseen here."""
        counts, before = self.counts, self.counts.reasons
        counts.reasons = {**before, **(reasons or {})}
        try:
            self.note(counts.judge("", run, check))
        finally:
            counts.reasons = before

    def refuse(self, error):
        """Count an error, which has to be foreseen."""
        self.note(self.counts.refuse("", error))

    def wrong(self, text):
        self.counts.wrong.append(text)
        self.note("wrong")

    def right(self):
        self.counts.right += 1
        self.note("right")

    def unclear(self, why):
        """Say nothing about a draw, and say why."""
        self.counts.unclear[why] += 1
        hypothesis.event(f"unclear: {why}")

    def note(self, verdict):
        if hypothesis.currently_in_test_context():
            event(verdict if verdict != "refused" else f"refused: {self.counts.last}")
        if verdict == "wrong":
            raise AssertionError(self.counts.wrong[-1])


class Net:
    """A law, the strategies of its arguments, and the refusals that are foreseen.

    `settle` is called with the counts after all draws, and may require more of them.
    """

    def __init__(self, name, reasons, law, strategies, most, settle):
        self.name, self.reasons, self.law, self.strategies = name, reasons, law, strategies
        self.most, self.more = most, settle

    def run(self, counts, examples, seed=None, **options):
        """Check the law on so many draws; a wrong one is shrunk and raised."""
        checked = given(**self.strategies)(self.law)
        if seed is not None:
            checked = hypothesis.seed(seed)(checked)
            options = {"derandomize": False, "database": None, **options}
        options.setdefault("phases", [Phase.reuse, Phase.generate, Phase.shrink])
        with silent():
            settings(
                max_examples=examples, report_multiple_bugs=False,
                suppress_health_check=list(HealthCheck), **options,
            )(checked)(Judge(counts))  # fmt: skip

    def check(self, **drawn):
        """Check the law on something given; return the counts."""
        counts = self.counts()
        with silent():
            self.law(Judge(counts), **drawn)
        return counts

    def settle(self, counts):
        counts.settle(self.most)
        if self.more:
            self.more(counts)

    def counts(self):
        return Verdicts(self.name, self.reasons)

    def finds(self, examples=1000, seed=2026, most=8, **narrower):
        """Require that a fault that is planted is found, by a program of a few statements.

        Return the arguments of the failing draw, after shrinking; some may be drawn by `narrower`
        strategies.
        """
        found, law = [], self.law

        def noting(judge, **drawn):
            try:
                law(judge, **drawn)
            except AssertionError:
                found[:] = [drawn]
                raise

        strategies = self.strategies | narrower
        net = Net(self.name, self.reasons, noting, strategies, self.most, self.more)
        counts = net.counts()
        # A planted fault may read what nobody wrote, and so not show a second time.
        with pytest.raises((AssertionError, hypothesis.errors.Flaky)):
            net.run(counts, examples, seed)
            net.settle(counts)
        for drawn in found:
            for program in optree.tree_leaves((*drawn.values(),)):
                assert not isinstance(program, Program) or program.size <= most, program
        return found


def net(name, reasons=None, *, examples, most=0.05, settle=None, **strategies):
    """Turn a law into a test of so many draws: the last number is for ``--full``.

    The one before it is for ``--slow``, and a test of the quick ones has three. At most this part
    of the draws may be refused.
    """

    def decorate(law):
        made = NETS[name] = Net(name, reasons or {}, law, strategies, most, settle)

        def test(verdicts, full, request):
            counts = verdicts(name, made.reasons)
            slow = request.config.getoption("--slow")
            made.run(counts, examples[-1 if full else -2 if slow else 0])
            made.settle(counts)

        test.__name__, test.__doc__, test.net = law.__name__, law.__doc__, made
        return test

    return decorate


def contents(strategy, examples=300, seed=2026):
    """Return in which part of the drawn programs there is each feature, in percent."""
    found = Counter()

    @hypothesis.seed(seed)
    @settings(
        max_examples=examples, database=None, derandomize=False, phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )  # fmt: skip
    @given(strategy)
    def draw(program):
        found.update(["programs", *program.features])

    draw()
    return {name: round(100 * n / found["programs"]) for name, n in found.items()}
