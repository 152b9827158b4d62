"""The list of all operations: NumPy's, SciPy's and custom ones, and the rules they have."""

from collections.abc import Iterator
from contextlib import suppress
from functools import partial
from types import MappingProxyType
from typing import Any, NamedTuple

from ._library import CustomOp
from ._numpy import name_of
from ._op import NAMESPACES, OPS, PENDING, load
from ._overridable import signature_of


class Primitive(NamedTuple):
    """What is known of an operation.

    Attributes
    ----------
    name : str
        ``"numpy::linalg.solve"``, or the name of a custom operation.
    func : callable
        The operation itself: the NumPy function, or the `CustomOp`.
    schema : str
        The name with the parameters.
    family : str
        How it was declared: ``"elementwise"``, ``"linear"``, ``"composite"``, ``"custom"``...
    vmap, jvp, vjp : str
        ``"rule"``: it has one. ``"itself"``: its jvp is the operation, which is linear.
        ``"parts"``: it is made of others, which have rules. ``"zero"``: it is constant for
        derivatives. ``"transpose"``: the rule of the other mode is used. ``"batched"``: it runs
        on the whole batch. ``"refused"``: an error says what to write instead. ``"none"``.
    differentiable : tuple of str
        The operands that have a derivative.
    """

    name: str
    func: Any
    schema: str
    family: str
    vmap: str
    jvp: str
    vjp: str
    differentiable: tuple[str, ...] = ()


def registry(namespace: str | None = None) -> MappingProxyType:
    """All operations by their names, with the rules that they have.

    Parameters
    ----------
    namespace : str, optional
        List those of a namespace only, such as ``"numpy"``, ``"scipy"`` or your own.

    Returns
    -------
    mapping of str to Primitive
        In the order of the names; it does not follow later changes.

    Notes
    -----
    To list NumPy's functions that are declared in files of their own (`numpy.fft`), and
    those of `scipy.special` where SciPy is installed, imports these.

    Examples
    --------
    >>> entry = registry("numpy")["numpy::linalg.solve"]
    >>> entry.schema, entry.vmap, entry.vjp, entry.differentiable
    ('numpy::linalg.solve(a, b)', 'rule', 'rule', ('a', 'b'))
    """
    found = {}
    for module in list(PENDING):
        with suppress(ImportError):  # of SciPy, where it is not installed
            load(module)
    for entry in _entries():
        if namespace is None or entry.name.partition("::")[0] == namespace:
            found[entry.name] = entry
    return MappingProxyType(dict(sorted(found.items())))


def _entries() -> Iterator[Primitive]:
    for func, op in OPS.items():
        if isinstance(op.body, CustomOp) or isinstance(func, partial):
            continue  # what a custom operation stands for
        space, _, rest = name_of(func).partition(".")
        name = f"{space}::{rest}" if rest else f"numpy::_core.umath.{space}"
        schema = f"{name}({', '.join(op.params)})"
        if space != __package__:  # what `primitive` makes takes anything
            with suppress(TypeError, ValueError, SyntaxError):
                schema = f"{name}{signature_of(func)}"
        if op.body is not None:
            rules = ("parts",) * 3
        elif op.constant:
            rules = "rule", "zero", "zero"
        elif op.family == "writing":
            rules = ("refused",) * 3
        else:
            rules = (
                "none" if op.vmap is None else "rule",
                "itself" if isinstance(op.jvp, str) else "rule" if op.jvp else "none",
                "rule" if op.vjp else "none",
            )
        yield Primitive(name, func, schema, op.family, *rules, tuple(op.vjp))
    for own in NAMESPACES.values():
        for made in own.values():
            spec = made._spec
            other = "transpose" if spec.jvp or spec.backward else "none"
            yield Primitive(
                made.qualified_name, made, made.schema, "custom",
                "rule" if spec.vmap else "batched",
                "rule" if spec.jvp else other,
                "rule" if spec.backward else other,
            )  # fmt: skip
