"""Programs that are smaller than a failing one: with fewer results, statements and arguments."""

import re
from collections.abc import Iterator

from .program import Program, names_in


def smaller(program: Program) -> Iterator[Program]:
    """Programs that are a little smaller than one."""
    lines, results = program.lines, program.results
    for i in range(len(lines) - 1, -1, -1):
        made = lines[i].made
        if made:  # with all that needs it
            gone, kept = {made}, []
            for line in lines[:i] + lines[i + 1 :]:
                if names_in(line.text) & gone:
                    gone |= {line.made} - {""}
                else:
                    kept.append(line)
        else:
            gone, kept = set(), lines[:i] + lines[i + 1 :]
        left = [n for n in results if n not in gone]
        if left:
            yield program.with_lines(kept, left)
    if len(results) > 1:
        for n in results:
            yield program.with_lines(lines, [m for m in results if m != n])
    for i, line in enumerate(lines):  # an alias, by its name
        if line.made and line.text.partition(" = ")[2].isidentifier():
            yield renamed(program, i)


def renamed(program: Program, i: int) -> Program:
    """A program without its line `i`, an alias."""
    line = program.lines[i]
    old, new = line.made, line.text.partition(" = ")[2]
    lines = []
    for j, other in enumerate(program.lines):
        if j != i:
            text = re.sub(rf"(?<![\w.]){old}(?!\w)", new, other.text)
            lines.append(type(line)(text, other.tags, other.made))
    return program.with_lines(lines, dict.fromkeys(new if n == old else n for n in program.results))
