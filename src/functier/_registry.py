"""Operations by their names, and the list of all of them with the rules they have.

NOTE [the name of an operation]
    A function of NumPy or SciPy has the name that its users write: ``numpy.linalg.solve``. A
    custom operation has its own: ``mylib::scale``. A function that rules are made of is named
    ``functier.contract``, wherever it is declared. No name tells where a rule is.
"""

import re
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from types import MappingProxyType
from typing import Any, NamedTuple

from ._core.numpy_facts import name_of
from ._core.table import NAMESPACES, OPS, PENDING, load
from ._custom.custom_op import CustomOp
from .overrides._listing import signature_of

OWN = f"{__package__}."
"""The beginning of the names of functions that are declared in this package."""


class Primitive(NamedTuple):
    """What is known of an operation.

    Attributes
    ----------
    name : str
        ``"numpy.linalg.solve"``, or the name of a custom operation, ``"mylib::scale"``.
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


# ---- names ----


def public_name(func: Callable) -> str:
    """The name of a declared operation; "" for a ufunc that has none.

    A private ufunc, such as SciPy's ``_zeta``, has the name of the function made of it. See
    NOTE [the name of an operation].
    """
    name = name_of(func)
    if name.startswith(OWN):
        return OWN + name.rpartition(".")[2].lstrip("_")
    name = name.removeprefix("_")  # of `_operator`
    return name.replace("._", ".") if "." in name else ""


class Namespace:
    """The operations whose names start with a path; looked up when they are asked for.

    Below ``functier.ops.numpy`` an operation is the NumPy function itself, which is what
    transforms, and the lower hook, know it as.
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
    """The modules whose functions are declared when they are first asked for."""
    return [module for module in PENDING if module]


def by_name() -> dict[str, Callable]:
    """The declared operations by their names."""
    load()
    return {public_name(func): func for func in OPS}


def namespaces() -> list[str]:
    """The first parts of all names."""
    names = [*by_name(), *_waiting()]
    return sorted({*NAMESPACES, *[n.partition(".")[0] for n in names if n]})


def namespace(name: str) -> Namespace:
    """The namespace of custom operations, or of a library's functions."""
    if name not in NAMESPACES and name not in namespaces():
        raise AttributeError(
            f"functier.ops has no namespace {name!r}; import the module that defines its operations"
        )
    return Namespace(name)
