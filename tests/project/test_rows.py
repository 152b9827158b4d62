"""A test of many rows runs all of them, and names those that fail with their messages."""

import inspect

import pytest

from rows import each, run_each


def positive(x):
    assert x > 0, f"{x} is too small"


def test_all_rows_that_fail_are_named_with_their_messages():
    with pytest.raises(AssertionError) as error:
        run_each({"one": 1, "minus one": -1, "zero": 0, "text": ""}, positive)

    text = str(error.value)
    assert text.startswith("3 of 4 rows fail\n")
    assert "minus one: AssertionError: -1 is too small" in text
    assert "zero: AssertionError: 0 is too small" in text
    assert "text: TypeError: '>' not supported" in text
    assert "\none: " not in text
    assert isinstance(error.value.__cause__, AssertionError)  # shown with its lines


def test_a_row_that_should_have_raised_fails():
    def raising(x):
        with pytest.raises(ValueError):
            float(x)

    run_each({"word": "word"}, raising)
    with pytest.raises(AssertionError, match="number: Failed: DID NOT RAISE"):
        run_each({"number": "1"}, raising)


def test_each_runs_every_row_and_leaves_the_other_parameters():
    seen = []

    @each("x, y", [(1, 2), (3, 4), (1, 2)])
    def test(fixture, x, y):
        """A docstring."""
        seen.append((fixture, x, y))

    test(fixture="f")

    assert seen == [("f", 1, 2), ("f", 3, 4), ("f", 1, 2)]
    assert list(inspect.signature(test).parameters) == ["fixture"]
    assert (test.__name__, test.__doc__) == ("test", "A docstring.")


@pytest.mark.parametrize("ids", [lambda row: f"row {row}", ["row 1", "row -1", "row -2"]])
def test_each_names_its_rows(ids):
    test = each("x", [1, -1, -2], ids)(positive)

    with pytest.raises(AssertionError, match=r"(?s)2 of 3 .*\nrow -1: .*\nrow -2: "):
        test()


def test_rows_of_one_name_are_numbered():
    with pytest.raises(AssertionError, match=r"(?s)2 of 2 .*\n0: .*\n0#2: "):
        each("x", [0, 0])(positive)()


def test_a_table_without_rows_is_a_mistake():
    with pytest.raises(AssertionError, match="no rows"):
        each("x", [])
