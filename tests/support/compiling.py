"""The check of a compiled function against the function, to the last bit."""

import optree

import functier as ft
from strategies.outcomes import difference


def leaves(tree):
    """The leaves of a result; of a module its arrays."""
    return optree.tree_leaves(tree, namespace="functier")


def called(f, *calls, of=lambda tree: tree, **options):
    """Each call of the compiled function gives what the function gives, twice; return it."""
    compiled = ft.compile(f, **options)
    for args in (*calls, *calls):
        problem = difference(of(compiled(*args)), of(f(*args)))
        assert problem is None, (args, problem)
    return compiled


def check(f, *calls, programs=None):
    """Each call of the compiled function, and of a program, gives what the function gives."""
    compiled = called(f, *calls, of=leaves)
    program = ft.trace(f)(*calls[0])
    assert difference(leaves(program(*calls[0])), leaves(f(*calls[0]))) is None
    assert program.source
    assert programs in (None, len(compiled.programs))
    return compiled
