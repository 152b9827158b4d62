"""The refusals that have a good reason, and the cells that are wrong today."""

import re

from .net import Cell

REASONS = {
    r"^RandomnessError: .* the numbers would be the same in each call of the program": (
        "a program makes the draws of functier.random alone anew"
    ),
    r"^MutationError: .*puts another value into a container or a module that it was given": (
        "a program would not do so"
    ),
    r"^MutationError: .*numpy.asarray\(x\) would make plain numbers of x": (
        "a plain array cannot take a value of the trace"
    ),
    r"^MutationError: .*an array that was given twice, or as a view of another argument": (
        "a program does not know that the other one sees the write"
    ),
    r"^TypeError: .*: the argument d.* may change between two calls; ": (
        "a static argument is a value, or is compared by identity"
    ),
}

ALL, BEHIND = "", "closure|global|method|self|module"

KNOWN = {
    "attributes of `self` are not looked at": {
        "method|self": "number; int or bool; int or float; number of NumPy; sign of zero; not a "
        "number; text; tuple; list; named tuple; slice; data type; equal range; slice of truths; "
        "data type with notes; key of a dict; aux of a node; equal frozen set; object; object "
        "that lies; tuple of one that lies; class; code; data or other data; array; other dtype; "
        "other order; function; partial; method of another; comparison; whole part; key by value; "
        "is a float; is an array; is a number; dispatch on it; class of a result; repr of an "
        "array; text by percent; text of it; format of it",
        "method|self|module": "other shape; default; default by a keyword; cell",
        "(module) grad": "number; int or bool; int or float; number of NumPy; sign of zero; not a "
        "number; text; tuple; list; named tuple; slice; data type; equal range; slice of truths; "
        "data type with notes; key of a dict; aux of a node; equal frozen set; object; object "
        "that lies; tuple of one that lies; class; code; data or other data; array; other dtype; "
        "other order; function; partial; method of another; comparison; whole part; key by value; "
        "is a float; is an array; is a number; dispatch on it; class of a result; repr of an "
        "array; text by percent; text of it; format of it",
    },
    "what is equal is taken for the same": {
        "closure|global|method|self": "text that is more; number with a unit",
        "(module) grad": "text that is more; number with a unit",
    },
    "attributes of objects are not looked at": {
        ALL: "of a function; bound method; state of a decorator",
        BEHIND: "attribute; of four; through a local; of an argument inside; in a helper; "
        "getattr; getattr with a default; hasattr; vars; attrgetter; another dict; slot; "
        "property; cached property; __getattr__; weak reference; identity; asked by a call; asked "
        "by an item; asked by len; asked by iteration; asked by truth; asked by in; asked by "
        "order; asked by an index; asked by str; asked by an operator; asked by NumPy; asked by "
        "with; attribute of an item; item of an attribute; user's dict; of an attribute; of "
        "objects; partial of an object",
        "closure|global|method|self": "data; frozen data, by force; field of data; attribute that "
        "appears; data in slots; dead weak reference; option of a module; mode of a module; "
        "another parameter; method of data",
        "(module) grad": "data; frozen data, by force; field of data; attribute that appears; "
        "data in slots; dead weak reference; option of a module; mode of a module; another "
        "parameter; method of data",
    },
    "classes are not looked at": {
        ALL: "of a metaclass",
        BEHIND: "over the class; of the class; of a base; another class; isinstance; other bases; "
        "method of the class; method that appears; method of the instance; super; operator of the "
        "class",
    },
    "the names of modules are looked at where a global is the module": {
        ALL: "in builtins; by globals(); by getattr of a module; missing in a module; object of a "
        "module; import inside; import from inside",
        "argument|closure|method|self|module": "of a module; flag of a module; patched in a "
        "module; of NumPy in a module",
    },
    "a module is taken for one of a library": {
        ALL: "of a module named signal; of no module; patched in NumPy; clock",
    },
    "contents of containers are not looked at": {
        BEHIND: "set; deque; default dict; bytes; iterator",
        "closure|global|method|self": "item; computed key; part; iteration; appended; length; "
        "item of a tuple; dict item; dict of texts; key error; get; in a dict; order of a dict; "
        "function of a table; memo",
        "(module) grad": "item; computed key; part; iteration; appended; length; item of a tuple; "
        "dict item; dict of texts; key error; get; in a dict; order of a dict; function of a "
        "table; memo",
    },
    "contents of arrays are not looked at": {
        BEHIND: "refilled; large refilled; its source refilled; as an index; as a shape; as a "
        "condition; as a mask; as a number; writeable; error of NumPy; of functier; array of a "
        "partial; errors that are raised; rounding",
        "(argument) machine": "rounding",
        f"({BEHIND}) grad": "parameter",
        f"({BEHIND}) (grad|machine)": "large refilled, used",
    },
    "arguments may share memory, or be one object": {
        ALL: "the argument itself",
        BEHIND: "memory of the argument",
        "closure|global|method|self": "arrays that are one; memory of two",
        "argument|closure|global|method|self": "identity of two",
        "(module) grad": "identity of two; arrays that are one; memory of two",
    },
    "parts of functions are not looked at": {
        ALL: "its code; own code; inside a default; dispatch by type",
        BEHIND: "cell of an attribute; cached function",
        "closure|global|method|self": "keyword of a partial",
        "(module) grad": "keyword of a partial",
    },
    "what a library reads is not looked at": {
        ALL: "environment; settings of errors; print options",
        BEHIND: "file; context variable; logger",
    },
    "effects are made by the trace alone": {
        BEHIND: "count in an attribute; count that is used; list that grows; memo in an "
        "attribute; value that is carried; array that counts; array that is used then",
        f"({BEHIND}) (value|machine)": "value that is kept",
    },
    "a value of the trace is another object than the argument": {
        "argument|method|self": "type is float",
        "(module) grad": "type is float",
    },
}  # fmt: skip
"""Faults, with the names of the ways for each pattern of a place and a mode."""


def fault_of(cell: Cell) -> str | None:
    """Return why a cell is known to be wrong, or None."""
    for fault, rows in KNOWN.items():
        for pattern, names in rows.items():
            if cell.name in names.split("; ") and re.match(pattern, f"{cell.place} {cell.mode}"):
                return fault
    return None
