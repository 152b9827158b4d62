"""The structure of the sources: who imports whom, what rules may call, how large it is."""

import ast
import functools
import graphlib
import importlib
import re
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

import functier as ft
from functier import _rooms, protocol
from functier._core import hooks
from functier._core.root import RootLevel
from functier._core.sharing import MEMORY
from functier._levels.level import Level
from functier._levels.states import EndedLevel, resume
from support.figures import CPYTHON, kind_of, uses
from support.rows import run_each
from support.sources import Package, count, is_in, room, tree_of

pytestmark = pytest.mark.inside("The structure of the package is what these are about.")

PACKAGE = Path(ft.__file__).parent
SOURCES = Package(PACKAGE)
FILES, name_of, imports = SOURCES.files, SOURCES.name_of, SOURCES.imports
SCIPY, NETWORKS = PACKAGE / "scipy" / "_rules", PACKAGE / "nn" / "_operations.py"
RULES = sorted(path for folder in (PACKAGE / "_rules", SCIPY) for path in folder.rglob("*.py"))
RULES.append(NETWORKS)


# ---- imports go one way ----

ORDER = [
    "_cpython", "_core", "errors", "progress", "_rules", "_mutation", "_levels", "protocol",
    "_transforms.chunks", "_transforms", "_transforms.tracing", "_transforms.sparse",
    "_transforms.series", "_dask",
    "_programs",
    "_programs.machine.compiler", "_programs.machine.text", "_programs.machine.elementary",
    "_programs.machine.loops", "_programs.machine.linalg", "_programs.machine.lowering",
    "_programs.machine.parts", "_programs.machine.calls", "_programs.machine", "_export",
    "debug", "_control", "modes", "overrides", "_custom", "random", "ops", "numpy",
    "_adopt", "scipy", "optim", "nn", "testing", "_rooms", "__init__", "__main__",
]  # fmt: skip
"""The rooms of the package, those inside others too: each imports from those before it."""

ROOMS = [PACKAGE.joinpath(*name.split(".")) for name in ORDER]
ROOMS = [folder for folder in ROOMS if folder.is_dir()]


def room_of(module):
    """The innermost room that a module is in."""
    return max([name for name in ORDER if is_in(module, name)], key=len, default="__init__")


def rooms_in(modules):
    return {room_of(module) for module in modules if module.startswith("functier")}


def below(folder):
    return [path for path in FILES if folder in path.parents]


@pytest.mark.parametrize("name", ORDER)
def test_rooms_import_those_before(name):
    own = [path for path in FILES if room_of(f"functier.{name_of(path)}") == name]

    assert own
    assert rooms_in(m for p in own for m in imports(p)) <= set(ORDER[: ORDER.index(name) + 1])


def test_every_file_is_in_a_room():
    def check(path):
        assert room(f"functier.{name_of(path)}") in ORDER

    run_each({name_of(v): v for v in FILES}, check)


@pytest.mark.parametrize("folder", ROOMS, ids=name_of)
def test_rooms_state_what_they_import(folder):
    """A private folder does in its docstring, a public one in a comment below it.

    It names those that are in the same folder, or else in that of the package.
    """
    text, name = (folder / "__init__.py").read_text(), name_of(folder)
    stated = re.search(r"^(?:# )?Imports (.*?)\.$", text, re.M | re.S)
    modules = {m for path in below(folder) for m in imports(path)}
    found = rooms_in(m for m in modules if not is_in(m, name))
    beside = f"{name.rpartition('.')[0]}."

    names = {other.removeprefix(beside).partition(".")[0] for other in found}
    assert set(re.findall("`(.*?)`", stated[1])) == names


def test_no_other_file_states_what_it_imports():
    def check(path):
        text = ast.get_docstring(tree_of(path)) or ""
        assert not re.search(r"\bImports\b|imports this file, ", text)

    run_each({name_of(p): p for p in FILES if p.stem != "__init__"}, check)


@pytest.mark.parametrize("folder", ROOMS, ids=name_of)
def test_files_of_a_room_import_each_other_one_way(folder):
    graph = {}
    for path in below(folder):
        name = f"functier.{name_of(path)}".removesuffix(".__init__")
        graph[name] = {m for m in imports(path) if is_in(m, name_of(folder))}

    assert list(graphlib.TopologicalSorter(graph).static_order())  # raises at a circle


