"""Contractions as code: sums in registers, over tiles of the result.

NOTE [tiles]
    The sums of a tile stay in registers while the loops over the summed axes run. Where an axis of
    the result lies side by side in memory, its vectors are the columns of the tile, and another
    axis gives its rows: each value that is loaded is used for a row or a column of sums. Where
    only a summed axis lies side by side, there is one vector of sums for each element of the tile,
    and its lanes are added at the end.
"""

from collections.abc import Sequence
from typing import NamedTuple

from ..text.routines import Numbers, Routine
from .contractions import Axis

CACHE = 1 << 17
"""The bytes of one operand that stay in a cache while tiles are computed."""


class Slot(NamedTuple):
    """A vector of a row: where it begins, how many lanes count, and how many it has."""

    begin: int
    lanes: int
    width: int


def slots(size: int, width: int) -> list[Slot]:
    """Return the vectors that cover a row."""
    found = [Slot(begin, width, width) for begin in range(0, size - width + 1, width)]
    begin = len(found) * width
    rest = size - begin
    if rest:
        found.append(Slot(begin, rest, rest if rest & (rest - 1) == 0 else width))
    return found


class Shape(NamedTuple):
    """The rows and columns of a tile."""

    rows: int
    columns: int


def best_shape(rows: int, columns: int, registers: int, steps: int) -> Shape:
    """Return the shape of tiles with the fewest cycles, by a model of two units of each kind."""

    def cycles(m: int, n: int) -> float:
        sums = max(m * n / 2, m / 2 + 1.6 * n, 4.0) if steps > 1 else m * n / 2
        return steps * sums + m * n + 6.0

    def total(shape: Shape) -> float:
        m, n = shape
        kinds = [
            (down * across, x, y)
            for down, x, _ in blocks(rows, m)
            for across, y, _ in blocks(columns, n)
        ]
        time = sum([count * cycles(x, y) for count, x, y in kinds])
        # each kind of tile is other code, which has to be compiled
        code = sum([x * y for _, x, y in kinds])
        return time * (1 + code / 800)

    shapes = [
        Shape(m, n)
        for m in range(1, min(rows, 14) + 1)
        for n in range(1, min(columns, 8) + 1)
        if m * n + n < registers
    ]
    return min(shapes, key=total)


