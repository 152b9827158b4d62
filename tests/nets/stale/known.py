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
    r"^ConversionError: .*format\(x\) would make a plain number of x": (
        "a program could not follow the text"
    ),
}

ALL, BEHIND = "", "closure|global|method|self|module"
OWN, FORM, COMPUTED = "method|self|module grad", "method|self|module", r"\w+ (value|machine)"

KNOWN = {
    "attributes of `self` are not looked at": {
        OWN: "number; not a number; text; tuple; list; named tuple; slice; data type; object; "
        "class; code; array; other dtype; other order; function; partial; comparison; whole part; "
        "key by value; is an array; text of it; format of it",
        FORM: "int or bool; int or float; number of NumPy; sign of zero; other shape; default; "
        "default by a keyword; cell; is a float; type is float; equal frozen set; "
        "object that lies; tuple of one that lies",
    },
    "what is equal is taken for the same": {
        "argument": "equal frozen set; object that lies; tuple of one that lies",
        ALL: "number with a unit",
    },
    "attributes of objects are not looked at": {
        ALL: "attribute; of four; through a local; of an argument inside; in a helper; getattr; "
        "getattr with a default; hasattr; vars; attrgetter; another dict; slot; cached property; "
        "property; __getattr__; data; frozen data, by force; of a function; weak reference; "
        "dead weak reference; identity; attribute of an item; of an attribute; "
        "item of an attribute; of objects; user's dict; bound method; partial of an object; "
        "state of a decorator; asked by a call; asked by an item; asked by len; "
        "asked by iteration; asked by truth; asked by in; asked by order; asked by an index; "
        "asked by str; asked by an operator; asked by NumPy; asked by with",
        f"closure|global|{OWN}": "option of a module; mode of a module; another parameter",
    },
    "classes are not looked at": {
        ALL: "over the class; of the class; of a base; of a metaclass; another class; isinstance; "
        "other bases; method of the class; method that appears; method of the instance; super; "
        "operator of the class",
    },
    "the names of modules are looked at where a global is the module": {
        "argument|closure|method|self|module": "of a module; flag of a module; "
        "patched in a module; of NumPy in a module",
        ALL: "by getattr of a module; missing in a module; object of a module; import inside; "
        "import from inside; in builtins; by globals()",
    },
    "a module is taken for one of a library": {
        ALL: "of a module named signal; of no module; patched in NumPy; clock",
    },
    "contents of containers are not looked at": {
        BEHIND: "item; computed key; part; iteration; appended; length; item of a tuple; "
        "dict item; dict of texts; key error; get; in a dict; order of a dict; deque; "
        "default dict; function of a table; memo",
        ALL: "set; bytes; iterator",
    },
    "contents of arrays are not looked at": {
        BEHIND: "refilled; large refilled; its source refilled; as an index; as a shape; "
        "as a condition; as a mask; as a number; error of NumPy; of functier; "
        "errors that are raised; rounding",
        f"({BEHIND}) (grad|machine)": "large refilled, used",
        f"({BEHIND}) grad": "parameter",
        ALL: "writeable",
    },
    "arguments may share memory, or be one object": {
        ALL: "identity of two",
        COMPUTED: "the argument itself",
        BEHIND: "memory of two",
        f"({BEHIND}) (value|machine)": "memory of the argument",
        "argument grad": "memory of the argument",
    },
    "parts of functions are not looked at": {
        ALL: "its code; own code; inside a default; cell of an attribute; keyword of a partial; "
        "cached function; dispatch by type",
    },
    "what a library reads is not looked at": {
        ALL: "environment; settings of errors; print options; file; context variable; logger",
    },
    "effects are made by the trace alone": {
        ALL: "count in an attribute; count that is used; list that grows; memo in an attribute; "
        "value that is carried",
        BEHIND: "array that counts; array that is used then",
        COMPUTED: "value that is kept",
    },
    "a value of the trace is another object than the argument": {
        "argument": "is a float; type is float; is an array; text of it",
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
