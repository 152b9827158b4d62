"""Every step of the table of states in design note 6, at each kind of level."""

import ast
import gc
import threading
from contextvars import copy_context
from pathlib import Path

import numpy as np
import pytest

import functier as ft
from functier._levels import states as _states
from functier._levels.jvp import INFINITE, Infinite
from functier._levels.states import ContextualLevel, DeadLevel, PassthroughLevel
from functier.debug import _watching
from functier.modes import _asking as _asking
from support.basics import HANG, equal, in_thread, wait_until

pytestmark = pytest.mark.inside("A machine of states is walked through, beside a model of it.")

NOTE = Path(__file__).resolve().parents[2] / "design" / "0006-escape-and-no-dispatch.md"
SOURCE = Path(ft.__file__).parent
X = np.array([1.0, 2.0, 3.0])

KINDS = {
    "vmap": lambda f, escape: ft.vmap(f, escape=escape)(X),
    "vmap of vmap": lambda f, escape: ft.vmap(ft.vmap(f, escape=escape), escape=escape)(X[:, None]),
    "grad": lambda f, escape: ft.grad(f, escape=escape)(X),
    "jvp": lambda f, escape: ft.jvp(f, (X,), (X,), escape=escape),
}
"""A call of `f` at a level of each kind, which has the values of `X`."""

LAYERS = {
    "live": (),
    "watched": (_watching.LOOKING,),
    "moded": (_asking.ASKING,),
    "moded and watched": (_watching.LOOKING, _asking.ASKING),
}
"""The layers of each live state."""

ENDED = {"dead": DeadLevel, "passthrough": PassthroughLevel}


def table():
    """The steps of the note: where each leads."""
    rows = [line.strip("| ").split(" | ") for line in NOTE.read_text().splitlines() if "|" in line]
    start = rows.index(["from", "step", "to"]) + 2
    steps = {}
    for row in rows[start:]:
        if len(row) != 3 or row[0] not in {*LAYERS, *ENDED, "muted", "resumed"}:
            break
        steps[row[0], row[1]] = row[2]
    return steps


STEPS = table()


class Seeing(ft.modes.TensorFunctionMode):
    """Counts the calls that it sees."""

    count = 0

    def __tensor_function__(self, func, types, args=(), kwargs=None):
        Seeing.count += 1
        return func(*args, **(kwargs or {}))


class Walk:
    """A tensor whose level goes from state to state."""

    def __init__(self, x, taken):
        self.x, self.cls, self.state, self.taken = x, type(x), "live", taken
        self.blocks = {}
        self.check()

    def step(self, name, do=lambda: None):
        """Take a step, and look whether the state is the one that the note says."""
        do()
        self.taken.add((self.state, name))
        self.state = STEPS[self.state, name]
        self.check()

    def on(self, name, manager):
        self.step(name, manager.__enter__)
        self.blocks[name] = manager

    def off(self, name, of):
        self.step(name, lambda: self.blocks.pop(of).__exit__(None, None, None))

    def debug(self):
        self.on("a debugger is switched on", ft.debug.debug_nans())

    def no_debug(self):
        self.off("it is switched off", "a debugger is switched on")

    def mode(self):
        self.on("a mode is switched on", Seeing())

    def no_mode(self):
        self.off("the mode is switched off", "a mode is switched on")

    # ---- a use of the tensor in each state ----

    def level(self):
        return vars(self.cls)["level"]

    def check(self):
        if self.state in LAYERS:
            infinite = (INFINITE,) if isinstance(self.level(), Infinite) else ()
            layers = (*infinite, *LAYERS[self.state])
            assert type(self.level()) is _states.state_of(self.level().kind, layers)
            self.computes()
        elif self.state in ENDED:
            assert type(self.level()) is ENDED[self.state]
            self.has_ended(self.state)
        else:
            assert type(self.level()) is ContextualLevel
            if self.state == "muted":
                equal(np.ravel(bare(self.x * 3.0)), X * 3.0)
                assert in_thread(lambda: type(self.x * 3.0)) is self.cls
            else:
                self.computes()
                ended = type(object.__getattribute__(self.level(), "level"))
                in_thread(lambda: self.has_ended(next(k for k, v in ENDED.items() if v is ended)))

    def computes(self):
        """The right answer, and the debugger and the modes look if they are on."""
        before = Seeing.count
        y = self.x * 3.0
        assert type(y) is self.cls
        assert (Seeing.count > before) is ("moded" in self.state)
        equal(np.ravel(bare(y)), X * 3.0)
        with np.errstate(all="ignore"):
            if "watched" in self.state:
                assert raises(ft.NonFiniteError, lambda: np.log(self.x * 0.0))
            else:
                assert type(np.log(self.x * 0.0)) is self.cls

    def has_ended(self, how):
        if how == "dead":
            assert raises(ft.EscapedTensorError, lambda: self.x * 3.0)
        else:
            equal(np.ravel(self.x * 3.0), X * 3.0)


