"""Records of operations, and the calls that are bound to them.

An operation *is* the NumPy function object: key, kernel, signature and documentation
are NumPy's. `table` has all records: `_rules` fills it with declarations, and the levels read
it. This file knows rules and NumPy only; it knows neither tensors nor levels.
"""

from collections.abc import Callable, Sequence
from typing import Any

from .._cpython.code import parameters_of
from .numpy_facts import Function, Shape, Value, name_of
from .numpy_private import NO_VALUE
from .rule import Rule
from .sharing import ORDERS


class Op:
    """The record of one operation: its signature, its rules and its kernel.

    Attributes
    ----------
    func : callable
        The NumPy function; a rule calls it to go one level down.
    name : str
        The name of the operation in messages.
    params : tuple of str
        NumPy's parameter names, in order.
    arrays : tuple of str
        The parameters that hold operands, in order; the others are static.
    variadic : str or None
        The parameter (one of `arrays`) that holds a sequence of operands.
    kernel : callable
        The function that computes the operation on values one level down; mostly `func`.
    bind_args : callable or None
        ``(*args, **kwargs) -> dict`` of the parameters, for signatures with ``*args``.
    vmap : callable or None
        ``(k, *args, **kwargs)``, which computes the call on operands with `k` leading batch
        axes, each of the size of the batch or 1; Python scalars are passed as they are.
    jvp, vjp : dict of str to Rule
        One rule for each operand that has a derivative. ``jvp="linear"`` stands for the
        operation applied to all tangents at once, ``"multilinear"`` for one call each.
    joint : Rule or None
        A vjp rule that returns the cotangents of all operands in a tuple, for when several are
        differentiated and share work.
    constant : bool
        Whether the derivative is zero; the result then leaves a differentiating level.
    by_value : str or callable or None
        The operands whose values determine the shape or the dtype of the result: their names,
        or a function from a `Call` to their positions among its operands.
    body : callable or None
        The body of a composite: NumPy code that computes the same with other operations.
    out_place : int or None
        The position at which a composite takes ``out``, as its body may not look at it.
    family : str
        The name of the constructor that declared it.
    single : bool
        True if a call can have a single operand.
    foreign : bool
        True for a function of SciPy, which does not dispatch: a tensor among its other parameters
        is refused, because its kernel could not unwrap it.
    special : frozenset of str
        The parameters with which a call has more than one operand, or writes to ``out``.
    """

    def __init__(
        self,
        func: Function,
        params: str,
        arrays: str = "",
        *,
        family: str = "op",
        variadic: str | None = None,
        kernel: Function | None = None,
        bind: Callable[..., dict] | None = None,
        vmap: Function | None = None,
        jvp: dict[str, Any] | str | None = None,
        vjp: dict[str, Any] | None = None,
        joint: Function | None = None,
        constant: bool = False,
        by_value: "str | Callable[[Call], Sequence[int]] | None" = None,
        body: Function | None = None,
    ):
        self.func = func
        home = getattr(func, "__module__", None) or ""
        self.foreign = body is None and home.startswith("scipy.")
        self.params = tuple(params.split())
        self.arrays = tuple(arrays.split()) if arrays else self.params[:1]
        self.variadic, self.bind_args = variadic, bind
        self.kernel = kernel or func
        self.dispatches = getattr(self.kernel, "passes_on", self.kernel) is func
        self.vmap, self.constant, self.body, self.family = vmap, constant, body, family
        self.by_value = by_value
        self.jvp = _rules(jvp, self.arrays) if isinstance(jvp, dict) else jvp
        self.vjp = _rules(vjp or {}, self.arrays)
        self.joint = Rule(joint, self.arrays) if joint else None
        # `_mutation` says which results are views of the first operand, as `_core.sharing` has it,
        # and which are arrays where they have no axes.
        self.views, self.boxes = "", False
        self.order = ORDERS.get(func)
        lead = 0
        for name in self.params:
            if name not in self.arrays:
                break
            lead += 1
        self.lead = self.params[:lead]
        # How many positional arguments may be looked at without meeting another operand.
        later = [i for i, name in enumerate(self.params) if i >= lead and name in self.arrays]
        self._direct = 0 if variadic or bind else min([*later, len(self.params)])
        self.single = body is None and len(self.lead) == 1 and self._direct > 0
        self.special = frozenset((*self.arrays, "out"))
        positional = parameters_of(getattr(body, "__wrapped__", body))
        self.out_place = positional.index("out") if "out" in positional else None

    @property
    def name(self) -> str:
        """Name of the operation in messages."""
        return name_of(self.func)

    def __repr__(self) -> str:
        return f"<{self.family} {self.name}>"

    def static(self, args: tuple, kwargs: dict) -> dict | None:
        """Return the parameters of a call whose first argument is its only operand, else None."""
        given = kwargs
        if len(args) > 1:
            if len(args) > self._direct:
                return None
            given = dict(zip(self.params[1:], args[1:]))
            if kwargs:
                given.update(kwargs)
        for name, value in given.items():
            if name in self.special or value is NO_VALUE:
                return None
        return given

    def bind(self, args: tuple, kwargs: dict) -> "Call":
        """Split a call into operands and static parameters."""
        lead = self.lead
        n = len(lead)
        if n <= len(args) <= self._direct:
            direct, operands = True, list(args[:n])
            for value in operands:
                if value is None:
                    direct = False
            given = dict(zip(self.params[n:], args[n:])) if len(args) > n else {}
            for name, value in kwargs.items():
                if name in self.arrays:
                    direct = False
                elif value is not NO_VALUE:
                    given[name] = value
            if direct:
                if given.get("out", 0) is None:
                    del given["out"]
                return Call(self, given, lead, operands, True)
        if self.bind_args is not None:
            given = self.bind_args(*args, **kwargs)
        else:
            given = dict(zip(self.params, args))
            if kwargs:
                given.update(kwargs)
        for name in [n for n, v in given.items() if v is NO_VALUE]:
            del given[name]
        if given.get("out", 0) is None:
            del given["out"]
        names, operands = [], []
        for name in self.arrays:
            value = given.get(name)
            if value is None or (value is True and name == "where"):
                continue
            if name == self.variadic:
                given[name] = value = list(value)
                names += [name] * len(value)
                operands += value
            else:
                names.append(name)
                operands.append(value)
        return Call(self, given, tuple(names), operands, False)


