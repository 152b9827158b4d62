"""Looks of a tensor of a level: a line of text, and a table of HTML for notebooks.

Both begin with the form of an example, which is what a function computes with.
"""

from typing import Any

from .._core.numpy_facts import dtype_of, shape_of
from .._core.pytree import SNAPSHOTS
from .._core.tensor import Tensor

MODES = {"forward": "forward mode", "reverse": "reverse mode"}

STYLE = "text-align: left; vertical-align: top; padding: 1px 8px 1px 0"


def _form_of(x: Any) -> tuple[tuple[int, ...], Any]:
    """Return the shape and the dtype of an example of `x`, also where its level has ended."""
    if type(x) in SNAPSHOTS:  # of an array that was written to
        x = SNAPSHOTS[type(x)](x)
    if not isinstance(x, Tensor) or not x.level.depth:
        return shape_of(x), dtype_of(x)
    shape, dtype = _form_of(x._value)
    level: Any = x.level
    return (shape[level.k :] if level.kind.batches else shape), dtype


def form_of(x: Tensor) -> str:
    """Return ``float64[3]`` for an example of `x`."""
    shape, dtype = _form_of(x)
    return f"{dtype}{[*shape]}"


def facts_of(level: Any) -> str:
    """Return what a level does, in a few words."""
    kind = level.kind
    if kind.batches:
        sizes = ["?" if one.size is None else str(one.size) for one in kind.group(level)]
        return f"{' x '.join(sizes)} {'example' if sizes == ['1'] else 'examples'}"
    return "recorded" if kind.records or kind.guards else MODES.get(kind.differentiates, "")


def names_of(level: Any) -> str:
    """Return the name of a level, and of those around it that share its tensors."""
    levels = level.kind.group(level) if level.kind.batches else [level]
    return ", ".join([one.cls.__name__ for one in levels])


def text_of(level: Any, x: Tensor) -> str:
    """Return a line such as ``float64[3] of 5 examples in vmap(f): array(...)``."""
    of = f" of {facts_of(level)}" if level.kind.batches else ""
    text = f"{form_of(x)}{of} in {names_of(level)}"
    if not level.live:
        text += ", which has ended"
    if level.kind.records:
        return f"{text}, not known yet"
    tangent = f", tangent {x._extra!r}" if level.kind.differentiates == "forward" else ""
    return f"{text}: {x._value!r}{tangent}"


def _escape(text: str) -> str:
    """Return a text for HTML. The module `html` would cost each program half a millisecond."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def table_of(level: Any, x: Tensor) -> str:
    """Return a table with the form of an example, the levels, the tangent, and all values."""
    rows = [("example", form_of(x))]
    value: Any = x
    while isinstance(value, Tensor) and (type(value) in SNAPSHOTS or value.level.depth):
        if type(value) in SNAPSHOTS:  # of an array that was written to
            value = SNAPSHOTS[type(value)](value)
            continue
        inner: Any = value.level
        ended = "" if inner.live else ", ended"
        rows.append((names_of(inner), facts_of(inner) + ended))
        if inner.kind.differentiates == "forward" and not inner.kind.records:
            rows.append((f"tangent in {names_of(inner)}", repr(value._extra)))
        if inner.kind.records:
            value = "not known yet"
            break
        value = value._value
    rows.append(("value", value if isinstance(value, str) else repr(value)))
    cells = [
        f'<tr><th style="{STYLE}">{_escape(name)}</th>'
        f'<td style="{STYLE}"><pre style="margin: 0">{_escape(text)}</pre></td></tr>'
        for name, text in rows
    ]
    return f"<table>{''.join(cells)}</table>"
