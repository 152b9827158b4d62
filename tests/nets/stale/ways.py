"""The ways in which what a function reads can change between two calls, one in a line.

A line has the name of the way, how `d` is made, the value that the function computes of it, the
change, and the place where `d` stands if it is only one. In a value `` // `` ends a line, and the
last one is an expression. In a change `V` is 3.0 there and 2.0 back, or `` | `` is between the two.
"""

from typing import NamedTuple

PLACES = "argument", "closure", "global", "method", "self", "module"
ARGUMENT, CLOSURE, GLOBAL, METHOD, SELF, MODULE = PLACES

HEAD = """
import array, builtins, collections, concurrent.futures, contextvars, ctypes, dataclasses, datetime
import fractions, functools, io, itertools, logging, math, numbers, operator, os, pathlib
import queue, random, struct, sys, threading, time, types, weakref
import numpy as np
import functier as ft
from scipy import stats
from scipy.interpolate import CubicSpline
from scipy.sparse import csr_array
X, G, count, TIME, SINC = np.array([0.5, -1.0, 2.0]), 2.0, 0, time.time, np.sinc
"""

PARTS = """
class Cfg:
    def __init__(self, **given): vars(self).update(given)
    def g(self): return self.rate
class Meta(type):
    rate = 2.0
class Made(metaclass=Meta):
    pass
class Base:
    rate = 2.0
    def g(self): return 2.0
class Kind(Base):
    pass
class Other(Base):
    rate = 3.0
class Over(Base):
    def g(self): return super().g()
class Slots:
    __slots__ = ("rate",)
    def __init__(self, rate): self.rate = rate
class Hidden:
    def __init__(self, **given): vars(self)["given"] = given
    def __getattr__(self, name):
        if name in vars(self)["given"]: return vars(self)["given"][name]
        raise AttributeError(name)
class Computed(Cfg):
    rate = property(lambda self: self.hidden)
class Cached(Cfg):
    rate = functools.cached_property(lambda self: self.hidden)
class Same(Cfg):
    __eq__, __hash__ = lambda self, other: True, lambda self: 1
class Speaks(Cfg):
    __len__ = __index__ = lambda self: int(self.rate)
    __bool__ = lambda self: self.rate > 2.5
    __contains__ = __lt__ = lambda self, other: self.rate > 2.5
    __enter__ = lambda self: self.rate
    __getitem__ = lambda self, key: self.rate
    __add__ = lambda self, other: self.rate + other
    __call__ = lambda self: self.rate
    __iter__ = lambda self: iter([self.rate])
    __str__ = lambda self: "s" * int(self.rate)
    __array__ = lambda self, dtype=None, copy=None: np.array([self.rate, 1.0, 1.0])
    __exit__ = lambda self, *error: None
class Text(str):
    rate = 2.0
class Rate(float):
    pass
Data = dataclasses.make_dataclass("Data", ["rate"])
Frozen = dataclasses.make_dataclass("Frozen", ["rate"], frozen=True)
Slotted = dataclasses.make_dataclass("Slotted", ["rate"], slots=True)
Aux = ft.register_dataclass(dataclasses.make_dataclass("Aux", ["rate"]), [], ["rate"])
Pair = collections.namedtuple("Pair", "rate other")
class Scale(ft.nn.Module):
    def __init__(self):
        super().__init__()
        self.weight, self.rate = ft.nn.Parameter([2.0, 5.0, 1.0]), 2.0
two, second, three = lambda: 2.0, lambda: 2.0, lambda: 3.0
def same(v=2.0, *, w=0.0): return v + w
def first(v=[2.0]): return v[0]
def read(e): return e.rate
def with_unit(value, unit):
    (made := Rate(value)).unit = unit
    return made
def closed(rate):
    g = lambda: rate
    g.rate = rate
    return g
def module(name, text):
    exec(text, vars(made := types.ModuleType(name)) if name else (space := {}))
    return made if name else Cfg(**space)
def warm():
    (cached := functools.lru_cache(lambda: G))()
    return cached
def scaled(f):
    run = lambda: f() * run.factor
    run.factor = 2.0
    return run
kind_of = functools.singledispatch(lambda v: 3.0)
kind_of.register(float)(lambda v: 2.0)
def file(text):
    (path := pathlib.Path(__file__ + ".txt")).write_text(text)
    return path
class Own(np.ndarray): pass
class Struct(ctypes.Structure): _fields_ = [("rate", ctypes.c_double)]
NOW = lambda: 2.0
def mapped(values):
    made = np.memmap(__file__ + ".dat", float, "w+", shape=values.shape)
    made[...] = values
    return made
def in_thread(f):
    found = []
    (t := threading.Thread(target=lambda: found.append(f()))).start()
    t.join()
    return found[0]
def in_pool(f):
    with concurrent.futures.ThreadPoolExecutor(1) as pool: return pool.submit(f).result()
def imported(name, rate): sys.modules[name] = module(name, f"rate = {rate}")
"""
"""What the sources name; each part is after those that it names."""