def raises(kind, use):
    try:
        use()
    except kind:
        return True
    return False


def bare(x):
    while isinstance(x, ft.Tensor):
        x = x.elem()
    return x


def through_the_layers(kind, taken):
    """The eight steps between the four live states."""

    def f(x):
        walk = Walk(x, taken)
        walk.debug(), walk.mode(), walk.no_debug(), walk.no_mode()
        walk.mode(), walk.debug(), walk.no_mode(), walk.no_debug()
        return np.sum(x)

    KINDS[kind](f, "dead")


def to_the_end(kind, taken, state, escape):
    """Into a live state, and to the end; the layers are lifted after it, and it runs again."""
    walks = []

    def f(x):
        walk = Walk(x, taken)
        if "watched" in state:
            walk.debug()
        if "moded" in state:
            walk.mode()
        walks.append(walk)
        return np.sum(x)

    try:
        KINDS[kind](f, escape)
        (walk,) = walks
        walk.step(f"the level ends, {escape}")
    finally:
        for manager in walks[0].blocks.values():
            manager.__exit__(None, None, None)
    walk.check()
    with ft.debug.debug_nans(), Seeing():
        _watching.LOOKING.lay(walk.level())
        _asking.ASKING.lay(walk.level())
        walk.check()
    again = _states.resume(walk.cls)
    walk.step("it runs again", again.__enter__)
    walk.step(f"that is over, {escape}", lambda: again.__exit__(None, None, None))


def mute(kind, taken):
    """Out of a live state for one context, and back."""

    def f(x):
        walk = Walk(x, taken)
        off = ft.no_dispatch(walk.cls)
        walk.step("no_dispatch begins", off.__enter__)
        walk.step("no_dispatch ends", lambda: off.__exit__(None, None, None))
        return np.sum(x)

    KINDS[kind](f, "dead")


def again(kind, taken, escape):
    """A later level has the class of one that has ended in whatever state."""
    seen = []

    def f(x):
        seen.append((id(type(x)), type(type(x).level)))
        return np.sum(x * 3.0)

    for _ in range(3):
        KINDS[kind](f, escape)
    with ft.debug.debug_nans():
        KINDS[kind](f, escape)
        with Seeing():
            KINDS[kind](f, escape)
    KINDS[kind](f, escape)
    assert len({i for i, _ in seen}) == 1
    assert len({k for _, k in seen[:3]} | {seen[-1][1]}) == 1
    assert [k.__name__.partition(seen[0][1].__name__)[0] for _, k in seen[3:]] == [
        "Watched",
        "ModedWatched",
        "",
    ]
    taken.add((escape, "a later level gets the class"))


def walk_levels(kind):
    """The steps that were taken at a kind of level."""
    taken: set = set()
    gc.collect()
    try:
        for escape in ENDED:
            again(kind, taken, escape)
        through_the_layers(kind, taken)
        mute(kind, taken)
        for state in LAYERS:
            for escape in ENDED:
                to_the_end(kind, taken, state, escape)
    finally:
        while _asking.BY_HAND:  # where a check has failed
            _asking.BY_HAND.pop()[1]()
    return taken


@pytest.mark.parametrize("kind", KINDS)
def test_every_step(kind):
    assert walk_levels(kind) == {*STEPS}
    assert len(STEPS) == 24


# ---- the checks are checked ----


def found(kind="grad"):
    """Tell if a walk finds an error."""
    try:
        walk_levels(kind)
    except (AssertionError, ft.EscapedTensorError, ft.NonFiniteError):
        return True
    return False


def grad_level():
    levels = []
    ft.grad(lambda x: (levels.append(x.level.kind), np.sum(x))[1])(X)
    return levels[0]


def test_planted_a_lifted_mode_forgets_the_debugger(monkeypatch):
    assert not found()  # and the tables know the kind, so that nobody else writes to them
    both = _states.state_of(grad_level(), LAYERS["moded and watched"])
    monkeypatch.setitem(_asking.ASKING.off, both, grad_level())
    assert found()


def test_planted_a_layer_revives_an_ended_level(monkeypatch):
    assert not found()
    for ended in ENDED.values():
        monkeypatch.setitem(_watching.LOOKING.on, ended, grad_level())
    assert found()


def test_planted_a_layer_that_stays(monkeypatch):
    assert not found()
    for layer in (_watching.LOOKING, _asking.ASKING):
        with monkeypatch.context() as patch:
            patch.setattr(layer, "off", layer.on)
            assert found()
    assert not found()


