"""Names of C for functions and their arguments."""

import re

KEYWORDS = frozenset(
    "alignas alignof and asm auto bool break case catch char class compl concept const constexpr "
    "continue decltype default delete do double else enum explicit export extern false float for "
    "friend goto if inline int long mutable namespace new noexcept not nullptr operator or private "
    "protected public register requires restrict return short signed sizeof static struct switch "
    "template this throw true try typedef typeid typename union unsigned using virtual void "
    "volatile while xor "
    # Macros and types of headers, and of compilers.
    "EOF I NULL errno i386 linux offsetof ptrdiff_t size_t stderr stdin stdout unix wchar_t".split()
)
"""Words that C or C++ takes for something else."""

LIBRARY = frozenset(
    "abort abs atan atan2 acos asin bcmp calloc cbrt ceil copysign cos cosh erf erfc exit exp exp2 "
    "expm1 fabs floor fma fmax fmin fmod free frexp hypot ldexp lgamma log log10 log1p log2 main "
    "malloc memchr memcmp memcpy memmove memset modf nearbyint pow printf puts qsort rand read "
    "realloc remainder rint round roundeven signal sin sinh sqrt strcmp strcpy strlen system tan "
    "tanh tgamma time trunc write "
    # Names that compilers take for functions of libraries without a header.
    "acosh asinh atanh drem exp10 fdim ffs gamma ilogb index isalpha isdigit isinf isnan j0 j1 jn "
    "labs ldexp log10 logb lrint lround nan nextafter pow10 putchar scalb scalbn scanf significand "
    "sincos snprintf sprintf strcat strchr strdup strstr y0 y1 yn".split()
)
"""Functions of the C library, whose place a function of such a name would take."""

TYPES = re.compile(r"u?int(_fast|_least)?\d+_t|u?intptr_t|FUNCTIER_\w*")


def c_name(path: str) -> str:
    """Return the name in C of a value with a path such as ``params['w'][0]``."""
    name = re.sub(r"\W+", "_", path, flags=re.ASCII).strip("_") or "x"
    if name in KEYWORDS or name == "work" or name[0].isdigit() or TYPES.fullmatch(name):
        return f"{name}_" if not name[0].isdigit() else f"x_{name}"
    return name


def is_name_of_function(name: str) -> bool:
    """Return whether a function of C can have a name."""
    if name in KEYWORDS or {name, name.removesuffix("f")} & LIBRARY or TYPES.fullmatch(name):
        return False
    return re.fullmatch(r"[A-Za-z]\w*", name, re.ASCII) is not None
