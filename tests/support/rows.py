"""Tests of many rows: one test runs them all, and names those that fail.

A test for each row of a large table takes longer to collect and to report than to run.
"""

import functools
import inspect
from collections.abc import Callable, Iterable
from typing import Any

import pytest


def name_of(value: Any) -> str:
    """The name of a row that has no id: a function's name, a text or the text of a value."""
    if isinstance(value, tuple):
        return "-".join(map(name_of, value))
    return getattr(value, "__name__", None) or str(value)


def run_each(rows: dict[str, Any], test: Callable) -> None:
    """Run a test of each row, by its name; fail with the names and messages of all that fail."""
    failed: dict[str, BaseException] = {}
    for name, row in rows.items():
        try:
            test(row)
        except (Exception, pytest.fail.Exception) as error:
            failed[name] = error
    if failed:
        lines = [
            f"{name}: {type(e).__name__}: {str(e).strip()[:300]}" for name, e in failed.items()
        ]
        text = "\n".join([f"{len(failed)} of {len(rows)} rows fail", *lines])
        raise AssertionError(text) from next(iter(failed.values()))


def each(names: str, values: Iterable, ids: Iterable[str] | Callable = name_of) -> Callable:
    """A decorator like ``pytest.mark.parametrize``, with all rows in one test."""
    wanted, rows = [name.strip() for name in names.split(",")], {}
    given = list(values)
    texts = [ids(value) for value in given] if callable(ids) else list(ids)
    for text, value in zip(texts, given, strict=True):
        number, name = 2, text
        while name in rows:
            name, number = f"{text}#{number}", number + 1
        rows[name] = value if len(wanted) > 1 else (value,)
    assert rows, "no rows"

    def decorate(test: Callable) -> Callable:
        signature = inspect.signature(test)
        others = [p for name, p in signature.parameters.items() if name not in wanted]

        @functools.wraps(test)
        def all_rows(**fixtures: Any) -> None:
            run_each(rows, lambda row: test(**fixtures, **dict(zip(wanted, row, strict=True))))

        all_rows.__signature__ = signature.replace(parameters=others)  # type: ignore[attr-defined]
        return all_rows

    return decorate
