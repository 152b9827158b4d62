"""Modules to adopt, written from text: one that is adopted and its twin that is not."""

import contextlib
import importlib
import itertools
import sys
import textwrap

_numbers = itertools.count()


def write(folder, files):
    """Write modules, ``{"pkg/mod.py": text}``, below a folder."""
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(textwrap.dedent(text))


@contextlib.contextmanager
def importable(folder):
    """Make the modules of a folder importable, and forget them afterwards."""
    before = set(sys.modules)
    sys.path.insert(0, str(folder))
    importlib.invalidate_caches()
    try:
        yield
    finally:
        sys.path.remove(str(folder))
        for name in set(sys.modules) - before:
            module = sys.modules[name]
            places = getattr(module, "__file__", ""), *getattr(module, "__path__", ())
            if any(str(folder) in str(place) for place in places):
                del sys.modules[name]


def module_of(folder, text):
    """Return a new module with this text."""
    name = f"adoptee_{next(_numbers)}"
    write(folder, {f"{name}.py": text})
    with importable(folder):
        return importlib.import_module(name)


def state(module):
    """Return all that an adoption changes in a module: names, code, defaults, attributes."""
    names = {name: id(value) for name, value in vars(module).items()}
    inside = {}
    for name, value in vars(module).items():
        for path, x in [(name, value), *[(f"{name}.{k}", v) for k, v in _attributes(value)]]:
            x = getattr(x, "__func__", x)
            if hasattr(x, "__code__"):
                kept = x.__code__, x.__defaults__, x.__kwdefaults__
                inside[path] = [id(v) for v in kept]
    attributes = {
        (name, k): id(v)
        for name, value in vars(module).items()
        for k, v in _attributes(value)
        if not k.startswith("__")
    }
    return list(vars(module)), names, inside, attributes


def _attributes(value):
    return list(vars(value).items()) if isinstance(value, type) else []


def outcome(f, *args):
    """A result, or the error."""
    try:
        return f(*args)
    except Exception as error:
        return type(error), str(error)