def test_few_private_modules_are_loose():
    loose = [p.stem for p in FILES if p.parent == PACKAGE and p.stem[0] == "_"]

    assert sorted(loose) == ["__init__", "__main__", "_rooms"]


def test_rules_import_numpy_the_record_and_other_rules_only():
    def check(path):
        names = "errors", "foreign", "numpy_facts", "op", "rule", "sharing", "table"
        names += "hooks", "numpy_private", "own_code", "unsettled"
        allowed = {f"functier._core.{name}" for name in names}
        allowed |= {f"functier.{name_of(p)}".removesuffix(".__init__") for p in RULES}

        packages = {"numpy", *sys.stdlib_module_names}
        if SCIPY in path.parents:  # imported where SciPy is
            packages.add("scipy")
            allowed |= {"functier._cpython.code", "functier.scipy._dispatching"}
            allowed.add("functier.scipy._private")
        if PACKAGE / "_rules" not in path.parents:  # declared as by a package outside
            allowed.add("functier.protocol")

        for module in imports(path):
            assert module in allowed or module.split(".")[0] in packages

    run_each({name_of(v): v for v in RULES}, check)


EXTRAS = {
    ("_adopt.mathematics", "_special"): ("scipy.special", "for erf and gamma of tensors alone"),
    ("_core.table", "packages"): ("importlib.metadata", "where a function has no rule yet"),
    ("progress._bars", "load"): ("tqdm.auto", "for those who see progress"),
    ("_transforms.chunks.streams", "digest"): ("hashlib", "a third of the import"),
    ("_core.reached", "generators_of"): ("random", "where it matters who draws"),
    ("_transforms.sparse.jacobian", "_scipy"): (
        "scipy.sparse",
        "who wants no sparse matrix needs no SciPy",
    ),
    ("testing._strategies", "hypothesis"): ("hypothesis.extra.numpy", "for those who test with it"),
    ("nn._activations", "_erf"): ("scipy.special", "gelu with approximate='tanh' needs no SciPy"),
}
"""(file, function): what it imports when it is called, and why."""


def test_no_import_inside_a_function():
    def check(path):
        for function in functions(tree_of(path)):
            inside = [n for n in ast.walk(function) if isinstance(n, (ast.Import, ast.ImportFrom))]
            extra, _ = EXTRAS.get((name_of(path), getattr(function, "name", "")), (None, ""))

            assert all(imported(n) == extra for n in inside), f"line {inside[0].lineno}"

    run_each({name_of(v): v for v in FILES}, check)


def imported(node):
    """The one module of an import statement."""
    return node.module if isinstance(node, ast.ImportFrom) else node.names[0].name


def test_only_the_table_and_the_package_import_by_a_name():
    """The declarations, which fill the table, the public modules that are asked for, and what
    a user names.
    """
    words = "import_module(", "__import__("
    found = {
        (name_of(path), function.name)
        for path in FILES
        if any(word in path.read_text() for word in words)  # to unparse all takes long
        for function in ast.walk(tree_of(path))
        if isinstance(function, ast.FunctionDef)
        and any(word in ast.unparse(function) for word in words)
    }

    assert found == {
        ("_core.table", "load"),
        ("_core.hooks", "answer"),
        ("_core.peers", "_elsewhere"),
        ("__init__", "__getattr__"),
        ("_programs.backends", "machine_of"),
        ("_export.export", "export"),
        ("_programs.machine.elementary.__init__", "rule_of"),
        ("_adopt.adoption", "_module_of"),
        ("_adopt.twins", "load_module"),
        ("overrides._hooks", "get_function"),
        ("_core.mirror", "namespace"),
        ("_core.mirror", "original"),
        ("scipy._namespaces", "load_own"),
    }


def functions(tree):
    return [n for n in ast.walk(tree) if isinstance(n, (ast.FunctionDef, ast.Lambda))]


def test_one_room_knows_what_only_cpython_promises():
    """The others ask it, and it says what happens where an interpreter has no such thing."""

    def check(path):
        if room(f"functier.{name_of(path)}") != "_cpython":
            assert [name for name in uses(tree_of(path)) if kind_of(name) in CPYTHON] == []

    run_each({name_of(v): v for v in FILES}, check)