NAMES = """
number :: 2.0 :: d :: d = V
int or bool :: 1 :: 3.0 if d is True else 2.0 :: d = True | d = 1
int or float :: 2.0 :: d / 4 if type(d) is int else d / 2 :: d = 2 | d = 2.0
number of NumPy :: np.float32(2) :: d * d.itemsize :: d = np.float64(2) | d = np.float32(2)
sign of zero :: 0.0 :: np.copysign(2.0, d) :: d = -0.0 | d = 0.0
not a number :: math.nan :: 2.0 if d != d else 3.0 :: d = 1.0 | d = math.nan
text :: 'two' :: len(d) :: d = 'three' | d = 'two'
tuple :: (1.0, 2.0) :: d[1] :: d = (1.0, V)
list :: [1.0, 2.0] :: d[1] :: d = [1.0, V]
named tuple :: Pair(2.0, 1.0) :: d.rate :: d = d._replace(rate=V)
slice :: slice(0, 2) :: x[d].sum() :: d = slice(1, 3) | d = slice(0, 2)
data type :: np.dtype('f4') :: x.astype(d) * 1.1 :: d = np.dtype('f8') | d = np.dtype('f4')
equal range :: range(2, 2) :: d.start :: d = range(3, 3) | d = range(2, 2)
slice of truths :: slice(2, 0) :: 3.0 if d.start is True else d.start ::
    d = slice(True, 0) | d = slice(1, 0)
data type with notes :: np.dtype('f8', metadata={'a': 2.0}) :: d.metadata['a'] ::
    d = np.dtype('f8', metadata={'a': V})
key of a dict :: {1: 2.0} :: 3.0 if True is next(iter(d)) else 2.0 :: d = {True: 2.0} | d = {1: 2.0}
aux of a node :: Aux(1) :: 3.0 if d.rate is True else 2.0 :: d = Aux(True) | d = Aux(1)
text that is more :: Text('two') :: d.rate :: d = Text('two'); d.rate = V
equal frozen set :: frozenset([1]) :: 3.0 if min(d) is True else 2.0 ::
    d = frozenset([True]) | d = frozenset([1])
object :: Cfg(rate=2.0) :: d.rate :: d = Cfg(rate=V)
object that lies :: Same(rate=2.0) :: d.rate :: d = Same(rate=V)
tuple of one that lies :: (Same(rate=2.0),) :: d[0].rate :: d = (Same(rate=V),)
number with a unit :: with_unit(2.0, 2.0) :: d.unit :: d = with_unit(2.0, V)
class :: Kind :: d.rate :: d = Other | d = Kind
code :: two.__code__ :: types.FunctionType(d, {})() :: d = three.__code__ | d = two.__code__
deleted :: 0.0 :: G :: globals().pop('G') | globals().update(G=2.0) :: global
over a builtin :: 0.0 :: abs(-2.0) ::
    globals()['abs'] = (lambda v: 3.0) | globals().pop('abs', 0) :: global
in builtins :: setattr(builtins, 'user_rate', 2.0) :: user_rate :: builtins.user_rate = V :: global
by globals() :: 2.0 :: globals()['d'] :: d = V :: global
of a module :: module('user_m', 'rate = 2.0') :: d.rate :: d.rate = V
by getattr of a module :: module('user_m', 'own = 2.0') :: getattr(d, 'OWN'.lower()) :: d.own = V
missing in a module :: module('user_m', '') :: d.rate if hasattr(d, 'rate') else 2.0 ::
    d.rate = 3.0 | vars(d).pop('rate', 0)
flag of a module :: module('user_m', 'on = False') ::
    if d.on: r = 3.0 // else: r = 2.0 // r :: d.on = V > 2.5
object of a module :: module('user_m', 'import types; cfg = types.SimpleNamespace(rate=2.0)') ::
    d.cfg.rate :: d.cfg.rate = V
of a function of a module :: module('user_m', 'rate = 2.0; g = lambda: rate') :: d.g() :: d.rate = V
of a module named signal :: module('signal', 'rate = 2.0; g = lambda: rate') :: d.g() :: d.rate = V
of no module :: module('', 'rate = 2.0; g = lambda: rate').g :: d() :: d.__globals__['rate'] = V
import inside :: imported('user_n', 2.0) :: import user_n // user_n.rate ::
    sys.modules['user_n'].rate = V :: global
import from inside :: imported('user_n', 2.0) :: from user_n import rate // rate ::
    imported('user_n', V) :: global
"""

