"""Finding the loops of a program: steps that repeat become one body. What takes long is said.

NOTE [the same calls in the same order]
    A loop stands where its steps stood, one right behind the other, and makes their calls in their
    order. So a program keeps its bits and its effects, whatever the steps do.

NOTE [a step like the one before]
    Two steps are alike if their nodes are: the functions, the forms and the lines. Their arguments
    may differ in four ways. A value comes from the step itself, or from one that is a fixed number
    of steps before. All steps take the same value. Each takes the value that a step of an earlier
    loop has made, in order or in reverse. A whole number grows by a fixed number, and other
    constants are listed. Where a step differs in another way the loop ends, and another one may
    begin.
"""

import time
import warnings
from collections import Counter
from operator import itemgetter
from typing import Any

from .._cpython.code import key_of, line_of, name_of_code
from .costs import bytes_of
from .dead import live_in
from .graph import Graph, Guard, Node, nodes_in, replace, same_bits
from .loops import Loop, count_calls, every_graph, is_loop, is_result
from .steps import (
    Always,
    Carried,
    Place,
    Run,
    facts_of_node,
    flatten,
    is_memory,
    kind_of_loop,
    relation,
)

FEWEST = 3
"""The least number of steps that become a loop."""

TRIES = 8
"""The number of lengths of a step that are tried at a place."""

PEELED = 4
"""One more than the number of differing steps that may come before a loop."""

WORTH = 4
"""The number of nodes that a loop has to save."""

SEARCHED = 200_000
"""Comparisons of nodes, beyond one for each node, before lengths have to wait early."""

SMALL = 1 << 12
"""Values of up to so many bytes are kept for all steps, also if few are needed."""


