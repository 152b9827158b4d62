"""Paths of a step: the calls that it makes for other answers of Python code, as arms of a body.

NOTE [arms]
    The samples of a loop that answer Python code alike make the same calls, up to the first
    question that they answer in another way. From there on the calls of each answer are an *arm*: a
    loop of one step, which runs where the answer is its own. Its results are the first values of
    what it carries where it does not. An answer that no sample has had is a guard.
"""

import operator
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from .graph import (
    SCALARS,
    TRUTH,
    Form,
    Graph,
    Guard,
    Node,
    changed,
    exact_answer,
    form_of,
    replace,
    same_bits,
)
from .loops import Count, Loop
from .steps import flatten, kind_of_loop

ndarray = np.ndarray


class Differs(BaseException):
    """A later step may make other calls than the samples."""


class Path(NamedTuple):
    """The calls of a step, with its guards in the order of asking, and what it returns."""

    nodes: list[Node]
    guards: list[Guard]
    outputs: list[Node]


def joined(paths: Sequence[Path], defaults: list) -> Path:
    """Return one path for all, with an arm for each answer: see NOTE [arms].

    `defaults` are values of the forms of the outputs.
    """
    first, *others = paths
    if not others:
        return first
    places = {node: i for i, node in enumerate(first.nodes)}
    asked = size = 0
    while True:
        if any([len(path.guards) == asked for path in paths]):
            return same(paths)
        guard = first.guards[asked]
        size = max(size, places.get(guard.node, -1) + 1)
        answers = [exact_answer(path.guards[asked]) for path in paths]
        if len({*answers}) > 1:
            break
        asked += 1
    rests: dict[Any, list[Path]] = {}
    for path, answer in zip(paths, answers):
        new = identified(first, path, size, asked)
        rests.setdefault(answer, []).append(after(path, size, asked + 1, new))
    arms = {answer: joined(rest, defaults) for answer, rest in rests.items()}
    outputs = [*zip(*[arm.outputs for arm in arms.values()])]
    chosen = [*dict.fromkeys([column for column in outputs if len({*column}) > 1])]
    starts = [defaults[outputs.index(column)] for column in chosen]
    values = [default_of(form_of_all(column)) if x is None else x
              for column, x in zip(chosen, starts)]  # fmt: skip
    nodes, tests = first.nodes[:size], []
    for k, (answer, arm) in enumerate(arms.items()):
        tests.append(test := test_of(guard, answer))
        if test is not guard.node:
            nodes.append(test)
        ends = [column[k] for column in chosen]
        if not arm.nodes and not arm.guards and ends == starts:
            continue
        node = choice(Path(arm.nodes, arm.guards, ends), values, test)
        node.place = guard.place
        values = [Node(operator.getitem, (node, i), {}, form) for i, form in enumerate(node.form)]
        nodes += [node, *values]
    guards = first.guards[:asked]
    if any([type(answer) is not bool for answer in arms]):
        for test in tests[1:]:
            nodes.append(Node(np.logical_or, (tests[0], test), {}, TRUTH, guard.place))
            tests[0] = nodes[-1]
        guards = [*guards, Guard(tests[0], "bool", True, guard.place)]
    found = dict(zip(chosen, values))
    return Path(nodes, guards, [found.get(column, column[0]) for column in outputs])


def same(paths: Sequence[Path]) -> Path:
    """Return the one path that several are."""
    first = paths[0]
    for path in paths[1:]:
        new = identified(first, path, len(first.nodes), len(first.guards))
        sizes = [(len(x.nodes), len(x.guards)) for x in (first, path)]
        if sizes[0] != sizes[1] or first.outputs != [new.get(y, y) for y in path.outputs]:
            raise Differs("steps differ without an answer of Python code")
    return first


