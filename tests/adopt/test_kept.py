"""The changes of adopted code on disk: read by the next process, and right or not used."""

import math
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from adopt_support import importable, module_of, write

import functier as ft
from functier._adopt import bindings, kept

TEXT = """
import math
import numpy as np

def f(x):
    def inner(y):
        import math as m
        return float(y) * m.sin(y)
    return max(inner(x), 0.0) + np.float64(x)

class C:
    def g(self, x):
        import numpy.linalg
        return numpy.linalg.norm(np.array([x, int(2.5)]))
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """An empty folder for the cache, which other tests do without."""
    monkeypatch.setenv("FUNCTIER_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture
def looked_at(monkeypatch):
    """The code that was looked at, as nothing of it was known."""
    seen, changes_of = [], bindings.changes_of
    monkeypatch.setattr(
        bindings, "changes_of", lambda code, names: seen.append(code) or changes_of(code, names)
    )
    return seen


def forget():
    """Forget what a process knows; another one has only what is on disk."""
    bindings._REWRITTEN.rows.clear()


def adopted_code(module):
    with ft.adopt(module):
        slope = ft.grad(module.f)(0.5), ft.grad(module.C().g)(0.5)
        return module.f.__code__, module.C.g.__code__, slope


def test_another_process_reads_the_changes(folder, looked_at, tmp_path):
    module = module_of(tmp_path, TEXT)
    first = adopted_code(module)
    assert len(looked_at) == 2 and len(list(folder.iterdir())) == 1
    forget()
    sys.modules.pop("functier-math", None)
    second = adopted_code(module)
    assert len(looked_at) == 2
    assert first == second  # code objects are compared by what they contain
    assert math.isclose(first[2][0], 2 * 0.5 * 0 + math.sin(0.5) + 0.5 * math.cos(0.5) + 1.0)


@pytest.mark.parametrize(
    "change",
    [
        lambda module: vars(module).update(max=abs),
        lambda module: vars(module).update(np=math),
        lambda module: setattr(module, "f", module.f.__class__(
            module.f.__code__.replace(co_firstlineno=99), vars(module), "f")),
    ],
    ids=["a name is another object", "a module is another one", "a line"],
)  # fmt: skip
def test_what_the_changes_depend_on_is_in_the_key(change, folder, looked_at, tmp_path):
    module = module_of(tmp_path, TEXT)
    with ft.adopt(module):
        pass
    forget()
    change(module)
    del looked_at[:]
    with ft.adopt(module):
        pass
    assert len(looked_at) == 2 and len(list(folder.iterdir())) == 2


@pytest.mark.parametrize("fact", ["aliases", "version"])
def test_what_all_changes_depend_on_is_in_the_key(fact, folder, looked_at, tmp_path, monkeypatch):
    module = module_of(tmp_path, TEXT)
    with ft.adopt(module):
        pass
    forget()
    kept._identity.cache_clear()
    if fact == "aliases":
        monkeypatch.setitem(kept.twins.ALIASES, "_functier other", None)
    else:
        monkeypatch.setattr(sys, "version", "another one")
    del looked_at[:]
    with ft.adopt(module):
        pass
    kept._identity.cache_clear()
    assert len(looked_at) == 2


def test_a_file_that_is_not_whole_is_not_used(folder, looked_at, tmp_path):
    module = module_of(tmp_path, TEXT)
    first = adopted_code(module)
    (file,) = folder.iterdir()
    file.write_bytes(file.read_bytes()[:-3])
    forget()
    assert adopted_code(module) == first and len(looked_at) == 4
    forget()
    assert adopted_code(module) == first and len(looked_at) == 4  # it was written again


def test_the_twin_of_an_import_has_to_be_there(folder, looked_at, tmp_path, monkeypatch):
    module = module_of(tmp_path, TEXT)
    first = adopted_code(module)
    forget()
    right = kept.Names.__init__

    def without(self, namespace, call, owner, module, pattern):
        right(self, namespace, call, owner, lambda name: None, pattern)

    monkeypatch.setattr(kept.Names, "__init__", without)
    with ft.adopt(module):
        assert module.f.__code__ != first[0]
    assert len(looked_at) == 4


def test_nothing_is_kept_where_the_cache_is_off(tmp_path, monkeypatch, looked_at):
    monkeypatch.setenv("FUNCTIER_CACHE", "0")
    module = module_of(tmp_path, TEXT)
    first = adopted_code(module)
    forget()
    assert adopted_code(module) == first and len(looked_at) == 4


PROGRAM = """
import sys, functier as ft
from functier._adopt import bindings
seen, changes_of = [], bindings.changes_of
bindings.changes_of = lambda *given: seen.append(given) or changes_of(*given)
import package
with ft.adopt("package"):
    print(len(seen), ft.grad(package.f)(0.5))
"""


def test_processes_of_any_hash_seed_share_the_changes(tmp_path, folder):
    text = TEXT + "\ndef chosen(x):\n    return float(x) if x in {'a', 'b', 'c', 'd'} else x\n"
    write(tmp_path, {"package.py": text})
    with importable(tmp_path):
        lines = []
        for seed in "123":
            paths = os.pathsep.join([str(tmp_path), *sys.path])
            env = {**os.environ, "PYTHONPATH": paths, "PYTHONHASHSEED": seed}
            done = subprocess.run(
                [sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=True, env=env
            )
            lines.append(done.stdout.split())
    assert [line[0] for line in lines] == ["3", "0", "0"] and len({line[1] for line in lines}) == 1
    assert np.isfinite(float(lines[0][1])) and Path(folder).is_dir()