# ---- rules stay inside the protocol ----

HOLES = {
    "array", "asarray", "asanyarray", "asarray_chkfinite", "ascontiguousarray",
    "asfortranarray", "asmatrix", "full", "arange", "linspace", "frombuffer", "fromiter",
    "frompyfunc", "vectorize", "copyto", "put", "place", "putmask", "fill_diagonal", "nditer",
    "ndenumerate", "block_diag", "bmat",
}  # fmt: skip
"""NumPy functions that do not dispatch on a value, or write to one."""

LEAVING = {"float", "complex", "bool"}
"""Builtins that take a value out of its level."""

STATIC = {
    "N", "axis", "axes", "batch", "dtype", "eps", "index", "info", "k", "lead", "length", "n",
    "ndim", "num", "rank", "shape", "shapes", "size", "sizes",
}  # fmt: skip
"""Names that rules give to static arguments: numbers and tuples of numbers."""

ASKING = {
    "finfo", "len", "max", "min", "ndim", "normalize", "range", "shape", "shift", "shift_all",
    "size",
}  # fmt: skip
"""The calls that turn a value into something static."""

ALLOWED = {
    ("contract", "ensure_array", "np.asarray(x)"): "a number or a list: what is no array yet",
    ("creation", "_arange", "np.arange(*args, **kwargs)"): "where all of them are plain numbers",
    ("creation", "_fromiter", "np.fromiter(values, dtype, count)"): "where none has a shape",
    ("join", "_broadcast_batch", "np.full(batch, a)"): "where `a` is a number",
    ("join", "_stack", "np.array(arrays)"): "where all of them are numbers",
    ("reduction", "_extremum_vjp", "np.copyto(c, g, where=equal)"): "where both are arrays",
    ("axes", "as_array", "np.arange(values.start, values.stop, values.step)"): "of a range",
    ("constructors", "are_alike", "bool(np.all(x == first))"): "an answer that all examples share",
}
"""(file, function, call) and why the argument there is not a value."""


def is_static(node):
    """Tell if an expression is made of constants, static names and questions of form."""
    if isinstance(node, ast.Constant):
        return True
    if isinstance(node, ast.Name):
        last = node.id.rsplit("_", 1)[-1]
        return node.id in STATIC or last in STATIC
    if isinstance(node, ast.Attribute):
        constant = ast.unparse(node) in ("np.pi", "np.e", "np.inf", "np.nan")
        return node.attr in STATIC or constant or is_static(node.value)
    if isinstance(node, ast.Call):
        called = node.func.attr if isinstance(node.func, ast.Attribute) else node.func.id
        return called in ASKING and (called not in ("max", "min") or all(map(is_static, node.args)))
    if isinstance(node, ast.Subscript):
        return is_static(node.value)
    parts = [n for n in ast.iter_child_nodes(node) if isinstance(n, ast.expr)]
    return bool(parts) and all(map(is_static, parts))


@functools.cache
def kernels(tree):
    """Return the arguments of the calls of `primitive` in a file."""
    return {
        ast.unparse(n.args[0])
        for n in ast.walk(tree)
        if isinstance(n, ast.Call) and ast.unparse(n.func) == "primitive" and n.args
    }


def is_kernel(node, tree):
    """Tell if a function is what a primitive runs: it gets arrays, never tensors."""
    named = kernels(tree)
    decorators = [ast.unparse(d) for d in getattr(node, "decorator_list", [])]
    return "primitive" in decorators or getattr(node, "name", "") in named


def test_rules_call_nothing_that_does_not_dispatch():
    def check(path):
        tree, found = tree_of(path), []
        for outer in tree.body:
            for node in ast.walk(outer):
                if not isinstance(node, ast.Call) or is_kernel(outer, tree):
                    continue
                called = ast.unparse(node.func)
                hole = called in LEAVING or (called.startswith("np.") and called[3:] in HOLES)
                if (
                    hole
                    and not all(map(is_static, node.args))
                    and not outside_functions(tree, node)
                ):
                    found.append((path.stem, getattr(outer, "name", ""), ast.unparse(node)))

        assert not [f for f in found if f not in ALLOWED]

    run_each({name_of(v): v for v in RULES}, check)