class Finder:
    """The loops of a graph."""

    def __init__(self, graph: Graph):
        self.graph = graph
        self.live = live_in(graph)
        self.nodes = graph.nodes
        self.guards: dict[Node, list[Guard]] = {}
        for guard in graph.guards:
            self.guards.setdefault(guard.node, []).append(guard)
        self.leaves: list[list] = []
        self.kinds = self.kinds_of_nodes()
        self.leave_out()
        self.reasons: dict[Any, str] = {}
        self.ends: dict[int, tuple[int, int]] = {}
        self.last_use = self.last_uses()
        self.banned: dict[int, list[Run]] = {}  # loops that do not pay, for each of their nodes
        self.left = SEARCHED + len(self.nodes)  # what may be compared in vain
        while True:
            self.waits: dict[int, int] = {}  # up to which node a length is not tried
            self.failures: dict[int, int] = {}
            self.runs: list[Run] = []
            self.homes: dict[Node, tuple[Run, int, int]] = {}  # run, place and step of a node
            self.find()
            poor = [run for run in self.poor() if not self.is_banned(run.start, run.period)]
            if not poor:
                break
            for run in poor:
                for i in range(run.start, run.stop):
                    self.banned.setdefault(i, []).append(run)

    def kinds_of_nodes(self) -> list[int]:
        """Return a number for each node, which is that of nodes like it."""
        known: dict[Any, int] = {}
        found: list[int] = []
        for node in self.nodes:
            leaves: list = []
            self.leaves.append(leaves)
            if node.func is None:
                found.append(-1 - len(found))
                continue
            around = flatten(node.args, leaves), flatten(node.kwargs, leaves)
            func: Any = node.func
            if type(func) is Loop:
                func = kind_of_loop(func, leaves)
            asked: list[Any] = [guard.how for guard in self.guards.get(node, ())]
            if is_result(node):
                asked.append(node.args[1])  # which result it is
            key = func, around, *facts_of_node(node), *asked
            try:
                found.append(known.setdefault(key, len(known)))
            except TypeError:
                found.append(-1 - len(found))
        return found

    def leave_out(self) -> None:
        """Leave out the nodes that nobody needs, where nobody needs any other of their kind."""
        live = self.live
        kinds = {kind for node, kind in zip(self.nodes, self.kinds) if node in live}
        kept, own = set(live), []
        for k, (node, kind) in enumerate(zip(self.nodes, self.kinds)):
            if node not in live:
                if kind not in kinds or not kept.issuperset(node.parents()):
                    continue
                kept.add(node)
            own.append(k)
        if len(own) < len(self.kinds):
            self.kinds = [self.kinds[k] for k in own]
            self.leaves = [self.leaves[k] for k in own]
            graph = self.graph
            nodes = [self.nodes[k] for k in own]
            self.graph = Graph(nodes, graph.inputs, graph.outputs, graph.guards)
            self.nodes = self.graph.nodes

    def last_uses(self) -> dict[Node, int]:
        found: dict[Node, int] = {}
        for node, leaves in zip(self.nodes, self.leaves):
            for x in leaves:
                if type(x) is Node:
                    found[x] = node.number
        for node in nodes_in(self.graph.outputs):
            found[node] = len(self.nodes)
        return found

    # ---- runs ----

    def find(self) -> None:
        """Find the runs, from the first node on."""
        kinds, i = self.kinds, len(self.graph.inputs)
        total = len(kinds)
        following: list[int] = [total] * total  # the next node of the kind
        seen: dict[int, int] = {}
        for j in range(total - 1, -1, -1):
            following[j] = seen.get(kinds[j], total)
            seen[kinds[j]] = j
        longest, until = total, 0  # steps are shorter up to a node: those of inner loops
        outer, alike = 0, total  # from where on steps of such a length have the same inner loops
        known: dict[int, Run] = {}
        while i < total:
            if i >= until:
                longest, alike = total, total
            if i < alike:
                run = self.run_at(i, following, longest)
            else:
                before = known.get(i - outer)
                run = before and self.again(before, before.start + outer)
                if before and (run is None or run.count < before.count):
                    alike = total  # look again from here on
                    continue
            if run is None:
                i += 1
                continue
            inner = self.inner(run, following) if i < alike else None
            while inner is not None:
                if i >= until:
                    until, outer, alike = run.stop, run.period, run.start + 2 * run.period
                longest = run.period // FEWEST
                run, inner = inner, self.inner(inner, following)
            known[i] = run
            self.accept(run)
            i = run.stop

    def again(self, run: Run, i: int) -> Run | None:
        """Return a run like another one in a later step around it, which may have fewer steps."""
        if self.is_banned(i, run.period):
            return None
        return self.fit(i, run.period, min(run.count, self.steps(i, run.period)))

    def inner(self, run: Run, following: list[int]) -> Run | None:
        """Return a run in the first step of another one; the inner loops are found first."""
        stop = run.start + run.period
        for i in range(run.start, stop):
            found = self.run_at(i, following, run.period // FEWEST)
            if found is not None and found.stop <= stop + found.period:
                return found
        return None

    def run_at(self, i: int, following: list[int], longest: int) -> Run | None:
        """Return the run that begins at a node, or a step later, if there is one."""
        j = following[i]
        for _ in range(TRIES):
            period = j - i
            if j >= len(self.kinds) or period > longest:
                return None
            if i < self.waits.get(period, 0):
                j = following[j]
                continue
            count = self.steps(i, period)
            for peeled in range(min(count - FEWEST + 1, PEELED)):
                start = i + peeled * period
                if self.is_banned(start, period) or (count - peeled - 1) * period < WORTH:
                    continue
                run = self.fit(start, period, count - peeled)
                if run is not None and run.saved >= WORTH:
                    self.failures[period] = 0
                    return self.turned(run)
            if count >= FEWEST:
                self.wait(i, period)
            j = following[j]
        return None

    def is_banned(self, i: int, period: int) -> bool:
        """Tell if a loop is a part of one that does not pay, perhaps with several steps in one."""
        stop = i + FEWEST * period
        return any([
            stop <= run.stop and not period % run.period for run in self.banned.get(i, ())
        ])  # fmt: skip

    def wait(self, i: int, period: int) -> None:
        """Try a length again after some steps: twice as many each time, while kinds go on so.

        In the first two steps it is tried at each node, while not much has been compared in vain.
        """
        failures = self.failures[period] = self.failures.get(period, 0) + 1
        end, late = self.ends[period][1] + 1, failures - 2 * period * (self.left > 0)
        self.waits[period] = min(i + (period << min(late, 20)) if late > 0 else i, end)
        if self.waits[period] == end:
            self.failures[period] = 0

    def steps(self, i: int, period: int) -> int:
        """Return how many steps of this length are of the same kinds from a node on."""
        begin, end = self.ends.get(period, (0, -1))
        if not begin <= i <= end:
            kinds, end = self.kinds, i
            last = len(kinds) - period
            while end < last and kinds[end] == kinds[end + period]:
                end += 1
            self.ends[period] = i, end
        return (end - i) // period + 1

    def turned(self, run: Run) -> Run:
        """Return a run that begins at another node of a step, where steps carry fewer values."""
        crossings = run.crossings()
        heads = [not self.is_head(run.start + r) for r in range(run.period)]
        best = min(range(run.period), key=lambda r: (crossings[r], heads[r], r))
        if best:
            i = run.start + best
            other = self.fit(i, run.period, self.steps(i, run.period))
            if other is not None and not self.is_banned(other.start, other.period):
                return other if other.count >= run.count - 1 and other.saved >= WORTH else run
        return run

    def is_head(self, i: int) -> bool:
        """Tell if the user's code goes back before a node, as it does at the head of a loop."""
        before, now = self.nodes[i - 1].place, self.nodes[i].place
        return bool(before and now) and before[0] is now[0] and now[1] < before[1]

    def fit(self, i: int, period: int, count: int) -> Run | None:
        """Return the run of as many of these steps as differ in the known ways, if any.

        A few steps are looked at first, and then four times as many, as often they are all.
        """
        size = FEWEST
        while size < count:
            run = self.fit_of(i, period, size)
            if run is None or run.count < size:
                return run
            size *= 4
        return self.fit_of(i, period, count) if count >= FEWEST else None

    def fit_of(self, i: int, period: int, count: int) -> Run | None:
        """Return the run of as many of so many steps as differ in the known ways, if any."""
        for _ in range(8):
            columns, fits = [], count
            for q in range(period):
                self.left -= 1
                rows = self.leaves[i + q : i + q + fits * period : period]
                found = []
                place = Place(q, i, period, self.nodes, self.homes)
                for column in zip(*rows):
                    how, length = relation(column, place)
                    if length < FEWEST:
                        own = self.nodes[i + q].place
                        self.reasons[own] = how if type(how) is str else "few steps are alike"
                        return None
                    fits = min(fits, length)
                    found.append(how)
                columns.append(found)
                fits = min(fits, self.same_answers(i, period, q, fits))
                fits = self.until_dead(i, period, q, fits)
                if fits < FEWEST:
                    return None
            if fits == count:
                run = Run(i, period, count, columns)
                fits = self.until_needed(run)
                if fits == count:
                    return run
            count = fits  # whose columns are shorter
            if count < FEWEST:
                return None
        return None

    def same_answers(self, i: int, period: int, q: int, count: int) -> int:
        """Return in how many steps Python code has got the answers of the first one."""
        first = self.guards.get(self.nodes[i + q])
        if first is None:
            return count
        for k in range(1, count):
            for a, b in zip(first, self.guards[self.nodes[i + k * period + q]]):
                if not same_bits(a.answer, b.answer):
                    return k
        return count

    def until_dead(self, i: int, period: int, q: int, count: int) -> int:
        """Return after how many steps a loop has to end, as few of its values are needed at all."""
        own = self.nodes[i + q : i + q + count * period : period]
        if self.live.issuperset(own):
            return count
        flags = [node in self.live for node in own]
        if flags.count(False) <= 1 + count // 8:
            return count
        other = not flags[0]
        return flags.index(other) if other in flags else count

    def until_needed(self, run: Run) -> int:
        """Return after how many steps a loop has to end, as few of its large values are needed.

        The last values are there, and those before them that steps take.
        """
        count, uses, nodes = run.count, self.last_use, self.nodes
        delays = run.delays()
        for q in range(run.period):
            own = nodes[run.start + q : run.stop : run.period]
            if is_loop(own[0]) or is_memory(own[0]):
                # The results of a loop have nodes, and a memory is not a value: all is in the step.
                late = [k for k in range(count) if uses.get(own[k], -1) >= run.stop]
                if late:
                    return late[0]
                continue
            if bytes_of(own[0].form) <= SMALL:
                continue
            whole = count - delays.get(q, 1)
            needed = [k for k in range(whole) if uses.get(own[k], -1) >= run.stop]
            if 0 < 4 * len(needed) < count:
                return needed[0] + 1
        return count

    def all_of(self, values: list) -> tuple[Run, int] | None:
        """Return the run and the node whose values of all steps a list has, if it is so."""
        home = self.homes.get(values[0]) if values and type(values[0]) is Node else None
        if home is None or home[2] != 0 or len(values) != home[0].count:
            return None
        run, place, _ = home
        start, period = run.start + place, run.period
        same = all([x is self.nodes[start + k * period] for k, x in enumerate(values)])
        return (run, place) if same else None

    def without(self, values: list) -> Any:
        return () if self.all_of(values) else None

    def accept(self, run: Run) -> None:
        """Note a run, and which nodes it has."""
        self.runs.append(run)
        for k in range(run.count):
            for q in range(run.period):
                self.homes[self.nodes[run.start + k * run.period + q]] = run, q, k

    def poor(self) -> list[Run]:
        """Return the runs whose loops are hardly shorter: many single values of them are needed."""
        if not self.runs:
            return []
        single: dict[int, set[Node]] = {}
        taken = [x for node in self.nodes if node not in self.homes
                 for x in nodes_in(replace(node.args, Node.itself, self.without))]  # fmt: skip
        for run in self.runs:
            for column in run.columns:
                for how in column:
                    taken += how.first if type(how) is Carried else ()
                    taken += [how.value] if type(how) is Always else ()
        for x in [*taken, *nodes_in(self.graph.outputs)]:
            home = self.homes.get(x) if type(x) is Node else None
            if home is not None and home[2] < home[0].count - 1:
                single.setdefault(id(home[0]), set()).add(x)
        return [
            run for run in self.runs
            if run.saved - len(single.get(id(run), ())) < WORTH
        ]  # fmt: skip


def written_out(graph: Graph) -> list[tuple[int, str]]:
    """Return the lines of the user's code whose steps have not become a loop.

    Each is the number of its steps, and a text that says why.
    """
    found: dict[tuple[str, int], tuple[int, str]] = {}
    for each in every_graph(graph):
        keys = {node: (node.func, key_of(node.place)) for node in each.nodes if node.place}
        places = {key: node.place for node, key in keys.items()}
        for key, count in Counter(keys.values()).items():
            if count > FEWEST:
                place = places[key]
                code, instruction = place[:2]
                line = name_of_code(code), line_of(code, instruction, 0)
                reason = graph.reasons.get(place, "")
                found[line] = max(found.get(line, (0, "")), (count, reason))
    alike: dict[tuple[str, int, str], list[int]] = {}
    for (name, number), (count, reason) in found.items():
        alike.setdefault((name, count, reason or OTHERS), []).append(number)
    return [
        (count, f"line{'s' * (len(lines) > 1)} {', '.join(map(str, sorted(lines)))} of {name}, "
                f"{count} times: {reason}")
        for (name, count, reason), lines in alike.items()
    ]  # fmt: skip


OTHERS = "its steps make other calls, or calls with results of other forms"


PATIENCE = 5.0
"""After so many seconds a user wants to know."""
MANY = 200_000
"""So many calls of NumPy take longer than it mostly takes to make machine code."""


def runs_long(graph: Any) -> bool:
    """Return whether a program makes so many calls that machine code is made at once."""
    return graph is not None and count_calls(graph) > MANY


def tell_if_slow(begin: float, label: str, what: str, graph: Any, stacklevel: int) -> None:
    """Warn if something has taken long since `begin`, and say what to write."""
    seconds = time.perf_counter() - begin
    if seconds < PATIENCE or graph is None:
        return
    _, longest = max(written_out(graph), key=itemgetter(0), default=(0, ""))
    remedy = (
        f"these are not a loop: {longest}; make them alike, with numbers of the same type and "
        f"arrays of the same shape, or write the loop with functier.scan, which records one step"
        if longest
        else "each step of a Python loop is recorded; functier.scan and functier.fori_loop record "
        "one step for all"
    )
    warnings.warn(
        f"{label}: {what} took {seconds:.0f} s, for {count_calls(graph):,} calls; {remedy}",
        RuntimeWarning,
        stacklevel=stacklevel,
    )