ATTRIBUTES = """
attribute :: Cfg(rate=2.0) :: d.rate :: d.rate = V
of four :: Cfg(a=Cfg(b=Cfg(c=Cfg(rate=2.0)))) :: d.a.b.c.rate :: d.a.b.c.rate = V
through a local :: Cfg(rate=2.0) :: e = d // e.rate :: d.rate = V
of an argument inside :: Cfg(rate=2.0) :: def inner(e): return e.rate // inner(d) :: d.rate = V
in a helper :: Cfg(rate=2.0) :: read(d) :: d.rate = V
getattr :: Cfg(own=2.0) :: getattr(d, 'OWN'.lower()) :: d.own = V
getattr with a default :: Cfg() :: getattr(d, 'rate', 2.0) :: d.rate = 3.0 | vars(d).pop('rate', 0)
hasattr :: Cfg() :: 3.0 if hasattr(d, 'rate') else 2.0 :: d.rate = 3.0 | vars(d).pop('rate', 0)
vars :: Cfg(rate=2.0) :: vars(d)['rate'] :: d.rate = V
attrgetter :: Cfg(rate=2.0) :: operator.attrgetter('rate')(d) :: d.rate = V
another dict :: Cfg(rate=2.0) :: d.rate :: d.__dict__ = {'rate': V}
over the class :: Kind() :: d.rate :: d.rate = 3.0 | vars(d).pop('rate', 0)
of the class :: Kind() :: d.rate :: Kind.rate = V
of a base :: Kind() :: d.rate :: Base.rate = V
of a metaclass :: Made :: d.rate :: Meta.rate = V
another class :: Kind() :: d.rate :: d.__class__ = Other | d.__class__ = Kind
isinstance :: Kind() :: 3.0 if isinstance(d, Other) else 2.0 ::
    d.__class__ = Other | d.__class__ = Kind
other bases :: Kind() :: d.rate :: Kind.__bases__ = (Other,) | Kind.__bases__ = (Base,)
slot :: Slots(2.0) :: d.rate :: d.rate = V
property :: Computed(hidden=2.0) :: d.rate :: d.hidden = V
cached property :: Cached(hidden=2.0) :: d.rate :: d.hidden = V; vars(d).pop('rate', 0)
__getattr__ :: Hidden(rate=2.0) :: d.rate :: d.given['rate'] = V
data :: Data(2.0) :: d.rate :: d.rate = V
frozen data, by force :: Frozen(2.0) :: d.rate :: object.__setattr__(d, 'rate', V)
field of data :: Data({'a': [2.0]}) :: d.rate['a'][0] :: d.rate['a'][0] = V
attribute that appears :: Data(2.0) :: getattr(d, 'own', 2.0) :: d.own = 3.0 | vars(d).pop('own', 0)
data or other data :: Data(2.0) :: 2.0 if type(d) is Data else 3.0 ::
    d = Frozen(2.0) | d = Data(2.0)
data in slots :: Slotted(2.0) :: d.rate :: d.rate = V
of a function :: closed(2.0) :: d.rate :: d.rate = V
weak reference :: (lambda c: (c, weakref.ref(c)))(Cfg(rate=2.0)) :: d[1]().rate :: d[0].rate = V
dead weak reference :: (lambda c: [c, weakref.ref(c)])(Cfg()) :: 3.0 if d[1]() is None else 2.0 ::
    d[0] = None | d[:] = (lambda c: [c, weakref.ref(c)])(Cfg())
identity :: Cfg(a=Cfg(), b=Cfg()) :: 3.0 if d.a is d.b else 2.0 :: d.b = d.a | d.b = Cfg()
option of a module :: Scale() :: d.rate :: d.rate = V
mode of a module :: Scale() :: 2.0 if d.training else 3.0 :: d.eval() | d.train()
asked by a call :: Speaks(rate=2.0) :: d() :: d.rate = V
asked by an item :: Speaks(rate=2.0) :: d[0] :: d.rate = V
asked by len :: Speaks(rate=2.0) :: len(d) :: d.rate = V
asked by iteration :: Speaks(rate=2.0) :: [*d][0] :: d.rate = V
asked by truth :: Speaks(rate=2.0) :: 3.0 if d else 2.0 :: d.rate = V
asked by in :: Speaks(rate=2.0) :: 3.0 if 7 in d else 2.0 :: d.rate = V
asked by order :: Speaks(rate=2.0) :: 3.0 if d < 1 else 2.0 :: d.rate = V
asked by an index :: Speaks(rate=2.0) :: [0.0, 1.0, 2.0, 3.0][d] :: d.rate = V
asked by str :: Speaks(rate=2.0) :: len(str(d)) :: d.rate = V
asked by an operator :: Speaks(rate=2.0) :: d + 1.0 :: d.rate = V
asked by NumPy :: Speaks(rate=2.0) :: np.asarray(d) :: d.rate = V
asked by with :: Speaks(rate=2.0) :: with d as r: pass // r :: d.rate = V
"""