def _rules(rules: dict[str, Any], arrays: tuple[str, ...]) -> dict[str, Rule]:
    return {n: r if isinstance(r, Rule) else Rule(r, arrays) for n, r in rules.items() if r}


class Call:
    """One call of an operation: its operands in a list, its parameters by name.

    Attributes
    ----------
    op : Op
        The operation.
    operands : list
        The values of the operands.
    names : tuple of str
        The parameter of each operand.
    given : dict
        The other parameters; all parameters if `direct` is false.
    direct : bool
        Whether the operands are the leading positional arguments.
    """

    __slots__ = ("direct", "given", "names", "op", "operands", "shapes")

    def __init__(
        self, op: Op, given: dict, names: tuple[str, ...], operands: list[Value], direct: bool
    ):
        self.op, self.given, self.names, self.operands = op, given, names, operands
        self.direct = direct
        self.shapes: tuple[Shape, ...] | None = None

    def telling(self) -> Sequence[int]:
        """Return the positions of the operands whose values determine the form of the result."""
        told = self.op.by_value
        if callable(told):
            return told(self)
        return [i for i, name in enumerate(self.names) if name in (told or "").split()]

    def run(self, values: Sequence[Value], kernel: Function | None = None, *first: Any) -> Any:
        """Call the kernel with `first`, then `values` for the operands."""
        if self.direct:
            return (kernel or self.op.kernel)(*first, *values, **self.given)
        op = self.op
        given = self.given.copy()
        if op.variadic is None:
            given.update(zip(self.names, values))
        else:
            for name in dict.fromkeys(self.names):
                own = [v for n, v in zip(self.names, values) if n == name]
                given[name] = own if name == op.variadic else own[0]
        lead = []
        for name in op.lead:
            if name not in given:
                break
            lead.append(given.pop(name))
        return (kernel or op.kernel)(*first, *lead, **given)
