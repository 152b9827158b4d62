"""The lines of a function of LLVM, and the text that all builtins share.

`EVERY` has loops over many values: one calls a function for each, and one fills a tuple.
"""


class Function:
    """The lines of a function."""

    def __init__(self) -> None:
        self.first: list[str] = []  # memory on the stack
        self.lines: list[str] = []
        self.count = 0

    def text(self, head: str) -> str:
        return "\n".join([f"{head} {{", "entry:", *self.first, *self.lines, "}"])

    def add(self, *lines: str) -> None:
        self.lines += lines

    def value(self, line: str) -> str:
        """Add an instruction, and return the name of its value."""
        self.count += 1
        self.lines.append(f"%v{self.count} = {line}")
        return f"%v{self.count}"

    def check(self, condition: str, other: str) -> None:
        """Go on where a condition holds, and to the other label where it does not."""
        self.count += 1
        self.add(f"br i1 {condition}, label %l{self.count}, label %{other}", f"l{self.count}:")

    def place(self, pointer: str, offset: int) -> str:
        """Return a pointer to a part of a structure."""
        return self.value(f"getelementptr i8, ptr {pointer}, i64 {offset}")

    def field(self, pointer: str, offset: int, kind: str) -> str:
        """Return a part of a structure."""
        return self.value(f"load {kind}, ptr {self.place(pointer, offset)}")

    def room(self, size: int, align: int = 16) -> str:
        """Return memory on the stack."""
        self.count += 1
        name = f"%v{self.count}"
        self.first.append(f"{name} = alloca [{size} x i8], align {align}")
        return name


DECLARATIONS = """\
@PyArray_Type = external global i8
@PyFloat_Type = external global i8
@PyLong_Type = external global i8
@Py_True = external global i8
@Py_False = external global i8
@functier.fallback = external global i8
@functier.mismatch = external global i8
declare ptr @PyErr_NoMemory()
declare ptr @PyErr_Occurred()
declare void @PyErr_SetNone(ptr)
declare void @PyEval_RestoreThread(ptr)
declare ptr @PyEval_SaveThread()
declare ptr @PyFloat_FromDouble(double)
declare ptr @PyBool_FromLong(i64)
declare i64 @PyLong_AsLongLongAndOverflow(ptr, ptr)
declare ptr @PyLong_FromLongLong(i64)
declare ptr @PyObject_Vectorcall(ptr, ptr, i64, ptr)
declare ptr @PyTuple_New(i64)
declare i32 @PyTuple_SetItem(ptr, i64, ptr)
declare void @Py_DecRef(ptr)
declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)
declare ptr @PyArray_New(ptr, i32, ptr, i32, ptr, ptr, i32, i32, ptr)
declare ptr @PyArray_Scalar(ptr, ptr, ptr)
declare i8 @PyArray_EquivTypes(ptr, ptr)"""

EVERY = """define internal i32 @functier.every(
    i64 %n, i64 %size, ptr %functions, ptr %objects, ptr %pointers, ptr %rooms) nounwind {
entry:
br label %next
next:
%i = phi i64 [0, %entry], [%j, %next]
%before = phi i32 [0, %entry], [%found, %next]
%where = getelementptr ptr, ptr %functions, i64 %i
%function = load ptr, ptr %where
%object = getelementptr ptr, ptr %objects, i64 %i
%pointer = getelementptr ptr, ptr %pointers, i64 %i
%far = mul i64 %i, %size
%room = getelementptr i8, ptr %rooms, i64 %far
%status = call i32 %function(ptr %object, ptr %pointer, ptr %room)
%found = or i32 %before, %status
%j = add i64 %i, 1
%good = icmp ne i32 %status, 1
%more = icmp ult i64 %j, %n
%on = and i1 %good, %more
br i1 %on, label %next, label %end
end:
%all = select i1 %good, i32 %found, i32 1
ret i32 %all
}
define internal void @functier.fill(ptr %tuple, ptr %objects, i64 %n) nounwind {
entry:
br label %head
head:
%i = phi i64 [0, %entry], [%j, %next]
%more = icmp ult i64 %i, %n
br i1 %more, label %next, label %end
next:
%where = getelementptr ptr, ptr %objects, i64 %i
%object = load ptr, ptr %where
%failed = call i32 @PyTuple_SetItem(ptr %tuple, i64 %i, ptr %object)
%j = add i64 %i, 1
br label %head
end:
ret void
}"""
