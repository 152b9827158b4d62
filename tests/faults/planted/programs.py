"""Planted faults of programs."""

import numpy as np

import functier as ft
from faults.planted import change
from functier._levels import backward, memory
from functier._programs import compiled as _compiled
from functier._programs import (
    entries,
    guards,
    integers,
    literals,
    looping,
    misses,
    passes,
    recorder,
    rolling,
    shown,
    spelling,
    trace,
    wholes,
)
from functier._programs import trace as _trace
from functier._programs.machine.parts import loops
from functier._rules import axes, elementwise
from support.basics import ours

# ---- programs captured ----


def second_way_that_is_not_compared(monkeypatch):
    real = guards.Writer.differs

    def differs(self, i, now, value):
        return "False" if id(value) in self.names else real(self, i, now, value)

    monkeypatch.setattr(guards.Writer, "differs", differs)


def arrays_that_are_not_fixed(monkeypatch):
    fixed = property(lambda self: (), lambda *given: None)
    monkeypatch.setattr(guards.Writer, "fixed", fixed, raising=False)


part_that_is_not_compared = change(guards, "contents_of_array", lambda x: 0)
wrong_view = change(recorder, "way_to", lambda x, base: [(np.reshape, x.shape)])


def place_that_is_not_noted(monkeypatch):
    monkeypatch.setattr("functier._levels.writes.note_place", id)


# ---- programs compile writes ----


check_of_overlaps_that_sees_nothing = change(entries, "meet", lambda x, y: False)


# ---- programs extrema ----


an_array_in_another_order = change(spelling, "is_contiguous", lambda form: True)


# ---- programs shown ----


wrong_index_of_a_part = change(looping, "index_of", lambda shape, layout: ())


def number_of_another_kind(monkeypatch):
    monkeypatch.setattr(literals, "is_weak", lambda func: True)
    monkeypatch.setattr(shown, "weak_text", lambda value, node: repr(value.item()))


start_of_a_memory_that_is_left_out = change(looping, "_start", lambda source, node: [])
rows_find_a_wrong_default = change(shown, "defaults_of", lambda func: {"axis": 0, "axes": (1, 0)})
what_takes_long_is_said_once = change(rolling, "PATIENCE", 0.0)


# ---- programs trace rules ----


rules_that_are_not_called_as_a_whole = change(
    recorder.RecordLevel, "follow", lambda self, call, *args: call(*args)
)


write_that_is_not_looked_for = change(wholes, "arrays_in", lambda value: [])


# ---- programs trace surroundings ----


change_that_is_not_looked_for = change(trace, "check_unchanged", lambda *given: None)


def mode_that_is_not_looked_for(monkeypatch):
    monkeypatch.setattr(_compiled, "LEVELS", [])
    monkeypatch.setattr(recorder.RecordLevel, "refuse_observer", lambda self: None)


size_that_code_reads_is_that_of_the_trace = change(
    recorder.RecordLevel, "guard_sizes", lambda *given: None
)


# ---- programs compile guards ----


def forms(monkeypatch):
    monkeypatch.setattr(_compiled, "MOST", 100)
    monkeypatch.setattr(misses, "LIMIT", 10000)


def structures(monkeypatch):
    monkeypatch.setattr(_compiled, "MOST", 100)
    monkeypatch.setattr(misses, "LIMIT", 10000)


an_error_that_is_not_noted = change(recorder.RecordLevel, "note_error", lambda self, *given: None)


def form_that_is_not_checked(monkeypatch):
    monkeypatch.setattr(entries, "facts_of", lambda tree: ())
    monkeypatch.setattr("functier._programs.trace.facts_of", lambda tree: ())


# ---- programs questions ----


code_that_answers_no_questions = change(recorder.RecordLevel, "class_of", lambda level, x: type(x))
result_that_is_not_looked_at = change(_trace, "check_result", lambda *given: None)


# ---- programs rolled ----


