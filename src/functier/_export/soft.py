"""Functions that processors have as instructions, for those that have not.

LLVM calls a function of the C library instead. A module that defines one calls its own.

NOTE [one rounding]
    The product of two significands has up to 106 bits. It and the third operand become integers of
    128 bits whose highest bit is at the same place, with an exponent each. The smaller one is
    shifted; what falls out leaves a mark in its last bit. There are enough zeros below, so that the
    mark alone tells on which side of a half the sum is.
"""

from collections.abc import Collection

FUSED = """\
declare i128 @llvm.ctlz.i128(i128, i1)
define internal double @fma(double %x, double %y, double %z) nounwind noinline {
entry:
  %bx = bitcast double %x to i64
  %by = bitcast double %y to i64
  %bz = bitcast double %z to i64
  %fx = lshr i64 %bx, 52
  %fy = lshr i64 %by, 52
  %fz = lshr i64 %bz, 52
  %gx = and i64 %fx, 2047
  %gy = and i64 %fy, 2047
  %gz = and i64 %fz, 2047
  %ox = icmp eq i64 %gx, 2047
  %oy = icmp eq i64 %gy, 2047
  %oz = icmp eq i64 %gz, 2047
  %zx = fcmp oeq double %x, 0.0
  %zy = fcmp oeq double %y, 0.0
  %o1 = or i1 %ox, %oy
  %o2 = or i1 %o1, %oz
  %o3 = or i1 %o2, %zx
  %odd = or i1 %o3, %zy
  br i1 %odd, label %plain, label %whole
plain:
  %product = fmul double %x, %y
  %sum = fadd double %product, %z
  %known = xor i1 %o1, true
  %just = and i1 %oz, %known
  %shown = select i1 %just, double %z, double %sum
  ret double %shown
whole:
  %lx = and i64 %bx, 4503599627370495
  %ly = and i64 %by, 4503599627370495
  %lz = and i64 %bz, 4503599627370495
  %nx = icmp ne i64 %gx, 0
  %ny = icmp ne i64 %gy, 0
  %nz = icmp ne i64 %gz, 0
  %hx = select i1 %nx, i64 4503599627370496, i64 0
  %hy = select i1 %ny, i64 4503599627370496, i64 0
  %hz = select i1 %nz, i64 4503599627370496, i64 0
  %mx = or i64 %lx, %hx
  %my = or i64 %ly, %hy
  %mz = or i64 %lz, %hz
  %ax = select i1 %nx, i64 %gx, i64 1
  %ay = select i1 %ny, i64 %gy, i64 1
  %az = select i1 %nz, i64 %gz, i64 1
  %wx = zext i64 %mx to i128
  %wy = zext i64 %my to i128
  %wz = zext i64 %mz to i128
  %p = mul i128 %wx, %wy
  %cp = call i128 @llvm.ctlz.i128(i128 %p, i1 false)
  %sp = sub i128 %cp, 3
  %P = shl i128 %p, %sp
  %axy = add i64 %ax, %ay
  %exy = sub i64 %axy, 2150
  %sp64 = trunc i128 %sp to i64
  %ep = sub i64 %exy, %sp64
  %none = icmp eq i64 %mz, 0
  %cz = call i128 @llvm.ctlz.i128(i128 %wz, i1 false)
  %cz3 = sub i128 %cz, 3
  %sz = select i1 %none, i128 0, i128 %cz3
  %Z = shl i128 %wz, %sz
  %ez0 = sub i64 %az, 1075
  %sz64 = trunc i128 %sz to i64
  %ez1 = sub i64 %ez0, %sz64
  %ez = select i1 %none, i64 -9999, i64 %ez1
  %far = sub i64 %ep, %ez
  %ahead = icmp sge i64 %far, 0
  %big = select i1 %ahead, i128 %P, i128 %Z
  %small = select i1 %ahead, i128 %Z, i128 %P
  %e = select i1 %ahead, i64 %ep, i64 %ez
  %back = sub i64 0, %far
  %d0 = select i1 %ahead, i64 %far, i64 %back
  %much = icmp ugt i64 %d0, 127
  %d1 = select i1 %much, i64 127, i64 %d0
  %d = zext i64 %d1 to i128
  %cut = lshr i128 %small, %d
  %again = shl i128 %cut, %d
  %lost = icmp ne i128 %again, %small
  %mark = zext i1 %lost to i128
  %moved = or i128 %cut, %mark
  %sxy = xor i64 %bx, %by
  %signp = icmp slt i64 %sxy, 0
  %signz = icmp slt i64 %bz, 0
  %signbig = select i1 %ahead, i1 %signp, i1 %signz
  %unlike = xor i1 %signp, %signz
  %added = add i128 %big, %moved
  %taken = sub i128 %big, %moved
  %S0 = select i1 %unlike, i128 %taken, i128 %added
  %below = icmp slt i128 %S0, 0
  %turned = sub i128 0, %S0
  %S = select i1 %below, i128 %turned, i128 %S0
  %sign = xor i1 %signbig, %below
  %zero = icmp eq i128 %S, 0
  br i1 %zero, label %nothing, label %round
nothing:
  ret double 0.0
round:
  %cs = call i128 @llvm.ctlz.i128(i128 %S, i1 false)
  %cs64 = trunc i128 %cs to i64
  %keep = sub i64 75, %cs64
  %least = sub i64 -1074, %e
  %fine = icmp sgt i64 %keep, %least
  %shift = select i1 %fine, i64 %keep, i64 %least
  %q = add i64 %shift, %e
  %left = icmp sle i64 %shift, 0
  br i1 %left, label %exact, label %inexact
exact:
  %up = sub i64 0, %shift
  %upw = zext i64 %up to i128
  %me = shl i128 %S, %upw
  %me64 = trunc i128 %me to i64
  br label %pack
inexact:
  %tiny = icmp ugt i64 %shift, 127
  %shifted = select i1 %tiny, i64 127, i64 %shift
  %w = zext i64 %shifted to i128
  %m = lshr i128 %S, %w
  %kept = shl i128 %m, %w
  %rest = sub i128 %S, %kept
  %before = sub i128 %w, 1
  %half = shl i128 1, %before
  %more = icmp ugt i128 %rest, %half
  %equal = icmp eq i128 %rest, %half
  %m64 = trunc i128 %m to i64
  %last = trunc i64 %m64 to i1
  %tie = and i1 %equal, %last
  %inc0 = or i1 %more, %tie
  %large = xor i1 %tiny, true
  %inc = and i1 %inc0, %large
  %one = zext i1 %inc to i64
  %mr = add i64 %m64, %one
  %mi = select i1 %tiny, i64 0, i64 %mr
  br label %pack
pack:
  %mm = phi i64 [ %me64, %exact ], [ %mi, %inexact ]
  %qb = add i64 %q, 1074
  %field = shl i64 %qb, 52
  %bits0 = add i64 %field, %mm
  %over = icmp uge i64 %bits0, 9218868437227405312
  %bits1 = select i1 %over, i64 9218868437227405312, i64 %bits0
  %s = zext i1 %sign to i64
  %s63 = shl i64 %s, 63
  %bits = or i64 %bits1, %s63
  %found = bitcast i64 %bits to double
  ret double %found
}
"""

