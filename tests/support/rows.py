"""A test of hundreds of rows, which names those that fail.

A test for each record, file or sample row takes longer to collect and to report than to run. Tables
of fewer rows are parametrized.
"""

from collections.abc import Callable
from typing import Any

import pytest


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