class Tiles:
    """A routine that computes a contraction, while it is written.

    Parameters
    ----------
    code : Routine
        Where it is written to.
    axes : list of Axis
        Joined axes, none of size 0.
    kind : Numbers
        The arithmetic of the operands and the result.
    vector : int
        The bytes of a vector.
    """

    def __init__(self, code: Routine, axes: Sequence[Axis], kind: Numbers, vector: int):
        self.code, self.kind = code, kind
        self.a, self.b = "%a", "%b"
        self.width = max(1, vector // kind.size)
        self.registers = 30 if vector == 64 else 14
        self.free = [axis for axis in axes if not axis.summed]
        self.summed = sorted([axis for axis in axes if axis.summed], key=lambda axis: -axis.a)

    # ---- the two forms ----

    def columns(self, across: Axis) -> None:
        """Write tiles whose columns are vectors of the result along an axis."""
        code, rest = self.code, [axis for axis in self.free if axis is not across]
        rows = self.rows_of(rest, across)
        rest = [axis for axis in rest if axis is not rows]
        every = slots(across.size, self.width)
        steps = 1
        for axis in self.summed:
            steps *= axis.size
        m, n = best_shape(rows.size, len(every), self.registers, steps)
        whole = across.size // self.width // n
        groups = [(whole, every[:n])] if whole else []
        if len(every) > whole * n:
            groups.append((1, every[whole * n :]))
        places = self.outer(rest)
        tiles = [
            (count, group, many, height, first)
            for many, height, first in blocks(rows.size, m)
            for count, group in groups
        ]
        for count, group, many, height, first in tiles:
            # long rows are written one after the other where the vectors fit into the cache
            by_rows = steps * across.size * self.kind.size <= CACHE
            outer, inner = (many, count) if by_rows else (count, many)
            with code.loop(outer) as slow, code.loop(inner) as fast:
                down, over = (slow, fast) if by_rows else (fast, slow)
                at: list = [(over.index, times(across, n * self.width))]
                at += [(down.index, times(rows, height)), (first, rows)]
                self.tile([*places, *at], rows, height, across, group)
        self.finish()

    def rows_of(self, rest: Sequence[Axis], across: Axis) -> Axis:
        """Return the axis that gives the rows: one that uses the vectors again, if there is one."""

        def uses(axis: Axis) -> tuple[bool, int]:
            again = (not axis.a if across.a else True) and (not axis.b if across.b else True)
            return again, axis.size

        found = max(rest, key=uses, default=None)
        if found is None or not (uses(found)[0] or self.summed):
            return Axis(1, 0, 0, 0, False)
        return found

    def outer(self, rest: Sequence[Axis]) -> list[tuple[str | int, Axis]]:
        """Open loops over the other axes; `finish` closes them."""
        self.opened = []
        places: list[tuple[str | int, Axis]] = []
        for axis in sorted(rest, key=lambda axis: -axis.out):
            loop = self.code.loop(axis.size)
            places.append((loop.__enter__().index, axis))
            self.opened.append(loop)
        return places

    def finish(self) -> None:
        """Close the outer loops."""
        for loop in reversed(self.opened):
            loop.__exit__(None, None, None)

    def tile(
        self, places: list, rows: Axis, height: int, across: Axis, group: Sequence[Slot]
    ) -> None:
        """Write one tile: sums of zeros, loops over the summed axes, and stores."""
        code, kind = self.code, self.kind
        first = [
            (kind.vector(slot.width), kind.zero(slot.width))
            for _ in range(height)
            for slot in group
        ]
        sums = [zero for _, zero in first]

        def step(at: list, sums: list[str]) -> list[str]:
            a, b = self.pointers([*places, *at])
            new, known = [], {}

            def value(name: str, pointer: str, row: int, slot: Slot) -> str:
                down, step = getattr(rows, name), getattr(across, name)
                key = (name, row if down else 0, slot if step else slot.width)
                if key not in known:
                    known[key] = self.load(
                        pointer, row * down + slot.begin * step, slot, bool(step)
                    )
                return known[key]

            for number, total in enumerate(sums):
                row, slot = number // len(group), group[number % len(group)]
                x, y = value("a", a, row, slot), value("b", b, row, slot)
                new.append(self.add_product(total, x, y, slot.width))
            return new

        sums = self.over_summed(first, sums, step)
        out = code.address("%out", [(i, axis.out) for i, axis in places])
        for number, total in enumerate(sums):
            row, slot = number // len(group), group[number % len(group)]
            self.store(out, row * rows.out + slot.begin * across.out, slot, total)

    def over_summed(self, first: list, sums: list[str], step) -> list[str]:
        """Write the loops over the summed axes around a step."""
        code = self.code

        def level(depth: int, at: list, sums: list[str]) -> list[str]:
            if depth == len(self.summed):
                return step(at, sums)
            axis = self.summed[depth]
            last = depth == len(self.summed) - 1
            copies = self.copies(axis.size, len(sums)) if last else 1
            many = axis.size // copies
            carried = [(kind, value) for (kind, _), value in zip(first, sums)]
            with code.loop(many, carried) as loop:
                new = loop.values
                for k in range(copies):
                    here = [*at, (loop.index, times(axis, copies)), (k, axis)]
                    new = level(depth + 1, here, new)
                loop.new = new
            sums = loop.results
            for k in range(many * copies, axis.size):
                sums = level(depth + 1, [*at, (k, axis)], sums)
            return sums

        return level(0, [], sums)

    def copies(self, size: int, sums: int) -> int:
        """Return how often the body of the innermost loop is written."""
        if size * sums <= 48:
            return size
        return max(1, min(size, 16 // sums))

    # ---- lanes of sums ----

    def dots(self, along: Axis) -> None:
        """Write tiles of dot products along a summed axis."""
        code = self.code
        self.summed = [axis for axis in self.summed if axis is not along]
        one = Axis(1, 0, 0, 0, False)
        rows = max([x for x in self.free if x.a], key=lambda x: (not x.b, x.size), default=one)
        left = [x for x in self.free if x is not rows]
        columns = max([x for x in left if not x.a], key=lambda x: x.size, default=one)
        rest = [axis for axis in left if axis is not columns]
        limit = 3 if self.registers < 16 else 4
        n = min(columns.size, limit)
        m = min(rows.size, 8 if n == 1 else limit)
        lanes = 1
        if m * n < 4:
            lanes = max(1, min(along.size // self.width // 2, 4))
        places = self.outer(rest)
        for many, height, first in blocks(rows.size, m):
            with code.loop(many) as down:
                at = [(down.index, times(rows, height)), (first, rows)]
                for more, breadth, begin in blocks(columns.size, n):
                    with code.loop(more) as loop:
                        over = [(loop.index, times(columns, breadth)), (begin, columns)]
                        tile = [(i, j) for i in range(height) for j in range(breadth)]
                        self.dot_tile([*places, *at, *over], tile, rows, columns, along, lanes)
        self.finish()

    def dot_tile(
        self, places: list, tile: list, rows: Axis, columns: Axis, along: Axis, lanes: int
    ) -> None:
        code, kind, width = self.code, self.kind, self.width
        every = slots(along.size, width)
        whole = along.size // width
        rest = every[whole:]
        vector = kind.vector(width)
        first = [(vector, "zeroinitializer" if width > 1 else kind.zero(1))] * (len(tile) * lanes)

        def products(at: list, slot: Slot, sums: list[str], turn: int) -> list[str]:
            a, b = self.pointers([*places, *at])
            known: dict = {}

            def value(name: str, pointer: str, i: int, j: int) -> str:
                down, over = getattr(rows, name), getattr(columns, name)
                key = (name, i * down + j * over)
                if key not in known:
                    moves = bool(getattr(along, name))
                    known[key] = self.load(pointer, key[1], slot, moves)
                return known[key]

            sums = list(sums)
            for number, (i, j) in enumerate(tile):
                place = number * lanes + turn
                x, y = value("a", a, i, j), value("b", b, i, j)
                sums[place] = self.add_product(sums[place], x, y, width)
            return sums

        def step(at: list, sums: list[str]) -> list[str]:
            count = whole // lanes
            far = along._replace(a=along.a * width * lanes, b=along.b * width * lanes)
            near = along._replace(a=along.a * width, b=along.b * width)
            full = Slot(0, width, width)
            if count:
                carried = [(kind, value) for (kind, _), value in zip(first, sums)]
                with code.loop(count, carried) as loop:
                    new = loop.values
                    for turn in range(lanes):
                        new = products([*at, (loop.index, far), (turn, near)], full, new, turn)
                    loop.new = new
                sums = loop.results
            for turn, k in enumerate(range(count * lanes, whole)):
                sums = products([*at, (k, near)], full, sums, turn % lanes)
            for slot in rest:
                part = Slot(0, slot.lanes, width)
                sums = products([*at, (slot.begin, along)], part, sums, lanes - 1)
            return sums

        sums = self.over_summed(first, [value for _, value in first], step)
        totals = [self.tree(sums[k : k + lanes]) for k in range(0, len(sums), lanes)]
        out = code.address("%out", [(i, axis.out) for i, axis in places])
        for (i, j), total in zip(tile, self.lane_sums(totals)):
            self.store(out, i * rows.out + j * columns.out, Slot(0, 1, 1), total)

    def tree(self, values: Sequence[str]) -> str:
        """Return the sum of vectors, by halves."""
        values = list(values)
        while len(values) > 1:
            pairs = zip(values[::2], values[1::2])
            rest = values[len(values) // 2 * 2 :]
            values = [self.add(x, y, self.width) for x, y in pairs] + rest
        return values[0]

    def lane_sums(self, values: Sequence[str]) -> list[str]:
        """Return the sum of the lanes of each vector; several vectors share the additions."""
        code, width, vector = self.code, self.width, self.kind.vector(self.width)
        if width == 1:
            return list(values)
        even = ", ".join([f"i32 {k}" for k in range(0, 2 * width, 2)])
        odd = ", ".join([f"i32 {k}" for k in range(1, 2 * width, 2)])
        found = []
        for begin in range(0, len(values), width):
            level = list(values[begin : begin + width])
            count = len(level)
            size = width
            while size > 1:
                if len(level) % 2:
                    level.append("zeroinitializer")
                pairs = []
                for x, y in zip(level[::2], level[1::2]):
                    both = f"shufflevector {vector} {x}, {vector} {y}, <{width} x i32>"
                    left = code.instruction(f"{both} <{even}>")
                    right = code.instruction(f"{both} <{odd}>")
                    pairs.append(self.add(left, right, width))
                level, size = pairs, size // 2
            # one vector is left: its first lanes are the sums
            for k in range(count):
                found.append(code.instruction(f"extractelement {vector} {level[0]}, i32 {k}"))
        return found

    # ---- instructions ----

    def pointers(self, places: Sequence) -> tuple[str, str]:
        """Return where the operands are at some indices."""
        a = self.code.address(self.a, [(i, axis.a) for i, axis in places])
        b = self.code.address(self.b, [(i, axis.b) for i, axis in places])
        return a, b

    def load(self, pointer: str, offset: int, slot: Slot, moves: bool) -> str:
        """Load a vector, or one number for all lanes."""
        code, kind = self.code, self.kind
        place = code.address(pointer, (), offset)
        vector = kind.vector(slot.width)
        if not moves and slot.width > 1:
            value = code.instruction(f"load {kind.name}, ptr {place}, align {kind.size}")
            one = code.instruction(f"insertelement {vector} poison, {kind.name} {value}, i32 0")
            zeros = f"<{slot.width} x i32> zeroinitializer"
            spread = code.instruction(f"shufflevector {vector} {one}, {vector} poison, {zeros}")
            if slot.lanes < slot.width:
                return self.select(slot, spread, "zeroinitializer")
            return spread
        if slot.lanes == slot.width:
            return code.instruction(f"load {vector}, ptr {place}, align {kind.size}")
        mask = (mask_type(slot), mask_text(slot))
        name = f"llvm.masked.load.{suffix(kind, slot.width)}.p0"
        given = f"ptr {place}, i32 {kind.size}, {' '.join(mask)}, {vector} zeroinitializer"
        code.declare(name, f"declare {vector} @{name}(ptr, i32, {mask[0]}, {vector})")
        return code.instruction(f"call {vector} @{name}({given})")

    def select(self, slot: Slot, value: str, other: str) -> str:
        vector = self.kind.vector(slot.width)
        mask = f"{mask_type(slot)} {mask_text(slot)}"
        return self.code.instruction(f"select {mask}, {vector} {value}, {vector} {other}")

    def store(self, pointer: str, offset: int, slot: Slot, value: str) -> None:
        """Store a vector."""
        code, kind = self.code, self.kind
        place = code.address(pointer, (), offset)
        vector = kind.vector(slot.width)
        if slot.lanes == slot.width:
            code.line(f"store {vector} {value}, ptr {place}, align {kind.size}")
            return
        mask = f"{mask_type(slot)} {mask_text(slot)}"
        name = f"llvm.masked.store.{suffix(kind, slot.width)}.p0"
        code.declare(name, f"declare void @{name}({vector}, ptr, i32, {mask_type(slot)})")
        code.line(f"call void @{name}({vector} {value}, ptr {place}, i32 {kind.size}, {mask})")

    def add(self, x: str, y: str, width: int) -> str:
        return self.code.instruction(
            f"{'fadd' if self.kind.real else 'add'} {self.kind.vector(width)} {x}, {y}"
        )

    def add_product(self, total: str, x: str, y: str, width: int) -> str:
        """Return ``total + x * y``, rounded once where the machine can."""
        code, vector = self.code, self.kind.vector(width)
        if not self.kind.real:
            return self.add(total, code.instruction(f"mul {vector} {x}, {y}"), width)
        name = f"llvm.fmuladd.{suffix(self.kind, width)}"
        return code.intrinsic(name, vector, (vector, x), (vector, y), (vector, total))


def blocks(size: int, most: int) -> list[tuple[int, int, int]]:
    """Return how many blocks of a size there are, their size, and where they begin."""
    found = [(size // most, most, 0)] if size // most else []
    return found + ([(1, size % most, size // most * most)] if size % most else [])


def times(axis: Axis, factor: int) -> Axis:
    """Return an axis with larger steps."""
    return axis._replace(a=axis.a * factor, b=axis.b * factor, out=axis.out * factor)


def suffix(kind: Numbers, width: int) -> str:
    """Return the name of a type in the names of LLVM's functions."""
    name = {"double": "f64", "float": "f32"}.get(kind.name, kind.name)
    return name if width == 1 else f"v{width}{name}"


def mask_type(slot: Slot) -> str:
    return f"<{slot.width} x i1>"


def mask_text(slot: Slot) -> str:
    return f"<{', '.join([f'i1 {int(k < slot.lanes)}' for k in range(slot.width)])}>"
