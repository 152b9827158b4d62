"""Planted faults of adopted code."""

from unittest.mock import ANY

import numpy as np
from text_table import NOT_FOLLOWED, NUMBERS, SHOWN

from faults.planted import change
from functier._adopt import (
    adoption,
    bindings,
    caches,
    compiled,
    contents,
    kernels,
    meanings,
    python_numbers,
    reach,
    texts,
    twins,
)
from functier._adopt.adoption import _ACTIVE, _ADOPTED
from functier._adopt.operators import SLOTS
from functier._core.adopted import ADOPTED
from functier._core.root import tree_map
from functier._cpython import call_sites, rewriting
from functier._levels import raised
from functier._levels.level import Level
from functier._mutation import array
from functier._mutation.memory import Memory
from functier.numpy import _subclasses

# ---- adopt compiled functions ----


an_integer_of_one_branch_is_a_float_as_numba_returns_it = change(
    kernels, "_as_typed", lambda self, result, *_: result
)


compiled_functions_of_another_package_are_reached = change(reach, "is_of_numba", lambda kind: False)
an_unknown_version_of_numba_leaves_the_module = change(
    compiled, "NEEDED", {"numba.core.nothing": "Nothing"}
)


numba_that_reads_the_twins = change(compiled, "as_before", lambda func: func)


def unmade(make, result):
    """Return a result whose arrays are left as they are, but for snapshots of arguments."""
    return tree_map(make, result) if make is array.settle else result


PLANTED = {
    "a declared integer that has digits": ("a declared integer", kernels, "_cast", lambda x, k: x),
    "an integer that returns": ("a declared integer is returned", kernels, "_cast", lambda x, k: x),
    "the first element's dtype": (
        "vectorize, the first is an int",
        kernels, "stack_elements", lambda p, s, dtype: plant(p, s, np.result_type(p[0])),
    ),
    "a stale snapshot": (
        "an array of adopted code", Memory, "version", property(lambda m: 0, lambda m, v: None),
    ),
    "a result that is no view": ("an array of adopted code", array, "tree_map", unmade),
    "a result that is plain": ("an array that Numba makes", array, "tree_map", unmade),
    "an element too far": (
        "guvectorize of rows", kernels, "element_of_loop",
        lambda x, index, dims: x[(0,) * (x.ndim - len(dims))],
    ),
}  # fmt: skip
PLANTED = {k: (c[0], change(*c[1:], raising=False)) for k, c in PLANTED.items()}


plant = kernels.stack_elements


# ---- adopt texts ----


exceptions_that_code_reads = change(texts, "_catches", lambda frame: False)
source_of_the_same_layout_decides_nothing = change(texts, "has_source", lambda frame, code: True)


FAULTS = {
    "all is shown": (texts, "_is_shown", lambda *args: True, NUMBERS["read"]),
    "no format has many digits": (texts, "_digits", lambda spec, x: 3, NUMBERS["read"]),
    "any callee shows": (texts, "_shows", lambda *args: True, NUMBERS["read"]),
    "a description": (ADOPTED, "text_for", lambda *args, **words: None, NUMBERS["read"]),
    "any call takes it": (
        texts, "_is_text", lambda *args: True, "(print(TABLES.setdefault(@, x * x)), x)[1]",
    ),
    "any format has many digits": (texts, "_digits", lambda spec, x: 99, NUMBERS["read"]),
    "any class is plain": (texts, "PLAIN", ANY, NOT_FOLLOWED["a class of its own"]),
    "any keyword": (texts, "WORDS", ("file",), NOT_FOLLOWED["to a stream"]),
    "no folded format": (texts, "instruction_at", lambda frame: "NOP", SHOWN["printed"]),
}  # fmt: skip
FAULTS = {k: (change(*c[:3]), c[3]) for k, c in FAULTS.items()}


# ---- adopt adoption ----


def fault_of_undo(monkeypatch, part):
    whole = bindings.Bindings.unbind

    def unbind(self, functions):
        kept, empty = getattr(self, part), type(getattr(self, part))()
        setattr(self, part, empty)
        whole(self, functions)
        setattr(self, part, kept)

    monkeypatch.setattr(bindings.Bindings, "unbind", unbind)


# ---- adopt caches ----


