"""Bars by tqdm, for loops and for blocks that a thread watches.

NOTE [when progress is shown]
    Nobody asked for these bars: they appear during other work. So nothing is shown where nobody
    looks, as in a file or a pipe; in threads and processes of an executor, whose lines would run
    into each other; without tqdm; and if the variable turns it off. A thread watches a block, so
    the code inside does not have to do anything.
"""

import os
import sys
import threading
from collections.abc import Callable, Iterable
from contextlib import nullcontext
from typing import Any, TypeVar

T = TypeVar("T")

VARIABLE = "FUNCTIER_PROGRESS"
PATIENCE = 1.0
"""After so many seconds there is something to see."""
PAUSE = 0.2
"""Seconds between two looks at a block."""

_watched: list[str] = []
"""The labels of the blocks that are watched, from the outside in."""


def bar(items: Iterable[T], label: str = "", unit: str = " steps") -> Iterable[T]:
    """Return the items of a loop, and show how far it has got.

    Parameters
    ----------
    items : iterable
        What to loop over, such as a range.
    label : str
        The text before the bar, if any.
    unit : str
        What is counted, with a space before it.

    Returns
    -------
    iterable
        The same items, with a bar on standard error after a second. Nothing is shown, and `items`
        itself is returned, if standard error is neither a terminal nor a notebook, in threads and
        processes of an executor, without tqdm (``functier[progress]``), and if the environment
        variable ``FUNCTIER_PROGRESS`` is ``0``.

    Examples
    --------
    >>> import functier as ft
    >>> x = 1.0
    >>> for _ in ft.progress.bar(range(100), "fit"):
    ...     x = x - 0.1 * ft.grad(lambda x: (x - 3) ** 2)(x)
    >>> round(float(x), 6)
    3.0
    """
    tqdm = load() if _is_seen() else None
    return items if tqdm is None else tqdm(items, desc=label or None, unit=unit, delay=PATIENCE)


class during:  # as a block reads, such as `suppress` of contextlib
    """Show on standard error that a block is running, if it takes longer than a second.

    The conditions are those of `bar`. Nothing is left on the screen after the block.

    Parameters
    ----------
    label : str
        What the block does.
    count : callable, optional
        A function that returns how far the block has got; another thread calls it.
    total : float, optional
        What `count` returns at the end.
    unit : str
        What is counted, with a space before it.

    Examples
    --------
    >>> import functier as ft
    >>> found = []
    >>> with ft.progress.during("roots", lambda: len(found), total=3, unit="root"):
    ...     for n in (1, 4, 9):
    ...         found.append(n**0.5)
    """

    def __init__(
        self, label: str, count: Callable[[], Any] | None = None, total: float | None = None,
        unit: str = " steps",
    ):  # fmt: skip
        self.label, self.count, self.total, self.unit = label, count, total, unit
        self._thread: threading.Thread | None = None

    def __enter__(self) -> None:
        if not _watched and _is_seen():
            _watched.append(self.label)
            self._over = threading.Event()
            self._thread = threading.Thread(target=self._watch, daemon=True)
            self._thread.start()

    def __exit__(self, *exception: Any) -> None:
        if self._thread is not None:
            self._over.set()
            self._thread.join()
            self._thread = None
            _watched.clear()

    def _watch(self) -> None:
        tqdm = None if self._over.wait(PATIENCE) else load()
        if tqdm is None:
            return
        form = None if self.count else "{desc} [{elapsed}]"
        with tqdm(
            desc=self.label, total=self.total, unit=self.unit, bar_format=form, leave=False,
            delay=PAUSE,
        ) as shown:  # fmt: skip
            shown.start_t -= PATIENCE
            over = False
            while not over:
                shown.n = 0 if self.count is None else self.count()
                shown.refresh()
                over = self._over.wait(PAUSE)


def is_off() -> bool:
    """Return whether nothing may be shown, not even what a user asks for."""
    processes = sys.modules.get("multiprocessing.process")
    worker = processes is not None and processes.parent_process() is not None
    return worker or os.environ.get(VARIABLE) == "0"


def _is_seen() -> bool:
    """Return whether somebody looks: see NOTE [when progress is shown]."""
    stream = sys.stderr
    if stream is None or threading.current_thread() is not threading.main_thread():
        return False
    notebook = type(stream).__module__ == "ipykernel.iostream"
    return (notebook or stream.isatty()) and not is_off()


def load() -> Any:
    """Return the class of bars, or None where tqdm is not installed."""
    try:
        from tqdm.auto import tqdm  # type: ignore[import-untyped]  # an extra
    except ImportError:
        return None
    return tqdm


def bar_of_chunks(label: str, count: int) -> Any:
    """Make a progress bar over `count` chunks of a batch."""
    if is_off():
        return nullcontext()
    tqdm = load()
    if tqdm is None:
        raise ImportError(
            f"{label}: progress=True needs tqdm, which is not installed; write "
            f"pip install 'functier[progress]', in a checkout pip install '.[progress]', or leave "
            f"progress out"
        )
    return tqdm(total=count, desc=label, unit="chunk")