CONTAINERS = """
item :: [2.0, 5.0] :: d[0] :: d[0] = V
computed key :: [2.0, 5.0] :: d[len(d) - 2] :: d[0] = V
part :: [2.0, 5.0] :: sum(d[:1]) :: d[0] = V
iteration :: [2.0, 5.0] :: sum(d) :: d[0] = V
appended :: [2.0] :: sum(d) :: d[1:] = [1.0] | d[1:] = []
length :: [2.0] :: len(d) :: d[1:] = [1.0] | d[1:] = []
item of a tuple :: ([2.0],) :: d[0][0] :: d[0][0] = V
attribute of an item :: [Cfg(rate=2.0)] :: d[0].rate :: d[0].rate = V
item of an attribute :: Cfg(rates=[2.0]) :: d.rates[0] :: d.rates[0] = V
dict item :: {'ab': 2.0} :: d['ab'] :: d['ab'] = V
dict of texts :: {'a': 'two'} :: len(d['a']) :: d['a'] = 'three' | d['a'] = 'two'
key error :: {'a': 2.0} :: d['a'] :: d.pop('a') | d['a'] = 2.0
get :: {} :: d.get('a', 2.0) :: d['a'] = 3.0 | d.pop('a', 0)
in a dict :: {} :: 3.0 if 'a' in d else 2.0 :: d['a'] = 3.0 | d.pop('a', 0)
order of a dict :: {'a': 2.0, 'b': 3.0} :: next(iter(d.values())) ::
    d['a'] = d.pop('a') | d['b'] = d.pop('b')
dict of a transform :: {'a': np.array([2.0])} ::
    sum(ft.grad(lambda p, y: np.sum(sum(v * y for v in p.values())))(d, x).values())[0] ::
    d['b'] = np.array([1.0]) | d.pop('b')
set :: {2.0} :: max(d) :: d.add(3.0) | d.discard(3.0)
deque :: collections.deque([2.0]) :: d[0] :: d[0] = V
default dict :: collections.defaultdict(lambda: 2.0) :: d['a'] :: d['a'] = V
user's dict :: collections.UserDict(a=2.0) :: d['a'] :: d['a'] = V
bytes :: bytearray(b'12') :: d[0] :: d[0] = int(V)
iterator :: itertools.count(2) :: next(d) :: pass
"""

ARRAYS = """
array :: np.array([2.0, 5.0, 1.0]) :: d :: d = np.array([V, 5.0, 1.0])
refilled :: np.array([2.0, 5.0, 1.0]) :: d :: d[0] = V
large refilled :: np.full(9999, 2.0) :: d[4000:].sum() :: d[5000] = V
large refilled, used :: np.full(9999, 2.0) :: (d * x[0])[5000] :: d[5000] = V
another array in a product :: np.ones((3, 3)) :: x @ d + d.T[0] * x :: d = np.full((3, 3), V)
product that is refilled :: np.ones((3, 3)) :: np.sum(d[1:] * x, axis=0) + x :: d[1] = V
view that is summed :: np.ones((3, 3)) :: d.T.sum() * x :: d[1] = V
which array it is :: [X, X] :: x * 2.0 if d[0] is d[1] else x * 3.0 :: d[1] = X * 1.0 | d[1] = X
its source refilled :: np.array([[2.0, 5.0, 1.0]])[0] :: d :: d.base[0, 0] = V
as an index :: np.array([0, 1]) :: x[d].sum() :: d[1] = 2 | d[1] = 1
as a shape :: np.array([2]) :: np.ones(d).sum() :: d[0] = V
as a condition :: np.array(False) :: 3.0 if d else 2.0 :: d[()] = V > 2.5
as a mask :: np.array([True, False, True]) :: x[d].sum() :: d[2] = V < 2.5
as a number :: np.array([2]) :: int(d[0]) :: d[0] = V
other shape :: np.ones(4) :: np.sum(d) * d.ndim :: d.shape = 2, 2 | d.shape = 4
other dtype :: np.ones(3, 'f4') :: 2.0 if d.dtype.kind == 'f' else 3.0 ::
    d = d.astype('i4') | d = d.astype('f4')
other order :: np.array([[2.0, 5.0], [1.0, 7.0]]) :: 3.0 if d.flags.f_contiguous else 2.0 ::
    d = np.asfortranarray(d) | d = np.ascontiguousarray(d)
writeable :: np.ones(3) :: 2.0 if d.flags.writeable else 3.0 :: d.flags.writeable = V < 2.5
error of NumPy :: np.eye(2) ::
    try: r = np.linalg.inv(d)[0, 0] * 2.0 // except np.linalg.LinAlgError: r = 3.0 // r ::
    d[...] = 0 | d[...] = np.eye(2)
of an attribute :: Cfg(w=np.array([2.0, 5.0, 1.0])) :: d.w :: d.w[0] = V
of objects :: np.array([Cfg(rate=2.0)], object) :: d[0].rate :: d[0].rate = V
of functier :: ft.numpy.array([2.0, 5.0, 1.0]) :: d :: d[0] = V
parameter :: Scale() :: x * d.weight :: d.weight[0] = V
another parameter :: Scale() :: x * d.weight :: d.weight = ft.nn.Parameter([V, 5.0, 1.0])
identity of two :: [X * 1, X * 1] :: 3.0 if d[0] is d[1] else 2.0 :: d[1] = d[0] | d[1] = X * 1
the argument itself :: X * 1.0 :: 3.0 if x is d else 2.0 :: d = X | d = X * 1.0
arrays that are one :: [X] * 2 :: d[1] :: d[1] = X * V | d[1] = d[0]
memory of two :: [np.ones(2), np.ones(2)] ::
    old = d[0][0] * 1.0 // d[0][0] = 5.0 // r = d[1][0] * 1.0 // d[0][0] = old // r ::
    d[1] = d[0] | d[1] = np.ones(2)
memory of the argument :: X * 1.0 ::
    old = x[0] * 1.0 // x[0] = 5.0 // r = d[0] * 1.0 // x[0] = old // r :: d = X | d = X * 1.0
"""