keys_of_tensors_in_the_cache = change(caches, "_holds_number", lambda values: False)


# ---- adopt classes ----


fault = change(Level, "class_of", lambda level, x: type(x))


# ---- adopt reach ----


def faults(patch, fault, part):
    patch.setattr(reach, part, fault)


def faults_of_the_facts(monkeypatch, part):
    monkeypatch.setattr(reach, part, (lambda name: False) if part == "is_compiled" else 0.0)


# ---- adoption ----


def _undo_at_once(self):
    with adoption._LOCK:
        if self in _ACTIVE:
            _ACTIVE.remove(self)
            adoption._FINDER.remove()
            for module in self.modules:
                record = _ADOPTED.pop(id(module), None)
                if record is not None:
                    found = adoption.functions_of([record.module])
                    record.unbind(found[id(record.namespace)][0])
                    adoption.release_compiled([id(record.namespace)])
                    record.remove_aliases(set())


adoptions_are_not_counted = change(adoption.Adoption, "undo", _undo_at_once)


def undo_all():
    for left in list(_ACTIVE):
        left.undo()


no_import_is_awaited = change(reach.Reach, "awaits", lambda self, name: False)
errors_are_of_all_examples = change(raised, "varying_levels", lambda *_: [])


def nothing_is_bound_by(part, monkeypatch):
    place = bindings.Bindings if part == "_bind_inside" else bindings
    monkeypatch.setattr(place, part, lambda *_: None)


# ---- adopt contents ----


FAULTS_OF_CONTENTS = {
    "bind_cells": ("a closure", contents.Contents, lambda *_: None),
    "bind_partial": ("a partial", contents.Contents, lambda *_: None),
    "bind_items": ("a dict", contents.Contents, lambda *_: None),
    "unbind": ("a list", contents.Contents, lambda *_: None),
}
FAULTS_OF_CONTENTS = {k: (c[0], change(c[1], k, c[2])) for k, c in FAULTS_OF_CONTENTS.items()}


faults_of_what_others_hold = change(contents.Others, "containers", set())


def fault_of_an_operator(monkeypatch, slot):
    monkeypatch.setitem(twins.SLOTS, slot, SLOTS[float.__rsub__])


# ---- adopt subclasses ----


FAULTS_OF_SUBCLASSES = {
    "no class": lambda result, shown: result,
    "always a class": lambda result, shown: (
        _subclasses.instance_of(result, next(iter(_subclasses.MADE)), None)
    ),
    "no attributes": lambda result, shown: (
        _subclasses.instance_of(result, type(shown).kind, None)
        if hasattr(shown, "kind") else result
    ),
}  # fmt: skip


def fault_of_subclasses(monkeypatch, name):
    monkeypatch.setattr(_subclasses, "_like", FAULTS_OF_SUBCLASSES[name])


# ---- adopt uses ----


def all_uses_renamed(instructions, i):
    return instructions[i].opname == "LOAD_GLOBAL"


FAULTS_OF_USES = {
    "each use is a call": (rewriting, "is_called", all_uses_renamed, "type is"),
    "a mark is enough": (
        rewriting,
        "is_called",
        lambda instructions, i: (
            instructions[i].opname == "LOAD_GLOBAL" and call_sites._has_null(instructions[i])
        ),
        "called from a table",
    ),
    "no call": (rewriting, "is_called", lambda instructions, i: False, "call"),
    "no import": (meanings, "alias_of_module", lambda name: None, "import in a function"),
    "no defaults": (bindings.Bindings, "_bind_defaults", lambda *_: None, "default argument"),
    "no attributes": (bindings.Bindings, "_bind_attributes", lambda *_: None, "class attribute"),
    "assigned globals": (meanings, "stored_globals", lambda code: set(), "an own name later"),
}
FAULTS_OF_USES = {k: (change(*c[:3]), c[3]) for k, c in FAULTS_OF_USES.items()}


# ---- adopt python numbers ----


def numbers_of_numpy_in_place_of_pythons(monkeypatch):
    monkeypatch.setattr(python_numbers, "with_python", lambda x: x)


def whole_numbers_that_wrap(monkeypatch):
    monkeypatch.setattr(python_numbers, "levels_of", lambda _: ())