@functools.cache
def inside(tree):
    """All nodes that are in a function."""
    return {node for f in functions(tree) for node in ast.walk(f)}


def outside_functions(tree, node):
    """Tell if a node runs when the module is imported: a constant of the file."""
    return node not in inside(tree)


def test_allowed_places_exist():
    sources = {p.stem: ast.unparse(tree_of(p)) for p in RULES}

    for file, function, text in [*ALLOWED, *WRITES]:
        assert f"def {function}(" in sources[file]
        assert text in sources[file]


TABLES = {"OPS", "UNSUPPORTED", "PARTIALS", "MAKERS", "PENDING", "PIECES"}
"""The names that declarations fill in."""

WRITES = {
    ("scatter", "scatter", "out"): "the kernel of add_at, on an array it has just made",
    ("scatter", "scatter_all", "out"): "that of add_pieces, likewise",
}
"""(file, function, target) and why the target is not a value."""


def containers(function):
    """The names that a function binds to lists and dicts that it makes."""
    found = set()
    for node in ast.walk(function):
        if isinstance(node, ast.arguments) and node.kwarg:
            found.add(node.kwarg.arg)
        if isinstance(node, (ast.Assign, ast.AnnAssign)) and node.value:
            for target in node.targets if isinstance(node, ast.Assign) else [node.target]:
                several = isinstance(target, ast.Tuple) and isinstance(node.value, ast.Tuple)
                pairs = zip(target.elts, node.value.elts) if several else [(target, node.value)]
                found |= {ast.unparse(t) for t, value in pairs if makes_container(value)}
    return found


def makes_container(node):
    if isinstance(node, ast.BinOp):
        return makes_container(node.left) or makes_container(node.right)
    if isinstance(node, ast.IfExp):
        return makes_container(node.body) and makes_container(node.orelse)
    if isinstance(node, ast.Call):
        return ast.unparse(node.func) in ("list", "dict", "dict.fromkeys", "sorted")
    return isinstance(node, (ast.List, ast.ListComp, ast.Dict, ast.DictComp))


def test_rules_assign_no_items():
    def check(path):
        tree, found = tree_of(path), []
        for outer in tree.body:
            for node in ast.walk(outer):
                if isinstance(node, ast.Subscript) and not isinstance(node.ctx, ast.Load):
                    target = ast.unparse(node.value)
                    if target not in TABLES | containers(outer) and not is_kernel(outer, tree):
                        found.append((path.stem, getattr(outer, "name", ""), target))

        assert not [f for f in found if f not in WRITES]

    run_each({name_of(v): v for v in RULES}, check)


# ---- kinds of level state what they do ----

KINDS = {"BatchLevel", "GradLevel", "JvpLevel", "TraceLevel", "RecordLevel"}
FACTS = ["batches", "differentiates", "records", "guards"]
LADDERS = {"_levels.states"}
"""The modules that may compare the class of a level: ``type(level) is not ContextualLevel``."""


def classes_of_levels():
    """The names of all classes of level objects, those of mixins included."""
    for name in (
        "debug._watching",
        "_transforms.tracing.level",
        "_programs.recorder",
        "modes._asking",
    ):
        importlib.import_module(f"functier.{name}")
    found, waiting = {"RootLevel"}, [Level]
    while waiting:
        kind = waiting.pop()
        found.add(kind.__name__)
        waiting += kind.__subclasses__()
    return found


