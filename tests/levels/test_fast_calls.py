"""Fast calls: composed of texts, which linters do not read."""

import builtins
import dis
import linecache
import sys

import pytest

from functier._core.table import load
from functier._levels.batch import BatchLevel
from functier._levels.fast_calls import FastCalls
from functier._levels.grad import GradLevel
from functier._levels.jvp import JvpLevel

pytestmark = pytest.mark.inside("Fast calls are methods of the kinds of level.")

KINDS = [GradLevel, BatchLevel, JvpLevel]


def globals_of(call):
    """The names that a function looks up in its module, or among the builtins."""
    return {i.argval for i in dis.get_instructions(call) if i.opname == "LOAD_GLOBAL"}


@pytest.mark.parametrize("kind", KINDS)
def test_fast_calls_know_all_names_and_are_given_no_others(kind, monkeypatch):
    load()  # the tables, of which calls are made
    given = {}

    class Noted(FastCalls):
        def __init__(self, kind, **names):
            given.update(names)
            super().__init__(kind, **names)

    monkeypatch.setattr(sys.modules[kind.__module__], "FastCalls", Noted)
    calls = {call for call in kind.fast_calls().values() if call.__globals__.get("KIND") is kind}
    used = set().union(*map(globals_of, calls))

    assert {call.__name__ for call in calls} == {"call"}
    for call in calls:
        assert globals_of(call) <= {*call.__globals__, *dir(builtins)}
    assert {*given} - used == set()


@pytest.mark.parametrize("kind", KINDS)
def test_fast_calls_look_like_functions_of_the_module_of_their_kind(kind):
    load()
    module = sys.modules[kind.__module__]
    for call in kind.fast_calls().values():
        code = call.__code__
        linecache.checkcache(code.co_filename)

        assert call.__module__ == module.__name__
        assert code.co_filename.startswith(module.__file__)
        assert linecache.getline(code.co_filename, code.co_firstlineno).startswith("    def call(")