FUSED_SINGLE = """\
define internal float @fmaf(float %x, float %y, float %z) nounwind noinline {
  %a = fpext float %x to double
  %b = fpext float %y to double
  %c = fpext float %z to double
  %p = fmul double %a, %b
  %s = fadd double %p, %c
  %t = fsub double %s, %p
  %u = fsub double %s, %t
  %v = fsub double %p, %u
  %w = fsub double %c, %t
  %lost = fadd double %v, %w
  %bits = bitcast double %s to i64
  %odd = trunc i64 %bits to i1
  %none = fcmp ueq double %lost, 0.0
  %keep = or i1 %odd, %none
  %low = bitcast double %lost to i64
  %both = xor i64 %low, %bits
  %against = icmp slt i64 %both, 0
  %step = select i1 %against, i64 -1, i64 1
  %moved = add i64 %bits, %step
  %chosen = select i1 %keep, i64 %bits, i64 %moved
  %sum = bitcast i64 %chosen to double
  %found = fptrunc double %sum to float
  ret float %found
}
"""
"""The sum is exact but for a part that is lost, which makes its last bit odd: see `fma`."""

REST = """\
define internal double @fmod(double %x, double %y) nounwind noinline {
entry:
  %bx = bitcast double %x to i64
  %by = bitcast double %y to i64
  %ax = and i64 %bx, 9223372036854775807
  %ay = and i64 %by, 9223372036854775807
  %endless = icmp uge i64 %ax, 9218868437227405312
  %nan = icmp ugt i64 %ay, 9218868437227405312
  %zero = icmp eq i64 %ay, 0
  %o = or i1 %endless, %nan
  %odd = or i1 %o, %zero
  br i1 %odd, label %none, label %some
none:
  %product = fmul double %x, %y
  %invalid = fdiv double %product, %product
  ret double %invalid
some:
  %less = icmp ult i64 %ax, %ay
  br i1 %less, label %same, label %whole
same:
  ret double %x
whole:
  %fx = lshr i64 %ax, 52
  %fy = lshr i64 %ay, 52
  %lx = and i64 %ax, 4503599627370495
  %ly = and i64 %ay, 4503599627370495
  %nx = icmp ne i64 %fx, 0
  %ny = icmp ne i64 %fy, 0
  %hx = select i1 %nx, i64 4503599627370496, i64 0
  %hy = select i1 %ny, i64 4503599627370496, i64 0
  %mx = or i64 %lx, %hx
  %my = or i64 %ly, %hy
  %ex = select i1 %nx, i64 %fx, i64 1
  %ey = select i1 %ny, i64 %fy, i64 1
  %gap = sub i64 %ex, %ey
  %first = urem i64 %mx, %my
  br label %loop
loop:
  %d = phi i64 [ %gap, %whole ], [ %left, %step ]
  %r = phi i64 [ %first, %whole ], [ %next, %step ]
  %more = icmp sgt i64 %d, 0
  br i1 %more, label %step, label %done
step:
  %few = icmp slt i64 %d, 11
  %bits = select i1 %few, i64 %d, i64 11
  %wide = shl i64 %r, %bits
  %next = urem i64 %wide, %my
  %left = sub i64 %d, %bits
  br label %loop
done:
  %exponent = sub i64 %ey, 1075
  %half = ashr i64 %exponent, 1
  %other = sub i64 %exponent, %half
  %b1 = add i64 %half, 1023
  %b2 = add i64 %other, 1023
  %s1 = shl i64 %b1, 52
  %s2 = shl i64 %b2, 52
  %p1 = bitcast i64 %s1 to double
  %p2 = bitcast i64 %s2 to double
  %number = uitofp i64 %r to double
  %scaled = fmul double %number, %p1
  %size = fmul double %scaled, %p2
  %found = call double @llvm.copysign.f64(double %size, double %x)
  ret double %found
}
declare double @llvm.copysign.f64(double, double)
"""
"""The remainder of significands, 11 bits of the distance of their exponents at a time: exact."""