def questions_by_class(tree, names):
    """The expressions that ask of what class of level something is."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and ast.unparse(node.func) in ("isinstance", "issubclass"):
            places = node.args[1:]
        elif isinstance(node, ast.Compare):
            places = [node.left, *node.comparators]
        elif isinstance(node, ast.Dict):
            places = [key for key in node.keys if key is not None]
        elif isinstance(node, ast.match_case):
            places = [node.pattern]
        else:
            continue
        inside = [n for place in places for n in ast.walk(place)]
        if {getattr(n, "id", getattr(n, "attr", None)) for n in inside} & names:
            yield node


def is_rung(node):
    """Tell if an expression compares the class of one level with one kind."""
    return (
        isinstance(node, ast.Compare)
        and ast.unparse(node.left).startswith("type(")
        and isinstance(node.ops[0], (ast.Is, ast.IsNot))
    )


def test_nobody_asks_a_level_for_its_class():
    names, found = classes_of_levels(), []
    assert names >= {*KINDS, "Level", "EndedLevel", "ContextualLevel", "ModeLevel", "Watched"}
    for path in FILES:
        for node in questions_by_class(tree_of(path), names):
            if name_of(path) not in LADDERS or not is_rung(node):
                found.append((name_of(path), node.lineno, ast.unparse(node)))

    assert not found


@pytest.mark.parametrize(
    "text",
    [
        "isinstance(level, BatchLevel)",
        "issubclass(x.level.kind, (grad.GradLevel, JvpLevel))",
        "x.level.kind is GradLevel",
        "kind in (GradLevel, JvpLevel)",
        "{GradLevel: 1}",
    ],
)
def test_a_question_by_class_is_found(text):
    (node,) = questions_by_class(ast.parse(text), classes_of_levels())

    assert not is_rung(node)


def test_each_kind_states_all_facts():
    assert classes_of_levels() >= KINDS
    kinds = {kind.__name__: kind for kind in (RootLevel, EndedLevel)}
    kinds |= {kind.__name__: kind for kind in Level.__subclasses__()}
    kinds |= {k.__name__: k for k in protocol.Level.__subclasses__() if k.__name__ in KINDS}
    stated = {name: [vars(kind)[fact] for fact in FACTS] for name, kind in kinds.items()
              if name in {*KINDS, "RootLevel", "EndedLevel"}}  # fmt: skip

    others = {"ModeLevel", "Shown", "Watched", "Whole", "_Bare"}  # put on a kind; no kind
    assert kinds.keys() - stated.keys() == others | ({"Level"} & kinds.keys())  # of the protocol
    assert [f for f in FACTS if f in Level.__annotations__] == FACTS
    assert stated == {
        "RootLevel": [False, None, False, False],
        "EndedLevel": [False, None, False, False],
        "BatchLevel": [True, None, False, False],
        "GradLevel": [False, "reverse", False, False],
        "JvpLevel": [False, "forward", False, False],
        "TraceLevel": [False, None, True, False],
        "RecordLevel": [False, None, False, True],
    }


def facts_of(level):
    return [getattr(level, fact) for fact in FACTS]


def test_facts_of_live_ended_and_contextual_levels():
    """See `Level`: an ended level does nothing; its kind says what it did."""
    for make, facts in (
        (ft.vmap, [True, None, False, False]),
        (ft.grad, [False, "reverse", False, False]),
    ):
        for escape in ("dead", "passthrough"):
            with make(escape=escape) as cls:
                assert facts_of(cls.level) == facts
                with ft.no_dispatch(cls):
                    assert facts_of(cls.level) == facts
            assert facts_of(cls.level) == [False, None, False, False]
            assert facts_of(cls.level.kind) == facts
            with resume(cls):
                assert facts_of(cls.level) == facts


SAYS_MORE = {
    "_core.sharing": "the table",
    "_core.methods": "the functions of methods and properties",
    "numpy._functions": "how each is computed for tensors in lists",
    "numpy._records": "those that keep a class of records",
    "_levels.operands": "those that take lists in lists",
    "_programs.passes": "calls that give their argument",
    "_programs.quick": "those whose operands tell how many elements there are",
    "_programs.machine.lowering.products": "the views that machine code writes itself",
    "_mutation.array": "those whose views cannot be written to",
    "scipy._integrands": "those that make no jump",
}
"""Files with a table of functions that give views, and what it says besides."""


def test_one_table_says_which_memory_a_result_has():
    """No other one lists three functions that give views, but to say something else of them."""

    def check(path):
        views = {func.__name__ for func, kind in MEMORY.items() if kind != "fresh"}
        for node in tree_of(path).body:
            if isinstance(node, (ast.Assign, ast.AnnAssign)) and node.value is not None:
                parts = [part for part in ast.walk(node.value) if isinstance(part, ast.Attribute)]
                named = {part.attr for part in parts} & views
                assert len(named) < 3 or name_of(path) in SAYS_MORE, (node.lineno, named)

    run_each({name_of(v): v for v in FILES}, check)


# ---- size, documents, and what is public ----


def test_core_is_small():
    core = [PACKAGE / f"{name}.py" for name in ("_core/op", "_core/tensor", "_levels/level")]

    assert sum(count(path.read_text(), tree_of(path)).code for path in core) <= 700


def test_files_are_small_and_documented():
    def check(path):
        text = path.read_text()

        assert len(text.splitlines()) <= 500
        assert ast.get_docstring(tree_of(path))
        assert ast.get_docstring(tree_of(path)) != "stub"
        assert "TODO" not in text
        assert "FIXME" not in text

    run_each({name_of(v): v for v in FILES}, check)


def test_tests_are_documented():
    def check(path):
        assert re.match(r'(#.*\n)*r?"""[^"]', path.read_text())

    run_each({str(p): p for p in sorted(Path(__file__).parents[1].rglob("*.py"))}, check)


PUBLIC = {
    "Function", "custom_op", "once_differentiable", "register_hook", "registry",
    "requires_grad",
    "functional_call", "stack_module_state",
    "enable_grad", "no_grad", "stop_gradient",
    "custom_jvp", "custom_vjp", "custom_vmap", "register_dataclass", "register_pytree_node",
    "finite_difference", "sequential_vmap",
    "elementwise_grad", "hvp", "linear_transpose", "linearize",
    "hessian_diagonal", "laplacian", "value_and_jacobian",
    "jacobian_pattern", "check", "show_versions", "sparse_hessian", "sparse_jacobian",
    "jet", "taylor",
    "GradcheckError", "LeakError", "LeakWarning", "NonFiniteError",
    "ConversionError", "DataDependentError", "EscapedTensorError", "FallbackWarning",
    "HookRecursionError", "LevelError",
    "MutationError", "NoRuleError", "NumberError", "RandomnessError", "Tensor", "UnsupportedError",
    "all_gather",
    "associative_scan", "axis_index", "axis_size", "checkpoint", "cond", "custom_linear_solve",
    "custom_root", "depth_of", "fori_loop", "grad", "grad_and_value", "hessian", "jacfwd",
    "jacrev", "jvp", "map", "no_dispatch", "pmax", "pmean", "pmin", "psum", "psum_scatter",
    "ravel_pytree", "scan", "compile", "trace", "Program", "export", "Exported",
    "adopt", "switch", "tensor", "unwrap", "value_and_grad", "vjp", "vmap", "while_loop",
}  # fmt: skip


def test_public_names():
    modules = {p.stem for p in FILES if p.parent == PACKAGE} | {f.name for f in ROOMS}

    assert {n for n in dir(ft) if not n.startswith("_")} - modules == PUBLIC


def test_type_checkers_see_what_is_imported_on_demand():
    tree = tree_of(PACKAGE / "__init__.py")
    (block,) = [n for n in tree.body if isinstance(n, ast.If)]
    seen = {(node.module, alias.name) for node in block.body for alias in node.names}
    names = {(module, name) for module, given in ft._NAMES.items() for name in given.split()}

    assert ast.unparse(block.test) == "_typing.TYPE_CHECKING"
    assert seen == names | {(None, module) for module in ft._MODULES}
    assert all(alias.name == alias.asname for node in block.body for alias in node.names)
    with pytest.raises(AttributeError, match="module 'functier' has no attribute 'nothing'"):
        ft.nothing  # noqa: B018


# ---- hooks, by which earlier rooms ask later ones ----

HOOKS = {name: hook for name, hook in vars(hooks).items() if isinstance(hook, hooks.Hook)}


def test_each_hook_is_a_question_that_a_later_room_answers():
    assert {name for names in _rooms.ANSWERS.values() for name in names} == HOOKS.keys()
    for hook in HOOKS.values():
        if not hook.place.startswith("_dask") or find_spec("dask"):
            assert callable(hook.answer)
            assert hook.question.endswith("?")


def test_each_hook_is_called():
    words = "|".join(HOOKS)
    texts = [path.read_text() for path in FILES]
    called = {n for text in texts if "hooks import" in text for n in re.findall(words, text)}

    assert called == HOOKS.keys()


def test_a_hook_without_its_room_says_what_is_missing():
    absent = hooks.Hook("Who is there?")
    absent.place = "_nowhere.answer"

    with pytest.raises(ModuleNotFoundError, match=r"functier\._nowhere"):
        absent()
