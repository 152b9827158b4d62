"""A recorded program: its source, its call, and what it costs."""

import re
from collections import Counter
from collections.abc import Sequence
from typing import Any
from weakref import ref

import numpy as np

from .._core.cards import folded
from .._core.pytree import flatten
from .._core.tensor import Tensor
from .arguments import facts_of, is_same, opened
from .costs import Cost, Table, costs_of
from .graph import Form, Graph
from .loops import every_answer, every_guard, every_node, is_arm
from .replays import Changed, Replay
from .rolling import written_out
from .shown import Shown

ndarray = np.ndarray


class Program:
    """A function for arguments of one form, as plain NumPy source.

    `trace` makes it. ``print(program)`` shows the source, and a call replays it.

    Attributes
    ----------
    source : str
        The source: a module with one function, of the inputs that are arrays or numbers.
    constants : dict of str to array
        The arrays that the source does not write out.
    flops : int
        An estimate of the floating-point operations of a call.
    memory : int
        An estimate of the most bytes that a call has allocated at any time.
    table : list of tuple
        For each function, the number of its calls, operations and bytes. It prints as a table.
    """

    def __init__(
        self, name: str, graph: Graph, structure: Any, leaves: Sequence[Any],
        dynamic: Sequence[bool], out_structure: Any, names: Sequence[str], roots: Sequence[str],
        keywords: tuple[str, ...] = (), facts: tuple = (),
        captured: Sequence[ndarray] = (),
    ):  # fmt: skip
        self.name = name
        self.captured = [ref(x) for x in captured]  # arrays that are read at each call
        self.read: Any = None  # which returns those of a call
        self._keywords, self._facts = keywords, facts
        self._structure, self._out = structure, out_structure
        self._forms = [
            Form(np.shape(x), getattr(x, "dtype", None), None, type(x)) if on else None
            for x, on in zip(leaves, dynamic)
        ]
        self._size = len(graph.outputs)  # flags may follow
        self._static = [None if on else x for x, on in zip(leaves, dynamic)]
        self._paths, self._roots = list(names), list(roots)
        own = [part for part, on in zip(names, dynamic) if on]
        own += [f"captured_{i}" for i in range(len(captured))]
        self._graph: Graph | None = graph  # for what is asked for later
        self._inputs = own
        self._replay = Replay(graph, name, own)
        self._run: Any = self._replay
        self.doubts = ""  # the source of the question if its results hold: see `trusted`
        self.careful = self.mixed = False  # it trusts nothing; it has begun to trust, and stopped
        self.writes: list[int] = []  # the leaves whose contents are the last results
        self.outside: list[Any] = []  # links to arrays that what is written must not meet
        self.same: dict[int, int] = {}  # the results that are such a leaf itself
        self.twins: dict[int, int] = {}  # the arrays that were given twice, and where before
        self.asked: set[str] = set()  # what the function has asked of its arguments
        self._checks = True  # False where `_run` looks at the forms of its arguments

    def _show(self) -> None:
        """Work out what only people ask for."""
        graph = self._graph
        if graph is None:  # another thread has done it
            return
        dynamic = [form is not None for form in self._forms]
        shown = Shown(
            graph, self.name, self._paths, self._roots, dynamic, self._structure, self._out,
            self._keywords, [link() for link in self.captured], self._size,
        )  # fmt: skip
        self._text = shown.text
        self._arrays = {k: v for k, v in shown.constants.items() if k not in shown.written}
        pairs = [(shown.asked(g).rstrip(","), shown.line_of(g)) for g in every_guard(graph)]
        self._answers = [f"{asked}{line}" for asked, line in pairs]
        self._replies = [*map(repr, every_answer(graph))]
        arms = Counter([shown.line_of(x) for x in every_node(graph) if is_arm(x)])
        self._ways = [f"{n}{line}" for line, n in arms.items()]
        self._steps = costs_of(graph)
        self._lines = [text for _, text in written_out(graph)]
        self._graph = None

    def _shown(self, name: str) -> Any:
        if self._graph is not None:
            self._show()
        return vars(self)[name]

    @property
    def source(self) -> str:
        return self._shown("_text")

    def _repr_html_(self) -> str:
        return folded(repr(self), self.source)

    @property
    def constants(self) -> dict[str, Any]:
        return self._shown("_arrays")

    @property
    def _guards(self) -> list[str]:
        return self._shown("_answers")

    @property
    def _given(self) -> list[str]:
        """The texts of the answers to the guards."""
        return self._shown("_replies")

    @property
    def _written_out(self) -> list[str]:
        """The lines whose steps have not become a loop, and why."""
        return self._shown("_lines")

    @property
    def _arms(self) -> list[str]:
        """How many arms steps have, and by which lines."""
        return self._shown("_ways")

    @property
    def _costs(self) -> list[Cost]:
        return self._shown("_steps")

    def is_like(self, other: "Program") -> bool:
        """Return whether another program is for the same arguments and answers."""
        return (
            self._structure == other._structure and self._forms == other._forms
            and self._keywords == other._keywords and self._facts == other._facts
            and self.twins == other.twins and all(map(is_same, self._static, other._static))
            and self._replay.is_like(other._replay)
        )  # fmt: skip

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Replay the program.

        Parameters
        ----------
        *args, **kwargs : array, number or pytree
            Of the structure, shapes and dtypes of those that were traced.

        Returns
        -------
        array or pytree
            The result of the function.

        Raises
        ------
        TypeError
            If an argument has another form than in the trace, or static ones differ.
        ValueError
            If Python code in the function would take another path.
        """
        label = f"the program of {self.name}"
        given = opened((args, kwargs) if kwargs else args, label)
        leaves, structure = flatten(given, label, "the arguments")
        if tuple(kwargs) != self._keywords:
            raise TypeError(
                f"{label}: the keyword arguments are {list(kwargs)}, and were "
                f"{list(self._keywords)}, in this order, when it was traced"
            )
        if structure != self._structure or facts_of(structure) != self._facts:
            raise TypeError(
                f"{label}: the arguments have a different structure from the traced ones; "
                f"trace the function for these"
            )
        inputs = []
        for x, form, static, path in zip(leaves, self._forms, self._static, self._paths):
            if isinstance(x, Tensor):
                raise TypeError(
                    f"{label}: the argument {path} is a tensor of a transform; trace the transform "
                    f"of the function instead, functier.trace(functier.grad(f))"
                )
            if form is None:
                if not is_same(x, static):
                    raise TypeError(
                        f"{label}: the argument {path} is {x!r}, and was {static!r} when it was "
                        f"traced; it is part of the program, so trace the function again"
                    )
                continue
            found = Form(np.shape(x), getattr(x, "dtype", None), None, type(x))
            if found != form:
                raise TypeError(
                    f"{label}: the argument {path} is {describe(found)}, and was {describe(form)} "
                    f"when it was traced; trace the function for it"
                )
            inputs.append(x)
        again = self.read() if self.captured else ()
        if again is False:
            raise ValueError(
                f"{label}: something that the function reads besides its arguments has changed; "
                f"call the compiled function, or trace it again"
            )
        try:
            results = self._run(*inputs, *again)
        except Changed as changed:
            steps = ", ".join(map(str, changed.args[1:]))
            step = f" in step {steps}," if steps else ""
            raise ValueError(
                f"{label}: {self._guards[changed.args[0]]},{step} differs from the trace, and "
                f"Python code made a choice based on it; trace the function again, or use "
                "functier.compile"
            ) from None
        return self._out.unflatten([*results[: self._size]])

    def __str__(self) -> str:
        return self.source.rstrip("\n")

    def __repr__(self) -> str:
        return f"<functier.Program {self.name}: {len(self._costs)} steps>"

    @property
    def flops(self) -> int:
        return sum(cost.flops for cost in self._costs)

    @property
    def memory(self) -> int:
        return max((cost.alive for cost in self._costs), default=0)

    @property
    def table(self) -> list[tuple[str, int, int, int]]:
        return Table(self._costs)

    def save(self, path: str) -> None:
        """Write the source to a file, and the arrays that it refers to beside it.

        Parameters
        ----------
        path : str
            The name of the file, such as ``"gradient.py"``; arrays go to ``"gradient.npz"``.

        Raises
        ------
        TypeError
            If the program needs an object that is neither an array nor found in a module.
        """
        text = self.source
        for name, x in self.constants.items():
            if not isinstance(x, (ndarray, np.generic)) or x.dtype.hasobject:
                raise TypeError(
                    f"the program of {self.name}: {name} is {x!r}, which a file of arrays cannot "
                    f"hold; pickle the program, or define the function at the top of a module"
                )
        if self.constants:
            np.savez(re.sub(r"\.py$", "", path) + ".npz", **self.constants)
            head = 'with np.load(__file__.removesuffix(".py") + ".npz") as arrays:\n'
            head += "    CONSTANTS = dict(arrays)\n"
            text = text.replace("import numpy as np\n\n", f"import numpy as np\n\n{head}", 1)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)

    def __getstate__(self) -> dict[str, Any]:
        self._shown("_text")
        return {name: value for name, value in vars(self).items() if name != "_run"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        self._facts = facts_of(self._structure)
        self._run = self._replay


def describe(form: Form) -> str:
    """Return the form of an argument in words."""
    if form.kind is ndarray:
        return f"{form.dtype}{list(form.shape)}"
    return f"a {form.kind.__name__}"
