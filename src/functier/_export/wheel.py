"""A wheel with a library and its functions in Python, which needs NumPy alone."""

import base64
import hashlib
import sysconfig
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from .lowered import Lowered, Value
from .modules import bytes_of

HEAD = '''\
"""Functions of the library {stem}, which functier {version} has made of Python code."""

import ctypes
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

_LIBRARY = ctypes.CDLL(str(Path(__file__).with_name("{file}")))


def _call(name: str, given: tuple, forms: list, results: list, size: int) -> list:
    arrays = []
    for x, (own, dtype, shape) in zip(given, forms):
        array = np.asarray(x)
        if array.shape != shape:
            raise ValueError(f"{{name}}: {{own}} has the shape {{array.shape}}; pass {{shape}}")
        arrays.append(np.array(array.astype(dtype, casting="safe"), order="C"))
    made = [np.empty(shape, dtype) for dtype, shape in results]
    work = np.empty(size + 1, np.uint8)
    pointers = [ctypes.c_void_p(x.ctypes.data) for x in (*arrays, *made, work)]
    status = getattr(_LIBRARY, name)(*pointers)
    if status:
        raise RuntimeError(f"{{name}} returned the status {{status}}: see its docstring")
    return [x if x.shape else x[()] for x in made]
'''

FUNCTION = '''

def {name}({parameters}) -> {result}:
    """{label} of Python.

    Parameters
    ----------
{given}

    Returns
    -------
{made}

    Raises
    ------
    RuntimeError
        With the status 1 where a factorisation fails, or an index is out of its range; with 2 where
        a value that the code takes for granted has changed{checks}.
    """
    found = _call({name!r}, ({arguments}), {forms}, {results}, {size})
    return {returned}
'''


def words(x: Value) -> str:
    form = f"array of shape {x.shape}" if x.shape else "number"
    return f"    {x.name} : {form}, {x.dtype}"


def function_of(each: Lowered) -> str:
    """Return the text of a function, and of the class of its results if there are several."""
    names = [x.name for x in each.inputs]
    count = len(each.results)
    result, returned, head = "None", "None", ""
    if count == 1:
        result, returned = "Any", "found[0]"
    elif count:
        result = f"{each.name.title().replace('_', '')}Results"
        fields = "".join([f"    {x.name}: Any\n" for x in each.results])
        head = f"\n\nclass {result}(NamedTuple):\n{fields}"
        returned = f"{result}(*found)"
    checks = "".join([f"; {text}" for text in each.texts])
    escaped = checks.replace("\\", "\\\\").replace('"', "'")
    return head + FUNCTION.format(
        name=each.name, parameters=", ".join([f"{x}: Any" for x in names]), result=result,
        label=each.title, checks=escaped,
        given="\n".join(map(words, each.inputs)) or "    None",
        made="\n".join(map(words, each.results)) or "    None",
        arguments="".join([f"{x}, " for x in names]).rstrip() if names else "",
        forms=[(x.name, x.dtype.str, x.shape) for x in each.inputs],
        results=[(x.dtype.str, x.shape) for x in each.results], size=bytes_of(each),
        returned=returned,
    )  # fmt: skip


def write_wheel(
    folder: Path, stem: str, release: str, functions: Sequence[Lowered], shared: Path, version: str
) -> Path:
    """Write a wheel of the package `stem` beside the library; return its path."""
    platform = sysconfig.get_platform().replace("-", "_").replace(".", "_")
    tag = f"py3-none-{platform}"
    info = f"{stem}-{release}.dist-info"
    head = HEAD.format(stem=stem, version=version, file=shared.name)
    needs = f"Metadata-Version: 2.1\nName: {stem}\nVersion: {release}\nRequires-Dist: numpy>=2\n"
    files: dict[str, bytes] = {
        f"{stem}/__init__.py": (head + "".join(map(function_of, functions))).encode(),
        f"{stem}/py.typed": b"",
        f"{stem}/{shared.name}": shared.read_bytes(),
        f"{info}/METADATA": needs.encode(),
        f"{info}/WHEEL": (
            f"Wheel-Version: 1.0\nGenerator: functier\nRoot-Is-Purelib: false\nTag: {tag}\n"
        ).encode(),
    }
    files[f"{info}/RECORD"] = record_of(files, f"{info}/RECORD")
    path = folder / f"{stem}-{release}-{tag}.whl"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, contents in files.items():
            archive.writestr(zipfile.ZipInfo(name), contents)
    return path


def record_of(files: Mapping[str, Any], own: str) -> bytes:
    """Return the list of the files of a wheel, with their hashes."""
    lines = []
    for name, contents in files.items():
        digest = base64.urlsafe_b64encode(hashlib.sha256(contents).digest()).rstrip(b"=").decode()
        lines.append(f"{name},sha256={digest},{len(contents)}")
    return "\n".join([*lines, f"{own},,", ""]).encode()
