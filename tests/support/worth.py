"""Prints the code lines that only one public name needs, and who uses the name.

``python tests/support/worth.py`` lists all names, ``... NAME NAME`` what goes with a set of names.
A node of the graph is a definition at the top of a module of `src`, and it reaches what its text
names, through imports. What a rule's declaration needs counts for the declared function. Methods,
and what is looked up by a string, are not seen: the figures say where to look.
"""

import ast
import io
import sys
import tokenize
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path

ROOT = Path(__file__).parents[2]
SRC = ROOT / "src" / "functier"
Node = tuple[str, str]
"""A module, and a name or a line in it."""


def main() -> None:
    nodes, edges, roots = graph()
    if sys.argv[1:]:
        asked = {r for r in roots for a in sys.argv[1:] if a in (r[0], r[1], f"{r[0]}.{r[1]}")}
        gone = alone(asked, edges, roots)
        for node in sorted(gone):
            print(f"{nodes[node]:6d}  {node[0]}.{node[1]}")
        print(f"{sum(nodes[n] for n in gone):6d}  in all")
        return
    rows = [(sum(nodes[n] for n in alone({root}, edges, roots)), root) for root in roots]
    for lines, root in sorted(rows, reverse=True):
        if lines > 30:
            print(f"{lines:6d}  {root[0]}.{root[1]}  {users(root[1])}")


def graph() -> tuple[dict[Node, int], dict[Node, set[Node]], set[Node]]:
    """Return the code lines of each node, what it reaches, and the nodes that are needed."""
    nodes: dict[Node, int] = {}
    bodies: dict[Node, ast.stmt] = {}
    names: dict[str, dict[str, Node]] = defaultdict(dict)
    roots: set[Node] = set()
    for path in sorted(SRC.rglob("*.py")):
        parts = path.relative_to(SRC).with_suffix("").parts
        package = parts[:-1]
        module = ".".join(p for p in parts if p != "__init__")
        text = path.read_text()
        tree = ast.parse(text)
        lines = code_lines(text, tree)
        public = path.name == "__init__.py" and not any(p[0] == "_" for p in package)
        for stmt in tree.body:
            if isinstance(stmt, ast.Import | ast.ImportFrom | ast.If):
                for alias, target in imports(stmt, package):
                    names[module][alias] = target
                    if public:
                        roots.add(target)
                continue
            defined = targets(stmt)
            node = module, defined[0] if defined else declared(stmt)
            bodies[node] = stmt
            first = min([stmt.lineno, *(d.lineno for d in getattr(stmt, "decorator_list", ()))])
            nodes[node] = nodes.get(node, 0) + len(lines & {*range(first, stmt.end_lineno + 1)})
            for name in defined:
                names[module][name] = node
            if not defined or getattr(stmt, "decorator_list", ()):
                roots.add(node)
    edges = {n: set(reached(stmt, names[n[0]], names)) for n, stmt in bodies.items()}
    final = {end(r, names) for r in roots}
    return nodes, {n: e & {*nodes} for n, e in edges.items()}, final & {*nodes}


def code_lines(text: str, tree: ast.Module) -> set[int]:
    """Return the numbers of the lines with code, without docstrings."""
    skipped = {
        tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT,
        tokenize.ENDMARKER,
    }  # fmt: skip
    found: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type not in skipped:
            found |= {*range(token.start[0], token.end[0] + 1)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            found -= {*range(node.lineno, node.end_lineno + 1)}
    return found


def imports(stmt: ast.stmt, package: tuple[str, ...]) -> Iterable[tuple[str, Node]]:
    for node in ast.walk(stmt):
        if isinstance(node, ast.ImportFrom) and node.level:
            home = package[: len(package) - node.level + 1]
            module = ".".join([*home, *(node.module or "").split(".")]).strip(".")
            for alias in node.names:
                yield alias.asname or alias.name, (module, alias.name)


def targets(stmt: ast.stmt) -> list[str]:
    if isinstance(stmt, ast.FunctionDef | ast.ClassDef):
        return [stmt.name]
    found = stmt.targets if isinstance(stmt, ast.Assign) else [getattr(stmt, "target", None)]
    return [n.id for t in found if t is not None for n in ast.walk(t) if isinstance(n, ast.Name)]


def declared(stmt: ast.stmt) -> str:
    """Return the first text in a statement, often the name that it declares, and its line."""
    texts = [n.value for n in ast.walk(stmt) if isinstance(n, ast.Constant)]
    return f"{next((t for t in texts if isinstance(t, str)), '')[:40]}:{stmt.lineno}"


def reached(stmt: ast.stmt, here: dict[str, Node], names: dict) -> Iterable[Node]:
    for node in ast.walk(stmt):
        if isinstance(node, ast.Name) and node.id in here:
            yield end(here[node.id], names)
        elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            module, name = here.get(node.value.id, ("", ""))
            yield end((f"{module}.{name}".strip("."), node.attr), names)
        elif isinstance(node, ast.ImportFrom):
            package = tuple(next(iter(here.values()), ("", ""))[0].split(".")[:-1])
            yield from (end(t, names) for _, t in imports(node, package))


def end(node: Node, names: dict) -> Node:
    """Follow a name through the modules that import it."""
    for _ in range(5):
        node = names.get(node[0], {}).get(node[1], node)
    return node


def alone(gone: set[Node], edges: dict, roots: set[Node]) -> set[Node]:
    """Return the nodes that only these roots reach."""

    def closure(start: Iterable[Node], without: set[Node]) -> set[Node]:
        seen = {*start} - without
        stack = [*seen]
        while stack:
            new = edges.get(stack.pop(), set()) - seen - without
            seen |= new
            stack.extend(new)
        return seen

    return closure(gone, set()) - closure(roots - gone, gone)


def users(name: str) -> str:
    """Return how many files of tests, examples and pages have the name."""
    word = name.partition(":")[0]
    counts = []
    for folder, pattern in (("tests", "*.py"), ("examples", "*.*"), ("design/site", "*.md")):
        texts = (p.read_text(errors="ignore") for p in (ROOT / folder).rglob(pattern))
        counts.append(f"{folder} {sum(word in t for t in texts) if word else '?'}")
    return ", ".join(counts)


if __name__ == "__main__":
    main()
