"""Operations by their names, and the list of all of them with the rules they have.

NOTE [the name of an operation]
    A function of NumPy or SciPy has the name that users write: ``numpy.linalg.solve``. A
    custom operation has the name from its definition: ``mylib::scale``. A function that rules
    call has a name like ``functier.contract``, whatever module declares it.
"""

import re
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from types import MappingProxyType
from typing import Any, NamedTuple

from .._core.numpy_facts import name_of
from .._core.table import NAMESPACES, OPS, PENDING, load
from ..overrides._listing import signature_of
from .custom_op import CustomOp

OWN = f"{__package__.rpartition('.')[0]}."
"""The beginning of the names of functions that are declared in this package."""


class Primitive(NamedTuple):
    """An operation and its rules.

    Attributes
    ----------
    name : str
        ``"numpy.linalg.solve"``, or the name of a custom operation, ``"mylib::scale"``.
    func : callable
        The operation itself: the NumPy function, or the `CustomOp`.
    schema : str
        The name with the parameters.
    family : str
        The kind of declaration: ``"elementwise"``, ``"linear"``, ``"composite"``, ``"custom"``...
    vmap, jvp, vjp : str
        ``"rule"``: it has a rule. ``"itself"``: its jvp is the operation, which is linear.
        ``"parts"``: it consists of other operations, which have rules. ``"zero"``: its
        derivative is zero. ``"transpose"``: the rule of the other mode is used. ``"batched"``:
        it runs on the whole batch. ``"none"``: it has no rule.
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
    """Return all operations by their names, with their rules.

    Parameters
    ----------
    namespace : str, optional
        The namespace to list, such as ``"numpy"``, ``"scipy"`` or that of a custom operation.

    Returns
    -------
    mapping of str to Primitive
        The operations, sorted by name; it does not follow later changes.

    Notes
    -----
    The call imports `numpy.fft`, and `scipy.special` if SciPy is installed, to list their
    functions.

    Examples
    --------
    >>> entry = registry("numpy")["numpy.linalg.solve"]
    >>> entry.schema, entry.vmap, entry.vjp, entry.differentiable
    ('numpy.linalg.solve(a, b)', 'rule', 'rule', ('a', 'b'))
    """
    found = {}
    load()
    for module in _waiting():
        with suppress(ImportError):  # of SciPy, where it is not installed
            load(module)
    for entry in _entries():
        if namespace in (None, re.split("::|[.]", entry.name)[0]):
            found[entry.name] = entry
    return MappingProxyType(dict(sorted(found.items())))


def _entries() -> Iterator[Primitive]:
    for func, op in OPS.items():
        if isinstance(op.body, CustomOp) or isinstance(func, partial):
            continue  # what a custom operation stands for
        name = public_name(func)
        if not name:
            continue
        schema = f"{name}({', '.join(op.params)})"
        if not name.startswith(OWN):  # what `primitive` makes takes anything
            with suppress(TypeError, ValueError, SyntaxError):
                schema = f"{name}{signature_of(func)}"
        if op.body is not None:
            rules = ("parts",) * 3
        elif op.constant:
            rules = "rule", "zero", "zero"
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


# ---- names ----


def public_name(func: Callable) -> str:
    """Return the name of a declared operation, or "" for a ufunc without one.

    A private ufunc, such as SciPy's ``_zeta``, has the name of the public function that uses
    it. See NOTE [the name of an operation].
    """
    name = name_of(func)
    if name.startswith(OWN):
        return OWN + name.rpartition(".")[2].lstrip("_")
    name = name.removeprefix("_")  # of `_operator`
    return name.replace("._", ".") if "." in name else ""


class Namespace:
    """The operations whose names begin with a path; they are looked up on access.

    In ``functier.ops.numpy`` an operation is the NumPy function itself, as it is for transforms
    and for the lower hook.
    """

    def __init__(self, path: str):
        self._path = path

    def __getattr__(self, name: str) -> Any:
        own = NAMESPACES.get(self._path, {})
        if name in own:
            return own[name]
        load(self._path)  # declared in a separate file
        path = f"{self._path}.{name}"
        load(path)
        names = by_name()
        if path in names:
            return names[path]
        if any(other.startswith(f"{path}.") for other in (*names, *_waiting())):
            return Namespace(path)
        raise AttributeError(
            f"functier.ops has no operation {self._path}.{name}; functier.registry() lists all"
        )

    def __dir__(self) -> list[str]:
        start = f"{self._path}."
        names = {n[len(start) :].partition(".")[0] for n in by_name() if n.startswith(start)}
        return sorted({*NAMESPACES.get(self._path, {}), *names})

    def __repr__(self) -> str:
        return f"<functier.ops.{self._path}>"


def _waiting() -> list[str]:
    """Return the modules whose functions are declared on first use."""
    return [module for module in PENDING if module]


def by_name() -> dict[str, Callable]:
    """Return the declared operations by their names."""
    load()
    return {public_name(func): func for func in OPS}


def namespaces() -> list[str]:
    """Return the first parts of all names."""
    return sorted({*NAMESPACES, *[n.partition(".")[0] for n in [*by_name(), *_waiting()] if n]})


def namespace(name: str) -> Namespace:
    """Return the namespace of custom operations, or of the functions of a library."""
    if name not in NAMESPACES and name not in namespaces():
        raise AttributeError(
            f"functier.ops has no namespace {name!r}; import the module that defines its operations"
        )
    return Namespace(name)
