"""The header of a library: prototypes, and all that a caller has to know."""

from collections.abc import Sequence

import numpy as np

from .._programs.machine.compiler.targets import Target
from .lowered import Lowered, Value
from .modules import CHANGED, FAILED, bytes_of

ABI = 1
"""The version of the interface: it grows where a caller of an earlier one would be wrong."""

TYPES = {
    "d": "double", "f": "float", "?": "unsigned char", "b": "int8_t", "h": "int16_t",
    "B": "uint8_t", "H": "uint16_t",
}  # fmt: skip

WORDS = """\
 * Calls. Each function returns 0 where its results are right. It returns {failed} where a matrix
 * cannot be factorised in a safe way, or an index or a number is out of its range, and {changed}
 * where a check below does not hold, such as that a loop has no more steps than there is memory
 * for. The results are then not to be used.
 *
 * Arrays lie in C order without gaps, aligned as their type. An argument is a pointer to the first
 * element, also where it is a single number. Results (restrict) share no memory with other results,
 * arguments or the memory of a call; arguments may share theirs. An element of `unsigned char` is 0
 * or 1. Pointers to arrays without elements may be null.
 *
 * Memory. name(..., work) needs NAME_WORK bytes at `work`, aligned in any way; it keeps nothing
 * between calls, so threads with memory of their own may call it at one time. name_static(...),
 * which is in the library and not in the object file, has memory of its own: one call at a time.
 * No function allocates, and none reads the environment, the locale, errno or a file.
 *
 * Arithmetic is that of IEEE 754 with the rounding mode "to nearest" and subnormal numbers, which
 * the caller sets where a processor starts otherwise. Flags of exceptions are without meaning.
 * NaN and infinity are values, and go through as in NumPy, except where a check says otherwise.
"""


def type_of(dtype: np.dtype) -> str:
    """Return the type of an element in C."""
    known = TYPES.get(dtype.char)
    if known is None:
        known = f"{'u' * (dtype.kind == 'u')}int{8 * dtype.itemsize}_t"
    return known


def parameter(x: Value, given: bool) -> str:
    kind = type_of(x.dtype)
    return f"const {kind} *{x.name}" if given else f"{kind} *FUNCTIER_RESTRICT {x.name}"


def line_of(x: Value) -> str:
    """Return the line that describes an argument or a result."""
    form = "x".join(map(str, x.shape)) if x.shape else "a number"
    what = f"{type_of(x.dtype)}, {form}"
    return f" *   {x.name}: {what}" + (f"; {plain(x.path)} in Python" if x.path != x.name else "")


def plain(text: str) -> str:
    """Return a text that a comment of C can hold."""
    return text.replace("*/", "* /").encode("ascii", "backslashreplace").decode()


def prototypes(lowered: Lowered) -> list[str]:
    """Return the comment and the prototypes of a function."""
    name = lowered.name
    given = [parameter(x, True) for x in lowered.inputs]
    given += [parameter(x, False) for x in lowered.results]
    label = plain(lowered.title)
    text = [f"/* {name}: {label} in Python", " *"]
    text += [" * Arguments:", *map(line_of, lowered.inputs)]
    text += [" * Results:", *map(line_of, lowered.results)]
    if lowered.built_in:
        text += [" * Built in:", *[f" *   {plain(x)}" for x in lowered.built_in]]
    if lowered.checks:
        text += [" * Checks:", *[f" *   {plain(x)}" for x in lowered.texts]]
    work = ["void *work"]
    return [
        *text, " */", f"#define {name.upper()}_WORK {bytes_of(lowered)}",
        f"int {name}({', '.join(given + work)});",
        f"int {name}_static({', '.join(given) or 'void'});",
        f"static inline size_t {name}_work_bytes(void) {{ return {name.upper()}_WORK; }}", "",
    ]  # fmt: skip


def header_of(
    stem: str, functions: Sequence[Lowered], target: Target, needed: Sequence[str], version: str
) -> str:
    """Return the text of the header."""
    guard = f"{stem.upper()}_H"
    names = ", ".join(needed) or "none"
    return "\n".join([
        f"/* {stem}: made by functier {version} from Python functions; no Python is needed.", " *",
        WORDS.format(failed=FAILED, changed=CHANGED) + " *",
        f" * Code for {target.triple}, processor {target.cpu}.",
        f" * Functions of the compiler's runtime that it calls: {names}.",
        " * No other library is linked in. The interface has version "
        f"FUNCTIER_ABI = {ABI}.", " */",
        f"#ifndef {guard}", f"#define {guard}", "#include <stddef.h>", "#include <stdint.h>", "",
        "#ifndef FUNCTIER_RESTRICT", "#if defined(__STDC_VERSION__) && __STDC_VERSION__ >= 199901L",
        "#define FUNCTIER_RESTRICT restrict", "#elif defined(__GNUC__) || defined(_MSC_VER)",
        "#define FUNCTIER_RESTRICT __restrict", "#else", "#define FUNCTIER_RESTRICT", "#endif",
        "#endif", "#define FUNCTIER_ABI " + str(ABI), "", "#ifdef __cplusplus", 'extern "C" {',
        "#endif", "",
        *[line for each in functions for line in prototypes(each)],
        "#ifdef __cplusplus", "}", "#endif", "#endif", "",
    ])  # fmt: skip