FUNCTIONS = """
function :: two :: d() :: d = three | d = two
its code :: two :: d() :: d.__code__ = three.__code__ | d.__code__ = second.__code__
own code :: 0.0 :: 2.0 :: f.__code__ = f.__code__.replace(co_consts=tuple(
    V if type(c) is float else c for c in f.__code__.co_consts)) :: global
default :: same :: d() :: d.__defaults__ = (V,)
default by a keyword :: same :: d() :: d.__kwdefaults__['w'] = V - 2.0
inside a default :: first :: d() :: d.__defaults__[0][0] = V
cell :: closed(2.0) :: d() :: d.__closure__[0].cell_contents = V
cell of an attribute :: Cfg(g=closed(2.0)) :: d.g() :: d.g.__closure__[0].cell_contents = V
global of an attribute :: Cfg(g=lambda: G) :: d.g() :: globals()['G'] = V
function of a table :: {'g': two} :: d['g']() :: d['g'] = three | d['g'] = two
partial :: functools.partial(same, 2.0) :: d() :: d = functools.partial(same, V)
keyword of a partial :: functools.partial(same, v=2.0) :: d() :: d.keywords['v'] = V
array of a partial :: functools.partial(same, np.array([2.0, 5.0, 1.0])) :: d() ::
    d.args[0][0] = V
method of data :: types.MethodType(read, Data(2.0)) :: d() :: d.__self__.rate = V
method of another :: Cfg(rate=2.0).g :: d() :: d = Cfg(rate=V).g
partial of an object :: functools.partial(read, Cfg(rate=2.0)) :: d() :: d.args[0].rate = V
bound method :: Cfg(rate=2.0).g :: d() :: d.__self__.rate = V
method of the class :: Kind() :: d.g() :: Base.g = lambda self: V
method that appears :: Kind() :: d.g() ::
    Kind.g = lambda self: 3.0 | 'g' in vars(Kind) and delattr(Kind, 'g')
method of the instance :: Kind() :: d.g() :: d.g = three | vars(d).pop('g', 0)
super :: Over() :: d.g() :: Base.g = lambda self: V
operator of the class :: Speaks(rate=2.0) :: d + 1.0 :: Speaks.__add__ = lambda self, other: V
state of a decorator :: scaled(lambda: 1.0) :: d() :: d.factor = V
cached function :: warm() :: d() :: globals()['G'] = V; d.cache_clear()
dispatch by type :: functools.singledispatch(lambda v: 2.0) :: d(None) ::
    d.register(type(None), lambda v: V)
patched in a module :: module('user_m', 'g = lambda: 2.0') :: d.g() :: d.g = three | d.g = two
of NumPy in a module :: module('user_m', 'from numpy import sin as g') :: d.g(x) ::
    d.g = np.cos | d.g = np.sin
patched in NumPy :: 0.0 :: np.sinc(x) :: np.sinc = np.cos | np.sinc = SINC :: global
clock :: 0.0 :: 2.0 + (time.time() > 1e10) :: time.time = lambda: 2e10 | time.time = TIME :: global
"""

AROUND = """
environment :: [os.environ.pop('USER_RATE', 0)] and 0 :: float(os.environ.get('USER_RATE', 2)) ::
    os.environ['USER_RATE'] = '3' | os.environ.pop('USER_RATE', 0) :: global
settings of errors :: 0.0 :: 3.0 if np.geterr()['under'] == 'warn' else 2.0 ::
    np.seterr(under='warn') | np.seterr(under='ignore') :: global
errors that are raised :: np.zeros(3) :: 1.0 / d :: np.seterr(all='raise') | np.seterr(all='ignore')
print options :: 0.0 :: np.get_printoptions()['precision'] ::
    np.set_printoptions(3) | np.set_printoptions(8) :: global
seed of NumPy :: 0.0 :: np.random.random() :: np.random.seed(int(V)) :: global
seed of Python :: 0.0 :: random.random() :: random.seed(V) :: global
generator :: np.random.default_rng(0) :: d.random() :: pass
generator of functier :: ft.random.default_rng(0) :: d.random() :: pass
file :: file('2.0') :: float(d.read_text()) :: d.write_text(str(V))
context variable :: contextvars.ContextVar('v', default=2.0) :: d.get() :: d.set(V)
logger :: logging.getLogger('user') :: 3.0 if d.isEnabledFor(10) else 2.0 ::
    d.setLevel(10) | d.setLevel(30)
"""

