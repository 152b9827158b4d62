"""A module's syntax tree with faults planted in it, or with notes of what runs."""

import ast

from faults.sites import changes, statements


def planted(module: str, source: bytes, records: list[dict]) -> ast.Module:
    """Return the tree of a module in which records are carried out.

    A record names a statement. With ``"change"``, the statement is changed; with ``"note"``, a
    number, the statement tells `_reached` this number before it runs. A statement outside of
    functions runs at import, where no test is: there the functions in it are noted, or all of the
    module where there are none in it.
    """
    tree = ast.parse(source)
    nodes = {key(s): node for s, node in statements(module, tree)}
    for record in records:
        node = nodes[record["function"], record["text"], record["number"]]
        if "change" in record:
            [change] = [c for words, c in changes(node) if words == record["change"]][:1]
            replace(tree, node, [change(node)])
        elif record["function"] != "<module>":
            replace(tree, node, [call(record["note"]), node])
        elif not note_functions(node, record["note"]):
            note_functions(tree, record["note"])
    return ast.fix_missing_locations(tree)


def key(statement) -> tuple[str, str, int]:
    return statement.function, statement.text, statement.number


def call(number: int) -> ast.Expr:
    return ast.Expr(ast.Call(ast.Name("_reached", ast.Load()), [ast.Constant(number)], []))


def replace(tree: ast.AST, old: ast.stmt, new: list) -> None:
    """Put statements where one is; they take its place in the file, too."""
    for node in ast.walk(tree):
        for value in vars(node).values():
            if isinstance(value, list) and any(part is old for part in value):
                for part in new:
                    ast.copy_location(part, old)
                i = next(i for i, part in enumerate(value) if part is old)
                value[i : i + 1] = new
                return


def note_functions(tree: ast.AST, number: int) -> bool:
    """Have all functions in a tree tell a number; return False where there is none."""
    found = [n for n in ast.walk(tree) if isinstance(n, (ast.FunctionDef, ast.Lambda))]
    for node in found:
        told = call(number)
        if isinstance(node, ast.FunctionDef):
            at = 1 if ast.get_docstring(node) and len(node.body) > 1 else 0
            node.body.insert(at, ast.copy_location(told, node.body[0]))
        else:
            pair = ast.Tuple([told.value, node.body], ast.Load())
            node.body = ast.copy_location(
                ast.Subscript(pair, ast.Constant(1), ast.Load()), node.body
            )
    return bool(found)
