"""Loops in the source of a program: a `for` statement, and lists of what its steps make."""

from collections import Counter
from typing import Any, NamedTuple

from .graph import Node, instances_in
from .loops import Count, Loop, is_loop, is_result


class Counting(NamedTuple):
    """A counter in the source: it is ``first + way * i`` in step `i` of `count`.

    `way` is 1 or -1. Where the number of steps is a value, `length` is its source, if it is known,
    and the counter begins at 0.
    """

    name: str
    count: int  # type: ignore[assignment]
    first: int = 0
    way: int = 1
    length: str = ""

    def __str__(self) -> str:
        """Return the source of what the counter goes through."""
        if self.length:
            return f"range({self.length})"
        low = self.first if self.way > 0 else self.first - self.count + 1
        text = f"range({low}, {low + self.count})" if low else f"range({self.count})"
        return text if self.way > 0 else f"reversed({text})"


def counting_of(loop: Loop, name: str) -> Counting:
    """Return a counter by which most elements have a plain index."""
    found = Counter([read for read in loop.reads for _ in (0, 1)])
    for node in loop.body.nodes:
        found.update(instances_in((node.args, node.kwargs), Count))
    for count, _ in found.most_common():
        if type(count.start) is int and count.step in (1, -1):
            return Counting(name, loop.count, count.start, count.step)
    return Counting(name, loop.count)


def text_of_count(count: Any, counters: list[Counting]) -> str:
    """Return the source of an integer that grows with counters, the innermost one last."""
    factors, level = [], len(counters)
    while type(count) is Count:
        level -= 1
        factors.append((count.step, counters[level]))
        count = count.start
    terms = []
    for step, counter in factors[::-1]:
        factor = step * counter.way
        count -= factor * counter.first
        if factor:
            terms.append((factor, counter.name))
    text = ""
    for factor, name in sorted(terms, key=lambda term: term[0] < 0):
        own = name if abs(factor) == 1 else f"{abs(factor)} * {name}"
        if not text:
            text = own if factor > 0 else f"{count} - {own}"
            count = count if factor > 0 else 0
        else:
            text += f" {'+' if factor > 0 else '-'} {own}"
    if not text:
        return str(count)
    return f"{text} {'+' if count > 0 else '-'} {abs(count)}" if count else text


def lines_of_loop(source: Any, node: Node) -> list[str]:
    """Return the lines of a loop, and give its results their names."""
    loop: Any = node.func
    carried, elements, rest = loop.parts()
    first, second = len(carried), len(carried) + len(elements)
    for x, arg in zip(rest, node.args[second:]):
        source.names[x] = source.operand(arg)
        source.outside[x] = arg
    lines: list[str] = []
    for x, arg, after in zip(carried, node.args, loop.body.outputs):
        text = source.expr(arg)
        if type(arg) is Node and arg in source.owned and source.uses[arg] == 1:
            source.names[x] = text
        else:
            source.names[x] = source.name_of_carried(after)
            lines.append(f"{source.names[x]} = {text}")
    lists = loop.body.outputs[loop.lasts :]
    source.lists |= dict.fromkeys(lists, "")
    if loop.ends == "arm":
        counting = Counting("", loop.count)  # which the source does not have
    elif loop.ends == "flag":
        counting = Counting(source.numbered(), loop.count)
    elif loop.ends:
        counting = Counting(source.counter(loop), loop.count, length=source.expr(node.args[-1]))
    else:
        counting = counting_of(loop, source.counter(loop))
    source.counters.append(counting)
    inside: list[str] = []
    for x, arg, read in zip(elements, node.args[first:second], loop.reads):
        index = text_of_count(read, source.counters)
        text = source.sequence(arg)
        last = source.takes_out(x) and is_last(source, arg, node, read)
        if last:
            source.taken_out.add(x)
        inside += source.element(x, f"{text}.pop()" if last else f"{text}[{index}]", arg)
    inside += [source.appended(x) for x in loop.body.inputs if x in source.lists]
    for x, after in zip(carried, loop.body.outputs):
        source.wanted.setdefault(after, source.names[x])
    inside += source.block(loop.body, carried)
    pairs = [(source.names[x], source.names[y]) for x, y in zip(carried, loop.body.outputs)]
    pairs = [(x, y) for x, y in pairs if x != y]
    results = [source.names[x] for x in carried]
    changing = {x for x, _ in pairs}
    for y in loop.body.outputs[first : loop.lasts]:
        if y not in source.owned or source.names[y] in changing:
            text, source.names[y] = source.names[y], source.name_of_carried(y)
            inside.append(f"{source.names[y]} = {text}")
        results.append(source.names[y])
    if pairs:
        inside.append(f"{', '.join([x for x, _ in pairs])} = {', '.join([y for _, y in pairs])}")
    source.counters.pop()
    made = [source.lists[y] for y in lists]
    source.results[node] = [*results, *made]
    lines += [f"{name} = []" for name in made]
    if loop.ends == "arm":
        lines.append(f"if {source.names[rest[0]]}:")
        inside = inside or ["pass"]
    elif loop.ends == "flag":
        source.results[node].append(counting.name)
        lines += [f"{counting.name} = 0", f"while {results[0]}:"]
        inside.append(f"{counting.name} += 1")
    else:
        lines.append(f"for {counting.name} in {counting}:")
    return [*lines, *[f"    {line}" for line in inside]]


def cut_early(source: Any, values: Node) -> list[str]:
    """Return the line that drops the end of a list, if that loop which reads it last does not
    begin with it.
    """
    nodes, place = source.graphs[-1].nodes, source.latest.get(values, -1)
    if not 0 <= place < len(nodes) or not is_loop(nodes[place]):
        return []
    node = nodes[place]
    for x, arg, read in zip(node.func.parts()[1], node.args[node.func.carried :], node.func.reads):
        if arg is values and source.takes_out(x) and is_last(source, arg, node, read):
            if read.start < arg.form.count - 1:
                return [f"del {source.names[values]}[{read.start + 1}:]"]
    return []


def is_last(source: Any, values: Any, loop: Node, read: Count) -> bool:
    """Return whether nobody reads a list after a loop, which takes its elements from the end on.

    Where the loop does not begin with the last one, nobody else may read the list before it. A list
    in a list is left alone: others may have it, too.
    """
    return (
        type(values) is Node and is_result(values) and type(read.start) is int
        and read.step == -1 and source.latest[values] == loop.number
        and sum([x is values for x in loop.args]) == 1
        and (read.start == values.form.count - 1 or source.uses[values] == 1)
    )  # fmt: skip


def result_of_loop(source: Any, node: Node) -> str:
    """Return the name of a result of a loop, or ""."""
    if not is_result(node):
        return ""
    return source.results[node.args[0]][node.args[1]]