KEYS = """
list as an index :: [0, 1] :: x[d].sum() :: d[1] = 2 | d[1] = 1
list in an index :: [[0, 1]] :: x[d[0],].sum() :: d[0][1] = 2 | d[0][1] = 1
item of a dict as an index :: {'a': [0, 1]} :: x[d['a']].sum() :: d['a'][1] = 2 | d['a'][1] = 1
index that is written at :: [0] ::
    y = x * 1.0 // y[d] = 5.0 // y :: d[0] = 1 | d[0] = 0
list that is written :: [2.0, 5.0, 1.0] :: y = x * 1.0 // y[:] = d // y :: d[0] = V
array of no dimensions as an index :: np.array(0) :: x[d] :: d[()] = 1 | d[()] = 0
array in a slice :: np.array(1) :: x[:d].sum() :: d[()] = 2 | d[()] = 1
list in np.take :: [0, 1] :: np.take(x, d).sum() :: d[1] = 2 | d[1] = 1
list in x.take :: [0, 1] :: x.take(d).sum() :: d[1] = 2 | d[1] = 1
key in a list :: ['a'] :: {'a': 2.0, 'b': 3.0}[d[0]] :: d[0] = 'b' | d[0] = 'a'
index under a transform :: [0, 1] :: ft.grad(lambda y: np.sum(y[d] ** 2))(x) ::
    d[1] = 2 | d[1] = 1
index of a batch :: [0, 1] :: ft.vmap(lambda y: np.sum(y[d]))(np.stack([x, x]))[0] ::
    d[1] = 2 | d[1] = 1
length of an array :: np.ones(3) :: x * len(d) :: d = np.ones(4) | d = np.ones(3)
size of an array :: np.ones(3) :: x * d.size :: d = np.ones(4) | d = np.ones(3)
shape of an array :: np.ones((3, 1)) :: x * d.shape[1] :: d = np.ones((3, 2)) | d = np.ones((3, 1))
dtype of an array :: np.ones(3) :: x * d.itemsize :: d = np.ones(3, 'f4') | d = np.ones(3)
"""

