"""The inventory of faults: its data is whole, and what it plants is what its words say."""

import ast
import functools
import os

import pytest

from faults import inventory
from faults.planting import planted
from faults.sites import changes, statements
from support.rooms import ROOMS

SOURCE = '''
"""Text."""
import os
TABLE = {"a": 1, "b": lambda x: x}

def outer(x, flag=False):
    """Text."""
    if x > 0 and flag:
        x += 1
        return inner(x, 2)
    for i in range(3):
        x.y = -i
    return None
'''


def test_each_change_of_the_inventory_has_tests_or_a_reason():
    records = inventory.read()

    assert len(records) == inventory.SIZE
    for record in records:
        assert ("tests" in record) != ("nothing" in record), inventory.describe(record)
        assert len(record.get("tests", [])) <= 3
    assert len({inventory.place(r) for r in records}) == inventory.SIZE


def test_quick_tests_of_the_kernel_find_nearly_all_changes_in_it():
    kernel = ROOMS["kernel"]
    own = [r for r in inventory.read() if r["room"] in kernel.sources.split() and "tests" in r]
    paths = tuple(f"{path}/" for path in kernel.paths.split())
    found = [r for r in own if not r.get("slow") and any(t.startswith(paths) for t in r["tests"])]

    assert len(found) >= 0.95 * len(own)


def test_each_test_of_the_inventory_is_a_function_of_its_file():
    for test in {test for r in inventory.read() for test in r.get("tests", [])}:
        file, _, name = test.partition("[")[0].partition("::")

        assert f"def {name}(" in text_of(file), test


@functools.cache
def text_of(file):
    return (inventory.TESTS.parent / file).read_text()


def test_tests_that_are_gone_or_that_fail_find_nothing(monkeypatch, tmp_path):
    monkeypatch.delenv("PYTEST_CURRENT_TEST")
    here = "tests/project/test_faults.py::test_what_runs_is_noted"
    names = [here, f"{here}_elsewhere", "tests/gone.py::test_a"]
    (tmp_path / "told").write_text("start a\nfailed a\nstart b\n")
    (tmp_path / "1.jsonl").write_text('["a", 0.1, []]\n["b", 0.1, []]\n')

    assert list(inventory.passing([{"tests": names}])) == [here]
    assert [test for test, _, _ in inventory.written(tmp_path)] == ["b"]


@pytest.mark.skipif(os.name == "nt", reason="Windows counts no CPU seconds for it")
def test_a_run_is_stopped_by_the_seconds_that_it_computes(monkeypatch, tmp_path):
    monkeypatch.delenv("PYTEST_CURRENT_TEST")
    (tmp_path / "test_endless.py").write_text("while True:\n    pass\n")

    code = inventory.pytest(tmp_path, [], ["-p", "no:xdist", str(tmp_path)], 1)
    assert code < -1, "it took ten times as long"


def test_statements_have_their_function_and_the_text_of_their_head():
    found = [(s.function, s.text) for s, _ in statements("m", ast.parse(SOURCE))]

    assert found == [
        ("<module>", "TABLE = {'a': 1, 'b': lambda x: x}"),
        ("outer", "if x > 0 and flag:\n    pass"),
        ("outer", "x += 1"),
        ("outer", "return inner(x, 2)"),
        ("outer", "for i in range(3):\n    pass"),
        ("outer", "x.y = -i"),
        ("outer", "return None"),
    ]


def record_of(text, **others):
    for statement, _ in statements("m", ast.parse(SOURCE)):
        if statement.text.startswith(text):
            return {**vars(statement), **others}
    raise AssertionError(text)


@pytest.mark.parametrize(
    ("text", "change", "expected"),
    [
        ("if", "the condition is negated", "if not (x > 0 and flag):"),
        ("if", "GtE instead in x > 0", "if x >= 0 and flag:"),
        ("if", "Or instead in x > 0 and flag", "if x > 0 or flag:"),
        ("if", "without the last in x > 0 and flag", "if x > 0 and True:"),
        ("x += 1", "left out", "        pass\n        return inner"),
        ("x += 1", "one more in 1", "x += 2"),
        ("return inner", "returns None", "return None\n    for"),
        ("return inner", "two arguments swapped in inner(x, 2)", "return inner(2, x)"),
        ("x.y", "without the sign in -i", "x.y = +i"),
        ("for", "one more in 3", "for i in range(4):"),
        ("TABLE", "without the last item in {'a': 1, 'b': lambda x: x}", "TABLE = {'a': 1}"),
    ],
)
def test_a_change_is_planted(text, change, expected):
    tree = planted("m", SOURCE.encode(), [record_of(text, change=change)])

    assert expected in ast.unparse(tree)


def test_every_change_is_another_program_that_compiles():
    for statement, node in statements("m", ast.parse(SOURCE)):
        for words, _ in changes(node):
            tree = planted("m", SOURCE.encode(), [{**vars(statement), "change": words}])

            compile(tree, "m", "exec")
            assert ast.unparse(tree) != ast.unparse(ast.parse(SOURCE))


def test_what_runs_is_noted():
    tree = planted(
        "m",
        SOURCE.encode(),
        [record_of("x.y", note=1), record_of("TABLE", note=2), record_of("x += 1", note=3)],
    )
    seen: list = []
    names = {"_reached": seen.append}
    exec(compile(tree, "m", "exec"), names)

    names["outer"](type("Any", (), {"__gt__": lambda *xs: False})())
    assert seen == [1, 1, 1]
    names["TABLE"]["b"](0)
    assert seen == [1, 1, 1, 2]


def test_the_draw_is_by_the_lines_of_each_room():
    wanted = inventory.quotas()

    assert sum(wanted.values()) == pytest.approx(inventory.SIZE, abs=5)
    assert min(wanted.values()) == 1