REST_SINGLE = """\
define internal float @fmodf(float %x, float %y) nounwind noinline {
  %a = fpext float %x to double
  %b = fpext float %y to double
  %rest = frem double %a, %b
  %found = fptrunc double %rest to float
  ret float %found
}
"""

OWN = {"fma": FUSED, "fmaf": FUSED_SINGLE, "fmod": REST, "fmodf": REST_SINGLE}

WHOLE = """\
define internal {real} @{name}({real} %x) nounwind noinline {{
  %size = call {real} @llvm.fabs.{suffix}({real} %x)
  %small = fcmp olt {real} %size, {limit}
  %up = fadd {real} %size, {limit}
  %down = fsub {real} %up, {limit}
  %near = call {real} @llvm.copysign.{suffix}({real} %down, {real} %x)
  %past = fcmp {test} {real} {left}, {right}
  %less = {step} {real} %near, 1.0
  %cut = select i1 %past, {real} %less, {real} %near
  %signed = call {real} @llvm.copysign.{suffix}({real} %cut, {real} %x)
  %found = select i1 %small, {real} %signed, {real} %x
  ret {real} %found
}}
declare {real} @llvm.fabs.{suffix}({real})
declare {real} @llvm.copysign.{suffix}({real}, {real})
"""
"""The nearest integer, and one step where it is on the wrong side."""

LARGER = """\
define internal {real} @{name}({real} %x, {real} %y) nounwind noinline {{
  %odd = fcmp uno {real} %x, %x
  %first = fcmp {test} {real} %x, %y
  %none = fcmp uno {real} %y, %y
  %take = or i1 %first, %none
  %some = select i1 %take, {real} %x, {real} %y
  %found = select i1 %odd, {real} %y, {real} %some
  ret {real} %found
}}
"""

STEPS = {
    "floor": ("ogt", "%near", "%x", "fsub"), "ceil": ("olt", "%near", "%x", "fadd"),
    "rint": ("une", "0.0", "0.0", "fsub"), "nearbyint": ("une", "0.0", "0.0", "fsub"),
    "roundeven": ("une", "0.0", "0.0", "fsub"), "trunc": ("ogt", "%down", "%size", "TOWARD"),
}  # fmt: skip
CHOICES = {"fmax": "oge", "fmin": "ole"}


def text_of(name: str) -> str:
    """Return the text of a function of the C library; nothing for one that is not known."""
    if name in OWN:
        return OWN[name]
    single = name.endswith("f")
    base = name[:-1] if single else name
    real, suffix = ("float", "f32") if single else ("double", "f64")
    if base in CHOICES:
        return LARGER.format(name=name, real=real, test=CHOICES[base])
    if base not in STEPS:
        return ""
    test, left, right, step = STEPS[base]
    limit = "8388608.0" if single else "4503599627370496.0"
    text = WHOLE.format(
        name=name, real=real, suffix=suffix, limit=limit, test=test, left=left, right=right,
        step=step,
    )  # fmt: skip
    if step == "TOWARD":  # zero: on the magnitude, before the sign
        text = text.replace(f"TOWARD {real} %near, 1.0", f"fsub {real} %down, 1.0")
        text = text.replace(f"{real} %less, {real} %near", f"{real} %less, {real} %down")
    return text


def with_soft(text: str, needed: Collection[str]) -> str:
    """Return a module with those functions of the C library that it needs and that are known."""
    found = [text_of(name) for name in sorted(needed)]
    return merged([text, *found]) if any(found) else text


def merged(texts: list[str]) -> str:
    """Return some texts as one, in which each declaration is there once."""
    seen: set[str] = set()
    lines = []
    for line in "\n".join(texts).split("\n"):
        if line.startswith("declare "):
            if line in seen:
                continue
            seen.add(line)
        lines.append(line)
    return "\n".join(lines)