OF_C = """
array of ctypes :: (ctypes.c_double * 3)(2, 5, 1) :: d[0] :: d[0] = V
structure of ctypes :: Struct(2.0) :: d.rate :: d.rate = V
number of ctypes :: ctypes.c_double(2.0) :: d.value :: d.value = V
array of Python's :: array.array('d', [2.0, 5.0]) :: d[0] :: d[0] = V
view of memory :: memoryview(bytearray(b'12')) :: d[0] :: d[0] = int(V)
struct that is read from a buffer :: bytearray(struct.pack('1d', 2.0)) ::
    struct.unpack('1d', d)[0] :: d[:] = struct.pack('1d', V)
matrix :: np.matrix([[2.0, 5.0, 1.0]]) :: np.asarray(d).ravel() :: d[0, 0] = V
matrix that is indexed :: np.matrix([[2.0, 5.0, 1.0]]) :: d[0, 0] :: d[0, 0] = V
record array :: np.rec.array([(2.0, 1)] * 3, dtype=[('p', float), ('q', int)]) :: d.p :: d.p[0] = V
masked array :: np.ma.array([2.0, 5.0, 1.0], mask=[0, 1, 0]) :: d.sum() :: d[0] = V
mask of an array :: np.ma.array([2.0, 5.0, 1.0]) :: d.sum() :: d.mask = [V > 2.5, 0, 0]
own class of arrays :: np.ones(3).view(Own) :: d[0] :: d[0] = V
sum of an own class :: np.ones(3).view(Own) :: np.asarray(d.sum()) * 1.0 ::
    d[0] = V :: global
own class under grad :: np.ones(3).view(Own) ::
    ft.grad(lambda y: np.sum((y * np.asarray(d)) ** 2))(x * 1.0)[0] :: d[0] = V
array in a file :: mapped(np.array([2.0, 5.0, 1.0])) :: d[0] * 1.0 :: d[0] = V
sum of one in a file :: mapped(np.array([2.0, 5.0, 1.0])) :: np.sum(d) * 1.0 :: d[0] = V
record :: np.zeros(3, [('p', float)])[0] :: 1 + d['p'] :: d['p'] = V
flat of an array :: (lambda a: (a, a.flat))(np.array([2.0, 5.0])) :: d[1][0] :: d[0][0] = V
array of texts :: np.array(['two']) :: 2.0 if d[0] == 'two' else 3.0 ::
    d[0] = 'at' | d[0] = 'two' :: global
proxy :: (lambda e: (e, types.MappingProxyType(e)))({'rate': 2.0}) :: d[1]['rate'] ::
    d[0]['rate'] = V
get of a proxy :: (lambda e: (e, types.MappingProxyType(e)))({'rate': 2.0}) :: d[1].get('rate') ::
    d[0]['rate'] = V
proxy as keywords :: (lambda e: (e, types.MappingProxyType(e)))({'rate': 2.0}) ::
    (lambda rate: rate)(**d[1]) :: d[0]['rate'] = V
dict of a class :: vars(Kind) :: d.get('own', 2.0) :: Kind.own = 3.0 |
    'own' in vars(Kind) and delattr(Kind, 'own')
values of a dict :: (lambda e: (e, e.values()))({'rate': 2.0}) :: sum(d[1]) :: d[0]['rate'] = V
keys of a dict :: (lambda e: (e, e.keys()))({'rate': 2.0}) :: len(d[1]) + 1.0 ::
    d[0]['other'] = V | d[0].pop('other', 0)
items of a dict :: (lambda e: (e, e.items()))({'rate': 2.0}) :: [*d[1]][0][1] :: d[0]['rate'] = V
chain of dicts :: collections.ChainMap({'rate': 2.0}) :: d['rate'] :: d.maps[0]['rate'] = V
counter :: collections.Counter(a=2) :: d['a'] :: d['a'] = int(V)
partial that is set :: functools.partial(same, 2.0) :: d() ::
    d.__setstate__((same, (V,), {}, {}))
weak proxy :: (lambda c: (c, weakref.proxy(c)))(Cfg(rate=2.0)) :: d[1].rate :: d[0].rate = V
weak proxy made inside :: Cfg(rate=2.0) :: weakref.proxy(d).rate :: d.rate = V
weak dict :: weakref.WeakValueDictionary(a=Kind) :: 2.0 if 'a' in d else 3.0 ::
    d.pop('a', 0) | d.update(a=Kind)
spline :: CubicSpline(np.arange(5.0), np.arange(5.0) ** 2) :: d(1.5) ::
    d.c[0, 1] = V | d.c[0, 1] = 0.0
sparse matrix :: csr_array(np.eye(3)) :: (d @ np.ones(3))[0] :: d.data[0] = V
frozen distribution :: stats.norm(0.0, 2.0) :: d.std() :: d.kwds['scale'] = V
polynomial :: np.polynomial.Polynomial([2.0, 1.0]) :: d(0.0) :: d.coef[0] = V
poly1d :: np.poly1d([2.0, 1.0]) :: d(1.0) :: d.coeffs[0] = V
vectorized :: np.vectorize(lambda v: G * v) :: d(1.0) :: globals()['G'] = V
fraction :: fractions.Fraction(2) :: float(d) :: d = fractions.Fraction(V)
text buffer :: io.StringIO('2.0') :: float(d.getvalue()) :: d.seek(0); d.write(str(V))
queue :: queue.SimpleQueue() :: 2.0 if d.empty() else 3.0 :: d.put(1) | d.empty() or d.get()
lock :: threading.Lock() :: 3.0 if d.locked() else 2.0 ::
    d.acquire(False) | d.locked() and d.release()
event :: threading.Event() :: 3.0 if d.is_set() else 2.0 :: d.set() | d.clear()
of a thread :: threading.local() :: getattr(d, 'rate', 2.0) :: d.rate = V
in a thread :: Cfg(rate=2.0) :: in_thread(lambda: d.rate) :: d.rate = V
global in a thread :: 0.0 :: in_thread(lambda: G) :: globals()['G'] = V :: global
in a pool :: Cfg(rate=2.0) :: in_pool(lambda: d.rate) :: d.rate = V
today :: [2.0] :: d[0] + 0 * datetime.datetime.now().year + NOW() :: globals()['NOW'] = lambda: V
seed sequence :: np.random.SeedSequence(0) :: np.random.default_rng(d.spawn(1)[0]).normal() :: pass
state of a generator :: np.random.default_rng(0) ::
    d.bit_generator.state['state']['state'] % 1000 :: d.random() :: closure
generator in a dict :: {'rng': np.random.default_rng(0)} :: d['rng'].normal() :: pass :: global
generator in lists :: {'a': [[np.random.default_rng(0)]]} :: d['a'][0][0].normal() ::
    pass :: closure
generator of an object :: Cfg(sampler=Cfg(rng=np.random.default_rng(0))) ::
    d.sampler.rng.normal() :: pass
generator in a slot :: Slots(np.random.default_rng(0)) :: d.rate.normal() :: pass :: method
method of a generator :: np.random.default_rng(0).normal :: d() :: pass :: closure
generator of a module :: module('user_m', 'import numpy; rng = numpy.random.default_rng(0)') ::
    d.rng.normal() :: pass :: global
generator that is given :: {'rng': np.random.default_rng(0)} ::
    stats.norm.rvs(random_state=d['rng']) :: pass :: module
Python's generator in a list :: [random.Random(0)] :: d[0].random() :: pass :: self
environment that is kept :: os.environ :: float(d.get('USER_RATE', 2)) ::
    d['USER_RATE'] = '3' | d.pop('USER_RATE', 0)
limit of recursion :: 0.0 :: sys.getrecursionlimit() ::
    sys.setrecursionlimit(1001) | sys.setrecursionlimit(1000) :: global
size of a file :: file('2.0') :: os.path.getsize(d) :: d.write_text('2.00' * int(V))
lines of a file :: file('2.0') :: float(np.loadtxt(d)) :: d.write_text(str(V))
not a number of another sign :: math.nan :: np.signbit(d) + 2.0 :: d = -math.nan | d = math.nan
"""