def test_planted_all_contexts_see_what_one_sees(monkeypatch):
    def actual(level):
        get = object.__getattribute__
        if type(level) is not ContextualLevel:
            return level
        return get(level, "again") or get(level, "level")

    monkeypatch.setattr(ContextualLevel, "actual", staticmethod(actual))
    assert copy_context().run(found)  # it leaves its context in a level


def test_planted_a_block_that_is_not_left(monkeypatch):
    monkeypatch.setattr(_states, "_release", lambda cls, user: None)
    assert copy_context().run(found)


# ---- one assignment ----


def assignments():
    """The places at which the class of an object is assigned: (module, the statement)."""
    for path in SOURCE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]).endswith("__class__"):
                yield path.stem, ast.unparse(node)


def test_a_level_changes_its_class_in_one_place():
    assert sorted(assignments()) == [
        ("__init__", "made.__class__ = Generator"),  # no level
        ("_multivariate", "found.__class__ = made"),
        ("_objects", "__class__ = property(lambda self: ndarray)"),  # what is shown
        ("compiled", "x.__class__ = _CLASSES[type(x)]"),  # a dispatcher of Numba
        ("compiled", "x.__class__ = type(x).__mro__[1]"),
        ("level", "level.__class__ = kind"),
        ("level", "self.__class__ = ENDED[self.escape]"),
        ("runs", "level.__class__ = ENDED[level.escape]"),
        ("states", "level.__class__ = self.off[level.__class__]"),
        ("states", "level.__class__ = self.on[level.__class__]"),
        ("tensor", "__class__ = CLASS"),  # what is shown
        ("twins", "twin.__class__ = found[1]"),  # an object of SciPy
        ("writes", "t.__class__ = Array"),  # a tensor
    ]


def test_the_tables_are_dictionaries_with_each_state():
    """Whose look-up calls no function of Python."""
    with ft.debug.debug_nans(), Seeing():
        ft.vmap(ft.grad(np.sin))(X)
    for layer in _states.LAYERS:
        assert type(layer.on) is type(layer.off) is dict
        assert layer.on.keys() == layer.off.keys() >= {DeadLevel, PassthroughLevel}
        assert {*layer.on.values(), *layer.off.values()} <= layer.on.keys()
        assert all(layer.on[state] is state is layer.off[state] for state in ENDED.values())


def list_revived(rounds, meanwhile=lambda: None):
    """List the live ones of levels that end in one thread, where another thread lays layers on
    them and lifts them.

    ``meanwhile()`` is called while a level is live.
    """
    levels, tensors, stop = [], [], threading.Event()

    def f(x):
        levels.append(x.level)
        tensors.append(x)
        meanwhile()
        return np.sum(x * x)

    def flicker():
        while not stop.is_set():
            with ft.debug.debug_nans(), Seeing():
                for level in levels[-1:]:
                    _asking.ASKING.lay(level)
                    _watching.LOOKING.lay(level)

    thread = threading.Thread(target=flicker)
    thread.start()
    try:
        for _ in range(rounds):
            ft.grad(f)(X)
    finally:
        stop.set()
        thread.join()
    ended = [raises(ft.EscapedTensorError, lambda x=x: x + 1.0) for x in tensors]
    return [level for level, dead in zip(levels, ended) if not dead or type(level) is not DeadLevel]


def test_a_level_ends_while_a_layer_comes_and_goes():
    assert not list_revived(300)


def test_planted_a_question_before_the_assignment_is_found(monkeypatch):
    """Each step of one thread waits for that of the other, so that they meet at the first level."""
    main, asked = threading.current_thread(), threading.Event()

    def lay(self, level):
        kind = type(level)
        if level.live:
            _states._learn(level.kind)
            if threading.current_thread() is not main and not asked.is_set():
                asked.set()
                wait_until(lambda: not level.live)
            level.__class__ = self.on[kind]

    monkeypatch.setattr(_states.Layer, "lay", lay)
    assert len(list_revived(1, lambda: asked.wait(HANG))) == 1


def test_a_handler_that_leaves_its_own_mode():
    class Once(ft.modes.TensorFunctionMode):
        def __tensor_function__(self, func, types, args=(), kwargs=None):
            self.__exit__(None, None, None)
            return NotImplemented

    def f(x):
        Once().__enter__()
        return np.sum(x * x)

    equal(in_thread(lambda: ft.grad(f)(X)), 2 * X)  # the mode is what that context had before
    assert not _asking.BY_HAND
    assert _asking.STATE.get() == _asking.State()


def test_a_mode_that_is_left_in_another_context():
    mode = Seeing()
    in_thread(lambda: mode.__enter__() and None)
    in_thread(lambda: mode.__exit__(None, None, None))
    assert not _asking.BY_HAND
    assert not _asking.MODES.users
