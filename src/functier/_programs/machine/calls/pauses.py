"""Pauses of long loops, in which Python looks at signals.

NOTE [slices]
    A long loop runs in slices, without Python's lock. After each of them it takes the lock, and
    lets Python run the handlers of signals: that of Ctrl-C raises. The loop then ends with a
    status, and the error is raised by the builtin.
"""

PAUSE = "@functier.pause("
"""A text that has this calls the function of a pause, which returns 0 where a loop goes on."""

LOCK = """\
declare i32 @PyGILState_Ensure()
declare void @PyGILState_Release(i32)
"""

TEXT = """\
declare i32 @PyErr_CheckSignals()
define internal i32 @functier.pause() nounwind noinline {
  %lock = call i32 @PyGILState_Ensure()
  %found = call i32 @PyErr_CheckSignals()
  call void @PyGILState_Release(i32 %lock)
  ret i32 %found
}
"""