EFFECTS = """
count in an attribute :: Cfg(count=0) :: d.count += 1 // 2.0 :: pass
count that is used :: Cfg(count=0) :: d.count += 1 // d.count :: pass
count in a global :: 0.0 :: global count // count += 1 // 2.0 :: pass :: global
global that is put back :: 2.0 :: global count // old, count = count, 'b' //
    r = {'b': d}[count] // count = old // r :: d = V :: global
global that was another one :: 2.0 :: global count // old, count = count, 1.0 //
    try: r = d * count // finally: count = old // r + count :: globals()['count'] = V :: global
attribute of a module that is put back :: module('user_m', 'rate = 2.0') ::
    old, d.rate = d.rate, 5.0 // r = old + d.rate // d.rate = old // r :: d.rate = V :: global
global beside a list :: [1.0] :: global count // count += 1 // d.append(1.0) // 2.0 ::
    pass :: global
write that is caught :: Cfg(count=0) :: r = 2.0 // try: d.count += 1 //
    except BaseException: r = 3.0 // r :: pass
list that grows :: Cfg(log=[]) :: d.log.append(1) // len(d.log) :: pass
memo :: {} :: if 'a' not in d: d['a'] = 2.0 // d['a'] :: d.clear()
memo in an attribute :: Cfg(a=None) :: if d.a is None: d.a = 2.0 // d.a :: d.a = None
value that is kept :: Cfg(last=0.0) :: d.last = x.sum() // 2.0 :: pass
value that is carried :: Cfg(last=0.0) :: d.last = d.last + x.sum() // d.last :: pass
array that counts :: np.zeros(3) :: d[0] += 1.0 // 2.0 :: pass
array that is used then :: np.zeros(3) :: d[:] += 1.0 // d * 1.0 :: pass
array that takes a value :: np.zeros(3) :: d[...] = x // d * 1.0 :: d[...] = 0.0
"""

ANSWERS = """
comparison :: 2.0 :: 3.0 if d > 2.5 else 2.0 :: d = V
whole part :: 2.0 :: [2.0, 3.0][int(d) - 2] :: d = V
key by value :: 2.0 :: {2.0: 2.0}.get(d, 3.0) :: d = V
whole number :: 2 :: d * 1.0 :: d = int(V) :: argument
power by a whole number :: 2 :: 1.5 ** d :: d = int(V) :: argument
whole number of a product :: 2 :: d * 10 ** 18 * x :: d = 30 | d = 2 :: argument
power of a whole number :: 2 :: d ** (2 - d) :: d = int(V) :: argument
large whole number :: 2 :: x * d :: d = 3 ** 70 | d = 2 :: argument
size by a whole number :: 2 :: np.zeros(d).sum() + d :: d = int(V) :: argument
axis by a whole number :: 1 :: (np.ones((2, 3)) * x[0]).sum(d).size * 1.0 ::
    d = 0 | d = 1 :: argument
is an int :: 2 :: d * 1.0 if isinstance(d, int) else 7.0 :: d = int(V) :: argument
type is int :: 2 :: d * 1.0 if type(d) is int else 7.0 :: d = int(V) :: argument
case of an int :: 2 :: match d: // \tcase int(): r = d * 1.0 // \tcase _: r = 7.0 // r ::
    d = int(V) :: argument
text of a whole number :: 2 :: len(str(d)) * 1.0 :: d = 30 | d = 2 :: argument
whole number as a float :: 2 :: math.sqrt(d) :: d = int(V) :: argument
is a float :: 2.0 :: 2.0 if isinstance(d, float) else 3.0 :: d = np.float32(2) | d = 2.0
type is float :: 2.0 :: 2.0 if type(d) is float else 3.0 :: d = np.float32(2) | d = 2.0
is an array :: np.ones(3) :: 2.0 if isinstance(d, np.ndarray) else 3.0 :: d = [1.0] | d = np.ones(3)
is a number :: 2.0 :: 2.0 if isinstance(d, numbers.Real) else 3.0 :: d = np.array(2.0) | d = 2.0
dispatch on it :: 2.0 :: kind_of(d) :: d = np.float32(2) | d = 2.0
class of a result :: 2.0 :: 2.0 if isinstance(d * 1.0, np.generic) else 3.0 ::
    d = np.float32(2) | d = 2.0
repr of an array :: np.ones(3) :: len(repr(d * 1.0)) :: d = np.array([1.0, 2.5, V])
text by percent :: 2.0 :: 2.0 if '%.1f' % d == '2.0' else 3.0 :: d = V
text of it :: 2.0 :: 2.0 if str(d) == '2.0' else 3.0 :: d = V
format of it :: 2.0 :: 2.0 if f'{d:.1f}' == '2.0' else 3.0 :: d = V
rounding :: np.zeros(40) ::
    2.0 if np.all(np.tanh(d) == np.tanh(np.linspace(0.1, 3, 40))) else 3.0 ::
    d[:] = np.linspace(0.1, 3, 40) | d[:] = 0.0
rounding of a sum :: np.array([0.6, 0.0, 0.0]) :: 2.0 if np.sum(d) == 0.6 else 3.0 ::
    d[:] = [0.1, 0.2, 0.3] | d[:] = [0.6, 0.0, 0.0]
"""


class Way(NamedTuple):
    make: str
    value: str
    change: str
    place: str = ""


GROUPS = NAMES, ATTRIBUTES, CONTAINERS, ARRAYS, KEYS, FUNCTIONS, OF_C, AROUND, EFFECTS, ANSWERS
ROWS = [row.split(" :: ") for row in "".join(GROUPS).replace("\n    ", " ").split("\n") if row]
WAYS = {name: Way(*rest) for name, *rest in ROWS}
