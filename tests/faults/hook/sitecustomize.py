"""Changes modules of the package as they are imported, in each process that has this folder on
its path: as the file says that the variable ``FAULTS`` names.

A statement is either changed, or noted when it runs; `faults.inventory` writes the file.
"""

import atexit
import builtins
import importlib.abc
import importlib.machinery
import json
import os
import sys

REACHED: set = set()
"""The numbers of the noted statements that have run since somebody cleared this."""


class Finder(importlib.abc.MetaPathFinder):
    """Find the modules that are changed, and give them a loader that does it."""

    def __init__(self, wanted):
        self.wanted = wanted

    def find_spec(self, name, path, target=None):
        if name not in self.wanted:
            return None
        spec = importlib.machinery.PathFinder.find_spec(name, path, target)
        if spec is not None:
            spec.loader = Loader(name, spec.origin, self.wanted[name])
        return spec


class Loader(importlib.machinery.SourceFileLoader):
    """Compile the changed source; it is never kept as bytecode."""

    def __init__(self, name, path, records):
        super().__init__(name, path)
        self.records = records

    def get_code(self, fullname):
        from faults.planting import planted

        tree = planted(fullname, self.get_data(self.path), self.records)
        return compile(tree, self.path, "exec", dont_inherit=True)


def install(path):
    with open(path) as file:
        records = json.load(file)
    wanted: dict = {}
    for record in records:
        wanted.setdefault(record["module"], []).append(record)
    builtins._reached = REACHED.add
    sys.meta_path.insert(0, Finder(wanted))
    test, folder = os.environ.get("PYTEST_CURRENT_TEST"), os.environ.get("FAULTS_REACHED")
    if test and folder:  # a program that a test runs
        atexit.register(write, folder, test.rpartition(" ")[0], 0.0)


def write(folder, test, seconds):
    """Write down what a test reached, in a file of this process."""
    with open(os.path.join(folder, f"{os.getpid()}.jsonl"), "a") as file:
        print(json.dumps([test, round(seconds, 4), sorted(REACHED)]), file=file)


if "FAULTS" in os.environ:
    install(os.environ["FAULTS"])