def identified(first: Path, path: Path, size: int, asked: int) -> dict[Node, Node]:
    """Return the nodes of one path for those of another, up to a number of nodes and guards."""
    new: dict[Node, Node] = {}
    for a, b in zip(first.nodes[:size], path.nodes[:size], strict=False):
        leaves: tuple[list, list] = [], []
        facts = [
            (called(x.func, own), x.errors, x.form, flatten((x.args, x.kwargs), own))
            for x, own in zip((a, b), leaves)
        ]
        others = [new.get(x, x) if type(x) is Node else x for x in leaves[1]]
        if facts[0] != facts[1] or not all(map(is_alike, leaves[0], others)):
            raise Differs("steps differ before the answer of Python code does")
        new[b] = a
    for one, other in zip(first.guards[: asked + 1], path.guards):
        if one.node is not new.get(other.node, other.node) or one.how != other.how:
            raise Differs("steps ask other questions")
    return new


def called(func: Any, leaves: list) -> Any:
    """Return the function of a node; of a loop what is around its leaves."""
    return kind_of_loop(func, leaves) if type(func) is Loop else func


def is_alike(a: Any, b: Any) -> bool:
    """Return whether two leaves of arguments are the same node, or the same constant."""
    if type(a) is not type(b) or type(a) is Node:
        return a is b
    return same_bits(a, b)


def after(path: Path, size: int, asked: int, new: dict[Node, Node]) -> Path:
    """Return what is left of a path behind some nodes, with others in their places."""

    def own(node: Node) -> Node:
        return new.get(node, node)

    for node in path.nodes[size:]:
        node.args, node.kwargs = replace(node.args, own), replace(node.kwargs, own)
    guards = [guard._replace(node=own(guard.node)) for guard in path.guards[asked:]]
    return Path(path.nodes[size:], guards, [own(y) for y in path.outputs])


def form_of_all(column: Sequence[Node]) -> Form:
    """Return the one form that a result has in all arms."""
    form = column[0].form
    if type(form) is not Form or any([y.form != form for y in column]):
        raise Differs("the forms of values differ from path to path")
    return form


def default_of(form: Form) -> Any:
    """Return a value of a form."""
    if form.kind is ndarray:
        return np.zeros(form.shape, form.dtype)
    if form.kind not in SCALARS:
        raise Differs("a value that differs from path to path is not a number")
    return form.kind()


def test_of(guard: Guard, answer: Any) -> Node:
    """Return the node that tells if a question has an answer."""
    node = guard.node
    form, kind = node.form, type(answer)
    func: Any = np.equal
    args: tuple = node, answer
    if kind is bool and (form.kind is bool or (form.dtype is not None and form.dtype.kind == "b")):
        if answer:
            return node
        func, args = np.logical_not, (node,)
    elif kind is bool:
        func, args = np.not_equal if answer else np.equal, (node, 0)
    elif kind is not int or not (form.kind is int or form.dtype.kind in "iu"):
        raise Differs(
            "an answer that differs from path to path is neither a truth value nor an integer"
        )
    return Node(func, args, {}, TRUTH, guard.place)


def choice(path: Path, values: Sequence[Any], test: Node) -> Node:
    """Return the node of an arm, which runs where a test is true; else its results are `values`."""
    known = {*path.nodes}
    given: dict[Any, Node] = {}  # nodes and numbers outside

    def inside(x: Any) -> Node:
        if x in known:
            return x
        if x not in given:
            given[x] = Node(None, (), {}, x.form if type(x) is Node else form_of(0))
            known.add(given[x])
        return given[x]

    def argument(value: Any) -> Any:
        return replace(changed(value, Count, inside), inside)

    for node in path.nodes:
        node.args, node.kwargs = argument(node.args), argument(node.kwargs)
    guards = [guard._replace(node=inside(guard.node)) for guard in path.guards]
    first = [Node(None, (), {}, y.form) for y in path.outputs]
    outputs = [inside(y) for y in path.outputs]
    inputs = [*first, Node(None, (), {}, TRUTH), *given.values()]
    loop = Loop(
        Graph([*inputs, *path.nodes], inputs, outputs, guards), 1, len(first), (), len(first), "arm"
    )  # fmt: skip
    node = Node(loop, (*values, test, *given), {}, loop.form())
    node.kept = loop.has_effects()
    return node