def compared(monkeypatch, f, *args):
    """Return how many nodes of steps are compared for each node, and the nodes that are left."""
    finders = []
    init = rolling.Finder.__init__

    def noted(self, graph):
        finders.append((self, len(graph.nodes)))
        init(self, graph)

    monkeypatch.setattr(rolling.Finder, "__init__", noted)
    monkeypatch.setattr(rolling, "SEARCHED", 0)
    graph = ft.trace(f)(*args)._graph
    monkeypatch.undo()
    work = sum([len(finder.nodes) - finder.left for finder, _ in finders])
    return work / finders[0][1], len(graph.nodes)


# ---- programs storms ----


patient = change(misses, "LIMIT", 10**6)
misses_that_are_not_counted = change(misses.Misses, "add", lambda self: False)


# ---- programs trace ways ----


def copy_in_another_order(monkeypatch):
    copy = lambda x: x.copy() if type(x) is np.ndarray else np.copy(x)  # noqa: E731
    monkeypatch.setattr(memory, "copy_in_rows", copy)


lost_sign = change(axes, "known_type", type)
complex_identity = change(passes, "is_real", lambda node: True)


def ways_for_large_arrays(monkeypatch):
    for module in (backward, elementwise):
        monkeypatch.setattr(module, "BIG", 0)


def wrong_identity(monkeypatch):
    monkeypatch.setitem(passes.IDENTITIES, np.cos, lambda node, args: args[0])


def wrong_spelling(monkeypatch):
    monkeypatch.setitem(spelling.OPERATORS, np.multiply, "+")


def value_that_is_not_recorded(monkeypatch):
    function = recorder.RecordLevel.function

    def without(self, func, args, kwargs):
        found = function(self, func, args, kwargs)
        return self.lower(found) if func is np.sum and isinstance(found, ft.Tensor) else found

    monkeypatch.setattr(recorder.RecordLevel, "function", without)


watch_that_stays_off = change(
    recorder, "watched", lambda level, call, args, named: call(*args, **named)
)


integers_are_not_asked = change(integers, "asked", ours(lambda level, x: x))
numbers_are_not_asked = change(recorder, "number", ours(lambda level, x: x._value))


# ---- machine lengths ----


def end_by(monkeypatch, change):
    """Plant another end of routines of any length: ``change(line)`` for each line, "" for none."""
    end_any = loops.Routine.end_any

    def changed(self, own):
        end_any(self, own)
        self.caller.lines = [line for line in map(change, self.caller.lines) if line]

    monkeypatch.setattr(loops.Routine, "end_any", changed)


def lists_that_end_a_row_early(monkeypatch):
    def change(line):
        head, _, rest = line.partition("sub nsw i64 ")
        size, _, last = rest.partition(",")
        return f"{head}sub nsw i64 {int(size) - 320},{last}" if rest else line

    end_by(monkeypatch, change)


def no_last_values(monkeypatch):
    end_by(monkeypatch, lambda line: "" if "memcpy" in line else line)


def one_more_step(monkeypatch):
    asked = loops.Routine.asked
    more = lambda self, own: [x.replace("slt", "sle") for x in asked(self, own)]  # noqa: E731
    monkeypatch.setattr(loops.Routine, "asked", more)


def other_constants(monkeypatch):
    """Arrays inside of exported code have another last bit."""
    from functier._export import modules

    right = modules.constant_of

    def planted(name, x):
        return right(name, np.nextafter(x, np.inf) if x.dtype.kind == "f" else x)

    monkeypatch.setattr(modules, "constant_of", planted)


# ---- complex numbers in machine code ----


def another_sign(monkeypatch):
    from functier._programs.machine.parts import complex_rules

    right = complex_rules.product

    def planted(self, a, b):
        return right(self, a, complex_rules.Pair(b.re, self.real(np.negative, b.im)))

    monkeypatch.setattr(complex_rules, "product", planted)


def one_part_twice(monkeypatch):
    from functier._programs.machine.parts import complexes

    monkeypatch.setattr(complexes, "imag_of", complexes.real_of)


COMPLEX = {"a sign": another_sign, "a part": one_part_twice}
