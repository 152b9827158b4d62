"""The functions that an example transforms and calls, and whether C libraries can be made of them.

``python -m support.gallery examples/maml.py`` from the folder of the tests lists each function that
a transform has made, and that code outside of all transforms calls. ``--export`` tries them, too.
A notebook is run cell by cell.
"""

import argparse
import contextlib
import copy
import io
import json
import re
import runpy
import sys
import tempfile
import types
import warnings
from pathlib import Path

import functier as ft

Transformed, Compiled = type(ft.grad(abs)), type(ft.compile(abs))


class Calls:
    """The first call of each function, by the name of what it is."""

    def __init__(self):
        self.found, self.inside = {}, False

    def watched(self, call, name):
        def watching(*args, **kwargs):
            if self.inside:
                return call(*args, **kwargs)
            own = name()
            if own not in self.found:
                with contextlib.suppress(Exception):  # what has no copy changes nothing
                    self.found[own] = call, copy.deepcopy(args), copy.deepcopy(kwargs)
                self.found.setdefault(own, (call, args, kwargs))
            self.inside = True
            try:
                return call(*args, **kwargs)
            finally:
                self.inside = False

        return watching

    def install(self):
        make, run = Transformed.__init__, Compiled.__call__

        def __init__(own, call, func, transform, options):
            make(own, call, func, transform, options)
            own.__call__ = self.watched(call, own.nested_label)

        def __call__(own, *args, **kwargs):
            return self.watched(types.MethodType(run, own), own.nested_label)(*args, **kwargs)

        Transformed.__init__, Compiled.__call__ = __init__, __call__


def run(path):
    """Run an example, whose pictures are thrown away, or a notebook."""
    if path.suffix == ".py":
        with tempfile.TemporaryDirectory() as folder:
            sys.argv = [str(path)] + ["--out", folder] * ("--out" in path.read_text())
            runpy.run_path(str(path), run_name="__main__")
        return
    space = {"__name__": "__main__"}
    for cell in json.loads(path.read_text())["cells"]:
        if cell["cell_type"] == "code":
            text = re.sub(r"^%.*", "", "".join(cell["source"]), flags=re.M)
            exec(compile(text, str(path), "exec"), space)


def attempt(call, args, kwargs):
    """Export a function; return nothing, or the first reason of the refusal."""
    func = call.__self__.__wrapped__ if type(call) is types.MethodType else call
    given = (lambda *args: func(*args, **kwargs)) if kwargs else func
    with tempfile.TemporaryDirectory() as folder:
        try:
            ft.export(Path(folder, "made"), given, *args, shared=False, exact=False)
        except Exception as error:
            lines = str(error).split("\n")
            return f"{type(error).__name__}: {lines[min(1, len(lines) - 1)].strip()}"
    return ""


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("example", type=Path)
    parser.add_argument("--export", action="store_true")
    given = parser.parse_args()
    calls = Calls()
    calls.install()
    warnings.simplefilter("ignore")
    with contextlib.redirect_stdout(io.StringIO()):
        run(given.example)
        calls.inside = True
        rows = [(k, attempt(*x) if given.export else "") for k, x in calls.found.items()]
    for row in sorted(rows):
        print("\t".join(row).rstrip())


if __name__ == "__main__":
    main()
