"""A writer of LLVM instructions for a fixed number of lanes.

An `Emitter` writes straight-line code: each method appends at most a few instructions and
returns the `Value` that they define. Equal instructions are written once. Width 0 writes
scalars, width 8 vectors of eight lanes; the same rule serves both.
"""

from collections.abc import Callable

import numpy as np

from .writer import BOOL, FLOAT32, FLOAT64, INT64, UINT64, Declarations, Instructions, Value

__all__ = ["ATTRIBUTES", "BOOL", "FLOAT32", "FLOAT64", "INT64", "Declarations", "Emitter", "Value"]

ATTRIBUTES = 'nounwind "prefer-vector-width"="512" "min-legal-vector-width"="512"'
"""The attributes of every function of a module: functions that pass vectors must agree."""

PURE = "nounwind willreturn memory(read)"
"""The attributes of functions that compute from their arguments and tables alone."""


class Emitter(Instructions):
    """Write instructions for `width` lanes.

    Parameters
    ----------
    width : int
        The number of lanes; 0 writes scalars.
    prefix : str
        The beginning of the names of values and labels: emitters of one function differ in it.
    declarations : Declarations, optional
        The texts that the module needs outside of functions, by name; emitters share it.
    outlined : bool
        Whether long functions are written once as functions of the module and called. It
        keeps the time to compile linear; without it each use is written in line.
    contract : bool
        Whether the sum of a product may be rounded once, in the arithmetic of the program.

    Attributes
    ----------
    lines : list of str
        The instructions written so far.
    block : str
        The label of the block that the next instruction goes to. Rare arguments branch, so a
        rule may leave another block than it found: the owner's phis must use this name.
    refusals : list of Value
        Conditions, per lane, under which the result of this code must not be used.
    """

    def __init__(self, width, prefix="v", declarations=None, outlined=False, contract=False):
        super().__init__(width, prefix, declarations)
        self.outlined = outlined
        self.contract = contract

    # ---- refusals -------------------------------------------------------------------------

    def any(self, a):
        """True, as one bit, if any lane is."""
        if not self.width:
            return a.text
        name = f"@llvm.vector.reduce.or.{self.suffix(BOOL)}"
        self.declarations.setdefault(name, f"declare i1 {name}({self.type(BOOL)})")
        return self.emit(f"call i1 {name}({self.typed(a)})", BOOL).text

    def refused(self):
        """The lanes that any refusal names, or None."""
        result = None
        for condition in self.refusals:
            result = condition if result is None else self.either(result, condition)
        return result

    # ---- memory ----------------------------------------------------------------------------

    def load(self, pointer, dtype, stride=None, align=None):
        """Lanes from memory: `stride` bytes lie between them (default: they are adjacent)."""
        dtype = np.dtype(dtype)
        align = dtype.itemsize if align is None else align
        stride = dtype.itemsize if stride is None else stride
        memory = "i8" if dtype == BOOL else self.scalar_type(dtype)
        if not self.width or stride == dtype.itemsize:
            kind = f"<{self.width} x {memory}>" if self.width else memory
            value = self.emit(f"load {kind}, ptr {pointer}, align {align}", dtype, memo=False)
        elif stride == 0:
            value = self._lanes(f"load {memory}, ptr {pointer}, align {align}", memory, dtype)
        else:
            value = self._strided(pointer, dtype, memory, stride, align)
        if dtype == BOOL:
            kind = f"<{self.width} x i8>" if self.width else "i8"
            value = self.emit(f"icmp ne {kind} {value.text}, {self._zero()}", BOOL)
        return value

    def _zero(self):
        return "zeroinitializer" if self.width else "0"

    def _strided(self, pointer, dtype, memory, stride, align):
        text = "poison"
        for lane in range(self.width):
            place = self.emit(f"getelementptr i8, ptr {pointer}, i64 {lane * stride}", UINT64)
            one = self.emit(f"load {memory}, ptr {place.text}, align {align}", dtype, memo=False)
            kind = f"<{self.width} x {memory}>"
            text = self.emit(
                f"insertelement {kind} {text}, {memory} {one.text}, i32 {lane}", dtype
            ).text
        return Value(text, dtype)

    def broadcast(self, text, dtype):
        """The same scalar, a text of one lane's type, in every lane."""
        if not self.width:
            return Value(text, dtype)
        return self._spread(text, self.scalar_type(dtype), dtype)

    def _lanes(self, text, memory, dtype):
        return self._spread(self.emit(text, dtype, memo=False).text, memory, dtype)

    def _spread(self, text, memory, dtype):
        kind = f"<{self.width} x {memory}>"
        one = self.emit(f"insertelement {kind} poison, {memory} {text}, i32 0", dtype)
        mask = f"<{self.width} x i32> zeroinitializer"
        return self.emit(f"shufflevector {kind} {one.text}, {kind} poison, {mask}", dtype)

    def store(self, value, pointer, stride=None, align=None):
        """Write lanes to memory, `stride` bytes apart (default: adjacent)."""
        dtype = value.dtype
        memory = "i8" if dtype == BOOL else self.scalar_type(dtype)
        kind = f"<{self.width} x {memory}>" if self.width else memory
        text = value.text
        if dtype == BOOL:
            text = self.emit(f"zext {self.typed(value)} to {kind}", np.uint8).text
        align = dtype.itemsize if align is None else align
        if not self.width or stride in (None, dtype.itemsize):
            self.line(f"store {kind} {text}, ptr {pointer}, align {align}")
            return
        for lane in range(self.width):
            place = self.emit(f"getelementptr i8, ptr {pointer}, i64 {lane * stride}", UINT64)
            one = self.emit(f"extractelement {kind} {text}, i32 {lane}", dtype)
            self.line(f"store {memory} {one.text}, ptr {place.text}, align {align}")

    # ---- functions -------------------------------------------------------------------------

    def lane(self, value, index):
        """The text of one lane, as a scalar."""
        if not self.width:
            return value.text
        return self.emit(f"extractelement {self.typed(value)}, i32 {index}", value.dtype).text

    def call(self, name, rule: Callable, *values):
        """The result of `rule(emitter, *values)`: in line, or by a function of the module."""
        if not self.outlined:
            return rule(self, *values)
        found = self._call(self.function(name, rule, [v.dtype for v in values]), values)
        return found[0] if len(found) == 1 else found

    def rarely(self, condition, name, rule: Callable, arguments, usual):
        """`usual`, a tuple, unless the condition holds in any lane: then a call of `rule`.

        `rule(emitter, condition, *arguments, *usual)` returns the results of all lanes.
        """
        operands = (condition, *arguments, *usual)
        function = self.function(name, rule, [v.dtype for v in operands])
        any_lane = self.any(condition)
        self.declarations.setdefault("@llvm.expect.i1", "declare i1 @llvm.expect.i1(i1, i1)")
        likely = self.emit(f"call i1 @llvm.expect.i1(i1 {any_lane}, i1 false)", BOOL)
        before, rare, after = self.block, self.name(), self.name()
        self.line(f"br i1 {likely.text}, label %{rare}, label %{after}")
        self.lines.append(f"{rare}:")
        found = self._call(function, operands, memo=False)
        self.line(f"br label %{after}")
        self.lines.append(f"{after}:")
        self.block = after
        pairs = zip(usual, found)
        return tuple(
            self.emit(
                f"phi {self.type(a.dtype)} [ {a.text}, %{before} ], [ {b.text}, %{rare} ]", a.dtype
            )
            for a, b in pairs
        )

    def lanewise(self, name, rule: Callable, *values):
        """The results, a tuple, of a scalar function that is called for each lane in turn."""
        scalar = Emitter(0, "v", self.declarations)
        function = scalar.function(name, rule, [v.dtype for v in values])
        if not self.width:
            return tuple(self._call(function, values))
        results = [Value("poison", dtype) for dtype in function[1]]
        for index in range(self.width):
            operands = [Value(self.lane(v, index), v.dtype) for v in values]
            parts = scalar_call(self, function, operands)
            for i, (whole, part) in enumerate(zip(results, parts)):
                kind = self.scalar_type(part.dtype)
                text = f"insertelement {self.typed(whole)}, {kind} {part.text}, i32 {index}"
                results[i] = self.emit(text, part.dtype)
        return tuple(results)

    def function(self, name, rule: Callable, dtypes):
        """A function of the module whose body `rule` writes: its symbol and result dtypes.

        `rule` gets an emitter of this width and returns a Value or a tuple of them.
        """
        symbol = f"@functier.{name}.{''.join(map(letter, dtypes))}.{self.width}"
        if symbol not in self.declarations.results:
            inner = Emitter(self.width, "v", self.declarations)
            inner.start("entry")
            values = [Value(f"%x{i}", d) for i, d in enumerate(dtypes)]
            made = rule(inner, *values)
            made = (made,) if isinstance(made, Value) else tuple(made)
            assert not inner.refusals, f"{name} refuses: it cannot be a function"
            self.declarations.results[symbol] = tuple(v.dtype for v in made)
            self.declarations[symbol] = inner._definition(symbol, values, made)
        return symbol, self.declarations.results[symbol]

    def _definition(self, symbol, parameters, results):
        whole, text = aggregate([self.type(v.dtype) for v in results]), results[0].text
        if len(results) > 1:
            text = "poison"
            for i, value in enumerate(results):
                full = f"insertvalue {whole} {text}, {self.typed(value)}, {i}"
                text = self.emit(full, value.dtype).text
        head = f"define internal {whole} {symbol}({', '.join(map(self.typed, parameters))})"
        body = "\n".join([*self.lines, f"  ret {whole} {text}"])
        return f"{head} noinline {PURE} {ATTRIBUTES} {{\n{body}\n}}"

    def _call(self, function, values, memo=True):
        symbol, dtypes = function
        operands = ", ".join(map(self.typed, values))
        return self._parts(symbol, operands, [self.type(d) for d in dtypes], dtypes, memo)

    def _parts(self, symbol, operands, kinds, dtypes, memo):
        whole = aggregate(kinds)
        result = self.emit(f"call {whole} {symbol}({operands}) {PURE}", dtypes[0], memo)
        if len(dtypes) == 1:
            return [result]
        parts = enumerate(dtypes)
        return [self.emit(f"extractvalue {whole} {result.text}, {i}", d, memo) for i, d in parts]


def scalar_call(emitter, function, operands):
    """Call a scalar function on operands that are scalars, whatever the emitter's width."""
    symbol, dtypes = function
    text = ", ".join(f"{emitter.scalar_type(v.dtype)} {v.text}" for v in operands)
    return emitter._parts(symbol, text, [emitter.scalar_type(d) for d in dtypes], dtypes, True)


def letter(dtype):
    """A dtype in the name of a function."""
    return dtype.char.replace("?", "o")


def aggregate(kinds):
    """The type of a function's results."""
    return kinds[0] if len(kinds) == 1 else "{ " + ", ".join(kinds) + " }"
